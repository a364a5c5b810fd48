//! Operations of the seed dialect: `replace`, `delete`, `insert`.

use super::dialect::{OpLineError, SEED};
use super::token::{COLON_NOTE, LineNumberRange, LineScanner, OpKind, OpLine, SEPARATOR_NOTE, misplaced, unknown_word};
use crate::locate::line_edits::{AnchorRange, LineTarget};

/// Parses an operation; `None` for any other line.
pub(super) fn read(line: &str) -> Option<Result<OpLine, OpLineError>> {
    let mut scan = LineScanner::new(line);
    if scan.word("replace") {
        let (place, words, range) = block_or_range(&mut scan)?;
        return body(scan, OpLine::new(OpKind::Body, place).named(words), range);
    }
    if scan.word("delete") {
        let (place, words, range) = block_or_range(&mut scan)?;
        let mut op = OpLine::new(OpKind::Take, place).named(words);
        if !scan.tail(&mut op) || op.inline.is_some() {
            return None;
        }
        return Some(if op.colon { Err(colon_on_delete(line)) } else { checked(op, range) });
    }
    if !scan.word("insert") {
        return None;
    }
    let mut op = OpLine::new(OpKind::Body, LineTarget::Head);
    // `insert head:` has no space after the word.
    if scan.eat("head") {
        op.place = LineTarget::Head;
    } else if scan.eat("tail") {
        op.place = LineTarget::Tail;
    } else if scan.word("before") {
        let (line, word) = scan.line()?;
        (op.place, op.words.from) = (LineTarget::Before(line), word);
    } else if scan.word("after") {
        let block = scan.word("block");
        let (line, word) = scan.line()?;
        (op.place, op.words.from) = (if block { LineTarget::AfterBlock(line) } else { LineTarget::After(line) }, word);
    } else {
        return None;
    }
    body(scan, op, None)
}

/// Creates the error for a colon after `delete`: the rows that it announces may be meant to replace the lines.
fn colon_on_delete(line: &str) -> OpLineError {
    let bare = line.trim().trim_end_matches(':').trim_end();
    let replace = bare.replacen("delete", "replace", 1);
    OpLineError {
        what: "`delete N..M` has no colon and no body. Remove the colon and body rows.".to_owned(),
        next: format!("To delete the lines: `{bare}`. To replace them: `{replace}:` above the new rows."),
    }
}

fn block_or_range(scan: &mut LineScanner<'_>) -> Option<(LineTarget, AnchorRange, Option<LineNumberRange>)> {
    if scan.word("block") {
        let (line, word) = scan.line()?;
        return Some((LineTarget::Block(line), AnchorRange { from: word, to: None }, None));
    }
    let range = scan.range(&SEED)?;
    Some((LineTarget::Lines { from: range.from, to: range.to }, range.words, Some(range)))
}

fn body(
    mut scan: LineScanner<'_>,
    mut op: OpLine,
    range: Option<LineNumberRange>,
) -> Option<Result<OpLine, OpLineError>> {
    if !scan.tail(&mut op) {
        return None;
    }
    if !op.colon {
        op.lenient = Some(COLON_NOTE);
    }
    Some(checked(op, range))
}

fn checked(mut op: OpLine, range: Option<LineNumberRange>) -> Result<OpLine, OpLineError> {
    if let Some(fault) = unknown_word(&op) {
        return Err(fault);
    }
    let Some(range) = range else { return Ok(op) };
    if let Some(fault) = misplaced(&op, range, &SEED) {
        return Err(fault);
    }
    if !range.strict {
        op.lenient = op.lenient.or(Some(SEPARATOR_NOTE));
    }
    Ok(op)
}

//! Operations of the seed dialect: `replace`, `delete`, `insert`.

use super::dialect::{Fault, SEED};
use super::token::{COLON, Kind, OpLine, Range, SEPARATOR, Scan, misplaced, unknown_word};
use crate::rows::{Ends, RowPlace};

/// Parses an operation; `None` for any other line.
pub(super) fn read(line: &str) -> Option<Result<OpLine, Fault>> {
    let mut scan = Scan::new(line);
    if scan.word("replace") {
        let (place, words, range) = block_or_range(&mut scan)?;
        return body(scan, OpLine::new(Kind::Body, place).named(words), range);
    }
    if scan.word("delete") {
        let (place, words, range) = block_or_range(&mut scan)?;
        let mut op = OpLine::new(Kind::Take, place).named(words);
        if !scan.tail(&mut op) || op.inline.is_some() {
            return None;
        }
        op.lenient = if op.colon { Some(COLON_ON_DELETE) } else { op.lenient };
        return Some(checked(op, range));
    }
    if !scan.word("insert") {
        return None;
    }
    let mut op = OpLine::new(Kind::Body, RowPlace::Head);
    // `insert head:` has no blank after the word.
    if scan.eat("head") {
        op.place = RowPlace::Head;
    } else if scan.eat("tail") {
        op.place = RowPlace::Tail;
    } else if scan.word("before") {
        let (line, word) = scan.line()?;
        (op.place, op.words.from) = (RowPlace::Before(line), word);
    } else if scan.word("after") {
        let block = scan.word("block");
        let (line, word) = scan.line()?;
        (op.place, op.words.from) = (if block { RowPlace::AfterBlock(line) } else { RowPlace::After(line) }, word);
    } else {
        return None;
    }
    body(scan, op, None)
}

const COLON_ON_DELETE: &str = "A `:` behind `delete` was ignored; it has no body.";

fn block_or_range(scan: &mut Scan<'_>) -> Option<(RowPlace, Ends, Option<Range>)> {
    if scan.word("block") {
        let (line, word) = scan.line()?;
        return Some((RowPlace::Block(line), Ends { from: word, to: None }, None));
    }
    let range = scan.range(&SEED)?;
    Some((RowPlace::Lines { from: range.from, to: range.to }, range.words, Some(range)))
}

fn body(mut scan: Scan<'_>, mut op: OpLine, range: Option<Range>) -> Option<Result<OpLine, Fault>> {
    if !scan.tail(&mut op) {
        return None;
    }
    if !op.colon {
        op.lenient = Some(COLON);
    }
    Some(checked(op, range))
}

fn checked(mut op: OpLine, range: Option<Range>) -> Result<OpLine, Fault> {
    if let Some(fault) = unknown_word(&op) {
        return Err(fault);
    }
    let Some(range) = range else { return Ok(op) };
    if let Some(fault) = misplaced(range, &SEED) {
        return Err(fault);
    }
    if !range.strict {
        op.lenient = op.lenient.or(Some(SEPARATOR));
    }
    Ok(op)
}

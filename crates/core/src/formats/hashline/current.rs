//! Operations of the current dialect: `PUT`, `CUT`, `MV`, `REM`.

use super::dialect::{CURRENT, OpLineError};
use super::token::{LineNumberRange, LineScanner, OpKind, OpLine, SEPARATOR_NOTE, misplaced, trimmed, unknown_word};
use crate::locate::line_edits::{AnchorRange, LineTarget, Register};

/// Parses an operation; `None` for any other line.
pub(super) fn read(line: &str) -> Option<Result<OpLine, OpLineError>> {
    let mut scan = LineScanner::new(line);
    if scan.eat("PUT") {
        if !scan.skip_whitespace() && !scan.rest.starts_with(['<', '>']) {
            return None;
        }
        return put(scan, line);
    }
    if scan.word("CUT") {
        return cut(scan);
    }
    if scan.word("REM") {
        return scan.at_end().then(|| Ok(OpLine::new(OpKind::Remove, LineTarget::Head)));
    }
    if scan.word("MV") {
        let path = unquoted(trimmed(scan.rest));
        return (!path.is_empty()).then(|| Ok(OpLine::new(OpKind::Move(path.to_owned()), LineTarget::Head)));
    }
    // The operation is a range with a colon but without a verb.
    let range = scan
        .range(&CURRENT)
        .filter(|it| it.from > 0 && it.to > 0 && !it.open && line.contains(['.', '=', '…', '-']))?;
    let mut op = OpLine::new(OpKind::Body, LineTarget::Lines { from: range.from, to: range.to });
    let whole = scan.tail(&mut op) && op.colon && op.check.is_none();
    op.lenient = Some("A range without a verb was read as `PUT`.");
    whole.then(|| checked(op, Some(range)))
}

/// True for an operation without its verb, which inside a body is not an operation.
pub(super) fn is_verbless(line: &str) -> bool {
    trimmed(line).starts_with(|ch: char| ch.is_ascii_digit())
}

fn unquoted(path: &str) -> &str {
    let quoted = ['"', '\''].iter().find_map(|&quote| path.strip_prefix(quote)?.strip_suffix(quote));
    quoted.unwrap_or(path)
}

/// Parses a block, a gap or lines.
fn target(scan: &mut LineScanner<'_>) -> Option<(LineTarget, AnchorRange, Option<LineNumberRange>)> {
    let gap = if scan.eat("<") {
        Some(false)
    } else if scan.eat(">") {
        Some(true)
    } else {
        None
    };
    let Some(is_after) = gap else {
        let mut block = *scan;
        if let Some((line, word)) = block.line()
            && block.eat("*")
        {
            *scan = block;
            return Some((LineTarget::Block(line), AnchorRange { from: word, to: None }, None));
        }
        let range = scan.range(&CURRENT)?;
        return Some((LineTarget::Lines { from: range.from, to: range.to }, range.words, Some(range)));
    };
    scan.skip_whitespace();
    if is_after && scan.eat("$") {
        return Some((LineTarget::Tail, AnchorRange::default(), None));
    }
    let (line, word) = scan.line()?;
    let place = match (is_after, is_after && scan.eat("*")) {
        (true, true) => LineTarget::AfterBlock(line),
        (true, false) => LineTarget::After(line),
        (false, _) if line == 1 => LineTarget::Head,
        (false, _) => LineTarget::Before(line),
    };
    Some((place, AnchorRange { from: word, to: None }, None))
}

fn put(mut scan: LineScanner<'_>, line: &str) -> Option<Result<OpLine, OpLineError>> {
    let (place, words, range) = target(&mut scan)?;
    let mut op = OpLine::new(OpKind::Body, place).named(words);
    let register = scan.register();
    if !scan.tail(&mut op) {
        return None;
    }
    match register {
        Some(Err(())) => return Some(Err(bad_name())),
        Some(Ok(Register(Some(name)))) if op.colon => {
            // Nothing before a register contains its sign.
            let put = trimmed(line.split('@').next().unwrap_or(line));
            return Some(Err(OpLineError {
                what: "`PUT … @name` pastes the register and never takes `:` — the colon promises body rows."
                    .to_owned(),
                next: format!("Drop the colon (`{put} @{name}`), or write `{put}:` above `+TEXT` body rows."),
            }));
        }
        Some(Ok(register)) => op.paste = Some(register),
        None if !op.colon => op.paste = Some(Register(None)),
        None => {}
    }
    if op.paste.is_some() {
        op.kind = OpKind::Paste;
    }
    Some(checked(op, range))
}

fn cut(mut scan: LineScanner<'_>) -> Option<Result<OpLine, OpLineError>> {
    let (place, words, range) = target(&mut scan)?;
    if !matches!(place, LineTarget::Lines { .. } | LineTarget::Block(_)) {
        return None;
    }
    let mut op = OpLine::new(OpKind::Take, place).named(words);
    match scan.register() {
        Some(Err(())) => return Some(Err(bad_name())),
        Some(Ok(register)) => op.keep = Some(register),
        None => op.keep = Some(Register(None)),
    }
    if !scan.tail(&mut op) || op.inline.is_some() {
        return None;
    }
    if op.colon {
        op.lenient = Some("Ignored a trailing `:` on bodyless `CUT`. Prefer `CUT N.=M` / `CUT N*` without a colon.");
    }
    Some(checked(op, range))
}

fn bad_name() -> OpLineError {
    OpLineError {
        what: "a register's name is 1 to 64 letters, digits, `_` or `-`.".to_owned(),
        next: "Give the register such a name, e.g. `@moved`.".to_owned(),
    }
}

fn checked(mut op: OpLine, range: Option<LineNumberRange>) -> Result<OpLine, OpLineError> {
    if let Some(fault) = unknown_word(&op) {
        return Err(fault);
    }
    let Some(range) = range else { return Ok(op) };
    if let Some(mut fault) = misplaced(&op, range, &CURRENT) {
        fault.what = format!(
            "Invalid absolute range: start {}, end {}. The value after `.=` is an absolute source line, not a line count or replacement length.",
            range.from, range.to
        );
        return Err(fault);
    }
    if !range.strict {
        op.lenient = op.lenient.or(Some(SEPARATOR_NOTE));
    }
    Ok(op)
}

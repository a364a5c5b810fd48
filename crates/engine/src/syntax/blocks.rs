//! Edits by line that name a block by its first line: the block becomes lines.

use super::language;
use emendate_core::marks::excerpt;
use emendate_core::rows::{RowPlace, Rows};
use emendate_core::{Code, Error, Locator, Op, Result, Snapshot};
use emendate_fs::Place;
use emendate_syntax::{Block, Limits, NoBlock, Parsed, parse};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Lines above and below one without a block that are asked for theirs.
const NEAR: usize = 64;

/// The operations with lines in place of blocks of `base`, whose numbers they are in. Where nothing is known of the
/// language they stay as they are. What was found goes to `notes`.
///
/// Errors: `symbol.not_found` for a line where no block of several lines begins.
pub(crate) fn with_blocks<'a>(
    place: &Place,
    base: &Snapshot,
    ops: &'a [Op],
    notes: &mut Vec<String>,
) -> Result<Cow<'a, [Op]>> {
    let of = |op: &Op| match &op.at {
        Locator::Rows(rows) => matches!(rows.place, RowPlace::Block(_) | RowPlace::AfterBlock(_)),
        _ => false,
    };
    if !ops.iter().any(of) {
        return Ok(Cow::Borrowed(ops));
    }
    let parsed = language(place, base.text()).and_then(|it| parse(base.text(), it, Limits::ASKED));
    let Some(parsed) = parsed else { return Ok(Cow::Borrowed(ops)) };
    let mut ops = ops.to_vec();
    for op in &mut ops {
        let Locator::Rows(rows) = &mut op.at else { continue };
        let (line, behind) = match rows.place {
            RowPlace::Block(line) => (line, false),
            RowPlace::AfterBlock(line) => (line, true),
            _ => continue,
        };
        let block = match parsed.block_at(line) {
            Ok(block) if !block.is_long() => return Err(single(base, &parsed, rows, line)),
            Ok(block) => block,
            // Lines that are not there, and the closing line of a block, have their own answer.
            Err(NoBlock::NoLine) => continue,
            Err(NoBlock::Inside(_)) if behind => continue,
            Err(why) => return Err(none(base, &parsed, rows, (line, why))),
        };
        rows.place =
            if behind { RowPlace::After(block.last) } else { RowPlace::Lines { from: block.first, to: block.last } };
        let above = if block.above < block.first && !behind {
            let above = match block.first - block.above {
                1 => format!("line {}", block.above),
                _ => format!("lines {}-{}", block.above, block.first - 1),
            };
            format!("; {above} above it belongs to it and was left")
        } else {
            String::new()
        };
        notes.push(format!("The block of line {line} is lines {}-{}{above}.", block.first, block.last));
    }
    Ok(Cow::Owned(ops))
}

/// The lines around `line`, for an error.
fn shown(base: &Snapshot, line: usize) -> String {
    excerpt(base, line.saturating_sub(2).max(1), line + 2)
}

/// No block begins on the line.
fn none(base: &Snapshot, parsed: &Parsed<'_>, rows: &Rows, (line, why): (usize, NoBlock)) -> Error {
    let what = format!(
        "line {}: `{}` could not resolve a syntactic block beginning on line {line}: {why}.",
        rows.said_at, rows.said
    );
    let below =
        (line + 1..=line.saturating_add(NEAR)).find_map(|line| parsed.block_at(line).ok().filter(Block::is_long));
    let around = enclosing(parsed, line);
    let mut told = String::new();
    for (which, block) in [("The next block", below), ("The block around the line", around)] {
        let Some(Block { first, last, .. }) = block else { continue };
        let _ = write!(told, " {which} is that of line {first}, lines {first}-{last}.");
    }
    Error::new(Code::SymbolMissing, what)
        .evidence(shown(base, line))
        .next(format!("Name the lines themselves, or the line where the block begins.{told}"))
        .fact("line", rows.said_at)
}

/// The block is one line: most likely another one was meant, whose first line this is not.
fn single(base: &Snapshot, parsed: &Parsed<'_>, rows: &Rows, line: usize) -> Error {
    let what = format!(
        "line {}: `{}` resolved a single-line block: line {line} is a statement, not the opening line of a multi-line construct.",
        rows.said_at, rows.said
    );
    let plain = rows.said.replacen(" block", "", 1).replace('*', "");
    let around = enclosing(parsed, line).map(|Block { first, last, .. }| {
        format!(" The block around it is that of line {first}, lines {first}-{last}: name line {first} for that.")
    });
    Error::new(Code::SymbolMissing, what)
        .evidence(shown(base, line))
        .next(format!("For only this line, use `{plain}`.{}", around.unwrap_or_default()))
        .fact("line", rows.said_at)
}

/// The nearest block of several lines around a line.
fn enclosing(parsed: &Parsed<'_>, line: usize) -> Option<Block> {
    let above = (line.saturating_sub(NEAR).max(1)..line).rev();
    above.filter_map(|first| parsed.block_at(first).ok()).find(|block| block.is_long() && block.last >= line)
}

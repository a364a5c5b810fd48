//! Edits by line that name a block by its first line: the block becomes lines.

use super::language;
use emendate_core::rows::RowPlace;
use emendate_core::{Code, Error, Locator, Op, Result, Snapshot};
use emendate_fs::Place;
use emendate_syntax::{Limits, NoBlock, parse};
use std::borrow::Cow;

/// The operations with lines in place of blocks of `base`, whose numbers they are in. Where nothing is known of the
/// language they stay as they are. What was found goes to `notes`.
///
/// Errors: `symbol.not_found` for a line where no block begins.
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
            Ok(block) => block,
            // Lines that are not there, and the closing line of a block, have their own answer.
            Err(NoBlock::NoLine) => continue,
            Err(NoBlock::Inside(_)) if behind => continue,
            Err(why) => {
                let what = format!(
                    "line {}: `{}` could not resolve a syntactic block beginning on line {line}: {why}.",
                    rows.said_at, rows.said
                );
                return Err(Error::new(Code::SymbolMissing, what)
                    .evidence(emendate_core::marks::excerpt(base, line.saturating_sub(2).max(1), line + 2))
                    .next("Name the lines themselves, or the line where the block begins.")
                    .fact("line", rows.said_at));
            }
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

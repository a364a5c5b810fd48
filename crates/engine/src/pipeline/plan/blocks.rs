//! Line edits that name a block by its first line: the block is converted to lines.

use crate::context::syntax::{Grammars, unfit};
use emendate_core::line_edits::{self, LineEdit, LineTarget};
use emendate_core::line_format::excerpt;
use emendate_core::{Code, Error, Locator, Notes, Op, Result, Snapshot};
use emendate_fs::SafePath;
use emendate_syntax::{CodeBlock, Language, NoBlock, QuerySubject, SyntaxAnswer};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Lines above and below one without a block that are also checked for blocks.
const NEARBY_LINES: usize = 64;

/// Creates the error for the first operation on a block, in a language that only the `full` build parses.
fn not_built(base: &Snapshot, ops: &[Op], language: &str) -> Error {
    let first = ops.iter().find_map(|op| Some((line_edits::of(op)?, block_of(op)?.0)));
    first.map_or_else(unfit, |(rows, line)| line_edits::not_built(base, rows, line, language))
}

/// Returns the line whose block an operation names, and whether it refers to the place after it.
fn block_of(op: &Op) -> Option<(usize, bool)> {
    match &op.at {
        Locator::Lines(rows) => match rows.target {
            LineTarget::Block(line) => Some((line, false)),
            LineTarget::AfterBlock(line) => Some((line, true)),
            _ => None,
        },
        _ => None,
    }
}

impl Grammars<'_> {
    /// Converts blocks of `base` to lines. In an unknown language the operations are returned unchanged. Findings go to
    /// `notes`.
    ///
    /// Errors: `symbol.not_found` for a line on which no block of several lines begins.
    pub(crate) fn with_blocks<'a>(
        &self,
        path: &SafePath,
        base: &Snapshot,
        ops: &'a [Op],
        notes: &mut Notes,
    ) -> Result<Cow<'a, [Op]>> {
        let lines: Vec<usize> = ops.iter().filter_map(block_of).map(|(line, _)| line).collect();
        if lines.is_empty() {
            return Ok(Cow::Borrowed(ops));
        }
        let Some(blocks) = self.blocks(path, base, lines)? else {
            return match Language::not_built(path.absolute()) {
                Some(language) => Err(not_built(base, ops, language)),
                None => Ok(Cow::Borrowed(ops)),
            };
        };
        let mut ops = ops.to_vec();
        let mut blocks = blocks.into_iter();
        for op in &mut ops {
            let Some((line, behind)) = block_of(op) else { continue };
            let Locator::Lines(rows) = &mut op.at else { continue };
            let Some(block) = blocks.next() else { break };
            let block = match block {
                Ok(block) if !block.is_long() => return Err(self.single(path, base, rows, line)),
                Ok(block) => block,
                // Missing lines, and the closing line of a block, have errors of their own.
                Err(NoBlock::NoLine) => continue,
                Err(NoBlock::Inside(_)) if behind => continue,
                Err(why) => return Err(self.none(path, base, rows, line, why)),
            };
            rows.target = if behind {
                LineTarget::After(block.last)
            } else {
                LineTarget::Lines { from: block.first, to: block.last }
            };
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

    /// Returns the blocks that begin on some lines; `None` if the language is unknown, or the text is too large.
    ///
    /// Errors: `call.cancelled`.
    fn blocks(
        &self,
        path: &SafePath,
        base: &Snapshot,
        lines: Vec<usize>,
    ) -> Result<Option<Vec<Result<CodeBlock, NoBlock>>>> {
        match self.ask(path, base.text(), QuerySubject::Blocks(lines)) {
            Ok((SyntaxAnswer::Blocks(blocks), _)) => Ok(Some(blocks)),
            Err(error) if error.code() == Code::CallCancelled => Err(error),
            _ => Ok(None),
        }
    }

    /// Returns the blocks of several lines among those that begin on some lines.
    fn long(&self, path: &SafePath, base: &Snapshot, lines: Vec<usize>) -> Vec<CodeBlock> {
        let blocks = self.blocks(path, base, lines).ok().flatten().unwrap_or_default();
        blocks.into_iter().filter_map(std::result::Result::ok).filter(CodeBlock::is_long).collect()
    }

    /// Creates the error for a line on which no block begins.
    fn none(&self, path: &SafePath, base: &Snapshot, rows: &LineEdit, line: usize, why: NoBlock) -> Error {
        let what = line_edits::unresolved_block(rows, line);
        let below = self.long(path, base, (line + 1..=line.saturating_add(NEARBY_LINES)).collect()).first().copied();
        let around = self.enclosing(path, base, line);
        let mut others = String::new();
        for (which, block) in [("The next block", below), ("The block around the line", around)] {
            let Some(CodeBlock { first, last, .. }) = block else { continue };
            let _ = write!(others, " {which} is that of line {first}, lines {first}-{last}.");
        }
        Error::new(Code::SymbolMissing, what)
            .evidence(format!("In this case: {why}."))
            .evidence(shown(base, line))
            .next(format!("Name the lines themselves, or the line where the block begins.{others}"))
            .fact("line", rows.source_line)
    }

    /// Creates the error for a block of one line: most likely another block was intended, whose first line is a
    /// different one.
    fn single(&self, path: &SafePath, base: &Snapshot, rows: &LineEdit, line: usize) -> Error {
        let what = format!(
            "line {}: `{}` resolved a single-line block: line {line} is a statement, not the opening line of a multi-line construct.",
            rows.source_line, rows.source_text
        );
        let plain = rows.source_text.replacen(" block", "", 1).replace('*', "");
        let around = self.enclosing(path, base, line).map(|CodeBlock { first, last, .. }| {
            format!(" The block around it is that of line {first}, lines {first}-{last}: name line {first} for that.")
        });
        Error::new(Code::SymbolMissing, what)
            .evidence(shown(base, line))
            .next(format!("For only this line, use `{plain}`.{}", around.unwrap_or_default()))
            .fact("line", rows.source_line)
    }

    /// Returns the nearest block of several lines around a line.
    fn enclosing(&self, path: &SafePath, base: &Snapshot, line: usize) -> Option<CodeBlock> {
        let above = (line.saturating_sub(NEARBY_LINES).max(1)..line).rev().collect();
        self.long(path, base, above).into_iter().find(|block| block.last >= line)
    }
}

/// Returns the lines around `line`, for an error.
fn shown(base: &Snapshot, line: usize) -> String {
    excerpt(base, line.saturating_sub(2).max(1), line + 2)
}

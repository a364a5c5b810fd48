//! Edits of whole lines as plain data.

use super::{Locator, Op};
use crate::locate::anchor_map::AnchorWord;

/// One edit of whole lines. [`Op::text`] has the new rows, each with a line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineEdit {
    /// The lines that the edit replaces, or next to which it inserts.
    pub target: LineTarget,
    /// Anchors given instead of numbers; see [`by_number`](crate::locate::line_edits::by_number).
    pub anchors: AnchorRange,
    /// Text that the first line must contain.
    pub check: Option<String>,
    /// Lines that the caller expects: each must be in the range, in this order.
    pub old: Vec<String>,
    /// Rows that were read as unchanged lines of a diff: each must be in the range, in this order.
    pub context: Vec<String>,
    /// The register that receives the removed lines.
    pub cut_to: Option<Register>,
    /// The register whose content becomes the new rows; see [`fill_registers`](crate::locate::line_edits::fill_registers).
    pub paste: Option<Register>,
    /// The edit's first line as the caller wrote it.
    pub source_text: String,
    /// 1-based line of the input on which the edit begins; 0 if [`LineEdit::source_text`] identifies the edit.
    pub source_line: usize,
}

/// Anchors in place of line numbers, which are 0 until [`by_number`](crate::locate::line_edits::by_number) has resolved them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnchorRange {
    /// Anchor of the only line, or of the first of a range.
    pub from: Option<AnchorWord>,
    /// Anchor of the last line of a range.
    pub to: Option<AnchorWord>,
}

impl AnchorRange {
    /// The anchors.
    pub(in crate::locate) fn words(self) -> Vec<AnchorWord> {
        [self.from, self.to].into_iter().flatten().collect()
    }

    /// True if there is no anchor.
    pub fn is_empty(self) -> bool {
        self == AnchorRange::default()
    }
}

/// The lines that an edit replaces, or next to which it inserts. Numbers are 1-based; they may be after the end of the
/// file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTarget {
    /// Replaces these lines.
    Lines {
        /// The first line.
        from: usize,
        /// The last line; at least `from`.
        to: usize,
    },
    /// Replaces the block that begins on this line.
    Block(usize),
    /// Inserts rows before this line.
    Before(usize),
    /// Inserts rows after this line.
    After(usize),
    /// Inserts rows after the block that begins on this line.
    AfterBlock(usize),
    /// Inserts rows before the first line.
    Head,
    /// Inserts rows after the last line.
    Tail,
}

/// The name of a register; `None` is the unnamed register of the call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub Option<String>);

impl LineEdit {
    /// The first and last line that the edit removes; `None` if it removes none.
    pub fn range(&self) -> Option<(usize, usize)> {
        match self.target {
            LineTarget::Lines { from, to } => Some((from, to)),
            _ => None,
        }
    }

    /// The first and last line that the edit names, whether it removes them or not.
    pub fn named_lines(&self) -> Option<(usize, usize)> {
        match self.target {
            LineTarget::Lines { from, to } => Some((from, to)),
            LineTarget::Block(line)
            | LineTarget::Before(line)
            | LineTarget::After(line)
            | LineTarget::AfterBlock(line) => Some((line, line)),
            LineTarget::Head | LineTarget::Tail => None,
        }
    }

    /// True if the rows are text as they are: rows of hashline begin with `+`.
    pub(crate) fn is_literal(&self) -> bool {
        self.source_line > 0
    }

    /// Returns the beginning of a note of this edit; a reply about several edits of a call names the edit itself.
    pub(in crate::locate) fn note_prefix(&self) -> String {
        if self.source_line == 0 { String::new() } else { self.describe() }
    }

    /// Returns the beginning of a message about the edit.
    pub(in crate::locate) fn describe(&self) -> String {
        if self.source_line == 0 { format!("{}: ", self.source_text) } else { format!("line {}: ", self.source_line) }
    }
}

/// The line edit in an operation, if it is one.
pub fn of(op: &Op) -> Option<&LineEdit> {
    match &op.at {
        Locator::Lines(rows) => Some(rows),
        _ => None,
    }
}

/// True when all operations are edits by line number.
pub fn are_line_edits(ops: &[Op]) -> bool {
    !ops.is_empty() && ops.iter().all(|op| of(op).is_some())
}

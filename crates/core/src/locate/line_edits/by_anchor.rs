//! Line edits that name lines by anchors instead of numbers.

use super::{AnchorRange, LineEdit, LineTarget, of};
use crate::code::Code;
use crate::error::Error;
use crate::locate::anchor_map::{AnchorWord, PlacementError};
use crate::locate::op::{Locator, Op};

/// Maximum number of failures that a message lists.
const REPORTED_FAILURES_MAX: usize = 20;

/// True when an edit names a line by its anchor.
pub fn names_anchor(ops: &[Op]) -> bool {
    ops.iter().filter_map(of).any(|rows| !rows.anchors.is_empty())
}

/// True when lines are named by anchors, and none by its number.
pub fn are_all_by_anchor(ops: &[Op]) -> bool {
    names_anchor(ops) && ops.iter().filter_map(of).all(|rows| !rows.names_a_number())
}

/// Resolves anchors to numbers; `line_of` returns the 1-based line of a word.
///
/// Errors: every word that names no line, and every range that ends before it starts.
pub fn by_number(
    ops: &[Op],
    line_of: impl Fn(AnchorWord) -> Result<usize, PlacementError>,
) -> std::result::Result<Vec<Op>, Vec<PlacementError>> {
    let (mut out, mut failures) = (Vec::with_capacity(ops.len()), Vec::new());
    for op in ops {
        let mut op = op.clone();
        if let Locator::Lines(rows) = &mut op.at
            && let Err(misplaced) = rows.look_up(&line_of)
        {
            failures.push(misplaced);
            if failures.len() == REPORTED_FAILURES_MAX {
                break;
            }
        }
        out.push(op);
    }
    if failures.is_empty() { Ok(out) } else { Err(failures) }
}

impl LineEdit {
    fn names_a_number(&self) -> bool {
        match self.target {
            LineTarget::Lines { .. } => self.anchors.from.is_none() || self.anchors.to.is_none(),
            LineTarget::Head | LineTarget::Tail => false,
            _ => self.anchors.from.is_none(),
        }
    }

    /// Replaces anchors by numbers.
    fn look_up(
        &mut self,
        line_of: &impl Fn(AnchorWord) -> Result<usize, PlacementError>,
    ) -> Result<(), PlacementError> {
        let prefix = self.describe();
        let AnchorRange { from: first_word, to: last_word } = self.anchors;
        let first_line = |number| line_number(line_of, &prefix, first_word, number);
        self.target = match self.target {
            LineTarget::Lines { from: first, to: last } => {
                let (first, last) = (first_line(first)?, line_number(line_of, &prefix, last_word, last)?);
                if first > last {
                    let what =
                        format!("{prefix}`{}` ends before it starts: lines {first} and {last}.", self.source_text);
                    let error = Error::new(Code::CallInvalid, what).next("Name the upper line first.");
                    return Err(PlacementError { error, show: Some((last, first)) });
                }
                LineTarget::Lines { from: first, to: last }
            }
            LineTarget::Block(line) => LineTarget::Block(first_line(line)?),
            LineTarget::Before(line) => LineTarget::Before(first_line(line)?),
            LineTarget::After(line) => LineTarget::After(first_line(line)?),
            LineTarget::AfterBlock(line) => LineTarget::AfterBlock(first_line(line)?),
            place @ (LineTarget::Head | LineTarget::Tail) => place,
        };
        self.anchors = AnchorRange::default();
        Ok(())
    }
}

/// Returns the number of the line with this anchor; without an anchor, the given number. `subject` begins messages.
fn line_number(
    line_of: &impl Fn(AnchorWord) -> Result<usize, PlacementError>,
    subject: &str,
    word: Option<AnchorWord>,
    number: usize,
) -> Result<usize, PlacementError> {
    let Some(word) = word else { return Ok(number) };
    line_of(word).map_err(|it| PlacementError { error: it.error.prefixed(subject), show: it.show })
}

//! Line edits that name lines by anchors instead of numbers.

use super::{RowPlace, Rows, of};
use crate::code::Code;
use crate::error::Error;
use crate::op::{Locator, Op};
use crate::words::{Misplaced, Word};

/// Failures that a message lists.
const FAILURES: usize = 20;

/// True when an edit names a line by its anchor.
pub fn named_by_word(ops: &[Op]) -> bool {
    ops.iter().filter_map(of).any(|rows| !rows.words.is_none())
}

/// True when lines are named by anchors, and none by its number.
pub fn are_by_word(ops: &[Op]) -> bool {
    named_by_word(ops) && ops.iter().filter_map(of).all(|rows| !rows.names_a_number())
}

/// Resolves anchors to numbers; `line_of` returns the 1-based line of a word.
///
/// Errors: every word that names no line, and every range that ends before it starts.
pub fn by_number(
    ops: &[Op],
    line_of: impl Fn(Word) -> Result<usize, Misplaced>,
) -> std::result::Result<Vec<Op>, Vec<Misplaced>> {
    let (mut out, mut failures) = (Vec::with_capacity(ops.len()), Vec::new());
    for op in ops {
        let mut op = op.clone();
        if let Locator::Rows(rows) = &mut op.at
            && let Err(misplaced) = rows.look_up(&line_of)
        {
            failures.push(misplaced);
            if failures.len() == FAILURES {
                break;
            }
        }
        out.push(op);
    }
    if failures.is_empty() { Ok(out) } else { Err(failures) }
}

impl Rows {
    fn names_a_number(&self) -> bool {
        match self.place {
            RowPlace::Lines { .. } => self.words.from.is_none() || self.words.to.is_none(),
            RowPlace::Head | RowPlace::Tail => false,
            _ => self.words.from.is_none(),
        }
    }

    /// Replaces anchors by numbers.
    fn look_up(&mut self, line_of: &impl Fn(Word) -> Result<usize, Misplaced>) -> Result<(), Misplaced> {
        let told = self.told();
        let line = |word: Option<Word>, number: usize| match word {
            Some(word) => line_of(word).map_err(|it| Misplaced { error: it.error.prefixed(&told), show: it.show }),
            None => Ok(number),
        };
        let from = |number: usize| line(self.words.from, number);
        self.place = match self.place {
            RowPlace::Lines { from: first, to: last } => {
                let (first, last) = (from(first)?, line(self.words.to, last)?);
                if first > last {
                    let what = format!("{told}`{}` ends before it starts: lines {first} and {last}.", self.said);
                    let error = Error::new(Code::CallInvalid, what).next("Name the upper line first.");
                    return Err(Misplaced { error, show: Some((last, first)) });
                }
                RowPlace::Lines { from: first, to: last }
            }
            RowPlace::Block(line) => RowPlace::Block(from(line)?),
            RowPlace::Before(line) => RowPlace::Before(from(line)?),
            RowPlace::After(line) => RowPlace::After(from(line)?),
            RowPlace::AfterBlock(line) => RowPlace::AfterBlock(from(line)?),
            place @ (RowPlace::Head | RowPlace::Tail) => place,
        };
        self.words = super::Ends::default();
        Ok(())
    }
}

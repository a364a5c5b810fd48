//! Numbers of hunks, as `history` shows them and `undo`, `restore` and `history` accept them.

use emendate_core::refusals::check_count;
use emendate_core::{Advice, Code, Error, Phrase, Result, advice};
use emendate_fs::SafePath;
use emendate_history::OperationId;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt;

/// Numbers of hunks that one call may have.
pub const HUNKS_PER_CALL_MAX: usize = 1000;

/// Unchanged lines around each hunk: they decide what counts as one hunk.
pub(crate) const HUNK_CONTEXT_LINES: usize = 3;

/// The hunks of one file of an operation that a call names, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HunkNumbers {
    pub(crate) operation: OperationId,
    pub(crate) numbers: BTreeSet<usize>,
    /// True if the numbers refer to the changes of several operations, of which this is the last one.
    pub(crate) of_several: bool,
}

impl HunkNumbers {
    /// Creates the numbers of one call.
    ///
    /// Errors: `call.too_large`; `call.invalid` if there are no numbers, or one of them is 0.
    pub(crate) fn new(operation: OperationId, numbers: &[usize]) -> Result<HunkNumbers> {
        check_count(numbers.len(), HUNKS_PER_CALL_MAX, "hunks")?;
        if numbers.is_empty() || numbers.contains(&0) {
            return Err(Error::new(Code::CallInvalid, "Hunks are counted from 1.").next(
                advice!["Send the numbers of hunks as ", listing(operation), " shows them, such as [2]."]
                    .or("Count from 1."),
            ));
        }
        Ok(HunkNumbers { operation, numbers: numbers.iter().copied().collect(), of_several: false })
    }

    /// Checks that a file with this many hunks has all of them.
    ///
    /// Errors: `call.invalid`.
    pub(crate) fn check(&self, hunks: usize, path: &SafePath) -> Result<()> {
        let Some(number) = self.numbers.last().filter(|number| **number > hunks) else { return Ok(()) };
        let count = if hunks == 1 { "1 hunk".to_owned() } else { format!("{hunks} hunks") };
        let what = format!("Operation {} has {count} in this file, so there is no hunk {number}.", self.operation);
        Err(Error::new(Code::CallInvalid, what).evidence(path.shown()).next(
            advice!["Call ", listing(self.operation), " to see them with their numbers."]
                .or("Send the number of a hunk that the operation has."),
        ))
    }
}

impl fmt::Display for HunkNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.numbers.iter().map(ToString::to_string).collect();
        let noun = if numbers.len() == 1 { "hunk" } else { "hunks" };
        let whole = if self.of_several { "the changes up to operation" } else { "operation" };
        write!(f, "{noun} {} of {whole} {}", numbers.join(", "), self.operation)
    }
}

/// The call that shows the files and hunks of an operation.
pub(crate) fn listing(operation: OperationId) -> Phrase {
    Phrase::Call("history", json!({ "id": operation.to_string() }))
}

/// Creates the error for hunks of an operation on several files without the name of one.
pub(crate) fn several_files(operation: OperationId, files: usize) -> Error {
    Error::new(Code::CallInvalid, format!("Operation {operation} changed {files} files; hunks are those of one file."))
        .next(Advice::named("Repeat the call with {file_path}.").or("Name the file, too."))
}

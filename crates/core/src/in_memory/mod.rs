//! Edits of text in memory: functions from texts to texts, without a file system, a session or a clock.
//!
//! They use the parsers, the matching cascade and the resolver of the engine, so that a patch has the same effect on a
//! text as it has on a file with that text. Engine features that need a disk or an earlier read are absent: encodings,
//! merges with a changed file, formatters, grammars. A notebook is edited as the JSON text that it is, unless the patch
//! names cells.

mod delta;
mod file_work;
mod files;
mod function_names;
mod options;
mod outcome;
mod place;
mod planner;
mod similarity;
#[cfg(test)]
mod tests;
mod text;

pub use delta::{PatchText, TextDiff, convert, diff};
pub use files::{apply_files, named_files};
pub use function_names::function_parameters;
pub use options::{ApplyLimits, ApplyOptions};
pub use outcome::{AppliedFiles, AppliedText, ChangedFile, ChangedSpan, FileChangeKind, NewText};
pub use similarity::{line_similarity, similarity};
pub use text::{apply, apply_in_parts, edit};

use crate::advice;
use crate::advice::Phrase;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::work::{self, Meter};
use function_names::{FunctionNames, MAX_STEPS, TextFunction};
use std::sync::Arc;

/// Runs a function within its limit of work. The work of a nested call counts for the outer one.
fn limited<T>(options: &ApplyOptions, function: TextFunction, call: impl FnOnce() -> Result<T>) -> Result<T> {
    let is_outermost = work::current().is_none();
    let _entered = is_outermost.then(|| Meter::new(options.limits.work_steps, Arc::default()).enter());
    let done = call().and_then(|done| work::check().map(|()| done));
    done.map_err(|error| {
        let error = if error.code() == Code::CallTooMuchWork { too_much_work() } else { error };
        error.rendered_for(&FunctionNames::new(function, options.argument_style))
    })
}

/// Creates the error for a call beyond the limit of its steps, which has no files.
fn too_much_work() -> Error {
    let less = "Give less in one call: shorter texts, or fewer edits";
    Error::new(Code::CallTooMuchWork, "The call needs more steps of work than one call may take.")
        .next(advice![less, "; or raise ", Phrase::Field(MAX_STEPS), "."].or(format!("{less}.")))
}

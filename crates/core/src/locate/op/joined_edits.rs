//! The edits of one file in several parts of a call.

use super::{FileAction, Op, line_edit};
use crate::code::Code;
use crate::error::{Error, Result};

impl FileAction {
    /// Joins the edits of a later part of a call to those of an earlier part on the same file; returns false if they
    /// remain separate. `path` returns the name of the file for errors.
    ///
    /// Errors: `call.invalid` for a second text of the file, and for edits by line number in two parts.
    pub fn join(&mut self, later: &FileAction, path: impl FnOnce() -> String) -> Result<bool> {
        match (self, later) {
            (_, FileAction::Write(_)) => Err(written_twice(&path())),
            (FileAction::Edit { ops, .. }, FileAction::Edit { ops: more, .. }) => {
                if line_edit::are_line_edits(ops) || line_edit::are_line_edits(more) {
                    return Err(lines_already_changed(&path(), more));
                }
                ops.extend(more.iter().cloned());
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Creates the error for a second text of a file in one call.
fn written_twice(path: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The call writes {path} twice."))
        .next("Name the file once, with all of its changes.")
}

/// Creates the error for edits by line number of a file that an earlier part of the call changes.
pub fn lines_already_changed(path: &str, ops: &[Op]) -> Error {
    let at = ops.first().and_then(line_edit::of).map_or(0, |rows| rows.source_line);
    Error::new(Code::CallInvalid, format!("Multiple hashline sections resolve to the same file ({path}). Merge their ops under one header before applying."))
        .evidence(format!("The section with line {at} of the input is about a file that an earlier section changes."))
        .next("Write all hunks of a file under one header; their numbers all mean the version it names.")
}

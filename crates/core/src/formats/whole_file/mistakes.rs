//! Errors of whole files.

use crate::code::Code;
use crate::error::Error;

/// Creates an error that names the line of the request.
pub(super) fn broken(line: usize, what: &str) -> Error {
    Error::new(Code::EditUnparsable, format!("Line {line} of the request: {what}"))
        .next(SHAPE_ADVICE)
        .fact("line", line)
}

const SHAPE_ADVICE: &str = "Write the file's path alone on a line, below it a fence with the file's whole text; where the text itself contains \
fences, use a longer fence around it (````).";

pub(super) const BETWEEN_FILES_ADVICE: &str = "If another file begins here, put a blank line above its name; if not, use a longer fence (````) \
around the whole text.";

pub(super) fn nested_fence(at: usize, path: &str) -> Error {
    broken(at, &format!("the text of {path} has a fence that is as long as the one around it."))
}

pub(super) fn edit_inside(at: usize) -> Error {
    broken(at, "the fence contains an edit, not the whole text of a file.")
        .next("Name the format of the edit in the call, or send it in a separate call.")
}

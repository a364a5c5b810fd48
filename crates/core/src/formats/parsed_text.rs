//! The result of parsing a text.

use super::Format;
use crate::locate::op::Request;

/// A parsed text.
pub struct ParsedText {
    /// The format of the text.
    pub format: &'static dyn Format,
    /// The request; its notes list the wrappers that were removed.
    pub request: Request,
    /// The directory that names in the text are relative to, if a wrapper gives it; it may be relative itself.
    pub directory: Option<String>,
}

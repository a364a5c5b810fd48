//! What the tests of several formats need.

use super::detect::parse_wrapped;
use super::line_parser::ParseOptions;
use super::ranges::KnownRanges;
use super::{Format, FormatInput};
use crate::error::Error;
use crate::locate::op::{FileAction, FileRequest, Hunk, HunkLine, HunkLineKind, Locator, Op, Request};

/// Parses a text that has no error.
pub(super) fn parse(format: &dyn Format, text: &str) -> Request {
    format.parse(FormatInput::Text(text.to_owned())).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Returns the error of a text.
pub(super) fn refusal(format: &dyn Format, text: &str) -> Error {
    match format.parse(FormatInput::Text(text.to_owned())) {
        Err(error) => error,
        Ok(request) => panic!("{text}\n{request:?}"),
    }
}

fn hunk(op: &Op) -> &Hunk {
    let Locator::Hunk(hunk) = &op.at else { panic!("{op:?}") };
    assert_eq!(op.text, hunk.new_text());
    hunk
}

/// Returns the hunks of a file.
pub(super) fn hunks(file: &FileRequest) -> Vec<&Hunk> {
    match &file.action {
        FileAction::Edit { ops, .. } | FileAction::Move { ops, .. } | FileAction::Copy { ops, .. } => {
            ops.iter().map(hunk).collect()
        }
        action => panic!("{action:?}"),
    }
}

/// Prints the lines of a hunk with their marks; `?` for unmarked ones.
pub(super) fn marked(hunk: &Hunk) -> String {
    let mark = |line: &HunkLine| match line.kind {
        HunkLineKind::Context => ' ',
        HunkLineKind::Removed => '-',
        HunkLineKind::Added => '+',
        HunkLineKind::Bare => '?',
    };
    hunk.lines.iter().map(|line| format!("{}{}\n", mark(line), line.text)).collect()
}

/// Checks that a text that its format reads in one pass is read as any other text is.
pub(super) fn check_plain(format: &'static dyn Format, text: &str, is_format_named: bool, options: &ParseOptions) {
    if let Some(request) = format.parse_plain(text, options) {
        let named = is_format_named.then_some(format);
        let parsed = parse_wrapped(text, named, options, &mut KnownRanges::default()).unwrap();
        assert_eq!((parsed.format.spec().name, parsed.request), (format.spec().name, request));
    }
}

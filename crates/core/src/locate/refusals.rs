//! Refusals to remove, move or create files because of the state of the current ones.

use crate::advice::Advice;
use crate::code::Code;
use crate::error::ErrorContext;
use crate::error::{Error, Result};
use crate::locate::line_format;
use crate::locate::op::{EDITS_PER_CALL_MAX, Request, normalize_text};
use crate::text::snapshot::Snapshot;

pub use crate::locate::op::joined_edits::lines_already_changed;

/// Maximum number of files that one call may name.
pub const FILES_PER_CALL_MAX: usize = 1_000;

/// Checks that a file to be removed has the text that the patch removes, ignoring trailing whitespace. Returns a note
/// if the two differ in it. The byte order mark of a file is not part of its text.
pub fn check_removed_text(file: &Snapshot, text: &str) -> Result<Option<&'static str>> {
    let text = text.strip_prefix('\u{feff}').filter(|_| file.codec().mark > 0).unwrap_or(text);
    if file.is_binary() || trimmed_lines(file.text()) != trimmed_lines(text) {
        return Err(other_text(file, text));
    }
    let is_same = file.text().lines().eq(text.lines());
    Ok((!is_same).then_some("Lines of the removed file end in other spaces or tabs than those of the patch."))
}

/// Returns the lines of a text without trailing whitespace.
fn trimmed_lines(text: &'_ str) -> Vec<String> {
    text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<String>>()
}

fn other_text(file: &Snapshot, text: &str) -> Error {
    let (mut now, mut removed) = (file.text().lines(), text.lines());
    let mut number = 0;
    let (now, removed) = loop {
        number += 1;
        match (now.next(), removed.next()) {
            (Some(a), Some(b)) if a.trim_end() == b.trim_end() => {}
            pair => break pair,
        }
    };
    Error::new(Code::MatchNotFound, "The file to delete differs from the text that the patch removes; it was kept.")
        .evidence(format!(
            "First difference, line {number}: the file has {}, the patch {}.",
            quoted_line(now),
            quoted_line(removed)
        ))
        .fact("reason", "not_found")
        .next("Read the file again; to remove it whatever it contains, use *** Delete File or a deletion without text.")
}

/// Quotes a line, or states that there is none.
fn quoted_line(line: Option<&str>) -> String {
    line.map_or("(no more lines)".to_owned(), |line| format!("`{line}`"))
}

/// Creates the error for an existing entry at the destination of a move or copy.
pub fn occupied(path: &str) -> Error {
    Error::new(Code::FileExists, "The destination already exists; nothing was moved or copied.").evidence(path).next(
        Advice::named(
            "Choose another path, delete that file earlier in the same call, or repeat the call with {overwrite=true}.",
        )
        .or("Choose another path, or delete that file earlier in the same call."),
    )
}

/// Note if the destination of a move is the current path of the file.
pub const ALREADY_THERE_NOTE: &str = "The file is already at the path it was to be moved to; it was edited there.";

/// Creates the error for a call about nothing.
pub fn no_file() -> Error {
    Error::new(Code::CallInvalid, "The call names no file.").next("Name the file to edit.")
}

/// Creates the error for a file that an earlier part of the call removed from its path.
pub fn file_gone(path: &str) -> Error {
    Error::new(Code::FileMissing, "An earlier part of this call removes the file or moves it away.")
        .evidence(path)
        .next("Use the file's new path, or put the parts into another order.")
}

/// Creates the error for an existing entry at the path of a new file; `text` has the current content and the new one.
pub fn file_exists(path: &str, text: Option<(&Snapshot, &str)>) -> Error {
    let same = text.is_some_and(|(now, text)| now.text() == normalize_text(text));
    let error = if same {
        Error::new(Code::EditNoChange, "The file already exists, with exactly this text.")
            .about(ErrorContext::AlreadyApplied)
            .next("Nothing is left to do for this file; omit it.")
    } else {
        Error::new(Code::FileExists, "Cannot create new file - file already exists.").next(
            Advice::named("Update the file instead, choose another path, or repeat the call with {overwrite=true}.")
                .or("Update the file instead, or choose another path."),
        )
    };
    let shown = text.map_or(String::new(), |(now, _)| {
        format!(" ({} lines):\n{}", now.lines().count(now.text()), line_format::excerpt(now, 1, 3))
    });
    error.evidence(format!("{path}{shown}"))
}

/// Creates the error for edits by anchors of a file that an earlier part of the call changes; `evidence` names it.
pub fn named_twice(path: &str, evidence: &str) -> Error {
    Error::new(Code::CallInvalid, format!("Two entries of the call are about the same file ({path})."))
        .evidence(evidence)
        .next("Write all edits of a file into one entry: they are all about the file as it is now.")
}

/// Creates the error for a move to the file's own path without an edit.
pub fn moved_nowhere(path: &str) -> Error {
    Error::new(Code::EditNoChange, "The file is already at the path it is to be moved to, and no edit of it is sent.")
        .evidence(path)
        .next("Omit the file, name another path, or send the edits.")
}

/// Checks the limits on a request in any format.
///
/// Errors: `call.too_large`.
pub fn check_request(request: &Request) -> Result<()> {
    let edits: usize = request.files.iter().map(|file| file.action.ops().len()).sum();
    check_count(request.files.len(), FILES_PER_CALL_MAX, "files")?;
    check_count(edits, EDITS_PER_CALL_MAX, "edits")
}

/// Checks one count of a call against its limit.
///
/// Errors: `call.too_large`.
pub fn check_count(has: usize, most: usize, what: &str) -> Result<()> {
    if has <= most {
        return Ok(());
    }
    Err(Error::new(Code::CallTooLarge, format!("{has} {what} are more than the {most} that one call may have."))
        .next("Send them in several calls."))
}

//! Refusals to remove, move or create entries because of the current ones; used by [`crate::tree`].

use emendate_core::{Code, Error, Result, Snapshot, line_format};
use emendate_core::{Phrase, advice};
use emendate_fs::SafePath;
use std::ffi::OsStr;

/// Checks that a file to be removed has the text that the patch removes, apart from trailing blanks.
pub(crate) fn check_removed_text(file: &Snapshot, text: &str) -> Result<()> {
    if !file.is_binary() && trimmed_lines(file.text()) == trimmed_lines(text) {
        return Ok(());
    }
    Err(other_text(file, text))
}

/// Returns the lines of a text without blanks behind them.
fn trimmed_lines(text: &'_ str) -> Vec<String> {
    text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<String>>()
}

pub(crate) fn other_text(file: &Snapshot, text: &str) -> Error {
    let (mut now, mut said) = (file.text().lines(), text.lines());
    let mut number = 0;
    let (now, said) = loop {
        number += 1;
        match (now.next(), said.next()) {
            (Some(a), Some(b)) if a.trim_end() == b.trim_end() => {}
            pair => break pair,
        }
    };
    Error::new(Code::MatchNotFound, "The file to be removed has other text than the patch removes; it was kept.")
        .evidence(format!(
            "First difference, line {number}: the file has {}, the patch {}.",
            quoted_line(now),
            quoted_line(said)
        ))
        .fact("reason", "not_found")
        .next("Read the file again; to remove it whatever it holds, use *** Delete File or a deletion without text.")
}

/// Quotes a line, or says that there is none.
fn quoted_line(line: Option<&str>) -> String {
    line.map_or("(no more lines)".to_owned(), |line| format!("`{line}`"))
}

/// Creates the error for a link with another target than the patch removes.
pub(crate) fn other_link(target: &OsStr, text: &str) -> Error {
    Error::new(Code::MatchNotFound, "The symbolic link to be removed leads elsewhere than the patch says; it was kept.")
        .evidence(format!(
            "It leads to `{}`, the patch says `{}`.",
            target.to_string_lossy(),
            text.trim_end_matches('\n')
        ))
        .fact("reason", "not_found")
        .next("Look at the link again; to remove it wherever it leads, use *** Delete File.")
}

/// Creates the error for an existing entry at the destination of a move or copy.
pub(crate) fn occupied(to: &SafePath) -> Error {
    Error::new(Code::FileExists, "There is a file already where this one is to go; nothing was moved or copied.")
        .evidence(to.shown())
        .next(
            advice![
                "Choose another path, delete that file earlier in the same call, or repeat the call with ",
                Phrase::Set("overwrite", true.into()),
                "."
            ]
            .or("Choose another path, or delete that file earlier in the same call."),
        )
}

pub(crate) fn file_gone(place: &SafePath) -> Error {
    Error::new(Code::FileMissing, "An earlier part of this call removes the file or moves it away.")
        .evidence(place.shown())
        .next("Use the file's new path, or put the parts into another order.")
}

/// Creates the error for an existing entry at the path of a new file; `text` is the current content and the new one.
pub(crate) fn file_exists(place: &SafePath, text: Option<(&Snapshot, &str)>) -> Error {
    let same = text.is_some_and(|(now, text)| now.text() == emendate_core::normalize_text(text));
    let error = if same {
        Error::new(Code::EditNoChange, "The new file is there already, with exactly this text.")
            .fact("already_applied", true)
            .next("Nothing is left to do for this file; leave it out.")
    } else {
        Error::new(Code::FileExists, "Cannot create new file - file already exists.").next(
            advice![
                "Update the file instead, choose another path, or repeat the call with ",
                Phrase::Set("overwrite", true.into()),
                "."
            ]
            .or("Update the file instead, or choose another path."),
        )
    };
    let shown = text.map_or(String::new(), |(now, _)| {
        format!(" ({} lines):\n{}", now.lines().count(now.text()), line_format::excerpt(now, 1, 3))
    });
    error.evidence(format!("{}{shown}", place.shown()))
}

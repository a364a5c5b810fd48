//! What to say when the text is not found, or found too often.

use super::exact::{MANY, Places};
use crate::code::Code;
use crate::error::Error;
use crate::marks;
use crate::op::{Find, Pick};
use crate::snapshot::Snapshot;

/// Text quoted back to the caller is cut here, in characters.
const QUOTED: usize = 2000;

pub(super) fn not_found(base: &Snapshot, find: &Find, _new: &str) -> Error {
    let first = find.old.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    let mut error = Error::new(Code::MatchNotFound, "String to replace not found in file.")
        .evidence(format!("String: {}", quoted(&find.old)))
        .next("Read the file again and copy the text to replace from the reply, without line numbers.");
    if !first.is_empty()
        && let Some(at) = memchr::memmem::find(base.text().as_bytes(), first.as_bytes())
    {
        let line = base.lines().line_of(base.text(), at);
        error = error
            .evidence(format!("Its first line occurs at line {line}:\n{}", marks::excerpt(base, line, line + 2)))
            .fact("nearest_line", line);
    }
    error
}

pub(super) fn count(base: &Snapshot, find: &Find, places: &Places) -> Error {
    let shown = 5;
    let lines: Vec<usize> =
        places.apart.iter().take(shown).map(|span| base.lines().line_of(base.text(), span.start())).collect();
    let more = if places.count >= MANY { "more than " } else { "" };
    let count = places.count;
    let mut error = match find.pick {
        Pick::Exactly(wanted) => Error::new(
            Code::MatchCount,
            format!("Expected {wanted} replacement(s) but found {more}{count} occurrence(s)."),
        )
        .next(format!("Set expected_replacements to {count} if all of them are meant, or give a longer old_string.")),
        _ => Error::new(
            Code::MatchAmbiguous,
            format!("Found {more}{count} matches of the string to replace, but replace_all is false."),
        )
        .next(
            "To replace all occurrences, set replace_all to true. To replace only one occurrence, repeat the call with \
             more lines of context in old_string, as shown above, so that it is unique.",
        ),
    };
    let height = find.old.lines().count().clamp(1, 3);
    for line in &lines {
        let from = line.saturating_sub(1).max(1);
        error = error.evidence(format!("line {line}:\n{}", marks::excerpt(base, from, line + height)));
    }
    if places.count > lines.len() {
        error = error.evidence(format!("… and {} more", places.count - lines.len()));
    }
    let candidates: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::json!({ "line": line })).collect();
    error.fact("count", count).fact("candidates", candidates)
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}… ({} characters)", &text[..at], text.chars().count()),
        None => text.to_owned(),
    }
}

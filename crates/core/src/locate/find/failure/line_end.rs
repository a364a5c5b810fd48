//! Line ends of the old text that the file has as escapes: a model wrote `\n` once too little escaped.

use super::{in_fields, old_string};
use crate::advice;
use crate::error::{Error, ErrorContext};
use crate::locate::find::search::MatchSearch;
use crate::text::fold::count_alnum;
use crate::work::{self, STEP_BYTES};
use memchr::memmem;

/// Maximum number of line ends of the old text that are tried.
const LINE_ENDS_MAX: usize = 40;
/// Minimum number of letters and digits of the old text.
const ALNUM_MIN: usize = 4;

/// Adds that the file has escapes in place of line ends of the old text.
pub(super) fn with_escapes(search: &MatchSearch<'_>, error: Error) -> Error {
    let Some((line, text)) = escaped_in_file(search) else { return error };
    let why = format!("The file has `\\n`, two characters within line {line}, where the text begins a new line.");
    let advice = "In both texts, send these two characters; in JSON, the backslash is doubled";
    let fields = advice![format!("{advice}. Begin with "), old_string(&text)];
    error.evidence(why).next(in_fields(search, fields, format!("{advice}."))).about(ErrorContext::Suggestion(text))
}

/// Returns the old text with the line ends escaped as the file has them, if that is in the file exactly once, and the
/// line of the file with the first escape: one line end is escaped, or all but the last one are.
fn escaped_in_file(search: &MatchSearch<'_>) -> Option<(usize, String)> {
    let old = &*search.find.old;
    let body = old.strip_suffix('\n').unwrap_or(old);
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', body.as_bytes()).take(LINE_ENDS_MAX + 1).collect();
    if ends.is_empty() || ends.len() > LINE_ENDS_MAX || count_alnum(old, ALNUM_MIN) < ALNUM_MIN {
        return None;
    }
    // Each attempt below searches the whole file.
    let searched = search.text.len() / STEP_BYTES;
    memmem::find(search.text.as_bytes(), b"\\n").filter(|_| !work::spend_or_end((1 + ends.len()) * searched))?;
    let one = ends.iter().map(|&at| (at, [&body[..at], "\\n", &body[at + 1..]].concat()));
    let all = ends.first().map(|&at| (at, body.replace('\n', "\\n")));
    one.chain(all).find_map(|(at, text)| {
        let mut found = memmem::find_iter(search.text.as_bytes(), text.as_bytes());
        let place = found.next().filter(|_| found.next().is_none())?;
        Some((search.base.lines().line_of(search.text, place + at), [&*text, &old[body.len()..]].concat()))
    })
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::refuse;

    #[test]
    fn line_end_that_is_an_escape_in_the_file_is_named() {
        let file = "a = 1\nprint(\"one\\ntwo\")\nb = 2\n";
        let error = refuse(file, "print(\"one\ntwo\")\nb = 2", "print(\"1\")\nb = 2");
        assert!(error.to_string().contains("within line 2"), "{error}");
        assert_eq!(error.data()["suggestion"], "print(\"one\\ntwo\")\nb = 2");
        let error = refuse("say(\"ab\\ncd\\nef\")\n", "say(\"ab\ncd\nef\")\n", "x\n");
        assert_eq!(error.data()["suggestion"], "say(\"ab\\ncd\\nef\")\n");
        let error = refuse("say(\"abcd\")\n", "say(\"ab\ncd\")", "x");
        assert!(!error.data().contains_key("suggestion"), "{error}");
    }
}

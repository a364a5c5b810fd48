//! Marker lines that open, divide and close a block, in every spelling in use.
//!
//! `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE` (aider, Roo, Zed), `<<<<<<< ORIGINAL`, `=======`, `>>>>>>> UPDATED`
//! (aider's first form), `------- SEARCH`, `=======`, `+++++++ REPLACE` (Cline), of three characters or more. The other
//! markers of a block have the length of the opening one, so text that contains markers is edited with longer ones, or
//! with a backslash before each marker of the text.

use crate::formats::name;

/// Minimum length of a run of angle brackets with a word in another form, and of an independent divider.
const ANGLE_RUN_MIN: usize = 5;
/// Minimum length of a run with its exact word.
const WORDED_RUN_MIN: usize = 3;

/// A line that opens a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) struct OpenMarker<'a> {
    /// Length of the run.
    pub(in crate::formats) run: usize,
    /// The number in `line=N`.
    pub(super) line: Option<usize>,
    /// The name of the file, if it is on the same line.
    pub(super) name: Option<&'a str>,
}

/// Returns the length of the run of one character at the start of a line, and the rest without trailing whitespace.
fn run(line: &str, sign: char) -> (usize, &str) {
    let rest = line.trim_start_matches(sign);
    (line.len() - rest.len(), rest.trim_end())
}

/// Parses an opening line.
pub(in crate::formats) fn open(line: &str) -> Option<OpenMarker<'_>> {
    let (count, rest) = match line.chars().next()? {
        '<' => Some(run(line, '<')).filter(|it| it.0 >= WORDED_RUN_MIN)?,
        '-' => Some(run(line, '-')).filter(|it| it.0 >= WORDED_RUN_MIN)?,
        _ => return None,
    };
    let Some(rest) = rest.trim_start().strip_prefix("SEARCH") else {
        let is_worded = line.starts_with('<') && count >= ANGLE_RUN_MIN && rest.trim() == ORIGINAL_WORD;
        let original = is_worded.then_some(OpenMarker { run: count, line: None, name: None });
        return original.or_else(|| name_in_place_of_word(line, count, rest));
    };
    let separate = rest.starts_with([' ', '\t', ':', '>']) || rest.is_empty();
    let rest = rest.trim_start_matches(':').trim_start().trim_start_matches('>').trim();
    if rest.is_empty() {
        return Some(OpenMarker { run: count, line: None, name: None });
    }
    if let Some(number) = rest.strip_prefix("line=") {
        return Some(OpenMarker { run: count, line: Some(number.trim_matches('"').parse().ok()?), name: None });
    }
    let name = name::on_marker(rest).filter(|_| separate)?;
    Some(OpenMarker { run: count, line: None, name: Some(name) })
}

/// Parses an opening line of usual length that has the file's name in place of the word.
fn name_in_place_of_word<'a>(line: &str, run: usize, rest: &'a str) -> Option<OpenMarker<'a>> {
    let usual = line.starts_with('<') && run == UNAMBIGUOUS_RUN_MIN;
    let name = rest.strip_prefix(' ').filter(|_| usual)?;
    let is_file = !name.contains(char::is_whitespace) && name::has_extension(name) && !name.starts_with('.');
    is_file.then(|| name::on_marker(name)).flatten().map(|name| OpenMarker { run, line: None, name: Some(name) })
}

/// Returns the length of the run if the line divides a block.
pub(super) fn divider(line: &str) -> Option<usize> {
    let (count, rest) = run(line, '=');
    (count >= WORDED_RUN_MIN && rest.is_empty()).then_some(count)
}

/// Returns the length of the run if the line closes a block.
pub(in crate::formats) fn close(line: &str) -> Option<usize> {
    let (count, rest) = match line.chars().next()? {
        '>' => Some(run(line, '>')).filter(|it| it.0 >= WORDED_RUN_MIN)?,
        '+' => Some(run(line, '+')).filter(|it| it.0 >= WORDED_RUN_MIN)?,
        _ => return None,
    };
    let rest = rest.trim_start().strip_prefix("REPLACE")?;
    let named = rest.strip_prefix([' ', ':']).is_some_and(|rest| name::on_marker(rest.trim()).is_some());
    (matches!(rest, "" | "<") || named).then_some(count)
}

/// True for a line that may be the beginning of a closing marker: its signs and a part of its word.
pub(super) fn begins_close(line: &str) -> bool {
    let (count, rest) = run(line.trim(), '>');
    count >= WORDED_RUN_MIN && CLOSING_WORDS.iter().any(|word| word.starts_with(rest.trim()))
}

/// Returns a line without the backslash that escapes its marker.
pub(super) fn unescape(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('\\')?;
    let bare = rest.trim_start_matches('\\');
    let option = bare.starts_with(":start_line:") || bare.starts_with(":end_line:");
    (['<', '=', '>', '-', '+'].into_iter().any(|sign| {
        let (count, tail) = run(bare, sign);
        count >= ANGLE_RUN_MIN && (tail.is_empty() || tail.starts_with(' '))
    }) || option)
        .then_some(rest)
}

/// Parses `:start_line:N` or `:end_line:N` (Roo), also with `[N]`. Returns true for the start, and the number.
pub(super) fn option(line: &str) -> Option<(bool, usize)> {
    let (start, rest) = match line.strip_prefix(":start_line:") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix(":end_line:")?),
    };
    let number = rest.trim();
    let number = number.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(number);
    Some((start, number.trim().parse().ok()?))
}

/// True for the line that ends Roo's options.
pub(super) fn ends_options(line: &str) -> bool {
    let (count, rest) = run(line, '-');
    count >= ANGLE_RUN_MIN && rest.is_empty()
}

/// True for an inexact opening marker with the word SEARCH.
pub(super) fn is_nearly_open(line: &str) -> bool {
    let (count, rest) = run(line, '<');
    count >= 2 && open(line).is_none() && rest.trim_start().starts_with("SEARCH")
}

/// A line that resembles a marker, of any length and indentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkerLikeness<'a> {
    /// An opening marker.
    Open {
        /// Length of the run.
        run: usize,
    },
    /// A closing marker with its word.
    Close {
        /// Length of the run.
        run: usize,
        /// The text before the marker on the same line.
        before: &'a str,
    },
    /// A run of closing characters with other words, or nothing, after it.
    Other {
        /// Length of the run.
        run: usize,
    },
}

impl MarkerLikeness<'_> {
    /// The length of the run.
    pub(super) fn run(self) -> usize {
        match self {
            MarkerLikeness::Open { run } | MarkerLikeness::Close { run, .. } | MarkerLikeness::Other { run } => run,
        }
    }
}

/// The word of the opening marker in aider's first prompts; `UPDATED` closes such a block.
const ORIGINAL_WORD: &str = "ORIGINAL";
/// Words after opening and closing markers of several tools, in capitals.
const OPENING_WORDS: [&str; 5] = ["SEARCH", "ORIGINAL", "FIND", "BEFORE", "OLD"];
const CLOSING_WORDS: [&str; 6] = ["REPLACE", "REPLACED", "UPDATED", "UPDATE", "AFTER", "NEW"];
/// Minimum length of a run that counts as a marker whatever follows it.
const UNAMBIGUOUS_RUN_MIN: usize = 7;

/// True for the word of an opening marker in capitals, with any signs around it.
pub(in crate::formats) fn is_opening_word(line: &str) -> bool {
    OPENING_WORDS.contains(&word_among_signs(line))
}

/// True for the word of a closing marker in capitals, with any signs around it.
pub(in crate::formats) fn is_closing_word(line: &str) -> bool {
    CLOSING_WORDS.contains(&word_among_signs(line))
}

/// Strips signs, including those written as HTML entities.
fn word_among_signs(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some(next) = rest.strip_prefix("&lt;").or_else(|| rest.strip_prefix("&gt;")) {
        rest = next;
    }
    rest.trim_matches(|ch: char| !ch.is_alphanumeric())
}

/// Classifies a line that resembles a marker, including exact ones.
pub(super) fn classify(line: &str) -> Option<MarkerLikeness<'_>> {
    let text = line.trim();
    let text = text.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")).unwrap_or(text);
    match text.as_bytes().first()? {
        b'<' => {
            let (run, rest) = run(text, '<');
            (worded(rest, run, &OPENING_WORDS) || run >= UNAMBIGUOUS_RUN_MIN && rest.starts_with(' '))
                .then_some(MarkerLikeness::Open { run })
        }
        b'-' => {
            let (run, rest) = run(text, '-');
            (run >= WORDED_RUN_MIN && rest.trim_end_matches('>').trim() == "SEARCH")
                .then_some(MarkerLikeness::Open { run })
        }
        b'>' => {
            let (run, rest) = run(text, '>');
            if worded(rest, run, &CLOSING_WORDS) {
                return Some(MarkerLikeness::Close { run, before: "" });
            }
            (run >= UNAMBIGUOUS_RUN_MIN && (rest.is_empty() || rest.starts_with(' ')))
                .then_some(MarkerLikeness::Other { run })
        }
        b'+' => {
            let (run, rest) = run(text, '+');
            worded(rest, run, &CLOSING_WORDS[..1]).then_some(MarkerLikeness::Close { run, before: "" })
        }
        _ => {
            let signs = text.strip_suffix("REPLACE")?.trim_end();
            let before = signs.trim_end_matches('>');
            let run = signs.len() - before.len();
            (run >= ANGLE_RUN_MIN)
                .then_some(MarkerLikeness::Close { run, before: &line[..line.find(signs)? + before.len()] })
        }
    }
}

/// True for the word of a marker that is followed only by punctuation and end tags. A short run requires the first word
/// in its exact form.
fn worded(rest: &str, run: usize, words: &[&str]) -> bool {
    let rest = rest.trim_start();
    let len = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (word, mut rest) = rest.split_at(len);
    while let Some(at) = rest.find("</") {
        let Some(end) = rest[at..].find('>') else { break };
        if rest[..at].contains(char::is_alphanumeric) {
            return false;
        }
        rest = &rest[at + end + 1..];
    }
    let known = match run {
        ANGLE_RUN_MIN.. => words.contains(&word.to_ascii_uppercase().as_str()),
        WORDED_RUN_MIN.. => word == words[0],
        _ => false,
    };
    known && !rest.contains(|ch: char| ch.is_alphanumeric() || ch == '_' || ch == '=')
}

#[cfg(test)]
mod tests {
    use super::{MarkerLikeness, OpenMarker, classify, close, divider, is_nearly_open, open, unescape};

    #[test]
    fn marker_spellings_are_recognized() {
        for line in [
            "<<<<<<< SEARCH", "<<<<<<< SEARCH>", "<<<<<<< SEARCH  ", "<<<<<<<SEARCH", "------- SEARCH",
            "------- SEARCH>", "<<<<<<< SEARCH:",
        ] {
            assert_eq!(open(line), Some(OpenMarker { run: 7, line: None, name: None }), "{line}");
        }
        for line in ["<<<<<<< SEARCH src/a.rs", "<<<<<<< SEARCH: `src/a.rs`", "------- SEARCH (src/a.rs)"] {
            assert_eq!(open(line), Some(OpenMarker { run: 7, line: None, name: Some("src/a.rs") }), "{line}");
        }
        assert_eq!(close(">>>>>>> REPLACE src/a.rs"), Some(7));
        assert_eq!((open("<<<<<<< SEARCH for it"), close(">>>>>>> REPLACE it")), (None, None));
        assert_eq!(open("<<<<< SEARCH line=12"), Some(OpenMarker { run: 5, line: Some(12), name: None }));
        assert_eq!(open("--- SEARCH").unwrap().run, 3);
        for line in ["<< SEARCH", "<<<<<<< HEAD", " <<<<<<< SEARCH", "<<<<<<< SEARCHING", "-- SEARCH", "SEARCH"] {
            assert_eq!(open(line), None, "{line}");
        }
        assert_eq!((open("<<<< SEARCH").unwrap().run, close(">>>> REPLACE")), (4, Some(4)));
        assert!(is_nearly_open("<< SEARCH") && !is_nearly_open("<<<<<<< HEAD"));
        assert_eq!(
            (close(">>>>>>> REPLACE"), close("+++++++ REPLACE"), close(">>>>>>> main")),
            (Some(7), Some(7), None)
        );
        assert_eq!((divider("=======  "), divider("== =="), divider("=")), (Some(7), None, None));
    }

    #[test]
    fn backslash_escapes_a_marker() {
        assert_eq!(unescape("\\======="), Some("======="));
        assert_eq!(unescape("\\<<<<<<< HEAD"), Some("<<<<<<< HEAD"));
        assert_eq!(unescape("\\\\>>>>>>> x"), Some("\\>>>>>>> x"));
        assert_eq!(unescape("\\title{x}"), None);
        assert_eq!(unescape("\\-------x"), None);
    }

    #[test]
    fn similar_lines_are_recognized() {
        for line in [
            ">>>>>>> REPLACE", ">>>>>> REPLACE", "  >>>>>>> REPLACE", ">>> REPLACE", ">>>>> replace",
            ">>>>>>> UPDATED", "+++++++ REPLACE",
        ] {
            assert!(matches!(classify(line), Some(MarkerLikeness::Close { before: "", .. })), "{line}");
        }
        assert_eq!(classify(">>>>>>> REPLACE</diff>"), Some(MarkerLikeness::Close { run: 7, before: "" }));
        assert_eq!(classify("  TWO>>>>>>> REPLACE"), Some(MarkerLikeness::Close { run: 7, before: "  TWO" }));
        assert_eq!(classify(">>>>>>> main"), Some(MarkerLikeness::Other { run: 7 }));
        for line in ["<<<<<<< SEARCH", "<<<< SEARCH", "<<<<<<< HEAD", "    <<<<<<< search", "------- SEARCH"] {
            assert!(matches!(classify(line), Some(MarkerLikeness::Open { .. })), "{line}");
        }
        for line in ["", ">>> print(1)", "a >> REPLACE", "<<EOF", "<<<<<", "-- SEARCH", "+ REPLACE", ">>>> new line"] {
            assert_eq!(classify(line), None, "{line}");
        }
    }
}

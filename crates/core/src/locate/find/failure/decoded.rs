//! Old texts that are not in the file as they are written, but would be without a slip that no tier repairs: Unicode
//! escapes in place of characters, and rows with the number and hash that some readers print before a line.

use super::nearest::{self, NearestResult};
use super::offer::OfferRules;
use super::{
    NOT_FOUND_MESSAGE, SHOWN_LIKENESS_MIN, begun, bounded, capitalized, explained, named, offered, old_string,
};
use super::{in_fields, line_number};
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, ErrorContext};
use crate::locate::find::Tier;
use crate::locate::find::search::{MatchSearch, SearchIndex};
use crate::locate::find::tier::escapes::{self, UnicodeText};
use crate::locate::line_format;
use crate::locate::op::TextQuery;
use crate::text::lines::count_lines;
use memchr::memmem;

/// Maximum number of bytes of an old text that is decoded.
const DECODED_BYTES_MAX: usize = 20_000;

/// The texts of a call without a slip.
struct DecodedTexts {
    old: String,
    new: String,
    /// The kind of the slip, for programs.
    class: &'static str,
    /// The rest of the sentence that begins with the name of the old text.
    why: String,
    /// The rest of the sentence "write the new text", if it has the slip as well.
    also: &'static str,
    /// True if the text begins at the start of a line.
    by_rows: bool,
}

/// Creates the error for a text with such a slip, if the file has the text without it, or more similar lines.
pub(super) fn explain(search: &MatchSearch<'_>, reached: Tier) -> Option<Error> {
    if search.find.old.len() > DECODED_BYTES_MAX {
        return None;
    }
    let texts = without_hashes(search).or_else(|| without_unicode_escapes(search))?;
    let error = begun(search, Code::MatchNotFound, NOT_FOUND_MESSAGE, reached)
        .fact("reason", "not_found")
        .evidence(format!("{} {}", capitalized(&search.find.names), texts.why));
    if let Some(at) = texts.place(search) {
        return Some(texts.found(search, error, at).fact("difference", texts.class));
    }
    let index = SearchIndex::new(search.base);
    let query = TextQuery { old: texts.old.clone(), ..search.find.clone() };
    let decoded = MatchSearch::new(&index, &query, &texts.new);
    let result = bounded(|| nearest::find_nearest(&decoded));
    let NearestResult::Place(place) = &result else { return None };
    let is_nearer = match bounded(|| nearest::find_nearest(search)) {
        NearestResult::Place(other) => other.likeness < place.likeness,
        NearestResult::Nothing | NearestResult::TooLarge => true,
    };
    let rules = OfferRules { shifts: reached > Tier::IndentShift, repairs: true };
    (is_nearer && place.likeness >= SHOWN_LIKENESS_MIN)
        .then(|| explained(&decoded, error, result, rules).fact("difference", texts.class))
}

impl DecodedTexts {
    /// Returns the offset of the old text.
    fn place(&self, search: &MatchSearch<'_>) -> Option<usize> {
        let begins = |at: &usize| !self.by_rows || *at == 0 || search.text.as_bytes()[at - 1] == b'\n';
        memmem::find_iter(search.text.as_bytes(), self.old.as_bytes()).find(begins)
    }

    /// Adds that the old text is at this offset.
    fn found(&self, search: &MatchSearch<'_>, error: Error, at: usize) -> Error {
        let from = line_number(search, at);
        let to = from + count_lines(self.old.trim_end_matches('\n')).saturating_sub(1);
        let mut parts = vec!["Repeat the call with ".into(), old_string(&self.old)];
        let mut plain = format!("Send the text as it is in the file: {}", offered(&self.old));
        if !self.also.is_empty() {
            parts.extend(["; write ".into(), Phrase::Field("new_string"), self.also.into(), ", too.".into()]);
            plain = format!("{plain}; write the new text{}, too.", self.also);
        }
        error
            .evidence(format!("The file has it without them at {}:", named(from, to)))
            .evidence(line_format::excerpt(search.base, from, to))
            .next(in_fields(search, Advice::new(parts), plain))
            .about(ErrorContext::Suggestion(self.old.clone()))
    }
}

/// Returns the texts without the number and hash before each row: `12:ab|text` or `12#ab:text`.
fn without_hashes(search: &MatchSearch<'_>) -> Option<DecodedTexts> {
    let mut last = None;
    let mut rows = Vec::with_capacity(search.pattern.old.len());
    for line in &search.pattern.old {
        let (number, text) = hashed_row(line)?;
        if last.is_some_and(|last| number != last + 1) {
            return None;
        }
        last = Some(number);
        rows.push(text);
    }
    let new = search.pattern.new.iter();
    let new_rows: Vec<&str> = new.clone().map(|line| hashed_row(line).map_or(*line, |(_, text)| text)).collect();
    let first = search.pattern.old.first()?;
    let mark = &first[..first.len() - rows.first()?.len()];
    let is_also = new.zip(&new_rows).any(|(line, row)| line != row);
    let end = if search.find.old.ends_with('\n') { "\n" } else { "" };
    Some(DecodedTexts {
        old: rows.join("\n") + end,
        new: new_rows.join("\n") + if search.new.ends_with('\n') { "\n" } else { "" },
        class: "hashes of lines",
        why: format!(
            "has the number and hash of each line, such as `{}`, which are printed before a line and are no part of it.",
            mark.trim()
        ),
        also: if is_also { " without numbers and hashes" } else { "" },
        by_rows: true,
    })
}

/// Splits a row into its number and its text, if there is a hash of two to eight letters and digits between them.
fn hashed_row(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start_matches(' ');
    let (number, rest) = line.split_at(line.len() - line.trim_start_matches(|ch: char| ch.is_ascii_digit()).len());
    let (hash, text) = match rest.strip_prefix(':') {
        Some(rest) => rest.split_once('|')?,
        None => rest.strip_prefix('#')?.split_once([':', '|'])?,
    };
    let is_hash = (2..=8).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some((number.parse().ok().filter(|_| is_hash && number.len() <= 9)?, text))
}

/// Returns the texts with the characters that Unicode escapes represent; with other escapes decoded as well if only so
/// the old text is in the file.
fn without_unicode_escapes(search: &MatchSearch<'_>) -> Option<DecodedTexts> {
    let UnicodeText { text: old, first } = escapes::without_unicode(&search.find.old)?;
    let new = escapes::without_unicode(search.new).map(|new| new.text);
    let is_found = |text: &str| memmem::find(search.text.as_bytes(), text.as_bytes()).is_some();
    let plain =
        Some(escapes::without_backslashes(&old)).filter(|plain| *plain != old && !is_found(&old) && is_found(plain));
    let is_also = new.is_some() || plain.is_some() && escapes::without_backslashes(search.new) != search.new;
    Some(DecodedTexts {
        old: plain.unwrap_or(old),
        new: new.unwrap_or_else(|| search.new.to_owned()),
        class: "escapes",
        why: format!("has escapes such as `{first}` in place of the characters themselves."),
        also: if is_also { " without escapes" } else { "" },
        by_rows: false,
    })
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn unicode_escapes_are_named() {
        let file = "let a = 1;\nlet café = \"naïve 😀\";\nlet b = 2;\n";
        let old = r#"let caf\u00e9 = "na\u{ef}ve \ud83d\ude00";"#;
        let error = refuse(file, old, r"let caf\u00e9 = 3;");
        assert_eq!(error.data()["suggestion"], "let café = \"naïve 😀\";");
        assert_eq!(error.data()["difference"], "escapes");
        let text = error.to_string();
        for part in
            [r"escapes such as `\u00e9`", "at line 2:\n     2\tlet café", "write new_string without escapes, too"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        for (old, new) in [(r"caf\u00e9", "x"), (r#"let caf\xe9 = \"na\xefve 😀\";"#, "x();")] {
            let error = refuse(file, old, new);
            assert!(error.data().contains_key("suggestion") && !error.next_step().contains("new_string"), "{error}");
        }
        let error = refuse(file, r#"let caf\u00e9 = "native 😀";"#, "x();");
        assert!(
            error.to_string().contains("Most similar (line 2") && error.data()["difference"] == "escapes",
            "{error}"
        );
    }

    #[test]
    fn escapes_of_the_file_are_not_decoded() {
        let file = "say(\"caf\\u00e9\", 1)\n";
        assert_eq!(edit(file, r#"say("caf\u00e9", 1)"#, "say()"), "say()\n");
        let error = refuse(file, r#"say("caf\u00e9", 22)"#, "say()");
        assert!(!error.to_string().contains("escapes"), "{error}");
    }

    #[test]
    fn hashes_of_lines_are_named() {
        let file = "a_a_a()\nb_b_b()\n";
        for old in ["1:ab|a_a_a()\n2:0f|b_b_b()", "1#ab:a_a_a()\n2#0F:b_b_b()"] {
            let error = refuse(file, old, "1:ab|x()\n2:0f|b_b_b()");
            assert_eq!(error.data()["suggestion"], "a_a_a()\nb_b_b()", "{error}");
            let text = error.to_string();
            assert!(text.contains("write new_string without numbers and hashes, too"), "{text}");
            assert!(!text.contains("Did you include") && !text.contains("number and tab"), "{text}");
        }
        let error = refuse(file, "2:ab|b_b_c()", "x()");
        assert!(error.to_string().contains("Most similar (line 2") && error.to_string().contains("`2:ab|`"), "{error}");
        let error = refuse("12:31:45 start\n", "12:30:45 start", "x");
        assert!(!error.to_string().contains("hash"), "{error}");
    }
}

//! The text of a remark: whether its words state that code was omitted.

use super::phrase::{self, has_pair};
use super::remark::RemarkKind;
use super::remark_words::{FOREIGN_PHRASES, KNOWN_TEXT_WORDS, OMISSION_WORDS, OTHER_WORDS};
use super::word_table::WordTable;
use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// Maximum number of words of a remark.
const REMARK_WORDS_MAX: usize = 14;
/// Maximum number of words of a remark with names in it; and words that make it an ordinary sentence.
const SENTENCE_WORDS_MAX: usize = 7;
const CLAUSE_WORDS: [&str; 14] = [
    "if", "when", "unless", "because", "so", "leave", "leaves", "must", "should", "may", "that", "which", "but", "skip",
];
/// Words that end or begin a remark with names in it.
const UNCHANGED_WORDS: [&str; 4] = ["unchanged", "omitted", "untouched", "unmodified"];

/// Returns the kind of a remark by its text, if that states that text was omitted.
pub(super) fn kind_of_text(text: &str) -> Option<RemarkKind> {
    let lower = text.to_lowercase();
    // The text is a name in place of words, such as `rest_of_code`.
    let is_name = text.chars().all(|ch| ch.is_ascii_alphabetic() || ch == '_') && text.contains(char::is_alphabetic);
    let lower = if is_name { lower.replace('_', " ") } else { lower };
    if text.is_empty() {
        return None;
    }
    if is_foreign(&lower) || lower.chars().all(|ch| ch == '.' || ch == '…' || ch == ' ') {
        return Some(RemarkKind::Omission);
    }
    let separators = |ch: char| !ch.is_alphanumeric() && ch != '_';
    let words: Vec<&str> =
        lower.split(separators).map(|word| word.trim_matches('_')).filter(|word| !word.is_empty()).collect();
    let words = words.strip_prefix(&["todo"]).or(words.strip_prefix(&["note"])).unwrap_or(&words);
    if words.is_empty() || words.len() > REMARK_WORDS_MAX {
        return None;
    }
    let remark = RemarkText { text, lower: &lower, words, senses: words.iter().map(|word| sense(word)).collect() };
    remark.kind_with_names().or_else(|| remark.kind_of_known_words())
}

/// True for a text in lower case with a phrase of another language.
fn is_foreign(lower: &str) -> bool {
    static SEARCHER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(FOREIGN_PHRASES).ok());
    match &*SEARCHER {
        Some(searcher) => searcher.is_match(lower),
        None => FOREIGN_PHRASES.iter().any(|phrase| lower.contains(phrase)),
    }
}

/// The sense of a word in remarks.
#[derive(Clone, Copy, Default)]
struct RemarkSense {
    /// It occurs in remarks about omitted text.
    is_known: bool,
    /// It is one of [`OMISSION_WORDS`].
    omits: bool,
    /// It is one of [`KNOWN_TEXT_WORDS`].
    is_known_text: bool,
    /// It is one of [`CLAUSE_WORDS`].
    is_clause: bool,
}

fn sense(word: &str) -> RemarkSense {
    static SENSES: LazyLock<WordTable<RemarkSense>> = LazyLock::new(|| {
        let known = OMISSION_WORDS.into_iter().chain(KNOWN_TEXT_WORDS).chain(OTHER_WORDS).chain(phrase::known_words());
        WordTable::new()
            .with(known, |it: &mut RemarkSense| it.is_known = true)
            .with(OMISSION_WORDS, |it| it.omits = true)
            .with(KNOWN_TEXT_WORDS, |it| it.is_known_text = true)
            .with(CLAUSE_WORDS, |it| it.is_clause = true)
    });
    SENSES.sense(word).unwrap_or_default()
}

/// The text of a line that may be a remark.
struct RemarkText<'a> {
    text: &'a str,
    lower: &'a str,
    /// The words in lower case, at least one.
    words: &'a [&'a str],
    /// The sense of each word.
    senses: Vec<RemarkSense>,
}

impl RemarkText<'_> {
    /// Returns the kind of a remark that may contain names of the code.
    fn kind_with_names(&self) -> Option<RemarkKind> {
        let words = self.words;
        if names_lines(words) || matches!(words, ["nothing" | "noop"] | ["n", "c"]) {
            return Some(RemarkKind::Heading);
        }
        let is_short = words.len() <= SENTENCE_WORDS_MAX && !self.senses.iter().any(|sense| sense.is_clause);
        let last = words.last().copied().unwrap_or_default();
        let ends = UNCHANGED_WORDS.contains(&last);
        let as_before = || {
            has_pair(words, "as", "before")
                || has_pair(words, "as", "is")
                || last == "same" && has_pair(words, "the", "same")
        };
        if is_short && (ends || words.len() > 1 && as_before()) {
            return Some(RemarkKind::Omission);
        }
        let begins = words.len() > 1 && UNCHANGED_WORDS.contains(&words[0]);
        let counted = self.text.starts_with('+')
            && matches!(words, [count, noun] if phrase::is_number(count) && phrase::is_omitted_noun(noun));
        let goes_here = || last == "here" && (has_pair(words, "go", "here") || has_pair(words, "goes", "here"));
        let is_same = last == "same" && words.len() <= 3;
        let is_heading = is_short && (begins || words.len() > 1 && (is_same || goes_here()));
        (is_heading || counted).then_some(RemarkKind::Heading)
    }

    /// Returns the kind of a remark in which each word is a number, or one that occurs in remarks.
    fn kind_of_known_words(&self) -> Option<RemarkKind> {
        let words = self.words;
        let are_known = words.iter().zip(&self.senses).all(|(word, sense)| sense.is_known || phrase::is_number(word));
        if !are_known {
            return None;
        }
        let is_heading = self.senses.iter().any(|sense| sense.is_known_text) || words.starts_with(&["some", "code"]);
        match (self.is_omission(), is_heading) {
            (true, _) => Some(RemarkKind::Omission),
            (false, true) => Some(RemarkKind::Heading),
            (false, false) => None,
        }
    }

    /// True if words that occur in remarks state that text was omitted.
    fn is_omission(&self) -> bool {
        let (text, words) = (self.text, self.words);
        let has = |word: &str| words.contains(&word);
        let any = |list: &[&str]| list.iter().any(|word| has(word));
        let nothing_changes = || {
            any(&["no", "nothing", "not", "don"])
                && ["chang", "modif", "shown"].iter().any(|it| self.lower.contains(it))
        };
        let referring = || has("see") && any(&["above", "original"]) || has("end") && has("changes");
        let inserting = || {
            has("here") && (any(&["code", "logic", "implementation", "implement"]) || has_pair(words, "goes", "here"))
        };
        let going_on =
            || has_pair(words, "so", "on") || has_pair(words, "as", "above") || has_pair(words, "like", "before");
        let alone = || matches!(words, ["rest" | "more" | "others"] | ["the", "rest"] | ["rest", "here"]);
        let dotted = || ["...", "…"].iter().any(|dots| text.starts_with(dots) || text.ends_with(dots));
        self.senses.iter().any(|sense| sense.omits)
            || words.iter().any(|word| phrase::is_number(word)) && dotted()
            || nothing_changes()
            || referring()
            || inserting()
            || going_on()
            || alone()
    }
}

/// True for words that refer to lines by number or amount: `lines 9-11`, `+3 lines`, `L9-L11`.
fn names_lines(words: &[&str]) -> bool {
    let named = words.iter().any(|word| ["line", "lines"].contains(word))
        || words.iter().all(|word| word.starts_with('l') && is_line_number(word));
    named
        && words.iter().any(|word| is_line_number(word))
        && words.iter().all(|word| is_line_number(word) || ["line", "lines", "to", "through", "and"].contains(word))
}

/// True for words such as `12` and `l12`.
fn is_line_number(word: &str) -> bool {
    let digits = word.strip_prefix('l').unwrap_or(word);
    !digits.is_empty() && phrase::is_number(digits)
}

//! Folding of lookalike characters to one form.
//!
//! Single and double quotes and primes, dashes, Unicode spaces and `…` become ASCII, zero-width characters are removed,
//! and letters lose their accents (canonical decomposition). Compatibility forms (`²` is not `2`), case and letters of
//! other scripts are never folded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Passes the folded form of one character to `each`.
fn fold_char(ch: char, mut each: impl FnMut(char)) {
    match ch {
        '\0'..='\u{7F}' => each(ch),
        '\u{2026}' => "...".chars().for_each(each),
        '\u{200B}'..='\u{200D}' | '\u{FEFF}' | '\u{2060}' => {}
        _ => match plain_lookalike(ch) {
            Some(plain) => each(plain),
            None => unicode_normalization::char::decompose_canonical(ch, each),
        },
    }
}

/// Returns the plain form of a typographic quote, prime, dash or space; `None` for every other character.
pub(crate) fn plain_lookalike(ch: char) -> Option<char> {
    match ch {
        '\u{2018}'..='\u{201B}' | '\u{2032}' => Some('\''),
        '\u{201C}'..='\u{201F}' | '\u{2033}' => Some('"'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => Some(' '),
        _ => None,
    }
}

/// The plain form of a quote; `None` for every other character.
fn plain_quote(ch: char) -> Option<char> {
    match ch {
        '\'' | '\u{2018}' | '\u{2019}' => Some('\''),
        '"' | '\u{201C}' | '\u{201D}' => Some('"'),
        _ => None,
    }
}

/// True when a text has quotes. Straight and curly quotes count as equal whatever the length of the text.
pub(crate) fn has_quotes(text: &str) -> bool {
    text.chars().any(|ch| plain_quote(ch).is_some())
}

/// True when two texts differ only in the form of their quotes.
pub(crate) fn differ_in_quotes_only(a: &str, b: &str) -> bool {
    a.chars().map(with_plain_quote).eq(b.chars().map(with_plain_quote))
}

/// Returns the plain form of a quote, and other characters as they are.
#[inline]
fn with_plain_quote(ch: char) -> char {
    plain_quote(ch).unwrap_or(ch)
}

/// The folded form of a text.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|ch| fold_char(ch, |ch| out.push(ch)));
    Cow::Owned(out)
}

/// The normalization under which two lines are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Normalization {
    /// Ignores trailing whitespace.
    TrailingBlanks,
    /// Also ignores the indentation.
    Indentation,
    /// Also ignores the length of runs of spaces and tabs.
    BlankRuns,
}

/// Normalizes a line: folded, without the parts that `normalization` ignores.
pub(crate) fn normalize(line: &str, normalization: Normalization) -> Cow<'_, str> {
    let line = fold(line);
    let line = match (line, normalization) {
        (Cow::Borrowed(line), Normalization::TrailingBlanks) => Cow::Borrowed(trim_blanks_end(line)),
        (Cow::Borrowed(line), _) => Cow::Borrowed(trim_blanks(line)),
        (Cow::Owned(line), Normalization::TrailingBlanks) => Cow::Owned(trim_blanks_end(&line).to_owned()),
        (Cow::Owned(line), _) => Cow::Owned(trim_blanks(&line).to_owned()),
    };
    if normalization == Normalization::BlankRuns && has_runs(line.as_bytes()) {
        Cow::Owned(collapse_whitespace(&line))
    } else {
        line
    }
}

/// True for an ASCII line whose [`normalize`] under [`Normalization::BlankRuns`] is `form`, which is ASCII.
pub(crate) fn has_ascii_form(line: &str, form: &str) -> bool {
    let line = trim_blanks(line);
    // Only runs make the form differ from the line.
    line == form
        || line.len() >= form.len() && line.is_ascii() && has_runs(line.as_bytes()) && collapse_whitespace(line) == form
}

/// The characters that count as whitespace within a line.
pub(crate) const SPACES_AND_TABS: [char; 2] = [' ', '\t'];

/// True for an empty or blank line.
pub(crate) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Returns the indentation of a line.
pub(crate) fn indent_of(line: &str) -> &str {
    &line[..line.len() - trim_blanks_start(line).len()]
}

/// Counts the letters and digits in a text, up to `enough`.
pub(crate) fn count_alnum(text: &str, enough: usize) -> usize {
    text.chars().filter(|ch| ch.is_alphanumeric()).take(enough).count()
}

/// Trims the spaces and tabs at both ends.
pub(crate) fn trim_blanks(line: &str) -> &str {
    trim_blanks_start(trim_blanks_end(line))
}

/// Trims the spaces and tabs at the beginning.
pub(crate) fn trim_blanks_start(line: &str) -> &str {
    let text = line.bytes().position(|byte| !is_space_or_tab(byte));
    &line[text.unwrap_or(line.len())..]
}

/// Trims the spaces and tabs at the end.
pub(crate) fn trim_blanks_end(line: &str) -> &str {
    let last = line.bytes().rposition(|byte| !is_space_or_tab(byte));
    &line[..last.map_or(0, |last| last + 1)]
}

/// True for a byte that counts as whitespace within a line. Searches by byte take half of the time of those by `char`.
fn is_space_or_tab(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// True when a blank run is anything but a single space.
fn has_runs(bytes: &[u8]) -> bool {
    // Branch-free, because nearly every line has no such run.
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or(&[]));
    let runs = pairs.fold(0, |any, (a, b)| any | u8::from(*a == b' ') & u8::from(*b == b' '));
    runs | bytes.iter().fold(0, |any, byte| any | u8::from(*byte == b'\t')) > 0
}

fn collapse_whitespace(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut last_blank = false;
    for ch in line.chars() {
        let blank = SPACES_AND_TABS.contains(&ch);
        if !(blank && last_blank) {
            out.push(if blank { ' ' } else { ch });
        }
        last_blank = blank;
    }
    out
}

/// A map by keys that are hashes of lines already.
pub(crate) type HashedKeys<T> = HashMap<u64, T, BuildHasherDefault<HashedKey>>;

/// A hasher for keys that are hashes already.
#[derive(Default)]
pub(crate) struct HashedKey(u64);

impl Hasher for HashedKey {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxhash_rust::xxh3::xxh3_64(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// Hash of [`normalize`].
pub(crate) fn normalized_hash(line: &str, normalization: Normalization) -> u64 {
    // Nearly every line takes this path, which does not examine its characters.
    if normalization != Normalization::TrailingBlanks && line.is_ascii() {
        let line = trim_blanks(line).as_bytes();
        if normalization == Normalization::Indentation || !has_runs(line) {
            return xxhash_rust::xxh3::xxh3_64(line);
        }
    }
    xxhash_rust::xxh3::xxh3_64(normalize(line, normalization).as_bytes())
}

/// True when two lines have the same [`normalize`].
pub(crate) fn are_equal_under(a: &str, b: &str, normalization: Normalization) -> bool {
    a == b || normalize(a, normalization) == normalize(b, normalization)
}

/// A folded text with a map to its source.
pub(crate) struct MappedText {
    /// The folded text.
    pub(crate) text: String,
    /// For every byte of `text`, the offset of the character it comes from; then the length of the source.
    pub(crate) from: Vec<usize>,
}

impl MappedText {
    /// Folds `text`; with `runs`, every run of blanks becomes one space.
    pub(crate) fn new(text: &str, runs: bool) -> MappedText {
        let mut out = MappedText { text: String::with_capacity(text.len()), from: Vec::with_capacity(text.len() + 1) };
        let mut last_blank = false;
        for (at, ch) in text.char_indices() {
            fold_char(ch, |ch| {
                let blank = runs && SPACES_AND_TABS.contains(&ch);
                if !(blank && last_blank) {
                    out.text.push(if blank { ' ' } else { ch });
                    out.from.resize(out.text.len(), at);
                }
                last_blank = blank;
            });
        }
        out.from.push(text.len());
        out
    }

    /// True when no character of the source extends across this offset of the folded text.
    pub(crate) fn is_border(&self, at: usize) -> bool {
        at == 0 || at >= self.text.len() || self.from[at] != self.from[at - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::{MappedText, Normalization, are_equal_under, fold, normalized_hash};

    #[test]
    fn folding_keeps_different_characters_apart() {
        assert_eq!(fold("“a” ‘b’ — c\u{A0}d… e\u{301}"), fold("\"a\" 'b' - c d... é"));
        for (a, b) in [("r²", "r2"), ("Foo", "foo"), ("ａ", "a"), ("а", "a"), ("ﬁ", "fi")] {
            assert_ne!(fold(a), fold(b), "{a} {b}");
        }
    }

    #[test]
    fn normalizations_are_increasingly_lenient() {
        assert!(
            are_equal_under("a  b ", "a  b", Normalization::TrailingBlanks)
                && !are_equal_under(" a", "a", Normalization::TrailingBlanks)
        );
        assert!(
            are_equal_under("\ta  b ", "a  b", Normalization::Indentation)
                && !are_equal_under("a  b", "a b", Normalization::Indentation)
        );
        assert!(
            are_equal_under("a \t b", "a b", Normalization::BlankRuns)
                && !are_equal_under("a b", "ab", Normalization::BlankRuns)
        );
        assert_eq!(
            normalized_hash("  a\t“b”", Normalization::BlankRuns),
            normalized_hash("a \"b\"", Normalization::BlankRuns)
        );
    }

    #[test]
    fn folded_text_maps_to_its_source() {
        let map = MappedText::new("é…x", false);
        assert_eq!(map.text, "e\u{301}...x");
        assert_eq!(map.from, [0, 0, 0, 2, 2, 2, 5, 6]);
        assert!(!map.is_border(1) && map.is_border(3) && !map.is_border(4) && map.is_border(6));
        assert_eq!(MappedText::new("a \u{A0} b", true).text, "a b");
    }
}

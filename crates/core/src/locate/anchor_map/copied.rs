//! Removal of words that a caller copied into new rows.

use super::AnchorWord;

/// Delimiters between an anchor and its line: the one that `read` prints, and those of other tools.
pub(crate) const DELIMITERS: [char; 3] = [':', '\t', '§'];

/// Returns the word at the beginning of the first filled row of a text, if it is one of `named`, the words of the lines
/// that an edit names; and the row that follows it.
pub(super) fn named_word<'t>(text: &'t str, named: &[AnchorWord]) -> Option<(AnchorWord, &'t str)> {
    let first = text.lines().find(|row| !row.trim().is_empty())?;
    leading_word(first).filter(|(word, _)| named.contains(word))
}

/// True if a word before a new row was certainly copied: with it, the row has the form of a line of the file as `read`
/// shows it. `rest` follows the word, and `line` is its line. `Name: value` may well be a line of its own.
pub(super) fn is_certain(rest: &str, line: &str) -> bool {
    let is_spaced = |row: &str| row.starts_with(' ') && !row[1..].starts_with([' ', '\t']);
    if leading_word(line).is_some() { leading_word(rest).is_some() } else { !is_spaced(rest) || is_spaced(line) }
}

/// Returns new rows without the words before them, as the first row has been proven to have one of `named`. Words are
/// removed from all rows if every row has one, else only from those with a named word.
pub(super) fn without_words(text: &str, named: &[AnchorWord]) -> String {
    let all = text.lines().filter(|row| !row.trim().is_empty()).all(|row| leading_word(row).is_some());
    let mut out = String::with_capacity(text.len());
    for row in text.lines() {
        let word = leading_word(row).filter(|(word, _)| all || named.contains(word));
        out.push_str(word.map_or(row, |(_, rest)| rest));
        out.push('\n');
    }
    out
}

/// Returns the word before a row, and the text that follows it.
fn leading_word(row: &str) -> Option<(AnchorWord, &str)> {
    let (word, rest) = row.split_once(DELIMITERS)?;
    Some((word.parse::<AnchorWord>().ok()?, rest))
}

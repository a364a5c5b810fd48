//! Removal of words that a caller copied into new rows.

use super::AnchorWord;

/// Delimiters between an anchor and its line: the one that `read` prints, and those of other tools.
pub(crate) const DELIMITERS: [char; 3] = [':', '\t', '§'];

/// Returns new rows without words that were copied before them; `None` if there are none. The first row proves that
/// they were copied: its word is one of `named`, the words of the lines that the edit names. Words are then removed from
/// all rows if every row has one, else only from those with a named word.
pub(crate) fn without_words(text: &str, named: &[AnchorWord]) -> Option<String> {
    let is_named = |row: &str| leading_word(row).is_some_and(|(word, _)| named.contains(&word));
    let filled = || text.lines().filter(|row| !row.trim().is_empty());
    if !filled().next().is_some_and(is_named) {
        return None;
    }
    let all = filled().all(has_word);
    let mut out = String::with_capacity(text.len());
    for row in text.lines() {
        let bare = leading_word(row).filter(|_| all || is_named(row)).map_or(row, |(_, rest)| &row[row.len() - rest..]);
        out.push_str(bare);
        out.push('\n');
    }
    Some(out)
}

/// True for a row that begins with a word and a delimiter.
pub(crate) fn has_word(row: &str) -> bool {
    leading_word(row).is_some()
}

/// Returns the word before a row, and the length of the text that follows it.
fn leading_word(row: &str) -> Option<(AnchorWord, usize)> {
    let (word, rest) = row.split_once(DELIMITERS)?;
    Some((word.parse::<AnchorWord>().ok()?, rest.len()))
}

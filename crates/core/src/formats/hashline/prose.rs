//! Text below the rows of a body: prose of the reply, or rows without their `+`.

use super::body::{BodyRow, RowKind};
use super::{broken, header};
use crate::error::{Error, Result};
use crate::formats::whole_text;

/// Minimum number of words of a paragraph of prose.
const WORDS_MIN: usize = 3;

/// Removes the prose below the rows of a body, after a blank row; true if there was any. A body with a `+` has it on
/// every row, so sentences apart from them belong to the reply, unless the file itself consists of sentences.
///
/// `is_apart` is true if there was a blank row above the rows.
///
/// Errors: lines that may be prose or rows.
pub(super) fn drop_below(path: &str, rows: &mut Vec<BodyRow>, is_apart: bool) -> Result<bool> {
    let is_blank = |row: &BodyRow| row.sort == RowKind::Blank;
    let has_sentences = whole_text::is_prose(path.rsplit_once('.').map(|(_, extension)| extension));
    let Some(plus) = rows.iter().rposition(|row| row.sort == RowKind::Plus) else {
        // The body may be empty, and all of its rows text below it.
        if is_apart && is_prose(rows) {
            return Err(undecided(&rows[0]));
        }
        // All rows are pasted, so only a last paragraph of another kind is conspicuous.
        let Some(gap) = rows.iter().rposition(is_blank) else { return Ok(false) };
        let (above, below) = rows.split_at(gap);
        return if is_prose(below) && !is_prose(above) && !has_sentences {
            Err(undecided(&below[1]))
        } else {
            Ok(false)
        };
    };
    let below = &rows[plus + 1..];
    let Some(first) = below.iter().find(|row| !is_blank(row)) else { return Ok(false) };
    if is_blank(&below[0]) && is_prose(below) && !has_sentences {
        rows.truncate(plus + 1);
        return Ok(true);
    }
    // Pasted rows directly below the others are their continuation.
    if below.iter().any(is_blank) || is_prose(below) { Err(undecided(first)) } else { Ok(false) }
}

/// True for paragraphs of sentences at the left margin.
pub(super) fn is_prose(rows: &[BodyRow]) -> bool {
    let mut paragraphs = rows.split(|row| row.sort == RowKind::Blank).filter(|rows| !rows.is_empty()).peekable();
    paragraphs.peek().is_some() && paragraphs.all(is_paragraph)
}

fn is_paragraph(rows: &[BodyRow]) -> bool {
    let begins = rows.first().is_some_and(|row| row.text.starts_with(char::is_uppercase));
    let ends = rows.last().is_some_and(|row| row.text.trim_end().ends_with(['.', '!', '?', ':']));
    let is_word = |word: &&str| {
        let word = word.trim_matches(|ch: char| !ch.is_alphanumeric());
        !word.is_empty() && word.chars().all(|ch| ch.is_alphabetic() || "'’-".contains(ch))
    };
    let words = rows.iter().flat_map(|row| row.text.split_whitespace()).filter(is_word).count();
    let is_text = |row: &BodyRow| {
        row.sort == RowKind::Bare && !row.text.starts_with([' ', '\t']) && header::mentioned(&row.text).is_none()
    };
    begins && ends && words >= WORDS_MIN && rows.iter().all(is_text)
}

fn undecided(row: &BodyRow) -> Error {
    let what = "the line may be text below the edits, or a row of the body.";
    broken(row.at, what, &row.text)
        .next("Write every row of a body with `+`, and omit the text around the edits, or send the edits in a fence.")
}

//! The marks in a long line that a reply shows only in part. They are not a part of the file.

use super::advice_if_intended;
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use memchr::memmem;

/// The end of the mark of a read, after the number of omitted characters.
const MARK_END: &str = " more characters of this line are not shown⟫";

/// The ends of all marks: those of reads, and of lines in the diffs of replies.
const MARK_ENDS: [&str; 3] = [MARK_END, " more characters⟫", " characters⟫"];

/// Marks of one text that are looked up in the file.
const MARKS_MAX: usize = 16;

/// The advice for a text with the mark.
const SHOWN_PART_ADVICE: &str =
    "Give only a part of the line that was shown, without the mark; the rest of the line then stays as it is.";

/// The advice for the text of a new file, in which nothing can stay.
const WHOLE_LINE_ADVICE: &str = "Give the whole line in place of the mark.";

/// Returns the mark of a line of which this number of characters is not shown.
pub fn cut_mark(left: usize) -> String {
    format!("⟪{left}{MARK_END}")
}

/// Returns the first mark in a text from a call, unless the file has this mark itself.
pub(crate) fn copied_mark<'t>(text: &'t str, file: &str) -> Option<&'t str> {
    marks(text).take(MARKS_MAX).find(|mark| memmem::find(file.as_bytes(), mark.as_bytes()).is_none())
}

/// Returns everything in a text that has the form of a mark.
fn marks(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('⟪').filter_map(|(at, open)| {
        let number = &text[at + open.len()..];
        let end = number.trim_start_matches(|ch: char| ch.is_ascii_digit());
        let mark_end = MARK_ENDS.into_iter().find(|mark_end| end.starts_with(mark_end))?;
        let past = text.len() - end.len() + mark_end.len();
        (end.len() < number.len()).then(|| &text[at..past])
    })
}

/// Explains why a text with the mark is not found.
pub(crate) fn explain_mark(error: Error, mark: &str) -> Error {
    error
        .evidence(format!("{mark} is not in the file: it marks a line that was not shown completely."))
        .next(SHOWN_PART_ADVICE)
}

/// Refuses new text with the mark, which would replace what was not shown.
///
/// Errors: [`Code::EditOmission`].
pub(crate) fn check_new_text(new: &str, file: &str) -> Result<()> {
    let Some(mark) = copied_mark(new, file) else { return Ok(()) };
    let advice = if file.is_empty() { WHOLE_LINE_ADVICE } else { SHOWN_PART_ADVICE };
    Err(Error::new(Code::EditOmission, "The new text has the mark of a line that was not shown completely.")
        .evidence(format!("The mark: {mark}"))
        .next(Advice::from(advice).and(&advice_if_intended()))
        .fact("reason", "omission"))
}

#[cfg(test)]
mod tests {
    use super::{copied_mark, cut_mark, marks};
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::explain::reply_hunks;
    use crate::text::snapshot::Snapshot;
    use crate::text::span::Span;

    #[test]
    fn only_whole_marks_that_the_file_lacks_are_copied() {
        let mark = cut_mark(500);
        assert_eq!(copied_mark(&format!("xxx {mark}\n"), "xxx"), Some(&*mark));
        assert_eq!(copied_mark(&mark, &format!("a {mark}")), None);
        assert_eq!(copied_mark(&mark, &cut_mark(501)), Some(&*mark));
        assert_eq!(copied_mark("5 more characters of this line are not shown⟫", ""), None);
        assert_eq!(copied_mark("⟪ more characters of this line are not shown⟫", ""), None);
        assert_eq!(copied_mark("⟪7 characters⟫ab⟪8 more characters⟫", "⟪7 characters⟫"), Some("⟪8 more characters⟫"));
    }

    #[test]
    fn marks_of_diffs_are_marks() {
        let base = Snapshot::from_text(&format!("{}old{}\n", "a".repeat(3000), "b".repeat(5000)));
        let changes = ChangeSet::new(&base, [Splice::new(Span::new(3000, 3003), &b"new"[..], 0)]).unwrap();
        let hunks = reply_hunks(&base, &changes, 0, 100_000);
        for line in &hunks[0].lines {
            let shown = line.shown(40);
            assert_eq!(marks(&shown).count(), 2, "{shown}");
        }
    }
}

//! The mark at the end of a long line that a reply shows only in part. It is not a part of the file.

use super::advice_if_intended;
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use memchr::memmem;

/// The end of the mark, after the number of omitted characters.
const MARK_END: &str = " more characters of this line are not shown⟫";

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
    // Nearly every text lacks its first character, and is not searched for the rest.
    text.find('⟪')?;
    let end = memmem::find(text.as_bytes(), MARK_END.as_bytes())?;
    let number = text[..end].trim_end_matches(|ch: char| ch.is_ascii_digit());
    let begin = number.strip_suffix('⟪').filter(|_| number.len() < end)?.len();
    let mark = &text[begin..end + MARK_END.len()];
    memmem::find(file.as_bytes(), mark.as_bytes()).is_none().then_some(mark)
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
    use super::{copied_mark, cut_mark};

    #[test]
    fn only_whole_marks_that_the_file_lacks_are_copied() {
        let mark = cut_mark(500);
        assert_eq!(copied_mark(&format!("xxx {mark}\n"), "xxx"), Some(&*mark));
        assert_eq!(copied_mark(&mark, &format!("a {mark}")), None);
        assert_eq!(copied_mark(&mark, &cut_mark(501)), Some(&*mark));
        assert_eq!(copied_mark("5 more characters of this line are not shown⟫", ""), None);
        assert_eq!(copied_mark("⟪ more characters of this line are not shown⟫", ""), None);
    }
}

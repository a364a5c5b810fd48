//! A change as text in a form that depends on its share of the file (seed 000): the more changed, the less a
//! line-by-line diff helps.

use super::{DiffHunk, DiffText, by_words, stat, unified};
use crate::text::change::ChangeSet;
use crate::text::snapshot::Snapshot;
use std::fmt::Write as _;

/// Changed bytes, in percent, from which a word diff is shown, and from which only a summary.
const WORD_DIFF_FROM_PERCENT: usize = 10;
const SUMMARY_FROM_PERCENT: usize = 50;
/// Maximum number of places that a summary lists.
const SUMMARY_PLACES_MAX: usize = 20;

/// The form in which a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffForm {
    /// A unified diff, if less than 10 % of the bytes changed.
    Unified,
    /// A word diff, if less than 50 % changed.
    Words,
    /// Counts and line ranges, for larger changes.
    Summary,
}

impl DiffForm {
    /// Returns the form for a change of this percentage of the bytes of a file.
    const fn of(percent: usize) -> DiffForm {
        match percent {
            0..WORD_DIFF_FROM_PERCENT => DiffForm::Unified,
            WORD_DIFF_FROM_PERCENT..SUMMARY_FROM_PERCENT => DiffForm::Words,
            _ => DiffForm::Summary,
        }
    }

    /// The name of the form in replies.
    pub const fn name(self) -> &'static str {
        match self {
            DiffForm::Unified => "unified",
            DiffForm::Words => "words",
            DiffForm::Summary => "summary",
        }
    }
}

/// Formats the change in the form for its size, in about `limit` bytes at most.
pub fn render_by_size(
    path: &str,
    before: &Snapshot,
    changes: &ChangeSet,
    hunks: &[DiffHunk],
    limit: usize,
) -> (DiffForm, DiffText) {
    let percent = percent(before, changes);
    let form = DiffForm::of(percent);
    let text = match form {
        DiffForm::Unified => unified(path, hunks, limit),
        DiffForm::Words => by_words(path, hunks, limit),
        DiffForm::Summary => DiffText { text: summary(percent, hunks), ..DiffText::default() },
    };
    (form, text)
}

/// Returns the added and removed bytes, in percent of the larger version.
fn percent(before: &Snapshot, changes: &ChangeSet) -> usize {
    let old = before.size();
    let (mut gone, mut come, mut touched) = (0, 0, 0usize);
    for splice in changes.splices() {
        let (old, new) = (splice.span.len(), splice.text.len());
        (gone, come, touched) = (gone + old, come + new, touched + old.max(new));
    }
    let whole = old.max(old - gone + come).max(1);
    touched.saturating_mul(100) / whole
}

fn summary(percent: usize, hunks: &[DiffHunk]) -> String {
    let count = stat(hunks);
    let mut out = format!("{percent}% of the file changed: {} lines added, {} removed, at", count.added, count.removed);
    for (nth, hunk) in hunks.iter().take(SUMMARY_PLACES_MAX).enumerate() {
        let (first, last) = (hunk.new_start, hunk.new_start + hunk.new_lines.saturating_sub(1));
        // Writing to a String cannot fail.
        let _ = write!(out, "{} {first}-{last}", if nth == 0 { "" } else { "," });
    }
    let more = hunks.len().saturating_sub(SUMMARY_PLACES_MAX);
    if more > 0 {
        let _ = write!(out, " and {more} more places");
    }
    out.push_str(".\n");
    out
}

#[cfg(test)]
mod tests {
    use super::super::hunks;
    use super::render_by_size;
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::snapshot::Snapshot;
    use crate::text::span::Span;

    #[test]
    fn diff_form_depends_on_the_size() {
        let base = Snapshot::from_text(&"a line of text\n".repeat(20));
        let rendered = |from: usize, to: usize, new: &str| {
            let changes = ChangeSet::new(&base, [Splice::new(Span::new(from, to), new.as_bytes(), 0)]).unwrap();
            let (form, text) = render_by_size("f", &base, &changes, &hunks(&base, &changes, 1), 1000);
            (form.name(), text.text)
        };
        let (form, text) = rendered(2, 6, "LINE");
        assert_eq!((form, text.contains("-a line of text\n+a LINE of text\n")), ("unified", true), "{text}");
        let (form, text) = rendered(0, 60, &"a word of text\n".repeat(4));
        assert_eq!((form, text.contains("a [-line-]{+word+} of text\n")), ("words", true), "{text}");
        assert_eq!(
            rendered(0, 300, "x\n"),
            ("summary", "99% of the file changed: 1 lines added, 20 removed, at 1-1.\n".to_owned())
        );
    }

    #[test]
    fn new_file_is_summarized() {
        let base = Snapshot::from_text("");
        let changes = ChangeSet::new(&base, [Splice::new(Span::new(0, 0), &b"a\nb\n"[..], 0)]).unwrap();
        assert_eq!(render_by_size("f", &base, &changes, &hunks(&base, &changes, 1), 9).0.name(), "summary");
    }
}

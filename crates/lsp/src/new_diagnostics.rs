//! Separation of new problems from existing ones: those of the previous text are carried through the change, and each
//! is matched with one of the current problems.
//!
//! Two problems match if source, rule and message are equal, and the change moves the old position to the new one. If
//! the change replaced the position itself, an equal problem anywhere in the replacement matches. At the same position,
//! messages that differ only in numbers match: many name lines.

use crate::diagnostic::Diagnostic;
use emendate_core::Span;

/// A span of the previous text, and the length of its replacement. Sorted and disjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanEdit {
    /// The replaced span.
    pub span: Span,
    /// Length of the replacement.
    pub len: usize,
}

/// Current position of an old problem.
enum NewPosition {
    At(usize),
    /// Somewhere in this replacement.
    Within(Span),
}

/// Splits the problems after a change into the new ones and the number of existing ones.
pub(crate) fn partition_new(
    before: &[Diagnostic],
    after: Vec<Diagnostic>,
    edits: &[SpanEdit],
) -> (Vec<Diagnostic>, usize) {
    let mut old: Vec<(&Diagnostic, NewPosition)> =
        before.iter().map(|problem| (problem, new_position(problem.span, edits))).collect();
    let rules: [fn(&Diagnostic, &NewPosition, &Diagnostic) -> bool; 3] = [
        |old, now, new| matches!(now, NewPosition::At(at) if *at == new.span.start()) && old.message == new.message,
        |old, now, new| {
            matches!(now, NewPosition::At(at) if *at == new.span.start())
                && without_numbers(&old.message) == without_numbers(&new.message)
        },
        |old, now, new| {
            matches!(now, NewPosition::Within(span) if (span.start() <= new.span.start() && new.span.start() <= span.end()))
                && old.message == new.message
        },
    ];
    let mut left = after;
    let all = left.len();
    for same in rules {
        left.retain(|new| {
            let found = old
                .iter()
                .position(|(old, now)| old.code == new.code && old.source == new.source && same(old, now, new));
            found.map(|at| old.swap_remove(at)).is_none()
        });
    }
    let existing = all - left.len();
    left.sort_by(|a, b| (a.severity, a.span, &a.message).cmp(&(b.severity, b.span, &b.message)));
    (left, existing)
}

/// Returns the current position of a span of the previous text.
fn new_position(span: Span, edits: &[SpanEdit]) -> NewPosition {
    let mut shift = 0isize;
    for edit in edits {
        let start = edit.span.start().saturating_add_signed(shift);
        let new = Span::new(start, start + edit.len);
        // An insertion right before a position moves it.
        let inserts = edit.span.is_empty() && edit.span.start() == span.start();
        if edit.span.end() <= span.start() && (!edit.span.is_empty() || inserts || edit.span.start() < span.start()) {
            shift += edit.len.cast_signed() - edit.span.len().cast_signed();
        } else if edit.span.start() <= span.start() {
            return NewPosition::Within(new);
        } else {
            break;
        }
    }
    NewPosition::At(span.start().saturating_add_signed(shift))
}

fn without_numbers(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for char in message.chars() {
        match char.is_ascii_digit() {
            true if out.ends_with('0') => {}
            true => out.push('0'),
            false => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{SpanEdit, partition_new};
    use crate::diagnostic::{Diagnostic, Severity};
    use emendate_core::Span;
    use proptest::prelude::*;

    fn problem(start: usize, end: usize, message: &str) -> Diagnostic {
        let (severity, message) = (Severity::Error, message.to_owned());
        Diagnostic {
            severity,
            span: Span::new(start, end),
            start: (1, 1),
            end: (1, 1),
            message,
            code: None,
            source: None,
        }
    }

    fn edit(start: usize, end: usize, len: usize) -> SpanEdit {
        SpanEdit { span: Span::new(start, end), len }
    }

    fn new(before: &[Diagnostic], after: &[Diagnostic], edits: &[SpanEdit]) -> (Vec<String>, usize) {
        let (new, existing) = partition_new(before, after.to_vec(), edits);
        (new.into_iter().map(|it| it.message).collect(), existing)
    }

    #[test]
    fn moved_problem_is_existing() {
        let before = [problem(10, 12, "a"), problem(30, 32, "b")];
        let after = [problem(10, 12, "a"), problem(35, 37, "b"), problem(21, 22, "c")];
        assert_eq!(new(&before, &after, &[edit(20, 20, 5)]), (vec!["c".to_owned()], 2));
        // Inserted right before it.
        assert_eq!(new(&before, &[problem(13, 15, "a")], &[edit(10, 10, 3)]), (vec![], 1));
        // The same message elsewhere is another problem.
        assert_eq!(new(&before[..1], &[problem(16, 18, "a")], &[edit(20, 20, 5)]).1, 0);
    }

    #[test]
    fn each_old_problem_counts_once() {
        let before = [problem(10, 12, "a")];
        let after = [problem(10, 11, "a"), problem(10, 12, "a")];
        assert_eq!(new(&before, &after, &[]), (vec!["a".to_owned()], 1));
    }

    #[test]
    fn problem_in_replaced_text_may_still_exist() {
        let before = [problem(10, 12, "a")];
        assert_eq!(new(&before, &[problem(14, 15, "a")], &[edit(8, 20, 9)]).1, 1);
        assert_eq!(new(&before, &[problem(14, 15, "b")], &[edit(8, 20, 9)]), (vec!["b".to_owned()], 0));
        assert_eq!(new(&before, &[problem(40, 41, "a")], &[edit(8, 20, 9)]).1, 0);
    }

    #[test]
    fn numbers_in_messages_may_change_at_the_same_position() {
        let before = [problem(10, 12, "declared on line 12")];
        assert_eq!(new(&before, &[problem(10, 12, "declared on line 3")], &[]).1, 1);
        assert_eq!(new(&before, &[problem(11, 12, "declared on line 3")], &[]).1, 0);
    }

    proptest! {
        #[test]
        fn unchanged_text_has_no_new_problems(starts in proptest::collection::vec((0usize..50, 0usize..3), 0..8)) {
            let all: Vec<Diagnostic> = starts.iter().map(|(at, name)| problem(*at, at + 1, &"m".repeat(*name))).collect();
            prop_assert_eq!(partition_new(&all, all.clone(), &[]), (vec![], all.len()));
        }

        /// No problem is lost, and no more count as existing than existed before.
        #[test]
        fn all_problems_are_counted(
            before in proptest::collection::vec((0usize..40, 0usize..2), 0..6),
            after in proptest::collection::vec((0usize..40, 0usize..2), 0..6),
            spans in proptest::collection::vec((0usize..10, 0usize..6, 0usize..6), 0..4),
        ) {
            let all = |list: &[(usize, usize)]| -> Vec<Diagnostic> {
                list.iter().map(|(at, name)| problem(*at, at + 1, &"m".repeat(*name))).collect()
            };
            let mut at = 0;
            let edits: Vec<SpanEdit> = spans.iter().map(|(gap, old, len)| {
                let start = at + gap;
                at = start + old;
                edit(start, at, *len)
            }).collect();
            let (before, after) = (all(&before), all(&after));
            let (new, existing) = partition_new(&before, after.clone(), &edits);
            prop_assert_eq!(new.len() + existing, after.len());
            prop_assert!(existing <= before.len());
        }
    }
}

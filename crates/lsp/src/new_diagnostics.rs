//! Separation of new problems from existing ones: those of the previous text are carried through the change, and each
//! is matched with one of the current problems.
//!
//! Two problems match if source, rule and message are equal, and the change moves the old position to the new one. If
//! the change replaced the position itself, an equal problem anywhere in the replacement matches. At the same position,
//! messages that differ only in numbers match: many name lines. A problem at the start of the text may be one of the
//! whole file, which stays there whatever is inserted before the first line.

use crate::diagnostic::Diagnostic;
use emendate_core::Span;
use std::borrow::Cow;
use std::collections::HashMap;

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
    /// Somewhere in the replacement with this index.
    Within(usize),
}

/// A problem of the previous text.
struct OldProblem<'a> {
    diagnostic: &'a Diagnostic,
    now: NewPosition,
}

/// When two problems match, besides the same source and rule. In this order, so that the closest one is matched first.
#[derive(Clone, Copy)]
enum MatchRule {
    SamePlace,
    SamePlaceOtherNumbers,
    InReplacement,
    AtStart,
}

impl MatchRule {
    const ALL: [MatchRule; 4] =
        [MatchRule::SamePlace, MatchRule::SamePlaceOtherNumbers, MatchRule::InReplacement, MatchRule::AtStart];

    /// Returns what a new problem must be equal to; `None` if the rule does not concern the old one.
    fn old_key<'a>(self, old: &OldProblem<'a>) -> Option<ProblemKey<'a>> {
        let place = match (self, &old.now) {
            (MatchRule::SamePlace | MatchRule::SamePlaceOtherNumbers, NewPosition::At(at)) => *at,
            (MatchRule::InReplacement, NewPosition::Within(nth)) => *nth,
            (MatchRule::AtStart, _) if old.diagnostic.span.start() == 0 => 0,
            _ => return None,
        };
        Some(self.key(old.diagnostic, place))
    }

    /// Returns the keys of old problems that a new one matches.
    fn new_keys<'a>(self, new: &'a Diagnostic, replacements: &[Span]) -> impl Iterator<Item = ProblemKey<'a>> {
        let start = new.span.start();
        let places = match self {
            MatchRule::SamePlace | MatchRule::SamePlaceOtherNumbers => start..start + 1,
            MatchRule::InReplacement => {
                let first = replacements.partition_point(|span| span.end() < start);
                first..replacements.partition_point(|span| span.start() <= start).max(first)
            }
            MatchRule::AtStart => 0..usize::from(start == 0),
        };
        places.map(move |place| self.key(new, place))
    }

    fn key(self, problem: &Diagnostic, place: usize) -> ProblemKey<'_> {
        let message = match self {
            MatchRule::SamePlaceOtherNumbers => Cow::Owned(without_numbers(&problem.message)),
            _ => Cow::Borrowed(&*problem.message),
        };
        ProblemKey { code: problem.code.as_deref(), source: problem.source.as_deref(), message, place }
    }
}

/// The parts that are equal in two problems that match.
#[derive(PartialEq, Eq, Hash)]
struct ProblemKey<'a> {
    code: Option<&'a str>,
    source: Option<&'a str>,
    message: Cow<'a, str>,
    place: usize,
}

/// Splits the problems after a change into the new ones and the number of existing ones.
pub(crate) fn partition_new(
    before: &[Diagnostic],
    after: Vec<Diagnostic>,
    edits: &[SpanEdit],
) -> (Vec<Diagnostic>, usize) {
    let mut old: Vec<OldProblem<'_>> =
        before.iter().map(|diagnostic| OldProblem { diagnostic, now: new_position(diagnostic.span, edits) }).collect();
    let replacements = replacements(edits);
    let mut left = after;
    let all = left.len();
    for rule in MatchRule::ALL {
        remove_matches(rule, &mut old, &mut left, &replacements);
    }
    let existing = all - left.len();
    left.sort_by(|a, b| (a.severity, a.span, &a.message).cmp(&(b.severity, b.span, &b.message)));
    (left, existing)
}

/// Removes pairs of an old and a new problem that match by this rule.
fn remove_matches(rule: MatchRule, old: &mut Vec<OldProblem<'_>>, new: &mut Vec<Diagnostic>, replacements: &[Span]) {
    let mut unmatched: HashMap<ProblemKey<'_>, Vec<usize>> = HashMap::new();
    for (nth, problem) in old.iter().enumerate() {
        if let Some(key) = rule.old_key(problem) {
            unmatched.entry(key).or_default().push(nth);
        }
    }
    if unmatched.is_empty() {
        return;
    }
    let mut old_is_matched = vec![false; old.len()];
    let mut new_is_matched = vec![false; new.len()];
    for (problem, is_matched) in new.iter().zip(&mut new_is_matched) {
        let found = rule.new_keys(problem, replacements).find_map(|key| unmatched.get_mut(&key)?.pop());
        if let Some(nth) = found {
            (*is_matched, old_is_matched[nth]) = (true, true);
        }
    }
    retain_unmarked(new, &new_is_matched);
    retain_unmarked(old, &old_is_matched);
}

fn retain_unmarked<T>(list: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    list.retain(|_| marks.next() == Some(&false));
}

/// Returns the spans of the replacements in the current text.
fn replacements(edits: &[SpanEdit]) -> Vec<Span> {
    let mut shift = 0isize;
    let span = |edit: &SpanEdit| {
        let start = edit.span.start().saturating_add_signed(shift);
        shift += edit.len.cast_signed() - edit.span.len().cast_signed();
        Span::new(start, start + edit.len)
    };
    edits.iter().map(span).collect()
}

/// Returns the current position of a span of the previous text.
fn new_position(span: Span, edits: &[SpanEdit]) -> NewPosition {
    let mut shift = 0isize;
    for (nth, edit) in edits.iter().enumerate() {
        // An insertion right before a position moves it.
        let inserts = edit.span.is_empty() && edit.span.start() == span.start();
        if edit.span.end() <= span.start() && (!edit.span.is_empty() || inserts || edit.span.start() < span.start()) {
            shift += edit.len.cast_signed() - edit.span.len().cast_signed();
        } else if edit.span.start() <= span.start() {
            return NewPosition::Within(nth);
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
        // A problem of the whole file, and one of the first line.
        let both = [problem(10, 10, "a"), problem(0, 0, "a")];
        assert_eq!(new(&both[1..], &both[1..], &[edit(0, 0, 10)]), (vec![], 1));
        assert_eq!(new(&both[1..], &both, &[edit(0, 0, 10)]), (vec!["a".to_owned()], 1));
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

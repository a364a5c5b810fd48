//! Hunks of old lines around changes, with enough context to occur once in the file.

use crate::text::change::ChangeSet;
use crate::text::explain::{self, LineKind};
use crate::text::occurrences::Occurrences;
use crate::text::snapshot::Snapshot;
use crate::work;
use core::ops::Range;
use foldhash::{HashMap, HashMapExt as _};

/// Maximum number of bytes that may be searched to check that short hunks occur once; beyond it they grow without
/// checks.
const UNIQUENESS_BYTES_MAX: usize = 64 << 20;

/// Old lines that are replaced by new ones.
struct LineReplacement {
    old: Range<usize>,
    new: Vec<String>,
}

/// A hunk: changes with the context around and between them.
pub(super) struct PrintedHunk<'a> {
    /// The kind of each line, and its text without the line end.
    pub(super) lines: Vec<(LineKind, &'a str)>,
}

/// The change of a text by lines.
pub(super) struct LineDifference<'a> {
    old: Vec<&'a str>,
    changes: Vec<LineReplacement>,
}

impl<'a> LineDifference<'a> {
    pub(super) fn new(before: &'a Snapshot, after: &Snapshot) -> LineDifference<'a> {
        let old = before.text().lines().collect();
        let hunks = explain::hunks(before, &ChangeSet::diff(before, after), 0);
        LineDifference {
            old,
            changes: hunks
                .into_iter()
                .map(|hunk| {
                    let start = if hunk.old_lines == 0 { hunk.old_start } else { hunk.old_start - 1 };
                    let new = hunk.lines.into_iter().filter(|line| line.kind == LineKind::Added).map(|line| line.text);
                    LineReplacement { old: start..start + hunk.old_lines, new: new.collect() }
                })
                .collect(),
        }
    }

    /// Returns disjoint hunks in order; each occurs once in `text`, the text before the change.
    pub(super) fn hunks(&self, text: &str, context: usize) -> Vec<PrintedHunk<'_>> {
        let unique = UniqueLines::new(&self.old);
        let mut work = UNIQUENESS_BYTES_MAX;
        let mut wide: Vec<(Range<usize>, Range<usize>)> = Vec::new();
        for (at, change) in self.changes.iter().enumerate() {
            let around = change.old.start.saturating_sub(context)..(change.old.end + context).min(self.old.len());
            let around = unique.widened(around, text, &mut work);
            // Adjacent hunks are joined as well, because no context between them would determine their order.
            let from = wide.iter().rposition(|(lines, _)| lines.end < around.start).map_or(0, |last| last + 1);
            let joined = wide.drain(from..).fold((around, at..at + 1), |(lines, changes), (other, others)| {
                (lines.start.min(other.start)..lines.end.max(other.end), changes.start.min(others.start)..changes.end)
            });
            wide.push(joined);
        }
        wide.into_iter().map(|(lines, changes)| self.hunk(lines, &self.changes[changes])).collect()
    }

    fn hunk(&self, lines: Range<usize>, changes: &'a [LineReplacement]) -> PrintedHunk<'_>
    where
        Self: 'a,
    {
        let mut out: Vec<(LineKind, &str)> = Vec::new();
        let mut at = lines.start;
        for change in changes {
            out.extend(self.old_lines(at..change.old.start, LineKind::Kept));
            out.extend(self.old_lines(change.old.clone(), LineKind::Removed));
            out.extend(change.new.iter().map(|line| (LineKind::Added, &**line)));
            at = change.old.end;
        }
        out.extend(self.old_lines(at..lines.end, LineKind::Kept));
        PrintedHunk { lines: out }
    }

    /// Returns lines of the old side with this kind.
    fn old_lines(&self, lines: Range<usize>, kind: LineKind) -> impl Iterator<Item = (LineKind, &str)> {
        self.old[lines].iter().map(move |line| (kind, *line))
    }
}

/// For every line, the nearest line that is unique in the file, ignoring whitespace.
struct UniqueLines<'a> {
    lines: &'a [&'a str],
    /// The nearest one at this line or before it.
    before: Vec<Option<usize>>,
    /// The nearest one at this line or after it.
    after: Vec<Option<usize>>,
}

impl<'a> UniqueLines<'a> {
    fn new(lines: &'a [&'a str]) -> UniqueLines<'a> {
        let mut counts: HashMap<&str, usize> = HashMap::with_capacity(lines.len());
        for line in work::batched(lines.iter()) {
            *counts.entry(line.trim()).or_default() += 1;
        }
        let before = nearest_unique(&counts, lines, 0..lines.len());
        let mut after = nearest_unique(&counts, lines, (0..lines.len()).rev());
        after.reverse();
        UniqueLines { lines, before, after }
    }

    /// Widens a range of lines until it occurs once.
    fn widened(&self, around: Range<usize>, text: &str, work: &mut usize) -> Range<usize> {
        let first = self.after.get(around.start).copied().flatten();
        if around.is_empty() || first.is_some_and(|at| at < around.end) || self.occurs_once(&around, text, work) {
            return around;
        }
        let above = around.start.checked_sub(1).and_then(|at| self.before[at]);
        let below = self.after.get(around.end).copied().flatten();
        match (above, below) {
            (Some(above), Some(below)) if around.start - above <= below + 1 - around.end => above..around.end,
            (_, Some(below)) => around.start..below + 1,
            (Some(above), None) => above..around.end,
            (None, None) => 0..self.lines.len(),
        }
    }

    fn occurs_once(&self, around: &Range<usize>, text: &str, work: &mut usize) -> bool {
        if *work < text.len() {
            return false;
        }
        let mut wanted = self.lines[around.clone()].join("\n");
        wanted.insert(0, '\n');
        let padded = format!("\n{}\n", text.strip_suffix('\n').unwrap_or(text));
        let mut occurrences = Occurrences::new(&padded, &wanted);
        let whole_lines = |at: &usize| padded.as_bytes().get(at + wanted.len()) == Some(&b'\n');
        let is_unique = occurrences.by_ref().filter(whole_lines).nth(1).is_none();
        *work = work.saturating_sub(text.len().max(occurrences.take_compared()));
        is_unique
    }
}

/// Returns for each of the lines, in the given order, the last unique line up to it.
fn nearest_unique(
    counts: &HashMap<&str, usize>,
    lines: &[&str],
    order: impl Iterator<Item = usize>,
) -> Vec<Option<usize>> {
    let mut last = None;
    order
        .map(|at| {
            let line = lines[at].trim();
            last = (counts.get(line) == Some(&1) && !line.is_empty()).then_some(at).or(last);
            last
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{UNIQUENESS_BYTES_MAX, UniqueLines};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_occur_once(lines in prop::collection::vec("[ab]{0,2}", 1..12), from in 0..12usize, len in 1..4usize) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let from = from % lines.len();
            let around = from..(from + len).min(lines.len());
            let plain = lines.windows(around.len()).filter(|window| *window == &lines[around.clone()]).count() == 1;
            let text = lines.join("\n") + "\n";
            let mut work = UNIQUENESS_BYTES_MAX;
            prop_assert_eq!(UniqueLines::new(&lines).occurs_once(&around, &text, &mut work), plain);
        }
    }

    #[test]
    fn repeated_lines_are_searched_in_linear_time() {
        // Each line begins an occurrence of the range, except for its last, blank line.
        let lines = [vec!["a"; 200_000], vec!["", "b"]].concat();
        let text = lines.join("\n") + "\n";
        let mut work = UNIQUENESS_BYTES_MAX;
        assert!(UniqueLines::new(&lines).occurs_once(&(100_000..200_001), &text, &mut work));
        assert!(UNIQUENESS_BYTES_MAX - work <= 10 * text.len());
    }
}

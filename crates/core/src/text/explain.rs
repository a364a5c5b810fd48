//! Reports of an edit, derived from its splices: hunks, counts, a snippet. No new diff is computed.

mod compared_words;
mod diff_form;
mod hunk_parts;
mod inline;
mod known_words;
mod new_text;
mod reply_hunks;
mod snippet;

use crate::text::change::{ChangeSet, Splice};
use crate::text::diff;
use crate::text::lines::{count_lines, line_start, line_stop, starts_line};
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work::{self, STEP_BYTES};
use serde_json::{Map, Value};
use std::fmt::Write as _;

pub use diff_form::{DiffForm, render_by_size};
pub use hunk_parts::{HunkParts, by_hunks};
pub use inline::{LineSegment, by_words, inline};
pub use known_words::{HunkWords, ReplacedSpan, known_words};
use new_text::NewTextDecoder;
use reply_hunks::LineBudget;
pub use reply_hunks::{LINE_CHARS_MAX, LineWindow, OmittedLines, reply_hunks};
pub use snippet::snippet;

/// The kind of a line in a diff: which versions contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// The line is in both versions.
    Kept,
    /// The line is only in the old version.
    Removed,
    /// The line is only in the new version.
    Added,
}

impl LineKind {
    /// The first character of a line of this kind in a unified diff.
    pub const fn sign(self) -> char {
        match self {
            LineKind::Kept => ' ',
            LineKind::Removed => '-',
            LineKind::Added => '+',
        }
    }
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// The versions that contain the line.
    pub kind: LineKind,
    /// The decoded text of the line without its line end; for a long line of [`reply_hunks`], the part around the
    /// change.
    pub text: String,
    /// False for a last line without a line end.
    pub ended: bool,
    /// The part of the line that `text` shows.
    pub window: LineWindow,
}

/// A run of changed lines with its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffHunk {
    /// The number of the hunk in the change, from 1.
    pub number: usize,
    /// First line in the old version, 1-based; if the hunk has no old lines, the line before the hunk, as in unified
    /// diffs.
    pub old_start: usize,
    /// Number of old lines.
    pub old_lines: usize,
    /// First line in the new version, 1-based; if the hunk has no new lines, the line before the hunk.
    pub new_start: usize,
    /// Number of new lines.
    pub new_lines: usize,
    /// The lines, context included.
    pub lines: Vec<DiffLine>,
    /// The lines that a hunk of [`reply_hunks`] counts but omits.
    pub omitted: OmittedLines,
}

/// Numbers of added and removed lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffStat {
    /// Lines only in the new version.
    pub added: usize,
    /// Lines only in the old version.
    pub removed: usize,
}

/// Returns the hunks of a change set, with `context` unchanged lines around each.
pub fn hunks(base: &Snapshot, changes: &ChangeSet, context: usize) -> Vec<DiffHunk> {
    hunks_within(base, changes, context, &mut LineBudget::unlimited())
}

/// Returns the hunks of a change without context and without their lines, for callers that need only numbers and
/// counts.
pub fn hunk_headers(base: &Snapshot, changes: &ChangeSet) -> Vec<DiffHunk> {
    hunks_within(base, changes, 0, &mut LineBudget::none())
}

fn hunks_within(base: &Snapshot, changes: &ChangeSet, context: usize, room: &mut LineBudget) -> Vec<DiffHunk> {
    let text = base.text();
    let blocks = blocks(base, changes);
    let mut out = Vec::new();
    let mut gained = 0isize;
    // Without an index, lines are counted from hunk to hunk, and nothing after the last change is read.
    let (mut counted, mut line) = (0, 1);
    for group in hunk_groups(text, &blocks, context) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (start, stop) =
            (context_start(text, first.old.start(), context), context_end(text, last.old.end(), context));
        line = match base.known_lines() {
            Some(index) => index.line_of(text, start),
            None if base.is_sparse() => base.lines().line_of(text, start),
            None => line + memchr::memchr_iter(b'\n', &text.as_bytes()[counted..start]).count(),
        };
        counted = start;
        let old_start = line;
        let new_start = old_start.saturating_add_signed(gained);
        let lines = Vec::with_capacity(2 * (context + room.of_lines(group.len())));
        let number = out.len() + 1;
        let omitted = OmittedLines::default();
        let mut hunk = DiffHunk { number, old_start, old_lines: 0, new_start, new_lines: 0, lines, omitted };
        let mut at = start;
        for block in group {
            let old = &text[block.old.range()];
            hunk.push(LineKind::Kept, &text[at..block.old.start()], "", room);
            hunk.push(LineKind::Removed, old, &block.new, room);
            hunk.push(LineKind::Added, &block.new, old, room);
            at = block.old.end();
        }
        hunk.push(LineKind::Kept, &text[at..stop], "", room);
        gained += hunk.new_lines.cast_signed() - hunk.old_lines.cast_signed();
        // Unified diffs give the line before if a side has no lines.
        hunk.old_start -= usize::from(hunk.old_lines == 0);
        hunk.new_start -= usize::from(hunk.new_lines == 0);
        out.push(hunk);
    }
    out
}

/// Groups the blocks into hunks: blocks whose context lines touch share a hunk.
fn hunk_groups<'a>(
    text: &'a str,
    blocks: &'a [ChangedBlock],
    context: usize,
) -> impl Iterator<Item = &'a [ChangedBlock]> {
    blocks.chunk_by(move |a, b| context_end(text, a.old.end(), 2 * context) >= b.old.start())
}

impl DiffHunk {
    /// Adds lines while there is room. `other` is the text on the other side of the change: the replacement of removed
    /// lines, or what added lines replace.
    fn push(&mut self, kind: LineKind, mut text: &str, other: &str, room: &mut LineBudget) {
        let mut others = other.split('\n');
        let mut counterpart = "";
        // A long removal must not use up the room for its replacement.
        let spare = if kind == LineKind::Removed { room.bytes / 2 } else { 0 };
        while !text.is_empty() && room.bytes > spare {
            let end = memchr::memchr(b'\n', text.as_bytes());
            let (line, rest) = end.map_or((text, ""), |end| (&text[..end], &text[end + 1..]));
            if room.is_limited() {
                counterpart = others.next().unwrap_or(counterpart);
            }
            self.lines.push(room.line(kind, line, counterpart, end.is_some()));
            self.count(kind, 1);
            text = rest;
        }
        let omitted = count_lines(text);
        self.omitted.count(kind, omitted);
        self.count(kind, omitted);
    }

    /// Counts lines on the sides that have them.
    fn count(&mut self, kind: LineKind, lines: usize) {
        if kind != LineKind::Added {
            self.old_lines += lines;
        }
        if kind != LineKind::Removed {
            self.new_lines += lines;
        }
    }
}

/// Whole lines of the base and the text that replaces them.
struct ChangedBlock {
    old: Span,
    new: String,
}

fn blocks(base: &Snapshot, changes: &ChangeSet) -> Vec<ChangedBlock> {
    let text = base.text();
    let mut groups: Vec<(Span, Vec<&Splice>)> = Vec::new();
    // The end of the last splice, if the lines up to there do not end with a line end.
    let mut open = None;
    for splice in changes.splices() {
        let span = base.text_span(splice.span);
        let joins = open == Some(span.start());
        let begun = joins || !starts_line(text, span.start());
        let ended = if splice.text.is_empty() { !begun } else { base.codec().charset.ends_line(&splice.text) };
        open = (!ended).then_some(span.end());
        let known = groups.last().map(|(group, _)| *group);
        let lines = whole_lines(text, span, ended, known);
        match groups.last_mut() {
            Some((group, splices)) if joins || lines.start() < group.end() => {
                *group = group.hull(lines);
                splices.push(splice);
            }
            _ => groups.push((lines, vec![splice])),
        }
    }
    // A cancelled call gives no report, so the rest of it is not built.
    let wanted = groups.into_iter().take_while(|_| !work::is_cancelled());
    let decoder = NewTextDecoder::new(base, changes);
    wanted.map(|(lines, splices)| changed_block(base, &decoder, lines, splices)).collect()
}

/// Builds the block for some lines of the base from the splices that change them.
fn changed_block(base: &Snapshot, decoder: &NewTextDecoder<'_>, lines: Span, splices: Vec<&Splice>) -> ChangedBlock {
    // The work is counted but never stopped here: a completed change is always reported.
    let _ = work::spend_or_end(4 + splices.len() + lines.len() / STEP_BYTES);
    let raw = base.raw_span(lines);
    let mut out = Vec::new();
    let mut at = raw.start();
    for splice in splices {
        // A change of the encoding begins before the first line, with the byte order mark.
        out.extend_from_slice(&base.raw()[at..splice.span.start().max(at)]);
        out.extend_from_slice(&splice.text);
        at = splice.span.end();
    }
    out.extend_from_slice(&base.raw()[at..raw.end().max(at)]);
    let new = decoder.decode(&out);
    // A change of nothing but the encoding is shown as one.
    let new = if new == base.text()[lines.range()] { base.decode_chunk(&out) } else { new };
    without_equal_ends(base.text(), lines, new)
}

/// Returns the lines that a change of `span` touches; none for whole lines inserted between two others. `ended` is true
/// if the change leaves no line unterminated. `known` are lines before or around the span, whose bounds need not be
/// computed again.
fn whole_lines(text: &str, span: Span, ended: bool, known: Option<Span>) -> Span {
    let known = known.filter(|known| span.start() < known.end());
    let start = known.map_or_else(|| line_start(text, span.start()), Span::start);
    let stop = known.filter(|known| span.end() < known.end()).map_or_else(|| line_stop(text, span.end()), Span::end);
    let whole = starts_line(text, span.start()) && starts_line(text, span.end()) && ended;
    Span::new(start, if whole { span.end() } else { stop })
}

fn without_equal_ends(text: &str, lines: Span, new: String) -> ChangedBlock {
    let (head, tail) = diff::common_line_ends(&text[lines.range()], &new);
    let old = Span::new(lines.start() + head, lines.end() - tail);
    if head + tail == 0 {
        ChangedBlock { old, new }
    } else {
        ChangedBlock { old, new: new[head..new.len() - tail].to_owned() }
    }
}

/// Returns the start of the line `count` lines before the one that begins at `at`.
fn context_start(text: &str, at: usize, count: usize) -> usize {
    (0..count).fold(at, |at, _| at.checked_sub(1).map_or(0, |before| line_start(text, before)))
}

/// Returns the end of the line `count` lines after `at`, which is the start of a line or the end of the text.
fn context_end(text: &str, at: usize, count: usize) -> usize {
    (0..count).fold(at, |at, _| line_stop(text, at))
}

/// Counts the lines added and removed by these hunks.
pub fn stat(hunks: &[DiffHunk]) -> DiffStat {
    let mut stat = DiffStat::default();
    for hunk in hunks {
        stat.added += hunk.omitted.added;
        stat.removed += hunk.omitted.removed;
        for line in &hunk.lines {
            stat.added += usize::from(line.kind == LineKind::Added);
            stat.removed += usize::from(line.kind == LineKind::Removed);
        }
    }
    stat
}

/// Returns the number of lines that these hunks contain, and the number of lines that they count.
pub fn held_lines(hunks: &[DiffHunk]) -> (usize, usize) {
    let held = hunks.iter().map(|hunk| hunk.lines.len()).sum();
    (held, hunks.iter().fold(held, |all, hunk| all + hunk.omitted.lines()))
}

/// Returns the last line of a diff that contains `shown` of the lines of its hunks: the remark about the omitted ones.
fn cut_mark(hunks: &[DiffHunk], shown: usize) -> String {
    let (_, all) = held_lines(hunks);
    format!("… ({} of {all} lines of the diff are not shown)\n", all - shown)
}

/// Counts added and removed lines from the change alone, without hunks.
pub fn count_changes(base: &Snapshot, changes: &ChangeSet) -> DiffStat {
    let text = base.text();
    blocks(base, changes).iter().fold(DiffStat::default(), |stat, block| DiffStat {
        added: stat.added + count_lines(&block.new),
        removed: stat.removed + count_lines(&text[block.old.range()]),
    })
}

/// A change as text, cut to a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffText {
    /// The text.
    pub text: String,
    /// True if lines are missing.
    pub cut: bool,
    /// First and last line of each range of the new version that is shown completely.
    pub lines: Vec<(usize, usize)>,
}

impl DiffText {
    /// Records that a line of the new version is shown completely.
    pub(crate) fn mark_shown(&mut self, line: usize) {
        match self.lines.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => self.lines.push((line, line)),
        }
    }
}

/// Formats the hunks as a unified diff of `path`, in at most `limit` bytes. A longer diff is cut between lines, with a
/// remark.
pub fn unified(path: &str, hunks: &[DiffHunk], limit: usize) -> DiffText {
    unified_with(path, hunks, limit, HunkHeading::Nothing)
}

/// Formats the hunks as [`unified`] does, with the number of each hunk after its second `@@`, where git prints the name
/// of the function. Programs that read diffs ignore it.
pub fn unified_with_numbers(path: &str, hunks: &[DiffHunk], limit: usize) -> DiffText {
    unified_with(path, hunks, limit, HunkHeading::Number)
}

fn unified_with(path: &str, hunks: &[DiffHunk], limit: usize, heading: HunkHeading) -> DiffText {
    let mut out = DiffText { text: format!("--- {path}\n+++ {path}\n"), ..DiffText::default() };
    marked_lines(hunks, limit, heading, &mut out);
    out
}

/// The text after the second `@@` of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HunkHeading {
    /// No text.
    Nothing,
    /// The number of the hunk.
    Number,
}

/// Formats the hunks of a unified diff, without the lines that name the file.
pub(crate) fn marked_lines(hunks: &[DiffHunk], limit: usize, heading: HunkHeading, out: &mut DiffText) {
    let mut shown = 0;
    for hunk in hunks {
        let old = format_range(hunk.old_start, hunk.old_lines);
        let new = format_range(hunk.new_start, hunk.new_lines);
        // Writing to a String cannot fail.
        let _ = match heading {
            HunkHeading::Nothing => writeln!(out.text, "@@ -{old} +{new} @@"),
            HunkHeading::Number => writeln!(out.text, "@@ -{old} +{new} @@ hunk {}", hunk.number),
        };
        let mut number = hunk.new_start + usize::from(hunk.new_lines == 0);
        for line in &hunk.lines {
            let text = line.shown(usize::MAX);
            if out.text.len() + text.len() > limit {
                out.cut = true;
                break;
            }
            shown += 1;
            out.text.push(line.kind.sign());
            out.text.push_str(&text);
            out.text.push('\n');
            if !line.ended {
                out.text.push_str("\\ No newline at end of file\n");
            }
            if line.kind != LineKind::Removed {
                if line.is_whole() {
                    out.mark_shown(number);
                }
                number += 1;
            }
        }
        out.cut |= hunk.omitted.lines() > 0;
        if out.cut {
            out.text.push_str(&cut_mark(hunks, shown));
            return;
        }
    }
}

/// Formats a range of lines as in the header of a hunk.
fn format_range(start: usize, lines: usize) -> String {
    if lines == 1 { start.to_string() } else { format!("{start},{lines}") }
}

/// Formats the hunks like the Edit tool's `structuredPatch` (seed 001). A hunk with omitted lines has their number as
/// `omittedLines`; hunks of which all lines are omitted are not included.
pub fn structured(hunks: &[DiffHunk]) -> Value {
    Value::Array(hunks.iter().filter(|hunk| !hunk.lines.is_empty()).map(hunk_data).collect())
}

/// Returns a hunk as JSON.
fn hunk_data(hunk: &DiffHunk) -> Value {
    // The object is built by hand, because the `json!` macro copies its arguments.
    let mut out = Map::with_capacity(5);
    out.insert("oldStart".to_owned(), hunk.old_start.into());
    out.insert("oldLines".to_owned(), hunk.old_lines.into());
    out.insert("newStart".to_owned(), hunk.new_start.into());
    out.insert("newLines".to_owned(), hunk.new_lines.into());
    out.insert("lines".to_owned(), lines_data(hunk).into());
    if hunk.omitted.lines() > 0 {
        out.insert("omittedLines".to_owned(), hunk.omitted.lines().into());
    }
    Value::Object(out)
}

/// Returns the lines of a hunk with their signs.
fn lines_data(hunk: &DiffHunk) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::with_capacity(hunk.lines.len());
    for line in &hunk.lines {
        let mut marked = String::with_capacity(line.text.len() + 1);
        marked.push(line.kind.sign());
        marked.push_str(&line.shown(usize::MAX));
        out.push(marked.into());
        if !line.ended {
            out.push("\\ No newline at end of file".into());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{DiffHunk, count_changes, hunks, stat, unified};
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::snapshot::Snapshot;
    use crate::text::span::Span;
    use proptest::prelude::*;

    fn diff(base: &str, splices: Vec<(usize, usize, &str)>) -> String {
        let base = Snapshot::from_text(base);
        let splices = splices.into_iter().map(|(a, b, text)| Splice::new(Span::new(a, b), text.as_bytes(), 0));
        let changes = ChangeSet::new(&base, splices).unwrap();
        assert_eq!(count_changes(&base, &changes), stat(&hunks(&base, &changes, 1)));
        unified("f", &hunks(&base, &changes, 1), usize::MAX).text
    }

    #[test]
    fn diffs_have_the_expected_form() {
        assert_eq!(diff("a\nb\nc\nd\n", vec![(2, 3, "B")]), "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(diff("a\nb\n", vec![(2, 2, "x\n")]), "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n+x\n b\n");
        assert_eq!(diff("", vec![(0, 0, "x\n")]), "--- f\n+++ f\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(diff("a\n", vec![(0, 2, "")]), "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
        let gone = "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n";
        assert_eq!(diff("a\nb\n", vec![(3, 4, "")]), gone);
        // Two adjacent splices, the first of which leaves its line unterminated.
        let met = "--- f\n+++ f\n@@ -1,3 +1 @@\n-a\n-b\n-\n+xy\n\\ No newline at end of file\n";
        assert_eq!(diff("a\nb\n\n", vec![(0, 4, "x"), (4, 5, ""), (5, 5, "y")]), met);
        // A NUL after a line feed is part of the text in UTF-8.
        let nul = "--- f\n+++ f\n@@ -1 +1,2 @@\n-a\n+x\n+\0a\n";
        assert_eq!(diff("a\n", vec![(0, 0, "x\n\0")]), nul);
        let glued = "--- f\n+++ f\n@@ -1,3 +1 @@\n-ab\n-c\n-d\n+ad\n";
        assert_eq!(diff("ab\nc\nd\n", vec![(1, 3, ""), (3, 5, "")]), glued);
        assert_eq!(diff("a\nb\nc\n", vec![(1, 2, " ")]), "--- f\n+++ f\n@@ -1,3 +1,2 @@\n-a\n-b\n+a b\n c\n");
    }

    #[test]
    fn added_or_removed_byte_order_mark_is_a_change() {
        let (plain, marked) = (b"a\nb\n".to_vec(), "\u{FEFF}a\nc\n".as_bytes().to_vec());
        let open = |raw: &Vec<u8>| Snapshot::open(raw.clone(), None).unwrap();
        for (from, to) in [(&plain, &marked), (&marked, &plain)] {
            let changes = ChangeSet::diff(&open(from), &open(to));
            assert_eq!(&changes.apply(&open(from)), to);
            assert!(stat(&hunks(&open(from), &changes, 1)).added > 0);
        }
    }

    /// Applies hunks like `patch`, from the hunks alone.
    fn patched(base: &str, hunks: &[super::DiffHunk]) -> String {
        let lines: Vec<&str> = base.split_inclusive('\n').collect();
        let mut out = String::new();
        let mut at = 0;
        for hunk in hunks {
            let start = hunk.old_start - usize::from(hunk.old_lines > 0);
            lines[at..start].iter().for_each(|line| out.push_str(line));
            assert_eq!(out.split_inclusive('\n').count(), hunk.new_start - usize::from(hunk.new_lines > 0));
            at = start + hunk.old_lines;
            for line in hunk.lines.iter().filter(|line| line.kind != super::LineKind::Removed) {
                out.push_str(&line.text);
                out.push_str(if line.ended { "\n" } else { "" });
            }
            let old: String = hunk
                .lines
                .iter()
                .filter(|line| line.kind != super::LineKind::Added)
                .map(|line| format!("{}{}", line.text, if line.ended { "\n" } else { "" }))
                .collect();
            assert_eq!(old, lines[start..at].concat());
        }
        lines[at..].iter().for_each(|line| out.push_str(line));
        out
    }

    proptest! {
        #[test]
        fn hunks_describe_the_change(
            base in "[ab\n]{0,40}", seeds in prop::collection::vec((0usize..41, 0usize..41, "[xa\0\n]{0,4}"), 0..4), context in 0usize..3
        ) {
            let base = Snapshot::from_text(&base);
            let len = base.raw().len();
            let splices = seeds.iter().map(|(a, b, text)| Splice::new(Span::new(*a.min(&len), *b.min(&len)), text.as_bytes(), 0));
            let Ok(changes) = ChangeSet::new(&base, splices) else { return Ok(()) };
            let after = String::from_utf8(changes.apply(&base)).unwrap();
            prop_assert_eq!(patched(base.text(), &hunks(&base, &changes, context)), after);
            let whole = hunks(&base, &changes, 0);
            let headers = super::hunk_headers(&base, &changes);
            prop_assert_eq!(stat(&headers), stat(&whole));
            let bare = whole.into_iter().zip(&headers).map(|(hunk, header)| DiffHunk { lines: Vec::new(), omitted: header.omitted, ..hunk });
            prop_assert_eq!(bare.collect::<Vec<_>>(), headers);
        }
    }
}

//! The lines of one hunk. Its counts are evidence, not commands: marked lines belong to it as long as nothing separates
//! them; unmarked lines are pending until the counts are complete or a later change shows that the hunk continues.

use super::mistakes::{UnifiedDiffMistake, UnifiedDiffMistakes, broken, open_fence};
use super::range::HunkHeader;
use crate::error::{Error, Result};
use crate::formats::line_parser::StreamEvent;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind};

/// A hunk and its position on the new side.
#[derive(Clone, Debug)]
pub(super) struct NumberedHunk {
    pub(super) hunk: Hunk,
    /// The new side's `first`, by the rule of [`Hunk::first`].
    pub(super) new_first: Option<usize>,
    /// Indices of the lines that end in `\r\n` in the request.
    pub(super) crlf: Vec<usize>,
}

impl NumberedHunk {
    /// Returns the text of the new side, with the line ends of the request.
    pub(super) fn new_text(&self) -> String {
        let lines = self.hunk.lines.iter().enumerate().filter(|(_, line)| line.kind != HunkLineKind::Removed);
        let end = |at: usize| if self.crlf.binary_search(&at).is_ok() { "\r\n" } else { "\n" };
        lines.flat_map(|(at, line)| [&*line.text, end(at)]).collect()
    }

    /// True if the old side has a line end.
    pub(super) fn has_line_end_before(&self) -> bool {
        let old = self.hunk.lines.iter().filter(|line| line.kind != HunkLineKind::Added).count();
        old > usize::from(self.hunk.open.0)
    }

    /// Exchanges the sides. Each line keeps its line end.
    pub(super) fn reverse(self) -> NumberedHunk {
        let NumberedHunk { hunk, new_first, crlf } = self;
        // The reversal changes the order of removed and added lines, but not that of lines of one kind.
        let ends = |kind: HunkLineKind| {
            let lines = hunk.lines.iter().enumerate().filter(|(_, line)| line.kind == kind);
            lines.map(|(at, _)| crlf.binary_search(&at).is_ok()).collect::<Vec<bool>>().into_iter()
        };
        let (mut context, mut bare) = (ends(HunkLineKind::Context), ends(HunkLineKind::Bare));
        let (mut added, mut removed) = (ends(HunkLineKind::Removed), ends(HunkLineKind::Added));
        let old_first = hunk.first;
        let back = hunk.reverse();
        let is_crlf = |line: &HunkLine| match line.kind {
            HunkLineKind::Context => context.next(),
            HunkLineKind::Bare => bare.next(),
            HunkLineKind::Added => added.next(),
            HunkLineKind::Removed => removed.next(),
        };
        let ends = back.lines.iter().map(is_crlf).enumerate();
        let crlf = ends.filter_map(|(at, is_crlf)| is_crlf?.then_some(at)).collect();
        NumberedHunk { hunk: Hunk { first: new_first.or(back.first), ..back }, new_first: old_first, crlf }
    }
}

/// A line that is pending until it is clear whether it belongs to the hunk.
#[derive(Debug)]
struct WaitingLine {
    at: usize,
    line: HunkLine,
    /// True if the line has no mark.
    naked: bool,
    crlf: bool,
}

/// The end of a hunk.
#[derive(Clone, Copy, Debug)]
pub(super) enum HunkEnd {
    /// A line of the request.
    Line,
    /// The end of the text.
    Text,
    /// The end of the text, whose last line has no line end.
    Cut,
    /// The end of the text, inside of a fence.
    OpenFence {
        /// The 1-based line that opens the fence.
        line: usize,
        /// True if the last line has no line end.
        cut: bool,
    },
}

/// A hunk that is being parsed.
#[derive(Debug)]
pub(super) struct HunkBody {
    header: HunkHeader,
    hunk: Hunk,
    /// Numbers of old and new lines that the counts still announce.
    left: Option<(usize, usize)>,
    /// True if more lines were parsed than the counts announced.
    over: bool,
    tail: Vec<WaitingLine>,
    /// Numbers of old and new lines in the tail.
    waiting: (usize, usize),
    /// True if the tail has a line without a mark.
    has_naked: bool,
    /// True if the tail has a line without a mark that is not blank.
    has_bare: bool,
    /// True if a line of the hunk is removed or added.
    changed: bool,
    /// 1-based line of the request that was added last.
    last: usize,
    /// True if events are suppressed.
    quiet: bool,
    /// True if the next line ends in `\r\n`.
    next_crlf: bool,
    /// See [`NumberedHunk::crlf`].
    crlf: Vec<usize>,
}

impl HunkBody {
    /// Begins a hunk at its header, or at its first line if it has none.
    pub(super) fn new(header: HunkHeader, at: usize, quiet: bool) -> HunkBody {
        let hunk = Hunk { section: header.section.clone(), source_line: at, ..Hunk::default() };
        let left = header.counts;
        HunkBody {
            header,
            hunk,
            left,
            over: false,
            tail: Vec::new(),
            waiting: (0, 0),
            has_naked: false,
            has_bare: false,
            changed: false,
            last: at,
            quiet,
            next_crlf: false,
            crlf: Vec::new(),
        }
    }

    /// True if the counts announced lines, and all of them have been parsed.
    pub(super) fn is_full(&self) -> bool {
        self.left == Some((0, 0))
    }

    /// True if the counts announce no lines, or none remain.
    pub(super) fn may_end(&self) -> bool {
        self.left.is_none() || self.is_full()
    }

    /// True if this many more old and new lines complete the counts.
    pub(super) fn would_complete(&self, old: usize, new: usize) -> bool {
        !self.is_full() && self.left == Some((self.waiting.0 + old, self.waiting.1 + new))
    }

    /// True if the counts announce no more old lines, or no more new ones.
    pub(super) fn is_half_full(&self) -> bool {
        self.left.is_some_and(|left| left.0 == 0 || left.1 == 0)
    }

    /// Sets whether the next line ends in `\r\n`.
    pub(super) fn next_line_end(&mut self, crlf: bool) {
        self.next_crlf = crlf;
    }

    /// Adds a line of the request.
    ///
    /// Errors: a change follows text that cannot belong to the hunk.
    pub(super) fn take(
        &mut self,
        at: usize,
        text: &str,
        mistakes: &mut UnifiedDiffMistakes,
        out: &mut Vec<StreamEvent>,
    ) -> Result<()> {
        let (kind, text, naked) = match text.as_bytes().first() {
            None => (HunkLineKind::Context, text, true),
            Some(b' ') => (HunkLineKind::Context, &text[1..], false),
            Some(b'-') => (HunkLineKind::Removed, &text[1..], false),
            Some(b'+') => (HunkLineKind::Added, &text[1..], false),
            Some(_) => (HunkLineKind::Bare, text, true),
        };
        let changes = matches!(kind, HunkLineKind::Added | HunkLineKind::Removed);
        let bullet = text.strip_prefix(' ').is_some_and(|rest| !rest.is_empty() && !rest.starts_with([' ', '\t']));
        let line = HunkLine { kind, text: text.to_owned() };
        if self.tail.is_empty() && !naked && (changes || !self.is_full()) {
            self.over |= self.is_full();
            self.push(at, line, self.next_crlf, out);
            return Ok(());
        }
        // After unmarked lines, a line like `- this` may be an item of a list, unless the hunk has no change yet.
        let goes_on = changes && !(bullet && self.has_naked && self.changed);
        self.wait(WaitingLine { at, line, naked, crlf: self.next_crlf });
        if self.would_complete(0, 0) {
            self.flush(mistakes, out);
        } else if goes_on {
            if self.is_full() && self.has_bare {
                return Err(self.unclear(at));
            }
            self.over |= self.is_full();
            self.flush(mistakes, out);
        }
        Ok(())
    }

    fn wait(&mut self, line: WaitingLine) {
        self.waiting.0 += usize::from(line.line.kind != HunkLineKind::Added);
        self.waiting.1 += usize::from(line.line.kind != HunkLineKind::Removed);
        self.has_naked |= line.naked;
        self.has_bare |= line.line.kind == HunkLineKind::Bare;
        self.tail.push(line);
    }

    fn flush(&mut self, mistakes: &mut UnifiedDiffMistakes, out: &mut Vec<StreamEvent>) {
        let tail = std::mem::take(&mut self.tail);
        (self.waiting, self.has_naked, self.has_bare) = ((0, 0), false, false);
        for WaitingLine { at, line, naked, crlf } in tail {
            if naked {
                mistakes.add(
                    if line.kind == HunkLineKind::Bare { UnifiedDiffMistake::Bare } else { UnifiedDiffMistake::Blank },
                    at,
                );
            }
            self.push(at, line, crlf, out);
        }
    }

    fn push(&mut self, at: usize, line: HunkLine, crlf: bool, out: &mut Vec<StreamEvent>) {
        let (old, new) = (line.kind != HunkLineKind::Added, line.kind != HunkLineKind::Removed);
        if let Some(left) = &mut self.left {
            self.over |= old && left.0 == 0 || new && left.1 == 0;
            left.0 = left.0.saturating_sub(usize::from(old));
            left.1 = left.1.saturating_sub(usize::from(new));
        }
        // Lines after the marker show that it was wrong.
        self.hunk.open.0 &= !old;
        self.hunk.open.1 &= !new;
        self.changed |= old != new;
        self.last = at;
        if !self.quiet {
            out.push(StreamEvent::Line { kind: line.kind, text: line.text.clone() });
        }
        if crlf {
            self.crlf.push(self.hunk.lines.len());
        }
        self.hunk.lines.push(line);
    }

    /// Handles `\ No newline at end of file`, in any wording.
    pub(super) fn mark_open(&mut self, at: usize, mistakes: &mut UnifiedDiffMistakes, out: &mut Vec<StreamEvent>) {
        if !self.tail.is_empty() {
            if self.is_full() && self.has_naked {
                return;
            }
            self.flush(mistakes, out);
        }
        let Some(last) = self.hunk.lines.last() else { return };
        self.hunk.open.0 |= last.kind != HunkLineKind::Added;
        self.hunk.open.1 |= last.kind != HunkLineKind::Removed;
        self.last = at;
    }

    /// 1-based line of the request on which the hunk begins.
    pub(super) fn begins(&self) -> usize {
        self.hunk.source_line
    }

    /// Returns the error for a text that was cut off inside the hunk.
    fn truncation(&self, end: HunkEnd) -> Option<Error> {
        // Prose below the hunk shows that the hunk was complete.
        let is_last = self.tail.iter().all(|it| it.line.kind == HunkLineKind::Context);
        let announces = self.left.is_some_and(|left| left != (0, 0));
        match end {
            HunkEnd::OpenFence { line, cut } if is_last && !(self.is_counted() && (!cut || self.has_end())) => {
                Some(open_fence(self.hunk.source_line, "inside this hunk", line))
            }
            HunkEnd::Line => None,
            HunkEnd::Text | HunkEnd::OpenFence { .. } => self.is_truncated().then(|| self.truncated()),
            // Clients often trim a text, so without counts the missing line end of a changed line shows nothing.
            HunkEnd::Cut => (announces || self.hunk.lines.is_empty()).then(|| self.truncated()),
        }
    }

    /// True if the hunk has exactly the announced lines.
    fn is_counted(&self) -> bool {
        self.is_full() && !self.over && self.tail.iter().all(|it| it.line.text.is_empty())
    }

    /// True if the last line is one that stays, or `\ No newline at end of file`.
    fn has_end(&self) -> bool {
        let stays = |last: &HunkLine| matches!(last.kind, HunkLineKind::Context | HunkLineKind::Bare);
        self.hunk.open.0 || self.hunk.open.1 || self.hunk.lines.last().is_some_and(stays)
    }

    /// True if the text ends after a changed line while the header announces more lines on both sides: the rest of the
    /// hunk is missing, unless its counts are wrong. True as well after a removed line if all old lines have been
    /// parsed and more new ones are announced: the replacement of the line is missing.
    fn is_truncated(&self) -> bool {
        let last = self.hunk.lines.last().map(|line| line.kind);
        let promised = self.left.is_some_and(|(old, new)| new > 0 && (old > 0 || last == Some(HunkLineKind::Removed)));
        let blank = self.tail.iter().all(|it| it.naked && it.line.text.is_empty());
        promised && blank && matches!(last, Some(HunkLineKind::Added | HunkLineKind::Removed))
    }

    /// True if the hunk ends with a removed line while its header announces more new lines than old ones: the
    /// replacement of the line is missing, whatever follows the hunk.
    fn lacks_replacement(&self) -> bool {
        let unmarked = self.tail.iter().all(|it| it.naked);
        // Counts that were exceeded prove nothing.
        unmarked
            && !self.over
            && self.hunk.lines.last().is_some_and(|line| line.kind == HunkLineKind::Removed)
            && self.left.is_some_and(|(old, new)| new > old)
    }

    /// True if no line is marked as changed, some have no mark at all, and words are marked in one.
    fn is_word_diff(&self) -> bool {
        let has_bare = || self.hunk.lines.iter().any(|line| line.kind == HunkLineKind::Bare);
        !self.changed && has_bare() && self.hunk.lines.iter().any(|line| has_marked_words(&line.text))
    }

    /// True if the counts announce a change, and no line is marked as one. Blank lines of a new file may lack their mark.
    fn lacks_marks(&self) -> bool {
        let announces_change = self.header.counts.is_some_and(|(old, new)| old != new);
        announces_change && !self.changed && self.hunk.lines.iter().any(|line| !line.text.is_empty())
    }

    /// Ends the hunk, and returns its last line.
    ///
    /// Errors: the text was truncated inside the hunk; there are changes that may or may not belong to it.
    pub(super) fn end(
        mut self,
        end: HunkEnd,
        mistakes: &mut UnifiedDiffMistakes,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(NumberedHunk, usize)> {
        if let Some(error) = self.truncation(end) {
            return Err(error);
        }
        let announced = self.left.unwrap_or_default();
        if self.lacks_replacement() {
            let what = format!(
                "the hunk ends in a removed line, but announces {} new lines more: what replaces the line is missing.",
                announced.1
            );
            return Err(broken(self.hunk.source_line, &what).next(
                "Send the whole patch again; if the line is only to be removed, correct the counts of the hunk.",
            ));
        }
        let rest = self.tail.split_off(self.keeps());
        if announced != (0, 0) && self.hunk.lines.is_empty() && self.tail.is_empty() {
            return Err(broken(self.hunk.source_line, "the hunk announces lines, but none follow."));
        }
        self.flush(mistakes, out);
        if let Some(change) = rest.iter().find(|it| matches!(it.line.kind, HunkLineKind::Added | HunkLineKind::Removed))
        {
            if self.over || !self.is_full() {
                return Err(self.unclear(change.at));
            }
            mistakes.add(UnifiedDiffMistake::Prose, change.at);
        }
        if self.is_word_diff() {
            return Err(broken(self.hunk.source_line, "this is a word diff, which marks words and not lines.")
                .next("Make a diff of lines: git diff without --word-diff."));
        }
        if let Some((old, new)) = self.header.counts.filter(|_| self.lacks_marks()) {
            let what = format!(
                "the hunk has {old} old and {new} new lines by its header, but none of its lines is marked as removed or added."
            );
            return Err(broken(self.hunk.source_line, &what)
                .next("Mark removed lines with - and added lines with +, or omit the hunk."));
        }
        out.push(StreamEvent::HunkDone);
        if self.over || self.left.is_some_and(|left| left != (0, 0)) {
            mistakes.add(UnifiedDiffMistake::Counts, self.hunk.source_line);
        }
        let (old, new) = (self.has(HunkLineKind::Added), self.has(HunkLineKind::Removed));
        let counts = self.header.counts;
        self.hunk.first = first_line(self.header.first.0, counts.map(|it| it.0), old);
        let new_first = first_line(self.header.first.1, counts.map(|it| it.1), new);
        Ok((NumberedHunk { hunk: self.hunk, new_first, crlf: self.crlf }, self.last))
    }

    /// Creates the error for a text that ends inside the hunk, unless its counts are wrong: the advice has the right
    /// ones.
    fn truncated(&self) -> Error {
        let announced = self.left.unwrap_or_default();
        let what = match announced {
            (0, 0) => "the text may be cut off inside the header of this hunk: no line is below it.".to_owned(),
            (old, new) => {
                format!("the text may be cut off inside this hunk: it announces {old} old and {new} new lines more.")
            }
        };
        let again = "send the whole patch again, with a line end after its last line.";
        let next = match (self.header.first, self.header.counts) {
            ((Some(old), Some(new)), Some(counts)) if !self.over && self.tail.iter().all(|it| it.naked) => {
                let (old_count, new_count) = (counts.0 - announced.0, counts.1 - announced.1);
                format!("If nothing is missing, write `@@ -{old},{old_count} +{new},{new_count} @@`; otherwise {again}")
            }
            _ => format!("S{}", &again[1..]),
        };
        broken(self.hunk.source_line, &what).next(next)
    }

    /// Returns the number of pending lines that are kept at the end: context, and unmarked lines that directly follow
    /// it.
    fn keeps(&self) -> usize {
        let mut keep = 0;
        for (index, it) in self.tail.iter().enumerate() {
            match it.line.kind {
                HunkLineKind::Context if it.naked && self.is_full() => break,
                HunkLineKind::Context if it.naked => {}
                HunkLineKind::Context if self.is_full() && it.line.text.is_empty() => {}
                HunkLineKind::Context => keep = index + 1,
                HunkLineKind::Bare if !self.is_full() && keep == index => keep = index + 1,
                _ => break,
            }
        }
        keep
    }

    /// True if the hunk has a line of this kind.
    fn has(&self, other: HunkLineKind) -> bool {
        self.hunk.lines.iter().any(|line| line.kind != other)
    }

    fn unclear(&self, at: usize) -> Error {
        let what = format!(
            "is this line part of the hunk of line {}? The lines before it are not marked, and the counts of the hunk do not settle it.",
            self.hunk.source_line
        );
        broken(at, &what).next(
            "Mark every line of the hunk (space, - or +) and correct its counts, or end the patch with a closing fence before prose.",
        )
    }
}

/// True for a line with words that a word diff marks: `[-old-]` or `{+new+}`.
fn has_marked_words(line: &str) -> bool {
    let has = |open, close| line.split_once(open).is_some_and(|(_, rest): (&str, &str)| rest.contains(close));
    has("[-", "-]") || has("{+", "+}")
}

/// Computes [`Hunk::first`] from a number, the count after it, and whether the side has any lines.
pub(super) fn first_line(number: Option<usize>, count: Option<usize>, lines: bool) -> Option<usize> {
    match (number?, count, lines) {
        // A position that is given only by wrong numbers is ignored.
        (0, _, true) | (_, Some(1..), false) => None,
        (number, Some(0), true) => Some(number + 1),
        (number, ..) => Some(number),
    }
}

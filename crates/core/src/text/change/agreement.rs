//! Comparison of two changes of one version: the splices that both have, their conflicts, and the line ends of a change
//! that is carried from one version to another.

use super::{ChangeSet, Conflict, Splice, TieBreak};
use crate::text::snapshot::{LineEnds, Snapshot};
use crate::text::span::Span;

impl ChangeSet {
    /// True if the new content of a base is the base: the splices make up for each other. Nearly always, the lengths
    /// decide.
    pub(crate) fn is_identity(&self, base: &Snapshot) -> bool {
        let raw = base.raw();
        let mut rest = raw;
        self.len_after(base) == raw.len()
            && self.chunks(raw).all(|chunk| rest.strip_prefix(chunk).inspect(|&after| rest = after).is_some())
    }

    /// Adapts the line ends of a change that was rebased from `seen` to `now`: new lines end like the lines of `now`
    /// where those of `seen` ended differently.
    ///
    /// Errors: as [`Snapshot::encode_for`].
    pub fn with_line_ends_of(self, seen: &Snapshot, now: &Snapshot) -> crate::Result<ChangeSet> {
        let (then, ends) = (seen.line_ends(), now.line_ends());
        if then.mixed() || ends == LineEnds::default() || then.majority() == ends.majority() {
            return Ok(self);
        }
        let splices = self
            .splices
            .into_iter()
            .map(|splice| {
                let text = now.encode_for(now.text_span(splice.span), &now.decode_chunk(&splice.text))?;
                Ok(Splice { text: text.into(), ..splice })
            })
            .collect::<crate::Result<_>>()?;
        Ok(ChangeSet { splices, ..self })
    }
}

/// Marks the splices of each side that the other side has as well.
pub(super) struct Agreement {
    pub(super) mine: Vec<bool>,
    pub(super) theirs: Vec<bool>,
}

pub(super) fn agreement(mine: &[Splice], theirs: &[Splice]) -> Agreement {
    let mut out = Agreement { mine: vec![false; mine.len()], theirs: vec![false; theirs.len()] };
    let (mut a, mut b) = (0, 0);
    while let (Some(left), Some(right)) = (mine.get(a), theirs.get(b)) {
        match left.span.cmp(&right.span) {
            core::cmp::Ordering::Less => a += 1,
            core::cmp::Ordering::Greater => b += 1,
            core::cmp::Ordering::Equal => {
                // Spans are unique within a side, so equal ones meet here.
                let same = left.text == right.text;
                (out.mine[a], out.theirs[b]) = (same, same);
                a += 1;
                b += 1;
            }
        }
    }
    out
}

/// Returns the whole lines that each splice touches, as spans of the decoded text; starts never decrease. An insertion
/// between lines touches none. An insertion before an unterminated line touches that line, even the empty one after the
/// last line end, which counts as one character wide here.
fn line_hulls(base: &Snapshot, splices: &[Splice]) -> Vec<Span> {
    let mut recent = RecentLine { text: base.text(), line: Span::at(0) };
    splices.iter().map(|splice| splice_hull(base, &mut recent, splice)).collect()
}

/// Finds lines, and remembers the last one, so that many splices within one very long line take linear time.
struct RecentLine<'t> {
    text: &'t str,
    line: Span,
}

impl RecentLine<'_> {
    /// Returns the line around an offset.
    fn line_at(&mut self, at: usize) -> Span {
        use crate::text::lines::{line_start, line_stop};
        if !(self.line.start() <= at && at < self.line.end()) {
            self.line = Span::new(line_start(self.text, at), line_stop(self.text, at));
        }
        self.line
    }
}

/// Returns the lines that a splice touches.
fn splice_hull(base: &Snapshot, recent: &mut RecentLine<'_>, splice: &Splice) -> Span {
    use crate::text::lines::starts_line;
    let (text, span) = (recent.text, base.text_span(splice.span));
    let closed = ends_line(base, &splice.text).unwrap_or_else(|| starts_line(text, span.start()));
    let whole = closed && starts_line(text, span.end());
    if whole && span.is_empty() {
        return span;
    }
    let start = recent.line_at(span.start()).start();
    let end = match (whole, span.end() == text.len() && starts_line(text, text.len())) {
        (true, _) => span.end(),
        (false, true) => text.len() + 1,
        (false, false) => recent.line_at(span.end()).end(),
    };
    Span::new(start, end)
}

/// True if a new text ends with a line end; `None` if it is empty.
fn ends_line(base: &Snapshot, text: &[u8]) -> Option<bool> {
    let last = text.len().checked_sub(base.codec().charset.unit())?;
    Some(base.decode_chunk(&text[last..]) == "\n")
}

/// True when two insertions are at the same offset and one of them would run into the text that follows.
fn are_glued(one: &SpliceLines<'_>, other: &SpliceLines<'_>) -> bool {
    let span = one.splice.span;
    span.is_empty() && span == other.splice.span && !(one.lines.is_empty() && other.lines.is_empty())
}

/// A splice, and the whole lines that it touches.
struct SpliceLines<'a> {
    splice: &'a Splice,
    lines: Span,
}

/// True when both sides add lines at the same place.
fn add_together(base: &Snapshot, one: &SpliceLines<'_>, other: &SpliceLines<'_>) -> bool {
    let is_near = one.lines.start() <= other.lines.end() && other.lines.start() <= one.lines.end();
    is_near && [one, other].iter().all(|it| adds_lines(base, it.splice))
}

/// True when the new text has more line ends than the old one.
fn adds_lines(base: &Snapshot, splice: &Splice) -> bool {
    let [old, new] = [&base.raw()[splice.span.range()], &splice.text]
        .map(|raw| base.decode_chunk(raw).bytes().filter(|byte| *byte == b'\n').count());
    new > old
}

pub(super) fn conflicts(
    base: &Snapshot,
    mine: &[Splice],
    theirs: &[Splice],
    agreed: &Agreement,
    tie: TieBreak,
) -> Vec<Conflict> {
    let (my_lines, their_lines) = (line_hulls(base, mine), line_hulls(base, theirs));
    // A change that both sides made conflicts with nothing.
    let theirs: Vec<SpliceLines<'_>> = theirs
        .iter()
        .zip(their_lines)
        .zip(&agreed.theirs)
        .filter(|(_, agreed)| !**agreed)
        .map(|((splice, lines), _)| SpliceLines { splice, lines })
        .collect();
    let mut out = Vec::new();
    let mut from = 0;
    for ((splice, lines), _) in mine.iter().zip(my_lines).zip(&agreed.mine).filter(|(_, agreed)| !**agreed) {
        let my = SpliceLines { splice, lines };
        while theirs
            .get(from)
            .is_some_and(|their| their.lines.end() < lines.start() && their.splice.span.end() < splice.span.start())
        {
            from += 1;
        }
        let near = theirs[from..].iter().take_while(|their| their.lines.start() <= lines.end());
        // Hulls are monotone, so only a handful can touch these lines without clashing.
        let clash = |their: &&SpliceLines<'_>| {
            their.lines.clashes(lines)
                || their.splice.span.clashes(splice.span)
                || are_glued(their, &my)
                || tie == TieBreak::Conflict && add_together(base, their, &my)
        };
        if let Some(their) = near.into_iter().find(clash) {
            out.push(Conflict { op: splice.op, mine: splice.span, theirs: their.splice.span });
        }
    }
    out
}

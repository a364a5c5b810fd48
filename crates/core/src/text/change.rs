//! The normalized form of every edit: sorted, disjoint splices of raw bytes against one snapshot.

use crate::text::content::ContentId;
use crate::text::diff;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work;
use core::iter;

mod agreement;
mod base_version;
mod new_text;
mod presence;

use agreement::{agreement, conflicts};
use base_version::BaseVersion;
pub use presence::Presence;

/// A replacement of `span` of the base by `text`. Offsets and text are raw: bytes of the file, in its encoding, with
/// its line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The write set: the bytes that are replaced.
    pub span: Span,
    /// The read set: the bytes that the edit depends on; covers `span`.
    pub read_span: Span,
    /// The new bytes.
    pub text: Box<[u8]>,
    /// Zero-based index of the operation in the request.
    pub op: u32,
}

impl Splice {
    /// Creates a splice that depends only on the bytes it replaces.
    pub fn new(span: Span, text: impl Into<Box<[u8]>>, op: u32) -> Splice {
        Splice { span, read_span: span, text: text.into(), op }
    }

    /// Sets the read span to the hull of `read_span` and the span.
    #[must_use]
    pub(crate) fn with_read_span(mut self, read_span: Span) -> Splice {
        self.read_span = read_span.hull(self.span);
        self
    }

    /// True when nothing is written.
    fn is_nothing(&self) -> bool {
        self.span.is_empty() && self.text.is_empty()
    }

    /// True when both splices replace the same bytes by the same text.
    fn same_as(&self, other: &Splice) -> bool {
        self.span == other.span && self.text == other.text
    }

    /// Growth of the file in bytes.
    fn growth(&self) -> isize {
        self.text.len().cast_signed() - self.span.len().cast_signed()
    }

    /// Trims from both ends what the old and the new text have in common, by whole characters and whole CRLFs.
    fn minimised(mut self, base: &Snapshot) -> Splice {
        let old = &base.raw()[self.span.range()];
        if old == &*self.text {
            return Splice { span: Span::at(self.span.start()), text: Box::default(), ..self };
        }
        let (head, tail) = common_ends(base, self.span, &self.text);
        if head + tail > 0 {
            self.span = Span::new(self.span.start() + head, self.span.end() - tail);
            self.text = self.text[head..self.text.len() - tail].into();
        }
        self
    }
}

/// Returns the lengths of the common prefix and suffix of `base[span]` and `text` that can be trimmed.
fn common_ends(base: &Snapshot, span: Span, text: &[u8]) -> (usize, usize) {
    let raw = base.raw();
    let old = &raw[span.range()];
    let unit = base.codec().charset.unit();
    let mut head = diff::common_prefix(old, text);
    // Decoding is deterministic from a boundary on, so a boundary of the old text is one of the equal new text as well;
    // only a CRLF may begin in the new text at the end of the old one.
    while head > 0 && (!base.is_border(span.start() + head) || cuts_crlf(text, head, unit)) {
        head -= 1;
    }
    let (old, new) = (&old[head..], &text[head..]);
    let mut tail = diff::common_suffix(old, new);
    while tail > 0 && !is_tail_border(new, base, span, unit, tail) {
        tail -= 1;
    }
    (head, tail)
}

/// True if the common suffix of `tail` bytes begins at a character boundary of both texts, and not inside a CRLF.
fn is_tail_border(new: &[u8], base: &Snapshot, span: Span, unit: usize, tail: usize) -> bool {
    let at = new.len() - tail;
    base.is_border(span.end() - tail) && !cuts_crlf(new, at, unit) && begins_char(base, new, at)
}

/// True between the CR and the LF of a CRLF.
fn cuts_crlf(text: &[u8], at: usize, unit: usize) -> bool {
    if unit == 1 {
        return at > 0 && text[at - 1] == b'\r' && text.get(at) == Some(&b'\n');
    }
    // In UTF-16 of either byte order the CR precedes and the LF follows.
    at >= 2 && is_pair(text.get(at - 2..at), b'\r') && is_pair(text.get(at..at + 2), b'\n')
}

/// True if the two bytes are this ASCII character as a unit of UTF-16, in either byte order.
fn is_pair(pair: Option<&[u8]>, byte: u8) -> bool {
    pair.is_some_and(|pair| pair == [byte, 0] || pair == [0, byte])
}

/// True when `at` is certainly a character boundary of `text`, which is in the base's encoding. Multi-byte legacy
/// encodings cannot be decoded backwards: there only the start, the end and the offset after an LF are certain.
fn begins_char(base: &Snapshot, text: &[u8], at: usize) -> bool {
    use crate::text::charset::Charset;
    match base.codec().charset {
        Charset::Utf8 => text.get(at).is_none_or(|byte| byte & 0xC0 != 0x80),
        Charset::Utf16Le | Charset::Utf16Be => at.is_multiple_of(2),
        Charset::Latin1 | Charset::Bytes => true,
        Charset::Legacy(encoding) => encoding.is_single_byte() || at == text.len() || (at > 0 && text[at - 1] == b'\n'),
    }
}

/// Two operations of one request that write the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The operation that comes first in the file.
    pub first: u32,
    /// The other operation.
    pub second: u32,
    /// The raw bytes that both write.
    pub span: Span,
}

/// Sorted, disjoint, minimal splices against the version `base`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSet {
    base: BaseVersion,
    splices: Vec<Splice>,
}

/// Order of insertions of both sides at the same offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The insertion of the rebased set comes first.
    MineFirst,
    /// The insertion of the set it is rebased over comes first.
    TheirsFirst,
    /// Lines that both sides add at the same place are in conflict: it is not known whether both texts are wanted, and
    /// in which order.
    Conflict,
}

/// The result of rebasing a change set over another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebaseResult {
    /// The change set against the version that the other set leads to.
    pub changes: ChangeSet,
    /// Operations whose read span was changed by the other set, although the bytes that they replace were not.
    pub touched: Vec<u32>,
    /// Operations that the other set had already made.
    pub already_made: Vec<u32>,
}

/// A range that both sides changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The operation of the rebased set.
    pub op: u32,
    /// The raw span that it replaces, in the common base.
    pub mine: Span,
    /// The raw span that the other side replaced, in the common base.
    pub theirs: Span,
}

impl ChangeSet {
    /// Creates a normalized change set: trims and sorts the splices, joins insertions at one offset in the order of
    /// their operations, and drops duplicate replacements.
    ///
    /// Errors: every pair of neighbours that write the same bytes. Linear except for the sort. Counts as work: once the
    /// call has to end, splices are missing.
    pub fn new(base: &Snapshot, splices: impl IntoIterator<Item = Splice>) -> Result<ChangeSet, Vec<Overlap>> {
        let mut sorted: Vec<Splice> = work::batched(splices.into_iter().map(|splice| splice.minimised(base)))
            .filter(|it| !it.is_nothing())
            .collect();
        // Insertions at one offset are in the order of the text they belong to, whatever the order of the call.
        sorted.sort_by_key(|splice| (splice.span, splice.read_span.start(), splice.read_span.end(), splice.op));
        // Equal insertions are not duplicates: a hunk can add a blank line before and after a blank line.
        sorted.dedup_by(|b, a| a.same_as(b) && !a.span.is_empty());
        let mut overlaps = Vec::new();
        let mut splices: Vec<Splice> = Vec::with_capacity(sorted.len());
        let mut furthest: Option<(Span, u32)> = None;
        for splice in work::batched(sorted.into_iter()) {
            if let Some((span, op)) = furthest.filter(|(span, _)| span.clashes(splice.span)) {
                let shared = Span::new(splice.span.start(), splice.span.end().min(span.end()));
                overlaps.push(Overlap { first: op, second: splice.op, span: shared });
            }
            if furthest.is_none_or(|(span, _)| span.end() <= splice.span.end()) {
                furthest = Some((splice.span, splice.op));
            }
            push_joined(&mut splices, splice);
        }
        if overlaps.is_empty() { Ok(ChangeSet { base: BaseVersion::of(base), splices }) } else { Err(overlaps) }
    }

    /// Creates an empty change set for `base`.
    pub fn none(base: &Snapshot) -> ChangeSet {
        ChangeSet { base: BaseVersion::of(base), splices: Vec::new() }
    }

    /// Computes the difference between two versions by whole lines, then trims it. About linear and bounded on any
    /// input: where lines repeat too often to be matched cheaply, the result is coarser, never wrong.
    pub fn diff(before: &Snapshot, after: &Snapshot) -> ChangeSet {
        let hunks = if before.codec() == after.codec() {
            diff::raw_hunks(before, after)
        } else {
            vec![(Span::new(0, before.raw().len()), Span::new(0, after.raw().len()))]
        };
        let splices = hunks.into_iter().map(|(old, new)| {
            let splice = Splice::new(old, &after.raw()[new.range()], 0);
            if before.codec() == after.codec() { splice.minimised(before) } else { splice }
        });
        ChangeSet { base: BaseVersion::of(before), splices: splices.filter(|splice| !splice.is_nothing()).collect() }
    }

    /// Divides the set into the splices for which `keep` is true and all others. `keep` is called in the order of the
    /// splices.
    #[must_use]
    pub fn partition(&self, keep: impl FnMut(&Splice) -> bool) -> (ChangeSet, ChangeSet) {
        let (kept, others): (Vec<Splice>, Vec<Splice>) = self.splices.iter().cloned().partition(keep);
        (ChangeSet { base: self.base.clone(), splices: kept }, ChangeSet { base: self.base.clone(), splices: others })
    }

    /// The version that the set applies to.
    pub fn base(&self) -> ContentId {
        self.base.id()
    }

    /// The splices, in order.
    pub fn splices(&self) -> &[Splice] {
        &self.splices
    }

    /// True when nothing is written.
    pub fn is_empty(&self) -> bool {
        self.splices.is_empty()
    }

    /// Returns the new content as slices of the base and of the splices, in order: it is written to disk without a
    /// second copy. `raw` is the raw text of the base.
    pub fn chunks<'a>(&'a self, raw: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        chunks(&self.splices, raw)
    }

    /// Length of the new content in bytes.
    pub fn len_after(&self, base: &Snapshot) -> usize {
        let growth: isize = self.splices.iter().map(Splice::growth).sum();
        base.raw().len().saturating_add_signed(growth)
    }

    /// Returns the new content. `base` must be the version that this set was made against.
    pub fn apply(&self, base: &Snapshot) -> Vec<u8> {
        debug_assert_eq!(base.id(), self.base(), "a change set belongs to one version");
        let mut out = Vec::with_capacity(self.len_after(base));
        for piece in self.chunks(base.raw()) {
            out.extend_from_slice(piece);
        }
        out
    }

    /// Returns the inverse: the change set that leads from the version after `self` back to `base`.
    #[must_use]
    pub fn invert(&self, base: &Snapshot) -> ChangeSet {
        let mut shift = 0;
        let mut splices = Vec::with_capacity(self.splices.len());
        for splice in &self.splices {
            let start = splice.span.start().saturating_add_signed(shift);
            shift += splice.growth();
            let span = Span::new(start, start + splice.text.len());
            let text = base.raw()[splice.span.range()].into();
            push_joined(&mut splices, Splice { span, read_span: span, text, op: splice.op });
        }
        ChangeSet { base: BaseVersion::Content(ContentId::of_pieces(self.chunks(base.raw()))), splices }
    }

    /// Composes `self` with `next` (made against the version that `self` leads to) into one change set against `base`.
    #[must_use]
    pub fn then(&self, base: &Snapshot, next: &ChangeSet) -> ChangeSet {
        if self.splices.is_empty() && next.splices.windows(2).all(|pair| pair[0].span.end() < pair[1].span.start()) {
            // Without an earlier change, no splice has to be joined with another one.
            let splices = next.splices.iter().map(|it| Splice { read_span: it.span, ..it.clone() }.minimised(base));
            return ChangeSet { base: self.base.clone(), splices: splices.filter(|it| !it.is_nothing()).collect() };
        }
        let mut out = Vec::with_capacity(self.splices.len() + next.splices.len());
        let (mut first, mut second) = (self.splices.as_slice(), next.splices.as_slice());
        // Offset in the middle text minus offset in the base, before the current group.
        let mut shift = 0isize;
        loop {
            let group = TouchingSplices::take(&mut first, &mut second, shift);
            let Some(group) = group else { break };
            out.push(group.join(base, shift));
            shift = group.shift;
        }
        let splices = out.into_iter().map(|splice| splice.minimised(base)).filter(|splice| !splice.is_nothing());
        ChangeSet { base: self.base.clone(), splices: splices.collect() }
    }

    /// Composes with `next` in place, like [`ChangeSet::then`]. Splices that `next` does not touch are not moved, so
    /// that a long series of small changes remains cheap.
    pub(crate) fn append(&mut self, base: &Snapshot, next: &ChangeSet) {
        let [only] = &*next.splices else {
            *self = self.then(base, next);
            return;
        };
        let (mut from, mut shift) = (0, 0isize);
        // The first splice of the group, and the shift before it.
        let (mut first, mut before, mut reach) = (0, 0isize, None);
        while let Some(splice) = self.splices.get(from) {
            let start = splice.span.start().saturating_add_signed(shift);
            if reach.is_none_or(|reach| start > reach) {
                (first, before) = (from, shift);
            }
            let end = start + splice.text.len();
            if end >= only.span.start() {
                break;
            }
            reach = Some(end);
            shift += splice.growth();
            from += 1;
        }
        // Splices adjacent to one of the group belong to it, too.
        let adjoins =
            self.splices.get(from).is_some_and(|it| it.span.start().saturating_add_signed(shift) <= only.span.end());
        if !adjoins {
            (first, before) = (from, shift);
        }
        let (mut ahead, mut second) = (&self.splices[first..], &*next.splices);
        let Some(group) = TouchingSplices::take(&mut ahead, &mut second, before) else { return };
        let last = first + group.first.len();
        let joined = Some(group.join(base, before).minimised(base)).filter(|splice| !splice.is_nothing());
        self.splices.splice(first..last, joined);
    }

    /// Maps a raw offset of the base to the new content. At an insertion, `after` selects the side; an offset inside
    /// replaced text maps to the start of the new text, or with `after` to its end.
    pub fn map(&self, at: usize, after: bool) -> usize {
        let mut shift = 0;
        for splice in &self.splices {
            if splice.span.end() < at || (splice.span.end() == at && (after || !splice.span.is_empty())) {
                shift += splice.growth();
            } else if splice.span.start() < at {
                let start = splice.span.start().saturating_add_signed(shift);
                return if after { start + splice.text.len() } else { start };
            } else {
                break;
            }
        }
        at.saturating_add_signed(shift)
    }

    /// Rebases `self` over `other`: both start from `base`, the result starts from the version that `other` leads to.
    /// Two sides that change the same line are in conflict even if the bytes differ; changes that both made are
    /// dropped. Linear.
    ///
    /// Errors: every operation in conflict, with its first conflicting range.
    pub fn rebase(&self, base: &Snapshot, other: &ChangeSet, tie: TieBreak) -> Result<RebaseResult, Vec<Conflict>> {
        debug_assert_eq!(self.base, other.base, "both sides start from one version");
        let agreed = agreement(&self.splices, &other.splices);
        let conflicts = conflicts(base, &self.splices, &other.splices, &agreed, tie);
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
        let shifts = Shifts::new(&other.splices);
        let mut out = Vec::with_capacity(self.splices.len());
        let (mut touched, mut already) = (Vec::new(), Vec::new());
        for (mine, agreed) in self.splices.iter().zip(&agreed.mine) {
            if *agreed {
                already.push(mine.op);
                continue;
            }
            if shifts.any_within(mine.read_span, mine.span) {
                touched.push(mine.op);
            }
            let span = mine.span.shifted(shifts.before(mine.span, tie));
            let read_span = Span::new(shifts.map(mine.read_span.start()), shifts.map(mine.read_span.end())).hull(span);
            out.push(Splice { span, read_span, ..mine.clone() });
        }
        let base = BaseVersion::Content(ContentId::of_pieces(other.chunks(base.raw())));
        Ok(RebaseResult { changes: ChangeSet { base, splices: out }, touched, already_made: already })
    }
}

/// Returns the content after some splices as slices of the raw text and of the splices, in order.
fn chunks<'a>(splices: &'a [Splice], raw: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let starts = iter::once(0).chain(splices.iter().map(|splice| splice.span.end()));
    let ends = splices.iter().map(|splice| splice.span.start()).chain(iter::once(raw.len()));
    let texts = splices.iter().map(|splice| &*splice.text).chain(iter::once(&[][..]));
    let pairs = starts.zip(ends).zip(texts);
    pairs.flat_map(move |((start, end), text)| [&raw[start..end], text]).filter(|piece| !piece.is_empty())
}

/// Appends a splice in order; an insertion at the offset of the preceding insertion is joined to it.
fn push_joined(splices: &mut Vec<Splice>, splice: Splice) {
    match splices.last_mut() {
        Some(last) if last.span.is_empty() && last.span == splice.span => {
            last.text = [&*last.text, &*splice.text].concat().into();
            last.read_span = last.read_span.hull(splice.read_span);
        }
        _ => splices.push(splice),
    }
}

/// Splices of two consecutive sets that touch each other in the text between the two changes.
struct TouchingSplices<'a> {
    /// Span of the group in the middle text.
    middle: Span,
    first: &'a [Splice],
    second: &'a [Splice],
    /// Shift after the group.
    shift: isize,
}

impl<'a> TouchingSplices<'a> {
    fn take(first: &mut &'a [Splice], second: &mut &'a [Splice], shift: isize) -> Option<TouchingSplices<'a>> {
        let starts =
            [first.first().map(|splice| shifted_start(splice, shift)), second.first().map(|it| it.span.start())];
        let start = starts.into_iter().flatten().min()?;
        let (mut end, mut shift, mut a, mut b) = (start, shift, 0, 0);
        loop {
            if let Some(splice) = first.get(a).filter(|splice| shifted_start(splice, shift) <= end) {
                end = end.max(shifted_start(splice, shift) + splice.text.len());
                shift += splice.growth();
                a += 1;
            } else if let Some(splice) = second.get(b).filter(|splice| splice.span.start() <= end) {
                end = end.max(splice.span.end());
                b += 1;
            } else {
                break;
            }
        }
        let group = TouchingSplices { middle: Span::new(start, end), first: &first[..a], second: &second[..b], shift };
        (*first, *second) = (&first[a..], &second[b..]);
        Some(group)
    }

    /// Joins the group into one splice of the base; `shift` is the shift before the group.
    fn join(&self, base: &Snapshot, shift: isize) -> Splice {
        let span = Span::new(
            self.middle.start().saturating_add_signed(-shift),
            self.middle.end().saturating_add_signed(-self.shift),
        );
        let inner = self.first.iter().map(|splice| Splice {
            span: Span::new(splice.span.start() - span.start(), splice.span.end() - span.start()),
            ..splice.clone()
        });
        let inner: Vec<Splice> = inner.collect();
        let middle: Vec<u8> = chunks(&inner, &base.raw()[span.range()]).flatten().copied().collect();
        let mut text = Vec::with_capacity(middle.len());
        let mut from = 0;
        for splice in self.second {
            text.extend_from_slice(&middle[from..splice.span.start() - self.middle.start()]);
            text.extend_from_slice(&splice.text);
            from = splice.span.end() - self.middle.start();
        }
        text.extend_from_slice(&middle[from..]);
        let read_span = self.first.iter().fold(span, |hull, splice| hull.hull(splice.read_span));
        let ops = self.first.iter().chain(self.second).map(|splice| splice.op);
        Splice { span, read_span, text: text.into(), op: ops.min().unwrap_or(0) }
    }
}

/// Returns where a splice begins in the text between the two changes.
fn shifted_start(splice: &Splice, shift: isize) -> usize {
    splice.span.start().saturating_add_signed(shift)
}

/// Shifts of offsets under a change set, with logarithmic look-ups.
struct Shifts<'a> {
    splices: &'a [Splice],
    /// Total growth of the splices before the n-th.
    before: Vec<isize>,
}

impl<'a> Shifts<'a> {
    fn new(splices: &'a [Splice]) -> Shifts<'a> {
        let mut sum = 0;
        let mut before = Vec::with_capacity(splices.len() + 1);
        before.push(0);
        before.extend(splices.iter().map(|splice| {
            sum += splice.growth();
            sum
        }));
        Shifts { splices, before }
    }

    /// Returns the shift for a splice that clashes with none of the splices of the set.
    fn before(&self, span: Span, tie: TieBreak) -> isize {
        let n = self.splices.partition_point(|theirs| {
            let tied = theirs.span.is_empty() && theirs.span == span;
            if tied { tie == TieBreak::TheirsFirst } else { theirs.span.end() <= span.start() && theirs.span <= span }
        });
        self.before[n]
    }

    /// True when a splice, other than an insertion at the very position of `span`, writes inside `read_span`.
    fn any_within(&self, read_span: Span, span: Span) -> bool {
        let from = self.splices.partition_point(|theirs| theirs.span.end() <= read_span.start());
        self.splices[from..]
            .iter()
            .take_while(|theirs| theirs.span.start() < read_span.end())
            .any(|theirs| theirs.span.clashes(read_span) && theirs.span != span)
    }

    /// Maps an offset; inside replaced text, to the start of the replacement.
    fn map(&self, at: usize) -> usize {
        let n = self.splices.partition_point(|theirs| theirs.span.end() <= at);
        let at = self.splices.get(n).map_or(at, |theirs| at.min(theirs.span.start()));
        at.saturating_add_signed(self.before[n])
    }
}

#[cfg(test)]
mod tests;

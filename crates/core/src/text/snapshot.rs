//! One version of one file: its raw bytes, its decoded text, and the mapping between them.

use crate::error::Result;
use crate::text::change::{ChangeSet, Splice};
use crate::text::charset::{Codec, DeclaredEncoding, EncodingEvidence, MARK_BYTES_MAX};
use crate::text::content::{ContentId, ShortTag};
use crate::text::decode::{self, OffsetMap};
use crate::text::lines::{LineIndex, starts_line};
use crate::text::span::Span;
use core::fmt;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

mod sparse;
mod undecoded;

pub use sparse::{FileSummary, SparseChunk};

/// Line terminator. A lone CR is data, never a line end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    CrLf,
}

impl LineEnd {
    /// The characters of the line end.
    pub const fn as_str(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
        }
    }

    /// The name used in messages.
    pub const fn name(self) -> &'static str {
        match self {
            LineEnd::Lf => "LF",
            LineEnd::CrLf => "CRLF",
        }
    }
}

/// Counts of the line ends in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineEnds {
    /// Number of lone LFs.
    pub lf: usize,
    /// Number of CRLFs.
    pub crlf: usize,
}

impl LineEnds {
    /// Returns the more frequent line end; LF for a tie or a file without line ends.
    pub const fn majority(self) -> LineEnd {
        if self.crlf > self.lf { LineEnd::CrLf } else { LineEnd::Lf }
    }

    /// True when both line ends occur.
    pub const fn mixed(self) -> bool {
        self.lf > 0 && self.crlf > 0
    }
}

/// One immutable version of one file. Cheap to clone.
///
/// Formats and locators work on the decoded text ([`Snapshot::text`]): UTF-8, `\n` line ends, no byte order mark. Plain
/// UTF-8 with LF is its own decoded text, without a copy or a map. Offsets are in bytes, and are named `text` or `raw`
/// after the text they belong to.
#[derive(Clone)]
pub struct Snapshot(Arc<SnapshotInner>);

struct SnapshotInner {
    raw: RawBytes,
    codec: Codec,
    /// The decoded text and its offset map; `None` where the raw text needs no decoding.
    decoded: Option<(String, OffsetMap)>,
    binary: bool,
    /// True for UTF-8 without a byte order mark, NUL and CR: it is its own decoded text, and stays that when text is
    /// added that has none of them either.
    plain: bool,
    sparse: Option<sparse::SparseLayout>,
    /// The line end of new text in a version without line ends: that of the version that lost its last ones.
    lost_end: LineEnd,
    ends: OnceLock<LineEnds>,
    id: OnceLock<ContentId>,
    lines: OnceLock<LineIndex>,
}

impl Default for SnapshotInner {
    fn default() -> SnapshotInner {
        SnapshotInner {
            raw: RawBytes::Utf8(String::new()),
            codec: Codec::UTF8,
            decoded: None,
            binary: false,
            plain: false,
            sparse: None,
            lost_end: LineEnd::Lf,
            ends: OnceLock::new(),
            id: OnceLock::new(),
            lines: OnceLock::new(),
        }
    }
}

/// The raw bytes. Valid UTF-8 is kept as a `String`, so that it can be borrowed as text without another check.
enum RawBytes {
    Utf8(String),
    Bytes(Vec<u8>),
}

impl Snapshot {
    /// Decodes the raw bytes of a file. `declared` is the encoding from the call or the configuration, if any.
    ///
    /// Errors: [`ContentBinary`](crate::Code::ContentBinary), [`ContentUndecodable`](crate::Code::ContentUndecodable).
    pub fn open(raw: Vec<u8>, declared: Option<DeclaredEncoding>) -> Result<Snapshot> {
        Snapshot::decoded(RawBytes::of(raw), declared)
    }

    /// Opens the raw text of a file in UTF-8, which needs no check.
    ///
    /// Errors: [`ContentBinary`](crate::Code::ContentBinary).
    pub fn open_text(raw: impl Into<String>) -> Result<Snapshot> {
        Snapshot::decoded(RawBytes::Utf8(raw.into()), None)
    }

    fn decoded(raw: RawBytes, declared: Option<DeclaredEncoding>) -> Result<Snapshot> {
        let bytes = raw.as_bytes();
        // One pass decides for nearly every file.
        if let (RawBytes::Utf8(_), None) = (&raw, declared)
            && memchr::memchr2(0, b'\r', bytes).is_none()
            && let Some(codec) = Codec::of_text_without_nul(bytes)?
        {
            let plain = codec == Codec::UTF8;
            return Ok(Snapshot(Arc::new(SnapshotInner { raw, codec, plain, ..SnapshotInner::default() })));
        }
        let codec = Codec::detect(bytes, matches!(raw, RawBytes::Utf8(_)), declared)?;
        let decoded = match &raw {
            RawBytes::Utf8(text) if codec.charset == crate::Charset::Utf8 => Snapshot::decoded_utf8(text, codec.mark),
            _ => Some(decode::decode(bytes, codec)),
        };
        Ok(Snapshot(Arc::new(SnapshotInner { raw, codec, decoded, ..SnapshotInner::default() })))
    }

    /// Decodes UTF-8 after its byte order mark; `None` if the text is its own decoded form.
    fn decoded_utf8(text: &str, mark: usize) -> Option<(String, OffsetMap)> {
        let body = &text[mark..];
        // One pass of memchr decides for nearly every file, because most have no CR at all.
        let first = memchr::memchr(b'\r', body.as_bytes());
        let crlf = first.and_then(|at| memchr::memmem::find(&body.as_bytes()[at..], b"\r\n"));
        crlf.map(|_| decode::decode_crlf(body, mark))
    }

    /// Opens another version of the same file with the same encoding and the same evidence for it.
    ///
    /// Errors: as [`Snapshot::open`].
    pub fn reopen(&self, raw: Vec<u8>) -> Result<Snapshot> {
        let next = self.reopened(RawBytes::of(raw))?;
        // A change set on a version without an id holds the whole text of the version, and there may be many versions.
        next.id();
        Ok(next)
    }

    /// Returns the version that a change of this one leads to, as [`Snapshot::reopen`] does; its identity is computed on
    /// first use.
    ///
    /// Errors: as [`Snapshot::open`].
    pub(crate) fn after(&self, changes: &ChangeSet) -> Result<Snapshot> {
        let raw = changes.apply_to_text(self).map_or_else(|| RawBytes::of(changes.apply(self)), RawBytes::Utf8);
        // An undo can put bytes of another encoding into a text in UTF-8.
        let is_plain = self.0.plain && matches!(raw, RawBytes::Utf8(_)) && changes.adds_plain_text();
        if is_plain && Codec::of_text_without_nul(raw.as_bytes())? == Some(Codec::UTF8) {
            return Ok(Snapshot(Arc::new(SnapshotInner { raw, plain: true, ..SnapshotInner::default() })));
        }
        self.reopened(raw)
    }

    /// Checks that [`Snapshot::after`] can open the version that a change leads to, in most cases without making it.
    ///
    /// Errors: those of [`Snapshot::after`].
    pub(crate) fn check_after(&self, changes: &ChangeSet) -> Result<()> {
        // Only the first bytes of a text without NUL and CR decide about its encoding.
        let keeps_start = || changes.splices().first().is_none_or(|it| it.span.start() >= MARK_BYTES_MAX);
        if self.0.plain && keeps_start() && changes.adds_plain_text() {
            return Ok(());
        }
        self.after(changes).map(drop)
    }

    fn reopened(&self, raw: RawBytes) -> Result<Snapshot> {
        let codec = self.codec();
        let declared = DeclaredEncoding { charset: codec.charset, by_call: true };
        let plain = codec.mark > 0 || codec.evidence == EncodingEvidence::Valid;
        let next = Snapshot::decoded(raw, (!plain).then_some(declared))?;
        let lost_end = if next.text().contains('\n') { LineEnd::Lf } else { self.new_line_end() };
        let has_evidence = next.codec().charset != codec.charset || next.codec().evidence == codec.evidence;
        if has_evidence && lost_end == LineEnd::Lf {
            return Ok(next);
        }
        let mut inner = Arc::into_inner(next.0).unwrap_or_default();
        if !has_evidence {
            // A guess remains a guess: only a declaration allows new non-ASCII text.
            inner.codec.evidence = codec.evidence;
        }
        inner.lost_end = lost_end;
        inner.plain = false;
        Ok(Snapshot(Arc::new(inner)))
    }

    /// Returns the line end of new text that has no line end near it.
    fn new_line_end(&self) -> LineEnd {
        if self.line_ends() == LineEnds::default() { self.0.lost_end } else { self.line_ends().majority() }
    }

    /// Creates a snapshot of UTF-8 text, e.g. for a file that is about to be created.
    pub fn from_text(text: &str) -> Snapshot {
        let raw = text.to_owned();
        let decoded = Snapshot::decoded_utf8(&raw, 0);
        Snapshot(Arc::new(SnapshotInner { raw: RawBytes::Utf8(raw), decoded, ..SnapshotInner::default() }))
    }

    /// Creates a snapshot of binary bytes, to be moved, removed or replaced as a whole. They are decoded as ISO-8859-1.
    pub fn binary(raw: Vec<u8>) -> Snapshot {
        let codec = Codec { charset: crate::Charset::Latin1, mark: 0, evidence: EncodingEvidence::Guessed };
        let decoded = Some(decode::decode(&raw, codec));
        Snapshot(Arc::new(SnapshotInner {
            raw: RawBytes::Bytes(raw),
            codec,
            decoded,
            binary: true,
            ..SnapshotInner::default()
        }))
    }

    /// True for a snapshot made by [`Snapshot::binary`].
    pub fn is_binary(&self) -> bool {
        self.0.binary
    }

    /// The bytes of the file as text, with its line ends and byte order mark, if they are UTF-8.
    pub(crate) fn raw_text(&self) -> Option<&str> {
        match &self.0.raw {
            RawBytes::Utf8(text) => Some(text),
            RawBytes::Bytes(_) => None,
        }
    }

    /// The bytes of the file.
    pub fn raw(&self) -> &[u8] {
        self.0.raw.as_bytes()
    }

    /// The decoded text: UTF-8, `\n` line ends, no byte order mark.
    pub fn text(&self) -> &str {
        match (&self.0.decoded, &self.0.raw) {
            (Some((text, _)), _) => text,
            (None, RawBytes::Utf8(text)) => &text[self.0.codec.mark..],
            (None, RawBytes::Bytes(_)) => "",
        }
    }

    /// The encoding and the evidence for it.
    pub fn codec(&self) -> Codec {
        self.0.codec
    }

    /// The identity of the content; computed on first use.
    pub fn id(&self) -> ContentId {
        *self.0.id.get_or_init(|| ContentId::of(self.raw()))
    }

    /// The identity of [`Snapshot::id`], if it has been computed.
    pub(crate) fn known_id(&self) -> Option<ContentId> {
        self.0.id.get().copied()
    }

    /// The short tag of this version; `None` for a sparse snapshot that was made without it.
    pub fn short_tag(&self) -> Option<ShortTag> {
        self.file_summary().map_or_else(|| Some(ShortTag::of(self.text())), |whole| whole.short)
    }

    /// The short tag of this version after `changes`; `None` if it can only be computed from the new decoded text.
    pub fn short_tag_with(&self, changes: &ChangeSet) -> Option<ShortTag> {
        if self.is_sparse()
            || self.0.binary
            || self.0.codec.charset != crate::Charset::Utf8
            || !matches!(self.0.raw, RawBytes::Utf8(_))
            || changes.splices().first().is_some_and(|first| self.changes_mark(first))
        {
            return None;
        }
        let mut mark = self.0.codec.mark;
        Some(ShortTag::of_pieces(changes.chunks(self.raw()).map(|piece| {
            let skipped = mark.min(piece.len());
            mark -= skipped;
            &piece[skipped..]
        })))
    }

    /// True for a splice that adds or removes a byte order mark.
    fn changes_mark(&self, first: &Splice) -> bool {
        let mark = self.0.codec.mark;
        first.span.start() < mark || mark == 0 && first.span.start() == 0 && first.text.starts_with(b"\xEF\xBB\xBF")
    }

    /// The line ends in use; counted on first use.
    pub fn line_ends(&self) -> LineEnds {
        *self.0.ends.get_or_init(|| {
            let all = memchr::memchr_iter(b'\n', self.text().as_bytes()).count();
            if self.0.decoded.is_none() {
                return LineEnds { lf: all, crlf: 0 };
            }
            let ends = memchr::memchr_iter(b'\n', self.text().as_bytes());
            let crlf = ends.filter(|&at| self.line_end_at(at) == LineEnd::CrLf).count();
            LineEnds { lf: all - crlf, crlf }
        })
    }

    /// The index of line numbers for offsets in the decoded text; built on first use.
    pub fn lines(&self) -> &LineIndex {
        self.0.lines.get_or_init(|| LineIndex::new(self.text()))
    }

    /// The index of [`Snapshot::lines`], if it has been built.
    pub(crate) fn known_lines(&self) -> Option<&LineIndex> {
        self.0.lines.get()
    }

    /// Converts an offset in the decoded text to a raw offset.
    pub fn to_raw(&self, text: usize) -> usize {
        match &self.0.decoded {
            Some((_, map)) => map.to_raw(text),
            None => text + self.0.codec.mark,
        }
    }

    /// Converts a raw offset to one in the decoded text; an offset inside a character or a CRLF maps to its end.
    pub fn to_text(&self, raw: usize) -> usize {
        match &self.0.decoded {
            Some((_, map)) => map.to_text(raw),
            None => raw.saturating_sub(self.0.codec.mark),
        }
    }

    /// Converts a span of the decoded text to a raw span.
    pub fn raw_span(&self, text: Span) -> Span {
        Span::new(self.to_raw(text.start()), self.to_raw(text.end()))
    }

    /// Converts a raw span to a span of the decoded text.
    pub fn text_span(&self, raw: Span) -> Span {
        Span::new(self.to_text(raw.start()), self.to_text(raw.end()))
    }

    /// True when a splice may begin or end at this raw offset: on a character boundary, not inside a CRLF, not inside
    /// the byte order mark.
    pub fn is_border(&self, raw: usize) -> bool {
        match &self.0.decoded {
            Some((text, map)) => {
                let at = map.to_text(raw);
                raw >= self.0.codec.mark && text.is_char_boundary(at) && map.to_raw(at) == raw
            }
            None => raw >= self.0.codec.mark && self.text().is_char_boundary(raw - self.0.codec.mark),
        }
    }

    /// Returns how the line end at `text` (the offset of a `\n` in the decoded text) is written in the file.
    pub(crate) fn line_end_at(&self, text: usize) -> LineEnd {
        let long = self.0.decoded.is_some() && self.to_raw(text + 1) - self.to_raw(text) > self.0.codec.charset.unit();
        if long { LineEnd::CrLf } else { LineEnd::Lf }
    }

    /// Returns the line end for text inserted at `text` that replaces no line end: inside a line, that of the line; at
    /// the start of a line, that of the line before. Falls back to the other neighbour, then to the file's majority.
    pub(crate) fn line_end_near(&self, text: usize) -> LineEnd {
        if self.0.decoded.is_none() {
            return self.0.lost_end;
        }
        let bytes = self.text().as_bytes();
        let own = || memchr::memchr(b'\n', &bytes[text..]).map(|at| text + at);
        let before = || memchr::memrchr(b'\n', &bytes[..text]);
        let near = if starts_line(self.text(), text) { before().or_else(own) } else { own().or_else(before) };
        near.map_or(self.0.lost_end, |at| self.line_end_at(at))
    }

    /// True for a version without line ends of its own: it is empty or a single line without an end, and no earlier
    /// version had other ends.
    pub(crate) fn has_no_line_ends(&self) -> bool {
        self.0.lost_end == LineEnd::Lf && memchr::memchr2(b'\n', b'\r', self.text().as_bytes()).is_none()
    }

    /// Returns a new whole text in the form of this version: its line ends are `\n`, which is written as the version's
    /// own, and it has no byte order mark beside that of the version. A text for a version without line ends keeps
    /// those that it was given with, and one for an empty version also its mark.
    pub(crate) fn in_own_form<'t>(&self, given: &'t str) -> Cow<'t, str> {
        let text = if self.raw().is_empty() { given } else { given.strip_prefix('\u{FEFF}').unwrap_or(given) };
        if !text.contains("\r\n") || self.has_no_line_ends() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace("\r\n", "\n"))
    }

    /// Encodes `new` (with `\n` line ends) as the replacement of `span` of the decoded text. The n-th line end is
    /// written like the n-th one replaced, further ones like the last; if none is replaced, like that of the
    /// neighbouring line.
    ///
    /// Errors: [`ContentUnencodable`](crate::Code::ContentUnencodable).
    pub fn encode_for(&self, span: Span, new: &str) -> Result<Vec<u8>> {
        let is_lf = self.0.lost_end == LineEnd::Lf;
        if is_lf && (self.0.decoded.is_none() || self.line_ends().crlf == 0) || !new.contains('\n') {
            return self.encode_in_place_of(span, new);
        }
        let replaced = &self.text().as_bytes()[span.range()];
        let mut old = memchr::memchr_iter(b'\n', replaced).map(|at| self.line_end_at(span.start() + at));
        // Insertions take the line end of the preceding line, replacements that of the line they are in.
        let mut end = self.line_end_near(if span.is_empty() { span.start() } else { span.end() });
        let mut out = String::with_capacity(new.len() + new.len() / 16);
        for line in new.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(body) => {
                    end = old.next().unwrap_or(end);
                    out.push_str(body);
                    out.push_str(end.as_str());
                }
                None => out.push_str(line),
            }
        }
        self.encode_in_place_of(span, &out)
    }

    /// Decodes `raw`, a part of this file or of its new content that begins and ends on character boundaries.
    pub(crate) fn decode_chunk(&self, raw: &[u8]) -> String {
        decode::decode_chunk(raw, self.0.codec)
    }

    /// Returns the buffer for reuse, if nothing else holds this snapshot.
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        Arc::into_inner(self.0).map(|inner| match inner.raw {
            RawBytes::Utf8(text) => text.into_bytes(),
            RawBytes::Bytes(bytes) => bytes,
        })
    }
}

impl RawBytes {
    fn of(raw: Vec<u8>) -> RawBytes {
        match String::from_utf8(raw) {
            Ok(text) => RawBytes::Utf8(text),
            Err(error) => RawBytes::Bytes(error.into_bytes()),
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            RawBytes::Utf8(text) => text.as_bytes(),
            RawBytes::Bytes(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("codec", &self.0.codec).field("text", &self.text()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Codec, RawBytes, Snapshot};
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::span::Span;
    use proptest::prelude::*;

    /// Texts with everything that decides how a text is read: marks, NUL, CR, and the start of a binary file.
    fn text() -> impl Strategy<Value = String> {
        const PARTS: &[&str] = &["a", "\n", "\r\n", "\r", "\0", "\u{FEFF}", "é", "%PDF-1.7", "GIF89a"];
        let part = prop_oneof![6 => Just("a"), 4 => prop::sample::select(PARTS)];
        prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    fn described(snapshot: crate::error::Result<Snapshot>) -> String {
        snapshot.map_or_else(
            |error| error.to_string(),
            |it| format!("{:?} {:?} {:?} {:?}", it.raw(), it.text(), it.codec(), it.line_ends()),
        )
    }

    #[test]
    fn bytes_of_another_encoding_are_read_like_the_whole_new_text() {
        let base = Snapshot::from_text("cafe\n");
        let changes = ChangeSet::new(&base, [Splice::new(Span::new(3, 4), b"\xE9".to_vec(), 0)]).unwrap();
        let whole = base.reopened(RawBytes::of(changes.apply(&base)));
        assert_eq!(described(base.after(&changes)), described(whole));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        #[test]
        fn encoding_of_a_text_is_that_of_its_bytes(text in text()) {
            let by_bytes = Codec::detect(text.as_bytes(), true, None).map_err(|error| error.to_string());
            let opened = Snapshot::open_text(&*text).map(|it| it.codec()).map_err(|error| error.to_string());
            prop_assert_eq!(opened, by_bytes);
        }

        #[test]
        fn text_after_a_change_is_read_like_the_whole_new_text(
            before in text(), far in any::<bool>(), (from, to) in (0usize..40, 0usize..40), new in text(),
        ) {
            // NUL is looked for in the first part of a file only.
            let before = if far { format!("{}{before}", "a".repeat(8190)) } else { before };
            let Ok(base) = Snapshot::open_text(&*before) else { return Ok(()) };
            let borders: Vec<usize> = (0..=before.len()).filter(|at| before.is_char_boundary(*at)).collect();
            let at = |nth: usize| borders[borders.len() - 1 - nth % borders.len()];
            let span = Span::new(at(from).min(at(to)), at(from).max(at(to)));
            let changes = ChangeSet::new(&base, [Splice::new(span, new.into_bytes(), 0)]).unwrap();
            let whole = base.reopened(RawBytes::of(changes.apply(&base)));
            prop_assert_eq!(described(base.after(&changes)), described(whole));
        }
    }
}

//! One version of one file: its raw bytes, its reading, and the way between the two.

use crate::change::ChangeSet;
use crate::charset::{Codec, Declared, Settled};
use crate::content::{ContentId, ShortTag};
use crate::error::Result;
use crate::lines::{LineIndex, starts_line};
use crate::reading::{self, Map};
use crate::span::Span;
use core::fmt;
use std::sync::{Arc, OnceLock};

mod extract;

pub use extract::{Part, Whole};

/// How a line ends. A lone CR is data, never a line end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    CrLf,
}

impl LineEnd {
    /// The characters.
    pub const fn as_str(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
        }
    }

    /// The name for messages.
    pub const fn name(self) -> &'static str {
        match self {
            LineEnd::Lf => "LF",
            LineEnd::CrLf => "CRLF",
        }
    }
}

/// Which line ends a file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineEnds {
    /// Number of lone LFs.
    pub lf: usize,
    /// Number of CRLFs.
    pub crlf: usize,
}

impl LineEnds {
    /// The one most lines have; LF when there is none or a tie.
    pub const fn majority(self) -> LineEnd {
        if self.crlf > self.lf { LineEnd::CrLf } else { LineEnd::Lf }
    }

    /// True when both occur.
    pub const fn mixed(self) -> bool {
        self.lf > 0 && self.crlf > 0
    }
}

/// One immutable version of one file. Cheap to clone.
///
/// Formats and locators work on the *reading* ([`Snapshot::text`]): UTF-8, `\n` line ends, no byte order mark. Plain
/// UTF-8 with LF is its own reading: no copy and no map. Offsets are bytes, and named `text` or `raw` accordingly.
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

struct Inner {
    raw: Raw,
    codec: Codec,
    /// The reading and its map, where it is not the raw text itself.
    reading: Option<(String, Map)>,
    opaque: bool,
    extract: Option<extract::Extract>,
    ends: OnceLock<LineEnds>,
    id: OnceLock<ContentId>,
    lines: OnceLock<LineIndex>,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner {
            raw: Raw::Utf8(String::new()),
            codec: Codec::UTF8,
            reading: None,
            opaque: false,
            extract: None,
            ends: OnceLock::new(),
            id: OnceLock::new(),
            lines: OnceLock::new(),
        }
    }
}

/// Valid UTF-8 is kept as a `String`, so that it can be lent as text without checking it again.
enum Raw {
    Utf8(String),
    Bytes(Vec<u8>),
}

impl Snapshot {
    /// Decodes the raw bytes of a file. `declared` is the encoding somebody named for it.
    ///
    /// Errors: [`ContentBinary`](crate::Code::ContentBinary), [`ContentUndecodable`](crate::Code::ContentUndecodable).
    pub fn open(raw: Vec<u8>, declared: Option<Declared>) -> Result<Snapshot> {
        let raw = match String::from_utf8(raw) {
            Ok(text) => Raw::Utf8(text),
            Err(error) => Raw::Bytes(error.into_bytes()),
        };
        let bytes = raw.as_bytes();
        let codec = Codec::settle(bytes, matches!(raw, Raw::Utf8(_)), declared)?;
        let reading = match &raw {
            Raw::Utf8(text) if codec.charset == crate::Charset::Utf8 => Snapshot::utf8_reading(text, codec.mark),
            _ => Some(reading::decode(bytes, codec)),
        };
        Ok(Snapshot(Arc::new(Inner { raw, codec, reading, ..Inner::default() })))
    }

    /// The reading of UTF-8 text behind its byte order mark, where it is not the text itself.
    fn utf8_reading(text: &str, mark: usize) -> Option<(String, Map)> {
        let body = &text[mark..];
        // One pass of memchr settles nearly every file: no CR at all.
        let first = memchr::memchr(b'\r', body.as_bytes());
        let crlf = first.and_then(|at| memchr::memmem::find(&body.as_bytes()[at..], b"\r\n"));
        crlf.map(|_| reading::without_crlf(body, mark))
    }

    /// Another version of the same file: same encoding, known in the same way.
    ///
    /// Errors: as [`Snapshot::open`].
    pub fn reopen(&self, raw: Vec<u8>) -> Result<Snapshot> {
        let codec = self.codec();
        let declared = Declared { charset: codec.charset, by_call: true };
        let plain = codec.mark > 0 || codec.settled == Settled::Valid;
        let next = Snapshot::open(raw, (!plain).then_some(declared))?;
        if next.codec().charset != codec.charset || next.codec().settled == codec.settled {
            return Ok(next);
        }
        // A guess stays a guess: only a declaration allows new non-ASCII text.
        let mut inner = Arc::into_inner(next.0).unwrap_or_default();
        inner.codec.settled = codec.settled;
        Ok(Snapshot(Arc::new(inner)))
    }

    /// A snapshot of UTF-8 text, e.g. for a file that is about to be created.
    pub fn from_text(text: &str) -> Snapshot {
        let raw = text.to_owned();
        let reading = Snapshot::utf8_reading(&raw, 0);
        Snapshot(Arc::new(Inner { raw: Raw::Utf8(raw), reading, ..Inner::default() }))
    }

    /// Bytes that are no text, or need not be any: to be moved, removed or replaced as a whole. Read as ISO-8859-1.
    pub fn opaque(raw: Vec<u8>) -> Snapshot {
        let codec = Codec { charset: crate::Charset::Latin1, mark: 0, settled: Settled::Guessed };
        let reading = Some(reading::decode(&raw, codec));
        Snapshot(Arc::new(Inner { raw: Raw::Bytes(raw), codec, reading, opaque: true, ..Inner::default() }))
    }

    /// True for one made by [`Snapshot::opaque`].
    pub fn is_opaque(&self) -> bool {
        self.0.opaque
    }

    /// The bytes of the file.
    pub fn raw(&self) -> &[u8] {
        self.0.raw.as_bytes()
    }

    /// The reading: UTF-8, `\n` line ends, no byte order mark.
    pub fn text(&self) -> &str {
        match (&self.0.reading, &self.0.raw) {
            (Some((text, _)), _) => text,
            (None, Raw::Utf8(text)) => &text[self.0.codec.mark..],
            (None, Raw::Bytes(_)) => "",
        }
    }

    /// Encoding and how it is known.
    pub fn codec(&self) -> Codec {
        self.0.codec
    }

    /// Identity by content; computed once, when first asked for.
    pub fn id(&self) -> ContentId {
        *self.0.id.get_or_init(|| ContentId::of(self.raw()))
    }

    /// The short tag of this version; `None` for an extract that was made without it.
    pub fn short_tag(&self) -> Option<ShortTag> {
        self.whole().map_or_else(|| Some(ShortTag::of(self.text())), |whole| whole.short)
    }

    /// The short tag of this version with changes made; `None` where only the new reading tells.
    pub fn short_tag_with(&self, changes: &ChangeSet) -> Option<ShortTag> {
        if self.is_extract()
            || self.0.opaque
            || self.0.codec.charset != crate::Charset::Utf8
            || !matches!(self.0.raw, Raw::Utf8(_))
        {
            return None;
        }
        let mut mark = self.0.codec.mark;
        Some(ShortTag::of_pieces(changes.pieces(self.raw()).map(|piece| {
            let skipped = mark.min(piece.len());
            mark -= skipped;
            &piece[skipped..]
        })))
    }

    /// The line ends in use; counted once, when first asked for.
    pub fn line_ends(&self) -> LineEnds {
        *self.0.ends.get_or_init(|| {
            let all = memchr::memchr_iter(b'\n', self.text().as_bytes()).count();
            if self.0.reading.is_none() {
                return LineEnds { lf: all, crlf: 0 };
            }
            let ends = memchr::memchr_iter(b'\n', self.text().as_bytes());
            let crlf = ends.filter(|&at| self.end_at(at) == LineEnd::CrLf).count();
            LineEnds { lf: all - crlf, crlf }
        })
    }

    /// Line numbers for offsets in the reading; built once, when first asked for.
    pub fn lines(&self) -> &LineIndex {
        self.0.lines.get_or_init(|| LineIndex::new(self.text()))
    }

    /// The same, if somebody asked for it.
    pub(crate) fn known_lines(&self) -> Option<&LineIndex> {
        self.0.lines.get()
    }

    /// Raw offset of an offset in the reading.
    pub fn to_raw(&self, text: usize) -> usize {
        match &self.0.reading {
            Some((_, map)) => map.to_raw(text),
            None => text + self.0.codec.mark,
        }
    }

    /// Offset in the reading of a raw offset; inside a character or a CRLF, that of its end.
    pub fn to_text(&self, raw: usize) -> usize {
        match &self.0.reading {
            Some((_, map)) => map.to_text(raw),
            None => raw.saturating_sub(self.0.codec.mark),
        }
    }

    /// Raw span of a span of the reading.
    pub fn raw_span(&self, text: Span) -> Span {
        Span::new(self.to_raw(text.start()), self.to_raw(text.end()))
    }

    /// Span of the reading of a raw span.
    pub fn text_span(&self, raw: Span) -> Span {
        Span::new(self.to_text(raw.start()), self.to_text(raw.end()))
    }

    /// True when a splice may begin or end at this raw offset: a character border, not inside a CRLF, not inside the mark.
    pub fn is_border(&self, raw: usize) -> bool {
        match &self.0.reading {
            Some((text, map)) => {
                let at = map.to_text(raw);
                raw >= self.0.codec.mark && text.is_char_boundary(at) && map.to_raw(at) == raw
            }
            None => raw >= self.0.codec.mark && self.text().is_char_boundary(raw - self.0.codec.mark),
        }
    }

    /// How the line end at `text` (the offset of a `\n` of the reading) is written in the file.
    pub(crate) fn end_at(&self, text: usize) -> LineEnd {
        let long = self.0.reading.is_some() && self.to_raw(text + 1) - self.to_raw(text) > self.0.codec.charset.unit();
        if long { LineEnd::CrLf } else { LineEnd::Lf }
    }

    /// The line end for text put at `text` where it replaces no line end: inside a line that line's, at the start of a
    /// line that of the line before, else of the other neighbour, else the file's majority.
    pub fn line_end_near(&self, text: usize) -> LineEnd {
        if self.0.reading.is_none() {
            return LineEnd::Lf;
        }
        let bytes = self.text().as_bytes();
        let own = || memchr::memchr(b'\n', &bytes[text..]).map(|at| text + at);
        let before = || memchr::memrchr(b'\n', &bytes[..text]);
        let near = if starts_line(self.text(), text) { before().or_else(own) } else { own().or_else(before) };
        near.map_or_else(|| self.line_ends().majority(), |at| self.end_at(at))
    }

    /// Raw bytes for `new` (with `\n` line ends) put in place of `span` of the reading: the n-th line end follows the
    /// n-th one replaced, further ones follow the last, and where none is replaced the neighbouring line's.
    ///
    /// Errors: [`ContentUnencodable`](crate::Code::ContentUnencodable).
    pub fn encode_for(&self, span: Span, new: &str) -> Result<Vec<u8>> {
        if self.0.reading.is_none() || !new.contains('\n') || self.line_ends().crlf == 0 {
            return self.0.codec.encode(new);
        }
        let replaced = &self.text().as_bytes()[span.range()];
        let mut old = memchr::memchr_iter(b'\n', replaced).map(|at| self.end_at(span.start() + at));
        // What is put in front of a line follows the line before; what replaces something, the line that it is in.
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
        self.0.codec.encode(&out)
    }

    /// The reading of `raw`, a piece of this file or of its new text that begins and ends on character borders.
    pub fn read_piece(&self, raw: &[u8]) -> String {
        let codec = Codec { mark: 0, ..self.0.codec };
        reading::decode(raw, codec).0
    }

    /// Gives the buffer back for reuse, if nobody else holds this snapshot.
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        Arc::into_inner(self.0).map(|inner| match inner.raw {
            Raw::Utf8(text) => text.into_bytes(),
            Raw::Bytes(bytes) => bytes,
        })
    }
}

impl Raw {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Raw::Utf8(text) => text.as_bytes(),
            Raw::Bytes(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("codec", &self.0.codec).field("text", &self.text()).finish_non_exhaustive()
    }
}

//! Extracts: the parts of a file around some places, as a snapshot whose lines have the numbers that they have in the file.
//!
//! What lies between two parts is a *seam* in the extract: one line with a NUL in it, so that nothing that is looked for is
//! ever found across it. No splice may cover one.

use super::{Inner, LineEnd, LineEnds, Raw, Snapshot};
use crate::charset::Codec;
use crate::content::{ContentId, ShortTag};
use crate::lines::{LineIndex, Stretch};
use crate::span::Span;
use std::sync::{Arc, OnceLock};

/// Whole lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where they begin in the file, in bytes.
    pub at: usize,
    /// The 1-based number of the first.
    pub line: usize,
    /// The bytes of the file; valid UTF-8, no half CRLF at either end.
    pub bytes: Vec<u8>,
}

/// What is known of the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Its identity.
    pub id: ContentId,
    /// Its short tag, where the pass over it was asked for it.
    pub short: Option<ShortTag>,
    /// Its length in bytes.
    pub size: usize,
    /// Its encoding: UTF-8, with or without a mark.
    pub codec: Codec,
    /// Its line ends.
    pub ends: LineEnds,
    /// Number of its lines.
    pub lines: usize,
    /// The last of them has no line end.
    pub open: bool,
    /// It has no byte above 127 but for a mark.
    pub ascii: bool,
}

/// What makes a snapshot an extract.
pub(super) struct Extract {
    /// Where the parts are in the extract, and where they begin in the file; raw.
    parts: Vec<(Span, usize)>,
    whole: Whole,
}

impl Snapshot {
    /// The extract of a file that has these parts, the first of which begins the file; sorted and apart. `None` when they are
    /// not, or are no UTF-8.
    pub fn extract(parts: &[Part], whole: Whole) -> Option<Snapshot> {
        let seam: &[u8] = if whole.ends.majority() == LineEnd::CrLf { b"\0\r\n" } else { b"\0\n" };
        let mut raw = Vec::with_capacity(parts.iter().map(|part| part.bytes.len() + seam.len()).sum());
        let (mut places, mut end) = (Vec::with_capacity(parts.len()), 0);
        for part in parts {
            if part.at != end {
                raw.extend_from_slice(seam);
            }
            if part.at < end {
                return None;
            }
            places.push((Span::new(raw.len(), raw.len() + part.bytes.len()), part.at));
            raw.extend_from_slice(&part.bytes);
            end = part.at + part.bytes.len();
        }
        if end != whole.size {
            raw.extend_from_slice(seam);
        }
        let raw = String::from_utf8(raw).ok().filter(|_| parts.first().is_some_and(|part| part.at == 0))?;
        let reading = Snapshot::utf8_reading(&raw, whole.codec.mark);
        let extract = Some(Extract { parts: places, whole });
        let inner = Inner { raw: Raw::Utf8(raw), codec: whole.codec, reading, extract, ..Inner::default() };
        let inner = Inner { id: OnceLock::from(whole.id), ends: OnceLock::from(whole.ends), ..inner };
        let mut snapshot = Snapshot(Arc::new(inner));
        let stretches = snapshot.stretches(parts);
        let lines = LineIndex::sparse(snapshot.text(), stretches, whole.lines);
        Arc::get_mut(&mut snapshot.0)?.lines = OnceLock::from(lines);
        Some(snapshot)
    }

    fn stretches(&self, parts: &[Part]) -> Vec<Stretch> {
        let places = self.0.extract.iter().flat_map(|extract| &extract.parts);
        places.zip(parts).map(|((raw, _), part)| Stretch { text: self.text_span(*raw), line: part.line }).collect()
    }

    /// True for one made by [`Snapshot::extract`].
    pub fn is_extract(&self) -> bool {
        self.0.extract.is_some()
    }

    /// What is known of the whole file, of which this is an extract.
    pub fn whole(&self) -> Option<&Whole> {
        self.0.extract.as_ref().map(|extract| &extract.whole)
    }

    /// Length of the file in bytes.
    pub fn size(&self) -> usize {
        self.whole().map_or_else(|| self.raw().len(), |whole| whole.size)
    }

    /// The span of these bytes that stands for `len` bytes at an offset of the file; `None` when it is not in the extract.
    pub fn of_file(&self, at: usize, len: usize) -> Option<Span> {
        let Some(extract) = &self.0.extract else { return Some(Span::new(at, at + len)) };
        let nth = extract.parts.partition_point(|(_, from)| *from <= at);
        let (part, from) = extract.parts.get(nth.checked_sub(1)?)?;
        let start = part.start() + (at - from);
        (start + len <= part.end()).then(|| Span::new(start, start + len))
    }

    /// Where a span of these bytes begins in the file; `None` when the file does not have it in one piece.
    pub fn in_file(&self, span: Span) -> Option<usize> {
        let Some(extract) = &self.0.extract else { return Some(span.start()) };
        let at = extract.parts.partition_point(|(part, _)| part.start() <= span.start());
        let (part, from) = extract.parts.get(at.checked_sub(1)?)?;
        (span.end() <= part.end()).then(|| from + span.start() - part.start())
    }
}

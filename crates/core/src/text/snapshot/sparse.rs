//! Sparse snapshots: some chunks of a large file as a snapshot whose lines keep the numbers that they have in the file.
//!
//! Between two chunks is a *gap*: one line that contains a NUL, so that no search matches across it. No splice may
//! cover a gap.

use super::{LineEnd, LineEnds, RawBytes, Snapshot, SnapshotInner};
use crate::text::charset::Codec;
use crate::text::content::{ContentId, ShortTag};
use crate::text::lines::{LineIndex, SparseRange};
use crate::text::span::Span;
use std::sync::{Arc, OnceLock};

/// Consecutive whole lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseChunk {
    /// Byte offset of the lines in the file.
    pub at: usize,
    /// 1-based number of the first line.
    pub line: usize,
    /// The bytes of the lines: valid UTF-8 that does not begin or end inside a CRLF.
    pub bytes: Vec<u8>,
}

/// Properties of the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSummary {
    /// Identity of the content.
    pub id: ContentId,
    /// The short tag, if the scan was asked to compute it.
    pub short: Option<ShortTag>,
    /// Length of the file in bytes.
    pub size: usize,
    /// Encoding of the file: UTF-8, with or without a byte order mark.
    pub codec: Codec,
    /// Counts of the line ends.
    pub ends: LineEnds,
    /// Number of lines.
    pub lines: usize,
    /// True if the last line has no line end.
    pub open: bool,
    /// True if all bytes are ASCII, except for a byte order mark.
    pub ascii: bool,
}

/// Layout of a sparse snapshot.
pub(super) struct SparseLayout {
    /// Raw span of each chunk in the snapshot, and its offset in the file.
    chunks: Vec<(Span, usize)>,
    summary: FileSummary,
}

impl Snapshot {
    /// Creates a sparse snapshot from these chunks, which must be sorted and disjoint; the first one must begin the
    /// file. `None` if they are not, or are not UTF-8.
    pub fn sparse(parts: &[SparseChunk], whole: FileSummary) -> Option<Snapshot> {
        let seam: &[u8] = if whole.ends.majority() == LineEnd::CrLf { b"\0\r\n" } else { b"\0\n" };
        let mut raw = Vec::with_capacity(parts.iter().map(|part| part.bytes.len() + seam.len()).sum());
        let (mut chunks, mut end) = (Vec::with_capacity(parts.len()), 0);
        for part in parts {
            if part.at != end {
                raw.extend_from_slice(seam);
            }
            if part.at < end {
                return None;
            }
            chunks.push((Span::new(raw.len(), raw.len() + part.bytes.len()), part.at));
            raw.extend_from_slice(&part.bytes);
            end = part.at + part.bytes.len();
        }
        if end != whole.size {
            raw.extend_from_slice(seam);
        }
        let raw = String::from_utf8(raw).ok().filter(|_| parts.first().is_some_and(|part| part.at == 0))?;
        let decoded = Snapshot::decoded_utf8(&raw, whole.codec.mark);
        let extract = Some(SparseLayout { chunks, summary: whole });
        let inner = SnapshotInner {
            raw: RawBytes::Utf8(raw),
            codec: whole.codec,
            decoded,
            sparse: extract,
            ..SnapshotInner::default()
        };
        let inner = SnapshotInner { id: OnceLock::from(whole.id), ends: OnceLock::from(whole.ends), ..inner };
        let mut snapshot = Snapshot(Arc::new(inner));
        let sparse_ranges = snapshot.sparse_ranges(parts);
        let lines = LineIndex::sparse(snapshot.text(), sparse_ranges, whole.lines);
        Arc::get_mut(&mut snapshot.0)?.lines = OnceLock::from(lines);
        Some(snapshot)
    }

    fn sparse_ranges(&self, parts: &[SparseChunk]) -> Vec<SparseRange> {
        let chunks = self.0.sparse.iter().flat_map(|extract| &extract.chunks);
        chunks.zip(parts).map(|((raw, _), part)| SparseRange { text: self.text_span(*raw), line: part.line }).collect()
    }

    /// True for a snapshot made by [`Snapshot::sparse`].
    pub fn is_sparse(&self) -> bool {
        self.0.sparse.is_some()
    }

    /// Properties of the whole file; `None` unless the snapshot is sparse.
    pub(crate) fn file_summary(&self) -> Option<&FileSummary> {
        self.0.sparse.as_ref().map(|extract| &extract.summary)
    }

    /// Length of the file in bytes.
    pub fn size(&self) -> usize {
        self.file_summary().map_or_else(|| self.raw().len(), |whole| whole.size)
    }

    /// Converts `len` bytes at an offset of the file to a raw span of this snapshot; `None` if it does not contain
    /// them.
    pub fn from_file_offset(&self, at: usize, len: usize) -> Option<Span> {
        let Some(extract) = &self.0.sparse else { return Some(Span::new(at, at + len)) };
        let nth = extract.chunks.partition_point(|(_, from)| *from <= at);
        let (part, from) = extract.chunks.get(nth.checked_sub(1)?)?;
        let start = part.start() + (at - from);
        (start + len <= part.end()).then(|| Span::new(start, start + len))
    }

    /// Converts the start of a raw span to an offset in the file; `None` if the span crosses a gap.
    pub fn to_file_offset(&self, span: Span) -> Option<usize> {
        let Some(extract) = &self.0.sparse else { return Some(span.start()) };
        let at = extract.chunks.partition_point(|(part, _)| part.start() <= span.start());
        let (part, from) = extract.chunks.get(at.checked_sub(1)?)?;
        (span.end() <= part.end()).then(|| from + span.start() - part.start())
    }
}

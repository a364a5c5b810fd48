//! Selection of the parts of a file for a sparse snapshot.

use crate::pipeline::plan::large::CHUNK_BYTES;
use emendate_core::{FileSummary, Result, Snapshot, SparseChunk};
use emendate_fs::FileSource;

/// Context lines on either side of a position: more than any report needs.
pub(crate) const CONTEXT_LINES: usize = 16;
/// Bytes searched for them; in a file with longer lines nothing is reported by lines.
pub(crate) const CONTEXT_BYTES_MAX: usize = 1 << 20;
/// Bytes of all parts together.
pub(crate) const SPARSE_BYTES_MAX: usize = 16 << 20;
/// Bytes at the beginning of a file that are always included, because they may identify its kind.
const HEAD_BYTES: usize = 8 << 10;
const SCAN_STEP_BYTES: usize = 4 << 10;

/// Relevant bytes of a file, and the line on which they begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelevantSpan {
    pub(crate) at: usize,
    pub(crate) end: usize,
    pub(crate) line: usize,
    /// Relevant lines before it, beyond the usual context.
    pub(crate) above: usize,
}

/// Whole lines of a file, to be read.
struct LineRegion {
    at: usize,
    end: usize,
    line: usize,
}

/// Minimum context on either side of a position.
#[derive(Clone, Copy)]
pub(crate) struct ContextMargin {
    pub(crate) bytes: usize,
    pub(crate) lines: usize,
}

impl ContextMargin {
    /// The context for a report of a change.
    pub(crate) const FOR_REPORT: ContextMargin = ContextMargin { bytes: 0, lines: CONTEXT_LINES };
}

/// Creates a sparse snapshot of these positions, given in order, with context. `None` if it would be too large.
pub(crate) fn sparse_around(
    source: &FileSource,
    whole: FileSummary,
    relevant_spans: &[RelevantSpan],
    least: ContextMargin,
) -> Result<Option<Snapshot>> {
    let mut regions = vec![head(source, whole.size)?];
    for spot in relevant_spans {
        let Some(region) = region(source, whole.size, *spot, least)? else { return Ok(None) };
        join(&mut regions, region);
    }
    of(source, whole, &regions)
}

/// Creates a sparse snapshot of these whole lines. `None` if it would be too large.
pub(crate) fn sparse_with_lines(
    source: &FileSource,
    whole: FileSummary,
    lines: Option<RelevantSpan>,
) -> Result<Option<Snapshot>> {
    let mut regions = vec![head(source, whole.size)?];
    if let Some(RelevantSpan { at, end, line, .. }) = lines {
        join(&mut regions, LineRegion { at, end, line });
    }
    of(source, whole, &regions)
}

fn join(regions: &mut Vec<LineRegion>, region: LineRegion) {
    match regions.last_mut() {
        Some(last) if region.at <= last.end => last.end = last.end.max(region.end),
        _ => regions.push(region),
    }
}

fn of(source: &FileSource, whole: FileSummary, regions: &[LineRegion]) -> Result<Option<Snapshot>> {
    if regions.iter().map(|region| region.end - region.at).sum::<usize>() > SPARSE_BYTES_MAX {
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(regions.len());
    for &LineRegion { at, end, line } in regions {
        parts.push(SparseChunk { at, line, bytes: bytes(source, at, end)? });
    }
    Ok(Snapshot::sparse(&parts, whole))
}

/// Reads bytes of the file; fewer if it became shorter, which the commit will detect.
fn bytes(source: &FileSource, at: usize, end: usize) -> Result<Vec<u8>> {
    let mut out = vec![0; end - at];
    let read = source.read(at as u64, &mut out)?;
    out.truncate(read);
    Ok(out)
}

/// Returns the first lines of a file, or a part of the first one if it is long.
fn head(source: &FileSource, size: usize) -> Result<LineRegion> {
    let bytes = bytes(source, 0, size.min(HEAD_BYTES))?;
    let line = memchr::memrchr(b'\n', &bytes).map(|at| at + 1).filter(|end| *end >= SCAN_STEP_BYTES);
    let end = line.filter(|_| size > HEAD_BYTES).unwrap_or_else(|| {
        // Do not split a character or a line end.
        let text = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
        text - usize::from(size > HEAD_BYTES && bytes[..text].ends_with(b"\r"))
    });
    Ok(LineRegion { at: 0, end, line: 1 })
}

/// Returns a position with its context lines; `None` if they are too long.
fn region(
    source: &FileSource,
    size: usize,
    spot: RelevantSpan,
    ContextMargin { bytes: least, lines }: ContextMargin,
) -> Result<Option<LineRegion>> {
    let mut window = (least + 4096).min(CHUNK_BYTES);
    let (at, line) = loop {
        let from = spot.at.saturating_sub(window);
        let before = bytes(source, from, spot.at)?;
        let far = before.len().saturating_sub(least);
        let ends = memchr::memrchr_iter(b'\n', &before).enumerate();
        let mut begins = ends.filter(|(nth, end)| *nth >= lines.max(spot.above) && *end < far);
        if let Some((nth, end)) = begins.next() {
            break (from + end + 1, spot.line - nth);
        }
        if from == 0 {
            break (0, 1);
        }
        if window >= CONTEXT_BYTES_MAX {
            return Ok(None);
        }
        window = (2 * window).min(CONTEXT_BYTES_MAX);
    };
    let mut window = (least + 4096).min(CHUNK_BYTES);
    loop {
        let to = spot.end.saturating_add(window).min(size);
        let after = bytes(source, spot.end, to)?;
        let ends = memchr::memchr_iter(b'\n', &after).enumerate();
        let mut stops = ends.filter(|(nth, end)| *nth >= lines && *end >= least);
        if let Some((_, end)) = stops.next() {
            return Ok(Some(LineRegion { at, end: spot.end + end + 1, line }));
        }
        if to == size {
            return Ok(Some(LineRegion { at, end: size, line }));
        }
        if window >= CONTEXT_BYTES_MAX {
            return Ok(None);
        }
        window = (2 * window).min(CONTEXT_BYTES_MAX);
    }
}

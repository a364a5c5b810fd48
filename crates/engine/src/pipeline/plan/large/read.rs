//! Reading of some lines of a large file.

use crate::context::{Context, LoadedFile};
use crate::pipeline::plan::large::sparse::{RelevantSpan, sparse_with_lines};
use crate::pipeline::plan::large::{
    SHOWN_AS_WHOLE, ScanQuery, StreamObstacle, WholeFileReason, opened, retry_streamed, scan,
};
use emendate_core::Result;
use emendate_fs::{FileSource, SafePath};
use std::ops::Range;

/// Bytes of lines that one read loads; far more than a reply can show.
pub(crate) const READ_BYTES_MAX: usize = 4 << 20;

const LONG_LINE: WholeFileReason = WholeFileReason::new(
    "has lines there that are too long to be read in parts",
    "Read fewer of them, with a smaller limit.",
);

/// Loads the requested lines of a file, counted from 1, with its short tag if requested; `None` if the file has to be
/// loaded whole.
///
/// Errors: `file.too_large` if it has to be, and cannot be.
pub(crate) fn open_lines(
    context: &Context,
    path: &SafePath,
    source: FileSource,
    lines: &Range<usize>,
    tag: bool,
) -> Result<Option<LoadedFile>> {
    retry_streamed(context, path, source, |source| lines_of(&source, lines, tag))
}

fn lines_of(source: &FileSource, lines: &Range<usize>, tag: bool) -> Result<LoadedFile, StreamObstacle> {
    let from = lines.start.max(1);
    let sought = ScanQuery { lines: &[from, lines.end.max(from)], tag, ..ScanQuery::default() };
    let scanned = scan(source, sought)?;
    let whole = scanned.summary;
    let starts = &scanned.starts;
    let lines = starts[0].filter(|_| from <= whole.lines).map(|at| RelevantSpan {
        at,
        end: starts[1].unwrap_or(whole.size),
        line: from,
        above: 0,
    });
    if lines.is_some_and(|lines| lines.end - lines.at > READ_BYTES_MAX) {
        return Err(LONG_LINE.into());
    }
    let snapshot = sparse_with_lines(source, whole, lines)?;
    // Verifies that the lines are those of the scanned version.
    source.check_unchanged()?;
    Ok(opened(source, snapshot.ok_or(SHOWN_AS_WHOLE)?))
}

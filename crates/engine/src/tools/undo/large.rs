//! Undo of an edit of a large file, from the deltas in the log.

use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::pipeline::plan::file_plan::{FilePlan, without_ops};
use crate::pipeline::plan::large::sparse::{ContextMargin, RelevantSpan, sparse_around};
use crate::pipeline::plan::large::{ScanQuery, StreamObstacle, WholeFileReason, opened, scan_beside};
use crate::tools::undo::file_states::{lines_then, logged_place};
use emendate_core::{ChangeSet, Code, ContentId, Error, Result, ScanResult, Splice};
use emendate_fs::{FileSource, SafePath};
use emendate_history::{CONTENT_BYTES_MAX, FileKind, LogEntry, OwnedByteReplacement};

const USE_EDIT_INSTEAD: &str = "Make the change with an edit.";
const MODE_CHANGED: WholeFileReason =
    WholeFileReason::new("also changed its mode, which is undone together with all of its text", USE_EDIT_INSTEAD);
const NO_RECORD: WholeFileReason = WholeFileReason::new("has no record of this change alone", USE_EDIT_INSTEAD);
const CHANGED_SINCE: WholeFileReason =
    WholeFileReason::new("changed since that operation, so it would have to be loaded whole", USE_EDIT_INSTEAD);
const LONG_LINE: WholeFileReason = WholeFileReason::new(
    "has lines around the change that are too long, or too many changes, to be undone in parts",
    USE_EDIT_INSTEAD,
);

/// Plans the undo of an edit of one large file; `None` if it is to be done in the usual way.
///
/// Errors: `file.too_large` if the file would have to be loaded whole and cannot be.
pub(crate) fn plan_big_undo(call: Call<'_>, root: usize, logged: &LogEntry) -> Result<Option<FilePlan>> {
    let [file] = &*logged.operation.files else { return Ok(None) };
    let (Some(before), Some(after), None) = (file.before, file.after, &file.moved_from) else { return Ok(None) };
    let regular = before.kind == FileKind::Regular && after.kind == FileKind::Regular;
    let path = logged_place(&call, &file.path)?;
    let link = path.absolute() != log_path(&file.path);
    // The undo of a small file reports what else is there.
    let is_small = || {
        let now = call.store().metadata(&path).ok().flatten();
        now.is_none_or(|it| it.size <= call.config().stream_from.min(call.config().max_whole_bytes()))
    };
    if !regular || link || is_small() || call.store().read_link(&path)?.is_some() {
        return Ok(None);
    }
    let Some(source) = call.store().source(&path)? else { return Ok(None) };
    let size = source.meta().size;
    let replacements = if before.mode == after.mode {
        call.history(root).replacements(after.content, before.content)?.ok_or(NO_RECORD)
    } else {
        Err(MODE_CHANGED)
    };
    match replacements
        .map_err(StreamObstacle::from)
        .and_then(|replacements| undo_replacements(call, &path, source, after.content, &replacements))
    {
        Ok(plan) => Ok(Some(FilePlan { expected_content: Some(before.content), ..plan })),
        // Content stored in the log is restored as a whole, however large the file is now.
        Err(StreamObstacle::Whole(_)) if size <= CONTENT_BYTES_MAX => Ok(None),
        Err(why) => why.or_whole(&call, &path, size),
    }
}

/// Plans the undo of these replacements in a file that is as they left it.
fn undo_replacements(
    call: Call<'_>,
    path: &SafePath,
    source: FileSource,
    after: ContentId,
    replacements: &[OwnedByteReplacement],
) -> Result<FilePlan, StreamObstacle> {
    let (scanned, lines) = with_lines(&source, replacements)?;
    if scanned.summary.id != after {
        return Err(CHANGED_SINCE.into());
    }
    let relevant_spans = replaced_spans(replacements, &lines);
    let extract = sparse_around(&source, scanned.summary, &relevant_spans, ContextMargin::FOR_REPORT)?;
    let extract = extract.ok_or(LONG_LINE)?;
    source.check_unchanged()?;
    let mut splices = Vec::with_capacity(replacements.len());
    for (replacement, nth) in replacements.iter().zip(0..) {
        let span = extract.from_file_offset(replacement.at, replacement.old.len()).ok_or(LONG_LINE)?;
        if extract.raw()[span.range()] != *replacement.old {
            return Err(Error::new(Code::OperationLost, "The record of this operation does not fit the file.").into());
        }
        // Each with a number of its own: two insertions of the same text at one offset are not a repetition.
        splices.push(Splice::new(span, &*replacement.new, nth));
    }
    let changes = ChangeSet::new(&extract, splices).map_err(|_| LONG_LINE)?;
    let lines = lines_then(call, path, &extract, &changes);
    let plan = FilePlan::edit(path.clone(), opened(&source, extract), without_ops(changes), lines);
    Ok(plan.sparse(source, None))
}

/// Scans the file for its properties and the line of each change.
pub(crate) fn with_lines(
    source: &FileSource,
    replacements: &[OwnedByteReplacement],
) -> Result<(ScanResult, Vec<usize>), StreamObstacle> {
    let (mut lines, mut line, mut at) = (Vec::with_capacity(replacements.len()), 1, 0);
    let mut rest = replacements.iter().map(|replacement| replacement.at).peekable();
    let scanned = scan_beside(source, ScanQuery::default(), |chunk| {
        let mut from = 0;
        while let Some(here) = rest.next_if(|here| *here <= at + chunk.len()) {
            line += memchr::memchr_iter(b'\n', &chunk[from..here - at]).count();
            from = here - at;
            lines.push(line);
        }
        line += memchr::memchr_iter(b'\n', &chunk[from..]).count();
        at += chunk.len();
    })?;
    Ok((scanned, lines))
}

/// Returns the spans that replacements restore, with their lines.
pub(crate) fn replaced_spans(replacements: &[OwnedByteReplacement], lines: &[usize]) -> Vec<RelevantSpan> {
    let spans = replacements.iter().zip(lines).map(|(replacement, line)| RelevantSpan {
        at: replacement.at,
        end: replacement.at + replacement.old.len(),
        line: *line,
        above: 0,
    });
    spans.collect()
}

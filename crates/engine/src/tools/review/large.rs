//! The difference of a large file that is as the changes left it: from the log and the lines around each change, so that
//! the file need not be loaded.

use crate::context::Context;
use crate::model::hunk_numbers::HUNK_CONTEXT_LINES;
use crate::pipeline::plan::large::StreamObstacle;
use crate::pipeline::plan::large::sparse::{ContextMargin, sparse_around};
use crate::tools::review::difference::{FileDifference, TextDifference};
use crate::tools::undo::hunks::HunkState;
use crate::tools::undo::large::{replaced_spans, with_lines};
use emendate_core::explain::{self, DiffHunk, LineKind, OmittedLines};
use emendate_core::{ChangeSet, Result, Splice};
use emendate_fs::SafePath;
use emendate_history::{FileChange, OwnedByteReplacement};
use std::mem;

/// Returns the difference of a large file; `None` for a file that is loaded as usual.
///
/// Errors: those of the file and of the session store.
pub(crate) fn large_difference(
    context: &Context,
    root: usize,
    path: &SafePath,
    file: &FileChange,
    bytes: usize,
) -> Result<Option<FileDifference>> {
    if !is_large(context, path) {
        return Ok(None);
    }
    let text = match (file.before, file.after) {
        (Some(before), Some(after)) => match context.history(root).replacements(after.content, before.content)? {
            Some(replacements) => around(context, path, after.content, &replacements, bytes)?,
            None => None,
        },
        _ => None,
    };
    Ok(Some(text.map_or(FileDifference::TooLarge, FileDifference::Text)))
}

/// True for a file that is too large to be loaded whole for display.
pub(crate) fn is_large(context: &Context, path: &SafePath) -> bool {
    let meta = context.store().metadata(path).ok().flatten();
    meta.is_some_and(|meta| meta.size > context.config().stream_from)
}

/// Compares the lines around replacements that restore the version before; `None` if the current file is not the
/// version after the changes, or the lines are too long.
fn around(
    context: &Context,
    path: &SafePath,
    after: emendate_core::ContentId,
    replacements: &[OwnedByteReplacement],
    bytes: usize,
) -> Result<Option<TextDifference>> {
    let Some(source) = context.store().source(path)? else { return Ok(None) };
    let (scanned, lines) = match with_lines(&source, replacements) {
        Err(StreamObstacle::Whole(_)) => return Ok(None),
        Err(StreamObstacle::Failed(error)) => return Err(error),
        Ok(scanned) => scanned,
    };
    if scanned.summary.id != after {
        return Ok(None);
    }
    let relevant_spans = replaced_spans(replacements, &lines);
    let Some(extract) = sparse_around(&source, scanned.summary, &relevant_spans, ContextMargin::FOR_REPORT)? else {
        return Ok(None);
    };
    let mut splices = Vec::with_capacity(replacements.len());
    for (replacement, nth) in replacements.iter().zip(0..) {
        let Some(span) = extract.from_file_offset(replacement.at, replacement.old.len()) else { return Ok(None) };
        splices.push(Splice::new(span, &*replacement.new, nth));
    }
    let Ok(changes) = ChangeSet::new(&extract, splices) else { return Ok(None) };
    let mut hunks = explain::reply_hunks(&extract, &changes, HUNK_CONTEXT_LINES, bytes);
    hunks.iter_mut().for_each(turn_around);
    let states = vec![HunkState::InEffect; hunks.len()];
    Ok(Some(TextDifference { hunks, states, is_partial: true, ..TextDifference::default() }))
}

/// Exchanges both sides of a hunk.
fn turn_around(hunk: &mut DiffHunk) {
    mem::swap(&mut hunk.old_start, &mut hunk.new_start);
    mem::swap(&mut hunk.old_lines, &mut hunk.new_lines);
    let OmittedLines { context, removed, added } = hunk.omitted;
    hunk.omitted = OmittedLines { context, removed: added, added: removed };
    for line in &mut hunk.lines {
        line.kind = match line.kind {
            LineKind::Kept => LineKind::Kept,
            LineKind::Removed => LineKind::Added,
            LineKind::Added => LineKind::Removed,
        };
    }
    let is_kept = |line: &explain::DiffLine| line.kind == LineKind::Kept;
    for run in hunk.lines.chunk_by_mut(|left, right| is_kept(left) == is_kept(right)) {
        run.sort_by_key(|line| line.kind != LineKind::Removed);
    }
}

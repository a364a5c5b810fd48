//! Hunks of a patch for a large file, if the old side of each occurs literally at a single place. Everything else that
//! may place a hunk (anchors, numbers, likeness) needs the whole text.

use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::large::edit::{CONTEXT_BYTES, LONG_LINE, exactly};
use crate::pipeline::plan::large::sparse::{CONTEXT_LINES, ContextMargin, RelevantSpan, sparse_around};
use crate::pipeline::plan::large::{StreamObstacle, StreamedEdit, WholeFileReason};
use emendate_core::{Hunk, HunkLineKind, Locator, Occurrence, Op, OpOrder, Result, ScanResult, resolve};
use emendate_fs::FileSource;

/// Occurrences of an old side, whole lines or not, that are examined.
const OCCURRENCES_MAX: usize = 1000;

const NOT_AT_ONE_PLACE: WholeFileReason = WholeFileReason::new(
    "does not have the old side of each hunk in just one place to the letter, or they do not fit together there",
    "Copy the context lines exactly and give more of them, or send edits of lines by their numbers.",
);

/// Returns the old sides of hunks that are placed by their lines alone, without their last line ends: the last line of a
/// file may have none.
pub(super) fn old_sides(ops: &[Op]) -> Option<Vec<String>> {
    ops.iter()
        .map(|op| {
            let mut old = plain_old_text(op)?;
            old.truncate(old.strip_suffix('\n').unwrap_or(&old).len());
            Some(old)
        })
        .collect::<Option<Vec<_>>>()
        .filter(|old| old.iter().all(|it| !it.is_empty() && !it.contains('\0')))
}

/// Returns the old text of a plain hunk.
fn plain_old_text(op: &Op) -> Option<String> {
    match &op.at {
        Locator::Hunk(hunk) if is_plain(hunk) => Some(hunk.old_text()),
        _ => None,
    }
}

fn is_plain(hunk: &Hunk) -> bool {
    let certain = hunk
        .lines
        .iter()
        .all(|line| line.kind != HunkLineKind::Bare && !line.text.contains("...") && !line.text.contains('…'));
    // If each added line begins with `++`, only the whole text shows whether the second sign belongs to the line.
    let mut added = hunk.lines.iter().filter(|line| line.kind == HunkLineKind::Added);
    let is_marked_once = added.clone().next().is_none() || added.any(|line| !line.text.starts_with('+'));
    certain && is_marked_once && hunk.scopes.is_empty() && !hunk.at_end && hunk.open == (false, false)
}

impl StreamedEdit<'_> {
    pub(super) fn try_hunks(
        &self,
        source: FileSource,
        old: &[String],
        order: OpOrder,
    ) -> Result<FilePlan, StreamObstacle> {
        let ops = self.ops;
        let needles: Vec<&str> = old.iter().map(|old| &**old).collect();
        let looked = self.scan_and_find_base(&source, &needles)?;
        let relevant_spans = relevant_spans(&source, &looked.scanned, old.len())?.ok_or(NOT_AT_ONE_PLACE)?;
        let longest = old.iter().zip(ops).map(|(old, op)| old.lines().count() + op.text.lines().count()).max();
        let least = ContextMargin {
            bytes: if ops.len() > 1 { CONTEXT_BYTES } else { 0 },
            lines: CONTEXT_LINES + longest.unwrap_or(0),
        };
        let extract = sparse_around(&source, looked.scanned.summary, &relevant_spans, least)?.ok_or(LONG_LINE)?;
        source.check_unchanged()?;
        // Errors of a patch need the whole text.
        let resolved = resolve(&extract, ops, order, exactly(self.options)).map_err(|_| NOT_AT_ONE_PLACE)?;
        looked.planned(self.path, source, extract, resolved)
    }
}

/// Returns the place of each old side, in the order of the file, if it occurs as whole lines exactly once.
fn relevant_spans(source: &FileSource, scanned: &ScanResult, of: usize) -> Result<Option<Vec<RelevantSpan>>> {
    if scanned.occurrences.len() > OCCURRENCES_MAX {
        return Ok(None);
    }
    let mut counts = vec![0_usize; of];
    let mut relevant_spans = Vec::with_capacity(of);
    for &Occurrence { at, end, needle, line } in &scanned.occurrences {
        let (mut before, mut behind) = ([0], [0; 2]);
        let begins =
            at == scanned.summary.codec.mark || source.read(at as u64 - 1, &mut before)? == 1 && before == *b"\n";
        let ends = source.read(end as u64, &mut behind)? == 0 || behind[0] == b'\n' || behind == *b"\r\n";
        if begins && ends {
            counts[needle] += 1;
            relevant_spans.push(RelevantSpan { at, end, line, above: 0 });
        }
    }
    Ok(counts.iter().all(|&count| count == 1).then_some(relevant_spans))
}

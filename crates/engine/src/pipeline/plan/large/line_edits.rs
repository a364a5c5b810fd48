//! Edits by line number of a large file: counting line ends finds the named lines in one pass.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::large::sparse::{CONTEXT_LINES, ContextMargin, RelevantSpan, sparse_around};
use crate::pipeline::plan::large::{
    DECLARED_ENCODING, ScanQuery, StreamOutcome, WholeFileReason, asks_for_parts, check_whole_allowed,
    find_base_of_parts, is_declared_otherwise, opened, retry_streamed, scan, why,
};
use crate::pipeline::plan::line_edits::{RegisterOps, plan_rows_in};
use emendate_core::line_edits::{self, ECHO_LINES_MAX, LineTarget, Registers};
use emendate_core::{Code, Error, FileSummary, Op, Result, ScanResult};
use emendate_fs::{FileSource, SafePath};

/// Lines of context around the named lines: a body may repeat them, and a reply shows them.
const CONTEXT_LINES_NEEDED: usize = ECHO_LINES_MAX + 4;
const _: () = assert!(CONTEXT_LINES_NEEDED > CONTEXT_LINES);

const WHOLE_FILE_EDIT: WholeFileReason = WholeFileReason::new(
    "is edited by blocks or by words, which takes all of its text",
    "Name the lines by their numbers; omit encoding, and formats with words.",
);
const DISTANT_EDITS: WholeFileReason =
    WholeFileReason::new("does not have that text on that line", "Read the lines again, then send the edit again.");
const LONG_LINE: WholeFileReason = WholeFileReason::new(
    "has lines around the place that are too long, or too many lines are named, to be edited in parts",
    "Name fewer lines in one call; for lines of more than a megabyte ask a person to raise max_whole.",
);

/// Plans the edit of some lines of a large file; `None` if the file has to be loaded whole.
///
/// Errors: as any edit; `file.too_large` if it has to be loaded whole and cannot be.
pub(crate) fn plan_big_rows(
    call: Call<'_>,
    place: &SafePath,
    source: FileSource,
    ops: &[Op],
    options: &CallOptions,
    registers: &mut Registers,
) -> Result<Option<FilePlan>> {
    let numbered = !line_edits::names_anchor(ops)
        && ops
            .iter()
            .filter_map(line_edits::of)
            .all(|it| !matches!(it.target, LineTarget::Block(_) | LineTarget::AfterBlock(_)));
    if !(numbered && asks_for_parts(&call, place, options)) {
        return check_whole_allowed(&call, place, source.meta().size, WHOLE_FILE_EDIT).map(|()| None);
    }
    let mut filled = registers.clone();
    let plan = retry_streamed(&call, place, source, |source| {
        filled.clone_from(registers);
        try_big_rows(call, place, source, ops, &mut filled, options)
    })?;
    if plan.is_some() {
        *registers = filled;
    }
    Ok(plan)
}

fn try_big_rows(
    call: Call<'_>,
    place: &SafePath,
    source: FileSource,
    ops: &[Op],
    registers: &mut Registers,
    options: &CallOptions,
) -> Result<StreamOutcome> {
    let lines: Vec<usize> =
        ops.iter().filter_map(named_lines).flat_map(|(from, to)| [from, to.saturating_add(1)]).collect();
    let tag = options.tag.is_some() || options.header.is_some();
    let scanned = match scan(&source, ScanQuery { lines: &lines, tag, ..ScanQuery::default() })? {
        Ok(scanned) => scanned,
        Err(unfit) => return Ok(StreamOutcome::Whole(why(unfit))),
    };
    if is_declared_otherwise(&call, place, ops, &scanned.summary) {
        return Ok(StreamOutcome::Whole(DECLARED_ENCODING));
    }
    let least = ContextMargin { bytes: 0, lines: CONTEXT_LINES_NEEDED };
    let Some(extract) = sparse_around(&source, scanned.summary, &relevant_spans(&scanned, ops), least)? else {
        return Ok(StreamOutcome::Whole(LONG_LINE));
    };
    source.check_unchanged()?;
    let now = opened(&source, extract);
    let base = match find_base_of_parts(call, options, place, &now) {
        Ok(Err(needs_merge)) => return Ok(StreamOutcome::Whole(needs_merge)),
        Ok(Ok(base)) => Ok(base),
        Err(error) => Err(error),
    };
    let plan = match plan_rows_in(call, place.clone(), now, base, RegisterOps { ops, registers }, options) {
        Err(error) if tells_of_more(&call, &source, &error) => return Ok(StreamOutcome::Whole(DISTANT_EDITS)),
        other => other?,
    };
    if plan.outcome.failed.iter().any(|error| tells_of_more(&call, &source, error)) {
        return Ok(StreamOutcome::Whole(DISTANT_EDITS));
    }
    if plan.changes.splices().iter().any(|it| plan.before.to_file_offset(it.span).is_none()) {
        return Ok(StreamOutcome::Whole(LONG_LINE));
    }
    Ok(StreamOutcome::Planned(Box::new(plan.sparse(source, scanned.before))))
}

/// True if an error could say more with the whole text, such as where the expected line is, and the file may be loaded
/// whole.
fn tells_of_more(context: &Context, source: &FileSource, error: &Error) -> bool {
    let several = error.failures().len() > 1;
    source.meta().size <= context.config().max_whole_bytes() && (several || error.code() == Code::MatchNotFound)
}

/// Returns the lines that an operation is about.
fn named_lines(op: &Op) -> Option<(usize, usize)> {
    let rows = line_edits::of(op)?;
    match rows.target {
        LineTarget::Head => Some((1, 1)),
        _ => rows.named_lines(),
    }
}

/// Returns the spans of these lines, in the order of the file, and its end if that is relevant.
fn relevant_spans(scanned: &ScanResult, ops: &[Op]) -> Vec<RelevantSpan> {
    let FileSummary { size, lines, open, .. } = scanned.summary;
    let starts = scanned.starts.chunks_exact(2);
    let named = ops.iter().filter_map(named_lines).zip(starts);
    let relevant_spans = named.filter_map(|((line, _), starts)| {
        let at = starts[0].filter(|_| line <= lines)?;
        Some(RelevantSpan { at, end: starts[1].unwrap_or(size).max(at), line, above: 0 })
    });
    let mut relevant_spans: Vec<RelevantSpan> = relevant_spans.collect();
    if ops.iter().any(|op| {
        let rows = line_edits::of(op);
        rows.is_some_and(|it| it.target == LineTarget::Tail || it.named_lines().is_some_and(|(_, to)| to > lines))
    }) {
        relevant_spans.push(RelevantSpan { at: size, end: size, line: lines + usize::from(!open), above: 0 });
    }
    relevant_spans.sort_by_key(|spot| spot.at);
    relevant_spans
}

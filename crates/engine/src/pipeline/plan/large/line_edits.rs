//! Edits by line number; of a large file, counting line ends finds the named lines in one pass.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::large::sparse::{CONTEXT_LINES, ContextMargin, RelevantSpan, sparse_around};
use crate::pipeline::plan::large::{
    LoadedSource, ScanQuery, StreamObstacle, StreamedEdit, WholeFileReason, check_whole_allowed, load_sized, opened,
    retry_streamed, scan,
};
use crate::pipeline::plan::line_edits::{RegisterOps, plan_rows_in};
use crate::pipeline::plan::notebook::refuse_text_edit;
use crate::pipeline::plan::placement::load_for_edit;
use crate::session::base::find_base;
use emendate_core::line_edits::{self, ECHO_LINES_MAX, LineTarget, Registers};
use emendate_core::{Code, Error, FileSummary, Op, Result, ScanResult};
use emendate_fs::{FileSource, SafePath};
use std::slice;

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

/// Plans edits by line number of a file of any size.
pub(crate) fn plan_rows(
    call: Call<'_>,
    path: SafePath,
    ops: &[Op],
    options: &CallOptions,
    registers: &mut Registers,
) -> Result<FilePlan> {
    let now = match load_sized(&call, &path)? {
        LoadedSource::Whole(version) => version,
        LoadedSource::Big(source) => {
            let edit = StreamedEdit { call, path: &path, ops, options };
            match edit.plan_rows(source, registers)? {
                Some(plan) => return Ok(plan),
                None => call.version(&path)?,
            }
        }
    };
    let now = load_for_edit(call, &path, now, ops, options)?;
    refuse_text_edit(call, &path, &now.snapshot, ops)?;
    let base = find_base(call, options, &path, &now);
    plan_rows_in(call, path, now, base, RegisterOps { ops, registers }, options)
}

impl StreamedEdit<'_> {
    /// Plans the edit of some lines; `None` if the file has to be loaded whole.
    ///
    /// Errors: as any edit; `file.too_large` if it has to be loaded whole and cannot be.
    fn plan_rows(&self, source: FileSource, registers: &mut Registers) -> Result<Option<FilePlan>> {
        let numbered = !line_edits::names_anchor(self.ops)
            && self
                .ops
                .iter()
                .filter_map(line_edits::of)
                .all(|it| !matches!(it.target, LineTarget::Block(_) | LineTarget::AfterBlock(_)));
        if !(numbered && self.asks_for_parts()) {
            return check_whole_allowed(&self.call, self.path, source.meta().size, WHOLE_FILE_EDIT).map(|()| None);
        }
        let mut filled = registers.clone();
        let plan = retry_streamed(&self.call, self.path, source, |source| {
            filled.clone_from(registers);
            self.try_rows(source, &mut filled)
        })?;
        if plan.is_some() {
            *registers = filled;
        }
        Ok(plan)
    }

    fn try_rows(&self, source: FileSource, registers: &mut Registers) -> Result<FilePlan, StreamObstacle> {
        let StreamedEdit { call, path, ops, options } = *self;
        let lines: Vec<usize> =
            ops.iter().filter_map(named_lines).flat_map(|(from, to)| [from, to.saturating_add(1)]).collect();
        let tag = options.tag.is_some() || options.header.is_some();
        let scanned = scan(&source, ScanQuery { lines: &lines, tag, ..ScanQuery::default() })?;
        self.check_encoding(&scanned.summary)?;
        let least = ContextMargin { bytes: 0, lines: CONTEXT_LINES_NEEDED };
        let extract = sparse_around(&source, scanned.summary, &relevant_spans(&scanned, ops), least)?;
        let extract = extract.ok_or(LONG_LINE)?;
        source.check_unchanged()?;
        let now = opened(&source, extract);
        let base = match self.find_base_of_parts(&now) {
            Ok(base) => Ok(base),
            Err(StreamObstacle::Failed(error)) => Err(error),
            Err(needs_merge) => return Err(needs_merge),
        };
        let plan = plan_rows_in(call, path.clone(), now, base, RegisterOps { ops, registers }, options);
        let failed = plan.as_ref().map_or_else(slice::from_ref, |plan| &plan.outcome.failed);
        if failed.iter().any(|error| names_more_lines(&call, &source, error)) {
            return Err(DISTANT_EDITS.into());
        }
        let plan = plan?;
        if plan.changes.splices().iter().any(|it| plan.before.to_file_offset(it.span).is_none()) {
            return Err(LONG_LINE.into());
        }
        Ok(plan.sparse(source, scanned.before))
    }
}

/// True if an error could say more with the whole text, such as where the expected line is, and the file may be loaded
/// whole.
fn names_more_lines(context: &Context, source: &FileSource, error: &Error) -> bool {
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

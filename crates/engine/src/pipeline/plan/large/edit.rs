//! Exact edits of a large file.

use crate::context::Context;
use crate::context::options::CallOptions;
use crate::model::raw_path;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::large::sparse::{ContextMargin, RelevantSpan, sparse_around, sparse_with_lines};
use crate::pipeline::plan::large::{
    ScanQuery, StreamObstacle, StreamedEdit, WholeFileReason, check_whole_allowed, hunks, opened, retry_streamed, scan,
    scan_beside,
};
use crate::pipeline::plan::stale;
use crate::session::base::{self, KnownLines};
use emendate_core::{
    Advice, Code, Error, ExpectedMatches, FileSummary, HEADING_LINES_MAX, Handle, Locator, Matching, Occurrence, Op,
    OpOrder, ResolveSettings, ResolvedEdit, Result, ScanResult, Snapshot, TextQuery, advice, resolve,
};
use emendate_fs::{FileSource, SafePath};
use serde_json::json;

/// Bytes of unchanged text on either side of an edit that other edits of the call may depend on.
pub(super) const CONTEXT_BYTES: usize = 4096 + 4;
/// Reported occurrences of a text that must be unique.
const OCCURRENCES_COUNTED_MAX: usize = 1000;

impl StreamedEdit<'_> {
    /// Plans the edit by text; `None` if the file has to be loaded whole.
    ///
    /// Errors: as any edit; `file.too_large` if it has to be loaded whole and cannot be.
    pub(crate) fn plan(&self, source: FileSource, order: OpOrder) -> Result<Option<FilePlan>> {
        let in_turn = order == OpOrder::InTurn && self.ops.len() > 1;
        let plain = self.asks_for_parts() && !self.options.partial && !in_turn;
        if let Some(finds) = streamed(self.ops).filter(|_| plain) {
            return retry_streamed(&self.call, self.path, source, |source| self.try_text(source, &finds, order));
        }
        if let Some(old) = hunks::old_sides(self.ops).filter(|_| plain) {
            return retry_streamed(&self.call, self.path, source, |source| self.try_hunks(source, &old, order));
        }
        check_whole_allowed(&self.call, self.path, source.meta().size, ALL_OCCURRENCES).map(|()| None)
    }

    fn try_text(&self, source: FileSource, finds: &[&TextQuery], order: OpOrder) -> Result<FilePlan, StreamObstacle> {
        let StreamedEdit { call, path, ops, options } = *self;
        let needles: Vec<&str> = finds.iter().map(|find| &*find.old).collect();
        let looked = self.scan_and_find_base(&source, &needles)?;
        let scanned = &looked.scanned;
        let mut counts = vec![0_usize; finds.len()];
        scanned.occurrences.iter().for_each(|stand| counts[stand.needle] += 1);
        if counts.contains(&0) {
            return Err(nowhere(&call, path, &source, finds));
        }
        let bytes = if ops.len() > 1 { CONTEXT_BYTES } else { 0 };
        let least = ContextMargin { bytes, ..ContextMargin::FOR_REPORT };
        let relevant_spans = relevant_spans(scanned, finds, &counts);
        let extract = sparse_around(&source, scanned.summary, &relevant_spans, least)?.ok_or(LONG_LINE)?;
        source.check_unchanged()?;
        match resolve(&extract, ops, order, exactly(options)) {
            // Similar text may still exist somewhere.
            Err(error) if error.code() == Code::MatchNotFound => Err(nowhere(&call, path, &source, finds)),
            other => looked.planned(path, source, extract, other?),
        }
    }

    /// Scans the file for these texts, and finds the version that the caller saw.
    pub(super) fn scan_and_find_base(
        &self,
        source: &FileSource,
        needles: &[&str],
    ) -> Result<PassResult, StreamObstacle> {
        self.never_read(source)?;
        let options = self.options;
        let tag = options.header.is_some() || matches!(options.tag, Some(Handle::Lines(..) | Handle::Headed(..)));
        let scanned = scan(source, ScanQuery { needles, tag, ..ScanQuery::default() })?;
        self.check_encoding(&scanned.summary)?;
        let now = opened(source, sparse_with_lines(source, scanned.summary, None)?.ok_or(LONG_LINE)?);
        let known = self.find_base_of_parts(&now)?.into_fresh();
        let known = known.ok_or_else(|| stale::changed_again(self.path))?;
        Ok(PassResult { scanned, known })
    }

    /// Refuses a file that the session never read, before it is searched. A blank file needs no read.
    ///
    /// Errors: `read.required`, once the file is known to be text.
    fn never_read(&self, source: &FileSource) -> Result<()> {
        let StreamedEdit { call, path, options, .. } = *self;
        let known = call.caller.allows_unread() || options.tag.is_some();
        if known || call.latest_record(path)?.is_some() {
            return Ok(());
        }
        let mut blank = true;
        match scan_beside(source, ScanQuery::default(), |chunk| blank &= chunk.trim_ascii().is_empty()) {
            Ok(_) if !blank => Err(base::unread(path)),
            Err(StreamObstacle::Failed(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Creates the answer about a text that was not found. If the file is too large to be searched for similar text, the
/// error lists lines of the text that occur.
fn nowhere(context: &Context, path: &SafePath, source: &FileSource, finds: &[&TextQuery]) -> StreamObstacle {
    let (size, most) = (source.meta().size, context.config().max_whole_bytes());
    if size <= most {
        return NOT_FOUND_AS_IS.into();
    }
    let quoted = |find: &&TextQuery| find.old.lines().next().unwrap_or_default().chars().take(200).collect::<String>();
    let first: Vec<String> = finds.iter().take(3).map(quoted).collect();
    let error = Error::new(Code::MatchNotFound, "String to replace not found in file.")
        .evidence(format!("The first line of the text searched for: {}", first.join(" | ")))
        .evidence(format!(
            "The file has {size} bytes. Text that is only similar to old_string is searched for in files of up to {most} \
                 bytes."
        ))
        .fact("reason", "not_found")
        .fact("size", size)
        .fact("limit", most);
    let lines = longest_lines(finds);
    let places = match scan(source, ScanQuery { needles: &lines, ..ScanQuery::default() }) {
        Ok(scanned) => scanned.occurrences,
        Err(StreamObstacle::Whole(_)) => Vec::new(),
        Err(failed) => return failed,
    };
    let of = |needle: usize| places.iter().filter(move |stand| stand.needle == needle).map(|stand| stand.line);
    let best = (0..lines.len()).filter(|&needle| of(needle).next().is_some()).min_by_key(|&needle| of(needle).count());
    let Some((needle, line)) = best.and_then(|needle| Some((needle, of(needle).next()?))) else {
        return error
            .next(
                Advice::named(
                    "None of its lines is in the file. Find the line with {search()} (or grep -n), read it with \
                     {read.offset} and {read.limit}, and copy the text from the reply.",
                )
                    .or("None of its lines is in the file. Find the line with grep -n, read it, and copy the text from the reply."),
            )
            .into();
    };
    let numbers: Vec<usize> = of(needle).take(REPORTED_LINES_MAX).collect();
    let shown: String = lines[needle].chars().take(200).collect();
    let list: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let more = if of(needle).count() > REPORTED_LINES_MAX { " and more" } else { "" };
    let call =
        json!({ "offset": line.saturating_sub(SUGGESTED_CONTEXT_LINES).max(1), "limit": 2 * SUGGESTED_CONTEXT_LINES });
    error
        .evidence(format!("This line of it is in the file, at line {}{more}: {shown}", list.join(", ")))
        .next(advice!["Call ", raw_path::read(path, call), " and copy the text from the reply."])
        .fact("lines", numbers)
        .into()
}

/// The result of one scan.
pub(super) struct PassResult {
    pub(super) scanned: ScanResult,
    known: KnownLines,
}

impl PassResult {
    /// Creates the plan of an edit that was resolved in a sparse snapshot.
    pub(super) fn planned(
        self,
        path: &SafePath,
        source: FileSource,
        extract: Snapshot,
        resolved: ResolvedEdit,
    ) -> Result<FilePlan, StreamObstacle> {
        if resolved.changes.splices().iter().any(|splice| extract.to_file_offset(splice.span).is_none()) {
            return Err(LONG_LINE.into());
        }
        let mut resolved = resolved;
        resolved.notes.extend(self.known.note);
        let lines = base::after_writing(&self.known.lines, &extract, &resolved.changes);
        let plan = FilePlan::edit(path.clone(), opened(&source, extract), resolved, lines);
        Ok(plan.sparse(source, self.scanned.before))
    }
}

/// Returns the searches of a call that needs only the text around their occurrences.
fn streamed(ops: &[Op]) -> Option<Vec<&TextQuery>> {
    ops.iter()
        .map(|op| {
            if let Locator::Find(find) = &op.at {
                Some(find).filter(|it| !it.old.is_empty() && !it.old.contains('\0'))
            } else {
                None
            }
        })
        .collect()
}

/// Returns settings for the literal search that streaming requires.
pub(super) fn exactly(options: &CallOptions) -> ResolveSettings {
    ResolveSettings {
        matching: Matching::Exact,
        emptied_lines: options.matching == Matching::Standard,
        omissions: options.origin.allows_invalid,
        ..ResolveSettings::default()
    }
}

/// Lines reported for a text that was not found as a whole, and lines to read around one.
const REPORTED_LINES_MAX: usize = 5;
const SUGGESTED_CONTEXT_LINES: usize = 20;
/// Lines of the texts searched for in that case, and bytes of the shortest one.
const PROBED_LINES_MAX: usize = 16;
const PROBED_LINE_BYTES_MIN: usize = 6;

/// Returns the longest lines of the texts, trimmed.
fn longest_lines<'o>(finds: &[&'o TextQuery]) -> Vec<&'o str> {
    let mut lines: Vec<&str> = finds
        .iter()
        .flat_map(|find| find.old.lines())
        .map(str::trim)
        .filter(|line| line.len() >= PROBED_LINE_BYTES_MIN)
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    lines.dedup();
    lines.truncate(PROBED_LINES_MAX);
    lines
}

const ALL_OCCURRENCES: WholeFileReason = WholeFileReason::new(
    "this call needs all of its text at once",
    "Send it as {edit()} with each old text copied exactly from the file, or as edits of lines by their numbers. An \
     encoding, marks with words, partial edits, an order, and hunks with a section, `...` or the end of the file need \
     the whole text.",
);
const NOT_FOUND_AS_IS: WholeFileReason = WholeFileReason::new(
    "does not contain the exact text, and similar text is searched for only when the whole file is loaded",
    "Read the lines, and copy {old_string} from the reply.",
);
pub(super) const LONG_LINE: WholeFileReason = WholeFileReason::new(
    "has lines around the place that are too long, or too many places, to be edited in parts",
    "Give a longer {old_string} that fits fewer places; for lines of more than a megabyte ask a person to raise max_whole.",
);

/// Returns the relevant spans, in the order of the file.
fn relevant_spans(scanned: &ScanResult, finds: &[&TextQuery], counts: &[usize]) -> Vec<RelevantSpan> {
    let mut left: Vec<usize> = finds
        .iter()
        .map(|find| match find.expected {
            ExpectedMatches::All => usize::MAX,
            ExpectedMatches::Unique => OCCURRENCES_COUNTED_MAX,
            ExpectedMatches::Exactly(count) => OCCURRENCES_COUNTED_MAX.max(count.saturating_add(1)),
        })
        .collect();
    // If there are too many or too few occurrences, their headings are reported.
    let above: Vec<usize> = finds.iter().zip(counts).map(|(find, &count)| heading_lines(find, count)).collect();
    let mut relevant_spans = Vec::new();
    for &Occurrence { at, end, line, needle, .. } in &scanned.occurrences {
        let left = &mut left[needle];
        *left = left.saturating_sub(1);
        if *left > 0 || finds[needle].expected == ExpectedMatches::All {
            relevant_spans.push(RelevantSpan { at, end, line, above: above[needle] });
        }
    }
    // Whole lines may also be the last ones of a text without a final line end.
    let FileSummary { size, lines, open, .. } = scanned.summary;
    if finds.iter().any(|find| find.lines) {
        relevant_spans.push(RelevantSpan { at: size, end: size, line: lines + usize::from(!open), above: 0 });
    }
    relevant_spans
}

/// Returns how many lines above an occurrence are kept, in case it has to be reported.
fn heading_lines(find: &TextQuery, count: usize) -> usize {
    let fits = match find.expected {
        ExpectedMatches::All => true,
        ExpectedMatches::Unique => count == 1,
        ExpectedMatches::Exactly(wanted) => count == wanted,
    };
    if fits { 0 } else { HEADING_LINES_MAX }
}

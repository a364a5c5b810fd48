//! Edits by anchors, and the storage of anchors. An anchor names its line whatever else changes, so such an edit is
//! placed in the current file; only whether its lines were shown is checked.

use crate::context::call::Call;
use crate::context::history_stores::key;
use crate::context::options::CallOptions;
use crate::context::{Context, policy};
use crate::model::call_context::StalePolicy;
use crate::model::raw_path;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::notebook::refuse_text_edit;
use crate::pipeline::plan::placement::{self, EditedFile, PlacedEdits};
use crate::pipeline::plan::unseen_lines;
use crate::session::base;
use emendate_core::anchor_map::{ANCHORED_LINES_MAX, AnchorMap, AnchorPage, AnchorWord, PlacementError, ReplacedRange};
use emendate_core::explain::{self, DiffHunk, DiffLine, LineKind};
use emendate_core::line_edits::{Excerpt, LineMap};
use emendate_core::line_format::{self, LineFormat, LineMark};
use emendate_core::{
    Advice, ChangeSet, Code, Error, Matching, Notes, Op, ResolvedEdit, Result, Snapshot, advice, line_edits, refusals,
    work,
};
use emendate_fs::SafePath;
use emendate_history::LineSet;
use serde_json::json;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Retries if other processes update the anchors at the same time; one of them always succeeds.
const ANCHOR_RETRIES_MAX: usize = 64;
/// Versions of a session that are examined for shown lines.
const EXAMINED_VERSIONS_MAX: usize = 8;
/// Failures of a call that are reported.
const REPORTED_FAILURES_MAX: usize = 20;
/// New rows that a reply shows with their anchors.
const SHOWN_ROWS_MAX: usize = 60;
/// Bytes of an anchor and its delimiter.
const ANCHOR_BYTES_MAX: usize = 40;

/// A file to be edited by anchors.
struct AnchorEditContext<'a> {
    file: &'a EditedFile<'a>,
    words: &'a AnchorMap,
    page: AnchorPage<'a>,
    /// Lines of the current file that were shown.
    shown: LineSet,
    /// The anchors of the last version shown, if that is not the current one.
    before: Option<EarlierAnchors>,
    /// The lines of that version and of the current one.
    changed: Option<LineMap<'a>>,
}

/// The anchors of an earlier version, and their lines.
struct EarlierAnchors {
    snapshot: Snapshot,
    words: Vec<AnchorWord>,
    places: HashMap<AnchorWord, usize>,
}

/// Returns the anchors of the current version of a file. They are stored, because a caller is about to see them.
///
/// Errors: `read.too_large` for more than a million lines.
pub(crate) fn anchor_map(context: &Context, path: &SafePath, snapshot: &Snapshot) -> Result<AnchorMap> {
    store_anchors(context, path, || follow_stored_anchors(context, path, snapshot.text(), |_| Some(false)))
}

/// Returns the anchors after a plan: it is known which lines it changes, even among equal lines.
pub(crate) fn anchor_map_after(context: &Context, plan: &FilePlan, after: &Snapshot) -> Result<AnchorMap> {
    store_anchors(context, &plan.path, || anchors_after(context, plan, after))
}

/// Computes the anchors after a plan, which are to be stored once it is carried out.
pub(crate) fn anchors_after(context: &Context, plan: &FilePlan, after: &Snapshot) -> Result<FollowedAnchors> {
    let hunks = explain::hunk_headers(&plan.before, &plan.changes);
    let changed: Vec<_> = hunks
        .iter()
        .map(|hunk| ReplacedRange {
            old: line_range(hunk.old_start, hunk.old_lines),
            new: line_range(hunk.new_start, hunk.new_lines),
        })
        .collect();
    follow_stored_anchors(context, &plan.path, plan.before.text(), |words| words.follow_edit(after.text(), &changed))
}

/// The anchors of a text that follow from the stored ones.
pub(crate) struct FollowedAnchors {
    words: AnchorMap,
    /// The bytes to store, if they differ from the stored ones.
    bytes: Option<Vec<u8>>,
    /// The bytes that were stored before.
    before: Option<Vec<u8>>,
}

impl FollowedAnchors {
    /// Stores the anchors; `None` if another process updated the stored ones meanwhile. They have to be followed again
    /// then, because the anchors that the other process has shown count as well.
    pub(crate) fn store(self, context: &Context, path: &SafePath) -> Result<Option<AnchorMap>> {
        let FollowedAnchors { words, bytes, before } = self;
        let Some(bytes) = bytes else { return Ok(Some(words)) };
        let is_stored = context.sessions(path).keep_words(key(path), &bytes, before.as_deref())?;
        Ok(is_stored.then_some(words))
    }
}

/// Loads the anchors of a text and updates them.
///
/// Errors: `read.too_large`, `call.cancelled`.
fn follow_stored_anchors(
    context: &Context,
    path: &SafePath,
    text: &str,
    go_on: impl FnOnce(&mut AnchorMap) -> Option<bool>,
) -> Result<FollowedAnchors> {
    let before = context.sessions(path).words(key(path))?;
    let kept = before.as_deref().and_then(AnchorMap::from_bytes);
    let known = kept.and_then(|mut words| words.follow(text).map(|new| (words, new)));
    let known = known.or_else(|| AnchorMap::new(text).map(|words| (words, true)));
    let gone_on = known.and_then(|(mut words, new)| go_on(&mut words).map(|newer| (words, new || newer)));
    // If the call has to end, the anchors are incomplete.
    work::check()?;
    let Some((words, new)) = gone_on else {
        return Err(Error::new(
            Code::ReadTooLarge,
            format!("A file of more than {ANCHORED_LINES_MAX} lines has no words."),
        )
        .evidence(path.shown())
        .next("Read it with format hashline, and edit it by line numbers."));
    };
    let bytes = (new && !policy::is_secret(path)).then(|| words.to_bytes());
    Ok(FollowedAnchors { words, bytes, before })
}

/// Computes anchors and stores them, again if another process updates them at the same time.
fn store_anchors(
    context: &Context,
    path: &SafePath,
    mut followed: impl FnMut() -> Result<FollowedAnchors>,
) -> Result<AnchorMap> {
    for _ in 0..ANCHOR_RETRIES_MAX {
        if let Some(words) = followed()?.store(context, path)? {
            return Ok(words);
        }
    }
    Err(Error::new(Code::LockTimeout, "Other processes keep changing the words of this file.")
        .evidence(path.shown())
        .next("Repeat the call."))
}

/// Plans edits by anchors in the file as it is now.
pub(crate) fn plan_anchor_edits(call: Call<'_>, path: SafePath, ops: &[Op], options: &CallOptions) -> Result<FilePlan> {
    let now = placement::load_for_edit(call, &path, call.version(&path)?, ops, options)?;
    refuse_text_edit(call, &path, &now.snapshot, ops)?;
    if now.snapshot.text().is_empty() {
        return Err(Error::new(Code::MatchNotFound, "The file is empty, so it has no lines that could be named.")
            .evidence(path.shown())
            .next(Advice::named("Use {write()}.")));
    }
    let file = EditedFile { call, options, path, now };
    let snapshot = &file.now.snapshot;
    let words = anchor_map(&call, &file.path, snapshot)?;
    let page = AnchorPage::new(snapshot, words.words()).with_tombstones(&words);
    let (shown, before) = shown_words(&file, &words, &page)?;
    if before.is_some() && options.on_stale == StalePolicy::Reject {
        return Err(file.version_unavailable());
    }
    let seen = before.as_ref().map(|before| before.snapshot.clone());
    let changed = seen.as_ref().map(|seen| LineMap::new(seen, snapshot, &ChangeSet::diff(seen, snapshot)));
    let subject = AnchorEditContext { file: &file, words: &words, page, shown, before, changed };
    let mut notes = Notes::new();
    let (ops, failed) = place_edits(&subject, ops, &mut notes)?;
    let mut resolved = placement::resolve_together(snapshot, &ops, options)?;
    failed.add_to(&mut resolved);
    notes.append(&mut resolved.notes);
    resolved.notes = notes;
    let (merged, lines_seen) = (subject.before.is_some(), subject.shown);
    let replaced = line_edits::replaced_lines(snapshot, &ops);
    let placed = PlacedEdits { merged, replaced, ..PlacedEdits::new(resolved, lines_seen) };
    let mut plan = placement::planned(file, placed);
    plan.display.anchor_format = Some(anchor_format(options));
    Ok(plan)
}

/// Returns the lines of the current file that the session was shown with their anchors, in any version; and the
/// anchors of the last of these versions, if it is not the current one.
///
/// Errors: `read.required`.
fn shown_words(
    file: &EditedFile<'_>,
    words: &AnchorMap,
    page: &AnchorPage<'_>,
) -> Result<(LineSet, Option<EarlierAnchors>)> {
    let EditedFile { call, options, path, now } = file;
    let sessions = call.sessions(path);
    let records = sessions.versions(&call.caller.session, key(path))?;
    if records.is_empty() && !call.caller.allows_unread() {
        let format = options.anchor_format.map_or("anchors", |format| format.name);
        let then = ", then send this call again.";
        return Err(base::unread(path).next(
            advice!["Call ", raw_path::read(path, json!({ "format": format })), then].or(advice![
                "Call ",
                raw_path::read(path, json!({})),
                then
            ]),
        ));
    }
    let mut before = None;
    let mut lines: Vec<usize> = Vec::new();
    let mut all = LineSet::none();
    for (nth, record) in records.iter().take(EXAMINED_VERSIONS_MAX).enumerate() {
        if record.content == now.snapshot.id() {
            all.union(&record.lines);
            continue;
        }
        // A version that was not kept, or whose anchors are too old, cannot be examined.
        let Some(bytes) = sessions.bytes(record.content)? else { continue };
        let Ok(then) = call.decode(path, bytes, options.declared, "") else { continue };
        let Some(had) = words.words_of_text(then.text()) else { continue };
        for &(from, to) in record.lines.ranges() {
            let from = usize::try_from(from).unwrap_or(usize::MAX).saturating_sub(1);
            let to = usize::try_from(to).unwrap_or(usize::MAX).min(had.len());
            lines.extend(had.get(from..to).unwrap_or(&[]).iter().filter_map(|&word| page.line_of(word)));
        }
        if nth == 0 {
            let places = had.iter().copied().zip(0..).collect();
            before = Some(EarlierAnchors { snapshot: then, words: had, places });
        }
    }
    lines.sort_unstable();
    for line in lines {
        all.add(line as u64, line as u64);
    }
    if call.caller.allows_unread() {
        all = LineSet::all();
    }
    Ok((all, before))
}

/// Edits of a call that cannot be placed, where the call accepts partial results.
struct SkippedEdits {
    /// The indices of the other edits.
    placed: Vec<usize>,
    errors: Vec<Error>,
}

impl SkippedEdits {
    /// Adds the errors to the result of the other edits, which gets the indices of the call.
    fn add_to(self, resolved: &mut ResolvedEdit) {
        if self.errors.is_empty() {
            return;
        }
        for outcome in &mut resolved.ops {
            outcome.op = self.placed[outcome.op];
        }
        let index = |error: &Error| self.placed.get(error.op_index()?).copied();
        let later = std::mem::take(&mut resolved.failed).into_iter();
        resolved.failed =
            later.map(|error| if let Some(op) = index(&error) { error.op(number(op)) } else { error }).collect();
        resolved.failed.extend(self.errors);
        resolved.failed.sort_by_key(Error::op_index);
    }
}

/// Converts an index of an edit; the number of edits always fits.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Converts the edits to line numbers; reports all failures at once.
fn place_edits(subject: &AnchorEditContext<'_>, ops: &[Op], notes: &mut Notes) -> Result<(Vec<Op>, SkippedEdits)> {
    let mut rows = Vec::with_capacity(ops.len());
    let mut placed = Vec::with_capacity(ops.len());
    let mut failures: Vec<(usize, PlacementError)> = Vec::new();
    for (index, op) in ops.iter().enumerate() {
        let bare = without_copied_words(subject.file, &subject.page, op, notes);
        let row = bare.and_then(|op| subject.page.to_line_edit(&op, |word| subject.words.is_tombstone(word)));
        match row.and_then(|row| subject.check_shown(row)).and_then(|row| subject.check_unmade(row)) {
            Ok(row) => {
                rows.push(row);
                placed.push(index);
            }
            Err(misplaced) => failures.push((index, misplaced)),
        }
        if failures.len() == REPORTED_FAILURES_MAX {
            break;
        }
    }
    let view = AnchoredView { file: subject.file, words: subject.words.words(), lines: &subject.shown };
    let is_partial = subject.file.options.partial && !rows.is_empty() && failures.len() < REPORTED_FAILURES_MAX;
    if !(is_partial || failures.is_empty()) {
        return Err(view.refusal(failures.into_iter().map(|(_, it)| it).collect(), ops.len()));
    }
    let errors = failures.into_iter().map(|(index, it)| view.refusal(vec![it], 1).op(number(index))).collect();
    Ok((rows, SkippedEdits { placed, errors }))
}

/// Returns the lines from a start on; of no lines, those around it.
fn line_range(start: usize, len: usize) -> Range<usize> {
    let from = if len == 0 { start } else { start.saturating_sub(1) };
    from..from + len
}

/// A file with the anchors of its lines, and the lines that were shown.
pub(crate) struct AnchoredView<'a> {
    pub(crate) file: &'a EditedFile<'a>,
    pub(crate) words: &'a [AnchorWord],
    pub(crate) lines: &'a LineSet,
}

impl AnchoredView<'_> {
    /// Creates the error for `of` edits that cannot be placed; their lines are shown with anchors, and count as read.
    pub(crate) fn refusal(&self, failures: Vec<PlacementError>, of: usize) -> Error {
        let EditedFile { options, path, now, .. } = self.file;
        let spans: Vec<(usize, usize)> = failures.iter().filter_map(|it| it.show).collect();
        let push_line = anchor_format(options).push_line;
        let excerpt = line_edits::excerpt_with(&now.snapshot, &spans, &|out, line, text, _| {
            push_line(out, LineMark::for_line(line, self.words), text);
        });
        let errors = failures.into_iter().map(|it| self.with_hidden(it, &excerpt)).collect();
        let error = Error::combine(errors, of);
        let error = error.unwrap_or_else(|| Error::new(Code::InternalBug, "No edit failed."));
        if spans.is_empty() {
            return error;
        }
        let mut known = self.lines.clone();
        for &line in &excerpt.whole {
            known.add(line as u64, line as u64);
        }
        let error = match self.file.mark_shown(known) {
            Some(unkept) => error.next(unkept),
            None => error,
        };
        error.evidence(format!("{} as it is now:\n{}", path.shown(), excerpt.text))
    }

    /// Returns the error of a failure, whose advice takes into account which unseen lines an excerpt does not show.
    fn with_hidden(&self, failure: PlacementError, excerpt: &Excerpt) -> Error {
        let PlacementError { error, show } = failure;
        let Some((from, to)) = show.filter(|_| error.code() == Code::ReadPartial) else { return error };
        let unseen = unseen_lines::unseen_of(&self.file.now.snapshot, self.lines, std::iter::once(from..=to));
        match unseen_lines::next_of_cut(self.file, &unseen, excerpt) {
            Some(advice) => error.next(advice),
            None => error,
        }
    }
}

/// Returns the line format with anchors for a reply.
pub(crate) fn anchor_format(options: &CallOptions) -> &'static LineFormat {
    options.anchor_format.unwrap_or_else(default_format)
}

impl AnchorEditContext<'_> {
    /// Accepts an edit if all of its lines were shown unchanged.
    fn check_shown(&self, op: Op) -> Result<Op, PlacementError> {
        let Some(rows) = line_edits::of(&op) else { return Ok(op) };
        let Some((from, to)) = rows.named_lines() else { return Ok(op) };
        if !self.shown.covers(from as u64, to as u64) {
            return Err(shown_refusal(Code::ReadPartial, format!("{}: {NEVER_SHOWN}", rows.source_text), from, to));
        }
        // Lines that others removed from a range must not come back unnoticed.
        let (first, last) = (self.page.words(from, from), self.page.words(to, to));
        if let (Some(before), [first], [last]) = (&self.before, first, last)
            && let (Some(start), Some(end)) = (before.places.get(first), before.places.get(last))
            && before.words.get(*start..=*end) != Some(self.page.words(from, to))
        {
            let what =
                format!("{}: lines between its ends were removed or moved since they were shown.", rows.source_text);
            return Err(shown_refusal(Code::StaleChanged, what, from, to));
        }
        Ok(op)
    }

    /// Accepts an edit that no other change has made since the lines were shown.
    fn check_unmade(&self, op: Op) -> Result<Op, PlacementError> {
        match &self.changed {
            Some(changed) => check_unmade(changed, op),
            None => Ok(op),
        }
    }
}

/// Returns an edit without the words that were copied before its new rows, unless the call wants every character.
pub(crate) fn without_copied_words<'o>(
    file: &EditedFile<'_>,
    page: &AnchorPage<'_>,
    op: &'o Op,
    notes: &mut Notes,
) -> Result<Cow<'o, Op>, PlacementError> {
    match file.options.matching {
        Matching::Exact => Ok(Cow::Borrowed(op)),
        Matching::Strict | Matching::Standard => page.without_copied_words(op, notes),
    }
}

/// Refuses an edit of the current text whose rows another change has written at the same place since `changed` began.
pub(crate) fn check_unmade(changed: &LineMap<'_>, op: Op) -> Result<Op, PlacementError> {
    let Some(rows) = line_edits::of(&op).filter(|rows| changed.is_made(rows.target, &op.text)) else { return Ok(op) };
    let subject = if rows.source_line == 0 { rows.source_text.clone() } else { format!("`{}`", rows.source_text) };
    let what = format!("{subject}: another change has written these rows there since the lines were shown.");
    let error = Error::new(Code::StaleChanged, what)
        .next("The lines are shown now: send the same edit again only if the rows are meant to be there twice.");
    Err(PlacementError { error, show: rows.named_lines() })
}

pub(crate) const NEVER_SHOWN: &str = "it names lines that were never shown, or that are new since then.";

/// Refuses an edit and shows its lines.
pub(crate) fn shown_refusal(code: Code, what: String, from: usize, to: usize) -> PlacementError {
    let error = Error::new(code, what)
        .next("The lines are shown now: send the same edit again if these are the lines you mean.");
    PlacementError { error, show: Some((from, to)) }
}

/// Refuses edits by anchors of a file that an earlier part of the call changes under another name.
pub(crate) fn named_twice(path: &SafePath) -> Error {
    refusals::named_twice(&path.shown(), &path.requested().display().to_string())
}

/// The default line format with anchors.
fn default_format() -> &'static LineFormat {
    // A test proves that there is such a row.
    line_format::LINE_FORMATS.iter().find(|format| format.anchors).unwrap_or(&line_format::LINE_FORMATS[0])
}

/// True when [`preview`] shows all lines of these hunks.
pub(crate) fn fits(hunks: &[DiffHunk], most: usize) -> bool {
    // The mark of a line is its anchor, at most two words long.
    all_lines(hunks).count() <= SHOWN_ROWS_MAX
        && all_lines(hunks).map(|line| line.text.len() + ANCHOR_BYTES_MAX).sum::<usize>() <= most
}

/// Returns the lines of all hunks.
fn all_lines(hunks: &[DiffHunk]) -> impl Iterator<Item = &DiffLine> {
    hunks.iter().flat_map(|hunk| &hunk.lines)
}

/// Formats the current lines that an edit changed, with their anchors, in at most about `most` bytes.
pub(crate) fn preview(format: &LineFormat, words: &[AnchorWord], hunks: &[DiffHunk], most: usize) -> String {
    let mut out = String::new();
    for (nth, hunk) in hunks.iter().enumerate() {
        if out.len() > most {
            out.push_str("... (more changes are not shown)\n");
            return out;
        }
        if nth > 0 {
            out.push_str("--\n");
        }
        let first = hunk.new_start + usize::from(hunk.new_lines == 0);
        let lines: Vec<_> = hunk.lines.iter().filter(|line| line.kind != LineKind::Removed).collect();
        for (at, line) in lines.iter().enumerate() {
            if lines.len() > SHOWN_ROWS_MAX && (SHOWN_ROWS_MAX / 2..lines.len() - SHOWN_ROWS_MAX / 2).contains(&at) {
                if at == SHOWN_ROWS_MAX / 2 {
                    out.push_str("...\n");
                }
                continue;
            }
            (format.push_line)(&mut out, LineMark::for_line(first + at, words), &line_format::clip(&line.text));
        }
    }
    out
}

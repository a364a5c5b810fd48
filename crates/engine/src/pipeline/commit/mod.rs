//! The commit: publishes the changes of all files together, and records what the session wrote.

pub(crate) mod disk_space;
pub(crate) mod log;

use crate::context::Context;
use crate::pipeline::plan::file_plan::recycle;
use crate::model::call_context::CallContext;
use crate::model::call_context::ChangeDisplay;
use crate::model::call_handle::CallPhase;
use crate::pipeline::plan::file_plan::CurrentState;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::file_plan::TargetState;
use crate::model::reply::Answer;
use crate::model::reply_limits::FileBudget;
use crate::model::reply_limits::LISTED_FILES_MAX;
use crate::model::reply_limits::note_part;
use crate::pipeline::checks::approval::approve_plans;
use crate::pipeline::checks::approval::note_pending_approvals;
use crate::pipeline::checks::formatter;
use crate::pipeline::checks::hooks::after_edit;
use crate::pipeline::checks::hooks::before_edit;
use crate::pipeline::checks::repeat::check_not_repeated;
use crate::pipeline::checks::validate;
use crate::pipeline::checks::validate::tell_of_a_persons_text;
use crate::pipeline::commit::disk_space::largest_consumers;
use crate::pipeline::commit::disk_space::with_space_consumers;
use crate::model::call_origin::CallOrigin;
use crate::pipeline::commit::log::PendingRequest;
use crate::pipeline::commit::log::check_undoable;
use crate::pipeline::commit::log::log_aborted;
use crate::pipeline::commit::log::log_committed;
use crate::pipeline::commit::log::log_intent;
use crate::pipeline::plan::anchor_edits;
use crate::pipeline::plan::anchor_edits::anchor_map_after;
use crate::pipeline::plan::large;
use crate::pipeline::report::rows::render_warnings;
use crate::pipeline::report::diagnose;
use crate::pipeline::report::receipt::Preview;
use crate::pipeline::report::receipt::Receipt;
use crate::session::base;
use crate::session::names::name_in_header;
use emendate_core::HeaderStyle;
use emendate_core::anchor_map::AnchorMap;
use emendate_core::{Code, ContentId, Error, Result, explain, line_edits, work};
use emendate_fs::{FileMeta, FileWrite, SpliceChunk, WriteReport, readable_size};
use emendate_history::{LineSet, OperationId, Record};
use serde_json::{Map, Value};

/// Retries of a request after a file changed between the check and the write. If eight processes keep editing one file,
/// each of them loses seven races of eight.
const RACE_RETRIES_MAX: usize = 256;

/// Files of a call up to which the previews for their replies are kept until they are written.
const PREVIEWED_FILES_MAX: usize = 16;

/// Plans, commits and records a request, and retries if another process writes in between. Callers in this process
/// take the locks of `turns` first; changes by other processes are detected by the check right before the
/// write.
pub(crate) fn plan_and_commit(
    context: &Context,
    caller: &CallContext,
    cause: CallOrigin<'_>,
    dry_run: bool,
    mut plan: impl FnMut() -> Result<Vec<FilePlan>>,
) -> Result<Vec<Receipt>> {
    let mut plan = || {
        let mut plans = as_asked(context, caller, plan()?);
        large::compute_short_tags(&mut plans)?;
        Ok(plans)
    };
    for attempt in 1.. {
        let mut plans = plan()?;
        check_not_repeated(context, caller, cause, &plans)?;
        if cause.is_an_edit() {
            formatter::format(context, caller, &mut plans)?;
        }
        before_edit(context, caller, &cause, dry_run, &mut plans)?;
        if cause.is_an_edit() {
            validate::validate(context, &mut plans, cause.allows_invalid)?;
        }
        let room = context.reply_limits(caller).file_budget(plans.iter().filter(|plan| plan.writes()).count());
        if dry_run {
            note_pending_approvals(context, &mut plans)?;
            return Ok(plans.into_iter().map(|plan| Receipt::new(plan, None, true).with_room(room)).collect());
        }
        let mut plans = approve_plans(context, caller, plans)?;
        tell_of_a_persons_text(context, &mut plans);
        caller.check_cancelled()?;
        work::commit()?;
        caller.begin(CallPhase::Writing, plans.len());
        match commit(context, caller, cause, &mut plans) {
            // Plan again, and merge or refuse as for any other change.
            Err(error) if error.code() == Code::ConflictRaced && attempt < RACE_RETRIES_MAX => {
                work::restart();
                for plan in plans {
                    recycle(context, plan);
                }
            }
            Err(error) if error.code() == Code::IoNoSpace => return Err(with_room(context, error, &plans)),
            Err(error) => return Err(raced(error)),
            Ok(done) => {
                caller.note_written(plans.len());
                let receipts = settle(context, plans, done);
                let mut receipts: Vec<Receipt> = receipts.into_iter().map(|it| it.with_room(room)).collect();
                after_edit(context, caller, &cause, &mut receipts);
                if let Some(watch) = &caller.handle {
                    watch.release();
                }
                return Ok(receipts);
            }
        }
    }
    Err(Error::new(Code::InternalBug, "All attempts failed without an answer."))
}

/// Shows the changed lines of every file in the caller's line format, unless something else determines it; each
/// header names its file.
fn as_asked(context: &Context, caller: &CallContext, mut plans: Vec<FilePlan>) -> Vec<FilePlan> {
    for plan in &mut plans {
        if let Some(marks) = caller.line_format.filter(|_| plan.header.is_none() && plan.anchor_format.is_none()) {
            plan.header = marks.header;
            plan.anchor_format = Some(marks).filter(|marks| marks.anchors);
        }
        if plan.header.is_some() && plan.name.is_empty() {
            plan.name = name_in_header(context, caller, &plan.place);
        }
    }
    plans
}

/// Adds what could be deleted to an error about a full disk.
fn with_room(context: &Context, error: Error, plans: &[FilePlan]) -> Error {
    let device = error.data().get("device").and_then(Value::as_u64);
    let held = plans.first().and_then(|plan| context.history(plan.place.root()).disk_usage());
    let error = match held.filter(|held| Some(held.device) == device && held.bytes > 0) {
            Some(held) => error
                .evidence(format!(
                    "The history on that disk has {}: `emend gc --size 0` frees nearly all of it, but past changes can then not be undone.",
                    readable_size(held.bytes)
                ))
                .fact("history", held.bytes),
            None => error,
        };
    let holders = plans.first().map(|plan| largest_consumers(context, &plan.place)).unwrap_or_default();
    with_space_consumers(error, &holders)
}

/// Renders the first receipt as an answer, for calls about one file; `replace_all` is the value in the call.
/// Language servers are asked first, so no lock must be held.
pub(crate) fn answer_for_file(context: &Context, mut receipts: Vec<Receipt>, replace_all: bool) -> Answer {
    diagnose::diagnose(context, &mut receipts);
    let answer =
        receipts.first_mut().map(|receipt| receipt.answer(replace_all, context.config().shows)).unwrap_or_default();
    for receipt in receipts {
        recycle(context, receipt.into_plan());
    }
    answer
}

/// Renders receipts. Language servers are asked first, so no lock must be held.
pub(crate) fn render_receipts(context: &Context, receipts: Vec<Receipt>) -> RenderedReceipts {
    render_receipts_with(context, receipts, &[])
}

/// Renders receipts with warnings about the whole call.
pub(crate) fn render_receipts_with(
    context: &Context,
    mut receipts: Vec<Receipt>,
    common: &[String],
) -> RenderedReceipts {
    let (several, mut warnings) = (receipts.len() > 1, Vec::new());
    diagnose::diagnose(context, &mut receipts);
    let operation = receipts.iter().find_map(Receipt::operation);
    let (mut text, mut files, mut rejected) = (String::new(), Vec::new(), String::new());
    let mut all = 0;
    for mut receipt in receipts {
        rejected.push_str(receipt.rejected());
        let listed = !receipt.is_move_source() && all < LISTED_FILES_MAX;
        all += usize::from(!receipt.is_move_source());
        if listed {
            let (one, own) = receipt.answer_and_warnings(false, context.config().shows);
            warnings
                .extend(own.into_iter().map(|it| if several { format!("{}: {it}", receipt.plan().name) } else { it }));
            if receipt.plan().header.is_some() && !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&one.text);
            files.push(Value::Object(one.data));
        }
        recycle(context, receipt.into_plan());
    }
    if all > files.len() {
        text.push_str(&omitted_files(all, files.len(), operation));
    }
    warnings.extend_from_slice(common);
    text.push_str(&render_warnings(&warnings));
    RenderedReceipts { text, files, all, rejected }
}

/// The only writer: stages the files, logs the intent, checks again under the lock, and publishes all files
/// or none. A plan that changes nothing is skipped and has no entry in the result.
fn commit(
    context: &Context,
    caller: &CallContext,
    cause: CallOrigin<'_>,
    plans: &mut [FilePlan],
) -> Result<CommitResult> {
    plans.iter_mut().filter(|plan| plan.writes()).for_each(|plan| save_attributes(context, plan));
    let plans = &*plans;
    let writing: Vec<&FilePlan> = plans.iter().filter(|plan| plan.writes()).collect();
    let pieces: Vec<Vec<&[u8]>> = writing.iter().map(|plan| plan.changes.chunks(plan.before.raw()).collect()).collect();
    let parts: Vec<Vec<SpliceChunk<'_>>> = writing.iter().map(|plan| plan.chunks()).collect();
    let content = writing.iter().zip(pieces.iter().zip(&parts));
    let drafts: Vec<FileWrite<'_>> = content.map(|(plan, (pieces, parts))| plan.to_file_write(pieces, parts)).collect();
    if drafts.is_empty() {
        return Ok(CommitResult { files: plans.iter().map(|_| None).collect(), ..CommitResult::default() });
    }
    let staged = context.store().stage(&drafts, context.config().durability)?;
    let ahead = staged.preview();
    let promised = writing.iter().find_map(|plan| plan.expected_content);
    if promised.is_some() && promised != ahead.spliced_content {
        // Dropping the staged files leaves everything unchanged.
        return Err(Error::new(
            Code::OperationLost,
            "What the log says of that change does not lead back to the earlier text; nothing was written.",
        )
        .next("Read the file and make the change with an edit."));
    }
    // From here on the disk is busy; previews are prepared in the meantime.
    let shows = context.config().shows;
    let room = context.reply_limits(caller).file_budget(drafts.len());
    let previews: Vec<Option<Preview>> = plans
        .iter()
        .map(|plan| (plan.writes() && drafts.len() <= PREVIEWED_FILES_MAX).then(|| Preview::of(plan, shows, room)))
        .collect();
    let mut stamps = ahead.metadata.into_iter();
    let known: Vec<Option<(FileMeta, Option<Record>)>> = plans
        .iter()
        .zip(&previews)
        .map(|(plan, preview)| {
            let stamp = if plan.writes() { stamps.next() } else { None }?;
            Some((stamp, plan.known(stamp, ahead.spliced_content, preview.as_ref(), shows, room)))
        })
        .collect();
    let announced = log_intent(context, caller, cause, plans, &known, &ahead.created_dirs);
    if let Some(error) = announced.as_ref().and_then(PendingRequest::conflict_error) {
        // Dropping the staged files leaves everything unchanged.
        return Err(error);
    }
    if let Some(announced) = &announced {
        check_undoable(context, caller, cause, announced)
            .inspect_err(|error| log_aborted(context, announced, error))?;
    }
    let written = match (staged.commit(), announced) {
        (Ok(written), Some(announced)) => (written, log_committed(context, caller, cause, announced)),
        (Ok(written), None) => (written, (None, None)),
        (Err(error), announced) => {
            if let Some(announced) = announced {
                log_aborted(context, &announced, &error);
            }
            return Err(error);
        }
    };
    let (written, (operation, trouble)) = written;
    let mut written = written.into_iter();
    let files = known.into_iter().map(|known| Some((recorded_content(known?.1), written.next()?))).collect();
    Ok(CommitResult { files, previews, operation, trouble })
}

/// Saves owner and attributes of a file that is removed, so that they can be restored.
fn save_attributes(context: &Context, plan: &mut FilePlan) {
    if !context.keeps_history() || !plan.removes_file() {
        return;
    }
    match context.store().attributes(&plan.place) {
        Ok(attributes) => plan.lost_attributes = attributes,
        Err(error) => plan.notes.push(format!(
            "Owner and attributes of {} will not come back with an undo: {}",
            plan.place.shown(),
            error.message()
        )),
    }
}

/// Creates the receipts.
fn settle(context: &Context, plans: Vec<FilePlan>, done: CommitResult) -> Vec<Receipt> {
    let (mut trouble, mut previews) = (done.trouble.into_iter(), done.previews.into_iter());
    let receipts = plans.into_iter().zip(done.files).map(|(mut plan, written)| {
        let preview = previews.next().flatten();
        let Some((content, written)) = written else { return Receipt::new(plan, None, false) };
        plan.notes.extend(trouble.next());
        plan.notes.extend(written.notes.iter().cloned());
        let words = words_after(context, &plan);
        let receipt = Receipt::new(plan, Some((content, written)), false);
        receipt.of(done.operation).with_words(words).with_preview(preview)
    });
    receipts.collect()
}

/// Returns the anchors of the lines after a plan, if the reply shows them.
fn words_after(context: &Context, plan: &FilePlan) -> Option<AnchorMap> {
    plan.anchor_format.filter(|_| plan.target == TargetState::File && !plan.before.is_binary())?;
    // A reply without anchors costs a read; the file is already written, so this is not a failure of the edit.
    plan.after().and_then(|after| anchor_map_after(context, plan, &after)).ok()
}

/// Receipts as parts of an answer.
pub(crate) struct RenderedReceipts {
    /// The text for a model.
    pub(crate) text: String,
    /// The data of the files that are listed.
    pub(crate) files: Vec<Value>,
    /// The number of all files.
    pub(crate) all: usize,
    /// The edits that were left out, as a patch.
    pub(crate) rejected: String,
}

impl RenderedReceipts {
    /// Adds the files to the data of an answer, and notes how many are not listed.
    pub(crate) fn add_files(data: &mut Map<String, Value>, files: Vec<Value>, all: usize) {
        note_part(data, "files", "files", files.len(), all);
        data.insert("filesTotal".to_owned(), all.into());
        data.insert("files".to_owned(), files.into());
    }
}

/// Tells how many files of a change a reply does not list, and which call lists them.
fn omitted_files(all: usize, shown: usize, operation: Option<OperationId>) -> String {
    let rest = operation
        .map_or_else(String::new, |id| format!(" Call history with id \"{id}\" and from \"{shown}\" to see them."));
    format!("{} more files are not listed here, of {all}.{rest}\n", all - shown)
}

/// Returns the content that a record names, or the empty one.
fn recorded_content(record: Option<Record>) -> ContentId {
    record.map_or_else(|| ContentId::of(b""), |record| record.content)
}

/// The result of a commit.
#[derive(Default)]
struct CommitResult {
    /// For each plan that wrote something, the current content and how it was written.
    files: Vec<Option<(ContentId, WriteReport)>>,
    /// Previews for the replies, if they were prepared.
    previews: Vec<Option<Preview>>,
    operation: Option<OperationId>,
    /// A failure of the log, as text for a note.
    trouble: Option<String>,
}

impl FilePlan {
    /// Returns the caller's knowledge of the file after the write and the reply. `None` if the file no longer exists.
    fn known(
        &self,
        stamp: FileMeta,
        spliced: Option<ContentId>,
        preview: Option<&Preview>,
        shows: ChangeDisplay,
        room: FileBudget,
    ) -> Option<Record> {
        if self.target != TargetState::File {
            return None;
        }
        let content = match &self.source {
            Some(_) => spliced?,
            None => ContentId::of_pieces(self.changes.chunks(self.before.raw())),
        };
        let mut lines = self.lines_seen.clone();
        // A diff may be cut, or be a summary: the only lines it certainly shows are the written ones, which are known
        // anyway.
        let told = shows == ChangeDisplay::Snippet || self.header.is_some() || self.anchor_format.is_some();
        if told && room.counts && !lines.is_all() {
            lines.union(&shown(self, preview, room));
        }
        Some(base::written_record(content, stamp, lines))
    }
}

fn raced(error: Error) -> Error {
    if error.code() != Code::ConflictRaced {
        return error;
    }
    let what = error.message().to_owned();
    Error::new(Code::ConflictRaced, "File has been unexpectedly modified. Read it again before attempting to write it.")
        .evidence(what)
        .evidence(error.evidence_text())
        .next("Another program keeps writing this file. Read it again, then repeat the call; nothing was changed.")
}

/// The lines of the new version that the reply shows.
fn shown(plan: &FilePlan, preview: Option<&Preview>, room: FileBudget) -> LineSet {
    let Some(header) = plan.header.or_else(|| plan.anchor_format.map(|_| HeaderStyle::Brackets)) else {
        return preview
            .map_or_else(|| Preview::without_patch(plan, ChangeDisplay::Snippet, room).lines(), Preview::lines);
    };
    let hunks = explain::hunks(&plan.before, &plan.changes, line_edits::AROUND);
    if plan.anchor_format.is_some() && !anchor_edits::fits(&hunks, room.diff) {
        return LineSet::none();
    }
    base::of_ranges(&line_edits::preview(header, &hunks, room.diff).lines)
}

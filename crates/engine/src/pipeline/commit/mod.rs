//! The commit: publishes the changes of all files together, and records what the session wrote.

pub(crate) mod disk_space;
pub(crate) mod log;

use crate::context::Context;
use crate::context::call::Call;
use crate::model::call_context::ChangeDisplay;
use crate::model::call_origin::CallOrigin;
use crate::model::reply_limits::FileBudget;
use crate::pipeline::commit::log::{check_undoable, log_aborted, log_committed, log_intent};
use crate::pipeline::plan::anchor_edits::{self, FollowedAnchors, anchor_map_after, anchors_after};
use crate::pipeline::plan::file_plan::{FilePlan, NewContent, TargetState};
use crate::pipeline::report::receipt::{Preview, Receipt};
use crate::session::base;
use emendate_core::anchor_map::AnchorMap;
use emendate_core::{Code, ContentId, Error, HeaderStyle, Result, explain, line_edits};
use emendate_fs::{FileMeta, FileWrite, WriteReport};
use emendate_history::{LineSet, OperationId, Record};
use std::collections::HashMap;
use std::path::PathBuf;

/// Files of a call up to which the previews for their replies are kept until they are written.
const PREVIEWED_FILES_MAX: usize = 16;

/// The only writer: stages the files, logs the intent, checks again under the lock, and publishes all files
/// or none. A plan that changes nothing is skipped.
///
/// Errors: those of the disk and of the log; `call.cancelled` until the intent is logged.
pub(crate) fn commit(call: Call<'_>, origin: CallOrigin<'_>, plans: &mut [FilePlan]) -> Result<CommitResult> {
    plans.iter_mut().filter(|plan| plan.writes()).for_each(|plan| save_attributes(&call, plan));
    let plans = &*plans;
    let writing: Vec<&FilePlan> = plans.iter().filter(|plan| plan.writes()).collect();
    let contents: Vec<NewContent<'_>> = writing.iter().map(|plan| plan.new_content()).collect();
    let writes: Vec<FileWrite<'_>> =
        writing.iter().zip(&contents).map(|(plan, content)| plan.to_file_write(content)).collect();
    if writes.is_empty() {
        return Ok(CommitResult::default());
    }
    let staged = call.store().stage(&writes, call.config().durability)?;
    let ahead = staged.preview();
    check_promised(&writing, ahead.spliced_content)?;
    // From here on the disk is busy; the replies are prepared in the meantime.
    let shows = call.config().shows;
    let room = call.reply_limits().file_budget(writes.len());
    let prepare = |(plan, meta): (&&FilePlan, FileMeta)| {
        // With millions of changed lines, each of these steps takes tens of milliseconds.
        call.caller.check_cancelled()?;
        let preview = (writes.len() <= PREVIEWED_FILES_MAX).then(|| Preview::of(plan, shows, room));
        call.caller.check_cancelled()?;
        let record = plan.record_after_reply(meta, ahead.spliced_content, preview.as_ref(), shows, room);
        call.caller.check_cancelled()?;
        let anchors = prepare_anchors(&call, plan);
        Ok(PreparedFile { meta, record, preview, anchors })
    };
    let prepared: Vec<PreparedFile> = writing.iter().zip(ahead.metadata).map(prepare).collect::<Result<_>>()?;
    call.caller.check_cancelled()?;
    let announced = log_intent(call, origin, plans, &prepared, &ahead.created_dirs)?;
    if let Some(error) = announced.conflict_error() {
        // Dropping the staged files leaves everything unchanged.
        return Err(error);
    }
    check_undoable(call, origin, &announced).inspect_err(|error| log_aborted(&call, &announced, error))?;
    let written = staged.commit().inspect_err(|error| log_aborted(&call, &announced, error))?;
    let (operation, trouble) = log_committed(call, origin, announced);
    let files =
        prepared.into_iter().zip(written).map(|(prepared, report)| CommittedFile { prepared, report }).collect();
    Ok(CommitResult { files, operation, trouble })
}

/// Checks, for a dry run, that the files may be written.
///
/// Errors: `io.*`.
pub(crate) fn check_writable(context: &Context, plans: &[FilePlan]) -> Result<()> {
    for plan in plans.iter().filter(|plan| plan.writes()) {
        let Some(now) = plan.current.file() else { continue };
        context.store().check_writable(&plan.path, &now.meta)?;
    }
    Ok(())
}

/// Fails if a plan promises a content that the staged file does not have. Dropping the staged files leaves everything
/// unchanged.
fn check_promised(writing: &[&FilePlan], staged: Option<ContentId>) -> Result<()> {
    let promised = writing.iter().find_map(|plan| plan.expected_content);
    if promised.is_some() && promised != staged {
        return Err(Error::new(
            Code::OperationLost,
            "The log's record of that change does not reproduce the earlier text; nothing was written.",
        )
        .next("Read the file and make the change with an edit."));
    }
    Ok(())
}

/// Saves owner and attributes of a file that is removed, so that they can be restored.
fn save_attributes(context: &Context, plan: &mut FilePlan) {
    if !context.history_stores.keeps_history() || !plan.removes_file() {
        return;
    }
    match context.store().attributes(&plan.path) {
        Ok(attributes) => plan.lost_attributes = attributes,
        Err(error) => plan.outcome.notes.push(format!(
            "Owner and attributes of {} will not be restored by an undo: {}",
            plan.path.shown(),
            error.message()
        )),
    }
}

/// Creates the receipts.
pub(crate) fn create_receipts(
    context: &Context,
    plans: Vec<FilePlan>,
    done: CommitResult,
    budget: FileBudget,
) -> Vec<Receipt> {
    let CommitResult { files, operation, trouble } = done;
    let linked = linked_files(&plans);
    let (mut files, mut trouble) = (files.into_iter(), trouble.into_iter());
    let receipts = plans.into_iter().map(|mut plan| {
        let file = if plan.writes() { files.next() } else { None };
        let Some(CommittedFile { prepared, report }) = file else { return Receipt::new(plan, false, budget) };
        plan.outcome.notes.extend(trouble.next());
        plan.outcome.notes.extend(report.notes.iter().cloned());
        plan.outcome.notes.extend(links_left(&plan, &report, &linked));
        let anchor_map = prepared.anchors.and_then(|anchors| store_anchors(context, &plan, anchors));
        let content = prepared.record.map_or_else(|| ContentId::of(b""), |record| record.content);
        let (written, preview) = (Some((content, report)), prepared.preview);
        Receipt { written, operation, anchor_map, preview, ..Receipt::new(plan, false, budget) }
    });
    receipts.collect()
}

/// Returns the files that have several names, by path.
fn linked_files(plans: &[FilePlan]) -> HashMap<PathBuf, FileMeta> {
    let linked = plans.iter().filter_map(|plan| {
        let meta = plan.current.file()?.meta;
        (meta.links > 1).then(|| (plan.path.absolute().to_owned(), meta))
    });
    linked.collect()
}

/// Says that a moved file has left its other names behind: it was changed as well, or could not keep them there.
fn links_left(plan: &FilePlan, report: &WriteReport, linked: &HashMap<PathBuf, FileMeta>) -> Option<String> {
    let former = plan.move_source()?;
    let left = linked.get(former.absolute()).filter(|meta| !report.meta.same_file(meta))?;
    let (from, names) = (former.shown(), left.links);
    Some(format!(
        "{from} was one of {names} names (hard links) of a file. This is a file of its own now; the others keep the old \
         one."
    ))
}

/// Returns the anchors of the lines after a plan, if the reply shows them. They are computed before the files are
/// written, while the call can be cancelled.
fn prepare_anchors(context: &Context, plan: &FilePlan) -> Option<FollowedAnchors> {
    let has_anchors = plan.target == TargetState::File && !plan.before.is_binary();
    plan.display.anchor_format.filter(|_| has_anchors)?;
    // A reply without anchors costs a read, so this is not a failure of the edit.
    plan.after().and_then(|after| anchors_after(context, plan, &after)).ok()
}

/// Stores the anchors of the lines after a plan that was carried out, and returns them.
fn store_anchors(context: &Context, plan: &FilePlan, anchors: FollowedAnchors) -> Option<AnchorMap> {
    match anchors.store(context, &plan.path) {
        Ok(Some(words)) => Some(words),
        Ok(None) => plan.after().and_then(|after| anchor_map_after(context, plan, &after)).ok(),
        Err(_) => None,
    }
}

/// The facts about a file that are prepared before it is published.
pub(crate) struct PreparedFile {
    meta: FileMeta,
    /// The session's knowledge of the file after the reply; `None` if the file no longer exists.
    record: Option<Record>,
    /// The preview for the reply, if the call has few files.
    preview: Option<Preview>,
    /// The anchors of the new content, if the reply shows them.
    anchors: Option<FollowedAnchors>,
}

/// A file that was published.
struct CommittedFile {
    prepared: PreparedFile,
    report: WriteReport,
}

/// The result of a commit.
#[derive(Default)]
pub(crate) struct CommitResult {
    /// The files that were written, in the order of their plans.
    files: Vec<CommittedFile>,
    operation: Option<OperationId>,
    /// A failure of the log, as text for a note.
    trouble: Option<String>,
}

impl FilePlan {
    /// Returns the caller's knowledge of the file after the write and the reply. `None` if the file no longer exists.
    fn record_after_reply(
        &self,
        meta: FileMeta,
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
        let mut lines = self.seen.lines.clone();
        // A diff may be cut, or be a summary: the only lines it certainly shows are the written ones, which are known
        // anyway.
        let is_reported =
            shows == ChangeDisplay::Snippet || self.display.header.is_some() || self.display.anchor_format.is_some();
        if is_reported && room.counts && !lines.is_all() {
            lines.union(&reported_lines(self, preview, room));
        }
        Some(base::written_record(content, meta, lines))
    }
}

/// The lines of the new version that the reply shows.
fn reported_lines(plan: &FilePlan, preview: Option<&Preview>, room: FileBudget) -> LineSet {
    let Some(header) = plan.display.header.or_else(|| plan.display.anchor_format.map(|_| HeaderStyle::Brackets)) else {
        return preview
            .map_or_else(|| Preview::without_patch(plan, ChangeDisplay::Snippet, room).lines(), Preview::lines);
    };
    let hunks = explain::hunks(&plan.before, &plan.changes, line_edits::AROUND);
    if plan.display.anchor_format.is_some() && !anchor_edits::fits(&hunks, room.diff) {
        return LineSet::none();
    }
    base::of_ranges(&line_edits::preview(header, &hunks, room.diff).lines)
}

//! The engine's side of the operation log: a write-ahead record of every request that changes files, so that it can be
//! reported and undone even if the process is killed.

use crate::context::call::Call;
use crate::context::config::PolicyMode;
use crate::context::history_stores::key;
use crate::context::memory::UnstoredVersion;
use crate::context::{Context, policy};
use crate::model::call_context::CallContext;
use crate::model::call_origin::CallOrigin;
use crate::model::reply::clip;
use crate::pipeline::checks::repeat::remember_change;
use crate::pipeline::commit::PreparedFile;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::session::in_doubt::{confirm_own_operations, resolve_selected};
use crate::session::outside::{FoundContent, record_outside_changes};
use crate::session::turns::begin_turn_of_call;
use emendate_core::explain::{self, DiffStat};
use emendate_core::{Advice, Code, ContentId, Error, Result, Tier, work};
use emendate_fs::{FileMeta, SafePath};
use emendate_history::{
    ByteReplacement, CONTENT_BYTES_MAX, ChangeContent, FileChange, FileKind, FileState, LogReceipt, Operation,
    OperationId, OperationOutcome, OwnedContent, Record, SessionUpdate, VersionBody,
};
use emendate_os::ffi::OsStrExt as _;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Bytes of a file that is stored whole once the answer was sent. A larger one can be undone as long as nothing else
/// changes it, or if the session read it.
const STORED_WHOLE_BYTES_MAX: u64 = 256 << 10;

/// Contents that are stored in one transaction: other writers of the history wait for that long.
const STORE_BATCH_CONTENTS: usize = 128;
/// Notes of edits that an operation keeps.
const TOLERANCE_NOTES_MAX: usize = 8;
/// Characters of each.
const TOLERANCE_CHARS_MAX: usize = 200;

/// The change of a plan as recorded in the log.
struct LoggedChange<'a> {
    plan: &'a FilePlan,
    change: FileChange,
    replacements: Vec<ByteReplacement<'a>>,
    /// The session's new knowledge of the file; `None` if the file is deleted.
    record: Option<&'a Record>,
}

impl<'a> LoggedChange<'a> {
    fn new(plan: &'a FilePlan, prepared: &'a PreparedFile) -> LoggedChange<'a> {
        let (meta, record) = (&prepared.meta, prepared.record.as_ref());
        let before = match &plan.current {
            CurrentState::Nothing => None,
            CurrentState::File(now) => Some(file(now.snapshot.id(), &now.meta)),
            CurrentState::Link(target) => Some(link(target)),
        };
        let after = match (&plan.target, record) {
            (TargetState::File, Some(record)) => Some(file(record.content, meta)),
            (TargetState::Link(target), _) => Some(link(target)),
            _ => None,
        };
        let stat = if plan.before.is_binary() || plan.is_move_source {
            DiffStat::default()
        } else {
            explain::count_changes(&plan.before, &plan.changes)
        };
        let moved_from = plan.move_source().map(|source| key(source).to_vec());
        let lost = plan.target == TargetState::Nothing && !plan.is_move_source && !plan.before.is_binary();
        let lost = if lost { plan.before.lines().count(plan.before.text()) } else { stat.removed };
        let (added, removed) = (stat.added as u64, lost as u64);
        let attributes = plan.lost_attributes.clone();
        let change =
            FileChange { path: key(&plan.path).to_vec(), moved_from, before, after, attributes, added, removed };
        let raw = plan.before.raw();
        let splices = plan.changes.splices().iter();
        let replacements = splices.map(|it| ByteReplacement {
            at: plan.before.to_file_offset(it.span).unwrap_or_default(),
            old: &raw[it.span.range()],
            new: &it.text,
        });
        // A new file may begin with a byte order mark.
        let mark = (base(plan).is_none() && !raw.is_empty()).then_some(ByteReplacement { at: 0, old: b"", new: raw });
        let replacements = mark.into_iter().chain(replacements).collect();
        LoggedChange { plan, change, replacements, record }
    }

    /// True when undo would need more bytes in memory than allowed, because the change is not made of parts.
    fn is_beyond_undo(&self) -> bool {
        let size = self.record.map_or(0, |record| record.meta.size);
        self.plan.source.is_none() && self.change.before.is_some() && size > CONTENT_BYTES_MAX
    }

    /// Describes how both sides can be restored later; `new` is the current content, for a session that has to know its
    /// version.
    fn change<'b>(&'b self, new: Option<&'b dyn Fn() -> Vec<u8>>) -> ChangeContent<'b> {
        let plan = self.plan;
        let base = base(plan);
        let old = match &plan.current {
            // The text moves to another path, or the change begins with it.
            CurrentState::File(_) if plan.is_move_source => None,
            CurrentState::File(now) if base == Some(now.snapshot.id()) => None,
            CurrentState::File(now) => Some(now.snapshot.raw()),
            CurrentState::Link(target) => Some(target.as_bytes()),
            CurrentState::Nothing => None,
        };
        let from = base.filter(|_| !plan.before.is_sparse()).map(|_| plan.before.raw());
        ChangeContent { base, base_bytes: from, replacements: &self.replacements, old_bytes: old, new_bytes: new }
    }
}

/// The version that a plan's changes start from; `None` if there is none.
fn base(plan: &FilePlan) -> Option<ContentId> {
    let here = matches!(&plan.current, CurrentState::File(now) if now.snapshot.id() == plan.before.id());
    (plan.target == TargetState::File && (here || plan.source_file.is_some())).then(|| plan.before.id())
}

/// The state of a regular file with that content.
fn file(content: ContentId, meta: &FileMeta) -> FileState {
    FileState { content, mode: meta.mode & 0o7777, kind: FileKind::Regular }
}

/// The state of a symbolic link; its permission bits are meaningless.
fn link(target: &OsStr) -> FileState {
    FileState { content: ContentId::of(target.as_bytes()), mode: 0o777, kind: FileKind::Link }
}

/// A request recorded in the log before it is carried out.
pub(crate) struct PendingRequest<'a> {
    /// Index of the root whose history has it.
    root: usize,
    changes: Vec<LoggedChange<'a>>,
    appended: Result<LogReceipt>,
}

impl PendingRequest<'_> {
    /// Returns the error if another request is already undoing the same operations.
    pub(crate) fn conflict_error(&self) -> Option<Error> {
        self.appended.as_ref().err().filter(|error| error.code() == Code::ConflictRaced).cloned()
    }
}

/// Records the intent of a request with all files that it writes, and what the session will know of them. From here on
/// nothing stops the call.
///
/// Errors: `call.cancelled` and `call.too_much_work`, before anything is recorded.
pub(crate) fn log_intent<'a>(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    plans: &'a [FilePlan],
    prepared: &'a [PreparedFile],
    made: &[PathBuf],
) -> Result<PendingRequest<'a>> {
    let writing = plans.iter().filter(|plan| plan.writes()).zip(prepared);
    let done: Vec<LoggedChange<'_>> = writing.map(|(plan, prepared)| LoggedChange::new(plan, prepared)).collect();
    work::commit()?;
    let root = done.first().map_or(0, |done| done.plan.path.root());
    let found = done
        .iter()
        .map(|done| FoundContent { path: &done.plan.path, content: done.change.before.map(|state| state.content) });
    record_outside_changes(&call, &found.collect::<Vec<_>>());
    begin_turn_of_call(call, root);
    let operation = operation(call.caller, origin, plans, &done, made);
    let new: Vec<_> = done.iter().map(|done| || done.plan.changes.apply(&done.plan.before)).collect();
    // A person sees the file; a model may need a report of what changed since its last edit.
    let wanted = !call.caller.allows_unread();
    let new = new.iter().zip(&done).map(|(new, done)| {
        let kept = wanted && !done.plan.seen.unseen && done.plan.source.is_none();
        kept.then_some(new as &dyn Fn() -> Vec<u8>)
    });
    let changes: Vec<ChangeContent<'_>> = done.iter().zip(new).map(|(done, new)| done.change(new)).collect();
    // Knowledge of a file belongs to that file's root; the operation is recorded in one root only.
    let here = done.iter().filter(|done| done.plan.path.root() == root && !done.plan.seen.unseen);
    let here: Vec<SessionUpdate<'_>> =
        here.filter_map(|done| Some(SessionUpdate { path: key(&done.plan.path), record: done.record? })).collect();
    let entered = call.history(root).log(&operation, &changes, &here);
    Ok(PendingRequest { root, changes: done, appended: entered })
}

/// Records what the session knows of a file that was moved under its new name, too, so that the tags it was shown
/// remain valid.
fn remember_versions(call: Call<'_>, moved: &LoggedChange<'_>) -> Result<()> {
    let (plan, Some(record)) = (moved.plan, moved.record) else { return Ok(()) };
    let has_record = |source: &&SafePath| source.root() == plan.path.root() && !plan.seen.unseen;
    let Some(source) = plan.move_source().filter(has_record) else { return Ok(()) };
    let (sessions, session) = (call.sessions(&plan.path), &call.caller.session);
    if let Some(words) = sessions.words(key(source))?.filter(|_| !policy::is_secret(&plan.path)) {
        // Anchors that the new name has already were shown under it.
        sessions.keep_words(key(&plan.path), &words, None)?;
    }
    let known = sessions.versions(session, key(source))?;
    let earlier = known.iter().rev().filter(|known| known.content != record.content);
    // The version that was written stays the latest one.
    earlier
        .chain([record])
        .try_for_each(|version| sessions.record(session, key(&plan.path), version, &VersionBody::None))
}

/// Records a committed request. The files are already changed, so a failure of the log is not a failure of the
/// request: it is returned as text for a note.
pub(crate) fn log_committed(
    call: Call<'_>,
    origin: CallOrigin<'_>,
    announced: PendingRequest<'_>,
) -> (Option<OperationId>, Option<String>) {
    let PendingRequest { root, changes: done, appended: entered } = announced;
    let elsewhere = record_elsewhere(call, root, &done);
    for moved in &done {
        // Without it, the session has to read the file again; the move itself is done.
        let _ = remember_versions(call, moved);
    }
    for gone in done.iter().filter(|done| done.change.after.is_none()) {
        // The session may forget a deleted file; if that fails, the session is merely informed again.
        let _ = call.sessions(&gone.plan.path).forget(&call.caller.session, key(&gone.plan.path));
    }
    if let Ok(entered) = &entered {
        for FileChange { path, after, .. } in done.iter().map(|done| &done.change) {
            remember_change(call, origin, entered.id, path, after.map(|side| side.content));
        }
        call.unconfirmed().push((root, entered.id));
    }
    if entered.is_err() {
        // Without a gap, an undo would take back an older operation. If even this fails, the warning remains.
        let _ = call.history(root).skip_number();
    }
    match (entered, elsewhere) {
        (Ok(entered), Ok(())) => {
            remember_unstored(&call, root, &entered.unstored, &done);
            let warning = undoable(&call, &entered, &done);
            (Some(entered.id), warning)
        }
        (Err(error), _) | (_, Err(error)) => {
            let warning = format!(
                "The session store could not remember this version, so read the file before the next edit; and it \
                     cannot be undone: {}",
                error.message()
            );
            (None, Some(warning))
        }
    }
}

/// Records in the histories of other roots what became of their files: the operation is in the log of `root` only.
///
/// Errors: those of the session store.
fn record_elsewhere(call: Call<'_>, root: usize, done: &[LoggedChange<'_>]) -> Result<()> {
    for other in (0..call.root_count()).filter(|other| *other != root) {
        let here: Vec<_> = done.iter().filter(|done| done.plan.path.root() == other).collect();
        if here.is_empty() {
            continue;
        }
        for LoggedChange { plan, record, .. } in here.iter().filter(|done| !done.plan.seen.unseen) {
            let Some(record) = record else { continue };
            let is_kept = plan.source.is_none() && !policy::is_secret(&plan.path);
            let new = is_kept.then(|| plan.changes.apply(&plan.before));
            let body = new.as_deref().map_or(VersionBody::None, VersionBody::Bytes);
            call.sessions(&plan.path).record(&call.caller.session, key(&plan.path), record, &body)?;
        }
        let changes: Vec<&FileChange> = here.iter().map(|done| &done.change).collect();
        call.history(other).remember_changes(&changes)?;
    }
    Ok(())
}

/// Records a request that was aborted, or whose outcome is unknown.
pub(crate) fn log_aborted(context: &Context, announced: &PendingRequest<'_>, error: &Error) {
    let &PendingRequest { root, appended: Ok(LogReceipt { id, .. }), .. } = announced else { return };
    // If the log fails now, a later resolution finds the files unchanged.
    if error.code() == Code::IoPartial {
        let _ = resolve_selected(context, root, |logged| logged.id == id);
    } else {
        let _ = context.history(root).abort(id, true);
    }
}

/// Refuses a change that could not be undone, unless the caller explicitly allows it.
///
/// Errors: `operation.irreversible`.
pub(crate) fn check_undoable(call: Call<'_>, origin: CallOrigin<'_>, announced: &PendingRequest<'_>) -> Result<()> {
    let lets = call.caller.irreversible.unwrap_or(call.caller.allows_unread())
        || origin.irreversible
        || call.config().irreversible == PolicyMode::Allow;
    let why = match &announced.appended {
        _ if lets => return Ok(()),
        _ if !call.history_stores.keeps_history() => return Err(without_history()),
        Ok(entered) => match undoable(&call, entered, &announced.changes) {
            Some(why) => why,
            None => return Ok(()),
        },
        Err(error) => format!("This cannot be undone: the history cannot be written. {}", error.message()),
    };
    let error = Error::new(Code::OperationIrreversible, why).evidence("Nothing was written.");
    Err(error.next(Advice::named(
        "If it is meant nevertheless, send the same call with {irreversible=true}; or a person can enlarge \
         `megabytes` under [history], or set irreversible = \"allow\" under [policy], in their own configuration.",
    )))
}

/// Returns the reason why an operation cannot be undone, if there is one.
fn undoable(context: &Context, entered: &LogReceipt, done: &[LoggedChange<'_>]) -> Option<String> {
    if !context.history_stores.keeps_history() {
        return None;
    }
    let root = done.first().map_or(0, |done| done.plan.path.root());
    if let Some(why) = context.history_stores.why_lost_with_process(root) {
        return Some(format!("This cannot be undone: {why}"));
    }
    let secret = done.iter().find(|done| policy::is_secret(&done.plan.path));
    let lost = entered.lost.first().and_then(|nth| done.get(*nth));
    let large = done.iter().find(|done| done.is_beyond_undo());
    let why = match (secret, lost, large) {
        (Some(done), ..) => format!("{} may hold secrets, whose contents are never stored", done.plan.path.shown()),
        (_, Some(done), _) => format!("{} has more bytes than the history keeps", done.plan.path.shown()),
        (.., Some(done)) => format!("{} would have more than {CONTENT_BYTES_MAX} bytes", done.plan.path.shown()),
        _ => return None,
    };
    Some(format!("This cannot be undone: {why}."))
}

fn remember_unstored(context: &Context, root: usize, unstored: &[ContentId], done: &[LoggedChange<'_>]) {
    if !context.history_stores.keeps_history() {
        return;
    }
    let found = done.iter().filter_map(|done| {
        let record = done.record?;
        let wanted = unstored.contains(&record.content) && record.meta.size <= STORED_WHOLE_BYTES_MAX;
        wanted.then(|| UnstoredVersion { root, path: done.plan.path.clone(), content: record.content })
    });
    context.unstored().extend(found);
}

/// Confirms operations, and stores contents that exist only in working files.
pub(crate) fn flush_log(context: &Context) {
    confirm_own_operations(context);
    let mut unstored = std::mem::take(&mut *context.unstored());
    unstored.sort_by_key(|it| it.root);
    for of_root in unstored.chunk_by(|one, next| one.root == next.root) {
        of_root.chunks(STORE_BATCH_CONTENTS).for_each(|some| keep_whole(context, some));
    }
}

/// Stores some contents of one root. If that fails, their earlier versions remain reachable through the deltas in
/// the log.
fn keep_whole(context: &Context, some: &[UnstoredVersion]) {
    let Some(root) = some.first().map(|it| it.root) else { return };
    let contents: Vec<ContentId> = some.iter().map(|it| it.content).collect();
    let Ok(lacking) = context.history(root).not_stored(&contents) else { return };
    let found: Vec<_> = some
        .iter()
        .filter(|it| lacking.contains(&it.content))
        .filter_map(|it| {
            // Skip a file that changed since, or cannot be read.
            let version = context.store().read(&it.path, STORED_WHOLE_BYTES_MAX, Vec::new()).ok()??;
            (ContentId::of(&version.bytes) == it.content)
                .then_some(OwnedContent { id: it.content, bytes: version.bytes })
        })
        .collect();
    if !found.is_empty() {
        let _ = context.history(root).store_versions(&found);
    }
}

/// Creates the error for a change that nothing records.
fn without_history() -> Error {
    Error::new(Code::OperationIrreversible, "This cannot be undone: without a state directory no history is kept.")
        .evidence("Nothing was written.")
        .next(Advice::named(
            "Name a state directory (--state), so that changes can be undone; or, if it is meant nevertheless, \
             send the same call with {irreversible=true}.",
        ))
}

/// Returns the tolerances that an edit needed: the highest tier, if it was not exact, and notes of its operations.
fn tolerances(plans: &[FilePlan]) -> String {
    let ops = || plans.iter().flat_map(|plan| &plan.outcome.ops);
    let tier = ops().map(|op| op.tier).max().filter(|tier| *tier != Tier::Exact);
    let mut parts: Vec<String> = tier.into_iter().map(|tier| format!("found by {}", tier.name())).collect();
    for note in ops().flat_map(|op| &op.notes).take(TOLERANCE_NOTES_MAX) {
        let note = clip(note.to_string().trim_end_matches('.'), TOLERANCE_CHARS_MAX).into_owned();
        if !parts.contains(&note) {
            parts.push(note);
        }
    }
    parts.join("; ")
}

fn operation(
    caller: &CallContext,
    origin: CallOrigin<'_>,
    plans: &[FilePlan],
    done: &[LoggedChange<'_>],
    made: &[PathBuf],
) -> Operation {
    let left_out = plans.iter().any(|plan| !plan.outcome.failed.is_empty());
    let merged = plans.iter().any(|plan| plan.outcome.merged);
    let is_secret = done.iter().any(|done| policy::is_secret(&done.plan.path));
    let note = if merged && origin.remark.is_empty() { "merged with changes made meanwhile" } else { origin.remark };
    let tolerances = if origin.is_an_edit() && !is_secret { tolerances(plans) } else { String::new() };
    let note = [note, &tolerances].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    Operation {
        session: caller.session.clone(),
        tool: origin.tool.to_owned(),
        format: origin.format.to_owned(),
        digest: origin.digest,
        note,
        role: origin.role,
        also_undoes: origin.also.to_vec(),
        outcome: if left_out { OperationOutcome::Partial } else { OperationOutcome::Done },
        keeps_content: !is_secret,
        files: done.iter().map(|done| done.change.clone()).collect(),
        created_dirs: made.iter().map(|folder| folder.as_os_str().as_bytes().to_vec()).collect(),
    }
}

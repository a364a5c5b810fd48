//! Undo of everything that some operations did to one file. The rest of them stays, so it is logged as an edit.

use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::model::call_origin::CallOrigin;
use crate::model::reply::Answer;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::pipeline::report::rendered::render_receipts;
use crate::pipeline::run::plan_and_commit;
use crate::session::in_doubt::wait_for_in_doubt;
use crate::tools::undo::file_states::{
    current_state, difference, history_content, is_same_content, logged_place, not_kept, putting, with_same_codec,
};
use crate::tools::undo::refusals::{nothing_to_do, still_running};
use crate::tools::undo::reversal;
use emendate_core::{Code, Error, Result};
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileKind, FileState, LogEntry, Operation, OperationId};
use std::collections::BTreeSet;
use std::iter::once;

/// Operations that a note names; of more, it says how many there are.
const NAMED_OPERATIONS_MAX: usize = 3;

/// The advice for a file that others changed since.
const RESTORE_INSTEAD: &str = "Restore a version of it on the page of the file, or make the change with an edit.";

/// Undoes what operations of one root, the newest first, did to the file at a path. A file that they moved goes back to
/// where it was. Changes of others are kept, or the call is refused.
///
/// Errors: `operation.conflict` if the file cannot be reversed as it is now, and others of an undo.
pub(crate) fn undo_of_file(call: Call<'_>, root: usize, all: &[LogEntry], path: &[u8]) -> Result<Answer> {
    wait_for_in_doubt(&call)?;
    let parts = parts_of_file(all, path);
    if let Some(running) = parts.iter().find(|logged| logged.owner.is_some()) {
        return Err(still_running(running));
    }
    if parts.is_empty() {
        return Err(Error::new(Code::OperationMissing, "Nothing that these operations did to the file is in effect.")
            .next("Reload the page."));
    }
    let place = logged_place(&call, path)?;
    let ids: Vec<OperationId> = parts.iter().map(|logged| logged.id).collect();
    let target = FileOfOperations { place: &place, ids: &ids, is_redo: false };
    target.commit(call, parts.as_slice(), || {
        reversal::plans(call, root, &parts).map_err(|error| match error.code() {
            Code::OperationConflict => error.next(RESTORE_INSTEAD),
            _ => error,
        })
    })
}

/// Puts a file that has exactly the state of one side of a change into the state of the other side. `last` is the
/// operation that the change ends with; a redo leads from the state before to the state after.
///
/// Errors: `operation.conflict` if the file is in another state.
pub(crate) fn exchange_file(
    call: Call<'_>,
    root: usize,
    last: &LogEntry,
    file: &FileChange,
    is_redo: bool,
) -> Result<Answer> {
    wait_for_in_doubt(&call)?;
    if last.owner.is_some() {
        return Err(still_running(last));
    }
    let place = logged_place(&call, &file.path)?;
    let ids = [last.id];
    let target = FileOfOperations { place: &place, ids: &ids, is_redo };
    target.commit(call, std::slice::from_ref(last), || {
        let plan = target.exchanged(call, root, last, file)?;
        if plan.writes() {
            return Ok(vec![plan]);
        }
        Err(nothing_to_do("The file is already as it would be.", place.shown()))
    })
}

/// A file of which everything that some operations did is undone or redone.
#[derive(Clone, Copy)]
struct FileOfOperations<'a> {
    place: &'a SafePath,
    ids: &'a [OperationId],
    is_redo: bool,
}

impl FileOfOperations<'_> {
    /// Commits what `plans` returns, and renders the reply. All files of `parts` are locked.
    fn commit(
        self,
        call: Call<'_>,
        parts: &[LogEntry],
        plans: impl FnMut() -> Result<Vec<FilePlan>>,
    ) -> Result<Answer> {
        let dry_run = call.caller.dry_run;
        let of = self.operations();
        let remark = format!("{} the changes of the file in {of}", if self.is_redo { "redid" } else { "undid" });
        let (path, kind) = (self.place.absolute(), [u8::from(self.is_redo)]);
        let origin = CallOrigin::of_parts("undo", &[self.place.shown().as_bytes(), of.as_bytes(), &kind]);
        let origin = CallOrigin { remark: &remark, restores: true, ..origin };
        let paths = super::reversed_files::paths(parts).chain(once(path));
        let turns = call.lock_paths(paths);
        let receipts = plan_and_commit(call, origin, dry_run, plans)?;
        if !dry_run && !self.is_redo {
            super::remove_made(&call, parts);
        }
        drop(turns);
        let verb = match (self.is_redo, dry_run) {
            (false, false) => "Undone",
            (false, true) => "Would be undone",
            (true, false) => "Made again",
            (true, true) => "Would be made again",
        };
        let summary = format!("{verb}: the changes of {} in {of}.\n", self.place.shown());
        let fields = [("summary", summary.trim_end().into())];
        Ok(render_receipts(&call, receipts).into_answer(dry_run, &summary, fields))
    }

    /// Names the operations.
    fn operations(self) -> String {
        let names: Vec<String> = self.ids.iter().map(ToString::to_string).collect();
        match &*names {
            [id] => format!("operation {id}"),
            names if names.len() <= NAMED_OPERATIONS_MAX => format!("operations {}", names.join(", ")),
            names => format!("{} operations", names.len()),
        }
    }

    /// Plans the other state of a file that is exactly in one state of a change.
    fn exchanged(self, call: Call<'_>, root: usize, last: &LogEntry, file: &FileChange) -> Result<FilePlan> {
        let (from, to) = if self.is_redo { (file.before, file.after) } else { (file.after, file.before) };
        let now = current_state(&call, self.place)?;
        if !is_same_content(&now, from) {
            return Err(self.changed_since(call, root, from, &now));
        }
        let Some(to) = to else {
            return Ok(FilePlan::replace_entry(self.place.clone(), now, TargetState::Nothing));
        };
        if is_same_content(&now, Some(to)) && to.kind == FileKind::Link {
            return Ok(FilePlan::replace_entry(self.place.clone(), CurrentState::Nothing, TargetState::Nothing));
        }
        let bytes = history_content(&call, root, to, now.file())?.ok_or_else(|| not_kept(self.place, last))?;
        // A mode that somebody set since stays.
        let mode = from.filter(|from| from.mode != to.mode && now.mode() == Some(from.mode)).map(|_| to.mode);
        let attributes = match now {
            CurrentState::File(_) => None,
            CurrentState::Nothing | CurrentState::Link(_) => file.attributes.clone(),
        };
        let plan = putting(call, self.place.clone(), now, bytes, to, attributes);
        let mode = mode.filter(|_| to.kind == FileKind::Regular).or(plan.mode);
        Ok(FilePlan { mode, ..plan })
    }

    fn changed_since(self, call: Call<'_>, root: usize, from: Option<FileState>, now: &CurrentState) -> Error {
        let verb = if self.is_redo { "made again" } else { "undone" };
        let what = match now {
            CurrentState::Nothing => "the file is gone.",
            _ if from.is_none() => "another file is there now.",
            _ => "the file changed since then.",
        };
        let what = format!("The changes of the file in {} cannot be {verb}: {what}", self.operations());
        let error = Error::new(Code::OperationConflict, what).evidence(self.place.shown()).next(RESTORE_INSTEAD);
        let (Some(from), CurrentState::File(now)) = (from, now) else { return error };
        match history_content(&call, root, from, Some(now)) {
            Ok(Some(left)) if !now.snapshot.is_binary() => {
                error.evidence(difference(self.place, &with_same_codec(&now.snapshot, left), &now.snapshot))
            }
            _ => error,
        }
    }
}

/// Returns operations without everything that has nothing to do with the file at a path. A file that was moved has
/// several paths.
fn parts_of_file(all: &[LogEntry], path: &[u8]) -> Vec<LogEntry> {
    let mut paths: BTreeSet<&[u8]> = BTreeSet::from([path]);
    loop {
        let before = paths.len();
        for file in all.iter().flat_map(|logged| &logged.operation.files) {
            let Some(from) = file.moved_from.as_deref() else { continue };
            if paths.contains(from) || paths.contains(&*file.path) {
                paths.extend([from, &*file.path]);
            }
        }
        if paths.len() == before {
            break;
        }
    }
    let parts = all.iter().map(|logged| {
        let files = logged.operation.files.iter().filter(|file| paths.contains(&*file.path)).cloned().collect();
        let is_above = |folder: &&Vec<u8>| paths.iter().any(|path| log_path(path).starts_with(log_path(folder)));
        let created_dirs = logged.operation.created_dirs.iter().filter(is_above).cloned().collect();
        LogEntry { operation: Operation { files, created_dirs, ..logged.operation.clone() }, ..logged.clone() }
    });
    parts.filter(|logged| !logged.operation.files.is_empty()).collect()
}

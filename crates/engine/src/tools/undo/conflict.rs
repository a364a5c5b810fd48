//! Refusals of an undo because of what the files are now. Their advice names a call only if that call would work.

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::context::history_stores::{key, log_path};
use crate::model::raw_path;
use crate::pipeline::plan::file_plan::CurrentState;
use crate::session::outside::{FoundContent, record_outside_changes};
use crate::tools::undo::carried::MovedFile;
use crate::tools::undo::file_states::{difference, history_content, is_same_content, with_same_codec};
use crate::tools::undo::later_move::{later_move, take_back_move};
use crate::tools::undo::select::is_foreign;
use emendate_core::{Advice, Code, Error, Phrase, Result, Snapshot, advice};
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileState, LogEntry, OperationFilter, OwnedByteReplacement};
use serde_json::json;

/// Replacements of an operation that a refusal names.
const NAMED_REPLACEMENTS_MAX: usize = 3;
/// Bytes of each of their texts.
const NAMED_TEXT_BYTES_MAX: usize = 200;

/// A file for which an operation cannot be undone.
#[derive(Clone, Copy)]
pub(super) struct UndoConflict<'a> {
    pub(super) call: Call<'a>,
    /// Index of the root whose history has the operation.
    pub(super) root: usize,
    pub(super) logged: &'a LogEntry,
    pub(super) path: &'a SafePath,
}

impl UndoConflict<'_> {
    /// Creates the error for a file that changed since. `seen` is the version that the operation left.
    pub(super) fn changed_since(&self, now: &LoadedFile, seen: &Snapshot) -> Error {
        self.refuse("the file changed since then, at the same place, or too much to compare.", Some(now))
            .evidence(difference(self.path, seen, &now.snapshot))
    }

    /// Creates the error for a file that is no longer in the state after the operation.
    pub(super) fn not_as_left(&self, left: Option<FileState>, now: &CurrentState, what: &str) -> Error {
        let error = self.refuse(what, now.file());
        let (Some(left), CurrentState::File(now)) = (left, now) else { return error };
        match history_content(&self.call, self.root, left, Some(now)) {
            Ok(Some(left)) if !now.snapshot.is_binary() => {
                error.evidence(difference(self.path, &with_same_codec(&now.snapshot, left), &now.snapshot))
            }
            _ => error,
        }
    }

    /// Creates the error for a path at which nothing is. `path` is that of the log, `restored` the file before the
    /// operation.
    pub(super) fn gone(&self, path: &[u8], restored: &SafePath) -> Error {
        if let Some(moved) = later_move(self.call, self.root, path, self.logged.id) {
            return self.error(&format!("{}.", moved.description())).next(moved.advice(self.call, self.logged.id));
        }
        let restore = self.has_version_before(restored, None).then(|| {
            let restore = self.restore_call(restored);
            advice!["To put the file back as it was before this operation, call ", restore, "."]
        });
        self.error("the file is gone.").next(self.ways_back(restore, self.removal()))
    }

    /// Creates the error for a file that the operation created, and that others moved to another path since.
    pub(super) fn moved_away(&self, moved: &MovedFile) -> Error {
        let by = self.call.history(self.root).operation(moved.by.into()).ok().flatten();
        let what = format!("operation {} moved the file that it created to {}.", moved.by, moved.place.shown());
        let instead = "Remove the file there";
        self.error(&what).next(take_back_move(self.call, instead, moved.by, by.as_ref(), self.logged.id))
    }

    /// Returns the advice to put a file back that is gone, so that a part of it can be undone or redone.
    pub(super) fn put_back(&self) -> Advice {
        let removal = self.removal();
        let restore = removal.as_ref().and_then(|removed| {
            let removal = UndoConflict { logged: removed, ..*self };
            let restore = || removal.restore_call(self.path);
            removal.has_version_before(self.path, None).then(|| {
                advice![
                    "To put the file back as it was before it was removed, call ",
                    restore(),
                    "; then repeat this call."
                ]
            })
        });
        self.ways_back(restore, removal)
    }

    /// Adds the other ways to put a file back to the call that restores it.
    fn ways_back(&self, restore: Option<Advice>, removal: Option<LogEntry>) -> Advice {
        // A client without `restore` can undo the operation that removed the file, if it is not that of another session.
        let removal = removal.filter(|removed| !is_foreign(removed, &self.call.caller.session));
        let calls = [
            restore,
            removal.map(|removed| {
                let undo = Phrase::Call("undo", json!({ "id": removed.id.to_string() }));
                advice!["Call ", undo, ", which puts the removed file back; then repeat this call."]
            }),
            Some(advice!["Create the file again with ", Phrase::Tool("write"), "."]),
            Some(Advice::from("Create the file again with an edit.")),
        ];
        calls.into_iter().flatten().reduce(Advice::or).unwrap_or_default()
    }

    /// Returns whether the history has the version of a file before the operation.
    fn has_version_before(&self, path: &SafePath, now: Option<&LoadedFile>) -> bool {
        // A path behind a link that was a directory then is not in the history.
        let before = self.logged.operation.file(key(path)).and_then(|change| change.before);
        before.is_some_and(|before| matches!(history_content(&self.call, self.root, before, now), Ok(Some(_))))
    }

    /// True for a file that is as it was before the operation, although other files are not.
    fn is_as_before(&self, now: Option<&LoadedFile>) -> bool {
        let before = self.logged.operation.file(key(self.path)).and_then(|change| change.before);
        before.zip(now).is_some_and(|(before, now)| before.content == now.snapshot.id())
    }

    /// The call that restores the version of a file before the operation.
    fn restore_call(&self, path: &SafePath) -> Phrase {
        Phrase::Call("restore", raw_path::call(path.absolute(), json!({ "id": format!("{}^", self.logged.id) })))
    }

    /// Returns the operation that removed the file.
    fn removal(&self) -> Option<LogEntry> {
        // The history knows of a removal by others only once the file was looked for.
        record_outside_changes(&self.call, &[FoundContent { path: self.path, content: None }]);
        let filter = OperationFilter::newest_of(key(self.path), 1);
        let newest = self.call.history(self.root).operations(&filter).ok()?.pop()?;
        let is_removal = newest.operation.files.iter().any(|file| file.path == key(self.path) && file.after.is_none());
        (is_removal && newest.owner.is_none()).then_some(newest)
    }

    /// Refuses a file behind a link that was a directory when the operation was done, unless it is the file that the
    /// operation left: another file with that name has no part in it.
    ///
    /// Errors: `operation.conflict`.
    pub(super) fn check_links(&self, change: &FileChange, now: &CurrentState) -> Result<()> {
        let is_followed = self.path.absolute() != log_path(&change.path);
        if !is_followed || matches!(now, CurrentState::Nothing) || is_same_content(now, change.after) {
            return Ok(());
        }
        Err(self.refuse("its path leads through a link now, to another file.", now.file()))
    }

    /// Creates the error with the advice to restore the file, if its earlier content is available.
    pub(super) fn refuse(&self, what: &str, now: Option<&LoadedFile>) -> Error {
        let error = self.error(what);
        // A file that the operation created is not there in the version before it.
        let effect = if self.logged.operation.file(key(self.path)).is_some_and(|change| change.before.is_none()) {
            "Keep the file; or, to remove it with the later changes, call "
        } else if self.has_version_before(self.path, now) && !self.is_as_before(now) {
            "Make the change with an edit; or, to put the whole file back, call "
        } else {
            return self.with_replacements(error).next("Make the change with an edit.");
        };
        let restore = self.restore_call(self.path);
        error.next(advice![effect, restore, "."].or("Read the file and make the change with an edit."))
    }

    fn error(&self, what: &str) -> Error {
        let id = self.logged.id;
        Error::new(Code::OperationConflict, format!("Operation {id} cannot be undone: {what}"))
            .evidence(self.path.shown())
            .fact("operation", id.to_string())
    }

    /// Adds the texts that the operation replaced, as far as they are short. The log has them, also if it has neither
    /// version of the file.
    fn with_replacements(&self, error: Error) -> Error {
        let sides = self.logged.operation.file(key(self.path)).and_then(|change| change.before.zip(change.after));
        let found = sides.and_then(|(before, after)| {
            self.call.history(self.root).replacements(after.content, before.content).ok().flatten()
        });
        let all = found.unwrap_or_default();
        let named: Vec<String> = all.iter().map_while(described).take(NAMED_REPLACEMENTS_MAX).collect();
        if named.is_empty() {
            return error;
        }
        let more = all.len() - named.len();
        let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
        error.evidence(format!("It replaced:\n{}{more}", named.join("\n")))
    }
}

/// Describes a replacement of the operation, whose `old` is what an undo would remove; `None` for one that is not short
/// text.
fn described(undo: &OwnedByteReplacement) -> Option<String> {
    let text = |bytes: &[u8]| {
        let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= NAMED_TEXT_BYTES_MAX)?;
        Some(format!("{text:?}"))
    };
    Some(format!("{} with {}, at byte {}", text(&undo.new)?, text(&undo.old)?, undo.at))
}

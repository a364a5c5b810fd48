//! Undo and redo of what was done to one file in a scope, for a person who saw its difference.

use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::call_origin::CallOrigin;
use crate::model::hunk_numbers::HUNKS_PER_CALL_MAX;
use crate::model::reply::Answer;
use crate::tools::history::in_one_list;
use crate::tools::review::Review;
use crate::tools::review::difference::{FileDifference, difference_of};
use crate::tools::review::scope::{ChangeScope, changes_of, operations_of};
use crate::tools::review::turn::{effective_operations, turn_of};
use crate::tools::undo::file_states::is_regular;
use crate::tools::undo::hunks::change_merged_hunks;
use crate::tools::undo::select::{self, OperationRef};
use crate::tools::undo::whole_file::{exchange_file, undo_of_file};
use emendate_core::{Code, Error, Result};
use emendate_history::{FileChange, LogEntry};
use emendate_os::ffi::OsStrExt as _;
use std::path::Path;

/// A change of one file in a scope, as a person saw it.
#[derive(Clone, Copy, Debug)]
pub struct ShownChange<'a> {
    /// The scope.
    pub scope: &'a ChangeScope,
    /// The file.
    pub path: &'a Path,
    /// The versions that were compared, as [`FileView::versions`](crate::FileView::versions) names them; `None` if they
    /// are not checked.
    pub versions: Option<&'a str>,
}

/// The change of a file in a scope, as it is now.
#[derive(Clone, Debug)]
pub(crate) struct FoundChange {
    /// Index of the root whose log has the newest operation on the file.
    pub(crate) root: usize,
    pub(crate) file: FileChange,
    /// The operations of the scope on the file, each with the root of its log, the newest first.
    operations: Vec<(usize, LogEntry)>,
    /// Others changed the file during the turn that the scope is.
    has_changes_by_others: bool,
}

impl ShownChange<'_> {
    /// Finds the change.
    ///
    /// Errors: `operation.not_found` for a file that is not in the scope; `conflict.raced` if it is another change now.
    pub(crate) fn find(&self, call: Call<'_>) -> Result<FoundChange> {
        let of_roots = operations_of(&call, self.scope)?;
        let changes = changes_of(self.scope, &of_roots);
        let (root, file) = changes.of(self.path)?.clone();
        if let Some(versions) = self.versions {
            changes.check_shown(Some(self.path), versions)?;
        }
        let touches = |logged: &LogEntry| logged.operation.files.iter().any(|of| of.path == file.path);
        let operations = in_one_list(&of_roots).into_iter().filter(|(_, logged)| touches(logged));
        let operations = operations.map(|(root, logged)| (root, logged.clone())).collect();
        let has_changes_by_others = changes.has_changes_by_others(self.path);
        Ok(FoundChange { root, file, operations, has_changes_by_others })
    }

    /// Checks that the hunks of a change are those of its operations.
    ///
    /// Errors: `call.invalid` if others changed the file in between.
    pub(crate) fn check_hunks(&self, found: &FoundChange) -> Result<()> {
        if !found.has_changes_by_others {
            return Ok(());
        }
        let what = format!(
            "Others changed {} during the turn, so its parts are not those of the turn alone.",
            emendate_fs::shown(self.path)
        );
        Err(Error::new(Code::CallInvalid, what)
            .next("Undo all that the turn did to the file, or parts of it on the pages of the operations."))
    }
}

impl FoundChange {
    /// Returns the newest operation on the file.
    fn newest(&self) -> Result<&LogEntry> {
        let newest = self.operations.first().map(|(_, logged)| logged);
        newest.ok_or_else(|| Error::new(Code::OperationMissing, "None of these operations changed the file."))
    }

    /// Checks that no operation moved the file.
    ///
    /// Errors: `call.invalid`.
    fn check_not_moved(&self) -> Result<()> {
        let path = &self.file.path;
        let moves = |file: &FileChange| {
            file.moved_from.is_some() && (file.path == *path || file.moved_from.as_ref() == Some(path))
        };
        let Some((_, by)) = self.operations.iter().find(|(_, logged)| logged.operation.files.iter().any(moves)) else {
            return Ok(());
        };
        let what = format!("Operation {} moved the file, so what is at this path alone is not put back.", by.id);
        Err(Error::new(Code::CallInvalid, what)
            .next(format!("Open operation {}, and undo or redo it, or the file in it.", by.id)))
    }
}

impl Review<'_> {
    /// Undoes or redoes the change of one file in a scope: its hunks of these numbers, or all of it. What others changed
    /// since is kept, or the call is refused.
    ///
    /// Errors: `operation.not_found` for a file that is not in the scope; `conflict.raced` for changes that are not those
    /// that were shown; those of an undo.
    pub fn reverse_change(
        &self,
        caller: &CallContext,
        shown: ShownChange<'_>,
        hunks: Option<&[usize]>,
        redo: bool,
    ) -> Result<Answer> {
        Call::new(self.context, caller).metered(|call| {
            let found = shown.find(call)?;
            if let Some(numbers) = hunks {
                shown.check_hunks(&found)?;
                return reverse_hunks(call, found, numbers, redo);
            }
            let path = shown.path.as_os_str().as_bytes();
            match (shown.scope, redo) {
                (ChangeScope::Operation(_), false) => undo_of_file(call, found.root, &[found.newest()?.clone()], path),
                (ChangeScope::Turn(id), false) => {
                    let (root, operations) = effective_entries(call, id)?;
                    undo_of_file(call, root, &operations, path)
                }
                _ => reverse_merged(call, shown, found, redo),
            }
        })
    }
}

/// Undoes or redoes hunks.
fn reverse_hunks(call: Call<'_>, found: FoundChange, numbers: &[usize], redo: bool) -> Result<Answer> {
    let newest = found.newest()?.clone();
    let (id, named) = (newest.id.to_string(), format!("{numbers:?}"));
    let origin = CallOrigin::of_parts("undo", &[&found.file.path, id.as_bytes(), named.as_bytes()]);
    change_merged_hunks(call, origin, (found.root, newest), found.file, numbers, redo)
}

/// Undoes or redoes the change that the operations of a scope made together.
fn reverse_merged(call: Call<'_>, shown: ShownChange<'_>, found: FoundChange, redo: bool) -> Result<Answer> {
    found.check_not_moved()?;
    let count = if is_regular(&found.file) { hunk_count(call, found.root, &found.file)? } else { None };
    if let Some(count) = count.filter(|count| *count > 0) {
        shown.check_hunks(&found)?;
        let numbers: Vec<usize> = (1..=count).collect();
        return reverse_hunks(call, found, &numbers, redo);
    }
    exchange_file(call, found.root, found.newest()?, &found.file, redo)
}

/// Returns the operations of a turn that are in effect, the newest first, with the root of their log.
fn effective_entries(call: Call<'_>, id: &str) -> Result<(usize, Vec<LogEntry>)> {
    let mut of_root = 0;
    let mut entries = Vec::new();
    for id in effective_operations(&call, &turn_of(&call, id)?)? {
        let (root, logged) = select::operation(&call, OperationRef::read_name(&id)?)?;
        of_root = root;
        entries.push(logged);
    }
    Ok((of_root, entries))
}

/// Returns the number of hunks of a change; `None` if it is not text, or has more than one call may undo.
fn hunk_count(call: Call<'_>, root: usize, file: &FileChange) -> Result<Option<usize>> {
    Ok(match difference_of(call, root, file, None, 0)? {
        FileDifference::Text(text) if text.hunks.len() <= HUNKS_PER_CALL_MAX => Some(text.hunks.len()),
        _ => None,
    })
}

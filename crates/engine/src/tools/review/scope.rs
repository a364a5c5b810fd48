//! The changes that are reviewed together: one operation, a turn, or everything between two moments.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::model::call_context::CallContext;
use crate::model::call_origin::CallOrigin;
use crate::model::hunk_numbers::HUNKS_PER_CALL_MAX;
use crate::model::raw_path::RAW_PATH_FIELD;
use crate::model::reply::Answer;
use crate::tools::history::operation_list::{from_its_source, visible_files};
use crate::tools::history::{merged_changes, operations_between};
use crate::tools::remarks::{Comment, ReviewedFile, remarks_on};
use crate::tools::review::Review;
use crate::tools::review::difference::{FileDifference, difference_of};
use crate::tools::review::operations::{FileView, file_view};
use crate::tools::review::turn::turn_of;
use crate::tools::review::workspace::below_root;
use crate::tools::undo::file_states::is_regular;
use crate::tools::undo::hunks::change_merged_hunks;
use crate::tools::undo::restore::restore;
use crate::tools::undo::select::{self, OperationRef};
use data_encoding::BASE64;
use emendate_core::{Code, Error, Result};
use emendate_history::{FileChange, LogEntry, OperationId};
use emendate_os::ffi::OsStrExt as _;
use serde_json::json;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Changes that are reviewed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeScope {
    /// The changes of an operation.
    Operation(String),
    /// The changes of the turn that an operation belongs to.
    Turn(String),
    /// The changes between two moments: marks, operations, or `now`.
    Between(String, String),
}

/// The changes of a scope, computed once for several queries.
#[derive(Clone, Debug, Default)]
pub struct ScopeChanges {
    /// Each with its root, sorted by path.
    changes: Vec<(usize, FileChange)>,
    /// The operation, with its root, if the scope is one.
    operation: Option<(usize, OperationId)>,
    /// Otherwise, by root and path, the numbers of the operations that alone changed a file.
    origins: HashMap<(usize, Vec<u8>), u64>,
}

/// The remarks of a person on the operation of a scope.
#[derive(Clone, Debug, Default)]
pub struct ScopeRemarks {
    /// The operation; `None` for the changes of several, which have no remarks.
    pub operation: Option<String>,
    /// The reviewed hunks of its files.
    pub reviewed: Vec<ReviewedFile>,
    /// The comments, the oldest first.
    pub comments: Vec<Comment>,
}

impl ScopeChanges {
    /// Returns the number of the operation that alone made the change of a file.
    pub(crate) fn origin(&self, root: usize, file: &FileChange) -> Option<u64> {
        match &self.operation {
            Some((_, id)) => Some(id.number),
            None => self.origins.get(&(root, file.path.clone())).copied(),
        }
    }

    /// Finds the change of a file.
    ///
    /// Errors: `operation.not_found`.
    pub(crate) fn of(&self, path: &Path) -> Result<&(usize, FileChange)> {
        let bytes = path.as_os_str().as_bytes();
        let at = self.changes.binary_search_by(|(_, file)| (*file.path).cmp(bytes));
        at.ok().and_then(|at| self.changes.get(at)).ok_or_else(|| {
            let what = format!("{} is not among these changes.", emendate_fs::shown(path));
            Error::new(Code::OperationMissing, what).next("Choose a file of the list.")
        })
    }
}

/// The files of a scope.
#[derive(Clone, Debug, Default)]
pub struct ScopeFiles {
    /// The number of all files.
    pub total: usize,
    /// The number of added lines.
    pub added: u64,
    /// The number of removed lines.
    pub removed: u64,
    /// Some of them, in the order of their paths.
    pub files: Vec<FileView>,
}

/// The sums of the files below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSums {
    /// The path relative to its root: several directories if each has only the next one.
    pub path: PathBuf,
    /// The number of files.
    pub files: usize,
    /// The number of added lines.
    pub added: u64,
    /// The number of removed lines.
    pub removed: u64,
}

/// The entries of a directory of a scope.
#[derive(Clone, Debug, Default)]
pub struct ScopeFolder {
    /// The directories directly below it, in order, at most 1000.
    pub folders: Vec<FolderSums>,
    /// The files directly in the directory, each with its position among all of the scope, at most 1000.
    pub files: Vec<(usize, FileView)>,
    /// Entries that are not listed.
    pub omitted: usize,
}

/// Entries of a directory that are listed.
const FOLDER_ENTRIES_MAX: usize = 1000;

impl Review<'_> {
    /// Finds the changes of a scope.
    ///
    /// Errors: `operation.not_found`, `call.invalid`, and those of the session store.
    pub fn scope_changes(&self, scope: &ChangeScope) -> Result<ScopeChanges> {
        Ok(changes_of(scope, &operations_of(self.context, scope)?))
    }

    /// Returns the files of a scope that are in `part` of the list sorted by path, and the line counts of all files.
    /// `wanted` selects the files to list and to count; without it, all are.
    pub fn scope_files(
        &self,
        changes: &ScopeChanges,
        wanted: Option<&dyn Fn(&FileView) -> bool>,
        part: Range<usize>,
    ) -> ScopeFiles {
        let mut out = ScopeFiles::default();
        for (_, file) in &changes.changes {
            let is_shown = part.contains(&out.total);
            let view = (is_shown || wanted.is_some()).then(|| file_view(self.context, file));
            if !view.as_ref().is_none_or(|view| wanted.is_none_or(|wanted| wanted(view))) {
                continue;
            }
            out.added += file.added;
            out.removed += file.removed;
            out.files.extend(view.filter(|_| is_shown));
            out.total += 1;
        }
        out
    }

    /// Returns one file of a scope.
    ///
    /// Errors: `operation.not_found`.
    pub fn scope_file(&self, changes: &ScopeChanges, path: &Path) -> Result<FileView> {
        let (_, file) = changes.of(path)?;
        Ok(file_view(self.context, file))
    }

    /// Returns the comments and review marks of a person on the operation of a scope.
    ///
    /// Errors: those of the session store.
    pub fn scope_remarks(&self, changes: &ScopeChanges) -> Result<ScopeRemarks> {
        let Some((root, id)) = changes.operation else { return Ok(ScopeRemarks::default()) };
        let (reviewed, comments) = remarks_on(self.context, root, id)?;
        Ok(ScopeRemarks { operation: Some(id.to_string()), reviewed, comments })
    }

    /// Returns the content of a directory of a scope: the directories directly below it, with the sums of their files,
    /// and its own files. `folder` is relative to the roots.
    pub fn scope_folder(&self, changes: &ScopeChanges, folder: &Path) -> ScopeFolder {
        let mut out = ScopeFolder::default();
        let roots = self.context.roots();
        for (at, (_, file)) in changes.changes.iter().enumerate() {
            let path = below_root(&roots, log_path(&file.path));
            let Ok(below) = path.strip_prefix(folder) else { continue };
            let mut parts = below.components();
            let (Some(first), Some(_)) = (parts.next(), parts.next()) else {
                if out.files.len() < FOLDER_ENTRIES_MAX {
                    out.files.push((at, file_view(self.context, file)));
                } else {
                    out.omitted += 1;
                }
                continue;
            };
            let name = folder.join(first);
            // The files of a directory follow each other. A directory with a single one below it is joined with it.
            let parent = path.parent().unwrap_or(&path);
            let is_full = out.folders.len() == FOLDER_ENTRIES_MAX;
            match out.folders.last_mut() {
                Some(last) if last.path.starts_with(&name) => {
                    last.files += 1;
                    last.added += file.added;
                    last.removed += file.removed;
                    while !parent.starts_with(&last.path) && last.path != name && last.path.pop() {}
                }
                _ if is_full => out.omitted += 1,
                _ => out.folders.push(FolderSums {
                    path: parent.to_owned(),
                    files: 1,
                    added: file.added,
                    removed: file.removed,
                }),
            }
        }
        out
    }

    /// Undoes or redoes the change of one file in a scope: its hunks of these numbers, or all of it.
    ///
    /// Errors: `operation.not_found` for a file that is not in the scope; those of an undo and of a restore.
    pub fn reverse_change(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        hunks: Option<&[usize]>,
        redo: bool,
    ) -> Result<Answer> {
        Call::new(self.context, caller).metered(|call| {
            let bytes = path.as_os_str().as_bytes();
            let of_roots = operations_of(&call, scope)?;
            let (root, file) = changes_of(scope, &of_roots).of(path)?.clone();
            let operations = of_roots.iter().filter(|(of, _)| *of == root).flat_map(|(_, all)| all);
            let touches = |logged: &&LogEntry| logged.operation.files.iter().any(|file| *file.path == *bytes);
            let operations: Vec<&LogEntry> = operations.filter(touches).collect();
            let (Some(newest), Some(oldest)) = (operations.first(), operations.last()) else {
                return Err(Error::new(Code::OperationMissing, "None of these operations changed the file."));
            };
            let numbers = match hunks {
                Some(numbers) => Some(numbers.to_vec()),
                None if is_regular(&file) && file.moved_from.is_none() => {
                    hunk_count(call, root, &file)?.map(|count| (1..=count).collect())
                }
                None => None,
            };
            let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
                let id = if redo { newest.id.to_string() } else { format!("{}^", oldest.id) };
                let input = json!({ "id": id, RAW_PATH_FIELD: BASE64.encode(bytes) });
                return restore(call, "restore", input);
            };
            let origin = CallOrigin::of_parts(
                "undo",
                &[bytes, newest.id.to_string().as_bytes(), &format!("{numbers:?}").into_bytes()],
            );
            change_merged_hunks(call, origin, (root, (*newest).clone()), file, &numbers, redo)
        })
    }
}

/// Returns the changes of a scope that has these operations.
fn changes_of(scope: &ChangeScope, of_roots: &[(usize, Vec<LogEntry>)]) -> ScopeChanges {
    let mut out = ScopeChanges::default();
    if let (ChangeScope::Operation(_), [(root, all)]) = (scope, of_roots) {
        for logged in all {
            out.operation = Some((*root, logged.id));
            out.changes.extend(visible_files(logged).map(|file| (*root, from_its_source(file, logged))));
        }
    } else {
        out.changes = merged_changes(of_roots, None);
        out.origins = single_origins(of_roots);
    }
    out.changes.sort_by(|(_, left), (_, right)| left.path.cmp(&right.path));
    out
}

/// Returns the number of hunks of a change; `None` if it is not text, or has more than one call may undo.
fn hunk_count(call: Call<'_>, root: usize, file: &FileChange) -> Result<Option<usize>> {
    Ok(match difference_of(call, root, file, None, 0)? {
        FileDifference::Text(text) if text.hunks.len() <= HUNKS_PER_CALL_MAX => Some(text.hunks.len()),
        _ => None,
    })
}

/// Returns the operations of a scope, those of each root with the newest first.
fn operations_of(context: &Context, scope: &ChangeScope) -> Result<Vec<(usize, Vec<LogEntry>)>> {
    Ok(match scope {
        ChangeScope::Operation(id) => {
            let (root, logged) = select::operation(context, OperationRef::read_name(id)?)?;
            vec![(root, vec![logged])]
        }
        ChangeScope::Turn(id) => {
            let turn = turn_of(context, id)?;
            vec![(turn.root, turn.operations)]
        }
        ChangeScope::Between(from, to) => operations_between(context, from, to)?,
    })
}

/// Returns the files that exactly one of some operations changed, with its number.
fn single_origins(of_roots: &[(usize, Vec<LogEntry>)]) -> HashMap<(usize, Vec<u8>), u64> {
    let mut found: HashMap<(usize, Vec<u8>), Option<u64>> = HashMap::new();
    for (root, logged) in of_roots.iter().flat_map(|(root, all)| all.iter().map(|logged| (*root, logged))) {
        for file in &logged.operation.files {
            let number = Some(logged.id.number);
            found.entry((root, file.path.clone())).and_modify(|known| *known = None).or_insert(number);
        }
    }
    found.into_iter().filter_map(|(file, number)| Some((file, number?))).collect()
}

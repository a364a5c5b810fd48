//! The changes that are reviewed together: one operation, a turn, or everything between two moments.

use crate::context::Context;
use crate::context::history_stores::log_path;
use crate::tools::history::operation_list::{from_its_source, visible_files};
use crate::tools::history::{in_one_list, merged_changes, operations_between};
use crate::tools::remarks::{Comment, ReviewedFile, remarks_on};
use crate::tools::review::Review;
use crate::tools::review::operations::{FileView, file_view, versions_of};
use crate::tools::review::turn::turn_of;
use crate::tools::review::workspace::below_root;
use crate::tools::undo::select::{self, OperationRef};
use emendate_core::{Code, ContentId, Error, Result};
use emendate_history::{FileChange, FileState, LogEntry, OperationId};
use emendate_os::ffi::OsStrExt as _;
use std::collections::{HashMap, HashSet};
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
    /// Otherwise, by path, the operations that alone changed a file.
    origins: HashMap<Vec<u8>, LoggedNumber>,
    /// The files of a turn that others changed between two of its operations.
    shared: HashSet<Vec<u8>>,
}

/// The number of an operation of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LoggedNumber {
    root: usize,
    number: u64,
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
            None => self.origins.get(&file.path).filter(|origin| origin.root == root).map(|origin| origin.number),
        }
    }

    /// True for a file of a turn that others changed between two of its operations: its difference has their changes,
    /// too, so its hunks are not those of the turn.
    pub fn has_changes_by_others(&self, path: &Path) -> bool {
        self.shared.contains(path.as_os_str().as_bytes())
    }

    /// Returns a name for the versions of all files before and after the changes.
    pub fn versions(&self) -> String {
        let named: Vec<(&[u8], String)> =
            self.changes.iter().map(|(_, file)| (&*file.path, versions_of(file))).collect();
        // No path has a NUL.
        ContentId::of_pieces(named.iter().flat_map(|(path, versions)| [path, &b"\0"[..], versions.as_bytes(), b"\0"]))
            .to_string()
    }

    /// Checks that the changes of a file, or of all files, are those that a person saw, as
    /// [`FileView::versions`] or [`ScopeChanges::versions`] named them.
    ///
    /// Errors: `operation.not_found` for a file that is not among them; `conflict.raced` if they are others now.
    pub fn check_shown(&self, path: Option<&Path>, versions: &str) -> Result<()> {
        let (of, now) = match path {
            Some(path) => (format!(" of {}", emendate_fs::shown(path)), versions_of(&self.of(path)?.1)),
            None => (String::new(), self.versions()),
        };
        if now == versions {
            return Ok(());
        }
        Err(Error::new(Code::ConflictRaced, format!("The changes{of} are not those that were shown."))
            .evidence("Since then, other operations became part of them.")
            .next("Look at the changes as they are now, and decide again."))
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
}

/// Returns the changes of a scope that has these operations.
pub(crate) fn changes_of(scope: &ChangeScope, of_roots: &[(usize, Vec<LogEntry>)]) -> ScopeChanges {
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
    if matches!(scope, ChangeScope::Turn(_)) {
        out.shared = shared_files(of_roots);
    }
    out.changes.sort_by(|(_, left), (_, right)| left.path.cmp(&right.path));
    out
}

/// Returns the operations of a scope, those of each root with the newest first.
pub(crate) fn operations_of(context: &Context, scope: &ChangeScope) -> Result<Vec<(usize, Vec<LogEntry>)>> {
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

/// Returns the files that exactly one of some operations changed, with that operation.
fn single_origins(of_roots: &[(usize, Vec<LogEntry>)]) -> HashMap<Vec<u8>, LoggedNumber> {
    let mut found: HashMap<Vec<u8>, Option<LoggedNumber>> = HashMap::new();
    for (root, logged) in of_roots.iter().flat_map(|(root, all)| all.iter().map(|logged| (*root, logged))) {
        for file in &logged.operation.files {
            let origin = Some(LoggedNumber { root, number: logged.id.number });
            found.entry(file.path.clone()).and_modify(|known| *known = None).or_insert(origin);
        }
    }
    found.into_iter().filter_map(|(path, origin)| Some((path, origin?))).collect()
}

/// Returns the files of which some operation found another state than the one before it had left.
fn shared_files(of_roots: &[(usize, Vec<LogEntry>)]) -> HashSet<Vec<u8>> {
    let (mut left, mut shared) = (HashMap::new(), HashSet::new());
    for (_, logged) in in_one_list(of_roots).into_iter().rev() {
        for file in &logged.operation.files {
            let content = |state: Option<FileState>| state.map(|state| (state.content, state.kind));
            let found = left.insert(&*file.path, content(file.after));
            if found.is_some_and(|found| found != content(file.before)) {
                shared.insert(file.path.clone());
            }
        }
    }
    shared
}

//! The state of a transaction: its writes in progress, their directories and temporary files.

use emendate_core::ErrorContext;
use emendate_os::fd::AsFd;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use emendate_core::{ContentId, Error, Result};
use emendate_os::fs::OFlags;
use emendate_os::io::Errno;

use super::fd_budget::FdBudget;
use super::journal::TxnRecord;
use super::journal_frame::{JournalFrame, JournalStep, PathState};
use super::lease::LeasedFile;
use super::parent_dir::{CreatedDir, DirKey, ParentDir};
use super::read::{self, READ_FLAGS};
use super::temp::TempFile;
use super::{LocalStore, sys};
use crate::tree_change::TreeChange;
use crate::{Durability, FileMeta, FileWrite, NewState, Precondition, WriteMethod, error};

/// A staged transaction. Dropping it removes what it created, unless it was committed.
pub(super) struct LocalTransaction<'a> {
    pub(super) local: &'a LocalStore,
    pub(super) durability: Durability,
    pub(super) record: TxnRecord<'a>,
    /// Batch number in the temporary names; set for batches even without a journal.
    pub(super) batch: Option<u32>,
    /// Dropped before the directories, whose locks end with them: the next process must not find our files open for
    /// writing.
    pub(super) entries: Vec<StagedFile<'a>>,
    pub(super) folders: Vec<ParentDir<'a>>,
    /// Index of each directory in `folders`, by root and path.
    pub(super) dir_index: HashMap<DirKey<'a>, usize>,
    pub(super) created_dirs: Vec<CreatedDir>,
    /// The parents of the created directories are synced.
    pub(super) created_dirs_synced: bool,
    /// Descriptor budget.
    pub(super) budget: FdBudget,
    /// Paths that change between file and directory; the last entries are theirs, in this order.
    pub(super) tree_changes: Vec<TreeChange>,
    /// Number of writes.
    pub(super) writes: usize,
}

/// One write in progress.
pub(super) struct StagedFile<'a> {
    pub(super) write: &'a FileWrite<'a>,
    pub(super) name: &'a OsStr,
    /// Index into [`LocalTransaction::folders`].
    pub(super) folder: usize,
    /// The new content, or the reserved name of a removed file; `None`: the old file will be overwritten in place.
    pub(super) temp: Option<TempFile>,
    pub(super) notes: Vec<String>,
    /// Set once the change is visible.
    pub(super) published_by: Option<WriteMethod>,
    /// The displaced file, under a lease where available.
    pub(super) displaced: Option<LeasedFile>,
    /// A writer kept the file open beyond the wait, so it is not waited for again.
    pub(super) writer_seen: bool,
    /// The write moves a name of a file that has others, and keeps its content: the name moves, without a copy.
    pub(super) moves_name: bool,
    /// Metadata of the replaced or removed file.
    pub(super) before: Option<FileMeta>,
    /// Metadata of the file after it was overwritten.
    pub(super) meta: Option<FileMeta>,
    /// Content id of a spliced file.
    pub(super) spliced: Option<ContentId>,
    /// The files below it, if it changes between file and directory.
    pub(super) tree: Option<Box<TreeSwap<'a>>>,
}

impl<'a> StagedFile<'a> {
    /// Creates an entry for a write; `folder` is the index of its directory.
    ///
    /// Errors: `path.not_regular` for a root.
    pub(super) fn new(write: &'a FileWrite<'a>, folder: usize) -> Result<StagedFile<'a>> {
        let path = write.path.absolute();
        let name = write.path.relative().file_name().ok_or_else(|| error::not_regular(path, "a directory"))?;
        Ok(StagedFile {
            write,
            name,
            folder,
            temp: None,
            notes: Vec::new(),
            published_by: None,
            displaced: None,
            writer_seen: false,
            moves_name: false,
            before: None,
            meta: None,
            spliced: None,
            tree: None,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.write.path.absolute()
    }

    /// Returns this entry as a step of the journal record.
    pub(super) fn step(&self) -> JournalStep {
        let pieces = self.write.new_state.chunks();
        let old = match self.write.precondition {
            Precondition::Missing => PathState::Missing,
            Precondition::Version { bytes, .. } => {
                PathState::File { content: ContentId::of(bytes), mode: mode_of(self.before) }
            }
            Precondition::Content { content, .. } => PathState::File { content, mode: mode_of(self.before) },
            Precondition::Link { target } => link_state(target),
        };
        let ours = self.temp.as_ref().map(|temp| temp.meta);
        let new_mode = ours.map_or_else(|| self.write.new_state.mode(mode_of(self.before)), |ours| mode_of(Some(ours)));
        let new = match self.write.new_state {
            NewState::Absent => PathState::Missing,
            NewState::Link { target } => link_state(target),
            NewState::File { .. } => {
                PathState::File { content: ContentId::of_pieces(pieces.iter().copied()), mode: new_mode }
            }
            NewState::Spliced { .. } => {
                PathState::File { content: self.spliced.unwrap_or(ContentId::of(b"")), mode: new_mode }
            }
        };
        let (old, new) = match &self.tree {
            Some(swap) if swap.to_directory => (old, swap.tree),
            Some(swap) => (swap.tree, new),
            None => (old, new),
        };
        let temp = self.temp.as_ref().map(|temp| temp.name.clone()).unwrap_or_default();
        let modified = self.before.map_or(0, |before| before.mtime_ns);
        JournalStep { path: self.path().to_owned(), temp, old, modified, new }
    }

    /// Returns the journal frame with the old and new bytes of a file that is overwritten in place; `step` is its
    /// number.
    pub(super) fn bytes(&self, step: usize) -> JournalFrame {
        let old = match self.write.precondition {
            Precondition::Version { bytes, .. } => bytes.to_vec(),
            _ => Vec::new(),
        };
        JournalFrame::Bytes {
            step: u32::try_from(step).unwrap_or(u32::MAX),
            old,
            new: self.write.new_state.chunks().concat(),
        }
    }

    /// True if there is an old file that can be overwritten with new bytes.
    pub(super) fn overwrites(&self) -> bool {
        matches!((self.write.precondition, self.write.new_state), (Precondition::Version { .. }, NewState::File { .. }))
    }
}

/// Returns the state of a symbolic link with this target.
fn link_state(target: &OsStr) -> PathState {
    PathState::Link(ContentId::of(target.as_encoded_bytes()))
}

/// Returns the permission bits of a file, 0 for none.
fn mode_of(meta: Option<FileMeta>) -> u32 {
    meta.map_or(0, |meta| meta.mode & 0o7777)
}

impl Drop for LocalTransaction<'_> {
    fn drop(&mut self) {
        // A rollback has already reported it if this cannot be written.
        let _ = self.record.abort();
        for entry in &mut self.entries {
            if let Some(temp) = &mut entry.temp
                && temp.discard(self.folders[entry.folder].fd.as_fd()).is_err()
            {
                // The record, if there is one, names what is left; recovery will remove it.
                self.record.keep_for_recovery();
            }
        }
        self.created_dirs.iter().rev().for_each(CreatedDir::remove);
        let _ = self.record.close();
    }
}

/// Everything below a path that changes between file and directory.
pub(super) struct TreeSwap<'a> {
    /// The file becomes a directory.
    pub(super) to_directory: bool,
    pub(super) files: Vec<TreeFile<'a>>,
    /// The files below the path with their contents, as recorded.
    pub(super) tree: PathState,
}

/// One write below the path.
pub(super) struct TreeFile<'a> {
    pub(super) entry: StagedFile<'a>,
    pub(super) folder: ParentDir<'a>,
    pub(super) meta: FileMeta,
}

/// Converts an error while writing; adds the numbers if the disk is full.
pub(super) fn failed_write(folder: &ParentDir<'_>, entry: &StagedFile<'_>, doing: &str, errno: Errno) -> Error {
    if errno == Errno::NOENT {
        // The directory is open, so `ENOENT` means that it was removed since.
        return error::raced(entry.path(), "is no longer there: its directory was moved or removed");
    }
    let error = error::os_error(doing, entry.path(), errno);
    let needed = entry.write.new_state.length();
    match sys::fstatvfs(&folder.fd) {
        // File systems without a limit on files say that they can have none.
        Ok(disk) if errno == Errno::NOSPC && disk.f_files > 0 && disk.f_favail == 0 => error
            .evidence(format!("free inodes: 0 of {}; each file and directory takes one.", disk.f_files))
            .next("Remove files that are no longer needed from that file system (their sizes do not matter), then repeat the call."),
        Ok(disk) if matches!(errno, Errno::NOSPC | Errno::DQUOT) => {
            // The space of the temporary file will be free again.
            let temp = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref());
            let ours = temp.and_then(|fd| sys::fstat(fd).ok()).map_or(0, |stat| read::disk_bytes(&stat));
            let free = disk.f_bavail.saturating_mul(disk.f_frsize).saturating_add(ours);
            error
                .evidence(format!(
                    "needed: {} ({needed} bytes), free: {} ({free} bytes).",
                    error::readable_size(needed),
                    error::readable_size(free)
                ))
                .fact("needed", needed)
                .fact("free", free)
                .about(ErrorContext::FullDisk { device: folder.id.0, needed, free, has_quota: errno == Errno::DQUOT })
        }
        _ => error,
    }
}

/// Flags to overwrite a file in place.
pub(super) const OVERWRITE: OFlags = READ_FLAGS.union(OFlags::RDWR);

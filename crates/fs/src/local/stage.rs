//! Staging: new content is written beside its target, with the target's metadata. Nothing is visible yet, and
//! everything is synced before anything becomes visible.

use emendate_core::ErrorContext;
use emendate_os::fd::AsFd;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::Path;

use emendate_core::{Code, ContentId, Error, Result};
use emendate_os::fs::{Mode, OFlags};
use emendate_os::io::Errno;

use super::fd_budget::{FdBudget, SMALL_BATCH_FILES};
use super::journal::TxnRecord;
use super::journal_frame::{JournalFrame, JournalStep, PathState};
use super::lease::LeasedFile;
use super::parent_dir::{self, CreatedDir, DirKey, ParentDir};
use super::read::{self, READ_FLAGS};
use super::temp::{self, TempFile};
use super::tree_swap::{self, TreeSwap};
use super::write_temp::TempOptions;
use super::{LocalStore, splice, sweep, sys, write_temp};
use crate::tree_change::{self, TreeChange};
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
    dir_index: HashMap<DirKey<'a>, usize>,
    pub(super) created_dirs: Vec<CreatedDir>,
    /// The parents of the created directories are synced.
    pub(super) created_dirs_synced: bool,
    /// Descriptor budget.
    pub(super) budget: FdBudget,
    /// Paths that change between file and directory; the last entries are theirs, in this order.
    pub(super) tree_changes: Vec<TreeChange>,
    /// Number of drafts.
    pub(super) drafts: usize,
}

/// One draft in progress.
pub(super) struct StagedFile<'a> {
    pub(super) draft: &'a FileWrite<'a>,
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
    /// Metadata of the replaced or removed file.
    pub(super) before: Option<FileMeta>,
    /// Metadata of the file after it was overwritten.
    pub(super) stamp: Option<FileMeta>,
    /// Content id of a spliced file.
    pub(super) spliced: Option<ContentId>,
    /// The files below it, if it changes between file and directory.
    pub(super) tree: Option<Box<TreeSwap<'a>>>,
}

impl<'a> StagedFile<'a> {
    /// Creates an entry for a draft; `folder` is the index of its directory.
    ///
    /// Errors: `path.not_regular` for a root.
    pub(super) fn new(draft: &'a FileWrite<'a>, folder: usize) -> Result<StagedFile<'a>> {
        let path = draft.path.absolute();
        let name = draft.path.relative().file_name().ok_or_else(|| error::not_regular(path, "a directory"))?;
        Ok(StagedFile {
            draft,
            name,
            folder,
            temp: None,
            notes: Vec::new(),
            published_by: None,
            displaced: None,
            writer_seen: false,
            before: None,
            stamp: None,
            spliced: None,
            tree: None,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.draft.path.absolute()
    }

    /// Returns this entry as a step of the journal record.
    pub(super) fn step(&self) -> JournalStep {
        let pieces = self.draft.new_state.chunks();
        let old = match self.draft.precondition {
            Precondition::Missing => PathState::Missing,
            Precondition::Version { bytes, .. } => {
                PathState::File { content: ContentId::of(bytes), mode: mode_of(self.before) }
            }
            Precondition::Content { content, .. } => PathState::File { content, mode: mode_of(self.before) },
            Precondition::Link { target } => link_state(target),
        };
        let ours = self.temp.as_ref().map(|temp| temp.stamp);
        let new_mode = ours.map_or_else(|| self.draft.new_state.mode(mode_of(self.before)), |ours| mode_of(Some(ours)));
        let new = match self.draft.new_state {
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
        let old = match self.draft.precondition {
            Precondition::Version { bytes, .. } => bytes.to_vec(),
            _ => Vec::new(),
        };
        JournalFrame::Bytes {
            step: u32::try_from(step).unwrap_or(u32::MAX),
            old,
            new: self.draft.new_state.chunks().concat(),
        }
    }

    /// True if there is an old file that can be overwritten with new bytes.
    pub(super) fn overwrites(&self) -> bool {
        matches!((self.draft.precondition, self.draft.new_state), (Precondition::Version { .. }, NewState::File { .. }))
    }
}

/// Returns the state of a symbolic link with this target.
fn link_state(target: &OsStr) -> PathState {
    PathState::Link(ContentId::of(target.as_encoded_bytes()))
}

/// Returns the permission bits of a file, 0 for none.
fn mode_of(stamp: Option<FileMeta>) -> u32 {
    stamp.map_or(0, |stamp| stamp.mode & 0o7777)
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

/// Implements [`Store::stage`](crate::Store::stage).
pub(super) fn stage<'a>(
    local: &'a LocalStore,
    drafts: &'a [FileWrite<'a>],
    durability: Durability,
) -> Result<LocalTransaction<'a>> {
    let journal = local.journal.as_ref().filter(|_| durability != Durability::None);
    let mut plan = LocalTransaction {
        local,
        durability,
        record: TxnRecord::new(journal, durability.syncs()),
        batch: None,
        folders: Vec::new(),
        created_dirs: Vec::new(),
        created_dirs_synced: false,
        budget: FdBudget::for_drafts(local, drafts)?,
        dir_index: HashMap::new(),
        entries: Vec::with_capacity(drafts.len()),
        tree_changes: tree_change::find(drafts)?,
        drafts: drafts.len(),
    };
    let all = drafts;
    let drafts: Vec<&'a FileWrite<'a>> = plan.plain_drafts(all);
    if all.len() > 1 {
        if let Some(draft) = all.iter().find(|draft| matches!(draft.new_state, NewState::Spliced { .. })) {
            return Err(splice::needs_temp_file(
                draft.path.absolute(),
                draft.new_state.length(),
                "it is one of several files",
            ));
        }
        plan.journal_temp_dirs(all)?;
    }
    // A part of a large batch at a time, because of its descriptors.
    for part in drafts.chunks(plan.budget.files_at_once) {
        let first = plan.entries.len();
        part.iter().try_for_each(|&draft| plan.add(draft))?;
        if let Some(folder) = plan.folders.first().filter(|_| first == 0 && drafts.len() > SMALL_BATCH_FILES) {
            sys::grow_fd_table((plan.folders.len() + 2 * part.len()).min(sys::fd_limit() / 2), &folder.fd);
        }
        plan.write_temp_files(first)?;
        if !plan.budget.syncs_late {
            // Everything is written before the first sync, so that the disk can write it in one go.
            plan.sync(first)?;
            plan.entries[first..].iter_mut().filter_map(|entry| entry.temp.as_mut()).for_each(|temp| temp.fd = None);
        }
    }
    for nth in 0..plan.tree_changes.len() {
        plan.add_tree(nth, all)?;
    }
    plan.refuse_twins()?;
    Ok(plan)
}

impl<'a> LocalTransaction<'a> {
    /// Returns the drafts that belong to no path that changes between file and directory.
    fn plain_drafts(&self, all: &'a [FileWrite<'a>]) -> Vec<&'a FileWrite<'a>> {
        let in_trees: BTreeSet<usize> =
            self.tree_changes.iter().flat_map(|change| change.below.iter().copied().chain([change.top])).collect();
        all.iter().enumerate().filter(|(index, _)| !in_trees.contains(index)).map(|(_, draft)| draft).collect()
    }

    /// Adds a path that changes between file and directory, with everything below it.
    fn add_tree(&mut self, nth: usize, all: &'a [FileWrite<'a>]) -> Result<()> {
        let change = &self.tree_changes[nth];
        let (top, below) = (&all[change.top], change.below.iter().map(|&index| &all[index]).collect::<Vec<_>>());
        self.add(top)?;
        let (options, syncs) = (TempOptions { batch: self.batch, flush: false }, self.durability.syncs());
        let index = self.entries.len() - 1;
        let entry = &mut self.entries[index];
        tree_swap::build(self.local, &self.folders[entry.folder], entry, &below, options, syncs)?;
        if self.budget.syncs_late { Ok(()) } else { self.sync(index) }
    }

    fn refuse_twins(&self) -> Result<()> {
        let mut entries: Vec<&StagedFile<'_>> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|entry| (entry.folder, entry.name));
        let twins = entries.windows(2).find(|pair| (pair[0].folder, pair[0].name) == (pair[1].folder, pair[1].name));
        twins.map_or(Ok(()), |pair| Err(error::duplicate_targets(pair[0].path())))
    }

    /// Records in the journal where temporary files will be, before the first is created, so that they are found after
    /// a crash.
    fn journal_temp_dirs(&mut self, drafts: &[FileWrite<'_>]) -> Result<()> {
        if !self.record.has_journal() {
            self.batch = temp::random_batch().ok();
            return Ok(());
        }
        let folders: BTreeSet<&Path> = drafts.iter().filter_map(|draft| draft.path.absolute().parent()).collect();
        folders.into_iter().try_for_each(|folder| self.record.append(&JournalFrame::TempDir(folder.to_owned())))?;
        self.record.sync()?;
        self.batch = self.record.batch();
        Ok(())
    }

    /// Returns the index of the draft's parent directory, opening it if needed.
    fn folder(&mut self, draft: &'a FileWrite<'a>) -> Result<usize> {
        let key = parent_dir::parent_key(draft.path);
        if let Some(index) = key.and_then(|key| self.dir_index.get(&key)) {
            return Ok(*index);
        }
        let folder = match ParentDir::open(self.local, draft.path) {
            Err(error) if error.code() == Code::FileMissing && matches!(draft.precondition, Precondition::Missing) => {
                parent_dir::create_missing(self.local, draft.path, &mut self.created_dirs, &mut self.record)?
            }
            Err(error) if error.code() == Code::FileMissing => {
                return Err(error::raced(
                    draft.path.absolute(),
                    "is no longer there: its directory was moved or removed",
                ));
            }
            other => other?,
        };
        self.batch = self.batch.or(self.record.batch());
        sweep::sweep(self.local, &folder);
        self.dir_index.insert(folder.key, self.folders.len());
        self.folders.push(folder);
        Ok(self.folders.len() - 1)
    }

    /// Adds one draft, with its directory.
    fn add(&mut self, draft: &'a FileWrite<'a>) -> Result<()> {
        let entry = StagedFile::new(draft, 0)?;
        let folder = self.folder(draft)?;
        self.entries.push(StagedFile { folder, ..entry });
        Ok(())
    }

    /// Writes the temporary files of the entries from `first` on; returns the first error.
    fn write_temp_files(&mut self, first: usize) -> Result<()> {
        // Write-back runs during the rest of the work; the threads that sync a large batch start it together instead.
        let early = self.durability.syncs() && self.entries.len() - first < sys::PARALLEL_CALLS_MIN;
        let (local, folders) = (self.local, &self.folders);
        let options = TempOptions { batch: self.batch, flush: early };
        sys::in_parts(&mut self.entries[first..], |part| {
            part.iter_mut().try_for_each(|entry| write_temp::write_entry(local, &folders[entry.folder], entry, options))
        })
        .into_iter()
        .collect::<Result<()>>()
    }

    /// Syncs the temporary files of the entries from `first` on.
    pub(super) fn sync(&self, first: usize) -> Result<()> {
        let entries: Vec<&StagedFile<'_>> = self.entries[first..]
            .iter()
            .filter(|entry| entry.temp.as_ref().is_some_and(|temp| temp.fd.is_some()))
            .collect();
        if self.durability.syncs() {
            let files = entries.iter().filter_map(|entry| Some(entry.temp.as_ref()?.fd.as_ref()?.as_fd()));
            let files: Vec<_> = files.collect();
            // Never repeated: the kernel reports a lost page once and considers it clean afterwards.
            for (entry, synced) in entries.iter().zip(sys::fdatasync_all(&files)) {
                synced.map_err(|errno| failed_write(&self.folders[entry.folder], entry, "sync", errno))?;
            }
        }
        entries.into_iter().try_for_each(|entry| self.read_back(entry))
    }

    /// Reads a temporary file back: some network and virtual file systems have truncated or zeroed what they reported
    /// as written.
    fn read_back(&self, entry: &StagedFile<'_>) -> Result<()> {
        let Some(TempFile { name, stamp, .. }) = &entry.temp else { return Ok(()) };
        if self.local.is_trusted(entry.draft.path.root(), stamp) {
            return Ok(());
        }
        let folder = &self.folders[entry.folder];
        let kept = sys::openat(&folder.fd, name, READ_FLAGS, Mode::empty())
            .and_then(|file| match entry.spliced {
                Some(content) => Ok(splice::content_of(&file, entry.draft.new_state.length())? == Some(content)),
                None => read::same_chunks(&file, entry.draft.new_state.chunks()),
            })
            .map_err(|errno| failed_write(folder, entry, "read back a temporary file beside", errno))?;
        if kept { Ok(()) } else { Err(error::not_read_back(entry.path())) }
    }
}

/// Converts an error while writing; adds the numbers if the disk is full.
pub(super) fn failed_write(folder: &ParentDir<'_>, entry: &StagedFile<'_>, doing: &str, errno: Errno) -> Error {
    if errno == Errno::NOENT {
        // The directory is open, so `ENOENT` means that it was removed since.
        return error::raced(entry.path(), "is no longer there: its directory was moved or removed");
    }
    let error = error::os_error(doing, entry.path(), errno);
    let needed = entry.draft.new_state.length();
    match sys::fstatvfs(&folder.fd) {
        Ok(disk) if error.code() == Code::IoNoSpace => {
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
                .about(ErrorContext::FullDevice(folder.id.0))
        }
        _ => error,
    }
}

/// Flags to overwrite a file in place.
pub(super) const OVERWRITE: OFlags = READ_FLAGS.union(OFlags::RDWR);

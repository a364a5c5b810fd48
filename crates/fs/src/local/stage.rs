//! Staging: new content is written beside its target, with the target's metadata. Nothing is visible yet, and
//! everything is synced before anything becomes visible.

use emendate_os::fd::AsFd;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use emendate_core::{Code, Result, work};
use emendate_os::fs::Mode;

use super::fd_budget::{FdBudget, SMALL_BATCH_FILES};
use super::journal::TxnRecord;
use super::journal_frame::JournalFrame;
use super::parent_dir::{self, ParentDir};
use super::read::{self, READ_FLAGS};
use super::temp::{self, TempFile};
use super::transaction::{LocalTransaction, StagedFile, failed_write};
use super::tree_swap;
use super::write_temp::TempOptions;
use super::{LocalStore, splice, sweep, sys, write_temp};
use crate::tree_change;
use crate::{Durability, FileMeta, FileWrite, NewState, Precondition, error};

/// Implements [`Store::stage`](crate::Store::stage).
pub(super) fn stage<'a>(
    local: &'a LocalStore,
    writes: &'a [FileWrite<'a>],
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
        budget: FdBudget::for_writes(local, writes)?,
        dir_index: HashMap::new(),
        entries: Vec::with_capacity(writes.len()),
        tree_changes: tree_change::find(writes)?,
        writes: writes.len(),
    };
    let all = writes;
    let writes: Vec<&'a FileWrite<'a>> = plan.plain_writes(all);
    if all.len() > 1 {
        if let Some(write) = all.iter().find(|write| matches!(write.new_state, NewState::Spliced { .. })) {
            return Err(splice::needs_temp_file(
                write.path.absolute(),
                write.new_state.length(),
                "it is one of several files",
            ));
        }
        plan.journal_temp_dirs(all)?;
    }
    let removed = RemovedNames::of(all);
    // A part of a large batch at a time, because of its descriptors.
    for part in writes.chunks(plan.budget.files_at_once) {
        let first = plan.entries.len();
        part.iter().try_for_each(|&write| plan.add(write))?;
        plan.entries[first..].iter_mut().for_each(|entry| entry.moves_name = removed.are_moved_by(entry.write));
        if let Some(folder) = plan.folders.first().filter(|_| first == 0 && writes.len() > SMALL_BATCH_FILES) {
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

/// The names that a transaction takes from files with several hard links.
struct RemovedNames<'a> {
    all: &'a [FileWrite<'a>],
    /// The content and metadata of each file, by path.
    by_path: HashMap<&'a Path, (&'a [u8], &'a FileMeta)>,
}

impl<'a> RemovedNames<'a> {
    fn of(all: &'a [FileWrite<'a>]) -> RemovedNames<'a> {
        let removed = all.iter().filter(|write| matches!(write.new_state, NewState::Absent));
        let by_path = removed.filter_map(|write| match write.precondition {
            Precondition::Version { bytes, meta } if meta.links > 1 => Some((write.path.absolute(), (bytes, meta))),
            _ => None,
        });
        RemovedNames { all, by_path: by_path.collect() }
    }

    /// True for a write that gives such a file a name at a free path, and keeps its content. If another write changes
    /// that file, the new name needs a copy of what it contained before.
    fn are_moved_by(&self, write: &FileWrite<'_>) -> bool {
        let NewState::File { chunks, like: Some(like), attributes: None, .. } = write.new_state else { return false };
        let Some((bytes, meta)) = self.by_path.get(like.absolute()) else { return false };
        let changes_it = |other: &FileWrite<'_>| match (other.precondition, other.new_state) {
            (Precondition::Version { meta: other, .. }, NewState::File { .. }) => other.same_file(meta),
            _ => false,
        };
        let mut rest = *bytes;
        let mut follows = |chunk: &&[u8]| rest.strip_prefix(*chunk).map(|left| rest = left).is_some();
        matches!(write.precondition, Precondition::Missing)
            && chunks.iter().all(&mut follows)
            && rest.is_empty()
            && !self.all.iter().any(changes_it)
    }
}

impl<'a> LocalTransaction<'a> {
    /// Returns the writes that belong to no path that changes between file and directory.
    fn plain_writes(&self, all: &'a [FileWrite<'a>]) -> Vec<&'a FileWrite<'a>> {
        let in_trees: BTreeSet<usize> =
            self.tree_changes.iter().flat_map(|change| change.below.iter().copied().chain([change.top])).collect();
        all.iter().enumerate().filter(|(index, _)| !in_trees.contains(index)).map(|(_, write)| write).collect()
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
    fn journal_temp_dirs(&mut self, writes: &[FileWrite<'_>]) -> Result<()> {
        if !self.record.has_journal() {
            self.batch = temp::random_batch().ok();
            return Ok(());
        }
        let folders: BTreeSet<&Path> = writes.iter().filter_map(|write| write.path.absolute().parent()).collect();
        folders.into_iter().try_for_each(|folder| self.record.append(&JournalFrame::TempDir(folder.to_owned())))?;
        self.record.sync()?;
        self.batch = self.record.batch();
        Ok(())
    }

    /// Returns the index of the write's parent directory, opening it if needed.
    fn folder(&mut self, write: &'a FileWrite<'a>) -> Result<usize> {
        let key = parent_dir::parent_key(write.path);
        if let Some(index) = key.and_then(|key| self.dir_index.get(&key)) {
            return Ok(*index);
        }
        let folder = match ParentDir::open(self.local, write.path) {
            Err(error) if error.code() == Code::FileMissing && matches!(write.precondition, Precondition::Missing) => {
                parent_dir::create_missing(self.local, write.path, &mut self.created_dirs, &mut self.record)?
            }
            Err(error) if error.code() == Code::FileMissing => {
                return Err(error::raced(
                    write.path.absolute(),
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

    /// Adds one write, with its directory.
    fn add(&mut self, write: &'a FileWrite<'a>) -> Result<()> {
        let entry = StagedFile::new(write, 0)?;
        let folder = self.folder(write)?;
        self.entries.push(StagedFile { folder, ..entry });
        Ok(())
    }

    /// Writes the temporary files of the entries from `first` on; returns the first error.
    fn write_temp_files(&mut self, first: usize) -> Result<()> {
        // Write-back runs during the rest of the work; the threads that sync a large batch start it together instead.
        let early = self.durability.syncs() && self.entries.len() - first < sys::PARALLEL_CALLS_MIN;
        let (local, folders) = (self.local, &self.folders);
        let options = TempOptions { batch: self.batch, flush: early };
        let meter = work::current();
        sys::in_parts(&mut self.entries[first..], |part| {
            let _entered = meter.as_ref().map(work::Meter::enter);
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
        let Some(TempFile { name, meta, .. }) = &entry.temp else { return Ok(()) };
        if self.local.is_trusted(entry.write.path.root(), meta) {
            return Ok(());
        }
        let folder = &self.folders[entry.folder];
        let kept = sys::openat(&folder.fd, name, READ_FLAGS, Mode::empty())
            .and_then(|file| match entry.spliced {
                Some(content) => Ok(splice::content_of(&file, entry.write.new_state.length())? == Some(content)),
                None => read::same_chunks(&file, entry.write.new_state.chunks()),
            })
            .map_err(|errno| failed_write(folder, entry, "read back a temporary file beside", errno))?;
        if kept { Ok(()) } else { Err(error::not_read_back(entry.path())) }
    }
}

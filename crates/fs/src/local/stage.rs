//! Staging: new content is written beside its target, with the target's metadata. Nothing is visible yet, and
//! everything is synced before anything becomes visible.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use emendate_core::{Code, ContentId, Error, Result};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::aside::TempOptions;
use super::folder::{self, DirKey, Folder, Made};
use super::held::Held;
use super::journal::Book;
use super::look::{self, LOOK};
use super::record::{Frame, State, Step};
use super::room::{FEW, Room};
use super::temp::{self, Temp};
use super::{Local, aside, splice, sweep, sys};
use crate::{Draft, Durability, Expect, Goal, Method, Stamp, fault};

/// A staged transaction. Dropping it removes what it created, unless it was committed.
pub(super) struct Plan<'a> {
    pub(super) local: &'a Local,
    pub(super) durability: Durability,
    pub(super) book: Book<'a>,
    /// Batch number in the temporary names; set for batches even without a journal.
    pub(super) batch: Option<u32>,
    /// Dropped before the directories, whose locks end with them: the next process must not find our files open for
    /// writing.
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) folders: Vec<Folder<'a>>,
    /// Index of each directory in `folders`, by root and path.
    places: HashMap<DirKey<'a>, usize>,
    pub(super) made: Vec<Made>,
    /// The parents of the created directories are synced.
    pub(super) made_synced: bool,
    /// Descriptor budget.
    pub(super) room: Room,
}

/// One draft in progress.
pub(super) struct Entry<'a> {
    pub(super) draft: &'a Draft<'a>,
    pub(super) name: &'a OsStr,
    /// Index into [`Plan::folders`].
    pub(super) folder: usize,
    /// The new content, or the reserved name of a removed file; `None`: the old file will be overwritten in place.
    pub(super) temp: Option<Temp>,
    pub(super) notes: Vec<String>,
    /// Set once the change is visible.
    pub(super) done: Option<Method>,
    /// The displaced file, under a lease where available.
    pub(super) displaced: Option<Held>,
    /// A writer kept the file open beyond the wait, so it is not waited for again.
    pub(super) occupied: bool,
    /// Metadata of the replaced or removed file.
    pub(super) before: Option<Stamp>,
    /// Metadata of the file after it was overwritten.
    pub(super) stamp: Option<Stamp>,
    /// Content id of a spliced file.
    pub(super) spliced: Option<ContentId>,
}

impl Entry<'_> {
    pub(super) fn path(&self) -> &Path {
        self.draft.place.absolute()
    }

    /// Returns this entry as a step of the journal record.
    pub(super) fn step(&self) -> Step {
        let pieces = self.draft.goal.pieces();
        let mode = |stamp: Option<Stamp>| stamp.map_or(0, |stamp| stamp.mode & 0o7777);
        let link = |target: &OsStr| State::Link(ContentId::of(target.as_encoded_bytes()));
        let old = match self.draft.expect {
            Expect::Missing => State::Missing,
            Expect::Version { bytes, .. } => State::File { content: ContentId::of(bytes), mode: mode(self.before) },
            Expect::Content { content, .. } => State::File { content, mode: mode(self.before) },
            Expect::Link { target } => link(target),
        };
        let ours = self.temp.as_ref().map(|temp| temp.stamp);
        let new_mode = ours.map_or_else(|| self.draft.goal.mode(mode(self.before)), |ours| mode(Some(ours)));
        let new = match self.draft.goal {
            Goal::Gone => State::Missing,
            Goal::Link { target } => link(target),
            Goal::File { .. } => State::File { content: ContentId::of_pieces(pieces.iter().copied()), mode: new_mode },
            Goal::Spliced { .. } => State::File { content: self.spliced.unwrap_or(ContentId::of(b"")), mode: new_mode },
        };
        let temp = self.temp.as_ref().map(|temp| temp.name.clone()).unwrap_or_default();
        let modified = self.before.map_or(0, |before| before.mtime_ns);
        Step { path: self.path().to_owned(), temp, old, modified, new }
    }

    /// Returns the journal frame with the old and new bytes of a file that is overwritten in place; `step` is its
    /// number.
    pub(super) fn bytes(&self, step: usize) -> Frame {
        let old = match self.draft.expect {
            Expect::Version { bytes, .. } => bytes.to_vec(),
            _ => Vec::new(),
        };
        Frame::Bytes { step: u32::try_from(step).unwrap_or(u32::MAX), old, new: self.draft.goal.pieces().concat() }
    }

    /// True if there is an old file that can be overwritten with new bytes.
    pub(super) fn overwrites(&self) -> bool {
        matches!((self.draft.expect, self.draft.goal), (Expect::Version { .. }, Goal::File { .. }))
    }
}

impl Drop for Plan<'_> {
    fn drop(&mut self) {
        // A rollback has already reported it if this cannot be written.
        let _ = self.book.abort();
        for entry in &mut self.entries {
            if let Some(temp) = &mut entry.temp
                && temp.discard(self.folders[entry.folder].fd.as_fd()).is_err()
            {
                // The record, if there is one, names what is left; recovery will remove it.
                self.book.leave();
            }
        }
        self.made.iter().rev().for_each(Made::remove);
        let _ = self.book.close();
    }
}

/// Implements [`Store::stage`](crate::Store::stage).
pub(super) fn stage<'a>(local: &'a Local, drafts: &'a [Draft<'a>], durability: Durability) -> Result<Plan<'a>> {
    let journal = local.journal.as_ref().filter(|_| durability != Durability::None);
    let mut plan = Plan {
        local,
        durability,
        book: Book::new(journal, durability.syncs()),
        batch: None,
        folders: Vec::new(),
        made: Vec::new(),
        made_synced: false,
        room: Room::find(local, drafts)?,
        places: HashMap::new(),
        entries: Vec::with_capacity(drafts.len()),
    };
    if drafts.len() > 1 {
        if let Some(draft) = drafts.iter().find(|draft| matches!(draft.goal, Goal::Spliced { .. })) {
            return Err(splice::only_aside(draft.place.absolute(), draft.goal.length(), "it is one of several files"));
        }
        plan.announce(drafts)?;
    }
    // A part of a large batch at a time, because of its descriptors.
    for part in drafts.chunks(plan.room.part) {
        let first = plan.entries.len();
        part.iter().try_for_each(|draft| plan.add(draft))?;
        if let Some(folder) = plan.folders.first().filter(|_| first == 0 && drafts.len() > FEW) {
            sys::expect_open((plan.folders.len() + 2 * part.len()).min(sys::most_open() / 2), &folder.fd);
        }
        plan.write_aside(first)?;
        if !plan.room.late {
            // Everything is written before the first sync, so that the disk can write it in one go.
            plan.sync(first)?;
            plan.entries[first..].iter_mut().filter_map(|entry| entry.temp.as_mut()).for_each(|temp| temp.fd = None);
        }
    }
    plan.refuse_twins()?;
    Ok(plan)
}

impl<'a> Plan<'a> {
    fn refuse_twins(&self) -> Result<()> {
        let mut entries: Vec<&Entry<'_>> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|entry| (entry.folder, entry.name));
        let twins = entries.windows(2).find(|pair| (pair[0].folder, pair[0].name) == (pair[1].folder, pair[1].name));
        twins.map_or(Ok(()), |pair| Err(fault::twins(pair[0].path())))
    }

    /// Records in the journal where temporary files will be, before the first is created, so that they are found after
    /// a crash.
    fn announce(&mut self, drafts: &[Draft<'_>]) -> Result<()> {
        if !self.book.is_kept() {
            self.batch = temp::batch().ok();
            return Ok(());
        }
        let folders: BTreeSet<&Path> = drafts.iter().filter_map(|draft| draft.place.absolute().parent()).collect();
        folders.into_iter().try_for_each(|folder| self.book.note(&Frame::Folder(folder.to_owned())))?;
        self.book.sync()?;
        self.batch = self.book.batch();
        Ok(())
    }

    /// Returns the index of the draft's parent directory, opening it if needed.
    fn folder(&mut self, draft: &'a Draft<'a>) -> Result<usize> {
        let key = folder::key(draft.place);
        if let Some(index) = key.and_then(|key| self.places.get(&key)) {
            return Ok(*index);
        }
        let folder = match Folder::open(self.local, draft.place) {
            Err(error) if error.code() == Code::FileMissing && matches!(draft.expect, Expect::Missing) => {
                folder::make(self.local, draft.place, &mut self.made, &mut self.book)?
            }
            Err(error) if error.code() == Code::FileMissing => {
                return Err(fault::raced(draft.place.absolute(), "has lost its folder"));
            }
            other => other?,
        };
        self.batch = self.batch.or(self.book.batch());
        sweep::sweep(self.local, &folder);
        self.places.insert(folder.key, self.folders.len());
        self.folders.push(folder);
        Ok(self.folders.len() - 1)
    }

    /// Adds one draft, with its directory.
    fn add(&mut self, draft: &'a Draft<'a>) -> Result<()> {
        let path = draft.place.absolute();
        let name = draft.place.relative().file_name().ok_or_else(|| fault::not_regular(path, "a directory"))?;
        let folder = self.folder(draft)?;
        self.entries.push(Entry {
            draft,
            name,
            folder,
            temp: None,
            notes: Vec::new(),
            done: None,
            displaced: None,
            occupied: false,
            before: None,
            stamp: None,
            spliced: None,
        });
        Ok(())
    }

    /// Writes the temporary files of the entries from `first` on; returns the first error.
    fn write_aside(&mut self, first: usize) -> Result<()> {
        // Write-back runs during the rest of the work; the threads that sync a large batch start it together instead.
        let early = self.durability.syncs() && self.entries.len() - first < sys::FEW;
        let (local, folders) = (self.local, &self.folders);
        let options = TempOptions { batch: self.batch, flush: early };
        let one = |entry: &mut Entry<'a>| aside::aside(local, &folders[entry.folder], entry, options);
        sys::in_parts(&mut self.entries[first..], |part| part.iter_mut().try_for_each(one))
            .into_iter()
            .collect::<Result<()>>()
    }

    /// Syncs the temporary files of the entries from `first` on.
    pub(super) fn sync(&self, first: usize) -> Result<()> {
        let open = |entry: &Entry<'_>| entry.temp.as_ref().is_some_and(|temp| temp.fd.is_some());
        let entries: Vec<&Entry<'_>> = self.entries[first..].iter().filter(|entry| open(entry)).collect();
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
    fn read_back(&self, entry: &Entry<'_>) -> Result<()> {
        let Some(Temp { name, stamp, .. }) = &entry.temp else { return Ok(()) };
        if self.local.is_plain(entry.draft.place.root(), stamp) {
            return Ok(());
        }
        let folder = &self.folders[entry.folder];
        let kept = sys::openat(&folder.fd, name, LOOK, Mode::empty())
            .and_then(|file| match entry.spliced {
                Some(content) => Ok(splice::content_of(&file, entry.draft.goal.length())? == Some(content)),
                None => look::same_pieces(&file, entry.draft.goal.pieces()),
            })
            .map_err(|errno| failed_write(folder, entry, "read back a temporary file beside", errno))?;
        if kept { Ok(()) } else { Err(fault::not_kept(entry.path())) }
    }
}

/// Converts an error while writing; adds the numbers if the disk is full.
pub(super) fn failed_write(folder: &Folder<'_>, entry: &Entry<'_>, doing: &str, errno: Errno) -> Error {
    if errno == Errno::NOENT {
        // The directory is open, so `ENOENT` means that it was removed since.
        return fault::raced(entry.path(), "lost its folder");
    }
    let error = fault::os(doing, entry.path(), errno);
    let needed = entry.draft.goal.length();
    match sys::fstatvfs(&folder.fd) {
        Ok(disk) if error.code() == Code::IoNoSpace => {
            // The space of the temporary file will be free again.
            let temp = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref());
            let ours = temp.and_then(|fd| sys::fstat(fd).ok()).map_or(0, |stat| look::blocks_of(&stat));
            let free = disk.f_bavail.saturating_mul(disk.f_frsize).saturating_add(ours);
            error
                .evidence(format!(
                    "needed: {} ({needed} bytes), free: {} ({free} bytes).",
                    fault::readable_size(needed),
                    fault::readable_size(free)
                ))
                .fact("needed", needed)
                .fact("free", free)
                .fact("device", folder.id.0)
        }
        _ => error,
    }
}

/// Flags to overwrite a file in place.
pub(super) const OVERWRITE: OFlags = LOOK.union(OFlags::RDWR);

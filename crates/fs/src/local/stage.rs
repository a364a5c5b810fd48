//! Staging: new content is written beside its target, with the target's metadata, and synced. Nothing is visible yet.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use emendate_core::{Code, ContentId, Error, Result};
use rustix::fs::{Access, AtFlags, FallocateFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::folder::{self, Folder, Made};
use super::held::Held;
use super::journal::Book;
use super::look::{self, LOOK};
use super::record::{Frame, State, Step};
use super::temp::{self, Temp};
use super::{Local, attributes};
use super::{splice, sweep, sys};
use crate::{Draft, Durability, Expect, Goal, Method, Piece, Source, Stamp, fault};

/// A batch with more drafts keeps no descriptor per draft open.
pub(super) const MANY: usize = 128;

/// A staged transaction. Dropping it removes what it made, unless it was committed.
pub(super) struct Plan<'a> {
    pub(super) local: &'a Local,
    pub(super) durability: Durability,
    pub(super) book: Book<'a>,
    /// The number that temporary names carry: of a batch, also where there is no journal.
    pub(super) batch: Option<u32>,
    /// Dropped before the folders, whose locks end with them: who comes next must not find our files open for writing.
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) folders: Vec<Folder<'a>>,
    pub(super) made: Vec<Made>,
    /// The folders that hold those reached the disk.
    pub(super) made_synced: bool,
}

/// One draft on its way.
pub(super) struct Entry<'a> {
    pub(super) draft: &'a Draft<'a>,
    pub(super) name: &'a OsStr,
    /// Index into [`Plan::folders`].
    pub(super) folder: usize,
    /// The new content, or the name for what is removed; `None`: the old file's bytes will be overwritten.
    pub(super) temp: Option<Temp>,
    pub(super) notes: Vec<String>,
    /// Set once it is visible.
    pub(super) done: Option<Method>,
    /// What was displaced, under a lease where there are any.
    pub(super) displaced: Option<Held>,
    /// The stamp of what is replaced or removed.
    pub(super) before: Option<Stamp>,
    /// The file's stamp after it was overwritten.
    pub(super) stamp: Option<Stamp>,
    /// What the bytes are of a file made of parts of another one.
    pub(super) spliced: Option<ContentId>,
}

impl Entry<'_> {
    pub(super) fn path(&self) -> &Path {
        self.draft.place.absolute()
    }

    /// What a record says of it.
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

    /// The bytes that a record keeps of a file that is overwritten where it is; `step` is its number.
    pub(super) fn bytes(&self, step: usize) -> Frame {
        let old = match self.draft.expect {
            Expect::Version { bytes, .. } => bytes.to_vec(),
            _ => Vec::new(),
        };
        Frame::Bytes { step: u32::try_from(step).unwrap_or(u32::MAX), old, new: self.draft.goal.pieces().concat() }
    }

    /// True when there is an old file whose bytes can be overwritten by new ones.
    pub(super) fn overwrites(&self) -> bool {
        matches!((self.draft.expect, self.draft.goal), (Expect::Version { .. }, Goal::File { .. }))
    }
}

impl Drop for Plan<'_> {
    fn drop(&mut self) {
        // Who put things back has told it if this cannot be written.
        let _ = self.book.abort();
        for entry in &mut self.entries {
            if let Some(temp) = &mut entry.temp
                && temp.discard(self.folders[entry.folder].fd.as_fd()).is_err()
            {
                // The record, if there is one, knows what is left; the next start will try again.
                self.book.leave();
            }
        }
        self.made.iter().rev().for_each(Made::remove);
        let _ = self.book.close();
    }
}

/// See [`Store::stage`](crate::Store::stage).
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
        entries: Vec::new(),
    };
    if drafts.len() > 1 {
        if let Some(draft) = drafts.iter().find(|draft| matches!(draft.goal, Goal::Spliced { .. })) {
            return Err(splice::only_aside(draft.place.absolute(), draft.goal.length(), "it is one of several files"));
        }
        plan.announce(drafts)?;
    }
    // A part of a large batch at a time, because of its descriptors.
    for part in drafts.chunks(MANY) {
        let first = plan.entries.len();
        part.iter().try_for_each(|draft| plan.add(draft))?;
        plan.write_aside(first)?;
        // All is written before the first sync, so that the disk can take it in one go.
        plan.sync(first)?;
        if drafts.len() > MANY {
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

    /// Tells the journal where temporary files will be, before there is one: whatever ends us, they will be found.
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

    /// The index of the parent folder of `draft`, opened if it is not yet.
    fn folder(&mut self, draft: &'a Draft<'a>) -> Result<usize> {
        let key = folder::key(draft.place);
        if let Some(index) = self.folders.iter().rposition(|folder| Some(folder.key) == key) {
            return Ok(index);
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
        self.folders.push(folder);
        Ok(self.folders.len() - 1)
    }

    /// Takes in one draft, with its folder.
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
            before: None,
            stamp: None,
            spliced: None,
        });
        Ok(())
    }

    /// Writes the entries from `first` on aside; the first of several failures is told.
    fn write_aside(&mut self, first: usize) -> Result<()> {
        let (local, folders, batch) = (self.local, &self.folders, (self.batch, self.durability.syncs()));
        let one = |entry: &mut Entry<'a>| aside(local, &folders[entry.folder], entry, batch);
        sys::in_parts(&mut self.entries[first..], |part| part.iter_mut().try_for_each(one))
            .into_iter()
            .collect::<Result<()>>()
    }

    /// What was written for the entries from `first` on reaches the disk.
    fn sync(&self, first: usize) -> Result<()> {
        let open = |entry: &Entry<'_>| entry.temp.as_ref().is_some_and(|temp| temp.fd.is_some());
        let entries: Vec<&Entry<'_>> = self.entries[first..].iter().filter(|entry| open(entry)).collect();
        if self.durability.syncs() {
            let files = entries.iter().filter_map(|entry| Some(entry.temp.as_ref()?.fd.as_ref()?.as_fd()));
            let files: Vec<_> = files.collect();
            // Never repeated: the kernel reports a lost page once and then calls it clean.
            for (entry, synced) in entries.iter().zip(sys::fdatasync_all(&files)) {
                synced.map_err(|errno| failed_write(&self.folders[entry.folder], entry, "sync", errno))?;
            }
        }
        entries.into_iter().try_for_each(|entry| self.read_back(entry))
    }

    /// Some network and virtual file systems have cut or zeroed what they said was written.
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

/// Writes one draft aside; see [`beside`] for the last argument.
fn aside(local: &Local, folder: &Folder<'_>, entry: &mut Entry<'_>, (batch, flush): (Option<u32>, bool)) -> Result<()> {
    let (path, name) = (entry.draft.place.absolute(), entry.name);
    let there = standing(folder, entry)?;
    entry.before = there.as_ref().map(|there| there.stamp);
    match (entry.draft.goal, there) {
        (Goal::Gone, None) => Err(fault::nothing(path)),
        (Goal::Gone | Goal::Link { .. }, _) if folder.fixed => {
            Err(fault::os("change the folder of", path, Errno::PERM))
        }
        (Goal::Gone, Some(Standing { stamp, .. })) => {
            let temp = Temp::reserve(name, stamp, batch).map_err(|errno| fault::os("remove", path, errno))?;
            entry.temp = Some(temp);
            Ok(())
        }
        (Goal::Link { target }, _) => {
            let temp = Temp::link(folder.fd.as_fd(), name, target, batch)
                .map_err(|errno| failed_write(folder, entry, "create a link beside", errno))?;
            entry.temp = Some(temp);
            Ok(())
        }
        (Goal::File { like: Some(like), .. }, _) => {
            let (source, stamp) =
                local.open_regular(like, LOOK)?.ok_or_else(|| fault::os("open", like.absolute(), Errno::NOENT))?;
            beside(folder, entry, &source, &stamp, (batch, flush))
        }
        (Goal::File { .. }, Some(Standing { file: Some(source), stamp })) => {
            add_existing(folder, entry, &source, &stamp, batch)
        }
        (Goal::Spliced { .. }, Some(Standing { file: Some(model), stamp })) => {
            if let Some(why) = in_place(folder, &stamp) {
                return Err(splice::only_aside(path, stamp.size, &why));
            }
            beside(folder, entry, &model, &stamp, (batch, flush))
        }
        (Goal::Spliced { .. }, _) => Err(fault::raced(path, "is no file any more")),
        (Goal::File { .. }, _) => add_new(folder, entry, batch),
    }
}

/// An error while writing, with the numbers if the disk is full.
pub(super) fn failed_write(folder: &Folder<'_>, entry: &Entry<'_>, doing: &str, errno: Errno) -> Error {
    if errno == Errno::NOENT {
        // The folder is open: only one that was removed since has no room for a name.
        return fault::raced(entry.path(), "lost its folder");
    }
    let error = fault::os(doing, entry.path(), errno);
    let needed = entry.draft.goal.length();
    match sys::fstatvfs(&folder.fd) {
        Ok(disk) if error.code() == Code::IoNoSpace => {
            // What was written of it already goes again.
            let temp = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref());
            let ours = temp.and_then(|fd| sys::fstat(fd).ok()).map_or(0, |stat| look::blocks_of(&stat));
            let free = disk.f_bavail.saturating_mul(disk.f_frsize).saturating_add(ours);
            error
                .evidence(format!("needed: {needed} bytes, free: {free} bytes."))
                .fact("needed", needed)
                .fact("free", free)
                .fact("device", folder.id.0)
        }
        _ => error,
    }
}

fn add_new(folder: &Folder<'_>, entry: &mut Entry<'_>, batch: Option<u32>) -> Result<()> {
    if folder.fixed {
        // A temporary file could not be removed again.
        return Err(fault::os("create", entry.path(), Errno::PERM));
    }
    // The kernel takes the umask and the folder's default ACL into account, as for any new file.
    let mode = Mode::from_raw_mode(entry.draft.goal.mode(0o666));
    let temp = Temp::create(folder.fd.as_fd(), entry.name, mode, batch)
        .map_err(|errno| failed_write(folder, entry, "create", errno))?;
    let fd = entry.temp.insert(temp).fd.as_ref();
    if let (Goal::File { attributes: Some(wanted), .. }, Some(fd)) = (entry.draft.goal, fd) {
        attributes::give(wanted, fd, &mut entry.notes)
            .map_err(|errno| failed_write(folder, entry, "give its attributes to a file beside", errno))?;
    }
    let fd = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref());
    if let (Goal::File { mode: Some(exactly), .. }, Some(fd)) = (entry.draft.goal, fd) {
        // The umask has no say here.
        rustix::fs::fchmod(fd, Mode::from_raw_mode(exactly & 0o7777))
            .map_err(|errno| failed_write(folder, entry, "set the mode of a file beside", errno))?;
    }
    fill(folder, entry)
}

fn fill(folder: &Folder<'_>, entry: &Entry<'_>) -> Result<()> {
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    let pieces = entry.draft.goal.pieces();
    temp::reserve(fd, FallocateFlags::empty(), 0, temp::length(pieces))
        .and_then(|()| temp::write(fd, pieces))
        .map_err(|errno| failed_write(folder, entry, "write a temporary file beside", errno))
}

fn fill_spliced(
    folder: &Folder<'_>,
    entry: &mut Entry<'_>,
    (source, pieces): (&Source, &[Piece<'_>]),
    flush: bool,
) -> Result<()> {
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    let from = source.leased().ok_or_else(|| fault::raced(entry.path(), "is elsewhere"))?;
    let written = splice::write(fd, from, pieces, flush).map_err(|errno| match errno {
        Errno::STALE => fault::raced(entry.path(), "became shorter while it was copied"),
        _ => failed_write(folder, entry, "write a temporary file beside", errno),
    })?;
    entry.spliced = Some(written);
    Ok(())
}

/// What is at a draft's place.
struct Standing {
    /// The open file; `None`: a symbolic link.
    file: Option<OwnedFd>,
    stamp: Stamp,
}

/// What the draft replaces, as far as it can be told without reading it; refused if the caller may not change it.
fn standing(folder: &Folder<'_>, entry: &Entry<'_>) -> Result<Option<Standing>> {
    let path = entry.path();
    let (size, expected) = match entry.draft.expect {
        Expect::Missing => return Ok(None),
        Expect::Link { target } => {
            let stamp =
                look::link_at(&folder.fd, entry.name, target).map_err(|errno| fault::os("look at", path, errno))?;
            let stamp = stamp.ok_or_else(|| fault::raced(path, "is not the link any more that it was"))?;
            return Ok(Some(Standing { file: None, stamp }));
        }
        Expect::Version { bytes, stamp } => (bytes.len() as u64, stamp),
        Expect::Content { source, .. } => (source.stamp().size, source.stamp()),
    };
    let file = match sys::openat(&folder.fd, entry.name, LOOK, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Err(fault::raced(path, "was removed")),
        Err(Errno::LOOP) => return Err(fault::raced(path, "was replaced by a symbolic link")),
        Err(errno) => return Err(fault::os("open", path, errno)),
    };
    let stamp = look::regular(&file, path)?;
    if !stamp.same_file(expected) {
        return Err(fault::raced(path, "was replaced by another file"));
    }
    if stamp.size != size {
        return Err(fault::raced(path, "was changed"));
    }
    permitted(folder, entry, &stamp)?;
    Ok(Some(Standing { file: Some(file), stamp }))
}

fn add_existing(
    folder: &Folder<'_>,
    entry: &mut Entry<'_>,
    source: &OwnedFd,
    stamp: &Stamp,
    batch: Option<u32>,
) -> Result<()> {
    if let Some(why) = in_place(folder, stamp) {
        entry.notes.push(format!("written in place: {why}"));
        return Ok(());
    }
    beside(folder, entry, source, stamp, (batch, false))
}

/// Why a file cannot be replaced by another one.
fn in_place(folder: &Folder<'_>, stamp: &Stamp) -> Option<String> {
    if stamp.links > 1 {
        return Some(format!("the file has {} hard links", stamp.links));
    }
    folder.fixed.then(|| "the folder is append-only or immutable".to_owned())
}

/// Refuses a file that the caller may not write, although a rename would get round it.
fn permitted(folder: &Folder<'_>, entry: &Entry<'_>, stamp: &Stamp) -> Result<()> {
    // Root passes every check of the kernel; a file without any write bit says that it is not to be written.
    let user = rustix::process::geteuid().as_raw();
    if stamp.mode & 0o222 == 0 || (user == stamp.uid && user != 0 && stamp.mode & 0o200 == 0) {
        return Err(fault::read_only(entry.path(), stamp.mode));
    }
    if user == 0 || user == stamp.uid {
        // The bits alone decide; the question below would be one more walk for the kernel.
        return Ok(());
    }
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    let allowed = match sys::accessat(&folder.fd, entry.name, Access::WRITE_OK, flags) {
        // Kernels before 5.8 know no flags.
        Err(Errno::NOSYS | Errno::INVAL) => sys::accessat(&folder.fd, entry.name, Access::WRITE_OK, AtFlags::EACCESS),
        other => other,
    };
    match allowed {
        Ok(()) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM) => Err(fault::os("write", entry.path(), Errno::ACCESS)),
        Err(errno) => Err(fault::os("write", entry.path(), errno)),
    }
}

/// Writes the temporary file with the metadata of `model`, or decides that the old file must be overwritten.
fn beside(
    folder: &Folder<'_>,
    entry: &mut Entry<'_>,
    model: &OwnedFd,
    stamp: &Stamp,
    (batch, flush): (Option<u32>, bool),
) -> Result<()> {
    let overwrites = entry.overwrites();
    let spliced = matches!(entry.draft.goal, Goal::Spliced { .. });
    // Readable by nobody else until it has its mode: the content may be a secret.
    let temp = match Temp::create(folder.fd.as_fd(), entry.name, Mode::from_raw_mode(0o600), batch) {
        Ok(temp) => temp,
        Err(Errno::ACCESS | Errno::PERM) if overwrites => {
            entry.notes.push("written in place: no file can be created in the folder".to_owned());
            return Ok(());
        }
        Err(Errno::ACCESS | Errno::PERM) if spliced => {
            return Err(splice::only_aside(entry.path(), stamp.size, "no file can be created in the folder"));
        }
        Err(errno) => return Err(failed_write(folder, entry, "create a temporary file beside", errno)),
    };
    let own = temp.stamp;
    let temp = entry.temp.insert(temp);
    let Some(fd) = &temp.fd else {
        return Ok(());
    };
    let mut mode = entry.draft.goal.mode(stamp.mode);
    if (own.uid, own.gid) != (stamp.uid, stamp.gid) {
        let uid = (own.uid != stamp.uid).then(|| Uid::from_raw(stamp.uid));
        let gid = (own.gid != stamp.gid).then(|| Gid::from_raw(stamp.gid));
        let given = sys::fchown(fd, uid, gid);
        let owner = format!("a new file cannot be given to owner {}:{}", stamp.uid, stamp.gid);
        if given.is_err() && overwrites {
            let _ = temp.discard(folder.fd.as_fd());
            entry.temp = None;
            entry.notes.push(format!("written in place: {owner}"));
            return Ok(());
        }
        if given.is_err() && spliced {
            return Err(splice::only_aside(entry.path(), stamp.size, &owner));
        }
        if given.is_err() {
            // Set-id bits would now stand for somebody else.
            mode &= 0o777;
            entry.notes.push(format!("the owner could not be kept: {owner}"));
        }
    }
    match entry.draft.goal {
        Goal::Spliced { source, pieces } => fill_spliced(folder, entry, (source, pieces), flush)?,
        _ => fill(folder, entry)?,
    }
    let Some(fd) = entry.temp.as_ref().and_then(|temp| temp.fd.as_ref()) else {
        return Ok(());
    };
    // Attributes before the mode: an ACL moves the group bits, a change of owner clears the set-id bits.
    let given = match entry.draft.goal {
        Goal::File { attributes: Some(wanted), .. } => attributes::give(wanted, fd, &mut entry.notes),
        _ => attributes::copy(model, fd, &mut entry.notes),
    };
    given
        .and_then(|()| sys::fchmod(fd, Mode::from_raw_mode(mode)))
        .map_err(|errno| failed_write(folder, entry, "give its permissions to a copy of", errno))?;
    if let Some(temp) = &mut entry.temp {
        temp.stamp.mode = temp.stamp.mode & !0o7777 | mode;
    }
    Ok(())
}

/// Flags to overwrite a file where it is.
pub(super) const OVERWRITE: OFlags = LOOK.union(OFlags::RDWR);

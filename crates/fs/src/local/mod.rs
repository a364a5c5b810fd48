//! The local disk: every path is resolved beneath an open root, and every later access goes by (open directory, name).

mod attributes;
#[cfg(test)]
mod fault_injection;
mod fd_budget;
mod journal;
mod journal_frame;
mod kernel;
mod lease;
mod name_lookup;
mod parent_dir;
mod precondition;
mod probe;
mod publish;
mod publish_batch;
mod read;
mod recover;
mod report;
mod rollback;
mod splice;
mod stage;
mod sweep;
mod sys;
mod temp;
mod transaction;
mod tree_swap;
mod walk;
mod write_temp;

use emendate_os::fd::{AsFd, OwnedFd};
use emendate_os::ffi::{OsStrExt, OsStringExt};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use emendate_core::{Code, Error, Result};
use emendate_os::fs::{AtFlags, FileType, Mode, OFlags};
use emendate_os::io::Errno;
use emendate_os::paths::{self, SEPARATOR};

pub use emendate_os::{outlive_size_limit, return_free_memory};
pub use probe::Probe;
pub use recover::{RecoveryReport, UndoneCall};
pub(crate) use splice::LeasedSource;
pub use temp::is_temporary_name;

use self::journal::Journal;
use self::parent_dir::ParentDir;
use self::recover::UnfinishedRecord;
use crate::{
    DirEntry, Durability, EntryKind, FileAttributes, FileMeta, FileSource, FileVersion, FileWrite, NameInfo, RootInfo,
    SafePath, Staged, Store, error,
};

/// A store on the local disk, beneath one or more roots.
#[derive(Debug)]
pub struct LocalStore {
    infos: Vec<RootInfo>,
    roots: Vec<Root>,
    lock_timeout: Duration,
    /// False once `openat2` returned `ENOSYS`.
    openat2: AtomicBool,
    journal: Option<Journal>,
    /// Directories, by device and inode, that this store has swept for temporary files of dead processes.
    swept: Mutex<HashSet<(u64, u64)>>,
    /// Displaced files without a name. The last close frees their blocks, which takes longer than the rest of a small
    /// edit, so it is postponed.
    displaced_files: Mutex<Vec<OwnedFd>>,
    /// Records that the last recovery left.
    unfinished: Mutex<Vec<UnfinishedRecord>>,
    /// Recoveries that nobody was told of yet.
    recovery_report: Mutex<RecoveryReport>,
}

/// An open root.
#[derive(Debug)]
struct Root {
    fd: OwnedFd,
    dev: u64,
    /// Time in nanoseconds after a change during which another change may get the same time stamp.
    timestamp_granularity_ns: i64,
    /// A local file system that is known to return what was written.
    trusted: bool,
    /// The directory that was created at the path after this one was deleted. Files of this one may be open still.
    newer: OnceLock<Box<Root>>,
}

impl LocalStore {
    /// Opens every root and keeps it open: a root that is renamed later is still the same root. One that is deleted and
    /// created again at the same path is opened again.
    ///
    /// Fails with `path.invalid` if there is no root or one is not absolute, `file.not_found`, `path.not_regular` if
    /// one is not a directory, or `io.*`.
    pub fn open(roots: &[PathBuf]) -> Result<LocalStore> {
        if roots.is_empty() {
            return Err(
                Error::new(Code::PathInvalid, "There is no root.").next("Name at least one directory to work in.")
            );
        }
        let mut local = LocalStore {
            infos: Vec::new(),
            roots: Vec::new(),
            lock_timeout: Duration::from_secs(5),
            openat2: AtomicBool::new(true),
            journal: None,
            swept: Mutex::default(),
            displaced_files: Mutex::default(),
            unfinished: Mutex::default(),
            recovery_report: Mutex::default(),
        };
        for given in roots {
            if !given.is_absolute() || given.as_os_str().as_bytes().contains(&0) {
                return Err(error::invalid_path(
                    given,
                    "is not absolute, so it cannot be a root",
                    "Use its absolute path.",
                ));
            }
            let (root, canonical) = open_root(given).map_err(|errno| root_error(given, errno))?;
            local.infos.push(RootInfo { given: given.clone(), canonical });
            local.roots.push(root);
        }
        Ok(local)
    }

    /// Sets how long a commit waits for another one in the same directory; 5 seconds by default.
    #[must_use]
    pub fn with_lock_timeout(mut self, timeout: Duration) -> LocalStore {
        self.lock_timeout = timeout;
        self
    }

    /// Keeps a journal in this directory (created if missing), so that a transaction that changes several files, or
    /// overwrites one, is atomic across crashes: see [`LocalStore::recover`]. The directory must be outside the roots,
    /// and the same for all processes that work on them. Without a journal, only each single file is safe.
    ///
    /// Fails with `io.*` if the directory cannot be created or opened.
    pub fn with_journal(mut self, folder: &Path) -> Result<LocalStore> {
        self.journal = Some(Journal::open(folder)?);
        Ok(self)
    }

    /// True on the root's own mount if it is trusted; see [`Root::trusted`]. Other mounts beneath a root never are.
    fn is_trusted(&self, root: usize, meta: &FileMeta) -> bool {
        self.root(root).trusted && self.root(root).dev == meta.dev
    }

    /// Returns the root of that index: the last one that was opened at its path.
    fn root(&self, root: usize) -> &Root {
        let mut open = &self.roots[root];
        while let Some(newer) = open.newer.get() {
            open = newer;
        }
        open
    }

    /// Opens a root again that was deleted and created anew at the same path; false if that did not happen.
    fn reopen_removed(&self, root: usize) -> bool {
        let open = self.root(root);
        if is_linked(open) {
            return false;
        }
        let info = &self.infos[root];
        match open_root(&info.given) {
            // Another thread may have opened it first. A file system without counts of links reports 0 for all.
            Ok((newer, canonical)) if canonical == info.canonical && is_linked(&newer) => {
                let _ = open.newer.set(Box::new(newer));
                true
            }
            _ => false,
        }
    }

    /// Returns the longest root that contains `path`, and the rest of the path.
    fn find_root<'p>(&self, path: &'p Path) -> Option<(usize, &'p Path)> {
        let mut best: Option<(usize, &Path)> = None;
        for (index, info) in self.infos.iter().enumerate() {
            let same = info.given.as_os_str() == info.canonical.as_os_str();
            for base in [&info.given, &info.canonical].into_iter().skip(usize::from(same)) {
                if let Some(relative) = beneath(path, base)
                    && best.is_none_or(|(_, found)| relative.as_os_str().len() < found.as_os_str().len())
                {
                    best = Some((index, relative));
                }
            }
        }
        best
    }

    /// Implements [`Store::resolve_path`], and [`Store::resolve_no_follow`] for `follow` = false.
    fn resolve(&self, path: &Path, follow: bool) -> Result<SafePath> {
        error::check_path_syntax(path, &self.infos)?;
        let asked = path;
        let path = &*paths::normal(path);
        // A shell with a logical working directory names the same directory through links.
        let real = if self.find_root(path).is_none() { canonical_parent(path) } else { None };
        let Some((root, relative)) = self.find_root(real.as_deref().unwrap_or(path)) else {
            return Err(error::outside_roots(asked, &self.infos));
        };
        let plain = !path.as_os_str().as_bytes().last().is_some_and(|byte| paths::is_separator(*byte))
            && relative.components().all(|part| matches!(part, Component::Normal(_)));
        let flags = if follow { sys::PATH } else { sys::PATH | OFlags::NOFOLLOW };
        if plain
            && self.openat2.load(Ordering::Relaxed)
            && kernel::open_beneath(self.root(root).fd.as_fd(), relative, flags).is_ok()
        {
            // The kernel met no link on the way, so the given names are the resolved path.
            let relative = relative.components().collect();
            return Ok(SafePath::new(root, &self.infos[root].canonical, relative, asked, None));
        }
        if self.reopen_removed(root) {
            return self.resolve(asked, follow);
        }
        walk::resolve(self, asked, root, relative, follow)
    }

    /// Opens a resolved path; a link that appeared since is `ELOOP`. An empty path is the root itself.
    fn open_beneath(&self, root: usize, relative: &Path, flags: OFlags) -> emendate_os::io::Result<OwnedFd> {
        let root = self.root(root).fd.as_fd();
        if relative.as_os_str().is_empty() {
            return sys::openat(root, ".", flags | OFlags::CLOEXEC, Mode::empty());
        }
        if self.openat2.load(Ordering::Relaxed) {
            match kernel::open_beneath(root, relative, flags) {
                Err(Errno::NOSYS) => self.openat2.store(false, Ordering::Relaxed),
                // Either a sandbox forbids `openat2` or access is really denied: the walk distinguishes them.
                Err(Errno::PERM) => {}
                other => return other,
            }
        }
        walk::open_beneath(root, relative, flags)
    }

    /// See [`Root::timestamp_granularity_ns`]. Other mounts beneath a root get the cautious value, and so do time stamps of whole
    /// seconds: old inodes of ext have no finer ones.
    fn timestamp_granularity_ns(&self, root: usize, meta: &FileMeta) -> i64 {
        let root = self.root(root);
        let whole = meta.mtime_ns % 1_000_000_000 == 0 && meta.ctime_ns % 1_000_000_000 == 0;
        if root.dev == meta.dev && !whole { root.timestamp_granularity_ns } else { probe::COARSE_STAMP_NS }
    }

    /// Implements [`Store::list`]; returns at most one entry more than the limit.
    fn read_entries(&self, path: &SafePath) -> emendate_os::io::Result<Option<Vec<DirEntry>>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let folder = match self.open_beneath(path.root(), path.relative(), flags) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            other => other?,
        };
        let again = folder.try_clone().map_err(|_| Errno::MFILE)?;
        let mut entries = Vec::new();
        for entry in sys::list(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let name = std::ffi::OsStr::from_bytes(name.to_bytes());
            let kind = match entry.file_type() {
                // Some file systems do not report the type; a file that vanished meanwhile is skipped as unknown.
                FileType::Unknown => {
                    sys::statat(&again, name).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
                }
                known => known,
            };
            let kind = match kind {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Directory,
                FileType::Symlink => EntryKind::Link,
                _ => EntryKind::Other,
            };
            entries.push(DirEntry { name: name.to_owned(), kind });
            if entries.len() > crate::DIR_ENTRIES_MAX {
                break;
            }
        }
        entries.sort_unstable();
        Ok(Some(entries))
    }

    /// Returns the names in the parent directory of `path`.
    fn sibling_names(&self, path: &SafePath) -> emendate_os::io::Result<Vec<OsString>> {
        let parent = path.relative().parent().unwrap_or(Path::new(""));
        let folder = match self.open_beneath(path.root(), parent, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Vec::new()),
            other => other?,
        };
        let mut names = Vec::new();
        for entry in sys::list(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
            if names.len() == crate::SIBLINGS_MAX {
                break;
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// Opens a root, and returns it with its canonical path.
fn open_root(given: &Path) -> emendate_os::io::Result<(Root, PathBuf)> {
    let canonical = paths::canonical(given).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let fd = emendate_os::fs::open(&canonical, sys::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let dev = read::file_meta(&sys::fstat(&fd)?).dev;
    let (timestamp_granularity_ns, plain) = (probe::stamp_granularity_ns(&fd), sys::is_trusted(&fd));
    Ok((Root { fd, dev, timestamp_granularity_ns, trusted: plain, newer: OnceLock::new() }, canonical))
}

/// True unless the directory of a root was deleted.
fn is_linked(root: &Root) -> bool {
    !sys::fstat(&root.fd).is_ok_and(|stat| stat.st_nlink == 0)
}

/// The error for a root that cannot be opened.
fn root_error(given: &Path, errno: Errno) -> Error {
    match errno {
        Errno::NOTDIR => {
            error::invalid_path(given, "is not a directory, so it cannot be a root", "Name its directory.")
        }
        Errno::NOENT => {
            error::invalid_path(given, "does not exist, so it cannot be a root", "Name an existing directory.")
        }
        other => error::os_error("open the root", given, other),
    }
}

/// Returns the part of `path` after `base`, or `None` if `path` is not beneath it.
fn beneath<'p>(path: &'p Path, base: &Path) -> Option<&'p Path> {
    let rest = path.as_os_str().as_bytes().strip_prefix(base.as_os_str().as_bytes());
    let rest = rest.and_then(|rest| rest.strip_prefix(&[SEPARATOR]));
    // Only unusual spellings (`//`, `.`) need the component-wise comparison, which costs more than the rest of a
    // lookup.
    match rest.filter(|rest| !matches!(rest, [] | [SEPARATOR | b'.', ..] | [.., SEPARATOR | b'.'])) {
        Some(rest) => Some(Path::new(OsStr::from_bytes(rest))),
        None => path.strip_prefix(base).ok(),
    }
}

/// Returns the path with the links in its existing parent directories resolved. The result is only another name, which
/// is then resolved beneath a root like any other.
fn canonical_parent(path: &Path) -> Option<PathBuf> {
    if path.starts_with("/proc") {
        return None;
    }
    path.ancestors().skip(1).find_map(|folder| {
        let real = paths::canonical(folder).ok()?;
        Some(real.join(path.strip_prefix(folder).ok()?))
    })
}

impl Store for LocalStore {
    fn roots(&self) -> &[RootInfo] {
        &self.infos
    }

    fn resolve_path(&self, path: &Path) -> Result<SafePath> {
        self.resolve(path, true)
    }

    fn resolve_no_follow(&self, path: &Path) -> Result<SafePath> {
        self.resolve(path, false)
    }

    fn read_link(&self, path: &SafePath) -> Result<Option<OsString>> {
        let failed = |errno| error::os_error("read the link", path.absolute(), errno);
        // A root itself is a directory.
        let Some(name) = path.relative().file_name() else { return Ok(None) };
        let parent = path.relative().parent().unwrap_or(Path::new(""));
        let folder = match self.open_beneath(path.root(), parent, sys::PATH | OFlags::DIRECTORY) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(failed)?,
        };
        match sys::readlinkat(folder, name) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()))),
            // Not a link.
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed(errno)),
        }
    }

    fn metadata(&self, path: &SafePath) -> Result<Option<FileMeta>> {
        Ok(self.open_regular(path, sys::PATH)?.map(|(_, meta)| meta))
    }

    fn read(&self, path: &SafePath, limit: u64, buffer: Vec<u8>) -> Result<Option<FileVersion>> {
        self.read_version(path, limit, buffer)
    }

    fn source(&self, path: &SafePath) -> Result<Option<FileSource>> {
        self.open_source(path)
    }

    fn siblings(&self, path: &SafePath) -> Result<Vec<OsString>> {
        self.sibling_names(path).map_err(|errno| error::os_error("list the directory of", path.absolute(), errno))
    }

    fn attributes(&self, path: &SafePath) -> Result<Option<FileAttributes>> {
        let Some((file, _)) = self.open_regular(path, read::READ_FLAGS)? else { return Ok(None) };
        attributes::read_attributes(file)
            .map(Some)
            .map_err(|errno| error::os_error("read the attributes of", path.absolute(), errno))
    }

    fn check_writable(&self, path: &SafePath, meta: &FileMeta) -> Result<()> {
        let Some(name) = path.relative().file_name() else { return Ok(()) };
        if write_temp::is_decided_by_mode(path.absolute(), meta)? {
            return Ok(());
        }
        write_temp::check_access(&ParentDir::open(self, path)?, name, path.absolute())
    }

    fn remove_dir(&self, path: &SafePath) -> Result<bool> {
        let Some(name) = path.relative().file_name() else { return Ok(false) };
        let parent = path.relative().parent().unwrap_or(Path::new(""));
        let removed = self.unlink_dir(path.root(), parent, name).or_else(|errno| {
            // Some file systems keep the name of a removed file until it is closed.
            let kept = matches!(errno, Errno::NOTEMPTY | Errno::EXIST) && self.close_displaced();
            if kept { self.unlink_dir(path.root(), parent, name) } else { Err(errno) }
        });
        match removed {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(errno) => Err(error::os_error("remove the directory", path.absolute(), errno)),
        }
    }

    fn list(&self, path: &SafePath) -> Result<Option<Vec<DirEntry>>> {
        let entries =
            self.read_entries(path).map_err(|errno| error::os_error("list the directory", path.absolute(), errno))?;
        error::check_listing(path, entries)
    }

    fn entries_meta(&self, path: &SafePath, names: &[&OsStr]) -> Result<Vec<Option<FileMeta>>> {
        let folder = self
            .open_beneath(path.root(), path.relative(), sys::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW)
            .map_err(|errno| error::os_error("list the directory", path.absolute(), errno))?;
        Ok(names.iter().map(|name| Some(read::file_meta(&sys::statat(&folder, name).ok()?))).collect())
    }

    fn lookup_names(&self, root: usize, folder: &Path, names: &[&OsStr]) -> Result<Vec<Option<NameInfo>>> {
        name_lookup::lookup_names(self, root, folder, names)
    }

    fn stage<'a>(&'a self, writes: &'a [FileWrite<'a>], durability: Durability) -> Result<Staged<'a>> {
        // Without calls to [`Store::run_deferred`], displaced files are freed by the next edit, which may need the
        // space.
        self.close_displaced();
        self.check_unfinished(writes)?;
        stage::stage(self, writes, durability).map(Staged::new)
    }

    fn run_deferred(&self) {
        self.close_displaced();
    }

    fn recover_again(&self) -> Result<()> {
        let report = self.recover()?;
        self.recovery_report.lock().unwrap_or_else(PoisonError::into_inner).add(report);
        Ok(())
    }

    fn take_recovery_report(&self) -> RecoveryReport {
        std::mem::take(&mut *self.recovery_report.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn unfinished_calls(&self) -> Vec<String> {
        self.unfinished_notes()
    }
}

impl LocalStore {
    /// Closes displaced files, which frees their space; false if there are none.
    fn close_displaced(&self) -> bool {
        let spent = std::mem::take(&mut *self.displaced_files.lock().unwrap_or_else(PoisonError::into_inner));
        let any = !spent.is_empty();
        if spent.len() > 1 {
            sys::close_all(spent);
        }
        any
    }

    /// Removes an empty directory below an opened parent.
    fn unlink_dir(&self, root: usize, parent: &Path, name: &OsStr) -> emendate_os::io::Result<()> {
        self.open_beneath(root, parent, sys::PATH | OFlags::DIRECTORY)
            .and_then(|parent| sys::unlinkat(parent, name, AtFlags::REMOVEDIR))
    }
}

#[cfg(test)]
mod tests {
    use super::beneath;
    use std::path::Path;

    #[test]
    fn beneath_agrees_with_comparison_by_component() {
        let parts = ["/", "a", "/a", "a/", "//", ".", "..", "./", "b", ".b", "b.", "\u{e9}", ""];
        for nth in 0..parts.len().pow(3) {
            let part = |digit: u32| parts[nth / parts.len().pow(digit) % parts.len()];
            let path = format!("/r{}{}{}", part(2), part(1), part(0));
            for base in ["/", "/r", "/r/", "/r/a", "/ra", "/r/./a", "/r//a", "/r/a/b"] {
                let (path, base) = (Path::new(&path), Path::new(base));
                let expected = path.strip_prefix(base).ok().map(Path::as_os_str);
                assert_eq!(beneath(path, base).map(Path::as_os_str), expected, "{} {}", path.display(), base.display());
            }
        }
    }
}

//! The interface of a backend: resolve, stat, read, stage, commit.

use core::fmt;
use core::str::FromStr;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use emendate_core::{Code, ContentId, Error, Result};

use crate::{
    FileAttributes, FileMeta, FileSource, NameSet, PathComponent, RecoveryReport, RootInfo, SafePath, components, error,
};

/// One version of a regular file, as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// Metadata, equal before and after the read.
    pub meta: FileMeta,
    /// "Racily clean": modified so shortly before the read that equal metadata later proves nothing.
    pub racy: bool,
}

/// Guarantee after a success and after a crash; `docs/durability.md` lists it per file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Nothing is synced or journaled: if the process dies, each file is old or new, but of several files some may be
    /// old and others new. After a power cut a file may be old, new or empty.
    None,
    /// Nothing is synced: if the process dies, all files are old or all are new, after recovery at the next start.
    /// After a power cut a file may be old, new or empty.
    Process,
    /// The same guarantee also after a power cut, and what was reported as written is still there.
    #[default]
    Power,
}

impl Durability {
    /// Every level, weakest first.
    pub const ALL: [Durability; 3] = [Durability::None, Durability::Process, Durability::Power];

    /// The name in options and replies: `none`, `process` or `power`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Process => "process",
            Durability::Power => "power",
        }
    }

    /// Older names of this level, still accepted.
    pub const fn synonyms(self) -> &'static [&'static str] {
        match self {
            Durability::None | Durability::Process => &[],
            Durability::Power => &["normal", "full"],
        }
    }

    /// True when data and names are synced.
    pub const fn syncs(self) -> bool {
        matches!(self, Durability::Power)
    }
}

impl FromStr for Durability {
    type Err = Error;

    /// Fails with `call.invalid` if `name` is not a level.
    fn from_str(name: &str) -> Result<Durability> {
        Durability::ALL.into_iter().find(|level| level.as_str() == name || level.synonyms().contains(&name)).ok_or_else(
            || {
                Error::new(Code::CallInvalid, format!("`{name}` is not a level of durability."))
                    .next("Use none, process or power.")
            },
        )
    }
}

/// Precondition that must hold right before publishing.
#[derive(Clone, Copy, Debug)]
pub enum Precondition<'a> {
    /// The path does not exist.
    Missing,
    /// The same inode is there, with the same bytes.
    Version {
        /// The whole content.
        bytes: &'a [u8],
        /// Metadata of the read; only device and inode are compared.
        meta: &'a FileMeta,
    },
    /// The same inode is there, with the content that was read through `source`.
    Content {
        /// The open file.
        source: &'a FileSource,
        /// Content id of all its bytes.
        content: ContentId,
    },
    /// A symbolic link with this target; see [`Store::resolve_no_follow`] and [`Store::read_link`].
    Link {
        /// Target of the link, byte for byte.
        target: &'a OsStr,
    },
}

/// One part of a spliced file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpliceChunk<'a> {
    /// New bytes.
    New(&'a [u8]),
    /// A range copied from the source.
    Copied {
        /// Offset in the source.
        at: u64,
        /// Length in bytes.
        len: u64,
    },
}

impl SpliceChunk<'_> {
    /// Length in bytes.
    pub const fn len(&self) -> u64 {
        match self {
            SpliceChunk::New(bytes) => bytes.len() as u64,
            SpliceChunk::Copied { len, .. } => *len,
        }
    }

    /// True if it adds nothing.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Intended state of a path.
#[derive(Clone, Copy, Debug)]
pub enum NewState<'a> {
    /// A regular file.
    File {
        /// The content is the concatenation of these; they are never joined in memory.
        chunks: &'a [&'a [u8]],
        /// `Some(true)` sets the execute bits where the read bits are set, `Some(false)` clears them; `None` keeps
        /// them. The umask applies to a new file.
        executable: Option<bool>,
        /// Exact permission bits, at most `0o7777`; overrides the umask and the other fields.
        mode: Option<u32>,
        /// An existing file whose mode, owner and attributes the new one gets, as for a move or copy; it is read while
        /// staging. `None`: those of the replaced file, or the defaults of a new file.
        like: Option<&'a SafePath>,
        /// Owner and attributes of a new file; what cannot be applied is noted.
        attributes: Option<&'a FileAttributes>,
    },
    /// A regular file composed of new bytes and parts of the file that it replaces ([`Precondition::Content`] of the
    /// same source), whose mode, owner and attributes it gets. Neither is ever in memory as a whole. Must be alone in
    /// its transaction.
    Spliced {
        /// The file that it replaces.
        source: &'a FileSource,
        /// The content is the concatenation of these.
        chunks: &'a [SpliceChunk<'a>],
    },
    /// A symbolic link; its target is never checked.
    Link {
        /// Target of the link.
        target: &'a OsStr,
    },
    /// Nothing: the file is removed. The directory stays, even if it is empty then.
    Absent,
}

impl<'a> NewState<'a> {
    /// A regular file with this content and the metadata of the file it replaces.
    pub const fn content(chunks: &'a [&'a [u8]]) -> NewState<'a> {
        NewState::File { chunks, executable: None, mode: None, like: None, attributes: None }
    }

    /// Returns the resulting permission bits; `mode` is that of the replaced or imitated file.
    pub(crate) const fn mode(&self, mode: u32) -> u32 {
        let mode = mode & 0o7777;
        match self {
            NewState::File { mode: Some(exactly), .. } => *exactly & 0o7777,
            NewState::File { executable: Some(true), .. } => mode | ((mode & 0o444) >> 2),
            NewState::File { executable: Some(false), .. } => mode & !0o111,
            _ => mode,
        }
    }

    /// Content of a regular file that is given whole; empty for anything else.
    pub const fn chunks(&self) -> &'a [&'a [u8]] {
        match self {
            NewState::File { chunks: pieces, .. } => pieces,
            NewState::Spliced { .. } | NewState::Link { .. } | NewState::Absent => &[],
        }
    }

    /// Length of the new content in bytes.
    pub(crate) fn length(&self) -> u64 {
        match self {
            NewState::File { chunks: pieces, .. } => pieces.iter().map(|piece| piece.len() as u64).sum(),
            NewState::Spliced { chunks: pieces, .. } => pieces.iter().map(SpliceChunk::len).sum(),
            NewState::Link { .. } | NewState::Absent => 0,
        }
    }
}

/// The intended change of one path: one write of a transaction. A move is two writes of one transaction:
/// [`NewState::Absent`] at the source, and a file [`like`](NewState::File::like) the source at the target; so it also
/// works across mounts. A file with several hard links keeps them if its content and mode stay the same, the target is
/// new and on the same file system; otherwise the target is a file of its own.
#[derive(Clone, Copy, Debug)]
pub struct FileWrite<'a> {
    /// The path.
    pub path: &'a SafePath,
    /// Precondition.
    pub precondition: Precondition<'a>,
    /// Intended state.
    pub new_state: NewState<'a>,
}

/// Method by which new content became visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteMethod {
    /// The file is new.
    Created,
    /// A finished file was renamed over the old one.
    Renamed,
    /// A finished file was exchanged with the old one, which was verified again before it was removed.
    Exchanged,
    /// The old file was overwritten; a reader may have seen a mix for a moment.
    InPlace,
    /// The file was removed.
    Removed,
}

impl WriteMethod {
    /// The name in replies: `created`, `renamed`, `exchanged`, `in place` or `removed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            WriteMethod::Created => "created",
            WriteMethod::Renamed => "renamed",
            WriteMethod::Exchanged => "exchanged",
            WriteMethod::InPlace => "in place",
            WriteMethod::Removed => "removed",
        }
    }
}

/// Result of one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteReport {
    /// Metadata of the file after publishing, or of the removed file.
    pub meta: FileMeta,
    /// Publishing method.
    pub method: WriteMethod,
    /// Notes for the user, one sentence each: why it was written in place, what could not be kept.
    pub notes: Vec<String>,
}

/// Type of a directory entry. A link is a link, whatever its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// A directory entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DirEntry {
    /// The name.
    pub name: OsString,
    /// The type of the entry.
    pub kind: EntryKind,
}

/// Lookup result of a name of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameInfo {
    /// Metadata of the file itself.
    pub meta: FileMeta,
    /// Metadata of the link's target, if it is a link with an existing target.
    pub target: Option<FileMeta>,
}

/// A place where files live: the disk or memory.
pub trait Store: Send + Sync {
    /// The directories this store may access; [`SafePath::root`] is an index into it.
    fn roots(&self) -> &[RootInfo];

    /// Resolves an absolute path beneath the roots. The file and its parents may be missing.
    ///
    /// Fails with `path.invalid` (not absolute, empty, NUL, a file used as a directory), `path.outside`, `path.symlink`
    /// (a link that is broken, loops or leaves the roots) or `io.*`.
    fn resolve_path(&self, path: &Path) -> Result<SafePath>;

    /// Resolves a path without following a link that is its last component: the result is the link itself. Links before
    /// that are followed.
    fn resolve_no_follow(&self, path: &Path) -> Result<SafePath>;

    /// Returns a path below a file or link that the same transaction removes, so that it becomes a directory.
    ///
    /// Fails with `path.invalid` if `rest` is not a plain relative path.
    fn resolve_below(&self, removed: &SafePath, rest: &Path) -> Result<SafePath> {
        let asked = removed.absolute().join(rest);
        if rest.as_os_str().is_empty() || !rest.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(error::invalid_path(
                &asked,
                "is not a plain path below a file",
                "Write it without `.` and `..`.",
            ));
        }
        let root = &self.roots()[removed.root()].canonical;
        Ok(SafePath::new(removed.root(), root, removed.relative().join(rest), &asked, None))
    }

    /// Returns the target of the symbolic link at `path`; `None` if it is not a link. Fails with `io.*`.
    fn read_link(&self, path: &SafePath) -> Result<Option<OsString>>;

    /// Returns the metadata of the regular file at `path`; `None` if nothing is there. Fails with `path.not_regular`
    /// for anything else.
    fn metadata(&self, path: &SafePath) -> Result<Option<FileMeta>>;

    /// Reads the file into `buffer` (cleared first, capacity reused); `None` if there is none. Never reads more than
    /// `limit` + 1 bytes.
    ///
    /// Fails with `path.not_regular`, `file.too_large` (with size and limit in bytes), `conflict.raced` (the file is
    /// being written) or `io.*`.
    fn read(&self, path: &SafePath, limit: u64, buffer: Vec<u8>) -> Result<Option<FileVersion>>;

    /// Opens a file of any size, to read it in chunks and to replace it with a spliced file; `None` if there is none.
    ///
    /// Fails with `path.not_regular` or `io.*`.
    fn source(&self, path: &SafePath) -> Result<Option<FileSource>>;

    /// Returns the names in the parent directory of `path`, sorted, at most 10,000; empty if the directory does not
    /// exist.
    fn siblings(&self, path: &SafePath) -> Result<Vec<OsString>>;

    /// Returns the owner and extended attributes of the regular file at `path`; `None` if there is none.
    ///
    /// Fails with `path.not_regular`, `file.too_large` for more than 256 KiB of attributes, or `io.*`.
    fn attributes(&self, path: &SafePath) -> Result<Option<FileAttributes>>;

    /// Checks that the existing file at `path`, with this metadata, may be written, as [`Store::stage`] does.
    ///
    /// Fails with `io.*`.
    fn check_writable(&self, _place: &SafePath, _meta: &FileMeta) -> Result<()> {
        Ok(())
    }

    /// Removes the directory at `path` if it is empty; returns false otherwise. Fails with `io.*`.
    fn remove_dir(&self, path: &SafePath) -> Result<bool>;

    /// Lists the directory at `path`, sorted by name; `None` if it is not a directory. Fails with `call.too_large` for
    /// more than 500,000 entries, or `io.*`.
    fn list(&self, path: &SafePath) -> Result<Option<Vec<DirEntry>>>;

    /// Returns the metadata of entries of a directory; `None` for one that is no longer there. A link is described
    /// itself.
    ///
    /// Fails with `io.*` if the directory cannot be entered.
    fn entries_meta(&self, path: &SafePath, names: &[&OsStr]) -> Result<Vec<Option<FileMeta>>> {
        let found = self.lookup_names(path.root(), path.relative(), names)?;
        Ok(found.into_iter().map(|found| found.map(|found| found.meta)).collect())
    }

    /// Returns the path of an entry that [`Store::list`] returned, without access to the disk. If a link has taken the
    /// place of the entry or of a directory before it, the file cannot be opened.
    fn entry(&self, parent: &SafePath, name: &OsStr) -> SafePath {
        let root = &self.roots()[parent.root()].canonical;
        let asked = parent.absolute().join(name);
        SafePath::new(parent.root(), root, parent.relative().join(name), &asked, None)
    }

    /// Looks up names in a directory below a root; `None` for a name that does not exist or cannot be examined. Only
    /// device, inode and type of the results are reliable; nothing is opened.
    ///
    /// Fails with `io.*` if the directory exists and cannot be entered.
    fn lookup_names(&self, root: usize, folder: &Path, names: &[&OsStr]) -> Result<Vec<Option<NameInfo>>>;

    /// Looks up each component of a path below a root, the first one first, and the wanted names beside it. Stops
    /// before the first component that does not exist; nothing counts as existing beyond a link.
    ///
    /// Fails with `io.*` if a directory exists and cannot be entered.
    fn walk_components(&self, root: usize, path: &Path, wanted: &NameSet) -> Result<Vec<PathComponent>> {
        components::walk(self, root, path, wanted)
    }

    /// Stages every write in a temporary file, not visible yet, with the requested durability. Missing parent
    /// directories are created. A write below one that removes a file makes that file a directory; a write that creates
    /// a file where a directory is makes the directory a file, if the other writes remove everything in it.
    ///
    /// Fails with `io.permission` for a file that the caller may not write or remove, `conflict.raced` if a
    /// precondition is already known not to hold, `file.not_found` if the file to remove or imitate is missing,
    /// `path.not_regular` or `io.*`. After an error nothing is left behind.
    fn stage<'a>(&'a self, writes: &'a [FileWrite<'a>], durability: Durability) -> Result<Staged<'a>>;

    /// Does postponed work after the reply was sent: frees the space of replaced files. Nothing else depends on it, and
    /// the next [`Store::stage`] does it too.
    fn run_deferred(&self) {}

    /// Completes or undoes calls of dead processes, as [`LocalStore::recover`](crate::LocalStore::recover) does.
    ///
    /// Fails with `io.*` if the journal cannot be listed.
    fn recover_again(&self) -> Result<()> {
        Ok(())
    }

    /// Takes the report of all recoveries since the last call: those by [`Store::recover_again`] and [`Store::stage`].
    fn take_recovery_report(&self) -> RecoveryReport {
        RecoveryReport::default()
    }

    /// Describes the calls of dead processes that the last recovery could neither complete nor undo.
    fn unfinished_calls(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Predicted result of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitPreview {
    /// For each write, the metadata of the resulting file, or of the file to be removed. Only the last change time is
    /// still to come.
    pub metadata: Vec<FileMeta>,
    /// Directories that were created for it, parents first.
    pub created_dirs: Vec<PathBuf>,
    /// Content id of a spliced file; only the store has read all of its bytes.
    pub spliced_content: Option<ContentId>,
}

/// A backend's implementation of [`Staged`]. Dropping it without [`Transaction::commit`] discards everything staged.
pub trait Transaction {
    /// See [`Staged::preview`].
    fn preview(&self) -> CommitPreview;

    /// See [`Staged::commit`].
    fn commit(self: Box<Self>) -> Result<Vec<WriteReport>>;
}

/// A staged transaction: written, perhaps durable, not visible. Dropping it discards its temporary files and created
/// directories.
#[must_use = "commit or drop"]
pub struct Staged<'a> {
    transaction: Box<dyn Transaction + 'a>,
}

impl<'a> Staged<'a> {
    /// Wraps a backend's transaction.
    pub fn new(transaction: impl Transaction + 'a) -> Staged<'a> {
        Staged { transaction: Box::new(transaction) }
    }
}

impl Staged<'_> {
    /// Predicts the result of [`Staged::commit`].
    pub fn preview(&self) -> CommitPreview {
        self.transaction.preview()
    }

    /// Syncs if requested, locks, checks every precondition again, then publishes; returns one result per write, in
    /// order.
    ///
    /// Fails with `conflict.raced` if a file does not meet its precondition, `lock.timeout` or `io.*`: nothing was
    /// changed then. After `io.partial` something stayed changed; the evidence says what.
    pub fn commit(self) -> Result<Vec<WriteReport>> {
        self.transaction.commit()
    }
}

impl fmt::Debug for Staged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Staged")
    }
}

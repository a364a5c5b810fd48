//! What a backend offers: admit, stamp, read, stage, commit.

use core::fmt;
use core::str::FromStr;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use emendate_core::{Code, ContentId, Error, Result};

use crate::{Attributes, Met, Place, RootInfo, Source, Stamp, Wanted, along};

/// One version of one regular file, as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// The stamp, equal before and after the read.
    pub stamp: Stamp,
    /// "Racily clean": modified so shortly before the read that an equal stamp later proves nothing.
    pub racy: bool,
}

/// What a success, and a crash in the middle, means afterwards; `docs/durability.md` has it per file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Nothing is synced and nothing is written into the journal: every file is old or new when the process dies, but of
    /// several files some may be old and others new. After a power cut a file may be old, new or empty.
    None,
    /// Nothing is synced: when the process dies at any moment, all files are old or all are new, after recovery at the
    /// next start. After a power cut a file may be old, new or empty.
    Process,
    /// The same holds for a power cut, and what was reported as written is still there.
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

    /// `call.invalid` when `name` is none of the three.
    fn from_str(name: &str) -> Result<Durability> {
        let named = |level: &Durability| level.as_str() == name || level.synonyms().contains(&name);
        Durability::ALL.into_iter().find(named).ok_or_else(|| {
            Error::new(Code::CallInvalid, format!("`{name}` is not a level of durability."))
                .next("Use none, process or power.")
        })
    }
}

/// What must still be true right before publishing.
#[derive(Clone, Copy, Debug)]
pub enum Expect<'a> {
    /// Nothing is at the path.
    Missing,
    /// The same inode is there, with the same bytes.
    Version {
        /// The whole content.
        bytes: &'a [u8],
        /// The stamp it was read with; only device and inode count.
        stamp: &'a Stamp,
    },
    /// The same inode is there, with the content that was read from it through `source`.
    Content {
        /// The open file.
        source: &'a Source,
        /// What all of its bytes were.
        content: ContentId,
    },
    /// A symbolic link that leads there; see [`Store::admit_link`] and [`Store::link`].
    Link {
        /// What the link says, byte for byte.
        target: &'a OsStr,
    },
}

/// A piece of a file that is made of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// These bytes.
    New(&'a [u8]),
    /// So many bytes of the source.
    Kept {
        /// Where they begin.
        at: u64,
        /// How many they are.
        len: u64,
    },
}

impl Piece<'_> {
    /// Its length in bytes.
    pub const fn len(&self) -> u64 {
        match self {
            Piece::New(bytes) => bytes.len() as u64,
            Piece::Kept { len, .. } => *len,
        }
    }

    /// True when it adds nothing.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What is to be at a place afterwards.
#[derive(Clone, Copy, Debug)]
pub enum Goal<'a> {
    /// A regular file.
    File {
        /// Its content is the concatenation of these; they are never joined in memory.
        pieces: &'a [&'a [u8]],
        /// `Some(true)` sets the execute bits where the read bits are, `Some(false)` takes all of them off; `None` keeps
        /// them. A new file's bits obey the umask.
        executable: Option<bool>,
        /// Exactly these permission bits, at most `0o7777`, whatever the umask and the fields beside it say.
        mode: Option<u32>,
        /// The existing file whose mode, owner and attributes it gets, as a file that is moved or copied keeps them; it is
        /// looked at while staging. `None`: those of the file that it replaces, or those of any new file.
        like: Option<&'a Place>,
        /// Owner and attributes of a new file; what cannot be given is told.
        attributes: Option<&'a Attributes>,
    },
    /// A regular file made of parts of the one that it replaces ([`Expect::Content`] of the same source), which gives it its
    /// mode, owner and attributes. Neither of the two is ever in memory as a whole. Alone in its transaction.
    Spliced {
        /// The file that it replaces.
        source: &'a Source,
        /// Its content is the concatenation of these.
        pieces: &'a [Piece<'a>],
    },
    /// A symbolic link; where it leads is never looked at.
    Link {
        /// What the link says.
        target: &'a OsStr,
    },
    /// Nothing: what is there is removed. The folder stays, even when it is empty then.
    Gone,
}

impl<'a> Goal<'a> {
    /// A regular file with this content, and the metadata of what it replaces.
    pub const fn content(pieces: &'a [&'a [u8]]) -> Goal<'a> {
        Goal::File { pieces, executable: None, mode: None, like: None, attributes: None }
    }

    /// The permission bits that go with `mode`, those of the file that is kept or imitated.
    pub(crate) const fn mode(&self, mode: u32) -> u32 {
        let mode = mode & 0o7777;
        match self {
            Goal::File { mode: Some(exactly), .. } => *exactly & 0o7777,
            Goal::File { executable: Some(true), .. } => mode | ((mode & 0o444) >> 2),
            Goal::File { executable: Some(false), .. } => mode & !0o111,
            _ => mode,
        }
    }

    /// The content of a regular file that is given whole; none for anything else.
    pub const fn pieces(&self) -> &'a [&'a [u8]] {
        match self {
            Goal::File { pieces, .. } => pieces,
            Goal::Spliced { .. } | Goal::Link { .. } | Goal::Gone => &[],
        }
    }

    /// Bytes of a regular file's content.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Goal::File { pieces, .. } => pieces.iter().map(|piece| piece.len() as u64).sum(),
            Goal::Spliced { pieces, .. } => pieces.iter().map(Piece::len).sum(),
            Goal::Link { .. } | Goal::Gone => 0,
        }
    }
}

/// What is to become of one place. A move is two drafts of one transaction: [`Goal::Gone`] at the source, and a file
/// [`like`](Goal::File::like) the source at the target; so it works across mounts as well.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// Where.
    pub place: &'a Place,
    /// What it replaces.
    pub expect: Expect<'a>,
    /// What is to be there.
    pub goal: Goal<'a>,
}

/// How new content was made visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// The file is new.
    Created,
    /// A finished file was renamed over the old one.
    Renamed,
    /// A finished file changed names with the old one, which was checked once more before it was thrown away.
    Exchanged,
    /// The old file's bytes were overwritten; a reader may have seen a mix for a moment.
    InPlace,
    /// Nothing is there any more.
    Removed,
}

impl Method {
    /// The name in replies: `created`, `renamed`, `exchanged`, `in place` or `removed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Created => "created",
            Method::Renamed => "renamed",
            Method::Exchanged => "exchanged",
            Method::InPlace => "in place",
            Method::Removed => "removed",
        }
    }
}

/// What became of one draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The stamp of what is now at the path, taken after publishing; that of the file that was removed.
    pub stamp: Stamp,
    /// How it was published.
    pub method: Method,
    /// What a person should know, one sentence each: why it was written in place, what could not be kept.
    pub notes: Vec<String>,
}

/// What a name in a folder stands for. A link is a link, wherever it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The name.
    pub name: OsString,
    /// What it stands for.
    pub kind: Kind,
}

/// What has a name, be it a file, a folder, a link or anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// What has the name itself.
    pub stamp: Stamp,
    /// What the name leads to, if it is a link that leads anywhere.
    pub leads_to: Option<Stamp>,
}

/// A place where files live: the disk, memory.
pub trait Store: Send + Sync {
    /// The folders this store may reach into; [`Place::root`] is an index into it.
    fn roots(&self) -> &[RootInfo];

    /// Lets an absolute path through the sandbox. The file and its parents may be missing.
    ///
    /// `path.invalid` (not absolute, empty, NUL, a file where a folder must be), `path.outside`, `path.symlink` (broken,
    /// looping or leaving link), `io.*`.
    fn admit(&self, path: &Path) -> Result<Place>;

    /// The same, but a link that is the last part of the path is not followed: the place is the link itself. Links on the
    /// way to it are.
    fn admit_link(&self, path: &Path) -> Result<Place>;

    /// What the symbolic link at `place` says; `None` when something else is there, or nothing. `io.*`.
    fn link(&self, place: &Place) -> Result<Option<OsString>>;

    /// The stamp of the regular file at `place`; `None` when there is nothing. `path.not_regular` for anything else.
    fn stamp(&self, place: &Place) -> Result<Option<Stamp>>;

    /// Reads the file into `buffer` (cleared first, its capacity reused); `None` when there is none. Never reads more than
    /// `limit` + 1 bytes.
    ///
    /// `path.not_regular`, `file.too_large` (names size and limit, in bytes), `conflict.raced` (being written), `io.*`.
    fn read(&self, place: &Place, limit: u64, buffer: Vec<u8>) -> Result<Option<Version>>;

    /// Opens a file of any size, to be read in parts and to be replaced by a file made of parts of it; `None` when there is
    /// none.
    ///
    /// `path.not_regular`, `io.*`.
    fn source(&self, place: &Place) -> Result<Option<Source>>;

    /// Names in the parent directory of `place`, sorted, at most 10 000; empty when the directory does not exist.
    fn siblings(&self, place: &Place) -> Result<Vec<OsString>>;

    /// Owner and extended attributes of the regular file at `place`; `None` when there is none.
    ///
    /// `path.not_regular`, `file.too_large` for more attributes than 256 KiB, `io.*`.
    fn attributes(&self, place: &Place) -> Result<Option<Attributes>>;

    /// Removes the folder at `place` if it is empty; false when it is not, or no folder is there. `io.*`.
    fn remove_folder(&self, place: &Place) -> Result<bool>;

    /// What is in the folder at `place`, sorted by name, at most 100 000 entries; `None` when no folder is there. `io.*`.
    fn list(&self, place: &Place) -> Result<Option<Vec<Entry>>>;

    /// What has each of these names in the folder at that path below a root: `None` where nothing has, or where it cannot
    /// be told. Only device, inode and kind of what is looked at are to be relied on; nothing is opened.
    ///
    /// `io.*` when the folder is there and cannot be entered.
    fn named(&self, root: usize, folder: &Path, names: &[&OsStr]) -> Result<Vec<Option<Named>>>;

    /// What each part of a path below a root is, the first one first, and which of the wanted names are beside it. Ends
    /// before the first part that is not there; what is behind a link is not there.
    ///
    /// `io.*` when a folder is there and cannot be entered.
    fn along(&self, root: usize, path: &Path, wanted: &Wanted) -> Result<Vec<Met>> {
        along::one_by_one(self, root, path, wanted)
    }

    /// Writes every draft aside, not visible yet; it is to be durable as asked when it becomes so. Missing parent directories
    /// are created.
    ///
    /// `io.permission` for a file the caller may not write or remove, `conflict.raced` when it is already clear that a
    /// draft's expectation does not hold, `file.not_found` when nothing is to be removed or imitated, `path.not_regular`,
    /// `io.*`. After an error nothing is left behind.
    fn stage<'a>(&'a self, drafts: &'a [Draft<'a>], durability: Durability) -> Result<Staged<'a>>;

    /// Does what may wait until an answer is out: gives back the space of files that were replaced. Nothing else depends
    /// on it, and the next [`Store::stage`] does it, too.
    fn settle(&self) {}
}

/// What a commit will leave, as far as it can be told before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// For each draft the stamp of what will be at its place; that of what is to be removed. Only the last change of the
    /// inode is still to come.
    pub stamps: Vec<Stamp>,
    /// Folders that were made for it, those above others first.
    pub made: Vec<PathBuf>,
    /// Of a file made of parts of another one, what its bytes are; nobody else has seen them all.
    pub spliced: Option<ContentId>,
}

/// A backend's half of [`Staged`]. Dropping it without [`Transaction::commit`] discards everything staged.
pub trait Transaction {
    /// See [`Staged::ahead`].
    fn ahead(&self) -> Ahead;

    /// See [`Staged::commit`].
    fn commit(self: Box<Self>) -> Result<Vec<Written>>;
}

/// Written, perhaps durable, not visible. Dropping it discards every temporary file and every directory made for it.
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
    /// What [`Staged::commit`] will leave.
    pub fn ahead(&self) -> Ahead {
        self.transaction.ahead()
    }

    /// Waits for the disk where that was asked for, locks, checks every expectation again, then publishes; one entry per
    /// draft, in their order.
    ///
    /// `conflict.raced` when a file is not what the draft expects, `lock.timeout`, `io.*`: nothing was changed.
    /// `io.partial`: something stayed changed, the evidence says what.
    pub fn commit(self) -> Result<Vec<Written>> {
        self.transaction.commit()
    }
}

impl fmt::Debug for Staged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Staged")
    }
}

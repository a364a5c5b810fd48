//! The log of operations: what was done to which files, so that it can be told and undone.

use core::fmt;
use core::str::FromStr;
use std::collections::HashSet;
use std::time::Duration;

use emendate_core::{ContentId, Error, Result};
use emendate_fs::Attributes;

use rustix::process::Pid;

use crate::{OwnedSwap, Record, Swap, clock};

/// Microseconds after which whatever has the number of an operation's process is another one.
const LONGEST: i64 = 60_000_000;

/// Names an operation within one store. Its number rises from operation to operation and is never given twice; the four
/// hexadecimal digits behind it tell it from an operation of that number in another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId {
    /// 1 for the first.
    pub number: u64,
    /// Made of the moment it was logged.
    pub check: u16,
}

impl OperationId {
    pub(crate) fn new(number: u64, at: i64) -> OperationId {
        let hash = blake3::hash(&[number.to_le_bytes(), at.to_le_bytes()].concat());
        let [low, high, ..] = *hash.as_bytes();
        OperationId { number, check: u16::from_le_bytes([low, high]) }
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:04x}", self.number, self.check)
    }
}

/// An operation as a caller names it: `17-3fa9`, or `17` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationName {
    /// The number.
    pub number: u64,
    /// The digits behind it, if they were given.
    pub check: Option<u16>,
}

impl OperationName {
    /// True when it names that operation.
    pub fn names(self, id: OperationId) -> bool {
        self.number == id.number && self.check.is_none_or(|check| check == id.check)
    }
}

impl FromStr for OperationName {
    type Err = ();

    fn from_str(text: &str) -> core::result::Result<OperationName, ()> {
        let (number, check) = text.split_once('-').map_or((text, None), |(number, check)| (number, Some(check)));
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let check = match check {
            Some(check) if check.len() == 4 && plain(check) => Some(u16::from_str_radix(check, 16).map_err(drop)?),
            Some(_) => return Err(()),
            None => None,
        };
        if !plain(number) {
            return Err(());
        }
        Ok(OperationName { number: number.parse().map_err(drop)?, check })
    }
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A symbolic link; its content is where it points.
    Link,
}

/// A path at one moment, when something stood there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Side {
    /// Its raw bytes.
    pub content: ContentId,
    /// Permission bits, at most `0o7777`.
    pub mode: u32,
    /// What it is.
    pub kind: Kind,
}

/// One file of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Bytes of the canonical absolute path.
    pub path: Vec<u8>,
    /// Where its content came from, if the operation moved it here; that path is touched too.
    pub moved_from: Option<Vec<u8>>,
    /// What stood at the path; `None` when there was nothing.
    pub before: Option<Side>,
    /// What stands there now; `None` when there is nothing.
    pub after: Option<Side>,
    /// Owner and extended attributes of the file that stood at the path, where no file has them on.
    pub attributes: Option<Attributes>,
    /// Lines that came.
    pub added: u64,
    /// Lines that went.
    pub removed: u64,
}

/// What an operation is in the order of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A change of its own.
    Edit,
    /// It takes that operation back.
    Undo(OperationId),
    /// It takes that undo back.
    Redo(OperationId),
}

impl Role {
    /// The operation that is taken back.
    pub fn takes_back(self) -> Option<OperationId> {
        match self {
            Role::Edit => None,
            Role::Undo(id) | Role::Redo(id) => Some(id),
        }
    }
}

/// How much of a request was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it.
    Done,
    /// Some edits were left out, as the caller had allowed.
    Partial,
    /// Nobody knows: the process ended in the middle of it, and others changed the files before it was looked into.
    Unsure,
}

/// One request that changed files, all of them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Whose it is.
    pub session: String,
    /// The tool that was called.
    pub tool: String,
    /// The format of its input; empty where there is none.
    pub format: String,
    /// Hash of the input, to know a repeated call again.
    pub digest: [u8; 16],
    /// What is worth knowing; may be empty.
    pub note: String,
    /// Whether it takes another one back.
    pub role: Role,
    /// Older operations that it takes back as well, the newest first.
    pub also: Vec<OperationId>,
    /// How much was done.
    pub outcome: Outcome,
    /// Whether contents may be kept. Not for secrets; without them it can be told but not undone.
    pub kept: bool,
    /// The files, each once.
    pub files: Vec<Touched>,
    /// Bytes of the canonical paths of folders that were made for it, those above others first.
    pub folders: Vec<Vec<u8>>,
}

impl Operation {
    /// The operations that are taken back, the newest first.
    pub fn taken(&self) -> impl Iterator<Item = OperationId> {
        self.role.takes_back().into_iter().chain(self.also.iter().copied())
    }
}

/// An operation of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its name.
    pub id: OperationId,
    /// Microseconds since the epoch.
    pub at: i64,
    /// The operation that took it back.
    pub undone_by: Option<OperationId>,
    /// The process that is about to do it, or ended in the middle of it; `None` once it is [settled](Operations::settle).
    pub owner: Option<u32>,
    /// What was done.
    pub operation: Operation,
}

impl Logged {
    /// The time since it was logged; nothing where the clock was set back since.
    pub fn age(&self) -> Duration {
        Duration::from_micros(u64::try_from(clock::now_us().saturating_sub(self.at)).unwrap_or(0))
    }

    /// True while somebody may still be at it: its process lives, and has not been at it for longer than any call takes.
    pub fn in_flight(&self) -> bool {
        let Some(owner) = self.owner.and_then(|owner| i32::try_from(owner).ok()).and_then(Pid::from_raw) else {
            return false;
        };
        let lives = !matches!(rustix::process::test_kill_process(owner), Err(rustix::io::Errno::SRCH));
        lives && (0..LONGEST).contains(&clock::now_us().saturating_sub(self.at))
    }
}

/// Which operations are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Only those of this session.
    pub session: Option<&'a str>,
    /// Only those that touched this path, or moved it away.
    pub path: Option<&'a [u8]>,
    /// Only those with a smaller number.
    pub below: Option<u64>,
    /// At most so many.
    pub limit: usize,
}

/// How both sides of a file can be had later.
#[derive(Clone, Copy, Default)]
pub struct Change<'a> {
    /// The version that `swaps` lead from: what stood at the path, or at the path that it was moved from; `None`: from
    /// nothing.
    pub base: Option<ContentId>,
    /// The bytes of that version, where they are at hand as a whole.
    pub from: Option<&'a [u8]>,
    /// What leads to the version that stands there now; empty when nothing does.
    pub swaps: &'a [Swap<'a>],
    /// The bytes that stood at the path, where they are lost otherwise: they are not the base, or nothing stands there now.
    pub old: Option<&'a [u8]>,
    /// The bytes that stand there now. Asked for when nothing at all is known of the base, by who cannot wait until there is
    /// time. Called while the store is locked, so it must not use the store.
    pub new: Option<&'a dyn Fn() -> Vec<u8>>,
}

/// What the session knows of a file once an operation is done. See [`Sessions::record`](crate::Sessions::record).
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The path.
    pub path: &'a [u8],
    /// What is known.
    pub record: &'a Record,
}

/// What the log answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The name of the operation.
    pub id: OperationId,
    /// Contents that can perhaps only be had from the file as it is now: [`Operations::keep`] what the store
    /// [lacks](Operations::lacking) when there is time.
    pub loose: Vec<ContentId>,
    /// Files, by their place in the operation, whose content before is lost: it was larger than what is kept.
    pub lost: Vec<usize>,
}

/// A part of the log that was lost, because the database or what belongs to it was damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The newest operation before it; 0 where all were lost.
    pub after: u64,
    /// The last operation that is missing; `None` where nobody knows whether any is.
    pub until: Option<u64>,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.after.saturating_add(1);
        match self.until {
            Some(until) if until <= first => write!(f, "operation {first} is missing from the history"),
            Some(until) => write!(f, "operations {first} to {until} are missing from the history"),
            None => write!(f, "operations after {} may be missing from the history", self.after),
        }
    }
}

/// What a clean-up freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    /// Operations that were dropped from the log.
    pub operations: u64,
    /// Contents that were dropped.
    pub contents: u64,
    /// Bytes of the disk.
    pub bytes: u64,
}

/// What a store takes of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDisk {
    /// Which one.
    pub device: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What a person asks a clean-up to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leave {
    /// Nothing older than so many days.
    pub days: Option<u32>,
    /// At most so many bytes of contents.
    pub bytes: Option<u64>,
}

/// The log of operations. Beside it lie the contents of both sides of each file, as far as they are kept.
pub trait Operations: Send + Sync {
    /// Writes down an operation that is about to be done, with what its session knows of the files then, in one go: whatever
    /// ends the process, what it did can be told and taken back. It is pending until it is [settled](Operations::settle).
    /// `changes` has one entry per file of the operation. The cost grows with the change, not with the file, but for what is
    /// lost otherwise.
    ///
    /// Errors: `conflict.raced` where an operation that was not withdrawn already takes back what this one would; nothing
    /// is written then. Those of the store.
    fn log(&self, operation: &Operation, changes: &[Change<'_>], known: &[Known<'_>]) -> Result<Entered>;

    /// They were done, says who did them. Those that somebody withdrew too early are in the log again.
    fn settle(&self, ids: &[OperationId]) -> Result<()>;

    /// It was done, says who found it [pending](Operations::pending); where `certain` is false, nobody knows. Does nothing
    /// when it is not pending any more.
    fn judge(&self, id: OperationId, certain: bool) -> Result<()>;

    /// Aborts a pending operation: removes it from the log, clears the marks that it alone made on the operations it would
    /// have taken back, and drops the records it would have created. The marks of other operations remain.
    fn withdraw(&self, id: OperationId) -> Result<()>;

    /// The operations that are not settled, the newest first.
    fn pending(&self) -> Result<Vec<Logged>>;

    /// The operations that fit, the newest first.
    fn operations(&self, filter: &Filter<'_>) -> Result<Vec<Logged>>;

    /// The operation of that name.
    fn operation(&self, name: OperationName) -> Result<Option<Logged>>;

    /// The parts of the log that were lost, the newest first. An operation before such a part is not the last one that was
    /// done, though it may be the last one that the log tells.
    fn gaps(&self) -> Result<Vec<Gap>> {
        Ok(Vec::new())
    }

    /// The bytes of a version, proven by the id. `at_hand` are versions that the caller has, from which others can be
    /// reached through the log.
    fn content(&self, content: ContentId, at_hand: &[(ContentId, &[u8])]) -> Result<Option<Vec<u8>>>;

    /// What one change of the log does that leads from one version to another, in offsets of the first; `None` when there is
    /// no such change.
    fn swaps(&self, from: ContentId, to: ContentId) -> Result<Option<Vec<OwnedSwap>>>;

    /// True when [`Operations::content`] would find that version, apart from damage.
    fn reaches(&self, content: ContentId, at_hand: &[ContentId]) -> Result<bool>;

    /// Those of the versions that are not kept themselves, though something may lead to them.
    fn lacking(&self, contents: &[ContentId]) -> Result<HashSet<ContentId>>;

    /// Keeps versions whole, in one go: what [`Entered::loose`] asks for. Bytes that are not those of their id, and versions
    /// that no operation speaks of, are not kept.
    fn keep(&self, versions: &[(ContentId, Vec<u8>)]) -> Result<()>;

    /// What the store takes of a disk; `None` when it takes nothing.
    fn on_disk(&self) -> Option<OnDisk>;

    /// Drops what is too old or too much.
    fn free(&self, leave: Leave) -> Result<Freed>;
}

/// The memory of sessions together with the log of what they did.
pub trait History: crate::Sessions + Operations {}

impl<T: crate::Sessions + Operations> History for T {}

/// The error for an operation that would take back what another one has taken back, or is about to.
pub(crate) fn overtaken(operation: &Operation) -> Error {
    let ids: Vec<String> = operation.taken().map(|id| id.to_string()).collect();
    Error::new(emendate_core::Code::ConflictRaced, "Another process takes the same operation back at this moment.")
        .evidence(format!("operation {}", ids.join(", ")))
        .next("Call history to see what became of it, then repeat the call.")
}

/// The error for a call whose parts do not belong together.
pub(crate) fn check(operation: &Operation, changes: &[Change<'_>]) -> Result<()> {
    if operation.files.len() == changes.len() {
        return Ok(());
    }
    Err(Error::new(emendate_core::Code::InternalBug, "An operation was logged with changes of other files."))
}

#[cfg(test)]
mod tests {
    use super::{OperationId, OperationName};

    #[test]
    fn names_come_back() {
        let id = OperationId::new(17, 1_790_000_000_000_000);
        let name: OperationName = id.to_string().parse().unwrap();
        assert!(name.names(id) && "17".parse::<OperationName>().unwrap().names(id));
        assert!(!name.names(OperationId::new(17, 1_790_000_000_000_001)));
        for wrong in ["", "-", "17-", "17-12345", "17-zzzz", "x", "+17", "17-+123", "-17", "99999999999999999999", "a"]
        {
            assert!(wrong.parse::<OperationName>().is_err(), "{wrong}");
        }
    }
}

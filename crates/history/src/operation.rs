//! The log of operations: the changes of each request, so that they can be listed and undone.

use core::fmt;
use core::str::FromStr;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use emendate_core::explain::ReplacedSpan;
use emendate_core::{Advice, ContentId, Error, Result};
use emendate_fs::FileAttributes;

use crate::{ByteReplacement, OwnedByteReplacement, Record, StatCache, clock};

/// Microseconds after which a running process with the id of an operation's process must be another one: no call takes
/// that long.
const CALL_TIME_MAX_US: i64 = 60_000_000;

/// State of a log that is cheap to read: it differs after every logged operation, and after other changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStamp {
    /// Device and inode of the file that takes operations first; 0 if there is none.
    pub(crate) file: (u64, u64),
    /// End of its entries, and its generation.
    pub(crate) state: (u64, u64),
    /// Number of the next operation; 0 if unknown.
    pub next: u64,
}

impl LogStamp {
    /// False if the log does not exist, e.g. because its directory was removed.
    pub fn has_log(&self) -> bool {
        self.file != (0, 0) || self.next > 0
    }
}

/// Identifies an operation within a store. Numbers increase and are never reused; the four hexadecimal digits after the
/// number distinguish it from operations of other stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId {
    /// The number, from 1.
    pub number: u64,
    /// Hash of the number and the time it was logged.
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

/// An operation as a caller names it: `17-3fa9`, or just `17`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationName {
    /// The number.
    pub number: u64,
    /// The digits after the number, if given.
    pub check: Option<u16>,
}

impl OperationName {
    /// True if it refers to that operation.
    pub fn names(self, id: OperationId) -> bool {
        self.number == id.number && self.check.is_none_or(|check| check == id.check)
    }
}

impl From<OperationId> for OperationName {
    fn from(id: OperationId) -> OperationName {
        OperationName { number: id.number, check: Some(id.check) }
    }
}

impl FromStr for OperationName {
    type Err = ();

    fn from_str(text: &str) -> core::result::Result<OperationName, ()> {
        let (number, check) = text.split_once('-').map_or((text, None), |(number, check)| (number, Some(check)));
        let check = match check {
            Some(check) if check.len() == 4 && is_hex(check) => Some(u16::from_str_radix(check, 16).map_err(drop)?),
            Some(_) => return Err(()),
            None => None,
        };
        if !is_hex(number) {
            return Err(());
        }
        Ok(OperationName { number: number.parse().map_err(drop)?, check })
    }
}

/// True for a text that consists of hexadecimal digits.
fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Type of a logged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A symbolic link; its content is the target.
    Link,
}

/// State of a path at one moment, if something exists there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileState {
    /// Id of the raw bytes.
    pub content: ContentId,
    /// Permission bits, at most `0o7777`.
    pub mode: u32,
    /// Type of the file.
    pub kind: FileKind,
}

/// The change of one file in an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Bytes of the canonical absolute path.
    pub path: Vec<u8>,
    /// Original path of the content, if the operation moved it here; that path is touched too.
    pub moved_from: Option<Vec<u8>>,
    /// State before; `None` if there was nothing.
    pub before: Option<FileState>,
    /// State after; `None` if there is nothing.
    pub after: Option<FileState>,
    /// Owner and extended attributes of the old file, if no file has them any longer.
    pub attributes: Option<FileAttributes>,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

/// Relation of an operation to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// A new change.
    #[default]
    Edit,
    /// Undoes that operation.
    Undo(OperationId),
    /// Undoes that undo.
    Redo(OperationId),
}

impl Role {
    /// The operation that it undoes.
    pub fn undoes(self) -> Option<OperationId> {
        match self {
            Role::Edit => None,
            Role::Undo(id) | Role::Redo(id) => Some(id),
        }
    }
}

/// Degree of completion of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperationOutcome {
    /// All of it.
    #[default]
    Done,
    /// Some edits were skipped, as the caller had allowed.
    Partial,
    /// Unknown: the process died during it, and the files were changed before this was resolved.
    Unknown,
}

/// A request that changed files, with all of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Session that made it.
    pub session: String,
    /// The tool that was called.
    pub tool: String,
    /// The format of its input; empty where there is none.
    pub format: String,
    /// Hash of the input, to know a repeated call again; of a change by others, the hash of its known cause, or zeros.
    pub digest: [u8; 16],
    /// Additional information; may be empty.
    pub note: String,
    /// Relation to another operation.
    pub role: Role,
    /// Older operations that it undoes as well, the newest first.
    pub also_undoes: Vec<OperationId>,
    /// Degree of completion.
    pub outcome: OperationOutcome,
    /// True if contents may be stored. False for secrets; the operation is then listed but cannot be undone.
    pub keeps_content: bool,
    /// The changed files, each once.
    pub files: Vec<FileChange>,
    /// Bytes of the canonical paths of directories that were created for it, parents first.
    pub created_dirs: Vec<Vec<u8>>,
}

/// Session and tool of the operations that record what others did to files.
pub const OUTSIDE: &str = "outside";
/// Tool of the operations that are a mark, named by their note.
pub const MARK: &str = "mark";
/// Tool of the operations with which a turn begins. They are listed only if they are asked for.
pub const TURN: &str = "turn";

impl Operation {
    /// True for the record of a change that was made without the engine.
    pub fn is_outside(&self) -> bool {
        self.tool == OUTSIDE
    }

    /// True for a mark, or the beginning of a turn: it changes nothing, and only has a place in the order of operations.
    pub fn is_moment(&self) -> bool {
        self.files.is_empty() && (self.tool == MARK || self.tool == TURN)
    }

    /// The process that performs it; 0 for an operation that is logged after the fact.
    pub(crate) fn owner(&self) -> u32 {
        if self.is_outside() || self.is_moment() { 0 } else { std::process::id() }
    }

    /// Returns the change of the file with this path in the history.
    pub fn file(&self, path: &[u8]) -> Option<&FileChange> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns the operations that it undoes, the newest first.
    pub fn undoes(&self) -> impl Iterator<Item = OperationId> {
        self.role.undoes().into_iter().chain(self.also_undoes.iter().copied())
    }
}

/// An operation in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The id of the operation.
    pub id: OperationId,
    /// Microseconds since the epoch.
    pub at: i64,
    /// The operation that undid it.
    pub undone_by: Option<OperationId>,
    /// Id of the process that performs it, or died while it did; `None` once it is
    /// [marked as committed](OperationLog::mark_committed).
    pub owner: Option<u32>,
    /// The operation itself.
    pub operation: Operation,
}

impl LogEntry {
    /// Time since it was logged; zero if the clock was set back.
    pub fn age(&self) -> Duration {
        Duration::from_micros(u64::try_from(clock::now_us().saturating_sub(self.at)).unwrap_or(0))
    }

    /// True if its result is known.
    pub fn is_finished(&self) -> bool {
        self.owner.is_none() && self.operation.outcome != OperationOutcome::Unknown
    }

    /// True if it undoes an edit or a redo.
    pub fn is_undo(&self) -> bool {
        matches!(self.operation.role, Role::Undo(_))
    }

    /// True while its process may still be working on it: the process lives, and has not taken longer than any call
    /// may.
    pub fn is_in_flight(&self) -> bool {
        let Some(owner) = self.owner else {
            return false;
        };
        emendate_os::processes::is_running(owner)
            && (0..CALL_TIME_MAX_US).contains(&clock::now_us().saturating_sub(self.at))
    }
}

/// Selection of operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperationFilter<'a> {
    /// Only operations of this session.
    pub session: Option<&'a str>,
    /// Only operations that touched this path, or moved it away.
    pub path: Option<&'a [u8]>,
    /// Only operations at this time or later, in microseconds since the epoch.
    pub since: Option<i64>,
    /// Only operations of this tool; `None` for all but the beginnings of turns.
    pub tool: Option<&'a str>,
    /// Only undos and redos.
    pub only_reversals: bool,
    /// Only operations with a smaller number.
    pub below: Option<u64>,
    /// Maximum number of results.
    pub limit: usize,
}

impl<'a> OperationFilter<'a> {
    /// Selects the newest operations, at most `limit`; the other fields narrow the selection.
    pub fn newest(limit: usize) -> Self {
        OperationFilter { limit, ..OperationFilter::default() }
    }

    /// Selects the newest operations that touched a path, or moved it away, at most `limit`.
    pub fn newest_of(path: &'a [u8], limit: usize) -> Self {
        OperationFilter { path: Some(path), ..OperationFilter::newest(limit) }
    }
}

/// Data from which both states of a file can be restored later.
#[derive(Clone, Copy, Default)]
pub struct ChangeContent<'a> {
    /// The version to which `replacements` apply: the old content of the path, or of the path it was moved from; `None`
    /// if `replacements` produce the whole file.
    pub base: Option<ContentId>,
    /// The bytes of that version, if available as a whole.
    pub base_bytes: Option<&'a [u8]>,
    /// The replacements that lead to the new version; empty if the file was removed.
    pub replacements: &'a [ByteReplacement<'a>],
    /// The old bytes of the path, if they would be lost otherwise: they are not the base, or the file was removed.
    pub old_bytes: Option<&'a [u8]>,
    /// Returns the new bytes. Called if the base is entirely unknown and the caller cannot wait for idle time. Called
    /// while the store is locked, so it must not use the store.
    pub new_bytes: Option<&'a dyn Fn() -> Vec<u8>>,
}

/// A record that a session gets when an operation is done. See [`Sessions::record`](crate::Sessions::record).
#[derive(Clone, Copy)]
pub struct SessionUpdate<'a> {
    /// The path.
    pub path: &'a [u8],
    /// The record.
    pub record: &'a Record,
}

/// The state in which a path was last known: what any session saw, or an operation left, last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownState {
    /// The state; `None` if there was nothing.
    pub state: Option<FileState>,
    /// An operation on the path is in doubt, so the state may not be the one on disk.
    pub in_doubt: bool,
}

impl KnownState {
    /// True if content and kind are those of the state; the mode does not matter.
    pub fn is_like(&self, other: Option<FileState>) -> bool {
        self.state.map(|it| (it.content, it.kind)) == other.map(|it| (it.content, it.kind))
    }

    /// True if a change of a file begins with the state. If only the mode changes, the mode is compared, too.
    pub(crate) fn is_before(&self, change: &FileChange) -> bool {
        let is_mode_only = KnownState { state: change.before, in_doubt: false }.is_like(change.after);
        let mode = |state: Option<FileState>| state.map(|it| it.mode);
        self.is_like(change.before) && (!is_mode_only || mode(self.state) == mode(change.before))
    }
}

/// Both states of a file that others changed, as far as the caller has them.
#[derive(Clone, Copy, Default)]
pub struct OutsideContent<'a> {
    /// The bytes before the change, if the store may not have them.
    pub old_bytes: Option<&'a [u8]>,
    /// The bytes after it.
    pub new_bytes: Option<&'a [u8]>,
}

/// A file that was found and not known before.
#[derive(Clone, Copy)]
pub struct NewlyKnown<'a> {
    /// Bytes of the canonical absolute path.
    pub path: &'a [u8],
    /// The state of the file.
    pub state: FileState,
    /// The bytes of the file, if they are to be stored.
    pub bytes: Option<&'a [u8]>,
}

/// Result of logging an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogReceipt {
    /// Id of the operation.
    pub id: OperationId,
    /// Content ids that only the working file may hold so far. Store those that the store
    /// [lacks](OperationLog::not_stored) with [`OperationLog::store_versions`] when idle.
    pub unstored: Vec<ContentId>,
    /// Indices of the operation's files whose old content is lost because it exceeds the limits.
    pub lost: Vec<usize>,
}

/// A part of the log that was lost because of damage, or could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryGap {
    /// The newest operation before the gap; 0 if all were lost.
    pub after: u64,
    /// The last missing operation; `None` if it is unknown whether any is missing.
    pub until: Option<u64>,
}

impl fmt::Display for HistoryGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.after.saturating_add(1);
        match self.until {
            Some(until) if until <= first => write!(f, "operation {first} is missing from the history"),
            Some(until) => write!(f, "operations {first} to {until} are missing from the history"),
            None => write!(f, "operations after {} may be missing from the history", self.after),
        }
    }
}

/// Result of a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcStats {
    /// Number of operations dropped from the log.
    pub operations: u64,
    /// Number of contents dropped.
    pub contents: u64,
    /// Bytes of disk space released.
    pub bytes: u64,
}

/// Disk usage of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskUsage {
    /// Device number.
    pub device: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Limits that a user requests for a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Drop everything older than this many days.
    pub days: Option<u32>,
    /// Keep at most this many bytes of contents.
    pub bytes: Option<u64>,
}

/// A content that the caller has, with its id.
#[derive(Clone, Copy, Debug)]
pub struct KnownContent<'a> {
    /// The id.
    pub id: ContentId,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// A content to be stored, with the id that it should have.
#[derive(Clone, Debug)]
pub struct OwnedContent {
    /// The id.
    pub id: ContentId,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The log of operations, with the contents of both states of each file as far as they are stored.
pub trait OperationLog: Send + Sync {
    /// Logs an operation that is about to be performed, with the resulting records of its session, in one step:
    /// whatever ends the process, its changes can be listed and undone. It is in doubt until it is
    /// [marked as committed](OperationLog::mark_committed). `changes` has one entry per file of the operation. The cost
    /// grows with the change, not with the file, except for contents that would be lost.
    ///
    /// Fails with `conflict.raced`, writing nothing, if an operation in effect already undoes what this one would, and
    /// with the errors of the store.
    fn log(
        &self,
        operation: &Operation,
        changes: &[ChangeContent<'_>],
        known: &[SessionUpdate<'_>],
    ) -> Result<LogReceipt>;

    /// Notes that an operation was carried out which [`OperationLog::log`] could not take: its number is skipped, so that
    /// a [gap](OperationLog::gaps) shows where it is missing. Needs no space on the disk.
    ///
    /// Fails with the errors of the store.
    fn skip_number(&self) -> Result<()> {
        Ok(())
    }

    /// Returns, for each path, the content that was seen or written last, by any session; `None` for a path that was
    /// never seen, and the id `0` for one where nothing was left. Cheap: it may miss what an operation in doubt changes.
    fn newest_seen(&self, paths: &[&[u8]]) -> Result<Vec<Option<ContentId>>>;

    /// Returns the state in which each path was last known; `None` for a path that never was.
    fn last_known(&self, paths: &[&[u8]]) -> Result<Vec<Option<KnownState>>>;

    /// Logs a change that others made, as committed, and remembers the state after it as the newest known one. Files
    /// that are no longer known in the state before it, because another process recorded the change, are omitted.
    /// Returns `None`, writing nothing, if no file remains.
    fn log_outside(&self, operation: &Operation, contents: &[OutsideContent<'_>]) -> Result<Option<LogReceipt>>;

    /// Remembers files that were not known, as the state from which later changes start. Cheap: most of the work is
    /// done by [`OperationLog::run_deferred`], or by the next query. Known states stay.
    fn remember_files(&self, found: &[NewlyKnown<'_>]) -> Result<()>;

    /// Remembers the states after changes that the log of another root has, as the newest known ones. Files that are no
    /// longer known in the state before it are omitted.
    fn remember_changes(&self, changes: &[&FileChange]) -> Result<()>;

    /// Does the postponed work. To be called after an answer.
    fn run_deferred(&self) -> Result<()> {
        Ok(())
    }

    /// Returns all paths that were ever seen, each with what [`OperationLog::newest_seen`] returns for it.
    fn all_newest_seen(&self) -> Result<HashMap<Vec<u8>, ContentId>>;

    /// Returns the paths at which something is known to exist, in any order, of those that `is_wanted` accepts.
    fn known_paths(&self, is_wanted: &dyn Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>>;

    /// Returns the files of the last snapshot; `None` if there was none, or they cannot be read.
    fn stat_cache(&self) -> Option<StatCache>;

    /// Replaces the files of the last snapshot.
    fn keep_stat_cache(&self, cache: &StatCache) -> Result<()>;

    /// Marks operations as committed by the process that performed them. Those that another process aborted too early
    /// are restored.
    fn mark_committed(&self, ids: &[OperationId]) -> Result<()>;

    /// Resolves an [in-doubt](OperationLog::in_doubt) operation as committed, or as *unknown* if `certain` is false.
    /// No-op if it is no longer in doubt.
    fn resolve(&self, id: OperationId, certain: bool) -> Result<()>;

    /// Aborts an in-doubt operation: removes it from the log, clears the marks that it alone made on the operations it
    /// would have undone, and drops the records it would have created. The marks of other operations remain.
    ///
    /// `certain` is true for its own process, which knows that it did not carry it out: it is then aborted even if
    /// another process took it for committed, because something else left the files in the same state.
    fn abort(&self, id: OperationId, certain: bool) -> Result<()>;

    /// Returns the operations in doubt, the newest first.
    fn in_doubt(&self) -> Result<Vec<LogEntry>>;

    /// Returns the matching operations, the newest first.
    fn operations(&self, filter: &OperationFilter<'_>) -> Result<Vec<LogEntry>>;

    /// Returns the newest operation, without its files.
    fn newest(&self) -> Result<Option<OperationId>> {
        let filter = OperationFilter { limit: 1, ..OperationFilter::default() };
        Ok(self.operations(&filter)?.first().map(|logged| logged.id))
    }

    /// Returns the operation with this name.
    fn operation(&self, name: OperationName) -> Result<Option<LogEntry>>;

    /// Returns the operations with a larger number than `number`, the oldest first, with the beginnings of turns and
    /// those in doubt.
    fn operations_after(&self, number: u64, limit: usize) -> Result<Vec<LogEntry>>;

    /// Returns a stamp that differs after every logged operation, with one small read.
    fn stamp(&self) -> LogStamp;

    /// Returns the directory whose files change with every operation of any process; `None` if there is none.
    fn directory(&self) -> Option<&Path>;

    /// Returns the lost parts of the log, the newest first. An operation before a gap was not the last one performed,
    /// even if it is the last one in the log.
    fn gaps(&self) -> Result<Vec<HistoryGap>> {
        Ok(Vec::new())
    }

    /// Returns the bytes of a version, verified against its id. `at_hand` are versions that the caller has, from which
    /// others can be rebuilt through the log.
    fn content(&self, content: ContentId, at_hand: &[KnownContent<'_>]) -> Result<Option<Vec<u8>>>;

    /// Returns the replacements of the one logged change between two versions, in offsets of the first; `None` if there
    /// is no such change.
    fn replacements(&self, from: ContentId, to: ContentId) -> Result<Option<Vec<OwnedByteReplacement>>>;

    /// Returns the ranges that an operation replaced in the file at `path`, in the order of the file; `None` if they were
    /// not recorded.
    fn replaced_spans(&self, operation: u64, path: &[u8]) -> Result<Option<Vec<ReplacedSpan>>>;

    /// Returns other versions from which logged changes lead to this one, or back, the nearest first, at most `limit`.
    fn linked_versions(&self, content: ContentId, limit: usize) -> Result<Vec<ContentId>>;

    /// True if [`OperationLog::content`] would find that version, apart from damage.
    fn can_rebuild(&self, content: ContentId, at_hand: &[ContentId]) -> Result<bool>;

    /// Returns those of the versions that are not stored themselves, even if they can be rebuilt.
    fn not_stored(&self, contents: &[ContentId]) -> Result<HashSet<ContentId>>;

    /// Stores whole versions in one step: those in [`LogReceipt::unstored`]. Skips bytes that do not match their id,
    /// and versions without an operation.
    fn store_versions(&self, versions: &[OwnedContent]) -> Result<()>;

    /// Returns the disk usage; `None` if the store uses no disk.
    fn disk_usage(&self) -> Option<DiskUsage>;

    /// Collects garbage within these limits.
    fn collect_garbage(&self, retention: Retention) -> Result<GcStats>;
}

/// The records of sessions together with the log of operations, and what people say about those.
pub trait History: crate::Sessions + OperationLog + crate::Reviews {}

impl<T: crate::Sessions + OperationLog + crate::Reviews> History for T {}

/// The error for an operation that would undo what another one has undone, or is undoing.
pub(crate) fn already_undone(operation: &Operation) -> Error {
    let ids: Vec<String> = operation.undoes().map(|id| id.to_string()).collect();
    Error::new(emendate_core::Code::ConflictRaced, "Another process is undoing the same operation right now.")
        .evidence(format!("operation {}", ids.join(", ")))
        .next(Advice::named("Call {history()} to see the result, then repeat the call.").or("Repeat the call."))
}

/// The content id that marks a path where nothing was left.
pub(crate) const NOTHING: ContentId = ContentId::from_bytes([0; 16]);

/// Returns the part of an outside change whose files are known as they were before it, or not known at all.
pub(crate) fn still_outside<'a, 'b>(
    operation: &'a Operation,
    contents: &'a [OutsideContent<'b>],
    known: &[Option<KnownState>],
) -> (Operation, Vec<OutsideContent<'b>>) {
    let kept = operation
        .files
        .iter()
        .zip(contents)
        .zip(known)
        .filter(|((file, _), known)| known.is_none_or(|known| !known.in_doubt && known.is_before(file)));
    let (files, contents) = kept.map(|((file, content), _)| (file.clone(), *content)).unzip();
    (Operation { files, ..operation.clone() }, contents)
}

/// Checks that there is one change per file.
pub(crate) fn check_changes(operation: &Operation, changes: usize) -> Result<()> {
    if operation.files.len() == changes {
        return Ok(());
    }
    Err(Error::new(emendate_core::Code::InternalBug, "An operation was logged with changes of other files."))
}

#[cfg(test)]
mod tests {
    use super::{OperationId, OperationName};

    #[test]
    fn operation_names_round_trip() {
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

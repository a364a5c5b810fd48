//! The change feed: each new operation of all processes once, in the order of the log, for another process to follow.

use crate::context::Context;
use crate::context::history_stores::{OPERATIONS_PER_PAGE, key, logged_operations};
use crate::context::policy::Access;
use crate::session::in_doubt::resolve_in_doubt;
use crate::session::turns::TurnIndex;
use crate::tools::history::micros_of;
use crate::tools::history::operation_list::{one_line, operation_status, row};
use crate::tools::history::page::HistoryAccess;
use crate::tools::moments::find_moment;
use emendate_core::{Code, Error, Result};
use emendate_fs::SafePath;
use emendate_history::{
    Deadline, DirectoryWatch, LogEntry, LogStamp, OperationFilter, OperationId, OperationName, TURN,
};
use serde_json::Value;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

/// Longest and shortest wait for an operation that another process is still working on: nothing reports its end.
const IN_FLIGHT_WAIT_MAX: Duration = Duration::from_millis(500);
const IN_FLIGHT_WAIT_MIN: Duration = Duration::from_millis(5);
/// Longest wait if a history has no files that could be watched.
const UNWATCHED_WAIT: Duration = Duration::from_millis(50);
/// Operations that a feed repeats at its start.
const REPEATED_MAX: usize = 1000;

/// The beginning of a feed, and a selection of operations.
#[derive(Clone, Debug, Default)]
pub struct FeedOptions {
    /// Begin after this: a [cursor](Feed::cursor), an operation, a mark, or a moment in RFC 3339; `None` for now.
    pub since: Option<String>,
    /// Without `since`: begin with this many of the newest operations that match, at most 1000 of each root.
    pub last: usize,
    /// Only operations of this session.
    pub session: Option<String>,
    /// Only operations that touched this file.
    pub path: Option<PathBuf>,
}

/// An operation of a feed.
#[derive(Clone, Debug)]
pub struct FeedOperation {
    /// The id of the operation.
    pub id: String,
    /// The lines with which `history` lists it.
    pub text: String,
    /// The row of the operation in the data of `history`.
    pub row: Value,
}

/// An item of a feed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FeedItem {
    /// A new operation.
    Operation(Box<FeedOperation>),
    /// The history was replaced by another one. What was known of it is void; its operations follow from the first one.
    Reset,
}

/// The position of a feed in the history of one root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FeedPosition {
    /// Number of the last operation that was passed; 0 for none.
    number: u64,
    /// The check digits of that operation's id, if they are known.
    check: Option<u16>,
}

impl FeedPosition {
    fn at(id: OperationId) -> FeedPosition {
        FeedPosition { number: id.number, check: Some(id.check) }
    }

    /// Reads one part of a cursor.
    fn read(text: &str) -> Option<FeedPosition> {
        let name: OperationName = text.parse().ok()?;
        Some(FeedPosition { number: name.number, check: name.check })
    }
}

impl std::fmt::Display for FeedPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.check {
            Some(check) => write!(f, "{}-{check:04x}", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

/// State of a feed in the history of one root.
struct FollowedRoot {
    position: FeedPosition,
    /// The stamp of the log when it was last read; `None` before the first time.
    stamp: Option<LogStamp>,
    /// True if the log may contain more than was read.
    has_more: bool,
    /// True if another process is still working on the next operation.
    is_held: bool,
}

/// A feed of the operations of all processes. Each is returned once, in the order of its root's log, when it is
/// committed: an operation in progress delays the later ones for as long as a call may take, and one that is aborted is
/// not returned.
pub struct Feed<'a> {
    context: &'a Context,
    session: Option<String>,
    path: Option<SafePath>,
    roots: Vec<FollowedRoot>,
    /// Items that were read and not returned yet, each with its root and the position after it.
    ready: VecDeque<(usize, FeedPosition, FeedItem)>,
    /// The positions up to which items were returned.
    returned: Vec<FeedPosition>,
    turns: TurnIndex,
    watch: DirectoryWatch,
    in_flight_wait: Duration,
}

impl Feed<'_> {
    /// Returns the next item, waiting for it at most this long. `None` if there was none, possibly before the timeout:
    /// call again.
    ///
    /// Errors: those of the session store.
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<FeedItem>> {
        let deadline = Deadline::after(timeout);
        loop {
            if let Some(item) = self.take_ready() {
                return Ok(Some(item));
            }
            self.read_new_operations()?;
            if !self.ready.is_empty() {
                continue;
            }
            let left = deadline.left();
            if left.is_zero() {
                // Everything up to here was read, including the operations that the options exclude.
                self.returned = self.roots.iter().map(|root| root.position).collect();
                return Ok(None);
            }
            let longest = self.longest_wait();
            self.watch.wait(left.min(longest));
        }
    }

    /// Returns the position up to which items were returned, to continue from there with [`FeedOptions::since`].
    pub fn cursor(&self) -> String {
        self.returned.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    fn take_ready(&mut self) -> Option<FeedItem> {
        let (root, position, item) = self.ready.pop_front()?;
        if let Some(returned) = self.returned.get_mut(root) {
            *returned = position;
        }
        Some(item)
    }

    fn longest_wait(&mut self) -> Duration {
        if self.roots.iter().any(|root| root.has_more) {
            return Duration::ZERO;
        }
        if self.roots.iter().any(|root| root.is_held) {
            self.in_flight_wait = (self.in_flight_wait * 2).min(IN_FLIGHT_WAIT_MAX);
            return self.in_flight_wait;
        }
        self.in_flight_wait = IN_FLIGHT_WAIT_MIN;
        let is_watched = (0..self.roots.len()).all(|root| self.context.history(root).directory().is_some());
        if is_watched { Duration::MAX } else { UNWATCHED_WAIT }
    }

    /// Reads the next operations of each root whose log has changed.
    fn read_new_operations(&mut self) -> Result<()> {
        for index in 0..self.roots.len() {
            let stamp = self.context.history(index).stamp();
            let Some(root) = self.roots.get(index) else { continue };
            // Reading would create a log that was removed, so a missing log is left alone.
            if stamp.has_log() && (root.stamp != Some(stamp) || root.is_held || root.has_more) {
                self.read_root(index, stamp)?;
            }
        }
        Ok(())
    }

    fn read_root(&mut self, index: usize, stamp: LogStamp) -> Result<()> {
        let history = self.context.history(index);
        let Some(root) = self.roots.get_mut(index) else { return Ok(()) };
        let read = history.operations_after(root.position.number, OPERATIONS_PER_PAGE)?;
        if is_other_history(self.context, index, root.position)? {
            *root = FollowedRoot { position: FeedPosition::default(), stamp: None, has_more: false, is_held: false };
            self.turns = TurnIndex::default();
            self.ready.push_back((index, FeedPosition::default(), FeedItem::Reset));
            return Ok(());
        }
        // If the store cannot be written, operations in doubt remain in doubt.
        let mut stays_in_doubt = false;
        let read = if read.iter().any(|logged| logged.owner.is_some()) {
            stays_in_doubt = resolve_in_doubt(self.context, index).is_err_and(|it| it.code() != Code::LockTimeout);
            history.operations_after(root.position.number, OPERATIONS_PER_PAGE)?
        } else {
            read
        };
        // A process may have ended since its operation could be resolved, so that alone does not settle it.
        let is_settled = |it: &LogEntry| it.owner.is_none() || stays_in_doubt && !it.is_in_flight();
        let committed = read.iter().take_while(|it| is_settled(it)).count();
        root.is_held = committed < read.len();
        // Reading moves entries from one file to the other, which changes the stamp.
        let now = history.stamp();
        root.has_more = read.len() == OPERATIONS_PER_PAGE || now.next != stamp.next;
        root.stamp = Some(now);
        for logged in read.iter().take(committed) {
            self.pass(index, logged)?;
        }
        Ok(())
    }

    /// Moves the feed past an operation, and queues it as an item if it matches the options.
    fn pass(&mut self, index: usize, logged: &LogEntry) -> Result<()> {
        let position = FeedPosition::at(logged.id);
        if let Some(root) = self.roots.get_mut(index) {
            root.position = position;
        }
        let turn = self.turns.next_turn(self.context, index, logged)?;
        let fits = logged.operation.tool != TURN
            && self.session.as_ref().is_none_or(|session| *session == logged.operation.session)
            && self.path.as_ref().is_none_or(|path| touches(logged, path));
        if fits {
            let status = operation_status(self.context, index, logged)?;
            let operation = FeedOperation {
                id: logged.id.to_string(),
                text: one_line(logged, status),
                row: row(logged, status, turn.as_ref()),
            };
            self.ready.push_back((index, position, FeedItem::Operation(Box::new(operation))));
        }
        Ok(())
    }
}

/// True if an operation changed the file, or moved it away.
fn touches(logged: &LogEntry, path: &SafePath) -> bool {
    let mut files = logged.operation.files.iter();
    files.any(|file| file.path == key(path) || file.moved_from.as_deref() == Some(key(path)))
}

/// True if the history of a root is not the one that a position of a feed refers to.
fn is_other_history(context: &Context, root: usize, position: FeedPosition) -> Result<bool> {
    if position.number == 0 {
        return Ok(false);
    }
    let history = context.history(root);
    let name = OperationName { number: position.number, check: None };
    if let Some(logged) = history.operation(name)? {
        return Ok(position.check.is_some_and(|check| check != logged.id.check));
    }
    // The operation was deleted as garbage, unless this history never had that many operations.
    let next = history.stamp().next;
    Ok(next > 0 && next <= position.number)
}

impl<'a> HistoryAccess<'a> {
    /// Follows the history: each new operation of any process is an item of the feed, once.
    ///
    /// ```
    /// use emendate::{FeedItem, FeedOptions, Workspace};
    /// use std::time::Duration;
    ///
    /// let workspace = Workspace::in_memory([("a.txt", "one\n")])?;
    /// let mut feed = workspace.engine().history().follow(&FeedOptions::default())?;
    /// workspace.session("agent-1").write("b.txt", "two\n").run()?;
    /// let Some(FeedItem::Operation(operation)) = feed.wait(Duration::from_secs(10))? else { panic!() };
    /// assert_eq!(operation.row["files"][0]["filePath"], "/b.txt");
    /// # Ok::<(), emendate::core::Error>(())
    /// ```
    ///
    /// Errors: `call.invalid` and `operation.not_found` for a beginning that does not exist; those of the policy and of
    /// the session store.
    pub fn follow(&self, options: &FeedOptions) -> Result<Feed<'a>> {
        let context = self.context;
        if !context.history_stores.keeps_history() {
            return Err(Error::new(Code::CallInvalid, "Without a state directory no history is kept.")
                .next("Name a state directory (--state)."));
        }
        let safe_path =
            options.path.as_deref().map(|path| context.resolve_no_follow(path, Access::Read)).transpose()?;
        let roots = 0..context.root_count();
        // The watch begins before the log is first read, so that every later change wakes the feed.
        let watch = DirectoryWatch::new(roots.clone().filter_map(|root| context.history(root).directory()));
        let start = if let Some(since) = &options.since {
            start_after(context, since)?
        } else {
            let path = safe_path.as_ref().map(key);
            roots.map(|root| start_at_end(context, root, options, path)).collect::<Result<Vec<_>>>()?
        };
        let followed =
            start.iter().map(|&position| FollowedRoot { position, stamp: None, has_more: false, is_held: false });
        Ok(Feed {
            context,
            session: options.session.clone(),
            path: safe_path,
            roots: followed.collect(),
            ready: VecDeque::new(),
            returned: start,
            turns: TurnIndex::default(),
            watch,
            in_flight_wait: IN_FLIGHT_WAIT_MIN,
        })
    }
}

/// Returns the position before the newest operations of a root that match the options. Operations in doubt come after
/// it.
fn start_at_end(context: &Context, root: usize, options: &FeedOptions, path: Option<&[u8]>) -> Result<FeedPosition> {
    let _ = resolve_in_doubt(context, root);
    let history = context.history(root);
    let all = OperationFilter::newest(1);
    let last = options.last.min(REPEATED_MAX);
    let position = if last == 0 {
        history.operations(&all)?.first().map_or_else(FeedPosition::default, |newest| FeedPosition::at(newest.id))
    } else {
        let filter = OperationFilter { session: options.session.as_deref(), path, limit: last, ..all };
        let first = history.operations(&filter)?.last().map_or(0, |first| first.id.number);
        let before = history.operations(&OperationFilter { below: Some(first), ..all })?;
        before.first().map_or_else(FeedPosition::default, |it| FeedPosition::at(it.id))
    };
    let doubt = history.in_doubt()?.last().map(|oldest| oldest.id.number);
    Ok(match doubt {
        Some(number) if number <= position.number => FeedPosition { number: number - 1, check: None },
        _ => position,
    })
}

/// Returns the positions after a cursor, an operation, a mark or a moment.
fn start_after(context: &Context, since: &str) -> Result<Vec<FeedPosition>> {
    let roots = context.root_count();
    let cursor: Option<Vec<FeedPosition>> = since.split(',').map(FeedPosition::read).collect();
    if let Some(cursor) = cursor.filter(|cursor| cursor.len() == roots) {
        return Ok(cursor);
    }
    if let Ok(at) = micros_of(since) {
        return (0..roots).map(|root| start_at_time(context, root, at)).collect();
    }
    let moment = find_moment(context, since)?;
    let mut places = Vec::with_capacity(roots);
    let at = newest_time(context, &moment.0)?;
    for (root, number) in moment.0.iter().enumerate() {
        places.push(match number {
            Some(number) => FeedPosition { number: *number, check: None },
            None => start_at_time(context, root, at)?,
        });
    }
    Ok(places)
}

/// Returns the latest time of these operations.
fn newest_time(context: &Context, numbers: &[Option<u64>]) -> Result<i64> {
    let mut newest = 0;
    for (root, number) in numbers.iter().enumerate() {
        let Some(number) = *number else { continue };
        let found = context.history(root).operation(OperationName { number, check: None })?;
        newest = newest.max(found.map_or(0, |logged| logged.at));
    }
    Ok(newest)
}

/// Returns the position after the last operation up to a time.
fn start_at_time(context: &Context, root: usize, at: i64) -> Result<FeedPosition> {
    let mut all = logged_operations(context.history(root), OperationFilter::default());
    let found = all.find(|logged| logged.as_ref().map_or(true, |logged| logged.at <= at)).transpose()?;
    Ok(found.map_or_else(FeedPosition::default, |logged| FeedPosition::at(logged.id)))
}

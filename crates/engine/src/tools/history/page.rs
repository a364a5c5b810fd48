//! The history as documents for programs and people: pages of operations, and the content of a file before and after
//! each. Documents shown in this way do not count as read by any session.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::context::policy::Access;
use crate::model::call_context::CallContext;
use crate::pipeline::commit::log;
use crate::session::in_doubt::resolve_all_in_doubt;
use crate::session::outside;
use crate::session::turns::log_moment;
use crate::tools::history::operation_list::{self, OperationStatus, reversal_of};
use crate::tools::history::places::place_of_change;
use crate::tools::undo::file_states::side_content;
use crate::tools::undo::select::{self, OperationRef};
use emendate_core::{Code, Error, Result};
use emendate_fs::SafePath;
use emendate_history::{FileChange, GcStats, LogEntry, OperationFilter, Retention, TURN};
use emendate_os::ffi::OsStrExt as _;
use std::ops::{ControlFlow, Range};
use std::path::Path;

/// The advice for a file, or a version of it, that an operation does not have.
const SEE_ITS_FILES: &str = "Read the operation itself for the files it has.";
/// The advice for a version that is too large for one reply.
const READ_A_PART: &str = "Ask for some of its lines, with ?offset=1&limit=1000 after the address, or restore it and \
                           read parts of it.";

/// An operation in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The name of the operation: a number and four hexadecimal digits.
    pub id: String,
    /// The tool, and the file or the number of files.
    pub title: String,
    /// Time, session, tool, files, lines added and removed, and its state.
    pub line: String,
}

/// A page of the list, the newest operations first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPage {
    /// The operations.
    pub entries: Vec<HistoryEntry>,
    /// The name of the next page, if there is one.
    pub next: Option<String>,
}

/// A query for a page of operations.
#[derive(Clone, Copy, Default)]
pub(crate) struct HistoryQuery<'a> {
    /// The name that the previous page returned.
    pub(crate) from: Option<&'a str>,
    /// The session of the operations; `None` for all.
    pub(crate) session: Option<&'a str>,
    /// The file that they changed; `None` for all.
    pub(crate) path: Option<&'a [u8]>,
    /// The time of the first of them, in microseconds since the epoch; `None` for all.
    pub(crate) since: Option<i64>,
    /// The maximum number of operations.
    pub(crate) most: usize,
}

/// A side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationSide {
    /// The state before the operation.
    Before,
    /// The state after the operation.
    After,
}

/// The history as a whole: [`Engine::history`](crate::Engine::history).
#[derive(Clone, Copy)]
pub struct HistoryAccess<'a> {
    pub(crate) context: &'a Context,
}

impl HistoryAccess<'_> {
    /// Returns operations of all roots, the newest first, at most `most`; `from` is the `next` of the previous page.
    ///
    /// Errors: `call.invalid` for a `from` that no page returned; those of the session store.
    pub fn entries(&self, from: Option<&str>, most: usize) -> Result<HistoryPage> {
        if from.is_none() {
            // If the store cannot be written, pending operations are reported as pending.
            let _ = resolve_all_in_doubt(self.context);
        }
        let mut entries = Vec::new();
        let next =
            newest_operations(self.context, HistoryQuery { from, most, ..HistoryQuery::default() }, |root, logged| {
                let reversal = reversal_of(self.context, root, &logged)?;
                entries.push(entry(&logged, OperationStatus::of(reversal)));
                Ok(ControlFlow::Continue(()))
            })?;
        Ok(HistoryPage { entries, next })
    }

    /// Returns the content of a file before or after an operation: its bytes, or the target of a link. `lines` is the
    /// first line and the number of lines of a part; `None` means everything.
    ///
    /// Errors: `operation.not_found` if there is no such operation, it did not change the file, the file did not exist
    /// then, or its content was not kept; `read.too_large`; those of the policy.
    pub fn content_at(
        &self,
        caller: &CallContext,
        id: &str,
        path: &Path,
        moment: OperationSide,
        lines: Option<(usize, usize)>,
    ) -> Result<Vec<u8>> {
        Call::new(self.context, caller).metered(|call| {
            let (root, logged) = select::operation(&call, OperationRef::read_name(id)?)?;
            let touched = logged.operation.file(path.as_os_str().as_bytes());
            let touched =
                touched.ok_or_else(|| no_such_side(path, "was not changed by that operation", SEE_ITS_FILES))?;
            let (safe_path, bytes) = content_on(&call, root, touched, moment, SEE_ITS_FILES)?;
            let whole = bytes.len();
            let part = lines.map_or(0..whole, |lines| lines_of(&bytes, lines.0, lines.1));
            let most = call.config().reply.data;
            if part.len() > most {
                let what = format!("{} had {whole} bytes then; one reply has at most {most}.", safe_path.shown());
                return Err(Error::new(Code::ReadTooLarge, what).next(READ_A_PART));
            }
            Ok(if part.len() == whole { bytes } else { bytes[part].to_vec() })
        })
    }

    /// Records a file that a client's own tool created, as the client reports it.
    ///
    /// Errors: those of the policy, of the session store and of the disk.
    pub fn record_creation(&self, path: &Path) -> Result<()> {
        outside::record_creation(self.context, path)
    }

    /// Begins a turn of a session: an undo of the turn undoes everything that it does from now on.
    ///
    /// Errors: those of the session store.
    pub fn begin_turn(&self, session: &str) -> Result<()> {
        log_moment(self.context, session, TURN, "").map(drop)
    }

    /// Deletes contents that are too old or exceed the limits of the histories. For a person; deleted contents cannot
    /// be restored.
    ///
    /// Errors: those of the session store.
    pub fn collect_garbage(&self, retention: Retention) -> Result<GcStats> {
        let mut all = GcStats::default();
        for root in 0..self.context.root_count() {
            let freed = self.context.history(root).collect_garbage(retention)?;
            all.operations += freed.operations;
            all.contents += freed.contents;
            all.bytes += freed.bytes;
        }
        Ok(all)
    }

    /// Finishes background work of calls: stores contents for the history, and writes events. For front ends, after
    /// sending an answer; the rest is done when the engine is dropped.
    pub fn finish_background_work(&self) {
        self.store_unstored_contents();
        self.context.events.flush_if_due();
    }

    /// Stores contents that so far exist only in working files. For front ends, after sending an answer; the rest is
    /// done when the engine is dropped.
    pub fn store_unstored_contents(&self) {
        self.context.store().run_deferred();
        log::flush_log(self.context);
        for history in (0..self.context.root_count()).filter_map(|root| self.context.history_stores.opened(root)) {
            // If this fails, the next use of the history repeats it.
            let _ = history.run_deferred();
        }
    }
}

/// Passes operations of all roots to `take`, the newest first, until it breaks; the operation at which it breaks is
/// not consumed. Returns the name of the next page, if there is one.
///
/// Errors: `call.invalid` for a page that does not exist; those of the session store and of `take`.
pub(crate) fn newest_operations(
    context: &Context,
    page: HistoryQuery<'_>,
    mut take: impl FnMut(usize, LogEntry) -> Result<ControlFlow<()>>,
) -> Result<Option<String>> {
    let HistoryQuery { from, session, path, since, most } = page;
    let roots = context.root_count();
    let mut below = from.map_or_else(|| Some(vec![None; roots]), |from| cursor(from, roots)).ok_or_else(|| {
        Error::new(Code::CallInvalid, "There is no such page of the history.").next("Begin with the first one.")
    })?;
    let mut is_broken = false;
    let mut heads = Vec::with_capacity(roots);
    for (root, below) in below.iter().enumerate() {
        let filter = OperationFilter {
            session,
            path,
            since,
            below: *below,
            limit: most.saturating_add(1),
            ..OperationFilter::default()
        };
        heads.push(context.history(root).operations(&filter)?.into_iter().peekable());
    }
    for _ in 0..most {
        let newest = (0..roots).filter_map(|root| Some((heads[root].peek()?.at, root))).max();
        let Some((_, root)) = newest else { return Ok(None) };
        let Some(logged) = heads[root].next() else { return Ok(None) };
        let number = logged.id.number;
        if take(root, logged)?.is_break() {
            is_broken = true;
            break;
        }
        below[root] = Some(number);
    }
    let more = is_broken || heads.iter_mut().any(|head| head.peek().is_some());
    let numbers = below.iter().map(|it| it.map_or_else(String::new, |number| number.to_string()));
    Ok(more.then(|| numbers.collect::<Vec<String>>().join(",")))
}

/// Refuses a file or side that the operation lacks.
fn no_such_side(path: &Path, what: &str, next: &str) -> Error {
    Error::new(Code::OperationMissing, format!("{} {what}.", emendate_fs::shown(path))).next(next)
}

/// Returns the place of a changed file, and its content on one side of the change. `next` is the advice if there is
/// none.
///
/// Errors: `operation.not_found` if the file did not exist then, or its content was not kept; those of the policy.
pub(crate) fn content_on(
    context: &Context,
    root: usize,
    file: &FileChange,
    side: OperationSide,
    next: &str,
) -> Result<(SafePath, Vec<u8>)> {
    let place = place_of_change(context, file)?;
    context.check_access(&place, Access::Read)?;
    let state = match side {
        OperationSide::Before => file.before,
        OperationSide::After => file.after,
    };
    let path = log_path(&file.path);
    let state = state.ok_or_else(|| no_such_side(path, "did not exist at that time", next))?;
    let bytes = side_content(context, root, &place, Some(state))?;
    Ok((place, bytes.ok_or_else(|| no_such_side(path, "is not kept in that version", next))?))
}

/// Returns the byte range of some lines, given the first one and their number.
fn lines_of(bytes: &[u8], offset: usize, limit: usize) -> Range<usize> {
    let mut ends = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1);
    let start = match offset {
        0 | 1 => 0,
        offset => ends.nth(offset - 2).unwrap_or(bytes.len()),
    };
    let end = if limit == 0 { start } else { ends.nth(limit - 1).unwrap_or(bytes.len()) };
    start..end
}

fn cursor(text: &str, roots: usize) -> Option<Vec<Option<u64>>> {
    let below: Vec<Option<u64>> = text
        .split(',')
        .map(|part| if part.is_empty() { Some(None) } else { part.parse().ok().map(Some) })
        .collect::<Option<_>>()?;
    (below.len() == roots).then_some(below)
}

fn entry(logged: &LogEntry, status: OperationStatus) -> HistoryEntry {
    let line = operation_list::one_line(logged, status);
    let line = line.lines().next().unwrap_or_default().to_owned();
    let files = operation_list::visible_files(logged).count();
    let what = match operation_list::visible_files(logged).next() {
        Some(only) if files == 1 => operation_list::shown(&only.path),
        _ => format!("{files} files"),
    };
    HistoryEntry {
        id: logged.id.to_string(),
        title: format!("{} {what}", operation_list::tool_name(&logged.operation)),
        line,
    }
}

//! Resolution of in-doubt operations, whose process ended before they were recorded as committed: the files, and the
//! states that later operations found, show the outcome.

use crate::context::Context;
use emendate_core::{Code, ContentHash, ContentId, Result};
use emendate_fs::SafePath;
use emendate_history::{FileChange, FileKind, FileState, LogEntry, OperationFilter, OperationId, wait_briefly};
use emendate_os::ffi::OsStrExt as _;
use std::time::Duration;

/// Later operations on a file that are examined.
const LATER_OPERATIONS_MAX: usize = 1000;
/// Earlier operations on a file that may have been committed after it.
const EARLIER_OPERATIONS_MAX: usize = 50;
/// Bytes read and hashed together.
const HASHED_CHUNK_BYTES: usize = 256 << 10;
/// Longest wait for operations of other processes before a call selects the last one.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// The observed state of a file, or of all files of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObservedState {
    Before,
    After,
    /// Neither the state before nor the state after, or both.
    Neither,
}

/// Records the operations of this process as committed.
pub(crate) fn confirm_own_operations(context: &Context) {
    // A second caller then finds them committed.
    let _turn = context.lock_confirmation();
    let mut done = std::mem::take(&mut *context.unconfirmed());
    done.sort_unstable();
    for of_root in done.chunk_by(|one, next| one.0 == next.0) {
        let ids: Vec<OperationId> = of_root.iter().map(|(_, id)| *id).collect();
        // If that fails, the files will show the outcome.
        let _ = context.history(of_root[0].0).mark_committed(&ids);
    }
}

/// Resolves operations whose process ended in the middle of them. Returns true if the log has changed.
///
/// Errors: those of the session store.
pub(crate) fn resolve_in_doubt(context: &Context, root: usize) -> Result<bool> {
    confirm_own_operations(context);
    resolve_selected(context, root, |logged| !logged.is_in_flight())
}

/// Resolves the in-doubt operations of all roots. Without write access to the store they remain in doubt.
///
/// Errors: the first one of the session store, after all roots were tried.
pub(crate) fn resolve_all_in_doubt(context: &Context) -> Result<()> {
    (0..context.root_count()).map(|root| resolve_in_doubt(context, root).map(drop)).fold(Ok(()), Result::and)
}

/// Resolves in-doubt operations of all roots, and waits briefly for those that other processes are still executing: the
/// last operation is known only once they are committed or aborted.
///
/// Errors: those of the session store.
pub(crate) fn wait_for_in_doubt(context: &Context) -> Result<()> {
    for root in 0..context.root_count() {
        resolve_in_doubt(context, root)?;
        let history = context.history(root);
        let Some(newest) = history.in_doubt()?.first().map(|logged| logged.id.number) else { continue };
        let mut waited = Duration::ZERO;
        while waited < WAIT_MAX && history.in_doubt()?.iter().any(|it| it.id.number <= newest && it.is_in_flight()) {
            waited += wait_briefly();
            resolve_in_doubt(context, root)?;
        }
    }
    Ok(())
}

/// Resolves the selected operations.
pub(crate) fn resolve_selected(context: &Context, root: usize, which: impl Fn(&LogEntry) -> bool) -> Result<bool> {
    let mut any = false;
    let in_doubt = context.history(root).in_doubt()?;
    if in_doubt.iter().any(|logged| !logged.is_in_flight()) {
        // Its process may have died after the start of this one: what it left is completed or undone first.
        context.recover_again();
    }
    // The newest first: its outcome shows which state it found.
    for logged in in_doubt {
        let found = observe(context, root, &logged)?;
        let history = context.history(root);
        match found {
            // The files match the after-state: committed.
            ObservedState::After => history.resolve(logged.id, true)?,
            _ if !which(&logged) => continue,
            ObservedState::Before => history.abort(logged.id, false)?,
            ObservedState::Neither => history.resolve(logged.id, false)?,
        }
        any = true;
    }
    Ok(any)
}

/// Returns the observed state of the files of an operation.
fn observe(context: &Context, root: usize, logged: &LogEntry) -> Result<ObservedState> {
    if logged.operation.files.is_empty() {
        return Ok(ObservedState::After);
    }
    if !logged.is_in_flight() && context.take_undone(logged) {
        return Ok(ObservedState::Before);
    }
    let mut all = None;
    for file in &logged.operation.files {
        let found = match found_later(context, root, logged.id, file)? {
            Some(found) => found,
            None => found_now(context, root, logged.id, file)?,
        };
        match all {
            None => all = Some(found),
            Some(known) if known != found => return Ok(ObservedState::Neither),
            Some(_) => {}
        }
    }
    Ok(all.unwrap_or(ObservedState::Neither))
}

/// Returns the state of a file that later operations found.
fn found_later(context: &Context, root: usize, id: OperationId, file: &FileChange) -> Result<Option<ObservedState>> {
    if content(file.before) == content(file.after) {
        return Ok(None);
    }
    let filter = OperationFilter::newest_of(&file.path, LATER_OPERATIONS_MAX);
    let all = context.history(root).operations(&filter)?;
    let later: Vec<LogEntry> = all.into_iter().take_while(|it| it.id.number > id.number).collect();
    for later in later.into_iter().rev() {
        let Some(there) = later.operation.file(&file.path) else { continue };
        let there = content(there.before);
        if there == content(file.after) {
            // Whatever the outcome of that operation, it has read the result of this one.
            return Ok(Some(ObservedState::After));
        }
        if later.owner.is_none() {
            let before = there == content(file.before) || is_result_of_other(context, root, id, file, there)?;
            return Ok(before.then_some(ObservedState::Before));
        }
    }
    Ok(None)
}

/// True when an operation with a smaller number led from the before-state of this one to that content. It was
/// logged earlier and committed later, on a file that this one had not changed.
fn is_result_of_other(
    context: &Context,
    root: usize,
    id: OperationId,
    file: &FileChange,
    there: PathContent,
) -> Result<bool> {
    let (path, below) = (Some(&*file.path), Some(id.number));
    let filter = OperationFilter { path, below, ..OperationFilter::newest(EARLIER_OPERATIONS_MAX) };
    let earlier = context.history(root).operations(&filter)?;
    let mut files = earlier.iter().flat_map(|logged| &logged.operation.files).filter(|it| it.path == file.path);
    Ok(files.any(|it| content(it.before) == content(file.before) && content(it.after) == there))
}

/// Returns the current state.
fn found_now(context: &Context, root: usize, id: OperationId, file: &FileChange) -> Result<ObservedState> {
    let path = context.resolve_logged(&file.path);
    let now = match path.and_then(|path| current_side(context, &path)) {
        Ok(now) => now,
        // A directory where a file was, or a file where its directory was.
        Err(error) if matches!(error.code(), Code::PathNotRegular | Code::PathInvalid) => None,
        Err(_) => return Ok(ObservedState::Neither),
    };
    if content(file.before) == content(file.after) {
        // The states before and after differ in the mode only.
        let mode = mode_of(now.filter(|now| now.kind == FileKind::Regular));
        return Ok(match mode {
            _ if mode == mode_of(file.after) => ObservedState::After,
            _ if mode == mode_of(file.before) => ObservedState::Before,
            _ => ObservedState::Neither,
        });
    }
    Ok(if content(now) == content(file.after) {
        ObservedState::After
    } else if content(now) == content(file.before) || is_result_of_other(context, root, id, file, content(now))? {
        ObservedState::Before
    } else {
        ObservedState::Neither
    })
}

/// Returns the permission bits of a state.
fn mode_of(side: Option<FileState>) -> Option<u32> {
    side.map(|side| side.mode)
}

/// Content and kind of the entry at a path; `None` if there is none.
type PathContent = Option<(ContentId, FileKind)>;

/// Returns the content and kind of a state, without its permission bits.
fn content(side: Option<FileState>) -> PathContent {
    side.map(|side| (side.content, side.kind))
}

/// Returns the state of an entry without keeping its content.
pub(crate) fn current_side(context: &Context, path: &SafePath) -> Result<Option<FileState>> {
    if let Some(target) = context.store().read_link(path)? {
        let content = ContentId::of(target.as_bytes());
        return Ok(Some(FileState { content, mode: 0o777, kind: FileKind::Link }));
    }
    let Some(source) = context.store().source(path)? else { return Ok(None) };
    let mut hash = ContentHash::default();
    source.for_each_chunk(HASHED_CHUNK_BYTES, |chunk| {
        hash.update(chunk);
        Ok(())
    })?;
    Ok(Some(FileState { content: hash.id(), mode: source.meta().mode & 0o7777, kind: FileKind::Regular }))
}

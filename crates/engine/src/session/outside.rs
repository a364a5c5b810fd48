//! Changes by others: a file that differs from the state in which the engine last knew it. They are logged as
//! operations, so that they can be seen and undone like those of the engine.

use crate::context::config::OutsideChanges;
use crate::context::history_stores::key;
use crate::context::policy::Access;
use crate::context::{Context, policy};
use crate::session::in_doubt::{current_side, resolve_all_in_doubt, resolve_in_doubt, wait_for_in_doubt};
use emendate_core::explain::{self, DiffStat};
use emendate_core::{ChangeSet, ContentId, Result, Snapshot};
use emendate_fs::SafePath;
use emendate_history::{
    FileChange, FileState, KnownContent, KnownState, LogEntry, OUTSIDE, Operation, OperationFilter, OperationId,
    OutsideContent,
};
use std::path::Path;

/// Bytes of a version that is read in order to be stored.
const STORED_BYTES_MAX: u64 = 8 << 20;
/// Bytes of both versions whose lines are compared exactly.
const COMPARED_BYTES_MAX: usize = 1 << 20;

/// A path, and the content that was found there; `None` if there is nothing.
#[derive(Clone, Copy)]
pub(crate) struct FoundContent<'a> {
    pub(crate) path: &'a SafePath,
    pub(crate) content: Option<ContentId>,
}

/// A change by others, with the new bytes as far as they can be stored.
pub(crate) struct OutsideChange {
    pub(crate) change: FileChange,
    pub(crate) old_bytes: Option<Vec<u8>>,
    pub(crate) new_bytes: Option<Vec<u8>>,
    pub(crate) is_secret: bool,
}

/// The cause of changes by others, as far as it is known.
#[derive(Clone, Copy)]
pub(crate) enum OutsideCause<'a> {
    Unknown,
    /// A caller describes it.
    Described(&'a str),
    /// A shell command of this session.
    Shell(&'a str),
}

/// Logs what others did to these files since the engine last knew them. A file that was never known has not changed. If
/// logging fails, the call continues; only the history is then less complete.
pub(crate) fn record_outside_changes(context: &Context, found: &[FoundContent<'_>]) {
    if context.config().outside == OutsideChanges::Off || !context.history_stores.keeps_history() {
        return;
    }
    for root in 0..context.root_count() {
        let here: Vec<FoundContent<'_>> = found.iter().filter(|it| it.path.root() == root).copied().collect();
        if !here.is_empty() {
            let _ = record_in_root(context, root, &here);
        }
    }
}

/// Records a file that a client's own tool created, as the client reports. A file that was known before is recorded by
/// the next read.
///
/// Errors: those of the policy, of the session store and of the disk.
pub(crate) fn record_creation(context: &Context, path: &Path) -> Result<()> {
    let safe_path = context.resolve_path(path, Access::Read)?;
    let (root, history) = (safe_path.root(), context.history(safe_path.root()));
    if context.config().outside == OutsideChanges::Off || !context.history_stores.keeps_history() {
        return Ok(());
    }
    resolve_in_doubt(context, root)?;
    let is_known = history.last_known(&[key(&safe_path)])?.into_iter().any(|known| known.is_some());
    let Some(after) = current_side(context, &safe_path)?.filter(|_| !is_known) else { return Ok(()) };
    let bytes = bytes_of(context, &safe_path, after)?;
    let change = outside_change(context, root, &safe_path, None, Some(after), bytes)?;
    log_changes(context, root, vec![change], OutsideCause::Unknown).map(drop)
}

/// Returns the state in which each path of a root was last known, also by operations in the logs of other roots.
///
/// Errors: those of the session stores.
pub(crate) fn last_known(context: &Context, root: usize, paths: &[&[u8]]) -> Result<Vec<Option<KnownState>>> {
    catch_up(context, root, paths)?;
    let mut all = context.history(root).last_known(paths)?;
    for other in (0..context.root_count()).filter(|other| *other != root) {
        for (known, elsewhere) in all.iter_mut().zip(context.history(other).last_known(paths)?) {
            if let Some(known) = known {
                known.in_doubt |= elsewhere.is_some_and(|it| it.in_doubt);
            }
        }
    }
    Ok(all)
}

/// Remembers in a root the states that operations in the logs of other roots left, where those are the last ones: their
/// process ended before it could do that, or an operation of this root was aborted.
///
/// Errors: those of the session stores.
fn catch_up(context: &Context, root: usize, paths: &[&[u8]]) -> Result<()> {
    if context.root_count() < 2 {
        return Ok(());
    }
    let mut missed = Vec::new();
    for (path, known) in paths.iter().zip(context.history(root).last_known(paths)?) {
        let Some(known) = known else { continue };
        let filter = OperationFilter::newest_of(path, 1);
        let mut last: Option<(usize, LogEntry)> = None;
        for of in 0..context.root_count() {
            let newest = context.history(of).operations(&filter)?.pop();
            let newest = newest.filter(|it| last.as_ref().is_none_or(|(_, last)| last.at < it.at));
            last = newest.map(|it| (of, it)).or(last);
        }
        let Some((_, entry)) = last.filter(|(of, entry)| *of != root && entry.owner.is_none()) else { continue };
        let file = entry.operation.files.into_iter().find(|file| file.path == *path);
        missed.extend(
            file.filter(|file| !known.is_like(file.after)).map(|file| FileChange { before: known.state, ..file }),
        );
    }
    let missed: Vec<&FileChange> = missed.iter().collect();
    if missed.is_empty() { Ok(()) } else { context.history(root).remember_changes(&missed) }
}

/// Errors: those of the session store and of the disk.
fn record_in_root(context: &Context, root: usize, found: &[FoundContent<'_>]) -> Result<()> {
    let history = context.history(root);
    let paths: Vec<&[u8]> = found.iter().map(|it| key(it.path)).collect();
    let newest = history.newest_seen(&paths)?;
    let changed = found
        .iter()
        .zip(newest)
        .filter(|(it, known)| known.is_some_and(|known| known != it.content.unwrap_or(ContentId::from_bytes([0; 16]))));
    let mut changed: Vec<FoundContent<'_>> = changed.map(|(it, _)| *it).collect();
    if changed.is_empty() {
        return Ok(());
    }
    // Unconfirmed writes of this process, or of one that ended, are not changes by others.
    resolve_all_in_doubt(context)?;
    changed.sort_by(|one, other| key(one.path).cmp(key(other.path)));
    changed.dedup_by(|one, other| key(one.path) == key(other.path));
    let paths: Vec<&[u8]> = changed.iter().map(|it| key(it.path)).collect();
    let mut known = last_known(context, root, &paths)?;
    if known.iter().flatten().any(|known| known.in_doubt) {
        // A process that lives confirms its operation soon after its reply.
        wait_for_in_doubt(context)?;
        known = last_known(context, root, &paths)?;
    }
    let mut changes = Vec::new();
    for (it, known) in changed.iter().zip(known) {
        let Some(known) = known.filter(|known| !known.in_doubt) else { continue };
        if known.state.map(|state| state.content) != it.content {
            changes.extend(change_of(context, root, it, known.state)?);
        }
    }
    log_changes(context, root, changes, OutsideCause::Unknown).map(drop)
}

/// Returns the change of a file; `None` if it is no longer as it was found.
fn change_of(
    context: &Context,
    root: usize,
    found: &FoundContent<'_>,
    before: Option<FileState>,
) -> Result<Option<OutsideChange>> {
    let path = found.path;
    let after = current_side(context, path)?;
    if after.map(|state| state.content) != found.content {
        return Ok(None);
    }
    let new_bytes = match after {
        Some(state) => bytes_of(context, path, state)?,
        None => None,
    };
    outside_change(context, root, path, before, after, new_bytes).map(Some)
}

/// Returns the change of a file from one state to another.
pub(crate) fn outside_change(
    context: &Context,
    root: usize,
    path: &SafePath,
    before: Option<FileState>,
    after: Option<FileState>,
    new_bytes: Option<Vec<u8>>,
) -> Result<OutsideChange> {
    // The version before it may be stored as a change of the version after it.
    let old = before.map(|state| context.version_content(root, state.content, &at_hand(after, new_bytes.as_deref())));
    let old = old.transpose()?.flatten();
    let is_secret = policy::is_secret(path);
    let stat = line_counts(before.map(|_| old.as_deref()), after.map(|_| new_bytes.as_deref()));
    let change = FileChange {
        path: key(path).to_vec(),
        moved_from: None,
        before,
        after,
        attributes: None,
        added: stat.added as u64,
        removed: stat.removed as u64,
    };
    Ok(OutsideChange { change, old_bytes: old, new_bytes, is_secret })
}

/// The version after a change, from which the one before it may be rebuilt.
fn at_hand(after: Option<FileState>, new_bytes: Option<&[u8]>) -> Vec<KnownContent<'_>> {
    after.zip(new_bytes).map(|(state, bytes)| KnownContent { id: state.content, bytes }).into_iter().collect()
}

/// Reads the bytes of a state, unless it is too large or has changed meanwhile.
pub(crate) fn bytes_of(context: &Context, path: &SafePath, state: FileState) -> Result<Option<Vec<u8>>> {
    let bytes = match context.store().read_link(path)? {
        Some(target) => target.into_encoded_bytes(),
        None => match context.store().read(path, STORED_BYTES_MAX, Vec::new()) {
            Ok(Some(version)) => version.bytes,
            Ok(None) | Err(_) => return Ok(None),
        },
    };
    Ok((ContentId::of(&bytes) == state.content).then_some(bytes))
}

/// Counts the lines that were added and removed. An inner `None` is a version whose bytes are not available.
#[allow(clippy::option_option, reason = "no file, a file whose bytes are not there, bytes")]
pub(crate) fn line_counts(before: Option<Option<&[u8]>>, after: Option<Option<&[u8]>>) -> DiffStat {
    let (Some(before), Some(after)) = (before.unwrap_or(Some(b"")), after.unwrap_or(Some(b""))) else {
        return DiffStat::default();
    };
    let open = |bytes: &[u8]| Snapshot::open(bytes.to_vec(), None).ok();
    let (Some(old), Some(new)) = (open(before), open(after)) else { return DiffStat::default() };
    if before.len() + after.len() > COMPARED_BYTES_MAX {
        let count = |snapshot: &Snapshot| snapshot.lines().count(snapshot.text());
        return DiffStat { added: count(&new), removed: count(&old) };
    }
    explain::count_changes(&old, &ChangeSet::diff(&old, &new))
}

/// Returns the changes that no operation in the log of another root has made since their files were compared. The log of
/// this root checks its own operations.
///
/// Errors: those of the session stores.
fn still_unknown(context: &Context, root: usize, changes: Vec<OutsideChange>) -> Result<Vec<OutsideChange>> {
    if context.root_count() < 2 || changes.is_empty() {
        return Ok(changes);
    }
    let paths: Vec<&[u8]> = changes.iter().map(|it| &*it.change.path).collect();
    let known = last_known(context, root, &paths)?;
    let is_unknown = |known: Option<KnownState>, it: &OutsideChange| {
        known.is_none_or(|known| !known.in_doubt && known.is_like(it.change.before))
    };
    let kept = changes.into_iter().zip(known).filter(|(it, known)| is_unknown(*known, it));
    Ok(kept.map(|(it, _)| it).collect())
}

/// Logs changes of one root, those of secret files without their contents. Returns the operations.
///
/// Errors: those of the session store.
pub(crate) fn log_changes(
    context: &Context,
    root: usize,
    changes: Vec<OutsideChange>,
    cause: OutsideCause<'_>,
) -> Result<Vec<OperationId>> {
    let (note, digest) = match cause {
        OutsideCause::Unknown => (String::new(), [0; 16]),
        OutsideCause::Described(note) => (note.to_owned(), [0; 16]),
        OutsideCause::Shell(session) => (format!("during a shell command of {session}"), shell_digest(session)),
    };
    let changes = still_unknown(context, root, changes)?;
    let (secret, open): (Vec<OutsideChange>, Vec<OutsideChange>) = changes.into_iter().partition(|it| it.is_secret);
    let mut logged = Vec::new();
    for (part, keeps_content) in [(open, true), (secret, false)] {
        if part.is_empty() {
            continue;
        }
        let contents: Vec<OutsideContent<'_>> = part
            .iter()
            .map(|it| OutsideContent { old_bytes: it.old_bytes.as_deref(), new_bytes: it.new_bytes.as_deref() })
            .collect();
        let operation = Operation {
            session: OUTSIDE.to_owned(),
            tool: OUTSIDE.to_owned(),
            note: note.clone(),
            digest,
            keeps_content,
            files: part.iter().map(|it| it.change.clone()).collect(),
            ..Operation::default()
        };
        logged.extend(context.history(root).log_outside(&operation, &contents)?.map(|receipt| receipt.id));
    }
    Ok(logged)
}

/// Hash of the session, by which its operations after shell commands are known: their note is only for people.
fn shell_digest(session: &str) -> [u8; 16] {
    ContentId::of(session.as_bytes()).to_bytes()
}

/// True for a change that was found during a shell command of this session.
pub(crate) fn is_of_shell(logged: &LogEntry, session: &str) -> bool {
    logged.operation.is_outside() && logged.operation.digest == shell_digest(session)
}

//! The state in which each path was last known, and the changes that others made since.
//!
//! The state is a row of `seen` in the session [`OUTSIDE`], one for each path: older programs take it for a session like
//! any other, so that it needs no other schema.

use std::collections::{HashMap, HashSet};

use emendate_core::ContentId;
use emendate_fs::FileMeta;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};

use super::cache::CacheUpdate;
use super::log::{self, LogRequest, LogSignature};
use super::rows::{self, fixed};
use super::sql_blob_store::SqlBlobStore;
use crate::blob_store::{KeepOutcome, keep, keep_prepared};
use crate::operation::{NOTHING, OUTSIDE, still_outside};
use crate::prepared::PreparedBytes;
use crate::{
    ChangeContent, FileChange, FileKind, FileState, HistoryLimits, KnownState, LogReceipt, NewlyKnown, Operation,
    OutsideContent, RecordOrigin, VersionBody, clock,
};

/// Returns the content that was last known at the path.
pub(super) fn newest_seen(connection: &Connection, path: &[u8]) -> rusqlite::Result<Option<ContentId>> {
    Ok(last_state(connection, path)?.map(|state| state.map_or(NOTHING, |state| state.content)))
}

/// Returns the state in which the path was last known, if it ever was.
#[allow(clippy::option_option, reason = "never known, nothing, something")]
fn last_state(connection: &Connection, path: &[u8]) -> rusqlite::Result<Option<Option<FileState>>> {
    let known = connection
        .prepare_cached("SELECT content, stamp FROM seen WHERE session=?1 AND path=?2")?
        .query_row(params![OUTSIDE, path], state_of)
        .optional()?;
    if known.is_some() {
        return Ok(known);
    }
    // An older program, which knows no such rows, has recorded the path.
    connection
        .prepare_cached("SELECT content, stamp FROM seen WHERE path=?1 ORDER BY at DESC LIMIT 1")?
        .query_row([path], state_of)
        .optional()
}

fn state_of(row: &Row<'_>) -> rusqlite::Result<Option<FileState>> {
    let content = ContentId::from_bytes(fixed(row.get_ref(0)?.as_blob()?)?);
    let meta = rows::unpack_meta(row.get_ref(1)?.as_blob()?)?;
    let kind = if meta.is_link() { FileKind::Link } else { FileKind::Regular };
    Ok((content != NOTHING).then_some(FileState { content, mode: meta.mode & 0o7777, kind }))
}

/// Returns the state in which each path was last known.
pub(super) fn last_known(connection: &Connection, paths: &[&[u8]]) -> rusqlite::Result<Vec<Option<KnownState>>> {
    let in_doubt: HashSet<Vec<u8>> = connection
        .prepare_cached("SELECT path FROM touched JOIN operations ON number=operation WHERE pending>0")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let known = paths.iter().map(|path| {
        Ok(last_state(connection, path)?.map(|state| KnownState { state, in_doubt: in_doubt.contains(*path) }))
    });
    known.collect()
}

/// Logs an outside change, as far as its files are still known as they were before it.
pub(super) fn log_outside(
    connection: &Connection,
    operation: &Operation,
    contents: &[OutsideContent<'_>],
    signature: LogSignature,
    limits: &HistoryLimits,
    cache_update: &mut CacheUpdate,
) -> rusqlite::Result<Option<LogReceipt>> {
    let paths: Vec<&[u8]> = operation.files.iter().map(|file| &*file.path).collect();
    let (operation, contents) = still_outside(operation, contents, &last_known(connection, &paths)?);
    if operation.files.is_empty() {
        return Ok(None);
    }
    for (file, content) in operation.files.iter().zip(&contents).filter(|_| operation.keeps_content) {
        let (Some(after), Some(bytes)) = (file.after, content.new_bytes) else { continue };
        let body = VersionBody::Bytes(bytes);
        if let KeepOutcome::Agreed(added) = keep(&mut SqlBlobStore(connection), after.content, &body, limits)? {
            cache_update.added += added;
        }
    }
    let changes: Vec<ChangeContent<'_>> = contents
        .iter()
        .map(|content| ChangeContent { old_bytes: content.old_bytes, ..ChangeContent::default() })
        .collect();
    let request = LogRequest { operation: &operation, changes: &changes, known: &[] };
    log::log(connection, request, signature, limits, cache_update)
}

/// Records a state as the last known one of the path.
pub(super) fn mark(
    connection: &Connection,
    path: &[u8],
    state: Option<FileState>,
    now: i64,
    cache_update: &mut CacheUpdate,
) -> rusqlite::Result<()> {
    let content = state.map_or(NOTHING, |state| state.content);
    cache_update.newest.push((path.to_vec(), Some(content)));
    let known = connection
        .prepare_cached("SELECT content, stamp FROM seen WHERE session=?1 AND path=?2")?
        .query_row(params![OUTSIDE, path], state_of)
        .optional()?;
    if known == Some(state) {
        return Ok(());
    }
    if known.is_some() {
        connection.prepare_cached("DELETE FROM seen WHERE session=?1 AND path=?2")?.execute(params![OUTSIDE, path])?;
    }
    insert(connection, path, state, now)
}

/// Records the states after changes as the last known ones, of files that are known as they were before.
pub(super) fn mark_changes(
    connection: &Connection,
    changes: &[&FileChange],
    cache_update: &mut CacheUpdate,
) -> rusqlite::Result<()> {
    let now = clock::now_us();
    for change in changes {
        let known = last_state(connection, &change.path)?.map(|state| KnownState { state, in_doubt: false });
        if known.is_none_or(|known| known.is_before(change)) {
            mark(connection, &change.path, change.after, now, cache_update)?;
        }
    }
    Ok(())
}

/// Inserts the last known state of a path that has none.
fn insert(connection: &Connection, path: &[u8], state: Option<FileState>, now: i64) -> rusqlite::Result<()> {
    let content = state.map_or(NOTHING, |state| state.content);
    let (kind, mode) = state.map_or((0, 0), |state| match state.kind {
        FileKind::Link => (0o120_000, state.mode),
        FileKind::Regular => (0o100_000, state.mode),
    });
    let meta = FileMeta { mode: kind | mode, ..FileMeta::default() };
    connection
        .prepare_cached("INSERT INTO seen VALUES(?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, NULL, NULL)")?
        .execute(params![
            OUTSIDE,
            path,
            content.to_bytes(),
            content.tag().to_u32(),
            now,
            rows::origin_number(RecordOrigin::Read),
            rows::pack_meta(&meta),
            rows::pack_lines(&crate::LineSet::none()),
        ])
        .map(drop)
}

/// Resets the last known state of a file to the one that the newest operation left, after the operation that `file`
/// belongs to was aborted or restored.
pub(super) fn refresh(connection: &Connection, file: &FileChange, now: i64) -> rusqlite::Result<()> {
    let left = connection
        .prepare_cached(
            "SELECT after, after_mode, after_link FROM touched JOIN operations ON number=operation
             WHERE path=?1 AND pending>=0 ORDER BY operation DESC LIMIT 1",
        )?
        .query_row([&file.path], |row| log::read_state(row, 0))
        .optional()?;
    mark(connection, &file.path, left.unwrap_or(file.before), now, &mut CacheUpdate::default())
}

/// Records a state that a session was shown as the last known one, if nothing was known of the path. Otherwise only an
/// operation can have changed it, or a change by others that is logged.
pub(super) fn mark_unknown(
    connection: &Connection,
    path: &[u8],
    state: FileState,
    now: i64,
    cache_update: &mut CacheUpdate,
) -> rusqlite::Result<()> {
    let known =
        connection.prepare_cached("SELECT 1 FROM seen WHERE session=?1 AND path=?2")?.exists(params![OUTSIDE, path])?;
    if known { Ok(()) } else { mark(connection, path, Some(state), now, cache_update) }
}

/// Remembers files that were not known, with their contents, if those are kept.
pub(super) fn remember_files(
    connection: &Connection,
    found: &[NewlyKnown<'_>],
    prepared: &[Option<PreparedBytes<'_>>],
    now: i64,
    limits: &HistoryLimits,
    cache_update: &mut CacheUpdate,
) -> rusqlite::Result<()> {
    let known = paths_among(connection, found)?;
    for (NewlyKnown { path, state, bytes }, prepared) in found.iter().zip(prepared) {
        if known.contains(*path) {
            continue;
        }
        let blobs = &mut SqlBlobStore(connection);
        let kept = match (prepared, bytes) {
            (Some(prepared), _) => keep_prepared(blobs, state.content, prepared, limits)?,
            (None, Some(bytes)) => keep(blobs, state.content, &VersionBody::Bytes(bytes), limits)?,
            (None, None) => KeepOutcome::Agreed(0),
        };
        if let KeepOutcome::Agreed(added) = kept {
            cache_update.added += added;
        }
        cache_update.newest.push((path.to_vec(), Some(state.content)));
        insert(connection, path, Some(*state), now)?;
    }
    Ok(())
}

/// Returns the paths of which anything is known, among those between the first and the last of some new ones.
fn paths_among(connection: &Connection, found: &[NewlyKnown<'_>]) -> rusqlite::Result<HashSet<Vec<u8>>> {
    let (Some(first), Some(last)) = (found.iter().map(|it| it.path).min(), found.iter().map(|it| it.path).max()) else {
        return Ok(HashSet::new());
    };
    let mut query = connection.prepare_cached("SELECT path FROM seen WHERE path>=?1 AND path<=?2")?;
    query.query_map([first, last], |row| row.get(0))?.collect()
}

/// Returns the content that was last known at each of many paths. What is known between the first and the last of them
/// is read at once.
pub(super) fn newest_of_many(connection: &Connection, paths: &[&[u8]]) -> rusqlite::Result<Vec<Option<ContentId>>> {
    let (Some(first), Some(last)) = (paths.iter().min(), paths.iter().max()) else { return Ok(Vec::new()) };
    let mut query =
        connection.prepare_cached("SELECT path, session=?3, at, content FROM seen WHERE path>=?1 AND path<=?2")?;
    let known = newest_of_rows(query.query(params![first, last, OUTSIDE])?)?;
    Ok(paths.iter().map(|path| known.get(*path).copied()).collect())
}

/// Returns the content that was last known at each path.
pub(super) fn all_newest(connection: &Connection) -> rusqlite::Result<HashMap<Vec<u8>, ContentId>> {
    let mut query = connection.prepare_cached("SELECT path, session=?1, at, content FROM seen")?;
    newest_of_rows(query.query([OUTSIDE])?)
}

/// Returns the newest content of each path. The columns of a row are the path, whether the session is [`OUTSIDE`], the
/// time and the content.
fn newest_of_rows(mut rows: Rows<'_>) -> rusqlite::Result<HashMap<Vec<u8>, ContentId>> {
    let mut known: HashMap<Vec<u8>, (bool, i64, ContentId)> = HashMap::new();
    while let Some(row) = rows.next()? {
        let content = ContentId::from_bytes(fixed(row.get_ref(3)?.as_blob()?)?);
        let found = (row.get(1)?, row.get(2)?, content);
        // Rows of [`OUTSIDE`] take precedence. A path without one was recorded by a program that does not know such
        // rows.
        let entry = known.entry(row.get(0)?).or_insert(found);
        if (found.0, found.1) > (entry.0, entry.1) {
            *entry = found;
        }
    }
    Ok(known.into_iter().map(|(path, (_, _, content))| (path, content)).collect())
}

/// Returns those of the wanted paths at which something is known to exist.
pub(super) fn known_paths(
    connection: &Connection,
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> rusqlite::Result<Vec<Vec<u8>>> {
    let mut query = connection.prepare_cached("SELECT path FROM seen WHERE session=?1 AND content<>?2")?;
    let mut rows = query.query(params![OUTSIDE, NOTHING.to_bytes()])?;
    let mut paths = Vec::new();
    while let Some(row) = rows.next()? {
        let path = row.get_ref(0)?.as_blob()?;
        if is_wanted(path) {
            paths.push(path.to_vec());
        }
    }
    Ok(paths)
}

//! Conversion between operations and the rows of `operations` and `touched`.

use emendate_core::ContentId;
use rusqlite::types::{FromSqlError, FromSqlResult};
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};

use super::cache::CacheUpdate;
use super::rows::{self, fixed};
use super::sql_blob_store::SqlBlobStore;
use super::{attributes, gaps, outside, spans};
use crate::delta_chain::{NewDelta, keep_sides};
use crate::{
    ChangeContent, FileChange, FileKind, FileState, HistoryLimits, LogEntry, LogReceipt, Operation, OperationFilter,
    OperationId, OperationName, OperationOutcome, Record, Role, SessionUpdate, TURN, varint,
};

const OPERATION_COLUMNS: &str =
    "number, at, session, tool, format, digest, note, outcome, kept, role, taken, taken_at, undone,
    undone_at, also, pending";
/// Value of the column `pending` for an aborted operation.
const ABORTED: i64 = -1;

/// An operation, the changes of its files, and the resulting records of its session.
#[derive(Clone, Copy)]
pub(super) struct LogRequest<'a> {
    pub(super) operation: &'a Operation,
    pub(super) changes: &'a [ChangeContent<'a>],
    pub(super) known: &'a [SessionUpdate<'a>],
}

/// Number, time and process of an operation that is being logged.
#[derive(Clone, Copy)]
pub(super) struct LogSignature {
    pub(super) number: i64,
    pub(super) at: i64,
    /// Id of the process that performs it.
    pub(super) owner: u32,
}

/// Returns a number for the next operation, at least `least` (0 if unknown).
pub(super) fn next_number(connection: &Connection, least: u64) -> rusqlite::Result<i64> {
    let highest = if least == 0 { gaps::highest(connection)? } else { gaps::newest(connection)? };
    Ok(least.max(highest.saturating_add(1)).cast_signed())
}

/// Inserts an operation and the records of its session. Returns `None`, writing nothing, if an operation in effect
/// already undoes what this one would.
pub(super) fn log(
    connection: &Connection,
    LogRequest { operation, changes, known }: LogRequest<'_>,
    LogSignature { number, at: now, owner }: LogSignature,
    limits: &HistoryLimits,
    cache_update: &mut CacheUpdate,
) -> rusqlite::Result<Option<LogReceipt>> {
    if !is_not_taken_back(connection, operation)? {
        return Ok(None);
    }
    let taken = operation.role.undoes();
    let taken_at = taken.map(|id| logged_at(connection, id.number)).transpose()?.flatten();
    let also_undoes = pack_operation_ids(connection, &operation.also_undoes)?;
    connection
        .prepare_cached(
            "INSERT INTO operations(
           number, at, session, tool, format, digest, note, outcome, kept, role, taken, taken_at, also, pending)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            number,
            now,
            operation.session,
            operation.tool,
            operation.format,
            operation.digest,
            operation.note,
            outcome_number(operation.outcome),
            operation.keeps_content,
            role_number(operation.role),
            taken.map(|id| id.number.cast_signed()),
            taken_at,
            also_undoes,
            owner,
        ])?;
    operation.undoes().try_for_each(|taken| refresh_undone(connection, taken))?;
    let id = OperationId::new(number.cast_unsigned(), now);
    let (mut loose, mut lost) = (Vec::new(), Vec::new());
    for (nth, (touched, change)) in operation.files.iter().zip(changes).enumerate() {
        insert_file(connection, number, nth, touched, operation.keeps_content)?;
        if !operation.keeps_content {
            continue;
        }
        spans::insert(connection, number, nth, change)?;
        let kept = keep_sides(&mut SqlBlobStore(connection), touched, change, limits)?;
        loose.extend(kept.unstored);
        lost.extend(kept.lost.then_some(nth));
        cache_update.added += kept.added;
        cache_update.stored.extend(touched.after.filter(|_| kept.stored).map(|side| side.content));
        if let Some(NewDelta { base, result, data }) = kept.delta {
            cache_update.added += data.data.len() as u64;
            connection
                .prepare_cached("INSERT INTO changes(operation, base, result, data, zstd) VALUES(?1, ?2, ?3, ?4, ?5)")?
                .execute(params![number, base.to_bytes(), result.to_bytes(), &data.data[..], data.zstd])?;
        }
    }
    for (nth, path) in (0..).zip(&operation.created_dirs) {
        connection.prepare_cached("INSERT INTO folders VALUES(?1, ?2, ?3)")?.execute(params![number, nth, path])?;
    }
    record_sessions(connection, operation, known, now, limits, cache_update)?;
    for file in &operation.files {
        outside::mark(connection, &file.path, file.after, now, cache_update)?;
    }
    Ok(Some(LogReceipt { id, unstored: loose, lost }))
}

/// Inserts the records of an operation's session.
fn record_sessions(
    connection: &Connection,
    operation: &Operation,
    known: &[SessionUpdate<'_>],
    now: i64,
    limits: &HistoryLimits,
    cache_update: &mut CacheUpdate,
) -> rusqlite::Result<()> {
    for SessionUpdate { path, record } in known {
        let contested = crate::blob_store::BlobStore::version(&SqlBlobStore(connection), record.content)?
            .is_some_and(|it| it.contested);
        let lines = rows::record(connection, &operation.session, path, record, contested, now, limits.versions)?;
        cache_update.records.push((operation.session.clone(), path.to_vec(), Record { lines, ..(*record).clone() }));
    }
    Ok(())
}

fn insert_file(
    connection: &Connection,
    number: i64,
    nth: usize,
    touched: &FileChange,
    kept: bool,
) -> rusqlite::Result<()> {
    let FileChange { path, moved_from, before, after, attributes, added, removed } = touched;
    let nth = i64::try_from(nth).unwrap_or(i64::MAX);
    if let Some(attributes) = attributes.as_ref().filter(|_| kept) {
        connection.prepare_cached("INSERT INTO attributes VALUES(?1, ?2, ?3)")?.execute(params![
            number,
            nth,
            attributes::pack(attributes)
        ])?;
    }
    connection
        .prepare_cached("INSERT INTO touched VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")?
        .execute(params![
            number,
            nth,
            path,
            moved_from,
            before.map(|side| side.content.to_bytes()),
            before.map(|side| side.mode),
            before.map(is_link),
            after.map(|side| side.content.to_bytes()),
            after.map(|side| side.mode),
            after.map(is_link),
            added.cast_signed(),
            removed.cast_signed(),
        ])?;
    Ok(())
}

/// True for the state of a symbolic link.
fn is_link(side: FileState) -> bool {
    side.kind == FileKind::Link
}

/// Serializes numbers and times of operations.
fn pack_operation_ids(connection: &Connection, ids: &[OperationId]) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut out = Vec::new();
    for id in ids {
        varint::put(&mut out, id.number);
        varint::put(&mut out, logged_at(connection, id.number)?.unwrap_or(0).cast_unsigned());
    }
    Ok((!ids.is_empty()).then_some(out))
}

fn unpack_operation_ids(blob: Option<&[u8]>) -> FromSqlResult<Vec<OperationId>> {
    let (mut rest, mut ids) = (blob.unwrap_or_default(), Vec::new());
    while !rest.is_empty() {
        let (number, at) = (rows::take_number(&mut rest)?, rows::take_number(&mut rest)?);
        ids.push(OperationId::new(number, at.cast_signed()));
    }
    Ok(ids)
}

/// True if what this operation would undo is in effect.
fn is_not_taken_back(connection: &Connection, operation: &Operation) -> rusqlite::Result<bool> {
    for taken in operation.undoes() {
        let (mut last, mut is_undone) = (taken.number.cast_signed(), false);
        // Each operation was undone by a later one.
        while let Some(by) = undone_by(connection, last)?.filter(|by| *by > last) {
            (last, is_undone) = (by, !is_undone);
        }
        if is_undone {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the number of the operation that undoes this one, according to its row.
fn undone_by(connection: &Connection, number: i64) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT undone FROM operations WHERE number=?1")?
        .query_row([number], |row| row.get(0))
        .optional()
        .map(Option::flatten)
}

/// Updates which operation undoes `taken`: the newest one that was not aborted. This is derived from all operations, so
/// that no operation clears the mark of another.
fn refresh_undone(connection: &Connection, taken: OperationId) -> rusqlite::Result<()> {
    let target = taken.number.cast_signed();
    let mut query = connection.prepare_cached(
        "SELECT number, at, taken, also FROM operations WHERE number>?1 AND role<>0 AND pending>=0
         ORDER BY number DESC",
    )?;
    let mut rows = query.query([target])?;
    let mut by: Option<(i64, i64)> = None;
    while let Some(row) = rows.next()? {
        let also_undoes = unpack_operation_ids(row.get_ref(3)?.as_blob_or_null()?)?;
        if row.get::<_, Option<i64>>(2)? == Some(target) || also_undoes.iter().any(|id| id.number == taken.number) {
            by = Some((row.get(0)?, row.get(1)?));
            break;
        }
    }
    connection
        .prepare_cached("UPDATE operations SET undone=?1, undone_at=?2 WHERE number=?3")?
        .execute(params![by.map(|(number, _)| number), by.map(|(_, at)| at), target])
        .map(drop)
}

/// Marks operations as committed by their own process.
pub(super) fn mark_committed(connection: &Connection, ids: &[OperationId]) -> rusqlite::Result<()> {
    for &id in ids {
        let Some((logged, pending)) = any_operation(connection, id)? else { continue };
        let number = id.number.cast_signed();
        connection.prepare_cached("UPDATE operations SET pending=0 WHERE number=?1")?.execute([number])?;
        if pending == ABORTED {
            logged.operation.undoes().try_for_each(|taken| refresh_undone(connection, taken))?;
            for file in &logged.operation.files {
                outside::refresh(connection, file, logged.at)?;
            }
        }
    }
    Ok(())
}

/// Resolves an in-doubt operation.
pub(super) fn resolve(connection: &Connection, id: OperationId, certain: bool) -> rusqlite::Result<()> {
    let Some((logged, pending)) = any_operation(connection, id)? else { return Ok(()) };
    if pending > 0 {
        let outcome = if certain { logged.operation.outcome } else { OperationOutcome::Unknown };
        connection.execute(
            "UPDATE operations SET pending=0, outcome=?1 WHERE number=?2",
            params![outcome_number(outcome), id.number.cast_signed()],
        )?;
    }
    Ok(())
}

/// Aborts an operation: one in doubt, or any if it certainly was not carried out.
pub(super) fn abort(connection: &Connection, id: OperationId, certain: bool) -> rusqlite::Result<()> {
    let Some((logged, pending)) = any_operation(connection, id)? else { return Ok(()) };
    if pending == ABORTED || pending == 0 && !certain {
        return Ok(());
    }
    let number = id.number.cast_signed();
    connection.execute("UPDATE operations SET pending=?1 WHERE number=?2", [ABORTED, number])?;
    logged.operation.undoes().try_for_each(|taken| refresh_undone(connection, taken))?;
    for file in &logged.operation.files {
        outside::refresh(connection, file, logged.at)?;
        if let Some(after) = file.after.filter(|after| file.before.map(|it| it.content) != Some(after.content)) {
            connection.execute(
                "DELETE FROM seen WHERE session=?1 AND path=?2 AND content=?3",
                params![logged.operation.session, file.path, after.content.to_bytes()],
            )?;
        }
    }
    Ok(())
}

/// Returns the operations in doubt.
pub(super) fn in_doubt(connection: &Connection) -> rusqlite::Result<Vec<LogEntry>> {
    let mut query = connection
        .prepare_cached(&format!("SELECT {OPERATION_COLUMNS} FROM operations WHERE pending>0 ORDER BY number DESC"))?;
    let rows = query.query([])?;
    read_all(connection, rows)
}

/// Reads the operations of all rows.
fn read_all(connection: &Connection, mut rows: Rows<'_>) -> rusqlite::Result<Vec<LogEntry>> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(connection, row)?);
    }
    Ok(found)
}

/// Returns the operation with this id, aborted or not, and its `pending` value.
fn any_operation(connection: &Connection, id: OperationId) -> rusqlite::Result<Option<(LogEntry, i64)>> {
    let found = connection
        .prepare_cached(&format!("SELECT {OPERATION_COLUMNS} FROM operations WHERE number=?1"))?
        .query_row([id.number.cast_signed()], |row| Ok((read(connection, row)?, row.get(15)?)))
        .optional()?;
    Ok(found.filter(|(logged, _): &(LogEntry, i64)| logged.id == id))
}

pub(super) fn logged_at(connection: &Connection, number: u64) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT at FROM operations WHERE number=?1")?
        .query_row([number.cast_signed()], |row| row.get(0))
        .optional()
}

/// Returns the newest operation.
pub(super) fn newest(connection: &Connection) -> rusqlite::Result<Option<OperationId>> {
    connection
        .prepare_cached("SELECT number, at FROM operations WHERE pending>=0 AND tool<>?1 ORDER BY number DESC LIMIT 1")?
        .query_row([TURN], |row| Ok(OperationId::new(row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?)))
        .optional()
}

/// Returns the matching operations, the newest first.
pub(super) fn operations(connection: &Connection, filter: &OperationFilter<'_>) -> rusqlite::Result<Vec<LogEntry>> {
    let sql = format!(
        "SELECT {OPERATION_COLUMNS} FROM operations WHERE pending>=0 AND (?1 IS NULL OR session=?1) AND number<?2
         AND (?5 IS NULL AND tool<>?6 OR tool=?5) AND (?7 IS NULL OR at>=?7) AND (NOT ?8 OR role<>0)
         AND (?3 IS NULL OR number IN (SELECT operation FROM touched WHERE path=?3 OR moved_from=?3)) ORDER BY number DESC LIMIT ?4"
    );
    let below = filter.below.map_or(i64::MAX, |below| i64::try_from(below).unwrap_or(i64::MAX));
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    let mut query = connection.prepare_cached(&sql)?;
    let OperationFilter { session, path, tool, since, only_reversals, .. } = *filter;
    let rows = query.query(params![session, below, path, limit, tool, TURN, since, only_reversals])?;
    read_all(connection, rows)
}

/// Returns the operations with a larger number, the oldest first, with the beginnings of turns.
pub(super) fn operations_after(connection: &Connection, number: u64, limit: usize) -> rusqlite::Result<Vec<LogEntry>> {
    let sql =
        format!("SELECT {OPERATION_COLUMNS} FROM operations WHERE pending>=0 AND number>?1 ORDER BY number LIMIT ?2");
    let mut query = connection.prepare_cached(&sql)?;
    let rows =
        query.query(params![i64::try_from(number).unwrap_or(i64::MAX), i64::try_from(limit).unwrap_or(i64::MAX)])?;
    read_all(connection, rows)
}

/// Returns the operation with this name.
pub(super) fn operation(connection: &Connection, name: OperationName) -> rusqlite::Result<Option<LogEntry>> {
    let Ok(number) = i64::try_from(name.number) else { return Ok(None) };
    let found = connection
        .prepare_cached(&format!("SELECT {OPERATION_COLUMNS} FROM operations WHERE number=?1 AND pending>=0"))?
        .query_row([number], |row| read(connection, row))
        .optional()?;
    Ok(found.filter(|logged| name.names(logged.id)))
}

fn read(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<LogEntry> {
    let number: i64 = row.get(0)?;
    let at = row.get(1)?;
    let taken = operation_id_at(row, 10, 11)?;
    let role = match (row.get::<_, i64>(9)?, taken) {
        (0, None) => Role::Edit,
        (1, Some(id)) => Role::Undo(id),
        (2, Some(id)) => Role::Redo(id),
        (other, _) => return Err(FromSqlError::OutOfRange(other).into()),
    };
    let operation = Operation {
        session: row.get(2)?,
        tool: row.get(3)?,
        format: row.get(4)?,
        digest: fixed(row.get_ref(5)?.as_blob()?)?,
        note: row.get(6)?,
        outcome: outcome_of(row.get(7)?)?,
        keeps_content: row.get(8)?,
        role,
        also_undoes: unpack_operation_ids(row.get_ref(14)?.as_blob_or_null()?)?,
        files: files(connection, number)?,
        created_dirs: folders(connection, number)?,
    };
    let owner = u32::try_from(row.get::<_, i64>(15)?).ok().filter(|owner| *owner > 0);
    Ok(LogEntry {
        id: OperationId::new(number.cast_unsigned(), at),
        at,
        undone_by: operation_id_at(row, 12, 13)?,
        owner,
        operation,
    })
}

/// Reads an operation's id from the columns of its number and its time.
fn operation_id_at(row: &Row<'_>, number: usize, at: usize) -> rusqlite::Result<Option<OperationId>> {
    let number: Option<i64> = row.get(number)?;
    let at: Option<i64> = row.get(at)?;
    Ok(number.map(|number| OperationId::new(number.cast_unsigned(), at.unwrap_or(0))))
}

fn files(connection: &Connection, number: i64) -> rusqlite::Result<Vec<FileChange>> {
    let mut query = connection.prepare_cached(
        "SELECT path, moved_from, before, before_mode, before_link, after, after_mode, after_link, added, removed, data
         FROM touched LEFT JOIN attributes USING(operation, nth) WHERE operation=?1 ORDER BY nth",
    )?;
    let rows = query.query_map([number], |row| {
        Ok(FileChange {
            path: row.get(0)?,
            moved_from: row.get(1)?,
            before: read_state(row, 2)?,
            after: read_state(row, 5)?,
            attributes: row.get_ref(10)?.as_blob_or_null()?.map(attributes::unpack).transpose()?,
            added: rows::size(row, 8)?,
            removed: rows::size(row, 9)?,
        })
    })?;
    rows.collect()
}

fn folders(connection: &Connection, number: i64) -> rusqlite::Result<Vec<Vec<u8>>> {
    let mut query = connection.prepare_cached("SELECT path FROM folders WHERE operation=?1 ORDER BY nth")?;
    query.query_map([number], |row| row.get(0))?.collect()
}

/// Reads the file state whose columns begin with `first`.
pub(super) fn read_state(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<FileState>> {
    let Some(content) = row.get_ref(first)?.as_blob_or_null()? else { return Ok(None) };
    let kind = if row.get(first + 2)? { FileKind::Link } else { FileKind::Regular };
    Ok(Some(FileState { content: ContentId::from_bytes(fixed(content)?), mode: row.get(first + 1)?, kind }))
}

pub(super) fn outcome_number(outcome: OperationOutcome) -> i64 {
    match outcome {
        OperationOutcome::Done => 0,
        OperationOutcome::Partial => 1,
        OperationOutcome::Unknown => 2,
    }
}

pub(super) fn outcome_of(number: i64) -> FromSqlResult<OperationOutcome> {
    match number {
        0 => Ok(OperationOutcome::Done),
        1 => Ok(OperationOutcome::Partial),
        2 => Ok(OperationOutcome::Unknown),
        other => Err(FromSqlError::OutOfRange(other)),
    }
}

fn role_number(role: Role) -> i64 {
    match role {
        Role::Edit => 0,
        Role::Undo(_) => 1,
        Role::Redo(_) => 2,
    }
}

//! Conversion between records and the rows of `seen`, and access to `words` and `registers`.

use std::collections::HashSet;

use emendate_core::{ContentId, Tag};
use emendate_fs::FileMeta;
use rusqlite::types::{FromSqlError, FromSqlResult};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::pack::PackedBytes;
use crate::{LineSet, OUTSIDE, Record, RecordOrigin, varint};

/// Stores `record` as the latest of the session and path, merging the lines of an earlier record of the same content
/// unless `alone`, and drops all but the newest `keep` records. Returns the resulting lines.
pub(super) fn record(
    connection: &Connection,
    session: &str,
    path: &[u8],
    record: &Record,
    alone: bool,
    now: i64,
    keep: u32,
) -> rusqlite::Result<LineSet> {
    let id = record.content.to_bytes();
    let mut others: Vec<(i64, [u8; 16])> = Vec::new();
    let mut lines = record.lines.clone();
    let mut at = now;
    let mut find = connection.prepare_cached("SELECT content, at, lines FROM seen WHERE session=?1 AND path=?2")?;
    let mut rows = find.query(params![session, path])?;
    while let Some(row) = rows.next()? {
        let (content, when) = (fixed(row.get_ref(0)?.as_blob()?)?, row.get(1)?);
        at = at.max(when + 1);
        if content != id {
            others.push((when, content));
        } else if !alone {
            lines.union(&unpack_lines(row.get_ref(2)?.as_blob()?)?);
        }
    }
    connection
        .prepare_cached("INSERT OR REPLACE INTO seen VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?
        .execute(params![
            session,
            path,
            id,
            record.content.tag().to_u32(),
            at,
            origin_number(record.origin),
            record.racy,
            pack_meta(&record.meta),
            pack_lines(&lines),
            record.offset.map(u64::cast_signed),
            record.limit.map(u64::cast_signed),
        ])?;
    let others_kept = keep.saturating_sub(1) as usize;
    if others.len() > others_kept {
        others.sort_unstable();
        let mut drop = connection.prepare_cached("DELETE FROM seen WHERE session=?1 AND path=?2 AND content=?3")?;
        for (_, content) in others.iter().take(others.len() - others_kept) {
            drop.execute(params![session, path, content])?;
        }
    }
    Ok(lines)
}

/// Returns the latest record of the session and path.
pub(super) fn latest(connection: &Connection, session: &str, path: &[u8]) -> rusqlite::Result<Option<Record>> {
    connection
        .prepare_cached(
            "SELECT content, how, racy, stamp, lines, first, count FROM seen WHERE session=?1 AND path=?2
             ORDER BY at DESC LIMIT 1",
        )?
        .query_row(params![session, path], read)
        .optional()
}

/// Returns the latest record of each path; the session may not know most of them.
pub(super) fn latest_of(
    connection: &Connection,
    session: &str,
    wanted: &[&[u8]],
) -> rusqlite::Result<Vec<Option<Record>>> {
    let known: HashSet<Vec<u8>> = paths(connection, session)?.into_iter().collect();
    wanted.iter().map(|path| if known.contains(*path) { latest(connection, session, path) } else { Ok(None) }).collect()
}

/// Returns all records of the session and path, the latest first.
pub(super) fn versions(connection: &Connection, session: &str, path: &[u8]) -> rusqlite::Result<Vec<Record>> {
    let mut query = connection.prepare_cached(
        "SELECT content, how, racy, stamp, lines, first, count FROM seen WHERE session=?1 AND path=?2 ORDER BY at DESC",
    )?;
    let rows = query.query_map(params![session, path], read)?;
    rows.collect()
}

/// Returns the paths of the session.
pub(super) fn paths(connection: &Connection, session: &str) -> rusqlite::Result<Vec<Vec<u8>>> {
    let mut query = connection.prepare_cached("SELECT DISTINCT path FROM seen WHERE session=?1")?;
    let rows = query.query_map([session], |row| row.get(0))?;
    rows.collect()
}

/// Returns the newest record of the path with this tag, of any session.
pub(super) fn by_tag(connection: &Connection, path: &[u8], tag: Tag) -> rusqlite::Result<Option<Record>> {
    connection
        .prepare_cached(
            "SELECT content, how, racy, stamp, lines, first, count FROM seen WHERE path=?1 AND tag=?2 AND session<>?3
             ORDER BY at DESC LIMIT 1",
        )?
        .query_row(params![path, tag.to_u32(), OUTSIDE], read)
        .optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        content: ContentId::from_bytes(fixed(row.get_ref(0)?.as_blob()?)?),
        origin: origin_of(row.get(1)?)?,
        racy: row.get(2)?,
        meta: unpack_meta(row.get_ref(3)?.as_blob()?)?,
        lines: unpack_lines(row.get_ref(4)?.as_blob()?)?,
        offset: row.get::<_, Option<i64>>(5)?.map(i64::cast_unsigned),
        limit: row.get::<_, Option<i64>>(6)?.map(i64::cast_unsigned),
    })
}

/// Converts a blob of exactly `N` bytes; anything else is damage.
pub(super) fn fixed<const N: usize>(blob: &[u8]) -> FromSqlResult<[u8; N]> {
    blob.try_into().map_err(|_| FromSqlError::InvalidBlobSize { expected_size: N, blob_size: blob.len() })
}

/// Reads a size; a negative one is damage.
pub(super) fn size(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

pub(super) fn origin_number(how: RecordOrigin) -> i64 {
    match how {
        RecordOrigin::Read => 0,
        RecordOrigin::Write => 1,
        RecordOrigin::Shown => 2,
    }
}

pub(super) fn origin_of(number: i64) -> FromSqlResult<RecordOrigin> {
    match number {
        0 => Ok(RecordOrigin::Read),
        1 => Ok(RecordOrigin::Write),
        2 => Ok(RecordOrigin::Shown),
        other => Err(FromSqlError::OutOfRange(other)),
    }
}

pub(super) fn pack_meta(meta: &FileMeta) -> Vec<u8> {
    let mut out = Vec::with_capacity(40);
    // Every field is named, so that a new one cannot be forgotten here.
    let FileMeta { dev, ino, size, mtime_ns, ctime_ns, mode, links, uid, gid } = *meta;
    let [mode, uid, gid] = [mode, uid, gid].map(u64::from);
    for number in [dev, ino, size, mtime_ns.cast_unsigned(), ctime_ns.cast_unsigned(), mode, links, uid, gid] {
        varint::put(&mut out, number);
    }
    out
}

pub(super) fn unpack_meta(mut blob: &[u8]) -> FromSqlResult<FileMeta> {
    Ok(FileMeta {
        dev: take_number(&mut blob)?,
        ino: take_number(&mut blob)?,
        size: take_number(&mut blob)?,
        mtime_ns: take_number(&mut blob)?.cast_signed(),
        ctime_ns: take_number(&mut blob)?.cast_signed(),
        mode: to_u32(take_number(&mut blob)?)?,
        links: take_number(&mut blob)?,
        uid: to_u32(take_number(&mut blob)?)?,
        gid: to_u32(take_number(&mut blob)?)?,
    })
}

/// Removes a number from the front of a stored list.
pub(super) fn take_number(blob: &mut &[u8]) -> FromSqlResult<u64> {
    varint::take(blob).ok_or(FromSqlError::InvalidType)
}

/// Converts a stored number, which has to fit.
fn to_u32(number: u64) -> Result<u32, FromSqlError> {
    u32::try_from(number).map_err(|_| FromSqlError::InvalidType)
}

/// Serializes each range as its first line and the number of lines that follow.
pub(super) fn pack_lines(lines: &LineSet) -> Vec<u8> {
    let mut out = Vec::new();
    for &(from, to) in lines.ranges() {
        varint::put(&mut out, from);
        varint::put(&mut out, to - from);
    }
    out
}

pub(super) fn unpack_lines(mut blob: &[u8]) -> FromSqlResult<LineSet> {
    let mut lines = LineSet::none();
    while !blob.is_empty() {
        let (from, more) = (take_number(&mut blob)?, take_number(&mut blob)?);
        lines.add(from, from.checked_add(more).ok_or(FromSqlError::InvalidType)?);
    }
    Ok(lines)
}

/// Data, and whether it is a zstd frame.
type PackedBlob = Option<(Vec<u8>, bool)>;

/// Returns the anchor words of a path's lines.
pub(super) fn words(connection: &Connection, path: &[u8]) -> rusqlite::Result<PackedBlob> {
    let mut query = connection.prepare_cached("SELECT data, zstd FROM words WHERE path=?1")?;
    query.query_row([path], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Returns the registers of a session.
pub(super) fn registers(connection: &Connection, session: &str) -> rusqlite::Result<PackedBlob> {
    let mut query = connection.prepare_cached("SELECT data, zstd FROM registers WHERE session=?1")?;
    query.query_row([session], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Stores the registers of a session, or deletes them.
pub(super) fn keep_registers(
    connection: &Connection,
    session: &str,
    packed: Option<&PackedBytes<'_>>,
    now: i64,
) -> rusqlite::Result<()> {
    let done = match packed {
        Some(packed) => connection
            .prepare_cached("INSERT OR REPLACE INTO registers(session, at, data, zstd) VALUES(?1, ?2, ?3, ?4)")?
            .execute(params![session, now, &*packed.data, packed.zstd]),
        None => connection.prepare_cached("DELETE FROM registers WHERE session=?1")?.execute([session]),
    };
    done.map(drop)
}

/// Stores the anchor words of a path, or deletes them.
pub(super) fn keep_words(
    connection: &Connection,
    path: &[u8],
    packed: Option<&PackedBytes<'_>>,
    now: i64,
) -> rusqlite::Result<()> {
    let done = match packed {
        Some(packed) => connection
            .prepare_cached("INSERT OR REPLACE INTO words(path, at, data, zstd) VALUES(?1, ?2, ?3, ?4)")?
            .execute(params![path, now, &*packed.data, packed.zstd]),
        None => connection.prepare_cached("DELETE FROM words WHERE path=?1")?.execute([path]),
    };
    done.map(drop)
}

//! The ranges that operations replaced, for pages that show which words changed.

use emendate_core::explain::ReplacedSpan;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{ChangeContent, replacement};

/// Inserts the ranges that a change replaced.
pub(super) fn insert(
    connection: &Connection,
    number: i64,
    nth: usize,
    change: &ChangeContent<'_>,
) -> rusqlite::Result<()> {
    let Some(data) = change.base.and_then(|_| replacement::encode_spans(change.replacements)) else { return Ok(()) };
    let nth = i64::try_from(nth).unwrap_or(i64::MAX);
    connection.prepare_cached("INSERT INTO spans VALUES(?1, ?2, ?3)")?.execute(params![number, nth, data])?;
    Ok(())
}

/// Returns the ranges that an operation replaced in a file.
pub(super) fn replaced_spans(
    connection: &Connection,
    number: u64,
    path: &[u8],
) -> rusqlite::Result<Option<Vec<ReplacedSpan>>> {
    let data: Option<Vec<u8>> = connection
        .prepare_cached("SELECT data FROM touched JOIN spans USING(operation, nth) WHERE operation=?1 AND path=?2")?
        .query_row(params![number.cast_signed(), path], |row| row.get(0))
        .optional()?;
    Ok(data.and_then(|data| replacement::decode_spans(&data)))
}

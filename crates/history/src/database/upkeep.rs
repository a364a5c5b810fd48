//! Garbage collection: keeps the file within its limits.

use std::collections::HashMap;

use emendate_core::ContentId;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::reviews;
use super::rows::{fixed, size};
use crate::prune::{EvictionCandidate, REGISTER_SESSIONS_MAX, WORD_PATHS_MAX, reduced_limit, versions_to_evict};
use crate::{HistoryLimits, OUTSIDE, Retention, clock};

/// Microseconds between two runs on a file that is not too large.
const UPKEEP_INTERVAL_US: i64 = 3_600_000_000;
/// Share of the content limit that each row of `seen` counts for, so that rows are bounded too.
const BYTES_PER_ROW: u64 = 4096;
/// Paths whose last known state is remembered.
const KNOWN_PATHS_MAX: i64 = 1_000_000;
/// Number of rows that is always allowed.
const ROWS_MIN: u64 = 1024;

/// Collects garbage if the file is too large or the last run was long ago. Freed space is reused.
pub(super) fn run(connection: &mut Connection, limits: &HistoryLimits, now: i64) -> rusqlite::Result<()> {
    let used = used(connection)?;
    let since = now.saturating_sub(number(connection, "SELECT at FROM upkeep WHERE id=1")?);
    if used <= limits.total && (0..UPKEEP_INTERVAL_US).contains(&since) {
        return Ok(());
    }
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    clean(&transaction, limits, used, now)?;
    transaction.commit()
}

/// Collects garbage now, within the requested limits, and releases the space. Returns the number of operations and
/// contents dropped.
pub(super) fn free(
    connection: &mut Connection,
    limits: &HistoryLimits,
    retention: Retention,
    now: i64,
) -> rusqlite::Result<(u64, u64)> {
    let used = used(connection)?;
    let limits = limits.narrowed(retention);
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    let before = count_stored(&transaction)?;
    clean(&transaction, &limits, used, now)?;
    let after = count_stored(&transaction)?;
    transaction.commit()?;
    // If a reader prevents this, the space is reused instead of released.
    let _ = connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    Ok((removed_between(before.0, after.0), removed_between(before.1, after.1)))
}

/// Returns the decrease of a count.
fn removed_between(before: i64, after: i64) -> u64 {
    before.saturating_sub(after).cast_unsigned()
}

/// Counts the operations and the stored contents.
fn count_stored(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let operations = number(connection, "SELECT count(*) FROM operations")?;
    let contents = number(connection, "SELECT count(*) FROM versions WHERE stored IS NOT NULL")?;
    Ok((operations, contents + number(connection, "SELECT count(*) FROM changes")?))
}

fn number(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

/// Returns the bytes of the pages in use.
fn used(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = number(connection, "PRAGMA page_count")? - number(connection, "PRAGMA freelist_count")?;
    Ok(pages.saturating_mul(number(connection, "PRAGMA page_size")?).cast_unsigned())
}

fn clean(connection: &Connection, limits: &HistoryLimits, used: u64, now: i64) -> rusqlite::Result<()> {
    connection.execute("UPDATE upkeep SET at=?1 WHERE id=1", [now])?;
    // The known states of a path have to stay as long as the operations that begin there can be undone.
    let (oldest, oldest_known) =
        (clock::days_before(now, limits.age_days), clock::days_before(now, limits.history_days));
    connection
        .execute("DELETE FROM seen WHERE at<?1 AND (session<>?2 OR at<?3)", params![oldest, OUTSIDE, oldest_known])?;
    connection.execute("DELETE FROM words WHERE at<?1", [clock::days_before(now, limits.age_days)])?;
    connection.execute(
        "DELETE FROM words WHERE path NOT IN (SELECT path FROM words ORDER BY at DESC LIMIT ?1)",
        [WORD_PATHS_MAX],
    )?;
    connection.execute("DELETE FROM registers WHERE at<?1", [clock::days_before(now, limits.age_days)])?;
    connection.execute(
        "DELETE FROM registers WHERE id NOT IN (SELECT id FROM registers ORDER BY at DESC LIMIT ?1)",
        [REGISTER_SESSIONS_MAX],
    )?;
    let rows = (limits.total / BYTES_PER_ROW).max(ROWS_MIN);
    if connection.query_row("SELECT count(*) FROM seen WHERE session<>?1", [OUTSIDE], |row| size(row, 0))? > rows {
        connection.execute(
            "DELETE FROM seen WHERE session<>?1
             AND at<=(SELECT at FROM seen WHERE session<>?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)",
            params![OUTSIDE, reduced_limit(rows).cast_signed()],
        )?;
    }
    connection.execute(
        "DELETE FROM seen WHERE session=?1 AND path IN
           (SELECT path FROM seen WHERE session=?1 ORDER BY at DESC LIMIT -1 OFFSET ?2)",
        params![OUTSIDE, KNOWN_PATHS_MAX],
    )?;
    drop_operations(connection, limits, now)?;
    reviews::drop_orphans(connection)?;
    drop_changes(connection, limits)?;
    drop_unreferenced(connection)?;
    let weights = weights(connection)?;
    let bytes_max = if used > limits.total {
        // Rows and half-filled pages, the rest of the file, have to fit as well.
        let beside = used.saturating_sub(weights.iter().map(|weight| weight.stored).sum());
        reduced_limit(limits.total).saturating_sub(beside).max(limits.total / 4)
    } else {
        limits.total
    };
    let mut evict = connection
        .prepare("UPDATE versions SET stored=NULL, zstd=0, base=NULL, depth=0, body=NULL WHERE content=?1")?;
    for content in versions_to_evict(weights, bytes_max) {
        evict.execute([content.to_bytes()])?;
    }
    connection.execute("DELETE FROM bodies WHERE id NOT IN (SELECT body FROM versions WHERE body IS NOT NULL)", [])?;
    Ok(())
}

/// Drops operations that are too old or too many, always the oldest, so that the rest is contiguous. An operation that
/// only seems old, because the clock was wrong, does not cause younger ones before it to be dropped.
fn drop_operations(connection: &Connection, limits: &HistoryLimits, now: i64) -> rusqlite::Result<()> {
    let oldest = clock::days_before(now, limits.history_days);
    let young: Option<i64> =
        connection.query_row("SELECT min(number) FROM operations WHERE at>=?1", [oldest], |row| row.get(0))?;
    let surplus: Option<i64> = connection
        .query_row("SELECT number FROM operations ORDER BY number DESC LIMIT 1 OFFSET ?1", [limits.operations], |row| {
            row.get(0)
        })
        .optional()?;
    let newest = number(connection, "SELECT coalesce(max(number), 0) FROM operations")?;
    let last = young.map_or(newest, |young| young - 1).max(surplus.unwrap_or(0)).min(newest - 1);
    connection.execute("DELETE FROM operations WHERE number<=?1", [last])?;
    // A process that finishes long after it was presumed dead will not find its operation.
    let stale = now.saturating_sub(UPKEEP_INTERVAL_US);
    connection.execute("DELETE FROM operations WHERE pending<0 AND at<?1 AND number<?2", [stale, newest])?;
    // A gap only matters while there is an operation before it.
    connection.execute("DELETE FROM gaps WHERE after<(SELECT min(number) FROM operations)", [])?;
    for table in ["touched", "attributes", "folders", "spans"] {
        connection
            .execute(&format!("DELETE FROM {table} WHERE operation NOT IN (SELECT number FROM operations)"), [])?;
    }
    Ok(())
}

/// Drops changes without an operation, and the oldest while all take more than a quarter of the limit. The others form
/// chains up to the current files, so nothing else needs the oldest.
fn drop_changes(connection: &Connection, limits: &HistoryLimits) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM changes WHERE operation NOT IN (SELECT number FROM operations)", [])?;
    let mut room = limits.total / 4;
    let mut last = None;
    let mut query = connection.prepare("SELECT id, length(data) FROM changes ORDER BY id DESC")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let Some(left) = room.checked_sub(size(row, 1)?) else {
            last = Some(row.get::<_, i64>(0)?);
            break;
        };
        room = left;
    }
    if let Some(last) = last {
        connection.execute("DELETE FROM changes WHERE id<=?1", [last])?;
    }
    Ok(())
}

/// Drops versions that no session, no operation and no other version refers to. A chain is dropped from its end, link
/// by link.
fn drop_unreferenced(connection: &Connection) -> rusqlite::Result<()> {
    let mut drop = connection.prepare(
        "DELETE FROM versions WHERE content NOT IN (SELECT content FROM seen)
         AND content NOT IN (SELECT before FROM touched WHERE before IS NOT NULL)
         AND content NOT IN (SELECT after FROM touched WHERE after IS NOT NULL)
         AND content NOT IN (SELECT base FROM versions WHERE base IS NOT NULL)",
    )?;
    while drop.execute(params![])? > 0 {}
    Ok(())
}

/// Returns all stored versions with the time of their last record or operation.
fn weights(connection: &Connection) -> rusqlite::Result<Vec<EvictionCandidate>> {
    let mut ages: HashMap<[u8; 16], i64> = HashMap::new();
    let mut query = connection.prepare(
        "SELECT content, max(at) FROM (
           SELECT content, at FROM seen
           UNION ALL SELECT before, at FROM touched JOIN operations ON number=operation WHERE before IS NOT NULL
           UNION ALL SELECT after, at FROM touched JOIN operations ON number=operation WHERE after IS NOT NULL)
         GROUP BY content",
    )?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        ages.insert(fixed(row.get_ref(0)?.as_blob()?)?, row.get(1)?);
    }
    let mut query = connection.prepare("SELECT content, base, depth, stored FROM versions WHERE stored IS NOT NULL")?;
    let mut rows = query.query([])?;
    let mut weights = Vec::new();
    while let Some(row) = rows.next()? {
        let content = fixed(row.get_ref(0)?.as_blob()?)?;
        let base = row.get_ref(1)?.as_blob_or_null()?.map(fixed).transpose()?;
        weights.push(EvictionCandidate {
            content: ContentId::from_bytes(content),
            base: base.map(ContentId::from_bytes),
            depth: row.get(2)?,
            stored: size(row, 3)?,
            at: ages.get(&content).copied().unwrap_or(0),
        });
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::{HistoryLimits, clock, drop_operations};
    use crate::Database;
    use rusqlite::Connection;

    /// Returns the operations that stay, of those logged this many days ago.
    fn left(days: &[u32]) -> Vec<i64> {
        let temp = tempfile::tempdir().unwrap();
        drop(Database::open(temp.path(), HistoryLimits::default()).unwrap());
        let connection = Connection::open(temp.path().join("sessions.db")).unwrap();
        let now = clock::now_us();
        for (number, days) in (1_i64..).zip(days) {
            let row = "INSERT INTO operations VALUES(?1, ?2, 's', 't', 'f', x'00', '', 0, 1, 0, NULL, NULL, NULL, NULL, 0, NULL)";
            connection.execute(row, [number, clock::days_before(now, *days)]).unwrap();
        }
        drop_operations(&connection, &HistoryLimits { history_days: 30, ..HistoryLimits::default() }, now).unwrap();
        let mut rows = connection.prepare("SELECT number FROM operations ORDER BY number").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn wrong_clock_does_not_drop_younger_operations() {
        assert_eq!(left(&[50, 40, 3, 2]), [3, 4]);
        assert_eq!(left(&[50, 3, 9000, 2]), [2, 3, 4]);
        assert_eq!(left(&[3, 2, 9000]), [1, 2, 3]);
        assert_eq!(left(&[50, 40, 9000]), [3]);
        assert_eq!(left(&[]), [0; 0]);
    }
}

//! Detection of lost parts of the log. The append log knows the next operation number. If the database ends before
//! that, its newest transactions are lost: its write-ahead log was truncated, or an older or empty file replaced it.

use emendate_core::Result;
use rusqlite::{Connection, OptionalExtension, params};

use super::rows::size;
use super::{Database, DatabaseState};
use crate::{HistoryGap, clock};

/// Table of the gaps found. A gap is kept as long as an older operation exists.
pub(super) const GAPS_TABLE: &str = "
    CREATE TABLE gaps(id INTEGER PRIMARY KEY, after INTEGER NOT NULL, until INTEGER, at INTEGER NOT NULL);";

/// Returns the number of the newest operation; 0 if there is none.
pub(super) fn newest(connection: &Connection) -> rusqlite::Result<u64> {
    connection.prepare_cached("SELECT coalesce(max(number), 0) FROM operations")?.query_row([], |row| size(row, 0))
}

/// Returns the highest operation number that the database knows of.
pub(super) fn highest(connection: &Connection) -> rusqlite::Result<u64> {
    let lost =
        connection.prepare_cached("SELECT coalesce(max(until), 0) FROM gaps")?.query_row([], |row| size(row, 0))?;
    Ok(newest(connection)?.max(lost))
}

/// Returns the gap between the newest operation of the database and the append log's next number, which is 0 if the
/// append log itself was lost.
fn gap_between(newest: u64, next: u64) -> Option<HistoryGap> {
    match next {
        0 => (newest > 0).then_some(HistoryGap { after: newest, until: None }),
        next => (newest.saturating_add(1) < next).then_some(HistoryGap { after: newest, until: Some(next - 1) }),
    }
}

/// True if the database has all operations before `next`.
fn is_complete(newest: u64, next: u64) -> bool {
    gap_between(newest, next).is_none()
}

/// Searches for a gap before operation `next` and records it; returns it if it is new.
pub(super) fn find_gap(connection: &Connection, next: u64) -> rusqlite::Result<Option<HistoryGap>> {
    match gap_between(newest(connection)?, next) {
        Some(gap) => record_gap(connection, gap),
        None => Ok(None),
    }
}

/// Records a gap and returns it, unless it is known.
pub(super) fn record_gap(connection: &Connection, gap: HistoryGap) -> rusqlite::Result<Option<HistoryGap>> {
    let (after, until) = (gap.after.cast_signed(), gap.until.map(u64::cast_signed));
    let known = connection
        .query_row(
            "SELECT 1 FROM gaps WHERE after=?1 AND coalesce(until, 0)>=coalesce(?2, 0)",
            params![after, until],
            |_| Ok(()),
        )
        .optional()?;
    if known.is_some() {
        return Ok(None);
    }
    connection
        .execute("INSERT INTO gaps(after, until, at) VALUES(?1, ?2, ?3)", params![after, until, clock::now_us()])?;
    Ok(Some(gap))
}

impl Database {
    /// Searches for gaps, and returns all that are known.
    pub(super) fn find_gaps(&self, state: &mut DatabaseState) -> Result<Vec<HistoryGap>> {
        self.flush(state)?;
        let newest = self.with(state, |connection| newest(connection))?;
        // Checked again under the lock: another process may be between its two writes.
        if state.append_log.read_head().is_none_or(|head| !is_complete(newest, head.next)) {
            self.change(state, |_, _| Ok(()))?;
        }
        self.with(state, |connection| list(connection))
    }
}

/// Returns all gaps, the newest first, each operation in one of them.
fn list(connection: &Connection) -> rusqlite::Result<Vec<HistoryGap>> {
    let mut query = connection.prepare_cached("SELECT after, until FROM gaps ORDER BY after DESC, id DESC")?;
    let all = query.query_map([], |row| {
        let until: Option<i64> = row.get(1)?;
        Ok(HistoryGap { after: size(row, 0)?, until: until.map(i64::cast_unsigned) })
    })?;
    Ok(without_overlaps(all.collect::<rusqlite::Result<_>>()?))
}

/// Joins gaps, the newest first, that were found one after another and have operations in common.
fn without_overlaps(all: Vec<HistoryGap>) -> Vec<HistoryGap> {
    let mut joined: Vec<HistoryGap> = Vec::new();
    for gap in all {
        match (joined.last_mut(), gap.until) {
            (Some(later), Some(until)) if later.until.is_some() && later.after < until => {
                *later = HistoryGap { after: gap.after, until: later.until.max(Some(until)) };
            }
            _ => joined.push(gap),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::{gap_between, without_overlaps};
    use crate::HistoryGap;

    #[test]
    fn overlapping_gaps_are_one() {
        let gap = |after, until| HistoryGap { after, until };
        let joined = |all: &[HistoryGap]| without_overlaps(all.to_vec());
        assert_eq!(joined(&[gap(2, Some(5)), gap(2, Some(3))]), [gap(2, Some(5))]);
        assert_eq!(joined(&[gap(4, Some(6)), gap(2, Some(5))]), [gap(2, Some(6))]);
        let apart = [gap(7, None), gap(4, Some(6)), gap(2, Some(4)), gap(1, None)];
        assert_eq!(joined(&apart), apart);
    }

    #[test]
    fn gap_is_between_the_database_and_the_spool() {
        assert_eq!(gap_between(0, 0), None);
        assert_eq!(gap_between(0, 1), None);
        assert_eq!(gap_between(7, 8), None);
        // Another process has committed and is about to update the append log.
        assert_eq!(gap_between(8, 8), None);
        assert_eq!(gap_between(7, 0), Some(HistoryGap { after: 7, until: None }));
        assert_eq!(gap_between(7, 9), Some(HistoryGap { after: 7, until: Some(8) }));
        assert_eq!(gap_between(0, 9), Some(HistoryGap { after: 0, until: Some(8) }));
    }
}

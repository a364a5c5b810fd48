//! Comments and review marks. The tables are created when they are first needed, so that older and newer programs share
//! one schema.

use emendate_os::files::OpenOptionsExt as _;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use emendate_core::Result;
use rusqlite::{Connection, OptionalExtension, params};

use super::{Database, failure};
use crate::clock;
use crate::reviews::{
    COMMENTS_MAX, CommentFilter, NewComment, REVIEWED_HUNKS_MAX, ReviewedHunks, Reviews, StoredComment,
};

/// The tables. Numbers of comments are never reused, because replies contain them.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS comments(
        number INTEGER PRIMARY KEY AUTOINCREMENT, operation INTEGER NOT NULL, path BLOB, line INTEGER,
        session TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL, delivered INTEGER);
    CREATE TABLE IF NOT EXISTS reviewed(
        operation INTEGER NOT NULL, path BLOB NOT NULL, hunk INTEGER NOT NULL,
        PRIMARY KEY(operation, path, hunk)) WITHOUT ROWID;";

/// True if the tables exist.
fn exist(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE name='comments'")?
        .query_row([], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

/// Drops the comments and marks of operations that no longer exist.
pub(super) fn drop_orphans(connection: &Connection) -> rusqlite::Result<()> {
    if exist(connection)? {
        connection.execute("DELETE FROM comments WHERE operation NOT IN (SELECT number FROM operations)", [])?;
        connection.execute("DELETE FROM reviewed WHERE operation NOT IN (SELECT number FROM operations)", [])?;
    }
    Ok(())
}

impl Database {
    /// The file that exists while a comment may be open.
    fn open_comments_flag(&self) -> PathBuf {
        self.path().with_extension("comments")
    }
}

impl Reviews for Database {
    fn add_comment(&self, comment: NewComment<'_>) -> Result<Option<u64>> {
        let flag = self.open_comments_flag();
        // Before the comment: a flag without a comment does no harm.
        let created = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&flag);
        let created = created.map_err(|error| failure::of_io(&error, "create", &flag));
        self.change(&mut self.state(), |connection, _| {
            connection.execute_batch(TABLES)?;
            let count: i64 = connection.query_row("SELECT count(*) FROM comments", [], |row| row.get(0))?;
            if count >= i64::try_from(COMMENTS_MAX).unwrap_or(i64::MAX) {
                return Ok(None);
            }
            connection.execute(
                "INSERT INTO comments(operation, path, line, session, text, at) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    comment.operation.cast_signed(),
                    comment.path,
                    comment.line.map(u64::cast_signed),
                    comment.session,
                    comment.text,
                    clock::now_us()
                ],
            )?;
            // Another process may have removed it between the two; from here on it waits for the lock.
            let _ = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&flag);
            Ok(Some(connection.last_insert_rowid().cast_unsigned()))
        })
        .and_then(|number| created.map(|_| number))
    }

    fn comments(&self, filter: &CommentFilter<'_>) -> Result<Vec<StoredComment>> {
        self.ask(|connection| {
            if !exist(connection)? {
                return Ok(Vec::new());
            }
            let mut query = connection.prepare_cached(
                "SELECT number, operation, path, line, session, text, at, delivered FROM comments
                 WHERE (?1 IS NULL OR operation=?1) AND (?2 IS NULL OR session=?2) AND (?3=0 OR delivered IS NULL)
                 ORDER BY number LIMIT ?4",
            )?;
            let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
            let rows = query.query_map(
                params![filter.operation.map(u64::cast_signed), filter.session, filter.open, limit],
                |row| {
                    Ok(StoredComment {
                        number: row.get::<_, i64>(0)?.cast_unsigned(),
                        operation: row.get::<_, i64>(1)?.cast_unsigned(),
                        path: row.get(2)?,
                        line: row.get::<_, Option<i64>>(3)?.map(i64::cast_unsigned),
                        session: row.get(4)?,
                        text: row.get(5)?,
                        at: row.get(6)?,
                        delivered_at: row.get(7)?,
                    })
                },
            )?;
            rows.collect()
        })
    }

    fn mark_delivered(&self, numbers: &[u64]) -> Result<()> {
        let state = &mut *self.state();
        let now = clock::now_us();
        self.change(state, |connection, _| {
            connection.execute_batch(TABLES)?;
            for number in numbers {
                connection
                    .prepare_cached("UPDATE comments SET delivered=?1 WHERE number=?2 AND delivered IS NULL")?
                    .execute(params![now, number.cast_signed()])?;
            }
            Ok(())
        })?;
        // Under the lock that every writer holds, so that no comment is added between the check and the removal.
        let _lock = self.lock(state)?;
        let is_open = self.with(state, |connection| {
            connection.query_row("SELECT 1 FROM comments WHERE delivered IS NULL LIMIT 1", [], |_| Ok(())).optional()
        })?;
        if is_open.is_none() {
            let _ = fs::remove_file(self.open_comments_flag());
        }
        Ok(())
    }

    fn delete_comment(&self, number: u64) -> Result<bool> {
        self.change(&mut self.state(), |connection, _| {
            connection.execute_batch(TABLES)?;
            Ok(connection.execute("DELETE FROM comments WHERE number=?1", [number.cast_signed()])? > 0)
        })
    }

    fn may_have_open_comments(&self) -> bool {
        fs::symlink_metadata(self.open_comments_flag()).is_ok()
    }

    fn mark_reviewed(&self, marks: &ReviewedHunks, reviewed: bool) -> Result<bool> {
        let ReviewedHunks { operation, path, hunks } = marks;
        self.change(&mut self.state(), |connection, _| {
            connection.execute_batch(TABLES)?;
            let count: i64 = connection.query_row("SELECT count(*) FROM reviewed", [], |row| row.get(0))?;
            let most = i64::try_from(REVIEWED_HUNKS_MAX.saturating_sub(hunks.len())).unwrap_or(0);
            if reviewed && count > most {
                return Ok(false);
            }
            let sql = if reviewed {
                "INSERT OR IGNORE INTO reviewed VALUES(?1, ?2, ?3)"
            } else {
                "DELETE FROM reviewed WHERE operation=?1 AND path=?2 AND hunk=?3"
            };
            let mut change = connection.prepare_cached(sql)?;
            for hunk in hunks {
                change.execute(params![operation.cast_signed(), path, hunk.cast_signed()])?;
            }
            Ok(true)
        })
    }

    fn reviewed(&self, operation: Option<u64>, limit: usize) -> Result<Vec<ReviewedHunks>> {
        self.ask(|connection| {
            if !exist(connection)? {
                return Ok(Vec::new());
            }
            let mut query = connection.prepare_cached(
                "SELECT operation, path, hunk FROM reviewed WHERE ?1 IS NULL OR operation=?1
                 ORDER BY operation DESC, path, hunk",
            )?;
            let mut rows = query.query([operation.map(u64::cast_signed)])?;
            let mut found: Vec<ReviewedHunks> = Vec::new();
            while let Some(row) = rows.next()? {
                let (number, path, hunk): (i64, Vec<u8>, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let number = number.cast_unsigned();
                let is_full = found.len() == limit;
                match found.last_mut().filter(|last| last.operation == number && last.path == path) {
                    Some(last) => last.hunks.push(hunk.cast_unsigned()),
                    None if is_full => break,
                    None => found.push(ReviewedHunks { operation: number, path, hunks: vec![hunk.cast_unsigned()] }),
                }
            }
            Ok(found)
        })
    }
}

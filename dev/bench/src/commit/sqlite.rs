//! The alternative to two logs in series: one SQLite transaction for each edit, instead of the append log that is copied to
//! SQLite later. The cheapest form counts: an open connection, prepared statements, WAL, no sync, two rows.

use super::{RENAME, ScratchFiles, by_rename};
use crate::outcome::Outcome;
use crate::race::{Case, race, settle, timed};
use crate::text::source;
use emendate::fs::Durability;
use rusqlite::{Connection, params};
use std::fs;

const TABLES: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
    CREATE TABLE operations (id INTEGER PRIMARY KEY, record BLOB NOT NULL);
    CREATE TABLE contents (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;";

/// Bytes of the record of an operation, as the engine writes it for one file.
const RECORD_BYTES: usize = 400;

pub(super) fn run(rounds: usize) -> Outcome {
    let files = ScratchFiles::new(1 << 10);
    let cases = vec![
        by_rename(&files, 1 << 10),
        through_sqlite(&files),
        files.ours("ours, with history", files.state("state"), Durability::Process),
    ];
    race(format!("one edit of 1 KB, logged by SQLite alone, beside {RENAME}"), rounds, cases)
}

/// Creates a case that writes and renames a file, and commits its record and its former content.
fn through_sqlite(files: &ScratchFiles) -> Case<'static> {
    let (path, text) = (files.file("logged"), source(1 << 10));
    let aside = path.with_extension("tmp");
    let database = files.root.with_file_name("log.db");
    let connection = Connection::open(database).and_then(|it| it.execute_batch(TABLES).map(|()| it));
    let mut connection = connection.unwrap_or_else(|error| panic!("{error}"));
    let mut count: u64 = 0;
    Case::ours("write + rename, and one SQLite transaction", move || {
        count += 1;
        let hash: [u8; 32] = std::array::from_fn(|at| count.to_le_bytes()[at % 8]);
        settle();
        let (done, time) = timed(|| {
            let _ = fs::write(&aside, &text);
            let _ = fs::rename(&aside, &path);
            let transaction = connection.transaction()?;
            transaction
                .prepare_cached("INSERT INTO operations (record) VALUES (?1)")?
                .execute(params![[b'x'; RECORD_BYTES]])?;
            transaction
                .prepare_cached("INSERT INTO contents (hash, bytes) VALUES (?1, ?2)")?
                .execute(params![hash, &text])?;
            transaction.commit()
        });
        done.unwrap_or_else(|error| panic!("{error}"));
        time
    })
}

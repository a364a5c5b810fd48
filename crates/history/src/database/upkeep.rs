//! Keeping the file within its limits.

use std::collections::HashMap;

use emendate_core::ContentId;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::rows::{fixed, size};
use crate::prune::{Weight, condemned, room};
use crate::{Limits, clock};

/// Microseconds between two clean-ups of a file that is not too large.
const RARELY: i64 = 3_600_000_000;
/// What the limit on contents allows for each row of `seen`, so that rows are bounded too.
const PER_ROW: u64 = 4096;
/// Rows that are always allowed.
const FEW_ROWS: u64 = 1024;

/// Cleans up when the file is too large or has not been cleaned for long. Space that becomes free is used again.
pub(super) fn run(connection: &mut Connection, limits: &Limits, now: i64) -> rusqlite::Result<()> {
    let number = |sql: &str| connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0));
    let pages = number("PRAGMA page_count")? - number("PRAGMA freelist_count")?;
    let used = pages.saturating_mul(number("PRAGMA page_size")?).cast_unsigned();
    let since = now.saturating_sub(number("SELECT at FROM upkeep WHERE id=1")?);
    if used <= limits.total && (0..RARELY).contains(&since) {
        return Ok(());
    }
    let all = Transaction::new(connection, TransactionBehavior::Immediate)?;
    all.execute("UPDATE upkeep SET at=?1 WHERE id=1", [now])?;
    all.execute("DELETE FROM seen WHERE at<?1", [clock::days_before(now, limits.age_days)])?;
    let rows = (limits.total / PER_ROW).max(FEW_ROWS);
    if all.query_row("SELECT count(*) FROM seen", [], |row| size(row, 0))? > rows {
        all.execute(
            "DELETE FROM seen WHERE at<=(SELECT at FROM seen ORDER BY at DESC LIMIT 1 OFFSET ?1)",
            [room(rows).cast_signed()],
        )?;
    }
    drop_unreferenced(&all)?;
    let weights = weights(&all)?;
    let leave = if used > limits.total {
        // What the file holds beside contents, in rows and half-filled pages, has to fit as well.
        let beside = used.saturating_sub(weights.iter().map(|weight| weight.stored).sum());
        room(limits.total).saturating_sub(beside).max(limits.total / 4)
    } else {
        limits.total
    };
    let mut evict =
        all.prepare("UPDATE versions SET stored=NULL, zstd=0, base=NULL, depth=0, body=NULL WHERE content=?1")?;
    for content in condemned(weights, leave) {
        evict.execute([content.to_bytes()])?;
    }
    drop(evict);
    all.execute("DELETE FROM bodies WHERE id NOT IN (SELECT body FROM versions WHERE body IS NOT NULL)", [])?;
    all.commit()
}

/// Versions that no session remembers and no other version is rebuilt from. A chain goes from its end, link by link.
fn drop_unreferenced(all: &Connection) -> rusqlite::Result<()> {
    let mut drop = all.prepare(
        "DELETE FROM versions WHERE content NOT IN (SELECT content FROM seen)
         AND content NOT IN (SELECT base FROM versions WHERE base IS NOT NULL)",
    )?;
    while drop.execute(params![])? > 0 {}
    Ok(())
}

/// All stored versions with the time of their last record.
fn weights(all: &Connection) -> rusqlite::Result<Vec<Weight>> {
    let mut ages: HashMap<[u8; 16], i64> = HashMap::new();
    let mut query = all.prepare("SELECT content, max(at) FROM seen GROUP BY content")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        ages.insert(fixed(row.get_ref(0)?.as_blob()?)?, row.get(1)?);
    }
    let mut query = all.prepare("SELECT content, base, depth, stored FROM versions WHERE stored IS NOT NULL")?;
    let mut rows = query.query([])?;
    let mut weights = Vec::new();
    while let Some(row) = rows.next()? {
        let content = fixed(row.get_ref(0)?.as_blob()?)?;
        let base = row.get_ref(1)?.as_blob_or_null()?.map(fixed).transpose()?;
        weights.push(Weight {
            content: ContentId::from_bytes(content),
            base: base.map(ContentId::from_bytes),
            depth: row.get(2)?,
            stored: size(row, 3)?,
            at: ages.get(&content).copied().unwrap_or(0),
        });
    }
    Ok(weights)
}

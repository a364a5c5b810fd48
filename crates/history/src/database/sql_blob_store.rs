//! Stored versions and their bodies in SQL tables.

use std::cell::RefCell;
use std::sync::Arc;

use emendate_core::ContentId;
use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{fixed, size};
use crate::blob_store::{BlobStore, StoredVersion};
use crate::delta_chain::{DeltaEdge, DeltaGraph};
use crate::{HistoryLimits, pack};

/// The tables `versions` and `bodies`, and the changes of the log.
pub(super) struct SqlBlobStore<'a>(pub(super) &'a Connection);

impl BlobStore for SqlBlobStore<'_> {
    type Error = rusqlite::Error;

    fn version(&self, content: ContentId) -> rusqlite::Result<Option<StoredVersion>> {
        self.0
            .prepare_cached("SELECT hash, size, stored, zstd, base, depth, contested FROM versions WHERE content=?1")?
            .query_row([content.to_bytes()], |row| {
                let hash = row.get_ref(0)?.as_blob_or_null()?.map(fixed).transpose()?;
                let base = row.get_ref(4)?.as_blob_or_null()?.map(fixed).transpose()?;
                Ok(StoredVersion {
                    hash,
                    size: size(row, 1)?,
                    stored: row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
                    zstd: row.get(3)?,
                    base: base.map(ContentId::from_bytes),
                    depth: row.get(5)?,
                    contested: row.get(6)?,
                })
            })
            .optional()
    }

    fn data(&self, content: ContentId) -> rusqlite::Result<Option<Vec<u8>>> {
        self.0
            .prepare_cached("SELECT data FROM versions JOIN bodies ON id=body WHERE content=?1")?
            .query_row([content.to_bytes()], |row| row.get(0))
            .optional()
    }

    fn put(&mut self, content: ContentId, version: &StoredVersion, data: Option<&[u8]>) -> rusqlite::Result<()> {
        let body = match data {
            Some(data) => Some(self.0.prepare_cached("INSERT INTO bodies(data) VALUES(?1)")?.insert([data])?),
            None => None,
        };
        // A replaced body is left without a version, and garbage collection removes it.
        self.0
            .prepare_cached(
                "INSERT INTO versions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(content) DO UPDATE SET
                 hash=?2, size=?3, stored=?4, zstd=?5, base=?6, depth=?7, contested=?8, body=coalesce(?9, body)",
            )?
            .execute(params![
                content.to_bytes(),
                version.hash,
                version.size.cast_signed(),
                version.stored.map(u64::cast_signed),
                version.zstd,
                version.base.map(ContentId::to_bytes),
                version.depth,
                version.contested,
                body,
            ])?;
        Ok(())
    }

    fn graph(&self) -> rusqlite::Result<Arc<DeltaGraph>> {
        let mut query = self.0.prepare_cached("SELECT id, base, result FROM changes")?;
        let steps = query.query_map([], |row| {
            Ok(DeltaEdge { data: row.get(0)?, base: content_id_at(1, row)?, result: content_id_at(2, row)? })
        })?;
        let steps: Vec<DeltaEdge> = steps.collect::<rusqlite::Result<_>>()?;
        Ok(Arc::new(DeltaGraph::of(steps.into_iter())))
    }

    fn change(&self, data: i64, limits: &HistoryLimits) -> rusqlite::Result<Option<Vec<u8>>> {
        let found = self
            .0
            .prepare_cached("SELECT data, zstd FROM changes WHERE id=?1")?
            .query_row([data], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(found.and_then(|(data, zstd)| pack::unpack(data, zstd, limits.delta_bytes_max())))
    }
}

/// Reads the content id in a column.
fn content_id_at(column: usize, row: &rusqlite::Row<'_>) -> rusqlite::Result<ContentId> {
    Ok(ContentId::from_bytes(fixed(row.get_ref(column)?.as_blob()?)?))
}

/// Cached graph of the log's changes.
pub(super) struct GraphCache {
    /// Number of the connection that read it.
    pub(super) opened: u64,
    /// Change counters of other connections and of this one at that time.
    written: (i64, i64),
    graph: Arc<DeltaGraph>,
}

/// The tables of an [`SqlBlobStore`] with a cached graph, so that the changes are read once for many files of an
/// operation.
pub(super) struct CachedBlobStore<'a> {
    pub(super) blobs: SqlBlobStore<'a>,
    pub(super) opened: u64,
    pub(super) graph_cache: &'a RefCell<Option<GraphCache>>,
}

impl BlobStore for CachedBlobStore<'_> {
    type Error = rusqlite::Error;

    fn version(&self, content: ContentId) -> rusqlite::Result<Option<StoredVersion>> {
        self.blobs.version(content)
    }

    fn data(&self, content: ContentId) -> rusqlite::Result<Option<Vec<u8>>> {
        self.blobs.data(content)
    }

    fn put(&mut self, content: ContentId, version: &StoredVersion, data: Option<&[u8]>) -> rusqlite::Result<()> {
        self.blobs.put(content, version, data)
    }

    fn graph(&self) -> rusqlite::Result<Arc<DeltaGraph>> {
        let connection = self.blobs.0;
        let written =
            (query_number("PRAGMA data_version", connection)?, query_number("SELECT total_changes()", connection)?);
        let mut cached = self.graph_cache.borrow_mut();
        if let Some(cached) = cached.as_ref().filter(|it| (it.opened, it.written) == (self.opened, written)) {
            return Ok(Arc::clone(&cached.graph));
        }
        let graph = self.blobs.graph()?;
        *cached = Some(GraphCache { opened: self.opened, written, graph: Arc::clone(&graph) });
        Ok(graph)
    }

    fn change(&self, data: i64, limits: &HistoryLimits) -> rusqlite::Result<Option<Vec<u8>>> {
        self.blobs.change(data, limits)
    }
}

/// Returns the one number that a query yields.
fn query_number(sql: &str, connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0))
}

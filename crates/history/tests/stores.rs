//! Guarantees that both back ends give.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first fault")]

mod suite;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use emendate_core::explain::ReplacedSpan;
use emendate_core::{ContentId, Result, Tag};
use emendate_history::{
    ChangeContent, CommentFilter, Database, DiskUsage, FileChange, GcStats, History, HistoryLimits, KnownContent,
    KnownState, LogEntry, LogReceipt, LogStamp, MemoryHistory, NewComment, NewlyKnown, Operation, OperationFilter,
    OperationId, OperationLog, OperationName, OutsideContent, OwnedByteReplacement, OwnedContent, Record, Retention,
    ReviewedHunks, Reviews, SessionUpdate, Sessions, StatCache, StoredComment, VersionBody,
};

#[test]
fn memory_gives_all_guarantees() {
    suite::all(&|limits| Box::new(MemoryHistory::new(limits)));
}

#[test]
fn database_gives_all_guarantees() {
    let dir = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    suite::all(&|limits: HistoryLimits| -> Box<dyn History> {
        number.set(number.get() + 1);
        Box::new(Database::open(&dir.path().join(number.get().to_string()), limits).unwrap())
    });
}

/// A store that picks a database for every call.
struct Chosen(Box<dyn Fn() -> Arc<Database> + Send + Sync>);
impl Chosen {
    fn now(&self) -> Arc<Database> {
        self.0()
    }
}
impl Sessions for Chosen {
    fn record(&self, session: &str, path: &[u8], record: &Record, body: &VersionBody<'_>) -> Result<()> {
        self.now().record(session, path, record, body)
    }
    fn latest(&self, session: &str, path: &[u8]) -> Result<Option<Record>> {
        self.now().latest(session, path)
    }
    fn versions(&self, session: &str, path: &[u8]) -> Result<Vec<Record>> {
        self.now().versions(session, path)
    }

    fn by_tag(&self, path: &[u8], tag: Tag) -> Result<Option<Record>> {
        self.now().by_tag(path, tag)
    }
    fn bytes(&self, content: ContentId) -> Result<Option<Vec<u8>>> {
        self.now().bytes(content)
    }
    fn paths(&self, session: &str) -> Result<Vec<Vec<u8>>> {
        self.now().paths(session)
    }

    fn forget(&self, session: &str, path: &[u8]) -> Result<()> {
        self.now().forget(session, path)
    }
    fn latest_of(&self, session: &str, paths: &[&[u8]]) -> Result<Vec<Option<Record>>> {
        self.now().latest_of(session, paths)
    }
    fn words(&self, path: &[u8]) -> Result<Option<Vec<u8>>> {
        self.now().words(path)
    }
    fn keep_words(&self, path: &[u8], words: &[u8], before: Option<&[u8]>) -> Result<bool> {
        self.now().keep_words(path, words, before)
    }
    fn registers(&self, session: &str) -> Result<Option<Vec<u8>>> {
        self.now().registers(session)
    }
    fn keep_registers(&self, session: &str, registers: &[u8]) -> Result<()> {
        self.now().keep_registers(session, registers)
    }
    fn notices(&self) -> Vec<String> {
        self.now().notices()
    }
}
impl Reviews for Chosen {
    fn add_comment(&self, comment: NewComment<'_>) -> Result<Option<u64>> {
        self.now().add_comment(comment)
    }
    fn comments(&self, filter: &CommentFilter<'_>) -> Result<Vec<StoredComment>> {
        self.now().comments(filter)
    }
    fn mark_delivered(&self, numbers: &[u64]) -> Result<()> {
        self.now().mark_delivered(numbers)
    }
    fn delete_comment(&self, number: u64) -> Result<bool> {
        self.now().delete_comment(number)
    }
    fn may_have_open_comments(&self) -> bool {
        self.now().may_have_open_comments()
    }
    fn mark_reviewed(&self, marks: &ReviewedHunks, reviewed: bool) -> Result<bool> {
        self.now().mark_reviewed(marks, reviewed)
    }
    fn reviewed(&self, operation: Option<u64>, limit: usize) -> Result<Vec<ReviewedHunks>> {
        self.now().reviewed(operation, limit)
    }
}
impl OperationLog for Chosen {
    fn log(
        &self,
        operation: &Operation,
        changes: &[ChangeContent<'_>],
        known: &[SessionUpdate<'_>],
    ) -> Result<LogReceipt> {
        self.now().log(operation, changes, known)
    }
    fn newest_seen(&self, paths: &[&[u8]]) -> Result<Vec<Option<ContentId>>> {
        self.now().newest_seen(paths)
    }
    fn last_known(&self, paths: &[&[u8]]) -> Result<Vec<Option<KnownState>>> {
        self.now().last_known(paths)
    }
    fn log_outside(&self, operation: &Operation, contents: &[OutsideContent<'_>]) -> Result<Option<LogReceipt>> {
        self.now().log_outside(operation, contents)
    }
    fn remember_files(&self, found: &[NewlyKnown<'_>]) -> Result<()> {
        self.now().remember_files(found)
    }
    fn remember_changes(&self, changes: &[&FileChange]) -> Result<()> {
        self.now().remember_changes(changes)
    }
    fn run_deferred(&self) -> Result<()> {
        self.now().run_deferred()
    }
    fn all_newest_seen(&self) -> Result<HashMap<Vec<u8>, ContentId>> {
        self.now().all_newest_seen()
    }
    fn known_paths(&self, is_wanted: &dyn Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>> {
        self.now().known_paths(is_wanted)
    }
    fn stat_cache(&self) -> Option<StatCache> {
        self.now().stat_cache()
    }
    fn keep_stat_cache(&self, cache: &StatCache) -> Result<()> {
        self.now().keep_stat_cache(cache)
    }
    fn mark_committed(&self, ids: &[OperationId]) -> Result<()> {
        self.now().mark_committed(ids)
    }
    fn resolve(&self, id: OperationId, certain: bool) -> Result<()> {
        self.now().resolve(id, certain)
    }
    fn abort(&self, id: OperationId, certain: bool) -> Result<()> {
        self.now().abort(id, certain)
    }
    fn in_doubt(&self) -> Result<Vec<LogEntry>> {
        self.now().in_doubt()
    }
    fn operations(&self, filter: &OperationFilter<'_>) -> Result<Vec<LogEntry>> {
        self.now().operations(filter)
    }
    fn operation(&self, name: OperationName) -> Result<Option<LogEntry>> {
        self.now().operation(name)
    }
    fn operations_after(&self, number: u64, limit: usize) -> Result<Vec<LogEntry>> {
        self.now().operations_after(number, limit)
    }
    fn stamp(&self) -> LogStamp {
        self.now().stamp()
    }
    fn directory(&self) -> Option<&Path> {
        None
    }
    fn content(&self, content: ContentId, at_hand: &[KnownContent<'_>]) -> Result<Option<Vec<u8>>> {
        self.now().content(content, at_hand)
    }
    fn replacements(&self, from: ContentId, to: ContentId) -> Result<Option<Vec<OwnedByteReplacement>>> {
        self.now().replacements(from, to)
    }
    fn replaced_spans(&self, operation: u64, path: &[u8]) -> Result<Option<Vec<ReplacedSpan>>> {
        self.now().replaced_spans(operation, path)
    }
    fn linked_versions(&self, content: ContentId, limit: usize) -> Result<Vec<ContentId>> {
        self.now().linked_versions(content, limit)
    }
    fn can_rebuild(&self, content: ContentId, at_hand: &[ContentId]) -> Result<bool> {
        self.now().can_rebuild(content, at_hand)
    }
    fn not_stored(&self, contents: &[ContentId]) -> Result<HashSet<ContentId>> {
        self.now().not_stored(contents)
    }
    fn store_versions(&self, versions: &[OwnedContent]) -> Result<()> {
        self.now().store_versions(versions)
    }
    fn disk_usage(&self) -> Option<DiskUsage> {
        self.now().disk_usage()
    }
    fn collect_garbage(&self, retention: Retention) -> Result<GcStats> {
        self.now().collect_garbage(retention)
    }
}

/// Every change uses a new connection, as with one process per call.
#[test]
fn database_of_short_processes_gives_all_guarantees() {
    let dir = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    suite::without_limits(&|limits| {
        number.set(number.get() + 1);
        let path = dir.path().join(number.get().to_string());
        Box::new(Chosen(Box::new(move || Arc::new(Database::open(&path, limits).unwrap()))))
    });
}

/// Three processes with the same database take turns: each sees what another wrote to the append log.
#[test]
fn database_of_several_processes_gives_all_guarantees() {
    let dir = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    suite::without_limits(&|limits| {
        number.set(number.get() + 1);
        let path = dir.path().join(number.get().to_string());
        let all = [(); 3].map(|()| Arc::new(Database::open(&path, limits).unwrap()));
        let turn = AtomicUsize::new(0);
        Box::new(Chosen(Box::new(move || Arc::clone(&all[turn.fetch_add(1, Ordering::Relaxed) % all.len()]))))
    });
}

//! Guarantees that both back ends give.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first fault")]

mod suite;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use emendate_core::{ContentId, Result, Tag};
use emendate_history::{
    Body, Change, Database, Entered, Filter, Freed, History, Known, Leave, Limits, Logged, Memory, OnDisk, Operation,
    OperationId, OperationName, Operations, OwnedSwap, Record, Sessions,
};

#[test]
fn memory() {
    suite::all(&|limits| Box::new(Memory::new(limits)));
}

#[test]
fn database() {
    let dir = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    suite::all(&|limits: Limits| -> Box<dyn History> {
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
    fn record(&self, session: &str, path: &[u8], record: &Record, body: &Body<'_>) -> Result<()> {
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
impl Operations for Chosen {
    fn log(&self, operation: &Operation, changes: &[Change<'_>], known: &[Known<'_>]) -> Result<Entered> {
        self.now().log(operation, changes, known)
    }
    fn settle(&self, ids: &[OperationId]) -> Result<()> {
        self.now().settle(ids)
    }
    fn judge(&self, id: OperationId, certain: bool) -> Result<()> {
        self.now().judge(id, certain)
    }
    fn withdraw(&self, id: OperationId) -> Result<()> {
        self.now().withdraw(id)
    }
    fn pending(&self) -> Result<Vec<Logged>> {
        self.now().pending()
    }
    fn operations(&self, filter: &Filter<'_>) -> Result<Vec<Logged>> {
        self.now().operations(filter)
    }
    fn operation(&self, name: OperationName) -> Result<Option<Logged>> {
        self.now().operation(name)
    }
    fn content(&self, content: ContentId, at_hand: &[(ContentId, &[u8])]) -> Result<Option<Vec<u8>>> {
        self.now().content(content, at_hand)
    }
    fn swaps(&self, from: ContentId, to: ContentId) -> Result<Option<Vec<OwnedSwap>>> {
        self.now().swaps(from, to)
    }
    fn reaches(&self, content: ContentId, at_hand: &[ContentId]) -> Result<bool> {
        self.now().reaches(content, at_hand)
    }
    fn lacking(&self, contents: &[ContentId]) -> Result<HashSet<ContentId>> {
        self.now().lacking(contents)
    }
    fn keep(&self, versions: &[(ContentId, Vec<u8>)]) -> Result<()> {
        self.now().keep(versions)
    }
    fn on_disk(&self) -> Option<OnDisk> {
        self.now().on_disk()
    }
    fn free(&self, leave: Leave) -> Result<Freed> {
        self.now().free(leave)
    }
}

/// Every change uses a new connection, as with one process per call.
#[test]
fn database_of_short_processes() {
    let dir = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    suite::without_limits(&|limits| {
        number.set(number.get() + 1);
        let path = dir.path().join(number.get().to_string());
        Box::new(Chosen(Box::new(move || Arc::new(Database::open(&path, limits).unwrap()))))
    });
}

/// Three processes with the same database take turns: each sees what another wrote to the spool.
#[test]
fn database_of_several_processes() {
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

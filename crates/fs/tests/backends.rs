//! Guarantees that every backend gives.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod fixture;

use emendate_core::Code;
use emendate_fs::{
    DirEntry, Durability, EntryKind, FileWrite, MemoryStore, NewState, Precondition, Store, WriteMethod,
};
use fixture::{LEVELS, StoreFixture, expect, refused, replace};
use std::path::Path;

/// Runs a check on a fresh disk store and on a fresh memory store; the root is the store's first.
fn on_both(check: fn(&dyn Store, &Path)) {
    let fixture = StoreFixture::new();
    check(&fixture.store, &fixture.root);
    fixture.clean();
    let memory = MemoryStore::new(Path::new("/work/root"));
    check(&memory, Path::new("/work/root"));
}

fn put(store: &dyn Store, path: &Path, text: &str) {
    replace(store, path, text.as_bytes(), Durability::None).unwrap();
}

fn get(store: &dyn Store, path: &Path) -> Option<String> {
    let version = store.read(&store.resolve_path(path).unwrap(), 1 << 20, Vec::new()).unwrap()?;
    Some(String::from_utf8(version.bytes).unwrap())
}

#[test]
fn paths_are_resolved_or_refused() {
    on_both(|store, root| {
        put(store, &root.join("a/f"), "x");
        assert_eq!(store.roots()[0].canonical, root);
        assert_eq!(store.resolve_path(&root.join("a/../a//./f")).unwrap().relative(), Path::new("a/f"));
        refused(store.resolve_path(Path::new("a/f")), Code::PathInvalid);
        refused(store.resolve_path(Path::new("")), Code::PathInvalid);
        refused(store.resolve_path(&root.join("a/f/g")), Code::PathInvalid);
        refused(store.resolve_path(&root.join("a/f/")), Code::PathInvalid);
        refused(store.resolve_path(&root.join("../x")), Code::PathOutside);
        refused(store.resolve_path(&root.with_file_name("root-evil").join("f")), Code::PathOutside);
        refused(store.resolve_path(Path::new("/etc/passwd")), Code::PathOutside);
        for folder in ["a", ""] {
            let place = store.resolve_path(&root.join(folder)).unwrap();
            refused(store.metadata(&place), Code::PathNotRegular);
            refused(store.read(&place, 10, Vec::new()), Code::PathNotRegular);
        }
    });
}

#[test]
fn directories_are_listed() {
    on_both(|store, root| {
        put(store, &root.join("b"), "");
        put(store, &root.join("a/f"), "");
        let list = |path: &Path| store.list(&store.resolve_path(path).unwrap()).unwrap();
        let entry = |name: &str, kind| DirEntry { name: name.into(), kind };
        assert_eq!(list(root), Some(vec![entry("a", EntryKind::Directory), entry("b", EntryKind::File)]));
        assert_eq!(list(&root.join("a")), Some(vec![entry("f", EntryKind::File)]));
        assert_eq!((list(&root.join("b")), list(&root.join("n"))), (None, None));
    });
}

#[test]
fn files_are_read() {
    on_both(|store, root| {
        assert_eq!(get(store, &root.join("f")), None);
        put(store, &root.join("f"), "12345");
        put(store, &root.join("d/e/g"), "");
        let place = store.resolve_path(&root.join("f")).unwrap();
        assert_eq!(store.siblings(&place).unwrap(), ["d", "f"]);
        assert_eq!(store.siblings(&store.resolve_path(&root.join("d/x")).unwrap()).unwrap(), ["e"]);
        assert!(store.siblings(&store.resolve_path(&root.join("n/x")).unwrap()).unwrap().is_empty());
        let version = store.read(&place, 5, b"rest".to_vec()).unwrap().unwrap();
        assert_eq!((version.bytes.as_slice(), Some(version.meta)), (&b"12345"[..], store.metadata(&place).unwrap()));
        let text = refused(store.read(&place, 4, Vec::new()), Code::FileTooLarge);
        assert!(text.contains("5 bytes") && text.contains("limit is 4 bytes"));
    });
}

#[test]
fn files_are_written() {
    on_both(|store, root| {
        for level in LEVELS {
            let path = root.join("deep").join(level.as_str());
            assert_eq!(replace(store, &path, b"one", level).unwrap().method, WriteMethod::Created);
            let before = store.metadata(&store.resolve_path(&path).unwrap()).unwrap().unwrap();
            let written = replace(store, &path, b"two", level).unwrap();
            assert_eq!(get(store, &path).as_deref(), Some("two"));
            assert_eq!(store.metadata(&store.resolve_path(&path).unwrap()).unwrap(), Some(written.meta));
            assert!(!before.same_file(&written.meta));
        }
        let place = store.resolve_path(&root.join("none/f")).unwrap();
        let write =
            [FileWrite { path: &place, precondition: Precondition::Missing, new_state: NewState::content(&[b"x"]) }];
        drop(store.stage(&write, Durability::Power).unwrap());
        assert_eq!(get(store, &root.join("none/f")), None);
        let root_itself = store.resolve_path(root).unwrap();
        let write = [FileWrite {
            path: &root_itself,
            precondition: Precondition::Missing,
            new_state: NewState::content(&[b"x"]),
        }];
        refused(store.stage(&write, Durability::Power), Code::PathNotRegular);
    });
}

#[test]
fn preconditions_are_checked() {
    on_both(|store, root| {
        let (one, two) = (root.join("one"), root.join("two"));
        put(store, &one, "1");
        put(store, &two, "2");
        let places = [&one, &two].map(|path| store.resolve_path(path).unwrap());
        let olds = [0, 1].map(|at| store.read(&places[at], 10, Vec::new()).unwrap());
        let writes = [0, 1].map(|at| FileWrite {
            path: &places[at],
            precondition: expect(olds[at].as_ref()),
            new_state: NewState::content(&[b"new"]),
        });
        // After staging, another program saves the second file.
        let staged = store.stage(&writes, Durability::Power).unwrap();
        put(store, &two, "theirs");
        refused(staged.commit(), Code::ConflictRaced);
        assert_eq!((get(store, &one).as_deref(), get(store, &two).as_deref()), (Some("1"), Some("theirs")));
        // A missing file is a precondition too.
        let write = [FileWrite {
            path: &places[0],
            precondition: Precondition::Missing,
            new_state: NewState::content(&[b"x"]),
        }];
        refused(store.stage(&write, Durability::Power).and_then(emendate_fs::Staged::commit), Code::ConflictRaced);
        let gone = store.resolve_path(&root.join("gone")).unwrap();
        let write =
            [FileWrite { path: &gone, precondition: expect(olds[0].as_ref()), new_state: NewState::content(&[b"x"]) }];
        refused(store.stage(&write, Durability::Power).and_then(emendate_fs::Staged::commit), Code::ConflictRaced);
        assert_eq!((get(store, &one).as_deref(), get(store, &two).as_deref()), (Some("1"), Some("theirs")));
    });
}

#[test]
fn memory_store_behaves_like_a_disk() {
    let memory = MemoryStore::new(Path::new("/r"));
    memory.put("a/b", "one");
    memory.put("/r/a/b", "two");
    memory.put("/elsewhere", "ignored");
    memory.put("../x", "ignored");
    assert_eq!(memory.get("/r/a/b").as_deref(), Some(&b"two"[..]));
    assert_eq!((memory.get("/elsewhere"), memory.get("x")), (None, None));
    let metadata = |memory: &MemoryStore| memory.metadata(&memory.resolve_path(Path::new("/r/a/b")).unwrap()).unwrap();
    let before = metadata(&memory).unwrap();
    memory.put("a/b", "three");
    assert!(before.same_file(&metadata(&memory).unwrap()), "a foreign write keeps the inode");
    let place = memory.resolve_path(Path::new("/r/a/b")).unwrap();
    let old = memory.read(&place, 10, Vec::new()).unwrap();
    memory.remove("a/b");
    assert_eq!(metadata(&memory), None);
    memory.put("a/b", "three");
    assert!(!before.same_file(&metadata(&memory).unwrap()));
    // The same bytes in another inode are another file.
    let write = [FileWrite { path: &place, precondition: expect(old.as_ref()), new_state: NewState::content(&[b"x"]) }];
    refused(memory.stage(&write, Durability::Power), Code::ConflictRaced);
}

#[test]
fn files_become_directories_and_back() {
    on_both(|store, root| {
        put(store, &root.join("a"), "file");
        let file = store.resolve_path(&root.join("a")).unwrap();
        let below = ["b", "c/d"].map(|name| store.resolve_below(&file, Path::new(name)).unwrap());
        refused(store.resolve_below(&file, Path::new("../b")), Code::PathInvalid);
        refused(store.resolve_below(&file, Path::new("")), Code::PathInvalid);
        let old = store.read(&file, 10, Vec::new()).unwrap();
        let new = |nth: usize| FileWrite {
            path: &below[nth],
            precondition: Precondition::Missing,
            new_state: NewState::content(&[b"new"]),
        };
        let gone = FileWrite { path: &file, precondition: expect(old.as_ref()), new_state: NewState::Absent };
        // Without the removal the file is in the way.
        assert!(store.stage(&[new(0)], Durability::Process).and_then(emendate_fs::Staged::commit).is_err());
        // A staged change is not visible.
        drop(store.stage(&[new(0), gone, new(1)], Durability::Process).unwrap());
        assert_eq!(get(store, &root.join("a")).as_deref(), Some("file"));
        let done = store.stage(&[new(0), gone, new(1)], Durability::Process).unwrap().commit().unwrap();
        let methods: Vec<WriteMethod> = done.iter().map(|it| it.method).collect();
        assert_eq!(methods, [WriteMethod::Created, WriteMethod::Removed, WriteMethod::Created]);
        let now = store.metadata(&store.resolve_path(&root.join("a/c/d")).unwrap()).unwrap().unwrap();
        assert!(now.same_file(&done[2].meta) && now.size == 3);
        // Back: only with everything that is in the directory.
        let places = ["a", "a/b", "a/c/d"].map(|name| store.resolve_path(&root.join(name)).unwrap());
        let olds = [1, 2].map(|at| store.read(&places[at], 10, Vec::new()).unwrap());
        let back = FileWrite {
            path: &places[0],
            precondition: Precondition::Missing,
            new_state: NewState::content(&[b"file"]),
        };
        let gone = |nth: usize| FileWrite {
            path: &places[nth],
            precondition: expect(olds[nth - 1].as_ref()),
            new_state: NewState::Absent,
        };
        let text = refused(store.stage(&[back, gone(1)], Durability::Process), Code::PathNotRegular);
        assert!(text.contains("a/c/d"), "{text}");
        // A file created between the two steps stays, and the directory with it.
        let writes = [back, gone(1), gone(2)];
        let staged = store.stage(&writes, Durability::Process).unwrap();
        put(store, &root.join("a/theirs"), "theirs");
        refused(staged.commit(), Code::PathNotRegular);
        assert_eq!(get(store, &root.join("a/c/d")).as_deref(), Some("new"));
        let theirs = store.resolve_path(&root.join("a/theirs")).unwrap();
        let version = store.read(&theirs, 10, Vec::new()).unwrap();
        let away = FileWrite { path: &theirs, precondition: expect(version.as_ref()), new_state: NewState::Absent };
        let done = store.stage(&[back, gone(1), away, gone(2)], Durability::Process).unwrap().commit().unwrap();
        assert_eq!((done[0].method, done[3].method), (WriteMethod::Created, WriteMethod::Removed));
        assert_eq!(get(store, &root.join("a")).as_deref(), Some("file"));
    });
}

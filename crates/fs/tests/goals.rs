//! Changes other than new file contents: removals, moves, links, modes; several together, or not at all.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod fixture;

use emendate_core::{Code, Result};
use emendate_fs::{
    Durability, FileVersion, FileWrite, MemoryStore, NewState, Precondition, SafePath, Store, WriteMethod, WriteReport,
};
use fixture::{LEVELS, StoreFixture, as_nobody, expect, refused, replace};
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The old or new state of a path in a test.
#[derive(Clone, Copy)]
enum To {
    Text(&'static str),
    /// The text, with the metadata of this path.
    Like(&'static str, &'static str),
    Mode(bool),
    Link(&'static str),
    Gone,
}

/// The state of each path as a caller reads it, and its intended change.
struct Call<'a> {
    store: &'a dyn Store,
    root: &'a Path,
    asks: Vec<(SafePath, Option<FileVersion>, Option<std::ffi::OsString>, To)>,
    models: Vec<SafePath>,
}

impl<'a> Call<'a> {
    fn new(store: &'a dyn Store, root: &'a Path, asks: &[(&str, To)]) -> Call<'a> {
        let one = |&(name, to): &(&str, To)| {
            let place = store.resolve_no_follow(&root.join(name)).unwrap();
            let link = store.read_link(&place).unwrap();
            let version = if link.is_some() { None } else { store.read(&place, fixture::LIMIT, Vec::new()).unwrap() };
            (place, version, link, to)
        };
        let asks: Vec<_> = asks.iter().map(one).collect();
        let model =
            |to: &To| store.resolve_path(&root.join(if let To::Like(_, like) = *to { like } else { "x" })).unwrap();
        let models = asks.iter().map(|(.., to)| model(to)).collect();
        Call { store, root, asks, models }
    }

    /// Stages everything, lets another program act, and commits.
    fn go(&self, level: Durability, meanwhile: impl FnOnce(&dyn Store, &Path)) -> Result<Vec<WriteReport>> {
        let texts = self.asks.iter().map(|(_, version, _, to)| match to {
            To::Text(text) | To::Like(text, _) => vec![text.as_bytes()],
            _ => vec![version.as_ref().map_or(&[][..], |version| &version.bytes)],
        });
        let texts: Vec<Vec<&[u8]>> = texts.collect();
        let writes: Vec<FileWrite<'_>> = self
            .asks
            .iter()
            .zip(&self.models)
            .zip(&texts)
            .map(|(((place, version, link, to), like), pieces)| {
                let expect = match link {
                    Some(target) => Precondition::Link { target },
                    None => expect(version.as_ref()),
                };
                let new_state = match *to {
                    To::Text(_) => NewState::content(pieces),
                    To::Like(..) => NewState::File {
                        chunks: pieces,
                        executable: None,
                        mode: None,
                        like: Some(like),
                        attributes: None,
                    },
                    To::Mode(on) => NewState::File {
                        chunks: pieces,
                        executable: Some(on),
                        mode: None,
                        like: None,
                        attributes: None,
                    },
                    To::Link(target) => NewState::Link { target: OsStr::new(target) },
                    To::Gone => NewState::Absent,
                };
                FileWrite { path: place, precondition: expect, new_state }
            })
            .collect();
        let staged = self.store.stage(&writes, level)?;
        meanwhile(self.store, self.root);
        staged.commit()
    }
}

fn go(store: &dyn Store, root: &Path, asks: &[(&str, To)]) -> Result<Vec<WriteReport>> {
    Call::new(store, root, asks).go(Durability::default(), |_, _| ())
}

/// Describes the given names: `name mode text` or `name -> target`.
fn tree(store: &dyn Store, root: &Path, names: &[&str]) -> Vec<String> {
    let one = |name: &&str| {
        let place = store.resolve_no_follow(&root.join(name)).unwrap();
        if let Some(target) = store.read_link(&place).unwrap() {
            return format!("{name} -> {}", target.to_str().unwrap());
        }
        store.read(&place, fixture::LIMIT, Vec::new()).unwrap().map_or_else(
            || format!("{name} -"),
            |it| format!("{name} {:o} {}", it.meta.mode & 0o7777, String::from_utf8(it.bytes).unwrap()),
        )
    };
    names.iter().map(one).collect()
}

/// Runs a check on a fresh disk store and on a fresh memory store.
fn on_both(check: fn(&dyn Store, &Path)) {
    let fixture = StoreFixture::new();
    check(&fixture.store, &fixture.root);
    fixture.clean();
    check(&MemoryStore::new(Path::new("/work/root")), Path::new("/work/root"));
}

fn put(store: &dyn Store, root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        replace(store, &root.join(name), text.as_bytes(), Durability::None).unwrap();
    }
}

#[test]
fn files_are_removed() {
    on_both(|store, root| {
        for level in LEVELS {
            put(store, root, &[("d/a", "one"), ("d/b", "two")]);
            let call = Call::new(store, root, &[("d/a", To::Gone)]);
            let metadata = store.metadata(&call.asks[0].0).unwrap().unwrap();
            let written = call.go(level, |_, _| ()).unwrap();
            assert_eq!((written[0].method, written[0].meta.ino), (WriteMethod::Removed, metadata.ino));
            assert_eq!(written[0].method.as_str(), "removed");
            assert_eq!(tree(store, root, &["d/a", "d/b"]), ["d/a -", "d/b 644 two"]);
            // The directory stays when its last file is removed.
            go(store, root, &[("d/b", To::Gone)]).unwrap();
            refused(store.metadata(&store.resolve_path(&root.join("d")).unwrap()), Code::PathNotRegular);
        }
        assert!(refused(go(store, root, &[("d/a", To::Gone)]), Code::FileMissing).contains("remove"));
        refused(go(store, root, &[("d/new", To::Like("x", "d/none"))]), Code::FileMissing);
        let twice = [("e", To::Gone), ("e", To::Text("again"))];
        put(store, root, &[("e", "e")]);
        refused(go(store, root, &twice), Code::InternalBug);
        assert_eq!(tree(store, root, &["e"]), ["e 644 e"]);
    });
}

#[test]
fn links_are_created_followed_and_removed() {
    on_both(|store, root| {
        put(store, root, &[("f", "text"), ("g", "text")]);
        let made = go(store, root, &[("l", To::Link("f")), ("d/up", To::Link("../f")), ("loose", To::Link("none"))]);
        assert!(
            made.unwrap().iter().all(|it| it.method == WriteMethod::Created && it.meta.mode & 0o170_000 == 0o120_000)
        );
        assert_eq!(
            tree(store, root, &["l", "d/up", "loose", "f"]),
            ["l -> f", "d/up -> ../f", "loose -> none", "f 644 text"]
        );
        // `resolve_path` follows the link, `resolve_no_follow` does not; both follow links on the way.
        go(store, root, &[("way", To::Link("d"))]).unwrap();
        let place = store.resolve_path(&root.join("way/up")).unwrap();
        assert_eq!((place.relative(), place.via_link()), (Path::new("f"), Some(&*root.join("way"))));
        let place = store.resolve_no_follow(&root.join("way/up")).unwrap();
        assert_eq!((place.relative(), place.via_link()), (Path::new("d/up"), Some(&*root.join("way"))));
        assert_eq!(store.read_link(&place).unwrap().unwrap(), "../f");
        assert_eq!(store.read_link(&store.resolve_no_follow(&root.join("f")).unwrap()).unwrap(), None);
        assert_eq!(store.read_link(&store.resolve_no_follow(&root.join("none")).unwrap()).unwrap(), None);
        refused(store.metadata(&place), Code::PathSymlink);
        refused(store.resolve_path(&root.join("loose")), Code::PathSymlink);
        refused(store.resolve_no_follow(&root.join("loose/x")), Code::PathSymlink);
        // Links over links, removed links, a link for a file; never through a link.
        let written =
            go(store, root, &[("l", To::Link("g")), ("d/up", To::Gone), ("loose", To::Text("solid"))]).unwrap();
        assert_eq!(written[1].method, WriteMethod::Removed);
        go(store, root, &[("g", To::Link("f"))]).unwrap();
        let names = ["l", "d/up", "loose", "f", "g"];
        assert_eq!(tree(store, root, &names), ["l -> g", "d/up -", "loose 644 solid", "f 644 text", "g -> f"]);
        refused(go(store, root, &[("way", To::Gone), ("f", To::Gone), ("new/x", To::Gone)]), Code::FileMissing);
        assert_eq!(tree(store, root, &["way", "f"]), ["way -> d", "f 644 text"]);
    });
}

#[test]
fn modes_and_moves_are_combined() {
    on_both(|store, root| {
        put(store, root, &[("a", "a"), ("b", "b"), ("c/old", "c")]);
        go(store, root, &[("a", To::Mode(true)), ("tool", To::Mode(true))]).unwrap();
        assert_eq!(tree(store, root, &["a", "tool"]), ["a 755 a", "tool 755 "]);
        // A move keeps the mode, so does a later edit, and a file moved over another one brings its own.
        go(store, root, &[("a", To::Gone), ("new/a", To::Like("A", "a"))]).unwrap();
        go(store, root, &[("new/a", To::Text("AA"))]).unwrap();
        assert_eq!(tree(store, root, &["a", "new/a"]), ["a -", "new/a 755 AA"]);
        // Two files swapped; three in a chain.
        go(store, root, &[("new/a", To::Like("b", "b")), ("b", To::Like("AA", "new/a"))]).unwrap();
        assert_eq!(tree(store, root, &["new/a", "b"]), ["new/a 644 b", "b 755 AA"]);
        let chain = [("b", To::Gone), ("c/old", To::Like("AA", "b")), ("c/new", To::Like("c", "c/old"))];
        let written = go(store, root, &chain).unwrap();
        assert_eq!([0, 2].map(|at| written[at].method), [WriteMethod::Removed, WriteMethod::Created]);
        assert_eq!(tree(store, root, &["b", "c/old", "c/new"]), ["b -", "c/old 755 AA", "c/new 644 c"]);
        go(store, root, &[("c/old", To::Mode(false))]).unwrap();
        assert_eq!(tree(store, root, &["c/old"]), ["c/old 644 AA"]);
    });
}

#[test]
fn moved_name_stays_a_name_of_its_file() {
    let fixture = StoreFixture::new();
    fixture.put("a", "text");
    std::fs::hard_link(fixture.path("a"), fixture.path("twin")).unwrap();
    let (store, root) = (&fixture.store, &*fixture.root);
    let inode = |name: &str| fixture.path(name).metadata().map_or(0, |meta| meta.ino());
    let twin = inode("twin");
    for (from, to) in [("a", "made/b"), ("made/b", "a")] {
        let written = go(store, root, &[(from, To::Gone), (to, To::Like("text", from))]).unwrap();
        assert_eq!((written[1].method, written[1].meta.ino, written[1].meta.links), (WriteMethod::Created, twin, 2));
        assert_eq!((inode(from), inode(to)), (0, twin));
    }
    // With another text the target is a new file.
    go(store, root, &[("a", To::Gone), ("b", To::Like("other", "a"))]).unwrap();
    assert_eq!((fixture.text("b"), fixture.text("twin")), ("other".to_owned(), "text".to_owned()));
    fixture.clean();
}

#[test]
fn transactions_with_every_kind_of_change_are_atomic() {
    let all = [
        ("made/new", To::Text("new")),
        ("made/link", To::Link("x")),
        ("edited", To::Text("new")),
        ("moved", To::Gone),
        ("target", To::Like("moved", "moved")),
        ("link", To::Link("elsewhere")),
        ("other", To::Gone),
        ("mode", To::Mode(true)),
        ("last", To::Text("new")),
    ];
    let names = all.map(|(name, _)| name);
    let files = ["edited", "moved", "mode", "last"].map(|name| (name, "old"));
    let setup = |store: &dyn Store, root: &Path| {
        put(store, root, &files);
        go(store, root, &[("link", To::Link("a")), ("other", To::Link("b"))]).unwrap();
        tree(store, root, &names)
    };
    let spoil = |store: &dyn Store, root: &Path| put(store, root, &[("last", "theirs")]);
    let memory = MemoryStore::new(Path::new("/root"));
    for level in LEVELS {
        let fixture = StoreFixture::new();
        for (store, root) in [(&fixture.store as &dyn Store, &*fixture.root), (&memory, Path::new("/root"))] {
            let mut before = setup(store, root);
            refused(Call::new(store, root, &all).go(level, spoil), Code::ConflictRaced);
            before[8] = "last 644 theirs".to_owned();
            assert_eq!(tree(store, root, &names), before);
            Call::new(store, root, &all).go(level, |_, _| ()).unwrap();
            assert_eq!(
                tree(store, root, &names),
                [
                    "made/new 644 new", "made/link -> x", "edited 644 new", "moved -", "target 644 moved",
                    "link -> elsewhere", "other -", "mode 755 old", "last 644 new"
                ]
            );
            go(store, root, &[("made/new", To::Gone), ("made/link", To::Gone), ("target", To::Gone)]).unwrap();
            go(store, root, &[("link", To::Gone), ("mode", To::Gone)]).unwrap();
        }
        fixture.clean();
    }
}

/// The last write is another name of the second one's inode: it passes the first comparison and fails when all others
/// are visible, so that everything must be rolled back.
#[test]
fn published_files_are_rolled_back() {
    for level in LEVELS {
        let fixture = StoreFixture::new();
        for name in ["edited", "moved", "linked"] {
            fixture.put(name, "old");
        }
        fixture.mode("moved", 0o750);
        fixture.mode("linked", 0o640);
        std::fs::hard_link(fixture.path("linked"), fixture.path("twin")).unwrap();
        for (name, target) in [("link", "a"), ("other", "b")] {
            std::os::unix::fs::symlink(target, fixture.path(name)).unwrap();
        }
        let names = ["made/new", "made/link", "edited", "moved", "target", "link", "other", "linked", "twin"];
        let before = tree(&fixture.store, &fixture.root, &names);
        let inodes = || {
            ["edited", "moved", "link", "other", "linked"]
                .map(|name| fixture.path(name).symlink_metadata().unwrap().ino())
        };
        let numbers = inodes();
        let asks = [
            ("made/new", To::Text("new")),
            ("made/link", To::Link("x")),
            ("edited", To::Text("new")),
            ("moved", To::Gone),
            ("target", To::Like("old", "moved")),
            ("link", To::Link("elsewhere")),
            ("other", To::Gone),
            ("linked", To::Mode(true)),
            ("twin", To::Text("new")),
        ];
        let mut call = Call::new(&fixture.store, &fixture.root, &asks);
        // A change of the mode alone would leave the bytes of the twin as expected.
        call.asks[7].3 = To::Text("changed");
        let message = refused(call.go(level, |_, _| ()), Code::ConflictRaced);
        assert!(message.contains("8 files") && message.contains("put back"), "{message}");
        assert_eq!(tree(&fixture.store, &fixture.root, &names), before);
        assert_eq!(inodes(), numbers, "put back, not written again");
        assert!(!fixture.path("made").exists());
        fixture.clean();
    }
}

#[test]
fn concurrent_save_is_never_removed() {
    type Foreign = fn(&Path);
    let cases: [(&str, Foreign); 4] = [
        ("changed", |path| std::fs::write(path, "theirs").unwrap()),
        ("replaced", |path| {
            std::fs::write(path.with_extension("new"), "old").unwrap();
            std::fs::rename(path.with_extension("new"), path).unwrap();
        }),
        ("folder", |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
        ("link", |path| {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("first", path).unwrap();
        }),
    ];
    for level in LEVELS {
        for (name, foreign) in cases {
            let fixture = StoreFixture::new();
            let path = fixture.put(name, "old");
            fixture.put("first", "1");
            let call = Call::new(&fixture.store, &fixture.root, &[("first", To::Gone), (name, To::Gone)]);
            refused(call.go(level, |_, _| foreign(&path)), Code::ConflictRaced);
            assert!(path.symlink_metadata().is_ok() && fixture.text("first") == "1");
            fixture.clean();
        }
        // The link has another target by now, or is not a link.
        for now in [Some("b"), None] {
            let fixture = StoreFixture::new();
            std::os::unix::fs::symlink("a", fixture.path("l")).unwrap();
            for to in [To::Gone, To::Link("c"), To::Text("c")] {
                let call = Call::new(&fixture.store, &fixture.root, &[("l", to)]);
                let result = call.go(level, |_, root| {
                    std::fs::remove_file(root.join("l")).unwrap();
                    match now {
                        Some(target) => std::os::unix::fs::symlink(target, root.join("l")).unwrap(),
                        None => std::fs::write(root.join("l"), "theirs").unwrap(),
                    }
                });
                refused(result, Code::ConflictRaced);
                assert_eq!(std::fs::read_link(fixture.path("l")).ok(), now.map(PathBuf::from));
                let _ = std::fs::remove_file(fixture.path("l"));
                std::os::unix::fs::symlink("a", fixture.path("l")).unwrap();
            }
            fixture.clean();
        }
    }
}

#[test]
fn removal_and_move_respect_permissions_and_owners() {
    let fixture = StoreFixture::new();
    fixture.put("locked", "old");
    fixture.mode("locked", 0o444);
    refused(go(&fixture.store, &fixture.root, &[("locked", To::Gone)]), Code::IoPermission);
    fixture.put("open/first", "old");
    fixture.put("closed/f", "old");
    fixture.put("open/theirs", "old");
    for name in ["open/first", "closed/f"] {
        fixture.mode(name, 0o666);
    }
    std::fs::set_permissions(fixture.outer.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.mode("open", 0o777);
    fixture.mode("closed", 0o755);
    let fixture = &fixture;
    as_nobody(move || {
        let asks = [("open/first", To::Gone), ("closed/f", To::Gone)];
        refused(go(&fixture.store, &fixture.root, &asks), Code::IoPermission);
        refused(go(&fixture.store, &fixture.root, &[("open/theirs", To::Gone)]), Code::IoPermission);
        refused(go(&fixture.store, &fixture.root, &[("closed/l", To::Link("x"))]), Code::IoPermission);
        // A moved file belongs to the mover, without set-id bits that would act for its old owner.
        let written =
            go(&fixture.store, &fixture.root, &[("open/first", To::Gone), ("open/new", To::Like("old", "open/first"))]);
        assert!(written.unwrap()[1].notes[0].contains("owner"));
    });
    let names = ["open/first", "closed/f", "open/theirs", "locked"];
    assert!(names.iter().filter(|name| fixture.path(name).exists()).count() >= 3);
    fixture.clean();
}

#[test]
fn directory_at_the_target_is_refused() {
    on_both(|store, root| {
        put(store, root, &[("d/f", "x"), ("e", "e")]);
        for to in [To::Text("x"), To::Link("x")] {
            let place = store.resolve_no_follow(&root.join("d")).unwrap();
            let writes = [FileWrite {
                path: &place,
                precondition: Precondition::Missing,
                new_state: match to {
                    To::Link(target) => NewState::Link { target: OsStr::new(target) },
                    _ => NewState::content(&[b"x"]),
                },
            }];
            let result = store.stage(&writes, Durability::default()).and_then(emendate_fs::Staged::commit);
            refused(result, Code::ConflictRaced);
        }
        // Also when its last file is removed in the same transaction, or before: directories stay.
        go(store, root, &[("d/f", To::Gone)]).unwrap();
        let place = store.resolve_path(&root.join("d")).unwrap();
        refused(store.read(&place, 10, Vec::new()), Code::PathNotRegular);
        assert_eq!(store.siblings(&place).unwrap(), ["d", "e"]);
    });
}

#[test]
fn move_keeps_attributes_and_set_id_bits_of_the_owner() {
    let fixture = StoreFixture::new();
    let path = fixture.put("a", "old");
    let attribute = rustix::fs::setxattr(&path, "user.one", b"1", rustix::fs::XattrFlags::empty()).is_ok();
    fixture.mode("a", 0o4755);
    go(&fixture.store, &fixture.root, &[("a", To::Gone), ("d/b", To::Like("old", "a"))]).unwrap();
    assert_eq!(tree(&fixture.store, &fixture.root, &["a", "d/b"]), ["a -", "d/b 4755 old"]);
    let mut buffer = [0; 8];
    assert!(!attribute || rustix::fs::getxattr(fixture.path("d/b"), "user.one", &mut buffer[..]).unwrap() == 1);
    // Across mounts a copy is all that can be made; what the other file system cannot keep is reported.
    let shm = Path::new("/dev/shm");
    if let Ok(other) = tempfile::tempdir_in(shm) {
        let outer = other.path().canonicalize().unwrap();
        let store = emendate_fs::LocalStore::open(&[fixture.root.clone(), outer.clone()]).unwrap();
        let there = outer.join("c");
        let (from, to) = (store.resolve_path(&fixture.path("d/b")).unwrap(), store.resolve_path(&there).unwrap());
        let old = store.read(&from, 100, Vec::new()).unwrap().unwrap();
        let new_state =
            NewState::File { chunks: &[b"old"], executable: None, mode: None, like: Some(&from), attributes: None };
        let writes = [
            FileWrite { path: &from, precondition: expect(Some(&old)), new_state: NewState::Absent },
            FileWrite { path: &to, precondition: Precondition::Missing, new_state },
        ];
        store.stage(&writes, Durability::default()).unwrap().commit().unwrap();
        assert_eq!(there.metadata().unwrap().mode() & 0o7777, 0o4755);
        assert!(!fixture.path("d/b").exists());
    }
    fixture.clean();
}

#[test]
fn explicit_mode_ignores_the_umask() {
    on_both(|store, root| {
        put(store, root, &[("old", "x")]);
        for (name, mode) in [("new", 0o666), ("d/new", 0o600), ("old", 0o751), ("old", 0o4640)] {
            let place = store.resolve_path(&root.join(name)).unwrap();
            let version = store.read(&place, 10, Vec::new()).unwrap();
            let new_state = NewState::File {
                chunks: &[b"y"],
                executable: Some(true),
                mode: Some(mode),
                like: None,
                attributes: None,
            };
            let writes = [FileWrite { path: &place, precondition: expect(version.as_ref()), new_state }];
            let written = store.stage(&writes, Durability::default()).unwrap().commit().unwrap();
            assert_eq!(written[0].meta.mode & 0o7777, mode, "{name}");
            assert_eq!(store.metadata(&place).unwrap().unwrap().mode & 0o7777, mode, "{name}");
        }
    });
}

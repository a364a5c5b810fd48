//! Writing to the disk: preserved properties, refusals and rollbacks.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod fixture;

use emendate_core::Code;
use emendate_fs::{Durability, FileWrite, NewState, Precondition, Store, WriteMethod};
use fixture::{LEVELS, StoreFixture, as_nobody, expect, refused, replace};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn every_durability_level_writes_and_returns_metadata() {
    let fixture = StoreFixture::new();
    for level in LEVELS {
        let name = level.as_str();
        let created = replace(&fixture.store, &fixture.path(name), b"one", level).unwrap();
        assert_eq!(created.method, WriteMethod::Created);
        assert_eq!(created.meta, fixture.version(name).meta);
        let written = replace(&fixture.store, &fixture.path(name), b"two, longer", level).unwrap();
        assert_eq!((written.method, written.notes.len()), (WriteMethod::Exchanged, 0));
        assert_eq!(written.meta, fixture.version(name).meta);
        assert_eq!(fixture.text(name), "two, longer");
        assert_eq!(replace(&fixture.store, &fixture.path(name), b"", level).unwrap().meta.size, 0);
        assert_eq!(name.parse::<Durability>().unwrap(), level);
    }
    assert_eq!(Durability::default(), Durability::Power);
    refused("strong".parse::<Durability>(), Code::CallInvalid);
    assert!(["normal", "full"].iter().all(|old| old.parse::<Durability>().unwrap() == Durability::Power));
    let big = vec![7; 3 << 20];
    replace(&fixture.store, &fixture.path("big"), &big, Durability::Power).unwrap();
    assert_eq!(std::fs::read(fixture.path("big")).unwrap(), big);
    fixture.clean();
}

#[test]
fn mode_and_attributes_are_preserved() {
    let fixture = StoreFixture::new();
    for bits in [0o600, 0o755, 0o640, 0o4755, 0o666] {
        let path = fixture.put("a", "old");
        chmod(&path, bits);
        for level in LEVELS {
            replace(&fixture.store, &path, format!("{level:?}").as_bytes(), level).unwrap();
            assert_eq!(mode(&path), bits);
        }
        // In place too: a write clears the set-id bits.
        std::fs::hard_link(&path, fixture.path("b")).unwrap();
        assert_eq!(fixture.edit("a", "in place").unwrap().method, WriteMethod::InPlace);
        assert_eq!(mode(&path), bits);
        std::fs::remove_file(fixture.path("b")).unwrap();
    }
    let path = fixture.put("x", "old");
    let set = |name: &str, value: &[u8]| rustix::fs::setxattr(&path, name, value, rustix::fs::XattrFlags::empty());
    if set("user.one", b"1").is_err() {
        return;
    }
    set("user.two", &[9; 3000]).unwrap();
    fixture.edit("x", "new").unwrap();
    for (name, value) in [("user.one", vec![b'1']), ("user.two", vec![9; 3000])] {
        let mut buffer = vec![0; 4000];
        let length = rustix::fs::getxattr(&path, name, &mut buffer[..]).unwrap();
        assert_eq!(buffer[..length], value);
    }
    fixture.clean();
}

#[test]
fn default_acl_of_the_directory_does_not_leak_into_the_file() {
    let fixture = StoreFixture::new();
    let path = fixture.put("a", "old");
    chmod(&path, 0o600);
    // version 2; user::rwx, user:1234:rwx, group::rwx, mask::rwx, other::rwx
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, id) in [(1_u16, u32::MAX), (2, 1234), (4, u32::MAX), (16, u32::MAX), (32, u32::MAX)] {
        acl.extend(tag.to_le_bytes());
        acl.extend(7_u16.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    if rustix::fs::setxattr(&fixture.root, "system.posix_acl_default", &acl, rustix::fs::XattrFlags::empty()).is_err() {
        return;
    }
    fixture.edit("a", "new").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(rustix::fs::listxattr_query(&path).unwrap(), 0);
}

#[test]
fn owner_is_preserved() {
    let fixture = StoreFixture::new();
    let path = fixture.put("a", "old");
    if std::os::unix::fs::chown(&path, Some(1234), Some(4321)).is_err() {
        return;
    }
    chmod(&path, 0o6750);
    assert_eq!(fixture.edit("a", "new").unwrap().method, WriteMethod::Exchanged);
    let now = std::fs::metadata(&path).unwrap();
    assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (1234, 4321, 0o6750));
}

#[test]
fn hard_links_stay_one_file() {
    let fixture = StoreFixture::new();
    fixture.put("a", "a rather long old text");
    std::fs::hard_link(fixture.path("a"), fixture.path("b")).unwrap();
    std::fs::hard_link(fixture.path("a"), fixture.path("c")).unwrap();
    for (level, text) in LEVELS.into_iter().zip(["short", "a text that is even longer than the old", ""]) {
        let written = replace(&fixture.store, &fixture.path("a"), text.as_bytes(), level).unwrap();
        assert_eq!(written.method, WriteMethod::InPlace);
        assert!(written.notes[0].contains("3 hard links"), "{written:?}");
        assert_eq!((fixture.text("b"), fixture.text("c")), (text.to_owned(), text.to_owned()));
        assert_eq!(written.meta, fixture.version("b").meta);
    }
    fixture.clean();
}

#[test]
fn read_only_file_is_refused_even_for_root() {
    let fixture = StoreFixture::new();
    let path = fixture.put("a", "old");
    chmod(&path, 0o444);
    let text = refused(fixture.edit("a", "new"), Code::IoPermission);
    assert!(text.contains("0444"), "{text}");
    assert_eq!((fixture.text("a"), mode(&path)), ("old".to_owned(), 0o444));
    fixture.clean();
}

#[test]
fn new_file_obeys_the_umask_and_gets_parent_directories() {
    let fixture = StoreFixture::new();
    std::fs::File::create(fixture.path("plain")).unwrap();
    fixture.edit("x/y/z/new", "text").unwrap();
    assert_eq!(mode(&fixture.path("x/y/z/new")), mode(&fixture.path("plain")));
    replace(&fixture.store, &fixture.path("p/q/new"), b"text", Durability::Power).unwrap();
    let place = fixture.place("m/n/o/new");
    let near = fixture.place("x/n/new");
    let text: &[&[u8]] = &[b"text"];
    let writes = [&place, &near].map(|place| FileWrite {
        path: place,
        precondition: Precondition::Missing,
        new_state: NewState::content(text),
    });
    let staged = fixture.store.stage(&writes, Durability::Power).unwrap();
    assert!(fixture.path("m/n/o").is_dir() && fixture.path("x/n").is_dir());
    assert!(!fixture.path("m/n/o/new").exists());
    drop(staged);
    assert!(!fixture.path("m").exists() && !fixture.path("x/n").exists() && fixture.path("x/y").is_dir());
    // A file that another program put there meanwhile stays.
    let staged = fixture.store.stage(&writes, Durability::Power).unwrap();
    fixture.put("m/n/other", "theirs");
    drop(staged);
    assert_eq!(fixture.text("m/n/other"), "theirs");
    assert!(!fixture.path("m/n/o").exists());
    fixture.clean();
}

#[test]
fn concurrent_save_is_never_replaced() {
    type Foreign = fn(&Path);
    let cases: [(&str, Foreign); 6] = [
        ("changed", |path| std::fs::write(path, "xld").unwrap()),
        ("longer", |path| std::fs::write(path, "older").unwrap()),
        ("replaced", |path| {
            let other = path.with_extension("other");
            std::fs::write(&other, "old").unwrap();
            std::fs::rename(other, path).unwrap();
        }),
        ("removed", |path| std::fs::remove_file(path).unwrap()),
        ("link", |path| {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
        }),
        ("folder", |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
    ];
    for level in LEVELS {
        for (name, foreign) in cases {
            for staged_before in [false, true] {
                let fixture = StoreFixture::new();
                let path = fixture.put(name, "old");
                let other = fixture.put("first", "1");
                let (one, two) = (fixture.version("first"), fixture.version(name));
                let (first, second) = (fixture.place("first"), fixture.place(name));
                let writes = [
                    FileWrite {
                        path: &first,
                        precondition: expect(Some(&one)),
                        new_state: NewState::content(&[b"new"]),
                    },
                    FileWrite {
                        path: &second,
                        precondition: expect(Some(&two)),
                        new_state: NewState::content(&[b"new"]),
                    },
                ];
                let result = if staged_before {
                    let staged = fixture.store.stage(&writes, level).unwrap();
                    foreign(&path);
                    staged.commit()
                } else {
                    foreign(&path);
                    fixture.store.stage(&writes, level).and_then(emendate_fs::Staged::commit)
                };
                let error = result.unwrap_err();
                let early = !staged_before && name == "folder" && error.code() == Code::PathNotRegular;
                assert!(error.code() == Code::ConflictRaced || early, "{name}: {error}");
                assert_eq!(std::fs::read_to_string(other).unwrap(), "1");
                assert!(std::fs::read_to_string(&path).is_err() || !fixture.text(name).starts_with("new"));
                fixture.clean();
            }
        }
    }
}

#[test]
fn name_taken_meanwhile_keeps_its_file() {
    for level in LEVELS {
        let fixture = StoreFixture::new();
        let place = fixture.place("x/new");
        let write =
            [FileWrite { path: &place, precondition: Precondition::Missing, new_state: NewState::content(&[b"ours"]) }];
        let staged = fixture.store.stage(&write, level).unwrap();
        fixture.put("x/new", "theirs");
        refused(staged.commit(), Code::ConflictRaced);
        assert_eq!(fixture.text("x/new"), "theirs");
        // The directory was moved away: another one is at the path now.
        let place = fixture.place("x/other");
        let write =
            [FileWrite { path: &place, precondition: Precondition::Missing, new_state: NewState::content(&[b"ours"]) }];
        let staged = fixture.store.stage(&write, level).unwrap();
        std::fs::rename(fixture.path("x"), fixture.path("y")).unwrap();
        refused(staged.commit(), Code::ConflictRaced);
        assert!(!fixture.path("y/other").exists() && !fixture.path("x").exists());
        fixture.clean();
    }
}

#[test]
fn batch_is_atomic() {
    for level in LEVELS {
        let fixture = StoreFixture::new();
        let text: &[&[u8]] = &[b"new ", b"text"];
        fixture.put("edited", "old");
        chmod(&fixture.path("edited"), 0o640);
        fixture.put("linked", "old linked");
        std::fs::hard_link(fixture.path("linked"), fixture.path("twin")).unwrap();
        let names = ["made/new", "edited", "linked"];
        let versions = [None, Some(fixture.version("edited")), Some(fixture.version("linked"))];
        let places = names.map(|name| fixture.place(name));
        let mut writes: Vec<_> = (0..3)
            .map(|at| FileWrite {
                path: &places[at],
                precondition: expect(versions[at].as_ref()),
                new_state: NewState::content(text),
            })
            .collect();
        // The twin is the same inode: it passes the first check, and fails once the first three are published.
        let twin = (fixture.place("twin"), fixture.version("twin"));
        writes.push(FileWrite {
            path: &twin.0,
            precondition: expect(Some(&twin.1)),
            new_state: NewState::content(text),
        });
        let message = refused(fixture.store.stage(&writes, level).unwrap().commit(), Code::ConflictRaced);
        assert!(message.contains("3 files") && message.contains("put back"), "{message}");
        assert_eq!((fixture.text("edited"), fixture.text("linked")), ("old".to_owned(), "old linked".to_owned()));
        assert_eq!(mode(&fixture.path("edited")), 0o640);
        assert!(!fixture.path("made").exists());
        fixture.clean();

        let fresh = fixture.version("edited");
        writes[1].precondition = expect(Some(&fresh));
        writes.pop();
        let written = fixture.store.stage(&writes, level).unwrap().commit().unwrap();
        assert_eq!(written.len(), 3);
        assert!(names.iter().all(|name| fixture.text(name) == "new text"));
        fixture.clean();
    }
}

#[test]
fn large_batch_needs_few_descriptors() {
    let fixture = StoreFixture::new();
    let places: Vec<_> = (0..300).map(|number| fixture.place(&format!("d{}/{number}", number % 3))).collect();
    for round in ["one", "two"] {
        let versions: Vec<_> = places.iter().map(|place| fixture.store.read(place, 100, Vec::new()).unwrap()).collect();
        let text: &[&[u8]] = &[round.as_bytes()];
        let writes: Vec<_> = places
            .iter()
            .zip(&versions)
            .map(|(place, version)| FileWrite {
                path: place,
                precondition: expect(version.as_ref()),
                new_state: NewState::content(text),
            })
            .collect();
        let written = fixture.store.stage(&writes, Durability::None).unwrap().commit().unwrap();
        assert_eq!(written[299].meta, fixture.version("d2/299").meta);
        assert!((0..300).all(|number| fixture.text(&format!("d{}/{number}", number % 3)) == round));
    }
    fixture.clean();
}

#[test]
fn first_failing_write_is_reported_and_nothing_is_left() {
    let fixture = StoreFixture::new();
    let places: Vec<_> = (0..100)
        .map(|number| {
            fixture.put(&format!("n{number:02}"), "old");
            fixture.place(&format!("n{number:02}"))
        })
        .collect();
    let versions: Vec<_> =
        places.iter().map(|place| fixture.store.read(place, 100, Vec::new()).unwrap().unwrap()).collect();
    for late in [93, 71, 37] {
        std::fs::write(places[late].absolute(), "longer").unwrap();
        let writes: Vec<_> = places
            .iter()
            .zip(&versions)
            .map(|(place, version)| FileWrite {
                path: place,
                precondition: expect(Some(version)),
                new_state: NewState::content(&[b"new"]),
            })
            .collect();
        let error = refused(fixture.store.stage(&writes, Durability::None), Code::ConflictRaced);
        assert!(error.contains(&format!("n{late}")), "{error}");
        fixture.clean();
    }
}

#[test]
fn two_writes_of_one_file_are_an_internal_bug() {
    let fixture = StoreFixture::new();
    let place = fixture.place("a");
    let write = FileWrite { path: &place, precondition: Precondition::Missing, new_state: NewState::content(&[b"x"]) };
    refused(fixture.store.stage(&[write, write], Durability::None), Code::InternalBug);
    assert!(fixture.store.stage(&[], Durability::Power).unwrap().commit().unwrap().is_empty());
    fixture.clean();
}

#[test]
fn lock_held_elsewhere_times_out() {
    let fixture = StoreFixture::new();
    fixture.put("f/a", "old");
    let folder = std::fs::File::open(fixture.path("f")).unwrap();
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let store = emendate_fs::LocalStore::open(std::slice::from_ref(&fixture.root)).unwrap();
    let store = store.with_lock_timeout(Duration::from_millis(40));
    let edit = || replace(&store, &fixture.path("f/a"), b"new", Durability::None);
    let text = refused(edit(), Code::LockTimeout);
    assert!(text.contains("40 ms"), "{text}");
    assert_eq!(fixture.text("f/a"), "old");
    fixture.clean();
    drop(folder);
    edit().unwrap();
}

#[test]
fn file_with_a_name_of_255_bytes_can_be_edited() {
    let fixture = StoreFixture::new();
    let name = "n".repeat(255);
    fixture.edit(&name, "one").unwrap();
    fixture.edit(&name, "two").unwrap();
    assert_eq!(fixture.text(&name), "two");
    fixture.clean();
}

#[test]
fn forbidden_files_are_refused_and_irreplaceable_ones_written_in_place() {
    let fixture = StoreFixture::new();
    let own = |name: &str| {
        let _ = std::os::unix::fs::chown(fixture.path(name), Some(1234), Some(1234));
    };
    chmod(fixture.outer.path(), 0o755);
    for (name, bits) in [("open/theirs", 0o644), ("open/shared", 0o666), ("open/own", 0o644), ("open/locked", 0o464)] {
        fixture.put(name, "old");
        chmod(&fixture.path(name), bits);
    }
    fixture.put("closed/own", "old");
    fixture.put("hidden/own", "old");
    for name in ["open/own", "open/locked", "closed/own", "hidden/own"] {
        own(name);
    }
    chmod(&fixture.path("open"), 0o777);
    chmod(&fixture.path("closed"), 0o755);
    chmod(&fixture.path("hidden"), 0o711);
    let fixture = &fixture;
    as_nobody(move || {
        refused(fixture.edit("open/theirs", "new"), Code::IoPermission);
        refused(fixture.edit("open/locked", "new"), Code::IoPermission);
        refused(fixture.edit("closed/new", "new"), Code::IoPermission);
        refused(fixture.edit("closed/folder/new", "new"), Code::IoPermission);
        assert_eq!(fixture.edit("open/own", "new").unwrap().method, WriteMethod::Exchanged);
        for (name, why) in [("open/shared", "owner 0:0"), ("closed/own", "directory"), ("hidden/own", "directory")] {
            let written = fixture.edit(name, "new").unwrap();
            assert_eq!(written.method, WriteMethod::InPlace, "{name}");
            assert!(written.notes[0].starts_with("written in place") && written.notes[0].contains(why), "{written:?}");
            assert_eq!(fixture.text(name), "new");
        }
        assert!(!fixture.store.probe(0).unwrap().writable);
    });
    assert_eq!((fixture.text("open/theirs"), fixture.text("open/locked")), ("old".to_owned(), "old".to_owned()));
    fixture.clean();
}

//! Writing to the disk: preserved properties, refusals and rollbacks.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod rig;

use emendate_core::Code;
use emendate_fs::{Durability, FileWrite, NewState, Precondition, Store, WriteMethod};
use rig::{LEVELS, Rig, as_nobody, expect, refused, replace};
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
    let rig = Rig::new();
    for level in LEVELS {
        let name = level.as_str();
        let created = replace(&rig.store, &rig.path(name), b"one", level).unwrap();
        assert_eq!(created.method, WriteMethod::Created);
        assert_eq!(created.meta, rig.version(name).meta);
        let written = replace(&rig.store, &rig.path(name), b"two, longer", level).unwrap();
        assert_eq!((written.method, written.notes.len()), (WriteMethod::Exchanged, 0));
        assert_eq!(written.meta, rig.version(name).meta);
        assert_eq!(rig.text(name), "two, longer");
        assert_eq!(replace(&rig.store, &rig.path(name), b"", level).unwrap().meta.size, 0);
        assert_eq!(name.parse::<Durability>().unwrap(), level);
    }
    assert_eq!(Durability::default(), Durability::Power);
    refused("strong".parse::<Durability>(), Code::CallInvalid);
    assert!(["normal", "full"].iter().all(|old| old.parse::<Durability>().unwrap() == Durability::Power));
    let big = vec![7; 3 << 20];
    replace(&rig.store, &rig.path("big"), &big, Durability::Power).unwrap();
    assert_eq!(std::fs::read(rig.path("big")).unwrap(), big);
    rig.clean();
}

#[test]
fn mode_and_attributes_are_preserved() {
    let rig = Rig::new();
    for bits in [0o600, 0o755, 0o640, 0o4755, 0o666] {
        let path = rig.put("a", "old");
        chmod(&path, bits);
        for level in LEVELS {
            replace(&rig.store, &path, format!("{level:?}").as_bytes(), level).unwrap();
            assert_eq!(mode(&path), bits);
        }
        // In place too: a write clears the set-id bits.
        std::fs::hard_link(&path, rig.path("b")).unwrap();
        assert_eq!(rig.edit("a", "in place").unwrap().method, WriteMethod::InPlace);
        assert_eq!(mode(&path), bits);
        std::fs::remove_file(rig.path("b")).unwrap();
    }
    let path = rig.put("x", "old");
    let set = |name: &str, value: &[u8]| rustix::fs::setxattr(&path, name, value, rustix::fs::XattrFlags::empty());
    if set("user.one", b"1").is_err() {
        return;
    }
    set("user.two", &[9; 3000]).unwrap();
    rig.edit("x", "new").unwrap();
    for (name, value) in [("user.one", vec![b'1']), ("user.two", vec![9; 3000])] {
        let mut buffer = vec![0; 4000];
        let length = rustix::fs::getxattr(&path, name, &mut buffer[..]).unwrap();
        assert_eq!(buffer[..length], value);
    }
    rig.clean();
}

#[test]
fn default_acl_of_the_directory_does_not_leak_into_the_file() {
    let rig = Rig::new();
    let path = rig.put("a", "old");
    chmod(&path, 0o600);
    // version 2; user::rwx, user:1234:rwx, group::rwx, mask::rwx, other::rwx
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, id) in [(1_u16, u32::MAX), (2, 1234), (4, u32::MAX), (16, u32::MAX), (32, u32::MAX)] {
        acl.extend(tag.to_le_bytes());
        acl.extend(7_u16.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    if rustix::fs::setxattr(&rig.root, "system.posix_acl_default", &acl, rustix::fs::XattrFlags::empty()).is_err() {
        return;
    }
    rig.edit("a", "new").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(rustix::fs::listxattr_query(&path).unwrap(), 0);
}

#[test]
fn owner_is_preserved() {
    let rig = Rig::new();
    let path = rig.put("a", "old");
    if std::os::unix::fs::chown(&path, Some(1234), Some(4321)).is_err() {
        return;
    }
    chmod(&path, 0o6750);
    assert_eq!(rig.edit("a", "new").unwrap().method, WriteMethod::Exchanged);
    let now = std::fs::metadata(&path).unwrap();
    assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (1234, 4321, 0o6750));
}

#[test]
fn hard_links_stay_one_file() {
    let rig = Rig::new();
    rig.put("a", "a rather long old text");
    std::fs::hard_link(rig.path("a"), rig.path("b")).unwrap();
    std::fs::hard_link(rig.path("a"), rig.path("c")).unwrap();
    for (level, text) in LEVELS.into_iter().zip(["short", "a text that is even longer than the old", ""]) {
        let written = replace(&rig.store, &rig.path("a"), text.as_bytes(), level).unwrap();
        assert_eq!(written.method, WriteMethod::InPlace);
        assert!(written.notes[0].contains("3 hard links"), "{written:?}");
        assert_eq!((rig.text("b"), rig.text("c")), (text.to_owned(), text.to_owned()));
        assert_eq!(written.meta, rig.version("b").meta);
    }
    rig.clean();
}

#[test]
fn read_only_file_is_refused_even_for_root() {
    let rig = Rig::new();
    let path = rig.put("a", "old");
    chmod(&path, 0o444);
    let text = refused(rig.edit("a", "new"), Code::IoPermission);
    assert!(text.contains("0444"), "{text}");
    assert_eq!((rig.text("a"), mode(&path)), ("old".to_owned(), 0o444));
    rig.clean();
}

#[test]
fn new_file_obeys_the_umask_and_gets_parent_directories() {
    let rig = Rig::new();
    std::fs::File::create(rig.path("plain")).unwrap();
    rig.edit("x/y/z/new", "text").unwrap();
    assert_eq!(mode(&rig.path("x/y/z/new")), mode(&rig.path("plain")));
    replace(&rig.store, &rig.path("p/q/new"), b"text", Durability::Power).unwrap();
    let place = rig.place("m/n/o/new");
    let near = rig.place("x/n/new");
    let text: &[&[u8]] = &[b"text"];
    let writes = [&place, &near].map(|place| FileWrite {
        path: place,
        precondition: Precondition::Missing,
        new_state: NewState::content(text),
    });
    let staged = rig.store.stage(&writes, Durability::Power).unwrap();
    assert!(rig.path("m/n/o").is_dir() && rig.path("x/n").is_dir());
    assert!(!rig.path("m/n/o/new").exists());
    drop(staged);
    assert!(!rig.path("m").exists() && !rig.path("x/n").exists() && rig.path("x/y").is_dir());
    // A file that another program put there meanwhile stays.
    let staged = rig.store.stage(&writes, Durability::Power).unwrap();
    rig.put("m/n/other", "theirs");
    drop(staged);
    assert_eq!(rig.text("m/n/other"), "theirs");
    assert!(!rig.path("m/n/o").exists());
    rig.clean();
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
                let rig = Rig::new();
                let path = rig.put(name, "old");
                let other = rig.put("first", "1");
                let (one, two) = (rig.version("first"), rig.version(name));
                let (first, second) = (rig.place("first"), rig.place(name));
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
                    let staged = rig.store.stage(&writes, level).unwrap();
                    foreign(&path);
                    staged.commit()
                } else {
                    foreign(&path);
                    rig.store.stage(&writes, level).and_then(emendate_fs::Staged::commit)
                };
                let error = result.unwrap_err();
                let early = !staged_before && name == "folder" && error.code() == Code::PathNotRegular;
                assert!(error.code() == Code::ConflictRaced || early, "{name}: {error}");
                assert_eq!(std::fs::read_to_string(other).unwrap(), "1");
                assert!(std::fs::read_to_string(&path).is_err() || !rig.text(name).starts_with("new"));
                rig.clean();
            }
        }
    }
}

#[test]
fn name_taken_meanwhile_keeps_its_file() {
    for level in LEVELS {
        let rig = Rig::new();
        let place = rig.place("x/new");
        let write =
            [FileWrite { path: &place, precondition: Precondition::Missing, new_state: NewState::content(&[b"ours"]) }];
        let staged = rig.store.stage(&write, level).unwrap();
        rig.put("x/new", "theirs");
        refused(staged.commit(), Code::ConflictRaced);
        assert_eq!(rig.text("x/new"), "theirs");
        // The directory was moved away: another one is at the path now.
        let place = rig.place("x/other");
        let write =
            [FileWrite { path: &place, precondition: Precondition::Missing, new_state: NewState::content(&[b"ours"]) }];
        let staged = rig.store.stage(&write, level).unwrap();
        std::fs::rename(rig.path("x"), rig.path("y")).unwrap();
        refused(staged.commit(), Code::ConflictRaced);
        assert!(!rig.path("y/other").exists() && !rig.path("x").exists());
        rig.clean();
    }
}

#[test]
fn batch_is_atomic() {
    for level in LEVELS {
        let rig = Rig::new();
        let text: &[&[u8]] = &[b"new ", b"text"];
        rig.put("edited", "old");
        chmod(&rig.path("edited"), 0o640);
        rig.put("linked", "old linked");
        std::fs::hard_link(rig.path("linked"), rig.path("twin")).unwrap();
        let names = ["made/new", "edited", "linked"];
        let versions = [None, Some(rig.version("edited")), Some(rig.version("linked"))];
        let places = names.map(|name| rig.place(name));
        let mut writes: Vec<_> = (0..3)
            .map(|at| FileWrite {
                path: &places[at],
                precondition: expect(versions[at].as_ref()),
                new_state: NewState::content(text),
            })
            .collect();
        // The twin is the same inode: it passes the first check, and fails once the first three are published.
        let twin = (rig.place("twin"), rig.version("twin"));
        writes.push(FileWrite {
            path: &twin.0,
            precondition: expect(Some(&twin.1)),
            new_state: NewState::content(text),
        });
        let message = refused(rig.store.stage(&writes, level).unwrap().commit(), Code::ConflictRaced);
        assert!(message.contains("3 files") && message.contains("put back"), "{message}");
        assert_eq!((rig.text("edited"), rig.text("linked")), ("old".to_owned(), "old linked".to_owned()));
        assert_eq!(mode(&rig.path("edited")), 0o640);
        assert!(!rig.path("made").exists());
        rig.clean();

        let fresh = rig.version("edited");
        writes[1].precondition = expect(Some(&fresh));
        writes.pop();
        let written = rig.store.stage(&writes, level).unwrap().commit().unwrap();
        assert_eq!(written.len(), 3);
        assert!(names.iter().all(|name| rig.text(name) == "new text"));
        rig.clean();
    }
}

#[test]
fn large_batch_needs_few_descriptors() {
    let rig = Rig::new();
    let places: Vec<_> = (0..300).map(|number| rig.place(&format!("d{}/{number}", number % 3))).collect();
    for round in ["one", "two"] {
        let versions: Vec<_> = places.iter().map(|place| rig.store.read(place, 100, Vec::new()).unwrap()).collect();
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
        let written = rig.store.stage(&writes, Durability::None).unwrap().commit().unwrap();
        assert_eq!(written[299].meta, rig.version("d2/299").meta);
        assert!((0..300).all(|number| rig.text(&format!("d{}/{number}", number % 3)) == round));
    }
    rig.clean();
}

#[test]
fn first_failing_write_is_reported_and_nothing_is_left() {
    let rig = Rig::new();
    let places: Vec<_> = (0..100)
        .map(|number| {
            rig.put(&format!("n{number:02}"), "old");
            rig.place(&format!("n{number:02}"))
        })
        .collect();
    let versions: Vec<_> =
        places.iter().map(|place| rig.store.read(place, 100, Vec::new()).unwrap().unwrap()).collect();
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
        let error = refused(rig.store.stage(&writes, Durability::None), Code::ConflictRaced);
        assert!(error.contains(&format!("n{late}")), "{error}");
        rig.clean();
    }
}

#[test]
fn two_writes_of_one_file_are_an_internal_bug() {
    let rig = Rig::new();
    let place = rig.place("a");
    let write = FileWrite { path: &place, precondition: Precondition::Missing, new_state: NewState::content(&[b"x"]) };
    refused(rig.store.stage(&[write, write], Durability::None), Code::InternalBug);
    assert!(rig.store.stage(&[], Durability::Power).unwrap().commit().unwrap().is_empty());
    rig.clean();
}

#[test]
fn lock_held_elsewhere_times_out() {
    let rig = Rig::new();
    rig.put("f/a", "old");
    let folder = std::fs::File::open(rig.path("f")).unwrap();
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let store = emendate_fs::LocalStore::open(std::slice::from_ref(&rig.root)).unwrap();
    let store = store.with_lock_timeout(Duration::from_millis(40));
    let edit = || replace(&store, &rig.path("f/a"), b"new", Durability::None);
    let text = refused(edit(), Code::LockTimeout);
    assert!(text.contains("40 ms"), "{text}");
    assert_eq!(rig.text("f/a"), "old");
    rig.clean();
    drop(folder);
    edit().unwrap();
}

#[test]
fn file_with_a_name_of_255_bytes_can_be_edited() {
    let rig = Rig::new();
    let name = "n".repeat(255);
    rig.edit(&name, "one").unwrap();
    rig.edit(&name, "two").unwrap();
    assert_eq!(rig.text(&name), "two");
    rig.clean();
}

#[test]
fn forbidden_files_are_refused_and_irreplaceable_ones_written_in_place() {
    let rig = Rig::new();
    let own = |name: &str| {
        let _ = std::os::unix::fs::chown(rig.path(name), Some(1234), Some(1234));
    };
    chmod(rig.outer.path(), 0o755);
    for (name, bits) in [("open/theirs", 0o644), ("open/shared", 0o666), ("open/own", 0o644), ("open/locked", 0o464)] {
        rig.put(name, "old");
        chmod(&rig.path(name), bits);
    }
    rig.put("closed/own", "old");
    rig.put("hidden/own", "old");
    for name in ["open/own", "open/locked", "closed/own", "hidden/own"] {
        own(name);
    }
    chmod(&rig.path("open"), 0o777);
    chmod(&rig.path("closed"), 0o755);
    chmod(&rig.path("hidden"), 0o711);
    let rig = &rig;
    as_nobody(move || {
        refused(rig.edit("open/theirs", "new"), Code::IoPermission);
        refused(rig.edit("open/locked", "new"), Code::IoPermission);
        refused(rig.edit("closed/new", "new"), Code::IoPermission);
        refused(rig.edit("closed/folder/new", "new"), Code::IoPermission);
        assert_eq!(rig.edit("open/own", "new").unwrap().method, WriteMethod::Exchanged);
        for (name, why) in [("open/shared", "owner 0:0"), ("closed/own", "directory"), ("hidden/own", "directory")] {
            let written = rig.edit(name, "new").unwrap();
            assert_eq!(written.method, WriteMethod::InPlace, "{name}");
            assert!(written.notes[0].starts_with("written in place") && written.notes[0].contains(why), "{written:?}");
            assert_eq!(rig.text(name), "new");
        }
        assert!(!rig.store.probe(0).unwrap().writable);
    });
    assert_eq!((rig.text("open/theirs"), rig.text("open/locked")), ("old".to_owned(), "old".to_owned()));
    rig.clean();
}

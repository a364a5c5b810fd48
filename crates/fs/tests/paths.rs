//! Path resolution: accepted paths, and the files they resolve to.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod fixture;

use emendate_core::Code;
use emendate_fs::{LocalStore, SafePath, Store};
use fixture::{LIMIT, StoreFixture, refused};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

fn admit(fixture: &StoreFixture, path: impl AsRef<Path>) -> emendate_core::Result<SafePath> {
    fixture.store.resolve_path(path.as_ref())
}

#[test]
fn plain_path_resolves_to_itself() {
    let fixture = StoreFixture::new();
    let path = fixture.put("a/b/c.txt", "x");
    let place = admit(&fixture, &path).unwrap();
    assert_eq!((place.root(), place.relative(), place.absolute()), (0, Path::new("a/b/c.txt"), path.as_path()));
    assert_eq!((place.requested(), place.via_link()), (path.as_path(), None));
    for odd in ["a//b/./c.txt", "./a/b/c.txt", "a/../a/b/c.txt", "a/b/../../a/b/c.txt"] {
        let asked = fixture.root.join(odd);
        let place = admit(&fixture, &asked).unwrap();
        assert_eq!((place.relative(), place.requested()), (Path::new("a/b/c.txt"), asked.as_path()), "{odd}");
    }
    assert_eq!(admit(&fixture, &fixture.root).unwrap().absolute(), fixture.root);
}

#[test]
fn root_that_was_deleted_and_created_again_is_opened_again() {
    let fixture = StoreFixture::new();
    let path = fixture.put("a.txt", "old");
    let read = || {
        let version = fixture.store.read(&admit(&fixture, &path).unwrap(), LIMIT, Vec::new()).unwrap();
        version.map(|version| String::from_utf8(version.bytes).unwrap())
    };
    assert_eq!(read().as_deref(), Some("old"));
    for text in ["first", "second"] {
        std::fs::remove_dir_all(&fixture.root).unwrap();
        assert_eq!(read(), None);
        std::fs::create_dir(&fixture.root).unwrap();
        assert_eq!(read(), None);
        std::fs::write(&path, text).unwrap();
        assert_eq!(read().as_deref(), Some(text));
        let root = admit(&fixture, &fixture.root).unwrap();
        assert_eq!(fixture.store.list(&root).unwrap().map(|entries| entries.len()), Some(1));
    }
    // A link in its place may lead elsewhere.
    let elsewhere = fixture.root.with_file_name("elsewhere");
    std::fs::rename(&fixture.root, &elsewhere).unwrap();
    assert_eq!(read().as_deref(), Some("second"));
    std::fs::remove_dir_all(&elsewhere).unwrap();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("a.txt"), "other").unwrap();
    symlink(other.path(), &fixture.root).unwrap();
    assert_eq!(read(), None);
    std::fs::remove_file(&fixture.root).unwrap();
    std::fs::create_dir(&fixture.root).unwrap();
}

#[test]
fn path_outside_the_roots_is_refused() {
    let fixture = StoreFixture::new();
    fixture.put("a.txt", "x");
    let text = refused(admit(&fixture, "a.txt"), Code::PathInvalid);
    assert!(text.contains(fixture.path("a.txt").to_str().unwrap()), "{text}");
    refused(admit(&fixture, ""), Code::PathInvalid);
    refused(admit(&fixture, fixture.path("a\0b")), Code::PathInvalid);
    refused(admit(&fixture, "~/a.txt"), Code::PathInvalid);
    refused(admit(&fixture, fixture.path("a.txt/")), Code::PathInvalid);
    refused(admit(&fixture, fixture.path("new/")), Code::PathInvalid);
    refused(admit(&fixture, fixture.path("a.txt/b")), Code::PathInvalid);
    refused(admit(&fixture, fixture.path("missing/../a.txt")), Code::PathInvalid);
    refused(admit(&fixture, fixture.path(&"n".repeat(256))), Code::PathInvalid);
    let evil = format!("{}-evil/a.txt", fixture.root.display());
    for outside in ["/etc/passwd", "/", "/proc/self/root/etc/passwd", &evil] {
        let text = refused(admit(&fixture, outside), Code::PathOutside);
        assert!(text.contains(fixture.root.to_str().unwrap()), "{text}");
    }
    for up in ["..", "../x", "a/../../x", "../root-evil/a", "../../../../../../../etc/passwd"] {
        let path = if up.starts_with('a') {
            fixture.put("a/f", "x").parent().unwrap().join("../../x")
        } else {
            fixture.root.join(up)
        };
        refused(admit(&fixture, path), Code::PathOutside);
    }
    // A path that leaves the root and comes back is not an escape.
    assert_eq!(admit(&fixture, fixture.path("../root/a.txt")).unwrap().relative(), Path::new("a.txt"));
}

#[test]
fn paths_are_neither_decoded_nor_trimmed() {
    let fixture = StoreFixture::new();
    for name in ["a%20b", "%2e%2e", " lead", "trail ", "~", "\"q\"", "a\nb", "-n", "*"] {
        assert_eq!(admit(&fixture, fixture.path(name)).unwrap().relative(), Path::new(name));
        fixture.edit(name, "x").unwrap();
        assert_eq!(fixture.text(name), "x");
    }
    let bytes = OsStr::from_bytes(b"caf\xe9\xff.txt");
    let path = fixture.root.join(bytes);
    std::fs::write(&path, "old").unwrap();
    fixture::replace(&fixture.store, &path, b"new", emendate_fs::Durability::Power).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert!(fixture.store.siblings(&admit(&fixture, &path).unwrap()).unwrap().contains(&bytes.to_owned()));
    fixture.clean();
}

#[test]
fn links_are_followed_within_the_roots_only() {
    let fixture = StoreFixture::new();
    fixture.put("real/f.txt", "x");
    let outside = fixture.outer.path().join("secret");
    std::fs::write(&outside, "s").unwrap();
    let link = |target: &str, name: &str| symlink(target, fixture.path(name)).unwrap();
    link("real/f.txt", "file");
    link("real", "folder");
    link(fixture.path("real").to_str().unwrap(), "absolute");
    link("../root/real", "around");
    link("folder", "twice");
    for (asked, via) in [
        ("file", "file"),
        ("folder/f.txt", "folder"),
        ("absolute/f.txt", "absolute"),
        ("around/f.txt", "around"),
        ("twice/f.txt", "twice"),
        ("real/../folder/f.txt", "folder"),
    ] {
        let place = admit(&fixture, fixture.path(asked)).unwrap();
        assert_eq!(place.relative(), Path::new("real/f.txt"), "{asked}");
        assert_eq!(place.via_link(), Some(fixture.path(via).as_path()), "{asked}");
    }
    assert_eq!(admit(&fixture, fixture.path("folder/new/x")).unwrap().relative(), Path::new("real/new/x"));

    link("../secret", "leaves");
    link(outside.to_str().unwrap(), "leaves-absolute");
    link("..", "up");
    link("/proc/self/root", "magic");
    link("nothing", "dangling");
    link("loop-b", "loop-a");
    link("loop-a", "loop-b");
    for (asked, says) in [
        ("leaves", "leaves the roots"),
        ("leaves-absolute", "leaves the roots"),
        ("up/secret", "leaves the roots"),
        ("magic/etc/passwd", "leaves the roots"),
        ("dangling", "broken"),
        ("dangling/below", "broken"),
        ("loop-a", "loops"),
    ] {
        let text = refused(admit(&fixture, fixture.path(asked)), Code::PathSymlink);
        assert!(text.contains(says) && text.contains(" → "), "{asked}: {text}");
    }
    // The link stays a link; its target is edited.
    fixture.edit("file", "y").unwrap();
    assert_eq!(fixture.text("real/f.txt"), "y");
    assert!(fixture.path("file").is_symlink());
    fixture.clean();
}

#[test]
fn links_of_procfs_are_never_followed() {
    let store = LocalStore::open(&["/".into()]).unwrap();
    for path in ["/proc/self/root/etc/passwd", "/proc/self/cwd/x", "/proc/self/fd/0"] {
        refused(store.resolve_path(Path::new(path)), Code::PathSymlink);
    }
    assert_eq!(store.resolve_path(Path::new("/proc/version")).unwrap().absolute(), Path::new("/proc/version"));
    let place = store.resolve_path(Path::new("/proc/version")).unwrap();
    let version = store.read(&place, LIMIT, Vec::new()).unwrap().unwrap();
    assert!(version.meta.size == 0 && version.bytes.starts_with(b"Linux"));
}

#[test]
fn several_roots_and_a_linked_root_are_supported() {
    let fixture = StoreFixture::new();
    let other = fixture.outer.path().canonicalize().unwrap().join("other");
    std::fs::create_dir_all(fixture.path("inner")).unwrap();
    std::fs::create_dir(&other).unwrap();
    let alias = fixture.outer.path().join("alias");
    symlink(&other, &alias).unwrap();
    let roots = [fixture.root.clone(), fixture.path("inner"), alias.clone()];
    let store = LocalStore::open(&roots).unwrap();
    std::fs::write(other.join("f"), "x").unwrap();
    symlink("../other/f", fixture.path("to-other")).unwrap();
    let root_of =
        |path: &Path| store.resolve_path(path).map(|place| (place.root(), place.relative().to_owned())).unwrap();
    assert_eq!(root_of(&fixture.path("a")), (0, "a".into()));
    assert_eq!(root_of(&fixture.path("inner/a")), (1, "a".into()));
    assert_eq!(root_of(&fixture.path("inner/../a")), (0, "a".into()));
    assert_eq!(root_of(&alias.join("f")), (2, "f".into()));
    assert_eq!(root_of(&other.join("f")), (2, "f".into()));
    assert_eq!(root_of(&fixture.path("to-other")), (2, "f".into()));
    assert_eq!(root_of(&fixture.path("../other/f")), (2, "f".into()));
    assert_eq!(store.resolve_path(&alias.join("f")).unwrap().absolute(), other.join("f"));
    assert_eq!(store.roots()[2].given, alias);

    refused(LocalStore::open(&[]), Code::PathInvalid);
    refused(LocalStore::open(&["relative".into()]), Code::PathInvalid);
    refused(LocalStore::open(&[fixture.path("none")]), Code::PathInvalid);
    refused(LocalStore::open(&[fixture.put("file", "x")]), Code::PathInvalid);
}

#[test]
fn resolution_agrees_with_the_operating_system() {
    use proptest::prelude::*;
    let fixture = StoreFixture::new();
    fixture.put("a/b/f", "x");
    fixture.put("f", "x");
    let outside = fixture.outer.path().join("out");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "x").unwrap();
    let root = fixture.root.to_str().unwrap();
    for (target, name) in [
        ("a", "in"),
        ("../out", "leave"),
        ("b/../../a", "a/round"),
        (&format!("{root}/a/b"), "a/full"),
        ("../../root", "a/back"),
        ("../../out/..", "a/up"),
        ("nothing", "a/b/broken"),
        ("self", "self"),
    ] {
        symlink(target, fixture.path(name)).unwrap();
    }
    let names = [
        "a", "b", "f", "..", ".", "in", "leave", "round", "full", "back", "up", "broken", "self", "new", "root", "out",
    ];
    let paths = prop::collection::vec(prop::sample::select(names.to_vec()), 1..8);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let admitted = std::cell::Cell::new(0);
    runner
        .run(&paths, |parts| {
            let asked = fixture.root.join(parts.join("/"));
            let real = std::fs::canonicalize(&asked);
            match (admit(&fixture, &asked), real) {
                (Ok(place), Ok(real)) => {
                    prop_assert_eq!(place.absolute(), &real);
                    prop_assert!(real.starts_with(&fixture.root));
                    admitted.set(admitted.get() + 1);
                }
                (Ok(place), Err(_)) => prop_assert!(place.absolute().starts_with(&fixture.root)),
                (Err(error), _) => prop_assert!(!error.next_step().is_empty()),
            }
            Ok(())
        })
        .unwrap();
    assert!(admitted.get() > 10, "{admitted:?}");
}

//! The restriction that the kernel enforces (Landlock).
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, reason = "tests")]

mod fixture;

use emendate_fs::{Durability, LocalStore, restrict};
use fixture::{StoreFixture, replace};
use std::io::ErrorKind;

#[test]
fn kernel_refuses_access_outside_the_directories() {
    let fixture = StoreFixture::new();
    let inside = fixture.put("d/f", "old");
    let outside = fixture.outer.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "secret").unwrap();
    // A store on `/` simulates a bug in our own checks.
    let everywhere = LocalStore::open(&["/".into()]).unwrap();
    let kept = std::thread::scope(|scope| {
        // Only this thread is restricted; the other threads of the test are not.
        let thread = scope.spawn(|| {
            let told = restrict([fixture.root.as_path()]).unwrap();
            if told.is_some_and(|note| note.contains("runs without")) {
                return false;
            }
            replace(&fixture.store, &inside, b"new", Durability::Power).unwrap();
            replace(&fixture.store, &fixture.path("new/folder/f"), b"new", Durability::Power).unwrap();
            let error = replace(&everywhere, &outside.join("f"), b"changed", Durability::Power).unwrap_err();
            assert_eq!(error.code(), emendate_core::Code::IoPermission, "{error}");
            assert!(replace(&everywhere, &outside.join("new"), b"x", Durability::None).is_err());
            for refused in [
                std::fs::write(outside.join("f"), "changed"),
                std::fs::write(outside.join("new"), "x"),
                std::fs::remove_file(outside.join("f")),
                std::fs::read(outside.join("f")).map(drop),
            ] {
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
            }
            assert!(std::fs::rename(&inside, outside.join("moved")).is_err());
            true
        });
        thread.join().unwrap()
    });
    assert_eq!(std::fs::read_to_string(outside.join("f")).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fixture.text("d/f"), if kept { "new" } else { "old" });
    fixture.clean();
}

#[test]
fn missing_directory_cannot_be_restricted_to() {
    let fixture = StoreFixture::new();
    let told = std::thread::scope(|scope| scope.spawn(|| restrict([fixture.path("none").as_path()])).join().unwrap());
    let error = told.unwrap_err();
    assert!(error.message().contains("none") && !error.next_step().is_empty(), "{error}");
}

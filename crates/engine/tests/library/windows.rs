//! Paths as Windows writes them.

use crate::fixture::{EngineFixture, ok};
use serde_json::json;

/// `std::fs::canonicalize` returns paths that begin with `\\?\`.
#[test]
fn verbatim_directory_is_the_one_above_the_files_of_the_session() {
    let fixture = EngineFixture::new();
    fixture.put_read("src/deep/a.ts", "one\n");
    let directory = std::fs::canonicalize(&fixture.root).unwrap();
    assert!(directory.to_str().unwrap().starts_with(r"\\?\"), "{}", directory.display());
    let patch = "*** Begin Patch\n*** Update File: a.ts\n@@\n-one\n+two\n*** End Patch\n";
    ok(&fixture.call("apply", json!({ "input": patch, "directory": directory })));
    assert_eq!(fixture.get("src/deep/a.ts"), "two\n");
}

#[test]
fn both_separators_are_read_without_a_note() {
    let fixture = EngineFixture::new();
    let path = format!(r"{}/sub\new.txt", fixture.root.display());
    let text = ok(&fixture.call("write", json!({ "file_path": path, "content": "one\n" })));
    assert!(!text.contains("was read as"), "{text}");
    let text = ok(&fixture.apply("*** Begin Patch\n*** Add File: sub\\more\\b.txt\n+two\n*** End Patch\n"));
    assert!(!text.contains("was read as"), "{text}");
    assert_eq!((fixture.get("sub/new.txt"), fixture.get("sub/more/b.txt")), ("one\n".to_owned(), "two\n".to_owned()));
}

//! The history of a session: lists, comparisons, restored states and registers.

use crate::undo::fixture::{UndoFixture, caller, code, data, name_of, ok, person};
use emendate::CallContext;
use serde_json::{Value, json};

#[test]
fn history_lists_filters_and_compares() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    fixture.put("f", "one\n");
    fixture.put("g", "one\n");
    fixture.read(&agent, "f");
    let first = name_of(&ok(fixture.edit(&agent, "f", "one", "two")));
    let second = name_of(&ok(fixture.edit(&person(), "g", "one", "two\nthree")));
    let third = name_of(&ok(fixture.edit(&agent, "f", "two", "three")));
    let ids = |input: Value| -> Vec<String> {
        let listed = data(&ok(fixture.call(&agent, "history", input)));
        let rows = listed["operations"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(json!({})), [third.clone(), second.clone(), first.clone()]);
    assert_eq!(ids(json!({ "session": "a" })), [third.clone(), first.clone()]);
    assert_eq!(ids(json!({ "file_path": fixture.path("g") })), *std::slice::from_ref(&second));
    assert_eq!(ids(json!({ "limit": 1 })), *std::slice::from_ref(&third));
    let shown = ok(fixture.call(&agent, "history", json!({ "id": first })));
    assert!(shown.text().contains("-one\n+two\n"), "{}", shown.text());
    let compared = ok(fixture.call(&agent, "history", json!({ "id": format!("{first}^"), "to": third })));
    assert!(compared.text().contains("-one\n+three\n") && compared.text().contains("+two\n+three\n"));
    assert_eq!(data(&compared)["files"].as_array().unwrap().len(), 2);
    let compared = ok(fixture.call(&agent, "history", json!({ "id": second, "to": third })));
    assert!(compared.text().contains("-two\n+three\n") && !compared.text().contains("one"), "{}", compared.text());
    assert_eq!(code(&fixture.call(&agent, "history", json!({ "id": third, "to": first }))), "call.invalid");
    for wrong in ["99", "1-0000x", "x"] {
        assert_ne!(code(&fixture.call(&agent, "history", json!({ "id": wrong }))), "ok", "{wrong}");
    }
}

#[test]
fn file_is_restored_to_an_earlier_state() {
    let fixture = UndoFixture::new();
    let agent = caller("a");
    let path = fixture.path("f");
    let made = name_of(&ok(fixture.call(&agent, "write", json!({ "file_path": path, "content": "1\n" }))));
    let second = name_of(&ok(fixture.edit(&agent, "f", "1", "2")));
    ok(fixture.edit(&agent, "f", "2", "3"));
    let restore = |id: &str| fixture.call(&agent, "restore", json!({ "file_path": path, "id": id }));
    ok(restore(&second));
    assert_eq!(fixture.get("f"), "2\n");
    assert_eq!(code(&restore(&second)), "edit.no_change");
    ok(restore(&format!("{second}^")));
    assert_eq!(fixture.get("f"), "1\n");
    ok(restore(&format!("{made}^")));
    assert!(!path.exists());
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.get("f"), "1\n");
    // Concurrent changes must be seen first, and can be restored by undo.
    fixture.put("f", "theirs\n");
    assert_eq!(code(&restore(&second)), "stale.changed");
    fixture.read(&agent, "f");
    ok(restore(&second));
    assert_eq!(fixture.get("f"), "2\n");
    ok(fixture.call(&agent, "undo", json!({})));
    assert_eq!(fixture.get("f"), "theirs\n");
    fixture.put("g", "x");
    let reply = fixture.call(&person(), "restore", json!({ "file_path": fixture.path("g"), "id": second }));
    assert_eq!(code(&reply), "operation.not_found");
}

/// A header above changed lines names its file, also in the replies of undo and of patches.

#[test]
fn headers_name_their_file() {
    let fixture = UndoFixture::new();
    let agent =
        CallContext { line_format: emendate::core::line_format::LineFormat::by_name("hashline"), ..caller("a") };
    fixture.put("f", "one\ntwo\n");
    fixture.put("g", "one\ntwo\n");
    fixture.read(&agent, "f");
    fixture.read(&agent, "g");
    let patch =
        "*** Begin Patch\n*** Update File: f\n@@\n-two\n+TWO\n*** Update File: g\n@@\n-two\n+TWO\n*** End Patch\n";
    let applied = ok(fixture.call(&agent, "apply", json!({ "input": patch, "directory": fixture.root })));
    let undone = ok(fixture.call(&agent, "undo", json!({})));
    let redone = ok(fixture.call(&agent, "undo", json!({ "redo": true })));
    for reply in [applied, undone, redone] {
        let text = reply.text();
        let headers: Vec<&str> = text.lines().filter(|line| line.starts_with('¶')).collect();
        assert_eq!(headers.len(), 2, "{text}");
        assert!(headers.iter().all(|header| header.starts_with("¶f#") || header.starts_with("¶g#")), "{text}");
    }
}

#[test]
fn registers_survive_the_process() {
    let mut fixture = UndoFixture::new();
    let (agent, other) = (caller("a"), caller("b"));
    fixture.put("f", "one\ntwo\nthree\n");
    fixture.put("g", "g\n");
    let header = |fixture: &UndoFixture, agent: &CallContext, name: &str| {
        let read =
            ok(fixture.call(agent, "read", json!({ "file_path": fixture.path(name), "format": "hashline_put" })));
        read.text().lines().next().unwrap().to_owned()
    };
    let cut = format!("{}\nCUT 2.=3 @part\n", header(&fixture, &agent, "f"));
    ok(fixture.apply(&agent, &cut));
    fixture.reopen();
    // Not in another session, and not twice with different results: pasted text remains in the register.
    let put = |fixture: &UndoFixture, agent: &CallContext| {
        fixture.apply(agent, &format!("{}\nPUT >1 @part\n", header(fixture, agent, "g")))
    };
    let refused = put(&fixture, &other);
    assert!(refused.text().contains("`@part` was empty"), "{}", refused.text());
    ok(put(&fixture, &agent));
    assert_eq!(fixture.get("g"), "g\ntwo\nthree\n");
    fixture.reopen();
    ok(put(&fixture, &agent));
    assert_eq!(fixture.get("g"), "g\ntwo\nthree\ntwo\nthree\n");
    // A dry run and a failed call leave the registers unchanged.
    fixture.put("f", "x\ny\n");
    let text = format!("{}\nCUT 1 @part\n", header(&fixture, &agent, "f"));
    ok(fixture.call(&agent, "apply", json!({ "input": text, "directory": fixture.root, "dry_run": true })));
    assert_ne!(code(&fixture.apply(&agent, &format!("{text}CUT 9 @other\n"))), "ok");
    fixture.put("g", "g\n");
    fixture.reopen();
    ok(put(&fixture, &agent));
    assert_eq!(fixture.get("g"), "g\ntwo\nthree\n");
}

#[test]
fn dry_run_writes_nothing() {
    let fixture = UndoFixture::new();
    let person = person();
    fixture.put("f", "1\n");
    ok(fixture.edit(&person, "f", "1", "2"));
    let reply = ok(fixture.call(&person, "undo", json!({ "dry_run": true })));
    assert!(reply.text().contains("Would be undone"), "{}", reply.text());
    assert_eq!((fixture.get("f"), name_of(&reply)), ("2\n".to_owned(), String::new()));
    ok(fixture.call(&person, "undo", json!({})));
    assert_eq!(fixture.get("f"), "1\n");
}

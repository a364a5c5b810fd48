//! Comments, which the next reply to the session of the operation delivers, and reviewed hunks.

use crate::fixture::{EngineFixture, code, ok};
use emendate::{CallContext, Comment, Config, Reply, StateLocation};
use serde_json::{Value, json};

fn fixture() -> EngineFixture {
    let mut fixture = EngineFixture::open(Config::default(), |root| StateLocation::Directory(root.join(".state")));
    fixture.caller.session = "model".into();
    fixture.put_read("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    fixture
}

/// Changes the first and the last line.
fn change(fixture: &EngineFixture) -> String {
    let edits = json!([{ "old_string": "1\n2", "new_string": "one\n2" }, { "old_string": "9", "new_string": "nine" }]);
    let reply = fixture.call("multi_edit", json!({ "file_path": fixture.path("a"), "edits": edits }));
    reply.to_json()["data"]["operation"].as_str().unwrap().to_owned()
}

fn delivered(reply: &Reply) -> Vec<String> {
    let reply = reply.to_json();
    let comments = reply["data"]["comments"].as_array().cloned().unwrap_or_default();
    comments.iter().map(|comment| comment["text"].as_str().unwrap().to_owned()).collect()
}

fn read(fixture: &EngineFixture) -> Reply {
    fixture.call("read", json!({ "file_path": fixture.path("a") }))
}

fn comment(fixture: &EngineFixture, id: &str, line: u64, text: &str) -> Comment {
    fixture.engine.remarks().add_comment(id, Some(&fixture.path("a")), Some(line), text).unwrap()
}

#[test]
fn comment_is_delivered_with_the_next_reply_and_once() {
    let fixture = fixture();
    let id = change(&fixture);
    let added = comment(&fixture, &id, 9, "Write it as a number.");
    assert_eq!((&*added.session, &added.operation, added.is_delivered), ("model", &id, false));
    // The comment is not delivered to other sessions.
    let other = CallContext { session: "other".to_owned(), ..fixture.caller.clone() };
    let input = json!({ "file_path": fixture.path("a") });
    assert!(delivered(&fixture.engine.call(&other, "read", input.clone())).is_empty());
    let dry = CallContext { dry_run: true, ..fixture.caller.clone() };
    assert!(delivered(&fixture.engine.call(&dry, "read", input)).is_empty());
    let reply = read(&fixture);
    assert_eq!(delivered(&reply), ["Write it as a number."]);
    let text = reply.text();
    assert!(text.contains("<system-reminder>A person commented on line 9 of "), "{text}");
    assert!(text.trim_end().ends_with("Write it as a number.</system-reminder>"), "{text}");
    assert!(delivered(&read(&fixture)).is_empty());
    // Errors deliver comments, too.
    comment(&fixture, &id, 1, "And this.");
    let reply = fixture.edit("a", "absent", "x");
    assert_eq!((code(&reply), delivered(&reply)), ("match.not_found", vec!["And this.".to_owned()]));
    assert!(reply.text().contains("And this."));
}

#[test]
fn comment_is_delivered_again_if_the_process_ends_before_its_reply_is_out() {
    let fixture = fixture();
    let id = change(&fixture);
    comment(&fixture, &id, 9, "Look.");
    assert_eq!(delivered(&read(&fixture)), ["Look."]);
    let again = || {
        let root = fixture.root.clone();
        emendate::Engine::open(&[root], StateLocation::Directory(fixture.root.join(".state")), Config::default())
            .unwrap()
    };
    let input = || json!({ "file_path": fixture.path("a") });
    // This process did not confirm that its reply was sent, so another process delivers the comment again, and ends in
    // order.
    let other = again();
    assert_eq!(delivered(&other.call(&fixture.caller, "read", input())), ["Look."]);
    drop(other);
    assert!(delivered(&again().call(&fixture.caller, "read", input())).is_empty());
    assert!(fixture.engine.remarks().comments(None, false).unwrap().iter().all(|comment| comment.is_delivered));
    // The front end confirms the reply.
    comment(&fixture, &id, 1, "More.");
    assert_eq!(delivered(&read(&fixture)), ["More."]);
    fixture.engine.remarks().confirm_replies(Some("model"));
    assert!(fixture.engine.remarks().comments(None, true).unwrap().is_empty());
}

#[test]
fn reply_delivers_a_bounded_number_of_comments_after_its_other_text() {
    let fixture = fixture();
    let id = change(&fixture);
    for nth in 0..25 {
        comment(&fixture, &id, 1, &format!("comment {nth}"));
    }
    let first = delivered(&read(&fixture));
    let second = delivered(&read(&fixture));
    assert_eq!((first.len(), second.len(), second[4].as_str()), (20, 5, "comment 24"));
    // A reply at its limit keeps them.
    let long: String = (0..200_000).map(|nth| format!("line {nth}\n")).collect();
    fixture.put("long", &long);
    comment(&fixture, &id, 1, &"x".repeat(1500));
    let reply = fixture.call("read", json!({ "file_path": fixture.path("long") }));
    assert!(reply.text().trim_end().ends_with(&format!("{}</system-reminder>", "x".repeat(1500))));
}

#[test]
fn what_cannot_be_commented_is_refused() {
    let fixture = fixture();
    let id = change(&fixture);
    let add = |path: Option<&str>, line, text: &str| {
        fixture.engine.remarks().add_comment(&id, path.map(|path| fixture.path(path)).as_deref(), line, text)
    };
    let refused = |result: emendate::core::Result<Comment>| result.unwrap_err().code().as_str();
    assert_eq!(refused(add(None, None, " ")), "call.invalid");
    assert_eq!(refused(add(None, Some(1), "x")), "call.invalid");
    assert_eq!(refused(add(Some("b"), None, "x")), "operation.not_found");
    assert_eq!(refused(add(Some("a"), Some(0), "x")), "call.invalid");
    assert_eq!(refused(add(Some("a"), None, &"x".repeat(1501))), "call.too_large");
    assert_eq!(refused(fixture.engine.remarks().add_comment("99", None, None, "x")), "operation.not_found");
    let added = add(None, None, "x").unwrap();
    fixture.engine.remarks().delete_comment(&added.id).unwrap();
    assert_eq!(fixture.engine.remarks().delete_comment(&added.id).unwrap_err().code().as_str(), "operation.not_found");
    assert!(delivered(&read(&fixture)).is_empty());
}

#[test]
fn hunks_are_marked_as_reviewed() {
    let fixture = fixture();
    let id = change(&fixture);
    let path = fixture.path("a");
    let mark = |hunks: Option<&[usize]>, reviewed| {
        let marked = fixture.engine.remarks().mark_reviewed(&fixture.caller, &id, Some(&path), hunks, reviewed);
        marked.map(|files| files.into_iter().map(|file| file.hunks).collect::<Vec<_>>())
    };
    assert_eq!(mark(Some(&[2]), true).unwrap(), [[2]]);
    assert_eq!(mark(None, true).unwrap(), [[1, 2]]);
    assert_eq!(mark(Some(&[1]), false).unwrap(), [[2]]);
    assert_eq!(mark(Some(&[3]), true).unwrap_err().code().as_str(), "call.invalid");
    let all = fixture.engine.remarks().mark_reviewed(&fixture.caller, &id, None, None, true).unwrap();
    assert_eq!((all.len(), &all[0].operation, &all[0].path), (1, &id, &path));
    assert_eq!(fixture.engine.remarks().reviewed_hunks(None).unwrap(), all);
    ok(&fixture.call("history", json!({ "id": id })));
    assert_eq!(Value::from(all[0].hunks.clone()), json!([1, 2]));
}

#[test]
fn comment_of_a_reply_that_nobody_read_is_delivered_again() {
    let fixture = fixture();
    let id = change(&fixture);
    comment(&fixture, &id, 1, "Use a word.");
    assert_eq!(delivered(&read(&fixture)), ["Use a word."]);
    fixture.engine.remarks().recall_replies(None);
    assert_eq!(delivered(&read(&fixture)), ["Use a word."]);
    // Once the delivery is confirmed, a cancelled call does not recall it.
    fixture.engine.remarks().confirm_replies(None);
    fixture.engine.remarks().recall_replies(None);
    assert!(delivered(&read(&fixture)).is_empty());
}

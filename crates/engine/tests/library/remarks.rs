//! Comments, which the next reply to the session of the operation delivers, and reviewed hunks.

use crate::bench::{Bench, code, ok};
use emendate::{CallContext, Comment, Config, Reply, StateLocation};
use serde_json::{Value, json};

fn bench() -> Bench {
    let mut bench = Bench::open(Config::default(), |root| StateLocation::Directory(root.join(".state")));
    bench.caller.session = "model".into();
    bench.put("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    bench.read("a");
    bench
}

/// Changes the first and the last line.
fn change(bench: &Bench) -> String {
    let edits = json!([{ "old_string": "1\n2", "new_string": "one\n2" }, { "old_string": "9", "new_string": "nine" }]);
    let reply = bench.call("multi_edit", json!({ "file_path": bench.path("a"), "edits": edits }));
    reply.to_json()["data"]["operation"].as_str().unwrap().to_owned()
}

fn delivered(reply: &Reply) -> Vec<String> {
    let reply = reply.to_json();
    let comments = reply["data"]["comments"].as_array().cloned().unwrap_or_default();
    comments.iter().map(|comment| comment["text"].as_str().unwrap().to_owned()).collect()
}

fn read(bench: &Bench) -> Reply {
    bench.call("read", json!({ "file_path": bench.path("a") }))
}

fn comment(bench: &Bench, id: &str, line: u64, text: &str) -> Comment {
    bench.engine.remarks().add_comment(id, Some(&bench.path("a")), Some(line), text).unwrap()
}

#[test]
fn comment_is_delivered_with_the_next_reply_and_once() {
    let bench = bench();
    let id = change(&bench);
    let added = comment(&bench, &id, 9, "Write it as a number.");
    assert_eq!((&*added.session, &added.operation, added.is_delivered), ("model", &id, false));
    // The comment is not delivered to other sessions.
    let other = CallContext { session: "other".to_owned(), ..bench.caller.clone() };
    let input = json!({ "file_path": bench.path("a") });
    assert!(delivered(&bench.engine.call(&other, "read", input.clone())).is_empty());
    let dry = CallContext { dry_run: true, ..bench.caller.clone() };
    assert!(delivered(&bench.engine.call(&dry, "read", input)).is_empty());
    let reply = read(&bench);
    assert_eq!(delivered(&reply), ["Write it as a number."]);
    let text = reply.text();
    assert!(text.contains("<system-reminder>A person commented on line 9 of "), "{text}");
    assert!(text.trim_end().ends_with("Write it as a number.</system-reminder>"), "{text}");
    assert!(delivered(&read(&bench)).is_empty());
    // Errors deliver comments, too.
    comment(&bench, &id, 1, "And this.");
    let reply = bench.edit("a", "absent", "x");
    assert_eq!((code(&reply), delivered(&reply)), ("match.not_found", vec!["And this.".to_owned()]));
    assert!(reply.text().contains("And this."));
}

#[test]
fn comment_is_delivered_again_if_the_process_ends_before_its_reply_is_out() {
    let bench = bench();
    let id = change(&bench);
    comment(&bench, &id, 9, "Look.");
    assert_eq!(delivered(&read(&bench)), ["Look."]);
    let again = || {
        let root = bench.root.clone();
        emendate::Engine::open(&[root], StateLocation::Directory(bench.root.join(".state")), Config::default()).unwrap()
    };
    let input = || json!({ "file_path": bench.path("a") });
    // This process did not confirm that its reply was sent, so another process delivers the comment again, and ends in
    // order.
    let other = again();
    assert_eq!(delivered(&other.call(&bench.caller, "read", input())), ["Look."]);
    drop(other);
    assert!(delivered(&again().call(&bench.caller, "read", input())).is_empty());
    assert!(bench.engine.remarks().comments(None, false).unwrap().iter().all(|comment| comment.is_delivered));
    // The front end confirms the reply.
    comment(&bench, &id, 1, "More.");
    assert_eq!(delivered(&read(&bench)), ["More."]);
    bench.engine.remarks().confirm_replies(Some("model"));
    assert!(bench.engine.remarks().comments(None, true).unwrap().is_empty());
}

#[test]
fn reply_delivers_a_bounded_number_of_comments_after_its_other_text() {
    let bench = bench();
    let id = change(&bench);
    for nth in 0..25 {
        comment(&bench, &id, 1, &format!("comment {nth}"));
    }
    let first = delivered(&read(&bench));
    let second = delivered(&read(&bench));
    assert_eq!((first.len(), second.len(), second[4].as_str()), (20, 5, "comment 24"));
    // A reply at its limit keeps them.
    let long: String = (0..200_000).map(|nth| format!("line {nth}\n")).collect();
    bench.put("long", &long);
    comment(&bench, &id, 1, &"x".repeat(1500));
    let reply = bench.call("read", json!({ "file_path": bench.path("long") }));
    assert!(reply.text().trim_end().ends_with(&format!("{}</system-reminder>", "x".repeat(1500))));
}

#[test]
fn what_cannot_be_commented_is_refused() {
    let bench = bench();
    let id = change(&bench);
    let add = |path: Option<&str>, line, text: &str| {
        bench.engine.remarks().add_comment(&id, path.map(|path| bench.path(path)).as_deref(), line, text)
    };
    let refused = |result: emendate::core::Result<Comment>| result.unwrap_err().code().as_str();
    assert_eq!(refused(add(None, None, " ")), "call.invalid");
    assert_eq!(refused(add(None, Some(1), "x")), "call.invalid");
    assert_eq!(refused(add(Some("b"), None, "x")), "call.invalid");
    assert_eq!(refused(add(Some("a"), Some(0), "x")), "call.invalid");
    assert_eq!(refused(add(Some("a"), None, &"x".repeat(1501))), "call.too_large");
    assert_eq!(refused(bench.engine.remarks().add_comment("99", None, None, "x")), "operation.not_found");
    let added = add(None, None, "x").unwrap();
    bench.engine.remarks().delete_comment(&added.id).unwrap();
    assert_eq!(bench.engine.remarks().delete_comment(&added.id).unwrap_err().code().as_str(), "operation.not_found");
    assert!(delivered(&read(&bench)).is_empty());
}

#[test]
fn hunks_are_marked_as_reviewed() {
    let bench = bench();
    let id = change(&bench);
    let path = bench.path("a");
    let mark = |hunks: Option<&[usize]>, reviewed| {
        let marked = bench.engine.remarks().mark_reviewed(&bench.caller, &id, Some(&path), hunks, reviewed);
        marked.map(|files| files.into_iter().map(|file| file.hunks).collect::<Vec<_>>())
    };
    assert_eq!(mark(Some(&[2]), true).unwrap(), [[2]]);
    assert_eq!(mark(None, true).unwrap(), [[1, 2]]);
    assert_eq!(mark(Some(&[1]), false).unwrap(), [[2]]);
    assert_eq!(mark(Some(&[3]), true).unwrap_err().code().as_str(), "call.invalid");
    let all = bench.engine.remarks().mark_reviewed(&bench.caller, &id, None, None, true).unwrap();
    assert_eq!((all.len(), &all[0].operation, &all[0].path), (1, &id, &path));
    assert_eq!(bench.engine.remarks().reviewed_hunks(None).unwrap(), all);
    ok(&bench.call("history", json!({ "id": id })));
    assert_eq!(Value::from(all[0].hunks.clone()), json!([1, 2]));
}

#[test]
fn comment_of_a_reply_that_nobody_read_is_delivered_again() {
    let bench = bench();
    let id = change(&bench);
    comment(&bench, &id, 1, "Use a word.");
    assert_eq!(delivered(&read(&bench)), ["Use a word."]);
    bench.engine.remarks().recall_replies(None);
    assert_eq!(delivered(&read(&bench)), ["Use a word."]);
    // Once the delivery is confirmed, a cancelled call does not recall it.
    bench.engine.remarks().confirm_replies(None);
    bench.engine.remarks().recall_replies(None);
    assert!(delivered(&read(&bench)).is_empty());
}

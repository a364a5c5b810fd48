//! Turns and marks: what a session did since a moment is undone, and what others did stays.

use crate::bench::{Bench, code, ok};
use emendate::history::set_clock_ahead;
use emendate::{CallContext, FeedItem, FeedOptions};
use serde_json::json;
use std::time::Duration;

fn in_turn(bench: &Bench, turn: &str) -> CallContext {
    CallContext { turn: Some(turn.to_owned()), ..bench.caller.clone() }
}

fn edit(bench: &Bench, caller: &CallContext, old: &str, new: &str) {
    let input = json!({ "file_path": bench.path("a"), "old_string": old, "new_string": new });
    let reply = bench.engine.call(caller, "edit", input);
    assert_eq!(code(&reply), "ok", "{}", reply.text());
}

/// Ten lines, so that changes of different lines do not meet.
fn ten(changed: &[(usize, &str)]) -> String {
    let line =
        |nth| changed.iter().find(|(it, _)| *it == nth).map_or(format!("line {nth}"), |(_, new)| (*new).to_owned());
    (0..10).map(|nth| line(nth) + "\n").collect()
}

#[test]
fn undo_of_a_turn_takes_back_all_of_it() {
    let bench = Bench::new();
    bench.put("a", &ten(&[]));
    bench.read("a");
    let (first, second) = (in_turn(&bench, "1"), in_turn(&bench, "2"));
    edit(&bench, &first, "line 0", "zero");
    edit(&bench, &first, "line 2", "two");
    edit(&bench, &second, "line 4", "four");
    edit(&bench, &second, "line 6", "six");
    // The beginnings of turns are not listed.
    let reply = bench.call("history", json!({})).to_json();
    assert_eq!(reply["data"]["operations"].as_array().unwrap().len(), 4);
    ok(&bench.call("undo", json!({ "turn": true })));
    assert_eq!(bench.get("a"), ten(&[(0, "zero"), (2, "two")]));
    ok(&bench.call("undo", json!({ "turn": true })));
    assert_eq!(bench.get("a"), ten(&[]));
    assert_eq!(code(&bench.call("undo", json!({ "turn": true }))), "operation.not_found");
    ok(&bench.call("undo", json!({ "redo": true })));
    assert_eq!(bench.get("a"), ten(&[(0, "zero"), (2, "two")]));
    for wrong in [
        json!({ "turn": true, "id": "1" }),
        json!({ "turn": true, "since": "x" }),
        json!({ "since": "1", "redo": true }),
    ] {
        assert_eq!(code(&bench.call("undo", wrong)), "call.invalid");
    }
}

#[test]
fn a_client_begins_a_turn_and_without_turns_a_pause_ends_one() {
    let bench = Bench::new();
    bench.put("a", &ten(&[]));
    bench.read("a");
    ok(&bench.edit("a", "line 0", "zero"));
    bench.engine.history().begin_turn(&bench.caller.session).unwrap();
    // A turn of another session does not matter.
    ok(&bench.edit("a", "line 2", "two"));
    bench.engine.history().begin_turn("other").unwrap();
    ok(&bench.edit("a", "line 4", "four"));
    ok(&bench.call("undo", json!({ "turn": true })));
    assert_eq!(bench.get("a"), ten(&[(0, "zero")]));
    // Operations before the first turn are one turn: there was no pause.
    ok(&bench.call("undo", json!({ "turn": true })));
    assert_eq!(bench.get("a"), ten(&[]));
}

#[test]
fn rewind_keeps_what_others_did() {
    let bench = Bench::new();
    bench.put("a", &ten(&[]));
    bench.read("a");
    ok(&bench.edit("a", "line 0", "zero"));
    ok(&bench.call("mark", json!({ "name": "here" })));
    ok(&bench.edit("a", "line 2", "two"));
    bench.put("a", &ten(&[(0, "zero"), (2, "two"), (8, "outside")]));
    ok(&bench.edit("a", "line 4", "four"));
    ok(&bench.write("new", "text\n"));
    let dry = ok(&bench.call("rewind", json!({ "to": "here", "dry_run": true })));
    assert!(dry.contains("Would be undone"), "{dry}");
    let text = ok(&bench.call("rewind", json!({ "to": "here" })));
    assert!(
        text.contains("Changes by others since then were kept: operation ") && text.contains("(changed by others)"),
        "{text}"
    );
    assert_eq!(bench.get("a"), ten(&[(0, "zero"), (8, "outside")]));
    assert!(!bench.path("new").exists());
    assert_eq!(code(&bench.call("rewind", json!({ "to": "here" }))), "operation.not_found");
    // It is one operation, which can be undone.
    ok(&bench.call("undo", json!({ "redo": true })));
    assert_eq!(bench.get("a"), ten(&[(0, "zero"), (2, "two"), (4, "four"), (8, "outside")]));
    // The same lines changed by others: nothing is done.
    ok(&bench.call("rewind", json!({ "to": "here" })));
    ok(&bench.call("mark", json!({ "name": "here" })));
    bench.read("a");
    ok(&bench.edit("a", "line 6", "six"));
    bench.put("a", &ten(&[(0, "zero"), (6, "outside 6"), (8, "outside")]));
    let reply = bench.call("rewind", json!({ "to": "here" }));
    assert_eq!(code(&reply), "operation.conflict", "{}", reply.text());
    assert_eq!(bench.get("a"), ten(&[(0, "zero"), (6, "outside 6"), (8, "outside")]));
}

#[test]
fn rewind_restores_what_was_in_effect_at_the_moment() {
    let bench = Bench::new();
    bench.put("a", &ten(&[]));
    bench.read("a");
    ok(&bench.edit("a", "line 0", "zero"));
    ok(&bench.edit("a", "line 2", "two"));
    ok(&bench.call("undo", json!({})));
    ok(&bench.call("mark", json!({ "name": "m" })));
    let at_mark = bench.get("a");
    // Redone, undone, edited and undone since: all of it goes, and what was undone since is restored.
    ok(&bench.call("undo", json!({ "redo": true })));
    ok(&bench.call("undo", json!({ "id": "1" })));
    ok(&bench.edit("a", "line 4", "four"));
    ok(&bench.call("undo", json!({})));
    ok(&bench.edit("a", "line 6", "six"));
    assert_eq!(bench.get("a"), ten(&[(2, "two"), (6, "six")]));
    ok(&bench.call("undo", json!({ "since": "m" })));
    assert_eq!(bench.get("a"), at_mark);
}

#[test]
fn marks_name_moments_of_the_history() {
    let bench = Bench::new();
    bench.put("a", &ten(&[]));
    bench.read("a");
    for wrong in ["", "17", "17-3fa9", "a b", "a..b", "now", &"x".repeat(65)] {
        assert_eq!(code(&bench.call("mark", json!({ "name": wrong }))), "call.invalid", "{wrong}");
    }
    ok(&bench.call("mark", json!({ "name": "m" })));
    ok(&bench.edit("a", "line 0", "zero"));
    bench.put("a", &ten(&[(0, "zero"), (9, "nine")]));
    let text = ok(&bench.call("history", json!({ "id": "m", "to": "now" })));
    assert!(text.contains("+zero") && text.contains("+nine"), "{text}");
    let list = ok(&bench.call("history", json!({})));
    assert!(list.contains("  mark  m\n"), "{list}");
    assert_eq!(code(&bench.call("history", json!({ "id": "other", "to": "now" }))), "operation.not_found");
    assert_eq!(code(&bench.call("undo", json!({ "id": "1" }))), "edit.no_change");
    // The newest mark of a name counts, and an operation names a moment, too.
    ok(&bench.call("mark", json!({ "name": "m" })));
    assert!(ok(&bench.call("history", json!({ "id": "m", "to": "now" }))).starts_with("No file differs"));
    ok(&bench.call("undo", json!({ "since": "2^" })));
    assert_eq!(bench.get("a"), ten(&[(9, "nine")]));
}

#[test]
fn changes_of_shell_commands_are_taken_back_if_asked_for() {
    let bench = Bench::new();
    bench.put("a", "one\n");
    ok(&bench.call("snapshot", json!({})));
    ok(&bench.call("mark", json!({ "name": "m" })));
    bench.put("a", "two\n");
    let note = emendate::shell_command_note(&bench.caller.session);
    ok(&bench.call("snapshot", json!({ "note": note })));
    let reply = bench.call("rewind", json!({ "to": "m" }));
    assert_eq!(code(&reply), "operation.not_found");
    assert!(reply.text().contains("(during a shell command of this session)"), "{}", reply.text());
    ok(&bench.call("rewind", json!({ "to": "m", "shell": true })));
    assert_eq!(bench.get("a"), "one\n");
}

#[test]
fn history_gives_the_turn_of_each_operation() {
    let bench = Bench::new();
    bench.put("a", &ten(&[]));
    bench.read("a");
    let turns = || {
        let reply = bench.call("history", json!({})).to_json();
        let rows = reply["data"]["operations"].as_array().unwrap().clone();
        rows.iter().map(|row| (row["turn"].clone(), row["turnName"].clone(), row["id"].clone())).collect::<Vec<_>>()
    };
    // Without turns, those in a row belong together.
    ok(&bench.edit("a", "line 0", "zero"));
    ok(&bench.edit("a", "line 1", "one"));
    let by_pause = turns();
    assert_eq!((&by_pause[0].0, &by_pause[1].0), (&by_pause[1].2, &by_pause[1].2));
    edit(&bench, &in_turn(&bench, "first"), "line 2", "two");
    edit(&bench, &in_turn(&bench, "first"), "line 3", "three");
    edit(&bench, &in_turn(&bench, "second"), "line 4", "four");
    let named = turns();
    assert_eq!(named[3..], by_pause[..]);
    assert_eq!((&named[1].0, &named[1].1), (&named[2].0, &json!("first")));
    assert_eq!(named[0].1, "second");
    assert!(named.iter().all(|row| row.0.is_string()) && named[0].0 != named[1].0 && named[2].0 != named[3].0);
    // The feed says the same.
    let mut feed =
        bench.engine.history().follow(&FeedOptions { since: Some("0".to_owned()), ..FeedOptions::default() }).unwrap();
    let mut followed = Vec::new();
    while let Some(FeedItem::Operation(operation)) = feed.wait(Duration::ZERO).unwrap() {
        followed
            .insert(0, (operation.row["turn"].clone(), operation.row["turnName"].clone(), operation.row["id"].clone()));
    }
    assert_eq!(followed, named);
}

#[test]
fn undo_after_a_rewind_names_the_redo() {
    let bench = Bench::new();
    bench.put("a", &ten(&[]));
    bench.read("a");
    ok(&bench.call("mark", json!({ "name": "start" })));
    ok(&bench.edit("a", "line 0", "zero"));
    ok(&bench.call("rewind", json!({ "to": "start" })));
    let reply = bench.call("undo", json!({}));
    assert_eq!(code(&reply), "operation.not_found");
    assert!(reply.text().contains("took back what was done: a redo brings it back."), "{}", reply.text());
    ok(&bench.call("undo", json!({ "redo": true })));
    assert_eq!(bench.get("a"), ten(&[(0, "zero")]));
}

#[test]
fn pause_of_five_minutes_ends_a_turn_that_nobody_named() {
    let minutes = |count: u64| set_clock_ahead(Duration::from_secs(count * 60));
    let bench = Bench::new();
    bench.put("a", &ten(&[]));
    bench.read("a");
    ok(&bench.edit("a", "line 0", "zero"));
    minutes(6);
    ok(&bench.edit("a", "line 2", "two"));
    // A shorter pause belongs to the turn.
    minutes(10);
    ok(&bench.edit("a", "line 4", "four"));
    ok(&bench.call("undo", json!({ "turn": true })));
    assert_eq!(bench.get("a"), ten(&[(0, "zero")]));
    ok(&bench.call("undo", json!({ "turn": true })));
    assert_eq!(bench.get("a"), ten(&[]));
    minutes(0);
}

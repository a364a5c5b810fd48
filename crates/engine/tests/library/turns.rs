//! Turns and marks: what a session did since a moment is undone, and what others did stays.

use crate::fixture::{EngineFixture, code, ok};
use emendate::history::{now_micros, set_clock_ahead};
use emendate::{CallContext, FeedItem, FeedOptions};
use serde_json::json;
use std::time::Duration;

fn in_turn(fixture: &EngineFixture, turn: &str) -> CallContext {
    CallContext { turn: Some(turn.to_owned()), ..fixture.caller.clone() }
}

fn edit(fixture: &EngineFixture, caller: &CallContext, old: &str, new: &str) {
    let input = json!({ "file_path": fixture.path("a"), "old_string": old, "new_string": new });
    let reply = fixture.engine.call(caller, "edit", input);
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
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    let (first, second) = (in_turn(&fixture, "1"), in_turn(&fixture, "2"));
    edit(&fixture, &first, "line 0", "zero");
    edit(&fixture, &first, "line 2", "two");
    edit(&fixture, &second, "line 4", "four");
    edit(&fixture, &second, "line 6", "six");
    // The beginnings of turns are not listed.
    let reply = fixture.call("history", json!({})).to_json();
    assert_eq!(reply["data"]["operations"].as_array().unwrap().len(), 4);
    ok(&fixture.call("undo", json!({ "turn": true })));
    assert_eq!(fixture.get("a"), ten(&[(0, "zero"), (2, "two")]));
    ok(&fixture.call("undo", json!({ "turn": true })));
    assert_eq!(fixture.get("a"), ten(&[]));
    assert_eq!(code(&fixture.call("undo", json!({ "turn": true }))), "operation.not_found");
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!(fixture.get("a"), ten(&[(0, "zero"), (2, "two")]));
    for wrong in [
        json!({ "turn": true, "id": "1" }),
        json!({ "turn": true, "since": "x" }),
        json!({ "since": "1", "redo": true }),
    ] {
        assert_eq!(code(&fixture.call("undo", wrong)), "call.invalid");
    }
}

#[test]
fn a_client_begins_a_turn_and_without_turns_a_pause_ends_one() {
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    ok(&fixture.edit("a", "line 0", "zero"));
    fixture.engine.history().begin_turn(&fixture.caller.session).unwrap();
    // A turn of another session does not matter.
    ok(&fixture.edit("a", "line 2", "two"));
    fixture.engine.history().begin_turn("other").unwrap();
    ok(&fixture.edit("a", "line 4", "four"));
    ok(&fixture.call("undo", json!({ "turn": true })));
    assert_eq!(fixture.get("a"), ten(&[(0, "zero")]));
    // Operations before the first turn are one turn: there was no pause.
    ok(&fixture.call("undo", json!({ "turn": true })));
    assert_eq!(fixture.get("a"), ten(&[]));
}

#[test]
fn rewind_keeps_what_others_did() {
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    ok(&fixture.edit("a", "line 0", "zero"));
    ok(&fixture.call("mark", json!({ "name": "here" })));
    ok(&fixture.edit("a", "line 2", "two"));
    fixture.put("a", &ten(&[(0, "zero"), (2, "two"), (8, "outside")]));
    ok(&fixture.edit("a", "line 4", "four"));
    ok(&fixture.write("new", "text\n"));
    let dry = ok(&fixture.call("rewind", json!({ "to": "here", "dry_run": true })));
    assert!(dry.contains("Would be undone"), "{dry}");
    let text = ok(&fixture.call("rewind", json!({ "to": "here" })));
    assert!(
        text.contains("Changes by others since then were kept: operation ") && text.contains("(changed by others)"),
        "{text}"
    );
    assert_eq!(fixture.get("a"), ten(&[(0, "zero"), (8, "outside")]));
    assert!(!fixture.path("new").exists());
    assert_eq!(code(&fixture.call("rewind", json!({ "to": "here" }))), "operation.not_found");
    // It is one operation, which can be undone.
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!(fixture.get("a"), ten(&[(0, "zero"), (2, "two"), (4, "four"), (8, "outside")]));
    // The same lines changed by others: nothing is done.
    ok(&fixture.call("rewind", json!({ "to": "here" })));
    ok(&fixture.call("mark", json!({ "name": "here" })));
    fixture.read("a");
    ok(&fixture.edit("a", "line 6", "six"));
    fixture.put_read("a", &ten(&[(0, "zero"), (6, "outside 6"), (8, "outside")]));
    let reply = fixture.call("rewind", json!({ "to": "here" }));
    assert_eq!(code(&reply), "operation.conflict", "{}", reply.text());
    assert!(reply.text().contains("Changes by others since then would be kept: operation "), "{}", reply.text());
    assert_eq!(fixture.get("a"), ten(&[(0, "zero"), (6, "outside 6"), (8, "outside")]));
}

#[test]
fn rewind_restores_what_was_in_effect_at_the_moment() {
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    ok(&fixture.edit("a", "line 0", "zero"));
    ok(&fixture.edit("a", "line 2", "two"));
    ok(&fixture.call("undo", json!({})));
    ok(&fixture.call("mark", json!({ "name": "m" })));
    let at_mark = fixture.get("a");
    // Redone, undone, edited and undone since: all of it goes, and what was undone since is restored.
    ok(&fixture.call("undo", json!({ "redo": true })));
    ok(&fixture.call("undo", json!({ "id": "1" })));
    ok(&fixture.edit("a", "line 4", "four"));
    ok(&fixture.call("undo", json!({})));
    ok(&fixture.edit("a", "line 6", "six"));
    assert_eq!(fixture.get("a"), ten(&[(2, "two"), (6, "six")]));
    ok(&fixture.call("undo", json!({ "since": "m" })));
    assert_eq!(fixture.get("a"), at_mark);
}

#[test]
fn marks_name_moments_of_the_history() {
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    for wrong in ["", "17", "17-3fa9", "a b", "a..b", "now", &"x".repeat(65)] {
        assert_eq!(code(&fixture.call("mark", json!({ "name": wrong }))), "call.invalid", "{wrong}");
    }
    ok(&fixture.call("mark", json!({ "name": "m" })));
    ok(&fixture.edit("a", "line 0", "zero"));
    fixture.put("a", &ten(&[(0, "zero"), (9, "nine")]));
    let text = ok(&fixture.call("history", json!({ "id": "m", "to": "now" })));
    assert!(text.contains("+zero") && text.contains("+nine"), "{text}");
    let list = ok(&fixture.call("history", json!({})));
    assert!(list.contains("  mark  m\n"), "{list}");
    assert_eq!(code(&fixture.call("history", json!({ "id": "other", "to": "now" }))), "operation.not_found");
    assert_eq!(code(&fixture.call("undo", json!({ "id": "1" }))), "edit.no_change");
    // The newest mark of a name counts, and an operation names a moment, too.
    ok(&fixture.call("mark", json!({ "name": "m" })));
    assert!(ok(&fixture.call("history", json!({ "id": "m", "to": "now" }))).starts_with("No file differs"));
    ok(&fixture.call("undo", json!({ "since": "2^" })));
    assert_eq!(fixture.get("a"), ten(&[(9, "nine")]));
}

#[test]
fn changes_of_shell_commands_are_taken_back_if_asked_for() {
    let fixture = EngineFixture::with("a", "one\n");
    ok(&fixture.call("snapshot", json!({})));
    ok(&fixture.call("mark", json!({ "name": "m" })));
    fixture.put("a", "two\n");
    let caller = CallContext { shell_of: Some(fixture.caller.session.clone()), ..fixture.caller.clone() };
    ok(&fixture.engine.call(&caller, "snapshot", json!({})));
    let reply = fixture.call("rewind", json!({ "to": "m" }));
    assert_eq!(code(&reply), "operation.not_found");
    assert!(reply.text().contains("(during a shell command of this session)"), "{}", reply.text());
    ok(&fixture.call("rewind", json!({ "to": "m", "shell": true })));
    assert_eq!(fixture.get("a"), "one\n");
}

#[test]
fn note_of_a_snapshot_does_not_make_a_change_the_own_one() {
    let fixture = EngineFixture::with("a", "one\n");
    ok(&fixture.call("snapshot", json!({})));
    ok(&fixture.call("mark", json!({ "name": "m" })));
    fixture.put("a", "two\n");
    ok(&fixture.call("snapshot", json!({ "note": format!("during a shell command of {}", fixture.caller.session) })));
    assert_eq!(code(&fixture.call("rewind", json!({ "to": "m", "shell": true }))), "operation.not_found");
    assert_eq!(fixture.get("a"), "two\n");
}

#[test]
fn history_gives_the_turn_of_each_operation() {
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    let turns = || {
        let reply = fixture.call("history", json!({})).to_json();
        let rows = reply["data"]["operations"].as_array().unwrap().clone();
        rows.iter().map(|row| (row["turn"].clone(), row["turnName"].clone(), row["id"].clone())).collect::<Vec<_>>()
    };
    // Without turns, those in a row belong together.
    ok(&fixture.edit("a", "line 0", "zero"));
    ok(&fixture.edit("a", "line 1", "one"));
    let by_pause = turns();
    assert_eq!((&by_pause[0].0, &by_pause[1].0), (&by_pause[1].2, &by_pause[1].2));
    edit(&fixture, &in_turn(&fixture, "first"), "line 2", "two");
    edit(&fixture, &in_turn(&fixture, "first"), "line 3", "three");
    edit(&fixture, &in_turn(&fixture, "second"), "line 4", "four");
    let named = turns();
    assert_eq!(named[3..], by_pause[..]);
    assert_eq!((&named[1].0, &named[1].1), (&named[2].0, &json!("first")));
    assert_eq!(named[0].1, "second");
    assert!(named.iter().all(|row| row.0.is_string()) && named[0].0 != named[1].0 && named[2].0 != named[3].0);
    // The feed says the same.
    let mut feed = fixture
        .engine
        .history()
        .follow(&FeedOptions { since: Some("0".to_owned()), ..FeedOptions::default() })
        .unwrap();
    let mut followed = Vec::new();
    while let Some(FeedItem::Operation(operation)) = feed.wait(Duration::ZERO).unwrap() {
        followed
            .insert(0, (operation.row["turn"].clone(), operation.row["turnName"].clone(), operation.row["id"].clone()));
    }
    assert_eq!(followed, named);
}

#[test]
fn undo_after_a_rewind_names_the_redo() {
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    ok(&fixture.call("mark", json!({ "name": "start" })));
    ok(&fixture.edit("a", "line 0", "zero"));
    ok(&fixture.call("rewind", json!({ "to": "start" })));
    let reply = fixture.call("undo", json!({}));
    assert_eq!(code(&reply), "operation.not_found");
    assert!(reply.text().contains("took back what was done: a redo brings it back."), "{}", reply.text());
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!(fixture.get("a"), ten(&[(0, "zero")]));
}

#[test]
fn pause_of_five_minutes_ends_a_turn_that_nobody_named() {
    let minutes = |count: u64| set_clock_ahead(Duration::from_secs(count * 60));
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    ok(&fixture.edit("a", "line 0", "zero"));
    minutes(6);
    ok(&fixture.edit("a", "line 2", "two"));
    // A shorter pause belongs to the turn.
    minutes(10);
    ok(&fixture.edit("a", "line 4", "four"));
    ok(&fixture.call("undo", json!({ "turn": true })));
    assert_eq!(fixture.get("a"), ten(&[(0, "zero")]));
    ok(&fixture.call("undo", json!({ "turn": true })));
    assert_eq!(fixture.get("a"), ten(&[]));
    minutes(0);
}

/// A clock that was slow for one operation, or was set back since, hides no other one.
#[test]
fn history_since_a_moment_has_operations_beside_a_slow_clock() {
    let minutes = |count: u64| set_clock_ahead(Duration::from_secs(count * 60));
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    minutes(600);
    ok(&fixture.edit("a", "line 0", "zero"));
    ok(&fixture.edit("a", "line 2", "two"));
    ok(&fixture.edit("a", "line 4", "four"));
    minutes(0);
    ok(&fixture.edit("a", "line 6", "six"));
    minutes(600);
    ok(&fixture.edit("a", "line 8", "eight"));
    minutes(0);
    let since = chrono::DateTime::from_timestamp_micros(now_micros() + 500 * 60_000_000).unwrap();
    let history = |more: serde_json::Value| {
        let mut input = json!({ "since": since.to_rfc3339(), "limit": 3 });
        input.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let reply = fixture.call("history", input);
        ok(&reply);
        let data = &reply.to_json()["data"];
        let rows = data["operations"].as_array().unwrap();
        let numbers: Vec<String> = rows.iter().map(|row| row["id"].as_str().unwrap()[..1].to_owned()).collect();
        (numbers, data.get("next").cloned())
    };
    let (numbers, next) = history(json!({}));
    assert_eq!(numbers, ["5", "3", "2"]);
    let (numbers, next) = history(json!({ "from": next.unwrap() }));
    assert_eq!((&*numbers, next), (&["1".to_owned()][..], None));
}

/// A clock that was set back hides no operation, however many there were since.
#[test]
fn history_since_a_moment_has_operations_behind_the_newest_thousand() {
    let ahead = |minutes: u64| set_clock_ahead(Duration::from_secs(minutes * 60));
    let fixture = EngineFixture::with_read("a", &ten(&[]));
    ahead(600);
    ok(&fixture.edit("a", "line 0", "zero"));
    ahead(0);
    for nth in 0..1001 {
        let (old, new) = if nth % 2 == 0 { ("line 4", "four") } else { ("four", "line 4") };
        ok(&fixture.edit("a", old, new));
    }
    let since = chrono::DateTime::from_timestamp_micros(now_micros() + 500 * 60_000_000).unwrap().to_rfc3339();
    let reply = fixture.call("history", json!({ "since": since })).to_json();
    let rows = reply["data"]["operations"].as_array().unwrap();
    assert!(rows.len() == 1 && rows[0]["id"].as_str().unwrap().starts_with("1-"), "{rows:#?}");
    let last = ok(&fixture.call("history", json!({ "since": since, "id": "last" })));
    assert!(last.contains("zero"), "{last}");
}

//! One replacement in many files: all of them or none, even with cancellation or concurrent changes.

use crate::fixture::{EngineFixture, code, ok};
use emendate::{CallHandle, CallPhase, Config, Progress, UnreadPolicy};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;

fn replace(fixture: &EngineFixture, mut input: Value) -> emendate::Reply {
    if input.get("path").is_none() {
        input["path"] = json!(fixture.root);
    }
    fixture.call("replace_in_files", input)
}

fn words(fixture: &EngineFixture) -> emendate::Reply {
    replace(fixture, json!({ "old_string": "old", "new_string": "new" }))
}

#[test]
fn cancelled_call_writes_nothing() {
    let mut fixture = EngineFixture::trusted(Config::default());
    (0..100).for_each(|nth| drop(fixture.put(format!("f{nth}"), "old\n")));
    let watch = CallHandle::default();
    fixture.caller.handle = Some(watch.clone());
    watch.stop();
    let reply = words(&fixture);
    assert_eq!(code(&reply), "call.cancelled", "{}", reply.text());
    assert!((0..100).all(|nth| fixture.get(format!("f{nth}")) == "old\n"));
    // Any other call also stops before it writes.
    assert_eq!(code(&fixture.edit("f1", "old", "new")), "call.cancelled");
    assert_eq!(fixture.get("f1"), "old\n");
    let watch = CallHandle::default();
    fixture.caller.handle = Some(watch.clone());
    ok(&words(&fixture));
    assert_eq!(watch.progress(), Progress { step: CallPhase::Writing, done: 100, of: 100, before: 200 });
    assert!((0..100).all(|nth| fixture.get(format!("f{nth}")) == "new\n"));
}

/// The library reads to the end of the text for each match of this expression.
#[test]
fn quadratic_expression_ends_with_the_budget() {
    let config = Config::default().with_file("[policy]\nmax_work = 10000000\n", "test", true).unwrap();
    let fixture = EngineFixture::trusted(config);
    fixture.put("a", &"a".repeat(300_000));
    for tool in ["replace_in_files", "search"] {
        let mut input = json!({ "path": fixture.root, "pattern": "a[^b]*b|a", "multiline": true });
        if tool == "replace_in_files" {
            input["regex"] = json!(true);
            input["new_string"] = json!("c");
            let reply = fixture.call(tool, input);
            assert_eq!(code(&reply), "call.too_much_work", "{}", reply.text());
        } else {
            // All matches are on one line, and a search stops looking at a line early.
            ok(&fixture.call(tool, input));
        }
    }
    assert_eq!(fixture.get("a"), "a".repeat(300_000));
}

/// A tag counts as proof that its version was read.
#[test]
fn only_files_that_were_read_get_tags() {
    let fixture = EngineFixture::trusted(Config::default());
    let path = fixture.put("a.rs", "fn old() {}\n");
    let tag = |reply: emendate::Reply| reply.to_json()["data"]["files"][0]["tag"].clone();
    assert_eq!(tag(words(&fixture)), Value::Null);
    let outline = fixture.call("outline", json!({ "file_path": path })).to_json();
    assert_eq!((&outline["data"]["language"], &outline["data"]["tag"]), (&json!("rust"), &Value::Null));
    ok(&fixture.call("read", json!({ "file_path": path })));
    assert!(tag(replace(&fixture, json!({ "old_string": "new", "new_string": "newer" }))).is_string());
}

#[test]
fn empty_matches_are_between_characters() {
    let fixture = EngineFixture::trusted(Config::default());
    fixture.put("a", "éxé\n");
    ok(&replace(&fixture, json!({ "pattern": "x*", "regex": true, "new_string": "-" })));
    assert_eq!(fixture.get("a"), "-é-é-\n");
}

#[test]
fn unwritable_file_prevents_the_whole_replacement() {
    let fixture = EngineFixture::trusted(Config::default());
    (0..40).for_each(|nth| drop(fixture.put(format!("f{nth:02}"), "old\n")));
    // Latin-1 cannot represent the new text.
    fs::write(fixture.path("f20"), b"old caf\xe9\n").unwrap();
    let reply = replace(&fixture, json!({ "old_string": "old", "new_string": "→" }));
    assert_eq!(code(&reply), "content.unencodable", "{}", reply.text());
    assert!(reply.text().contains("f20"), "{}", reply.text());
    assert!((0..40).filter(|nth| *nth != 20).all(|nth| fixture.get(format!("f{nth:02}")) == "old\n"));
}

#[cfg(unix)]
#[test]
fn modes_and_hard_links_are_kept() {
    let fixture = EngineFixture::trusted(Config::default());
    let file = fixture.put("a", "old\n");
    crate::fixture::set_mode(&file, 0o755);
    fs::hard_link(&file, fixture.path("b")).unwrap();
    let reply = words(&fixture);
    assert!(ok(&reply).starts_with("Replaced 1 place in 1 file."), "{}", reply.text());
    assert_eq!((fixture.get("a"), fixture.get("b")), ("new\n".to_owned(), "new\n".to_owned()));
    assert_eq!(crate::fixture::mode_of(&file), 0o755);
}

#[test]
fn replacement_keeps_read_records_and_adds_none() {
    let mut fixture = EngineFixture::with("read", "old\nend\n");
    fixture.put("unread", "old\nend\n");
    fixture.put("stale", "old\nend\n");
    ok(&fixture.read("read"));
    ok(&fixture.read("stale"));
    fixture.put("stale", "old\nend of it\n");
    ok(&replace(&fixture, json!({ "old_string": "old", "new_string": "new", "expected": 3 })));
    ok(&fixture.edit("read", "end", "END"));
    assert_eq!(code(&fixture.edit("unread", "end", "END")), "read.required");
    assert_ne!(code(&fixture.edit("stale", "end\n", "END\n")), "ok", "another program changed that line");
    fixture.caller.unread = UnreadPolicy::Allow;
    ok(&fixture.call("undo", json!({ "any_session": true })));
}

#[test]
fn one_undo_restores_many_files() {
    let fixture = EngineFixture::trusted(Config::default());
    let text = |nth: usize| format!("a\nold {nth} old\nb\n").repeat(nth % 7 + 1);
    (0..300).for_each(|nth| drop(fixture.put(format!("d{}/f{nth}", nth % 9), &text(nth))));
    ok(&words(&fixture));
    assert!((0..300).all(|nth| fixture.get(format!("d{}/f{nth}", nth % 9)) == text(nth).replace("old", "new")));
    ok(&fixture.call("undo", json!({})));
    assert!((0..300).all(|nth| fixture.get(format!("d{}/f{nth}", nth % 9)) == text(nth)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A pattern has the effect of `str::replace` in every file, and a dry run reports the same numbers.
    #[test]
    fn files_equal_the_result_of_plain_replacement(
        texts in prop::collection::vec("(old|ol|d|é|\n|\r\n| ){0,12}", 1..8),
        regex: bool,
    ) {
        let fixture = EngineFixture::trusted(Config::default());
        for (nth, text) in texts.iter().enumerate() {
            fixture.put(format!("f{nth}"), text);
        }
        let key = if regex { "pattern" } else { "old_string" };
        let input = |dry_run: bool| json!({ key: "old", "new_string": "né", "regex": regex, "dry_run": dry_run });
        let (trial, reply) = (replace(&fixture, input(true)), replace(&fixture, input(false)));
        let count: usize = texts.iter().map(|text| text.matches("old").count()).sum();
        prop_assert_eq!(code(&reply), if count == 0 { "match.not_found" } else { "ok" });
        if let (Ok(trial), Ok(reply)) = (&trial.result, &reply.result) {
            prop_assert_eq!(&trial.data["replacements"], &json!(count));
            prop_assert_eq!(&reply.data["replacements"], &json!(count));
        }
        for (nth, text) in texts.iter().enumerate() {
            prop_assert_eq!(fixture.get(format!("f{nth}")), text.replace("old", "né"));
        }
    }
}

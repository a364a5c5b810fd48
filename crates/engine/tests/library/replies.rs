//! The limits on replies, with inputs that would make each tool's reply large.

use crate::fixture::EngineFixture;
use emendate::{CallContext, Config, REPLY_DATA_BYTES_MAX, REPLY_TEXT_CHARS_MAX, Reply, ReplyLimits};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The reply as programs get it, after checking its size.
#[track_caller]
fn bounded(reply: &Reply) -> Value {
    within(reply, REPLY_TEXT_CHARS_MAX, REPLY_DATA_BYTES_MAX)
}

#[track_caller]
fn within(reply: &Reply, text: usize, data: usize) -> Value {
    let chars = reply.text().chars().count();
    assert!(chars <= text, "{chars} characters: {:.2000}", reply.text());
    let json = reply.to_json();
    let bytes = json["data"].to_string().len();
    assert!(bytes <= data, "{bytes} bytes: {:.2000}", json["data"].to_string());
    json
}

#[track_caller]
fn ok(reply: &Reply) -> Value {
    assert!(reply.result.is_ok(), "{}", reply.text());
    bounded(reply)
}

#[test]
fn edit_of_a_long_line_shows_its_surroundings() {
    let mut fixture = EngineFixture::trusted(Config::default());
    let half = "abcdefgh ".repeat(30_000);
    fixture.put("long", &format!("first\n{half}NEEDLE{half}\nlast\n"));
    fixture.caller.original_file = true;
    let reply = ok(&fixture.edit("long", "NEEDLE", "THREAD"));
    let patch = &reply["data"]["structuredPatch"][0];
    let lines: Vec<&str> = patch["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert_eq!((lines.len(), lines[0], lines[3]), (4, " first", " last"));
    for (line, word) in [(lines[1], "NEEDLE"), (lines[2], "THREAD")] {
        assert!(line.contains(word) && line.contains("⟪269750 characters⟫") && line.len() < 1200, "{line}");
    }
    let text = reply["text"].as_str().unwrap();
    assert!(text.contains("THREAD") && text.len() < 2000, "{text}");
    assert_eq!(reply["data"]["originalFileOmitted"], true);
    // The other tools that show a change of it.
    ok(&fixture.call_on("long", "edit", json!({ "old_string": "THREAD", "new_string": "x", "dry_run": true })));
    ok(&fixture.call("history", json!({ "id": "last" })));
    ok(&fixture.call("undo", json!({})));
    ok(&fixture.call(
        "replace_in_files",
        json!({ "path": fixture.root, "old_string": "NEEDLE", "new_string": "x", "dry_run": true }),
    ));
    let found = ok(&fixture.call("search", json!({ "path": fixture.root, "pattern": "NEEDLE|first" })));
    assert_eq!(found["data"]["files"][0]["hits"], json!([1, 2]));
    bounded(&fixture.edit("long", &half[..100_000], "x"));
    bounded(&fixture.edit("long", "abcdefgh ", "x"));
}

/// Returns a field's entry in the list of omitted fields.
#[track_caller]
fn omitted<'r>(reply: &'r Value, field: &str) -> &'r Value {
    let omitted = &reply["data"]["omitted"];
    assert!(omitted["next"].as_str().is_some_and(|next| !next.is_empty()), "{omitted}");
    let fields = omitted["fields"].as_array().unwrap();
    let entry = fields.iter().find(|it| it["field"] == field);
    assert!(entry.is_some(), "{field}: {omitted}");
    entry.unwrap()
}

#[test]
fn lines_omitted_from_a_diff_are_reported() {
    let fixture = EngineFixture::trusted(Config::default());
    let lines = |word: &str| (0..4_000).map(|nth| format!("{word} line {nth} of the file\n")).collect::<String>();
    fixture.put("a", &lines("old"));
    fixture.put("b", "one\n");
    let held = |patch: &Value| {
        let hunks = patch.as_array().unwrap().iter();
        hunks.map(|hunk| hunk["lines"].as_array().unwrap().len()).sum::<usize>()
    };
    let check = |reply: &Value, field: &str, patch: &Value| {
        let entry = omitted(reply, field);
        assert_eq!((&entry["of"], &entry["unit"]), (&json!(8_000), &json!("lines")), "{entry}");
        assert_eq!(entry["shown"], json!(held(patch)), "{entry}");
        assert!(held(patch) < 8_000);
    };
    let written = ok(&fixture.call_on("a", "write", json!({ "content": lines("new") })));
    check(&written, "structuredPatch", &written["data"]["structuredPatch"]);
    let shown = ok(&fixture.call("history", json!({ "id": "last" })));
    check(&shown, "files[0].structuredPatch", &shown["data"]["files"][0]["structuredPatch"]);
    let text = shown["text"].as_str().unwrap();
    assert!(text.contains(" of 8000 lines of the diff are not shown)"), "{text}");
    let edits: Vec<Value> = (0..150)
        .map(|nth| json!({ "old_string": format!("new line {nth} of"), "new_string": format!("LINE {nth} of") }))
        .collect();
    let edited = ok(&fixture.call_on("a", "multi_edit", json!({ "edits": edits })));
    let entry = omitted(&edited, "edits.structuredPatch");
    assert_eq!((&entry["shown"], &entry["of"]), (&json!(100), &json!(150)), "{entry}");
    assert_eq!(edited["data"]["edits"][99]["structuredPatch"].as_array().map(Vec::len), Some(1));
    // A small change has no such list.
    assert!(ok(&fixture.edit("b", "one", "two"))["data"].get("omitted").is_none());
}

#[test]
fn omitted_lines_do_not_count_as_seen() {
    let fixture = EngineFixture::new();
    let long = "x".repeat(5_000);
    fixture.put("a", &format!("one\n{long}\ntwo\nthree\n"));
    let read = |offset: usize| fixture.call_on("a", "read", json!({ "offset": offset, "limit": 1 }));
    assert!(read(3).result.is_ok());
    assert!(fixture.edit("a", "two", "2").result.is_ok());
    // The reply showed line 4 below the change, and nothing or a part of the lines above it.
    let error = fixture.call_on("a", "write", json!({ "content": "all" })).result.unwrap_err();
    assert_eq!((error.code().as_str(), &error.data()["missing"]), ("read.partial", &json!([[1, 2]])));
}

#[test]
fn many_edits_of_one_line_have_a_bounded_reply() {
    let fixture = EngineFixture::trusted(Config::default());
    let cell = |nth: usize| {
        format!(r#"{{"cell_type":"code","id":"c{nth}","metadata":{{}},"outputs":[],"source":["{}"]}}"#, "y".repeat(400))
    };
    let cells: Vec<String> = (0..600).map(cell).collect();
    let text = format!(r#"{{"cells":[{}],"metadata":{{}},"nbformat":4,"nbformat_minor":5}}"#, cells.join(","));
    fixture.put("a.ipynb", &text);
    let edits: Vec<Value> =
        (0..600).map(|nth| json!({ "cell_number": nth, "new_source": format!("x = {nth}") })).collect();
    let path = fixture.path("a.ipynb");
    let reply = ok(&fixture.call("notebook_edit", json!({ "notebook_path": path, "edits": edits })));
    let omitted = &reply["data"]["omitted"];
    assert!(
        omitted["fields"].as_array().unwrap().iter().any(|it| it["field"] == "edits" && it["of"] == 600),
        "{omitted}"
    );
    assert!(omitted["next"].as_str().unwrap().contains("offset and limit"));
    let many: String = (0..2_000).map(|nth| format!("v{nth};")).collect();
    fixture.put("many", &many);
    let edits: Vec<Value> =
        (0..1_500).map(|nth| json!({ "old_string": format!("v{nth};"), "new_string": "w" })).collect();
    ok(&fixture.call_on("many", "multi_edit", json!({ "edits": edits })));
}

#[test]
fn long_input_is_not_repeated_in_the_reply() {
    let fixture = EngineFixture::trusted(Config::default());
    fixture.put("a", &format!("alpha\n{}\n", "b".repeat(30_000)));
    let big = "q".repeat(300_000);
    let numbered: String = (1..5_000).fold(String::new(), |mut out, nth| {
        let _ = writeln!(out, "{nth}\tsome line of text number {nth}");
        out
    });
    for old in [&*big, &numbered, &format!("alpha\n{}c\n", "b".repeat(30_000))] {
        let reply = bounded(&fixture.edit("a", old, "x"));
        assert_eq!(reply["code"], "match.not_found");
    }
    for input in [
        json!({ "file_path": big }),
        json!({ "file_path": fixture.path("a"), big.clone(): 1 }),
        json!({ "file_path": fixture.path("a"), "on_stale": big }),
        json!({ "file_path": fixture.path("a"), "tag": big }),
        json!({ "path": fixture.root, "pattern": format!("({big}") }),
        json!({ "input": big, "id": big, "to": big, "paths": [big], "symbol": big }),
    ] {
        for tool in emendate::TOOLS {
            bounded(&fixture.call(tool.name, input.clone()));
        }
    }
    bounded(&fixture.call(&big, json!({})));
    bounded(&fixture.engine.call_json(&fixture.caller, "read", &format!("{{\"{big}\": 1}}")));
    let edits: Vec<Value> =
        (0..200).map(|nth| json!({ "old_string": format!("none {nth}"), "new_string": "w" })).collect();
    let reply = bounded(&fixture.call_on("a", "multi_edit", json!({ "edits": edits })));
    assert_eq!(reply["data"]["errors"][0]["code"], "match.not_found");
}

#[test]
fn calls_on_many_files_have_bounded_replies() {
    let fixture = EngineFixture::trusted(Config::default());
    let mut patch = "*** Begin Patch\n".to_owned();
    for nth in 0..400 {
        let _ = writeln!(
            patch,
            "*** Add File: a-file-with-a-rather-long-name-for-the-reply-{nth}.txt\n+{}",
            "word ".repeat(60)
        );
    }
    patch.push_str("*** End Patch\n");
    let made = ok(&fixture.call("apply", json!({ "input": patch, "directory": fixture.root })));
    let listed = made["text"].as_str().unwrap();
    assert!(listed.contains("300 more files") && listed.len() < 25_000, "{listed}");
    let omitted = &made["data"]["omitted"]["fields"];
    assert!(omitted.as_array().unwrap().iter().any(|it| it["field"] == "files" && it["of"] == 400), "{omitted}");
    ok(&fixture.call("history", json!({ "id": "last" })));
    ok(&fixture.call("history", json!({})));
    ok(&fixture.call(
        "replace_in_files",
        json!({ "path": fixture.root, "old_string": "word", "new_string": "w", "expected": 24_000 }),
    ));
    let found = ok(&fixture.call("search", json!({ "path": fixture.root, "pattern": "w", "limit": 2000 })));
    assert_eq!(found["data"]["truncated"], true);
    ok(&fixture.call("text_editor", json!({ "command": "view", "path": fixture.root })));
    ok(&fixture.call("undo", json!({ "last": 2 })));
}

#[test]
fn read_only_tools_have_bounded_replies() {
    let fixture = EngineFixture::trusted(Config::default());
    let code: String = (0..500).fold(String::new(), |mut out, nth| {
        let _ = writeln!(out, "fn {}{nth}() {{}}", "name_".repeat(200));
        out
    });
    fixture.put("a.rs", &code);
    fixture.put("bad.rs", &"fn (((\n".repeat(300));
    ok(&fixture.call("outline", json!({ "file_path": fixture.path("a.rs") })));
    ok(&fixture.call("check", json!({ "paths": [fixture.path("bad.rs")] })));
    // A part of a change is another change.
    let diff = |lines: usize| format!("--- /dev/null\n+++ b/new\n@@ -0,0 +1,{lines} @@\n{}", "+line\n".repeat(lines));
    let convert = |lines: usize| {
        fixture.call("convert", json!({ "input": diff(lines), "to": "apply_patch", "directory": fixture.root }))
    };
    ok(&convert(100));
    let error = bounded(&convert(10_000));
    assert_eq!(error["code"], "read.too_large", "{error}");
}

#[test]
fn history_is_listed_page_by_page() {
    let fixture = EngineFixture::trusted(Config::default());
    for nth in 0..400 {
        assert!(
            fixture.call("write", json!({ "file_path": fixture.path("a"), "content": nth.to_string() })).result.is_ok()
        );
    }
    let (mut from, mut seen) = (Value::Null, Vec::new());
    loop {
        let mut input = json!({ "limit": 100_000 });
        if from.is_string() {
            input["from"] = from;
        }
        let page = ok(&fixture.call("history", input));
        seen.extend(page["data"]["operations"].as_array().unwrap().iter().map(|it| it["id"].clone()));
        from = page["data"]["next"].clone();
        let Some(next) = from.as_str() else { break };
        assert!(page["text"].as_str().unwrap().contains(&format!("continue with from \"{next}\"")));
    }
    assert_eq!(seen.len(), 400);
    seen.dedup();
    assert_eq!(seen.len(), 400);
}

#[test]
fn reply_limits_are_configurable() {
    let text = "[reply]\ntext = 1000\ndata = 4096\nread = 2000\n";
    let fixture = EngineFixture::trusted(Config::default().with_file(text, "user", true).unwrap());
    let edits: Vec<Value> =
        (0..99).map(|nth| json!({ "old_string": format!("line {nth};"), "new_string": "x" })).collect();
    fixture.put("a", &(0..99).map(|nth| format!("line {nth};\n")).collect::<String>());
    within(&fixture.call_on("a", "multi_edit", json!({ "edits": edits })), 1000, 4096);
    fixture.put("wide", &"x".repeat(1900).lines().map(|line| format!("{line}\n{line}\n")).collect::<String>());
    assert_eq!(fixture.read("wide").result.unwrap_err().code().as_str(), "read.too_large");
    within(&fixture.call("search", json!({ "path": fixture.root, "pattern": "x" })), 1000, 4096);
    // A person at a terminal has no such limits.
    let person = CallContext { person_reads: true, ..fixture.caller.clone() };
    assert!(
        fixture.engine.call(&person, "search", json!({ "path": fixture.root, "pattern": "x" })).text().len() > 3000
    );
    // A project can lower the limits, not raise them.
    let project =
        |text: &str| Config::default().with_file(text, "emend.toml", false).map(|config| config.reply_limits());
    assert_eq!(project("[reply]\ntext = 1000000\ndata = 1000000000\n").unwrap(), ReplyLimits::default());
    assert_eq!(project("[reply]\ntext = 2000\n").unwrap().text, 2000);
    assert!(project("[reply]\ntext = 1\n").unwrap_err().to_string().contains("less than 1000"));
}

#[test]
fn stale_reply_has_both_times_and_their_difference() {
    let fixture = EngineFixture::with("a.txt", "one\ntwo\n");
    fixture.read("a.txt").result.unwrap();
    let path = fixture.root.join("a.txt");
    let seen = std::fs::metadata(&path).unwrap().modified().unwrap();
    fixture.put("a.txt", "one\nTWO\n");
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(seen + std::time::Duration::from_millis(90_500)).unwrap();
    let error = fixture.edit("a.txt", "two", "2").result.unwrap_err();
    assert_eq!(error.data()["difference"], "90500ms", "{error}");
    assert!(error.data().contains_key("cachedTime") && error.data().contains_key("currentTime"), "{error}");
}

#[test]
fn replies_in_every_line_format_fit_the_output_schema() {
    let formats = ["numbered", "plain", "hashline", "hashline_put", "anchors", "anchors_tab"];
    for (nth, marks) in formats.into_iter().enumerate() {
        let fixture = EngineFixture::trusted(Config::default());
        fixture.put("a.txt", "one\ntwo\nthree\n");
        let path = fixture.root.join("a.txt");
        let edits = json!([{ "old_string": "one", "new_string": "1" }, { "old_string": "two", "new_string": "2" }]);
        for (tool, input) in [
            ("edit", json!({ "file_path": path, "old_string": "three", "new_string": "3", "marks": marks })),
            ("multi_edit", json!({ "file_path": path, "edits": edits, "marks": marks })),
            ("write", json!({ "file_path": path, "content": format!("{nth}\n"), "marks": marks })),
            ("undo", json!({})),
        ] {
            let reply = ok(&fixture.call(tool, input));
            let row = emendate::tool(tool).unwrap();
            let schema = Value::Object(row.output_schema());
            let fits = jsonschema::validator_for(&schema).unwrap();
            let errors: Vec<String> = fits.iter_errors(&reply).map(|error| error.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new(), "{tool} {marks}");
            let listed = &schema["properties"]["data"]["properties"];
            let unlisted = reply["data"].as_object().unwrap().keys().find(|name| listed.get(name.as_str()).is_none());
            assert_eq!(unlisted, None, "{tool} {marks}");
        }
    }
}

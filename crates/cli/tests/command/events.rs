//! Tests the records of calls: the counters of `emend stats`, and the lines of `[events]`.

use crate::workspace::{TestWorkspace, feed};
use serde_json::{Value, json};
use std::fs;

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn config(workspace: &TestWorkspace, text: &str) {
    let folder = workspace.beside("home/.config/emendate");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

#[test]
fn calls_are_counted() {
    let workspace = TestWorkspace::with("one\ntwo\n");
    assert!(workspace.run(&["stats"]).exits(0).out.contains("No calls in 7 days"));
    workspace.run(&["read", "a.txt"]).exits(0);
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "1", "--model", "m-1"]).exits(0);
    workspace.run(&["edit", "a.txt", "--old", "gone", "--new", "x", "--model", "m-1"]).exits(10);
    workspace.feed(&["apply"], "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n").exits(0);
    workspace.call("no such tool", &json!({})).exits(2);
    let data = workspace.run(&["stats", "--json"]).exits(0).json()["data"].take();
    let row = |table: &str, name: &str| {
        let row = data[table].as_array().unwrap().iter().find(|row| row["name"] == name);
        row.map(|row| (row["calls"].as_u64().unwrap(), row["ok"].as_u64().unwrap()))
    };
    assert_eq!((&data["total"]["calls"], &data["total"]["failed"]), (&5.into(), &2.into()), "{data}");
    assert_eq!(
        (row("tool", "edit"), row("tool", "read"), row("tool", "unknown")),
        (Some((2, 1)), Some((1, 1)), Some((1, 0)))
    );
    assert_eq!((row("format", "replace"), row("format", "search_replace")), (Some((2, 1)), Some((1, 1))));
    assert_eq!(row("model", "m-1"), Some((2, 1)));
    // The cost of a call in a format: the block has 46 bytes, at four bytes per token, and the directory's name adds
    // more.
    let blocks = data["format"].as_array().unwrap().iter().find(|row| row["name"] == "search_replace").unwrap();
    assert!(blocks["mean_tokens_in"].as_u64() >= Some(12), "{data}");
    assert!(blocks["mean_tokens_out"].as_u64() > Some(5), "{data}");
    assert_eq!((row("code", "match.not_found"), row("transport", "call")), (Some((1, 0)), Some((1, 0))));
    assert_eq!(row("door", "call"), row("transport", "call"), "`door` is the name up to version 0.1");
    assert_eq!(row("tier", "0"), Some((2, 2)), "failed edits have no tier");
    let page = workspace.run(&["stats", "--by", "tool", "--hours", "2"]).exits(0).out;
    assert!(
        page.contains("2 hours: 5 calls, 60.0 % succeeded") && page.contains("edit") && !page.contains("m-1"),
        "{page}"
    );
    assert!(page.contains("tokens in") && page.contains("one for each 4 bytes"), "{page}");
    workspace.run(&["stats", "--by", "weather"]).exits(2);
    workspace.run(&["stats", "--state", "none"]).exits(2);
    let kept = fs::read_to_string(workspace.beside("state/counts")).unwrap();
    assert!(!kept.contains("a.txt") && !kept.contains("no such tool"), "{kept}");
}

#[test]
fn only_the_user_can_switch_counting_off() {
    let workspace = TestWorkspace::with("a\n");
    workspace.put("emend.toml", "[events]\ncounts = false\nfile = '/tmp/emend-must-not-be'\npaths = true\n");
    workspace.run(&["read", "a.txt"]).exits(0);
    assert!(workspace.beside("state/counts").exists() && !std::path::Path::new("/tmp/emend-must-not-be").exists());
    fs::remove_file(workspace.beside("state/counts")).unwrap();
    config(&workspace, "[events]\ncounts = false\n");
    workspace.run(&["read", "a.txt"]).exits(0);
    assert!(!workspace.beside("state/counts").exists());
}

#[test]
fn events_describe_calls_without_content() {
    let workspace = TestWorkspace::with("secret one\n");
    config(&workspace, "[events]\nfile = 'log/events.jsonl'\n");
    workspace.run(&["read", "a.txt"]).exits(0);
    workspace.run(&["edit", "a.txt", "--old", "secret", "--new", "hidden", "--session", "s1"]).exits(0);
    workspace.run(&["edit", "a.txt", "--old", "sécret", "--new", "hidden"]).exits(10);
    let path = workspace.beside("state/log/events.jsonl");
    let found = lines(&path);
    assert_eq!(found.len(), 3);
    let edit = &found[1];
    assert!(edit["tool"] == "edit" && edit["format"] == "replace" && edit["ok"] == true && edit["tier"] == 0, "{edit}");
    assert!(
        edit["files"] == 1
            && edit["lines_added"] == 1
            && edit["transport"] == "cli"
            && edit["door"] == "cli"
            && edit["session"] == "s1",
        "{edit}"
    );
    assert!(
        edit["bytes_in"].as_u64() > Some(12)
            && edit["bytes_out"].as_u64() > Some(0)
            && edit["micros"].as_u64().is_some()
    );
    assert_eq!((&found[2]["code"], &found[2]["ok"]), (&"match.not_found".into(), &false.into()));
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        !text.contains("a.txt") && !text.contains("secret") && !text.contains("hidden") && !text.contains("sécret"),
        "{text}"
    );
    // Flag and variable override the configuration; paths are recorded only if the user wants them.
    config(&workspace, "[events]\nfile = 'log/events.jsonl'\npaths = true\n");
    workspace.run(&["read", "a.txt", "--events", "mine.jsonl"]).exits(0);
    assert_eq!(lines(&workspace.work().join("mine.jsonl"))[0]["paths"][0], workspace.path("a.txt"));
    let mut command = workspace.command(&["read", "a.txt"]);
    command.env("EMEND_EVENTS", "none");
    feed(command, b"").exits(0);
    assert_eq!(lines(&path).len(), 3);
    let shown = workspace.run(&["config", "show", "--origin", "--events", "none"]).exits(0).out;
    assert!(
        shown.contains("events.file = null") && shown.contains("# --events") && shown.contains("events.paths = true"),
        "{shown}"
    );
    assert!(workspace.run(&["config", "schema"]).exits(0).out.contains("counts"));
}

#[test]
fn servers_record_the_calling_client() {
    let workspace = TestWorkspace::with("a\nb\n");
    let events = workspace.beside("events.jsonl").display().to_string();
    let call = |id: u64, meta: Value, old: &str| {
        let arguments = json!({ "file_path": workspace.path("a.txt"), "old_string": old, "new_string": "x" });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "Edit", "arguments": arguments, "_meta": meta } })
    };
    let modern = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "agent", "version": "3" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.github.emendate/model": "model-9",
    });
    let input = format!("{}\n", call(1, modern, "a"));
    workspace
        .feed(&["mcp", "--profile", "claude", "--unread", "allow", "--events", &events, "--model", "other"], input)
        .exits(0);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "old agent", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let input = format!("{hello}\n{ready}\n{}\n", call(2, json!({}), "b"));
    workspace
        .feed(&["mcp", "--profile", "claude", "--unread", "allow", "--events", &events, "--model", "other"], input)
        .exits(0);
    let line = json!({ "id": 1, "tool": "read", "input": { "file_path": workspace.path("a.txt") } });
    workspace.feed(&["serve", "--ndjson", "--events", &events], format!("{line}\n")).exits(0);
    let found = lines(&workspace.beside("events.jsonl"));
    let told = |nth: usize| {
        ["transport", "profile", "client", "model"].map(|key| found[nth][key].as_str().unwrap_or_default())
    };
    assert_eq!(told(0), ["mcp", "claude", "agent 3", "model-9"], "{found:?}");
    assert_eq!(told(1), ["mcp", "claude", "old agent 1", "other"]);
    assert_eq!(told(2), ["serve", "", "", ""]);
    assert_eq!(found[0]["tool"], "edit", "the tool's own name, not the profile's name for it");
}

/// Returns the collector configuration in docs/events.md: the lines of its YAML block, without indentation.
fn collector_lines() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/events.md");
    let block = page.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0;
    block.lines().map(|line| line.trim().trim_start_matches("- ")).collect()
}

#[test]
fn events_have_the_fields_of_the_documented_collector_configuration() {
    let workspace = TestWorkspace::with("a\n");
    let file = workspace.beside("events.jsonl");
    let mut command = workspace.command(&["read", "a.txt", "--events", file.to_str().unwrap()]);
    command.env("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    feed(command, b"").exits(0);
    let event = lines(&file).remove(0);
    let wanted = collector_lines();
    let values = |key: &str| wanted.iter().filter_map(move |line| line.strip_prefix(key)).collect::<Vec<_>>();

    // Every event has the field, or the collector has a default for it.
    let optional = wanted.windows(2).filter(|pair| pair[1].starts_with("default_value:"));
    let optional: Vec<_> = optional.filter_map(|pair| pair[0].strip_prefix("key: ")).collect();
    let counted = values("key: ");
    assert!(counted.len() >= 5 && optional == ["format", "model"], "{wanted:?}");
    assert!(counted.iter().all(|key| optional.contains(key) || event[*key].is_string()), "{event}");

    // Go's reference time must have the shape of our times.
    let layout = values("layout: ")[0].trim_matches('"');
    let shape = |time: &str| time.replace(|char: char| char.is_ascii_digit(), "0");
    assert_eq!(shape(layout), shape(event["time"].as_str().unwrap()));

    let pattern = values("regex: ")[0].trim_matches('"');
    let found = regex::Regex::new(pattern).unwrap();
    let found = found.captures(event["traceparent"].as_str().unwrap()).unwrap();
    assert_eq!((&found["trace_id"], &found["span_id"]), ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"));
}

#[test]
fn settings_of_the_removed_exporter_cause_a_notice() {
    let workspace = TestWorkspace::with("a\n");
    config(&workspace, "[events]\notlp = true\n");
    let ran = workspace.run(&["read", "a.txt"]).exits(0);
    assert!(ran.err.contains("events.otlp has no effect") && ran.err.contains("docs/events.md"), "{ran:?}");
    let page = workspace.run(&["doctor"]).exits(0).out;
    assert!(page.contains("telemetry none: emend opens no network connection"), "{page}");
}

#[test]
fn ignored_project_settings_cause_a_warning_but_comments_do_not() {
    let workspace = TestWorkspace::with("a\n");
    workspace.put("emend.toml", "# This does not allow or skip anything.\n[policy]\ndeny = ['b.txt']\n");
    let ran = workspace.run(&["read", "a.txt"]).exits(0);
    assert!(ran.err.is_empty(), "{ran:?}");
    workspace.put("emend.toml", "[policy]\nallow = ['.git']\n[validate]\nskip = ['x']\n");
    let ran = workspace.run(&["read", "a.txt"]).exits(0);
    assert!(
        ran.err.contains("cannot allow guarded paths") && ran.err.contains("cannot leave files unchecked"),
        "{ran:?}"
    );
}

#[test]
fn unwritable_event_file_fails_no_call() {
    let workspace = TestWorkspace::with("a\n");
    let to = |file: &str| {
        workspace.run(&["edit", "a.txt", "--old", "a", "--new", "a2", "--dry-run", "--events", file]).exits(0)
    };
    assert!(to("a.txt/events").code == 0 && to("/proc/nothing/events").code == 0 && to("/dev/null").code == 0);
    fs::create_dir(workspace.beside("state").join("x")).unwrap_or_default();
    // A server reports it once, on standard error.
    let line = json!({ "id": 1, "tool": "read", "input": { "file_path": workspace.path("a.txt") } });
    let ran = workspace.feed(&["serve", "--ndjson", "--events", "a.txt/events"], format!("{line}\n{line}\n")).exits(0);
    assert!(ran.out.lines().count() == 2 && !ran.out.contains("\"ok\":false"), "{ran:?}");
    assert!(workspace.run(&["read", "a.txt"]).exits(0).err.is_empty());
}

#[test]
fn processes_count_together() {
    let workspace = TestWorkspace::with("a\n");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| drop(workspace.run(&["read", "a.txt"]).exits(0))));
        }
    });
    let data = workspace.run(&["stats", "--json"]).exits(0).json();
    assert_eq!(data["data"]["total"]["calls"], 20);
}

#[test]
fn events_count_every_file_of_a_replacement() {
    let workspace = TestWorkspace::with("one\n");
    config(&workspace, "[events]\nfile = 'log/events.jsonl'\n");
    for nth in 0..120 {
        workspace.put(&format!("d/{nth}.txt"), "old\nold\n");
    }
    workspace.put("d/CLAUDE.md", "old\n");
    workspace.run(&["replace", "old", "new", "d", "--expect", "241"]).exits(0);
    let found = lines(&workspace.beside("state/log/events.jsonl"));
    let event = &found[0];
    assert_eq!(
        (&event["files"], &event["lines_added"], &event["lines_removed"], &event["instructions"]),
        (&121.into(), &241.into(), &241.into(), &true.into()),
        "{event}"
    );
}

#[test]
fn an_undo_names_the_paths_it_changed() {
    let workspace = TestWorkspace::with("one\n");
    config(&workspace, "[events]\nfile = 'events.jsonl'\npaths = true\n");
    workspace.run(&["edit", "a.txt", "--old", "one", "--new", "1"]).exits(0);
    workspace.run(&["undo"]).exits(0);
    let found = lines(&workspace.beside("state/events.jsonl"));
    let undo = found.iter().find(|line| line["tool"] == "undo").unwrap();
    assert!(undo["paths"][0].as_str().is_some_and(|path| path.ends_with("a.txt")), "{undo}");
}

#[test]
fn a_command_reports_events_that_cannot_be_written() {
    let workspace = TestWorkspace::with("one\n");
    let directory = workspace.beside("state").display().to_string();
    let ran = workspace.run(&["read", "a.txt", "--events", &directory]).exits(0);
    assert!(ran.err.contains("Events cannot be written to"), "{ran:?}");
}

#[test]
fn no_days_and_no_hours_are_refused() {
    let workspace = TestWorkspace::with("one\n");
    for period in ["--days", "--hours"] {
        workspace.run(&["stats", period, "0"]).exits(2);
    }
}

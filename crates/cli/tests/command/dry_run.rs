//! Tests that `--dry-run` writes nothing, whatever the command.

use crate::questions::{abandoned, configure};
use crate::workspace::TestWorkspace;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// A command that would write something, and its standard input.
struct DryCommand {
    words: Vec<String>,
    input: String,
}

/// Returns every command of the program, as its help lists them: `read`, `mcp install` …
fn commands(workspace: &TestWorkspace) -> Vec<String> {
    let mut all = Vec::new();
    for command in listed(workspace, &[]) {
        let below = listed(workspace, &[&command]);
        all.extend(below.iter().map(|sub| format!("{command} {sub}")));
        // `mcp` is a command itself, too.
        if below.is_empty() || command == "mcp" {
            all.push(command);
        }
    }
    all.sort();
    all
}

/// Returns the names in the list of commands in a help text.
fn listed(workspace: &TestWorkspace, words: &[&str]) -> Vec<String> {
    let help = workspace.run(&[words, &["-h"]].concat()).exits(0).out;
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let rows = list.lines().take_while(|line| !line.is_empty());
    // A description that is continued on the next line is indented further.
    let names = rows.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Returns a call of every command that would write if it were not for `--dry-run`.
#[expect(clippy::too_many_lines, reason = "a row for each command")]
fn calls(workspace: &TestWorkspace) -> BTreeMap<&'static str, DryCommand> {
    let path = workspace.path("a.txt");
    let edit = json!({ "old_string": "one", "new_string": "two" });
    let edit_call = json!({ "file_path": path, "old_string": "one", "new_string": "two" });
    let request = json!({ "id": 1, "tool": "edit", "input": edit_call });
    let mcp = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "edit", "arguments": edit_call } });
    let hook = json!({ "session_id": "s", "cwd": workspace.work(), "tool_name": "Edit", "tool_input": edit_call });
    let blocks = "a.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n";
    let none = String::new;
    let question = workspace.run(&["pending", "--json"]).exits(0).json()["data"]["questions"][0]["id"].clone();
    let (question, corrected) = (question.as_str().unwrap(), format!("{} --from a.txt", question.as_str().unwrap()));
    let rows: [(&str, &str, String); 42] = [
        ("read", "a.txt", none()),
        ("outline", "code.rs", none()),
        ("check", "code.rs", none()),
        ("search", "one", none()),
        ("edit", "a.txt", edit.to_string()),
        ("multi-edit", "a.txt", json!([edit]).to_string()),
        ("notebook-edit", "n.ipynb --number 0 --source x=2", none()),
        ("write", "new/file.txt", "text\n".to_owned()),
        ("apply", "--partial --reject-file rejected", format!("{blocks}{blocks}")),
        ("replace", "one two", none()),
        ("undo", "", none()),
        ("redo", "", none()),
        ("history", "", none()),
        ("show", "", none()),
        ("diff", "1..2", none()),
        ("restore", "a.txt@1", none()),
        ("snapshot", "", none()),
        ("mark", "here", none()),
        ("rewind", "1", none()),
        ("gc", "--days 0 --size 0", none()),
        ("call", "edit", edit_call.to_string()),
        ("serve", "--ndjson", request.to_string()),
        ("mcp", "", mcp.to_string()),
        ("setup", "--client cursor --client codex", none()),
        ("mcp install", "cursor --force", none()),
        ("mcp uninstall", "codex", none()),
        ("tools", "", none()),
        ("bulk", "rows.ndjson -o results.ndjson", none()),
        ("convert", "--to unified_diff", blocks.to_owned()),
        ("preview", "", blocks.to_owned()),
        ("prompt", "", none()),
        ("schema", "multi_edit", none()),
        ("tour", "", none()),
        ("stats", "", none()),
        ("doctor", "", none()),
        ("hook pre-tool-use", "", hook.to_string()),
        ("hook post-tool-use", "", hook.to_string()),
        ("hook session-start", "", hook.to_string()),
        ("hook user-prompt-submit", "", hook.to_string()),
        ("config show", "", none()),
        ("config schema", "", none()),
        ("config formatters", "", none()),
    ];
    let more = [
        ("config servers", "", none()),
        ("trust", "", none()),
        ("completions", "bash", none()),
        ("man", "", none()),
        ("comment", "1 a.txt:1 --text Why?", none()),
        ("comments", "--delete 1", none()),
        ("reviewed", "1", none()),
        ("review", "--no-open", none()),
        ("pending", "", none()),
        ("approve", question, none()),
        ("deny", question, none()),
        ("correct", &corrected, none()),
    ];
    rows.into_iter()
        .chain(more)
        .map(|(name, args, input)| {
            let words = format!("{name} {args} --dry-run --unread allow");
            (name, DryCommand { words: words.split_whitespace().map(str::to_owned).collect(), input })
        })
        .collect()
}

/// Content, mode and time of the last change of everything below a directory.
type Tree = BTreeMap<String, (Vec<u8>, u32, i64)>;

fn tree(directory: &Path) -> Tree {
    let mut all = Tree::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let bytes = if found.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let changed = found.mtime_nsec() + found.mtime() * 1_000_000_000;
            all.insert(path.display().to_string(), (bytes, found.permissions().mode(), changed));
            if found.is_dir() {
                todo.push(path);
            }
        }
    }
    all
}

/// Returns the first paths at which two trees differ.
fn differing(before: &Tree, after: &Tree) -> Vec<String> {
    let paths = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    let mut paths: Vec<String> = paths.cloned().collect();
    paths.dedup();
    paths
}

/// Creates a project with a history in which the last operation is undone, and a client with our server.
fn project() -> TestWorkspace {
    let workspace = TestWorkspace::with("one\n");
    workspace.put("code.rs", "fn one() {}\n");
    workspace.put(
        "rows.ndjson",
        "{\"before\": \"a\\n\", \"edit\": \"a.txt\\n<<<<<<< SEARCH\\na\\n=======\\nb\\n>>>>>>> REPLACE\\n\"}\n",
    );
    workspace.put("emend.toml", "[policy]\ndeny = ['secret']\n");
    workspace.put("n.ipynb", r#"{"cells":[{"cell_type":"code","id":"c1","metadata":{},"execution_count":null,"outputs":[],"source":["x=1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#);
    for text in ["first\n", "second\n", "one\n"] {
        workspace.feed(&["write", "a.txt"], text).exits(0);
    }
    workspace.run(&["undo"]).exits(0);
    workspace.run(&["redo"]).exits(0);
    workspace.feed(&["write", "a.txt"], "taken back\n").exits(0);
    workspace.run(&["undo"]).exits(0);
    workspace.run(&["trust"]).exits(0);
    workspace.run(&["--session", "nobody", "comment", "1", "-m", "open"]).exits(0);
    workspace.run(&["mcp", "install", "codex", "--force"]).exits(0);
    workspace.put("asked.txt", "one\ntwo\n");
    configure(&workspace, "asked.txt", "wait_seconds = 600");
    abandoned(&workspace, "asked.txt");
    workspace
}

#[test]
fn no_command_writes_in_a_dry_run() {
    let workspace = project();
    let mut calls = calls(&workspace);
    assert_eq!(commands(&workspace), calls.keys().copied().collect::<Vec<_>>(), "every command is tried");
    let revoke = ["trust", "--revoke", "--dry-run"].map(str::to_owned).to_vec();
    calls.insert("trust --revoke", DryCommand { words: revoke, input: String::new() });
    let everything = workspace.beside("");
    for (name, call) in calls {
        let before = tree(&everything);
        let words: Vec<&str> = call.words.iter().map(String::as_str).collect();
        let ran = workspace.feed(&words, &call.input);
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        assert_eq!(differing(&before, &tree(&everything)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn dry_run_says_what_would_be() {
    let workspace = project();
    let gc = ["gc", "--days", "0"];
    let dry = workspace.run(&[&gc[..], &["--dry-run"]].concat()).exits(0).out;
    let really = workspace.run(&gc).exits(0).out;
    let counts = |text: &str| text.split_once(": ").map(|(_, counts)| counts.replace("would be", "were"));
    assert!(dry.starts_with("Would free ") && really.starts_with("Freed "), "{dry}{really}");
    assert_eq!(counts(&dry), counts(&really));
    assert!(workspace.run(&["trust", "--revoke", "--dry-run"]).exits(0).err.contains("would no longer be trusted"));
    assert!(workspace.run(&["trust", "--dry-run"]).exits(0).err.contains("would be trusted until it changes"));
    assert!(workspace.run(&["tour", "--dry-run"]).exits(0).out.contains("emend apply fix.patch"));
}

#[test]
fn dry_run_makes_no_state_directory() {
    let workspace = TestWorkspace::with("one\n");
    for args in [&["read", "a.txt", "--dry-run"][..], &["gc", "--dry-run"], &["doctor", "--dry-run"]] {
        workspace.run(args).exits(0);
        assert!(!workspace.beside("state").exists(), "{args:?}");
    }
}

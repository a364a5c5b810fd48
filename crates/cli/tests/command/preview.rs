//! Tests `emend preview`, which shows the line operations that a text would make.

use crate::workspace::TestWorkspace;
use serde_json::{Value, json};

const TEXT: &str = "one\ntwo\nfn f() {\n    g();\n}\n";

/// Returns the short tag of a file.
fn tag(workspace: &TestWorkspace, name: &str) -> String {
    let read = workspace.call("read", &json!({ "file_path": workspace.path(name), "format": "hashline" })).exits(0);
    let data: Value = serde_json::from_str(&read.out).unwrap();
    let text = data["text"].as_str().or(data["result"]["text"].as_str()).unwrap_or(&read.out).to_owned();
    text.split_once('#').unwrap().1[..4].to_owned()
}

/// Returns the events of a kind.
fn events(out: &str, kind: &str) -> Vec<Value> {
    let all = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|event| event["event"] == kind).collect()
}

#[test]
fn line_operations_have_verb_range_old_lines_and_text() {
    let workspace = TestWorkspace::new();
    workspace.put("a.rs", TEXT);
    let tag = tag(&workspace, "a.rs");
    let input = format!(
        "¶a.rs#{tag}\nreplace 1..2:\n+ONE\nreplace block 3:\n+fn f() {{}}\nreplace block 2:\n+x\ninsert after 2:\n+y\ninsert tail:\n+z\ndelete block 3\n"
    );
    let ran = workspace.feed(&["--json", "preview", "--format", "hashline"], &input);
    let edits = events(&ran.out, "edit");
    let edit = |verb: &str, at: Value, range: Value, old: &[&str], text: &str| json!({ "event": "edit", "path": "a.rs", "verb": verb, "at": at, "range": range, "old": old, "text": text });
    // The block at line 2 cannot be found and is omitted.
    let expected = [
        edit("replace", Value::Null, json!([1, 2]), &["one", "two"], "ONE\n"),
        edit("replace", Value::Null, json!([3, 5]), &["fn f() {", "    g();", "}"], "fn f() {}\n"),
        edit("insert", json!("after"), json!([2, 2]), &[], "y\n"),
        edit("insert", json!("tail"), Value::Null, &[], "z\n"),
        edit("delete", Value::Null, json!([3, 5]), &["fn f() {", "    g();", "}"], ""),
    ];
    assert_eq!(edits, expected, "{ran:?}");
    assert_eq!(workspace.get("a.rs"), TEXT);
    let shown = workspace.feed(&["preview", "--format", "hashline"], &input);
    assert!(shown.out.contains("= replace 3..5\n    was fn f() {\n"), "{shown:?}");
}

#[test]
fn another_version_has_no_old_lines() {
    let workspace = TestWorkspace::new();
    workspace.put("a.rs", TEXT);
    let ran = workspace.feed(&["--json", "preview"], "¶a.rs#0000\nreplace 1..2:\n+ONE\ndelete block 3\n");
    let edits = events(&ran.out, "edit");
    assert_eq!((edits.len(), &edits[0]["range"], &edits[0]["old"]), (1, &json!([1, 2]), &json!([])), "{ran:?}");
}

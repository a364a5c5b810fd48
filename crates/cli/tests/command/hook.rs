//! `emend hook`, as Claude Code calls it.

use crate::bed::Bed;
use serde_json::{Value, json};

fn event(bed: &Bed, tool: &str, name: &str, fields: Value) -> String {
    let mut input = fields;
    input["file_path"] = json!(bed.path(name));
    json!({ "session_id": "s1", "cwd": bed.work(), "tool_name": tool, "tool_input": input }).to_string()
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "old_string": old, "new_string": new, "replace_all": false, "something_new": 1 })
}

#[test]
fn an_edit_that_would_not_apply_is_answered_before_it_is_tried() {
    let bed = Bed::new();
    bed.put("a.txt", "one\ntwo\n");
    bed.put("emend.toml", "[policy]\ndeny = ['Edit(b.txt)']\n");
    bed.put("b.txt", "x\n");
    let pre = |event: String| bed.feed(&["hook", "pre-tool-use"], event).exits(0).out;
    assert_eq!(pre(event(&bed, "Edit", "a.txt", edit("two", "2"))), "");
    for (name, old, part) in [("a.txt", "three", "not found"), ("b.txt", "x", "Edit(b.txt)")] {
        let said: Value = serde_json::from_str(&pre(event(&bed, "Edit", name, edit(old, "y")))).unwrap();
        let said = &said["hookSpecificOutput"];
        assert_eq!(said["permissionDecision"], "deny");
        assert!(said["permissionDecisionReason"].as_str().unwrap().contains(part), "{said}");
    }
    assert_eq!(pre(event(&bed, "Bash", "a.txt", json!({ "command": "ls" }))), "");
    assert_eq!(pre(event(&bed, "Edit", "../elsewhere", edit("a", "b"))), "", "not ours");
    assert_eq!(bed.get("a.txt"), "one\ntwo\n");
    bed.feed(&["hook", "pre-tool-use"], "no JSON").exits(2);
}

#[test]
fn what_its_tools_read_counts_here() {
    let bed = Bed::new();
    bed.put("a.txt", "one\ntwo\n");
    let ours = ["edit", "a.txt", "--old", "two", "--new", "2", "--unread", "deny", "--session", "claude-s1"];
    bed.run(&ours).exits(14);
    assert_eq!(bed.feed(&["hook", "post-tool-use"], event(&bed, "Read", "a.txt", json!({}))).exits(0).out, "");
    bed.run(&ours).exits(0);
    bed.put("a.txt", "one\nthree\n");
    bed.feed(&["hook", "post-tool-use"], event(&bed, "Edit", "a.txt", edit("2", "three"))).exits(0);
    bed.run(&["edit", "a.txt", "--old", "three", "--new", "3", "--unread", "deny", "--session", "claude-s1"]).exits(0);
    assert_eq!(bed.get("a.txt"), "one\n3\n");
}

//! Edits by line number through the library: headers, shown lines, later changes.

use crate::fixture::{EngineFixture, code, ok};
use serde_json::json;

/// Reads lines and returns the header above them.
fn header_of(fixture: &EngineFixture, name: &str, format: &str, (offset, limit): (usize, usize)) -> String {
    let reply = fixture.call_on(name, "read", json!({ "format": format, "offset": offset, "limit": limit }));
    let header = reply.text().lines().next().unwrap().to_owned();
    assert_eq!(reply.result.unwrap().data["header"], header);
    header
}

fn whole(fixture: &EngineFixture, name: &str) -> String {
    header_of(fixture, name, "hashline", (1, 2000))
}

/// The header at the beginning of a reply.
fn header(text: &str) -> &str {
    text.lines().next().unwrap()
}

#[test]
fn chain_of_edits_needs_one_read() {
    let fixture = EngineFixture::with("a", "one\ntwo\nthree\n");
    let input = json!({ "file_path": fixture.root.join("a"), "format": "hashline" });
    let shown = ok(&fixture.call("read", input));
    assert!(shown.starts_with("¶a#") && shown.ends_with("\n1:one\n2:two\n3:three\n"), "{shown}");
    let first = ok(&fixture.apply(&format!("{}\nreplace 2..2:\n+2\n+2b\n", header(&shown))));
    assert!(first.contains("\n 1:one\n-2:two\n+2:2\n+3:2b\n 4:three\n"), "{first}");
    let second = ok(&fixture.apply(&format!("{}\ndelete 4\n", header(&first))));
    assert_eq!(fixture.get("a"), "one\n2\n2b\n");
    // The other dialect, with a name relative to the first root.
    let tag = header(&second).rsplit('#').next().unwrap();
    let third = ok(&fixture.apply(&format!("[a#{tag}]\nPUT <1:\n+zero\n")));
    assert!(third.starts_with('[') && third.contains("\n1:zero\n2:one\n"), "{third}");
    assert_eq!(fixture.get("a"), "zero\none\n2\n2b\n");
}

#[test]
fn reply_reports_replaced_lines_and_moved_numbers() {
    let fixture = EngineFixture::with("a", "one\ntwo\nthree\nfour\n");
    let reply = fixture.apply(&format!("{}\nreplace 2..3:\n+x\n", whole(&fixture, "a")));
    let data = &reply.result.as_ref().unwrap().data["files"][0];
    assert_eq!(data["replacementEchoes"], json!([{ "start": 2, "end": 3, "first": "two", "last": "three" }]));
    assert_eq!(data["renumbers"], json!([{ "from": 4, "delta": -1 }]));
    assert_eq!((&data["firstChangedLine"], &data["op"]), (&json!(2), &json!("update")));
    assert!(data["diff"].as_str().unwrap().contains("\n-two\n-three\n+x\n"));
}

#[test]
fn lines_not_yet_shown_are_shown_instead_of_replaced() {
    let fixture = EngineFixture::new();
    let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    fixture.put("a", &text);
    let head = header_of(&fixture, "a", "hashline", (1, 10));
    let edit = format!("{head}\nreplace 50..51:\n+x\n");
    let reply = fixture.apply(&edit);
    assert_eq!(code(&reply), "read.partial");
    assert!(reply.text().contains("*50:line 50\n*51:line 51\n"), "{}", reply.text());
    ok(&fixture.apply(&edit));
    assert!(fixture.get("a").contains("line 49\nx\nline 52\n"));
}

#[test]
fn hunks_are_rebased_or_refused_with_the_current_lines() {
    let fixture = EngineFixture::new();
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    fixture.put("a", &text);
    let head = whole(&fixture, "a");
    fixture.put("a", &format!("new\n{}", text.replace("line 9\n", "LINE 9\n")));
    let told = ok(&fixture.apply(&format!("{head}\nreplace 15..15:\n+x\ninsert tail:\n+end\n")));
    assert!(told.contains("moved by +1 line."), "{told}");
    assert!(fixture.get("a").contains("line 14\nx\nline 16\n") && fixture.get("a").ends_with("line 20\nend\n"));
    let before = fixture.get("a");
    let reply = fixture.apply(&format!("{head}\nreplace 8..9:\n+x\n"));
    assert_eq!(code(&reply), "stale.changed");
    assert!(reply.text().contains("line 9 of the version you saw (\"line 9\") changed"), "{}", reply.text());
    assert!(reply.text().contains("*9:line 8\n") || reply.text().contains("*8:line 7\n"), "{}", reply.text());
    assert_eq!(fixture.get("a"), before);
    let already = fixture.apply(&format!("{head}\nreplace 9..9:\n+LINE 9\n"));
    assert_eq!(code(&already), "edit.no_change", "{}", already.text());
    assert!(already.text().contains("already has this edit"), "{}", already.text());
}

#[test]
fn unknown_and_colliding_tags_are_handled() {
    let fixture = EngineFixture::with("a", "one\ntwo\n");
    let reply = fixture.apply("¶a#0000\ndelete 1\n");
    assert_eq!(code(&reply), "stale.unknown_tag");
    assert!(reply.text().contains("not from this session") && reply.text().contains("*1:one\n"), "{}", reply.text());
    let told = ok(&fixture.apply("¶a#0000\ninsert tail:\n+end\n"));
    assert!(told.contains("head or tail") && fixture.get("a") == "one\ntwo\nend\n", "{told}");
    // A correct tag without a record.
    fixture.put("c", "a\nb\nc\nd\ne\n");
    ok(&fixture.apply("¶c#25F0\ndelete 3\n"));
    // Two texts with the same tag: the one that was read is not the current one.
    fixture.put("b", "line one 263\nline two 4471\n");
    let head = whole(&fixture, "b");
    fixture.put("b", "line one 410\nline two 6970\n");
    assert!(head.ends_with("#1D84"));
    assert_eq!(code(&fixture.apply(&format!("{head}\ndelete 1\n"))), "stale.changed");
    assert_eq!(fixture.get("b"), "line one 410\nline two 6970\n");
}

#[test]
fn repeated_edit_without_effect_is_reported_more_urgently() {
    let fixture = EngineFixture::with("a", "one\ntwo\n");
    let edit = format!("{}\nreplace 2..2:\n+two\n", whole(&fixture, "a"));
    let first = fixture.apply(&edit);
    assert!(
        code(&first) == "edit.no_change" && first.text().contains("parsed and applied cleanly"),
        "{}",
        first.text()
    );
    assert!(fixture.apply(&edit).text().contains("Do not send this edit again"));
}

#[test]
fn patch_supports_several_files_registers_and_moves() {
    let fixture = EngineFixture::with("a", "one\ntwo\nthree\n");
    fixture.put("b/c", "x\ny\n");
    fixture.put("d", "gone\n");
    let heads = ["a", "b/c", "d"].map(|name| header_of(&fixture, name, "hashline_put", (1, 100)));
    let [a, c, d] = &heads;
    // One section fails: nothing is written.
    let reply = fixture.apply(&format!("{a}\nCUT 1\n{c}\nCUT 7\n"));
    assert!(code(&reply) == "read.range" && fixture.get("a") == "one\ntwo\nthree\n", "{}", reply.text());
    ok(&fixture.apply(&format!("{a}\nCUT 1.=2 @moved\n{c}\nPUT >1 @moved\nMV e/f\n{d}\nREM\n")));
    assert_eq!((fixture.get("a"), fixture.get("e/f")), ("three\n".to_owned(), "x\none\ntwo\ny\n".to_owned()));
    assert!(!fixture.root.join("b/c").exists() && !fixture.root.join("d").exists());
    // A named register outlives its call, the unnamed one does not.
    let a = header_of(&fixture, "a", "hashline_put", (1, 100));
    assert_eq!(code(&fixture.apply(&format!("{a}\nPUT >1\n"))), "edit.unparsable");
    ok(&fixture.apply(&format!("{a}\nPUT >1 @moved\n")));
    assert_eq!(fixture.get("a"), "three\none\ntwo\n");
}

#[test]
fn file_that_was_read_is_found_by_its_bare_name() {
    let fixture = EngineFixture::with("src/deep/a.ts", "a\nb\n");
    let tag = whole(&fixture, "src/deep/a.ts").rsplit('#').next().unwrap().to_owned();
    ok(&fixture.apply(&format!("[a.ts#{tag}]\nPUT 2:\n+B\n")));
    assert_eq!(fixture.get("src/deep/a.ts"), "a\nB\n");
}

#[test]
fn other_tools_reply_in_hashline_on_request() {
    let fixture = EngineFixture::new();
    let path = fixture.root.join("a");
    let made = ok(&fixture.call("write", json!({ "file_path": path, "content": "one\ntwo\n", "marks": "hashline" })));
    assert!(made.starts_with('¶') && made.contains("\n+1:one\n+2:two\n"), "{made}");
    let edit = json!({ "file_path": path, "old_string": "two", "new_string": "2", "marks": "hashline_put" });
    let edited = ok(&fixture.call("edit", edit));
    assert!(edited.starts_with('[') && edited.contains("\n1:one\n2:2\n"), "{edited}");
    ok(&fixture.apply(&format!("{}\nCUT 1\n", header(&edited))));
    assert_eq!(fixture.get("a"), "2\n");
    let dry = json!({ "input": format!("{}\nCUT 1\n", whole(&fixture, "a").replace('¶', "[") + "]"), "dry_run": true });
    assert!(ok(&fixture.call("apply", dry)).contains("dry run"));
    assert_eq!(fixture.get("a"), "2\n");
}

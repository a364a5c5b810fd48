//! Edits by line number through the library: headers, shown lines, later changes.

use crate::bench::{Bench, code, ok};
use serde_json::json;

/// Reads lines and returns the header above them.
fn header_of(bench: &Bench, name: &str, format: &str, (offset, limit): (usize, usize)) -> String {
    let reply = bench.call_on(name, "read", json!({ "format": format, "offset": offset, "limit": limit }));
    let header = reply.text().lines().next().unwrap().to_owned();
    assert_eq!(reply.result.unwrap().data["header"], header);
    header
}

fn whole(bench: &Bench, name: &str) -> String {
    header_of(bench, name, "hashline", (1, 2000))
}

/// The header at the beginning of a reply.
fn header(text: &str) -> &str {
    text.lines().next().unwrap()
}

#[test]
fn chain_of_edits_needs_one_read() {
    let bench = Bench::new();
    bench.put("a", "one\ntwo\nthree\n");
    let input = json!({ "file_path": bench.root.join("a"), "format": "hashline" });
    let shown = ok(&bench.call("read", input));
    assert!(shown.starts_with("¶a#") && shown.ends_with("\n1:one\n2:two\n3:three\n"), "{shown}");
    let first = ok(&bench.apply(&format!("{}\nreplace 2..2:\n+2\n+2b\n", header(&shown))));
    assert!(first.contains("\n 1:one\n-2:two\n+2:2\n+3:2b\n 4:three\n"), "{first}");
    let second = ok(&bench.apply(&format!("{}\ndelete 4\n", header(&first))));
    assert_eq!(bench.get("a"), "one\n2\n2b\n");
    // The other dialect, with a name relative to the first root.
    let tag = header(&second).rsplit('#').next().unwrap();
    let third = ok(&bench.apply(&format!("[a#{tag}]\nPUT <1:\n+zero\n")));
    assert!(third.starts_with('[') && third.contains("\n1:zero\n2:one\n"), "{third}");
    assert_eq!(bench.get("a"), "zero\none\n2\n2b\n");
}

#[test]
fn reply_reports_replaced_lines_and_moved_numbers() {
    let bench = Bench::new();
    bench.put("a", "one\ntwo\nthree\nfour\n");
    let reply = bench.apply(&format!("{}\nreplace 2..3:\n+x\n", whole(&bench, "a")));
    let data = &reply.result.as_ref().unwrap().data["files"][0];
    assert_eq!(data["replacementEchoes"], json!([{ "start": 2, "end": 3, "first": "two", "last": "three" }]));
    assert_eq!(data["renumbers"], json!([{ "from": 4, "delta": -1 }]));
    assert_eq!((&data["firstChangedLine"], &data["op"]), (&json!(2), &json!("update")));
    assert!(data["diff"].as_str().unwrap().contains("\n-two\n-three\n+x\n"));
}

#[test]
fn lines_not_yet_shown_are_shown_instead_of_replaced() {
    let bench = Bench::new();
    let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    bench.put("a", &text);
    let head = header_of(&bench, "a", "hashline", (1, 10));
    let edit = format!("{head}\nreplace 50..51:\n+x\n");
    let reply = bench.apply(&edit);
    assert_eq!(code(&reply), "read.partial");
    assert!(reply.text().contains("*50:line 50\n*51:line 51\n"), "{}", reply.text());
    ok(&bench.apply(&edit));
    assert!(bench.get("a").contains("line 49\nx\nline 52\n"));
}

#[test]
fn hunks_are_rebased_or_refused_with_the_current_lines() {
    let bench = Bench::new();
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    bench.put("a", &text);
    let head = whole(&bench, "a");
    bench.put("a", &format!("new\n{}", text.replace("line 9\n", "LINE 9\n")));
    let told = ok(&bench.apply(&format!("{head}\nreplace 15..15:\n+x\ninsert tail:\n+end\n")));
    assert!(told.contains("moved by +1 line."), "{told}");
    assert!(bench.get("a").contains("line 14\nx\nline 16\n") && bench.get("a").ends_with("line 20\nend\n"));
    let before = bench.get("a");
    let reply = bench.apply(&format!("{head}\nreplace 8..9:\n+x\n"));
    assert_eq!(code(&reply), "stale.changed");
    assert!(reply.text().contains("line 9 of the version you saw (\"line 9\") changed"), "{}", reply.text());
    assert!(reply.text().contains("*9:line 8\n") || reply.text().contains("*8:line 7\n"), "{}", reply.text());
    assert_eq!(bench.get("a"), before);
    let already = bench.apply(&format!("{head}\nreplace 9..9:\n+LINE 9\n"));
    assert_eq!(code(&already), "edit.no_change", "{}", already.text());
    assert!(already.text().contains("already has this edit"), "{}", already.text());
}

#[test]
fn unknown_and_colliding_tags_are_handled() {
    let bench = Bench::new();
    bench.put("a", "one\ntwo\n");
    let reply = bench.apply("¶a#0000\ndelete 1\n");
    assert_eq!(code(&reply), "stale.unknown_tag");
    assert!(reply.text().contains("not from this session") && reply.text().contains("*1:one\n"), "{}", reply.text());
    let told = ok(&bench.apply("¶a#0000\ninsert tail:\n+end\n"));
    assert!(told.contains("head or tail") && bench.get("a") == "one\ntwo\nend\n", "{told}");
    // A correct tag without a record.
    bench.put("c", "a\nb\nc\nd\ne\n");
    ok(&bench.apply("¶c#25F0\ndelete 3\n"));
    // Two texts with the same tag: the one that was read is not the current one.
    bench.put("b", "line one 263\nline two 4471\n");
    let head = whole(&bench, "b");
    bench.put("b", "line one 410\nline two 6970\n");
    assert!(head.ends_with("#1D84"));
    assert_eq!(code(&bench.apply(&format!("{head}\ndelete 1\n"))), "stale.changed");
    assert_eq!(bench.get("b"), "line one 410\nline two 6970\n");
}

#[test]
fn repeated_edit_without_effect_is_reported_more_urgently() {
    let bench = Bench::new();
    bench.put("a", "one\ntwo\n");
    let edit = format!("{}\nreplace 2..2:\n+two\n", whole(&bench, "a"));
    let first = bench.apply(&edit);
    assert!(
        code(&first) == "edit.no_change" && first.text().contains("parsed and applied cleanly"),
        "{}",
        first.text()
    );
    assert!(bench.apply(&edit).text().contains("Do not send this edit again"));
}

#[test]
fn patch_supports_several_files_registers_and_moves() {
    let bench = Bench::new();
    bench.put("a", "one\ntwo\nthree\n");
    bench.put("b/c", "x\ny\n");
    bench.put("d", "gone\n");
    let heads = ["a", "b/c", "d"].map(|name| header_of(&bench, name, "hashline_put", (1, 100)));
    let [a, c, d] = &heads;
    // One section fails: nothing is written.
    let reply = bench.apply(&format!("{a}\nCUT 1\n{c}\nCUT 7\n"));
    assert!(code(&reply) == "read.range" && bench.get("a") == "one\ntwo\nthree\n", "{}", reply.text());
    ok(&bench.apply(&format!("{a}\nCUT 1.=2 @moved\n{c}\nPUT >1 @moved\nMV e/f\n{d}\nREM\n")));
    assert_eq!((bench.get("a"), bench.get("e/f")), ("three\n".to_owned(), "x\none\ntwo\ny\n".to_owned()));
    assert!(!bench.root.join("b/c").exists() && !bench.root.join("d").exists());
    // A named register outlives its call, the unnamed one does not.
    let a = header_of(&bench, "a", "hashline_put", (1, 100));
    assert_eq!(code(&bench.apply(&format!("{a}\nPUT >1\n"))), "edit.unparsable");
    ok(&bench.apply(&format!("{a}\nPUT >1 @moved\n")));
    assert_eq!(bench.get("a"), "three\none\ntwo\n");
}

#[test]
fn file_that_was_read_is_found_by_its_bare_name() {
    let bench = Bench::new();
    bench.put("src/deep/a.ts", "a\nb\n");
    let tag = whole(&bench, "src/deep/a.ts").rsplit('#').next().unwrap().to_owned();
    ok(&bench.apply(&format!("[a.ts#{tag}]\nPUT 2:\n+B\n")));
    assert_eq!(bench.get("src/deep/a.ts"), "a\nB\n");
}

#[test]
fn other_tools_reply_in_hashline_on_request() {
    let bench = Bench::new();
    let path = bench.root.join("a");
    let made = ok(&bench.call("write", json!({ "file_path": path, "content": "one\ntwo\n", "marks": "hashline" })));
    assert!(made.starts_with('¶') && made.contains("\n+1:one\n+2:two\n"), "{made}");
    let edit = json!({ "file_path": path, "old_string": "two", "new_string": "2", "marks": "hashline_put" });
    let edited = ok(&bench.call("edit", edit));
    assert!(edited.starts_with('[') && edited.contains("\n1:one\n2:2\n"), "{edited}");
    ok(&bench.apply(&format!("{}\nCUT 1\n", header(&edited))));
    assert_eq!(bench.get("a"), "2\n");
    let dry = json!({ "input": format!("{}\nCUT 1\n", whole(&bench, "a").replace('¶', "[") + "]"), "dry_run": true });
    assert!(ok(&bench.call("apply", dry)).contains("dry run"));
    assert_eq!(bench.get("a"), "2\n");
}

//! Large files, which are streamed: the same bytes, replies and errors as for files that are loaded whole.

use crate::fixture::{EngineFixture, code, ok};
use emendate::{Config, Reply, UnreadPolicy};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;

/// Files of more than `from` bytes are streamed, and those above `whole` are never loaded whole.
fn parts(from: u64, whole: u64) -> EngineFixture {
    let text = format!("[policy]\nstream_from = {from}\nmax_whole = {whole}\n");
    EngineFixture::trusted(Config::default().with_file(&text, "test", true).unwrap())
}

/// Removes the names of operations, which differ between histories. Also their numbers: a process started by another
/// test inherits our open files for a moment, and a call then takes a second attempt.
fn unnamed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (nth, part) in text.split('-').enumerate() {
        let check = part.get(..4).filter(|check| check.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let named = nth > 0 && check.is_some() && out.ends_with(|last: char| last.is_ascii_digit());
        if named {
            out.truncate(out.trim_end_matches(|last: char| last.is_ascii_digit()).len());
        }
        out.push_str(if nth == 0 { "" } else { "-" });
        out.push_str(if named { &part[4..] } else { part });
    }
    out
}

/// Returns a reply without the name of its directory, and without the parts that are never included for a large file.
fn said(fixture: &EngineFixture, reply: &Reply) -> (String, Value) {
    let here = |text: String| text.replace(&fixture.root.display().to_string(), "ROOT");
    let mut data = match &reply.result {
        Ok(answer) => Value::Object(answer.data.clone()),
        Err(error) => error.to_json(),
    };
    if let Some(data) = data.as_object_mut() {
        for own in ["originalFile", "originalFileOmitted", "mtime", "cachedTime", "currentTime", "difference"] {
            data.remove(own);
        }
        for file in data.get_mut("files").and_then(Value::as_array_mut).into_iter().flatten() {
            file.as_object_mut().unwrap().remove("originalFile");
            file.as_object_mut().unwrap().remove("originalFileOmitted");
        }
    }
    (unnamed(&here(reply.text())), serde_json::from_str(&unnamed(&here(data.to_string()))).unwrap())
}

fn same(text: &[u8], calls: &[(&str, Value)]) -> Result<(), TestCaseError> {
    let (whole, parts) = (parts(1 << 30, 1 << 30), parts(0, 1 << 30));
    for fixture in [&whole, &parts] {
        fs::write(fixture.path("f"), text).unwrap();
    }
    for (tool, input) in calls {
        let replies = [&whole, &parts].map(|fixture| {
            let mut input = input.clone();
            let (field, path) = match *tool {
                "text_editor" | "search" => ("path", fixture.path("f")),
                "apply" => ("directory", fixture.root.clone()),
                _ => ("file_path", fixture.path("f")),
            };
            input[field] = json!(path);
            fixture.call(tool, input)
        });
        prop_assert_eq!(code(&replies[0]), code(&replies[1]));
        // In memory an undo is shown by a diff, which may pair repeated lines in another way than the edit did.
        if *tool != "undo" {
            prop_assert_eq!(said(&whole, &replies[0]), said(&parts, &replies[1]), "{} {}", tool, input);
        }
        let [one, other] = [&whole, &parts].map(|fixture| fs::read(fixture.path("f")).unwrap());
        prop_assert!(one == other, "{} {}", tool, input);
    }
    Ok(())
}

/// Texts with repeated lines and line ends of either kind, long enough that a sparse snapshot omits some.
fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-c]{0,6}",
        2 => Just("    let value = compute(input);".to_owned()),
        1 => "é[a-z]{0,80}—😀".prop_map(|line| line),
        1 => Just("}".to_owned()),
        1 => "[a-z ]{300,900}",
    ];
    let end = prop_oneof![8 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r\r\n")];
    let uniform = prop_oneof![Just(None), Just(Some("\n")), Just(Some("\r\n"))];
    (any::<bool>(), prop::collection::vec((line, end), 0..160), uniform, any::<bool>(), 1_usize..4).prop_map(
        |(mark, lines, uniform, open, times)| {
            let mut out = if mark { "\u{FEFF}".to_owned() } else { String::new() };
            for nth in 0..times {
                for (line, end) in &lines {
                    let end = uniform.unwrap_or(end);
                    if nth > 0 {
                        out.push_str(&nth.to_string());
                    }
                    out.push_str(line);
                    out.push_str(end);
                }
            }
            if open { out.trim_end_matches(['\r', '\n']).to_owned() } else { out }
        },
    )
}

/// An edit of a part of the text.
fn edit(reading: &str, (at, len, new, pick): &(prop::sample::Index, usize, String, u8)) -> Value {
    let whole = |at: usize| (0..=at.min(reading.len())).rev().find(|&at| reading.is_char_boundary(at)).unwrap_or(0);
    let from = whole(at.index(reading.len() + 1));
    let old = &reading[from..whole(from + len)];
    let mut edit = json!({ "old_string": old, "new_string": new });
    match pick {
        0..5 => {}
        5 | 6 => edit["replace_all"] = json!(true),
        count => edit["expected_replacements"] = json!(count - 5),
    }
    edit
}

fn edits() -> impl Strategy<Value = (prop::sample::Index, usize, String, u8)> {
    let new = prop_oneof![Just(String::new()), "[a-zé\n]{1,20}", Just("one\n two\r\nthree\n".to_owned())];
    (any::<prop::sample::Index>(), 1_usize..120, new, 0_u8..9)
}

/// Only some lines of a large file are loaded, which may be plain ASCII although the file is not.
#[test]
fn notes_about_characters_are_those_of_the_whole_file() {
    let lines: String = (0..2000).map(|line| format!("line {line} with some text\n")).collect();
    for (end, is_noted) in [("plain\n", true), ("é\n", false), ("“quoted”\n", false)] {
        let text = format!("{lines}{end}");
        for new in ["line “1000” with", "line\u{A0}1000 with"] {
            let edit = json!({ "old_string": "line 1000 with", "new_string": new });
            same(text.as_bytes(), &[("edit", edit.clone())]).unwrap();
            let fixture = parts(0, 1);
            fixture.put("f", &text);
            let reply = fixture.call_on("f", "edit", edit);
            assert_eq!(ok(&reply).contains("plain ASCII"), is_noted, "{}", reply.text());
        }
    }
}

/// Adjacent deletions are undone by insertions of the same text at one point, each of which counts.
#[test]
fn undo_restores_every_adjacent_deletion() {
    let text = "aaaaaaaa aaaa\n\n\n\n\nb\n".repeat(40);
    for (old, new) in [("aa", ""), ("\n\n", ""), ("aa", "a"), ("a", "aa")] {
        let edit = json!({ "old_string": old, "new_string": new, "replace_all": true });
        same(text.as_bytes(), &[("edit", edit.clone()), ("undo", json!({}))]).unwrap();
        let fixture = parts(0, 1);
        fixture.put("f", &text);
        ok(&fixture.call_on("f", "edit", edit));
        assert_ne!(fixture.get("f"), text);
        ok(&fixture.call_on("f", "undo", json!({})));
        assert_eq!(fixture.get("f"), text);
    }
}

/// Line edits under the header of a read, in either dialect, for existing and missing lines.
fn hunks(header: &str, seeds: &[Hunk], count: usize, lines: &[&str]) -> String {
    let mut out = format!("{header}\n");
    for (at, len, kind, rows) in seeds {
        let (from, to) = (1 + at.index(count + 1), 1 + at.index(count + 1) + len);
        let said = |line: usize| lines.get(line - 1).copied().unwrap_or("what is nowhere").trim();
        let (op, body) = match (header.starts_with('['), kind) {
            (false, 0) => (format!("delete {from}..{to}"), false),
            (false, 1) => (format!("insert before {from}:"), true),
            (false, 2) => (format!("insert after {to}:"), true),
            (false, 3) => ("insert head:".to_owned(), true),
            (false, 4) => ("insert tail:".to_owned(), true),
            (false, 5) if !said(from).is_empty() => (format!("replace {from}..{to} |{}|:", said(from)), true),
            (false, 6) if !said(to).is_empty() => (format!("replace {from}..{to} |{}|:", said(to)), true),
            (false, _) => (format!("replace {from}..{to}:"), true),
            (true, 0) => (format!("CUT {from}.={to}"), false),
            (true, 1) => (format!("PUT <{from}:"), true),
            (true, 2) => (format!("PUT >{to}:"), true),
            (true, 3) => ("PUT <1:".to_owned(), true),
            (true, 4) => ("PUT >$:".to_owned(), true),
            (true, 5) => (format!("CUT {from}.={to}\nPUT >{}", 1 + at.index(7)), false),
            (true, _) => (format!("PUT {from}.={to}:"), true),
        };
        out.push_str(&op);
        out.push('\n');
        for row in rows.iter().filter(|_| body) {
            // A row that repeats one of the neighbouring lines, or a new one.
            let near = row.parse::<usize>().ok().and_then(|off| lines.get((from + off).saturating_sub(4)));
            out.extend(["+", near.unwrap_or(&&**row), "\n"]);
        }
    }
    out
}

/// A patch of the text: at some lines, with some context and some lines replaced by one; its numbers have an offset.
fn patch(text: &str, mut seeds: Vec<(prop::sample::Index, usize, usize, String, i64)>, codex: bool) -> String {
    let lines: Vec<&str> = text.lines().collect();
    seeds.sort_by_key(|seed| seed.0.index(lines.len() + 1));
    let mut out = if codex { "*** Begin Patch\n*** Update File: f\n" } else { "--- a/f\n+++ b/f\n" }.to_owned();
    for (at, context, count, new, off) in seeds {
        let at = at.index(lines.len() + 1);
        let (from, to) = (at.saturating_sub(context), (at + count).min(lines.len()));
        let end = (to + context).min(lines.len());
        let (before, gone, behind) = (&lines[from..at], &lines[at..to], &lines[to..end]);
        let first = i64::try_from(from + 1).unwrap() + off;
        let (old, fresh) = (end - from, before.len() + 1 + behind.len());
        let first = first.max(1).to_string();
        let numbers = [" -", &first, &format!(",{old} +"), &first, &format!(",{fresh} @@")].concat();
        out.extend(["@@", if codex { "" } else { &numbers }, "\n"]);
        let mut add = |sign: &str, lines: &[&str]| lines.iter().for_each(|line| out.extend([sign, line, "\n"]));
        add(" ", before);
        add("-", gone);
        add("+", &[&*new]);
        add(" ", behind);
    }
    out + if codex { "*** End Patch\n" } else { "" }
}

type Hunk = (prop::sample::Index, usize, u8, Vec<String>);

fn seeds_of_hunks() -> impl Strategy<Value = Vec<Hunk>> {
    let row = prop_oneof![2 => "[0-7]", 3 => "[a-zé ]{0,12}", 1 => Just("    }".to_owned())];
    let rows = prop::collection::vec(row, 1..4);
    let len = prop_oneof![4 => 0_usize..4, 1 => 0_usize..90];
    prop::collection::vec((any::<prop::sample::Index>(), len, 0_u8..9, rows), 1..5)
}

/// Reads lines with a header, edits some of them in both ways, and undoes the edits.
fn same_rows(text: &[u8], (format, shown): (&str, (usize, usize)), seeds: &[Hunk], caller: UnreadPolicy) {
    let fixtures = [parts(1 << 30, 1 << 30), parts(0, 1 << 30)].map(|mut fixture| {
        fixture.caller.unread = caller;
        fs::write(fixture.path("f"), text).unwrap();
        fixture
    });
    let mut header = String::new();
    for step in 0..6 {
        let now = fixtures[0].get("f").trim_start_matches('\u{FEFF}').replace("\r\n", "\n");
        let lines: Vec<&str> = now.lines().collect();
        let edit = hunks(&header, seeds, lines.len(), &lines);
        let replies = fixtures.each_ref().map(|fixture| match step {
            0 | 3 => {
                let (offset, limit) = (shown.0.min(lines.len()).max(1), shown.1);
                fixture.call_on("f", "read", json!({ "format": format, "offset": offset, "limit": limit }))
            }
            // The second attempt follows the lines shown by an error; the third one is under the header of the reply.
            1 | 2 | 4 => fixture.apply(&edit),
            _ => fixture.call_on("f", "undo", json!({})),
        });
        assert_eq!(code(&replies[0]), code(&replies[1]), "{edit}");
        if step < 5 {
            assert_eq!(said(&fixtures[0], &replies[0]), said(&fixtures[1], &replies[1]), "{edit}");
            if replies[0].result.is_ok() {
                replies[0].text().lines().next().unwrap().clone_into(&mut header);
            }
        }
        let [one, other] = fixtures.each_ref().map(|fixture| fs::read(fixture.path("f")).unwrap());
        assert!(one == other, "{edit}");
    }
}

/// A caller who reads before editing, with files that are never loaded whole.
fn never_whole() -> EngineFixture {
    let mut fixture = parts(0, 1);
    fixture.caller.unread = UnreadPolicy::Deny;
    fixture
}

/// The header of a read.
fn header(fixture: &EngineFixture, format: &str) -> String {
    let reply = fixture.call_on("f", "read", json!({ "format": format, "offset": 1, "limit": 5 }));
    ok(&reply).lines().next().unwrap().to_owned()
}

#[test]
fn header_leads_from_read_to_edit_to_edit() {
    let fixture = never_whole();
    let text: String = (1..=3000).map(|nth| format!("line {nth}  \r\n")).collect();
    fs::write(fixture.path("f"), text.trim_end()).unwrap();
    for (format, first, second) in [
        ("hashline", "replace 3..4:\n+three\ninsert tail:\n+the end", "delete 3\ninsert tail:\n+and more"),
        ("hashline_put", "PUT 3.=4:\n+three\nPUT >$:\n+the end", "CUT 3.=3\nPUT >$:\n+and more"),
    ] {
        fs::write(fixture.path("f"), text.trim_end()).unwrap();
        let told = ok(&fixture.apply(&format!("{}\n{first}\n", header(&fixture, format))));
        assert_eq!(told.lines().next(), Some(&*header(&fixture, format)), "the tag of the current text");
        assert!(told.contains(":three") && told.contains("3000:the end"), "{told}");
        let told = ok(&fixture.apply(&format!("{}\n{second}\n", told.lines().next().unwrap())));
        assert_eq!(told.lines().next(), Some(&*header(&fixture, format)));
        let now = fixture.get("f");
        assert!(now.starts_with("line 1  \r\nline 2  \r\nline 5  \r\n"), "{}", &now[..60]);
        assert!(now.ends_with("line 3000\r\nthe end\r\nand more"), "{}", &now[now.len() - 60..]);
    }
}

#[test]
fn lines_shown_by_a_search_can_be_edited() {
    let fixture = never_whole();
    fixture.put("f", &(1..=90_000).map(|nth| format!("line {nth}\r\n")).collect::<String>());
    for (format, edit) in [("hashline", "replace 70001..70001:\n+x"), ("hashline_put", "PUT 70001.=70001:\n+y")] {
        let pattern = if format == "hashline" { "line 70001$" } else { "^x$" };
        let input = json!({ "pattern": pattern, "path": fixture.root, "context": 1, "format": format });
        let told = ok(&fixture.call("search", input));
        assert_eq!(told.lines().count(), 4, "{told}");
        let told = ok(&fixture.apply(&format!("{}\n{edit}\n", told.lines().next().unwrap())));
        assert!(told.contains("70000:line 70000"), "{told}");
    }
    assert!(fixture.get("f").contains("line 70000\r\ny\r\nline 70002\r\n"));
    // Lines around a hit are known, others are not.
    let told = ok(&fixture.call("search", json!({ "pattern": "^y$", "path": fixture.root, "format": "hashline" })));
    let reply = fixture.apply(&format!("{}\nreplace 70020..70020:\n+z\n", told.lines().next().unwrap()));
    assert_eq!(code(&reply), "read.partial");
    let over = fixture.call("search", json!({ "pattern": "y", "path": fixture.path("f"), "multiline": true }));
    assert_eq!(code(&over), "file.too_large");
    fs::write(fixture.path("f"), b"not UTF-8 \xFF\n").unwrap();
    let told = ok(&fixture.call("search", json!({ "pattern": "UTF", "path": fixture.root })));
    assert!(told.contains("1 file that could not be read"), "{told}");
}

/// A file that changes during every search has no line format, and does not count as read.
#[test]
fn file_that_changes_during_a_search_has_no_marks() {
    let hook = "touch -d @$(date +%N) f";
    let text = format!(
        "[policy]\nstream_from = 0\nmax_whole = 1\n[[hooks]]\non = 'before_read'\nfiles = 'f'\ncommand = ['sh', '-c', '{hook}']\n"
    );
    let mut fixture = EngineFixture::trusted(Config::default().with_file(&text, "test", true).unwrap());
    fixture.caller.unread = UnreadPolicy::Deny;
    fixture.put("f", "one\ntwo\n");
    let told = ok(&fixture.call("search", json!({ "pattern": "two", "path": fixture.root, "format": "hashline" })));
    assert!(told.contains("it changes while it is searched") && told.contains("two") && !told.contains('#'), "{told}");
    let edit = json!({ "old_string": "two", "new_string": "2" });
    assert_eq!(code(&fixture.call_on("f", "edit", edit)), "read.required");
}

#[test]
fn patch_with_unique_lines_needs_no_read() {
    let fixture = never_whole();
    let text: String = (1..=3000).map(|nth| format!("line {nth}\r\n")).collect();
    fixture.put("f", &text);
    ok(&fixture.call_on("f", "read", json!({ "limit": 1 })));
    let told = ok(&fixture.apply("--- a/f\n+++ b/f\n@@ -7,2 +7,2 @@\n line 2000\n-line 2001\n+two\n"));
    assert!(told.contains("Found at line 2000; the header says 7"), "{told}");
    let codex =
        "*** Begin Patch\n*** Update File: f\n@@\n-line 10\n+ten\n line 11\n@@\n-line 2999\n+last\n*** End Patch\n";
    ok(&fixture.apply(codex));
    let now = text.replace("line 10\r", "ten\r").replace("line 2001\r", "two\r").replace("line 2999\r", "last\r");
    assert_eq!(fixture.get("f"), now);
    for hunk in ["@@\n-line\n+x\n", "@@ line 7\n-line 9\n+x\n", "@@\n-ten\n+10\n@@\n+beside\n"] {
        let reply = fixture.apply(&format!("*** Begin Patch\n*** Update File: f\n{hunk}*** End Patch\n"));
        assert_eq!(code(&reply), "file.too_large", "{hunk}");
        assert!(reply.text().contains("lines by their numbers"), "{}", reply.text());
    }
    assert_eq!(fixture.get("f"), now);
    fixture.put("f", &"a\nb\n".repeat(900));
    let twice = fixture.apply("*** Begin Patch\n*** Update File: f\n@@\n-a\n+x\n b\n*** End Patch\n");
    assert_eq!(code(&twice), "stale.changed");
}

#[test]
fn place_at_the_end_without_a_line_end_is_a_place() {
    let fixture = never_whole();
    let text: String = (1..=3000).map(|nth| format!("line {nth}\n")).collect();
    fixture.put("f", &format!("a\nb\n{text}a\nb"));
    ok(&fixture.call_on("f", "read", json!({ "limit": 1 })));
    let reply = fixture.apply("--- a/f\n+++ b/f\n@@ -3002,2 +3002,3 @@\n a\n+x\n b\n");
    assert_eq!(code(&reply), "file.too_large", "two places: {}", reply.text());
    fixture.put("f", &format!("{text}a\nb"));
    ok(&fixture.call_on("f", "read", json!({ "limit": 1 })));
    ok(&fixture.apply("--- a/f\n+++ b/f\n@@ -7,2 +7,3 @@\n a\n+x\n b\n"));
    assert_eq!(fixture.get("f"), format!("{text}a\nx\nb"));
}

#[test]
fn edits_that_need_all_lines_suggest_an_alternative() {
    let fixture = never_whole();
    fixture.put("f", &"fn f() {\n    g();\n}\n".repeat(500));
    let head = header(&fixture, "hashline");
    let reply = fixture.apply(&format!("{head}\nreplace block 1:\n+x\n"));
    assert_eq!(code(&reply), "file.too_large");
    assert!(reply.text().contains("Name the lines by their numbers"), "{}", reply.text());
    let reply = fixture.apply(&format!("{head}\nreplace 2..2 |nothing like it|:\n+x\n"));
    assert_eq!(code(&reply), "match.not_found");
    assert!(reply.text().contains("2:    g();"), "{}", reply.text());
    ok(&fixture.apply(&format!("{head}\nreplace 2..2 |g()|:\n+    h();\n")));
    assert!(fixture.get("f").starts_with("fn f() {\n    h();\n}\n"));
}

#[test]
fn edit_of_an_unavailable_version_is_refused() {
    let fixture = never_whole();
    let text: String = (1..=2000).map(|nth| format!("line {nth}\n")).collect();
    fixture.put("f", &text);
    let head = header(&fixture, "hashline");
    fixture.put("f", &format!("new\n{text}"));
    let reply = fixture.apply(&format!("{head}\nreplace 3..3:\n+x\n"));
    assert_eq!(code(&reply), "stale.changed");
    assert!(reply.text().contains("*3:line 2\n") && reply.text().contains("is not kept"), "{}", reply.text());
    let fresh = reply.result.unwrap_err().data()["header"].as_str().unwrap().to_owned();
    // The refusal showed the lines.
    ok(&fixture.apply(&format!("{fresh}\nreplace 3..3:\n+x\n")));
    assert!(fixture.get("f").starts_with("new\nline 1\nx\nline 3\n"));
    // Insertions at either end do not depend on the version.
    let told = ok(&fixture.apply(&format!("{head}\ninsert tail:\n+the end\n")));
    assert!(told.contains("head or tail") && fixture.get("f").ends_with("line 2000\nthe end\n"), "{told}");
    fixture.put("f", &text);
    let insert = json!({ "command": "insert", "path": fixture.path("f"), "insert_line": 3, "insert_text": "x" });
    let reply = fixture.call("text_editor", insert);
    assert_eq!(code(&reply), "stale.changed");
    assert!(reply.text().contains("View it again"), "{}", reply.text());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn streamed_line_edits_equal_whole_ones(
        text in texts(),
        format in prop_oneof![Just("hashline"), Just("hashline_put")],
        shown in (1_usize..300, 1_usize..300),
        seeds in seeds_of_hunks(),
        strict in any::<bool>(),
    ) {
        same_rows(text.as_bytes(), (format, shown), &seeds, if strict { UnreadPolicy::Deny } else { UnreadPolicy::Allow });
    }

    #[test]
    fn streamed_patches_equal_whole_ones(
        text in texts(),
        seeds in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, 0_usize..3, "[a-z]{0,9}", -3_i64..4), 1..4),
        codex in any::<bool>(),
    ) {
        let reading = text.trim_start_matches('\u{FEFF}').replace("\r\n", "\n");
        let calls = [("apply", json!({ "input": patch(&reading, seeds, codex) })), ("undo", json!({}))];
        same(text.as_bytes(), &calls)?;
    }

    #[test]
    fn streamed_search_equals_a_whole_one(
        text in texts(),
        searches in prop::collection::vec((0_usize..12, 0_usize..4, 1_usize..60, 0_usize..4), 1..5),
    ) {
        let patterns =
            ["a", "^$", "b$", "^", "value", "é", r"\r", "zzz", "(?i)LET", "[0-9]b", r"a+\s*$", "^    let.*;$"];
        let formats = ["numbered", "plain", "hashline", "hashline_put"];
        let search = |&(pattern, context, limit, format): &(usize, usize, usize, usize)| {
            let (pattern, format) = (patterns[pattern], formats[format]);
            ("search", json!({ "pattern": pattern, "context": context, "limit": limit, "format": format }))
        };
        let calls: Vec<(&str, Value)> = searches.iter().map(search).collect();
        same(text.as_bytes(), &calls)?;
    }

    #[test]
    fn streamed_insertions_equal_whole_ones(
        text in texts(),
        inserts in prop::collection::vec((0_usize..400, "[a-zé\n]{1,12}"), 1..5),
    ) {
        let insert = |(line, text): &(usize, String)| {
            ("text_editor", json!({ "command": "insert", "insert_line": line, "insert_text": text }))
        };
        let mut calls: Vec<(&str, Value)> = inserts.iter().map(insert).collect();
        calls.push(("undo", json!({})));
        same(text.as_bytes(), &calls)?;
    }

    #[test]
    fn streamed_edit_equals_a_whole_one(
        text in texts(),
        seeds in prop::collection::vec(edits(), 1..6),
        many in any::<bool>(),
    ) {
        let reading = text.trim_start_matches('\u{FEFF}').replace("\r\n", "\n");
        let edits: Vec<Value> = seeds.iter().map(|seed| edit(&reading, seed)).collect();
        let mut calls: Vec<(&str, Value)> = if many {
            vec![("multi_edit", json!({ "edits": edits }))]
        } else {
            edits.into_iter().map(|edit| ("edit", edit)).collect()
        };
        calls.push(("undo", json!({})));
        calls.push(("undo", json!({ "redo": true })));
        same(text.as_bytes(), &calls)?;
    }

    #[test]
    fn streamed_reads_equal_whole_ones(
        text in texts(),
        reads in prop::collection::vec((0_usize..500, 0_usize..300), 1..5),
    ) {
        let read = |(offset, limit): &(usize, usize)| ("read", json!({ "offset": offset, "limit": limit }));
        let mut calls: Vec<(&str, Value)> = reads.iter().map(read).collect();
        calls.push(("read", json!({})));
        calls.push(("read", json!({ "offset": reads[0].0 + 1, "format": "plain" })));
        same(text.as_bytes(), &calls)?;
    }
}

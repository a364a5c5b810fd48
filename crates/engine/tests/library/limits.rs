//! Every limit of the table at its number, and at one more.

use crate::fixture::EngineFixture;
use emendate::{Config, LIMITS, Reply};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;

/// One limit: tries a call of this size, at the limit or one above.
struct Row {
    name: &'static str,
    try_with: fn(&EngineFixture, usize) -> Reply,
}

const ROWS: &[Row] = &[
    Row { name: "input", try_with: input },
    Row { name: "nesting", try_with: nesting },
    Row { name: "path", try_with: path },
    Row { name: "name", try_with: name },
    Row { name: "links", try_with: links },
    Row { name: "file", try_with: file },
    Row { name: "whole file", try_with: whole_file },
    Row { name: "parts: places", try_with: parts_places },
    Row { name: "parts: around", try_with: parts_around },
    Row { name: "parts: line", try_with: parts_line },
    Row { name: "parts: together", try_with: parts_together },
    Row { name: "parts: lines", try_with: parts_lines },
    Row { name: "files", try_with: files },
    Row { name: "replaced files", try_with: replaced_files },
    Row { name: "pattern", try_with: pattern },
    Row { name: "globs", try_with: globs },
    Row { name: "ignore file", try_with: ignore_file },
    Row { name: "edits", try_with: edits },
    Row { name: "placeholders", try_with: placeholders },
    Row { name: "places", try_with: places },
    Row { name: "places", try_with: places_together },
    Row { name: "places", try_with: places_in_turn },
    Row { name: "places", try_with: places_in_files },
    Row { name: "places", try_with: places_of_pattern },
    Row { name: "hunks", try_with: hunks },
    Row { name: "reply", try_with: reply },
    Row { name: "cells", try_with: cells },
    Row { name: "checked files", try_with: checked },
    Row { name: "rewound", try_with: rewound },
    Row { name: "parsed", try_with: parsed },
    Row { name: "image", try_with: image },
    Row { name: "PDF", try_with: pdf },
    #[cfg(feature = "pdf")]
    Row { name: "pages", try_with: pages },
];

/// Limits that only shorten the reply, those tested in crates/cli/tests/command/limits.rs alone, and one that is tested
/// in `core`, next to the memory it concerns.
const ELSEWHERE: &[&str] = &[
    "together",
    "context",
    "hits",
    "listed",
    "kept",
    "taken back",
    "entries",
    "checked directories",
    "outlined files",
    "snapshot files",
    "snapshot file",
    // crates/engine/tests/library/snapshots.rs
    "snapshot contents",
    // crates/history/src/questions.rs
    "waiting questions",
    // crates/history/tests/suite/reviews.rs, crates/engine/tests/library/remarks.rs
    "comments",
    "comment",
    "reviewed hunks",
    "asked files",
    "work",
    "lines",
    "line",
    "new text",
    "output",
    "checked",
    "reply text",
    "reply data",
    // Limits of machines and of worker processes are tested in crates/cli/tests/command/parsing.rs.
    "parse time",
    "parse memory",
    #[cfg(not(feature = "pdf"))]
    "pages",
];

/// Changes a line at the end of a file, and shows every other line above it.
fn placeholders(fixture: &EngineFixture, count: usize) -> Reply {
    let file: String = (0..count).map(|nth| format!("call_{nth}()\nother_{nth}()\n")).collect();
    let text: String = (0..count).map(|nth| format!("call_{nth}()\n# ... existing code ...\n")).collect();
    let path = fixture.put("a.py", &format!("{file}leave()\nstop()\nquit()\n"));
    let content = format!("{text}leave()\nhalt()\nquit()\n");
    fixture.call("write", json!({ "file_path": path, "content": content, "dry_run": true }))
}

fn hunks(fixture: &EngineFixture, count: usize) -> Reply {
    fixture.put_read("a.txt", "x\n");
    fixture.edit("a.txt", "x", "y");
    fixture.call("undo", json!({ "hunks": vec![1; count] }))
}

fn pattern(fixture: &EngineFixture, bytes: usize) -> Reply {
    fixture.put("a.txt", "x\n");
    fixture.call("search", json!({ "path": fixture.root, "pattern": "x".repeat(bytes) }))
}

fn globs(fixture: &EngineFixture, bytes: usize) -> Reply {
    fixture.put("a.txt", "x\n");
    let globs = vec!["x".repeat(1 << 10); bytes >> 10];
    let rest = "x".repeat(bytes % (1 << 10));
    let globs: Vec<String> = globs.into_iter().chain((!rest.is_empty()).then_some(rest)).collect();
    fixture.call("search", json!({ "path": fixture.root, "pattern": "x", "glob": globs }))
}

fn ignore_file(fixture: &EngineFixture, bytes: usize) -> Reply {
    fixture.put(".gitignore", &"#".repeat(bytes));
    fixture.put("a.txt", "x\n");
    fixture.call("search", json!({ "path": fixture.root, "pattern": "x" }))
}

fn parsed(fixture: &EngineFixture, bytes: usize) -> Reply {
    let path = fixture.put("a.json", &format!("1{}", " ".repeat(bytes - 1)));
    fixture.call("outline", json!({ "file_path": path }))
}

fn cells(fixture: &EngineFixture, count: usize) -> Reply {
    let cells = vec!["{}"; count].join(",");
    let path = fixture.put("a.ipynb", &format!("{{\"nbformat\": 4, \"cells\": [{cells}]}}"));
    fixture.call("read", json!({ "file_path": path, "cells": "0" }))
}

fn checked(fixture: &EngineFixture, count: usize) -> Reply {
    let path = fixture.put("a.txt", "");
    fixture.call("check", json!({ "paths": vec![path; count] }))
}

/// Changes a file repeatedly after a mark, and rewinds to it.
fn rewound(fixture: &EngineFixture, count: usize) -> Reply {
    let path = fixture.put("a.txt", "start\n");
    assert!(fixture.read("a.txt").result.is_ok());
    assert!(fixture.call("mark", json!({ "name": "start" })).result.is_ok());
    for nth in 0..count {
        let written = fixture.call("write", json!({ "file_path": path, "content": format!("{nth}\n") }));
        assert!(written.result.is_ok(), "{}", written.text());
    }
    fixture.call("rewind", json!({ "to": "start" }))
}

fn image(fixture: &EngineFixture, bytes: usize) -> Reply {
    let chunk = |name: &[u8], length: usize| {
        let mut chunk = u32::try_from(length).unwrap().to_be_bytes().to_vec();
        chunk.extend(name);
        chunk.resize(12 + length, 1);
        chunk
    };
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend(chunk(b"IHDR", 13));
    png.extend(chunk(b"IDAT", bytes - png.len() - 24));
    png.extend(chunk(b"IEND", 0));
    assert_eq!(png.len(), bytes);
    let path = fixture.root.join("a.png");
    fs::write(&path, png).unwrap();
    fixture.call("read", json!({ "file_path": path }))
}

fn pdf(fixture: &EngineFixture, bytes: usize) -> Reply {
    let path = fixture.put("a.pdf", &format!("%PDF-{}", "x".repeat(bytes - 5)));
    fixture.call("read", json!({ "file_path": path, "base64": true }))
}

#[cfg(feature = "pdf")]
fn pages(fixture: &EngineFixture, count: usize) -> Reply {
    let mut text = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n".to_owned();
    let kids: String = (3..3 + count).map(|id| format!("{id} 0 R ")).collect();
    let _ = write!(text, "2 0 obj\n<< /Type /Pages /Kids [{kids}] /Count {count} >>\nendobj\n");
    for id in 3..3 + count {
        let _ = write!(text, "{id} 0 obj\n<< /Type /Page /Parent 2 0 R >>\nendobj\n");
    }
    text.push_str("trailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF\n");
    let path = fixture.put("a.pdf", &text);
    fixture.call("read", json!({ "file_path": path, "pages": format!("1-{count}") }))
}

fn input(fixture: &EngineFixture, size: usize) -> Reply {
    fixture.put("a", "x\n");
    let mut text = json!({ "file_path": fixture.root.join("a") }).to_string();
    text.push_str(&" ".repeat(size - text.len()));
    fixture.engine.call_json(&fixture.caller, "read", &text)
}

fn nesting(fixture: &EngineFixture, levels: usize) -> Reply {
    // An unknown field is reported only if the text can be parsed at all.
    let inside = levels - 1;
    let text = format!("{{\"x\": {}{}}}", "[".repeat(inside), "]".repeat(inside));
    let mut reply = fixture.engine.call_json(&fixture.caller, "read", &text);
    forgive(&mut reply, |error| !error.message().contains("recursion"));
    reply
}

/// Counts a refusal for another reason than the limit as success.
fn forgive(reply: &mut Reply, other: impl Fn(&emendate::core::Error) -> bool) {
    if reply.result.as_ref().is_err_and(other) {
        reply.result = Ok(emendate::Answer::default());
    }
}

fn path(fixture: &EngineFixture, bytes: usize) -> Reply {
    let mut path = fixture.root.to_str().unwrap().to_owned();
    while bytes - path.len() > 202 {
        path.push('/');
        path.push_str(&"d".repeat(200));
    }
    path.push('/');
    path.push_str(&"f".repeat(bytes - path.len()));
    let made = fixture.call("write", json!({ "file_path": path, "content": "one\n" }));
    if made.result.is_err() {
        return made;
    }
    fixture.call("edit", json!({ "file_path": path, "old_string": "one", "new_string": "two" }))
}

fn name(fixture: &EngineFixture, bytes: usize) -> Reply {
    let path = fixture.root.join("n".repeat(bytes));
    let made = fixture.call("write", json!({ "file_path": path, "content": "one\n" }));
    if made.result.is_err() {
        return made;
    }
    fixture.call("edit", json!({ "file_path": path, "old_string": "one", "new_string": "two" }))
}

fn links(fixture: &EngineFixture, count: usize) -> Reply {
    let _ = fs::write(fixture.root.join("l0"), "x\n");
    for nth in 1..=count {
        let _ = std::os::unix::fs::symlink(format!("l{}", nth - 1), fixture.root.join(format!("l{nth}")));
    }
    fixture.read(&format!("l{count}"))
}

fn file(_: &EngineFixture, bytes: usize) -> Reply {
    let fixture = EngineFixture::trusted(Config::default());
    // The file has no blocks on disk, so it costs nothing; at the limit it is read, and is not text.
    let file = fs::File::create(fixture.root.join("large")).unwrap();
    file.set_len(bytes as u64).unwrap();
    let mut reply = fixture.read("large");
    forgive(&mut reply, |error| error.code().as_str() == "content.binary");
    reply
}

fn whole_file(_: &EngineFixture, bytes: usize) -> Reply {
    let fixture = EngineFixture::trusted(Config::default());
    fs::File::create(fixture.path("large")).unwrap().set_len(bytes as u64).unwrap();
    let mut reply = fixture.call_on("large", "read", json!({ "format": "anchors" }));
    forgive(&mut reply, |error| error.code().as_str() == "content.binary");
    reply
}

/// A workspace in which no file may be loaded whole, with one file of this text.
fn in_parts(text: &str) -> EngineFixture {
    let config = Config::default().with_file("[policy]\nstream_from = 0\nmax_whole = 1\n", "test", true).unwrap();
    let fixture = EngineFixture::trusted(config);
    fixture.put("large", text);
    fixture
}

fn parts_places(_: &EngineFixture, count: usize) -> Reply {
    let edit = json!({ "old_string": "a", "new_string": "b", "replace_all": true, "dry_run": true });
    in_parts(&"a\n".repeat(count)).call_on("large", "edit", edit)
}

fn parts_around(_: &EngineFixture, bytes: usize) -> Reply {
    // A line end, fifteen empty lines and a long one.
    let text = format!("the first line{}{}\nthe place\n", "\n".repeat(16), "x".repeat(bytes - 17));
    in_parts(&text).edit("large", "the place", "here")
}

fn parts_line(_: &EngineFixture, bytes: usize) -> Reply {
    let fixture = in_parts(&format!("first\n{}\nlast\n", "x".repeat(bytes)));
    fixture.call("search", json!({ "pattern": "last", "path": fixture.path("large") }))
}

fn parts_together(_: &EngineFixture, bytes: usize) -> Reply {
    let line = format!("place {}\n", "x".repeat((32 << 10) - 7));
    let text = "y".repeat(bytes % line.len()) + &line.repeat(bytes / line.len());
    assert_eq!(text.len(), bytes);
    let edit = json!({ "old_string": "place ", "new_string": "PLACE ", "replace_all": true, "dry_run": true });
    in_parts(&text).call_on("large", "edit", edit)
}

fn parts_lines(_: &EngineFixture, bytes: usize) -> Reply {
    let text = format!("first\n{}\nlast\n", "x".repeat(bytes - 1));
    in_parts(&text).call_on("large", "read", json!({ "offset": 2, "limit": 1 }))
}

fn files(fixture: &EngineFixture, count: usize) -> Reply {
    let mut patch = "*** Begin Patch\n".to_owned();
    for nth in 0..count {
        writeln!(patch, "*** Add File: f{nth}\n+x").unwrap();
    }
    patch.push_str("*** End Patch\n");
    fixture.call("apply", json!({ "input": patch, "directory": fixture.root, "dry_run": true }))
}

fn replaced_files(fixture: &EngineFixture, count: usize) -> Reply {
    // Files of an earlier round exist already.
    for nth in (0..count).filter(|nth| !fixture.path(format!("d{}/r{nth}", nth % 100)).exists()) {
        fixture.put(format!("d{}/r{nth}", nth % 100), "old\n");
    }
    fixture.call(
        "replace_in_files",
        json!({ "path": fixture.root, "old_string": "old", "new_string": "new", "dry_run": true }),
    )
}

fn edits(fixture: &EngineFixture, count: usize) -> Reply {
    let text: String = (0..count).map(|nth| format!("line {nth};\n")).collect();
    fixture.put("many", &text);
    let edits: Vec<Value> =
        (0..count).map(|nth| json!({ "old_string": format!("line {nth};"), "new_string": format!("{nth}") })).collect();
    fixture.call("multi_edit", json!({ "file_path": fixture.root.join("many"), "edits": edits, "dry_run": true }))
}

fn places(fixture: &EngineFixture, count: usize) -> Reply {
    fixture.put("a", &"a".repeat(count));
    let edit = json!({ "file_path": fixture.root.join("a"), "old_string": "a", "new_string": "", "replace_all": true, "dry_run": true });
    fixture.call("edit", edit)
}

/// Two edits of one file, with half of the places each.
fn places_of_two(fixture: &EngineFixture, count: usize, order: &str) -> Reply {
    fixture.put("a", &("a".repeat(count / 2) + &"b".repeat(count - count / 2)));
    let edits = ["a", "b"].map(|old| json!({ "old_string": old, "new_string": "", "replace_all": true }));
    let input = json!({ "file_path": fixture.root.join("a"), "edits": edits, "order": order, "dry_run": true });
    fixture.call("multi_edit", input)
}

fn places_together(fixture: &EngineFixture, count: usize) -> Reply {
    places_of_two(fixture, count, "together")
}

fn places_in_turn(fixture: &EngineFixture, count: usize) -> Reply {
    places_of_two(fixture, count, "in_turn")
}

fn replaced_places(fixture: &EngineFixture, count: usize, mut input: Value) -> Reply {
    fixture.put("a", &"a".repeat(count / 2));
    fixture.put("b", &"a".repeat(count - count / 2));
    (input["path"], input["new_string"], input["dry_run"]) = (json!(fixture.root), json!("b"), json!(true));
    fixture.call("replace_in_files", input)
}

fn places_in_files(fixture: &EngineFixture, count: usize) -> Reply {
    replaced_places(fixture, count, json!({ "old_string": "a" }))
}

fn places_of_pattern(fixture: &EngineFixture, count: usize) -> Reply {
    replaced_places(fixture, count, json!({ "pattern": "[a]", "regex": true }))
}

fn reply(fixture: &EngineFixture, chars: usize) -> Reply {
    // 100 lines, shown with seven characters before the text and one after it.
    let each = chars / 100 - 8;
    let line = format!("{}\n", "x".repeat(each));
    let mut text = line.repeat(99);
    text.push_str(&"x".repeat(chars - text.len() - 99 * 7 - 8));
    text.push('\n');
    fixture.put("wide", &text);
    let reply = fixture.read("wide");
    if reply.result.is_ok() {
        assert_eq!(reply.text().chars().count(), chars);
    }
    reply
}

#[test]
fn every_limit_of_the_table_is_tested() {
    for limit in LIMITS {
        let here = ROWS.iter().any(|row| row.name == limit.name);
        assert!(here != ELSEWHERE.contains(&limit.name), "{}", limit.name);
        assert!(!limit.unit.is_empty() && !limit.next.is_empty());
    }
    assert!(ROWS.iter().all(|row| LIMITS.iter().any(|limit| limit.name == row.name)));
    assert_eq!(ELSEWHERE.iter().filter(|name| !LIMITS.iter().any(|limit| limit.name == **name)).count(), 0);
}

#[test]
fn limits_hold_at_their_number_and_one_above() {
    for row in ROWS {
        let fixture = EngineFixture::trusted(Config::default());
        let limit = LIMITS.iter().find(|limit| limit.name == row.name).unwrap();
        let most = usize::try_from(limit.most).unwrap();
        let within = (row.try_with)(&fixture, most);
        assert!(within.result.is_ok(), "{} at {most}: {}", row.name, within.text());
        let error = (row.try_with)(&fixture, most + 1).result.unwrap_err();
        assert_eq!(Some(error.code()), limit.code, "{} at {}: {error}", row.name, most + 1);
        assert!(!error.next_step().is_empty());
    }
}

#[test]
fn configured_file_size_limit_applies_to_edits_too() {
    let fixture =
        EngineFixture::trusted(Config::default().with_file("[policy]\nmax_file = 100\n", "test", true).unwrap());
    let edit = |name: &str| {
        fixture.call("edit", json!({ "file_path": fixture.root.join(name), "old_string": "b", "new_string": "c" }))
    };
    fixture.put("at", &format!("{}b", "a".repeat(99)));
    fixture.put("above", &format!("{}b", "a".repeat(100)));
    assert!(edit("at").result.is_ok());
    assert_eq!(edit("above").result.unwrap_err().code().as_str(), "file.too_large");
}

#[test]
fn omissions_of_a_read_are_reported() {
    let fixture = EngineFixture::trusted(Config::default());
    let most = |name: &str| usize::try_from(LIMITS.iter().find(|limit| limit.name == name).unwrap().most).unwrap();
    fixture.put("lines", &"x\n".repeat(most("lines")));
    let whole = fixture.read("lines");
    fixture.put("lines", &"x\n".repeat(most("lines") + 1));
    let cut = fixture.read("lines");
    assert!(cut.text().lines().count() > most("lines"), "the last line says that there is more");
    assert_eq!(whole.text().lines().count(), most("lines"));
    fixture.put("line", &"x".repeat(most("line")));
    assert!(!fixture.read("line").text().contains("not shown"));
    fixture.put("line", &"x".repeat(most("line") + 1));
    assert!(fixture.read("line").text().contains("1 more characters of this line are not shown"));
}

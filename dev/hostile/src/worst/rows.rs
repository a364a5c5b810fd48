//! The table of worst inputs. Files and inputs have up to 8 MB, or what the limits page allows.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Size of a large file or input in bytes.
const LARGE: usize = 8_000_000;

/// The files, the preparing calls, and the call that is measured.
pub(super) struct Scenario {
    pub(super) files: Vec<(String, String)>,
    pub(super) earlier: Vec<(&'static str, Value)>,
    pub(super) input: Value,
}

/// One bad input of a tool.
pub(super) struct Row {
    pub(super) tool: &'static str,
    pub(super) name: &'static str,
    pub(super) scenario: fn(&Path) -> Scenario,
}

pub(super) const ROWS: &[Row] = &[
    Row { tool: "read", name: "one long line", scenario: |root| on(root, "a".repeat(LARGE), json!({})) },
    Row { tool: "read", name: "short lines", scenario: |root| on(root, "a\n".repeat(LARGE / 2), json!({})) },
    Row { tool: "read", name: "long symbol", scenario: long_symbol },
    Row { tool: "read", name: "missing symbol", scenario: missing_symbol },
    Row { tool: "list", name: "many files", scenario: many_files },
    Row { tool: "search", name: "long literal", scenario: long_literal },
    Row { tool: "search", name: "long literal, any case", scenario: folded_literal },
    Row { tool: "search", name: "nested repetitions", scenario: |root| search(root, "a", "(?:a{1,200}){1,200}b") },
    Row {
        tool: "search",
        name: "smaller nested repetitions",
        scenario: |root| search(root, "a", "(?:a{1,90}){1,90}b"),
    },
    Row { tool: "search", name: "rescanning", scenario: |root| search(root, "a", "a[^b]*b|a") },
    Row { tool: "search", name: "many states", scenario: |root| search(root, "01", "[01]*1[01]{20}2") },
    Row {
        tool: "search",
        name: "word boundaries",
        scenario: |root| search(root, "an\u{303}b ", r"(\b\w+\b\W*){50}#####"),
    },
    Row { tool: "search", name: "nested stars", scenario: |root| search(root, "a", "(a*)*b") },
    Row { tool: "search", name: "classes of Unicode", scenario: |root| search(root, "\u{e9}", r"(\pL{1,9}){1,9}\d") },
    Row { tool: "edit", name: "present text of one letter", scenario: |root| letters(root, 837_000, 487_000, "") },
    Row { tool: "edit", name: "absent text of one letter", scenario: |root| letters(root, 837_000, 487_000, "b") },
    Row { tool: "edit", name: "large text of one letter", scenario: |root| letters(root, LARGE, LARGE / 2, "") },
    Row {
        tool: "edit",
        name: "large absent text of one letter",
        scenario: |root| letters(root, LARGE, LARGE / 2, "b"),
    },
    Row { tool: "edit", name: "spaced letters, absent", scenario: |root| repeated(root, "a ", "b") },
    Row { tool: "edit", name: "words, absent", scenario: |root| repeated(root, "word other ", "b") },
    Row { tool: "edit", name: "equal lines, absent", scenario: |root| repeated(root, "x = 1;\n", "y") },
    Row { tool: "edit", name: "blank lines, absent", scenario: |root| repeated(root, "\n", "y") },
    Row { tool: "edit", name: "short lines, absent", scenario: |root| repeated(root, "a\n", "y") },
    Row { tool: "edit", name: "braces, absent", scenario: |root| repeated(root, "}\n", "y") },
    Row { tool: "edit", name: "equal lines, other indentation", scenario: indented_lines },
    Row { tool: "edit", name: "deep indentation", scenario: deep_indentation },
    Row { tool: "edit", name: "similar lines", scenario: similar_lines },
    Row { tool: "edit", name: "similar long lines", scenario: similar_long_lines },
    Row { tool: "edit", name: "typographic quotes", scenario: quotes },
    Row { tool: "edit", name: "escapes", scenario: |root| repeated(root, "\\\\n\\\"", "y") },
    Row { tool: "edit", name: "placeholder between equal lines", scenario: placeholder },
    Row { tool: "edit", name: "500,000 places", scenario: many_places },
    Row { tool: "multi_edit", name: "edits in turn", scenario: edits_in_turn },
    Row { tool: "multi_edit", name: "absent edits", scenario: absent_edits },
    Row { tool: "multi_edit", name: "absent equal edits", scenario: absent_equal_edits },
    Row { tool: "edit_anchors", name: "repeated anchors", scenario: repeated_anchors },
    Row { tool: "write", name: "reversed lines", scenario: reversed_lines },
    Row { tool: "write", name: "TOML tables", scenario: toml_tables },
    Row { tool: "write", name: "shuffled equal lines", scenario: shuffled_lines },
    Row { tool: "notebook_edit", name: "many cells", scenario: many_cells },
    Row { tool: "notebook_edit", name: "many new cells", scenario: new_cells },
    Row { tool: "text_editor", name: "equal lines, absent", scenario: editor },
    Row { tool: "apply", name: "hunks that do not apply", scenario: absent_hunks },
    Row { tool: "apply", name: "hunks in repeated lines", scenario: |root| hunks(root, &repeated_hunks(9_999)) },
    Row { tool: "apply", name: "blocks in repeated lines", scenario: |root| repeated_blocks(root, 9_999) },
    Row { tool: "apply", name: "a few blocks in repeated lines", scenario: |root| repeated_blocks(root, 250) },
    Row { tool: "apply", name: "absent blocks", scenario: absent_blocks },
    Row { tool: "apply", name: "line edits", scenario: line_edits },
    Row { tool: "apply", name: "unclosed quotes", scenario: |root| applied(root, "\"'`\\".repeat(LARGE / 4)) },
    Row {
        tool: "apply",
        name: "unclosed comments",
        scenario: |root| applied(root, "writeFile(/*\n".repeat(LARGE / 13)),
    },
    Row {
        tool: "apply",
        name: "braces beside an anchor",
        scenario: |root| applied(root, format!("\"anchor\" {}", "{".repeat(LARGE))),
    },
    Row { tool: "apply", name: "opening tags", scenario: |root| applied(root, "<a><file>\n".repeat(LARGE / 10)) },
    Row {
        tool: "apply",
        name: "opening markers",
        scenario: |root| applied(root, "<<<<<<< SEARCH\n".repeat(LARGE / 15)),
    },
    Row { tool: "apply", name: "opening brackets", scenario: |root| applied(root, "{\"a\":[".repeat(LARGE / 6)) },
    Row { tool: "convert", name: "hunks in repeated lines", scenario: convert_repeated },
    Row { tool: "convert", name: "long repeated hunks", scenario: convert_long },
    Row { tool: "replace_in_files", name: "every letter doubled", scenario: every_letter },
    Row { tool: "replace_in_files", name: "a result of 60 MB", scenario: large_result },
    Row { tool: "replace_in_files", name: "nested repetitions", scenario: replace_nested },
    Row { tool: "replace_in_files", name: "many groups", scenario: many_groups },
    Row { tool: "outline", name: "deep JSON", scenario: |root| deep(root, "a.json", "[\n", "]\n") },
    Row { tool: "outline", name: "deep Rust", scenario: |root| deep(root, "a.rs", "mod a {\n", "}\n") },
    Row { tool: "outline", name: "deep Markdown", scenario: |root| deep(root, "a.md", "> ", "") },
    Row { tool: "outline", name: "wide Python", scenario: |root| deep(root, "a.py", "def f():\n    pass\n", "") },
    Row { tool: "check", name: "deep JSON", scenario: check },
    Row { tool: "edit_symbol", name: "many symbols", scenario: symbol },
    Row { tool: "undo", name: "many places", scenario: undo },
    Row { tool: "restore", name: "many places", scenario: restore },
    Row { tool: "history", name: "many places", scenario: history },
];

fn path(root: &Path, name: &str) -> String {
    root.join(name).display().to_string()
}

/// Creates a call about one file.
fn on_file(root: &Path, name: &str, text: String, field: &str, mut input: Value) -> Scenario {
    input[field] = json!(path(root, name));
    Scenario { files: vec![(name.to_owned(), text)], earlier: Vec::new(), input }
}

pub(super) fn on(root: &Path, text: String, input: Value) -> Scenario {
    on_file(root, "a.txt", text, "file_path", input)
}

fn numbered(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, nth| {
        let _ = writeln!(text, "line {nth} x");
        text
    })
}

fn long_symbol(root: &Path) -> Scenario {
    let text = format!("package a\n\nfunc f() {{\n{}}}\n", "\tcall(1, \"x\")\n".repeat(280_000));
    on_file(root, "a.go", text, "file_path", json!({ "symbol": "f" }))
}

fn missing_symbol(root: &Path) -> Scenario {
    let text = (0..180_000).map(|nth| format!("fn name{nth}() {{}}\n")).collect();
    on_file(root, "a.rs", text, "file_path", json!({ "symbol": "naem17" }))
}

fn many_files(root: &Path) -> Scenario {
    let files = (0..20_000).map(|nth| (format!("{nth}.txt"), String::new())).collect();
    Scenario { files, earlier: Vec::new(), input: json!({ "path": root }) }
}

fn in_directory(root: &Path, text: String, mut input: Value) -> Scenario {
    input["path"] = json!(root);
    Scenario { files: vec![("a.txt".to_owned(), text)], earlier: Vec::new(), input }
}

fn long_literal(root: &Path) -> Scenario {
    let pattern = "ab".repeat(LARGE / 4) + "c";
    in_directory(root, "ab".repeat(LARGE / 2), json!({ "pattern": pattern, "literal": true }))
}

fn folded_literal(root: &Path) -> Scenario {
    let pattern = "aB".repeat(30_000) + "c";
    in_directory(root, "ab".repeat(LARGE / 2), json!({ "pattern": pattern, "literal": true, "ignore_case": true }))
}

fn search(root: &Path, unit: &str, pattern: &str) -> Scenario {
    in_directory(root, unit.repeat(LARGE / unit.len()), json!({ "pattern": pattern }))
}

fn letters(root: &Path, file: usize, old: usize, end: &str) -> Scenario {
    on(root, "a".repeat(file), json!({ "old_string": "a".repeat(old) + end, "new_string": "c" }))
}

/// Creates a file of equal parts, and an old text of half of them with another end.
fn repeated(root: &Path, unit: &str, end: &str) -> Scenario {
    let count = LARGE / unit.len();
    on(root, unit.repeat(count), json!({ "old_string": unit.repeat(count / 2) + end, "new_string": "z" }))
}

fn indented_lines(root: &Path) -> Scenario {
    let count = LARGE / 11;
    let old = "\tx = 1;\n".repeat(count / 2);
    on(root, "    x = 1;\n".repeat(count), json!({ "old_string": old, "new_string": "z" }))
}

/// Returns the text of a file whose two lines are indented by 300,000 spaces.
pub(super) fn deep_lines() -> String {
    let deep = " ".repeat(300_000);
    format!("def f():\n{deep}alpha = 1\n{deep}return alpha\n")
}

fn deep_indentation(root: &Path) -> Scenario {
    let old = "  alpha = 1\n  return alpha\n";
    on(root, deep_lines(), json!({ "old_string": old, "new_string": "  other = 1\n".repeat(300_000) }))
}

fn toml_tables(root: &Path) -> Scenario {
    let text = (0..190_000).fold(String::new(), |mut text, nth| {
        let _ = writeln!(text, "a{nth}.b.c.d.e.f.g=1");
        text
    });
    on_file(root, "a.toml", String::new(), "file_path", json!({ "content": text }))
}

fn similar_lines(root: &Path) -> Scenario {
    let lines = |word: &str| -> String {
        (0..LARGE / 30).map(|nth| format!("value_{} = {word}(x, {});\n", nth % 97, nth % 89)).collect()
    };
    on(root, lines("call"), json!({ "old_string": lines("cal"), "new_string": "z" }))
}

fn similar_long_lines(root: &Path) -> Scenario {
    let line = |word: &str| format!("{}{word}{}\n", "ab cd ".repeat(8_000), "ef gh ".repeat(8_000));
    on(root, line("x").repeat(80), json!({ "old_string": line("y").repeat(40), "new_string": "z" }))
}

fn quotes(root: &Path) -> Scenario {
    let old = "say(\"a\", 'b')\n".repeat(250_000);
    on(
        root,
        "say(\u{201c}a\u{201d}, \u{2018}b\u{2019})\n".repeat(300_000),
        json!({ "old_string": old, "new_string": "z" }),
    )
}

fn placeholder(root: &Path) -> Scenario {
    let old = "x = 1;\n// ... existing code ...\n".repeat(2_000);
    on(root, "x = 1;\ny = 2;\n".repeat(LARGE / 14), json!({ "old_string": old, "new_string": "z" }))
}

fn many_places(root: &Path) -> Scenario {
    on(root, "a b ".repeat(500_000), json!({ "old_string": "a", "new_string": "c", "replace_all": true }))
}

fn edits(root: &Path, text: String, edit: impl Fn(usize) -> Value, order: &str) -> Scenario {
    on(root, text, json!({ "edits": (0..9_999).map(edit).collect::<Vec<Value>>(), "order": order }))
}

fn edits_in_turn(root: &Path) -> Scenario {
    let edit = |nth: usize| json!({ "old_string": format!("line {nth} x\n"), "new_string": format!("line {nth} y\n") });
    edits(root, numbered(400_000), edit, "in_turn")
}

fn absent_edits(root: &Path) -> Scenario {
    let edit = |nth: usize| json!({ "old_string": format!("lime {nth} x\nlyne {nth}\n"), "new_string": "y" });
    edits(root, numbered(400_000), edit, "together")
}

fn absent_equal_edits(root: &Path) -> Scenario {
    let edit = |nth: usize| json!({ "old_string": "x = 1;\n".repeat(90) + &nth.to_string(), "new_string": "y" });
    edits(root, "x = 1;\n".repeat(LARGE / 7), edit, "together")
}

fn repeated_anchors(root: &Path) -> Scenario {
    let input = json!({ "edits": [{ "anchor": "Complete:start_here()", "edit_type": "replace", "text": "x" }] });
    let mut scenario = on_file(root, "a.txt", "start_here()\nend_here()\n".repeat(LARGE / 24), "path", input);
    scenario.earlier.push(("read", json!({ "file_path": path(root, "a.txt"), "format": "anchors", "limit": 100 })));
    scenario
}

fn reversed_lines(root: &Path) -> Scenario {
    let text = numbered(480_000);
    let content = text.lines().rev().fold(String::new(), |text, line| text + line + "\n");
    on(root, text, json!({ "content": content }))
}

fn shuffled_lines(root: &Path) -> Scenario {
    let lines = |step: usize| (0..LARGE / 2).map(move |nth| if nth * step % 7 < 3 { "a\n" } else { "b\n" });
    on(root, lines(1).collect(), json!({ "content": lines(1_000_003).collect::<String>() }))
}

fn notebook(root: &Path, edit: impl Fn(usize) -> Value) -> Scenario {
    let source = "x = 1\n".repeat(120);
    let cell =
        |nth: usize| json!({ "cell_type": "markdown", "id": format!("c{nth}"), "metadata": {}, "source": source });
    let cells: Vec<Value> = (0..9_999).map(cell).collect();
    let text = json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells }).to_string();
    let edits: Vec<Value> = (0..9_999).map(edit).collect();
    on_file(root, "a.ipynb", text, "notebook_path", json!({ "edits": edits }))
}

fn many_cells(root: &Path) -> Scenario {
    notebook(root, |nth| json!({ "cell_id": format!("c{nth}"), "new_source": "y" }))
}

fn new_cells(root: &Path) -> Scenario {
    let edit = |nth: usize| json!({ "cell_id": format!("c{nth}"), "new_source": "y", "edit_mode": "insert", "cell_type": "raw" });
    notebook(root, edit)
}

fn editor(root: &Path) -> Scenario {
    let old = "x = 1;\n".repeat(LARGE / 14) + "y";
    let input = json!({ "command": "str_replace", "old_str": old, "new_str": "z" });
    on_file(root, "a.txt", "x = 1;\n".repeat(LARGE / 7), "path", input)
}

pub(super) fn applied(root: &Path, input: impl Into<String>) -> Scenario {
    let files = vec![("a.txt".to_owned(), "a\nb\n".repeat(LARGE / 4))];
    let input: String = input.into();
    Scenario { files, earlier: Vec::new(), input: json!({ "input": input, "directory": root }) }
}

fn hunks(root: &Path, hunks: &str) -> Scenario {
    applied(root, "--- a/a.txt\n+++ b/a.txt\n".to_owned() + hunks)
}

fn repeated_hunks(count: usize) -> String {
    (0..count).map(|nth| format!("@@ -{0},3 +{0},3 @@\n a\n-b\n+q\n a\n", 8 * nth + 1)).collect()
}

fn absent_hunks(root: &Path) -> Scenario {
    let hunk = |nth: usize| format!("@@ -{0},2 +{0},2 @@\n lime {nth}\n-lyne {nth} x\n+q\n", 3 * nth + 1);
    let mut scenario = hunks(root, &(0..9_999).map(hunk).collect::<String>());
    scenario.files = vec![("a.txt".to_owned(), numbered(480_000))];
    scenario
}

fn repeated_blocks(root: &Path, count: usize) -> Scenario {
    let block =
        |nth: usize| format!("a.txt\n<<<<<<< SEARCH\n{}c{nth}\n=======\nq\n>>>>>>> REPLACE\n", "a\nb\n".repeat(150));
    applied(root, (0..count).map(block).collect::<String>())
}

fn absent_blocks(root: &Path) -> Scenario {
    let block = |nth: usize| format!("a.txt\n<<<<<<< SEARCH\nlime {nth}\nlyne {nth}\n=======\nq\n>>>>>>> REPLACE\n");
    let mut scenario = applied(root, (0..9_999).map(block).collect::<String>());
    scenario.files = vec![("a.txt".to_owned(), numbered(480_000))];
    scenario
}

fn line_edits(root: &Path) -> Scenario {
    let edit = |nth: usize| format!("replace {0}..{0}:\n+q{nth}\n", 3 * nth + 1);
    applied(root, "\u{b6}a.txt#0000\n".to_owned() + &(0..9_999).map(edit).collect::<String>())
}

fn convert_repeated(root: &Path) -> Scenario {
    let mut scenario = hunks(root, &repeated_hunks(9_999));
    scenario.input["to"] = json!("search_replace");
    scenario
}

/// Creates a change that removes half of many equal lines and the blank line after them; the remaining lines are equal
/// to the removed ones.
fn convert_long(root: &Path) -> Scenario {
    let (lines, removed) = (200_000, 100_000);
    let hunk =
        format!("@@ -{},{} +{},0 @@\n{}-\n", lines - removed + 1, removed + 1, lines - removed, "-a\n".repeat(removed));
    let mut scenario = hunks(root, &hunk);
    scenario.files = vec![("a.txt".to_owned(), "a\n".repeat(lines) + "\nb\n")];
    scenario.input["to"] = json!("search_replace");
    scenario
}

fn replace(root: &Path, text: String, pattern: &str, new: &str) -> Scenario {
    let input = json!({ "pattern": pattern, "regex": true, "new_string": new, "dry_run": false });
    in_directory(root, text, input)
}

fn every_letter(root: &Path) -> Scenario {
    replace(root, "ab\n".repeat(166_000), ".", "$0$0")
}

fn large_result(root: &Path) -> Scenario {
    replace(root, "a\n".repeat(100_000), "a", &"x".repeat(600))
}

fn replace_nested(root: &Path) -> Scenario {
    replace(root, "a".repeat(LARGE), "(?:a{1,200}){1,200}b", "c")
}

fn many_groups(root: &Path) -> Scenario {
    let (pattern, new): (String, String) = (1..=200).map(|nth| ("(a?)".to_owned(), format!("${nth}"))).unzip();
    replace(root, "a".repeat(1_000_000), &pattern, &new)
}

fn deep(root: &Path, name: &str, open: &str, close: &str) -> Scenario {
    let count = (4 << 20) / (open.len() + close.len());
    on_file(root, name, open.repeat(count) + &close.repeat(count), "file_path", json!({}))
}

fn check(root: &Path) -> Scenario {
    let mut scenario = deep(root, "a.json", "[\n", "]\n");
    scenario.input = json!({ "paths": [path(root, "a.json")] });
    scenario
}

fn symbol(root: &Path) -> Scenario {
    let text = (0..200_000).map(|nth| format!("fn f{nth}() {{}}\n")).collect();
    on_file(root, "a.rs", text, "file_path", json!({ "symbol": "f7", "action": "rename", "text": "g" }))
}

/// Creates a change in many places before the measured call.
fn changed(root: &Path, input: Value) -> Scenario {
    let text = "a b\n".repeat(400_000);
    let edit = json!({ "file_path": path(root, "a.txt"), "old_string": "a", "new_string": "c", "replace_all": true });
    Scenario { files: vec![("a.txt".to_owned(), text)], earlier: vec![("edit", edit)], input }
}

fn undo(root: &Path) -> Scenario {
    changed(root, json!({}))
}

fn restore(root: &Path) -> Scenario {
    changed(root, json!({ "file_path": path(root, "a.txt"), "id": "1^" }))
}

fn history(root: &Path) -> Scenario {
    changed(root, json!({ "id": "1" }))
}

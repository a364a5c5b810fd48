//! Work steps of each tool on its worst inputs: within the budget of a call, and nearly proportional to the input.
//! Steps are counted, not seconds, so the test gives the same result on every machine.

use crate::fixture::EngineFixture;
use emendate::core::work::WORK_STEPS_MAX;
use emendate::{CallHandle, Config, Reply, TOOLS};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One bad input of a tool: the setup for a size, and the call.
struct Row {
    tool: &'static str,
    /// A name for messages.
    name: &'static str,
    /// The smaller size; the other one is four times as large.
    size: usize,
    input: fn(&EngineFixture, usize) -> Value,
}

const ROWS: &[Row] = &[
    Row { tool: "read", name: "one long line", size: 50_000, input: long_line },
    Row { tool: "read", name: "short lines", size: 20_000, input: short_lines },
    Row { tool: "list", name: "many files", size: 200, input: many_files },
    Row { tool: "search", name: "long literal", size: 20_000, input: long_literal },
    Row { tool: "search", name: "expression on one line", size: 20_000, input: slow_expression },
    Row { tool: "edit", name: "overlapping", size: 20_000, input: equal_letters },
    Row { tool: "edit", name: "equal lines that are absent", size: 2_000, input: equal_lines },
    Row { tool: "edit", name: "equal lines, indented otherwise", size: 2_000, input: indented_lines },
    Row { tool: "edit", name: "all of many places on a line", size: 5_000, input: all_places },
    Row { tool: "multi_edit", name: "edits in turn", size: 250, input: edits_in_turn },
    Row { tool: "multi_edit", name: "edits that are absent", size: 500, input: absent_edits },
    Row { tool: "edit_anchors", name: "repeated anchors", size: 2_000, input: repeated_anchors },
    Row { tool: "write", name: "other lines", size: 2_000, input: other_lines },
    Row { tool: "notebook_edit", name: "many cells", size: 500, input: many_cells },
    Row { tool: "notebook_edit", name: "new cells of another type", size: 500, input: new_cells },
    Row { tool: "text_editor", name: "equal lines that are absent", size: 2_000, input: editor },
    Row { tool: "apply", name: "hunks that do not apply", size: 500, input: bad_hunks },
    Row { tool: "apply", name: "hunks in repeated lines", size: 200, input: repeated_hunks },
    Row { tool: "replace_in_files", name: "every character", size: 5_000, input: every_character },
    Row { tool: "replace_in_files", name: "deep JSON", size: 20_000, input: deep_json },
    Row { tool: "convert", name: "many hunks", size: 250, input: convert },
    Row { tool: "outline", name: "deep JSON", size: 1_000, input: outline },
    Row { tool: "check", name: "deep JSON", size: 1_000, input: check },
    Row { tool: "edit_symbol", name: "many symbols", size: 500, input: symbol },
    Row { tool: "undo", name: "many places", size: 2_000, input: undo },
    Row { tool: "restore", name: "many places", size: 2_000, input: restore },
    Row { tool: "history", name: "many places", size: 2_000, input: history },
    Row { tool: "mark", name: "no file", size: 1, input: |_, _| json!({ "name": "m" }) },
    Row { tool: "rewind", name: "many places", size: 2_000, input: rewind },
    Row { tool: "snapshot", name: "many files", size: 200, input: files_of_snapshot },
];

/// Steps that a call may take in addition to those that grow with its input: explanations have an allowance of their
/// own.
const BESIDE: u64 = 20_000;

fn numbered(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, nth| {
        let _ = writeln!(text, "line {nth} x");
        text
    })
}

fn on(fixture: &EngineFixture, text: &str, mut input: Value) -> Value {
    input["file_path"] = json!(fixture.put("a.txt", text));
    input
}

fn long_line(fixture: &EngineFixture, size: usize) -> Value {
    on(fixture, &"ab ".repeat(size), json!({}))
}

fn short_lines(fixture: &EngineFixture, size: usize) -> Value {
    on(fixture, &"a\n".repeat(size), json!({}))
}

fn many_files(fixture: &EngineFixture, size: usize) -> Value {
    for nth in 0..size {
        fixture.put(format!("{nth}.txt"), "");
    }
    json!({ "path": fixture.root })
}

fn rewind(fixture: &EngineFixture, size: usize) -> Value {
    fixture.call("mark", json!({ "name": "m" }));
    undo(fixture, size);
    json!({ "to": "m" })
}

fn files_of_snapshot(fixture: &EngineFixture, size: usize) -> Value {
    many_files(fixture, size);
    json!({})
}

fn long_literal(fixture: &EngineFixture, size: usize) -> Value {
    fixture.put("a.txt", &"ab".repeat(size));
    json!({ "path": fixture.root, "pattern": "ab".repeat(size / 2) + "c", "literal": true })
}

fn slow_expression(fixture: &EngineFixture, size: usize) -> Value {
    fixture.put("a.txt", &"01".repeat(size));
    json!({ "path": fixture.root, "pattern": "[01]*1[01]{20}2" })
}

fn equal_lines(fixture: &EngineFixture, size: usize) -> Value {
    on(fixture, &"x = 1;\n".repeat(size), json!({ "old_string": "x = 1;\n".repeat(size / 2) + "y", "new_string": "z" }))
}

fn equal_letters(fixture: &EngineFixture, size: usize) -> Value {
    on(fixture, &"a".repeat(size), json!({ "old_string": "a".repeat(size / 2), "new_string": "b" }))
}

fn indented_lines(fixture: &EngineFixture, size: usize) -> Value {
    let text = "    x = 1;\n".repeat(size);
    on(fixture, &text, json!({ "old_string": "\tx = 1;\n".repeat(size / 2), "new_string": "z" }))
}

fn all_places(fixture: &EngineFixture, size: usize) -> Value {
    on(fixture, &"a b ".repeat(size), json!({ "old_string": "a", "new_string": "c", "replace_all": true }))
}

fn edits_in_turn(fixture: &EngineFixture, size: usize) -> Value {
    let edit = |nth: usize| json!({ "old_string": format!("line {nth} x\n"), "new_string": format!("line {nth} y\n") });
    // The work of each is the length of the file, which is constant.
    on(fixture, &numbered(2_000), json!({ "edits": (0..size).map(edit).collect::<Vec<Value>>(), "order": "in_turn" }))
}

fn absent_edits(fixture: &EngineFixture, size: usize) -> Value {
    let edit = |nth: usize| json!({ "old_string": format!("lime {nth} x\nlyne {nth}\n"), "new_string": "y" });
    on(fixture, &numbered(size), json!({ "edits": (0..size).map(edit).collect::<Vec<Value>>() }))
}

fn repeated_anchors(fixture: &EngineFixture, size: usize) -> Value {
    let path = fixture.put("a.txt", &"start_here()\nend_here()\n".repeat(size));
    fixture.call("read", json!({ "file_path": path, "format": "anchors" }));
    json!({ "path": path, "edits": [{ "anchor": "Complete:start_here()", "edit_type": "replace", "text": "x" }] })
}

fn other_lines(fixture: &EngineFixture, size: usize) -> Value {
    let content: String = numbered(size).lines().rev().fold(String::new(), |text, line| text + line + "\n");
    on(fixture, &numbered(size), json!({ "content": content }))
}

fn many_cells(fixture: &EngineFixture, size: usize) -> Value {
    let cell = |nth: usize| json!({ "cell_type": "markdown", "id": format!("c{nth}"), "metadata": {}, "source": "x" });
    let cells: Vec<Value> = (0..size).map(cell).collect();
    let text = json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells }).to_string();
    let edit = |nth: usize| json!({ "cell_id": format!("c{nth}"), "new_source": "y" });
    let edits: Vec<Value> = (0..size).map(edit).collect();
    json!({ "notebook_path": fixture.put("a.ipynb", &text), "edits": edits })
}

fn new_cells(fixture: &EngineFixture, size: usize) -> Value {
    let mut input = many_cells(fixture, size);
    for edit in input["edits"].as_array_mut().into_iter().flatten() {
        edit["edit_mode"] = json!("insert");
        edit["cell_type"] = json!("raw");
    }
    input
}

fn editor(fixture: &EngineFixture, size: usize) -> Value {
    let path = fixture.put("a.txt", &"x = 1;\n".repeat(size));
    let old = "x = 1;\n".repeat(size / 2) + "y";
    json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": "z" })
}

fn patch(hunks: impl Iterator<Item = String>) -> String {
    hunks.fold("--- a/a.txt\n+++ b/a.txt\n".to_owned(), |text, hunk| text + &hunk)
}

fn bad_hunks(fixture: &EngineFixture, size: usize) -> Value {
    fixture.put("a.txt", &numbered(3 * size));
    let hunk = |nth: usize| format!("@@ -{0},2 +{0},2 @@\n lime {nth}\n-lyne {nth} x\n+q\n", 3 * nth + 1);
    json!({ "input": patch((0..size).map(hunk)), "directory": fixture.root })
}

fn repeated_hunks(fixture: &EngineFixture, size: usize) -> Value {
    fixture.put("a.txt", &"a\nb\n".repeat(5 * size));
    let hunk = |nth: usize| format!("@@ -{0},3 +{0},3 @@\n a\n-b\n+q\n a\n", 4 * nth + 1);
    json!({ "input": patch((0..size).map(hunk)), "directory": fixture.root })
}

fn every_character(fixture: &EngineFixture, size: usize) -> Value {
    fixture.put("a.txt", &"ab\n".repeat(size));
    json!({ "path": fixture.root, "pattern": ".", "regex": true, "new_string": "$0$0", "expected": 2 * size })
}

fn deep_json(fixture: &EngineFixture, size: usize) -> Value {
    fixture.put("a.json", &("[".repeat(size) + &"]".repeat(size)));
    json!({ "path": fixture.root, "old_string": "[]", "new_string": "[1]", "expected": 1 })
}

fn convert(fixture: &EngineFixture, size: usize) -> Value {
    fixture.put("a.txt", &numbered(3 * size));
    let hunk = |nth: usize| format!("@@ -{0},1 +{0},1 @@\n-line {1} x\n+q\n", 3 * nth + 1, 3 * nth);
    json!({ "input": patch((0..size).map(hunk)), "to": "search_replace", "directory": fixture.root })
}

fn outline(fixture: &EngineFixture, size: usize) -> Value {
    json!({ "file_path": fixture.put("a.json", &("[\n".repeat(size) + &"]\n".repeat(size))) })
}

fn check(fixture: &EngineFixture, size: usize) -> Value {
    json!({ "paths": [fixture.put("a.json", &("[\n".repeat(size) + &"]\n".repeat(size)))] })
}

fn symbol(fixture: &EngineFixture, size: usize) -> Value {
    let text: String = (0..size).map(|nth| format!("fn f{nth}() {{}}\n")).collect();
    let path = fixture.put("a.rs", &text);
    json!({ "file_path": path, "symbol": "f7", "action": "rename", "text": "g" })
}

/// Replaces a letter in many places, so that there is something to undo.
fn changed(fixture: &EngineFixture, size: usize) -> Value {
    let path = fixture.put("a.txt", &"a b\n".repeat(size));
    let input = json!({ "file_path": path, "old_string": "a", "new_string": "c", "replace_all": true });
    let reply = fixture.call("edit", input);
    let done = reply.result.unwrap();
    json!({ "file_path": path, "id": done.data["operation"] })
}

fn undo(fixture: &EngineFixture, size: usize) -> Value {
    json!({ "id": changed(fixture, size)["id"] })
}

fn restore(fixture: &EngineFixture, size: usize) -> Value {
    let of = changed(fixture, size);
    json!({ "file_path": of["file_path"], "id": format!("{}^", of["id"].as_str().unwrap_or_default()) })
}

fn history(fixture: &EngineFixture, size: usize) -> Value {
    json!({ "id": changed(fixture, size)["id"] })
}

/// Makes a call of a row at a size, with a budget, and counts its steps.
fn played(row: &Row, size: usize, config: Config, stopped: bool) -> (EngineFixture, Reply, u64) {
    let mut fixture = EngineFixture::trusted(config);
    let input = (row.input)(&fixture, size);
    let watch = CallHandle::default();
    if stopped {
        watch.stop();
    }
    fixture.caller.handle = Some(watch.clone());
    let reply = fixture.call(row.tool, input);
    (fixture, reply, watch.steps())
}

fn with_budget(steps: u64) -> Config {
    Config::default().with_file(&format!("[policy]\nmax_work = {steps}\n"), "test", true).unwrap()
}

#[test]
fn every_tool_has_a_worst_input() {
    for tool in TOOLS {
        assert!(ROWS.iter().any(|row| row.tool == tool.name), "{} has no row", tool.name);
    }
}

#[test]
fn worst_inputs_take_steps_in_proportion() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let (_, small, few) = played(row, row.size, Config::default(), false);
        let (_, large, many) = played(row, 4 * row.size, Config::default(), false);
        let told = format!("{} ({}): {few} and {many} steps", row.tool, row.name);
        for reply in [&small, &large] {
            let code = reply.result.as_ref().err().map(|error| error.code().as_str());
            if matches!(code, Some("call.too_much_work" | "call.invalid" | "internal.bug")) {
                wrong.push(format!("{told}: {code:?}"));
            }
        }
        if few == 0 || many > 6 * few + BESIDE || many > WORK_STEPS_MAX / 4 {
            wrong.push(told);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn cancelled_call_ends_within_a_few_steps() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let (_, reply, steps) = played(row, row.size, Config::default(), true);
        let code = reply.result.err().map(|error| error.code().as_str());
        if code != Some("call.cancelled") || steps > 10_000 {
            wrong.push(format!("{} ({}): {code:?} after {steps} steps", row.tool, row.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A budget that ends at any point leaves the file unchanged, or changed completely.
#[test]
fn exhausted_budget_changes_all_or_nothing() {
    for row in ROWS.iter().filter(|row| ["edit", "multi_edit", "apply", "replace_in_files"].contains(&row.tool)) {
        let size = row.size / 10;
        let (whole, _, steps) = played(row, size, Config::default(), false);
        let name = if whole.path("a.json").exists() { "a.json" } else { "a.txt" };
        let (fresh, after) = (EngineFixture::new(), whole.get(name));
        (row.input)(&fresh, size);
        let before = fresh.get(name);
        for nth in 0..12 {
            // Numbers all over the range, the same in every run.
            let budget = steps * nth / 11 + nth * 7_919 % 97;
            let (fixture, reply, _) = played(row, size, with_budget(budget), false);
            let now = fixture.get(name);
            let want = if reply.result.is_ok() { &after } else { &before };
            assert!(now == *want, "{} ({}) with {budget} of {steps} steps", row.tool, row.name);
        }
    }
}

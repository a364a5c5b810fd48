//! Calls that fit the files: they are made from the real contents and from earlier replies, so that most of them
//! succeed.
//!
//! Some need other calls before them, which are judged like any other call: a read that shows anchors, an outline that
//! names symbols, a mark to go back to.

use crate::round::Round;
use crate::subject::{LineRange, Subject};
use emendate::Tool;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Formats that `convert` writes.
const TARGETS: &[&str] = &["unified_diff", "apply_patch", "search_replace", "whole_file", "hashline", "anchors"];
/// Maximum bytes of a file whose change is converted: a larger reply would be refused.
const CONVERTED_BYTES_MAX: usize = 10_000;

/// Returns an input for a tool that should succeed; `None` if no file is suitable.
pub(crate) fn input(round: &mut Round<'_>, tool: &Tool) -> Option<Value> {
    Some(match tool.name {
        "read" => read(round)?,
        "search" => search(round)?,
        "list" => json!({ "path": round.root(), "depth": round.luck.between(1, 9) }),
        "edit" => edit(round)?,
        "multi_edit" => several(round)?,
        "edit_anchors" => anchors(round)?,
        "write" => write(round)?,
        "notebook_edit" => cell(round)?,
        "text_editor" => editor(round)?,
        "apply" => json!({ "input": patch(round, usize::MAX)?, "directory": round.root() }),
        "convert" => {
            let input = patch(round, CONVERTED_BYTES_MAX)?;
            json!({ "input": input, "directory": round.root(), "to": *round.luck.pick(TARGETS) })
        }
        "replace_in_files" => replace(round)?,
        "outline" => json!({ "file_path": round.source()?.path }),
        "check" => json!({ "paths": [round.source()?.path, round.subject(usize::MAX)?.path] }),
        "edit_symbol" => symbol(round)?,
        "undo" => undo(round)?,
        "restore" => restore(round)?,
        "history" => history(round)?,
        "mark" => json!({ "name": round.new_name("mark") }),
        "rewind" => rewind(round)?,
        "snapshot" => snapshot(round)?,
        _ => json!({}),
    })
}

fn read(round: &mut Round<'_>) -> Option<Value> {
    let subject = round.subject(usize::MAX)?;
    let format = *round.luck.pick(&["numbered", "plain", "hashline", "hashline_put", "anchors", "anchors_tab"]);
    let offset = round.luck.between(1, subject.count());
    let limit = round.luck.between(1, 60);
    Some(json!({ "file_path": subject.path, "format": format, "offset": offset, "limit": limit }))
}

fn search(round: &mut Round<'_>) -> Option<Value> {
    let subject = round.subject(usize::MAX)?;
    let word = subject.word(&mut round.luck)?;
    let path = if round.luck.chance(50) { round.root() } else { subject.path };
    let context = round.luck.below(4);
    Some(match round.luck.below(3) {
        0 => json!({ "pattern": word, "path": path, "literal": true, "context": context }),
        1 => json!({ "pattern": format!("{word}\\b?"), "path": path, "ignore_case": true }),
        _ => json!({ "pattern": format!("(?s){word}.{{0,9}}"), "path": path, "multiline": true, "limit": 50 }),
    })
}

/// Adds the fields to an input that an edit of this file may need.
fn permitted(round: &mut Round<'_>, subject: &Subject, mut input: Value) -> Value {
    if subject.is_validated() && round.luck.chance(90) {
        input["allow_invalid"] = json!(true);
    }
    if round.luck.chance(5) {
        input["dry_run"] = json!(true);
    }
    input
}

fn edit(round: &mut Round<'_>) -> Option<Value> {
    let subject = round.subject(usize::MAX)?;
    let lines = subject.unique_lines(&mut round.luck)?;
    let old = subject.text_of(&lines);
    let new = round.changed(&old);
    let input = match round.luck.below(10) {
        0 => {
            let word = subject.word(&mut round.luck)?;
            let new = format!("{word}_{}", round.luck.below(100_000));
            json!({ "file_path": subject.path, "old_string": word, "new_string": new, "replace_all": true })
        }
        1 => json!({ "file_path": subject.path, "edits": replacements(round, &subject)? }),
        2 => {
            let shifted = |text: &str| -> String { text.split('\n').map(|line| format!("  {line}\n")).collect() };
            let new = old.replacen(|it: char| it.is_ascii_alphanumeric(), "q7", 1);
            json!({ "file_path": subject.path, "old_string": shifted(&old), "new_string": shifted(&new) })
        }
        3 => {
            let old = old.split('\n').map(|line| format!("{line}  ")).collect::<Vec<_>>().join("\n");
            json!({ "file_path": subject.path, "old_string": old, "new_string": new })
        }
        4 => json!({ "file_path": subject.path, "old_string": old, "new_string": new, "match": "exact" }),
        _ => json!({ "file_path": subject.path, "old_string": old, "new_string": new }),
    };
    Some(permitted(round, &subject, input))
}

/// Returns replacements of up to five places that are apart from each other.
fn replacements(round: &mut Round<'_>, subject: &Subject) -> Option<Vec<Value>> {
    let mut taken: Vec<LineRange> = Vec::new();
    for _ in 0..round.luck.between(1, 5) {
        let lines = subject.unique_lines(&mut round.luck)?;
        if taken.iter().all(|other| other.end + 1 < lines.start || lines.end + 1 < other.start) {
            taken.push(lines);
        }
    }
    let one = |lines: &LineRange| {
        let old = subject.text_of(lines);
        json!({ "old_string": old, "new_string": round.changed(&old) })
    };
    Some(taken.iter().map(one).collect())
}

fn several(round: &mut Round<'_>) -> Option<Value> {
    let subject = round.subject(usize::MAX)?;
    let edits = replacements(round, &subject)?;
    let order = if round.luck.chance(30) { "in_turn" } else { "together" };
    Some(permitted(round, &subject, json!({ "file_path": subject.path, "edits": edits, "order": order })))
}

/// Reads some lines with anchors, and returns an edit of one or two of them by these anchors.
fn anchors(round: &mut Round<'_>) -> Option<Value> {
    let subject = round.subject(usize::MAX)?;
    let first = round.luck.between(1, subject.count());
    let limit = round.luck.between(1, 30);
    let shown = round
        .call("read", &json!({ "file_path": subject.path, "format": "anchors", "offset": first, "limit": limit }))?;
    let count = usize::try_from(shown["data"]["lines"].as_u64()?).ok()?;
    let rows: Vec<(String, String)> = shown["text"]
        .as_str()?
        .split('\n')
        .take(count)
        .filter_map(|row| row.split_once(':').map(|(word, text)| (word.to_owned(), text.to_owned())))
        .filter(|(word, _)| word.chars().all(char::is_alphanumeric))
        .collect();
    let (word, old) = rows.get(round.luck.below(rows.len()))?.clone();
    let kind = *round.luck.pick(&["replace", "replace", "insert_before", "insert_after", "delete"]);
    let mut edit = json!({ "anchor": word, "edit_type": kind });
    if kind != "delete" {
        edit["text"] = json!(round.changed(&old));
    }
    Some(permitted(round, &subject, json!({ "path": subject.path, "edits": [edit] })))
}

fn write(round: &mut Round<'_>) -> Option<Value> {
    if round.luck.chance(30) {
        let path = format!("{}/{}/{}.txt", round.root(), round.new_name("dir"), round.new_name("new"));
        let content =
            String::from_utf8_lossy(&crate::files::content(&mut round.luck, "t.txt", 2_000)).replace('\0', "0");
        return Some(json!({ "file_path": path, "content": content }));
    }
    let subject = round.subject(usize::MAX)?;
    let lines = subject.unique_lines(&mut round.luck)?;
    let old = subject.text_of(&lines);
    let content = subject.text.replacen(&old, &round.changed(&old), 1);
    Some(permitted(round, &subject, json!({ "file_path": subject.path, "content": content })))
}

fn cell(round: &mut Round<'_>) -> Option<Value> {
    let subject = round.notebook()?;
    let notebook: Value = serde_json::from_str(&subject.text).ok()?;
    let cells = notebook["cells"].as_array()?;
    let number = round.luck.below(cells.len());
    let cell = cells.get(number)?;
    let source = round.changed("x = 1\ny = x");
    let named = match cell["id"].as_str() {
        Some(id) if round.luck.chance(60) => json!({ "cell_id": id }),
        _ => json!({ "cell_number": number }),
    };
    let mut edit = named;
    match round.luck.below(4) {
        0 => {
            edit["edit_mode"] = json!("insert");
            edit["cell_type"] = json!(*round.luck.pick(&["code", "markdown"]));
            edit["new_source"] = json!(source);
        }
        1 if cells.len() > 1 => edit["edit_mode"] = json!("delete"),
        _ => edit["new_source"] = json!(source),
    }
    if round.luck.chance(30) {
        edit = json!({ "edits": [edit] });
    }
    edit["notebook_path"] = json!(subject.path);
    Some(edit)
}

fn editor(round: &mut Round<'_>) -> Option<Value> {
    let subject = round.subject(usize::MAX)?;
    let lines = subject.unique_lines(&mut round.luck)?;
    let old = subject.text_of(&lines);
    let new = round.changed(&old);
    let path = &subject.path;
    Some(match round.luck.below(6) {
        0 => json!({ "command": "view", "path": path, "view_range": [lines.start + 1, lines.end] }),
        1 => json!({ "command": "create", "path": path, "file_text": subject.text.replacen(&old, &new, 1) }),
        2 => json!({ "command": "insert", "path": path, "insert_line": lines.start, "insert_text": new }),
        3 => {
            let edit = json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": new });
            round.call("text_editor", &edit)?;
            return Some(json!({ "command": "undo_edit", "path": path }));
        }
        _ => json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": new }),
    })
}

/// Returns edits as text in one format, for one to three files of up to `most` bytes.
fn patch(round: &mut Round<'_>, most: usize) -> Option<String> {
    let format = round.luck.below(5);
    let mut names = BTreeSet::new();
    let mut out = String::new();
    for _ in 0..round.luck.between(1, 3) {
        let subject = round.subject(most)?;
        if names.insert(subject.name.clone()) {
            out.push_str(&section(round, format, &subject)?);
        }
    }
    Some(if format == 1 { format!("*** Begin Patch\n{out}*** End Patch\n") } else { out })
}

/// Returns the part of a patch about one file.
fn section(round: &mut Round<'_>, format: usize, subject: &Subject) -> Option<String> {
    let lines = subject.unique_lines(&mut round.luck)?;
    let (name, old) = (&subject.name, subject.text_of(&lines));
    let new = round.changed(&old);
    let prefixed = |sign: char, text: &str| text.split('\n').map(|line| format!("{sign}{line}\n")).collect::<String>();
    let (first, removed, added) = (lines.start + 1, prefixed('-', &old), prefixed('+', &new));
    Some(match format {
        0 => format!("{name}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"),
        1 => format!("*** Update File: {name}\n@@\n{removed}{added}"),
        2 => {
            let (olds, news) = (old.split('\n').count(), new.split('\n').count());
            format!("--- a/{name}\n+++ b/{name}\n@@ -{first},{olds} +{first},{news} @@\n{removed}{added}")
        }
        3 => {
            let input =
                json!({ "file_path": subject.path, "format": "hashline", "offset": first, "limit": lines.len() });
            let shown = round.call("read", &input)?;
            let header = shown["data"]["header"].as_str()?.to_owned();
            format!("{header}\nreplace {first}..{}:\n{added}", lines.end)
        }
        _ => {
            let fence = if subject.text.contains("```") { "~~~~~~" } else { "```" };
            format!("{name}\n{fence}\n{}\n{fence}\n", subject.text.replacen(&old, &new, 1).trim_end_matches('\n'))
        }
    })
}

fn replace(round: &mut Round<'_>) -> Option<Value> {
    let subject = round.subject(usize::MAX)?;
    let word = subject.word(&mut round.luck)?;
    let path = if round.luck.chance(50) { round.root() } else { subject.path };
    let number = round.luck.below(100_000);
    let mut input = if round.luck.chance(40) {
        json!({ "path": path, "pattern": format!("({word})"), "regex": true, "new_string": format!("$1_{number}") })
    } else {
        json!({ "path": path, "old_string": word, "new_string": format!("{word}{number}") })
    };
    if round.luck.chance(40) {
        let mut counted = input.clone();
        counted["dry_run"] = json!(true);
        let reply = round.call("replace_in_files", &counted)?;
        input["expected"] = reply["data"]["replacements"].clone();
    }
    Some(input)
}

/// Outlines a source file, and returns an edit of one of its symbols.
fn symbol(round: &mut Round<'_>) -> Option<Value> {
    let mut found = None;
    for _ in 0..2 {
        let subject = round.source()?;
        let outline = round.call("outline", &json!({ "file_path": subject.path }))?;
        let symbols = outline["data"]["symbols"].as_array().cloned().unwrap_or_default();
        if !symbols.is_empty() {
            found = Some((subject, symbols));
            break;
        }
    }
    let (subject, symbols) = found?;
    let symbol = &symbols[round.luck.below(symbols.len())];
    let number = |key: &str| symbol[key].as_u64().and_then(|it| usize::try_from(it).ok());
    let lines = LineRange { start: number("first")?.checked_sub(1)?, end: number("last")?.min(subject.count()) };
    let text = subject.text_of(&lines);
    let fresh = round.new_name("name");
    let mut input = json!({ "file_path": subject.path, "symbol": symbol["path"], "line": lines.start + 1 });
    let (action, text) = match round.luck.below(5) {
        0 => ("delete", String::new()),
        1 if ["rs", "py"].contains(&subject.extension()) => ("rename", fresh),
        2 => ("insert_after", text.replacen(symbol["name"].as_str()?, &fresh, 1)),
        _ => ("replace", text.replacen(|it: char| it.is_ascii_digit(), "77", 1) + "\n"),
    };
    input["action"] = json!(action);
    if action != "delete" {
        input["text"] = json!(text);
    }
    Some(permitted(round, &subject, input))
}

/// Makes a change, and returns its operation and a file that it changed.
fn changed(round: &mut Round<'_>) -> Option<(String, String)> {
    for _ in 0..4 {
        let mut input = edit(round)?;
        if let Value::Object(fields) = &mut input {
            fields.remove("dry_run");
        }
        let reply = round.call("edit", &input)?;
        if let Some(operation) = reply["data"]["operation"].as_str() {
            return Some((operation.to_owned(), input["file_path"].as_str()?.to_owned()));
        }
    }
    None
}

fn undo(round: &mut Round<'_>) -> Option<Value> {
    let (operation, path) = changed(round)?;
    Some(match round.luck.below(7) {
        0 => json!({}),
        1 => json!({ "file_path": path }),
        2 => json!({ "id": operation, "hunks": [1] }),
        3 => {
            changed(round)?;
            json!({ "last": 2 })
        }
        4 => {
            round.call("undo", &json!({ "id": operation }))?;
            json!({ "redo": true })
        }
        5 => json!({ "since": format!("{operation}^") }),
        _ => json!({ "id": operation }),
    })
}

fn restore(round: &mut Round<'_>) -> Option<Value> {
    let (operation, path) = changed(round)?;
    if round.luck.chance(50) {
        return Some(json!({ "file_path": path, "id": format!("{operation}^") }));
    }
    round.call("undo", &json!({ "id": operation }))?;
    Some(json!({ "file_path": path, "id": operation }))
}

fn history(round: &mut Round<'_>) -> Option<Value> {
    Some(match round.luck.below(5) {
        0 => json!({}),
        1 => json!({ "limit": round.luck.between(1, 1_000) }),
        2 => json!({ "file_path": round.subject(usize::MAX)?.path }),
        3 => json!({ "id": changed(round)?.0, "to": "now" }),
        _ => json!({ "id": changed(round)?.0 }),
    })
}

fn rewind(round: &mut Round<'_>) -> Option<Value> {
    let mut to = round.new_name("mark");
    round.call("mark", &json!({ "name": to }))?;
    for _ in 0..round.luck.between(1, 3) {
        let (operation, _) = changed(round)?;
        if round.luck.chance(20) {
            to = format!("{operation}^");
        }
    }
    let mut input = Map::new();
    input.insert("to".to_owned(), json!(to));
    Some(Value::Object(input))
}

/// Changes a file as another program would, records that with a snapshot, and undoes it by its operation. Returns the
/// input of another snapshot.
fn snapshot(round: &mut Round<'_>) -> Option<Value> {
    if round.luck.chance(60) {
        return Some(json!({ "note": "a note" }));
    }
    round.call("snapshot", &json!({}))?;
    let before = round.tree()?;
    let subject = round.subject(1 << 20)?;
    let lines = subject.unique_lines(&mut round.luck)?;
    let old = subject.text_of(&lines);
    let new = round.changed(&old);
    std::fs::write(&subject.path, subject.text.replacen(&old, &new, 1)).ok()?;
    let reply = round.call("snapshot", &json!({}))?;
    if let Some(operation) = reply["data"]["operation"].as_str() {
        round.call("undo", &json!({ "id": operation }))?;
    }
    round.same_as(&before, "the undo of a snapshot");
    std::fs::write(&subject.path, before.get(std::path::Path::new(&subject.name))?).ok()?;
    Some(json!({ "dry_run": true }))
}

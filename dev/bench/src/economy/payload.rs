//! The same edit in every format, in the shortest form a model could write.

use super::edits::{Edit, Hunk, SAMPLE};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::ops::Range;

/// An edit format.
pub(super) struct Format {
    pub(super) name: &'static str,
    /// The tool that accepts the format.
    pub(super) tool: &'static str,
    /// The line format of the `read` that shows the file before the edit.
    pub(super) marks: &'static str,
    pub(super) write: fn(&Edit, &Shown) -> Payload,
}

/// The parts of the file that a model has seen.
pub(super) struct Shown {
    /// The path for tools, and the path relative to the directory for patches.
    pub(super) path: String,
    pub(super) name: &'static str,
    /// The header above the lines.
    pub(super) header: String,
    /// The anchor words of the lines.
    pub(super) words: Vec<String>,
}

/// The text that a model writes.
pub(super) enum Payload {
    Text(String),
    Json(Value),
}

const fn text(name: &'static str, marks: &'static str, write: fn(&Edit, &Shown) -> Payload) -> Format {
    Format { name, tool: "apply", marks, write }
}

const fn fields(
    name: &'static str,
    (tool, marks): (&'static str, &'static str),
    write: fn(&Edit, &Shown) -> Payload,
) -> Format {
    Format { name, tool, marks, write }
}

/// The format that the others are compared with.
pub(super) const MEASURE: &str = "str_replace, JSON";

/// Every format.
pub(super) const FORMATS: &[Format] = &[
    fields("whole file, JSON", ("write", "plain"), |edit, shown| {
        Payload::Json(json!({ "file_path": shown.path, "content": edit.after() }))
    }),
    text("unified diff, 3 lines of context", "plain", |edit, shown| Payload::Text(unified(edit, shown))),
    text("apply_patch, 3 lines of context", "plain", |edit, shown| Payload::Text(apply_patch(edit, shown, 3))),
    text("apply_patch, 1 line of context", "plain", |edit, shown| Payload::Text(apply_patch(edit, shown, 1))),
    fields(MEASURE, ("edit", "plain"), str_replace),
    text("SEARCH/REPLACE", "plain", |edit, shown| Payload::Text(search_replace(edit, shown))),
    fields("anchors, word and line, JSON", ("edit_anchors", "anchors"), |edit, shown| anchors(edit, shown, true)),
    fields("anchors, word alone, JSON", ("edit_anchors", "anchors"), |edit, shown| anchors(edit, shown, false)),
    fields("hashline, JSON", ("apply", "hashline"), |edit, shown| input(&seed(edit, shown))),
    text("hashline", "hashline", |edit, shown| Payload::Text(seed(edit, shown))),
    fields("hashline PUT/CUT, JSON", ("apply", "hashline_put"), |edit, shown| {
        input(&put(edit, &shown.header, &numbers))
    }),
    text("hashline PUT/CUT", "hashline_put", |edit, shown| Payload::Text(put(edit, &shown.header, &numbers))),
    text("words in PUT/CUT", "anchors", |edit, shown| {
        Payload::Text(put(edit, &format!("[{}]", shown.name), &|line| shown.words[line].clone()))
    }),
];

fn input(text: &str) -> Payload {
    Payload::Json(json!({ "input": text }))
}

fn lines() -> Vec<&'static str> {
    SAMPLE.lines().collect()
}

/// Returns hunks with `context` lines of context, or more if that is needed to be unique. Hunks with adjacent context
/// are joined.
fn with_context(edit: &Edit, context: usize) -> Vec<(Range<usize>, Vec<&Hunk>)> {
    let lines = lines();
    let mut out: Vec<(Range<usize>, Vec<&Hunk>)> = Vec::new();
    for hunk in &edit.hunks {
        let around = |more: usize| hunk.old.start.saturating_sub(more)..(hunk.old.end + more).min(lines.len());
        let once = |range: &Range<usize>| SAMPLE.matches(&lines[range.clone()].join("\n")).count() == 1;
        let Some(Range { start: from, end: to }) = (context..lines.len()).map(around).find(once) else { continue };
        match out.last_mut() {
            Some((range, hunks)) if range.end >= from => {
                range.end = to;
                hunks.push(hunk);
            }
            _ => out.push((from..to, vec![hunk])),
        }
    }
    out
}

/// Returns the lines of a patch's hunk.
fn rows(range: &Range<usize>, hunks: &[&Hunk]) -> String {
    let (lines, mut out, mut at) = (lines(), String::new(), range.start);
    let mut put = |mark: char, rows: &[&str]| rows.iter().for_each(|row| _ = writeln!(out, "{mark}{row}"));
    for hunk in hunks {
        put(' ', &lines[at..hunk.old.start]);
        put('-', &lines[hunk.old.clone()]);
        put('+', &hunk.new);
        at = hunk.old.end;
    }
    put(' ', &lines[at..range.end]);
    out
}

fn unified(edit: &Edit, shown: &Shown) -> String {
    let mut out = format!("--- a/{0}\n+++ b/{0}\n", shown.name);
    let (mut added, mut removed) = (0, 0);
    for (range, hunks) in with_context(edit, 3) {
        let (from, len) = (range.start + 1, range.len());
        let more: usize = hunks.iter().map(|it| it.new.len()).sum();
        let less: usize = hunks.iter().map(|it| it.old.len()).sum();
        let _ = writeln!(out, "@@ -{from},{len} +{},{} @@", from + added - removed, len + more - less);
        out.push_str(&rows(&range, &hunks));
        (added, removed) = (added + more, removed + less);
    }
    out
}

fn apply_patch(edit: &Edit, shown: &Shown, context: usize) -> String {
    let hunks = with_context(edit, context);
    let hunks: String = hunks.iter().map(|(range, hunks)| format!("@@\n{}", rows(range, hunks))).collect();
    format!("*** Begin Patch\n*** Update File: {}\n{hunks}*** End Patch\n", shown.name)
}

/// Returns the shortest unique text of whole lines around a hunk, and its replacement.
fn unique(hunk: &Hunk) -> (Vec<&'static str>, Vec<&'static str>) {
    let lines = lines();
    let windows = (0..8).flat_map(|up| (0..8).map(move |down| (up, down)));
    let windows = windows.filter_map(|(up, down)| {
        let from = hunk.old.start.checked_sub(up)?;
        let old = lines.get(from..hunk.old.end + down)?;
        let once = !old.is_empty() && SAMPLE.matches(&old.join("\n")).count() == 1;
        once.then(|| {
            (old, [&lines[from..hunk.old.start], &hunk.new, &lines[hunk.old.end..hunk.old.end + down]].concat())
        })
    });
    let shortest = windows.min_by_key(|(old, new)| old.join("\n").len() + new.join("\n").len());
    shortest.map_or_else(|| panic!("no unique place"), |(old, new)| (old.to_vec(), new))
}

fn str_replace(edit: &Edit, shown: &Shown) -> Payload {
    let one = |hunk: &Hunk| {
        let (old, new) = unique(hunk);
        // Deleting a line also deletes its line end.
        let end = if new.is_empty() { "\n" } else { "" };
        let pair = [("old_string", old.join("\n") + end), ("new_string", new.join("\n"))];
        pair.into_iter().map(|(name, text)| (name.to_owned(), Value::from(text))).collect::<Map<String, Value>>()
    };
    let mut input = Map::from_iter([("file_path".to_owned(), Value::from(&*shown.path))]);
    match &*edit.hunks {
        [only] => input.extend(one(only)),
        several => _ = input.insert("edits".to_owned(), several.iter().map(one).collect()),
    }
    Payload::Json(Value::Object(input))
}

fn search_replace(edit: &Edit, shown: &Shown) -> String {
    let mut out = format!("{}\n", shown.name);
    for hunk in &edit.hunks {
        let (old, new) = unique(hunk);
        let rows = |rows: Vec<&str>| rows.into_iter().map(|row| format!("{row}\n")).collect::<String>();
        let _ = write!(out, "<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n", rows(old), rows(new));
    }
    out
}

fn anchors(edit: &Edit, shown: &Shown, whole: bool) -> Payload {
    let lines = lines();
    let anchor = |line: usize| {
        if whole { format!("{}:{}", shown.words[line], lines[line]) } else { shown.words[line].clone() }
    };
    let one = |hunk: &Hunk| {
        let text = hunk.new.join("\n");
        match hunk.old.len() {
            0 => json!({ "anchor": anchor(hunk.old.start - 1), "edit_type": "insert_after", "text": text }),
            1 => json!({ "anchor": anchor(hunk.old.start), "text": text }),
            _ => json!({ "anchor": anchor(hunk.old.start), "end_anchor": anchor(hunk.old.end - 1), "text": text }),
        }
    };
    let edits: Vec<Value> = edit.hunks.iter().map(one).collect();
    Payload::Json(json!({ "path": shown.path, "edits": edits }))
}

fn body(hunk: &Hunk) -> String {
    hunk.new.iter().map(|row| format!("+{row}\n")).collect()
}

fn seed(edit: &Edit, shown: &Shown) -> String {
    let mut out = format!("{}\n", shown.header);
    for hunk in &edit.hunks {
        let (first, last) = (hunk.old.start + 1, hunk.old.end);
        let _ = match (hunk.old.is_empty(), hunk.new.is_empty()) {
            (true, _) => writeln!(out, "insert after {last}:"),
            (false, true) => writeln!(out, "delete {first}..{last}"),
            (false, false) => writeln!(out, "replace {first}..{last}:"),
        };
        out.push_str(&body(hunk));
    }
    out
}

/// Returns the name of a zero-based line in the format.
type Naming<'a> = dyn Fn(usize) -> String + 'a;

fn numbers(line: usize) -> String {
    (line + 1).to_string()
}

fn put(edit: &Edit, header: &str, name: &Naming<'_>) -> String {
    let mut out = format!("{header}\n");
    for hunk in &edit.hunks {
        let range = match hunk.old.len() {
            0 => format!(">{}", name(hunk.old.start - 1)),
            1 => name(hunk.old.start),
            _ => format!("{}.={}", name(hunk.old.start), name(hunk.old.end - 1)),
        };
        let _ = if hunk.new.is_empty() { writeln!(out, "CUT {range}") } else { writeln!(out, "PUT {range}:") };
        out.push_str(&body(hunk));
    }
    out
}

//! The law of line formats: every mark that a reply prints names its line, whatever tool printed it.
#![allow(clippy::panic, reason = "tests")]

use crate::fixture::EngineFixture;
use emendate::Answer;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use serde_json::{Value, json};

const FORMATS: [&str; 4] = ["hashline", "hashline_put", "anchors", "anchors_tab"];

const FILE: &str = "a.txt";

/// A file of these lines, most of which occur several times.
fn filled(lines: &[u8], open: bool) -> EngineFixture {
    let kinds: [&str; 7] = ["", "}", "\tx", "line: 1", "é 2", "3:three", "Table:four"];
    let mut text: String = lines.iter().map(|kind| format!("{}\n", kinds[*kind as usize % kinds.len()])).collect();
    if open {
        text.pop();
    }
    let fixture = EngineFixture::new();
    fixture.put(FILE, &text);
    fixture
}

fn call(fixture: &EngineFixture, tool: &str, input: Value) -> Answer {
    fixture.call(tool, input).result.unwrap_or_else(|error| panic!("{tool}: {error}"))
}

/// Replaces the line of a mark, and returns its number.
fn replace_marked_line(fixture: &EngineFixture, header: Option<&str>, mark: &str) -> usize {
    let before = fixture.get(FILE);
    let input = match header {
        Some(header) if header.starts_with('[') => format!("{header}\nPUT {mark}:\n+HIT\n"),
        Some(header) => format!("{header}\nreplace {mark}..{mark}:\n+HIT\n"),
        None => format!("¶a.txt\nreplace {mark}:\n+HIT\n"),
    };
    call(fixture, "apply", json!({ "input": input }));
    let after = fixture.get(FILE);
    let hits: Vec<usize> = after.lines().enumerate().filter(|(_, line)| *line == "HIT").map(|(at, _)| at).collect();
    let [at] = hits[..] else { panic!("{hits:?}: {input}") };
    let lines = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let (mut expected, after) = (lines(&before), lines(&after));
    "HIT".clone_into(&mut expected[at]);
    assert_eq!(after, expected, "{input}");
    fixture.put(FILE, &before);
    at + 1
}

/// The rows of a reply: mark and text, in the line format `format`.
fn rows(text: &str, format: &str) -> Vec<(String, String)> {
    let delimiter = if format == "anchors_tab" { '\t' } else { ':' };
    let row = |line: &str| {
        let line = if format == "hashline" { line.strip_prefix([' ', '+']).unwrap_or(line) } else { line };
        let (mark, text) = line.split_once(delimiter)?;
        let marked = mark.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !mark.is_empty() && text != "...";
        marked.then(|| (mark.to_owned(), text.to_owned()))
    };
    // The name of a file is not a mark: on Windows, it begins with a letter and a colon.
    text.lines()
        .filter(|line| !line.contains(FILE))
        .take_while(|line| !line.starts_with("Replaced") && !line.starts_with("Old line"))
        .filter_map(row)
        .collect()
}

fn wanted() -> impl Strategy<Value = (Vec<u8>, bool, usize, usize, usize)> {
    (vec(any::<u8>(), 1..24), any::<bool>(), any::<usize>(), any::<usize>(), 0..FORMATS.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn marks_printed_by_read_name_their_line((lines, open, offset, pick, format) in wanted()) {
        let fixture = filled(&lines, open && lines.last().is_some_and(|last| last % 7 > 0));
        let text = fixture.get(FILE);
        let count = text.lines().count();
        let (format, offset) = (FORMATS[format], offset % count + 1);
        let read = call(&fixture, "read", json!({ "file_path": fixture.path(FILE), "format": format, "offset": offset }));
        let header = read.data.get("header").and_then(Value::as_str);
        let rows = rows(&read.text, format);
        assert_eq!(rows.len(), count - offset + 1, "{}", read.text);
        let at = pick % rows.len();
        let (mark, shown) = &rows[at];
        assert_eq!(Some(&**shown), text.lines().nth(offset + at - 1));
        assert_eq!(replace_marked_line(&fixture, header, mark), offset + at, "{mark} of {}", read.text);
    }

    #[test]
    fn marks_printed_by_an_edit_name_their_line((lines, open, at, pick, format) in wanted(), grown in 0..4_usize) {
        let fixture = filled(&lines, open && lines.last().is_some_and(|last| last % 7 > 0));
        let count = fixture.get(FILE).lines().count();
        let (format, at) = (FORMATS[format], at % count + 1);
        call(&fixture, "read", json!({ "file_path": fixture.path(FILE), "format": "hashline" }));
        let tag = call(&fixture, "read", json!({ "file_path": fixture.path(FILE), "format": "hashline_put" })).data["header"].clone();
        let body: String = (0..grown).map(|nth| format!("+new {nth}\n")).collect();
        let end = if grown == 0 { format!("CUT {at}\n") } else { format!("PUT {at}:\n{body}") };
        let edit = format!("{}\n{end}", tag.as_str().unwrap());
        let done = call(&fixture, "apply", json!({ "input": edit, "marks": format }));
        let text = fixture.get(FILE);
        let header = done.data["files"][0].get("header").and_then(Value::as_str);
        let rows: Vec<_> = rows(&done.text, format);
        if rows.is_empty() {
            return Ok(());
        }
        let (mark, shown) = &rows[pick % rows.len()];
        let line = replace_marked_line(&fixture, header, mark);
        assert_eq!(text.lines().nth(line - 1), Some(&**shown), "{mark} of {}", done.text);
    }

    #[test]
    fn marks_printed_by_search_name_their_line((lines, open, _, pick, format) in wanted()) {
        let fixture = filled(&lines, open && lines.last().is_some_and(|last| last % 7 > 0));
        let text = fixture.get(FILE);
        let format = FORMATS[format];
        let found = call(&fixture, "search", json!({ "pattern": "[0-9]", "path": fixture.root, "format": format }));
        let header = found.data["files"][0].get("header").and_then(Value::as_str);
        let rows: Vec<_> = rows(&found.text, format).into_iter().filter(|(_, text)| text.contains(['1', '2', '3'])).collect();
        if rows.is_empty() || format.starts_with("anchors") && found.text.contains("Table:four\n") {
            return Ok(());
        }
        let (mark, shown) = &rows[pick % rows.len()];
        let line = replace_marked_line(&fixture, header, mark);
        assert_eq!(text.lines().nth(line - 1), Some(&**shown), "{mark} of {}", found.text);
    }
}

//! Large files, which are gone through in parts: the same as files that are taken whole, in bytes, replies and errors.

use crate::bench::{Bench, code, ok};
use emendate::{Config, Reply};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;

/// Files of more than `from` bytes are gone through in parts, and those above `whole` are never taken whole.
fn parts(from: u64, whole: u64) -> Bench {
    let text = format!("[policy]\nstream_from = {from}\nmax_whole = {whole}\n");
    Bench::trusted(Config::default().with_file(&text, "test", true).unwrap())
}

/// A text without the names of operations, which no two histories share.
fn unnamed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (nth, part) in text.split('-').enumerate() {
        let check = part.get(..4).filter(|check| check.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let named = nth > 0 && check.is_some() && out.ends_with(|last: char| last.is_ascii_digit());
        out.push_str(if nth == 0 { "" } else { "-" });
        out.push_str(if named { &part[4..] } else { part });
    }
    out
}

/// What a reply says, without what names the folder it is in, and without what is never carried along of a large file.
fn said(bench: &Bench, reply: &Reply) -> (String, Value) {
    let here = |text: String| text.replace(&bench.root.display().to_string(), "ROOT");
    let mut data = match &reply.result {
        Ok(answer) => Value::Object(answer.data.clone()),
        Err(error) => error.to_json(),
    };
    if let Some(data) = data.as_object_mut() {
        data.remove("originalFile");
        for file in data.get_mut("files").and_then(Value::as_array_mut).into_iter().flatten() {
            file.as_object_mut().unwrap().remove("originalFile");
        }
    }
    (unnamed(&here(reply.text())), serde_json::from_str(&unnamed(&here(data.to_string()))).unwrap())
}

fn same(text: &[u8], calls: &[(&str, Value)]) -> Result<(), TestCaseError> {
    let (whole, parts) = (parts(1 << 30, 1 << 30), parts(0, 1 << 30));
    for bench in [&whole, &parts] {
        fs::write(bench.path("f"), text).unwrap();
    }
    for (tool, input) in calls {
        let replies = [&whole, &parts].map(|bench| bench.call_on("f", tool, input.clone()));
        prop_assert_eq!(code(&replies[0]), code(&replies[1]));
        // In memory an undo is told by a diff, which may pair lines that repeat in another way than the edit did.
        if *tool != "undo" {
            prop_assert_eq!(said(&whole, &replies[0]), said(&parts, &replies[1]), "{} {}", tool, input);
        }
        let [one, other] = [&whole, &parts].map(|bench| fs::read(bench.path("f")).unwrap());
        prop_assert!(one == other, "{} {}", tool, input);
    }
    Ok(())
}

/// Texts of lines that repeat, with line ends of either kind, long enough that an extract leaves some out.
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

/// An edit of a piece of the text.
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

/// Deletions side by side come back as insertions of one text at one point, each of which counts.
#[test]
fn undo_brings_back_every_one_of_neighbours() {
    let text = "aaaaaaaa aaaa\n\n\n\n\nb\n".repeat(40);
    for (old, new) in [("aa", ""), ("\n\n", ""), ("aa", "a"), ("a", "aa")] {
        let edit = json!({ "old_string": old, "new_string": new, "replace_all": true });
        same(text.as_bytes(), &[("edit", edit.clone()), ("undo", json!({}))]).unwrap();
        let bench = parts(0, 1);
        bench.put("f", &text);
        ok(&bench.call_on("f", "edit", edit));
        assert_ne!(bench.get("f"), text);
        ok(&bench.call_on("f", "undo", json!({})));
        assert_eq!(bench.get("f"), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn an_edit_in_parts_is_an_edit_of_the_whole(
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
    fn lines_read_in_parts_are_those_of_the_whole(
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

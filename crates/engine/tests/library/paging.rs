//! Files that a reply cannot show at once: the calls that replies advise show every line once.

use crate::fixture::EngineFixture;
use emendate::{Reply, adapter_profile, profile};
use serde_json::{Value, json};

/// Lines of the same length.
fn lines(count: usize, length: usize) -> String {
    (0..count).map(|nth| format!("{:y<length$}\n", format!("x{nth} "))).collect()
}

/// Returns the advice of a reply: the next step of an error, or the text behind the lines.
fn advice_of(reply: &Reply) -> String {
    match &reply.result {
        Ok(answer) => answer.reminders.join("\n"),
        Err(error) => error.next_step().to_owned(),
    }
}

/// Returns the value of a field that an advice names: `"offset": 7`.
fn advised(advice: &str, field: &str) -> Option<usize> {
    let (_, rest) = advice.split_once(&format!("\"{field}\": "))?;
    rest.split(|ch: char| !ch.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the first and the last line of a reply of `read`.
fn shown(reply: &Reply) -> Option<(usize, usize)> {
    let data = &reply.result.as_ref().ok()?.data;
    let number = |field: &str| data[field].as_u64().and_then(|it| usize::try_from(it).ok());
    Some((number("offset")?, number("offset")? + number("lines")? - 1))
}

/// Reads a file by the advised calls; returns the ranges of lines in the order in which they were shown.
fn read_by_advice(fixture: &EngineFixture, format: &str, total: usize) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut input = json!({ "format": format });
    while ranges.last().is_none_or(|(_, last)| *last < total) {
        let reply = fixture.call_on("f", "read", input.clone());
        let advice = advice_of(&reply);
        let range = shown(&reply).or_else(|| {
            let (offset, limit) = (advised(&advice, "offset")?, advised(&advice, "limit")?);
            shown(&fixture.call_on("f", "read", json!({ "format": format, "offset": offset, "limit": limit })))
        });
        let range = range.unwrap_or_else(|| panic!("{format}: {advice}"));
        ranges.push(range);
        // Parts that were asked for say nothing about the lines below them.
        input["offset"] = advised(&advice, "offset").filter(|next| *next > range.1).unwrap_or(range.1 + 1).into();
    }
    ranges
}

#[track_caller]
fn assert_each_once(ranges: &[(usize, usize)], total: usize) {
    assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{ranges:?}");
    assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (1, total), "{ranges:?}");
}

#[test]
fn advised_reads_show_every_line_once() {
    for (total, length) in [(3000, 43), (500, 300), (120, 1990), (120, 2100)] {
        let fixture = EngineFixture::with("f", &lines(total, length));
        for format in ["numbered", "plain", "hashline", "hashline_put", "anchors", "anchors_tab"] {
            assert_each_once(&read_by_advice(&fixture, format, total), total);
        }
    }
}

#[test]
fn listed_parts_fit() {
    let fixture = EngineFixture::with("f", &lines(4000, 43));
    for format in ["numbered", "anchors", "anchors_tab"] {
        let reply = fixture.call_on("f", "read", json!({ "format": format, "limit": 4000 }));
        let error = reply.result.unwrap_err();
        let mut next = 1;
        for part in error.data()["ranges"].as_array().unwrap() {
            let (offset, limit) = (&part["offset"], &part["limit"]);
            assert_eq!(offset, next, "{format}");
            let reply = fixture.call_on("f", "read", json!({ "format": format, "offset": offset, "limit": limit }));
            next = shown(&reply).unwrap().1 + 1;
        }
        assert_eq!(next, 4001, "{format}");
    }
}

/// Returns the arguments of the advised call of the text editor.
fn advised_view(advice: &str) -> Option<Value> {
    let (_, rest) = advice.split_once("text_editor with ")?;
    let end = rest.rfind('}')?;
    serde_json::from_str(&rest[..=end]).ok()
}

#[test]
fn advised_views_show_every_line_once() {
    for (total, length) in [(5000, 10), (2500, 60), (4000, 90)] {
        let fixture = EngineFixture::with("f", &lines(total, length));
        let mut ranges = Vec::new();
        let mut input = json!({ "command": "view", "path": fixture.path("f") });
        while ranges.last().is_none_or(|(_, last)| *last < total) {
            let reply = fixture.call("text_editor", input.clone());
            let advice = advice_of(&reply);
            let range = shown(&reply);
            ranges.extend(range);
            input = match advised_view(&advice) {
                Some(view) => view,
                None => {
                    json!({ "command": "view", "path": fixture.path("f"), "view_range": [range.unwrap().1 + 1, -1] })
                }
            };
            assert!(ranges.len() < 20, "{advice}");
        }
        assert_each_once(&ranges, total);
    }
}

#[test]
fn line_numbers_of_advice_are_those_of_the_client() {
    let fixture = EngineFixture::with("f", &lines(4000, 43));
    let view = adapter_profile("deepagents").unwrap().view("read_file").unwrap();
    let reply = view.call(&fixture.engine, &fixture.caller, json!({ "file_path": fixture.path("f"), "limit": 4000 }));
    assert_eq!(advised(&advice_of(&reply), "offset"), Some(0), "{}", reply.text());
    fixture.put("f", &lines(4000, 10));
    let reply = view.call(&fixture.engine, &fixture.caller, json!({ "file_path": fixture.path("f") }));
    assert_eq!(advised(&advice_of(&reply), "offset"), Some(2000), "{advice}", advice = advice_of(&reply));
}

#[test]
fn notes_name_the_fields_of_the_profile() {
    let fixture = EngineFixture::with("f", "one\none\n");
    let view = profile("codex").unwrap().view("grep_files").unwrap();
    let input = json!({ "pattern": "one", "path": fixture.root, "limit": 1 });
    let text = view.call(&fixture.engine, &fixture.caller, input).text();
    assert!(text.contains("Narrow \"pattern\", \"path\" or \"include\", or raise \"limit\"."), "{text}");
}

#[test]
fn a_larger_limit_is_advised_only_if_it_shows_more() {
    let fixture = EngineFixture::new();
    for nth in 0..3000 {
        fixture.put(format!("file_{nth:05}_in_a_flat_directory.txt"), "");
    }
    let listed = |limit: usize| {
        let reply = fixture.call("list", json!({ "path": fixture.root, "limit": limit }));
        (reply.text().matches(".txt\n").count(), advice_of(&reply))
    };
    let (few, advice) = listed(100);
    assert_eq!((few, &*advice), (100, "Not everything is shown: give \"glob\", or raise \"limit\"."));
    // The text has no room for more.
    let (many, advice) = listed(2000);
    assert_eq!(&*advice, "Not everything is shown: give \"glob\".");
    assert_eq!((many, advice), listed(5000));
    assert!(many < 2000);
    let rest = json!({ "path": fixture.root, "limit": 5000, "glob": [format!("file_{many:05}*")] });
    assert!(fixture.call("list", rest).text().contains(&format!("file_{many:05}_in_a_flat_directory.txt\n")));
}

//! The advice of errors, in every profile: only tools and fields that the profile publishes, and calls that fit its
//! schemas.

use super::fixture::EngineFixture;
use emendate::{CallContext, PROFILES, Profile, TOOLS, ToolView, adapter_profile, client_tool};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Failing calls, each of a tool of the table, after reading the files below.
fn failing(root: &str) -> Vec<(&'static str, Value)> {
    let file = |name: &str| format!("{root}/{name}");
    let edit =
        |name: &str, old: &str, new: &str| json!({"file_path": file(name), "old_string": old, "new_string": new});
    let edits = |name: &str, list: Value| json!({"file_path": file(name), "edits": list});
    let first = vec![
        ("edit", edit("a.txt", "nothing like it", "x")),
        ("edit", edit("a.txt", "twice", "x")),
        ("edit", edit("a.txt", "the first lime of the file", "x")),
        ("edit", edit("unread.txt", "unread", "x")),
        ("edit", edit("gone.txt", "x", "y")),
        ("edit", edit("a.json", "1", "1,,")),
        ("edit", edit("blob.bin", "a", "b")),
        ("edit", edit("changed.txt", "three", "3")),
        ("edit", edit("n.ipynb", "x = 1", "x = 2")),
        (
            "edit",
            json!({"file_path": file("a.txt"), "old_string": "twice", "new_string": "x", "expected_replacements": 5}),
        ),
        ("edit", json!({"file_path": file("a.txt"), "old_string": "twice", "new_string": "x", "tag": "12345678"})),
        ("edit", edit("a.txt", "", "x")),
        (
            "multi_edit",
            edits(
                "a.txt",
                json!([
            {"old_string": "first line", "new_string": "x"}, {"old_string": "the first line of the file", "new_string": "y"}]),
            ),
        ),
        (
            "multi_edit",
            edits(
                "a.txt",
                json!([
            {"old_string": "first line", "new_string": "1st"}, {"old_string": "1st line", "new_string": "y"}]),
            ),
        ),
        (
            "multi_edit",
            edits(
                "a.txt",
                json!([
            {"old_string": "nothing like it", "new_string": "x"}, {"old_string": "twice", "new_string": "y"}]),
            ),
        ),
        ("write", json!({"file_path": file("unread.txt"), "content": "x\n"})),
        ("write", json!({"file_path": file("a.json"), "content": "{"})),
        ("write", json!({"file_path": file("a.txt"), "content": "x\n"})),
        ("apply", json!({"input": "unread.txt\n<<<<<<< SEARCH\nunread\n=======\nx\n>>>>>>> REPLACE\n"})),
        ("apply", json!({"input": "gone.txt\n<<<<<<< SEARCH\nunread\n=======\nx\n>>>>>>> REPLACE\n"})),
        (
            "apply",
            json!({"input": "*** Begin Patch\n*** Update File: a.txt\n@@\n-nothing like it\n+x\n*** End Patch\n"}),
        ),
        ("apply", json!({"input": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"})),
        ("apply", json!({"input": "a.txt\n<<<<<<< SEARCH\ntwice\n=======\nx\n>>>>>>> REPLACE\n"})),
        ("apply", json!({"input": "a.json\n<<<<<<< SEARCH\n{\"a\": 1}\n=======\n{\n>>>>>>> REPLACE\n"})),
        ("edit_anchors", json!({"path": file("a.txt"), "edits": [{"anchor": "Nope1", "text": "x"}]})),
        ("edit_anchors", json!({"path": file("unread.txt"), "edits": [{"anchor": "Table", "text": "x"}]})),
        ("text_editor", json!({"command": "str_replace", "path": file("a.txt"), "old_str": "twice", "new_str": "x"})),
        ("text_editor", json!({"command": "str_replace", "path": file("a.json"), "old_str": "1", "new_str": "1,,"})),
        (
            "text_editor",
            json!({"command": "str_replace", "path": file("unread.txt"), "old_str": "unread", "new_str": "x"}),
        ),
        ("text_editor", json!({"command": "insert", "path": file("gone.txt"), "insert_line": 1, "insert_text": "x"})),
        ("notebook_edit", json!({"notebook_path": file("n.ipynb"), "cell_id": "none", "new_source": "x"})),
    ];
    first.into_iter().chain(of_entries(root)).chain(of_new_text(root)).chain(of_other_names(root)).collect()
}

/// Calls that are no edits, or whose texts have other names than the fields of an edit.
fn of_other_names(root: &str) -> Vec<(&'static str, Value)> {
    let file = |name: &str| format!("{root}/{name}");
    let edit =
        |name: &str, old: &str, new: &str| json!({"file_path": file(name), "old_string": old, "new_string": new});
    vec![
        ("text_editor", json!({"command": "insert", "path": file("a.txt"), "insert_line": 1})),
        ("text_editor", json!({"command": "view", "path": file("unread.md")})),
        ("undo", json!({"id": "99"})),
        ("read", json!({"file_path": file("a.txt"), "offset": 99})),
        ("read", json!({"file_path": file("unread.md")})),
        ("apply", json!({"input": "no edit at all"})),
        ("apply", json!({"input": "a.txt\n<<<<<<< SEARCH\nthe first lime of the file\n=======\nx\n>>>>>>> REPLACE\n"})),
        ("apply", json!({"input": "a.txt\n<<<<<<< SEARCH\n2\ttwicee\n=======\nx\n>>>>>>> REPLACE\n"})),
        (
            "apply",
            json!({"input": "a.txt\n<<<<<<< SEARCH\nthe zeroth line\ntwice\n=======\nthe first line of the file\ntwice\n>>>>>>> REPLACE\n"}),
        ),
        ("apply", json!({"input": "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-the first lime of the file\n+x\n"})),
        ("apply", json!({"input": "--- a.txt\n+++ a.txt\n@@ -2 +2 @@\n-\ttwice\n+x\n"})),
        (
            "edit",
            json!({"file_path": file("a.txt"), "start_line_text": "the first lime", "end_line_text": "twice", "new_text": "x"}),
        ),
        ("edit", edit("a.txt", "the first line of the file", "the first line of the file")),
        (
            "text_editor",
            json!({"command": "str_replace", "path": file("a.txt"), "old_str": "the first lime of the file", "new_str": "x"}),
        ),
    ]
}

/// Calls that fail because of their new text or line numbers.
fn of_new_text(root: &str) -> Vec<(&'static str, Value)> {
    let file = |name: &str| format!("{root}/{name}");
    let edit =
        |name: &str, old: &str, new: &str| json!({"file_path": file(name), "old_string": old, "new_string": new});
    vec![
        ("edit", edit("a.txt", "2\ttwicee", "x")),
        ("edit", edit("a.txt", "2\ttwice\n3\ttwice", "x\n// ... existing code ...")),
        ("edit", edit("blank.txt", "x", "y")),
        ("edit", edit("a.txt", "the first line of the file", &"// ... existing code ...\n".repeat(9))),
        ("write", json!({"file_path": file("a.txt"), "content": "the first line of the file\n// ...\n"})),
        ("write", json!({"file_path": file("a.txt"), "content": "the first line of the file\n# --- 8< ---\n"})),
        ("write", json!({"file_path": file("new.py"), "content": "     1\tx = 1\n     2\ty = 2\n"})),
        ("edit", edit("a.txt", "the first line of the file\n", "     1\tthe first line of the file\nmore\n")),
        (
            "edit",
            json!({"file_path": file("a.txt"), "start_line_text": "twice", "end_line_text": "the first line of the file", "new_text": "x"}),
        ),
        (
            "apply",
            json!({"input": "a.txt\n<<<<<<< SEARCH\nthe first line of the file\n=======\n// ... existing code ...\n>>>>>>> REPLACE\n"}),
        ),
    ]
}

/// Lists of edits with equal texts or without them.
fn of_entries(root: &str) -> Vec<(&'static str, Value)> {
    [
        json!([{"old_string": "first line", "new_string": "x"}, {"old_string": "twice", "new_string": "twice"}]),
        json!([{"old_string": "first line"}]),
        json!([{"new_string": "x"}, {"old_string": "", "new_string": ""}]),
        json!([]),
    ]
    .into_iter()
    .map(|edits| ("multi_edit", json!({"file_path": format!("{root}/a.txt"), "edits": edits})))
    .collect()
}

fn notebook() -> String {
    json!({"cells": [{"cell_type": "code", "id": "one", "metadata": {}, "source": ["x = 1"], "outputs": [], "execution_count": null}],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    .to_string()
}

/// Converts the input of a tool to the fields of a profile's tool; `None` if that lacks one.
fn offered(offer: &'static ToolView, input: &Value) -> Option<Value> {
    let fields = input.as_object()?;
    let named = fields.iter().map(|(name, value)| {
        let value = match value {
            Value::Array(entries) if name == "edits" && entries.iter().all(Value::is_object) => {
                entries.iter().map(|entry| offered(offer, entry)).collect::<Option<Value>>()?
            }
            value => value.clone(),
        };
        Some((offer.published(name)?, value))
    });
    named.collect::<Option<_>>().map(Value::Object)
}

/// Collects the names of fields in a schema, at any depth.
fn fields(schema: &Value, out: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                out.extend(properties.keys().cloned());
            }
            object.values().for_each(|it| fields(it, out));
        }
        Value::Array(list) => list.iter().for_each(|it| fields(it, out)),
        _ => {}
    }
}

/// Names in advice that the profile does not have.
fn foreign(advice: &str, offers: &[ToolView]) -> Vec<String> {
    named_in(advice, foreign_names(offers))
}

/// Names of tools and fields that the profile does not have.
fn foreign_names(offers: &[ToolView]) -> BTreeSet<String> {
    let mut known: BTreeSet<String> = offers.iter().map(|offer| offer.name.to_owned()).collect();
    for offer in offers {
        fields(&Value::Object(offer.schema()), &mut known);
    }
    let mut all: BTreeSet<String> = TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
    for tool in TOOLS {
        fields(&Value::Object(tool.schema()), &mut all);
    }
    all.retain(|name| !known.contains(name));
    all
}

/// Those of the names that are in an advice.
fn named_in(advice: &str, mut names: BTreeSet<String>) -> Vec<String> {
    names.retain(|name| {
        let quoted = [
            format!("\"{name}\""),
            format!("`{name}`"),
            format!("all {name} with"),
            format!("use {name} "),
            format!("use {name}."),
        ];
        let word = |text: &str| text.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')).any(|word| word == name);
        // A name without `_` may be an ordinary word: it counts if it is quoted as a field or called as a tool.
        if name.contains('_') { word(advice) } else { quoted.iter().any(|form| advice.contains(form)) }
    });
    names.into_iter().collect()
}

/// The first name of a text to replace that an error has, and neither the call nor its tool.
fn unsent<'n>(error: &str, sent: &str, offer: &'static ToolView) -> Option<&'n str> {
    let names = ["old_string", "new_string", "oldString", "newString", "old_str", "new_str", "replace_all"];
    let word =
        |text: &str, name: &str| text.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')).any(|word| word == name);
    let own: Vec<String> = names.iter().filter_map(|field| offer.published(field)).collect();
    names.into_iter().find(|name| word(error, name) && !word(sent, name) && !own.iter().any(|own| own == name))
}

/// Calls in advice: `NAME with {…}`.
fn calls(advice: &str, offers: &'static [ToolView]) -> Vec<(&'static ToolView, Value)> {
    let mut out = Vec::new();
    for offer in offers {
        for (at, form) in advice.match_indices(&format!("{} with {{", offer.name)) {
            if advice[..at].ends_with(|ch: char| ch.is_alphanumeric() || ch == '_') {
                continue;
            }
            let json = &advice[at + form.len() - 1..];
            let mut stream = serde_json::Deserializer::from_str(json).into_iter::<Value>();
            out.extend(stream.next().and_then(Result::ok).map(|call| (offer, call)));
        }
    }
    out
}

/// Fields that advice says to set: `"NAME": VALUE` outside of a whole call.
fn settings(advice: &str) -> Vec<(String, Value)> {
    let set = advice.match_indices("\": ").filter_map(|(end, _)| {
        let start = advice[..end].rfind('"')?;
        let name = &advice[start + 1..end];
        let in_call = advice[..start].ends_with(['{', ',']);
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let value = serde_json::Deserializer::from_str(&advice[end + 3..]).into_iter::<Value>().next()?.ok()?;
        (is_name && !in_call).then(|| (name.to_owned(), value))
    });
    set.collect()
}

/// The call with a field set as advised: in the call, or in the first of its edits.
fn with_setting(offer: &ToolView, input: &Value, name: &str, value: Value) -> Option<Value> {
    let schema = Value::Object(offer.schema());
    let mut call = input.clone();
    if schema["properties"].get(name).is_some() {
        call[name] = value;
        return Some(call);
    }
    let mut of_edits = BTreeSet::new();
    fields(&schema, &mut of_edits);
    let entry = call.get_mut("edits")?.get_mut(0)?;
    entry[name] = of_edits.contains(name).then_some(value)?;
    Some(call)
}

fn check(name: &str, offers: &'static [ToolView]) -> usize {
    let mut advised = 0;
    let probe = EngineFixture::new();
    for (index, (tool, _)) in failing(&probe.root.display().to_string()).iter().enumerate() {
        for offer in offers.iter().filter(|offer| offer.tool == *tool) {
            let fixture = EngineFixture::new();
            for (file, text) in [
                ("a.txt", "the first line of the file\ntwice\ntwice\n"),
                ("unread.txt", "unread\n"),
                ("a.json", "{\"a\": 1}\n"),
                ("blob.bin", "a\0b\0"),
                ("blank.txt", "\n \n"),
                ("changed.txt", "one\ntwo\nthree\n"),
                ("n.ipynb", &notebook()),
            ] {
                fixture.put(file, text);
            }
            for file in ["a.txt", "a.json", "blob.bin", "blank.txt", "changed.txt", "n.ipynb"] {
                let _ = fixture.read(file);
            }
            fixture.put("changed.txt", "one\ntwo\nthree and more\n");
            let (_, input) = failing(&fixture.root.display().to_string()).swap_remove(index);
            let Some(input) = offered(offer, &input) else { continue };
            let Err(error) = offer.call(&fixture.engine, &CallContext::default(), input.clone()).result else {
                continue;
            };
            let advice = format!("{}\n{}", error.next_step(), error.evidence_text());
            assert_eq!(
                foreign(error.next_step(), offers),
                Vec::<String>::new(),
                "{name} {} {input}: {error}",
                offer.name
            );
            let sent = input.to_string();
            assert_eq!(unsent(&error.to_string(), &sent, offer), None, "{name} {} {input}: {error}", offer.name);
            let helped = !error.next_step().contains("ask a person");
            assert!(helped || !["default", "claude", "full"].contains(&name), "{name} {} {input}: {error}", offer.name);
            for (field, value) in settings(error.next_step()) {
                let call = with_setting(offer, &input, &field, value);
                assert!(call.is_some(), "{name} {} has no {field}: {error}", offer.name);
                let call = call.unwrap_or_default();
                let fits = jsonschema::validator_for(&Value::Object(offer.schema())).unwrap();
                assert!(fits.is_valid(&call), "{name} {}: {call}\n{error}", offer.name);
            }
            for (offer, call) in calls(&advice, offers) {
                let schema = Value::Object(offer.schema());
                let fits = jsonschema::validator_for(&schema).unwrap();
                assert!(fits.is_valid(&call), "{name} {}: {call}\n{error}", offer.name);
            }
            advised += 1;
        }
    }
    advised
}

#[test]
fn every_remedy_fits_the_schemas_of_its_profile() {
    for Profile { name, views, .. } in PROFILES {
        assert!(check(name, views) > 2, "{name}: too few errors");
    }
    for name in ["hosted_apply_patch", "memory", "file_editor", "deepagents"] {
        assert!(check(name, adapter_profile(name).unwrap().views) > 2, "{name}: too few errors");
    }
}

#[test]
fn misfit_calls_are_refused_with_the_names_of_the_profile() {
    let adapters =
        ["hosted_apply_patch", "memory", "file_editor", "deepagents"].map(|name| adapter_profile(name).unwrap());
    let fixture = EngineFixture::new();
    let mut refused = 0;
    for Profile { name, views, .. } in PROFILES.iter().chain(adapters) {
        let names = foreign_names(views);
        for offer in *views {
            let own = offer.tool_row().schema();
            let schema = Value::Object(offer.schema());
            let published = schema["properties"].as_object().unwrap().keys().map(String::as_str);
            let others = offer.tool_row().aliases.iter().flat_map(|row| row.others.iter().copied());
            let of_fields = published.chain(others).map(|field| json!({ field: [[1]] }));
            for input in std::iter::once(json!({})).chain(of_fields) {
                let reply = offer.call(&fixture.engine, &CallContext::default(), input.clone());
                let Err(error) = reply.result else { continue };
                let what = error.message().replace(&format!("`{}`", input_name(&input)), "");
                let mut foreign = named_in(&format!("{what}\n{}", error.next_step()), names.clone());
                // Fields that a profile does not publish are accepted under their own names.
                foreign.retain(|field| own["properties"].get(field).is_none() || offer.published(field).is_some());
                assert_eq!(foreign, Vec::<String>::new(), "{name} {} {input}: {error}", offer.name);
                refused += 1;
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

/// The name of the only field of a call.
fn input_name(input: &Value) -> &str {
    input.as_object().and_then(|fields| fields.keys().next()).map_or("", String::as_str)
}

#[test]
fn advised_line_of_a_read_past_the_end_can_be_read() {
    let mut followed = 0;
    for profile in PROFILES.iter().chain(adapter_profile("deepagents")) {
        let Some(read) = profile.views.iter().find(|offer| offer.tool == "read") else { continue };
        let fixture = EngineFixture::with("a.txt", "one\ntwo\n");
        // The adapter of a framework calls the engine with its numbers, which are from 1.
        let past = json!({ "file_path": fixture.path("a.txt"), "offset": 3 });
        let error = read.call(&fixture.engine, &CallContext::default(), past).result.unwrap_err();
        let advised = settings(error.next_step());
        let last = if profile.name == "deepagents" { 1 } else { 2 };
        assert_eq!(advised, [("offset".to_owned(), json!(last))], "{}: {error}", profile.name);
        followed += 1;
    }
    assert!(followed > 8);
}

#[test]
fn undo_of_an_operation_whose_file_is_gone_can_be_followed() {
    let mut followed = 0;
    for Profile { name, views, .. } in PROFILES {
        let Some(undo) = views.iter().find(|offer| offer.tool == "undo") else { continue };
        let fixture = EngineFixture::with("a.txt", "one\n");
        let caller = CallContext::default();
        fixture.read("a.txt").result.unwrap();
        let path = fixture.root.join("a.txt");
        let edit = json!({ "file_path": path, "old_string": "one", "new_string": "1" });
        fixture.engine.call(&caller, "edit", edit).result.unwrap();
        std::fs::remove_file(&path).unwrap();
        let error = undo.call(&fixture.engine, &caller, json!({})).result.unwrap_err();
        let (offer, call) = calls(error.next_step(), views).pop().unwrap_or_else(|| panic!("{name}: {error}"));
        offer.call(&fixture.engine, &caller, call).result.unwrap();
        if offer.tool == "undo" {
            assert_eq!(fixture.get("a.txt"), "1\n", "{name}");
            undo.call(&fixture.engine, &caller, json!({})).result.unwrap();
        }
        assert_eq!(fixture.get("a.txt"), "one\n", "{name}");
        followed += 1;
    }
    assert!(followed > 3);
}

/// Calls that insert text and find their place again.
fn repeatable(root: &str) -> Vec<(&'static str, Value)> {
    let file = |name: &str| format!("{root}/{name}");
    vec![
        ("edit", json!({"file_path": file("a.txt"), "old_string": "one", "new_string": "one\nand"})),
        ("multi_edit", json!({"file_path": file("a.txt"), "edits": [{"old_string": "one", "new_string": "one\nand"}]})),
        ("apply", json!({"input": "a.txt\n<<<<<<< SEARCH\none\n=======\none\nand\n>>>>>>> REPLACE\n"})),
        ("text_editor", json!({"command": "insert", "path": file("a.txt"), "insert_line": 1, "insert_text": "and\n"})),
        (
            "notebook_edit",
            json!({"notebook_path": file("n.ipynb"), "cell_id": "one", "edit_mode": "insert", "cell_type": "code", "new_source": "y"}),
        ),
    ]
}

#[test]
fn repeated_calls_get_advice_that_their_tool_can_follow() {
    let mut refused = 0;
    for Profile { name, views, .. } in PROFILES {
        for (offer, index) in views.iter().flat_map(|offer| (0..5).map(move |index| (offer, index))) {
            let fixture = EngineFixture::with("a.txt", "one\ntwo\n");
            fixture.put("n.ipynb", &notebook());
            fixture.read("a.txt").result.unwrap();
            fixture.read("n.ipynb").result.unwrap();
            let (tool, input) = repeatable(&fixture.root.display().to_string()).swap_remove(index);
            let Some(input) = (offer.tool == tool).then(|| offered(offer, &input)).flatten() else { continue };
            let call = || offer.call(&fixture.engine, &CallContext::default(), input.clone()).result;
            call().unwrap();
            let error = call().unwrap_err();
            assert!(error.to_string().contains("already"), "{name} {}: {error}", offer.name);
            assert_eq!(foreign(error.next_step(), views), Vec::<String>::new(), "{name} {}: {error}", offer.name);
            assert_eq!(unsent(error.next_step(), "", offer), None, "{name} {}: {error}", offer.name);
            assert!(!error.next_step().contains("old text"), "{name} {}: {error}", offer.name);
            for (field, value) in settings(error.next_step()) {
                assert!(with_setting(offer, &input, &field, value).is_some(), "{name} {}: {error}", offer.name);
            }
            refused += 1;
        }
    }
    assert!(refused > 15, "{refused}");
}

#[test]
fn hook_advice_uses_the_clients_fields() {
    let edit = client_tool("Edit").unwrap();
    let fixture = EngineFixture::with("a.txt", "twice\ntwice\n");
    let path = fixture.path("a.txt");
    let input = json!({"file_path": path, "old_string": "twice", "new_string": "x"});
    let error = edit
        .call(&fixture.engine, &CallContext { unread: emendate::UnreadPolicy::Allow, ..CallContext::default() }, input)
        .result
        .unwrap_err();
    assert!(error.next_step().contains("replace_all") && !error.next_step().contains("\"at\""), "{error}");
    fixture.read("a.txt").result.unwrap();
    fixture.put("a.txt", "once\n");
    let input = json!({"file_path": path, "old_string": "twice", "new_string": "x", "replace_all": true});
    let error = edit
        .call(&fixture.engine, &CallContext { unread: emendate::UnreadPolicy::Allow, ..CallContext::default() }, input)
        .result
        .unwrap_err();
    assert!(error.next_step().contains("Call Read with"), "{error}");
    fixture.put("n.ipynb", &notebook());
    let input = json!({"notebook_path": fixture.path("n.ipynb"), "cell_id": "none", "new_source": "x"});
    let caller = CallContext { unread: emendate::UnreadPolicy::Allow, ..CallContext::default() };
    let error = client_tool("NotebookEdit").unwrap().call(&fixture.engine, &caller, input).result.unwrap_err();
    assert!(error.next_step().contains("cell_id") && !error.next_step().contains("cell_number"), "{error}");
}

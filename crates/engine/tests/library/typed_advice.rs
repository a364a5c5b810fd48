//! The advice of typed calls: methods and parameters of the program's language, or the tools of an adapter's profile.

use crate::fixture::{EngineFixture, ok};
use emendate::core::{ArgumentStyle, Error, Vocabulary};
use emendate::{
    CallContext, EditOptions, PROFILES, Replacement, Session, TOOLS, UnreadPolicy, Workspace, adapter_profile,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The files of each call.
const FILES: [(&str, &str); 5] = [
    ("a.py", "x = 1\ny = 2\nx = 1\n"),
    ("long.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"),
    ("empty.txt", ""),
    ("a.json", "{\"a\": 1}\n"),
    (
        "n.ipynb",
        r#"{"cells": [{"cell_type": "code", "id": "c", "metadata": {}, "source": ["a = 1"], "outputs": [],
        "execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#,
    ),
];

/// A call that fails, by what is wrong with it.
type Failing = (&'static str, fn(&Session) -> Result<(), Error>);

fn edit(session: &Session, path: &str, old: &str, new: &str) -> Result<(), Error> {
    session.edit(path).replace(old, new).run().map(drop)
}

/// Replaces a text of `a.py`, with options of the replacement.
fn replace(session: &Session, options: Replacement) -> Result<(), Error> {
    let replacement = Replacement { old_string: "x = 1".to_owned(), new_string: "x = 2".to_owned(), ..options };
    session.edit("a.py").replacement(replacement).run().map(drop)
}

const FAILING: &[Failing] = &[
    ("ambiguous", |session| edit(session, "a.py", "x = 1", "x = 2")),
    ("several", |session| session.edit("a.py").replace("x = 1", "x = 2").replace("y = 2", "y = 3").run().map(drop)),
    ("similar", |session| edit(session, "a.py", "yy = 2", "y = 3")),
    ("again", |session| {
        let _ = edit(session, "a.py", "nothing like it", "z");
        edit(session, "a.py", "nothing like it", "z")
    }),
    ("similar again", |session| {
        let _ = edit(session, "long.txt", "fiveish", "z");
        edit(session, "long.txt", "fiveish", "z")
    }),
    ("count", |session| replace(session, Replacement { expected_replacements: Some(3), ..Replacement::default() })),
    ("place", |session| replace(session, Replacement { at: Some("9@ffffff".to_owned()), ..Replacement::default() })),
    ("same", |session| edit(session, "a.py", "y = 2", "y = 2")),
    ("empty old", |session| edit(session, "a.py", "", "z")),
    ("empty file", |session| edit(session, "empty.txt", "a", "z")),
    ("numbers", |session| {
        let exact = EditOptions::new().matching(emendate::core::Matching::Exact);
        session.edit("a.py").replace("2\ty = 2", "2\ty = 3").options(exact).run().map(drop)
    }),
    ("omission", |session| edit(session, "a.py", "y = 2", "y = 2\n# ... rest of code ...\n")),
    ("schema", |session| edit(session, "a.json", "1", "1,,")),
    ("overlap", |session| session.edit("a.py").replace("x = 1\ny", "z").replace("y = 2", "z").run().map(drop)),
    ("notebook", |session| edit(session, "n.ipynb", "a = 1", "a = 2")),
    ("exists", |session| session.write("a.py", "z\n").create_new().run().map(drop)),
    ("repeat", |session| {
        edit(session, "a.py", "y = 2", "y = 2\nz = 1")?;
        edit(session, "a.py", "y = 2", "y = 2\nz = 1")
    }),
    ("no format", |session| session.apply("hello").run().map(drop)),
    ("no file", |session| session.apply("@@ -2 +2 @@\n-y = 2\n+y = 3\n").run().map(drop)),
    ("strip", |session| session.apply("--- a.py\n+++ a.py\n@@ -2 +2 @@\n-y = 2\n+y = 3\n").strip(9).run().map(drop)),
    ("reverse", |session| session.apply("a.py\n```\nz\n```\n").format("whole_file").reverse().run().map(drop)),
    ("added", |session| session.apply("*** Begin Patch\n*** Add File: a.py\n+z\n*** End Patch\n").run().map(drop)),
    ("undo", |session| session.undo().run().map(drop)),
    ("undo of several", |session| {
        edit(session, "a.py", "y = 2", "y = 3")?;
        session.undo().last(9).run().map(drop)
    }),
    ("binary", |session| {
        session.write("b.bin", "a").run()?;
        session.read("b.bin").encoding("utf-16le").run().map(drop)
    }),
];

/// Returns the advice of a call, in the session that a workspace makes.
fn advice(call: &Failing, session: impl Fn(&Workspace) -> Session) -> Option<String> {
    let workspace = Workspace::in_memory(FILES).unwrap();
    let error = (call.1)(&session(&workspace)).err()?;
    Some(error.next_step().to_owned())
}

fn written(name: &str, style: ArgumentStyle) -> String {
    let call = FAILING.iter().find(|(own, _)| *own == name).unwrap();
    let trusted = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
    advice(call, |workspace| workspace.clone().argument_style(style).session_with(trusted.clone())).unwrap()
}

#[test]
fn advice_is_a_call_of_the_language() {
    let (rust, python, javascript) = (ArgumentStyle::Builder, ArgumentStyle::Python, ArgumentStyle::JavaScript);
    for (name, style, part) in [
        ("ambiguous", python, "pass `replace_all=True`. "),
        ("ambiguous", python, "repeat the call with `session.multi_edit(path, [TextEdit(old, new, at=\"1@"),
        ("ambiguous", python, "more lines of context in `old` so"),
        ("ambiguous", javascript, "pass `replaceAll: true`. "),
        ("ambiguous", javascript, "with `session.multiEdit(path, [{ old, new: replacement, at: \"1@"),
        ("ambiguous", rust, "call `replace_all(old, new)`. "),
        ("ambiguous", rust, "with `replacement(Replacement { at: Some(\"1@"),
        ("several", python, "send `TextEdit(old, new, replace_all=True)`. "),
        ("several", python, "with `TextEdit(old, new, at=\"1@"),
        ("several", javascript, "with `{ ...edit, at: \"1@"),
        ("similar", python, "with `old=\"y = 2\"`"),
        ("similar", javascript, "with `\"y = 2\"` as `old`"),
        ("similar again", python, "Call `session.read(\"/long.txt\", 2, "),
        ("similar again", javascript, "Call `session.read(\"/long.txt\", { start: 2, end: "),
        ("similar again", rust, "Call `session.read(\"/long.txt\").lines(2..="),
        ("again", python, "Call `session.read(\"/a.py\")` and look"),
        ("count", python, "Set `expected` to 2 if"),
        ("place", python, "with `at` set to"),
        ("same", javascript, "Send a `replacement` that differs from `old`;"),
        ("empty old", python, "as `old`, or use `session.write` to replace"),
        ("numbers", python, "with `old=\"y = 2\"`; write `new` without"),
        ("omission", python, "add `allow_invalid=True`."),
        ("omission", rust, "add `EditOptions::allow_invalid()`."),
        ("notebook", python, "Call `session.call(\"notebook_edit\", {\"notebook_path\": \"/n.ipynb\", "),
        ("exists", python, "repeat the call with `create_new=False`."),
        ("exists", javascript, "repeat the call with `createNew: false`."),
        ("exists", rust, "Update the file instead, or choose another path."),
        ("repeat", javascript, "send the call with `repeat: true`"),
        ("no format", python, "give its name as `format`."),
        ("no file", python, "give the path of the file as `file`."),
        ("strip", python, "Use a smaller `strip`."),
        ("reverse", python, "Omit `reverse`."),
        ("added", rust, "repeat the call with `overwrite()`."),
        ("added", python, "repeat the call with `overwrite=True`."),
        ("undo", python, "Call `session.call(\"history\", {})` to see"),
        ("undo", python, "repeat the call with `any_session=True`."),
        ("undo", rust, "Call `session.history()` to see"),
        ("undo of several", javascript, "Repeat the call with `last: 1`,"),
    ] {
        let next = written(name, style);
        assert!(next.contains(part), "{name}, {style:?}: {next}");
    }
}

/// Collects the names of fields in a schema, at any depth.
fn fields(schema: &Value, out: &mut BTreeSet<String>) {
    if let Some(Value::Object(properties)) = schema.get("properties") {
        out.extend(properties.keys().cloned());
    }
    schema.as_object().into_iter().flat_map(|it| it.values()).for_each(|it| fields(it, out));
    schema.as_array().into_iter().flatten().for_each(|it| fields(it, out));
}

/// Returns the names of the tool table in a text: those with `_`, and others where they are written as fields. Whole
/// calls of tools are left out.
fn table_names(advice: &str) -> Vec<String> {
    let mut names: BTreeSet<String> = TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
    for tool in TOOLS {
        fields(&Value::Object(tool.schema()), &mut names);
    }
    let calls: Vec<&str> = advice.split("`session.call(").collect();
    let plain: String = calls
        .iter()
        .enumerate()
        .map(|(nth, part)| match nth {
            0 => part,
            _ => part.split_once(")`").map_or("", |(_, rest)| rest),
        })
        .collect();
    let is_named = |name: &&String| {
        let mut words = plain.split(|ch: char| !(ch.is_alphanumeric() || ch == '_'));
        if name.contains('_') { words.any(|word| word == **name) } else { plain.contains(&format!("\"{name}\"")) }
    };
    names.iter().filter(is_named).cloned().collect()
}

#[test]
fn advice_names_no_field_that_the_language_lacks() {
    for style in [ArgumentStyle::Python, ArgumentStyle::JavaScript] {
        let own: BTreeSet<&str> = emendate::session_parameters(style)
            .into_iter()
            .flat_map(|(method, parameter)| [method, parameter])
            .collect();
        for call in FAILING {
            for unread in [UnreadPolicy::Allow, UnreadPolicy::Deny] {
                let caller = CallContext { unread, ..CallContext::default() };
                let next =
                    advice(call, |workspace| workspace.clone().argument_style(style).session_with(caller.clone()));
                let Some(next) = next else { continue };
                let foreign: Vec<String> =
                    table_names(&next).into_iter().filter(|name| !own.contains(&**name)).collect();
                assert_eq!(foreign, Vec::<String>::new(), "{} in {style:?}: {next}", call.0);
                assert!(!next.contains("ask a person"), "{} in {style:?}: {next}", call.0);
            }
        }
    }
}

#[test]
fn errors_of_edits_that_are_left_out_have_the_names_too() {
    let workspace = Workspace::in_memory(FILES).unwrap().argument_style(ArgumentStyle::Python);
    let session = workspace.session("s").unread(UnreadPolicy::Allow);
    let options = EditOptions::new().partial();
    let done = session.edit("a.py").replace("x = 1", "x = 2").replace("y = 2", "y = 3").options(options).run().unwrap();
    let next = done.files[0].failed[0].next_step();
    assert!(next.contains("`TextEdit(old, new, at=") && table_names(next) == ["replace_all"], "{next}");
}

#[test]
fn adapters_name_the_tools_of_their_framework() {
    let profile = adapter_profile("deepagents").unwrap();
    assert!(PROFILES.iter().all(|profile| profile.name != "deepagents"));
    let of_profile = |name: &str| {
        let call = FAILING.iter().find(|(own, _)| *own == name).unwrap();
        let trusted = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
        advice(call, |workspace| workspace.session_with(trusted.clone()).for_profile(profile)).unwrap()
    };
    let ambiguous = of_profile("ambiguous");
    assert!(ambiguous.contains("set replace_all to true") && !ambiguous.contains("\"at\""), "{ambiguous}");
    // Lines of this tool have numbers from 0.
    let again = of_profile("similar again");
    assert!(again.starts_with("Call read_file with {\"file_path\":\"/long.txt\",\"offset\":1,\"limit\":"), "{again}");
    let empty = of_profile("empty old");
    assert!(empty.contains("use write_file to replace"), "{empty}");
    assert!(of_profile("similar").contains("\"old_string\": \"y = 2\""));
    let workspace = Workspace::in_memory(FILES).unwrap();
    let session = workspace.session("s").for_profile(profile);
    let unread = edit(&session, "a.py", "y = 2", "y = 3").unwrap_err();
    assert!(unread.next_step().contains("read_file"), "{unread}");
}

/// The names of a client whose tools are all called differently.
struct ForeignNames;

impl Vocabulary for ForeignNames {
    fn tool(&self, name: &str) -> Option<String> {
        Some(format!("their_{name}"))
    }

    fn field(&self, name: &str) -> Option<String> {
        Some(format!("their_{name}"))
    }
}

#[test]
fn advice_for_edits_that_are_left_out_has_the_names_of_the_client() {
    let fixture = EngineFixture::with_read("a", "one\nsame\nsame\n");
    let edits = json!([
        { "old_string": "one", "new_string": "1" },
        { "old_string": "same", "new_string": "x" },
    ]);
    let input = json!({ "file_path": fixture.path("a"), "partial": true, "edits": edits });
    let reply = fixture.engine.call_as(&fixture.caller, "multi_edit", input, Some(&ForeignNames));
    let text = ok(&reply);
    let next = text.split_once("Next: ").unwrap().1;
    assert!(text.contains("Not applied: ") && next.contains("their_replace_all"), "{text}");
    let failed = &reply.to_json()["data"]["failed"][0];
    assert!(failed["next"].as_str().unwrap().contains("their_replace_all"), "{failed:#}");
}

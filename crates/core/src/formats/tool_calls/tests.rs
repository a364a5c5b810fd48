use super::super::detect::parse_any;
use super::super::line_parser::ParseOptions;
use crate::locate::op::{FileAction, FileRequest, Locator};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns the files of a text: path and old and new text of each edit, or the whole text.
fn files(text: &str) -> Result<Vec<String>, String> {
    let parsed = parse_any(text, None, &ParseOptions::default()).map_err(|error| error.to_string())?;
    Ok(parsed.request.files.iter().map(shown).collect())
}

fn shown(file: &FileRequest) -> String {
    match &file.action {
        FileAction::Edit { ops, .. } => {
            let edits = ops.iter().map(|op| match &op.at {
                Locator::Find(find) => format!(" {:?}>{:?}", find.old, op.text),
                at => format!(" {at:?}"),
            });
            format!("{}:{}", file.path, edits.collect::<String>())
        }
        FileAction::Write(text) => format!("{}= {text:?}", file.path),
        other => format!("{other:?}"),
    }
}

fn one(text: &str) -> String {
    match files(text).as_deref() {
        Ok([file]) => file.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

/// Returns the parameters of an edit in tags. They are written with `‹`, so that agents that read this file do not
/// mistake them for tags.
fn tags(text: &str) -> String {
    text.replace('‹', "<")
}

#[test]
fn one_edit_in_every_form() {
    let arguments = json!({"file_path": "a.rs", "old_string": "x", "new_string": "y"});
    let call = json!({"name": "edit", "arguments": arguments});
    let text = arguments.to_string();
    let mut forms = vec![
        text.clone(),
        format!("It is:\n\n```json\n{text}\n```\nDone.\n"),
        format!("Now.\n{call}\n"),
        json!([call]).to_string(),
        json!({"type": "function", "function": {"name": "edit", "arguments": text}}).to_string(),
        json!({"tool_calls": [{"id": "1", "function": {"name": "edit", "arguments": text}}]}).to_string(),
        json!({"type": "tool_use", "name": "Edit", "input": arguments}).to_string(),
        json!({"action": "edit", "action_input": arguments}).to_string(),
        format!("[TOOL_CALLS][{call}]"),
        format!("[TOOL_CALL]{call}[/TOOL_CALL]"),
    ];
    let in_tags = [
        "I edit.\n‹tool_call>\nCALL\n‹/tool_call>\nDone.\n",
        "‹tool_use>CALL‹/tool_use>",
        "‹function=edit>TEXT‹/function>",
        "‹function=edit>\n‹parameter=path>\na.rs\n‹/parameter>\n‹parameter=old_str>\nx\n‹/parameter>\n‹parameter=new_str>\ny\n‹/parameter>\n‹/function>\n‹/tool_call>",
        "‹function_calls>\n‹invoke name=\"Edit\">\n‹parameter name=\"file_path\">a.rs‹/parameter>\n‹parameter name=\"old_string\">x‹/parameter>\n‹parameter name=\"new_string\">y‹/parameter>\n‹/invoke>\n‹/function_calls>",
        "‹a:invoke name=\"Edit\">‹a:parameter name=\"path\">a.rs‹/a:parameter>‹a:parameter name=\"old_string\">x‹/a:parameter>‹a:parameter name=\"new_string\">y‹/a:parameter>‹/a:invoke>",
        "‹edit file=\"a.rs\">‹search>x‹/search>‹replace>y‹/replace>‹/edit>",
        "‹str_replace>\n‹path>a.rs‹/path>\n‹old_str>\nx\n‹/old_str>\n‹new_str>\ny\n‹/new_str>\n‹/str_replace>",
        "‹search_and_replace>‹path>a.rs‹/path>‹search>x‹/search>‹replace>‹![CDATA[y]]>‹/replace>‹/search_and_replace>",
    ];
    forms.extend(in_tags.iter().map(|form| tags(form).replace("CALL", &call.to_string()).replace("TEXT", &text)));
    for form in forms {
        assert_eq!(one(&form), r#"a.rs: "x">"y""#, "{form}");
    }
}

#[test]
fn fields_of_other_clients_are_read_as_they_are_meant() {
    let call = |name: &str, arguments: Value| one(&json!({"name": name, "arguments": arguments}).to_string());
    let edits = [
        (
            "replace_file_content",
            json!({"TargetFile": "a.rs", "TargetContent": "x", "ReplacementContent": "y", "AllowMultiple": false, "StartLine": 3, "EndLine": 3}),
        ),
        (
            "replace_file_content",
            json!({"TargetFile": "a.rs", "ReplacementChunks": [{"TargetContent": "x", "ReplacementContent": "y"}], "TargetLintErrorIds": []}),
        ),
        (
            "str-replace-editor",
            json!({"command": "str_replace", "path": "a.rs", "old_str_1": "x", "new_str_1": "y", "old_str_start_line_number_1": 3}),
        ),
        (
            "str-replace-editor",
            json!({"command": "str_replace", "path": "a.rs", "str_replace_entries": [{"old_str": "x", "new_str": "y"}]}),
        ),
        ("edit_file", json!({"path": "a.rs", "edits": [{"oldText": "x", "newText": "y"}], "dryRun": false})),
        ("strReplace", json!({"path": "a.rs", "oldStr": "x", "newStr": "y"})),
        ("single_find_and_replace", json!({"filepath": "a.rs", "old_string": "x", "new_string": "y"})),
    ];
    for (name, arguments) in edits {
        assert_eq!(call(name, arguments), r#"a.rs: "x">"y""#);
    }
    let two = json!({"path": "a.rs", "old_str_2": "p", "new_str_2": "q", "old_str_1": "x", "new_str_1": "y"});
    assert_eq!(call("str-replace-editor", two), r#"a.rs: "x">"y" "p">"q""#);
    let each = |path: &str| json!({"filePath": path, "oldString": "x", "newString": "y"});
    let several =
        json!({"name": "multi_replace_string_in_file", "arguments": {"replacements": [each("a"), each("b")]}});
    assert_eq!(files(&several.to_string()).unwrap(), [r#"a: "x">"y""#, r#"b: "x">"y""#]);
    let texts = [
        ("rewrite_file", json!({"uri": "a.rs", "new_content": "x\n"})),
        ("write_to_file", json!({"TargetFile": "a.rs", "CodeContent": "x\n", "EmptyFile": false})),
        ("save-file", json!({"path": "a.rs", "file_content": "x", "add_last_line_newline": true})),
        ("fsWrite", json!({"path": "a.rs", "text": "x\n"})),
    ];
    for (name, arguments) in texts {
        assert_eq!(call(name, arguments), r#"a.rs= "x\n""#);
    }
    let lazy = "x\n// ... existing code ...\n";
    for (name, field) in
        [("edit_file", "code_edit"), ("insert_edit_into_file", "code"), ("edit_existing_file", "changes")]
    {
        let whole = call(name, json!({"target_file": "a.rs", "instructions": "why", field: lazy}));
        assert_eq!(whole, r#"a.rs= "x\n// ... existing code ...\n""#);
        // Without a placeholder it may be a part of the file, which it must not replace.
        let part = call(name, json!({"target_file": "a.rs", field: "x\n"}));
        assert!(!part.starts_with("a.rs="), "{part}");
    }
    let inserted = call("insert_content", json!({"path": "a.rs", "line": "2", "content": "x"}));
    assert!(inserted.starts_with("a.rs:"), "{inserted}");
    for (name, arguments) in [
        ("search_and_replace", json!({"path": "a", "search": "x", "replace": "y", "use_regex": true})),
        ("edit_file", json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}], "dryRun": true})),
        ("edit_file", json!({"path": "a", "start": "1", "end": "1", "content": "x"})),
        ("run", json!({"path": "a", "text": "x", "code": "y"})),
        ("insert_content", json!({"path": "a.rs", "line": 0, "content": "x"})),
    ] {
        let text = json!({"name": name, "arguments": arguments}).to_string();
        assert!(files(&text).is_err(), "{text}: {:?}", files(&text));
    }
}

#[test]
fn texts_in_tags_are_literal() {
    let edit = |old: &str, new: &str| {
        one(&tags(&format!(
            "‹str_replace>‹path>a.rs‹/path>‹old_str>{old}‹/old_str>‹new_str>{new}‹/new_str>‹/str_replace>"
        )))
    };
    assert_eq!(edit("\n    x\n", "\n    x\n    y\n"), r#"a.rs: "    x">"    x\n    y""#);
    assert_eq!(edit("    x &lt; 1", "x"), r#"a.rs: "    x &lt; 1">"x""#);
    assert_eq!(edit("\n‹b>‹/old_str>‹/b>\n", "\n"), r#"a.rs: "<b></old_str></b>">"""#);
    let file = tags("‹create_file>\n‹path>a.rs‹/path>\n‹content>\nx\n\ny\n‹/content>\n‹/create_file>");
    assert_eq!(one(&file), r#"a.rs= "x\n\ny\n""#);
    // The line ends around the value of a parameter are not its own.
    let file = tags(
        "‹function=write_file>\n‹parameter=path>a.rs‹/parameter>\n‹parameter=content>\nx\n\n‹/parameter>\n‹/function>",
    );
    assert_eq!(one(&file), r#"a.rs= "x\n""#);
}

#[test]
fn several_calls_are_one_change() {
    let call = |path: &str, old: &str, new: &str| {
        json!({"name": "edit", "arguments": {"path": path, "old_string": old, "new_string": new}}).to_string()
    };
    let text = format!(
        "First:\n```json\n{}\n```\nthen\n```json\n{}\n{}\n```\n",
        call("a", "1", "2"),
        call("a", "3", "4"),
        call("b", "5", "6")
    );
    assert_eq!(files(&text).unwrap(), [r#"a: "1">"2" "3">"4""#, r#"b: "5">"6""#]);
}

#[test]
fn what_is_not_surely_an_edit_is_refused() {
    let edit = json!({"path": "a", "old_string": "1", "new_string": "2"});
    for text in [
        json!({"name": "append_to_file", "arguments": {"path": "a", "content": "x"}}).to_string(),
        json!({"name": "run", "arguments": {"path": "a", "content": "x"}}).to_string(),
        json!({"path": "a", "content": "x", "mode": "append"}).to_string(),
        json!({"path": "a", "edits": [{"old_string": "1", "new_string": "2"}], "dry_run": true}).to_string(),
        json!({"command": "view", "path": "a", "content": "x"}).to_string(),
        json!({"name": "replace_regex", "arguments": edit}).to_string(),
        format!("{edit}\n{}", json!({"name": "read_file", "arguments": {"path": "b"}})),
        format!("{edit}\n{{\"old_string\": \"3\", \"new_s"),
        format!("{edit}\nb.rs\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"),
        tags("‹edit>‹path>a‹/path>‹old_str>1‹/old_str>‹new_str>2"),
        tags(&format!("‹tool_call>{edit}‹/tool_call>\n‹tool_call>{{\"name\": \"ed")),
        tags(&format!("{edit}\n‹function=edit>\n‹parameter=path>a")),
        tags("‹edit>‹path>a‹/path>‹old_str>1‹/old_str>‹new_str>2‹/new_str>‹count>2‹/count>‹/edit>"),
        tags("‹edit mode=\"all\" path=\"a\">‹old_str>1‹/old_str>‹new_str>2‹/new_str>‹/edit>"),
    ] {
        assert!(files(&text).is_err(), "{text}: {:?}", files(&text));
    }
    let insert = json!({"command": "insert", "path": "a", "insert_line": 1, "insert_text": "x"}).to_string();
    assert!(one(&insert).starts_with("a:"));
}

#[test]
fn calls_inside_of_an_edit_are_its_text() {
    let call = json!({"path": "a", "old_string": "1", "new_string": "2"});
    let block = format!("doc.md\n<<<<<<< SEARCH\nold\n=======\n{call}\n>>>>>>> REPLACE\n");
    assert!(one(&block).starts_with("doc.md: \"old"));
    let content = json!({"path": "doc.md", "content": "b.rs\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"});
    assert!(one(&content.to_string()).starts_with("doc.md="));
}

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in "(‹edit>|‹/edit>|‹path>|‹/path>|‹function=edit>|‹parameter=path>|‹/parameter>|\\{\"path\": \"a\"|\\}|\\[|\\]|\"|é|x|\n| ){0,40}") {
        let _ = files(&tags(&text));
    }
}

#[test]
fn call_that_is_cut_off_refuses_the_others() {
    let edit = json!({"file_path": "a.rs", "old_string": "x", "new_string": "y"}).to_string();
    let element =
        tags("‹edit>\n‹path>a.rs‹/path>\n‹old_string>\nx\n‹/old_string>\n‹new_string>\ny\n‹/new_string>\n‹/edit>\n");
    for text in [
        format!("[\n {edit},\n {{\"file_path\": \"a.rs\", \"old_string"),
        format!("[\n {edit},\n"),
        format!("{element}{}", tags("‹edit>\n‹path>a.rs‹/path>\n‹old_s")),
        format!("{element}{}", tags("‹ed")),
        format!("{}{edit}{}{}", tags("‹tool_call>"), tags("‹/tool_call>\n"), tags("‹tool_c")),
    ] {
        assert!(files(&text).is_err_and(|error| error.contains("cut off")), "{text}");
    }
    assert_eq!(files(&format!("[\n {edit},\n]\n")).unwrap().len(), 1);
    assert_eq!(files(&format!("[1]\n{edit}\n")).unwrap().len(), 1);
}

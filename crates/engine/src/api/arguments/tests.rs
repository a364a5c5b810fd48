use crate::api::arguments::{Arguments, normalize_name};
use crate::api::tool_table::{TOOLS, tool};
use emendate_core::Result;
use serde_json::{Map, Value, json};
use std::path::Path;

fn read(name: &str, input: Value) -> Result<Arguments> {
    Arguments::read(tool(name).unwrap(), Some(Path::new("/r")), None, input)
}

fn value(name: &str, input: Value) -> Value {
    read(name, input).unwrap().value
}

#[test]
fn valid_arguments_stay_unchanged() {
    for tool in TOOLS {
        let input: Value = serde_json::from_str(tool.example).unwrap();
        let read = read(tool.name, input.clone()).unwrap();
        assert_eq!((read.value, read.notes), (input, emendate_core::Notes::new()), "{}", tool.name);
    }
}

#[test]
fn alias_rows_name_fields_and_no_field_is_an_alias() {
    for tool in TOOLS {
        let schema = tool.schema();
        for row in tool.aliases {
            assert!(schema["properties"].get(row.field).is_some(), "{} {}", tool.name, row.field);
            for other in row.others.iter().filter(|_| row.unless.is_none()) {
                let taken = schema["properties"]
                    .as_object()
                    .unwrap()
                    .keys()
                    .any(|name| normalize_name(name) == normalize_name(other));
                assert!(!taken, "{}: {other} is a field", tool.name);
                let rows = tool.aliases.iter().filter(|row| row.others.contains(other));
                assert_eq!(rows.count(), 1, "{}: {other} is in two rows", tool.name);
            }
        }
    }
    let names: Vec<String> = TOOLS.iter().flat_map(|tool| tool.other_names).map(|name| normalize_name(name)).collect();
    for (index, name) in names.iter().enumerate() {
        assert!(!names[..index].contains(name), "{name} names two tools");
    }
}

#[test]
fn calls_of_other_clients_are_accepted() {
    let wanted = json!({"file_path": "/r/a", "old_string": "a", "new_string": "b", "replace_all": true});
    for input in [
        json!({"filePath": "/r/a", "oldString": "a", "newString": "b", "replaceAll": true}),
        json!({"path": "a", "old_str": "a", "new_str": "b", "replace_all": "true"}),
        json!({"path": "[a](a)", "search_text": "a", "replace_text": "b", "replace_all": 1}),
        json!({"path": "[`a`](/r/a)", "from": "a", "to": "b", "replace_all": "1"}),
        json!({"path": "/r/a", "target": "a", "replacement": "b", "replace_all": "True"}),
        json!({"uri": "file:///r/a", "before": "a", "after": "b", "replace_all": true}),
        json!({"path": "/r/a", "search_string": "a", "replace_string": "b", "replace_all": true}),
        json!({"path": "/r/a", "pattern": "a", "replacement": "b", "replace_all": true}),
        json!({"path": "/r/a", "old_lines": ["a"], "new_lines": ["b"], "replace_all": true}),
        json!({"filename": "./a", "search": "a", "replace": "b", "allow_multiple": "True"}),
        json!({"arguments": {"file": "/r/a", "oldText": "a", "newText": "b", "replace_all": true}}),
        json!({"arguments": r#"{"file_path": "/r/a", "old_string": "a", "new_string": "b", "replace_all": true}"#}),
        json!(r#"{"file_path": "/r/a", "old_string": "a", "new_string": "b", "replace_all": true}"#),
        json!({"file_path": "/r/a", "filePath": "a", "old_string": "a", "new_string": "b", "replace_all": true, "id": "x"}),
    ] {
        let read = read("edit", input.clone()).unwrap();
        assert_eq!(read.value, wanted, "{input}");
        assert!(!read.notes.is_empty(), "{input}");
    }
}

#[test]
fn lists_and_forms_of_other_clients_are_accepted() {
    let edits = json!([{"old_string": "a", "new_string": "b"}]);
    for given in [
        json!([{"oldString": "a", "newString": "b", "filePath": "/r/a"}]),
        json!({"old_text": "a", "new_text": "b"}),
        json!(r#"[{"old_string": "a", "new_string": "b"}]"#),
        json!(r#"{"old_string": "a", "new_string": "b"}"#),
        json!("```json\n[{\"old_string\": \"a\", \"new_string\": \"b\"}]\n```"),
        json!(json!([{"old_string": "a", "new_string": "b"}]).to_string()),
        json!(json!(json!([{"old_string": "a", "new_string": "b"}]).to_string()).to_string()),
        json!([r#"{"search": "a", "replace": "b"}"#]),
        json!([{"before": "a", "after": "b"}]),
        json!([{"pattern": "a", "replacement": "b"}]),
    ] {
        for tool in ["edit", "multi_edit"] {
            let read = value(tool, json!({"filePath": "/r/a", "edits": given}));
            assert_eq!(read, json!({"file_path": "/r/a", "edits": edits}), "{tool} {given}");
        }
    }
    let one = value("multi_edit", json!({"file_path": "/r/a", "old_string": "a", "new_string": "b"}));
    assert_eq!(one, json!({"file_path": "/r/a", "edits": edits}));
    for more in [json!({"edits": []}), json!({"edits": null})] {
        let mut input = json!({"file_path": "/r/a", "old_string": "a", "new_string": "b"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(value("edit", input)["edits"], Value::Null);
    }
    let listed = json!({"file_path": "/r/a", "edits": edits, "old_string": "", "new_string": "", "replace_all": false});
    assert_eq!(value("edit", listed), json!({"file_path": "/r/a", "edits": edits}));
    let lines = value("read", json!({"path": "a", "start_line": "3", "end_line": 5}));
    assert_eq!(lines, json!({"offset": 3, "limit": 3, "file_path": "/r/a"}));
    assert_eq!(value("read", json!({"file_path": "/r/a", "limit": 10.0})), json!({"file_path": "/r/a", "limit": 10}));
    let anchors =
        value("edit", json!({"file_path": "/r/a", "start_line_text": "a", "end_line_text": "b", "newText": "c"}));
    assert_eq!(anchors["new_text"], "c");
    for field in ["old_string", "old_str"] {
        let texts = value("edit", json!({"file_path": "/r/a", field: "a", "new_text": "b"}));
        assert_eq!(texts, json!({"file_path": "/r/a", "old_string": "a", "new_string": "b"}));
    }
    for (switch, literal) in [(json!({"regex": false}), json!(true)), (json!({"is_regex": true}), json!(null))] {
        let mut input = json!({"path": "/r", "pattern": "f(x"});
        input.as_object_mut().unwrap().extend(switch.as_object().unwrap().clone());
        assert_eq!(value("search", input)["literal"], literal, "{switch}");
    }
    let grok = value("text_editor", json!({"path": "/r/a", "old_str": "a", "new_str": "b", "replace_all": true}));
    assert_eq!(grok["command"], "str_replace");
    assert_eq!(value("check", json!({"path": "a"})), json!({"paths": ["/r/a"]}));
    let several = value("edit", json!({"path": "/r/a", "old_string": ["a", "b"], "new_string": ["a", "c"]}));
    assert_eq!(several, json!({"file_path": "/r/a", "old_string": "a\nb", "new_string": "a\nc"}));
    for input in [json!({"edits": "x"}), json!({"input_text": "x"}), json!({"input": ["x"]})] {
        assert_eq!(value("apply", input.clone()), json!({"input": "x"}), "{input}");
    }
}

#[test]
fn doubtful_fields_are_refused() {
    let base = json!({"file_path": "/r/a", "old_string": "a", "new_string": "b"});
    for (field, given, part) in [
        ("oldText", json!("c"), "old_string and oldText"),
        ("replace_al", json!(true), "replace_all may be meant"),
        ("dryrunn", json!(true), "dry_run may be meant"),
        ("regex", json!(true), "could change what the call does"),
        ("before", json!("c"), "could change what the call does"),
        ("after", json!("c"), "could change what the call does"),
        ("occurrence", json!(2), "could change what the call does"),
        ("replacements", json!("no list"), "no JSON"),
        ("line_number", json!("near the top"), "does not fit line"),
    ] {
        let mut input = base.clone();
        input[field] = given;
        let error = read("edit", input).unwrap_err();
        assert!(error.message().contains(part), "{field}: {error}");
    }
    let error = read(
        "edit",
        json!({"file_path": "/r/a", "edits": [
        {"old_string": "a", "new_string": "b"}, {"oldText": "c"}, {}]}),
    );
    let text = error.unwrap_err().to_string();
    let both = read("search", json!({"pattern": "a", "query": {"text": "b"}})).unwrap_err();
    assert!(both.next_step().starts_with("Omit query, because the call has pattern"), "{both}");
    assert!(text.contains("edits[1]: new_string is missing") && text.contains("edits[2]: old_string"), "{text}");
    let other = json!({"file_path": "/r/a", "edits": [{"file_path": "/r/b", "old_string": "a", "new_string": "b"}]});
    assert!(read("multi_edit", other).unwrap_err().message().contains("another file"));
}

#[test]
fn meaningless_fields_are_ignored() {
    let input = json!({"file_path": "/r/a", "content": "x", "explanation": "why", "regex": false, "tag": null});
    let read = read("write", input).unwrap();
    assert_eq!(read.value, json!({"file_path": "/r/a", "content": "x"}));
    assert!(read.notes[0].to_string().contains("explanation"), "{:?}", read.notes);
}

#[test]
fn ambiguous_paths_stay_unchanged() {
    for path in ["~/a", "C:/a", "file:///a%20b", "file://host/a", ""] {
        assert_eq!(value("read", json!({"file_path": path}))["file_path"], path);
    }
    assert_eq!(value("read", json!({"file_path": "file:///a"}))["file_path"], "/a");
    let none = Arguments::read(tool("read").unwrap(), None, None, json!({"path": "a"})).unwrap();
    assert_eq!(none.value["file_path"], "a");
    assert_eq!(value("search", json!({"pattern": "x", "path": "."}))["path"], "/r");
}

#[test]
fn numbers_are_texts_where_a_text_is_wanted() {
    let read_value = value("edit", json!({"file_path": "/r/a", "old_string": 5, "new_string": "6"}));
    assert_eq!(read_value, json!({"file_path": "/r/a", "old_string": "5", "new_string": "6"}));
    let list = value("multi_edit", json!({"file_path": "/r/a", "edits": [{"old_string": 5, "new_string": -6}]}));
    assert_eq!(list["edits"], json!([{"old_string": "5", "new_string": "-6"}]));
    // A number whose text would differ from what was sent remains an error.
    let float = value("edit", json!({"file_path": "/r/a", "old_string": 1.50, "new_string": "6"}));
    assert!(float["old_string"].is_number());
    assert_eq!(
        value("edit", json!({"file_path": "/r/a", "old_string": "a", "new_string": "b", "replace_all": 2}))["replace_all"],
        json!(2)
    );
}

#[test]
fn fields_that_narrow_a_call_are_not_ignored() {
    for input in [
        json!({"input": "x", "include": ["a.rs"]}),
        json!({"input": "x", "exclude": "b.rs"}),
        json!({"input": "x", "files_to_include": "*.rs"}),
    ] {
        let error = read("apply", input.clone()).unwrap_err();
        assert!(error.message().contains("could change what the call does"), "{input}: {error}");
    }
    let any_case = json!({"path": "/r", "old_string": "a", "new_string": "b", "match_case": false});
    assert!(read("replace_in_files", any_case).is_err());
    let narrowed = json!({"path": "/r", "old_string": "a", "new_string": "b", "exclude": "*.md"});
    assert!(read("replace_in_files", narrowed).is_err());
    assert!(read("search", json!({"pattern": "a", "exclude": "*.md"})).is_ok());
}

#[test]
fn fields_of_other_tools_are_not_ignored() {
    let base = json!({"file_path": "/r/a", "content": "x"});
    for (field, given) in [
        ("old_string", json!("two")),
        ("oldText", json!("two")),
        ("edits", json!([{"old_string": "two", "new_string": "2"}])),
        ("view_range", json!([2, 2])),
        ("command", json!("append")),
        ("action", json!("append")),
        ("edit_mode", json!("insert")),
        ("anchor", json!("two")),
        ("diff", json!("-two")),
        ("depth", json!(0)),
        ("create_only", json!(true)),
        ("check", json!(true)),
    ] {
        let with = |value: Value| {
            let mut input = base.clone();
            input[field] = value;
            read("write", input)
        };
        let error = with(given).unwrap_err();
        assert!(error.message().contains("could change what the call does"), "{field}: {error}");
        for nothing in [json!(null), json!(""), json!([]), json!({}), json!(false)] {
            assert_eq!(with(nothing).unwrap().value, base, "{field}");
        }
    }
    for (tool, field, value) in [
        ("edit", "command", "str_replace"),
        ("edit", "edit_mode", "replace"),
        ("edit", "type", "edit"),
        ("multi_edit", "action", "replace"),
        ("write", "command", "write_file"),
    ] {
        let mut input: Value = serde_json::from_str(crate::api::tool_table::tool(tool).unwrap().example).unwrap();
        let plain = input.clone();
        input[field] = value.into();
        assert_eq!(self::value(tool, input.clone()), plain, "{field}");
        input[field] = "insert_after".into();
        assert!(read(tool, input).is_err(), "{tool} {field}");
    }
}

#[test]
fn cells_are_named_by_values() {
    let text = json!({"file_path": "/r/a", "old_string": "a", "new_string": "b"});
    for more in [
        json!({"cell_id": null, "cell_number": null, "new_source": null, "cell_type": null, "edit_mode": null}),
        json!({"cell_id": "", "new_source": "", "edit_mode": "replace", "cell_type": "code"}),
        json!({"notebook_path": "", "editMode": ""}),
    ] {
        let mut input = text.clone();
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(value("edit", input), text, "{more}");
    }
    for more in [json!({"cell_number": 0}), json!({"cellId": "c"}), json!({"edit_mode": "delete"})] {
        let mut input = text.clone();
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let error = read("edit", input).unwrap_err();
        assert!(error.message().contains("old_string is for edits of text"), "{more}: {error}");
    }
    let cell = json!({"file_path": "/r/a", "cell_number": 0, "new_source": "b", "old_string": "", "new_string": ""});
    assert_eq!(value("edit", cell), json!({"cell_number": 0, "new_source": "b", "notebook_path": "/r/a"}));
}

/// Returns the optional fields of an object with this schema.
fn optional_fields(object: &Value) -> Vec<String> {
    let required: Vec<&Value> = object["required"].as_array().into_iter().flatten().collect();
    let fields = object["properties"].as_object().into_iter().flat_map(Map::keys);
    fields.filter(|field| !required.iter().any(|other| *other == field.as_str())).cloned().collect()
}

#[test]
fn an_empty_optional_field_requests_nothing() {
    for tool in TOOLS {
        let schema = Value::Object(tool.schema());
        let example: Value = serde_json::from_str(tool.example).unwrap();
        let fields = optional_fields(&schema).into_iter().filter(|field| example.get(field).is_none());
        let fields: Vec<String> = fields.collect();
        for empty in [json!(null), json!(""), json!([]), json!({})] {
            let mut all = example.clone();
            for field in &fields {
                if !empty.is_null() && tool.meant_empty.contains(&&**field) {
                    continue;
                }
                let mut input = example.clone();
                input[field] = empty.clone();
                all[field] = empty.clone();
                assert_eq!(value(tool.name, input), example, "{}: {field} {empty}", tool.name);
            }
            assert_eq!(value(tool.name, all), example, "{}: {empty} in all fields", tool.name);
        }
        // Each field whose empty text has a meaning is one of the call, or of an entry.
        let definitions = schema["$defs"].as_object().into_iter().flat_map(Map::values);
        let fields: Vec<String> = definitions.chain([&schema]).flat_map(optional_fields).collect();
        for field in tool.meant_empty {
            assert!(fields.iter().any(|own| own == field), "{}: {field}", tool.name);
        }
    }
}

#[test]
fn an_empty_optional_field_of_an_entry_requests_nothing() {
    let text = json!({"old_string": "a", "new_string": "b"});
    for (name, path, definition, entry) in [
        ("edit", "file_path", "Replacement", text.clone()),
        ("multi_edit", "file_path", "Replacement", text),
        ("edit_anchors", "path", "Edit", json!({"anchor": "Table", "text": "x"})),
        ("notebook_edit", "notebook_path", "OneCell", json!({"cell_number": 0, "new_source": "x"})),
    ] {
        let schema = Value::Object(tool(name).unwrap().schema());
        let plain = json!({path: "/r/a", "edits": [entry]});
        let fields = optional_fields(&schema["$defs"][definition]);
        assert!(!fields.is_empty(), "{name}");
        for field in fields.iter().filter(|field| entry.get(field).is_none()) {
            for empty in [json!(null), json!(""), json!([]), json!({})] {
                let mut input = plain.clone();
                input["edits"][0][field] = empty;
                assert_eq!(value(name, input.clone()), plain, "{input}");
            }
        }
    }
}

#[test]
fn a_call_is_in_the_form_that_has_content() {
    let forms = [
        json!({"old_string": "a", "new_string": ""}),
        json!({"old_string": "", "new_string": "b"}),
        json!({"edits": [{"old_string": "a", "new_string": "b"}]}),
        json!({"start_line_text": "a", "end_line_text": "b", "new_text": ""}),
        json!({"start_line_text": "a", "end_line_text": "b", "new_text": "c"}),
    ];
    let unused = json!({"old_string": "", "new_string": "", "replace_all": false, "expected_replacements": "", "at": "",
        "line": "", "edits": [], "order": "together", "start_line_text": "", "end_line_text": "", "new_text": "",
        "path_b64": "", "tag": "", "on_stale": ""});
    for form in forms {
        let mut input = unused.clone();
        input.as_object_mut().unwrap().extend(form.as_object().unwrap().clone());
        let mut read = value("edit", input);
        let fields = read.as_object_mut().unwrap();
        // The order of a list stays, and so does a switch of a single edit that is off.
        assert_eq!(fields.remove("order").is_some(), form.get("edits").is_some());
        fields.retain(|_, value| *value != false);
        assert_eq!(read, form);
    }
    // The order of one edit does not matter, with and without an empty list.
    let single = json!({"file_path": "/r/a", "old_string": "a", "new_string": "b"});
    let mut input = single.clone();
    input["order"] = "together".into();
    assert_eq!(value("edit", input), single);
    let listed = json!({"notebook_path": "/r/a", "edits": [{"cell_number": 0, "new_source": ""}]});
    let mut input = listed.clone();
    for field in ["cell_id", "cell_number", "new_source", "cell_type", "edit_mode"] {
        input[field] = "".into();
    }
    assert_eq!(value("notebook_edit", input), listed);
}

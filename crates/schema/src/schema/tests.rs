//! Violations of schemas, and limits that no schema can exceed.

use super::{CheckReport, Schema, new_violations};
use crate::{DataFormat, read};

fn none(path: &str) -> Result<String, String> {
    Err(format!("there is no {path}"))
}

fn check_as(kind: DataFormat, schema: &str, text: &str) -> CheckReport {
    let schema = Schema::compile(schema, DataFormat::Json, &mut none).unwrap();
    schema.check(&read(kind, text).unwrap())
}

fn wrong(schema: &str, text: &str) -> Vec<String> {
    let checked = check_as(DataFormat::Json, schema, text);
    assert!(!checked.limit_reached && !checked.more);
    checked.violations.iter().map(|it| format!("{} {} {}", it.at, it.pointer, it.what)).collect()
}

fn broken(schema: &str) -> String {
    let broken = Schema::compile(schema, DataFormat::Json, &mut none).unwrap_err();
    let place = broken.place.map_or(String::new(), |it| format!("{}:{} ", it.line, it.column));
    format!("{}{place}{}", broken.file, broken.what)
}

#[test]
fn violations_have_positions_and_messages() {
    let schema = r#"{"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
        "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"}, "level": {"enum": ["debug", "info", "warn"]},
        "port": {"type": "integer", "minimum": 1, "maximum": 65535}, "tags": {"items": {"type": "string"}, "uniqueItems": true},
        "mode": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}"#;
    assert_eq!(wrong(schema, r#"{"name": "ab", "port": 80, "tags": ["a"], "mode": null}"#), [""; 0]);
    for (text, said) in [
        ("[]", "0  is a list; expected object"),
        (r#"{"port": 1}"#, "0  \"name\" is missing"),
        (r#"{"name": "a"}"#, "9 /name \"a\" has fewer than 2 characters"),
        (r#"{"name": "A1"}"#, "9 /name \"A1\" does not match the pattern ^[a-z]+$"),
        (r#"{"name": "ab", "level": "wran"}"#, "24 /level \"wran\" is not one of \"warn\", \"debug\", \"info\""),
        (r#"{"name": "ab", "port": "80"}"#, "23 /port \"80\" is a string; expected integer"),
        (r#"{"name": "ab", "port": 0}"#, "23 /port 0 is less than 1"),
        (r#"{"name": "ab", "tags": ["a", 1]}"#, "29 /tags/1 1 is a number; expected string"),
        (r#"{"name": "ab", "tags": ["a", "a"]}"#, "29 /tags items 0 and 1 are equal"),
        (r#"{"name": "ab", "prot": 1}"#, "15 /prot is not allowed here; known are port, level, mode, name, tags"),
        (r#"{"name": "ab", "mode": 1}"#, "23 /mode 1 is a number; expected null or string"),
    ] {
        assert_eq!(wrong(schema, text), [said], "{text}");
    }
}

#[test]
fn closest_alternative_is_explained() {
    let schema = r#"{"oneOf": [{"type": "string"}, {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
        {"type": "object", "required": ["b", "c", "d"]}]}"#;
    assert_eq!(
        wrong(schema, r#"{"a": "x"}"#),
        ["6 /a \"x\" is a string; expected integer (none of 3 alternatives fits; this is the nearest)"]
    );
    assert_eq!(wrong(schema, "1"), ["0  1 is a number; expected object or string"]);
    let both = wrong(schema, r#"{"a": 1, "b": 1, "c": 1, "d": 1}"#);
    assert_eq!(both, ["0  fits alternatives 2 and 3 of 3; exactly one may"]);
}

#[test]
fn drafts_are_distinguished() {
    let four = r#"{"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x/y", "maximum": 3, "exclusiveMaximum": true}"#;
    assert_eq!(wrong(four, "3"), ["0  3 is not less than 3"]);
    assert_eq!(wrong(r#"{"exclusiveMaximum": 3}"#, "3"), ["0  3 is not less than 3"]);
    let seven = |more: &str| format!("{{\"$schema\": \"http://json-schema.org/draft-07/schema#\", {more}}}");
    let beside = r##""$ref": "#/definitions/a", "type": "string", "definitions": {"a": {"type": "integer"}}"##;
    assert_eq!(wrong(&seven(beside), "1"), [""; 0], "siblings of a reference do not count");
    assert_eq!(wrong(&format!("{{{beside}}}"), "1").len(), 1);
    assert_eq!(wrong(&seven(r#""items": [{"type": "string"}], "additionalItems": false"#), "[\"a\", 1]").len(), 1);
    assert_eq!(wrong(r#"{"prefixItems": [{"type": "string"}], "items": false}"#, "[\"a\", 1]").len(), 1);
    assert_eq!(
        wrong(&seven(r#""dependencies": {"a": ["b"], "c": {"required": ["d"]}}"#), r#"{"a": 1, "c": 1}"#).len(),
        2
    );
    let if_then = r#"{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}"#;
    assert_eq!(wrong(if_then, "{\"a\": 1}"), ["0  \"b\" is missing"]);
    assert_eq!(wrong(if_then, "{}"), ["0  \"c\" is missing"]);
}

#[test]
fn unevaluated_properties_and_items_are_checked() {
    let schema = r##"{"allOf": [{"$ref": "#/$defs/a"}], "properties": {"b": true}, "unevaluatedProperties": false,
        "$defs": {"a": {"properties": {"a": true}, "patternProperties": {"^x-": {"type": "string"}}}}}"##;
    assert_eq!(wrong(schema, r#"{"a": 1, "b": 2, "x-c": ""}"#), [""; 0]);
    assert_eq!(wrong(schema, r#"{"a": 1, "d": 2}"#), ["9 /d is not allowed here"]);
    let items = r#"{"prefixItems": [true], "contains": {"type": "string"}, "unevaluatedItems": false}"#;
    assert_eq!(wrong(items, r#"[1, "a"]"#), [""; 0]);
    assert_eq!(wrong(items, r#"[1, "a", 2]"#).len(), 1);
    let any = r#"{"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": true}}], "unevaluatedProperties": false}"#;
    assert_eq!(wrong(any, r#"{"a": "x", "b": 1}"#), [""; 0]);
    assert_eq!(wrong(any, r#"{"a": 1}"#).len(), 1);
}

#[test]
fn references_are_resolved_relative_to_the_file() {
    let mut asked = Vec::new();
    let schema = r##"{"$id": "https://example.com/schemas/root.json", "properties": {"a": {"$ref": "../common/b.json#/$defs/n"},
        "c": {"$ref": "#c"}, "d": {"$ref": "https://example.com/schemas/d"}, "e": {"$ref": "#/properties/a"}},
        "$defs": {"c": {"$anchor": "c", "type": "null"}, "d": {"$id": "d", "type": "boolean"}}}"##;
    let mut files = |path: &str| {
        asked.push(path.to_owned());
        Ok(r#"{"$defs": {"n": {"$ref": "more.yaml"}}}"#.to_owned())
            .map(|json| if path.ends_with("yaml") { "type: integer\n".to_owned() } else { json })
    };
    let schema = Schema::compile(schema, DataFormat::Json, &mut files).unwrap();
    assert_eq!(asked, ["../common/b.json", "../common/more.yaml"]);
    let count = |text: &str| schema.check(&read(DataFormat::Json, text).unwrap()).violations.len();
    assert_eq!(count(r#"{"a": 1, "c": null, "d": true, "e": 2}"#), 0);
    assert_eq!(count(r#"{"a": "1", "c": 0, "d": 0, "e": "2"}"#), 4);
}

#[test]
fn invalid_schemas_are_reported_with_the_position() {
    for (schema, said) in [
        ("{", "1:1 it is not JSON: this object is never closed"),
        ("[]", "it is not an object"),
        (r#"{"type": "strnig"}"#, "1:10 `strnig` is not a type"),
        (r#"{"properties": []}"#, "1:16 here an object is expected"),
        (r#"{"properties": {"a": 1}}"#, "1:22 here a schema is expected: an object, true or false"),
        (r##"{"$ref": "#/$defs/no"}"##, "1:10 it refers to #/$defs/no, and there is no such part"),
        (r#"{"$ref": "other.json"}"#, "1:10 it refers to other.json, and there is no other.json"),
        (
            r#"{"$ref": "https://json.schemastore.org/x"}"#,
            "1:10 it refers to https://json.schemastore.org/x, which would have to be fetched; put a copy beside it and refer to that",
        ),
        (r#"{"minLength": -1}"#, "1:15 here a number without a sign or fraction is expected"),
        (r#"{"required": "a"}"#, "1:14 here a list is expected"),
    ] {
        assert_eq!(broken(schema), said, "{schema}");
    }
}

/// A validator that evaluates alternatives naively takes hours for these.
#[test]
fn no_schema_takes_many_steps() {
    let chain = |levels: usize, rule: &dyn Fn(&str) -> String| {
        let defs: Vec<String> = (0..levels)
            .map(|nth| format!("\"a{nth}\": {}", rule(&format!("{{\"$ref\": \"#/$defs/a{}\"}}", nth + 1))))
            .collect();
        format!(
            "{{\"$ref\": \"#/$defs/a0\", \"$defs\": {{{}, \"a{levels}\": {{\"type\": \"string\"}}}}}}",
            defs.join(", ")
        )
    };
    for rule in [
        &(|next: &str| format!("{{\"anyOf\": [{next}, {next}]}}")) as &dyn Fn(&str) -> String,
        &|next| format!("{{\"allOf\": [{next}, {next}]}}"),
        &|next| format!("{{\"oneOf\": [{next}, {{\"not\": {next}}}]}}"),
        &|next| format!("{{\"allOf\": [{next}], \"unevaluatedProperties\": {next}}}"),
    ] {
        let checked = check_as(DataFormat::Json, &chain(60, rule), "{\"a\": 3}");
        assert!(!checked.limit_reached && !checked.more && checked.violations.len() < 3);
    }
    let deep = check_as(DataFormat::Json, &chain(10_000, &|next| next.to_owned()), "3");
    assert!(deep.limit_reached, "the depth is limited");
    let twice = r##"{"type": ["array", "null"], "allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}"##;
    let checked = check_as(DataFormat::Json, twice, &format!("{}3{}", "[".repeat(100), "]".repeat(100)));
    assert!(!checked.limit_reached && checked.violations.len() == 1);
    let own = check_as(DataFormat::Json, r##"{"$ref": "#"}"##, "3");
    assert!(!own.limit_reached && own.violations.is_empty());
    let many = format!("[{}]", vec!["1"; 200_000].join(","));
    let checked = check_as(DataFormat::Json, r#"{"items": {"type": "string"}, "uniqueItems": true}"#, &many);
    assert!(checked.more && checked.violations.len() == 1000);
    let patterns: Vec<String> = (0..1000).map(|nth| format!("\"(\\\\w{{50}}){{50}}{nth}\": true")).collect();
    let checked =
        check_as(DataFormat::Json, &format!("{{\"patternProperties\": {{{}}}}}", patterns.join(", ")), "{\"a\": 1}");
    assert!(checked.limit_reached);
}

#[test]
fn patterns_that_cannot_be_evaluated_count_as_matching() {
    let schema = r#"{"properties": {"a": {"pattern": "^(?!x)"}}, "patternProperties": {"(?=y)": true}, "additionalProperties": false}"#;
    let checked = check_as(DataFormat::Json, schema, r#"{"a": "x", "b": 1}"#);
    assert_eq!((checked.violations.len(), checked.untried_patterns.len()), (0, 2));
}

#[test]
fn yaml_and_toml_specific_values_are_checked() {
    let schema = r#"{"properties": {"on": true, "debug": {"type": "boolean"}, "name": {"type": "string"}, "at": {"type": "string"},
        "port": {"type": "integer"}, "key": {"enum": ["no"]}, "ref": {"type": "integer"}}, "additionalProperties": false}"#;
    let yaml = "on: push\ndebug: yes\nname: no\nport: 0x50\nkey: no\nref: !Ref a\n";
    assert_eq!(check_as(DataFormat::Yaml, schema, yaml).violations, []);
    let two = check_as(DataFormat::Yaml, schema, "port: 1\n---\nport: a\n");
    assert_eq!((two.violations[0].pointer.as_str(), two.violations[0].at), ("document 2 /port", 18));
    let toml = "debug = true\nport = 1_000\nat = 2026-01-01T00:00:00Z\n";
    assert_eq!(check_as(DataFormat::Toml, schema, toml).violations, []);
    let wrong = check_as(DataFormat::Toml, schema, "port = 1.5\n[debug]\nx = 1\n");
    assert_eq!(wrong.violations.iter().map(|it| it.at).collect::<Vec<usize>>(), [11, 7]);
    let merged = "a: &a\n  port: 1\nb:\n  <<: *a\n  name: x\n";
    let schema = format!("{{\"additionalProperties\": {schema}}}");
    assert_eq!(check_as(DataFormat::Yaml, &schema, merged).violations, []);
}

#[test]
fn new_violations_are_separated() {
    let schema = r#"{"items": {"type": "object", "required": ["a"], "properties": {"b": {"type": "string"}}}}"#;
    let violations = |text: &str| check_as(DataFormat::Json, schema, text).violations;
    let new = |old: &str, new: &str| {
        let (old, new) = (violations(old), violations(new));
        new_violations(&old, &new).iter().map(|it| format!("{} {}", it.pointer, it.what)).collect::<Vec<String>>()
    };
    assert_eq!(new("[{}]", "[{\"a\": 1}, {}]"), [""; 0], "it moved");
    assert_eq!(new("[{}]", "[{}, {}]"), ["/1 \"a\" is missing"]);
    assert_eq!(new("[{\"a\": 1}, {}]", "[{\"a\": 1, \"b\": 2}, {}]"), ["/0/b 2 is a number; expected string"]);
    assert_eq!(new("[{\"a\": 1}]", "[{\"a\": 1}]"), [""; 0]);
}

#[test]
fn claude_code_settings_are_checked() {
    let schema = Schema::compile(crate::SETTINGS, DataFormat::Json, &mut none).unwrap();
    let wrong = |text: &str| -> Vec<String> {
        let checked = schema.check(&read(DataFormat::Json, text).unwrap());
        checked.violations.iter().map(|it| format!("{} {}", it.pointer, it.what)).collect()
    };
    let good = r#"{"model": "opus", "permissions": {"allow": ["Bash(npm run test:*)", "Read", "mcp__x__*", "Edit(src/**)", "WebFetch(domain:x.y)"],
        "defaultMode": "acceptEdits", "additionalDirectories": ["../docs"]}, "env": {"A": "1"}, "someNewField": 3,
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "timeout": 5}]}], "Stop": []},
        "statusLine": {"type": "command", "command": "x"}, "cleanupPeriodDays": 30, "enabledMcpjsonServers": ["a"]}"#;
    assert_eq!(wrong(good), [""; 0]);
    for (text, said) in [
        (r#"{"permissions": {"allow": "Read"}}"#, "/permissions/allow \"Read\" is a string; expected array"),
        (
            r#"{"permissions": {"defaultMode": "acceptEdit"}}"#,
            "/permissions/defaultMode \"acceptEdit\" is not one of \"acceptEdits\",",
        ),
        (r#"{"env": {"A": 1}}"#, "/env/A 1 is a number; expected string"),
        (r#"{"hooks": {"PreToolUse": [{"matcher": "x"}]}}"#, "/hooks/PreToolUse/0 \"hooks\" is missing"),
        (r#"{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}"#, "/hooks/Stop/0/hooks/0 \"command\" is missing"),
        (r#"{"permissions": {"deny": ["Bash(rm"]}}"#, "/permissions/deny/0 \"Bash(rm\" does not match"),
        (r#"{"includeCoAuthoredBy": "no"}"#, "/includeCoAuthoredBy \"no\" is a string; expected boolean"),
    ] {
        let all = wrong(text);
        assert!(all.len() == 1 && all[0].starts_with(said), "{all:?}");
    }
}

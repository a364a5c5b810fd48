//! Validation of results before they are written.

use crate::fixture::{EngineFixture, code, ok};
use emendate::{Approval, Config, PolicyMode, UnreadPolicy, question};
use serde_json::{Value, json};
use std::sync::Arc;

const GOOD: &str = "{\n  \"a\": 1\n}\n";

/// A workspace with this user configuration.
fn with(text: &str) -> EngineFixture {
    EngineFixture::trusted(Config::default().with_file(text, "test", true).unwrap())
}

/// A workspace with this project file.
fn project(text: &str) -> EngineFixture {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("emend.toml"), text).unwrap();
    let mut fixture = EngineFixture::below(dir, Config::default());
    fixture.caller.unread = UnreadPolicy::Allow;
    fixture
}

#[test]
fn every_tool_that_changes_files_is_validated() {
    let fixture = with("");
    fixture.put("a.json", GOOD);
    fixture.put("b.yaml", "a: [1]\n");
    fixture.put("c.toml", "a = 1\n[t]\nb = 2\n");
    let path = |name: &str| fixture.path(name);
    let calls = [
        ("edit", json!({ "file_path": path("a.json"), "old_string": "1", "new_string": "1," })),
        ("multi_edit", json!({ "file_path": path("a.json"), "edits": [{ "old_string": "1", "new_string": "[" }] })),
        ("write", json!({ "file_path": path("a.json"), "content": "{" })),
        ("write", json!({ "file_path": path("new.json"), "content": "{" })),
        ("replace_in_files", json!({ "path": fixture.root, "old_string": "[1]", "new_string": "[1" })),
        (
            "apply",
            json!({ "input": "*** Begin Patch\n*** Update File: c.toml\n@@\n-a = 1\n+a = \n*** End Patch\n", "directory": fixture.root }),
        ),
        (
            "edit_symbol",
            json!({ "file_path": path("c.toml"), "symbol": "t", "action": "replace", "text": "[t]\nb = 1\nb = 2\n" }),
        ),
    ];
    for (tool, call) in calls {
        for dry_run in [false, true] {
            let mut call = call.clone();
            call["dry_run"] = json!(dry_run);
            let reply = fixture.call(tool, call);
            assert_eq!(code(&reply), "schema.violation", "{tool} {}", reply.text());
            assert!(reply.text().contains("allow_invalid"), "{}", reply.text());
        }
        let mut call = call.clone();
        call["allow_invalid"] = json!(true);
        call["dry_run"] = json!(true);
        let text = ok(&fixture.call(tool, call)).clone();
        assert!(text.contains("is not valid"), "{tool} {text}");
    }
    assert_eq!((fixture.get("a.json"), fixture.get("b.yaml")), (GOOD.to_owned(), "a: [1]\n".to_owned()));
    // Either the validation or the syntax check reports the fault, not both.
    let text =
        ok(&fixture.call_on("a.json", "edit", json!({ "old_string": "1", "new_string": "[", "allow_invalid": true })))
            .clone();
    assert!(text.matches("Note:").count() == 1, "{text}");
    // An undo is not validated.
    ok(&fixture.call("undo", json!({})));
    ok(&fixture.call("undo", json!({ "redo": true })));
    assert_eq!(fixture.get("a.json"), "{\n  \"a\": [\n}\n");
}

#[test]
fn one_invalid_file_of_several_refuses_the_call() {
    let fixture = with("");
    fixture.put("a.json", GOOD);
    fixture.put("b.json", GOOD);
    let patch = "*** Begin Patch\n*** Update File: a.json\n@@\n-  \"a\": 1\n+  \"a\": 2\n*** Update File: b.json\n@@\n-  \"a\": 1\n+  \"a\": 2,\n*** Add File: c.json\n+[\n*** End Patch\n";
    let reply = fixture.apply(patch);
    assert_eq!((code(&reply), fixture.get("a.json").as_str()), ("schema.violation", GOOD));
    assert!(reply.text().contains("b.json") && reply.text().contains("c.json"), "{}", reply.text());
}

#[test]
fn strictness_is_configurable() {
    let broken = |fixture: &EngineFixture| {
        fixture.put("a.json", GOOD);
        fixture.put("fixtures/a.json", GOOD);
        fixture.edit("a.json", "1", "1,")
    };
    for (config, user, project_says) in [
        ("", "schema.violation", "schema.violation"),
        ("[validate]\nsyntax = 'warn'\n", "ok", "schema.violation"),
        ("[validate]\nsyntax = 'off'\n", "ok", "schema.violation"),
        ("[validate]\nskip = ['/a.json', 'fixtures']\n", "ok", "schema.violation"),
        ("[validate]\nskip = ['fixtures']\n", "schema.violation", "schema.violation"),
    ] {
        let (mine, theirs) = (with(config), project(config));
        assert_eq!((code(&broken(&mine)), code(&broken(&theirs))), (user, project_says), "{config}");
        if config.contains("fixtures") {
            assert_eq!(code(&mine.edit("fixtures/a.json", "1", "1,")), "ok");
            let notices = theirs.engine.notices().join("\n");
            assert!(notices.contains("skip is ignored"), "{notices}");
        }
    }
    let warned = with("[validate]\nsyntax = 'warn'\n");
    assert!(ok(&broken(&warned)).contains("is not valid JSON: line 2, column 9"));
    // A project can be stricter than its user.
    let strict = Config::default().with_file("[validate]\nsyntax = 'off'\n", "test", true).unwrap();
    let strict = strict.with_file("[validate]\nsyntax = 'refuse'\n", "emend.toml", false).unwrap();
    assert_eq!(code(&broken(&EngineFixture::trusted(strict))), "schema.violation");
    for wrong in [
        "[validate]\nsyntax = 'maybe'\n",
        "[[schemas]]\nfiles = '*'\nschema = ''\n",
        "[[schemas]]\nfiles = '*'\nschema = 'https://x/y'\n",
    ] {
        assert!(Config::default().with_file(wrong, "test", true).is_err(), "{wrong}");
    }
}

#[test]
fn output_of_formatters_and_hooks_is_validated() {
    let format = "[[formatters]]\nfiles = '*.json'\nwhen = 'always'\ncommand = ['sh', '-c', 'cat; echo ,']\n";
    let fixture = with(format);
    fixture.put("a.json", GOOD);
    let reply = fixture.edit("a.json", "1", "2");
    assert_eq!(code(&reply), "schema.violation");
    assert!(reply.text().contains("sh changed the new text"), "{}", reply.text());
    let hook = "[[hooks]]\non = 'before_edit'\ncommand = ['sh', '-c', '''echo '{\"content\": \"[1,]\"}' ''']\n";
    let fixture = with(hook);
    fixture.put("a.json", GOOD);
    assert!(fixture.edit("a.json", "1", "2").text().contains("The hook sh changed the new text"));
    // A hook may also repair the text.
    let fixture = with(&hook.replace("[1,]", "[1]"));
    fixture.put("a.json", GOOD);
    ok(&fixture.edit("a.json", "1", "1,"));
    assert_eq!(fixture.get("a.json"), "[1]");
}

#[test]
fn approved_text_is_written_although_invalid() {
    let mut fixture = with("[policy]\nask = ['*.json']\n");
    fixture.put("a.json", GOOD);
    // A refused edit needs no approval.
    assert_eq!(code(&fixture.edit("a.json", "1", "1,")), "schema.violation");
    let reply = fixture.edit("a.json", "1", "2");
    let seal = question(reply.result.as_ref().unwrap_err()).unwrap()["seal"].as_str().unwrap().to_owned();
    let mut approval = Approval::granted(&seal);
    approval.texts.push((fixture.path("a.json"), "{\"a\": 2,}\n".to_owned()));
    fixture.caller.approval = Some(approval);
    let reply = fixture.edit("a.json", "1", "2");
    assert!(ok(&reply).contains("is not valid JSON: line 1, column 8"), "{}", reply.text());
    assert_eq!(fixture.get("a.json"), "{\"a\": 2,}\n");
}

#[test]
fn conflict_markers_may_be_written() {
    let fixture = EngineFixture::with("a.json", GOOD);
    ok(&fixture.read("a.json"));
    fixture.put("a.json", &GOOD.replace('1', "3"));
    let call = json!({ "old_string": "\"a\": 1", "new_string": "\"a\": 2", "on_stale": "markers" });
    let reply = fixture.call_on("a.json", "edit", call);
    assert!(ok(&reply).contains("is not valid JSON"), "{}", reply.text());
    assert!(fixture.get("a.json").contains("<<<<<<<"));
}

#[test]
fn binary_files_links_and_moves_are_handled() {
    let fixture = with("");
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain("{\r\n  \"é\": 1\r\n}\r\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    std::fs::write(fixture.path("u.json"), &utf16).unwrap();
    let reply = fixture.edit("u.json", "1", "1 1");
    assert!(reply.text().contains("line 2, column 10"), "{}", reply.text());
    assert_eq!(std::fs::read(fixture.path("u.json")).unwrap(), utf16);
    ok(&fixture.edit("u.json", "1", "2"));
    // A text that was not JSON under another name is not JSON under this one.
    fixture.put("a.txt", "not json\nat all\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: a.json\n@@\n-not json\n+no json\n at all\n*** End Patch\n";
    assert!(ok(&fixture.apply(patch)).contains("was not valid JSON before"), "{}", fixture.get("a.json"));
    // Blank files have no syntax yet, and links and binary files are not text.
    ok(&fixture.write("blank.json", ""));
    ok(&fixture.write("blank.json", "\n"));
    assert_eq!(code(&fixture.write("blank.json", "{")), "schema.violation");
    std::fs::write(fixture.path("b.json"), b"{\0").unwrap();
    ok(&fixture.apply("*** Begin Patch\n*** Delete File: b.json\n*** End Patch\n"));
}

#[test]
fn exceeded_limits_are_reported() {
    let fixture = with("");
    for lines in [1_400_000, 4_000_000] {
        let large = format!("[{}1]\n", "1,\n".repeat(lines));
        fixture.put("large.json", &large);
        let text = ok(&fixture.edit("large.json", "\n1]", "\n1,]")).clone();
        assert!(text.contains("was not checked: it is too large") && text.matches("Note:").count() == 1, "{text}");
    }
    let deep = format!("{}{}\n", "[".repeat(200), "]".repeat(200));
    let text = ok(&fixture.write("deep.json", &deep)).clone();
    assert!(text.contains("nested deeper than 128 levels"), "{text}");
}

#[test]
fn user_schemas_may_be_outside_the_roots() {
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = emendate_os::paths::canonical(elsewhere.path()).unwrap();
    std::fs::write(folder.join("s.json"), r#"{"$ref": "more/t.json"}"#).unwrap();
    std::fs::create_dir(folder.join("more")).unwrap();
    std::fs::write(folder.join("more/t.json"), r#"{"type": "array"}"#).unwrap();
    let text = "[[schemas]]\nfiles = '*.conf'\nschema = 's.json'\n";
    let config = || Config::default().with_file(text, folder.join("config.toml").to_str().unwrap(), true).unwrap();
    let fixture = EngineFixture::trusted(config());
    assert_eq!(code(&fixture.write("a.conf", "[]\n")), "schema.invalid", "it is outside and not read");
    let reads = |path: &std::path::Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
    let fixture = EngineFixture::trusted(config().with_user_file_loader(Arc::new(reads)));
    ok(&fixture.write("a.conf", "[]\n"));
    assert_eq!(code(&fixture.write("b.conf", "{}\n")), "schema.violation");
    assert_eq!(code(&fixture.write("b.conf", "[\n")), "schema.violation");
    std::fs::write(folder.join("s.json"), r#"{"$ref": "../x.json"}"#).unwrap();
    let reply = fixture.write("c.conf", "[]\n");
    assert!(reply.text().contains("not below its directory"), "{}", reply.text());
}

#[cfg(unix)]
#[test]
fn schemas_of_a_project_stay_below_its_root() {
    let rows = |schema: &str| format!("[policy]\ndeny = ['secret']\n[[schemas]]\nfiles = 'x/*'\nschema = '{schema}'\n");
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("s.json"), "true").unwrap();
    let absolute = outside.path().join("s.json");
    let says = |schema: &str, make: &dyn Fn(&EngineFixture)| {
        let fixture = project(&rows(schema));
        make(&fixture);
        let reply = fixture.write("x/a.json", "1\n");
        format!("{} {}", code(&reply), reply.text().lines().nth(1).unwrap_or_default())
    };
    let said = says(absolute.to_str().unwrap(), &|_| {});
    assert!(said.starts_with("schema.invalid") && said.contains("outside the roots"), "{said}");
    let said = says("link.json", &|fixture| std::os::unix::fs::symlink(&absolute, fixture.path("link.json")).unwrap());
    assert!(said.starts_with("schema.invalid"), "{said}");
    let said = says("secret/s.json", &|fixture| drop(fixture.put("secret/s.json", "true")));
    assert!(said.starts_with("schema.invalid") && said.contains("denied"), "{said}");
    let refers = |to: &str| {
        let text = format!("{{\"$ref\": \"{to}\"}}");
        says("s.json", &move |fixture| {
            fixture.put("s.json", &text);
            fixture.put("secret/s.json", "true");
            fixture.put(".env", "KEY=SECRETVALUE");
        })
    };
    for to in [
        "secret/s.json", ".env", "../../../etc/passwd", "/etc/passwd", "%2e%2e/x.json", "file:///etc/passwd",
        "http://x/y",
    ] {
        let said = refers(to);
        assert!(said.starts_with("schema.invalid") && !said.contains("SECRETVALUE"), "{to}: {said}");
    }
    // A schema is loaded each time: the previous call may have changed it.
    let fixture = project(&rows("s.json"));
    fixture.put("s.json", "{\"type\": \"string\"}");
    assert_eq!(code(&fixture.write("x/a.json", "1\n")), "schema.violation");
    fixture.put("s.json", "{\"type\": \"integer\"}");
    ok(&fixture.write("x/a.json", "1\n"));
    fixture.put("s.json", "{\"type\": ");
    assert!(fixture.write("x/a.json", "2\n").text().contains("s.json: 1:1: it is not JSON"));
}

#[test]
fn violations_are_listed_and_counted() {
    let fixture = project("[[schemas]]\nfiles = '/x.json'\nschema = 's.json'\n");
    fixture.put("s.json", r#"{"items": {"type": "string"}}"#);
    let list = |count: usize| format!("[{}]\n", vec!["1"; count].join(", "));
    let reply = fixture.write("x.json", &list(200));
    let data = reply.result.as_ref().unwrap_err().data();
    assert_eq!((data["count"].clone(), data["violations"].as_array().unwrap().len()), (json!(200), 50));
    assert_eq!(
        data["violations"][1],
        json!({ "line": 1, "column": 5, "pointer": "/1", "message": "1 is a number; expected string" })
    );
    assert!(reply.text().contains("… and 190 more"), "{}", reply.text());
    assert!(fixture.write("x.json", &list(3000)).text().contains("or more more"), "the list is limited");
    // Existing violations are not counted, wherever they are now.
    fixture.put("x.json", "[1, \"a\"]\n");
    assert!(ok(&fixture.edit("x.json", "\"a\"", "\"b\"")).contains("One thing in this file did not fit"));
    ok(&fixture.edit("x.json", "[1", "[\"c\", 1"));
    let reply = fixture.edit("x.json", "1,", "1, 2,");
    assert!(
        reply.text().contains("/2: 2 is a number") && reply.text().contains("(1 that were there before"),
        "{}",
        reply.text()
    );
    ok(&fixture.edit("x.json", "1,", ""));
    // Replacing an unparsable text by a parsable one is an improvement.
    fixture.put("x.json", "[1, \"a\"\n");
    assert!(ok(&fixture.edit("x.json", "\"a\"", "\"a\"]")).contains("valid JSON again"));
    // Several schemas at once.
    for (schema, fits, told) in [
        (json!({ "pattern": "(a+)+$" }), "schema.violation", "does not match"),
        (json!({ "$ref": "#" }), "ok", "updated"),
        (
            json!({ "pattern": "(?<!x)y" }),
            "ok",
            "Not checked, because it uses lookaround or backreferences: the pattern (?<!x)y",
        ),
    ] {
        fixture.put("s.json", &schema.to_string());
        fixture.put_read("x.json", "\"aa\"\n");
        let reply = fixture.write("x.json", &Value::from("a".repeat(50_000) + "b").to_string());
        assert!(code(&reply) == fits && reply.text().contains(told), "{schema}");
    }
}

#[test]
fn built_in_schemas_check_settings() {
    let config = Config::default()
        .with_rule(PolicyMode::Allow, ".claude", "--allow")
        .unwrap()
        .with_rule(PolicyMode::Allow, "emend.toml", "--allow")
        .unwrap();
    let fixture = EngineFixture::trusted(config);
    ok(&fixture.write(".claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash(ls)\"]}, \"brandNew\": 1}\n"));
    let reply = fixture.edit(".claude/settings.json", "[\"Bash(ls)\"]", "\"Bash(ls)\"");
    assert_eq!(
        (code(&reply), reply.seed.number(reply.result.as_ref().unwrap_err().code())),
        ("schema.violation", Some(10))
    );
    let text = reply.text();
    assert!(text.starts_with("Claude Code settings.json validation failed after edit"), "{text}");
    assert!(text.contains("/permissions/allow") && text.contains("Do not update the env"), "{text}");
    let reply = fixture.edit(".claude/settings.json", "1}", "1,}");
    assert!(reply.text().starts_with("Claude Code settings.json validation failed after edit"), "{}", reply.text());
    ok(&fixture.write("emend.toml", "[policy]\ndeny = ['x']\n"));
    for (text, wrong) in [
        ("[policy]\ndney = ['x']\n", "/policy/dney: is not allowed here; known are deny"),
        ("[edit]\nmatch = 1\n", "/edit/match: 1 is a number"),
        ("[policy]\ndeny = ['[']\n", "is not a glob"),
        ("[edit]\non_stale = 'maybe'\n", "maybe"),
    ] {
        let reply = fixture.write("emend.toml", text);
        assert!(code(&reply) == "schema.violation" && reply.text().contains(wrong), "{}", reply.text());
    }
    // Invalid settings may be changed, and repaired.
    fixture.put(".claude/settings.json", "{\"env\": {\"A\": 1}, \"model\": 2}\n");
    ok(&fixture.edit(".claude/settings.json", "\"model\": 2", "\"model\": \"opus\""));
}

//! Language servers, through the engine: problems in the reply to an edit. The server is `tests/lsp/fake.py`.

use crate::fixture::{EngineFixture, code, ok};
use emendate::{Config, Reply};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A configuration of the fake server with these faults; `more` is added to its table.
fn configured(faults: &[&str], more: &str) -> String {
    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lsp/fake.py").canonicalize().unwrap();
    let words =
        ["python3", fake.to_str().unwrap()].into_iter().chain(faults.iter().copied()).map(|it| format!("'{it}'"));
    let words: Vec<String> = words.collect();
    let timeout = if more.contains("timeout_ms") { "" } else { "timeout_ms = 60000" };
    format!(
        "[[lsp]]\nname = 'fake'\ncommand = [{}]\nfiles = {{ '*.fake' = 'fake' }}\n{timeout}\n{more}\n",
        words.join(", ")
    )
}

fn with(faults: &[&str], more: &str) -> EngineFixture {
    EngineFixture::trusted(Config::default().with_file(&configured(faults, more), "test", true).unwrap())
}

#[track_caller]
fn data(reply: &Reply) -> Value {
    ok(reply);
    reply.result.as_ref().unwrap().data.get("diagnostics").cloned().unwrap_or_default()
}

#[test]
fn reply_lists_new_problems_and_counts_existing_ones() {
    let fixture = with(&[], "");
    fixture.put("a.fake", "bad\r\nfine\r\n");
    let reply = fixture.edit("a.fake", "fine", "an ugly thing\nodd");
    let wanted = "Diagnostics (fake): 1 new problem; 1 was there before:\n  2:4 warning: ugly thing [fake ugly]\n";
    assert!(reply.text().ends_with(wanted), "{}", reply.text());
    let all = data(&reply);
    assert_eq!((&all["state"], &all["newCount"], &all["existing"]), (&json!("new"), &json!(1), &json!(1)));
    let problem = json!({ "severity": "warning", "line": 2, "column": 4, "endLine": 2, "endColumn": 8,
        "message": "ugly thing", "code": "ugly", "source": "fake", "server": "fake" });
    assert_eq!(all["new"], json!([problem]));
    assert_eq!(all["servers"], json!([{ "name": "fake", "known": true, "basis": "asked", "new": 1, "existing": 1 }]));

    let reply = fixture.edit("a.fake", "ugly ", "");
    assert!(reply.text().ends_with("Diagnostics (fake): no new problems; 1 was there before.\n"), "{}", reply.text());
    assert_eq!(data(&reply)["state"], "existing");
    assert_eq!(data(&fixture.edit("a.fake", "bad", "good"))["state"], "clean");
    // An undo is diagnosed as well.
    assert!(ok(&fixture.call("undo", json!({}))).contains("1 new problem:\n  1:1 error: bad thing"));
    // A file of another type has no server.
    fixture.put("a.txt", "bad\n");
    assert_eq!(data(&fixture.edit("a.txt", "bad", "worse")), Value::Null);
}

#[test]
fn server_failures_are_reported_and_the_edit_is_made() {
    for (faults, more, reasons) in [
        (&["mute"][..], "timeout_ms = 200", &["starting"][..]),
        (&["hangs"], "timeout_ms = 300", &["starting", "timeout"]),
        (&["push", "unversioned"], "", &["version"]),
        (&["dies-at-start"], "", &["crashed: it ended with status 1: no license for this"]),
        (&["garbage"], "", &["crashed: it wrote `Hello"]),
    ] {
        let fixture = with(faults, more);
        fixture.put("a.fake", "bad\nfine\n");
        let reply = fixture.edit("a.fake", "fine", "ugly");
        let text = ok(&reply);
        assert!(reasons.iter().any(|reason| text.contains(&format!("unknown ({reason}"))), "{faults:?}: {text}");
        assert_eq!(data(&reply)["state"], "unknown");
        assert_eq!(fixture.get("a.fake"), "bad\nugly\n");
    }
}

#[test]
fn calls_do_not_wait_for_each_others_server() {
    let gate = tempfile::tempdir().unwrap();
    let gate = gate.path().join("open");
    let fixture = with(&[&format!("gate={}", gate.display())], "");
    fixture.put("a.fake", "fine\n");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| fixture.edit("a.fake", "fine", "bad"));
        while fixture.get("a.fake") != "bad\n" {
            std::thread::sleep(Duration::from_millis(5));
        }
        // The same file, and a write: no lock is held while the first call waits for the server.
        ok(&fixture.read("a.fake"));
        ok(&fixture.write("a.txt", "one\n"));
        let tried = json!({ "old_string": "bad", "new_string": "good", "dry_run": true });
        ok(&fixture.call_on("a.fake", "edit", tried));
        std::fs::write(&gate, "").unwrap();
        // If they had waited, the time would have been up.
        assert_eq!(data(&waiting.join().unwrap())["state"], "new");
    });
}

#[test]
fn new_moved_and_removed_files_are_diagnosed() {
    let fixture = with(&[], "");
    let made = fixture.write("new.fake", "bad\nugly\n");
    assert_eq!(data(&made)["newCount"], 2);
    let patch =
        "*** Begin Patch\n*** Update File: new.fake\n*** Move to: moved.fake\n@@\n-ugly\n+ugly odd\n*** End Patch\n";
    let files = |reply: &Reply| {
        ok(reply);
        reply.result.as_ref().unwrap().data["files"].clone()
    };
    let moved = files(&fixture.apply(patch));
    let of = |files: &Value| {
        let known = files.as_array().unwrap().iter().filter(|file| !file["diagnostics"].is_null());
        known
            .map(|file| (file["diagnostics"]["newCount"].clone(), file["diagnostics"]["existing"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&moved), [(json!(0), json!(2))], "{moved}");
    let gone = files(&fixture.apply("*** Begin Patch\n*** Delete File: moved.fake\n*** End Patch\n"));
    assert_eq!(of(&gone), []);
}

#[test]
fn several_files_are_diagnosed_together() {
    let fixture = with(&[], "when = 'batch'");
    for name in ["a.fake", "b.fake", "c.fake"] {
        fixture.put(name, "fine\n");
    }
    assert_eq!(data(&fixture.edit("c.fake", "fine", "bad")), Value::Null, "one file is not a batch");
    let patch = |name: &str| format!("*** Update File: {name}\n@@\n-fine\n+{name} is bad\n");
    let both = fixture.apply(&format!("*** Begin Patch\n{}{}*** End Patch\n", patch("a.fake"), patch("b.fake")));
    assert_eq!(ok(&both).matches("error: bad thing").count(), 2, "{}", both.text());
    let args = json!({ "path": fixture.root, "old_string": "is", "new_string": "is ugly and", "expected": 2 });
    let replaced = fixture.call("replace_in_files", args);
    assert_eq!(ok(&replaced).matches("warning: ugly thing").count(), 2, "{}", replaced.text());
}

#[test]
fn diagnosed_files_per_call_are_limited() {
    let fixture = with(&[], "");
    for nth in 0..52 {
        fixture.put(format!("{nth}.fake"), "fine\n");
    }
    let args = json!({ "path": fixture.root, "old_string": "fine", "new_string": "bad", "expected": 52 });
    let reply = fixture.call("replace_in_files", args);
    assert_eq!(ok(&reply).matches("unknown (limit: it is asked about 50 files of a call)").count(), 2);
    let large = "x\n".repeat(1 << 20);
    assert!(ok(&fixture.write("large.fake", &format!("{large}bad\n"))).contains("unknown (limit: the text has more"));
}

#[test]
fn large_files_are_reported_as_not_diagnosed() {
    let fixture = with(&[], "\n[policy]\nstream_from = 0\n");
    fixture.put("a.fake", &"bad\n".repeat(2000));
    fixture.put("a.fake", &format!("{}fine\n", fixture.get("a.fake")));
    let reply = fixture.edit("a.fake", "fine", "ugly");
    assert!(ok(&reply).contains("unknown (limit: the file is large"), "{}", reply.text());
    assert_eq!(data(&reply)["state"], "unknown");
    fixture.put("a.txt", &format!("{}fine\n", fixture.get("a.fake")));
    assert_eq!(data(&fixture.edit("a.txt", "fine", "ugly")), Value::Null);
}

#[test]
fn check_lists_current_problems() {
    let fixture = with(&[], "when = 'check'");
    fixture.put("a.fake", "bad\nodd\n");
    fixture.put("b.json", "{ \"a\": }\n");
    fixture.put("c.xyz", "whatever\n");
    assert_eq!(data(&fixture.edit("a.fake", "odd", "odd ugly")), Value::Null);
    let paths: Vec<_> = ["a.fake", "b.json", "c.xyz"].map(|name| fixture.path(name)).into();
    let reply = fixture.call("check", json!({ "paths": paths }));
    let text = ok(&reply);
    for part in ["2 problems (fake):", "1:1 error: bad thing", "it does not parse as", "c.xyz: not checked"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let all = &reply.result.as_ref().unwrap().data;
    assert_eq!((&all["problems"], &all["unknown"]), (&json!(3), &json!(1)));
    assert_eq!(code(&fixture.call("check", json!({ "paths": [] }))), "call.invalid");
    assert_eq!(code(&fixture.call("check", json!({ "paths": [fixture.path("none.fake")] }))), "file.not_found");
    assert_eq!(code(&fixture.call("check", json!({ "paths": ["/etc/passwd"] }))), "path.outside");
}

#[test]
fn untrusted_project_starts_no_server() {
    let text = configured(&[], "");
    let fixture = EngineFixture::trusted(Config::default().with_file(&text, "emend.toml", false).unwrap());
    fixture.put("a.fake", "fine\n");
    assert_eq!(data(&fixture.edit("a.fake", "fine", "bad")), Value::Null);
}

#[test]
fn positions_refer_to_the_file_in_any_encoding() {
    let more = "[encoding]\n'*.fake' = 'latin1'";
    let fixture = with(&[], more);
    std::fs::write(fixture.path("a.fake"), b"gr\xfc\xdfe bad\r\nfine\r\n").unwrap();
    let reply = fixture.edit("a.fake", "fine", "äö ugly");
    assert!(ok(&reply).contains("1 new problem; 1 was there before:\n  2:4 warning"), "{}", reply.text());
    let fixture = with(&[], "");
    fixture.put("b.fake", "\u{feff}bad\nfine\n");
    assert!(ok(&fixture.edit("b.fake", "fine", "ugly")).contains("1 was there before:\n  2:1 warning"));
}

#[test]
fn rename_lists_other_files_known_to_the_server() {
    let renamed = |faults: &[&str]| {
        let config = configured(faults, "").replace("'*.fake' = 'fake'", "'*.py' = 'python'");
        let fixture = EngineFixture::trusted(Config::default().with_file(&config, "test", true).unwrap());
        fixture.put("a.py", "# é\r\ndef first(x):\r\n    return x\r\n");
        // The file imports nothing, so its text alone does not identify the name.
        fixture.put("b.py", "\nglobals()['m'].first(1)\n");
        fixture.put("c.py", "firsts = 1\n");
        ok(&fixture.read("a.py"));
        let rename = json!({ "symbol": "first", "action": "rename", "text": "second" });
        let text =
            ok(&fixture.call_on("a.py", "edit_symbol", rename)).replace(&fixture.root.display().to_string(), "$ROOT");
        assert_eq!(fixture.get("a.py"), "# é\r\ndef second(x):\r\n    return x\r\n");
        text
    };
    let text = renamed(&["references"]);
    assert!(
        text.contains("Other files refer to `first`, says fake: $ROOT/b.py (line 2). To rename it there"),
        "{text}"
    );
    assert!(text.contains(r#""glob":["b.py"]"#) && !text.contains("c.py"), "{text}");
    // A server that does not know references leaves it to the search for imports.
    assert!(!renamed(&[]).contains("Other files"));
}

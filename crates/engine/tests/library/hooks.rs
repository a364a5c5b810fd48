//! Hooks before and after reading and editing.

use crate::fixture::{EngineFixture, code, ok};
use emendate::{Approval, CallContext, Config, Reply, question};
use emendate_os::ffi::OsStrExt as _;
use serde_json::json;
use std::ffi::OsStr;

/// A hook on this event: this shell script.
fn with(on: &str, script: &str, more: &str) -> EngineFixture {
    let text = format!("[[hooks]]\non = '{on}'\nfiles = '*.txt'\ncommand = ['sh', '-c', '''{script}''']\n{more}\n");
    let fixture = EngineFixture::trusted(Config::default().with_file(&text, "test", true).unwrap());
    fixture.put("a.txt", "one\ntwo\n");
    fixture
}

fn edit(fixture: &EngineFixture) -> Reply {
    fixture.edit("a.txt", "two", "2")
}

#[test]
fn hook_receives_the_new_content() {
    let fixture = with("before_edit", "cat > seen.json", "");
    ok(&edit(&fixture));
    let seen: serde_json::Value = serde_json::from_str(&fixture.get("seen.json")).unwrap();
    let fields = ["event", "tool", "session", "old_text", "new_text"].map(|key| seen[key].as_str().unwrap());
    assert_eq!(fields, ["before_edit", "edit", &*CallContext::default().session, "one\ntwo\n", "one\n2\n"]);
    assert_eq!(seen["file_path"], json!(fixture.path("a.txt")));
}

#[test]
fn hook_receives_the_bytes_of_a_name_that_is_not_utf8() {
    for on in ["before_read", "before_edit", "after_edit"] {
        let fixture = with(on, "cat > seen.json", "");
        let seen = || serde_json::from_str::<serde_json::Value>(&fixture.get("seen.json")).unwrap();
        for name in [&b"caf\xe9.txt"[..], b"a\nb.txt", b"a\x1b.txt"] {
            let path = fixture.put(OsStr::from_bytes(name), "one\n");
            let raw = data_encoding::BASE64.encode(path.as_os_str().as_bytes());
            ok(&fixture.call("read", json!({ "path_b64": raw })));
            ok(&fixture.call("edit", json!({ "path_b64": raw, "old_string": "one", "new_string": "two" })));
            assert_eq!((&seen()["event"], &seen()["path_b64"]), (&json!(on), &json!(raw)));
            assert!(!seen()["file_path"].as_str().unwrap().contains(['\n', '\x1b']));
        }
        // The pattern alone decides.
        ok(&fixture.read("a.txt"));
        ok(&edit(&fixture));
        assert!(seen().get("path_b64").is_none(), "{}", seen());
    }
}

#[test]
fn refusal_of_a_hook_is_final_and_has_a_reason() {
    for script in ["echo '{\"decision\": \"deny\", \"reason\": \"not on Fridays\"}'", "echo not on Fridays >&2; exit 2"]
    {
        let fixture = with("before_edit", script, "");
        let reply = edit(&fixture);
        assert_eq!(
            (code(&reply), reply.text().contains("not on Fridays")),
            ("access.denied", true),
            "{}",
            reply.text()
        );
        assert_eq!(fixture.get("a.txt"), "one\ntwo\n");
        // One file of several is sufficient.
        fixture.put("b.md", "x\n");
        let patch =
            "*** Begin Patch\n*** Update File: b.md\n@@\n-x\n+y\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n";
        assert_eq!(code(&fixture.apply(patch)), "access.denied");
        assert_eq!(fixture.get("b.md"), "x\n");
    }
}

#[test]
fn hook_can_request_approval() {
    let mut fixture = with("before_edit", "echo '{\"decision\": \"ask\", \"reason\": \"looks odd\"}'", "");
    let reply = edit(&fixture);
    let asked = question(reply.result.as_ref().unwrap_err()).unwrap().clone();
    assert!(asked["files"][0]["rule"].as_str().unwrap().contains("looks odd"), "{asked}");
    fixture.caller.approval = Some(Approval::granted(asked["seal"].as_str().unwrap()));
    ok(&edit(&fixture));
    assert_eq!(fixture.get("a.txt"), "one\n2\n");
}

#[test]
fn text_of_a_hook_is_undone_as_its_own_step() {
    let fixture = with("before_edit", "echo '{\"content\": \"one\\\\n2!\\\\n\", \"message\": \"mind the style\"}'", "");
    let reply = edit(&fixture);
    let text = ok(&reply);
    assert!(
        text.contains("The hook sh changed the new text: +1 -1 lines") && text.contains("mind the style"),
        "{text}"
    );
    assert_eq!(fixture.get("a.txt"), "one\n2!\n");
    // An undo is not an edit: nothing is rewritten.
    ok(&fixture.call("undo", json!({})));
    assert_eq!(fixture.get("a.txt"), "one\ntwo\n");
}

#[test]
fn failing_hanging_or_verbose_hook_changes_nothing() {
    for script in ["exit 1", "sleep 60", "yes", "echo nonsense", "echo '{\"decision\": \"maybe\"}'", "kill -9 $$"] {
        let fixture = with("before_edit", script, "seconds = 1");
        assert!(ok(&edit(&fixture)).contains("The hook sh did not work"), "{script}");
        assert_eq!(fixture.get("a.txt"), "one\n2\n", "{script}");
        let fixture = with("before_edit", script, "seconds = 1\nrequired = true");
        assert_eq!(code(&edit(&fixture)), "access.denied", "{script}");
        assert_eq!(fixture.get("a.txt"), "one\ntwo\n", "{script}");
    }
}

#[test]
fn refused_read_shows_nothing_of_the_file() {
    let fixture = with("before_read", "grep -q a.txt && exit 2; exit 0", "");
    fixture.put("b.txt", "two\n");
    assert_eq!(code(&fixture.read("a.txt")), "access.denied");
    ok(&fixture.read("b.txt"));
    let found = ok(&fixture.call("search", json!({ "path": fixture.root, "pattern": "two" })));
    assert!(found.contains("b.txt") && !found.contains("a.txt:"), "{found}");
}

/// A hook before a read can do nothing but refuse, so one that does not work refuses.
#[test]
fn read_is_refused_if_its_hook_fails() {
    for script in ["exit 1", "kill -9 $$", "echo x", "echo noise; echo '{\"decision\": \"deny\"}'", "exec sleep 30"] {
        let fixture = with("before_read", script, "seconds = 1");
        let reply = fixture.read("a.txt");
        assert_eq!(code(&reply), "access.denied", "{script}");
        assert!(reply.text().contains("it is required"), "{}", reply.text());
        let found = ok(&fixture.call("search", json!({ "path": fixture.root, "pattern": "two" })));
        assert!(!found.contains("a.txt:"), "{script}: {found}");
    }
    let fixture = with("before_read", "exit 1", "required = false");
    ok(&fixture.read("a.txt"));
    ok(&fixture.read("a.txt"));
    let notices = fixture.engine.notices();
    assert!(matches!(&*notices, [note] if note.contains("did not work")), "{notices:?}");
}

#[test]
fn hook_after_an_edit_can_only_add_a_message() {
    for (script, said) in [
        ("echo '{\"message\": \"tests pass\"}'", "tests pass"),
        ("echo '{\"decision\": \"deny\", \"reason\": \"too late\"}'", "too late"),
        ("echo wrong >&2; exit 2", "says: wrong"),
        ("exit 1", "did not work"),
    ] {
        let fixture = with("after_edit", script, "");
        let reply = edit(&fixture);
        assert!(ok(&reply).contains(said), "{said}: {}", reply.text());
        assert_eq!(fixture.get("a.txt"), "one\n2\n");
    }
}

#[test]
fn project_cannot_configure_hooks() {
    let text = "[[hooks]]\non = 'before_edit'\ncommand = ['touch', 'pwned']\n";
    let fixture = EngineFixture::trusted(Config::default().with_file(text, "emend.toml", false).unwrap());
    fixture.put("a.txt", "one\ntwo\n");
    ok(&edit(&fixture));
    assert!(!fixture.path("pwned").exists());
    for wrong in ["on = 'never'\ncommand = ['x']", "on = 'before_edit'\ncommand = []"] {
        assert!(Config::default().with_file(&format!("[[hooks]]\n{wrong}\n"), "user", true).is_err(), "{wrong}");
    }
}

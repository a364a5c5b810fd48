//! The messages of hashline's document in the profile that offers no other format (seed 002).

use super::fixture::EngineFixture;
use emendate::{CallContext, profile};
use serde_json::json;

#[test]
fn documented_messages_are_produced() {
    let offers = profile("hashline").unwrap().views;
    let edit = offers.iter().find(|offer| offer.name == "edit").unwrap();
    let read = offers.iter().find(|offer| offer.name == "read").unwrap();
    let begin = "input must begin with \"¶PATH#HASH\" on the first non-blank line";
    for (below, message) in [
        (None, begin),
        (Some("+Q"), "line 2: payload line has no preceding hunk header."),
        (Some("2\n+Q"), "line 2: hunk headers need a verb. Use `replace 2..2:`"),
        (Some("foo bar"), "line 2: payload line has no preceding hunk header."),
        (Some(""), "line 1: the section of a.txt has no operation."),
        (
            Some("@@ replace 2..3 @@\n+x"),
            "line 2: `@@`-bracketed hunk header \"@@ replace 2..3 @@\" is not valid in hashline.",
        ),
        (
            Some("*** Update File: a.txt"),
            "line 2: apply_patch sentinel \"*** Update File: a.txt\" is not valid in hashline.",
        ),
        (
            Some("@@ -2,1 +2,1 @@\n-two\n+x"),
            "line 2: unified-diff hunk header (`@@ -N,M +N,M @@`) is not valid in hashline.",
        ),
    ] {
        let fixture = EngineFixture::new();
        let path = fixture.put("a.txt", "one\ntwo\nthree\n");
        let caller = CallContext::default();
        let shown = read.call(&fixture.engine, &caller, json!({ "file_path": path })).text();
        let header = shown.lines().next().unwrap();
        let inputs = match below {
            Some(below) => vec![format!("{header}\n{below}\n")],
            None => [
                "2\n+Q",
                "foo bar",
                "",
                "@@ replace 2..3 @@\n+x",
                "replace 2..3:\n+x",
                "*** Begin Patch\n*** End Patch\n",
                "@@ def f():\n-two\n+x\n",
            ]
            .map(str::to_owned)
            .to_vec(),
        };
        for input in inputs {
            let error = edit.call(&fixture.engine, &caller, json!({ "input": input })).result.unwrap_err();
            assert!(error.message().starts_with(message), "{input}: {error}");
            assert_eq!(fixture.get("a.txt"), "one\ntwo\nthree\n");
        }
        // The envelope of another format around it is removed.
        let input = format!("*** Begin Patch\n{header}\nreplace 2..2:\n+x\n*** End Patch\n");
        edit.call(&fixture.engine, &caller, json!({ "input": input })).result.unwrap();
        assert_eq!(fixture.get("a.txt"), "one\nx\nthree\n");
    }
}

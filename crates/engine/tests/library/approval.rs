//! Questions to a person before a write, and the effect of the answers.

use crate::fixture::{EngineFixture, code, ok};
use emendate::{Approval, Config, PolicyMode, question};
use serde_json::{Value, json};

fn expect_question(fixture: &EngineFixture, reply: &emendate::Reply) -> Value {
    assert_eq!(code(reply), "access.ask", "{}", reply.text());
    assert_eq!(fixture.get("a.txt"), "one\ntwo\n", "nothing is written before the answer");
    question(reply.result.as_ref().unwrap_err()).unwrap().clone()
}

fn asking() -> EngineFixture {
    let fixture = EngineFixture::trusted(Config::default().with_rule(PolicyMode::Ask, "Edit(*.txt)", "test").unwrap());
    fixture.put("a.txt", "one\ntwo\n");
    fixture.put("b.txt", "x\n");
    fixture
}

#[test]
fn approved_call_succeeds() {
    let mut fixture = asking();
    let question = expect_question(&fixture, &fixture.edit("a.txt", "two", "2"));
    let file = &question["files"][0];
    assert_eq!(
        (&file["proposed"], &file["rule"], &file["origin"]),
        (&json!("one\n2\n"), &json!("Edit(*.txt)"), &json!("test"))
    );
    assert_eq!(file["structuredPatch"][0]["lines"], json!([" one", "-two", "+2"]));
    fixture.caller.approval = Some(Approval::granted(question["seal"].as_str().unwrap()));
    // The approval is for that change alone.
    expect_question(&fixture, &fixture.edit("a.txt", "two", "3"));
    ok(&fixture.edit("a.txt", "two", "2"));
    assert_eq!(fixture.get("a.txt"), "one\n2\n");
}

#[test]
fn changed_file_needs_another_approval() {
    let mut fixture = asking();
    let seal = |question: &Value| question["seal"].as_str().unwrap().to_owned();
    let first = expect_question(&fixture, &fixture.edit("a.txt", "two", "2"));
    fixture.caller.approval = Some(Approval::granted(&seal(&first)));
    fixture.put("a.txt", "zero\none\ntwo\n");
    let reply = fixture.edit("a.txt", "two", "2");
    assert_eq!(code(&reply), "access.ask");
    assert_ne!(seal(question(&reply.result.unwrap_err()).unwrap()), seal(&first));
    // Seals of another engine are not accepted.
    let mut other = asking();
    other.caller.approval = Some(Approval::granted(&seal(&first)));
    expect_question(&other, &other.edit("a.txt", "two", "2"));
}

#[test]
fn person_may_change_the_text() {
    let mut fixture = asking();
    fixture.caller.original_file = true;
    let question = expect_question(&fixture, &fixture.edit("a.txt", "two", "2"));
    let texts = vec![(fixture.path("a.txt"), "one\nTWO\n".to_owned())];
    fixture.caller.approval = Some(Approval { texts, ..Approval::granted(question["seal"].as_str().unwrap()) });
    let reply = fixture.edit("a.txt", "two", "2");
    assert!(ok(&reply).contains("A person changed the text"), "{}", reply.text());
    let data = reply.result.unwrap().data;
    assert_eq!(data["userModified"], json!(true));
    assert_eq!((&data["oldString"], &data["newString"]), (&json!("two"), &json!("2")));
    assert_eq!((&data["replaceAll"], &data["originalFile"]), (&json!(false), &json!("one\ntwo\n")));
    assert_eq!(data["structuredPatch"][0]["lines"], json!([" one", "-two", "+TWO"]));
    assert_eq!(fixture.get("a.txt"), "one\nTWO\n");
    // The model knows the current content: its next edit needs no read.
    fixture.caller.approval = None;
    fixture.caller.unread = emendate::UnreadPolicy::Deny;
    asked_about_two(&fixture);
}

fn asked_about_two(fixture: &EngineFixture) {
    let reply = fixture.edit("a.txt", "TWO", "2");
    assert_eq!(code(&reply), "access.ask", "{}", reply.text());
}

#[test]
fn refusal_is_reported_and_not_asked_again() {
    let mut fixture = asking();
    let asked = expect_question(&fixture, &fixture.edit("a.txt", "two", "2"));
    fixture.caller.approval = Some(Approval::denied(asked["seal"].as_str().unwrap()));
    let reply = fixture.edit("a.txt", "two", "2");
    assert!(reply.text().contains("The person declined"), "{}", reply.text());
    assert!(question(&reply.result.unwrap_err()).is_none());
}

#[test]
fn one_approval_covers_all_files_of_a_call() {
    let mut fixture = asking();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: c.md\n+new\n*** Delete File: b.txt\n*** End Patch\n";
    let question = expect_question(&fixture, &fixture.apply(patch));
    let names: Vec<&str> =
        question["files"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(names, ["update", "delete"]);
    assert!(!fixture.path("c.md").exists());
    fixture.caller.approval = Some(Approval::granted(question["seal"].as_str().unwrap()));
    ok(&fixture.apply(patch));
    assert!(fixture.path("c.md").exists() && !fixture.path("b.txt").exists());
}

#[test]
fn dry_run_or_unchanged_file_needs_no_approval() {
    let fixture = asking();
    let input = json!({ "old_string": "two", "new_string": "2", "dry_run": true });
    ok(&fixture.call_on("a.txt", "edit", input));
    ok(&fixture.write("a.txt", "one\ntwo\n"));
}

#[test]
fn dry_run_reports_the_required_approval() {
    let fixture = asking();
    let input = json!({ "old_string": "two", "new_string": "2", "dry_run": true });
    let reply = fixture.call_on("a.txt", "edit", input);
    assert!(ok(&reply).contains("A person is asked before this is written"), "{}", reply.text());
    assert!(reply.result.unwrap().data["asks"].as_str().unwrap().contains("Edit(*.txt)"));
}

#[test]
fn question_contains_the_whole_change() {
    let fixture = asking();
    let lines: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    for name in ["a.txt", "new.txt"] {
        let question = expect_question(&fixture, &fixture.write(name, &lines));
        let change = question["files"][0]["change"].as_str().unwrap();
        assert_eq!(change.lines().filter(|line| line.starts_with("+line ")).count(), 3_000, "{name}");
    }
}

#[test]
fn undo_needs_approval_too() {
    let mut fixture = asking();
    let question = expect_question(&fixture, &fixture.edit("a.txt", "two", "2"));
    fixture.caller.approval = Some(Approval::granted(question["seal"].as_str().unwrap()));
    ok(&fixture.edit("a.txt", "two", "2"));
    assert_eq!(code(&fixture.call("undo", json!({}))), "access.ask");
    assert_eq!(fixture.get("a.txt"), "one\n2\n");
}

#[test]
fn rules_that_deny_new_files_precede_those_that_ask() {
    let config = Config::default().with_rule(PolicyMode::Ask, "Edit(gen/**)", "test").unwrap();
    let fixture = EngineFixture::trusted(config.with_rule(PolicyMode::Deny, "Write(gen/**)", "test").unwrap());
    let written = fixture.call("write", json!({ "file_path": fixture.path("gen/q"), "content": "x\n" }));
    assert_eq!(code(&written), "access.denied", "{}", written.text());
    let link = "diff --git a/gen/l b/gen/l\nnew file mode 120000\n--- /dev/null\n+++ b/gen/l\n@@ -0,0 +1 @@\n+../x\n\\ No newline at end of file\n";
    let linked = fixture.call("apply", json!({ "input": link }));
    assert_eq!(code(&linked), "access.denied", "{}", linked.text());
}

#[test]
fn text_that_the_file_already_has_is_no_undo() {
    let mut fixture = asking();
    let question = expect_question(&fixture, &fixture.edit("a.txt", "two", "2"));
    fixture.caller.approval = Some(Approval::granted(question["seal"].as_str().unwrap()));
    ok(&fixture.edit("a.txt", "two", "2"));
    let asked = fixture.call("undo", json!({}));
    let seal = |reply: &emendate::Reply| question_of(reply)["seal"].as_str().unwrap().to_owned();
    let texts = vec![(fixture.path("a.txt"), "one\n2\n".to_owned())];
    fixture.caller.approval = Some(Approval { texts, ..Approval::granted(&seal(&asked)) });
    let reply = fixture.call("undo", json!({}));
    assert!(code(&reply) == "access.ask" && reply.text().contains("already has"), "{}", reply.text());
    // The operation still is the last one, and can be undone.
    fixture.caller.approval = Some(Approval::granted(&seal(&asked)));
    ok(&fixture.call("undo", json!({})));
    assert_eq!(fixture.get("a.txt"), "one\ntwo\n");
}

fn question_of(reply: &emendate::Reply) -> Value {
    question(reply.result.as_ref().unwrap_err()).unwrap().clone()
}

#[test]
fn text_of_another_file_is_not_dropped_silently() {
    let mut fixture = asking();
    let question = expect_question(&fixture, &fixture.edit("a.txt", "two", "2"));
    let texts = vec![(fixture.path("other.txt"), "TWO\n".to_owned())];
    fixture.caller.approval = Some(Approval { texts, ..Approval::granted(question["seal"].as_str().unwrap()) });
    let reply = fixture.edit("a.txt", "two", "2");
    assert_eq!((code(&reply), fixture.get("a.txt").as_str()), ("call.invalid", "one\ntwo\n"), "{}", reply.text());
}

#[test]
fn question_about_a_move_shows_the_new_path() {
    let mut fixture = asking();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: a.md\n@@\n-two\n+2\n*** End Patch\n";
    let question = expect_question(&fixture, &fixture.apply(patch));
    let files = question["files"].as_array().unwrap();
    let [file] = &**files else { panic!("{files:?}") };
    let summary = file["summary"].as_str().unwrap();
    assert!(summary.contains("would be moved") && !summary.contains("deleted"), "{summary}");
    assert_eq!((&file["rule"], &file["proposed"]), (&json!("Edit(*.txt)"), &json!("one\n2\n")));
    // The text is that of the new path.
    let texts = vec![(fixture.path("a.md"), "one\nTWO\n".to_owned())];
    fixture.caller.approval = Some(Approval { texts, ..Approval::granted(question["seal"].as_str().unwrap()) });
    ok(&fixture.apply(patch));
    assert_eq!(fixture.get("a.md"), "one\nTWO\n");
    assert!(!fixture.path("a.txt").exists());
}

#[test]
fn text_that_the_encoding_cannot_express_is_asked_for_again() {
    let mut fixture = asking();
    std::fs::write(fixture.path("a.txt"), b"one\ntwo \xE4\n").unwrap();
    let edit = json!({ "old_string": "two", "new_string": "2", "encoding": "iso-8859-1" });
    let first = fixture.call_on("a.txt", "edit", edit.clone());
    let seal = |reply: &emendate::Reply| question(reply.result.as_ref().unwrap_err()).unwrap()["seal"].clone();
    let corrected = |text: &str, seal: &Value| {
        let texts = vec![(fixture.path("a.txt"), text.to_owned())];
        Some(Approval { texts, ..Approval::granted(seal.as_str().unwrap()) })
    };
    let answers = [corrected("one\nx \u{4E00}\n", &seal(&first)), corrected("one\nx \u{E9}\n", &seal(&first))];
    let [wrong, right] = answers;
    fixture.caller.approval = wrong;
    let again = fixture.call_on("a.txt", "edit", edit.clone());
    assert_eq!(code(&again), "access.ask", "{}", again.text());
    assert_eq!(seal(&again), seal(&first));
    let problem = question(again.result.as_ref().unwrap_err()).unwrap()["problem"].as_str().unwrap().to_owned();
    assert!(problem.contains("a.txt cannot be written") && again.text().contains(&problem), "{problem}");
    fixture.caller.approval = right;
    ok(&fixture.call_on("a.txt", "edit", edit));
    assert_eq!(std::fs::read(fixture.path("a.txt")).unwrap(), b"one\nx \xE9\n");
}

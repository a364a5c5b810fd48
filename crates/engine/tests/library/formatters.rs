//! Formatters that run after edits.

use crate::fixture::{EngineFixture, ok};
use emendate::{Config, Reply};
use serde_json::json;

/// A formatter of `.txt` files: this shell script.
fn with(script: &str, more: &str) -> EngineFixture {
    let text = format!("[[formatters]]\nfiles = '*.txt'\ncommand = ['sh', '-c', '''{script}''']\n{more}\n");
    EngineFixture::trusted(Config::default().with_file(&text, "test", true).unwrap())
}

fn notes(reply: &Reply) -> String {
    ok(reply);
    reply.result.as_ref().unwrap().data["notes"].to_string()
}

#[test]
fn edit_is_formatted_and_the_change_reported() {
    let fixture = with("sed 's/ *$//'", "");
    fixture.put("a.txt", "one\ntwo\n");
    let reply = fixture.edit("a.txt", "two", "2  \n3 ");
    assert!(notes(&reply).contains("sh changed the new text: +2 -2 lines"), "{}", reply.text());
    assert_eq!(fixture.get("a.txt"), "one\n2\n3\n");
    // The session knows the formatted content.
    ok(&fixture.edit("a.txt", "2\n3", "4"));
    // A file of another type is not formatted.
    fixture.put("a.md", "x\n");
    ok(&fixture.edit("a.md", "x", "y  "));
    assert_eq!(fixture.get("a.md"), "y  \n");
}

#[test]
fn new_files_in_new_directories_are_formatted_too() {
    let fixture = with("sed 's/ *$//'", "");
    ok(&fixture.write("deep/er/a.txt", "one  \n"));
    assert_eq!(fixture.get("deep/er/a.txt"), "one\n");
}

#[test]
fn unformatted_file_is_left_alone_unless_always() {
    for (more, wanted) in [("", "one  \n2  \n"), ("when = 'always'", "one\n2\n")] {
        let fixture = with("sed 's/ *$//'", more);
        fixture.put("a.txt", "one  \ntwo\n");
        let reply = fixture.edit("a.txt", "two", "2  ");
        assert_eq!(notes(&reply).contains("Not formatted"), more.is_empty(), "{}", reply.text());
        assert_eq!(fixture.get("a.txt"), wanted);
    }
}

#[test]
fn program_that_writes_in_place_gets_a_copy() {
    let text = "[[formatters]]\nfiles = '*.txt'\ncommand = ['sed', '-i', 's/ *$//', '{file}']\n";
    let fixture = EngineFixture::trusted(Config::default().with_file(text, "test", true).unwrap());
    fixture.put("a.txt", "one\ntwo\n");
    let reply = fixture.edit("a.txt", "two", "2  ");
    assert!(notes(&reply).contains("sed changed the new text: +1 -1 lines"), "{}", reply.text());
    assert_eq!(fixture.get("a.txt"), "one\n2\n");
    // The name of a file is not a word of the command.
    ok(&fixture.write("{file}.txt", "x  \n"));
    assert_eq!(fixture.get("{file}.txt"), "x\n");
}

#[test]
fn failing_formatter_leaves_the_edit_unchanged() {
    let scripts = [
        ("exit 3", "always", "rejected it"),
        ("echo broken >&2; exit 1", "always", "rejected it: broken."),
        ("true", "always", "wrote nothing"),
        ("sleep 60", "always", "did not end"),
        ("printf '\\377'", "always", "not UTF-8"),
        ("true", "formatted", "wrote nothing"),
        ("cat; echo more", "formatted", "would change this file"),
    ];
    for (script, when, why) in scripts {
        // Only a script that would not end by itself runs into the time limit.
        let seconds = if script.starts_with("sleep") { 1 } else { 60 };
        let fixture = with(script, &format!("seconds = {seconds}\nwhen = '{when}'"));
        fixture.put("a.txt", "two\n");
        let reply = fixture.edit("a.txt", "two", "2  ");
        assert!(notes(&reply).contains(why), "{why}: {}", reply.text());
        assert_eq!(fixture.get("a.txt"), "2  \n", "{script}");
    }
}

#[test]
fn undo_is_exact_and_dry_run_shows_the_formatted_text() {
    let fixture = with("sed 's/ *$//'", "when = 'always'");
    fixture.put("a.txt", "one  \ntwo\n");
    let dry = fixture.call_on("a.txt", "edit", json!({ "old_string": "two", "new_string": "2 ", "dry_run": true }));
    assert_eq!(dry.result.unwrap().data["linesRemoved"], json!(2));
    ok(&fixture.edit("a.txt", "two", "2 "));
    assert_eq!(fixture.get("a.txt"), "one\n2\n");
    ok(&fixture.call("undo", json!({})));
    assert_eq!(fixture.get("a.txt"), "one  \ntwo\n");
}

#[test]
fn edit_waits_while_the_files_of_a_replacement_are_formatted() {
    let runs = tempfile::NamedTempFile::new().unwrap();
    let count = || std::fs::read_to_string(runs.path()).unwrap().lines().count();
    let fixture = with(&format!("echo >> \"{}\"; sleep 0.5; cat", runs.path().display()), "when = 'always'");
    fixture.put("a.txt", "one\ntwo\n");
    std::thread::scope(|scope| {
        let input = json!({ "path": fixture.root, "old_string": "one", "new_string": "1" });
        let replaced = scope.spawn(|| fixture.call("replace_in_files", input));
        while count() == 0 && !replaced.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        ok(&fixture.edit("a.txt", "two", "2"));
        ok(&replaced.join().unwrap());
    });
    assert_eq!(fixture.get("a.txt"), "1\n2\n");
    assert_eq!(count(), 2, "neither call is planned twice");
}

#[test]
fn project_cannot_configure_programs() {
    let text = "[[formatters]]\nfiles = '*'\ncommand = ['touch', 'pwned']\n";
    let fixture = EngineFixture::trusted(Config::default().with_file(text, "emend.toml", false).unwrap());
    fixture.put("a.txt", "one\n");
    ok(&fixture.edit("a.txt", "one", "two"));
    assert!(!fixture.path("pwned").exists());
    for wrong in ["command = 'no-such'", "command = []", "command = 'rustfmt'\nwhen = 'never'"] {
        let text = format!("[[formatters]]\nfiles = '*'\n{wrong}\n");
        assert!(Config::default().with_file(&text, "user", true).is_err(), "{wrong}");
    }
}

#[test]
fn unencodable_formatter_output_is_reported_and_not_written() {
    let fixture = with("sed 's/2/→/'", "when = 'always'\n[encoding]\n'*.txt' = 'latin1'");
    std::fs::write(fixture.path("a.txt"), b"gr\xfc\xdfe\ntwo\n").unwrap();
    let reply = fixture.edit("a.txt", "two", "2");
    assert!(notes(&reply).contains("Not formatted"), "{}", reply.text());
    assert_eq!(std::fs::read(fixture.path("a.txt")).unwrap(), b"gr\xfc\xdfe\n2\n");
}

//! Undo of deletions in a file to which others returned the text, as with `git checkout`: nothing is put in twice.

use crate::undo::fixture::{UndoFixture, caller, code, ok, person};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use serde_json::json;
use std::collections::BTreeSet;

/// Lines of the file.
const LINES: usize = 8;

/// A version of a line that has the number of its place.
fn line(place: usize, is_changed: bool) -> String {
    if is_changed { format!("{place} changed\n") } else { format!("{place}\n") }
}

#[test]
fn text_at_the_place_of_a_deletion_refuses_its_undo() {
    for (now, expected) in [
        // Unchanged, with a change, in another form, of others.
        ("a\nb\nc\nd\n", "edit.no_change"),
        ("a\nb\nc, too\nd\n", "operation.conflict"),
        ("a\n\tb\n\tc\nd\n", "operation.conflict"),
        ("a\nnew\nd\n", "operation.conflict"),
        // Beside a changed line, which may be at either end.
        ("a\nb\nc, too\nD\n", "operation.conflict"),
        ("A\nb\nc, too\nd\n", "operation.conflict"),
        // A change elsewhere, or of a neighbour.
        ("new\na\nd\nnew\n", "ok"),
        ("A\nd\n", "ok"),
        ("a\nD\n", "ok"),
    ] {
        let mut fixture = UndoFixture::new();
        fixture.put("f", "a\nb\nc\nd\n");
        ok(fixture.edit(&person(), "f", "b\nc\n", ""));
        fixture.reopen();
        fixture.put("f", now);
        let undone = fixture.call(&person(), "undo", json!({}));
        assert_eq!(code(&undone), expected, "{now}: {}", undone.text());
        if expected == "ok" {
            let restored = now.replacen("a\n", "a\nb\nc\n", 1).replacen("A\n", "A\nb\nc\n", 1);
            assert_eq!(fixture.get("f"), restored);
        } else {
            assert_eq!(fixture.get("f"), now);
        }
    }
}

/// Others write a new text into a file that was emptied.
#[test]
fn emptied_file_with_new_text_is_not_doubled() {
    let mut fixture = UndoFixture::new();
    fixture.put("f", "a\nb\n");
    ok(fixture.call(&person(), "write", json!({ "file_path": fixture.path("f"), "content": "" })));
    fixture.reopen();
    fixture.put("f", "a\nb, too\n");
    assert_eq!(code(&fixture.call(&person(), "undo", json!({}))), "operation.conflict");
    assert_eq!(fixture.get("f"), "a\nb, too\n");
}

#[test]
fn version_before_a_move_is_restored_right_after_it() {
    let fixture = UndoFixture::new();
    let text: String = (0..60).map(|line| format!("line {line}\n")).collect();
    fixture.put("f", &text);
    let other = fixture.open();
    let moved = "*** Begin Patch\n*** Update File: f\n*** Move to: d/g\n*** End Patch\n";
    ok(fixture.apply(&person(), moved));
    ok(other.call(&person(), "restore", json!({ "file_path": fixture.path("f"), "id": "1^" })));
    assert_eq!((fixture.get("f"), fixture.get("d/g")), (text.clone(), text));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_put_in_twice(
        written in vec((any::<bool>(), any::<bool>()), LINES),
        returned in vec(any::<bool>(), LINES),
        by_session in any::<bool>(),
    ) {
        let mut fixture = UndoFixture::new();
        fixture.put("f", &(0..LINES).map(|place| line(place, false)).collect::<String>());
        let write = |fixture: &UndoFixture, session: &str, content: &str| {
            let input = json!({ "file_path": fixture.path("f"), "content": content });
            fixture.read(&caller(session), "f");
            fixture.call(&caller(session), "write", input)
        };
        // Some lines are deleted, others are changed.
        let lines = written.iter().enumerate().filter(|(_, (is_kept, _))| *is_kept);
        let edited: String = lines.map(|(place, (_, is_changed))| line(place, *is_changed)).collect();
        let edited = write(&fixture, "a", &edited);
        fixture.reopen();
        let returned: String = returned.iter().enumerate().map(|(place, it)| line(place, *it)).collect();
        if by_session {
            write(&fixture, "b", &returned);
        } else {
            fixture.put("f", &returned);
        }
        if code(&edited) == "ok" {
            let undone = fixture.call(&caller("a"), "undo", json!({}));
            let now = fixture.get("f");
            let places: Vec<&str> = now.lines().filter_map(|line| line.split(' ').next()).collect();
            prop_assert_eq!(places.len(), LINES, "{}\n{}", now, undone.text());
            prop_assert!(places.iter().collect::<BTreeSet<_>>().len() == LINES, "{}", now);
        }
    }
}

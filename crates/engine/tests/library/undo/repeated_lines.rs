//! Undo in any order in files of equal lines, where a comparison of two versions finds a change at several positions.

use crate::undo::fixture::{UndoFixture, code, data, name_of, ok, person};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_oneof, proptest};
use serde_json::json;

#[derive(Clone, Debug)]
enum Step {
    /// Writes so many equal lines, with one of another kind after the second number of them.
    Write(usize, usize),
    /// Undoes one of the operations by its id.
    Undo(usize),
    Redo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40_usize, 0..60_usize).prop_map(|(lines, other)| Step::Write(lines, other)),
        3 => (0..8_usize).prop_map(Step::Undo),
        1 => proptest::strategy::Just(Step::Redo),
    ]
}

fn text(lines: usize, other: usize) -> String {
    (0..lines).map(|line| if line == other { "other\n" } else { "}\n" }).collect()
}

#[test]
fn undo_of_a_later_operation_restores_what_was_there_before_both() {
    let fixture = UndoFixture::new();
    fixture.put("f", &text(571, 600));
    let write = |lines| {
        let input = json!({ "file_path": fixture.path("f"), "content": text(lines, 600) });
        name_of(&ok(fixture.call(&person(), "write", input)))
    };
    let (first, second) = (write(12), write(2));
    ok(fixture.call(&person(), "undo", json!({ "id": first })));
    assert_eq!(fixture.get("f"), text(561, 600));
    // The 561 lines also look as if these ten had been put back.
    let undone = ok(fixture.call(&person(), "undo", json!({})));
    assert_eq!(data(&undone)["undone"], json!([second]));
    assert_eq!(fixture.get("f"), text(571, 600));
    assert!(!undone.text().contains("were kept"), "{}", undone.text());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Whatever was undone by its id before, undoing everything leads to the first version.
    #[test]
    fn undo_in_any_order_leads_back_to_the_beginning(steps in vec(step(), 1..10)) {
        let fixture = UndoFixture::new();
        let first = text(20, 7);
        fixture.put("f", &first);
        let mut names = Vec::new();
        for step in steps {
            let reply = match step {
                Step::Write(lines, other) => {
                    let input = json!({ "file_path": fixture.path("f"), "content": text(lines, other) });
                    fixture.call(&person(), "write", input)
                }
                Step::Undo(_) if names.is_empty() => continue,
                Step::Undo(index) => fixture.call(&person(), "undo", json!({ "id": names[index % names.len()] })),
                Step::Redo => fixture.call(&person(), "undo", json!({ "redo": true })),
            };
            if code(&reply) == "ok" && !name_of(&reply).is_empty() {
                names.push(name_of(&reply));
            }
        }
        for calls in 0.. {
            assert!(calls < 100, "undo does not come to an end");
            let reply = fixture.call(&person(), "undo", json!({}));
            // An operation that was undone before can be in the way; the answer names it.
            let reply = match data(&reply)["since"].as_str() {
                Some(since) => fixture.call(&person(), "undo", json!({ "since": since })),
                None => reply,
            };
            let counts = code(&reply) == "edit.no_change" && data(&reply)["operation"].is_string();
            if code(&reply) != "ok" && !counts {
                assert_eq!(code(&reply), "operation.not_found", "{}", reply.text());
                break;
            }
        }
        assert_eq!(fixture.get("f"), first);
    }
}

//! Undo and redo of single hunks, compared with a model: a file is a list of lines, and a hunk is a place in it.

use crate::bench::Bench;
use emendate::{Config, Reply};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Lines between two places: more than the contexts of two hunks, so that each place is a hunk of its own.
const LINES_APART: usize = 8;

/// The text with these places changed, below the lines of another program.
fn text(above: usize, places: &[bool]) -> String {
    let mut lines: Vec<String> = (0..above).map(|nth| format!("above {nth}")).collect();
    for (nth, is_changed) in places.iter().enumerate() {
        lines.extend((1..LINES_APART).map(|line| format!("line {nth} {line}")));
        let changed = [format!("CHANGED {nth}"), "and more".to_owned()];
        lines.extend(if *is_changed { changed[..=nth % 2].to_vec() } else { vec![format!("place {nth}")] });
    }
    lines.join("\n") + "\n"
}

/// The name of the operation that a reply reports.
fn operation(reply: &Reply) -> String {
    let answer = reply.result.as_ref().unwrap();
    answer.data.get("operation").and_then(Value::as_str).unwrap().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn chosen_hunks_change_and_nothing_else(
        count in 2usize..6,
        steps in prop::collection::vec((any::<bool>(), prop::collection::vec(0usize..6, 1..4), 0usize..3), 1..6),
    ) {
        let bench = Bench::trusted(Config::default());
        let mut state = vec![true; count];
        let mut above = 0;
        bench.put("f", &text(0, &vec![false; count]));
        let written = bench.call("write", json!({ "file_path": bench.path("f"), "content": text(0, &state) }));
        let id = operation(&written);
        bench.engine.finish_background_work();
        for (redo, numbers, more) in steps {
            // Another program adds lines above, and the hunks are found at their new places.
            above += more;
            bench.put("f", &text(above, &state));
            let mut numbers: Vec<usize> = numbers.into_iter().map(|number| number % count).collect();
            numbers.dedup();
            let hunks: Vec<usize> = numbers.iter().map(|number| number + 1).collect();
            let reply = bench.call("undo", json!({ "id": id, "hunks": hunks, "redo": redo }));
            bench.engine.finish_background_work();
            let was = state.clone();
            for number in &numbers {
                state[*number] = redo;
            }
            prop_assert_eq!(bench.get("f"), text(above, &state), "{:?}", &reply);
            prop_assert_eq!(reply.result.is_ok(), was != state, "{:?}", &reply);
        }
    }
}

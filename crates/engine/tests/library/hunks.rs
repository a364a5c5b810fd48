//! Undo and redo of single hunks, compared with a model: a file is a list of places, and a hunk is one of them.

use crate::fixture::EngineFixture;
use emendate::{Config, Reply};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Lines between two places: more than the contexts of two hunks, so that each place is a hunk of its own.
const LINES_APART: usize = 8;

/// A place of the file, which the operation changes.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// A line becomes two.
    Replaced,
    /// A line comes that is equal to the ones around it.
    Inserted,
    /// A line goes that is equal to the ones around it.
    Deleted,
}

impl Place {
    fn lines(self, nth: usize, is_changed: bool) -> Vec<String> {
        let equal = |count| vec!["equal".to_owned(); count];
        match (self, is_changed) {
            (Place::Replaced, false) => vec![format!("place {nth}")],
            (Place::Replaced, true) => vec![format!("CHANGED {nth}"), "and more".to_owned()],
            (Place::Inserted, false) | (Place::Deleted, true) => equal(2),
            (Place::Inserted, true) | (Place::Deleted, false) => equal(3),
        }
    }
}

/// The file: its places, which of them are changed, and what another program added.
#[derive(Clone, Debug)]
struct Model {
    places: Vec<Place>,
    changed: Vec<bool>,
    /// Lines of another program above everything.
    above: usize,
    /// Lines of another program right below each place.
    below: Vec<usize>,
}

impl Model {
    fn text(&self) -> String {
        let mut lines: Vec<String> = (0..self.above).map(|nth| format!("above {nth}")).collect();
        for (nth, place) in self.places.iter().enumerate() {
            lines.extend((1..LINES_APART).map(|line| format!("line {nth} {line}")));
            lines.extend(place.lines(nth, self.changed[nth]));
            lines.extend((0..self.below[nth]).map(|line| format!("below {nth} {line}")));
        }
        lines.join("\n") + "\n"
    }
}

/// The lines that another program did not add below a place.
fn without_below(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("below")).collect()
}

/// The name of the operation that a reply reports.
fn operation(reply: &Reply) -> String {
    let answer = reply.result.as_ref().unwrap();
    answer.data.get("operation").and_then(Value::as_str).unwrap().to_owned()
}

/// A call, and what another program did before it.
#[derive(Clone, Debug)]
struct Step {
    redo: bool,
    numbers: Vec<usize>,
    above: usize,
    below: Option<usize>,
}

fn step() -> impl Strategy<Value = Step> {
    let numbers = prop::collection::vec(0usize..6, 1..4);
    (any::<bool>(), numbers, 0usize..3, prop::option::weighted(0.2, 0usize..6))
        .prop_map(|(redo, numbers, above, below)| Step { redo, numbers, above, below })
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![Just(Place::Replaced), Just(Place::Inserted), Just(Place::Deleted)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn chosen_hunks_change_and_nothing_else(
        places in prop::collection::vec(place(), 2..6), steps in prop::collection::vec(step(), 1..6),
    ) {
        let count = places.len();
        let mut model = Model { places, changed: vec![false; count], above: 0, below: vec![0; count] };
        let fixture = EngineFixture::trusted(Config::default());
        fixture.put("f", &model.text());
        model.changed = vec![true; count];
        let written = fixture.call("write", json!({ "file_path": fixture.path("f"), "content": model.text() }));
        let id = operation(&written);
        for step in steps {
            fixture.engine.history().finish_background_work();
            model.above += step.above;
            if let Some(nth) = step.below {
                model.below[nth % count] += 1;
            }
            fixture.put("f", &model.text());
            let numbers: Vec<usize> = step.numbers.iter().map(|number| number % count).collect();
            let hunks: Vec<usize> = numbers.iter().map(|number| number + 1).collect();
            let reply = fixture.call("undo", json!({ "id": id, "hunks": hunks, "redo": step.redo }));
            let before = model.clone();
            for number in &numbers {
                model.changed[*number] = step.redo;
            }
            // Lines of another program that touch a place may be a conflict, which changes nothing.
            let touched = numbers.iter().any(|number| model.below[*number] > 0);
            if touched && reply.result.as_ref().is_err_and(|error| error.code().as_str() == "operation.conflict") {
                model = before.clone();
            }
            // Lines that two sides insert at one place may come in either order.
            let (found, wanted) = (fixture.get("f"), model.text());
            prop_assert_eq!(without_below(&found), without_below(&wanted), "{:?}", &reply);
            prop_assert_eq!(found.lines().count(), wanted.lines().count());
            if !touched {
                prop_assert_eq!(found, wanted, "{:?}", &reply);
            }
            fixture.put("f", &model.text());
            prop_assert_eq!(reply.result.is_ok(), before.changed != model.changed, "{:?}", &reply);
        }
    }
}

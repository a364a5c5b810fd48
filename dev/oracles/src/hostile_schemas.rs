//! The cost of hostile schemas for our validator and for the `jsonschema` crate, which decision 84 is about.

use emendate_schema::{DataFormat, Schema, read};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Definitions in the longest chain; the library needs 2^22 steps for it.
const DEFINITIONS_MAX: usize = 22;

/// A chain of definitions in which each one names the next one twice, so that a validator without a memory of its
/// results tries 2^`definitions` ways.
fn chain(definitions: usize) -> Value {
    let step = |nth: usize| {
        let next = json!({ "$ref": format!("#/definitions/d{}", nth + 1) });
        (format!("d{nth}"), json!({ "anyOf": [next, next] }))
    };
    let mut all: serde_json::Map<String, Value> = (0..definitions).map(step).collect();
    all.insert(format!("d{definitions}"), json!({ "type": "string" }));
    json!({ "$ref": "#/definitions/d0", "definitions": all })
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (work(), start.elapsed())
}

/// Validates a number with chains of growing length, and lists the times of both validators.
///
/// Errors: one of them does not compile a chain, or finds that a number is valid.
pub fn table() -> Result<String, String> {
    let mut out = "definitions     ours   jsonschema\n".to_owned();
    for definitions in (10..=DEFINITIONS_MAX).step_by(2) {
        let schema = chain(definitions);
        let theirs = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        let text = schema.to_string();
        let ours = Schema::compile(&text, DataFormat::Json, &mut |_| Err("not here".to_owned()))
            .map_err(|error| format!("{error:?}"))?;
        let number = read(DataFormat::Json, "1").map_err(|error| format!("{error:?}"))?;
        let (checked, our_time) = timed(|| ours.check(&number));
        let (fits, their_time) = timed(|| theirs.is_valid(&json!(1)));
        if fits || checked.violations.is_empty() {
            return Err("a number is no string".to_owned());
        }
        let _ = writeln!(out, "{definitions:>11} {our_time:>8.1?} {their_time:>12.1?}");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn both_validators_refuse_every_chain() {
        assert_eq!(table().unwrap().lines().count(), 8);
    }
}

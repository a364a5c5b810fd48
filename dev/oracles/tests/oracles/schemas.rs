//! Compares our validator with another library on random schemas and values: both must accept or both refuse. The
//! library cannot be bounded, so only this test uses it.

use emendate_schema::{DataFormat, Schema, read};
use oracles::luck::Luck;
use serde_json::{Map, Value, json};

const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];
const NAMES: [&str; 4] = ["a", "b", "ab", "c"];
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];
const PATTERNS: [&str; 6] = ["^a", "b$", "^[a-z]+$", "^\\d*$", "[^a]", "."];

fn value(luck: &mut Luck, depth: usize) -> Value {
    match luck.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(luck.chance(50)),
        2 => json!(luck.below(5)),
        3 => json!([0.5, 1.5, -1.0, 2.0, 10.0, 0.3][luck.below(6)]),
        4 | 5 => json!(["", "a", "ab", "b", "12", "aé"][luck.below(6)]),
        6 | 7 => {
            let mut object = Map::new();
            for _ in 0..luck.below(4) {
                object.insert((*luck.pick(&NAMES)).to_owned(), value(luck, depth - 1));
            }
            Value::Object(object)
        }
        _ => (0..luck.below(4)).map(|_| value(luck, depth - 1)).collect(),
    }
}

fn several(luck: &mut Luck, draft: usize, depth: usize) -> Value {
    (0..luck.between(1, 3)).map(|_| schema(luck, draft, depth)).collect()
}

fn named(luck: &mut Luck, names: &[&str], draft: usize, depth: usize) -> Value {
    let mut object = Map::new();
    for _ in 0..luck.between(1, 3) {
        object.insert((*luck.pick(names)).to_owned(), schema(luck, draft, depth));
    }
    Value::Object(object)
}

/// Generates a schema whose references lead to the root's definitions, which have no references back.
fn schema(luck: &mut Luck, draft: usize, depth: usize) -> Value {
    if draft >= 1 && luck.chance(6) {
        return json!(luck.chance(70));
    }
    let mut out = Map::new();
    for _ in 0..luck.between(1, 3) {
        let (name, said) = keyword(luck, draft, depth);
        out.insert(name.to_owned(), said);
    }
    Value::Object(out)
}

fn keyword(luck: &mut Luck, draft: usize, depth: usize) -> (&'static str, Value) {
    let inner = depth.saturating_sub(1);
    let kinds = if depth == 0 { 14 } else { 36 };
    loop {
        let kind = luck.below(kinds);
        return match kind {
            0 | 1 => ("type", json!(luck.pick(&TYPES))),
            2 => ("type", json!([luck.pick(&TYPES[..3]), luck.pick(&TYPES[3..])])),
            3 => ("enum", json!([value(luck, 1), value(luck, 0), 1])),
            4 if draft >= 1 => ("const", value(luck, 1)),
            5 => ("minimum", json!([0.5, 1.0, 2.0][luck.below(3)])),
            6 => ("maximum", json!(luck.below(4))),
            7 if draft >= 1 => ("exclusiveMinimum", json!(luck.below(3))),
            8 => ("multipleOf", json!([0.5, 1.0, 2.0, 0.1][luck.below(4)])),
            9 => ("minLength", json!(luck.below(3))),
            10 => ("pattern", json!(luck.pick(&PATTERNS))),
            11 => ("required", json!([luck.pick(&NAMES)])),
            12 => (
                ["maxItems", "minItems", "minProperties", "maxProperties", "maxLength"][luck.below(5)],
                json!(luck.below(3)),
            ),
            13 => ("uniqueItems", json!(true)),
            14 | 15 => ("properties", named(luck, &NAMES, draft, inner)),
            16 => ("patternProperties", named(luck, &PATTERNS, draft, inner)),
            17 | 18 => (
                "additionalProperties",
                if draft == 0 || luck.chance(50) { json!(false) } else { schema(luck, draft, inner) },
            ),
            19 | 20 => ("items", schema(luck, draft, inner)),
            21 if draft >= 4 => ("prefixItems", several(luck, draft, inner)),
            21 => ("items", several(luck, draft, inner)),
            22 if draft < 4 => ("additionalItems", json!(false)),
            23 if draft >= 1 => ("contains", schema(luck, draft, inner)),
            24 => ("allOf", several(luck, draft, inner)),
            25 | 26 => ("anyOf", several(luck, draft, inner)),
            27 => ("oneOf", several(luck, draft, inner)),
            28 => ("not", schema(luck, draft, inner)),
            29 if draft >= 2 => (["if", "then", "else"][luck.below(3)], schema(luck, draft, inner)),
            30 if draft >= 1 => ("propertyNames", schema(luck, draft, inner)),
            31 if draft >= 3 => ("dependentSchemas", named(luck, &NAMES, draft, inner)),
            31 => ("dependencies", named(luck, &NAMES, draft, inner)),
            32 if draft >= 3 => ("dependentRequired", json!({ *luck.pick(&NAMES): [luck.pick(&NAMES)] })),
            33 if draft >= 3 => ("unevaluatedProperties", schema(luck, draft, inner)),
            34 if draft >= 3 => ("unevaluatedItems", schema(luck, draft, inner)),
            35 => (
                "$ref",
                json!(["#/definitions/x", "#/definitions/y", "#x"][luck.below(if draft >= 3 { 3 } else { 2 })]),
            ),
            _ => continue,
        };
    }
}

fn round(seed: u64) -> (Value, Vec<Value>) {
    let mut luck = Luck::new(seed);
    let draft = luck.below(DRAFTS.len());
    let mut root = schema(&mut luck, draft, 3);
    if let Value::Object(root) = &mut root {
        let mut x = schema(&mut luck, draft, 0);
        if let (Value::Object(x), true) = (&mut x, draft >= 3) {
            x.insert("$anchor".to_owned(), json!("x"));
        } else if draft >= 3 {
            x = json!({ "$anchor": "x" });
        }
        root.insert("$schema".to_owned(), json!(DRAFTS[draft]));
        root.insert("definitions".to_owned(), json!({ "x": x, "y": schema(&mut luck, draft, 0) }));
    }
    let mut values: Vec<Value> = (0..8).map(|_| value(&mut luck, 3)).collect();
    if draft == 0 {
        // In that draft 1.0 is not an integer, but our validator accepts it in every draft. Settings do not depend on
        // it.
        let whole = |value: &Value| value.to_string().replace(".0", "").parse().unwrap();
        values = values.iter().map(whole).collect();
    }
    (root, values)
}

#[test]
fn both_validators_agree() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let (mut fit, mut all) = (0, 0);
    for seed in 1..=rounds {
        let (schema, values) = round(seed);
        let options = jsonschema::options().should_validate_formats(false);
        let theirs = options.build(&schema).unwrap_or_else(|error| panic!("{seed} {schema} {error}"));
        let text = schema.to_string();
        let ours = Schema::compile(&text, DataFormat::Json, &mut |_| Err("not here".to_owned()));
        let ours = ours.unwrap_or_else(|broken| panic!("{seed} {schema} {broken:?}"));
        for value in values {
            let checked = ours.check(&read(DataFormat::Json, &value.to_string()).unwrap());
            let fits = checked.violations.is_empty();
            assert!(!checked.limit_reached && checked.untried_patterns.is_empty(), "{seed}");
            assert_eq!(fits, theirs.is_valid(&value), "round {seed}\n{schema}\n{value}\n{:?}", checked.violations);
            all += 1;
            fit += usize::from(fits);
        }
    }
    // Both verdicts must be frequent enough for the comparison to mean something.
    assert!(fit * 10 > all && fit * 10 < all * 9, "{fit} of {all}");
}

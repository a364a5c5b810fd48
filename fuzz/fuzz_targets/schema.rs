//! Any text as JSON, JSONC, TOML and YAML, and any text as a schema of it: no panic, no hang, places within the text; what is
//! JSON is JSON for others too, and with comments as well.
#![no_main]
use emendate_schema::{Kind, Schema, fresh, looks_like_a_template, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (String, String, String)| {
    let (text, schema, other) = input;
    let _ = looks_like_a_template(&text);
    let mut files = |_: &str| Ok(other.clone());
    let compiled: Vec<Schema> = [Kind::Json, Kind::Yaml, Kind::Toml]
        .into_iter()
        .filter_map(|kind| Schema::compile(&schema, kind, &mut files).ok())
        .collect();
    for kind in [Kind::Json, Kind::Jsonc, Kind::Toml, Kind::Yaml] {
        match read(kind, &text) {
            Ok(document) => {
                for schema in &compiled {
                    let checked = schema.check(&document);
                    assert!(checked.violations.iter().all(|it| it.at <= text.len()));
                    assert!(fresh(&checked.violations, &checked.violations).is_empty());
                }
                if kind == Kind::Json && !text.trim().is_empty() && !text.contains("\\u") {
                    let theirs = serde_json::from_str::<serde_json::Value>(&text);
                    assert!(theirs.is_ok() || text.contains(['e', 'E']), "{text:?}");
                    assert!(read(Kind::Jsonc, &text).is_ok());
                }
            }
            Err(fault) => assert!(fault.at <= text.len()),
        }
    }
});

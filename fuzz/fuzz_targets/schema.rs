//! Any text as JSON, JSONC, TOML and YAML, and any text as a schema of it: nothing panics or hangs, and positions are
//! within the text. Text that is JSON is also JSON for other parsers, and for the parser of JSON with comments.
#![no_main]
use emendate_schema::{DataFormat, Schema, looks_like_a_template, new_violations, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (String, String, String)| {
    let (text, schema, other) = input;
    let _ = looks_like_a_template(&text);
    let mut files = |_: &str| Ok(other.clone());
    let compiled: Vec<Schema> = [DataFormat::Json, DataFormat::Yaml, DataFormat::Toml]
        .into_iter()
        .filter_map(|kind| Schema::compile(&schema, kind, &mut files).ok())
        .collect();
    for kind in [DataFormat::Json, DataFormat::Jsonc, DataFormat::Toml, DataFormat::Yaml] {
        match read(kind, &text) {
            Ok(document) => {
                for schema in &compiled {
                    let checked = schema.check(&document);
                    assert!(checked.violations.iter().all(|it| it.at <= text.len()));
                    assert!(new_violations(&checked.violations, &checked.violations).is_empty());
                }
                if kind == DataFormat::Json && !text.trim().is_empty() && !text.contains("\\u") {
                    let theirs = serde_json::from_str::<serde_json::Value>(&text);
                    assert!(theirs.is_ok() || text.contains(['e', 'E']), "{text:?}");
                    assert!(read(DataFormat::Jsonc, &text).is_ok());
                }
            }
            Err(fault) => assert!(fault.at <= text.len()),
        }
    }
});

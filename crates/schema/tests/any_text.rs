//! No text makes a parser or a check panic or hang, and our parsers accept the same texts as others.

use emendate_schema::{DataFormat, LineCol, Schema, looks_like_a_template, new_violations, read};
use proptest::prelude::*;

const KINDS: [DataFormat; 4] = [DataFormat::Json, DataFormat::Jsonc, DataFormat::Toml, DataFormat::Yaml];

/// Generates texts of significant characters.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "{", "}", "[", "]", ":", ": ", ",", "\"", "'", "\n", "\n  ", "\n- ", "- ", "a", "b", "\"a\"", "1",
            "-1.5e3", "0x1", "true", "null", "yes", "~", "&a ", "*a", "<<: *a", "!t ", "!!str ", "|\n", ">-\n", "? ",
            "---\n", "...\n", "#", " # c", "//", "/*", "*/", "\\u", "\\ud83d", "\\", "=", "a = ", "[[a]]\n", "[a.b]\n",
            "\"\"\"", "'''", "2026-01-01", "\t", "é", "\u{feff}", "\0", "{{ a }}", "{%", "$ref", "%YAML 1.2\n",
        ])
        .prop_map(str::to_owned),
        ".{0,4}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Words of schemas.
const WORDS: &str = "a b $ref $id $anchor $defs $dynamicRef $dynamicAnchor type enum const properties patternProperties \
    additionalProperties items prefixItems allOf anyOf oneOf not if then else required pattern minimum multipleOf uniqueItems \
    contains minContains unevaluatedItems unevaluatedProperties dependentSchemas dependencies propertyNames $schema $recursiveRef";
/// Values that are meaningful in schemas.
const LEAVES: &str = r##"null true false 0 1 -2.5 1e400 "a" "#" "#/$defs/a" "#a" "b.json" "string" "object" "^(a|b)*$" "(?!x)"
    "http://json-schema.org/draft-07/schema#" [] {} "%41" "a/../b" "#/a/0""##;

/// Generates JSON values with the words of schemas.
fn value() -> impl Strategy<Value = String> {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let leaves: Vec<&str> = LEAVES.split_whitespace().collect();
    let leaf = prop::sample::select(leaves).prop_map(str::to_owned);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let member = (prop::sample::select(words.clone()), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..6).prop_map(|members| {
                let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in text()) {
        for kind in KINDS {
            match read(kind, &text) {
                Ok(_) => {}
                Err(fault) => {
                    prop_assert!(fault.at <= text.len() && !fault.what.is_empty());
                    let place = LineCol::of(&text, fault.at);
                    prop_assert!(place.line <= text.matches('\n').count() + 1 && place.column >= 1);
                }
            }
        }
        let _ = looks_like_a_template(&text);
    }

    #[test]
    fn our_json_parser_agrees_with_another(text in prop_oneof![text(), value()]) {
        let ours = read(DataFormat::Json, &text);
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        // A lone surrogate is valid JSON, and a number may be too large for other parsers.
        let lenient = text.contains("\\ud") || text.contains("e400") || text.trim_matches([' ', '\n', '\r', '\t']).is_empty();
        prop_assert!(lenient || ours.is_ok() == theirs.is_ok(), "{text:?} {ours:?} {theirs:?}");
        if ours.is_ok() {
            prop_assert!(read(DataFormat::Jsonc, &text).is_ok());
        }
    }

    #[test]
    fn any_schema_is_refused_or_checked(schema in value(), texts in prop::collection::vec(value(), 1..4)) {
        let mut files = |_: &str| Ok("{\"$defs\": {\"a\": {\"type\": \"string\"}}, \"$ref\": \"c.json\"}".to_owned());
        let Ok(schema) = Schema::compile(&schema, DataFormat::Json, &mut files) else { return Ok(()) };
        let mut old = Vec::new();
        for text in &texts {
            for kind in [DataFormat::Json, DataFormat::Yaml] {
                let document = read(kind, text).unwrap();
                let checked = schema.check(&document);
                for violation in &checked.violations {
                    prop_assert!(violation.at <= text.len());
                }
                prop_assert_eq!(new_violations(&checked.violations, &checked.violations).len(), 0);
                prop_assert_eq!(new_violations(&[], &checked.violations).len(), checked.violations.len());
                prop_assert!(new_violations(&old, &checked.violations).len() <= checked.violations.len());
                old = checked.violations;
            }
        }
    }
}

//! Checks that advice of errors names fields and tools by phrases, so that each client reads its own names.

use super::sizes::{is_test, without_tests};
use crate::repo::Repo;
use emendate::TOOLS;
use serde_json::Value;
use std::collections::BTreeSet;

/// Beginnings of expressions whose literals are advice.
const OPENINGS: &[&str] = &[".next(", "advice![", "Advice::from(", "Advice::new(", "Advice::named("];
/// Sources whose errors only reach callers of one tool, with the names of its fields.
const OWN_FIELDS: &[&str] = &["crates/core/src/formats/anchors/", "crates/engine/src/tools/text_editor.rs"];
/// Front ends, which have one way to name things.
const FRONT_ENDS: &[&str] = &["crates/cli/", "crates/mcp/", "crates/review/"];

pub(super) fn fields(repo: &Repo) -> Vec<String> {
    let mut fields = BTreeSet::new();
    for tool in TOOLS {
        collect(&Value::Object(tool.schema()), &mut fields);
    }
    let mut out = Vec::new();
    let skipped = |path: &str| OWN_FIELDS.iter().chain(FRONT_ENDS).any(|prefix| path.starts_with(prefix));
    for file in repo.below("crates/", ".rs").filter(|file| !is_test(&file.path) && !skipped(&file.path)) {
        let code = without_tests(&file.text).join("\n");
        for opening in OPENINGS {
            for (at, _) in code.match_indices(opening) {
                let line = code[..at].matches('\n').count() + 1;
                let named = literals(&code[at + opening.len()..]).into_iter().filter_map(|text| named(&text, &fields));
                out.extend(named.map(|name| format!("{}:{line} names `{name}`: use a Phrase", file.path)));
            }
        }
    }
    out.sort();
    out.dedup();
    out
}

/// Adds the names of all fields of a schema.
fn collect(schema: &Value, out: &mut BTreeSet<String>) {
    let Some(object) = schema.as_object() else {
        schema.as_array().into_iter().flatten().for_each(|it| collect(it, out));
        return;
    };
    out.extend(object.get("properties").and_then(Value::as_object).into_iter().flat_map(|it| it.keys().cloned()));
    object.values().for_each(|it| collect(it, out));
}

/// Returns the field that a sentence names: by a word that no other text has, or as a call sets it.
fn named(text: &str, fields: &BTreeSet<String>) -> Option<String> {
    // What is in braces is a phrase, or a value that is formatted.
    let plain: String = text.split(['{', '}']).step_by(2).collect::<Vec<_>>().join(" ");
    let mut words = plain.split(|it: char| !it.is_alphanumeric() && it != '_');
    let is_sentence = text.trim().contains(' ');
    let set = fields.iter().find(|field| text.contains(&format!("\\\"{field}\\\":")));
    let field = words.find(|word| word.contains('_') && fields.contains(*word));
    field.map(str::to_owned).or(set.cloned()).filter(|_| is_sentence)
}

/// Returns the literals up to the bracket that closes the expression.
fn literals(code: &str) -> Vec<String> {
    let (mut out, mut depth, mut chars) = (Vec::new(), 1, code.chars());
    while let Some(ch) = chars.next() {
        match ch {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 1 => break,
            ')' | ']' | '}' => depth -= 1,
            '"' => {
                let mut text = String::new();
                while let Some(ch) = chars.next().filter(|ch| *ch != '"') {
                    text.push(ch);
                    text.extend((ch == '\\').then(|| chars.next()).flatten());
                }
                out.push(text);
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{literals, named};
    use std::collections::BTreeSet;

    #[test]
    fn names_of_fields_are_found() {
        let fields = BTreeSet::from(["old_string".to_owned(), "tag".to_owned()]);
        assert_eq!(named("Give a longer old_string.", &fields).as_deref(), Some("old_string"));
        assert_eq!(named(r#"Send it with \"tag\": 1."#, &fields).as_deref(), Some("tag"));
        for fine in ["Give a longer {old_string}.", "Give a tag.", "old_string"] {
            assert_eq!(named(fine, &fields), None, "{fine}");
        }
        assert_eq!(literals(r#"f("a (\"b\")"), "c") "d""#), [r#"a (\"b\")"#, "c"]);
    }
}

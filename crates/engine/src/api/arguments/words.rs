//! Fields whose value is one of a few words, in other spellings.

use crate::api::arguments::aliases::normalize_name;
use crate::tools::tool::{FieldWords, Tool};
use crate::tools::words::OPTION_WORDS;
use serde_json::Value;

/// The fields of a tool that have such words.
fn fields_of(tool: &Tool) -> impl Iterator<Item = &'static FieldWords> + use<> {
    OPTION_WORDS.iter().chain(tool.words)
}

/// Returns the word that a text for this field means, if it is spelled otherwise.
pub(super) fn canonical_word(tool: &Tool, field: &str, text: &str) -> Option<&'static str> {
    let words = fields_of(tool).find(|row| row.field == field)?.words;
    if words.iter().any(|(word, _)| *word == text) {
        return None;
    }
    let name = normalize_name(text.trim());
    let is_meant = |word: &str| normalize_name(word) == name;
    words.iter().find(|(word, others)| is_meant(word) || others.iter().any(|other| is_meant(other))).map(|it| it.0)
}

/// True when a field of the call, or of an entry of `edits`, has such a word in another spelling.
pub(super) fn are_spelled_otherwise(tool: &Tool, input: &Value) -> bool {
    let entries = input.get("edits").and_then(Value::as_array).into_iter().flatten();
    is_spelled_otherwise(tool, input)
        || ["edit_anchors", "notebook_edit"].contains(&tool.name)
            && entries.take(10_000).any(|it| is_spelled_otherwise(tool, it))
}

/// True when one of these fields has such a word in another spelling.
fn is_spelled_otherwise(tool: &Tool, input: &Value) -> bool {
    fields_of(tool).any(|row| {
        let text = input.get(row.field).and_then(Value::as_str);
        text.is_some_and(|text| canonical_word(tool, row.field, text).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::{canonical_word, fields_of};
    use crate::api::tool_table::{TOOLS, tool};

    #[test]
    fn words_are_those_of_the_schemas() {
        for tool in TOOLS {
            let known = tool.known();
            for row in fields_of(tool) {
                let Some(field) = known.whole["properties"].get(row.field) else { continue };
                let Some(forms) = known.resolve_schema(field).get("oneOf").and_then(|it| it.as_array()) else {
                    continue;
                };
                let words: Vec<&str> = forms.iter().filter_map(|form| form["const"].as_str()).collect();
                assert_eq!(words, row.words.iter().map(|it| it.0).collect::<Vec<_>>(), "{} {}", tool.name, row.field);
            }
        }
    }

    #[test]
    fn spelling_does_not_matter() {
        let canonical_word = |name: &str, field, text| canonical_word(tool(name).unwrap(), field, text);
        assert_eq!(canonical_word("edit_symbol", "action", "insertAfter"), Some("insert_after"));
        assert_eq!(canonical_word("text_editor", "command", "STR-REPLACE"), Some("str_replace"));
        assert_eq!(canonical_word("convert", "to", "udiff"), Some("unified_diff"));
        assert_eq!(canonical_word("apply", "format", "diff"), Some("unified_diff"));
        for (tool, field, text) in
            [("edit", "match", "exact"), ("edit", "match", "fuzzy"), ("edit", "old_string", "Exact")]
        {
            assert_eq!(canonical_word(tool, field, text), None);
        }
    }
}

//! Fields whose value is one of a few words: their other spellings. Capitals, `_`, `-` and spaces never matter, so
//! `insertAfter` and `INSERT-AFTER` need no row.

use crate::api::arguments::aliases::normalize_name;
use serde_json::Value;

/// A word with other words that models use for it.
type Word = (&'static str, &'static [&'static str]);

/// The words of one field.
struct WordField {
    /// The tools that have the field; empty for all.
    tools: &'static [&'static str],
    field: &'static str,
    words: &'static [Word],
}

const LINE_FORMATS: &[Word] = &[
    ("numbered", &[]),
    ("plain", &[]),
    ("hashline", &[]),
    ("hashline_put", &[]),
    ("anchors", &[]),
    ("anchors_tab", &[]),
];
const EDIT_FORMATS: &[Word] = &[
    ("search_replace", &["search/replace", "search_replace_blocks", "blocks"]),
    ("whole_file", &["whole"]),
    ("elided", &["lazy"]),
    ("apply_patch", &["v4a", "codex"]),
    ("unified_diff", &["unified", "diff", "udiff", "git_diff"]),
    ("hashline", &[]),
    ("hashline_put", &[]),
];
const TARGET_FORMATS: &[Word] = &[
    ("unified_diff", &["diff", "udiff", "git_diff"]),
    // The name of earlier versions, which convert still knows.
    ("unified", &[]),
    ("apply_patch", &["v4a", "codex"]),
    ("search_replace", &["search/replace", "search_replace_blocks", "blocks"]),
    ("whole_file", &["whole"]),
    ("hashline", &[]),
    ("anchors", &[]),
];

static FIELDS: &[WordField] = &[
    WordField { tools: &[], field: "match", words: &[("standard", &["default"]), ("strict", &[]), ("exact", &[])] },
    WordField {
        tools: &[],
        field: "on_stale",
        words: &[("merge", &[]), ("reject", &["refuse"]), ("markers", &[]), ("ask", &[])],
    },
    WordField { tools: &[], field: "order", words: &[("together", &[]), ("in_turn", &["sequential", "in_order"])] },
    WordField { tools: &[], field: "marks", words: LINE_FORMATS },
    WordField { tools: &["read", "search"], field: "format", words: LINE_FORMATS },
    WordField { tools: &["apply", "convert"], field: "format", words: EDIT_FORMATS },
    WordField { tools: &["convert"], field: "to", words: TARGET_FORMATS },
    WordField {
        tools: &["text_editor"],
        field: "command",
        words: &[
            ("view", &["show", "read"]),
            ("create", &["write"]),
            ("str_replace", &["replace"]),
            ("insert", &[]),
            ("undo_edit", &["undo"]),
        ],
    },
    WordField {
        tools: &["notebook_edit"],
        field: "edit_mode",
        words: &[("replace", &["update"]), ("insert", &["add"]), ("delete", &["remove"])],
    },
    WordField {
        tools: &["notebook_edit"],
        field: "cell_type",
        words: &[("code", &[]), ("markdown", &["md"]), ("raw", &[])],
    },
    WordField {
        tools: &["edit_symbol"],
        field: "action",
        words: &[
            ("replace", &["update"]),
            ("insert_before", &[]),
            ("insert_after", &[]),
            ("delete", &["remove"]),
            ("rename", &[]),
        ],
    },
    WordField {
        tools: &["edit_anchors"],
        field: "edit_type",
        words: &[("replace", &["update"]), ("insert_before", &[]), ("insert_after", &[]), ("delete", &["remove"])],
    },
    WordField {
        tools: &["apply"],
        field: "whitespace",
        words: &[("nowarn", &[]), ("warn", &[]), ("fix", &["strip"]), ("error", &[])],
    },
];

/// Returns the word that a text for this field means, if it is spelled otherwise.
pub(super) fn canonical_word(tool: &str, field: &str, text: &str) -> Option<&'static str> {
    let has = |row: &&WordField| row.field == field && (row.tools.is_empty() || row.tools.contains(&tool));
    let words = FIELDS.iter().find(has)?.words;
    if words.iter().any(|(word, _)| *word == text) {
        return None;
    }
    let name = normalize_name(text.trim());
    let is_meant = |word: &str| normalize_name(word) == name;
    words.iter().find(|(word, others)| is_meant(word) || others.iter().any(|other| is_meant(other))).map(|it| it.0)
}

/// True when a field of the call, or of an entry of `edits`, has such a word in another spelling.
pub(super) fn are_spelled_otherwise(tool: &str, input: &Value) -> bool {
    let entries = input.get("edits").and_then(Value::as_array).into_iter().flatten();
    is_spelled_otherwise(tool, input)
        || ["edit_anchors", "notebook_edit"].contains(&tool)
            && entries.take(10_000).any(|it| is_spelled_otherwise(tool, it))
}

/// True when one of these fields has such a word in another spelling.
fn is_spelled_otherwise(tool: &str, input: &Value) -> bool {
    FIELDS.iter().any(|row| {
        let text = input.get(row.field).and_then(Value::as_str);
        text.is_some_and(|text| canonical_word(tool, row.field, text).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::{FIELDS, canonical_word};
    use crate::api::tool_table::{TOOLS, Tool};

    #[test]
    fn words_are_those_of_the_schemas() {
        for row in FIELDS {
            let has = |tool: &&Tool| row.tools.is_empty() || row.tools.contains(&tool.name);
            for tool in TOOLS.iter().filter(has) {
                let known = tool.known();
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

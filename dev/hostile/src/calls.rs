//! Random calls: inputs made from the tools' own schemas, filled with text of the files and with hostile text.

use crate::files::{self, NAMES};
use emendate::Tool;
use oracles::luck::Luck;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Texts that fit many string fields.
const WORDS: &[&str] = &[
    "",
    " ",
    "numbered",
    "plain",
    "hashline",
    "anchors",
    "merge",
    "reject",
    "markers",
    "strict",
    "exact",
    "standard",
    "in_turn",
    "together",
    "replace",
    "insert",
    "delete",
    "view",
    "str_replace",
    "create",
    "undo_edit",
    "unified",
    "apply_patch",
    "search_replace",
    "3-7",
    "last",
    "1-0000",
    "%00",
    "\u{202e}",
    "main",
    "f1",
];

/// Patterns, ordinary and hostile.
const PATTERNS: &[&str] = &[
    "a+",
    "",
    "(a*)*b",
    "(?s).*",
    "x{0,1000}{0,1000}",
    "[[:alpha:]]{1,500}",
    "(",
    "value_(\\d+)",
    "^",
    "$",
    "\\b",
    ".",
    "(?i)SAME",
    "(.|\\n)*?end",
    "\\p{L}+",
];

/// The root and files that calls are made for.
pub(crate) struct Setting<'a> {
    /// The root of the server.
    pub(crate) root: &'a Path,
    /// Names of files below it.
    pub(crate) names: &'a [String],
}

impl Setting<'_> {
    /// Returns up to 1 MiB of a file as text, without bytes that are not text.
    fn text(&self, luck: &mut Luck) -> String {
        if self.names.is_empty() {
            return String::new();
        }
        let bytes = std::fs::read(self.root.join(luck.pick(self.names))).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 20)]).into_owned()
    }

    fn path(&self, luck: &mut Luck) -> String {
        if self.names.is_empty() || luck.chance(5) {
            let odd = ["missing.rs", "../outside.txt", "dir/new.txt", ".git/config", "\u{0}", "a\\b.txt", ""];
            return format!("{}/{}", self.root.display(), luck.pick(&odd));
        }
        self.root.join(luck.pick(self.names)).display().to_string()
    }

    /// Returns some lines of a file, unchanged or with a mistake.
    fn lines(&self, luck: &mut Luck) -> String {
        let text = self.text(luck);
        let lines: Vec<&str> = text.split('\n').collect();
        let first = luck.below(lines.len());
        let count = if luck.chance(90) { luck.between(1, 6) } else { luck.between(1, 5_000) };
        let taken = lines[first..(first + count).min(lines.len())].join("\n");
        match luck.below(8) {
            0 => taken.to_uppercase(),
            1 => taken.replace(' ', ""),
            2 => format!("{taken}\nabsent line"),
            3 => taken.replacen('1', "2", 1),
            _ => taken,
        }
    }

    /// Returns text of any kind, mostly short.
    fn any_text(&self, luck: &mut Luck) -> String {
        match luck.below(10) {
            0 => "same line\n".repeat(luck.below(100_000)),
            1 => "a".repeat(luck.below(1_000_000)),
            2 => (0..luck.below(300)).map(|_| files::code_point(luck)).collect(),
            3..=6 => self.lines(luck),
            _ => (*luck.pick(WORDS)).to_owned(),
        }
    }

    /// Generates an edit as text in some format with any number of parts.
    fn patch(&self, luck: &mut Luck) -> String {
        let name = if self.names.is_empty() { "t.txt".to_owned() } else { luck.pick(self.names).clone() };
        let parts = if luck.chance(95) { luck.between(1, 4) } else { luck.between(100, 12_000) };
        let mut out = String::new();
        for _ in 0..parts {
            let (old, new) =
                if parts > 4 { ("absent".to_owned(), "new".to_owned()) } else { (self.lines(luck), self.lines(luck)) };
            let prefixed =
                |sign: char, text: &str| text.split('\n').map(|line| format!("{sign}{line}\n")).collect::<String>();
            let (removed, added) = (prefixed('-', &old), prefixed('+', &new));
            let part = match luck.below(5) {
                0 => format!("{name}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"),
                1 => format!("*** Begin Patch\n*** Update File: {name}\n@@\n{removed}{added}*** End Patch\n"),
                2 => format!("--- a/{name}\n+++ b/{name}\n@@ -1,1 +1,1 @@\n{removed}{added}"),
                3 => format!("\u{b6}{name}#0000\nreplace {}..{}:\n{added}", luck.below(9), luck.below(99)),
                _ => format!("{name}\n```\n{new}\n```\n"),
            };
            out.push_str(&part);
        }
        if luck.chance(20) {
            let cut = luck.below(out.len() + 1);
            let cut = (0..=cut).rev().find(|&at| out.is_char_boundary(at));
            out.truncate(cut.unwrap_or(0));
        }
        out
    }

    /// Generates the value of a field from its name and schema.
    fn field(&self, luck: &mut Luck, name: &str, schema: &Value, root: &Value, depth: usize) -> Value {
        let schema = resolved(schema, root);
        match name {
            "file_path" | "path" | "notebook_path" | "file" => return json!(self.path(luck)),
            "directory" => return json!(self.root.display().to_string()),
            "pattern" if luck.chance(80) => return json!(luck.pick(PATTERNS)),
            "input" => return json!(self.patch(luck)),
            "old_string" | "old_str" | "start_line_text" | "end_line_text" if luck.chance(80) => {
                return json!(self.lines(luck));
            }
            "replacement" if luck.chance(20) => return json!("$0".repeat(luck.below(8_000))),
            "path_b64" | "base64" => return Value::Null,
            "dry_run" | "partial" => return json!(luck.chance(20)),
            _ => {}
        }
        match kind(&schema) {
            "integer" | "number" => json!(*luck.pick(&[0_i64, 1, 2, 7, 100, 100_000, -1, i64::MAX])),
            "boolean" => json!(luck.chance(50)),
            "array" => {
                let many = if luck.chance(95) { luck.below(4) } else { luck.below(10_001) };
                let item = schema.get("items").cloned().unwrap_or_else(|| json!({ "type": "string" }));
                let one = |luck: &mut Luck| self.field(luck, name, &item, root, depth + 1);
                if depth > 3 {
                    json!([])
                } else if many > 4 {
                    let item = one(luck);
                    // Keep requests to a few megabytes.
                    let fitting = (16 << 20) / (item.to_string().len() + 1);
                    json!(vec![item; many.min(fitting)])
                } else {
                    (0..many).map(|_| one(luck)).collect()
                }
            }
            "object" => self.object(luck, &schema, root, depth + 1),
            _ => match schema.get("enum").and_then(Value::as_array) {
                Some(words) if !words.is_empty() => luck.pick(words).clone(),
                _ => json!(self.any_text(luck)),
            },
        }
    }

    /// Generates an object that mostly fits a schema: the required fields and some of the others.
    fn object(&self, luck: &mut Luck, schema: &Value, root: &Value, depth: usize) -> Value {
        let mut out = Map::new();
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let needed = required.iter().any(|it| it == name);
            let likely = matches!(name.as_str(), "old_string" | "new_string" | "edits");
            if !luck.chance(if needed {
                99
            } else if likely {
                60
            } else {
                12
            }) {
                continue;
            }
            let value = self.field(luck, name, field, root, depth);
            if !value.is_null() {
                out.insert(name.clone(), value);
            }
        }
        Value::Object(out)
    }

    /// Generates the input of one call of `tool`.
    pub(crate) fn input(&self, luck: &mut Luck, tool: &Tool) -> Value {
        let schema = Value::Object(tool.schema());
        self.object(luck, &schema, &schema, 0)
    }

    /// Generates a hostile file for the root.
    pub(crate) fn new_file(luck: &mut Luck) -> (String, Vec<u8>) {
        let name = *luck.pick(NAMES);
        let size = match luck.below(100) {
            0 => 8 << 20,
            1..=3 => 1 << 20,
            4..=20 => luck.below(200_000),
            _ => luck.below(4_000),
        };
        (name.to_owned(), files::content(luck, name, size))
    }
}

/// Returns the schema behind a `$ref`, or behind an `anyOf` that only adds null.
fn resolved(schema: &Value, root: &Value) -> Value {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let found = name.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.cloned().unwrap_or_default();
    }
    let options = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    match options.and_then(|options| options.iter().find(|it| it.get("type") != Some(&json!("null")))) {
        Some(option) => resolved(option, root),
        None => schema.clone(),
    }
}

fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|it| *it != "null").unwrap_or("string")
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "string",
    }
}

//! Random calls: inputs made from the tools' own schemas, filled with text of the files and with hostile text.

use crate::files::{self, NAMES};
use emendate::Tool;
use emendate::core::ShortTag;
use oracles::luck::Luck;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Texts that are suitable for many string fields.
const WORDS: &[&str] = &[
    "", " ", "numbered", "plain", "hashline", "anchors", "merge", "reject", "markers", "strict", "exact", "standard",
    "in_turn", "together", "replace", "insert", "delete", "view", "str_replace", "create", "undo_edit", "unified_diff",
    "apply_patch", "search_replace", "3-7", "last", "1-0000", "%00", "\u{202e}", "main", "f1",
];

/// Patterns, ordinary and hostile.
const PATTERNS: &[&str] = &[
    "a+", "", "(a*)*b", "(?s).*", "x{0,1000}{0,1000}", "[[:alpha:]]{1,500}", "(", "value_(\\d+)", "^", "$", "\\b", ".",
    "(?i)SAME", "(.|\\n)*?end", "\\p{L}+",
];

/// Optional fields that most generated inputs contain.
const LIKELY_FIELDS: &[&str] =
    &["old_string", "new_string", "old_str", "new_str", "edits", "symbol", "cell_id", "new_source", "text", "content"];

/// The root and the files for which calls are generated.
pub(crate) struct Setting<'a> {
    /// The root of the server.
    pub(crate) root: &'a Path,
    /// Names of files below it.
    pub(crate) names: &'a [String],
}

/// The subject of one call: most fields are about the same file, so that many calls succeed.
struct Subject<'a> {
    root: &'a Path,
    name: String,
    /// The path that most path fields get.
    path: String,
    /// Up to 1 MiB of the file as text, without bytes that are not text.
    text: String,
    /// True if most optional fields are absent and the others are valid.
    tame: bool,
}

impl Setting<'_> {
    fn subject(&self, luck: &mut Luck, tool: &Tool) -> Subject<'_> {
        let tame = luck.chance(70);
        let notebooks = tool.name == "notebook_edit" && tame;
        let fitting: Vec<&String> = self.names.iter().filter(|name| !notebooks || *name == "s.ipynb").collect();
        let name = if fitting.is_empty() { "t.txt".to_owned() } else { (*luck.pick(&fitting)).clone() };
        let path = if luck.chance(if tame { 1 } else { 8 }) {
            let odd = ["missing.rs", "../outside.txt", "dir/new.txt", ".git/config", "\u{0}", "a\\b.txt", ""];
            format!("{}/{}", self.root.display(), luck.pick(&odd))
        } else if tool.name == "list" || (["search", "replace_in_files"].contains(&tool.name) && luck.chance(50)) {
            self.root.display().to_string()
        } else {
            self.root.join(&name).display().to_string()
        };
        let bytes = std::fs::read(self.root.join(&name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 20)]).into_owned();
        Subject { root: self.root, name, path, text, tame }
    }

    /// Generates the input of one call of `tool`.
    pub(crate) fn input(&self, luck: &mut Luck, tool: &Tool) -> Value {
        let schema = Value::Object(tool.schema());
        self.subject(luck, tool).object(luck, &schema, &schema, 0)
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

impl Subject<'_> {
    /// Returns some lines of the file, unchanged or, rarely in a tame call, with a mistake.
    fn lines(&self, luck: &mut Luck) -> String {
        let lines: Vec<&str> = self.text.split('\n').collect();
        let first = luck.below(lines.len());
        let count = if luck.chance(95) { luck.between(1, 12) } else { luck.between(1, 5_000) };
        let taken = lines[first..(first + count).min(lines.len())].join("\n");
        match luck.below(if self.tame { 40 } else { 8 }) {
            0 => taken.to_uppercase(),
            1 => taken.replace(' ', ""),
            2 => format!("{taken}\nabsent line"),
            3 => taken.replacen('1', "2", 1),
            4 => taken.lines().map(|line| format!("  {line}\n")).collect(),
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

    /// Returns a text as an edit would leave it: with a line more, a line less, another word, or any text at all.
    fn changed(&self, luck: &mut Luck, old: &str) -> String {
        let number = luck.below(1_000);
        let line = || format!("added {number}");
        match luck.below(6) {
            0 => format!("{old}\n{}", line()),
            1 => format!("{}\n{old}", line()),
            2 => old.split_once('\n').map_or_else(String::new, |(_, rest)| rest.to_owned()),
            3 => format!("{old}{}", files::code_point(luck)),
            4 if !self.tame => self.any_text(luck),
            _ => old.replacen(['a', 'e', '}', ' ', '1'], "q", 1) + "x",
        }
    }

    /// Generates an edit as text in some format, with any number of parts.
    fn patch(&self, luck: &mut Luck) -> String {
        let name = &self.name;
        let parts = if luck.chance(95) { luck.between(1, 3) } else { luck.between(100, 12_000) };
        let format = luck.below(5);
        let mut out = String::new();
        for _ in 0..parts {
            let old = if parts > 4 { "absent".to_owned() } else { self.lines(luck) };
            let new = self.changed(luck, &old);
            let prefixed =
                |sign: char, text: &str| text.split('\n').map(|line| format!("{sign}{line}\n")).collect::<String>();
            let (removed, added) = (prefixed('-', &old), prefixed('+', &new));
            // A tame call stays within one format.
            let part = match if self.tame { format } else { luck.below(5) } {
                0 => format!("{name}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"),
                1 => format!("*** Begin Patch\n*** Update File: {name}\n@@\n{removed}{added}*** End Patch\n"),
                2 => format!("--- a/{name}\n+++ b/{name}\n@@ -1,1 +1,1 @@\n{removed}{added}"),
                3 => {
                    let tag = ShortTag::of(&self.text);
                    format!("\u{b6}{name}#{tag}\nreplace {0}..{0}:\n{added}", luck.between(1, 99))
                }
                _ => format!("{name}\n```\n{new}\n```\n"),
            };
            out.push_str(&part);
            if self.tame && format == 4 {
                break;
            }
        }
        if luck.chance(if self.tame { 3 } else { 20 }) {
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
            "file_path" | "path" | "notebook_path" | "file" => return json!(self.path),
            "paths" if self.tame => return json!([self.path]),
            "directory" => return json!(self.root.display().to_string()),
            "pattern" if luck.chance(80) => return json!(luck.pick(PATTERNS)),
            "input" => return json!(self.patch(luck)),
            "old_string" | "old_str" | "start_line_text" | "end_line_text" if self.tame || luck.chance(80) => {
                return json!(self.lines(luck));
            }
            "symbol" if self.tame => return json!(format!("f{}", luck.below(40))),
            "cell_id" if self.tame => return json!(format!("c{}", luck.below(5))),
            "id" if self.tame => return json!(luck.between(1, 20).to_string()),
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
                    // The limit keeps requests to a few megabytes.
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

    /// Generates an object that mostly conforms to a schema: the required fields and some of the others.
    fn object(&self, luck: &mut Luck, schema: &Value, root: &Value, depth: usize) -> Value {
        let mut out = Map::new();
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let needed = required.iter().any(|it| it == name);
            let likely = LIKELY_FIELDS.contains(&name.as_str());
            let chance = match (needed, likely) {
                (true, _) if self.tame => 100,
                (true, _) => 99,
                (_, true) => 60,
                _ if self.tame => 2,
                _ => 12,
            };
            if !luck.chance(chance) {
                continue;
            }
            let value = self.field(luck, name, field, root, depth);
            if !value.is_null() {
                out.insert(name.clone(), value);
            }
        }
        if self.tame || luck.chance(50) {
            self.fit(luck, &mut out);
        }
        Value::Object(out)
    }

    /// Makes the fields of an edit consistent: one form of edit, and new text that belongs to the old one.
    fn fit(&self, luck: &mut Luck, out: &mut Map<String, Value>) {
        for (old, new) in [("old_string", "new_string"), ("old_str", "new_str")] {
            if out.contains_key("edits") && self.tame {
                out.remove(old);
                out.remove(new);
            } else if let Some(text) = out.get(old).and_then(Value::as_str).map(str::to_owned) {
                out.insert(new.to_owned(), json!(self.changed(luck, &text)));
            }
        }
    }
}

/// Returns the schema that a `$ref` refers to, or that of an `anyOf` that only adds null.
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

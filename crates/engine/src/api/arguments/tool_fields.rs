//! Fields that one tool reads in a way of its own: ranges of lines, the command of a text editor, numbers of cells.

use crate::api::arguments::aliases::normalize_name;
use crate::api::arguments::fields::is_nothing;
use crate::api::arguments::reader::{ArgumentReader, UnusedReason};
use crate::api::arguments::words;
use crate::tools::tool::Tool;
use serde_json::{Map, Value, json};
use std::path::Path;

impl ArgumentReader<'_> {
    /// Converts `start_line` and `end_line` of other clients to offset and limit.
    pub(super) fn lines(&mut self, fields: &mut Map<String, Value>) {
        if fields.contains_key("limit") {
            return;
        }
        let Some(last) = field_named(fields, &["endline", "lineend", "toline"]) else { return };
        let first = field_named(fields, &["startline", "linestart", "fromline", "offset"]);
        let from = first.as_ref().and_then(|name| read_number(&fields[name])).unwrap_or(1).max(1);
        let Some(to) = read_number(&fields[&last]).filter(|to| *to >= from) else { return };
        fields.shift_remove(&last);
        if let Some(first) = first {
            fields.shift_remove(&first);
            fields.insert("offset".to_owned(), from.into());
        }
        fields.insert("limit".to_owned(), (to - from + 1).into());
        self.notes.push(format!("Lines {from} to {to} were read as offset and limit."));
    }

    /// Reads whether the pattern of a search is an expression, for a client that says that beside the pattern.
    pub(super) fn is_expression(&mut self, fields: &mut Map<String, Value>) {
        let switches = ["regex", "isregex", "useregex"];
        let Some(name) = field_named(fields, &switches).filter(|_| has_field(fields, &["pattern"])) else { return };
        let Some(is_regex) = fields[&name].as_bool() else { return };
        fields.shift_remove(&name);
        if !is_regex && !has_field(fields, &["literal", "fixedstrings"]) {
            fields.insert("literal".to_owned(), true.into());
        }
        self.notes.push(format!("{name} {is_regex} was read as literal {}.", !is_regex));
    }

    /// Determines the command of a text editor, if the other fields leave only one.
    fn command(&mut self, fields: &mut Map<String, Value>) {
        if has_field(fields, &["command"]) {
            return;
        }
        let (old, new) =
            (has_field(fields, &["oldstr", "oldstring", "oldtext"]), has_field(fields, &["filetext", "content"]));
        let command = match (old, new, has_field(fields, &["insertline"])) {
            (true, false, false) => "str_replace",
            (false, true, false) => "create",
            (false, false, true) => "insert",
            (false, false, false) if !has_field(fields, &["newstr", "newstring", "inserttext"]) => "view",
            _ => return,
        };
        fields.insert("command".to_owned(), command.into());
        self.notes.push(format!("The call has no command; its fields are those of {command}."));
    }

    /// Reads the fields of a text editor that depend on its command.
    pub(super) fn editor(&mut self, fields: &mut Map<String, Value>) {
        self.command(fields);
        let named = fields.get("command").and_then(Value::as_str).unwrap_or_default();
        let command = words::canonical_word(self.tool, "command", named).unwrap_or(named);
        let text = match command {
            "create" => "file_text",
            "insert" => "insert_text",
            "str_replace" => "new_str",
            "view" => return self.viewed_lines(fields),
            _ => return,
        };
        if fields.contains_key("text") && !fields.keys().any(|name| normalize_name(name) == normalize_name(text)) {
            let value = fields.shift_remove("text").unwrap_or_default();
            fields.insert(text.to_owned(), value);
            self.spell("text", text);
        }
    }

    /// Converts `start_line` and `end_line` to a range of lines to view.
    fn viewed_lines(&mut self, fields: &mut Map<String, Value>) {
        let (first, last) = (field_named(fields, &["startline"]), field_named(fields, &["endline"]));
        let (Some(first), false) = (first, has_field(fields, &["viewrange", "range"])) else { return };
        let Some(from) = read_number(&fields[&first]) else { return };
        let to =
            last.as_ref().map_or(Some(-1), |name| read_number(&fields[name]).and_then(|it| i64::try_from(it).ok()));
        let Some(to) = to else { return };
        fields.shift_remove(&first);
        if let Some(name) = last {
            fields.shift_remove(&name);
        }
        fields.insert("view_range".to_owned(), json!([from, to]));
        self.notes.push(format!("{first} and the last line were read as view_range [{from}, {to}]."));
    }

    /// Takes a number in place of a cell's id as its number.
    pub(super) fn cell(&mut self, fields: &mut Map<String, Value>) {
        let id = fields.get("cell_id").filter(|id| id.is_u64()).cloned();
        let (Some(id), false) = (id, has_field(fields, &["cellnumber", "cellindex"])) else { return };
        fields.shift_remove("cell_id");
        self.notes.push(format!("cell_id was the number {id}; it was read as cell_number."));
        fields.insert("cell_number".to_owned(), id);
    }

    /// Turns the fields of `edit` into those of an edit of a cell: the path, and nothing in place of empty ones.
    pub(super) fn cell_of_edit(&mut self, edit: &Tool, fields: &mut Map<String, Value>) {
        let own = &edit.known().whole["properties"];
        fields.retain(|name, value| {
            let is_empty = own.get(name).is_some() && is_nothing(value);
            if is_empty && !value.is_null() {
                self.leave_out(UnusedReason::Empty, name);
            }
            !is_empty
        });
        if let Some(path) = fields.shift_remove("file_path") {
            fields.entry("notebook_path").or_insert(path);
        }
    }

    /// Leaves out the fields of a cell that change nothing in an edit of text.
    pub(super) fn leave_out_cell(&mut self, fields: &mut Map<String, Value>) {
        fields.retain(|name, value| {
            let why = match &*normalize_name(name) {
                "cellid" | "cellnumber" | "newsource" | "celltype" | "editmode" if is_nothing(value) => {
                    UnusedReason::Empty
                }
                "celltype" | "editmode" => UnusedReason::NoCell,
                _ => return true,
            };
            if !value.is_null() {
                self.leave_out(why, name);
            }
            false
        });
    }

    /// Leaves out the empty fields of an edit by the first and the last line if it names none: an empty `new_text` alone
    /// would be another spelling of `new_string`.
    pub(super) fn leave_out_lines(&mut self, fields: &mut Map<String, Value>) {
        let named = ["startlinetext", "endlinetext"].map(|name| field_named(fields, &[name]));
        let mut named: Vec<String> = named.into_iter().flatten().collect();
        if named.is_empty() || !named.iter().all(|name| is_nothing(&fields[name])) {
            return;
        }
        named.extend(field_named(fields, &["newtext"]).filter(|name| is_nothing(&fields[name])));
        for name in named {
            if fields.shift_remove(&name).is_some_and(|value| !value.is_null()) {
                self.leave_out(UnusedReason::Empty, &name);
            }
        }
    }

    /// Takes `new_name` as the text of a rename. With another action, it would be a text of a wrong kind.
    pub(super) fn new_name(&mut self, fields: &mut Map<String, Value>) {
        let action = fields.get("action").and_then(Value::as_str).unwrap_or_default();
        let action = words::canonical_word(self.tool, "action", action).unwrap_or(action);
        let (Some(name), "rename", false) = (field_named(fields, &["newname"]), action, fields.contains_key("text"))
        else {
            return;
        };
        let value = fields.shift_remove(&name).unwrap_or_default();
        fields.insert("text".to_owned(), value);
        self.spell(&name, "text");
    }

    /// A search or a list without a path is about the whole root, if there is one.
    pub(super) fn searched_path(&mut self, out: &mut Map<String, Value>) {
        let start = self.start.and_then(Path::to_str);
        if let ("search" | "list", false, Some(start)) = (self.tool.name, has_field(out, &["path", "pathb64"]), start) {
            out.insert("path".to_owned(), start.into());
            self.notes.push(format!("The call has no path; it was read as {start}."));
        }
    }
}

/// True for a call of `edit` that edits a cell: it names one, or has what only a cell can be given.
pub(super) fn is_about_cell(fields: &Map<String, Value>) -> bool {
    fields.iter().any(|(name, value)| match &*normalize_name(name) {
        "notebookpath" | "cellid" | "cellnumber" | "newsource" => !is_nothing(value),
        "editmode" => !is_nothing(value) && value.as_str().is_none_or(|mode| normalize_name(mode) != "replace"),
        _ => false,
    })
}

/// True if there is a field with one of the names.
fn has_field(fields: &Map<String, Value>, names: &[&str]) -> bool {
    fields.keys().any(|name| names.contains(&&*normalize_name(name)))
}

/// Returns the field with one of the names.
fn field_named(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    fields.keys().find(|name| names.contains(&&*normalize_name(name))).cloned()
}

/// Reads a number, or a text that is one.
fn read_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

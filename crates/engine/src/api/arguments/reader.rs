//! Reading of the fields of one call: maps each name to its field and finds names that contradict each other.

use crate::api::arguments::aliases::normalize_name;
use crate::api::arguments::fields::{KnownFields, is_nothing, required_fields};
use crate::api::arguments::{join, words};
use crate::model::raw_path::PATH_FIELDS;
use crate::tools::aliases::Alias;
use crate::tools::tool::Tool;
use emendate_core::{Code, Error, Notes, Result, Vocabulary};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Maximum number of missing fields that one error lists.
const MISSING_MAX: usize = 20;

/// Position of a field in the call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldLevel {
    /// A field of the call.
    Call,
    /// A field of an entry of `edits`.
    Entry,
    /// Anything deeper, such as one of several files.
    Inner,
}

/// Why a field is not used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnusedReason {
    Unknown,
    Empty,
    OnlyInLists,
    NoCell,
}

impl UnusedReason {
    fn reason(self) -> &'static str {
        match self {
            UnusedReason::Unknown => "the tool has no such field",
            UnusedReason::Empty => "nothing is in it",
            UnusedReason::OnlyInLists => "the call is a single edit",
            UnusedReason::NoCell => "the call names no cell",
        }
    }
}

/// The field that a name refers to.
enum FieldRef {
    /// A field of the schema; false if the name is another spelling of it.
    Field(String, bool),
    /// The file of the call, repeated in an entry of `edits`.
    CallPath,
    /// A field of an entry, in a call without a list of entries.
    OnlyEntry(String),
    Unknown,
}

/// Reads one call.
pub(super) struct ArgumentReader<'a> {
    pub(super) known: &'static KnownFields,
    pub(super) tool: &'static Tool,
    pub(super) start: Option<&'a Path>,
    pub(super) notes: Notes,
    /// Accepted spellings with their fields, each once.
    spelled: Vec<(String, String)>,
    /// Fields that are not used.
    left_out: BTreeMap<UnusedReason, Vec<String>>,
    /// True if several fields of the object that is being read are lists of texts.
    pub(super) are_lists: bool,
    /// The client's names of fields.
    names: Option<&'a dyn Vocabulary>,
    /// Fields missing in entries.
    missing: Vec<String>,
    /// Paths in entries, with their positions.
    paths: Vec<(String, Value)>,
    /// Fields of the only entry, outside a list.
    entry: Map<String, Value>,
}

impl<'a> ArgumentReader<'a> {
    pub(super) fn new(
        tool: &'static Tool,
        start: Option<&'a Path>,
        names: Option<&'a dyn Vocabulary>,
        notes: Notes,
    ) -> ArgumentReader<'a> {
        ArgumentReader {
            names,
            known: tool.known(),
            tool,
            start,
            notes,
            spelled: Vec::new(),
            left_out: BTreeMap::new(),
            are_lists: false,
            missing: Vec::new(),
            paths: Vec::new(),
            entry: Map::new(),
        }
    }

    pub(super) fn call(&mut self, mut fields: Map<String, Value>) -> Result<Value> {
        let known = self.known;
        if self.tool.name == "edit" {
            self.leave_out_cell(&mut fields);
            self.leave_out_lines(&mut fields);
        }
        self.leave_out_unset(&mut fields, &known.whole, FieldLevel::Call);
        match self.tool.name {
            "read" => self.lines(&mut fields),
            "search" => self.is_expression(&mut fields),
            "text_editor" => self.editor(&mut fields),
            "notebook_edit" => self.cell(&mut fields),
            "edit_symbol" => self.new_name(&mut fields),
            _ => {}
        }
        let mut out = self.object(fields, &known.whole, "", FieldLevel::Call)?;
        if !self.entry.is_empty() {
            let entry = std::mem::take(&mut self.entry);
            let names: Vec<&str> = entry.keys().map(String::as_str).collect();
            if out.get("edits").and_then(Value::as_array).is_some_and(|edits| !edits.is_empty()) {
                return Err(Error::new(Code::CallInvalid, format!("{} is beside edits.", names.join(", ")))
                    .next("Put every replacement into edits, one entry each; nothing was changed."));
            }
            self.notes.push("The call is one edit without a list; it was read as a list of one.".to_owned());
            out.insert("edits".to_owned(), Value::Array(vec![Value::Object(entry)]));
        }
        self.same_file(&mut out)?;
        self.searched_path(&mut out);
        self.leave_out_other_forms(&mut out);
        if !self.missing.is_empty() {
            let rest = self.missing.len().saturating_sub(MISSING_MAX);
            self.missing.truncate(MISSING_MAX);
            let mut what = self.missing.join(" ");
            if rest > 0 {
                let _ = write!(what, " {rest} more entries miss fields.");
            }
            return Err(Error::new(Code::CallInvalid, what)
                .next("Send the whole call again with these fields; nothing was changed.")
                .fact("fields_missing", true));
        }
        Ok(Value::Object(out))
    }

    /// Replaces a word in another spelling by the standard word of its field.
    fn word(&mut self, value: Value, field: &str, at: &str) -> Value {
        let word = value.as_str().and_then(|text| words::canonical_word(self.tool, field, text));
        let Some(word) = word else { return value };
        self.notes.push(format!("{} was {value}; it was read as \"{word}\".", join(at, field)));
        word.into()
    }

    /// Checks that the paths in entries are the call's.
    fn same_file(&mut self, out: &mut Map<String, Value>) -> Result<()> {
        let paths = std::mem::take(&mut self.paths);
        let Some((_, first)) = paths.first() else { return Ok(()) };
        let field = if self.known.whole["properties"].get("file_path").is_some() { "file_path" } else { "path" };
        let path = out.entry(field).or_insert_with(|| first.clone());
        match paths.iter().find(|(_, other)| other != path) {
            Some((at, other)) => Err(Error::new(Code::CallInvalid, format!("{at} names another file than the call."))
                .evidence(format!("{field}: {path}\n{at}: {other}"))
                .next("Send one call for each file; nothing was changed.")),
            None => Ok(()),
        }
    }

    pub(super) fn object(
        &mut self,
        mut fields: Map<String, Value>,
        schema: &'static Value,
        at: &str,
        level: FieldLevel,
    ) -> Result<Map<String, Value>> {
        let Some(known) = schema.get("properties").and_then(Value::as_object) else { return Ok(fields) };
        self.leave_out_unset(&mut fields, schema, level);
        let names: Vec<String> = fields.keys().map(|name| normalize_name(name)).collect();
        let is_list = |value: &&Value| {
            value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_string))
        };
        self.are_lists = fields.values().filter(is_list).count() > 1;
        let mut sources: Map<String, Value> = Map::new();
        let mut out = Map::new();
        for (name, value) in fields {
            match self.meaning(&name, &names, known, level) {
                FieldRef::Field(field, exact) => {
                    let value = self.value(value, &known[&field], &join(at, &field), Some(&field))?;
                    let value = self.word(value, &field, at);
                    if !exact {
                        let is_given = names.contains(&normalize_name(&field));
                        self.check_alias(&name, &value, &field, &known[&field], is_given)?;
                        self.spell(&name, &field);
                    }
                    if out.get(&field).is_some_and(|other| *other != value) {
                        let first = sources.get(&field).and_then(Value::as_str).unwrap_or_default();
                        return Err(contradiction(first, &name, at));
                    }
                    sources.insert(field.clone(), name.into());
                    out.insert(field, value);
                }
                FieldRef::CallPath => {
                    let value = self.path(value);
                    self.paths.push((join(at, &name), value));
                }
                FieldRef::OnlyEntry(field) => self.only_entry(&name, &field, value)?,
                FieldRef::Unknown => self.unknown(&name, &value, at, known)?,
            }
        }
        if level == FieldLevel::Entry {
            for field in required_fields(schema).filter(|field| !out.contains_key(*field)) {
                if self.missing.len() >= MISSING_MAX {
                    self.missing.push(String::new());
                    continue;
                }
                let has: Vec<String> = out.keys().map(|field| self.named(field)).collect();
                let field = self.named(field);
                let has = if has.is_empty() { "nothing".to_owned() } else { has.join(", ") };
                self.missing.push(format!("{at}: {field} is missing (the entry has {has})."));
            }
        }
        Ok(out)
    }

    /// Leaves out the optional fields of an object that request nothing.
    fn leave_out_unset(&mut self, fields: &mut Map<String, Value>, schema: &'static Value, level: FieldLevel) {
        let Some(known) = schema.get("properties").and_then(Value::as_object) else { return };
        if !fields.values().any(is_nothing) {
            return;
        }
        let names: Vec<String> = fields.keys().map(|name| normalize_name(name)).collect();
        fields.retain(|name, value| {
            let FieldRef::Field(field, _) = self.meaning(name, &names, known, level) else { return true };
            let is_unset = self.known.is_unset(schema, &field, value);
            if is_unset && !value.is_null() {
                self.leave_out(UnusedReason::Empty, name);
            }
            !is_unset
        });
    }

    fn meaning(&self, name: &str, names: &[String], known: &Map<String, Value>, level: FieldLevel) -> FieldRef {
        let key = normalize_name(name);
        let rows = match level {
            FieldLevel::Call | FieldLevel::Inner => self.tool.aliases,
            FieldLevel::Entry => self.tool.entry_aliases,
        };
        // An alias with a condition takes precedence over a field of the same name.
        if let Some(row) = rows.iter().filter(|row| row.unless.is_some()).find(|row| applies(row, &key, names, known)) {
            return FieldRef::Field(row.field.to_owned(), false);
        }
        if known.contains_key(name) {
            return FieldRef::Field(name.to_owned(), true);
        }
        if let Some(field) = known.keys().find(|field| normalize_name(field) == key) {
            return FieldRef::Field(field.clone(), false);
        }
        if let Some(row) = rows.iter().find(|row| applies(row, &key, names, known)) {
            return FieldRef::Field(row.field.to_owned(), false);
        }
        let mut paths = self.tool.aliases.iter().filter(|row| PATH_FIELDS.contains(&row.field));
        if level == FieldLevel::Entry
            && (key == "filepath" || paths.any(|row| row.others.iter().any(|other| normalize_name(other) == key)))
        {
            return FieldRef::CallPath;
        }
        if level == FieldLevel::Call && known.contains_key("edits") && !known.contains_key("old_string") {
            let entry = self.entry_fields();
            let exact = entry.and_then(|entry| entry.keys().find(|field| normalize_name(field) == key)).cloned();
            let row =
                self.tool.entry_aliases.iter().find(|row| row.others.iter().any(|other| normalize_name(other) == key));
            let field = exact.or_else(|| row.map(|row| row.field.to_owned()));
            if let Some(field) = field.filter(|field| entry.is_some_and(|entry| entry.contains_key(field))) {
                return FieldRef::OnlyEntry(field);
            }
        }
        FieldRef::Unknown
    }

    /// The fields of an entry of `edits`.
    fn entry_fields(&self) -> Option<&'static Map<String, Value>> {
        let known = self.known;
        let list = known.resolve_schema(known.whole["properties"].get("edits")?);
        known.resolve_schema(list.get("items")?).get("properties")?.as_object()
    }

    fn only_entry(&mut self, name: &str, field: &str, value: Value) -> Result<()> {
        if is_nothing(&value) && field != "new_string" {
            return Ok(());
        }
        let Some(fields) = self.entry_fields() else { return Ok(()) };
        let value = self.value(value, &fields[field], name, Some(field))?;
        if let Some(other) = self.entry.insert(field.to_owned(), value.clone())
            && other != value
        {
            return Err(contradiction(field, name, ""));
        }
        Ok(())
    }

    /// Returns the client's name of a field.
    fn named(&self, field: &str) -> String {
        self.names.and_then(|names| names.field(field)).unwrap_or_else(|| field.to_owned())
    }

    /// Accepts another spelling only for a value that fits the field.
    fn check_alias(
        &self,
        name: &str,
        value: &Value,
        field: &str,
        schema: &'static Value,
        is_given: bool,
    ) -> Result<()> {
        if self.known.accepts(value, schema, false) {
            return Ok(());
        }
        let field = self.named(field);
        Err(Error::new(
            Code::CallInvalid,
            format!("`{name}` is not a field of this tool, and its value does not fit {field}."),
        )
        .evidence(format!("{name}: {}", shortened(value)))
        .next(if is_given {
            format!("Omit {name}, because the call has {field}; nothing was changed.")
        } else {
            format!("Send {field} if that is meant; nothing was changed.")
        }))
    }

    pub(super) fn spell(&mut self, name: &str, field: &str) {
        if !self.spelled.iter().any(|known| (&*known.0, &*known.1) == (name, field)) {
            self.spelled.push((name.to_owned(), field.to_owned()));
        }
    }

    /// Notes a field that is not used, once for each reason.
    pub(super) fn leave_out(&mut self, why: UnusedReason, name: &str) {
        let names = self.left_out.entry(why).or_default();
        if !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }

    pub(super) fn notes(mut self) -> Notes {
        let mut notes = std::mem::take(&mut self.notes);
        if !self.spelled.is_empty() {
            let spelled = self.spelled.iter().map(|(name, field)| format!("{name} as {}", self.named(field)));
            notes.push(format!("Read as they were meant: {}.", spelled.collect::<Vec<String>>().join(", ")));
        }
        for (why, fields) in self.left_out {
            notes.push(format!("Ignored, because {}: {}.", why.reason(), fields.join(", ")));
        }
        notes
    }
}

/// True if a name means the field of a row: `key` is one of its other names, no excluding name is given, and the tool
/// has the field.
fn applies(row: &Alias, key: &str, names: &[String], known: &Map<String, Value>) -> bool {
    row.others.iter().any(|other| normalize_name(other) == key)
        && row.unless.is_none_or(|other| !names.contains(&normalize_name(other)))
        && known.contains_key(row.field)
}

fn contradiction(first: &str, second: &str, at: &str) -> Error {
    let place = if at.is_empty() { String::new() } else { format!("{at}: ") };
    Error::new(Code::CallInvalid, format!("{place}{first} and {second} are the same field with different values."))
        .next("Send only the one that is meant; nothing was changed.")
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(100).collect();
    if cut.len() < text.len() { cut + " …" } else { cut }
}

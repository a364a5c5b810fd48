//! Normalization of arguments as models send them to the tool's schema: other spellings, numbers and lists as text,
//! single entries in place of lists, relative paths. Each tolerance is noted; ambiguity is an error.

pub(crate) mod aliases;
pub(crate) mod fields;
pub(crate) mod foreign;
mod forms;
pub(crate) mod reader;
mod tool_fields;
pub(crate) mod values;
mod words;

pub(crate) use crate::api::arguments::aliases::normalize_name;
pub(crate) use crate::api::arguments::fields::KnownFields;
use crate::api::arguments::reader::ArgumentReader;
use crate::api::tool_table;
use crate::tools::tool::Tool;
use emendate_core::{Code, Error, Notes, Result, Vocabulary};
use serde_json::Value;
use std::path::Path;

/// Objects that some clients wrap around the arguments.
const WRAPPER_FIELDS: &[&str] = &["input", "arguments", "args", "params", "parameters", "toolinput"];

/// The normalized arguments of a call.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The input in the form of the schema.
    pub(crate) value: Value,
    /// One sentence per tolerance.
    pub(crate) notes: Notes,
}

impl Arguments {
    /// Normalizes the input of a call. Relative paths are resolved against `start`, if that is unambiguous. Errors use the
    /// client's names of fields.
    ///
    /// Errors: `call.invalid` for two spellings that contradict each other, fields that the tool lacks and that would
    /// change the call, and entries of `edits` with missing fields.
    pub(crate) fn read(
        tool: &'static Tool,
        start: Option<&Path>,
        names: Option<&dyn Vocabulary>,
        input: Value,
    ) -> Result<Arguments> {
        let schema = tool.known();
        if schema.fits(&input)
            && !words::are_spelled_otherwise(tool, &input)
            && !has_other_meaning(tool, &input)
            && !forms::has_several(tool, &input)
        {
            return Ok(Arguments { value: input, notes: Notes::new() });
        }
        let mut notes = Notes::new();
        let Value::Object(mut fields) = unwrapped(tool, input, &mut notes) else {
            return Err(Error::new(Code::CallInvalid, "The input must be a JSON object.")
                .next("Send an object with the tool's fields."));
        };
        let about_cell = tool.name == "edit" && tool_fields::is_about_cell(&fields);
        let called = if about_cell { tool_table::tool("notebook_edit").unwrap_or(tool) } else { tool };
        let mut reader = ArgumentReader::new(called, start, names, notes);
        if about_cell {
            reader.cell_of_edit(tool, &mut fields);
        }
        let value = reader.call(fields)?;
        Ok(Arguments { value, notes: reader.notes() })
    }
}

/// True if a field of the tool may mean another one, beside the other fields of the call.
fn has_other_meaning(tool: &Tool, input: &Value) -> bool {
    let mut rows = tool.aliases.iter().filter(|row| row.unless.is_some_and(|other| input.get(other).is_none()));
    rows.any(|row| row.others.iter().any(|name| input.get(name).is_some()))
}

/// Removes wrappers of some clients around the arguments: JSON in a string, an object of its own.
fn unwrapped(tool: &Tool, input: Value, notes: &mut Notes) -> Value {
    let mut input = input;
    for _ in 0..4 {
        match input {
            Value::String(text) => match serde_json::from_str::<Value>(&text) {
                Ok(inner @ Value::Object(_)) => {
                    notes.push(
                        "The arguments were one string that contains JSON; they were read as the object.".to_owned(),
                    );
                    input = inner;
                }
                _ => return Value::String(text),
            },
            Value::Object(mut fields) => {
                let inner: Vec<String> = fields
                    .keys()
                    .filter(|name| !["name", "tool", "type"].contains(&&*normalize_name(name)))
                    .cloned()
                    .collect();
                let [name] = &*inner else { return Value::Object(fields) };
                let known = tool.known().whole["properties"].get(name).is_some();
                let holds = fields[name].is_object()
                    || fields[name].as_str().is_some_and(|text| text.trim_start().starts_with('{'));
                if known || !holds || !WRAPPER_FIELDS.contains(&&*normalize_name(name)) {
                    return Value::Object(fields);
                }
                notes.push(format!("The arguments were in a field `{name}`; they were taken out of it."));
                input = fields.shift_remove(name).unwrap_or_default();
            }
            other => return other,
        }
    }
    input
}

fn join(at: &str, field: &str) -> String {
    if at.is_empty() { field.to_owned() } else { format!("{at}.{field}") }
}

#[cfg(test)]
mod tests;

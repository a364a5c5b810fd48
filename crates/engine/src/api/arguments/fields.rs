//! The fields of a tool, and checks whether values fit them.

use crate::api::table_names::is_published;
use crate::model::raw_path::PATH_FIELDS;
use serde_json::{Map, Value};
use std::path::Path;

/// The schema of a tool, cached for all calls.
#[derive(Debug)]
pub(crate) struct KnownFields {
    pub(super) whole: Value,
    /// The optional fields whose empty value has a meaning.
    meant_empty: &'static [&'static str],
}

impl KnownFields {
    pub(crate) fn new(schema: Map<String, Value>, meant_empty: &'static [&'static str]) -> KnownFields {
        KnownFields { whole: Value::Object(schema), meant_empty }
    }

    /// True for the name of a field of a call, or of an entry of `edits`.
    pub(crate) fn have(&self, name: &str) -> bool {
        self.whole.as_object().is_some_and(|schema| is_published(name, schema))
    }

    /// True if a call needs no normalization: its names are known, its values have the right types, and its paths are
    /// absolute.
    pub(super) fn fits(&self, input: &Value) -> bool {
        input.is_object() && self.accepts(input, &self.whole, true)
    }

    /// True for a value that leaves an optional field of the object with this schema unset: null, or an empty text,
    /// list or object where that has no meaning of its own. Strict schemas make models send every field.
    pub(super) fn is_unset(&self, object: &Value, field: &str, value: &Value) -> bool {
        is_nothing(value)
            && !value.is_boolean()
            && !required_fields(object).any(|required| required == field)
            && (value.is_null() || !self.meant_empty.contains(&field))
    }

    pub(super) fn accepts(&self, value: &Value, schema: &Value, deep: bool) -> bool {
        let schema = self.resolve_schema(schema);
        match value {
            Value::Null => true,
            Value::Bool(_) => has_type(schema, "boolean"),
            Value::Number(number) => {
                has_type(schema, "number") || (has_type(schema, "integer") && (number.is_u64() || number.is_i64()))
            }
            Value::String(_) => has_type(schema, "string"),
            Value::Array(items) => {
                let each = schema.get("items");
                has_type(schema, "array")
                    && each.is_none_or(|each| !deep || items.iter().all(|item| self.accepts(item, each, deep)))
            }
            Value::Object(fields) => {
                let Some(known) = schema.get("properties").and_then(Value::as_object) else {
                    return has_type(schema, "object");
                };
                !deep
                    || (fields.iter().all(|(name, value)| {
                        known.get(name).is_some_and(|field| !value.is_null() && self.accepts(value, field, deep))
                            && !self.is_unset(schema, name, value)
                            && !is_relative(name, value)
                    }) && required_fields(schema).all(|name| fields.contains_key(name)))
            }
        }
    }

    /// Returns a schema with references resolved and without the null alternative.
    pub(super) fn resolve_schema<'s>(&'s self, mut schema: &'s Value) -> &'s Value {
        // Circular definitions do not occur in our own schemas; the bound is a safeguard.
        for _ in 0..8 {
            let next = if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
                name.strip_prefix("#/$defs/").and_then(|name| self.whole.get("$defs")?.get(name))
            } else if let Some(forms) = schema.get("anyOf").and_then(Value::as_array) {
                forms.iter().find(|form| form.get("type").is_none_or(|kind| kind != "null"))
            } else {
                None
            };
            let Some(next) = next else { break };
            schema = next;
        }
        schema
    }
}

/// Returns the required fields of the object with this schema.
pub(super) fn required_fields(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// True for values that request nothing.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        // An enumeration of words.
        _ if schema.get("oneOf").is_some() => name == "string",
        _ => true,
    }
}

/// True for a relative path.
fn is_relative(name: &str, value: &Value) -> bool {
    PATH_FIELDS.contains(&name)
        && match value {
            Value::Array(paths) => paths.iter().any(is_relative_text),
            path => is_relative_text(path),
        }
}

/// True for a path that is relative, or that has quotes, brackets or the like around it.
fn is_relative_text(value: &Value) -> bool {
    value.as_str().is_some_and(|path| !Path::new(path).is_absolute() || bare_path(path) != path)
}

/// Returns a path without the line ends, brackets and quotes around it, spaces and tabs before it, and `file://`.
pub(super) fn bare_path(text: &str) -> &str {
    let mut inner = text.trim_matches(['\n', '\r']);
    // A space before the leading slash cannot be part of an absolute path; one at the end can be part of a name.
    let absolute = inner.trim_start_matches([' ', '\t']);
    if absolute.starts_with('/') {
        inner = absolute;
    }
    if let Some(path) = inner.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'))
        && !path.is_empty()
        && !path.contains(['<', '>'])
    {
        inner = path;
    }
    for quote in ['"', '\'', '`'] {
        if let Some(quoted) = inner.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote))
            && !quoted.is_empty()
            && !quoted.contains(quote)
        {
            inner = quoted;
        }
    }
    // A URL with percent escapes remains as it is: the sender has to decode it.
    inner.strip_prefix("file://").filter(|path| path.starts_with('/') && !path.contains('%')).unwrap_or(inner)
}

//! JSON wrappers: a string, the arguments of a tool, a tool call, the words of a command.

use super::{UnwrappedText, fields, shell};
use serde_json::{Map, Value};

/// Fields of a tool call that contain its arguments.
const ARGUMENT_FIELDS: [&str; 4] = ["arguments", "input", "parameters", "args"];

/// Unwraps a text that is a single JSON value.
pub(super) fn layer(text: &str) -> Option<UnwrappedText<'static>> {
    if !text.starts_with(['{', '[', '"']) {
        return None;
    }
    read(serde_json::from_str(text).ok()?)
}

fn read(value: Value) -> Option<UnwrappedText<'static>> {
    match value {
        Value::String(text) => Some(UnwrappedText::new(text, "The text inside the JSON string was read.")),
        Value::Array(items) if items.iter().all(Value::is_string) => command(items),
        Value::Array(items) => only(items).and_then(read),
        Value::Object(fields) => call(fields),
        _ => None,
    }
}

/// Returns the only item of a list.
fn only(items: Vec<Value>) -> Option<Value> {
    let mut items = items.into_iter();
    items.next().filter(|_| items.next().is_none())
}

/// Unwraps the words of a command, e.g. `["apply_patch", "…"]` or `["bash", "-lc", "…"]`.
pub(super) fn command(words: Vec<Value>) -> Option<UnwrappedText<'static>> {
    let words: Option<Vec<String>> = words.into_iter().map(|word| word.as_str().map(str::to_owned)).collect();
    shell::layer_of_words(words?)
}

/// Unwraps a tool call, or the arguments of one.
fn call(mut fields: Map<String, Value>) -> Option<UnwrappedText<'static>> {
    let named = fields.get("name").is_some_and(Value::is_string);
    for inner in ["tool_calls", "function", "function_call", "tool_call"] {
        if let Some(value) = fields.shift_remove(inner) {
            return fields
                .keys()
                .all(|key| fields::is_idle(key) || ["role", "content", "index"].contains(&&**key))
                .then_some(value)
                .filter(|it| !it.is_string())
                .and_then(read);
        }
    }
    if !named {
        return fields::layer(fields.into_iter(), "the JSON object");
    }
    let key = ARGUMENT_FIELDS.into_iter().find(|key| fields.contains_key(*key))?;
    let (name, arguments) = (fields.shift_remove("name")?, fields.shift_remove(key)?);
    if !fields.keys().all(|key| fields::is_idle(key) || key == "index") {
        return None;
    }
    let of = format!("the call of `{}`", name.as_str().unwrap_or_default());
    match arguments {
        Value::Object(arguments) => fields::layer(arguments.into_iter(), &of),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(arguments)) => fields::layer(arguments.into_iter(), &of),
            _ => Some(UnwrappedText::new(text, format!("The text of {of} was read."))),
        },
        _ => None,
    }
}

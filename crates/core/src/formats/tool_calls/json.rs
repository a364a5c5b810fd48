//! Calls as JSON, in the forms in which model APIs and chat templates print them.

use serde_json::{Map, Value};

/// Fields that contain the name of a tool.
const NAME_FIELDS: [&str; 5] = ["name", "tool", "tool_name", "toolName", "action"];
/// Fields that contain the arguments of a tool.
const ARGUMENT_FIELDS: [&str; 7] = ["arguments", "input", "parameters", "args", "params", "action_input", "tool_input"];
/// Fields that contain a call, or a list of calls.
const CALL_FIELDS: [&str; 4] = ["tool_calls", "function", "function_call", "tool_call"];
/// Maximum number of nesting levels of calls.
const NESTING_MAX: usize = 6;

/// A tool's name and its arguments.
pub(super) type NamedArguments = (Option<String>, Value);

/// Parses the JSON value at the start of a text. Returns its calls, and the length of the value.
pub(super) fn calls(text: &str) -> Option<(Vec<NamedArguments>, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let calls = of_value(value, 0)?;
    (!calls.is_empty()).then(|| (calls, values.byte_offset()))
}

/// Returns the calls of a value: one call, a list of calls, or bare arguments.
pub(super) fn of_value(value: Value, depth: usize) -> Option<Vec<NamedArguments>> {
    if depth > NESTING_MAX {
        return None;
    }
    match value {
        Value::Object(fields) => of_object(fields, depth),
        Value::Array(items) if items.iter().all(is_call) => {
            let calls: Option<Vec<Vec<NamedArguments>>> =
                items.into_iter().map(|item| of_value(item, depth + 1)).collect();
            Some(calls?.concat())
        }
        // The list contains edits of one file.
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            Some(vec![(None, Value::Array(items))])
        }
        _ => None,
    }
}

fn is_call(value: &Value) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| value.get(*name).is_some());
    has(&ARGUMENT_FIELDS) || has(&CALL_FIELDS)
}

fn of_object(mut fields: Map<String, Value>, depth: usize) -> Option<Vec<NamedArguments>> {
    if let Some(inner) = CALL_FIELDS.iter().find_map(|key| fields.shift_remove(*key)) {
        return of_value(inner, depth + 1);
    }
    let Some(arguments) = ARGUMENT_FIELDS.iter().find_map(|key| fields.shift_remove(*key)) else {
        return Some(vec![(None, Value::Object(fields))]);
    };
    let name = NAME_FIELDS.iter().find_map(|key| fields.get(*key)?.as_str()).map(str::to_owned);
    let arguments = match arguments {
        Value::String(text) => serde_json::from_str(&text).ok()?,
        arguments => arguments,
    };
    (arguments.is_object() || arguments.is_array()).then(|| vec![(name, arguments)])
}

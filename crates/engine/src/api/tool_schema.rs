//! Joins the schemas of a tool's input.

use serde_json::{Map, Value};

/// Merges the parts to one object schema with all their fields; fields are required if every edit part requires them.
pub(super) fn merge_schemas(parts: &[schemars::Schema]) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut definitions = Map::new();
    let mut required: Option<Vec<Value>> = None;
    for part in parts {
        let part = part.as_value();
        for (name, field) in object_field(part, "properties") {
            properties.entry(name).or_insert(field);
        }
        definitions.extend(object_field(part, "$defs"));
        if let Some(list) = part.get("required").and_then(Value::as_array) {
            let both = required.map(|known| known.into_iter().filter(|name| list.contains(name)).collect());
            required = Some(both.unwrap_or_else(|| list.clone()));
        }
    }
    let mut out = Map::new();
    out.insert("type".to_owned(), "object".into());
    out.insert("properties".to_owned(), Value::Object(properties));
    out.insert("required".to_owned(), Value::Array(required.unwrap_or_default()));
    out.insert("additionalProperties".to_owned(), Value::Bool(false));
    if !definitions.is_empty() {
        out.insert("$defs".to_owned(), Value::Object(definitions));
    }
    out
}

/// Returns a field that is an object.
fn object_field(part: &Value, key: &str) -> Map<String, Value> {
    part.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

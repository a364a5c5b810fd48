//! Compact schemas for models: every request pays for each byte, so redundant parts are removed.

use serde_json::{Map, Value};

/// Removes defaults equal to an omitted field (`false`, `null` as a type), integer sizes, definitions that are used
/// once (they are inlined), and descriptions that repeat the tool's own field of that name.
pub(super) fn compact_schema(schema: &mut Map<String, Value>) {
    let mut whole = Value::Object(std::mem::take(schema));
    if let Some(Value::Object(definitions)) = whole.as_object_mut().and_then(|it| it.remove("$defs")) {
        inline(&mut whole, definitions);
    }
    if let Value::Object(whole) = whole {
        *schema = whole;
    }
    schema.values_mut().for_each(thin);
    if schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        schema.remove("required");
    }
    let Some(Value::Object(fields)) = schema.get("properties") else { return };
    let descriptions: Map<String, Value> =
        fields.iter().filter_map(|(name, field)| Some((name.clone(), field.get("description")?.clone()))).collect();
    schema
        .values_mut()
        .filter_map(Value::as_object_mut)
        .flat_map(Map::values_mut)
        .for_each(|it| once(it, &descriptions));
}

/// Inlines definitions that are used once; keeps the others, and drops unused ones.
fn inline(whole: &mut Value, mut definitions: Map<String, Value>) {
    loop {
        let all = format!("{whole}{}", Value::Object(definitions.clone()));
        let known = definitions.len();
        definitions.retain(|name, _| count_uses(&all, name) > 0);
        if definitions.len() < known {
            // The dropped definition may have used others: count again.
            continue;
        }
        let single = definitions.keys().find(|name| count_uses(&all, name) == 1).cloned();
        let Some((name, definition)) = single.and_then(|name| definitions.remove_entry(&name)) else { break };
        put(whole, &name, &definition);
        definitions.values_mut().for_each(|it| put(it, &name, &definition));
    }
    if let (Value::Object(whole), false) = (whole, definitions.is_empty()) {
        whole.insert("$defs".to_owned(), definitions.into());
    }
}

/// Counts how often a definition is used.
fn count_uses(all: &str, name: &str) -> usize {
    all.matches(&format!("\"#/$defs/{name}\"")).count()
}

/// Inlines a definition. The field's own description takes precedence over that of the definition.
fn put(value: &mut Value, name: &str, definition: &Value) {
    match value {
        Value::Object(object) => {
            let named = object.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix("#/$defs/"));
            if named == Some(name)
                && let Value::Object(definition) = definition
            {
                object.remove("$ref");
                let own = std::mem::take(object);
                // The definition describes a type, the field its purpose.
                object.extend(
                    definition.iter().filter(|(key, _)| *key != "description").map(|(k, v)| (k.clone(), v.clone())),
                );
                object.extend(own);
            }
            object.values_mut().for_each(|it| put(it, name, definition));
        }
        Value::Array(list) => list.iter_mut().for_each(|it| put(it, name, definition)),
        _ => {}
    }
}

fn thin(schema: &mut Value) {
    match schema {
        Value::Object(schema) => {
            schema.retain(|name, value| match &**name {
                "default" | "minimum" => !is_default(value),
                "format" => value != "uint",
                _ => true,
            });
            schema.values_mut().for_each(thin);
            without_null(schema);
            words(schema);
        }
        Value::Array(list) => list.iter_mut().for_each(thin),
        _ => {}
    }
}

/// True for a value without information, such as an empty list.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// Removes null as a type: the field may simply be omitted.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|it| it != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    let Some(Value::Array(forms)) = schema.get_mut("anyOf") else { return };
    forms.retain(|it| it.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(one)] = &forms[..] {
        let one = one.clone();
        schema.remove("anyOf");
        let own = std::mem::take(schema);
        let descriptions: Vec<String> = [&own, &one]
            .into_iter()
            .filter_map(|it| it.get("description").and_then(Value::as_str).map(str::to_owned))
            .collect();
        schema.extend(one);
        schema.extend(own);
        if !descriptions.is_empty() {
            schema.insert("description".to_owned(), descriptions.join(" ").into());
        }
    }
}

/// Replaces a choice between individually described words by one list with a joint description.
fn words(schema: &mut Map<String, Value>) {
    let Some(Value::Array(forms)) = schema.get("oneOf") else { return };
    let all = forms
        .iter()
        .map(|form| Some((form.get("const")?.as_str()?.to_owned(), form.get("description")?.as_str()?.to_owned())));
    let Some(all) = all.collect::<Option<Vec<_>>>() else { return };
    let own = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let joined = all.iter().fold(own, |joined, (word, meaning)| format!("{joined} {word}: {meaning}"));
    let own = std::mem::take(schema);
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), all.into_iter().map(|(word, _)| Value::from(word)).collect());
    schema.extend(own.into_iter().filter(|(key, _)| key != "oneOf" && key != "description"));
    schema.insert("description".to_owned(), joined.trim().into());
}

/// Removes descriptions of nested fields that repeat the description of the tool's own field of that name.
fn once(value: &mut Value, descriptions: &Map<String, Value>) {
    match value {
        Value::Object(object) => {
            for (name, field) in object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
                let known = descriptions.get(name).is_some_and(|text| field.get("description") == Some(text));
                if let (true, Value::Object(field)) = (known, field) {
                    field.remove("description");
                }
            }
            object.values_mut().for_each(|it| once(it, descriptions));
        }
        Value::Array(list) => list.iter_mut().for_each(|it| once(it, descriptions)),
        _ => {}
    }
}

/// Renames a field of a schema in place.
pub(super) fn rename_field(schema: &mut Map<String, Value>, name: &str, field: &str) {
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.iter_mut().filter(|it| **it == field).for_each(|it| *it = name.into());
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let old = std::mem::take(properties);
        properties
            .extend(old.into_iter().map(|(key, value)| (if key == field { name.to_owned() } else { key }, value)));
    }
}

#[cfg(test)]
mod tests {
    use super::compact_schema;
    use serde_json::{Map, Value, json};

    fn leaned(schema: Value) -> Value {
        let Value::Object(mut schema) = schema else { panic!() };
        compact_schema(&mut schema);
        Value::Object(schema)
    }

    #[test]
    fn uninformative_parts_of_a_schema_are_removed() {
        let schema = json!({
            "type": "object",
            "required": [],
            "properties": {
                "a": { "type": ["string", "null"], "default": null, "description": "A." },
                "n": { "type": ["integer", "null"], "format": "uint", "minimum": 0, "description": "N." },
                "list": { "type": ["array", "null"], "items": { "$ref": "#/$defs/Item" }, "description": "Several." },
                "mode": { "anyOf": [{ "$ref": "#/$defs/Mode" }, { "type": "null" }], "description": "How." },
                "x": { "$ref": "#/$defs/Twice" },
                "y": { "$ref": "#/$defs/Twice" },
            },
            "$defs": {
                "Item": { "type": "object", "description": "One.", "properties": {
                    "a": { "type": "string", "description": "A." }, "n": { "type": "integer", "description": "Another." } } },
                "Mode": { "description": "A mode.", "oneOf": [
                    { "type": "string", "const": "on", "description": "It is on." },
                    { "type": "string", "const": "off", "description": "It is not." } ] },
                "Twice": { "type": "string" },
                "Unused": { "properties": { "mode": { "$ref": "#/$defs/Mode" } } },
            },
        });
        let wanted = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "description": "A." },
                "n": { "type": "integer", "description": "N." },
                "list": { "type": "array", "description": "Several.", "items": { "type": "object", "properties": {
                    "a": { "type": "string" }, "n": { "type": "integer", "description": "Another." } } } },
                "mode": { "type": "string", "enum": ["on", "off"], "description": "How. on: It is on. off: It is not." },
                "x": { "$ref": "#/$defs/Twice" },
                "y": { "$ref": "#/$defs/Twice" },
            },
            "$defs": { "Twice": { "type": "string" } },
        });
        assert_eq!(leaned(schema), wanted);
    }

    #[test]
    fn recursive_type_stays_a_definition() {
        let tree = json!({ "type": "object", "properties": { "below": { "$ref": "#/$defs/Tree" } } });
        let schema = json!({ "properties": { "tree": { "$ref": "#/$defs/Tree" } }, "$defs": { "Tree": tree } });
        assert_eq!(leaned(schema.clone()), schema);
        assert_eq!(leaned(Value::Object(Map::new())), json!({}));
    }
}

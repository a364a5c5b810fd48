//! The functions on text for JavaScript, with JSON in and JSON out. The packages `emendate` (Node) and `@emendate/core`
//! (WebAssembly) share them, and the JavaScript files beside this crate.
//!
//! A result is an envelope: `{"ok": value}`, or `{"error": {"code", "message", "evidence", "next", "data"}}`.

mod offsets;
mod options;
mod outcome;

use emendate_core::formats::print::PRINT_FORMATS;
use emendate_core::{ApplyOptions, ArgumentStyle, Code, Error};
use options::{OptionSet, TextOptions};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Calls a function on text by its JavaScript name, and returns the envelope.
///
/// ```
/// let input = r#"{"text": "a = 1\n", "old": "a = 1", "new": "a = 2"}"#;
/// let result = emendate_javascript::call("edit", input);
/// assert!(result.starts_with(r#"{"ok":{"text":"a = 2\n""#), "{result}");
/// ```
pub fn call(name: &str, input: &str) -> String {
    envelope(dispatch(name, input))
}

/// Returns the limit of work in the options of a call, if there is one.
pub fn step_limit(input: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Limits {
        options: Option<StepLimit>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct StepLimit {
        max_steps: Option<u64>,
    }
    serde_json::from_str::<Limits>(input).ok()?.options?.max_steps
}

/// Returns the envelope of a result.
pub fn envelope(result: Result<Value, Error>) -> String {
    let (name, value) = match result {
        Ok(value) => ("ok", value),
        Err(error) => ("error", error_value(&error)),
    };
    Value::Object(Map::from_iter([(name.to_owned(), value)])).to_string()
}

/// Returns the parts of an error, from which the packages make an exception.
pub fn error_value(error: &Error) -> Value {
    json!({
        "code": error.code().as_str(),
        "message": error.message(),
        "evidence": error.evidence_text(),
        "next": error.next_step(),
        "data": error.data(),
    })
}

/// Reads the input of a call.
///
/// Errors: `call.invalid` for a missing field, and for one of another type.
pub fn input<T: DeserializeOwned>(function: &str, json: &str) -> Result<T, Error> {
    serde_json::from_str(json).map_err(|error| {
        Error::new(Code::CallInvalid, format!("The arguments of `{function}` are not valid: {error}."))
            .next("Pass arguments of the types that the declarations of the package list.")
    })
}

/// Returns the value of a result, for options with names.
///
/// Errors: `call.invalid` for a name that is not in the list.
fn dispatch(name: &str, json: &str) -> Result<Value, Error> {
    match name {
        "apply" => apply(json),
        "applyFiles" => apply_files(json),
        "edit" => edit(json),
        "diff" => diff(json),
        "patchOf" => patch_of(json),
        "convert" => convert(json),
        "namedFiles" => named_files(json),
        "similarity" => similarity(json),
        "textFormats" => {
            Ok(emendate_core::formats::text_formats().map(|format| format.spec().name).collect::<Vec<_>>().into())
        }
        "functionParameters" => Ok(json!(emendate_core::function_parameters(ArgumentStyle::JavaScript))),
        "printFormats" => Ok(PRINT_FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().into()),
        _ => Err(Error::new(Code::CallInvalid, format!("There is no function `{name}`."))),
    }
}

/// A patch in a format, as an adapter builds it.
#[derive(Deserialize)]
struct BuiltPatch {
    patch: String,
    format: String,
}

/// The names of all files that a patch may change.
fn named_files(json: &str) -> Result<Value, Error> {
    let BuiltPatch { patch, format } = input("namedFiles", json)?;
    let names = emendate_core::named_files(&patch, &ApplyOptions::new().format(format))?;
    Ok(names.into_iter().collect::<Vec<_>>().into())
}

#[derive(Deserialize)]
struct PatchedText {
    text: String,
    patch: String,
    options: Option<Value>,
}

fn apply(json: &str) -> Result<Value, Error> {
    let PatchedText { text, patch, options } = input("apply", json)?;
    let options = TextOptions::parse("apply", OptionSet::Apply, options)?;
    emendate_core::apply(&text, &patch, &options.into()).map(|applied| outcome::applied(&text, &applied))
}

#[derive(Deserialize)]
struct PatchedFiles {
    files: BTreeMap<String, String>,
    patch: String,
    options: Option<Value>,
}

fn apply_files(json: &str) -> Result<Value, Error> {
    let PatchedFiles { files, patch, options } = input("applyFiles", json)?;
    let options = TextOptions::parse("applyFiles", OptionSet::ApplyFiles, options)?;
    emendate_core::apply_files(&files, &patch, &options.into()).map(|applied| outcome::applied_files(&files, applied))
}

#[derive(Deserialize)]
struct Replacement {
    text: String,
    old: String,
    new: String,
    options: Option<Value>,
}

fn edit(json: &str) -> Result<Value, Error> {
    let Replacement { text, old, new, options } = input("edit", json)?;
    let options = TextOptions::parse("edit", OptionSet::Edit, options)?;
    emendate_core::edit(&text, &old, &new, &options.into()).map(|applied| outcome::applied(&text, &applied))
}

#[derive(Deserialize)]
struct TextPair {
    before: String,
    after: String,
    options: Option<Value>,
}

fn diff(json: &str) -> Result<Value, Error> {
    let TextPair { before, after, options } = input("diff", json)?;
    TextOptions::parse("diff", OptionSet::Diff, options)?;
    let diff = emendate_core::diff(&before, &after)?;
    Ok(json!({
        "spans": offsets::spans(&before, &after, &diff.spans),
        "added": diff.added,
        "removed": diff.removed,
    }))
}

#[derive(Deserialize)]
struct PrintRequest {
    before: String,
    after: String,
    path: String,
    /// A name of `PRINT_FORMATS`; `None` for a unified diff that people read.
    format: Option<String>,
}

fn patch_of(json: &str) -> Result<Value, Error> {
    let PrintRequest { before, after, path, format } = input("toPatch", json)?;
    let diff = emendate_core::diff(&before, &after)?;
    match format {
        Some(format) => diff.to_patch(&path, &format).map(Value::String),
        None if diff.is_empty() => Ok(Value::String(String::new())),
        None => Ok(Value::String(diff.unified(&path))),
    }
}

#[derive(Deserialize)]
struct Conversion {
    files: BTreeMap<String, String>,
    patch: String,
    to: String,
    options: Option<Value>,
}

fn convert(json: &str) -> Result<Value, Error> {
    let Conversion { files, patch, to, options } = input("convert", json)?;
    let options = TextOptions::parse("convert", OptionSet::Convert, options)?;
    let patch = emendate_core::convert(&files, &patch, &to, &options.into())?;
    Ok(json!({ "text": patch.text, "fromFormat": patch.from, "format": patch.to, "notes": patch.notes }))
}

#[derive(Deserialize)]
struct Comparison {
    a: String,
    b: String,
    options: Option<Value>,
}

fn similarity(json: &str) -> Result<Value, Error> {
    let Comparison { a, b, options } = input("similarity", json)?;
    let options = TextOptions::parse("similarity", OptionSet::Similarity, options)?;
    let ratio = match options.unit() {
        "characters" => emendate_core::similarity(&a, &b),
        "lines" => emendate_core::line_similarity(&a, &b),
        other => Err(Error::new(Code::CallInvalid, format!("Texts are not compared by `{other}`."))
            .next("Use one of: characters, lines.")),
    };
    ratio.map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::call;
    use serde_json::{Value, json};

    fn result(name: &str, input: &Value) -> Value {
        serde_json::from_str(&call(name, &input.to_string())).unwrap()
    }

    #[test]
    fn spans_count_units_of_utf_16() {
        let edited = result("edit", &json!({ "text": "é 😀 one\n", "old": "one", "new": "twø" }));
        assert_eq!(edited["ok"]["text"], "é 😀 twø\n");
        assert_eq!(edited["ok"]["spans"], json!([{ "start": 5, "end": 8, "newStart": 5, "newEnd": 8 }]));
    }

    #[test]
    fn an_option_that_a_function_lacks_is_refused() {
        let refused = result("apply", &json!({ "text": "a", "patch": "b", "options": { "replaceAll": true } }));
        assert_eq!(refused["error"]["code"], "call.invalid");
        let next = refused["error"]["next"].as_str().unwrap();
        assert!(next.contains("placeholdersMeant") && !next.contains("replaceAll"), "{next}");
        let refused = result("diff", &json!({ "before": "a", "after": "b", "options": { "by": "lines" } }));
        assert_eq!(refused["error"]["next"], "Omit it; the function has no options.");
    }

    #[test]
    fn options_that_are_no_object_are_refused_with_the_names_of_the_options() {
        let refused = result("similarity", &json!({ "a": "a", "b": "b", "options": "lines" }));
        assert_eq!(refused["error"]["code"], "call.invalid");
        assert_eq!(refused["error"]["message"], "The options of `similarity` are \"lines\", and no object.");
        assert_eq!(refused["error"]["next"], "Use one of: by.");
    }

    #[test]
    fn broken_input_is_an_error() {
        for (name, input) in [("edit", "{"), ("edit", r#"{"text": 1}"#), ("edit", r#"{"text": "\ud800"}"#), ("x", "{}")]
        {
            let refused: Value = serde_json::from_str(&call(name, input)).unwrap();
            assert_eq!(refused["error"]["code"], "call.invalid", "{name} {input}");
        }
    }
}

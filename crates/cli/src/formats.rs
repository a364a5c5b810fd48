//! `emend prompt` and `emend schema`: instructions and schemas of the formats, for people who prompt a model.

use crate::args::{PromptArgs, SchemaArgs};
use crate::show;
use emendate::core::formats::{FORMATS, Format, named};
use emendate::core::{Code, Error, Result};
use serde_json::{Value, json};

/// Prints the instructions for a format, or the list of formats.
pub(crate) fn prompt(args: &PromptArgs, json: bool) -> Result<u8> {
    let specs = || FORMATS.iter().map(|format| format.spec());
    let one = args.format.as_deref().and_then(named).map(Format::spec);
    match (one, json) {
        (Some(spec), true) => show::value(&described(spec))?,
        (Some(spec), false) => show::page(spec.prompt)?,
        (None, true) => show::value(&specs().map(described).collect())?,
        (None, false) => {
            let mut out = show::columns("", specs().map(|spec| (spec.name, spec.summary)));
            out.push_str("\n`emend prompt NAME` prints what a model is to be told.");
            show::page(&out)?;
        }
    }
    Ok(0)
}

fn described(spec: &emendate::core::formats::Spec) -> Value {
    json!({ "name": spec.name, "summary": spec.summary, "prompt": spec.prompt, "example": spec.example })
}

/// Prints the grammar of a text format, or the JSON schema of another.
pub(crate) fn schema(args: &SchemaArgs) -> Result<u8> {
    let name = &args.format;
    let none = || {
        Error::new(Code::CallInvalid, format!("{name} has no grammar."))
            .next(format!("`emend prompt {name}` prints what a model is to be told."))
    };
    let spec = named(name).ok_or_else(none)?.spec();
    match (spec.grammar, spec.schema) {
        (Some(grammar), _) => show::page(grammar)?,
        (None, Some(schema)) => show::page(&serde_json::to_string_pretty(&schema()).unwrap_or_default())?,
        (None, None) => return Err(none()),
    }
    Ok(0)
}

//! `emend prompt` and `emend schema`: instructions and schemas of the formats, for people who prompt a model.

use crate::args::{PromptArgs, SchemaArgs};
use crate::{output, styled};
use emendate::core::formats::{FORMATS, Format, format_by_name};
use emendate::core::{Code, Error, Result};
use serde_json::{Value, json};

/// Prints the instructions for a format, or the list of formats.
pub(crate) fn prompt(args: &PromptArgs, json: bool) -> Result<u8> {
    let specs = || FORMATS.iter().map(|format| format.spec());
    let one = args.format.as_deref().and_then(format_by_name).map(Format::spec);
    match (one, json) {
        (Some(spec), true) => output::value(&described(spec))?,
        (Some(spec), false) => output::page(spec.prompt)?,
        (None, true) => output::value(&specs().map(described).collect())?,
        (None, false) => {
            let mut out = styled::columns("", specs().map(|spec| (spec.name, spec.summary)));
            out.push_str("\n`emend prompt NAME` prints the instructions for a model.");
            output::page(&out)?;
        }
    }
    Ok(0)
}

fn described(spec: &emendate::core::formats::FormatSpec) -> Value {
    json!({ "name": spec.name, "summary": spec.summary, "prompt": spec.prompt, "example": spec.example })
}

/// Prints the grammar of a text format, or the JSON schema of another.
pub(crate) fn schema(args: &SchemaArgs, json: bool) -> Result<u8> {
    let name = &args.format;
    let spec = format_by_name(name).ok_or_else(|| no_grammar(name))?.spec();
    match (spec.grammar, spec.schema) {
        (Some(grammar), _) if json => output::value(&json!({ "name": spec.name, "grammar": grammar }))?,
        (Some(grammar), _) => output::page(grammar)?,
        (None, Some(schema)) => {
            let mut schema = schema();
            // The type of the input is called the same in every format.
            schema.insert("title".to_owned(), spec.name.into());
            if json {
                output::value(&schema.into())?;
            } else {
                output::page(&serde_json::to_string_pretty(&schema).unwrap_or_default())?;
            }
        }
        (None, None) => return Err(no_grammar(name)),
    }
    Ok(0)
}

/// Refuses a format without a grammar.
fn no_grammar(name: &str) -> Error {
    Error::new(Code::CallInvalid, format!("{name} has no grammar."))
        .next(format!("`emend prompt {name}` prints the instructions for a model."))
}

//! Calls that change files: the options are extracted, a format parses the rest, the request is applied.

use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::model::raw_path;
use crate::model::reply::Answer;
use crate::pipeline::report::outcome::CallReceipts;
use crate::pipeline::report::receipt::render_notes;
use crate::pipeline::report::rendered::{RenderedReceipts, answer_for_file, render_receipts};
use crate::pipeline::run;
use emendate_core::formats::{Format, FormatInput, multi_edit, replace};
use emendate_core::{Code, Error, Request, Result};
use emendate_os::ffi::OsStringExt as _;
use serde_json::{Map, Value};

/// Runs a changing tool, and renders its reply.
pub(crate) fn edit_files(
    call: Call<'_>,
    tool: &'static str,
    formats: &[&'static dyn Format],
    input: Value,
) -> Result<Answer> {
    let replace_all = input.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
    let CallReceipts { receipts, notes, .. } = change_files(call, tool, formats, input)?;
    let notes = render_notes(&notes);
    if receipts.len() > 1 {
        let RenderedReceipts { text, files, all, operation, .. } = render_receipts(&call, receipts);
        let mut data = Map::new();
        RenderedReceipts::add_files(&mut data, files, all);
        data.extend(operation.map(|operation| ("operation".to_owned(), operation.to_string().into())));
        return Ok(Answer { text: notes + &text, data, operation, ..Answer::default() });
    }
    let mut answer = answer_for_file(&call, receipts, replace_all);
    answer.text.insert_str(0, &notes);
    Ok(answer)
}

/// Extracts the options of a call, lets the format parse the rest, and applies the request.
pub(crate) fn change_files(
    call: Call<'_>,
    tool: &'static str,
    formats: &[&'static dyn Format],
    mut input: Value,
) -> Result<CallReceipts> {
    let mut options = CallOptions::take(&mut input, call.caller, call.config(), tool)?;
    let raw = raw_path::take(&mut input)?;
    let format = select_format(formats, &input)?;
    options.origin.format = format.spec().name;
    call.caller.note_format(options.origin.format);
    let input = FormatInput::Json(input);
    let mut request = match (&call.caller.texts, format.spec().name) {
        (Some(names), "multi_edit") => multi_edit::parse_as(names, input)?,
        (Some(names), "replace") => replace::parse_as(names, input)?,
        _ => format.parse(input)?,
    };
    if let Some(names) = &call.caller.texts {
        request.name_fields(names);
    }
    if let Some(file) = request.files.first_mut() {
        file.raw = raw.map(|path| path.into_os_string().into_vec());
    }
    apply_request(call, request, &options)
}

/// Applies a request to all its files, or to none.
pub(crate) fn apply_request(call: Call<'_>, mut request: Request, options: &CallOptions) -> Result<CallReceipts> {
    let notes = std::mem::take(&mut request.notes);
    let receipts = run::apply(call, request, options)?;
    Ok(CallReceipts { receipts, format: options.origin.format, notes, dry_run: options.dry_run })
}

/// Selects the format whose own field the input has; without any, the first one, which then reports the missing field.
///
/// Errors: `call.invalid` for the fields of two formats.
fn select_format(formats: &[&'static dyn Format], input: &Value) -> Result<&'static dyn Format> {
    let meant = formats.iter().copied().filter(|format| input.get(format.spec().key).is_some());
    let meant: Vec<&'static dyn Format> = meant.collect();
    match (&*meant, formats) {
        ([only], _) | ([], [only, ..]) => Ok(*only),
        ([], []) => Err(Error::new(Code::InternalBug, "The tool has no format.")),
        (several, _) => {
            let keys: Vec<&str> = several.iter().map(|format| format.spec().key).collect();
            Err(Error::new(Code::CallInvalid, format!("Give one of {}, not several of them.", keys.join(", ")))
                .next("Put several replacements into edits, one entry each."))
        }
    }
}

//! The tool `apply`: edits as text in any of the text formats, for any number of files, all or nothing.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::options::{CallOptions, OPTION_FIELDS, OptionFields};
use crate::model::call_context::CallContext;
use crate::model::reply::Answer;
use crate::model::reply::SeedCodes;
use crate::pipeline::plan::patching::{PatchFields, Selection};
use crate::pipeline::plan::three_way;
use crate::pipeline::report::outcome::CallReceipts;
use crate::pipeline::report::receipt::render_notes;
use crate::pipeline::report::rendered::{RenderedReceipts, render_receipts_with};
use crate::session::names::{self, name_files, prefer_named_file, start_directory};
use crate::tools::aliases::EDIT_TEXT_ALIASES;
use crate::tools::edit_files::{apply_request, edit_files};
use crate::tools::outputs::{CHANGED_FILE, SEVERAL_FILES};
use crate::tools::tool::{Annotations, FieldWords, REST_OF_FILES, Tool};
use crate::tools::tool_input::ToolInput;
use crate::tools::words::EDIT_FORMAT_WORDS;
use emendate_core::formats::anchors::WordAnchors;
use emendate_core::formats::detect::{self, without_mark};
use emendate_core::formats::line_parser::ParseOptions;
use emendate_core::formats::parsed_text::ParsedText;
use emendate_core::formats::{self, Format, FormatInput};
use emendate_core::{Request, Result};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The input of `apply`, apart from the option fields.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct ApplyInput {
    /// The edits, as text.
    pub(crate) input: String,
    /// The format of the text (default: recognised).
    #[serde(default)]
    pub(crate) format: Option<String>,
    /// The directory that relative file names start from (default: the first root).
    #[serde(default)]
    pub(crate) directory: Option<String>,
    /// The file that the text is about, if it names none.
    #[serde(default)]
    pub(crate) file: Option<String>,
    /// Leading directories to remove from each name, as -p of git apply (default: a/ and b/ are recognized).
    #[serde(default)]
    pub(crate) strip: Option<usize>,
    /// Apply every change in reverse.
    #[serde(default)]
    pub(crate) reverse: bool,
    /// Files that are created or moved may replace what is there (default: they may not).
    #[serde(default)]
    pub(crate) overwrite: bool,
}

/// A parsed text of edits.
pub(crate) struct ParsedEdits {
    pub(crate) format: &'static dyn Format,
    /// The request, whose paths are absolute.
    pub(crate) request: Request,
    pub(crate) options: CallOptions,
    /// The directory that relative names were resolved against.
    pub(crate) directory: PathBuf,
}

/// The row of the tool `apply` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "apply",
    title: "Apply edits written as text",
    summary: "apply patches, diffs or SEARCH/REPLACE blocks, for any number of files, all or nothing",
    prompt: "\
Applies edits written as text to any number of files that were read before, all or nothing; the format is recognised. SEARCH/REPLACE \
blocks: the file's path alone on a line, <<<<<<< SEARCH, lines of the file as they are, =======, the new lines, >>>>>>> REPLACE. \
Patches: *** Begin Patch … *** End Patch with *** Update File, Add File, Delete File, Move to; or a unified diff (numbers may be \
wrong). Context must make each place unique. Relative paths start from directory.",
    annotations: Annotations::EDITS,
    seed: SeedCodes::Edit,
    rest: REST_OF_FILES,
    example: r#"{"input": "src/main.rs\n<<<<<<< SEARCH\nlet x = 1;\n=======\nlet x = 2;\n>>>>>>> REPLACE\n", "directory": "/work"}"#,
    other_names: &["apply_patch", "apply_diff", "replace_in_file", "patch"],
    aliases: EDIT_TEXT_ALIASES,
    words: &[
        FieldWords { field: "format", words: EDIT_FORMAT_WORDS },
        FieldWords {
            field: "whitespace",
            words: &[("nowarn", &[]), ("warn", &[]), ("fix", &["strip"]), ("error", &[])],
        },
    ],
    outputs: &[&CHANGED_FILE, &SEVERAL_FILES],
    input: ToolInput::new(apply_text, || {
        vec![schema_for!(ApplyInput), schema_for!(OptionFields), schema_for!(PatchFields)]
    }),
    ..Tool::ROW
};

/// The tool `apply`.
pub(crate) fn apply_text(call: Call<'_>, tool: &'static str, input: Value) -> Result<Answer> {
    if let Some(edits) = by_words(call, &input) {
        return edit_files(call, tool, &[&WordAnchors], edits);
    }
    let (args, options, selection) = parse_input(call, tool, input)?;
    let edits = parse_edits(call, args, options, &selection)?;
    Ok(answer_all(&call, apply_edits(call, edits)?))
}

/// Applies parsed edits to all their files, or to none.
pub(crate) fn apply_edits(call: Call<'_>, edits: ParsedEdits) -> Result<CallReceipts> {
    let ParsedEdits { request, options, directory, .. } = edits;
    // Names in the answer are relative to the same directory as in the text, which refusals of names state.
    let caller = CallContext { names_from: Some(directory.clone()), cwd: Some(directory), ..call.caller.clone() };
    apply_request(call.of(Some(&caller)), request, &options)
}

/// Detects a call with edits by anchors, which are JSON: Dirac's (seed 004).
fn by_words(call: Call<'_>, input: &Value) -> Option<Value> {
    let text = input.get("input")?.as_str()?;
    if input.get("format").is_some() {
        return None;
    }
    let Value::Object(mut edits) = only_object(text)? else { return None };
    if !edits.get("edits")?.as_array()?.iter().all(|edit| edit.get("anchor").is_some()) {
        return None;
    }
    let path = edits.get("path").or(input.get("file")).and_then(Value::as_str)?;
    let directory = start_directory(call, input.get("directory").and_then(Value::as_str)).ok()?;
    let path = directory.join(path).to_str()?.to_owned();
    edits.insert("path".to_owned(), path.into());
    for name in OPTION_FIELDS {
        edits.extend(input.get(*name).map(|value| ((*name).to_owned(), value.clone())));
    }
    Some(Value::Object(edits))
}

/// Returns the JSON object of a text with nothing but prose and the signs of a fence around it.
fn only_object(text: &str) -> Option<Value> {
    if !text.contains("\"anchor\"") {
        return None;
    }
    let mut line_start = 0;
    let start = text.split_inclusive('\n').find_map(|line| {
        let bare = line.trim_start();
        let start = line_start + line.len() - bare.len();
        line_start += line.len();
        bare.starts_with('{').then_some(start)
    })?;
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let behind = &text[start + values.byte_offset()..];
    let is_prose = |line: &str| {
        let line = line.trim();
        !line.starts_with(['{', '[', '<', '@', '*', '+', '-', '\u{b6}'])
    };
    text[..start].lines().chain(behind.lines()).all(is_prose).then_some(value)
}

/// Parses the input of a call with edits as text.
pub(crate) fn parse_input(
    call: Call<'_>,
    tool: &'static str,
    mut input: Value,
) -> Result<(ApplyInput, CallOptions, Selection)> {
    let mut options = CallOptions::take(&mut input, call.caller, call.config(), tool)?;
    let selection = PatchFields::take(&mut input, &mut options)?;
    three_way::check_allowed(call.caller, options.patch)?;
    let args: ApplyInput = formats::from_json(FormatInput::Json(input))?;
    options.overwrite = args.overwrite;
    Ok((args, options, selection))
}

/// Parses a text of edits and resolves the names of its files.
///
/// Errors: those of the format; names that leave the directory; patterns that leave no file.
pub(crate) fn parse_edits(
    call: Call<'_>,
    args: ApplyInput,
    mut options: CallOptions,
    selection: &Selection,
) -> Result<ParsedEdits> {
    let named = args.format.as_deref().map(formats::requested_text_format).transpose()?;
    let input = without_mark(&args.input);
    let file = args.file.clone();
    let parse_options =
        ParseOptions { strip: args.strip, file: args.file, reverse: args.reverse, ..ParseOptions::default() };
    let parse_options = selection.parse_options(parse_options);
    if let Some(format) = named {
        call.caller.note_format(format.spec().name);
    }
    // If lines are shown in a text format, texts are in that format unless they are clearly in another one.
    let usual = call
        .caller
        .line_format
        .and_then(|line_format| formats::text_formats().find(|format| format.spec().name == line_format.name));
    let named = named.or_else(|| usual.filter(|format| detect::is_intended_format(input, *format, file.is_some())));
    let ParsedText { format, mut request, directory } = detect::parse_any(input, named, &parse_options)?;
    options.origin.format = format.spec().name;
    call.caller.note_format(options.origin.format);
    let start = start_directory(call, args.directory.as_deref())?;
    let directory = directory.map_or(start.clone(), |named| start.join(named));
    selection.name_bytes(&mut request, |name| names::exists(&call, &directory, name))?;
    if let Some(file) = &file {
        prefer_named_file(&call, &directory, file, &mut request);
    }
    name_files(call, &directory, &mut request)?;
    selection.select(&directory, &mut request)?;
    Ok(ParsedEdits { format, request, options, directory })
}

/// Renders the answer of `apply`.
fn answer_all(context: &Context, done: CallReceipts) -> Answer {
    let CallReceipts { receipts, format, notes, dry_run } = done;
    let rows = receipts.iter().any(|receipt| receipt.plan.display.header.is_some());
    let notes_text = if rows { String::new() } else { render_notes(&notes) };
    let rendered = render_receipts_with(context, receipts, if rows { &notes } else { &[] });
    let RenderedReceipts { text, files, all, rejected, operation } = rendered;
    let mut data = Map::new();
    data.insert("format".to_owned(), format.into());
    data.insert("dryRun".to_owned(), dry_run.into());
    data.insert("notes".to_owned(), (&notes).into());
    RenderedReceipts::add_files(&mut data, files, all);
    if let Some(operation) = operation {
        data.insert("operation".to_owned(), operation.to_string().into());
    }
    if !rejected.is_empty() {
        data.insert("rejected".to_owned(), rejected.into());
    }
    Answer { text: notes_text + &text, data, operation, ..Answer::default() }
}

//! The tool `convert`: applies edits in one format to the current files, and prints the changes in another.

use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::model::reply::Answer;
use crate::model::reply_limits::ReplyLimits;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::pipeline::plan::patching::check_blanks;
use crate::pipeline::plan::{request_tree, target};
use crate::session::registers::load_registers;
use crate::tools::aliases::EDIT_TEXT_ALIASES;
use crate::tools::apply::{self, ParsedEdits, parse_edits, parse_input};
use crate::tools::outputs::{OutputGroup, text};
use crate::tools::tool::{Annotations, FieldWords, Tool};
use crate::tools::tool_input::{AnswerText, ToolInput};
use crate::tools::words::{EDIT_FORMAT_WORDS, TARGET_FORMAT_WORDS};
use emendate_core::formats::FormatInput;
use emendate_core::print::{FileDelta, FileVersions, PrintFormat};
use emendate_core::{Charset, Code, Error, OverlayEntry as _, Result, formats};
use emendate_fs::SafePath;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

/// The input of `convert`, used for its schema only.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the fields are read as those of apply, once `to` is taken out")]
#[schemars(rename = "Args")]
pub(crate) struct ConvertInput {
    /// The format to write: `unified_diff`, `apply_patch`, `search_replace`, `whole_file`, `hashline` or `anchors`.
    to: String,
    #[serde(flatten)]
    edits: apply::ApplyInput,
}

/// The field that `convert` has besides those of apply.
#[derive(Deserialize)]
struct ConvertTarget {
    to: String,
}

/// The fields that the data of a reply may have.
const CONVERTED_EDIT: OutputGroup = OutputGroup {
    title: "A converted edit",
    fields: &[
        text("format", "The format that the text was read as."),
        text("to", "The format that it was written in."),
        text("converted", "The edit in that format."),
    ],
};

/// The row of the tool `convert` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "convert",
    title: "Rewrite edits in another format",
    summary: "resolve edits against the files and write them as a unified diff, a patch or blocks",
    prompt: "\
Takes edits as apply does, resolves them against the current files and returns the same change in another format: \
to is unified_diff, apply_patch, search_replace, whole_file, hashline or anchors. Nothing is written.",
    annotations: Annotations::READS,
    rest: "Convert fewer files in one call.",
    example: r#"{"input": "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-let x = 1;\n+let x = 2;\n*** End Patch\n", "to": "unified_diff", "directory": "/work"}"#,
    aliases: EDIT_TEXT_ALIASES,
    words: &[
        FieldWords { field: "format", words: EDIT_FORMAT_WORDS },
        FieldWords { field: "to", words: TARGET_FORMAT_WORDS },
    ],
    outputs: &[&CONVERTED_EDIT],
    input: ToolInput::Own { run: convert, schemas: || vec![schema_for!(ConvertInput)], text: AnswerText::Bare },
    ..Tool::ROW
};

/// Runs the tool `convert`. Nothing is written.
pub(crate) fn convert(call: Call<'_>, tool: &'static str, mut input: Value) -> Result<Answer> {
    let to = input.as_object_mut().and_then(|fields| fields.shift_remove_entry("to"));
    let ConvertTarget { to } = formats::from_json(FormatInput::Json(Map::from_iter(to).into()))?;
    let target = PrintFormat::requested(&to)?;
    let (args, options, selection) = parse_input(call, tool, input)?;
    let ParsedEdits { format, request, options, directory } = parse_edits(call, args, options, &selection)?;
    let mut notes = request.notes.clone();
    let targets = target::targets(&call, request)?;
    let actions: Vec<_> = targets.iter().map(|target| (&target.path, &target.action)).collect();
    let registers = load_registers(call, &actions)?.registers();
    // Both texts are printed, so both are needed.
    let options = CallOptions { whole: true, ..options };
    let (mut plans, _) = request_tree::plan(call, &targets, registers, &options)?;
    check_blanks(&mut plans, options.origin.whitespace)?;
    let mut files = Vec::with_capacity(plans.len());
    for plan in plans.iter().filter(|plan| !plan.is_move_source && plan.writes()) {
        files.extend(lost_versions(plan, &plans, &directory));
        files.push(file_versions(plan, &directory)?);
        notes.extend(plan.outcome.notes.iter().chain(plan.outcome.ops.iter().flat_map(|op| &op.notes)).cloned());
    }
    if target.name == "unified_diff" {
        notes.extend(files.iter().filter(|file| !is_utf8(file)).map(|file| {
            format!("{} is not in UTF-8, but the diff is: Emendate applies it, `git apply` does not.", file.path)
        }));
    }
    let deltas: Vec<FileDelta<'_>> = files.iter().map(FileVersions::delta).collect();
    let text = target.print(&deltas)?;
    whole(&text, call.reply_limits())?;
    let mut data = Map::new();
    data.insert("format".to_owned(), format.spec().name.into());
    data.insert("to".to_owned(), target.name.into());
    data.insert("notes".to_owned(), (&notes).into());
    data.insert("converted".to_owned(), text.clone().into());
    Ok(Answer { text, data, ..Answer::default() })
}

/// Refuses text that does not fit into a reply: a truncated change would be another change.
///
/// Errors: `read.too_large`.
fn whole(text: &str, limits: ReplyLimits) -> Result<()> {
    let chars = text.chars().count();
    // The data repeats the text, and JSON escapes may make it longer.
    let bytes = text.len() + text.bytes().filter(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\')).count();
    if chars <= limits.text && bytes <= limits.data / 2 {
        return Ok(());
    }
    let what = format!("The converted text has {chars} characters; a reply has at most {}.", limits.text);
    Err(Error::new(Code::ReadTooLarge, what)
        .next("Convert fewer files in one call, or run `emend convert` in a terminal, which writes up to 16 MiB."))
}

/// Returns the removal of the file that a moved file replaces, unless it is moved itself.
fn lost_versions(plan: &FilePlan, plans: &[FilePlan], directory: &Path) -> Option<FileVersions> {
    let CurrentState::File(now) = &plan.current else { return None };
    let is_lost =
        plan.move_source().is_some() && !plans.iter().any(|other| other.moved_from() == Some(plan.path.absolute()));
    is_lost.then(|| FileVersions::removed(relative_name(directory, &plan.path), now.snapshot.clone()))
}

/// True for a file whose text is in UTF-8 before and after the change.
fn is_utf8(file: &FileVersions) -> bool {
    [&file.before, &file.after].into_iter().flatten().all(|side| side.codec().charset == Charset::Utf8)
}

fn file_versions(plan: &FilePlan, directory: &Path) -> Result<FileVersions> {
    let is_link = matches!(plan.current, CurrentState::Link(_)) || matches!(plan.target, TargetState::Link(_));
    if is_link || plan.before.is_binary() {
        return Err(Error::new(Code::CallInvalid, "Only changes of text can be converted.")
            .evidence(plan.path.shown())
            .next("Omit that file, or apply the edits as they are."));
    }
    let moved = plan.move_source();
    let gone = plan.target == TargetState::Nothing;
    let is_new = plan.is_new_after_move;
    let was = match &plan.current {
        CurrentState::File(now) if plan.executable.is_some() && !is_new => Some(now.meta.mode & 0o111 != 0),
        _ => None,
    };
    let is_old = matches!(plan.current, CurrentState::File(_)) && !is_new;
    Ok(FileVersions {
        path: relative_name(directory, &plan.path),
        from: moved.map(|origin| relative_name(directory, origin)),
        before: (is_old || moved.is_some()).then(|| plan.before.clone()),
        after: if gone { None } else { Some(plan.after()?) },
        // A new file is not executable anyway.
        executable: (was, plan.executable.filter(|to| *to || !is_new)),
    })
}

/// Returns a path relative to the directory.
fn relative_name(directory: &Path, safe_path: &SafePath) -> String {
    let path = safe_path.absolute();
    emendate_os::paths::with_slashes(&path.strip_prefix(directory).unwrap_or(path).to_string_lossy()).into_owned()
}

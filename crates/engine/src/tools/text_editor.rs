//! The tool `text_editor`: the commands of Anthropic's text editor tool, mapped to our tools, with replies in the
//! wording that models know.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::options::{CallOptions, OptionFields};
use crate::context::policy::Access;
use crate::model::call_context::ChangeDisplay;
use crate::model::change_kind::ChangeKind;
use crate::model::reply::Answer;
use crate::model::reply::SeedCodes;
use crate::pipeline::report::receipt::{Receipt, ReplyText};
use crate::pipeline::report::rendered::answer_with;
use crate::pipeline::report::rows::render_warnings;
use crate::tools::aliases::{PATH_NAMES, alias};
use crate::tools::edit_files::change_files;
use crate::tools::outputs::{CHANGED_FILE, LINES_READ, SEVERAL_FILES};
use crate::tools::tool::{Annotations, FieldWords, Tool};
use crate::tools::tool_input::{AnswerText, ToolInput};
use crate::tools::{read, undo};
use emendate_core::formats::FormatInput;
use emendate_core::formats::text_editor::{self, EditorCommand, TextEditor, TextEditorInput};
use emendate_core::{Code, Error, ErrorContext, Result};
use emendate_fs::{EntryKind, PATH_MAX_BYTES, SafePath};
use schemars::schema_for;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Names that a view of a directory lists.
const LISTED_NAMES_MAX: usize = 1000;
/// Characters of the reply besides the names.
const REPLY_CHARS_RESERVED: usize = 500;

/// Entries that a view of a directory cannot list.
#[derive(Default)]
struct UnlistedEntries {
    /// Paths that are too long.
    long: usize,
    /// Directories that cannot be read.
    closed: usize,
}

impl UnlistedEntries {
    fn append_to(&self, text: &mut String) {
        note_omitted(
            text,
            self.long,
            &format!("with a path of more than {PATH_MAX_BYTES} bytes cannot be named and are omitted."),
        );
        note_omitted(text, self.closed, "of these directories cannot be listed: their contents are omitted.");
    }
}

/// Notes how many entries are omitted and why, if there are any.
fn note_omitted(text: &mut String, count: usize, what: &str) {
    if count > 0 {
        let _ = writeln!(text, "Note: {count} {what}");
    }
}

/// The row of the tool `text_editor` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "text_editor",
    title: "View and edit files",
    summary: "view, create, str_replace, insert: Anthropic's text editor tool",
    prompt: text_editor::PROMPT,
    annotations: Annotations::EDITS,
    seed: SeedCodes::Edit,
    rest: "View other lines with view_range.",
    example: r#"{"command": "str_replace", "path": "/work/src/main.rs", "old_str": "let x = 1;", "new_str": "let x = 2;"}"#,
    other_names: &["str_replace_editor", "str_replace_based_edit_tool"],
    aliases: &[
        alias("path", PATH_NAMES),
        alias("file_text", &["content", "contents", "file_content"]),
        alias("old_str", &["old_string", "old_text", "old", "search"]),
        alias("new_str", &["new_string", "new_text", "new", "replace", "replacement"]),
        alias("insert_line", &["line", "line_number"]),
        alias("view_range", &["range"]),
    ],
    words: &[FieldWords {
        field: "command",
        words: &[
            ("view", &["show", "read"]),
            ("create", &["write"]),
            ("str_replace", &["replace"]),
            ("insert", &[]),
            ("undo_edit", &["undo"]),
        ],
    }],
    meant_empty: &["file_text", "old_str", "new_str", "insert_text"],
    outputs: &[&CHANGED_FILE, &SEVERAL_FILES, &LINES_READ],
    input: ToolInput::Own {
        run: text_editor,
        schemas: || vec![schema_for!(TextEditorInput), schema_for!(OptionFields)],
        text: AnswerText::Lines,
    },
    ..Tool::ROW
};

/// Runs the tool `text_editor`.
pub(crate) fn text_editor(call: Call<'_>, tool: &'static str, input: Value) -> Result<Answer> {
    let mut command = input.clone();
    let options = CallOptions::take(&mut command, call.caller, call.config(), tool)?;
    let args = text_editor::read(FormatInput::Json(command))?;
    let answer = match args.command {
        EditorCommand::View => view_path(call, &args, input.get("encoding")).map(|mut answer| {
            let others = args.fields_of_other_commands();
            if !others.is_empty() {
                answer.reminders.push(format!("Ignored, because view does not take it: {}.", others.join(", ")));
            }
            answer
        }),
        EditorCommand::UndoEdit => {
            let (dry_run, irreversible) = (options.dry_run, options.origin.irreversible);
            let input = json!({ "file_path": args.path, "dry_run": dry_run, "irreversible": irreversible });
            undo::undo(call, tool, input)
        }
        EditorCommand::Create | EditorCommand::StrReplace | EditorCommand::Insert => {
            change_files(call, tool, &[&TextEditor], input).map(|done| {
                answer_with(&call, done.receipts, |receipt| render_answer(receipt, call.config().shows, &args))
            })
        }
    };
    answer.map_err(|error| reword_advice(error, &args))
}

/// Shows a file or a directory; `encoding` is the field of the call.
fn view_path(call: Call<'_>, args: &TextEditorInput, encoding: Option<&Value>) -> Result<Answer> {
    let path = call.store().resolve_path(Path::new(&args.path))?;
    if call.store().list(&path)?.is_some() {
        if args.view_range.is_some() {
            return Err(
                Error::new(Code::CallInvalid, "view_range is for files; this is a directory.").next("Omit view_range.")
            );
        }
        return list_names(call, &path);
    }
    let mut input = json!({ "file_path": args.path, "encoding": encoding });
    if let Some([from, to]) = args.view_range {
        let first = usize::try_from(from).ok().filter(|from| *from > 0).ok_or_else(|| invalid_range(from, to))?;
        input["offset"] = first.into();
        let limit = match to {
            -1 => usize::MAX,
            to => {
                usize::try_from(to).ok().filter(|to| *to >= first).ok_or_else(|| invalid_range(from, to))? - first + 1
            }
        };
        input["limit"] = limit.into();
    }
    let mut answer = read::read(call, input)?;
    answer.text.insert_str(0, &format!("Here's the result of running `cat -n` on {}:\n", path.shown()));
    Ok(answer)
}

/// Returns the error for a `view_range` that is not a range of lines.
fn invalid_range(from: i64, to: i64) -> Error {
    Error::new(Code::CallInvalid, format!("view_range [{from}, {to}] is not a range of lines."))
        .next("Give first and last line, the first being 1; -1 for the end.")
}

/// Lists a directory two levels deep, without hidden entries.
fn list_names(call: Call<'_>, path: &SafePath) -> Result<Answer> {
    let (mut names, mut left_out) = (Vec::new(), UnlistedEntries::default());
    add_names(&call, path, 2, &mut names, &mut left_out)?;
    let mut room = call.reply_limits().text.saturating_sub(REPLY_CHARS_RESERVED);
    let fits = names.iter().take(LISTED_NAMES_MAX).take_while(|name| {
        let left = room.checked_sub(name.len() + 1);
        room = left.unwrap_or(0);
        left.is_some()
    });
    let fits = fits.count();
    let cut = names.len() > fits;
    names.truncate(fits);
    let shown = path.shown();
    let mut text = format!(
        "Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items and node_modules:\n{shown}\n"
    );
    text.extend(names.iter().flat_map(|name| [name, "\n"]));
    if cut {
        let _ = writeln!(text, "Note: There are more than the {fits} names shown; view a subdirectory.");
    }
    left_out.append_to(&mut text);
    let mut answer = Answer { text, ..Answer::default() };
    if left_out.long + left_out.closed > 0 {
        answer.data.insert("leftOut".to_owned(), (left_out.long + left_out.closed).into());
    }
    answer.data.insert("names".to_owned(), names.into());
    answer.data.insert("truncated".to_owned(), cut.into());
    Ok(answer)
}

fn add_names(
    context: &Context,
    folder: &SafePath,
    levels: usize,
    names: &mut Vec<String>,
    left_out: &mut UnlistedEntries,
) -> Result<()> {
    for entry in context.store().list(folder)?.unwrap_or_default() {
        if entry.name.as_encoded_bytes().starts_with(b".")
            || entry.name == "node_modules"
            || names.len() > LISTED_NAMES_MAX
        {
            continue;
        }
        let path = match context.store().resolve_no_follow(&folder.absolute().join(&entry.name)) {
            Ok(path) => path,
            // Entries that vanish meanwhile, or lead out of the roots, are not listed.
            Err(error) => {
                left_out.long += usize::from(error.code() == Code::PathInvalid);
                continue;
            }
        };
        if entry.kind != EntryKind::Directory {
            if context.may_access_name(&path, Access::Read) {
                names.push(path.shown());
            }
            continue;
        }
        names.push(format!("{}/", path.shown()));
        if levels > 1 {
            // A directory that cannot be entered still has a name.
            left_out.closed += usize::from(add_names(context, &path, levels - 1, names, left_out).is_err());
        }
    }
    Ok(())
}

/// Renders the answer in the words of this tool: the headline that models know, the snippet, then everything else.
fn render_answer(receipt: &mut Receipt, shows: ChangeDisplay, args: &TextEditorInput) -> Answer {
    if receipt.dry_run || !receipt.is_written() {
        return receipt.answer(false, shows);
    }
    let mut reply = receipt.reply(false, shows);
    reply.text.body.push_str(&render_warnings(&reply.warnings));
    let path = &args.path;
    let ReplyText { headline, notes, body: snippet } = &reply.text;
    let text = match args.command {
        EditorCommand::Create if receipt.plan.kind() == ChangeKind::Create => {
            format!("File created successfully at: {path}\n{notes}")
        }
        EditorCommand::Create => format!("{headline}{notes}"),
        EditorCommand::Insert => format!(
            "The file {path} has been edited. Here's the result of running `cat -n` on a snippet of the edited file:\n{snippet}{notes}\
             Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file \
             again if necessary.\n"
        ),
        _ => format!(
            "The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n{snippet}{notes}\
             Review the changes and make sure they are as expected. Edit the file again if necessary.\n"
        ),
    };
    Answer { text, data: reply.data, notes: reply.notes, operation: receipt.operation, ..Answer::default() }
}

/// Rewords the advice of an error: this client has only this tool, with field names of its own.
fn reword_advice(error: Error, args: &TextEditorInput) -> Error {
    let view = json!({ "command": "view", "path": args.path });
    let next = match error.code() {
        // Inserts have no version header: a stale file has to be viewed again.
        Code::StaleChanged | Code::StaleUnknownTag if args.command == EditorCommand::Insert => {
            let line = args.insert_line.unwrap_or_default();
            let what = format!("Nothing was inserted: the file changed around line {line} since it was viewed.");
            return Error::new(error.code(), what)
                .next(format!("View it again with {view}, then insert after the line by its current number."));
        }
        Code::ReadRequired | Code::StaleUnknownTag | Code::StaleChanged => {
            format!("View the file with {view}, then send this call again, as far as it still fits.")
        }
        Code::MatchAmbiguous => {
            "Send the call again with more lines around the text in old_str, and the same lines in new_str, so that it \
                                 occurs once."
                .to_owned()
        }
        Code::MatchNotFound if error.is_about(&ErrorContext::EmptyFile) => {
            let create = json!({ "command": "create", "path": args.path });
            format!("Fill it with {create} and its text as file_text.")
        }
        Code::MatchNotFound if let Some(text) = error.suggestion() => {
            let text = Value::from(text);
            format!("If that text is meant, send the call again with \"old_str\": {text}.")
        }
        Code::MatchNotFound if error.is_about(&ErrorContext::AlreadyApplied) => {
            format!("Nothing is left to do if the text there is as wanted; else view the file again with {view}.")
        }
        Code::MatchNotFound => {
            format!("View {} and copy old_str from it, without line numbers.", nearest(&error, view))
        }
        Code::EditNoChange
            if args.command == EditorCommand::StrReplace && !error.is_about(&ErrorContext::AlreadyApplied) =>
        {
            "Send a new_str that differs from old_str; no call is needed if the file is already as intended.".to_owned()
        }
        Code::OperationMissing => "Make the change with str_replace or insert.".to_owned(),
        _ => return error,
    };
    error.next(next)
}

/// Formats the call that views the place most similar to the text if there is one, else the whole file.
fn nearest(error: &Error, mut view: Value) -> String {
    if let Some((from, to)) = error.nearest_lines() {
        view["view_range"] = json!([from.saturating_sub(3).max(1), to + 3]);
        return format!("the lines with {view}");
    }
    format!("the file again with {view}")
}

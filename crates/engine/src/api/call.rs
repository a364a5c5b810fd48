//! A call from its name and JSON to the reply: finds the tool, parses the arguments, and catches panics.

use crate::api::arguments::Arguments;
use crate::api::events::call_as;
use crate::api::table_names::TableNames;
use crate::api::tool_table::{INPUT_BYTES_MAX, TOOLS, tool, tool_named};
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::reply::{Answer, Reply, SeedCodes};
use crate::pipeline::report::receipt::render_notes;
use crate::session::comments::with_open_comments;
use crate::session::windows_paths::read_windows_fields;
use crate::tools::tool::Tool;
use crate::tools::tool_input::AnswerText;
use emendate_core::formats::detect::without_mark;
use emendate_core::{Code, Error, Result, TextNames, Vocabulary, formats};
use emendate_history::OUTSIDE;
use serde_json::Value;
use std::path::PathBuf;

impl Tool {
    /// Parses the arguments, runs the tool, and notes how the arguments were understood.
    fn answer(&'static self, call: Call<'_>, input: Value) -> Result<Answer> {
        let Arguments { mut value, mut notes } = Arguments::read(self, start(call).as_deref(), call.names, input)?;
        read_windows_fields(&call, &mut value, &mut notes);
        if notes.is_empty() {
            return self.input.run(call, self.name, value);
        }
        // An answer that consists only of requested text gets no notes, because that text may be saved as a file.
        let silent = self.input.text() == AnswerText::Bare;
        match self.input.run(call, self.name, value) {
            Ok(mut answer) => {
                match self.annotations.read_only {
                    _ if silent => {}
                    true => notes.iter().for_each(|note| answer.reminders.push(note.to_string())),
                    false => answer.text.insert_str(0, &render_notes(&notes)),
                }
                answer.data.insert("arguments".to_owned(), (&notes).into());
                Ok(answer)
            }
            Err(error) if silent => Err(error),
            Err(error) => Err(error.evidence(render_notes(&notes)).fact("arguments", &notes)),
        }
    }
}

/// Finds a tool by its name or another one for it.
fn find_tool(name: &str) -> Option<&'static Tool> {
    tool(name).or_else(|| tool_named(name))
}

/// Returns the reply to a call, with advice in these names. Never panics: an internal fault is reported as
/// `internal.bug`.
pub(crate) fn call_caught(call: Call<'_>, name: &str, input: Value, names: Option<&dyn Vocabulary>) -> Reply {
    let Some(tool) = find_tool(name) else {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let error = Error::new(Code::CallUnknownTool, format!("There is no tool `{name}`."))
            .next(format!("Use one of: {}.", names.join(", ")));
        return Reply::refusal(error, SeedCodes::None);
    };
    let named = names.and_then(TextNames::of).map(|texts| CallContext { texts: Some(texts), ..call.caller.clone() });
    let own = TableNames(tool);
    let names = names.unwrap_or(&own);
    let call = call.of(named.as_ref()).with_names(names);
    let result = caught(call, name, || tool.answer(call, input));
    // Before the limits apply: advice cannot be rendered once it is shortened.
    let result = result.map_err(|error| error.rendered_for(names));
    let limits = call.reply_limits();
    let limits = if tool.input.text() == AnswerText::Lines { limits.for_reads() } else { limits };
    with_open_comments(call, Reply::new(result, tool.seed, limits, tool.rest))
}

/// Runs a typed call under its meter. Never panics: an internal fault is reported as `internal.bug`.
pub(crate) fn caught<T>(call: Call<'_>, name: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    check_session(&call.caller.session)?;
    let run = std::panic::AssertUnwindSafe(|| call.metered(|_| run()));
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        Err(Error::new(Code::InternalBug, format!("{name} failed because of a bug in the engine."))
            .next("Please report the call that caused it. Read the file to see its state."))
    })
}

/// Refuses the session under which the history has changes by others, and what was last known of each file: a caller of
/// that name would have read every file, and would own what others did.
///
/// Errors: `call.invalid`.
fn check_session(session: &str) -> Result<()> {
    if session != OUTSIDE {
        return Ok(());
    }
    let what = format!("No session may be called `{OUTSIDE}`: the history has changes by others under that name.");
    Err(Error::new(Code::CallInvalid, what).next("Give the session another name."))
}

/// Returns the base directory of relative paths in arguments: the caller's, or the only root.
fn start(call: Call<'_>) -> Option<PathBuf> {
    call.caller.name_directory().or_else(|| match &*call.roots() {
        [root] => Some(root.to_path_buf()),
        _ => None,
    })
}

/// Calls a tool with JSON text, as `emend call` and NDJSON do.
pub(crate) fn call_json(call: Call<'_>, name: &str, input: &str) -> Reply {
    match parse_json(input) {
        Ok(value) => call_as(call, name, value, None),
        // The name is wrong, whatever the input is.
        Err(_) if find_tool(name).is_none() => call_as(call, name, Value::Null, None),
        Err(error) => Reply::refusal(error, tool(name).map_or(SeedCodes::None, |tool| tool.seed)),
    }
}

/// Parses the input of a call.
///
/// Errors: `call.too_large`; `call.invalid` for a text that is not JSON.
pub(crate) fn parse_json(input: &str) -> Result<Value> {
    if input.len() > INPUT_BYTES_MAX {
        return Err(Error::new(
            Code::CallTooLarge,
            format!("The input has {} bytes; the limit is {INPUT_BYTES_MAX}.", input.len()),
        )
        .next("Send smaller edits in several calls."));
    }
    serde_json::from_str(without_mark(input)).map_err(|error| formats::malformed(&error))
}

//! The tool `mark`, and the moments that calls name: marks, operations, and the beginning of the last turn.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::logged_operations;
use crate::model::reply::Answer;
use crate::pipeline::report::rendered::files_data;
use crate::session::turns::{log_moment, start_of_turn};
use crate::tools::aliases::alias;
use crate::tools::history::operation_list::reversal_of;
use crate::tools::outputs::MARK_AND_RETURN;
use crate::tools::tool::{Annotations, Tool};
use crate::tools::tool_input::ToolInput;
use crate::tools::undo::select::{self, OperationRef};
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Advice, Code, Error, Result, work};
use emendate_history::{LogEntry, MARK, OperationFilter};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;

/// Characters of the name of a mark.
pub(crate) const MARK_CHARS_MAX: usize = 64;
/// The input of `mark`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct MarkInput {
    /// The name of this moment: at most 64 letters, digits, `-`, `_`, `.` or `/`, and not only digits.
    name: String,
}

/// A moment: for each root, the number of the newest operation up to it; `None` for a root that it says nothing about.
pub(crate) struct Moment(pub(crate) Vec<Option<u64>>);

/// The row of the tool `mark` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "mark",
    title: "Name this moment",
    summary: "give this moment of the history a name, to which rewind goes back",
    prompt: "\
Gives this moment a name. rewind takes back what you did since; undo (since) and history (id, to) take the name, too. The newest mark of a name counts.",
    annotations: Annotations::ADDS,
    example: r#"{"name": "before-refactoring"}"#,
    aliases: &[alias("name", &["mark", "label"])],
    outputs: &[&MARK_AND_RETURN],
    input: ToolInput::new(|call, _, input| mark(call, input), || vec![schema_for!(MarkInput)]),
    ..Tool::ROW
};

/// Runs the tool `mark`.
pub(crate) fn mark(call: Call<'_>, input: Value) -> Result<Answer> {
    let args: MarkInput = formats::from_json(FormatInput::Json(input))?;
    check_name(&args.name)?;
    work::spend(args.name.len())?;
    if !call.history_stores.keeps_history() {
        return Err(Error::new(Code::CallInvalid, "Without a state directory no history is kept.")
            .next("Name a state directory (--state)."));
    }
    let id = if call.caller.dry_run { None } else { log_moment(&call, &call.caller.session, MARK, &args.name)? };
    let name = &args.name;
    let text = match id {
        Some(_) => format!("Marked this moment as {name}: rewind, undo (since) and history accept the name.\n"),
        None => format!("This moment would have the name {name}.\n"),
    };
    let mut data = files_data(Vec::new(), 0, call.caller.dry_run);
    data.insert("operation".to_owned(), id.map(|id| id.to_string()).into());
    Ok(Answer { text, data, operation: id, ..Answer::default() })
}

/// Checks the name of a mark.
///
/// Errors: `call.invalid` for a name that could be mistaken for an operation or a range.
fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let is_operation = OperationRef::read(name).is_ok();
    if !name.is_empty()
        && name.chars().count() <= MARK_CHARS_MAX
        && name.chars().all(fits)
        && !name.contains("..")
        && !is_operation
        && name != NOW_NAME
    {
        return Ok(());
    }
    Err(Error::new(Code::CallInvalid, format!("`{name}` cannot be the name of a mark."))
        .next("Use up to 64 letters, digits, `-`, `_`, `.` or `/`, not only digits; e.g. before-refactoring."))
}

/// The name for the present.
pub(crate) const NOW_NAME: &str = "now";

/// Returns the moment that a name refers to: that of a mark (the newest of that name), or the one right after an
/// operation, or, with `^`, right before it.
///
/// Errors: `operation.not_found`.
pub(crate) fn find_moment(context: &Context, name: &str) -> Result<Moment> {
    let roots = context.root_count();
    if let Ok(at) = OperationRef::read(name) {
        let (root, logged) = select::operation(context, at.name)?;
        let mut numbers = vec![None; roots];
        numbers[root] = Some(logged.id.number - u64::from(at.before));
        return Ok(Moment(numbers));
    }
    let numbers = (0..roots).map(|root| find_mark(context, root, name)).collect::<Result<Vec<_>>>()?;
    if numbers.iter().any(Option::is_some) {
        return Ok(Moment(numbers));
    }
    Err(Error::new(Code::OperationMissing, format!("There is no mark `{name}` in the history, and no such operation."))
        .next(
            Advice::named("Call {history()} to see the marks and operations there are.")
                .or("Give the name of a mark, or of an operation as replies give it."),
        ))
}

/// Returns the number of the newest mark of that name.
fn find_mark(context: &Context, root: usize, name: &str) -> Result<Option<u64>> {
    let filter = OperationFilter { tool: Some(MARK), ..OperationFilter::default() };
    for mark in logged_operations(context.history(root), filter) {
        let LogEntry { id, operation, .. } = mark?;
        if operation.is_moment() && operation.note == name {
            return Ok(Some(id.number));
        }
    }
    Ok(None)
}

/// The last turn of a session in one root.
struct TurnStart {
    /// The number of the newest operation before it.
    after: u64,
    /// The time of its newest operation that is in effect.
    at: i64,
}

/// Returns the beginning of the session's last turn in which anything is in effect: as hooks or the caller reported it;
/// where they never did, after a pause.
///
/// Errors: `operation.not_found`.
pub(crate) fn last_turn(context: &Context, session: &str) -> Result<Moment> {
    let mut newest: Option<(usize, TurnStart)> = None;
    for root in 0..context.root_count() {
        if let Some(turn) = turn_start(context, root, session)?
            && newest.as_ref().is_none_or(|(_, known)| turn.at > known.at)
        {
            newest = Some((root, turn));
        }
    }
    let mut numbers = vec![None; context.root_count()];
    let Some((root, turn)) = newest else {
        return Err(Error::new(Code::OperationMissing, format!("There is nothing to undo in the session {session}."))
            .next(Advice::named("Call {history()} to see what was done.").or("Make the change with an edit.")));
    };
    numbers[root] = Some(turn.after);
    Ok(Moment(numbers))
}

fn turn_start(context: &Context, root: usize, session: &str) -> Result<Option<TurnStart>> {
    let filter = OperationFilter { session: Some(session), ..OperationFilter::default() };
    for logged in logged_operations(context.history(root), filter) {
        let logged = logged?;
        if !logged.operation.is_moment() && is_in_effect(context, root, &logged)? {
            let after = start_of_turn(context, root, &logged)? - 1;
            return Ok(Some(TurnStart { after, at: logged.at }));
        }
    }
    Ok(None)
}

/// True for an operation that an undo without a name could select, and for an edit that came back with an undo of the
/// session: that of a turn takes back a rewind, too.
fn is_in_effect(context: &Context, root: usize, logged: &LogEntry) -> Result<bool> {
    if logged.is_undo() || logged.owner.is_some() {
        return Ok(false);
    }
    let Some(last) = reversal_of(context, root, logged)? else { return Ok(true) };
    let by = if last.redone { context.history(root).operation(last.by.into())? } else { None };
    Ok(by.is_some_and(|by| by.is_undo() && by.operation.session == logged.operation.session))
}

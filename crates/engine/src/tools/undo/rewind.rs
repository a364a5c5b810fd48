//! The tool `rewind`: it undoes everything that the session did since a moment, in one operation. What others did since
//! then stays, and is listed.

use crate::context::call::Call;
use crate::model::call_origin::CallOrigin;
use crate::model::reply::Answer;
use crate::session::outside::is_of_shell;
use crate::tools::aliases::alias;
use crate::tools::moments::{Moment, find_moment};
use crate::tools::outputs::{CHANGED_FILE, MARK_AND_RETURN, SEVERAL_FILES};
use crate::tools::tool::{Annotations, REST_OF_FILES, Tool};
use crate::tools::tool_input::ToolInput;
use crate::tools::undo::effects::EditEffects;
use crate::tools::undo::input::UndoInput;
use crate::tools::undo::since::operations_after;
use crate::tools::undo::undo_operations;
use emendate_core::Result;
use emendate_core::formats::{self, FormatInput};
use emendate_history::{LogEntry, Role};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;

/// Operations of others that the text of a reply names.
const NAMED_OPERATIONS_MAX: usize = 10;
/// Operations of others that the data of a reply name.
const KEPT_OPERATIONS_MAX: usize = 100;

/// The input of `rewind`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct RewindInput {
    /// The moment: the name of a mark, or of an operation (17, or 17^ for before it).
    to: String,
    /// Also revert what snapshots found during the session's shell commands, including changes that another program
    /// made at the same time.
    #[serde(default)]
    shell: bool,
    /// Show what would be done, write nothing.
    #[serde(default)]
    dry_run: bool,
    /// Rewind even if that cannot be redone afterwards (default: refused).
    #[serde(default)]
    irreversible: bool,
}

/// The row of the tool `rewind` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "rewind",
    title: "Return to a moment",
    summary: "take back everything that the session did since a mark, and keep what others did",
    prompt: "\
Takes back everything that you did since a mark or an operation, in all files, as one operation, which undo with redo takes back. What others did since \
then is kept and listed; where both changed the same lines, nothing is done and the conflict is shown. With shell, also what snapshots found \
during your shell commands.",
    annotations: Annotations::EDITS,
    rest: REST_OF_FILES,
    example: r#"{"to": "before-refactoring"}"#,
    aliases: &[alias("to", &["mark", "name", "since"])],
    outputs: &[&CHANGED_FILE, &SEVERAL_FILES, &MARK_AND_RETURN],
    input: ToolInput::new(rewind, || vec![schema_for!(RewindInput)]),
    ..Tool::ROW
};

/// Runs the tool `rewind`.
pub(crate) fn rewind(call: Call<'_>, tool: &'static str, input: Value) -> Result<Answer> {
    let origin = CallOrigin::new(tool, &input);
    let args: RewindInput = formats::from_json(FormatInput::Json(input))?;
    let moment = find_moment(&call, &args.to)?;
    let RewindInput { to, shell, dry_run, irreversible } = args;
    let undo = UndoInput { since: Some(to), shell, dry_run, irreversible, ..UndoInput::default() };
    let origin = CallOrigin { irreversible, ..origin };
    let is_dry = dry_run || call.caller.dry_run;
    let done = undo_operations(call, origin, &undo, None);
    let kept = kept_operations(call, &moment, shell)?;
    match done {
        Ok(undone) => {
            let verb = if is_dry { "would be kept" } else { "were kept" };
            let mut answer = undone.into_answer(&call, is_dry, &describe_kept(&kept, &call.caller.session, verb));
            let ids = kept.iter().take(KEPT_OPERATIONS_MAX).map(|logged| Value::from(logged.id.to_string()));
            answer.data.insert("kept".to_owned(), ids.collect());
            Ok(answer)
        }
        Err(error) => {
            let text = describe_kept(&kept, &call.caller.session, "would be kept");
            Err(if text.is_empty() { error } else { error.evidence(text.trim_end()) })
        }
    }
}

/// Returns what others did since the moment and is in effect, perhaps again.
fn kept_operations(call: Call<'_>, moment: &Moment, shell: bool) -> Result<Vec<LogEntry>> {
    let session = &call.caller.session;
    let mut kept = Vec::new();
    for (root, after) in moment.0.iter().enumerate().filter_map(|(root, after)| Some((root, (*after)?))) {
        let effects = EditEffects::read(&call, root)?;
        kept.extend(operations_after(&call, root, after)?.into_iter().filter(|logged| {
            let is_own = logged.operation.session == *session || shell && is_of_shell(logged, session);
            let is_in_effect = match logged.operation.role {
                Role::Edit => effects.is_in_effect(logged.id),
                Role::Undo(_) | Role::Redo(_) => logged.undone_by.is_none(),
            };
            !is_own && !logged.operation.is_moment() && is_in_effect
        }));
    }
    Ok(kept)
}

/// Names what others did; empty if there is nothing. `verb` says whether the rewind was done.
fn describe_kept(kept: &[LogEntry], session: &str, verb: &str) -> String {
    if kept.is_empty() {
        return String::new();
    }
    let names: Vec<String> = kept
        .iter()
        .take(NAMED_OPERATIONS_MAX)
        .map(|logged| match (is_of_shell(logged, session), logged.operation.is_outside()) {
            (true, _) => format!("{} (during a shell command of this session)", logged.id),
            (false, true) => format!("{} (changed by others)", logged.id),
            (false, false) => format!("{} (session {})", logged.id, logged.operation.session),
        })
        .collect();
    let more = kept.len().saturating_sub(NAMED_OPERATIONS_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = names.join(", ");
    format!("Changes by others since then {verb}: operation {names}{more}. An undo by id reverts one of them.\n")
}

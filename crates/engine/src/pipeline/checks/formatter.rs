//! Formats an edited file with the program that the configuration names for it. Formatting is planned with the
//! edit, so it is part of its dry run, its approval and its undo; changes by the program beyond the edit are noted.

use crate::context::call::Call;
use crate::context::config::{Formatter, FormatterTrigger};
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use emendate_core::Result;
use emendate_run::{CommandJob, FILE_PLACEHOLDER, run_on_copy, run_until};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Files of one call that are formatted: each starts a process.
const FORMATTED_FILES_MAX: usize = 200;
/// Bytes that a formatter may add to a text, in addition to doubling it.
const FORMATTER_GROWTH_BYTES: usize = 64 << 10;

/// Formats the results of plans. If a program fails, the edit remains as it is, with a note.
///
/// Errors: `call.cancelled`.
pub(crate) fn format(call: Call<'_>, plans: &mut [FilePlan]) -> Result<()> {
    if call.config().formatters.is_empty() {
        return Ok(());
    }
    let shaped = |plan: &&mut FilePlan| plan.target == TargetState::File && !plan.before.is_binary() && plan.writes();
    for plan in plans.iter_mut().filter(shaped).take(FORMATTED_FILES_MAX) {
        call.caller.check_cancelled()?;
        if let Some(formatter) =
            call.config().formatters.iter().find(|it| it.files.matches(plan.path.relative(), plan.path.absolute()))
        {
            let root = call.root_path(plan.path.root());
            // The directory of a new file may not exist yet.
            let folder = if plan.creates() { root } else { plan.path.absolute().parent() };
            let folder = folder.unwrap_or(Path::new("/")).to_owned();
            format_plan(plan, formatter, &folder, call.caller.stop_flag());
        }
    }
    call.caller.check_cancelled()
}

fn format_plan(plan: &mut FilePlan, formatter: &Formatter, folder: &Path, stop: &AtomicBool) {
    let name = formatter.command.first().cloned().unwrap_or_default();
    let Ok(after) = plan.after() else { return };
    let formatted = |text: &str| run_formatter(formatter, plan.path.absolute(), folder, text, stop);
    let edits = matches!(plan.current, CurrentState::File(_)) && !plan.before.text().is_empty();
    if edits && formatter.when == FormatterTrigger::Formatted {
        let why_not = match formatted(plan.before.text()) {
            Ok(text) if text == plan.before.text() => None,
            Ok(_) => Some(format!("Not formatted: {name} would change this file beyond the edit.")),
            Err(why) => Some(format!("Not formatted: {why} The edit was written as sent.")),
        };
        if let Some(why_not) = why_not {
            plan.outcome.notes.push(why_not);
            return;
        }
    }
    let shaped = formatted(after.text())
        .and_then(|text| plan.replace_text(&name, &text).map_err(|error| error.message().to_owned()));
    if let Err(why) = shaped {
        plan.outcome.notes.push(format!("Not formatted: {why} The edit was written as sent."));
    }
}

/// Returns the program's output for a text.
///
/// Errors: the reason for having none, as a sentence.
fn run_formatter(
    formatter: &Formatter,
    path: &Path,
    folder: &Path,
    text: &str,
    stop: &AtomicBool,
) -> std::result::Result<String, String> {
    let words = formatter.command_for(&path.to_string_lossy());
    let name = words.first().cloned().unwrap_or_default();
    let most = text.len() * 2 + FORMATTER_GROWTH_BYTES;
    let job = CommandJob {
        argv: &words,
        directory: folder,
        input: text.as_bytes(),
        time: formatter.time,
        output_bytes_max: most,
    };
    let ran = if formatter.command.iter().any(|word| word.contains(FILE_PLACEHOLDER)) {
        run_on_copy(job, path.file_name().unwrap_or_default(), stop)
    } else {
        run_until(job, stop)
    };
    let ran = ran.map_err(|error| error.message().to_owned())?;
    if ran.status != Some(0) {
        let complaint = ran.stderr.lines().next().unwrap_or("it failed without output").to_owned();
        return Err(format!("{name} rejected it: {complaint}."));
    }
    let shaped = String::from_utf8(ran.output).map_err(|_| format!("The output of {name} is not UTF-8 text."))?;
    // A program that fails silently must not empty a file.
    if shaped.trim().is_empty() && !text.trim().is_empty() {
        return Err(format!("{name} wrote nothing."));
    }
    Ok(shaped)
}

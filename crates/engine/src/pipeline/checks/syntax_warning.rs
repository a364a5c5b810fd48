//! The warning about a file that no longer parses.

use crate::context::Context;
use crate::context::syntax::language;
use crate::context::syntax::parsers::{Comparison, ComparisonResult};
use crate::context::threads::on_threads;
use crate::pipeline::checks::validate::validates;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::pipeline::plan::repair::inside_a_block;
use emendate_core::Snapshot;
use emendate_syntax::ParseLimits;
use std::iter::once;
use std::thread;

/// Adds a warning to plans whose file parses now, or is new, and would not parse afterwards.
pub(crate) fn warn_of_syntax(context: &Context, plans: &mut [FilePlan]) {
    if !context.config().syntax_check {
        return;
    }
    let most = plans.len().min(CHECKED_FILES_MAX);
    // Determining the number of processors costs as much as many an edit.
    let threads = if most <= FILES_PER_THREAD {
        1
    } else {
        thread::available_parallelism().map_or(1, usize::from).min(CHECK_THREADS)
    };
    let notes = on_threads(most, threads, |at| syntax_notes(context, &plans[at]));
    for (plan, notes) in plans.iter_mut().zip(notes) {
        plan.outcome.notes.extend(notes.into_iter().flatten());
    }
}

/// Returns the warning about a file, with a hint; `None` if there is nothing to say.
fn syntax_notes(context: &Context, plan: &FilePlan) -> Option<Vec<String>> {
    let edited = matches!((&plan.current, &plan.target), (CurrentState::File(_), TargetState::File));
    let made = plan.creates() && plan.target == TargetState::File && plan.source_file.is_none();
    let unfit = plan.before.is_binary() || plan.source.is_some() || validates(context, plan);
    if !(edited || made) || plan.changes.is_empty() || unfit || plan.before.text().len() > ParseLimits::CHECK.bytes {
        return None;
    }
    // A text that cannot be decoded any more is reported elsewhere.
    let new = made.then(|| plan.after().ok()).flatten();
    let language = language(&plan.path, new.as_ref().map_or(plan.before.text(), Snapshot::text))?;
    let after = new.or_else(|| plan.after().ok())?;
    let proof = Comparison::new(&context.memory.parsers, language, plan.before.text(), ParseLimits::CHECK);
    let Some(ComparisonResult::Breaks(error)) = proof.after(after.text()) else { return None };
    let line = after.lines().span_of(after.text(), error.line, error.line);
    let shown: String = after.text()[line.range()].trim().chars().take(80).collect();
    let missing = error.missing.map_or(String::new(), |it| format!(" (`{it}` is missing)"));
    let to = if error.last > error.line { format!(" to {}", error.last) } else { String::new() };
    let (name, line) = (language.name(), error.line);
    if made {
        return Some(vec![format!(
            "The new file does not parse as {name}, first at line {line}{to}{missing}: {shown}"
        )]);
    }
    let warning = format!(
        "The file parsed as {name} before this edit and no longer does, first at line {line}{to}{missing}: {shown}"
    );
    Some(once(warning).chain(inside_a_block(&proof, plan, &after)).collect())
}

/// Files of one call that are checked: each may take some milliseconds.
const CHECKED_FILES_MAX: usize = 50;

/// Threads that check them, if they are more than one thread checks.
const CHECK_THREADS: usize = 4;
const FILES_PER_THREAD: usize = 8;

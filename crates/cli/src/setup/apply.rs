//! Makes the changes of a plan: all of them, or none.

use super::change::{ConfigChange, PriorFile};
use super::plan::ClientPlan;
use crate::context::CliContext;
use crate::listing::ListingColors;
use crate::{approval, output, styled};
use emendate::Answer;
use emendate::core::Result;
use emendate::fs::shown;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A change that was made, or shown.
pub(crate) struct AppliedChange {
    pub(crate) answer: Answer,
    pub(crate) backup: Option<PathBuf>,
    root: PathBuf,
    /// The state directory that the command line names; `none` if there is none.
    state: Option<PathBuf>,
}

/// Makes the changes of one client, after a dry run of all of them; in a dry run, shows them. If one fails, those that
/// were made before are undone.
///
/// Errors: refused edits.
pub(crate) fn apply(context: &CliContext<'_>, plan: &ClientPlan) -> Result<Vec<AppliedChange>> {
    let dry_run = context.global.dry_run;
    let durability = context.global.durability.unwrap_or_default();
    for change in &plan.changes {
        change.check()?;
        if !dry_run {
            change.call(context, &change.engine(context)?, true).result?;
        }
    }
    let mut done: Vec<AppliedChange> = Vec::new();
    for (nth, change) in plan.changes.iter().enumerate() {
        match make(context, change) {
            Ok(applied) => done.push(applied),
            Err(error) => {
                if !dry_run {
                    plan.changes[..nth].iter().rev().for_each(|made| made.take_back(durability));
                }
                return Err(error);
            }
        }
    }
    if !dry_run {
        plan.leftovers.iter().for_each(PriorFile::forget_installation);
    }
    Ok(done)
}

fn make(context: &CliContext<'_>, change: &ConfigChange) -> Result<AppliedChange> {
    let dry_run = context.global.dry_run;
    let durability = context.global.durability.unwrap_or_default();
    let engine = change.engine(context)?;
    let backup = if dry_run { None } else { change.back_up(durability)? };
    let reply = change.call(context, &engine, dry_run);
    output::notices(&engine);
    let Answer { text, data, .. } = match reply.result {
        Ok(answer) => answer,
        Err(error) => {
            if let Some(backup) = &backup {
                let _ = std::fs::remove_file(backup);
            }
            return Err(error);
        }
    };
    if !dry_run && let Err(error) = change.complete(durability) {
        change.take_back(durability);
        return Err(error);
    }
    let answer = Answer { text, data, ..Answer::default() };
    let state = context.global.state.as_deref();
    let state = state.map(|it| if it == Path::new("none") { Ok(it.to_owned()) } else { context.absolute(it) });
    Ok(AppliedChange { answer, backup, root: engine.roots()[0].to_owned(), state: state.transpose()? })
}

impl AppliedChange {
    /// Prints what was done to the file.
    pub(crate) fn print<W: std::io::Write>(&self, out: &mut styled::StyledWriter<W>) -> std::io::Result<()> {
        out.answer(&self.answer, &ListingColors::default())?;
        if let Some(backup) = &self.backup {
            out.plain(&format!("backup: {}", shown(backup)))?;
        }
        self.undo_command().map_or(Ok(()), |command| out.plain(&format!("undo: {command}")))
    }

    /// Returns the data of the changed configuration.
    pub(crate) fn data(&self) -> Value {
        let mut data = self.answer.data.clone();
        data.insert("backup".to_owned(), self.backup.as_deref().map(shown).into());
        data.insert("root".to_owned(), shown(&self.root).into());
        Value::Object(data)
    }

    /// Returns the command that takes the change of a client's file back.
    fn undo_command(&self) -> Option<String> {
        let data = &self.answer.data;
        let id = data.get("operation").and_then(Value::as_str)?;
        // A removal is an edit of any number of files.
        let file = data.get("filePath").or_else(|| data.get("files")?[0].get("filePath"));
        let allow = approval::rule_about(file.and_then(Value::as_str).unwrap_or_default());
        let state = match &self.state {
            // Nothing is left that could be undone.
            Some(directory) if directory == Path::new("none") => return None,
            Some(directory) => format!(" --state '{}'", directory.display()),
            None => String::new(),
        };
        Some(format!("emend undo {id} --root '{}'{state} --allow '{allow}'", self.root.display()))
    }
}

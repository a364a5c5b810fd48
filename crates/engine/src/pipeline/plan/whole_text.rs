//! Whole texts of files: new ones, and those that replace the text of a file.

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::model::call_context::StalePolicy;
use crate::pipeline::plan::edit::{carry_over, empty_file_text};
use crate::pipeline::plan::elided::plan_elided;
use crate::pipeline::plan::file_plan::{FilePlan, without_ops};
use crate::pipeline::plan::placement::{self, EditedFile, OrderedOps, PlacedEdits, PlacementStrategy, SeenVersion};
use crate::session::base::{KnownLines, find_base};
use emendate_core::whole_text::{WholeText, WrittenText, new_file_change, whole_change};
use emendate_core::{Error, Locator, MergeBase, Notes, Op, OpOrder, Result, Snapshot, normalize_text};
use emendate_fs::SafePath;
use emendate_history::LineSet;
use std::ffi::OsStr;

/// Plans the new text of a file that the call removes and adds again: it replaces the whole text.
///
/// Errors: `edit.omission`.
pub(crate) fn plan_after_removal(plan: &mut FilePlan, now: Snapshot, text: &str, options: &CallOptions) -> Result<()> {
    let whole = WholeText::read(&now, text, options.matching, options.origin.allows_invalid)?;
    if let Some(refusal) = whole.placeholders {
        return Err(refusal);
    }
    plan.changes = whole_change(&now, &whole.content)?;
    plan.before = now;
    plan.outcome.notes.extend(whole.notes);
    Ok(())
}

/// Plans a write of a file's whole text, which may be in a fence, and may begin with the name of the file.
pub(crate) fn plan_write(
    call: Call<'_>,
    path: SafePath,
    written: WrittenText<'_>,
    options: &CallOptions,
) -> Result<FilePlan> {
    let now = call.snapshot(&path, options.declared, written.content)?;
    let text = now.as_ref().map(|now| now.snapshot.text());
    let (content, notes) =
        written.unwrap_fence(text, extension(&path), options.matching, options.origin.allows_invalid)?;
    let mut plan = plan_whole(call, path, now, &content, options)?;
    plan.outcome.notes.extend(notes);
    Ok(plan)
}

/// Plans a write of a file's whole text.
fn plan_whole(
    call: Call<'_>,
    path: SafePath,
    now: Option<LoadedFile>,
    content: &str,
    options: &CallOptions,
) -> Result<FilePlan> {
    let Some(now) = now else {
        let before = empty_file_text(&call, &path, options)?;
        let changes = new_file_change(&before, content)?;
        let mut plan = FilePlan::create(path, before, without_ops(changes));
        plan.outcome.notes.extend(new_text_notes(&plan.path, content, options)?);
        return Ok(plan);
    };
    let file = EditedFile { call, options, path, now };
    let base = find_base(call, options, &file.path, &file.now)?;
    let WholeText { content, notes, placeholders } =
        WholeText::read(&file.now.snapshot, content, options.matching, options.origin.allows_invalid)?;
    if let Some(refusal) = placeholders {
        return plan_elided(file, &content, refusal);
    }
    let mut plan = placement::plan_on(base, file, &mut WholePlacement { content: &content })?;
    plan.outcome.notes.extend(notes);
    Ok(plan)
}

/// Checks the text of a file that does not exist, and returns its notes.
///
/// Errors: `call.invalid`, `edit.omission`.
pub(crate) fn new_text_notes(path: &SafePath, content: &str, options: &CallOptions) -> Result<Notes> {
    Ok(WholeText::of_new_file(extension(path), content, options.matching, options.origin.allows_invalid)?.notes)
}

fn extension(path: &SafePath) -> Option<&str> {
    path.absolute().extension().and_then(OsStr::to_str)
}

/// The whole text of a file.
struct WholePlacement<'a> {
    content: &'a str,
}

impl PlacementStrategy for WholePlacement<'_> {
    fn in_current(&mut self, file: &EditedFile<'_>, KnownLines { lines, .. }: KnownLines) -> Result<PlacedEdits> {
        let now = &file.now.snapshot;
        let missing = lines.missing(now.lines().count(now.text()) as u64);
        if !missing.is_empty() && !file.call.caller.allows_unread() {
            return Err(file.partly_read(now, &lines));
        }
        Ok(PlacedEdits::new(without_ops(whole_change(now, self.content)?), LineSet::all()))
    }

    fn in_seen(&mut self, file: &EditedFile<'_>, seen: &Snapshot, lines: LineSet) -> Result<PlacedEdits> {
        let missing = lines.missing(seen.lines().count(seen.text()) as u64);
        if !missing.is_empty() {
            return Err(file.partly_read(seen, &lines));
        }
        let op = Op { at: Locator::Whole, text: normalize_text(self.content) };
        let base = SeenVersion { snapshot: seen, lines, of: MergeBase::Seen };
        carry_over(file, base, OrderedOps { ops: &[op], order: OpOrder::Together })
    }

    /// A whole text is about every line, so it is merged only at the caller's request.
    fn carries_over(&self, options: &CallOptions) -> bool {
        options.on_stale_asked && matches!(options.on_stale, StalePolicy::Merge | StalePolicy::Markers)
    }

    /// Every change by others is one of lines that the whole text is about, so a call that asks gets the choices.
    fn refuse(&self, file: &EditedFile<'_>, _is_kept: bool) -> Error {
        file.with_choices(file.version_unavailable())
    }
}

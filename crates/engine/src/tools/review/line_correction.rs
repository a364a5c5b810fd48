//! Lines of a change that a person edits where the file has them now.

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::call_origin::CallOrigin;
use crate::model::reply::Answer;
use crate::pipeline::plan::file_plan::{FilePlan, without_ops};
use crate::pipeline::plan::line_ends::with_line_ends_of;
use crate::pipeline::report::rendered::render_receipts;
use crate::pipeline::run::plan_and_commit;
use crate::session::in_doubt::wait_for_in_doubt;
use crate::tools::review::Review;
use crate::tools::review::reversal::{FoundChange, ShownChange};
use crate::tools::undo::file_states::{lines_then, logged_place, side_content, with_same_codec};
use crate::tools::undo::refusals::nothing_to_do;
use emendate_core::line_edits::LineMap;
use emendate_core::{ChangeSet, Code, Error, Result, Snapshot, TextEdit, resolve_texts};
use emendate_fs::SafePath;
use std::iter::once;

/// The advice for lines that a form cannot change.
const USE_AN_EDITOR: &str = "Change the lines in an editor.";

/// Lines of the version of a file after a change.
#[derive(Clone, Copy, Debug)]
pub struct HunkLines<'a> {
    /// The number of the first line in that version.
    pub first: usize,
    /// The lines, with a line feed between two of them.
    pub text: &'a str,
}

impl Review<'_> {
    /// Returns the number that the first of these lines has in the file as it is now.
    ///
    /// Errors: `stale.changed` if the file does not have these lines any more, or their place is not certain;
    /// `call.invalid` for lines that a form of a browser would change; those of [`Review::reverse_change`].
    pub fn line_now(&self, caller: &CallContext, shown: ShownChange<'_>, lines: HunkLines<'_>) -> Result<usize> {
        Call::new(self.context, caller).metered(|call| {
            let found = shown.find(call)?;
            let place = logged_place(&call, &found.file.path)?;
            Ok(locate_lines(call, &found, &place, lines)?.first)
        })
    }

    /// Replaces these lines, wherever the file has them now, by those that a person wrote: none if `text` is empty.
    ///
    /// Errors: as [`Review::line_now`], and those of an edit.
    pub fn correct_lines(
        &self,
        caller: &CallContext,
        shown: ShownChange<'_>,
        lines: HunkLines<'_>,
        text: &str,
    ) -> Result<Answer> {
        Call::new(self.context, caller).metered(|call| {
            wait_for_in_doubt(&call)?;
            let found = shown.find(call)?;
            shown.check_hunks(&found)?;
            let place = logged_place(&call, &found.file.path)?;
            let first = lines.first.to_string();
            let parts = [&*found.file.path, first.as_bytes(), lines.text.as_bytes(), text.as_bytes()];
            let origin = CallOrigin::of_parts("edit", &parts);
            let dry_run = call.caller.dry_run;
            let turns = call.lock_paths(once(place.absolute()));
            let receipts = plan_and_commit(call, origin, dry_run, || {
                let located = locate_lines(call, &found, &place, lines)?;
                Ok(vec![plan_correction(call, &place, located, text)?])
            })?;
            drop(turns);
            Ok(render_receipts(&call, receipts).into_answer(dry_run, "", []))
        })
    }
}

/// Lines of a file as it is now.
struct LocatedLines {
    now: LoadedFile,
    first: usize,
    count: usize,
}

/// Finds lines of the version after a change in the current file. A comparison could pair them with equal lines
/// elsewhere, so their place must be proven.
fn locate_lines(call: Call<'_>, found: &FoundChange, place: &SafePath, lines: HunkLines<'_>) -> Result<LocatedLines> {
    if lines.text.contains('\r') {
        let what = "The lines have carriage returns within, which a browser would turn into line ends.";
        return Err(Error::new(Code::CallInvalid, what).evidence(place.shown()).next(USE_AN_EDITOR));
    }
    let gone = |why: String| {
        Error::new(Code::StaleChanged, "The file no longer has these lines where the change left them.")
            .evidence(place.shown())
            .evidence(why)
            .next("Open the form again from the changes as they are now, or change the lines in an editor.")
    };
    let now = call.load_file(place, None)?.ok_or_else(|| gone("The file is gone.".to_owned()))?;
    let after = found.file.after.ok_or_else(|| gone("The change deleted it.".to_owned()))?;
    let seen = side_content(&call, found.root, place, Some(after))?
        .ok_or_else(|| gone("The version after the change was not kept.".to_owned()))?;
    let seen = with_line_ends_of(&now.snapshot, with_same_codec(&now.snapshot, seen));
    if [&seen, &now.snapshot].iter().any(|it| it.is_binary()) {
        return Err(Error::new(Code::ContentBinary, "The file is not text.")
            .evidence(place.shown())
            .next(USE_AN_EDITOR));
    }
    let count = lines.text.split('\n').count();
    let last = lines.first + count - 1;
    if lines.first == 0 || line_text(&seen, lines.first, last) != lines.text {
        return Err(gone("The change did not leave these lines there.".to_owned()));
    }
    let first = if seen.id() == now.snapshot.id() {
        lines.first
    } else {
        let theirs = ChangeSet::diff(&seen, &now.snapshot);
        let moved = LineMap::new(&seen, &now.snapshot, &theirs).moved(lines.first, last);
        let moved = moved.map_err(|(line, why)| gone(format!("Line {line} of the version after the change {why}.")))?;
        lines.first.saturating_add_signed(moved)
    };
    Ok(LocatedLines { now, first, count })
}

/// Returns lines without the end of the last one.
fn line_text(snapshot: &Snapshot, first: usize, last: usize) -> &str {
    let text = &snapshot.text()[snapshot.lines().span_of(snapshot.text(), first, last).range()];
    text.strip_suffix('\n').unwrap_or(text)
}

/// Plans the replacement of whole lines.
fn plan_correction(call: Call<'_>, place: &SafePath, lines: LocatedLines, text: &str) -> Result<FilePlan> {
    let LocatedLines { now, first, count } = lines;
    let snapshot = &now.snapshot;
    let span = snapshot.lines().span_of(snapshot.text(), first, first + count - 1);
    let is_ended = snapshot.text()[span.range()].ends_with('\n');
    let new = if is_ended && !text.is_empty() { format!("{text}\n") } else { text.to_owned() };
    if snapshot.text()[span.range()] == new {
        return Err(nothing_to_do("The lines are already as you wrote them.", place.shown()));
    }
    // What stays as it is needs no encoding.
    let changes = resolve_texts(snapshot, &[TextEdit { span, text: new }])?.changes;
    let known = lines_then(call, place, snapshot, &changes);
    Ok(FilePlan::edit(place.clone(), now, without_ops(changes), known))
}

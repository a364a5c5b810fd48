//! The planner of one file: finds the version that the caller saw, lets the edits be placed in it, and makes a plan of
//! the result. Each kind of edit (text, whole text, lines, anchors, cells) is a [`PlacementStrategy`].

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::model::call_context::StalePolicy;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::session::base::{self, Base, KnownLines, find_base};
use crate::session::names::name_in_header;
use crate::session::suggest::file_not_found;
use emendate_core::line_edits::ReplacedLines;
use emendate_core::{Error, Handle, MergeBase, Op, OpOrder, ResolvedEdit, Result, ShortTag, Snapshot, resolve};
use emendate_fs::{FileVersion, SafePath};
use emendate_history::LineSet;

/// Operations, and the order in which they apply.
#[derive(Clone, Copy)]
pub(crate) struct OrderedOps<'a> {
    pub(crate) ops: &'a [Op],
    pub(crate) order: OpOrder,
}

/// A version that the caller saw, with the lines that were shown.
pub(crate) struct SeenVersion<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) lines: LineSet,
    /// Evidence for the version.
    pub(crate) of: MergeBase,
}

/// A file to be edited, as it is now, and the call that edits it.
pub(crate) struct EditedFile<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) options: &'a CallOptions,
    pub(crate) path: SafePath,
    pub(crate) now: LoadedFile,
}

impl EditedFile<'_> {
    /// Returns the header of the present version, whose short tag is `live`, in the style of the call's header.
    pub(crate) fn header(&self, live: ShortTag) -> String {
        self.options.header_style().line(&name_in_header(self.call, &self.path), live)
    }
}

/// Decodes the current version of a file for these edits.
///
/// Errors: `path.not_found` if there is none; those of the encoding.
pub(crate) fn load_for_edit(
    call: Call<'_>,
    path: &SafePath,
    version: Option<FileVersion>,
    ops: &[Op],
    options: &CallOptions,
) -> Result<LoadedFile> {
    let version = version.ok_or_else(|| file_not_found(call, path))?;
    let fresh: String = ops.iter().map(|op| &*op.text).collect();
    call.load_decoded(path, version, options.declared, &fresh)
}

/// Edits that are placed in the current text of a file.
pub(crate) struct PlacedEdits {
    pub(crate) resolved: ResolvedEdit,
    /// Lines of the current text that the caller knows.
    pub(crate) lines_seen: LineSet,
    /// The edits were carried over from a version that the caller saw.
    pub(crate) merged: bool,
    /// Both sides of a conflict are in the text.
    pub(crate) has_conflict_markers: bool,
    /// The replaced ranges of lines.
    pub(crate) replaced: Vec<ReplacedLines>,
}

impl PlacedEdits {
    /// Wraps edits that needed no merge.
    pub(crate) fn new(resolved: ResolvedEdit, lines_seen: LineSet) -> PlacedEdits {
        PlacedEdits { resolved, lines_seen, merged: false, has_conflict_markers: false, replaced: Vec::new() }
    }
}

/// Places edits of one kind in a file.
pub(crate) trait PlacementStrategy {
    /// Places the edits in a file that is as the caller saw it.
    fn in_current(&mut self, file: &EditedFile<'_>, known: KnownLines) -> Result<PlacedEdits>;

    /// Places the edits in the version that the caller saw, and carries them over to the file.
    fn in_seen(&mut self, file: &EditedFile<'_>, seen: &Snapshot, lines_seen: LineSet) -> Result<PlacedEdits>;

    /// True if the call wants edits to be carried over.
    fn carries_over(&self, options: &CallOptions) -> bool {
        options.on_stale != StalePolicy::Reject
    }

    /// Refuses edits of a file that changed. `is_kept`: the version that the caller saw is known.
    fn refuse(&self, file: &EditedFile<'_>, is_kept: bool) -> Error {
        let _ = is_kept;
        file.version_unavailable()
    }
}

/// Plans edits of a file.
///
/// Errors: `read.required`, `stale.unknown_tag`, and those of the placement.
pub(crate) fn plan(file: EditedFile<'_>, placement: &mut dyn PlacementStrategy) -> Result<FilePlan> {
    let base = find_base(file.call, file.options, &file.path, &file.now)?;
    plan_on(base, file, placement)
}

/// Plans edits of a file, given the version that the caller saw.
pub(crate) fn plan_on(base: Base, file: EditedFile<'_>, placement: &mut dyn PlacementStrategy) -> Result<FilePlan> {
    let placed = match base {
        Base::Fresh(known) => placement.in_current(&file, known)?,
        Base::Stale { seen, lines_seen } if placement.carries_over(file.options) => {
            placement.in_seen(&file, &seen, lines_seen)?
        }
        Base::Stale { .. } => return Err(placement.refuse(&file, true)),
        Base::Lost => return Err(placement.refuse(&file, false)),
    };
    Ok(planned(file, placed))
}

/// Resolves edits that apply together, all in the same version.
pub(crate) fn resolve_together(version: &Snapshot, ops: &[Op], options: &CallOptions) -> Result<ResolvedEdit> {
    resolve(version, ops, OpOrder::Together, options.resolve_settings())
}

/// Makes a plan of placed edits.
pub(crate) fn planned(file: EditedFile<'_>, placed: PlacedEdits) -> FilePlan {
    let lines = base::after_writing(&placed.lines_seen, &file.now.snapshot, &placed.resolved.changes);
    let mut plan = FilePlan::edit(file.path, file.now, placed.resolved, lines);
    plan.outcome.merged = placed.merged;
    plan.outcome.has_conflict_markers = placed.has_conflict_markers;
    plan.display.replaced = placed.replaced;
    plan
}

/// Refuses to replace or to remove a file that changed since the caller saw it.
///
/// Errors: `read.required`, `stale.changed`.
pub(crate) fn check_unchanged(call: Call<'_>, options: &CallOptions, path: &SafePath, now: &LoadedFile) -> Result<()> {
    if find_base(call, options, path, now)?.is_fresh() {
        Ok(())
    } else {
        let file = EditedFile { call, options, path: path.clone(), now: now.clone() };
        let error = file.version_unavailable();
        Err(match (options.tag, now.snapshot.short_tag()) {
            (Some(Handle::Lines(..)), Some(live)) => {
                let header = file.header(live);
                error.next(format!("If it is still meant, send the call again with the header {header}."))
            }
            _ => error,
        })
    }
}

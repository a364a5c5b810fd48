//! Plans of cell edits: only cells that were shown are replaced, and cells are found again in a changed notebook.

use crate::context::call::Call;
use crate::context::options::CallOptions;
use crate::model::call_context::CallContext;
use crate::model::raw_path;
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::plan::placement::{self, EditedFile, PlacedEdits, PlacementStrategy, resolve_together};
use crate::pipeline::plan::stale;
use crate::session::base::{self, KnownLines};
use emendate_core::notebook::{self, CellAction, Notebook};
use emendate_core::{Advice, ChangeSet, Code, Error, Note, Op, Result, Snapshot, advice};
use emendate_fs::SafePath;
use emendate_history::LineSet;
use serde_json::{Value, json};

/// Plans edits of cells.
pub(crate) fn plan_cells(call: Call<'_>, path: SafePath, ops: &[Op], options: &CallOptions) -> Result<FilePlan> {
    let now = placement::load_for_edit(call, &path, call.version(&path)?, ops, options)?;
    let count = Notebook::read(now.snapshot.text()).map_err(|error| error.evidence(path.shown()))?.cells().len();
    let ops: Vec<Op> = ops.iter().map(|op| notebook::with_clearing(op, call.config().clear_outputs)).collect();
    let file = EditedFile { call, options, path, now };
    let mut plan = placement::plan(file, &mut CellPlacement { ops: &ops })?;
    let done = plan.outcome.ops.iter().filter_map(|it| Some((it, notebook::of(ops.get(it.op)?)?.act)));
    let (mut more, mut less) = (0, 0);
    for (_, act) in done.filter(|(it, _)| it.places > 0) {
        more += usize::from(act == CellAction::Insert);
        less += usize::from(act == CellAction::Delete);
    }
    if more + less > 0 {
        let cells = count + more - less;
        plan.outcome
            .notes
            .push(format!("The notebook has {cells} cells now; those after the change have new numbers."));
    }
    Ok(plan)
}

/// Edits of cells.
struct CellPlacement<'o> {
    ops: &'o [Op],
}

impl PlacementStrategy for CellPlacement<'_> {
    fn in_current(&mut self, file: &EditedFile<'_>, KnownLines { lines, note }: KnownLines) -> Result<PlacedEdits> {
        let now = &file.now.snapshot;
        cells_shown(file.call.caller, &file.path, now, &lines, self.ops)?;
        let mut resolved = resolve_together(now, self.ops, file.options)?;
        resolved.notes.extend(note);
        Ok(PlacedEdits::new(resolved, lines))
    }

    fn in_seen(&mut self, file: &EditedFile<'_>, seen: &Snapshot, lines: LineSet) -> Result<PlacedEdits> {
        cells_shown(file.call.caller, &file.path, seen, &lines, self.ops)?;
        let ops = carry_ops(file, seen, &lines, self.ops)?;
        let now = &file.now.snapshot;
        let lines_seen = base::carry_lines(&lines, seen, &ChangeSet::diff(seen, now));
        let mut resolved = resolve_together(now, &ops, file.options)?;
        resolved.notes.push(Note::CellsCarried);
        Ok(PlacedEdits { merged: true, ..PlacedEdits::new(resolved, lines_seen) })
    }
}

/// Carries the edits over to the current notebook. A changed cell is shown with the refusal.
fn carry_ops(file: &EditedFile<'_>, seen: &Snapshot, lines: &LineSet, ops: &[Op]) -> Result<Vec<Op>> {
    let EditedFile { path, now, .. } = file;
    let then = Notebook::read(seen.text()).map_err(|_| file.version_unavailable())?;
    let present = Notebook::read(now.snapshot.text())?;
    notebook::carry(&then, &present, ops).map_err(|blocked| {
        let cell = blocked.now.and_then(|at| Some((at, present.cells().get(at)?)));
        let error = blocked.error.evidence(path.shown());
        let error = if ops.len() > 1 { error.prefixed(&format!("edits[{}]: ", blocked.op)) } else { error };
        let Some((_, cell)) = cell else {
            return error.next(advice!["Call ", raw_path::read(path, Value::Null), ", then send the edit again."]);
        };
        let theirs = ChangeSet::diff(seen, &now.snapshot);
        let mut known = base::carry_lines(lines, seen, &theirs);
        let (from, to) = present.lines(cell, now.snapshot.lines());
        known.add(from as u64, to as u64);
        let unkept = file.mark_shown(known);
        error.next(unkept.map_or_else(|| stale::shown_above(path, "the cell"), Advice::from))
    })
}

/// Refuses to replace or delete cells that were never shown.
fn cells_shown(caller: &CallContext, path: &SafePath, base: &Snapshot, lines: &LineSet, ops: &[Op]) -> Result<()> {
    if lines.is_all() || caller.allows_unread() {
        return Ok(());
    }
    let notebook = Notebook::read(base.text())?;
    let named = ops.iter().filter_map(notebook::of).filter(|edit| edit.act != CellAction::Insert);
    let named = named.filter_map(|edit| notebook.find(edit.cell.as_ref()?).ok());
    let unseen: Vec<usize> = named
        .filter(|&at| {
            let (from, to) = notebook.lines(&notebook.cells()[at], base.lines());
            !lines.covers(from as u64, to as u64)
        })
        .collect();
    let (Some(&first), Some(&last)) = (unseen.iter().min(), unseen.iter().max()) else { return Ok(()) };
    // Cells on the same lines have to be shown with them.
    let (top, bottom) = (cell_lines(&notebook, base, first).0, cell_lines(&notebook, base, last).1);
    let first = (0..first).rev().take_while(|&at| cell_lines(&notebook, base, at).1 >= top).last().unwrap_or(first);
    let last = (last + 1..notebook.cells().len())
        .take_while(|&at| cell_lines(&notebook, base, at).0 <= bottom)
        .last()
        .unwrap_or(last);
    let cells = if first == last { first.to_string() } else { format!("{first}-{last}") };
    Err(Error::new(Code::ReadPartial, "Cells that were never shown cannot be replaced or deleted.")
        .evidence(notebook.listed(&unseen))
        .next(
            advice!["Call ", raw_path::read(path, json!({ "cells": cells })), ", then send this call again."]
                .or(advice!["Call ", raw_path::read(path, Value::Null), ", then send this call again."]),
        )
        .fact("missing", unseen))
}

/// Returns the lines of a cell.
fn cell_lines(notebook: &Notebook<'_>, base: &Snapshot, at: usize) -> (usize, usize) {
    notebook.lines(&notebook.cells()[at], base.lines())
}

//! Rebase of cell edits to a notebook that changed since it was shown. A cell is recognized by its id, or by being the
//! only one with exactly the same text. An edit whose cell is uncertain is refused.

use super::{Cell, CellAction, CellEdit, CellName, Notebook, of};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{Locator, Op};
use std::collections::HashMap;

/// The reason why an edit cannot be carried over.
#[derive(Clone, Debug)]
pub struct BlockedCellEdit {
    /// Index of the edit in the call.
    pub op: usize,
    /// The error to report.
    pub error: Error,
    /// The current number of the cell, if it is known.
    pub now: Option<usize>,
}

/// Map from the cells of an earlier version to the current ones.
struct CellMap<'a, 't> {
    seen: &'a Notebook<'t>,
    now: &'a Notebook<'t>,
    /// The only cell with each id, in both versions; `None` if several cells have it.
    ids: [HashMap<String, Option<usize>>; 2],
    /// The only cell with each full text, for cells without an id.
    texts: [HashMap<&'t str, Option<usize>>; 2],
}

fn once<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = (K, usize)>) -> HashMap<K, Option<usize>> {
    let mut out = HashMap::new();
    for (key, at) in keys {
        out.entry(key).and_modify(|known| *known = None).or_insert(Some(at));
    }
    out
}

impl<'a, 't> CellMap<'a, 't> {
    fn new(seen: &'a Notebook<'t>, now: &'a Notebook<'t>) -> CellMap<'a, 't> {
        CellMap { seen, now, ids: [cell_ids(seen), cell_ids(now)], texts: [cell_texts(seen), cell_texts(now)] }
    }

    /// Returns the current number of a cell.
    fn to(&self, at: usize) -> Option<usize> {
        let cell = self.seen.cells().get(at)?;
        let [seen, now] = &self.ids;
        if let Some(id) = self.seen.id(cell) {
            return seen.get(&id).and_then(|only| *only).and_then(|_| *now.get(&id)?);
        }
        let text = &self.seen.text[cell.span.range()];
        let [seen, now] = &self.texts;
        seen.get(text).and_then(|only| *only).and_then(|_| *now.get(text)?)
    }
}

/// Returns the cells by their ids; `None` for an id that occurs several times.
fn cell_ids(of: &Notebook<'_>) -> HashMap<String, Option<usize>> {
    once(of.cells().iter().enumerate().filter_map(|(at, cell)| Some((of.id(cell)?, at))))
}

/// Returns the cells without an id by their texts; `None` for a text that occurs several times.
fn cell_texts<'t>(of: &Notebook<'t>) -> HashMap<&'t str, Option<usize>> {
    let bare = of.cells().iter().enumerate().filter(|(_, cell)| cell.id.is_none());
    once(bare.map(|(at, cell)| (&of.text[cell.span.range()], at)))
}

fn changed(what: String) -> Error {
    Error::new(
        Code::StaleChanged,
        "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.",
    )
    .evidence(what)
}

/// Carries the edits over to the current notebook. Meanwhile a cell may have been run or moved, and may have other
/// neighbours; its source and its type must be unchanged.
///
/// Errors: the first edit that cannot be carried over.
pub fn carry(seen: &Notebook<'_>, now: &Notebook<'_>, ops: &[Op]) -> Result<Vec<Op>, BlockedCellEdit> {
    let ways = CellMap::new(seen, now);
    let mut out = Vec::with_capacity(ops.len());
    for (nth, op) in ops.iter().enumerate() {
        let Some(edit) = of(op) else { continue };
        let cell = moved(&ways, edit, &op.text).map_err(|(error, now)| BlockedCellEdit { op: nth, error, now })?;
        let at = Locator::Cell(Box::new(CellEdit { cell, ..edit.clone() }));
        out.push(Op { at, text: op.text.clone() });
    }
    Ok(out)
}

type CellRefusal = (Error, Option<usize>);

fn moved(ways: &CellMap<'_, '_>, edit: &CellEdit, text: &str) -> Result<Option<CellName>, CellRefusal> {
    let (seen, now) = (ways.seen, ways.now);
    let Some(name) = &edit.cell else { return Ok(None) };
    let bare = |error| (error, None);
    if edit.act == CellAction::Insert {
        // The number of an insertion means the position after the preceding cell.
        let after = match name {
            CellName::Number(0) => return Ok(Some(CellName::Number(0))),
            CellName::Number(number) => seen.find(&CellName::Number(number - 1)).map_err(bare)?,
            CellName::Id(_) => seen.find(name).map_err(bare)?,
        };
        let to = ways.to(after).ok_or_else(|| lost(seen, after))?;
        return Ok(Some(CellName::Number(to + 1)));
    }
    let at = seen.find(name).map_err(bare)?;
    let to = ways.to(at).ok_or_else(|| lost(seen, at))?;
    let (then, is) = (&seen.cells()[at], &now.cells()[to]);
    let done = edit.act == CellAction::Replace
        && now.source(is) == text
        && edit.kind.is_none_or(|kind| now.kind(is) == Some(kind));
    if !done && (seen.source(then) != now.source(is) || seen.kind_name(then) != now.kind_name(is)) {
        let change = format!("Cell {at} was changed since; it is {} now:\n{}", describe(now, is, to), now.source(is));
        return Err((changed(change), Some(to)));
    }
    Ok(Some(CellName::Number(to)))
}

fn describe(of: &Notebook<'_>, cell: &Cell, at: usize) -> String {
    let id = of.id(cell).map_or(String::new(), |id| format!(" (`{id}`)"));
    format!("cell {at}{id}")
}

fn lost(seen: &Notebook<'_>, at: usize) -> CellRefusal {
    let cell = seen.cells().get(at).map_or_else(|| format!("cell {at}"), |cell| describe(seen, cell, at));
    (changed(format!("The former {cell} no longer exists, or cannot be distinguished from other cells.")), None)
}

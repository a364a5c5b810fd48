//! The difference of a notebook by cells.

use crate::context::Context;
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::hunk_numbers::HUNK_CONTEXT_LINES;
use crate::tools::history::page::OperationSide;
use crate::tools::review::Review;
use crate::tools::review::difference::{TextDifference, content};
use crate::tools::review::scope::ChangeScope;
use emendate_core::{ChangeSet, Code, Result, Snapshot, explain};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Bytes of a notebook that is compared by cells.
const NOTEBOOK_BYTES_MAX: usize = 8 << 20;

/// A cell that differs.
#[derive(Clone, Debug)]
pub struct CellDifference {
    /// The number of the cell after the change, or before it if the cell was removed; from 1.
    pub number: usize,
    /// code, markdown or raw.
    pub kind: String,
    /// The cell was added.
    pub is_added: bool,
    /// The cell was removed.
    pub is_removed: bool,
    /// The numbers of its outputs before and after.
    pub outputs: (usize, usize),
    /// The difference of its source.
    pub source: TextDifference,
}

/// A cell of one version.
struct NotebookCell {
    number: usize,
    key: String,
    kind: String,
    source: String,
    outputs: Vec<Value>,
}

impl Review<'_> {
    /// Compares a notebook by cells, before and after the changes of a scope; `None` if a version is not a notebook.
    ///
    /// Errors: those of the policy and of the session store.
    pub fn cell_differences(
        &self,
        caller: &CallContext,
        scope: &ChangeScope,
        path: &Path,
        bytes: usize,
    ) -> Result<Option<Vec<CellDifference>>> {
        Call::new(self.context, caller).metered(|call| {
            let before = cells_at(&call, scope, path, OperationSide::Before)?;
            let (Some(before), Some(after)) = (before, cells_at(&call, scope, path, OperationSide::After)?) else {
                return Ok(None);
            };
            let old: HashMap<&str, &NotebookCell> = before.iter().map(|cell| (&*cell.key, cell)).collect();
            let new: HashMap<&str, &NotebookCell> = after.iter().map(|cell| (&*cell.key, cell)).collect();
            let mut out = Vec::new();
            for cell in &after {
                match old.get(&*cell.key) {
                    Some(same)
                        if same.source == cell.source && same.outputs == cell.outputs && same.kind == cell.kind => {}
                    found => out.push(difference(found.copied(), Some(cell), bytes)),
                }
            }
            let removed = before.iter().filter(|cell| !new.contains_key(&*cell.key));
            out.extend(removed.map(|cell| difference(Some(cell), None, bytes)));
            out.sort_by_key(|cell| cell.number);
            Ok(Some(out))
        })
    }
}

/// Returns the cells of a version: none if there was no file; `None` if it is not a notebook.
fn cells_at(
    context: &Context,
    scope: &ChangeScope,
    path: &Path,
    moment: OperationSide,
) -> Result<Option<Vec<NotebookCell>>> {
    match content(context, scope, path, moment) {
        Ok(bytes) => Ok(cells(&bytes)),
        Err(error) if error.code() == Code::OperationMissing => Ok(Some(Vec::new())),
        Err(error) => Err(error),
    }
}

/// Reads the cells of a notebook.
fn cells(bytes: &[u8]) -> Option<Vec<NotebookCell>> {
    if bytes.len() > NOTEBOOK_BYTES_MAX {
        return None;
    }
    let notebook: Value = serde_json::from_slice(bytes).ok()?;
    Some(notebook["cells"].as_array()?.iter().enumerate().map(|(nth, cell)| read_cell(nth, cell)).collect())
}

/// Returns a cell; those of older notebooks have no ids.
fn read_cell(nth: usize, cell: &Value) -> NotebookCell {
    NotebookCell {
        number: nth + 1,
        key: cell["id"].as_str().map_or_else(|| format!("#{nth}"), str::to_owned),
        kind: cell["cell_type"].as_str().unwrap_or("raw").to_owned(),
        source: match &cell["source"] {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            text => text.as_str().unwrap_or_default().to_owned(),
        },
        outputs: cell["outputs"].as_array().cloned().unwrap_or_default(),
    }
}

fn difference(before: Option<&NotebookCell>, after: Option<&NotebookCell>, bytes: usize) -> CellDifference {
    let (old, new) = (source_text(before), source_text(after));
    let hunks = explain::reply_hunks(&old, &ChangeSet::diff(&old, &new), HUNK_CONTEXT_LINES, bytes);
    let shown = after.or(before);
    CellDifference {
        number: shown.map_or(0, |cell| cell.number),
        kind: shown.map_or_else(String::new, |cell| cell.kind.clone()),
        is_added: before.is_none(),
        is_removed: after.is_none(),
        outputs: (before.map_or(0, |cell| cell.outputs.len()), after.map_or(0, |cell| cell.outputs.len())),
        source: TextDifference { hunks, ..TextDifference::default() },
    }
}

/// Returns the text of a cell with an end of its last line, which the file does not have.
fn source_text(cell: Option<&NotebookCell>) -> Snapshot {
    Snapshot::from_text(&cell.map_or_else(String::new, |cell| format!("{}\n", cell.source.trim_end_matches('\n'))))
}

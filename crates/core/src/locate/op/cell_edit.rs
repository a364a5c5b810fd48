//! Edits of a notebook's cells as plain data.

use super::{Locator, Op};

/// The type of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellType {
    /// A cell with source code that can be run, and its outputs.
    Code,
    /// A cell with Markdown.
    Markdown,
    /// A cell with text that is passed through unchanged.
    Raw,
}

impl CellType {
    /// Every type, with its name in the file.
    pub const ALL: [(&'static str, CellType); 3] =
        [("code", CellType::Code), ("markdown", CellType::Markdown), ("raw", CellType::Raw)];

    /// Returns the type with this name.
    pub fn from_name(name: &str) -> Option<CellType> {
        CellType::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// The name of the type in the file.
    pub fn name(self) -> &'static str {
        CellType::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// A caller's reference to a cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CellName {
    /// The cell with this id, or `cell-N` for cell N if that has no id, or no cell has an id of this shape.
    Id(String),
    /// The cell with this number, from 0.
    Number(usize),
}

impl std::fmt::Display for CellName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CellName::Id(id) => write!(f, "cell `{id}`"),
            CellName::Number(number) => write!(f, "cell {number}"),
        }
    }
}

/// The action of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellAction {
    /// Replaces the source by [`Op::text`].
    Replace,
    /// Inserts a cell with [`Op::text`] after the cell with that id, or so that it gets that number; without a name, as
    /// the first cell.
    Insert,
    /// Deletes the cell.
    Delete,
}

/// One edit of a notebook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellEdit {
    /// The cell; only an insertion may omit it.
    pub cell: Option<CellName>,
    /// The action.
    pub act: CellAction,
    /// The type to give the cell; `None` keeps it.
    pub kind: Option<CellType>,
    /// True, or `None`, if a replaced code cell loses its outputs and its execution count.
    pub clear: Option<bool>,
}

/// The cell edit in an operation, if it is one.
pub fn of(op: &Op) -> Option<&CellEdit> {
    match &op.at {
        Locator::Cell(edit) => Some(edit),
        _ => None,
    }
}

/// Returns an operation that decides whether the outputs of a changed cell are cleared: as `clear`, unless it does.
pub fn with_clearing(op: &Op, clear: bool) -> Op {
    let mut op = op.clone();
    if let Locator::Cell(edit) = &mut op.at {
        edit.clear.get_or_insert(clear);
    }
    op
}

/// True if all operations are edits of cells.
pub fn are(ops: &[Op]) -> bool {
    !ops.is_empty() && ops.iter().all(|op| of(op).is_some())
}

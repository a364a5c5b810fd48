//! Jupyter notebooks (nbformat 4): cells with their spans in the text, and edits of cells as splices of that text.
//!
//! The JSON is never rebuilt: an edit replaces only the tokens that it changes, in the notebook's own style, and every
//! other byte is preserved.

mod carry;
mod cell_members;
mod json;
mod layout;
mod outputs;
mod place;
#[cfg(test)]
mod tests;

use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::text::lines::LineIndex;
use crate::text::span::Span;
use crate::work;
use json::JsonMember;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt::Write as _;

pub use crate::locate::op::cell_edit::{CellAction, CellEdit, CellName, CellType, are, of, with_clearing};
pub use carry::{BlockedCellEdit, carry};
pub use outputs::{CellOutput, OutputPart};
pub(crate) use place::place_all;

/// Maximum number of cells of one notebook.
pub const CELLS_MAX: usize = 100_000;
/// Maximum number of cells that an error lists.
const LISTED_CELLS_MAX: usize = 60;
/// Maximum number of cells with the same id that an error lists.
const LISTED_DUPLICATES_MAX: usize = 20;

/// A cell, with the spans of its parts in the decoded text.
#[derive(Clone, Debug)]
pub struct Cell {
    span: Span,
    id: Option<Span>,
    kind: Option<Span>,
    source: Option<Span>,
    outputs: Option<Span>,
    count: Option<Span>,
    attachments: Option<Span>,
    /// True if the cell is not an object, or has a relevant member twice, so that an edit would be ambiguous.
    odd: bool,
}

/// A notebook with its cells in order.
#[derive(Debug)]
pub struct Notebook<'t> {
    text: &'t str,
    root: Span,
    /// The list of cells, brackets included.
    list: Span,
    cells: Vec<Cell>,
    /// The minor version of the notebook's format, 4.*minor*.
    pub minor: u64,
    /// The language of the code, if stated.
    pub language: String,
    /// The cells of each id, the first [`LISTED_DUPLICATES_MAX`] of them; built on first use.
    ids: OnceCell<HashMap<String, Vec<usize>>>,
}

/// True for a text that is one JSON value.
pub fn is_json(text: &str) -> bool {
    json::check(text).is_ok()
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(Code::NotebookInvalid, what)
}

impl<'t> Notebook<'t> {
    /// Parses a notebook. Takes linear time.
    ///
    /// Errors: `notebook.invalid` for a text that is not JSON, is not a notebook, has a format other than 4, or has
    /// more than [`CELLS_MAX`] cells.
    pub fn read(text: &'t str) -> Result<Notebook<'t>> {
        // Each byte is visited a few times.
        work::spend(text.len() / 4)?;
        if let Err(fault) = json::check(text) {
            let index = LineIndex::new(text);
            let line = index.line_of(text, fault.at);
            let shown: String = text[index.span_of(text, line, line).range()].trim().chars().take(80).collect();
            return Err(wrong(format!("The notebook is not valid JSON: {}.", fault.what))
                .evidence(format!("Line {line}: {shown}"))
                .next(
                    Advice::named("Repair the text: while it is not valid JSON, {edit()} takes it as any other text.")
                        .or("Repair the text, as that of any other file."),
                )
                .fact("line", line));
        }
        let root = Span::new(json::skip_whitespace(text.as_bytes(), 0), text.trim_end().len());
        let mut found: HashMap<&'static str, Span> = HashMap::new();
        for JsonMember { key, value } in json::members(text, root) {
            let Some(key) = json::string_value(text, key) else { continue };
            for name in ["cells", "nbformat", "nbformat_minor", "metadata"] {
                if key == name && found.insert(name, value).is_some() {
                    return Err(wrong(format!("The notebook has two members called `{name}`."))
                        .next("Ask a person which of them is meant; Jupyter uses the last."));
                }
            }
        }
        let version = number_of(&found, text, "nbformat").ok_or_else(|| {
            wrong("The file is JSON, but not a notebook: it has no nbformat.")
                .next("Replace the whole file if it is to become a notebook; {\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5} is an empty one.")
        })?;
        if version != 4 {
            return Err(wrong(format!("The notebook has format {version}; only format 4 can be edited by cells."))
                .next("Have a person convert it: jupyter nbconvert --to notebook --nbformat 4 FILE."));
        }
        let list = found.get("cells").copied().filter(|span| text[span.range()].starts_with('['));
        let Some(list) = list else {
            return Err(wrong("The notebook has no list of cells.")
                .next("Replace the whole file; {\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5} is an empty one."));
        };
        let spans = json::items(text, list).take(CELLS_MAX + 1);
        let cells: Vec<Cell> =
            spans.map(|span| work::spend_bytes(span.len()).map(|()| cell(text, span))).collect::<Result<_>>()?;
        if cells.len() > CELLS_MAX {
            return Err(wrong(format!("The notebook has more than {CELLS_MAX} cells.")).next("Split it."));
        }
        let language = found.get("metadata").and_then(|&metadata| language(text, metadata)).unwrap_or_default();
        let minor = number_of(&found, text, "nbformat_minor").unwrap_or(0);
        Ok(Notebook { text, root, list, cells, minor, language, ids: OnceCell::new() })
    }

    /// The cells in order.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The id of a cell, if it has one.
    pub fn id(&self, cell: &Cell) -> Option<String> {
        json::string_value(self.text, cell.id?).map(std::borrow::Cow::into_owned)
    }

    /// The type of a cell as written in the file.
    pub fn kind_name(&self, cell: &Cell) -> String {
        cell.kind.and_then(|span| json::string_value(self.text, span)).unwrap_or_default().into_owned()
    }

    /// The type of a cell; `None` for one that nbformat does not know.
    pub fn kind(&self, cell: &Cell) -> Option<CellType> {
        CellType::from_name(&self.kind_name(cell))
    }

    /// The source of a cell.
    pub fn source(&self, cell: &Cell) -> String {
        cell.source.and_then(|span| json::joined_strings(self.text, span, usize::MAX)).unwrap_or_default()
    }

    /// The execution count shown in brackets next to a code cell.
    pub fn execution_count(&self, cell: &Cell) -> Option<u64> {
        self.text[cell.count?.range()].parse().ok()
    }

    /// First and last line of a cell in the decoded text, 1-based.
    pub fn lines(&self, cell: &Cell, index: &LineIndex) -> (usize, usize) {
        let last = cell.span.end().saturating_sub(1).max(cell.span.start());
        (index.line_of(self.text, cell.span.start()), index.line_of(self.text, last))
    }

    /// The number of the cell that contains an offset of the decoded text.
    pub fn cell_at(&self, offset: usize) -> Option<usize> {
        let at = self.cells.partition_point(|cell| cell.span.end() <= offset);
        self.cells.get(at).filter(|cell| cell.span.start() <= offset).map(|_| at)
    }

    /// Returns the number of the cell with this name.
    ///
    /// Errors: `cell.not_found` with the existing cells, `cell.ambiguous`.
    pub fn find(&self, name: &CellName) -> Result<usize> {
        let number = match name {
            CellName::Number(number) => Some(*number),
            CellName::Id(id) => {
                let hits = self.with_id(id);
                if let [_, _, ..] = hits {
                    let list: Vec<String> = hits.iter().map(usize::to_string).collect();
                    return Err(Error::new(Code::CellAmbiguous, format!("Several cells have the id `{id}`."))
                        .evidence(self.listed(hits))
                        .next(
                            advice![
                                "Name the one that is meant by ",
                                Phrase::Field("cell_number"),
                                format!(" ({}) instead.", list.join(", "))
                            ]
                            .or("Ask a person to give the cells different ids."),
                        ));
                }
                hits.first().copied().or_else(|| self.numbered(id))
            }
        };
        number.filter(|&at| at < self.cells.len()).ok_or_else(|| {
            let error = Error::new(Code::CellMissing, format!("The notebook has no {name}.")).next(
                Advice::named("Name one of these cells by {cell_id} or {cell_number}; the first has number 0.")
                    .or(Advice::named("Name one of these cells by {cell_id}."))
                    .or("Name one of these cells."),
            );
            match self.cells.len() {
                0 => error
                    .evidence("It has no cells at all.")
                    .next(Advice::named("Insert one: {edit_mode} insert, without {cell_id}.").or("Insert one.")),
                count => error.evidence(format!("Its cells:\n{}", self.list(0..count))),
            }
        })
    }

    /// Returns the cell that readers show as `cell-N` because it has no id; models also name cells with other ids so. Where
    /// ids have this shape, the cell called `cell-N` may have been deleted, and none is meant.
    fn numbered(&self, name: &str) -> Option<usize> {
        let number_of = |id: &str| id.strip_prefix("cell-")?.parse::<usize>().ok();
        let number = number_of(name)?;
        let has_id = self.cells.get(number)?.id.is_some();
        let is_id = || self.ids.get_or_init(|| self.cells_by_id()).keys().any(|id| number_of(id).is_some());
        (!has_id || !is_id()).then_some(number)
    }

    /// The cells with an id, at most the first [`LISTED_DUPLICATES_MAX`] of them.
    fn with_id(&self, id: &str) -> &[usize] {
        self.ids.get_or_init(|| self.cells_by_id()).get(id).map_or(&[], Vec::as_slice)
    }

    /// Returns the indices of the first cells with each id.
    fn cells_by_id(&self) -> HashMap<String, Vec<usize>> {
        let mut table: HashMap<String, Vec<usize>> = HashMap::with_capacity(self.cells.len());
        for (at, cell) in self.cells.iter().enumerate() {
            if let Some(id) = cell.id.and_then(|span| json::string_value(self.text, span)) {
                let cells = table.entry(id.into_owned()).or_default();
                if cells.len() < LISTED_DUPLICATES_MAX {
                    cells.push(at);
                }
            }
        }
        table
    }

    /// Lists cells with number, id, type and first line, one per line.
    pub fn listed(&self, numbers: &[usize]) -> String {
        self.list(numbers.iter().copied())
    }

    fn list(&self, mut numbers: impl ExactSizeIterator<Item = usize>) -> String {
        let mut out = String::new();
        for at in numbers.by_ref().take(LISTED_CELLS_MAX) {
            let Some(cell) = self.cells.get(at) else { continue };
            let source = cell.source.and_then(|span| json::joined_strings(self.text, span, 400)).unwrap_or_default();
            let line: String = source.lines().next().unwrap_or_default().chars().take(60).collect();
            let id = self.id(cell).map_or(String::new(), |id| format!(" {id}"));
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{at}{id} ({}): {line}", self.kind_name(cell));
        }
        if numbers.len() > 0 {
            let _ = writeln!(out, "… and {} more", numbers.len());
        }
        out
    }

    /// Returns the cell whose source contains `old`, and its new source, if `old` occurs once in exactly one cell.
    pub fn holding(&self, old: &str, new: &str) -> Option<(usize, String)> {
        let mut hits = self.cells.iter().enumerate().filter_map(|(at, cell)| {
            let source = self.source(cell);
            source.contains(old).then_some((at, source))
        });
        let (at, source) = hits.next().filter(|_| !old.is_empty() && hits.next().is_none())?;
        (source.matches(old).count() == 1).then(|| (at, source.replacen(old, new, 1)))
    }
}

/// Reads a member that is a number.
fn number_of(found: &HashMap<&'static str, Span>, text: &str, name: &str) -> Option<u64> {
    found.get(name).and_then(|span| text[span.range()].parse::<u64>().ok())
}

/// Decodes the source at this span.
pub(crate) fn source_at(text: &str, span: Span) -> Option<String> {
    json::joined_strings(text, span, usize::MAX)
}

/// Locates the parts of the cell at `span`.
fn cell(text: &str, span: Span) -> Cell {
    let mut cell = Cell {
        span,
        id: None,
        kind: None,
        source: None,
        outputs: None,
        count: None,
        attachments: None,
        odd: !text[span.range()].starts_with('{'),
    };
    for JsonMember { key, value } in json::members(text, span) {
        let part = match json::string_value(text, key).as_deref() {
            Some("id") => &mut cell.id,
            Some("cell_type") => &mut cell.kind,
            Some("source") => &mut cell.source,
            Some("outputs") => &mut cell.outputs,
            Some("execution_count") => &mut cell.count,
            Some("attachments") => &mut cell.attachments,
            _ => continue,
        };
        cell.odd |= part.replace(value).is_some();
    }
    cell
}

/// Returns the value of `metadata.language_info.name` or `metadata.kernelspec.language`.
fn language(text: &str, metadata: Span) -> Option<String> {
    text_in_metadata(metadata, text, "language_info", "name")
        .or_else(|| text_in_metadata(metadata, text, "kernelspec", "language"))
}

/// Returns the text with this name in an object of the metadata.
fn text_in_metadata(metadata: Span, text: &str, object: &str, name: &str) -> Option<String> {
    let inner = member_named(text, metadata, object)?;
    json::string_value(text, member_named(text, inner.value, name)?.value).map(std::borrow::Cow::into_owned)
}

/// Returns the member of an object with this name.
fn member_named(text: &str, object: Span, name: &str) -> Option<JsonMember> {
    json::members(text, object).find(|it| json::string_value(text, it.key).is_some_and(|key| key == name))
}

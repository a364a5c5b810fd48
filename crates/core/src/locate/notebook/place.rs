//! Conversion of all cell edits of a call to splices of one version.

use super::cell_members::CellMembers;
use super::json;
use super::layout::{self, CellTemplate, NotebookLayout};
use super::{Cell, CellAction, CellEdit, CellType, Notebook, of, wrong};
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::conflict;
use crate::locate::find::{TextEdit, TextMatch, TextMatches, Tier};
use crate::locate::op::Op;
use crate::locate::resolve::{PlacedOp, difference, resolve_texts, splice};
use crate::note::Notes;
use crate::text::change::{ChangeSet, Splice};
use crate::text::charset::Charset;
use crate::text::content::ContentId;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work;
use std::collections::{HashMap, HashSet};

/// Steps of placing an operation in a short cell.
const OP_STEPS: usize = 64;

/// The target of an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellTarget {
    Cell(usize),
    /// A new cell before the cell with this number; the number of all cells means at the end.
    Gap(usize),
    /// A repetition of an earlier edit of the call.
    Again(usize),
}

/// The edits of a call with the state that is needed to write them.
struct CellEditor<'a> {
    base: &'a Snapshot,
    notebook: Notebook<'a>,
    layout: NotebookLayout,
    /// For every gap before, between and after the cells, the last cell before it that is kept.
    kept_cells: Vec<Option<usize>>,
    first_stays: Option<usize>,
    /// For each of these gaps, the number of cells before it that are kept.
    remaining: Vec<usize>,
    deleted: Vec<bool>,
    /// The gaps of the new cells and the indices of their operations, in their final order.
    inserted: Vec<(usize, usize)>,
    ids: HashSet<String>,
    patterns: CellTemplates,
}

/// Candidates for the cell whose style a new one follows.
#[derive(Default)]
struct CellTemplates {
    /// The well-formed cells of each type, and all of them.
    by_kind: HashMap<CellType, Vec<usize>>,
    all: Vec<usize>,
    /// Cached member orders, because a cell may be large and needed often.
    orders: HashMap<usize, Vec<&'static str>>,
}

impl CellTemplates {
    fn new(notebook: &Notebook<'_>) -> CellTemplates {
        let mut patterns = CellTemplates::default();
        for (at, cell) in notebook.cells.iter().enumerate().filter(|(_, cell)| !cell.odd) {
            patterns.all.push(at);
            if let Some(kind) = notebook.kind(cell) {
                patterns.by_kind.entry(kind).or_default().push(at);
            }
        }
        patterns
    }

    /// Returns the cell of this type, or else of any type, that is nearest before a gap, or else after it.
    fn near(&self, gap: usize, kind: CellType) -> Option<usize> {
        self.by_kind.get(&kind).and_then(|cells| cell_before(gap, cells)).or_else(|| cell_before(gap, &self.all))
    }
}

/// Returns the last of the cells before a gap, or the first one.
fn cell_before(gap: usize, cells: &[usize]) -> Option<usize> {
    let before = cells.partition_point(|&cell| cell < gap);
    cells.get(before.saturating_sub(1)).copied()
}

/// The text edits of an operation, and its notes.
#[derive(Default)]
struct CellWrite {
    edits: Vec<TextEdit>,
    /// The span that the operation depends on.
    read_span: Span,
    /// The source that is replaced.
    old: Span,
    notes: Notes,
}

/// Places cell edits. An edit that fails for itself has an error of its own.
pub(crate) fn place_all(base: &Snapshot, ops: &[Op]) -> Vec<Result<PlacedOp>> {
    placed(base, ops).unwrap_or_else(|error| ops.iter().map(|_| Err(error.clone())).collect())
}

fn placed(base: &Snapshot, ops: &[Op]) -> Result<Vec<Result<PlacedOp>>> {
    let notebook = Notebook::read(base.text())?;
    let aims = aims(&notebook, ops);
    let mut site = CellEditor::new(base, notebook, ops, &aims);
    let cells: Vec<Option<usize>> =
        aims.iter().map(|aim| if let Ok(CellTarget::Cell(at)) = aim { Some(*at) } else { None }).collect();
    let mut out = Vec::with_capacity(ops.len());
    for (nth, (op, aim)) in ops.iter().zip(aims).enumerate() {
        work::spend(OP_STEPS)?;
        out.push(match (aim, of(op)) {
            (Ok(aim), Some(edit)) => Ok(site.write(nth, op, edit, aim)?),
            (Err(error), _) => Err(error),
            (_, None) => Err(Error::new(Code::InternalBug, "An edit of a cell is about something else.")),
        });
    }
    site.proven(ops, &cells, &out)?;
    Ok(out)
}

/// Resolves the target of each operation; two that contradict each other about one cell are refused.
fn aims(notebook: &Notebook<'_>, ops: &[Op]) -> Vec<Result<CellTarget>> {
    let mut taken: HashMap<usize, usize> = HashMap::new();
    let mut out = Vec::with_capacity(ops.len());
    for (nth, op) in ops.iter().enumerate() {
        let aim =
            of(op).ok_or_else(|| Error::new(Code::InternalBug, "No edit of a cell.")).and_then(|it| aim(notebook, it));
        out.push(match aim {
            Ok(CellTarget::Cell(at)) => match taken.insert(at, nth) {
                None => Ok(CellTarget::Cell(at)),
                Some(earlier) if ops[earlier] == *op || same(&ops[earlier], op) => {
                    taken.insert(at, earlier);
                    Ok(CellTarget::Again(earlier))
                }
                Some(earlier) => Err(Error::new(
                    Code::EditContradiction,
                    format!("edits[{earlier}] says something else about cell {at}."),
                )
                .next("Keep one of the two edits.")),
            },
            aim => aim,
        });
    }
    out
}

/// True if two edits do the same to the same cell, whichever way they name it.
fn same(a: &Op, b: &Op) -> bool {
    a.text == b.text && settings_of(a) == settings_of(b)
}

/// Returns everything that an edit specifies for a cell except for its source.
fn settings_of(op: &Op) -> Option<(CellAction, Option<CellType>, Option<bool>)> {
    of(op).map(|edit| (edit.act, edit.kind, edit.clear))
}

fn aim(notebook: &Notebook<'_>, edit: &CellEdit) -> Result<CellTarget> {
    let count = notebook.cells.len();
    if edit.act == CellAction::Insert {
        return Ok(CellTarget::Gap(match &edit.cell {
            None => 0,
            Some(super::CellName::Number(number)) if *number == count => count,
            Some(name @ super::CellName::Number(_)) => notebook.find(name)?,
            Some(name) => notebook.find(name)? + 1,
        }));
    }
    let at = notebook.find(edit.cell.as_ref().ok_or_else(|| {
        Error::new(Code::CallInvalid, "The edit names no cell.")
            .next(Advice::named("Give {cell_id} or {cell_number}.").or("Name the cell."))
    })?)?;
    if edit.act == CellAction::Replace && notebook.cells[at].odd {
        return Err(wrong(format!(
            "Cell {at} is not an object, or has two members of one name; it cannot be edited safely."
        ))
        .next(
            Advice::named("Have a person repair it, or delete it with {edit_mode} delete.")
                .or("Have a person repair it."),
        ));
    }
    Ok(CellTarget::Cell(at))
}

impl<'a> CellEditor<'a> {
    fn new(base: &'a Snapshot, notebook: Notebook<'a>, ops: &[Op], aims: &[Result<CellTarget>]) -> CellEditor<'a> {
        let mut deleted = vec![false; notebook.cells.len()];
        let mut inserted = Vec::new();
        for (nth, (aim, op)) in aims.iter().zip(ops).enumerate() {
            match aim {
                Ok(CellTarget::Cell(at)) if of(op).is_some_and(|edit| edit.act == CellAction::Delete) => {
                    deleted[*at] = true;
                }
                Ok(CellTarget::Gap(at)) => inserted.push((*at, nth)),
                _ => {}
            }
        }
        inserted.sort_unstable();
        let (mut kept_cells, mut remaining) = (vec![None], vec![0]);
        for (at, gone) in deleted.iter().enumerate() {
            kept_cells.push(if *gone { kept_cells[at] } else { Some(at) });
            remaining.push(remaining[at] + usize::from(!gone));
        }
        let unicode = matches!(base.codec().charset, Charset::Utf8 | Charset::Utf16Le | Charset::Utf16Be);
        let with_ids = !inserted.is_empty() && notebook.minor >= 5;
        let ids = notebook.cells.iter().filter(|_| with_ids).filter_map(|cell| notebook.id(cell)).collect();
        let layout = NotebookLayout::of(&notebook, unicode);
        let first_stays = deleted.iter().position(|gone| !gone);
        let patterns = if inserted.is_empty() { CellTemplates::default() } else { CellTemplates::new(&notebook) };
        CellEditor { base, notebook, layout, kept_cells, first_stays, remaining, deleted, inserted, ids, patterns }
    }

    fn write(&mut self, nth: usize, op: &Op, edit: &CellEdit, aim: CellTarget) -> Result<PlacedOp> {
        let written = match (aim, edit.act) {
            (CellTarget::Again(earlier), _) => {
                let notes = Notes::from(vec![format!("is identical to edits[{earlier}], which was applied once.")]);
                return Ok(PlacedOp {
                    found: TextMatches { tier: Tier::Exact, matches: Vec::new(), notes },
                    splices: Vec::new(),
                });
            }
            (CellTarget::Cell(at), CellAction::Delete) => self.deleted(at),
            (CellTarget::Cell(at), _) => self.replaced(at, &op.text, edit)?,
            (CellTarget::Gap(at), _) => self.inserted(at, nth, &op.text, edit)?,
        };
        let number = u32::try_from(nth).unwrap_or(u32::MAX);
        let read_span = self.base.raw_span(written.read_span);
        let splices: Result<Vec<Splice>> =
            written.edits.iter().map(|edit| Ok(splice(self.base, edit, number)?.with_read_span(read_span))).collect();
        let hits = vec![TextMatch { span: written.old, edits: written.edits }];
        Ok(PlacedOp {
            found: TextMatches { tier: Tier::Exact, matches: hits, notes: written.notes },
            splices: splices?,
        })
    }

    fn start(&self, at: usize) -> usize {
        self.notebook.cells.get(at).map_or(self.notebook.list.end() - 1, |cell| cell.span.start())
    }

    fn end(&self, at: usize) -> usize {
        self.notebook.cells.get(at).map_or(self.notebook.list.start() + 1, |cell| cell.span.end())
    }

    /// Deletes a cell with the separator before it; a cell that no kept cell precedes, with the separator after it.
    fn deleted(&self, at: usize) -> CellWrite {
        let last = self.notebook.cells.len() - 1;
        let (start, end) = match self.first_stays {
            Some(first) if at < first => (self.start(at), self.start(at + 1)),
            Some(_) => (self.end(at - 1), self.end(at)),
            None => {
                // If no cell is left, the list becomes empty, with both brackets on one line.
                let bare = self.inserted.is_empty();
                let start = if at == 0 && bare { self.notebook.list.start() + 1 } else { self.start(at) };
                let end = match (at == last, bare) {
                    (true, true) => self.notebook.list.end() - 1,
                    (true, false) => self.end(at),
                    _ => self.start(at + 1),
                };
                (start, end)
            }
        };
        let cell = &self.notebook.cells[at];
        let edits = vec![TextEdit { span: Span::new(start, end), text: String::new() }];
        CellWrite { edits, read_span: cell.span, old: source_of(cell), notes: Notes::new() }
    }

    fn inserted(&mut self, gap: usize, nth: usize, source: &str, edit: &CellEdit) -> Result<CellWrite> {
        let kind = edit.kind.ok_or_else(|| {
            Error::new(Code::CallInvalid, "A new cell needs a type.")
                .next(Advice::named("Give {cell_type}: code, markdown or raw.").or("Say which: code, markdown or raw."))
        })?;
        let id = self.new_id(nth);
        let like = self.patterns.near(gap, kind).map(|at| {
            let cell = &self.notebook.cells[at];
            let order = self.patterns.orders.entry(at).or_insert_with(|| layout::order(self.notebook.text, cell));
            CellTemplate { cell, order }
        });
        let text = self.layout.cell(&self.notebook, like.as_ref(), kind, id.as_deref(), source);
        let between = &self.layout.cells.between;
        let (span, text) = match (self.kept_cells[gap], self.first_stays) {
            (Some(before), _) => (Span::at(self.end(before)), format!("{between}{text}")),
            (None, Some(first)) => (Span::at(self.start(first)), format!("{text}{between}")),
            (None, None) => self.among_none(nth, &text),
        };
        // Several cells inserted at one point are in the order of their gaps.
        let read_span = span.hull(Span::at(self.start(gap)));
        let rank = self.inserted.partition_point(|&other| other < (gap, nth));
        let number = rank + self.remaining[gap];
        let id = id.map_or(String::new(), |id| format!(", with the id `{id}`"));
        let notes = Notes::from(vec![format!("the new {} cell is number {number}{id}.", kind.name())]);
        Ok(CellWrite { edits: vec![TextEdit { span, text }], read_span, old: span, notes })
    }

    /// Returns the span and text of a new cell in a notebook of which no cell is kept.
    fn among_none(&self, nth: usize, text: &str) -> (Span, String) {
        let first = self.inserted.first().is_some_and(|&(_, first)| first == nth);
        let last = self.inserted.last().is_some_and(|&(_, last)| last == nth);
        let spacing = &self.layout.cells;
        let lead = if first { "" } else { &*spacing.between };
        if !self.notebook.cells.is_empty() {
            return (Span::at(self.start(0)), format!("{lead}{text}"));
        }
        let inside = Span::new(self.notebook.list.start() + 1, self.notebook.list.end() - 1);
        let span = if first { inside } else { Span::at(inside.end()) };
        let lead = if first { &*spacing.open } else { lead };
        let tail = if last { &*spacing.close } else { "" };
        (span, format!("{lead}{text}{tail}"))
    }

    /// Returns an unused id, derived from the version and the edit: the same call on the same text gives the same id.
    fn new_id(&mut self, nth: usize) -> Option<String> {
        if self.notebook.minor < 5 {
            return None;
        }
        let version = self.base.id().to_bytes();
        for attempt in 0u64.. {
            let made = ContentId::of_pieces([&version[..], &(nth as u64).to_be_bytes(), &attempt.to_be_bytes()]);
            let id = made.tag().to_string();
            if self.ids.insert(id.clone()) {
                return Some(id);
            }
        }
        None
    }

    fn replaced(&self, at: usize, source: &str, edit: &CellEdit) -> Result<CellWrite> {
        let (notebook, text) = (&self.notebook, self.notebook.text);
        let cell = &notebook.cells[at];
        let was = notebook.source(cell);
        let source = with_line_ends_of(&was, source)?;
        let kind = edit.kind.filter(|kind| notebook.kind(cell) != Some(*kind));
        let mut written = CellWrite { read_span: cell.span, old: source_of(cell), ..CellWrite::default() };
        let between = CellMembers::of(self.notebook.text, cell, &self.layout.members.between);
        if was != source || cell.source.is_none() {
            match cell.source {
                Some(old) => {
                    written.edits.extend(difference(text, old, &self.layout.replaced(text, old, &source)));
                }
                None => {
                    return Err(wrong(format!("Cell {at} has no source."))
                        .next("Delete it, and insert a new one in its place."));
                }
            }
        }
        if written.edits.is_empty() && kind.is_none() {
            return Ok(written);
        }
        if let Some(kind) = kind {
            self.change_type(at, cell, kind, &between, &mut written)?;
        }
        if kind.is_none() && edit.clear != Some(false) && notebook.kind(cell) == Some(CellType::Code) {
            written.notes.extend(self.clear(cell, &mut written.edits));
        }
        Ok(written)
    }

    /// Removes outputs and execution count of an earlier run.
    fn clear(&self, cell: &Cell, edits: &mut Vec<TextEdit>) -> Option<String> {
        let text = self.notebook.text;
        let outputs = cell.outputs.filter(|&span| json::items(text, span).next().is_some());
        let count = cell.count.filter(|span| text[span.range()] != *"null");
        edits.extend(outputs.map(|span| TextEdit { span, text: "[]".to_owned() }));
        edits.extend(count.map(|span| TextEdit { span, text: "null".to_owned() }));
        let several = outputs.map_or(0, |span| json::items(text, span).count());
        match (several, count) {
            (0, None) => None,
            (0, Some(_)) => Some("its execution count was cleared.".to_owned()),
            (1, _) => Some("its output was cleared.".to_owned()),
            (several, _) => Some(format!("its {several} outputs were cleared.")),
        }
    }

    /// Changes the type of a cell: removes members that only the old type has, and adds those that the new type
    /// requires.
    fn change_type(
        &self,
        at: usize,
        cell: &Cell,
        kind: CellType,
        between: &CellMembers,
        written: &mut CellWrite,
    ) -> Result<()> {
        let text = self.notebook.text;
        let Some(named) = cell.kind else {
            return Err(
                wrong(format!("Cell {at} has no cell_type.")).next("Delete it, and insert a new one in its place.")
            );
        };
        written.edits.push(TextEdit { span: named, text: format!("\"{}\"", kind.name()) });
        written.notes.push(format!("it is a {} cell now.", kind.name()));
        let (mut going, mut coming) = (Vec::new(), Vec::new());
        if kind == CellType::Code {
            going.extend(cell.attachments);
            if cell.attachments.is_some() {
                written.notes.push("its attachments were removed, because code cells have none.".to_owned());
            }
            coming.extend([(cell.count, "execution_count", "null"), (cell.outputs, "outputs", "[]")]);
        } else {
            going.extend(cell.outputs.into_iter().chain(cell.count));
            if cell.outputs.is_some_and(|span| json::items(text, span).next().is_some()) {
                written.notes.push("its outputs were removed.".to_owned());
            }
        }
        written.edits.extend(between.without(&going));
        for (has, name, value) in coming {
            if has.is_none() {
                let text = self.layout.member(&between.spacing, name, value);
                written.edits.push(TextEdit { span: Span::at(named.end()), text });
            }
        }
        Ok(())
    }

    /// Verifies that the result is a notebook with exactly the requested cells.
    fn proven(&self, ops: &[Op], about: &[Option<usize>], placed: &[Result<PlacedOp>]) -> Result<()> {
        let splices = placed.iter().flatten().flat_map(|placed| placed.splices.iter().cloned());
        let changes = ChangeSet::new(self.base, splices).map_err(|overlaps| conflict::overlaps(ops, &overlaps))?;
        let after = self.base.after(&changes)?;
        let result = Notebook::read(after.text()).map_err(|error| layout_bug(error.message()))?;
        if result.cells.len() != self.remaining[self.deleted.len()] + self.inserted.len() {
            return Err(layout_bug("it has another number of cells"));
        }
        for (rank, &(gap, nth)) in self.inserted.iter().enumerate() {
            if !reads_as_edited(&result, ops, rank + self.remaining[gap], nth) {
                return Err(layout_bug("a new cell has another source"));
            }
        }
        for (nth, at) in about.iter().enumerate().filter_map(|(nth, at)| Some((nth, (*at)?))) {
            let fresh = self.inserted.partition_point(|&(gap, _)| gap <= at);
            if !self.deleted[at] && !reads_as_edited(&result, ops, fresh + self.remaining[at], nth) {
                return Err(layout_bug("a replaced cell has another source"));
            }
        }
        Ok(())
    }
}

/// Returns the new source of a cell. Its line ends are preserved like those of a file, mixed ones too.
fn with_line_ends_of(was: &str, source: &str) -> Result<String> {
    if !was.contains("\r\n") {
        return Ok(source.to_owned());
    }
    let held = Snapshot::from_text(was);
    let all = Span::new(0, held.text().len());
    if held.text() == source {
        return Ok(was.to_owned());
    }
    let changes = resolve_texts(&held, &[TextEdit { span: all, text: source.to_owned() }])?.changes;
    Ok(held.after(&changes)?.raw_text().unwrap_or(source).to_owned())
}

/// True if the cell of the result has the text of the operation as its source.
fn reads_as_edited(result: &Notebook<'_>, ops: &[Op], at: usize, nth: usize) -> bool {
    result.cells.get(at).is_some_and(|cell| result.source(cell).replace("\r\n", "\n") == ops[nth].text)
}

/// Creates the error for an edited notebook that would be wrong.
fn layout_bug(what: &str) -> Error {
    Error::new(Code::InternalBug, format!("The edited notebook would be wrong: {what}."))
}

fn source_of(cell: &Cell) -> Span {
    cell.source.unwrap_or_else(|| Span::at(cell.span.start()))
}

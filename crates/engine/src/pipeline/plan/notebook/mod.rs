//! Notebooks: shown and edited by cells; text edits of a notebook are refused, with the equivalent cell edit.

pub(crate) mod edit;

use crate::context::call::Call;
use crate::model::raw_path;
use emendate_core::notebook::Notebook;
use emendate_core::{Advice, Code, Error, Locator, Op, Phrase, Result, Snapshot, line_edits, notebook};
use emendate_fs::SafePath;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Characters of a suggested call that a refusal shows.
const SUGGESTED_CALL_CHARS_MAX: usize = 4_000;
/// Edits of one call that are searched for in the cells.
const LOCATED_EDITS_MAX: usize = 20;

const EDITED_AS_TEXT_NOTE: &str = "The notebook is not valid JSON, so it was edited as text.";

/// True for a file with the extension of a notebook.
pub(crate) fn is_named(path: &SafePath) -> bool {
    path.absolute().extension().is_some_and(|it| it.eq_ignore_ascii_case("ipynb"))
}

/// Returns the warning about a notebook that was edited as text.
pub(crate) fn text_edit_warning(
    path: &SafePath,
    before: &Snapshot,
    ops: &[emendate_core::OpOutcome],
) -> Option<String> {
    let broken = !ops.is_empty() && is_named(path) && !before.is_binary() && !notebook::is_json(before.text());
    (broken && !before.text().trim().is_empty()).then(|| EDITED_AS_TEXT_NOTE.to_owned())
}

/// The tool, and what accepts its fields if it is not offered.
const NOTEBOOK_TOOL: &str = "notebook_edit";

/// Refuses text edits of a notebook, and determines the equivalent call on its cells. A notebook with malformed
/// JSON is edited as text, because nothing else could repair it.
pub(crate) fn refuse_text_edit(call: Call<'_>, path: &SafePath, now: &Snapshot, ops: &[Op]) -> Result<()> {
    if !is_named(path) || now.is_binary() || !notebook::is_json(now.text()) {
        return Ok(());
    }
    let error = Error::new(Code::FileNotebook, "File is a Jupyter Notebook. Use the NotebookEdit to edit this file.")
        .evidence(path.shown());
    let notebook = match Notebook::read(now.text()) {
        Ok(notebook) => notebook,
        Err(why) => return Err(error.evidence(why.message()).next(why.advice())),
    };
    let known = call.latest_record(path).ok().flatten();
    let first = if known.is_none() && !call.caller.allows_unread() {
        vec!["Call ".into(), raw_path::read(path, Value::Null), ", then ".into()]
    } else {
        vec!["Call ".into()]
    };
    let tool = || Phrase::Tool(NOTEBOOK_TOOL);
    match edit_target(&notebook, path, now, ops) {
        NotebookEditTarget::Call(call) if call.to_string().len() <= SUGGESTED_CALL_CHARS_MAX => Err(error
            .next(advice_from(&first, vec![Phrase::Call(NOTEBOOK_TOOL, call.clone()), ".".into()]))
            .fact("call", call)),
        NotebookEditTarget::Call(mut call) => {
            if let Some(fields) = call.as_object_mut() {
                fields.shift_remove("new_source");
                fields.shift_remove("edits");
            }
            let cell = Phrase::Call(NOTEBOOK_TOOL, call);
            Err(error.next(with_source(|source, edits| {
                let parts =
                    [" and in ".into(), source, " the whole new source of the cell (several: in ".into(), edits];
                advice_from(&first, [vec![cell.clone()], parts.to_vec(), vec![").".into()]].concat())
            })))
        }
        NotebookEditTarget::Cells(cells) if !cells.is_empty() => {
            let next = with_source(|source, _| {
                let is = " is the whole new source of the cell.";
                advice_from(&first, vec![tool(), "; ".into(), source, is.into()])
            });
            Err(error.evidence(format!("The edit is about:\n{}", notebook.listed(&cells))).next(next))
        }
        NotebookEditTarget::Cells(_) if notebook.cells().is_empty() => {
            let call =
                json!({ "notebook_path": path.shown(), "edit_mode": "insert", "cell_type": "code", "new_source": "" });
            Err(error
                .evidence("It has no cells.")
                .next(advice_from(&first, vec![Phrase::Call(NOTEBOOK_TOOL, call), ", for example.".into()])))
        }
        NotebookEditTarget::Cells(_) => {
            let all: Vec<usize> = (0..notebook.cells().len()).collect();
            let next = advice_from(
                &first,
                vec![tool(), " with the id or number of the cell, and its whole new source.".into()],
            );
            Err(error.evidence(format!("Its cells:\n{}", notebook.listed(&all))).next(next))
        }
    }
}

/// Joins the beginning of the advice with its rest.
fn advice_from(first: &[Phrase], rest: Vec<Phrase>) -> Advice {
    Advice::new([first.to_vec(), rest].concat())
}

/// Makes an advice from the names of the fields for the new source and for several edits; a client that does not name
/// the fields of that tool sends JSON.
fn with_source(advice: impl Fn(Phrase, Phrase) -> Advice) -> Advice {
    let [source, edits] = ["new_source", "edits"];
    let named = |field| Phrase::FieldOf(NOTEBOOK_TOOL, field);
    advice(named(source), named(edits)).or(advice(source.into(), edits.into()))
}

/// The target of a text edit of a notebook.
enum NotebookEditTarget {
    /// The equivalent call.
    Call(Value),
    /// The cells with these numbers, as far as they are known.
    Cells(Vec<usize>),
}

fn edit_target(notebook: &Notebook<'_>, safe_path: &SafePath, now: &Snapshot, ops: &[Op]) -> NotebookEditTarget {
    let mut sources: BTreeMap<usize, String> = BTreeMap::new();
    let (mut cells, mut whole) = (Vec::new(), !ops.is_empty() && ops.len() <= LOCATED_EDITS_MAX);
    for op in ops.iter().take(LOCATED_EDITS_MAX) {
        let (old, new) = match &op.at {
            Locator::Find(find) => (find.old.clone(), op.text.clone()),
            Locator::Hunk(hunk) => (hunk.old_text(), hunk.new_text()),
            _ => (String::new(), String::new()),
        };
        // The last line of a cell has no line end.
        let held =
            notebook.holding(&old, &new).or_else(|| notebook.holding(&without_line_end(&old), &without_line_end(&new)));
        match held {
            Some((at, source)) if !sources.contains_key(&at) => {
                sources.insert(at, source);
                cells.push(at);
            }
            Some((at, _)) => {
                whole = false;
                cells.push(at);
            }
            None => {
                whole = false;
                let offset = line_edits::of(op).and_then(line_edits::LineEdit::named_lines).map_or_else(
                    || (!old.is_empty()).then(|| now.text().find(&old)).flatten(),
                    |(line, _)| Some(now.lines().span_of(now.text(), line, line).start()),
                );
                cells.extend(offset.and_then(|at| notebook.cell_at(at)));
            }
        }
    }
    cells.sort_unstable();
    cells.dedup();
    if !whole {
        return NotebookEditTarget::Cells(cells);
    }
    let mut edits: Vec<Value> = sources
        .iter()
        .map(|(at, source)| {
            let mut edit = name(notebook, *at);
            edit["new_source"] = source.clone().into();
            edit
        })
        .collect();
    let path = safe_path.shown();
    NotebookEditTarget::Call(match &mut *edits {
        [only] => {
            let mut call = json!({ "notebook_path": path });
            if let (Some(call), Some(edit)) = (call.as_object_mut(), only.as_object_mut()) {
                call.append(edit);
            }
            call
        }
        _ => json!({ "notebook_path": path, "edits": edits }),
    })
}

/// Returns a text without its last line end.
fn without_line_end(text: &str) -> String {
    text.strip_suffix('\n').unwrap_or(text).to_owned()
}

/// Returns the fields that name a cell.
fn name(notebook: &Notebook<'_>, at: usize) -> Value {
    match notebook.cells().get(at).and_then(|cell| notebook.id(cell)) {
        Some(id) if notebook.find(&notebook::CellName::Id(id.clone())).is_ok() => json!({ "cell_id": id }),
        _ => json!({ "cell_number": at }),
    }
}

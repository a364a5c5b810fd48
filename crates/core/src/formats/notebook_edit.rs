//! `notebook_edit`: edits of a Jupyter notebook by cells, the `NotebookEdit` tool of the seed documents.

use super::{Format, FormatInput, FormatSpec};
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::notebook::{CellAction, CellEdit, CellName, CellType};
use crate::locate::op::EDITS_PER_CALL_MAX;
use crate::locate::op::{FileAction, FileRequest, Locator, Op, OpOrder, Request, normalize_text};
use crate::note::Notes;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The format.
pub struct NotebookEdit;

/// The action of an edit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Mode")]
enum CellEditMode {
    /// The source of the cell becomes `new_source`.
    #[default]
    Replace,
    /// A new cell is inserted after the cell of `cell_id`, or as number `cell_number`; without either as the first.
    Insert,
    /// The cell is deleted.
    Delete,
}

/// The type of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
enum CellKind {
    Code,
    Markdown,
    Raw,
}

/// One edit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "OneCell")]
struct CellEditInput {
    /// The cell by its id, as read shows it.
    cell_id: Option<String>,
    /// The cell by its number, 0 for the first, instead of `cell_id`.
    cell_number: Option<usize>,
    /// The whole new source of the cell; for delete nothing.
    new_source: Option<String>,
    /// The type of the cell; needed for insert, else the cell keeps the one it has.
    cell_type: Option<CellKind>,
    /// The action (default: replace).
    edit_mode: Option<CellEditMode>,
    /// Whether a code cell loses its outputs with its source (default true).
    clear_outputs: Option<bool>,
}

/// The fields beside those of one edit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Around")]
struct NotebookEditInput {
    /// The absolute path of the notebook.
    #[serde(alias = "file_path")]
    notebook_path: String,
    /// Several edits instead, all of the notebook as it was read, all or nothing.
    #[serde(default)]
    edits: Option<Vec<CellEditInput>>,
}

/// Creates the schema: the fields of one edit and of the call in one object.
fn schema() -> Schema {
    let (mut whole, one) = (schemars::schema_for!(NotebookEditInput), schemars::schema_for!(CellEditInput));
    if let (Some(Value::Object(fields)), Some(Value::Object(more))) =
        (whole.get_mut("properties"), one.get("properties"))
    {
        fields.extend(more.clone());
    }
    whole
}

impl Format for NotebookEdit {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "notebook_edit",
            summary: "cells of a Jupyter notebook, by id or number (the NotebookEdit tool)",
            prompt: PROMPT,
            schema: Some(schema),
            key: "notebook_path",
            example: r#"{"notebook_path": "/src/model.ipynb", "cell_id": "a1b2c3d4", "new_source": "x = 1\nx"}"#,
            grammar: None,
        }
    }

    fn parse(&self, input: FormatInput) -> Result<Request> {
        let mut one = super::object(input)?;
        let mut around = Map::new();
        if let Value::Object(fields) = &mut one {
            for name in ["notebook_path", "file_path", "edits"] {
                around.extend(fields.shift_remove(name).map(|value| (name.to_owned(), value)));
            }
        }
        let NotebookEditInput { notebook_path, edits } = super::from_json(FormatInput::Json(Value::Object(around)))?;
        let one: CellEditInput = super::from_json(FormatInput::Json(one))?;
        let edits = together(one, edits)?;
        let (of, mut ops, mut errors) = (edits.len(), Vec::new(), Vec::new());
        for (index, edit) in edits.into_iter().enumerate() {
            match op(edit) {
                Ok(op) => ops.push(op),
                Err(error) if of == 1 => errors.push(error),
                Err(error) => errors.push(error.prefixed(&format!("edits[{index}]: "))),
            }
        }
        let action = FileAction::Edit { ops, order: OpOrder::Together };
        let request = Request { files: vec![FileRequest::new(notebook_path, action)], notes: Notes::new() };
        Error::combine(errors, of).map_or(Ok(request), Err)
    }
}

/// Returns the edits of a call: the single one, or the list.
fn together(one: CellEditInput, edits: Option<Vec<CellEditInput>>) -> Result<Vec<CellEditInput>> {
    let Some(edits) = edits else { return Ok(vec![one]) };
    let named = one.cell_id.is_some() || one.cell_number.is_some();
    if named && edits.is_empty() {
        return Ok(vec![one]);
    }
    let CellEditInput { new_source, cell_type, edit_mode, clear_outputs, .. } = one;
    if named || new_source.is_some() || cell_type.is_some() || edit_mode.is_some() {
        return Err(
            wrong("edits is given together with the fields of a single edit.").next("Put all of them into edits.")
        );
    }
    if edits.is_empty() {
        return Err(wrong("there are no edits.").next("Put at least one edit into edits."));
    }
    if edits.len() > EDITS_PER_CALL_MAX {
        let what = format!("{} edits are more than the {EDITS_PER_CALL_MAX} that one call may have.", edits.len());
        return Err(Error::new(Code::CallTooLarge, what).next("Send them in several calls."));
    }
    // The flag of the call applies to all edits that do not set it themselves.
    Ok(edits
        .into_iter()
        .map(|edit| CellEditInput { clear_outputs: edit.clear_outputs.or(clear_outputs), ..edit })
        .collect())
}

fn wrong(what: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The input does not fit the tool: {what}"))
}

fn op(edit: CellEditInput) -> Result<Op> {
    let act = match edit.edit_mode.unwrap_or_default() {
        CellEditMode::Replace => CellAction::Replace,
        CellEditMode::Insert => CellAction::Insert,
        CellEditMode::Delete => CellAction::Delete,
    };
    // An empty id names no cell.
    let cell = match (edit.cell_id.filter(|id| !id.is_empty()), edit.cell_number) {
        (Some(id), None) => Some(CellName::Id(id)),
        (None, Some(number)) => Some(CellName::Number(number)),
        (None, None) if act == CellAction::Insert => None,
        (None, None) => {
            return Err(wrong("it names no cell.")
                .next(Advice::named("Give {cell_id} or {cell_number}, as {read()} shows them.").or("Name the cell.")));
        }
        (Some(_), Some(_)) => {
            return Err(wrong("it names a cell both by cell_id and by cell_number.").next("Give one of the two."));
        }
    };
    let kind = edit.cell_type.map(|kind| match kind {
        CellKind::Code => CellType::Code,
        CellKind::Markdown => CellType::Markdown,
        CellKind::Raw => CellType::Raw,
    });
    let text = match (act, edit.new_source) {
        (CellAction::Delete, Some(text)) if !text.is_empty() => {
            return Err(wrong("delete takes no new source.")
                .next(Advice::named("Omit {new_source} to delete the cell; to change it, omit {edit_mode}.")));
        }
        (CellAction::Delete, _) => String::new(),
        (_, Some(text)) => normalize_text(&text),
        (_, None) => return Err(wrong("new_source is missing.").next("Give the whole source of the cell.")),
    };
    if act == CellAction::Insert && kind.is_none() {
        return Err(wrong("a new cell needs a type.").next(Advice::named("Give {cell_type}: code, markdown or raw.")));
    }
    Ok(Op { at: Locator::Cell(Box::new(CellEdit { cell, act, kind, clear: edit.clear_outputs })), text })
}

/// The instructions for a model.
pub const PROMPT: &str = "\
Edits the cells of a Jupyter notebook that was read before. A cell is named by cell_id, or by cell_number (0 for the first), as read shows \
them. new_source becomes the whole source of the cell; its outputs are cleared. edit_mode insert puts a new cell of cell_type after the cell of cell_id (or makes it number cell_number; without either, the first); delete removes the cell. Several edits go into edits[], all or \
nothing; ids and numbers mean the notebook as it was read.";

#[cfg(test)]
mod tests {
    use super::NotebookEdit;
    use crate::formats::{Format as _, FormatInput};
    use serde_json::json;

    #[test]
    fn contradictory_fields_are_refused() {
        for (edit, part) in [
            (json!({"new_source": "a"}), "names no cell"),
            (json!({"cell_id": "a", "cell_number": 1, "new_source": "a"}), "both"),
            (json!({"cell_id": "a"}), "new_source is missing"),
            (json!({"cell_id": "a", "edit_mode": "delete", "new_source": "a"}), "delete takes no"),
            (json!({"cell_id": "a", "edit_mode": "insert", "new_source": "a"}), "needs a type"),
            (json!({"cell_id": "", "new_source": "a"}), "names no cell"),
            (
                json!({"cell_id": "a", "new_source": "a", "edits": [{"cell_id": "b", "new_source": "b"}]}),
                "together with",
            ),
            (json!({"edits": []}), "no edits"),
            (json!({"cell_id": "a", "new_source": "a", "cell_type": "heading"}), "heading"),
            (json!({"edits": [{"cell_number": -1, "new_source": "a"}]}), "edits[0].cell_number"),
        ] {
            let mut input = edit.clone();
            input["notebook_path"] = "/a.ipynb".into();
            let error = NotebookEdit.parse(FormatInput::Json(input)).unwrap_err();
            assert!(error.to_string().contains(part), "{edit}: {error}");
        }
    }

    #[test]
    fn empty_fields_request_nothing() {
        for edit in [
            json!({"cell_id": "a", "new_source": "x", "edits": []}),
            json!({"cell_id": "", "cell_number": 1, "new_source": "x", "edits": null}),
            json!({"cell_id": "", "cell_type": "code", "edit_mode": "insert", "new_source": "x"}),
        ] {
            let mut input = edit.clone();
            input["notebook_path"] = "/a.ipynb".into();
            assert!(NotebookEdit.parse(FormatInput::Json(input)).is_ok(), "{edit}");
        }
    }
}

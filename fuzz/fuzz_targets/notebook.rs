//! Edits of cells on any text, and on notebooks in many styles: nothing panics or hangs; every result is a notebook,
//! and cells that were not named are identical byte for byte.
#![no_main]
use emendate_core::formats::notebook_edit::NotebookEdit;
use emendate_core::formats::{Format, FormatInput};
use emendate_core::notebook::{Notebook, carry};
use emendate_core::{FileAction, OpOrder, ResolveSettings, Snapshot, resolve};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|input: (String, Vec<(u8, String)>, Vec<(u8, u8, String)>, [bool; 3])| {
    let (any, cells, edits, [listed, pretty, ids]) = input;
    let cell = |(nth, (kind, source)): (usize, &(u8, String))| {
        let kind = ["code", "markdown", "raw"][usize::from(kind % 3)];
        let source: Value = if listed { source.split_inclusive('\n').collect() } else { source.as_str().into() };
        let mut cell = json!({ "cell_type": kind, "metadata": {}, "source": source });
        if kind == "code" {
            cell["outputs"] = json!([{"output_type": "stream", "text": any}]);
            cell["execution_count"] = json!(nth);
        }
        if ids {
            cell["id"] = format!("id-{nth}").into();
        }
        cell
    };
    let list: Vec<Value> = cells.iter().take(12).enumerate().map(cell).collect();
    let whole = json!({ "cells": list, "metadata": {}, "nbformat": 4, "nbformat_minor": if ids { 5 } else { 4 } });
    let text = if pretty { serde_json::to_string_pretty(&whole).unwrap() } else { whole.to_string() };
    let edits: Vec<Value> = edits
        .iter()
        .take(12)
        .map(|(at, act, source)| match act % 3 {
            0 => json!({ "cell_number": at % 14, "new_source": source }),
            1 => json!({ "cell_number": at % 14, "edit_mode": "insert", "cell_type": "code", "new_source": source }),
            _ => json!({ "cell_number": at % 14, "edit_mode": "delete" }),
        })
        .collect();
    let Ok(request) = NotebookEdit.parse(FormatInput::Json(json!({ "notebook_path": "/f", "edits": edits }))) else {
        return;
    };
    let Some(FileAction::Edit { ops, .. }) = request.files.first().map(|file| &file.action) else { return };
    for (text, sound) in [(text.as_str(), true), (&any, false)] {
        let base = Snapshot::from_text(text);
        if let Ok(notebook) = Notebook::read(base.text()) {
            for cell in notebook.cells() {
                notebook.outputs(cell, 9, 99);
            }
            let all: Vec<usize> = (0..notebook.cells().len()).collect();
            notebook.listed(&all);
        }
        let resolved = resolve(&base, ops, OpOrder::Together, ResolveSettings::default());
        let Ok(resolved) = resolved else { continue };
        let after = base.reopen(resolved.changes.apply(&base)).unwrap();
        let (then, now) = (Notebook::read(base.text()).unwrap(), Notebook::read(after.text()).unwrap());
        assert!(!sound || serde_json::from_str::<Value>(after.text()).is_ok());
        let _ = carry(&then, &now, ops);
    }
});

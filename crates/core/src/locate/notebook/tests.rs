//! Notebooks in many styles: edits change the cells that they name and no other byte.

use super::{CellAction, CellEdit, CellName, CellType, Notebook, OutputPart, carry};
use crate::code::Code;
use crate::error::Error;
use crate::locate::op::{Locator, Op, OpOrder, ResolveSettings};
use crate::locate::resolve::resolve;
use crate::text::snapshot::Snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

fn op(cell: CellName, act: CellAction, kind: Option<CellType>, text: &str) -> Op {
    let cell = Some(cell);
    Op { at: Locator::Cell(Box::new(CellEdit { cell, act, kind, clear: None })), text: text.to_owned() }
}

fn number(at: usize) -> CellName {
    CellName::Number(at)
}

fn id(id: &str) -> CellName {
    CellName::Id(id.to_owned())
}

fn replace(at: usize, text: &str) -> Op {
    op(number(at), CellAction::Replace, None, text)
}

fn insert(at: usize, kind: CellType, text: &str) -> Op {
    op(number(at), CellAction::Insert, Some(kind), text)
}

fn delete(at: usize) -> Op {
    op(number(at), CellAction::Delete, None, "")
}

fn edited(text: &str, ops: &[Op]) -> Result<String, Error> {
    let base = Snapshot::from_text(text);
    let resolved = resolve(&base, ops, OpOrder::Together, ResolveSettings::default())?;
    Ok(String::from_utf8(resolved.changes.apply(&base)).unwrap())
}

const JUPYTER: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Títle\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {
    "tags": []
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "2\n"
     ]
    }
   ],
   "source": [
    "x = 1\n",
    "print(x + 1)"
   ]
  }
 ],
 "metadata": {
  "language_info": {
   "name": "python"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

#[test]
fn cells_are_parsed() {
    let notebook = Notebook::read(JUPYTER).unwrap();
    assert_eq!((notebook.minor, &*notebook.language, notebook.cells().len()), (5, "python", 2));
    let cell = &notebook.cells()[1];
    assert_eq!(notebook.source(cell), "x = 1\nprint(x + 1)");
    assert_eq!((notebook.id(cell).as_deref(), notebook.kind(cell)), (Some("calc"), Some(CellType::Code)));
    assert_eq!(notebook.execution_count(cell), Some(3));
    let outputs = notebook.outputs(cell, 9, 99);
    assert_eq!(
        (outputs[0].kind.as_str(), &*outputs[0].shown),
        ("stream", &[OutputPart::Text("2\n".to_owned(), 0)][..])
    );
    let missing = notebook.find(&CellName::Id("nowhere".to_owned())).unwrap_err();
    assert_eq!(missing.code(), Code::CellMissing);
    assert!(missing.evidence_text().contains("0 intro (markdown): # Títle\n1 calc (code): x = 1"), "{missing}");
    assert_eq!(notebook.find(&CellName::Number(2)).unwrap_err().code(), Code::CellMissing);
}

#[test]
fn numbered_name_is_no_number_where_ids_have_its_shape() {
    let text = r#"{"cells": [{"id": "cell-0"}, {"id": "cell-2"}, {"source": ""}], "nbformat": 4, "metadata": {}}"#;
    let notebook = Notebook::read(text).unwrap();
    let find = |id: &str| notebook.find(&CellName::Id(id.to_owned()));
    assert_eq!(find("cell-0").unwrap(), 0);
    // The cell with that number has another id; `cell-1` may have been deleted.
    assert_eq!(find("cell-1").unwrap_err().code(), Code::CellMissing);
    assert_eq!(find("cell-2").unwrap(), 1);
    let renamed = text.replace("cell-2", "b");
    let unnamed = Notebook::read(&renamed).unwrap();
    assert_eq!(unnamed.find(&CellName::Id("cell-2".to_owned())).unwrap(), 2);
    let other = renamed.replace("cell-0", "a");
    assert_eq!(Notebook::read(&other).unwrap().find(&CellName::Id("cell-1".to_owned())).unwrap(), 1);
}

#[test]
fn replaced_cell_changes_only_its_lines_and_loses_its_outputs() {
    let expected = JUPYTER
        .replace("\"x = 1\\n\"", "\"x = \\\"2\\\"\\n\",\n    \"y\\n\"")
        .replace("\"execution_count\": 3", "\"execution_count\": null")
        .replace(
            "[\n    {\n     \"name\": \"stdout\",\n     \"output_type\": \"stream\",\n     \"text\": [\n      \"2\\n\"\n     ]\n    }\n   ]",
            "[]",
        );
    assert_eq!(edited(JUPYTER, &[replace(1, "x = \"2\"\ny\nprint(x + 1)")]).unwrap(), expected);
    let keep = CellEdit { cell: Some(id("calc")), act: CellAction::Replace, kind: None, clear: Some(false) };
    let kept = edited(JUPYTER, &[Op { at: Locator::Cell(Box::new(keep)), text: "1".to_owned() }]).unwrap();
    assert!(
        kept.contains("\"2\\n\"") && kept.contains("\"execution_count\": 3") && kept.contains("[\n    \"1\"\n   ]")
    );
    assert_eq!(
        edited(JUPYTER, &[replace(0, "")]).unwrap(),
        JUPYTER.replace("[\n    \"# Títle\\n\",\n    \"text\"\n   ]", "[]")
    );
    let same = edited(JUPYTER, &[replace(1, "x = 1\nprint(x + 1)")]).unwrap_err();
    assert_eq!(same.code(), Code::EditNoChange);
}

#[test]
fn new_cells_follow_the_style_of_their_neighbours() {
    let out = edited(JUPYTER, &[insert(2, CellType::Code, "a\nb")]).unwrap();
    let new: Value = serde_json::from_str(&out).unwrap();
    let new_id = new["cells"][2]["id"].as_str().unwrap().to_owned();
    let cell = format!(
        ",\n  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"{new_id}\",\n   \"metadata\": {{}},\n   \"outputs\": [],\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  }}\n ],\n \"metadata\": {{\n  \"lang"
    );
    assert_eq!(out, JUPYTER.replace("\n ],\n \"metadata\": {\n  \"lang", &cell));
    assert_eq!(edited(JUPYTER, &[insert(2, CellType::Code, "a\nb")]).unwrap(), out, "the same call, the same id");
    let nameless = CellEdit { cell: None, act: CellAction::Insert, kind: Some(CellType::Markdown), clear: None };
    let first = edited(JUPYTER, &[Op { at: Locator::Cell(Box::new(nameless)), text: "é".to_owned() }]).unwrap();
    assert!(first.starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \""), "{first}");
    assert!(first.contains("\"é\""));
    let empty = "{\n  \"cells\": [],\n  \"metadata\": {},\n  \"nbformat\": 4,\n  \"nbformat_minor\": 2\n}\n";
    let expected = "{\n  \"cells\": [\n    {\n      \"cell_type\": \"markdown\",\n      \"metadata\": {},\n      \"source\": [\n        \"# a\"\n      ]\n    }\n  ],\n  \"metadata\": {},";
    let out = edited(empty, &[insert(0, CellType::Markdown, "# a")]).unwrap();
    assert!(out.starts_with(expected), "{out}");
    assert_eq!(edited(&out, &[delete(0)]).unwrap(), empty);
}

#[test]
fn mixed_line_ends_of_a_source_stay_in_the_lines_that_it_keeps() {
    let cell = |source: &str| {
        format!(
            "{{\"nbformat\":4,\"nbformat_minor\":4,\"metadata\":{{}},\"cells\":[{{\"source\":{source},\"metadata\":{{}},\"cell_type\":\"raw\"}}]}}"
        )
    };
    let was = cell(r#"["a\r\n","b\n","c\r\n","d"]"#);
    let now = edited(&was, &[replace(0, "a\nb\nc\nD")]).unwrap();
    assert_eq!(now, cell(r#"["a\r\n","b\n","c\r\n","D"]"#));
    assert_eq!(edited(&was, &[replace(0, "a\nb\nc\nd")]).unwrap_err().code(), Code::EditNoChange);
}

#[test]
fn escapes_and_single_string_sources_are_kept() {
    let compact = "{\"nbformat\":4,\"nbformat_minor\":4,\"metadata\":{},\"cells\":[{\"source\":\"caf\\u00e9\\r\\nx\",\"metadata\":{},\"cell_type\":\"raw\"}]}";
    let out = edited(compact, &[replace(0, "naïve\nx"), insert(1, CellType::Code, "é")]).unwrap();
    assert_eq!(
        out,
        "{\"nbformat\":4,\"nbformat_minor\":4,\"metadata\":{},\"cells\":[{\"source\":\"na\\u00efve\\r\\nx\",\"metadata\":{},\"cell_type\":\"raw\"},{\"source\":\"\\u00e9\",\"metadata\":{},\"outputs\":[],\"cell_type\":\"code\",\"execution_count\":null}]}"
    );
}

#[test]
fn changed_cell_type_adjusts_the_other_members() {
    let converted = edited(JUPYTER, &[op(id("calc"), CellAction::Replace, Some(CellType::Markdown), "*x*")]).unwrap();
    let cell = &serde_json::from_str::<Value>(&converted).unwrap()["cells"][1];
    assert_eq!(*cell, json!({"cell_type": "markdown", "id": "calc", "metadata": {"tags": []}, "source": ["*x*"]}));
    let back = edited(&converted, &[op(id("calc"), CellAction::Replace, Some(CellType::Code), "*x*")]).unwrap();
    let cell = &serde_json::from_str::<Value>(&back).unwrap()["cells"][1];
    let expected = json!({"cell_type": "code", "execution_count": null, "outputs": [], "id": "calc", "metadata": {"tags": []}, "source": ["*x*"]});
    assert_eq!(*cell, expected);
    let odd = "{\"cells\": [{\"outputs\": [], \"execution_count\": 1, \"cell_type\": \"code\", \"metadata\": {}, \"source\": []}], \"nbformat\": 4, \"nbformat_minor\": 0, \"metadata\": {}}";
    let out = edited(odd, &[op(number(0), CellAction::Replace, Some(CellType::Raw), "")]).unwrap();
    assert!(out.starts_with("{\"cells\": [{\"cell_type\": \"raw\", \"metadata\": {}, \"source\": []}]"), "{out}");
}

#[test]
fn edits_made_together_refer_to_the_notebook_as_read() {
    let ops = [
        delete(0),
        replace(1, "1"),
        insert(1, CellType::Raw, "m"),
        insert(2, CellType::Raw, "e"),
        insert(0, CellType::Raw, "b"),
    ];
    let out: Value = serde_json::from_str(&edited(JUPYTER, &ops).unwrap()).unwrap();
    let sources: Vec<&Value> = out["cells"].as_array().unwrap().iter().map(|cell| &cell["source"]).collect();
    assert_eq!(sources, [&json!(["b"]), &json!(["m"]), &json!(["1"]), &json!(["e"])]);
    let all_gone = [delete(1), delete(0), insert(2, CellType::Raw, "2"), insert(0, CellType::Raw, "1")];
    let out: Value = serde_json::from_str(&edited(JUPYTER, &all_gone).unwrap()).unwrap();
    let sources: Vec<&Value> = out["cells"].as_array().unwrap().iter().map(|cell| &cell["source"]).collect();
    assert_eq!(sources, [&json!(["1"]), &json!(["2"])]);
    assert!(edited(JUPYTER, &[delete(1), delete(0)]).unwrap().starts_with("{\n \"cells\": [],\n"));
    let twice = edited(JUPYTER, &[replace(1, "a"), op(id("calc"), CellAction::Replace, None, "b")]).unwrap_err();
    assert_eq!((twice.code(), twice.op_index()), (Code::EditContradiction, Some(1)));
    assert_eq!(edited(JUPYTER, &[replace(1, "a"), delete(1)]).unwrap_err().code(), Code::EditContradiction);
    assert!(edited(JUPYTER, &[delete(1), op(id("calc"), CellAction::Delete, None, "")]).is_ok());
}

#[test]
fn invalid_notebooks_are_refused() {
    for (text, part) in [
        ("{\"cells\": [\n1,]}", "Line 2: 1,]}"),
        ("[]", "no nbformat"),
        ("{\"nbformat\": 3, \"worksheets\": []}", "format 3"),
        ("{\"nbformat\": 5, \"cells\": []}", "format 5"),
        ("{\"nbformat\": 4, \"cells\": {}}", "no list of cells"),
        ("{\"nbformat\": 4, \"cells\": [], \"cells\": []}", "two members"),
        ("{\"nbformat\": 4, \"cells\": [{\"source\": \"\", \"source\": \"\"}]}", "two members"),
        ("{\"nbformat\": 4, \"cells\": [7]}", "not an object"),
    ] {
        let error = edited(text, &[replace(0, "x")]).unwrap_err();
        assert!(error.code() == Code::NotebookInvalid && error.to_string().contains(part), "{text}: {error}");
    }
    let same = JUPYTER.replace("intro", "calc");
    let error = edited(&same, &[op(id("calc"), CellAction::Replace, None, "x")]).unwrap_err();
    assert_eq!(error.code(), Code::CellAmbiguous);
}

#[test]
fn moved_cell_is_recognized() {
    let carried = |seen: &str, now: &str, op: Op| {
        let (seen, now) = (Notebook::read(seen).unwrap(), Notebook::read(now).unwrap());
        carry(&seen, &now, &[op]).map(|ops| super::of(&ops[0]).unwrap().cell.clone()).map_err(|it| it.error.code())
    };
    let moved = edited(JUPYTER, &[insert(0, CellType::Raw, "new")]).unwrap();
    assert_eq!(carried(JUPYTER, &moved, replace(1, "x")), Ok(Some(number(2))));
    assert_eq!(carried(JUPYTER, &moved, insert(2, CellType::Raw, "x")), Ok(Some(number(3))));
    let run = JUPYTER.replace("\"execution_count\": 3", "\"execution_count\": 4");
    assert_eq!(carried(JUPYTER, &run, replace(1, "x")), Ok(Some(number(1))));
    let other = edited(JUPYTER, &[replace(1, "y")]).unwrap();
    assert_eq!(carried(JUPYTER, &other, replace(1, "x")), Err(Code::StaleChanged));
    assert_eq!(carried(JUPYTER, &other, replace(1, "y")), Ok(Some(number(1))), "already made");
    assert_eq!(carried(JUPYTER, &other, replace(0, "x")), Ok(Some(number(0))));
    let gone = edited(JUPYTER, &[delete(1)]).unwrap();
    assert_eq!(carried(JUPYTER, &gone, replace(1, "x")), Err(Code::StaleChanged));
    // Without ids, equal cells cannot be distinguished.
    let twins = "{\"nbformat\": 4, \"nbformat_minor\": 4, \"cells\": [{\"source\": \"a\"}, {\"source\": \"a\"}, {\"source\": \"b\"}]}";
    let fewer = "{\"nbformat\": 4, \"nbformat_minor\": 4, \"cells\": [{\"source\": \"a\"}, {\"source\": \"b\"}]}";
    assert_eq!(carried(twins, fewer, replace(0, "x")), Err(Code::StaleChanged));
    assert_eq!(carried(twins, fewer, replace(2, "x")), Ok(Some(number(1))));
}

/// The style in which a notebook is written.
#[derive(Clone, Debug)]
struct NotebookStyle {
    indent: usize,
    listed: bool,
    ascii: bool,
    crlf: bool,
    mark: bool,
    ids: bool,
    tail: bool,
    reversed: bool,
}

fn style() -> impl Strategy<Value = NotebookStyle> {
    (0usize..5, any::<[bool; 7]>()).prop_map(|(indent, [listed, ascii, crlf, mark, ids, tail, reversed])| {
        NotebookStyle { indent, listed, ascii, crlf, mark, ids, tail, reversed }
    })
}

impl NotebookStyle {
    fn cell(&self, (kind, source): (u8, &str), nth: usize) -> Value {
        let kind = ["code", "markdown", "raw"][usize::from(kind % 3)];
        let source = if self.listed { source.split_inclusive('\n').collect() } else { Value::from(source) };
        let mut cell = json!({ "cell_type": kind, "metadata": {"a b": [1, {}]}, "source": source });
        if kind == "code" {
            cell["execution_count"] = json!(nth);
            cell["outputs"] = json!([{"output_type": "stream", "name": "stdout", "text": ["é\n"]}]);
        }
        if self.ids {
            cell["id"] = format!("c-{nth}").into();
        }
        cell
    }

    fn write(&self, cells: &[(u8, String)]) -> Vec<u8> {
        let cells: Vec<Value> = (0..).zip(cells).map(|(nth, (kind, source))| self.cell((*kind, source), nth)).collect();
        let minor = if self.ids { 5 } else { 4 };
        let mut whole = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": minor });
        if self.reversed {
            let fields: Vec<_> = whole.as_object().unwrap().clone().into_iter().rev().collect();
            whole = fields.into_iter().collect();
        }
        let indent = " ".repeat(self.indent);
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        if self.indent == 0 {
            out = serde_json::to_vec(&whole).unwrap();
        } else {
            serde::Serialize::serialize(&whole, &mut serde_json::Serializer::with_formatter(&mut out, formatter))
                .unwrap();
        }
        let mut text = String::from_utf8(out).unwrap();
        if self.ascii {
            text = text
                .chars()
                .map(|ch| {
                    if ch.is_ascii() {
                        ch.to_string()
                    } else {
                        ch.encode_utf16(&mut [0; 2]).iter().map(|it| format!("\\u{it:04x}")).collect()
                    }
                })
                .collect();
        }
        if self.tail {
            text.push('\n');
        }
        if self.crlf {
            text = text.replace('\n', "\r\n");
        }
        if self.mark { ["\u{FEFF}", &text].concat().into_bytes() } else { text.into_bytes() }
    }
}

/// Returns the expected cells after the edits.
fn expected(cells: &[(u8, String)], ops: &[Op]) -> Vec<(Option<usize>, String)> {
    let mut out = Vec::new();
    for at in 0..=cells.len() {
        for op in ops {
            let edit = super::of(op).unwrap();
            if edit.act == CellAction::Insert
                && edit.cell.clone().unwrap_or(CellName::Number(0)) == CellName::Number(at)
            {
                out.push((None, op.text.clone()));
            }
        }
        let about = |op: &&Op| {
            super::of(op).is_some_and(|edit| edit.act != CellAction::Insert && edit.cell == Some(number(at)))
        };
        match (cells.get(at), ops.iter().find(about)) {
            (None, _) => {}
            (Some((_, source)), None) => out.push((Some(at), source.clone())),
            (Some(_), Some(op)) if super::of(op).unwrap().act == CellAction::Delete => {}
            (Some(_), Some(op)) => out.push((None, op.text.clone())),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn only_named_cells_change(
        style in style(),
        cells in proptest::collection::vec((0u8..3, "[a-c\\\\\"é😀\t\n]{0,8}"), 0..6),
        edits in proptest::collection::vec((0usize..7, 0u8..4, 0u8..3, "[a-c\\\\\"é😀\t\n]{0,8}"), 1..6),
    ) {
        let mut taken = std::collections::HashSet::new();
        let mut ops = Vec::new();
        for (at, act, kind, text) in &edits {
            let kind = [CellType::Code, CellType::Markdown, CellType::Raw][usize::from(*kind)];
            match act {
                0 | 3 if *at <= cells.len() => ops.push(insert(*at, kind, text)),
                1 if *at < cells.len() && taken.insert(*at) => ops.push(delete(*at)),
                2 if *at < cells.len() && taken.insert(*at) => ops.push(op(number(*at), CellAction::Replace, (*at > 2).then_some(kind), text)),
                _ => {}
            }
        }
        let raw = style.write(&cells);
        let base = Snapshot::open(raw.clone(), None).unwrap();
        let resolved = match resolve(&base, &ops, OpOrder::Together, ResolveSettings::default()) {
            Ok(resolved) => resolved,
            Err(error) => {
                prop_assert_eq!(error.code(), Code::EditNoChange, "{}", error);
                return Ok(());
            }
        };
        let after = base.reopen(resolved.changes.apply(&base)).unwrap();
        let (then, now) = (Notebook::read(base.text()).unwrap(), Notebook::read(after.text()).unwrap());
        serde_json::from_str::<Value>(after.text()).unwrap();
        let expected = expected(&cells, &ops);
        prop_assert_eq!(now.cells().len(), expected.len());
        let mut ids = std::collections::HashSet::new();
        for (cell, (from, source)) in now.cells().iter().zip(&expected) {
            prop_assert_eq!(&now.source(cell), source);
            prop_assert_eq!(now.id(cell).is_some(), style.ids);
            prop_assert!(now.id(cell).is_none_or(|id| ids.insert(id)));
            if let Some(from) = from {
                prop_assert_eq!(&after.text()[cell.span.range()], &base.text()[then.cells()[*from].span.range()]);
            }
            let code = now.kind(cell) == Some(CellType::Code);
            prop_assert_eq!((cell.outputs.is_some(), cell.count.is_some()), (code, code));
        }
        // The text before and after the list of cells is unchanged.
        prop_assert_eq!(&base.text()[..=then.list.start()], &after.text()[..=now.list.start()]);
        prop_assert_eq!(&base.text()[then.list.end() - 1..], &after.text()[now.list.end() - 1..]);
        prop_assert!(after.raw().windows(2).all(|pair| pair[1] != b'\n' || (pair[0] == b'\r') == style.crlf || style.indent == 0 && !style.tail));
        prop_assert!(!style.ascii || !then.text.contains("\\u") || now.text.is_ascii());
    }

    #[test]
    fn no_text_panics(text in "[\\[\\]{}\",:0-9a-e\n\\\\]{0,60}", at in 0usize..3) {
        let whole = format!("{{\"nbformat\": 4, \"cells\": [{text}], \"id\": {text}}}");
        for text in [&text, &whole] {
            let _ = edited(text, &[replace(at, "x"), delete(at + 1), insert(0, CellType::Code, "y")]);
        }
    }
}

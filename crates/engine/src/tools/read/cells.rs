//! Notebooks as shown by `read`: cells with source and outputs.

use crate::context::LoadedFile;
use crate::context::call::Call;
use crate::model::attachment::{ATTACHMENTS, Attachment, IMAGE_BYTES_MAX, list_to_json};
use crate::model::raw_path;
use crate::model::reply::{Answer, counted};
use data_encoding::BASE64;
use emendate_core::notebook::{Cell, CellName, CellOutput, Notebook, OutputPart};
use emendate_core::{Advice, Code, Error, Phrase, Result, Snapshot, advice};
use emendate_fs::SafePath;
use emendate_history::LineSet;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::Range;

/// Characters of one output that are shown.
pub(crate) const OUTPUT_CHARS_MAX: usize = 4_000;
/// Outputs of a cell, and images of a reply.
const OUTPUTS_PER_CELL_MAX: usize = 20;
const IMAGES_PER_REPLY_MAX: usize = 20;

/// Rendered cells with their images, and the lines of the file that count as read.
pub(crate) struct NotebookPage {
    pub(crate) answer: Answer,
    pub(crate) lines: LineSet,
}

/// The state of rendering a reply.
struct NotebookRenderer<'a, 't> {
    notebook: &'a Notebook<'t>,
    /// Characters for which there is room.
    most: usize,
    text: String,
    chars: usize,
    attachments: Vec<Attachment>,
    /// Bytes of images so far.
    images: usize,
    cells: Vec<Value>,
    notes: Vec<String>,
}

/// Renders the requested cells, as many as fit.
///
/// Errors: `notebook.invalid`; `read.range` and `cell.not_found` for cells that do not exist.
pub(crate) fn page(call: Call<'_>, path: &SafePath, opened: &LoadedFile, cells: Option<&str>) -> Result<NotebookPage> {
    let snapshot = &opened.snapshot;
    let notebook = Notebook::read(snapshot.text())?;
    let total = notebook.cells().len();
    let range = cells.map_or(Ok(0..total), |requested| range(&notebook, requested))?;
    let mut sheet = NotebookRenderer {
        notebook: &notebook,
        most: call.reply_limits().read,
        text: String::new(),
        chars: 0,
        attachments: Vec::new(),
        images: 0,
        cells: Vec::new(),
        notes: Vec::new(),
    };
    let mut whole = vec![false; total];
    let mut end = range.start;
    for at in range.clone() {
        match sheet.cell(at, &notebook.cells()[at]) {
            Some(shown) => whole[at] = shown,
            None => break,
        }
        end = at + 1;
    }
    if end < range.end {
        let (line, _) = notebook.lines(&notebook.cells()[end], snapshot.lines());
        let advice = advice!["Read on with ", Phrase::Set("cells", format!("{end}-").into()), "."].or(advice![
            "To read on by lines, call ",
            raw_path::read(path, json!({ "offset": line })),
            "."
        ]);
        let advice = call.render(&advice);
        sheet.notes.push(format!("Cells {} to {} of {total} are shown. {advice}", range.start, end.saturating_sub(1)));
    } else if total == 0 {
        sheet.notes.push("The notebook has no cells.".to_owned());
    }
    let lines = known(&notebook, snapshot, &whole);
    Ok(NotebookPage { answer: sheet.answer(snapshot, total), lines })
}

/// Returns the lines that count as read: those on which every cell was shown completely.
fn known(notebook: &Notebook<'_>, snapshot: &Snapshot, whole: &[bool]) -> LineSet {
    if whole.iter().all(|shown| *shown) {
        return LineSet::all();
    }
    let mut lines = LineSet::none();
    // Last line of the preceding cell that was not shown: a cell that begins on this line does not count as read
    // either.
    let mut barred = 0;
    let spans: Vec<(usize, usize)> =
        notebook.cells().iter().map(|cell| notebook.lines(cell, snapshot.lines())).collect();
    for (at, &(from, to)) in spans.iter().enumerate() {
        if !whole[at] {
            barred = to;
            continue;
        }
        let next = spans.get(at + 1).filter(|_| !whole[at + 1]).map_or(usize::MAX, |&(from, _)| from);
        let (from, to) = (from.max(barred + 1), to.min(next - 1));
        if from <= to {
            lines.add(from as u64, to as u64);
        }
    }
    lines
}

/// Parses the cells that a call names: `3`, `3-7`, `3-`, or an id.
fn range(notebook: &Notebook<'_>, requested: &str) -> Result<Range<usize>> {
    let total = notebook.cells().len();
    let requested = requested.trim();
    let (from, to) = match requested.split_once('-') {
        None => (cell_number(requested), cell_number(requested)),
        Some((from, to)) if to.trim().is_empty() => (cell_number(from), Some(usize::MAX)),
        Some((from, to)) => (cell_number(from), cell_number(to)),
    };
    let (Some(from), Some(to)) = (from, to) else {
        let at = notebook.find(&CellName::Id(requested.to_owned()))?;
        return Ok(at..at + 1);
    };
    if from >= total || to < from {
        return Err(Error::new(
            Code::ReadRange,
            format!("The notebook has {}; there are no cells {requested}.", counted(total, "cell")),
        )
        .next(match total {
            0 => Advice::named("Omit {cells}: the notebook is empty.").or("The notebook is empty; ask for no cells."),
            1 => "Give cell 0, the only one.".into(),
            _ => format!("Give cells from 0 to {}, such as \"0-{}\".", total - 1, (total - 1).min(9)).into(),
        })
        .fact("total_cells", total));
    }
    Ok(from..to.saturating_add(1).min(total))
}

/// Reads the number of a cell.
fn cell_number(text: &str) -> Option<usize> {
    text.trim().parse::<usize>().ok()
}

impl NotebookRenderer<'_, '_> {
    /// Adds a cell; returns whether its source was shown completely. `None` if it does not fit any more.
    fn cell(&mut self, at: usize, cell: &Cell) -> Option<bool> {
        let (id, kind) = (self.notebook.id(cell), self.notebook.kind_name(cell));
        let source = self.notebook.source(cell);
        let chars = source.chars().count();
        let room = self.most.saturating_sub(self.chars);
        if chars + 200 > room && !self.cells.is_empty() {
            return None;
        }
        let cut = source.char_indices().nth(room).map(|(at, _)| at);
        let name = id.as_ref().map_or(String::new(), |id| format!(" id=\"{id}\""));
        let ran = self.notebook.execution_count(cell);
        let count = ran.map_or(String::new(), |count| format!(" execution_count=\"{count}\""));
        let before = self.text.len();
        // Writing to a String cannot fail.
        let _ = write!(
            self.text,
            "<cell number=\"{at}\"{name} type=\"{kind}\"{count}>\n{}",
            &source[..cut.unwrap_or(source.len())]
        );
        if let Some(cut) = cut {
            let _ = write!(self.text, "⟪{} more characters of this cell are not shown⟫", source[cut..].chars().count());
            self.notes.push(format!("Cell {at} is too long to be shown whole, so it cannot be replaced or deleted."));
        }
        let _ = writeln!(self.text, "\n</cell number=\"{at}\">");
        self.chars += self.text[before..].chars().count();
        let outputs = self.outputs(at, cell);
        self.cells.push(json!({
            "number": at,
            "id": id,
            "cellType": kind,
            "executionCount": ran,
            "characters": chars,
            "outputs": outputs,
        }));
        Some(cut.is_none())
    }

    fn outputs(&mut self, at: usize, cell: &Cell) -> Vec<Value> {
        let total = self.notebook.output_count(cell);
        let mut outputs = Vec::new();
        for output in self.notebook.outputs(cell, OUTPUTS_PER_CELL_MAX, OUTPUT_CHARS_MAX) {
            let before = self.text.len();
            outputs.push(self.output(at, &output));
            let size = self.text[before..].chars().count();
            if self.chars + size > self.most {
                self.text.truncate(before);
                let _ = writeln!(self.text, "<output cell=\"{at}\">⟪not shown: the reply is full⟫</output>");
                self.notes.push(format!("Outputs of cell {at} are omitted, because the reply is full."));
                break;
            }
            self.chars += size;
        }
        if total > OUTPUTS_PER_CELL_MAX {
            let more = total - OUTPUTS_PER_CELL_MAX;
            let _ = writeln!(self.text, "<output cell=\"{at}\">⟪{more} more outputs are not shown⟫</output>");
        }
        outputs
    }

    fn output(&mut self, at: usize, output: &CellOutput) -> Value {
        let _ = writeln!(self.text, "<output cell=\"{at}\" type=\"{}\">", output.kind);
        let mut parts = Vec::new();
        for part in &output.shown {
            match part {
                OutputPart::Text(text, left) => {
                    self.text.push_str(text);
                    if *left > 0 {
                        let _ = write!(self.text, "⟪{left} more characters of this output are not shown⟫");
                    }
                    if !self.text.ends_with('\n') {
                        self.text.push('\n');
                    }
                    parts.push(json!({ "mediaType": "text/plain", "charactersLeftOut": left }));
                }
                OutputPart::Image(media, span) => {
                    let shown = self.notebook.base64(*span).ok_or_else(|| "it is not text".to_owned());
                    let shown = shown.and_then(|base64| self.image(media, &base64));
                    let what = shown.unwrap_or_else(|why| format!("{media}, not shown: {why}"));
                    let _ = writeln!(self.text, "[{what}]");
                    parts.push(json!({ "mediaType": media }));
                }
                OutputPart::Other(media) => {
                    let _ = writeln!(self.text, "[{media}, not shown]");
                    parts.push(json!({ "mediaType": media }));
                }
            }
        }
        let _ = writeln!(self.text, "</output>");
        json!({ "type": output.kind, "parts": parts })
    }
}

impl NotebookRenderer<'_, '_> {
    /// Attaches an image, if there is room; returns its description, or the reason for omitting it.
    fn image(&mut self, media: &str, base64: &str) -> Result<String, String> {
        let size = base64.len() / 4 * 3;
        if self.attachments.len() == IMAGES_PER_REPLY_MAX || self.images + size > IMAGE_BYTES_MAX {
            return Err(format!("{size} bytes are more than the reply has room for"));
        }
        // A damaged image would make the whole reply unusable for a model.
        let bytes = BASE64.decode(base64.as_bytes()).map_err(|_| "it is not base64".to_owned())?;
        let image = Attachment::image(&bytes).map_err(|error| error.message().to_owned())?;
        let description = format!("image {}: {}", self.attachments.len() + 1, image.describe());
        self.images += size;
        self.attachments.push(image);
        if description.contains(media) { Ok(description) } else { Ok(format!("{description}, said to be {media}")) }
    }

    fn answer(self, snapshot: &Snapshot, total: usize) -> Answer {
        let reminders = self.notes.clone();
        let shown = self.cells.len();
        let data = json!({
            "type": "notebook",
            "tag": snapshot.id().tag().to_string(),
            "size": snapshot.raw().len(),
            "nbformat": format!("4.{}", self.notebook.minor),
            "language": self.notebook.language,
            "totalCells": total,
            "partial": shown < total,
            "cells": self.cells,
            "notes": self.notes,
        });
        let mut answer = Answer { reminders, ..Answer::with_data(self.text, data) };
        if !self.attachments.is_empty() {
            answer.data.insert(ATTACHMENTS.to_owned(), list_to_json(&self.attachments));
        }
        answer
    }
}

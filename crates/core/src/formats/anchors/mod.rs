//! `anchors`: lines named by their anchors (seed 004, section 6), as `read` with format `anchors` shows them.

use super::{Format, FormatInput, FormatSpec};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::anchor_map::copied::DELIMITERS;
use crate::locate::anchor_map::place::read_words;
use crate::locate::anchor_map::{AnchorEdit, AnchorRef, AnchorTarget, AnchorWord};
use crate::locate::op::{FileAction, FileRequest, Locator, Op, OpOrder, Request, normalize_text};
use crate::note::Notes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[cfg(test)]
mod tests;

/// The format.
pub struct WordAnchors;

/// The action of an edit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
enum AnchorEditKind {
    /// The lines from `anchor` to `end_anchor` become `text`.
    #[default]
    Replace,
    /// `text` goes before the line.
    InsertBefore,
    /// `text` goes after the line.
    InsertAfter,
    /// The lines are deleted.
    Delete,
}

/// One edit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Edit")]
struct AnchorEditInput {
    /// The line: its word, or `Word:` and the whole line as read shows it.
    anchor: String,
    /// The last line of a range, in the same form (default: anchor).
    #[serde(default)]
    end_anchor: Option<String>,
    /// The action (default: replace).
    #[serde(default, rename = "edit_type")]
    kind: AnchorEditKind,
    /// The new lines, without words.
    #[serde(default)]
    text: Option<String>,
}

/// The edits of one file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OneFile")]
struct AnchorFileInput {
    /// The absolute path of the file.
    #[serde(alias = "file_path")]
    path: String,
    /// All against the file as it is now, all or nothing.
    edits: Vec<AnchorEditInput>,
}

/// The input of the format: `path` and `edits`, or several of them in `files`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Args")]
struct AnchorsInput {
    /// The absolute path of the file.
    #[serde(alias = "file_path")]
    path: Option<String>,
    /// The edits, all against the file as it is now, all or nothing.
    edits: Option<Vec<AnchorEditInput>>,
    /// Several files, all or nothing.
    files: Option<Vec<AnchorFileInput>>,
}

impl Format for WordAnchors {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "anchors",
            summary: "lines named by the words that read shows before them → new lines",
            prompt: PROMPT,
            schema: Some(|| schemars::schema_for!(AnchorsInput)),
            key: "edits",
            example: r#"{"path": "/src/main.rs", "edits": [{"anchor": "Table:fn main() {", "end_anchor": "Drop", "text": "fn main() {\n    run();\n}"}]}"#,
            grammar: None,
        }
    }

    fn parse(&self, input: FormatInput) -> Result<Request> {
        let mut value = super::object(input)?;
        let mut notes = Notes::new();
        for name in ["edits", "files"] {
            // Models encode lists as strings, and omit the brackets of a list with one entry.
            let inner = value.get(name).and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
            if let Some(inner @ (Value::Array(_) | Value::Object(_))) = inner {
                value[name] = inner;
                notes.push(format!("{name} was a string that contains a list; it was read as the list."));
            }
            if value.get(name).is_some_and(Value::is_object) {
                value[name] = Value::Array(vec![value[name].take()]);
                notes.push(format!("{name} was one item without a list; it was read as a list of one."));
            }
        }
        let args: AnchorsInput = super::from_json(FormatInput::Json(value))?;
        let mut files: Vec<AnchorFileInput> = args.files.unwrap_or_default();
        match (args.path, args.edits) {
            (Some(path), Some(edits)) => files.insert(0, AnchorFileInput { path, edits }),
            (None, None) => {}
            _ => return Err(wrong("path and edits belong together.")),
        }
        let mut request = Request { files: Vec::new(), notes };
        let mut errors = Vec::new();
        for AnchorFileInput { path, edits } in files {
            let ops = ops(&edits, &mut errors);
            // Two entries with one path are about one file: all of its edits refer to the current text.
            let known = request.files.iter_mut().find(|file: &&mut FileRequest| file.path == path);
            match known.map(|file| &mut file.action) {
                Some(FileAction::Edit { ops: known, .. }) => known.extend(ops),
                _ => request.files.push(FileRequest::new(path, FileAction::Edit { ops, order: OpOrder::Together })),
            }
        }
        let of = errors.len();
        if let Some(error) = Error::combine(errors, of) {
            return Err(error);
        }
        if request.files.iter().all(|file| matches!(&file.action, FileAction::Edit { ops, .. } if ops.is_empty())) {
            return Err(wrong("there are no edits."));
        }
        Ok(request)
    }
}

fn wrong(what: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The input does not fit the format: {what}"))
        .next(r#"Send {"path": …, "edits": [{"anchor": "Word", "edit_type": "replace", "text": "…"}]}."#)
}

fn ops(edits: &[AnchorEditInput], errors: &mut Vec<Error>) -> Vec<Op> {
    let mut out = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        match op(index, edit) {
            Ok(op) => out.push(op),
            Err(error) => errors.push(error.prefixed(&format!("edits[{index}]: "))),
        }
    }
    out
}

fn op(index: usize, edit: &AnchorEditInput) -> Result<Op> {
    let from = anchor("anchor", &edit.anchor)?;
    let end = edit.end_anchor.as_deref().filter(|end| !end.is_empty());
    let to = end.map(|end| anchor("end_anchor", end)).transpose()?;
    let place = match edit.kind {
        AnchorEditKind::InsertBefore => AnchorTarget::Before(only_line(from, to)?),
        AnchorEditKind::InsertAfter => AnchorTarget::After(only_line(from, to)?),
        AnchorEditKind::Replace | AnchorEditKind::Delete => {
            AnchorTarget::Lines { to: to.unwrap_or_else(|| from.clone()), from }
        }
    };
    let text = match (edit.kind, &edit.text) {
        (AnchorEditKind::Delete, None) => String::new(),
        (AnchorEditKind::Delete, Some(text)) if text.is_empty() => String::new(),
        (AnchorEditKind::Delete, Some(_)) => {
            return Err(wrong("delete takes no text; to put text there, use replace."));
        }
        (_, None) => return Err(wrong("text is missing.")),
        (AnchorEditKind::InsertBefore | AnchorEditKind::InsertAfter, Some(text)) if text.is_empty() => {
            return Err(wrong(r#"text is empty; to insert a blank line, write "\n"."#));
        }
        (_, Some(text)) => rows_of(text),
    };
    Ok(Op { at: Locator::AnchorWords(Box::new(AnchorEdit { place, index })), text })
}

/// Returns the line of an insertion, which may be given twice.
///
/// Errors: two lines.
fn only_line(line: AnchorRef, again: Option<AnchorRef>) -> Result<AnchorRef> {
    let Some(again) = again else { return Ok(line) };
    let differs = line.line.is_some() && again.line.is_some() && line.line != again.line;
    if line.word != again.word || differs {
        let what =
            format!("an insertion names one line, but anchor is {} and end_anchor is {}.", line.word, again.word);
        return Err(Error::new(Code::CallInvalid, what)
            .next("Send the line next to which the rows belong as anchor, without end_anchor; to replace the lines, use replace."));
    }
    Ok(AnchorRef { line: line.line.or(again.line), ..line })
}

/// Splits text into rows, each with a line end. A single final line end belongs to the last row.
fn rows_of(text: &str) -> String {
    let mut rows = normalize_text(text);
    if !(rows.is_empty() || rows.ends_with('\n')) {
        rows.push('\n');
    }
    rows
}

/// Splits an anchor at the first delimiter; the rest is the literal line.
fn anchor(field: &str, source: &str) -> Result<AnchorRef> {
    let (word, line) = match source.split_once(DELIMITERS) {
        Some((word, line)) => (word, Some(line.strip_suffix('\n').unwrap_or(line))),
        None => (source.trim(), None),
    };
    let line = line.map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned());
    if line.as_deref().is_some_and(|line| line.contains('\n')) {
        return Err(wrong(&format!("{field} contains more than one line.")));
    }
    let Ok(word) = word.parse::<AnchorWord>() else {
        let shown: String = word.chars().take(60).collect();
        let what = format!("{field} must begin with the word of a line: {shown:?} is none.");
        return Err(Error::new(Code::CallInvalid, what).next(match anchor_word(word) {
            Some(anchor_word) => {
                format!("Words are copied as they are shown: {anchor_word}, if that is the one you mean.").into()
            }
            None => read_words("Read the lines", "and copy the word in front of the line exactly."),
        }));
    };
    Ok(AnchorRef { word, line })
}

/// Returns the word that is meant by one with other capitals or with surrounding characters.
fn anchor_word(source: &str) -> Option<AnchorWord> {
    let source = source.trim_matches(|ch: char| !ch.is_ascii_alphabetic());
    (!source.is_empty()).then(|| {
        (source[..1].to_ascii_uppercase() + &source[1..].to_ascii_lowercase()).parse().or_else(|()| source.parse()).ok()
    })?
}

/// The instructions for a model.
pub const PROMPT: &str = "\
Edits lines by their words. A read in the line format anchors shows every line as Word:text; the word stays with its line while other lines change. \
An edit names a line by its word (or by Word: and the whole line), a range by anchor and end_anchor, both included. edit_type is replace, \
insert_before, insert_after or delete. text is the new lines, with their indentation and without words. All edits of a call \
are about the file as it is now and are applied all or nothing; ranges must not overlap. Only lines that were shown can be named, and of a \
range every line must have been shown. The reply shows changed lines with their new words, so the next edit needs no read.";

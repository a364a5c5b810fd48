//! The outputs of a cell, as far as they can be shown.

use super::json::{self, JsonMember};
use super::{Cell, Notebook};
use crate::text::span::Span;
use std::borrow::Cow;

/// Text media types in order of preference.
const TEXT_MEDIA_TYPES: [&str; 4] = ["text/plain", "text/markdown", "text/latex", "text/html"];
/// Media types of the images that are shown.
const IMAGE_MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// One output of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellOutput {
    /// `stream`, `display_data`, `execute_result`, `error`, or another type that the file states.
    pub kind: String,
    /// The parts of the output that can be shown.
    pub shown: Vec<OutputPart>,
}

/// A part of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPart {
    /// Text without colour codes, and the number of characters that were omitted.
    Text(String, usize),
    /// An image: its media type, and the span of its base64, for [`Notebook::base64`].
    Image(&'static str, Span),
    /// Content of any other media type, by its name.
    Other(String),
}

impl<'t> Notebook<'t> {
    /// Number of outputs of a cell.
    pub fn output_count(&self, cell: &Cell) -> usize {
        cell.outputs.map_or(0, |span| json::items(self.text, span).count())
    }

    /// Returns the first outputs of a cell, at most `most`, with `chars` characters of each text.
    pub fn outputs(&self, cell: &Cell, most: usize, chars: usize) -> Vec<CellOutput> {
        let list = cell.outputs.into_iter().flat_map(|span| json::items(self.text, span));
        list.take(most).map(|span| self.output(span, chars)).collect()
    }

    /// Returns the base64 text of an image, without whitespace.
    pub fn base64(&self, span: Span) -> Option<String> {
        let mut text = json::joined_strings(self.text, span, usize::MAX)?;
        text.retain(|char| !char.is_ascii_whitespace());
        Some(text)
    }

    fn output(&self, span: Span, chars: usize) -> CellOutput {
        let member =
            |name: &str| json::members(self.text, span).find(|it| self.string_at(it.key) == name).map(|it| it.value);
        let word = |name: &str| member(name).map(|value| self.string_at(value)).unwrap_or_default();
        let kind = word("output_type").into_owned();
        let shown = match &*kind {
            "stream" => member("text").and_then(|text| self.shown(text, chars)).into_iter().collect(),
            "error" => {
                let head = format!("{}: {}", word("ename"), word("evalue"));
                let lines = member("traceback").into_iter().flat_map(|list| json::items(self.text, list));
                let mut text = String::new();
                for line in lines {
                    text.push_str(&self.string_at(line));
                    text.push('\n');
                    if text.len() > chars.saturating_mul(8) {
                        break;
                    }
                }
                vec![cut(&plain(if text.is_empty() { &head } else { &text }), chars)]
            }
            _ => member("data").map(|data| self.bundle(data, chars)).unwrap_or_default(),
        };
        CellOutput { kind, shown }
    }

    /// Selects parts from a result in several media types: the best text, every image, and the names of the other
    /// types.
    fn bundle(&self, data: Span, chars: usize) -> Vec<OutputPart> {
        let mut best: Option<(usize, Span)> = None;
        let (mut images, mut others) = (Vec::new(), Vec::new());
        for JsonMember { key, value } in json::members(self.text, data).take(50) {
            let key = self.string_at(key);
            let text = TEXT_MEDIA_TYPES.iter().position(|name| *name == key);
            if let Some(image) = IMAGE_MEDIA_TYPES.iter().copied().find(|name| *name == key) {
                images.push(OutputPart::Image(image, value));
            } else if text.is_some_and(|rank| best.is_none_or(|(best, _)| rank < best)) {
                let worse = text.and_then(|rank| best.replace((rank, value)));
                others.extend(worse.map(|(rank, _)| OutputPart::Other(TEXT_MEDIA_TYPES[rank].to_owned())));
            } else {
                others.push(OutputPart::Other(key.into_owned()));
            }
        }
        let text = best.and_then(|(_, value)| self.shown(value, chars));
        text.into_iter().chain(images).chain(others).collect()
    }

    fn shown(&self, value: Span, chars: usize) -> Option<OutputPart> {
        Some(cut(&plain(&json::joined_strings(self.text, value, usize::MAX)?), chars))
    }

    fn string_at(&self, span: Span) -> Cow<'t, str> {
        json::string_value(self.text, span).unwrap_or_default()
    }
}

fn cut(text: &str, chars: usize) -> OutputPart {
    match text.char_indices().nth(chars) {
        None => OutputPart::Text(text.to_owned(), 0),
        Some((at, _)) => OutputPart::Text(text[..at].to_owned(), text[at..].chars().count()),
    }
}

/// Removes the escape sequences for colours on a terminal.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('\u{1b}');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let rest = part.strip_prefix('[').and_then(|rest| {
            let end = rest.find(|char: char| ('@'..='~').contains(&char))?;
            Some(&rest[end + 1..])
        });
        out.push_str(rest.unwrap_or(part));
    }
    Cow::Owned(out)
}

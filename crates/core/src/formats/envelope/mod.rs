//! Wrappers that models put around an edit: JSON, tool calls in XML, shell commands. [`peel`] removes them and returns
//! the bare text of a format.
//!
//! Nothing is guessed: a wrapper is removed if it parses as one, every part of it is known, and the text around it is
//! in no format itself. Anything else is left unchanged.

mod fields;
mod json;
mod shell;
mod words;
mod xml;

use super::stream::Manner;
use super::textual;
use std::borrow::Cow;
use std::path::Path;

/// Nested wrappers that are removed.
const DEEPEST: usize = 8;

/// A text without its wrappers, and the information in them.
#[derive(Clone, Debug, Default)]
pub struct Peeled<'a> {
    /// The text inside.
    pub text: Cow<'a, str>,
    /// The name of the format, if a wrapper gives it.
    pub format: Option<&'static str>,
    /// The parse options given by the wrappers: file, directories to strip, direction.
    pub manner: Manner,
    /// The directory that names in the text are relative to; may be relative itself.
    pub directory: Option<String>,
    /// One sentence per wrapper; empty if there was none.
    pub notes: Vec<String>,
}

/// One wrapper that was removed.
#[derive(Default)]
struct Layer<'a> {
    text: Cow<'a, str>,
    format: Option<&'static str>,
    manner: Manner,
    directory: Option<String>,
    notes: Vec<String>,
}

impl<'a> Layer<'a> {
    fn new(text: impl Into<Cow<'a, str>>, note: impl Into<String>) -> Layer<'a> {
        Layer { text: text.into(), notes: vec![note.into()], ..Layer::default() }
    }

    fn owned(self) -> Layer<'static> {
        Layer { text: Cow::Owned(self.text.into_owned()), ..self }
    }
}

/// Removes all wrappers. Linear in the text.
pub fn peel(text: &str) -> Peeled<'_> {
    let mut out = Peeled { text: Cow::Borrowed(text), ..Peeled::default() };
    for _ in 0..DEEPEST {
        let layer = match &out.text {
            Cow::Borrowed(text) => layer(text),
            Cow::Owned(text) => layer(text).map(Layer::owned),
        };
        let Some(Layer { text, format, manner, directory, notes }) = layer else { break };
        out.text = text;
        out.format = format.or(out.format);
        out.manner.strip = manner.strip.or(out.manner.strip);
        out.manner.file = manner.file.or(out.manner.file);
        out.manner.reverse |= manner.reverse;
        out.directory = match (out.directory, directory) {
            (Some(outer), Some(inner)) => Some(Path::new(&outer).join(inner).to_string_lossy().into_owned()),
            (outer, inner) => inner.or(outer),
        };
        out.notes.extend(notes);
    }
    out
}

fn layer(text: &str) -> Option<Layer<'_>> {
    let body = text.trim_start_matches('\u{FEFF}').trim();
    let json = json::layer(body).or_else(|| json::layer(in_fence(body)?));
    json.or_else(|| xml::layer(text)).or_else(|| shell::layer(text))
}

/// Returns the content of the fence that encloses the whole text.
pub(super) fn in_fence(text: &str) -> Option<&str> {
    let (open, rest) = text.split_once('\n')?;
    let (inside, close) = rest.rsplit_once('\n')?;
    let sign = open.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let run = |line: &str| line.len() - line.trim_start_matches(sign).len();
    (run(open) >= 3 && run(close) == run(open) && run(close) == close.trim_end().len()).then(|| inside.trim())
}

/// True when a text is in no format.
fn is_quiet(text: &str) -> bool {
    text.trim().is_empty() || textual().all(|format| format.claims(text).is_empty())
}

/// Returns the lines of a text without line ends, with their offsets.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let here = at;
        at += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        (here, line.strip_suffix('\r').unwrap_or(line))
    })
}

#[cfg(test)]
mod tests;

//! Wrappers that models put around an edit: JSON, tool calls in XML, shell commands. [`unwrap_text`] removes them and
//! returns the bare text of a format.
//!
//! Nothing is guessed: a wrapper is removed if it parses as one, every part of it is known, and the text around it has
//! no edit itself. Anything else is left unchanged.

mod fields;
mod files;
mod headers;
mod json;
mod shell;
mod words;
mod xml;

use super::line_parser::ParseOptions;
use super::{stray_edits, text_formats};
use crate::note::Notes;
use crate::work;
use std::borrow::Cow;
use std::path::Path;

/// Maximum number of nested wrappers that are removed.
const WRAPPERS_MAX: usize = 8;

/// A text without its wrappers, and the information in them.
#[derive(Clone, Debug, Default)]
pub(super) struct UnwrappedText<'a> {
    /// The text inside.
    pub(super) text: Cow<'a, str>,
    /// The name of the format, if a wrapper gives it.
    pub(super) format: Option<&'static str>,
    /// The parse options given by the wrappers: file, directories to strip, direction.
    pub(super) options: ParseOptions,
    /// The directory that names in the text are relative to; may be relative itself.
    pub(super) directory: Option<String>,
    /// One sentence per wrapper; empty if there was none.
    pub(super) notes: Notes,
}

impl<'a> UnwrappedText<'a> {
    /// Creates the text of one wrapper.
    fn new(text: impl Into<Cow<'a, str>>, note: impl Into<String>) -> UnwrappedText<'a> {
        UnwrappedText { text: text.into(), notes: vec![note.into()].into(), ..UnwrappedText::default() }
    }

    fn owned(self) -> UnwrappedText<'static> {
        UnwrappedText { text: Cow::Owned(self.text.into_owned()), ..self }
    }
}

/// Removes all wrappers. Linear in the size of the text.
pub(super) fn unwrap_text(text: &str) -> UnwrappedText<'_> {
    let mut out = UnwrappedText { text: Cow::Borrowed(text), ..UnwrappedText::default() };
    for _ in 0..WRAPPERS_MAX {
        let layer = match &out.text {
            Cow::Borrowed(text) => layer(text),
            Cow::Owned(text) => layer(text).map(UnwrappedText::owned),
        };
        let Some(UnwrappedText { text, format, options, directory, notes }) = layer else { break };
        out.text = text;
        out.format = format.or(out.format);
        out.options.strip = options.strip.or(out.options.strip);
        out.options.file = options.file.or(out.options.file);
        out.options.reverse |= options.reverse;
        out.directory = match (out.directory, directory) {
            (Some(outer), Some(inner)) => Some(Path::new(&outer).join(inner).to_string_lossy().into_owned()),
            (outer, inner) => inner.or(outer),
        };
        out.notes.extend(notes);
    }
    out
}

fn layer(text: &str) -> Option<UnwrappedText<'_>> {
    let body = text.trim_start_matches('\u{FEFF}').trim();
    let json = json::layer(body).or_else(|| json::layer(in_fence(body)?));
    let has_tags = memchr::memchr(b'<', text.as_bytes()).is_some();
    let tags = || if has_tags { xml::layer(text).or_else(|| files::layer(text)) } else { None };
    json.or_else(tags).or_else(|| shell::layer(text)).or_else(|| headers::layer(text))
}

/// True for a line that begins with a tag, as a wrapper may.
pub(super) fn begins_tag(line: &str) -> bool {
    let line = line.trim_start().as_bytes();
    matches!(line, [b'<', next, ..] if next.is_ascii_alphanumeric() || b"_-:".contains(next))
}

/// Returns the content of the fence that encloses the whole text.
pub(super) fn in_fence(text: &str) -> Option<&str> {
    let (open, rest) = text.split_once('\n')?;
    let (inside, close) = rest.rsplit_once('\n')?;
    let sign = open.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    (run_at_start(sign, open) >= 3
        && run_at_start(sign, close) == run_at_start(sign, open)
        && run_at_start(sign, close) == close.trim_end().len())
    .then(|| inside.trim())
}

/// Returns how often the sign is repeated at the beginning.
fn run_at_start(sign: char, line: &str) -> usize {
    line.len() - line.trim_start_matches(sign).len()
}

/// True if a text is in no format.
pub(super) fn is_quiet(text: &str) -> bool {
    text.trim().is_empty() || text_formats().all(|format| format.detected_ranges(text).is_empty())
}

/// True if the text around a wrapper has no edit, neither in a format nor in a call of another tool.
fn has_no_edit(text: &str) -> bool {
    is_quiet(text) && !stray_edits::has_called_edit(text)
}

/// Returns the lines of a text without line ends, with their offsets.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    work::lines_with_ends(text).map(move |line| {
        let here = at;
        at += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        (here, line.strip_suffix('\r').unwrap_or(line))
    })
}

#[cfg(test)]
mod tests;

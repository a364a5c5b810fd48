//! Records of installations, by which they can be reverted byte for byte, also after other changes.

use crate::json::JsonFile;
use crate::{ConfigFormat, SERVER_NAME, toml};
use emendate_core::{ChangeSet, Snapshot};
use serde_json::Value;

/// A file before and after an installation, as the bytes are on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallRecord {
    /// The file without our entries; `None` if it did not exist.
    pub original: Option<String>,
    /// The file as the last installation left it.
    pub written: String,
}

/// A file without what installations added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withdrawal {
    /// The file did not exist before the first installation, and nobody else has changed it.
    Nothing,
    /// The original text of the file, with the changes that others made since.
    Text(String),
    /// Others changed the same places that installations changed.
    Overlapping,
}

impl InstallRecord {
    /// Reverts the installation in the file as it is `now`. `removed` is the text without our entries, with its own
    /// layout: the result has to mean the same.
    pub fn withdraw(&self, now: &str, removed: &str, format: ConfigFormat) -> Withdrawal {
        if now == self.written {
            return self.original.clone().map_or(Withdrawal::Nothing, Withdrawal::Text);
        }
        let Some(original) = &self.original else { return Withdrawal::Overlapping };
        match rebased(original, &self.written, now) {
            Some(text)
                if is_without_ours(&text, original, removed, format).unwrap_or(false)
                    && !is_damaged(&text, [original, now], format) =>
            {
                Withdrawal::Text(text)
            }
            _ => Withdrawal::Overlapping,
        }
    }
}

/// True if a merged text has something that is in neither of the others and has no meaning here: in JSON a comma behind
/// the last entry, which many clients refuse, and in TOML a line joined to the comment at the end of a file.
fn is_damaged(text: &str, others: [&str; 2], format: ConfigFormat) -> bool {
    match format {
        ConfigFormat::Json => {
            let count = |text: &str| JsonFile::parse(without_mark(text), "").map_or(0, |json| json.trailing_commas());
            others.iter().all(|other| count(text) > count(other))
        }
        ConfigFormat::Toml => {
            comments(text).any(|comment| others.into_iter().flat_map(comments).all(|known| known != comment))
        }
    }
}

/// Returns what follows the first `#` of each line.
fn comments(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| Some(line.split_once('#')?.1))
}

/// Returns a text without its byte order mark.
pub(crate) fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// True if a text has the data of `removed`, and the entries of our name that the original has; `None` if one of them
/// cannot be parsed.
fn is_without_ours(text: &str, original: &str, removed: &str, format: ConfigFormat) -> Option<bool> {
    let [text, original, removed] = [text, original, removed].map(|text| Some(split_entries(meaning(text, format)?)));
    let (text, original, removed) = (text?, original?, removed?);
    Some(text.entries == original.entries && text.rest == removed.rest)
}

/// The data of a file, without the entries of our name, and these.
struct SplitEntries {
    rest: Value,
    entries: Vec<(String, Value)>,
}

fn split_entries(mut data: Value) -> SplitEntries {
    let objects = data.as_object_mut().into_iter().flat_map(serde_json::Map::iter_mut);
    let entries = objects.filter_map(|(key, servers)| {
        let entry = servers.as_object_mut()?.remove(SERVER_NAME)?;
        Some((key.clone(), entry))
    });
    let entries = entries.collect();
    SplitEntries { rest: pruned(data).unwrap_or_default(), entries }
}

/// Returns `written` with the changes of others that led to the text as it is `now`, and with those that lead back to
/// `original`; `None` where both changed the same place.
fn rebased(original: &str, written: &str, now: &str) -> Option<String> {
    let (back, others) = (pieces(written, original)?, pieces(written, now)?);
    let others = others.into_iter().map(|piece| piece.moved_out(&back, written));
    let mut all: Vec<Piece> = others.collect();
    all.extend(back);
    // Insertions come before what begins at the same place.
    all.sort_by_key(|piece| (piece.start, piece.end));
    let (mut out, mut at) = (String::new(), 0);
    for piece in all {
        out.push_str(written.get(at..piece.start)?);
        out.push_str(&piece.text);
        at = piece.end;
    }
    out.push_str(written.get(at..)?);
    Some(out)
}

/// Text in place of a range.
#[derive(Clone)]
struct Piece {
    start: usize,
    end: usize,
    text: String,
}

/// Compares two texts word by word: a file may be one long line.
fn pieces(from: &str, to: &str) -> Option<Vec<Piece>> {
    let lines = words_as_lines(from)?;
    let old = Snapshot::open_text(lines.clone()).ok()?;
    let changes = ChangeSet::diff(&old, &Snapshot::open_text(words_as_lines(to)?).ok()?);
    let mut offsets = JoinedOffsets { lines: &lines, at: 0, breaks: 0 };
    let pieces = changes.splices().iter().map(|splice| {
        let (start, end) = (offsets.joined(splice.span.start()), offsets.joined(splice.span.end()));
        let text = std::str::from_utf8(&splice.text).ok()?;
        Some(Piece { start, end, text: text.replace('\n', "").replace(LINE_END, "\n").replace(CARRIAGE_RETURN, "\r") })
    });
    pieces.collect()
}

/// Converts ascending offsets to those without the line breaks that were added.
struct JoinedOffsets<'a> {
    lines: &'a str,
    at: usize,
    /// Line breaks before `at`.
    breaks: usize,
}

impl JoinedOffsets<'_> {
    /// Returns the offset in the text without these line breaks.
    fn joined(&mut self, wanted: usize) -> usize {
        self.breaks += self.lines[self.at..wanted].matches('\n').count();
        self.at = wanted;
        wanted - self.breaks
    }
}

/// Represent the line ends of a text in which each word is on a line of its own.
const LINE_END: char = '\u{1}';
const CARRIAGE_RETURN: char = '\u{2}';

/// Returns a text with each word and each other character on a line of its own; `None` if it has one of the characters
/// that represent line ends.
fn words_as_lines(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() * 2);
    let mut in_word = false;
    for ch in text.chars() {
        let is_word = ch.is_alphanumeric() || ch == '_';
        if !(out.is_empty() || in_word && is_word) {
            out.push('\n');
        }
        in_word = is_word;
        match ch {
            LINE_END | CARRIAGE_RETURN => return None,
            '\n' => out.push(LINE_END),
            '\r' => out.push(CARRIAGE_RETURN),
            ch => out.push(ch),
        }
    }
    Some(out)
}

impl Piece {
    /// Moves an insertion within a range that is removed to one of its edges, where the same text results: a comparison
    /// may find `}` and a line end at either of two places.
    fn moved_out(mut self, back: &[Piece], base: &str) -> Piece {
        let within = back.iter().find(|it| it.start < self.start && self.start < it.end);
        let is_insertion = self.start == self.end && !self.text.is_empty();
        let Some(within) = within.filter(|_| is_insertion) else { return self };
        let later = base[self.start..within.end].chars().zip(self.text.chars().cycle());
        let earlier = base[within.start..self.start].chars().rev().zip(self.text.chars().rev().cycle());
        let text: String = if later.clone().all(|(there, here)| there == here) {
            self.start = within.end;
            let (kept, moved) = (base[..within.end].len() - self.end, self.text.clone());
            let turn = kept % moved.len();
            moved.get(turn..).zip(moved.get(..turn)).map(|(head, tail)| format!("{head}{tail}")).unwrap_or(moved)
        } else if earlier.clone().all(|(there, here)| there == here) {
            self.start = within.start;
            let turn = self.text.len() - (self.end - within.start) % self.text.len();
            let moved = self.text.clone();
            moved.get(turn..).zip(moved.get(..turn)).map(|(head, tail)| format!("{head}{tail}")).unwrap_or(moved)
        } else {
            return self;
        };
        self.end = self.start;
        self.text = text;
        self
    }
}

/// Returns the data of a text, without empty objects and lists; `None` if it cannot be parsed.
fn meaning(text: &str, format: ConfigFormat) -> Option<Value> {
    let text = without_mark(text);
    let value = match format {
        ConfigFormat::Json => JsonFile::parse(text, "").ok()?.get(&[]).ok()?.map(|root| root.value()),
        ConfigFormat::Toml => Some(toml::whole(text)?),
    };
    Some(pruned(value.unwrap_or_default()).unwrap_or_default())
}

/// Returns a value without empty parts; `None` if nothing is left.
fn pruned(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let kept: serde_json::Map<String, Value> =
                fields.into_iter().filter_map(|(name, value)| Some((name, pruned(value)?))).collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(items) => {
            let kept: Vec<Value> = items.into_iter().filter_map(pruned).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Null => None,
        plain => Some(plain),
    }
}

#[cfg(test)]
mod documents;
#[cfg(test)]
mod tests;

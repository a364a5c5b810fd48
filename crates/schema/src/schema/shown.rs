//! Values and names as messages show them, shortened.

use super::keyword::Constant;
use crate::document::{Document, Id, Value};

/// Maximum number of constants, names and types in one message.
const LISTED_NAMES_MAX: usize = 12;
/// Maximum characters of a value in a message.
const SHOWN_CHARS_MAX: usize = 60;

/// Formats a value as JSON, shortened.
pub(super) fn shown(document: &Document, id: Id) -> String {
    match document.value(id) {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => quoted(text),
        Value::Word(_, text) => text.clone(),
        Value::List(items) => format!("the list of {} items", items.len()),
        Value::Object(object) => format!("the object of {} members", object.len()),
        Value::Unknown => "the value".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("{cut:?}")
}

/// Describes a value, as the beginning of a sentence.
pub(super) fn described(document: &Document, id: Id) -> String {
    let shown = shown(document, id);
    match document.value(id) {
        Value::Null => "is null".to_owned(),
        Value::Bool(_) => format!("{shown} is a boolean"),
        Value::Number(_) => format!("{shown} is a number"),
        Value::Text(_) => format!("{shown} is a string"),
        Value::Word(..) => format!("{shown} is a word"),
        Value::List(_) => "is a list".to_owned(),
        Value::Object(_) => "is an object".to_owned(),
        Value::Unknown => shown,
    }
}

/// Lists the allowed constants, the most similar first.
pub(super) fn listed(constants: &[Constant], shown: &str) -> String {
    let mut names: Vec<&str> = constants.iter().map(|it| &*it.shown).collect();
    sort_by_likeness(&mut names, shown);
    cut(&names)
}

fn sort_by_likeness(names: &mut [&str], to: &str) {
    if names.len() <= 500 {
        names.sort_by_cached_key(|name| {
            let likeness = strsim::normalized_damerau_levenshtein(name, to);
            std::cmp::Reverse(if likeness > 0.6 { (likeness * 1000.0).round().to_bits() } else { 0 })
        });
    }
}

fn cut(names: &[&str]) -> String {
    let out = names.iter().take(LISTED_NAMES_MAX).copied().collect::<Vec<&str>>().join(", ");
    if names.len() > LISTED_NAMES_MAX {
        return format!("{out} and {} more", names.len() - LISTED_NAMES_MAX);
    }
    out
}

/// Formats that a name is not allowed, and which names are.
pub(super) fn not_allowed(name: &str, mut known: Vec<&str>) -> String {
    known.sort_unstable();
    if known.is_empty() {
        return "is not allowed here".to_owned();
    }
    sort_by_likeness(&mut known, name);
    format!("is not allowed here; known are {}", cut(&known))
}

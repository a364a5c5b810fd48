//! TOML, edited in place: `toml_edit` preserves what it parses, and that is verified for each file before it is
//! changed.

use crate::{SERVER_NAME, ServerEntry, invalid_file};
use emendate_core::{Code, Error, Result};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

/// Parses a file.
///
/// Errors: `call.invalid` with line and column.
fn parse(text: &str, name: &str) -> Result<DocumentMut> {
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        invalid_file(name, text, at, error.message().lines().next().unwrap_or("it is not TOML"))
    })?;
    Ok(document)
}

/// Parses a file that will be printed again.
///
/// Errors: as [`parse`]; a text that would not be printed unchanged.
fn parse_to_print(text: &str, name: &str) -> Result<DocumentMut> {
    let document = parse(text, name)?;
    if printed(&document, text) == text {
        return Ok(document);
    }
    Err(Error::new(
        Code::CallInvalid,
        format!("{name}: this file cannot be edited without changing other parts of it."),
    )
    .next("Change the server by hand; nothing was changed."))
}

/// Prints a document, with a line end at its end if `like` has one.
fn printed(document: &DocumentMut, like: &str) -> String {
    let text = document.to_string();
    if like.ends_with('\n') { text } else { text.strip_suffix('\n').map_or(text.clone(), str::to_owned) }
}

/// Returns the entry at `key.SERVER`.
///
/// Errors: as [`parse`]; something else at that path.
pub(crate) fn get(text: &str, key: &str, name: &str) -> Result<Option<Value>> {
    let document = parse(text, name)?;
    let Some(servers) = document.get(key) else { return Ok(None) };
    let servers = table(servers, key, text, name)?;
    let Some(entry) = servers.get(SERVER_NAME) else { return Ok(None) };
    Ok(Some(data(table(entry, &format!("{key}.{SERVER_NAME}"), text, name)?)))
}

fn table<'i>(item: &'i Item, what: &str, text: &str, name: &str) -> Result<&'i dyn TableLike> {
    let at = item.span().map_or(0, |span| span.start);
    item.as_table_like().ok_or_else(|| invalid_file(name, text, at, &format!("`{what}` is not a table")))
}

/// Returns the text with these fields in the entry, in place of the fields of a remote server.
///
/// Errors: as [`get`].
pub(crate) fn set(text: &str, key: &str, fields: &Map<String, Value>, name: &str) -> Result<String> {
    if get(text, key, name)?.is_none() && parse(text, name)?.get(key).is_none_or(Item::is_table) {
        // A table of its own at the end of the file: no existing line moves.
        let gap = if text.is_empty() || text.ends_with("\n\n") {
            ""
        } else if text.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        let lines = fields.iter().map(|(field, value)| format!("{field} = {}\n", item(value)));
        return Ok(format!("{text}{gap}[{key}.{SERVER_NAME}]\n{}", lines.collect::<String>()));
    }
    let mut document = parse_to_print(text, name)?;
    let servers = document.get_mut(key).and_then(Item::as_table_like_mut);
    let Some(servers) = servers else { return Ok(text.to_owned()) };
    if servers.get(SERVER_NAME).is_none() {
        servers.insert(SERVER_NAME, Item::Value(InlineTable::new().into()));
    }
    let Some(entry) = servers.get_mut(SERVER_NAME).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if ServerEntry::read(&data(entry)).is_none() {
        entry.clear();
    }
    for (field, value) in fields {
        match (value, entry.get_mut(field).and_then(Item::as_table_like_mut)) {
            (Value::Object(inner), Some(env)) => inner.iter().for_each(|(name, value)| put(env, name, value)),
            _ => put(entry, field, value),
        }
    }
    Ok(printed(&document, text))
}

/// Sets a value; keeps whitespace and comments around the old one.
fn put(entry: &mut dyn TableLike, field: &str, value: &Value) {
    if entry.get(field).is_some_and(|old| of_item(old) == *value) {
        return;
    }
    let mut fresh = item(value);
    match entry.get_mut(field).and_then(Item::as_value_mut) {
        Some(old) => {
            *fresh.decor_mut() = old.decor().clone();
            *old = fresh;
        }
        None => drop(entry.insert(field, Item::Value(fresh))),
    }
}

/// Returns the text without our entry. A table of servers that somebody wrote stays, also if it is empty then.
///
/// Errors: as [`get`].
pub(crate) fn remove(text: &str, key: &str, name: &str) -> Result<String> {
    if get(text, key, name)?.is_none() {
        return Ok(text.to_owned());
    }
    let mut wanted = parse(text, name)?;
    forget(&mut wanted, key);
    let own = format!("[{key}.{SERVER_NAME}]");
    for (start, line) in lines(text).filter(|(_, line)| line.split('#').next().is_some_and(|it| it.trim() == own)) {
        let cut = without_table(text, start, start + line.len(), &format!("[{key}.{SERVER_NAME}."));
        // Lines inside quotes may look like headers: parsing the result shows whether they were.
        if cut.parse::<DocumentMut>().is_ok_and(|cut| data(cut.as_table()) == data(wanted.as_table())) {
            return Ok(cut);
        }
    }
    let mut document = parse_to_print(text, name)?;
    forget(&mut document, key);
    Ok(printed(&document, text))
}

/// Returns a text without the lines of a table up to the next header, with the tables below it (`env`), whose headers
/// begin with `inner`. `start` and `below` are the bounds of its own header. Comments above the next header belong to the
/// next table.
fn without_table(text: &str, start: usize, below: usize, inner: &str) -> String {
    let mut next = lines(&text[below..]).filter(|(_, line)| line.starts_with('[') && !line.starts_with(inner));
    let header = next.next().map(|(at, _)| at + below);
    let rest = &text[start + above(&text[start..header.unwrap_or(text.len())])..];
    if header.is_some() || !rest.trim().is_empty() {
        return format!("{}{rest}", &text[..start]);
    }
    let before = text[..start].trim_end_matches('\n');
    if before.is_empty() { String::new() } else { format!("{before}\n") }
}

/// Returns the offset of the comments and blank lines at the end of a text.
fn above(text: &str) -> usize {
    let all: Vec<(usize, &str)> = lines(text).collect();
    let loose = all.iter().rev().take_while(|(_, line)| line.trim().is_empty() || line.trim_start().starts_with('#'));
    loose.last().map_or(text.len(), |(start, _)| *start)
}

/// Returns the lines with their offsets.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    })
}

fn forget(document: &mut DocumentMut, key: &str) {
    let Some(item) = document.get_mut(key) else { return };
    // Without a header or a value of its own, the table is only in the name of the entry.
    let is_implied = item.as_table().is_some_and(|table| table.is_implicit() || table.is_dotted());
    let Some(servers) = item.as_table_like_mut() else { return };
    servers.remove(SERVER_NAME);
    if is_implied && servers.is_empty() {
        document.remove(key);
    }
}

fn item(value: &Value) -> toml_edit::Value {
    match value {
        Value::Array(items) => toml_edit::Value::Array(items.iter().map(item).collect::<Array>()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(field, value)| (field.as_str(), item(value)));
            toml_edit::Value::InlineTable(fields.collect::<InlineTable>())
        }
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// Returns all data of a text; `None` if it cannot be parsed.
pub(crate) fn whole(text: &str) -> Option<Value> {
    let document: DocumentMut = text.parse().ok()?;
    Some(data(document.as_table()))
}

/// Converts a table; skips values that no entry of a server has.
fn data(table: &dyn TableLike) -> Value {
    let fields = table.iter().map(|(field, item)| (field.to_owned(), of_item(item)));
    Value::Object(fields.collect())
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::Value(value) => of_value(value),
        Item::Table(table) => data(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table: &Table| data(table)).collect(),
        Item::None => Value::Null,
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Array(items) => items.iter().map(of_value).collect(),
        toml_edit::Value::InlineTable(table) => data(table),
        other => other.to_string().trim().into(),
    }
}

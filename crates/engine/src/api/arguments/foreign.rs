//! Fields that the called tool does not have. Those that could change what the call does are refused; the tool table
//! says which names are fields of other tools.

use crate::api::arguments::aliases::{
    DRY_RUN_NAMES, HARMLESS_FIELDS, MEANINGFUL_FIELDS, MEANINGFUL_IF_FALSE, normalize_name,
};
use crate::api::arguments::fields::is_nothing;
use crate::api::arguments::join;
use crate::api::arguments::reader::{ArgumentReader, UnusedReason};
use crate::api::tool_table::{TOOLS, tool_named};
use crate::tools::tool::Tool;
use emendate_core::{Advice, Code, Error, Phrase, Result};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A tool that takes a field.
struct FieldOwner {
    tool: &'static Tool,
    /// Its own name of the field.
    field: &'static str,
    /// False for a spelling that is not always accepted, or whose values have another meaning in another tool.
    advised: bool,
}

/// True for a field whose value is one of a few words.
fn is_choice(tool: &Tool, field: &str) -> bool {
    tool.words.iter().any(|row| row.field == field)
}

/// The tools that take each name, normalized: as a field of a call, as one of an entry, or as another spelling of one.
/// Own names precede other spellings, and tools that change files precede those that read.
static FIELD_OWNERS: LazyLock<HashMap<String, Vec<FieldOwner>>> = LazyLock::new(|| {
    let mut tools = TOOLS.to_vec();
    tools.sort_by_key(|tool| tool.annotations.read_only);
    let mut owners: HashMap<String, Vec<FieldOwner>> = HashMap::new();
    for tool in &tools {
        let whole = &tool.known().whole;
        let inner = whole.get("$defs").and_then(Value::as_object).into_iter().flat_map(Map::values);
        let fields = std::iter::once(whole).chain(inner).filter_map(|it| it.get("properties")?.as_object());
        for field in fields.flat_map(Map::keys) {
            owners.entry(normalize_name(field)).or_default().push(FieldOwner { tool, field, advised: true });
        }
    }
    for tool in tools {
        for row in tool.aliases.iter().chain(tool.entry_aliases) {
            let advised = row.unless.is_none() && !is_choice(tool, row.field);
            for other in row.others {
                let owner = FieldOwner { tool, field: row.field, advised };
                owners.entry(normalize_name(other)).or_default().push(owner);
            }
        }
    }
    owners
});

/// Returns the tools that take a field of this name.
fn owners_of(key: &str) -> &'static [FieldOwner] {
    FIELD_OWNERS.get(key).map_or(&[], Vec::as_slice)
}

/// True for a name of a field of some tool.
#[cfg(test)]
pub(crate) fn is_field_of_a_tool(name: &str) -> bool {
    !owners_of(&normalize_name(name)).is_empty()
}

impl ArgumentReader<'_> {
    /// Handles a field that the object at this position does not have: ignored if it is irrelevant to the edit.
    pub(super) fn unknown(&mut self, name: &str, value: &Value, at: &str, known: &Map<String, Value>) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        let key = normalize_name(name);
        let most = (key.chars().count() / 4).clamp(1, 2);
        let near = known.keys().find(|field| strsim::osa_distance(&key, &normalize_name(field)) <= most);
        let means = |fields: &[&str]| fields.iter().any(|other| normalize_name(other) == key);
        let read_only = self.tool.annotations.read_only;
        if !read_only && !is_nothing(value) {
            if let Some(field) = near {
                let what = format!("`{name}` is not a field of this tool; {field} may be meant.");
                return Err(Error::new(Code::CallInvalid, what)
                    .next(format!("Send {field} if it is meant, else omit {name}; nothing was changed.")));
            }
            let owners = if means(HARMLESS_FIELDS) { &[] } else { owners_of(&key) };
            let is_foreign = !owners.is_empty() && !self.names_tool(&key, owners, value);
            if is_foreign || means(MEANINGFUL_FIELDS) || means(DRY_RUN_NAMES) {
                return Err(self.refused_field(name, at, owners));
            }
        } else if !read_only && *value == Value::Bool(false) && means(MEANINGFUL_IF_FALSE) {
            return Err(self.refused_field(name, at, &[]));
        }
        match near {
            Some(field) => self.leave_out(UnusedReason::Unknown, &format!("{name} ({field} may be meant)")),
            None if is_nothing(value) && !owners_of(&key).is_empty() => self.leave_out(UnusedReason::Empty, name),
            None => self.leave_out(UnusedReason::Unknown, name),
        }
        Ok(())
    }

    /// True for a field such as `command` whose value only says what the called tool does: `str_replace` for `edit`.
    fn names_tool(&self, key: &str, owners: &[FieldOwner], value: &Value) -> bool {
        let named = value.as_str().and_then(tool_named).map(|tool| tool.name);
        (key == "name" || owners.iter().any(|owner| is_choice(owner.tool, owner.field)))
            && named.is_some_and(|named| named == self.tool.name || named == "edit" && self.tool.name == "multi_edit")
    }

    /// Returns the error for a field that could change what the call does; the advice names a tool that takes it.
    fn refused_field(&self, name: &str, at: &str, owners: &'static [FieldOwner]) -> Error {
        if self.tool.name == "notebook_edit" && owners.iter().any(|owner| owner.tool.name == "edit") {
            return cell_with_text(&join(at, name));
        }
        let object = if at.is_empty() { "this tool" } else { at };
        let what = format!("`{name}` is not a field of {object}, and its value could change what the call does.");
        let (key, omit) = (normalize_name(name), format!("Omit {name} if the call is right without it"));
        let (own, others): (Vec<_>, Vec<_>) =
            owners.iter().filter(|owner| owner.advised).partition(|owner| owner.tool.name == self.tool.name);
        let of_call = own.first().filter(|_| !at.is_empty()).map(|owner| owner.field);
        let dry_run = DRY_RUN_NAMES.iter().find(|other| normalize_name(other) == key).map(|_| "dry_run");
        let mut next = Advice::default();
        if let Some(field) = of_call.or(dry_run) {
            let instead = ["; if it is wanted, send ".into(), Phrase::Field(field), " for the whole call.".into()];
            next = Advice::new([&[omit.as_str().into()], &instead[..]].concat());
        }
        for owner in others {
            let other = [", or call ".into(), Phrase::Tool(owner.tool.name), ", which takes ".into()];
            let field = [Phrase::FieldOf(owner.tool.name, owner.field), "; nothing was changed.".into()];
            next = next.or(Advice::new([&[omit.as_str().into()], &other[..], &field[..]].concat()));
        }
        Error::new(Code::CallInvalid, what).next(next.or(format!("{omit}; nothing was changed.")))
    }
}

/// Returns the error for a field of a text edit in the edit of a cell.
fn cell_with_text(name: &str) -> Error {
    let what = format!("{name} is for edits of text, but the call edits a cell, whose whole source is replaced.");
    let advice = Advice::named(
        "To change the cell, send its whole new source as {notebook_edit.new_source}, without fields for text; to \
         edit a text file, send no fields of a cell. Nothing was changed.",
    );
    Error::new(Code::CallInvalid, what)
        .next(advice.or("Send the fields of a cell or those for text, not both; nothing was changed."))
}

#[cfg(test)]
mod tests {
    use super::{DRY_RUN_NAMES, HARMLESS_FIELDS, MEANINGFUL_FIELDS, is_field_of_a_tool};

    #[test]
    fn lists_of_names_add_to_the_tool_table() {
        for field in MEANINGFUL_FIELDS.iter().chain(DRY_RUN_NAMES) {
            assert!(!is_field_of_a_tool(field), "{field} is refused as a field of a tool");
        }
        for field in HARMLESS_FIELDS {
            assert!(is_field_of_a_tool(field), "{field} is a field of no tool");
        }
    }
}

//! The next step of an error as a value. Tools and fields are referred to by their names in the tool table, and printed
//! with the names that the client has for them. A client that cannot follow one form of an advice gets the next form.

use serde_json::{Map, Value};

/// A part of an advice.
#[derive(Clone, Debug, PartialEq)]
pub enum Phrase {
    /// Plain text.
    Text(String),
    /// A tool.
    Tool(&'static str),
    /// A field of the called tool. The fields of a form are quoted as those of [`Phrase::Quoted`] if the name of one of
    /// them reads like a word of the sentence: "Set "to" to one of …".
    Field(&'static str),
    /// A field of the called tool, under its name in the tool table if the client has none for it.
    Name(String),
    /// A field of the called tool, quoted where a client writes fields so.
    Quoted(&'static str),
    /// A field of another tool, quoted like [`Phrase::Field`].
    FieldOf(&'static str, &'static str),
    /// A field of the called tool, with its value.
    Set(&'static str, Value),
    /// `; no new read is needed`, for clients where lines shown by an error count as read.
    CountsAsRead,
    /// Nothing. Only clients whose tools are those of the engine can follow a form with this part, so its text may
    /// describe them.
    Ours,
    /// A field of the called tool, to be set to true.
    On(&'static str),
    /// A complete call of a tool.
    Call(&'static str, Value),
}

/// A client's names of tools and fields; `None` for those it does not have. Fields have the names of the tool table
/// unless the client has others.
pub trait Vocabulary: Sync {
    /// Returns the name of a tool.
    fn tool(&self, name: &str) -> Option<String>;
    /// Returns the name of a field of the called tool.
    fn field(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
    /// Returns the name of a field of any tool.
    #[expect(unused_variables, reason = "the name is part of the documentation")]
    fn field_of(&self, tool: &str, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
    /// Returns the name of a field of the called tool, as a call writes it.
    fn quoted(&self, name: &str) -> Option<String> {
        Some(format!("\"{}\"", self.field(name)?))
    }
    /// Returns a field of the called tool with its value.
    fn set(&self, name: &str, value: &Value) -> Option<String> {
        Some(format!("\"{}\": {value}", self.field(name)?))
    }
    /// Returns the words that set a field of the called tool to true.
    fn switch_on(&self, name: &str) -> Option<String> {
        let field = self.field(name)?;
        Some(format!("set {} to true", if is_word(&field) { self.quoted(name)? } else { field }))
    }
    /// Returns a complete call of a tool.
    fn call(&self, tool: &str, fields: &Map<String, Value>) -> Option<String> {
        Some(json_call(tool, fields))
    }
    /// Returns the clause that the call did not ask for all places; empty for clients without a call that can.
    fn not_all(&self) -> String {
        self.field("replace_all").map_or_else(String::new, |name| format!("{name} is false"))
    }
    /// True when lines that an error shows count as read.
    fn counts_as_read(&self) -> bool {
        true
    }
}

/// The names of the tool table itself.
struct OwnNames;

impl Vocabulary for OwnNames {
    fn tool(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
}

/// A caller without names: a program whose call has no arguments that advice could name.
pub struct NoNames;

impl Vocabulary for NoNames {
    fn tool(&self, _: &str) -> Option<String> {
        None
    }

    fn field(&self, _: &str) -> Option<String> {
        None
    }

    fn field_of(&self, _: &str, _: &str) -> Option<String> {
        None
    }

    fn call(&self, _: &str, _: &Map<String, Value>) -> Option<String> {
        None
    }

    fn counts_as_read(&self) -> bool {
        false
    }
}

/// Fallback for a client that has none of the tools and fields.
const NO_TOOLS_ADVICE: &str =
    "The tools that are offered cannot do this in one step: change the text in another way, or ask a person.";

/// The next step of an error in one or more forms, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    forms: Vec<Vec<Phrase>>,
}

impl Advice {
    /// Creates an advice from these parts, as its first form.
    pub fn new(parts: impl Into<Vec<Phrase>>) -> Advice {
        Advice { forms: vec![parts.into()] }
    }

    /// Creates an advice from a text in which `{name()}` is a tool, `{name}` a field of the called tool, `{tool.name}`
    /// one of another tool, `{name=JSON}` a field with its value, and `{name=}` one whose value [`Advice::set`] gives.
    pub fn named(text: &'static str) -> Advice {
        let mut parts = Vec::new();
        for (nth, part) in text.split(['{', '}']).enumerate() {
            parts.push(if nth % 2 == 0 {
                Phrase::from(part)
            } else if let Some(tool) = part.strip_suffix("()") {
                Phrase::Tool(tool)
            } else if let Some((field, value)) = part.split_once('=') {
                Phrase::Set(field, serde_json::from_str(value).unwrap_or_default())
            } else if let Some((tool, field)) = part.split_once('.') {
                Phrase::FieldOf(tool, field)
            } else {
                Phrase::Field(part)
            });
        }
        Advice::new(parts)
    }

    /// Gives the value of a field that the text of [`Advice::named`] names with `{name=}`.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Advice {
        let value = value.into();
        for part in self.forms.iter_mut().flatten() {
            match part {
                Phrase::Set(field, slot) if *field == name && slot.is_null() => slot.clone_from(&value),
                _ => {}
            }
        }
        self
    }

    /// Adds a form for clients that cannot follow the earlier ones.
    #[must_use]
    pub fn or(mut self, other: impl Into<Advice>) -> Advice {
        self.forms.extend(other.into().forms);
        self
    }

    /// Puts a text before each form.
    #[must_use]
    pub(crate) fn prefixed(mut self, text: &str) -> Advice {
        self.forms.iter_mut().for_each(|form| form.insert(0, text.into()));
        self
    }

    /// Appends another advice, form by form.
    #[must_use]
    pub fn and(self, other: &Advice) -> Advice {
        let count = self.forms.len().max(other.forms.len());
        Advice {
            forms: (0..count)
                .map(|nth| [form_at(&self.forms, nth), vec![" ".into()], form_at(&other.forms, nth)].concat())
                .collect(),
        }
    }

    /// True when no part depends on the client.
    pub fn is_plain(&self) -> bool {
        self.forms.first().is_none_or(|form| form.iter().all(|part| matches!(part, Phrase::Text(_))))
    }

    /// Renders the advice with the names of the tool table.
    pub fn text(&self) -> String {
        self.forms.first().and_then(|form| written(form, &OwnNames)).unwrap_or_default()
    }

    /// Renders the first form that the client can follow, with its names.
    pub fn text_for(&self, names: &dyn Vocabulary) -> String {
        if self.forms.is_empty() {
            return String::new();
        }
        self.first_for(names).unwrap_or_else(|| NO_TOOLS_ADVICE.to_owned())
    }

    /// Renders the first form that the client can follow; `None` if it can follow none.
    pub(crate) fn first_for(&self, names: &dyn Vocabulary) -> Option<String> {
        self.forms.iter().find_map(|form| written(form, names))
    }
}

/// Returns the nth form, or the last one.
fn form_at(forms: &[Vec<Phrase>], nth: usize) -> Vec<Phrase> {
    forms.get(nth).or(forms.last()).cloned().unwrap_or_default()
}

/// Formats a call of a tool with its arguments in JSON.
pub fn json_call(tool: &str, fields: &Map<String, Value>) -> String {
    format!("{tool} with {}", Value::Object(fields.clone()))
}

/// True for a name that reads like a word of a sentence, as `to` and `last` do.
fn is_word(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// True if the name of a field of this form reads like a word of the sentence.
fn has_word(form: &[Phrase], names: &dyn Vocabulary) -> bool {
    let found = form.iter().filter_map(|part| match part {
        Phrase::Field(name) => names.field(name),
        Phrase::FieldOf(tool, name) => names.field_of(tool, name),
        _ => None,
    });
    found.into_iter().any(|name| is_word(&name))
}

fn written(form: &[Phrase], names: &dyn Vocabulary) -> Option<String> {
    let mut out = String::new();
    let quotes = has_word(form, names);
    for part in form {
        match part {
            Phrase::Text(text) => out.push_str(text),
            Phrase::Tool(name) => out.push_str(&names.tool(name)?),
            Phrase::Name(name) => out.push_str(names.field(name).as_ref().unwrap_or(name).trim_matches('`')),
            Phrase::Field(name) if !quotes => out.push_str(&names.field(name)?),
            Phrase::Field(name) | Phrase::Quoted(name) => out.push_str(&names.quoted(name)?),
            Phrase::FieldOf(tool, name) => {
                let field = names.field_of(tool, name)?;
                let is_name = field.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
                let quote = if quotes && is_name { "\"" } else { "" };
                out.extend([quote, &field, quote]);
            }
            Phrase::CountsAsRead if names.counts_as_read() => out.push_str("; no new read is needed"),
            Phrase::Ours if names.counts_as_read() => {}
            Phrase::CountsAsRead | Phrase::Ours => return None,
            Phrase::Set(name, value) => out.push_str(&names.set(name, value)?),
            Phrase::On(name) => out.push_str(&names.switch_on(name)?),
            Phrase::Call(tool, fields) => {
                out.push_str(&names.call(tool, fields.as_object().unwrap_or(&Map::new()))?);
            }
        }
    }
    Some(out)
}

impl From<&str> for Phrase {
    fn from(text: &str) -> Phrase {
        Phrase::Text(text.to_owned())
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Phrase {
        Phrase::Text(text)
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Advice {
        Advice::new([Phrase::from(text)])
    }
}

impl From<String> for Advice {
    fn from(text: String) -> Advice {
        Advice::new([Phrase::Text(text)])
    }
}

/// Returns advice to fill an empty file; `otherwise` is for clients without a tool that writes.
pub fn fill_empty_file(otherwise: &str) -> Advice {
    let edit = [", or with an edit whose ".into(), Phrase::Field("old_string"), " is empty.".into()];
    Advice::new([&write_call()[..], &edit].concat())
        .or(Advice::new([&write_call()[..], &[".".into()]].concat()))
        .or(otherwise)
}

/// Returns the parts of the advice to fill the file.
fn write_call() -> [Phrase; 2] {
    [Phrase::from("Fill it with "), Phrase::Tool("write")]
}

/// Creates an advice from parts: texts, and [`Phrase`]s that name tools and fields.
#[macro_export]
macro_rules! advice {
    ($($part:expr),+ $(,)?) => {
        $crate::advice::Advice::new([$($crate::advice::Phrase::from($part)),+])
    };
}

#[cfg(test)]
mod tests {
    use super::{Advice, Phrase, Vocabulary};
    use serde_json::{Map, Value, json};

    /// A client with a single tool, for reading.
    struct Reader;

    impl Vocabulary for Reader {
        fn tool(&self, name: &str) -> Option<String> {
            (name == "read").then(|| "Read".to_owned())
        }

        fn field(&self, _: &str) -> Option<String> {
            None
        }

        fn field_of(&self, _: &str, _: &str) -> Option<String> {
            None
        }

        fn call(&self, tool: &str, fields: &Map<String, Value>) -> Option<String> {
            Some(super::json_call(&self.tool(tool)?, fields))
        }
    }

    #[test]
    fn inapplicable_form_of_advice_is_replaced() {
        let read = advice!["Call ", Phrase::Call("read", json!({"file_path": "/a"})), "."];
        let both = advice!["Set ", Phrase::Set("at", json!("x")), "."].or(read.clone());
        assert_eq!(both.text(), "Set \"at\": \"x\".");
        assert_eq!(both.text_for(&Reader), "Call Read with {\"file_path\":\"/a\"}.");
        let only = advice!["Set ", Phrase::Field("at"), "."];
        assert!(only.text_for(&Reader).contains("ask a person"));
        let named = Advice::named("Give {at}, or call {read()}.").or(Advice::named("Call {read()}."));
        assert_eq!((&*named.text(), &*named.text_for(&Reader)), ("Give \"at\", or call read.", "Call Read."));
        let set = Advice::named("Send {at=\"x\"} and {last=}, or {read.offset}.").set("last", 3).set("at", 4);
        assert_eq!(set.text(), "Send \"at\": \"x\" and \"last\": 3, or \"offset\".");
        let fields = |text| Advice::named(text).text();
        assert_eq!(fields("Copy {old_string}."), "Copy old_string.");
        assert_eq!(
            fields("Set {to} to a format, or leave {old_string} out."),
            "Set \"to\" to a format, or leave \"old_string\" out."
        );
        assert!(Advice::from("plain").is_plain() && !read.is_plain());
    }
}

//! Parameters of calls in a program, for advice in errors: a table has their names in each language, and a program
//! reads those of its own.

use serde_json::Value;

/// The language of a program, in which advice in errors writes calls and arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentStyle {
    /// Methods of Rust that set options: `overwrite(true)`.
    #[default]
    Builder,
    /// Keyword arguments of Python: `overwrite=True`.
    Python,
    /// Members of an object of JavaScript: `overwrite: true`.
    JavaScript,
    /// The limit of bytes alone, in Python: functions on tables have hardly any of the other arguments.
    PythonRows,
    /// No arguments: callers who have none, such as rows of a file.
    Unnamed,
}

impl ArgumentStyle {
    /// Returns the column of a table with names in Rust, Python and JavaScript.
    fn column(self) -> usize {
        match self {
            ArgumentStyle::Builder | ArgumentStyle::Unnamed => 0,
            ArgumentStyle::Python | ArgumentStyle::PythonRows => 1,
            ArgumentStyle::JavaScript => 2,
        }
    }

    /// Returns the name in this language, of those in Rust, Python and JavaScript; `None` if it has none.
    pub fn name_of(self, names: [&'static str; 3]) -> Option<&'static str> {
        names.get(self.column()).copied().filter(|name| !name.is_empty())
    }

    /// Formats a value as a literal.
    pub fn literal(self, value: &Value) -> String {
        let is_python = self.column() == 1;
        match value {
            Value::Null if is_python => "None".to_owned(),
            Value::Bool(true) if is_python => "True".to_owned(),
            Value::Bool(false) if is_python => "False".to_owned(),
            Value::String(text) if self.column() == 0 => format!("{text:?}"),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.literal(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(fields) => {
                let member =
                    |(name, value): (&String, &Value)| format!("{}: {}", Value::from(&**name), self.literal(value));
                format!("{{{}}}", fields.iter().map(member).collect::<Vec<_>>().join(", "))
            }
            value => value.to_string(),
        }
    }
}

/// The kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// An argument that every call gives, by its position in Rust and JavaScript.
    Position,
    /// An option.
    Option,
}

/// A parameter of a call in a program: the field of a tool that means the same, and its name in each language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The field of the tool table.
    pub field: &'static str,
    /// The kind.
    pub kind: ParameterKind,
    /// Its names in Rust, Python and JavaScript; empty for a language without it. A name with brackets or with a value
    /// is that of a switch, and is written as it is to set the field to true.
    pub names: [&'static str; 3],
}

impl Parameter {
    /// Creates an argument that every call gives.
    pub const fn position(field: &'static str, names: [&'static str; 3]) -> Parameter {
        Parameter { field, kind: ParameterKind::Position, names }
    }

    /// Creates an option.
    pub const fn option(field: &'static str, names: [&'static str; 3]) -> Parameter {
        Parameter { field, kind: ParameterKind::Option, names }
    }

    /// Returns the name in a language, without brackets and values.
    pub fn name(&self, style: ArgumentStyle) -> Option<&'static str> {
        let full = style.name_of(self.names)?;
        full.split(['(', '=']).next()?.split(": ").next()
    }

    /// Returns the parameter with a value, as a call writes it.
    pub fn set(&self, style: ArgumentStyle, value: &Value) -> Option<String> {
        let full = style.name_of(self.names)?;
        let name = self.name(style)?;
        if full.len() > name.len() {
            return (*value == Value::Bool(true)).then(|| format!("`{full}`"));
        }
        let literal = style.literal(value);
        Some(match (style.column(), self.kind) {
            (1, _) => format!("`{name}={literal}`"),
            (_, ParameterKind::Position) => format!("`{literal}` as `{name}`"),
            (0, ParameterKind::Option) => format!("`{name}({literal})`"),
            (_, ParameterKind::Option) => format!("`{name}: {literal}`"),
        })
    }
}

/// The parameters of one call, in the language of the program.
#[derive(Clone, Copy, Debug)]
pub struct ParameterNames {
    /// The language.
    pub style: ArgumentStyle,
    /// The parameters.
    pub parameters: &'static [Parameter],
}

impl ParameterNames {
    /// Returns the parameter that a field corresponds to, if the language has it.
    pub fn find(&self, field: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.field == field && parameter.name(self.style).is_some())
    }

    /// Returns the name of a parameter, as code.
    pub fn name(&self, field: &str) -> Option<String> {
        self.find(field)?.name(self.style).map(|name| format!("`{name}`"))
    }

    /// Returns a parameter with its value.
    pub fn set(&self, field: &str, value: &Value) -> Option<String> {
        self.find(field)?.set(self.style, value)
    }

    /// Returns the words that set a field to true.
    pub fn switch_on(&self, field: &str) -> Option<String> {
        let verb = if self.style == ArgumentStyle::Builder { "call" } else { "pass" };
        Some(format!("{verb} {}", self.set(field, &Value::Bool(true))?))
    }

    /// Returns the clause that a switch is not on.
    pub fn not_on(&self, field: &str) -> Option<String> {
        let name = self.name(field)?;
        let has_brackets = self.style.name_of(self.find(field)?.names)?.contains('(');
        Some(match self.style {
            ArgumentStyle::Builder if has_brackets => format!("{name} was not called"),
            ArgumentStyle::Python | ArgumentStyle::PythonRows => format!("{name} is False"),
            _ => format!("{name} is false"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ArgumentStyle, Parameter, ParameterNames};
    use serde_json::{Value, json};

    const PARAMETERS: &[Parameter] = &[
        Parameter::position("old_string", ["old", "old", "old"]),
        Parameter::option("replace_all", ["replace_all(old, new)", "replace_all", "replaceAll"]),
        Parameter::option("overwrite", ["", "create_new=False", "createNew: false"]),
    ];

    #[test]
    fn parameters_are_written_as_the_language_does() {
        let written = |style: ArgumentStyle| {
            let names = ParameterNames { style, parameters: PARAMETERS };
            let set = |field: &str, value: Value| names.set(field, &value).unwrap_or_default();
            let parts = [
                set("old_string", json!("a\"\n")),
                names.switch_on("replace_all").unwrap_or_default(),
                names.not_on("replace_all").unwrap_or_default(),
                set("overwrite", json!(true)),
                set("overwrite", json!(false)),
                names.name("overwrite").unwrap_or_default(),
                style.literal(&json!({"a": [null, true]})),
            ];
            parts.join(" | ")
        };
        assert_eq!(
            written(ArgumentStyle::Builder),
            "`\"a\\\"\\n\"` as `old` | call `replace_all(old, new)` | `replace_all` was not called |  |  |  | \
             {\"a\": [null, true]}"
        );
        assert_eq!(
            written(ArgumentStyle::Python),
            "`old=\"a\\\"\\n\"` | pass `replace_all=True` | `replace_all` is False | `create_new=False` |  | `create_new` | \
             {\"a\": [None, True]}"
        );
        assert_eq!(
            written(ArgumentStyle::JavaScript),
            "`\"a\\\"\\n\"` as `old` | pass `replaceAll: true` | `replaceAll` is false | `createNew: false` |  | \
             `createNew` | {\"a\": [null, true]}"
        );
    }
}

//! The methods of a session and their parameters in each language, for the advice of errors.

use crate::api::profile::Profile;
use crate::api::profile::names::ToolViewNames;
use crate::api::tool_table::tool;
use emendate_core::Vocabulary;
use emendate_core::parameters::{ArgumentStyle, Parameter, ParameterKind, ParameterNames};
use serde_json::{Map, Value};

/// A method of a session: the tool that does the same, and its names in Rust, Python and JavaScript.
struct Method {
    tool: &'static str,
    /// Empty for a language without the method.
    names: [&'static str; 3],
    parameters: &'static [Parameter],
    /// The parameters of one edit of several.
    entry_parameters: &'static [Parameter],
    /// An argument that is one edit, with `{}` for a further parameter of the edit.
    entry: [&'static str; 3],
}

/// Options of methods that change files.
macro_rules! change_parameters {
    ($($parameter:expr),* $(,)?) => {
        &[
            $($parameter,)*
            Parameter::option("tag", ["EditOptions::tag", "tag", "tag"]),
            Parameter::option("encoding", ["EditOptions::encoding", "encoding", "encoding"]),
            // The values of these are names in Python and JavaScript only.
            Parameter::option("on_stale", ["", "on_stale", "onStale"]),
            Parameter::option("match", ["", "match", "match"]),
            Parameter::option("dry_run", ["EditOptions::dry_run()", "dry_run", "dryRun"]),
            Parameter::option("partial", ["EditOptions::partial()", "partial", "partial"]),
            Parameter::option("allow_invalid", ["EditOptions::allow_invalid()", "allow_invalid", "allowInvalid"]),
            Parameter::option("irreversible", ["EditOptions::irreversible()", "irreversible", "irreversible"]),
            Parameter::option("repeat", ["EditOptions::repeat()", "repeat", "repeat"]),
        ]
    };
}

const PATH: Parameter = Parameter::position("file_path", ["path"; 3]);
const AT: Parameter = Parameter::option("at", ["at"; 3]);
const LINE: Parameter = Parameter::option("line", ["line"; 3]);
const EXPECTED: Parameter =
    Parameter::option("expected_replacements", ["expected_replacements", "expected", "expected"]);

/// A method that takes no list of edits.
const PLAIN: Method = Method { tool: "", names: [""; 3], parameters: &[], entry_parameters: &[], entry: [""; 3] };

const METHODS: &[Method] = &[
    Method {
        tool: "read",
        names: ["read"; 3],
        parameters: &[PATH, Parameter::option("encoding", ["encoding"; 3])],
        ..PLAIN
    },
    Method {
        tool: "edit",
        names: ["edit"; 3],
        parameters: change_parameters![
            PATH,
            Parameter::position("old_string", ["old"; 3]),
            Parameter::position("new_string", ["new", "new", "replacement"]),
            Parameter::option("replace_all", ["replace_all(old, new)", "replace_all", "replaceAll"]),
        ],
        entry_parameters: &[AT, LINE, EXPECTED],
        entry: [
            "replacement(Replacement { {}, ..replacement })",
            "session.multi_edit(path, [TextEdit(old, new, {})])",
            "session.multiEdit(path, [{ old, new: replacement, {} }])",
        ],
    },
    Method {
        tool: "multi_edit",
        names: ["edit", "multi_edit", "multiEdit"],
        parameters: change_parameters![PATH],
        entry_parameters: &[
            Parameter::position("old_string", ["old_string", "old", "old"]),
            Parameter::position("new_string", ["new_string", "new", "new"]),
            Parameter::option("replace_all", ["replace_all", "replace_all", "replaceAll"]),
            AT,
            LINE,
            EXPECTED,
        ],
        entry: ["Replacement { {}, ..replacement }", "TextEdit(old, new, {})", "{ ...edit, {} }"],
    },
    Method {
        tool: "write",
        names: ["write"; 3],
        parameters: change_parameters![
            PATH,
            Parameter::position("content", ["text"; 3]),
            // The method replaces files unless the call says otherwise.
            Parameter::option("overwrite", ["", "create_new=False", "createNew: false"]),
        ],
        ..PLAIN
    },
    Method {
        tool: "apply",
        names: ["apply"; 3],
        parameters: change_parameters![
            Parameter::position("input", ["text"; 3]),
            Parameter::option("format", ["format"; 3]),
            Parameter::option("directory", ["directory"; 3]),
            Parameter::option("file", ["file"; 3]),
            Parameter::option("strip", ["strip"; 3]),
            Parameter::option("reverse", ["reverse()", "reverse", "reverse"]),
            Parameter::option("overwrite", ["overwrite()", "overwrite", "overwrite"]),
        ],
        ..PLAIN
    },
    Method {
        tool: "undo",
        names: ["undo"; 3],
        parameters: &[
            Parameter::position("id", ["operation"; 3]),
            Parameter::option("last", ["last"; 3]),
            Parameter::option("file_path", ["of_file", "path", "path"]),
            Parameter::option("redo", ["redo()", "redo", "redo"]),
            Parameter::option("any_session", ["any_session()", "any_session", "anySession"]),
            Parameter::option("dry_run", ["dry_run()", "dry_run", "dryRun"]),
            Parameter::option("irreversible", ["irreversible()", "irreversible", "irreversible"]),
        ],
        ..PLAIN
    },
    Method {
        tool: "restore",
        names: ["restore", "", ""],
        parameters: &[
            PATH,
            Parameter::position("id", ["operation", "", ""]),
            Parameter::option("hunks", ["hunks", "", ""]),
            Parameter::option("dry_run", ["dry_run()", "", ""]),
            Parameter::option("irreversible", ["irreversible()", "", ""]),
        ],
        ..PLAIN
    },
    Method {
        tool: "history",
        names: ["history", "", ""],
        parameters: &[
            Parameter::option("file_path", ["of_file", "", ""]),
            Parameter::option("limit", ["limit", "", ""]),
            Parameter::option("from", ["from", "", ""]),
        ],
        ..PLAIN
    },
    Method {
        tool: "search",
        names: ["search", "", ""],
        parameters: &[
            Parameter::position("pattern", ["pattern", "", ""]),
            Parameter::option("path", ["path", "", ""]),
            Parameter::option("glob", ["glob", "", ""]),
            Parameter::option("literal", ["literal()", "", ""]),
            Parameter::option("multiline", ["multiline()", "", ""]),
            Parameter::option("limit", ["limit", "", ""]),
        ],
        ..PLAIN
    },
];

/// Returns the method of a language that corresponds to a tool.
fn method(style: ArgumentStyle, tool: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.tool == tool && style.name_of(method.names).is_some())
}

/// The methods of a session in the language of the program, for calls of one of them.
struct MethodNames {
    style: ArgumentStyle,
    method: &'static Method,
}

/// Returns the names that the caller of a typed call has for tools and fields, for the method that corresponds to a tool:
/// those of the language, or those of a profile whose tools the program carries out.
pub(super) fn session_names(
    style: ArgumentStyle,
    profile: Option<&'static Profile>,
    tool: &str,
) -> Box<dyn Vocabulary> {
    match profile {
        Some(profile) => Box::new(ToolViewNames::of_tool(profile, tool)),
        None => Box::new(MethodNames { style, method: method(style, tool).unwrap_or(&PLAIN) }),
    }
}

impl MethodNames {
    fn parameters(&self) -> ParameterNames {
        ParameterNames { style: self.style, parameters: self.method.parameters }
    }

    fn entry_parameters(&self) -> ParameterNames {
        ParameterNames { style: self.style, parameters: self.method.entry_parameters }
    }

    /// Writes a parameter of one edit with its value.
    fn set_of_entry(&self, field: &str, value: &Value) -> Option<String> {
        let parameter = self.entry_parameters().find(field)?;
        if parameter.kind == ParameterKind::Position {
            return parameter.set(self.style, value);
        }
        let (name, literal) = (parameter.name(self.style)?, self.style.literal(value));
        let member = match self.style {
            ArgumentStyle::Builder if value.is_string() => format!("{name}: Some({literal}.into())"),
            ArgumentStyle::Builder => format!("{name}: Some({literal})"),
            ArgumentStyle::JavaScript => format!("{name}: {literal}"),
            _ => format!("{name}={literal}"),
        };
        let entry = self.style.name_of(self.method.entry)?;
        Some(format!("`{}`", entry.replacen("{}", &member, 1)))
    }
}

/// Writes a method, or a call of the tool for a language without the method.
fn render_tool(style: ArgumentStyle, name: &str) -> Option<String> {
    let needs_fields = tool(name)?.schema().get("required").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    if let Some(method) = method(style, name).and_then(|method| style.name_of(method.names)) {
        let brackets = if needs_fields { "" } else { "()" };
        return Some(format!("`session.{method}{brackets}`"));
    }
    let input = if needs_fields { "…" } else { "{}" };
    Some(if style == ArgumentStyle::Builder {
        format!("`session.call(\"{name}\", json!({input}))`")
    } else {
        format!("`session.call(\"{name}\", {input})`")
    })
}

/// Writes a whole call: of a method if it has all the fields, or else of the tool.
fn render_call(style: ArgumentStyle, tool: &str, fields: &Map<String, Value>) -> String {
    let call = match tool {
        "read" => render_read(style, fields),
        "undo" => render_undo(style, fields),
        _ => None,
    };
    call.unwrap_or_else(|| {
        let input = style.literal(&Value::Object(fields.clone()));
        let input = if style == ArgumentStyle::Builder { format!("json!({input})") } else { input };
        format!("`session.call(\"{tool}\", {input})`")
    })
}

/// Writes a read of a file, or of its lines, whose last one is a parameter in place of their number.
fn render_read(style: ArgumentStyle, fields: &Map<String, Value>) -> Option<String> {
    if fields.keys().any(|field| !matches!(&**field, "file_path" | "offset" | "limit")) {
        return None;
    }
    let path = style.literal(fields.get("file_path")?);
    let number = |field: &str| fields.get(field).and_then(Value::as_u64);
    let start = number("offset").unwrap_or(1);
    let end = number("limit").map(|count| start + count.max(1) - 1);
    let is_whole = !fields.contains_key("offset") && end.is_none();
    let call = match (style, end) {
        (ArgumentStyle::Builder, _) if is_whole => format!("read({path}).run()"),
        (ArgumentStyle::Builder, Some(end)) => format!("read({path}).lines({start}..={end}).run()"),
        (ArgumentStyle::Builder, None) => format!("read({path}).lines({start}..).run()"),
        _ if is_whole => format!("read({path})"),
        (ArgumentStyle::JavaScript, Some(end)) => format!("read({path}, {{ start: {start}, end: {end} }})"),
        (ArgumentStyle::JavaScript, None) => format!("read({path}, {{ start: {start} }})"),
        (_, Some(end)) => format!("read({path}, {start}, {end})"),
        (_, None) => format!("read({path}, {start})"),
    };
    Some(format!("`session.{call}`"))
}

/// Writes the undo of an operation by its name, which is a value of its own in Rust.
fn render_undo(style: ArgumentStyle, fields: &Map<String, Value>) -> Option<String> {
    if style == ArgumentStyle::Builder || fields.len() != 1 {
        return None;
    }
    Some(format!("`session.undo({})`", style.literal(fields.get("id")?)))
}

impl Vocabulary for MethodNames {
    fn tool(&self, name: &str) -> Option<String> {
        render_tool(self.style, name)
    }

    fn field(&self, name: &str) -> Option<String> {
        self.parameters().name(name).or_else(|| self.entry_parameters().name(name))
    }

    fn field_of(&self, tool: &str, name: &str) -> Option<String> {
        session_names(self.style, None, tool).field(name)
    }

    fn quoted(&self, name: &str) -> Option<String> {
        self.field(name)
    }

    fn set(&self, name: &str, value: &Value) -> Option<String> {
        self.parameters().set(name, value).or_else(|| self.set_of_entry(name, value))
    }

    fn switch_on(&self, name: &str) -> Option<String> {
        let of_entry = || Some(format!("send {}", self.set_of_entry(name, &Value::Bool(true))?));
        self.parameters().switch_on(name).or_else(of_entry)
    }

    fn call(&self, tool: &str, fields: &Map<String, Value>) -> Option<String> {
        Some(render_call(self.style, tool, fields))
    }

    fn not_all(&self) -> String {
        let clause = self.parameters().not_on("replace_all");
        clause.or_else(|| self.entry_parameters().not_on("replace_all")).unwrap_or_default()
    }
}

/// Returns every method of a session that advice may name, with each of its parameters in a language, for tests of the
/// packages. The parameters of one edit of several follow under the name `TextEdit`.
pub fn session_parameters(style: ArgumentStyle) -> Vec<(&'static str, &'static str)> {
    let of_method = |method: &'static Method| {
        let name = style.name_of(method.names)?;
        let named = move |owner: &'static str, parameters: &'static [Parameter]| {
            parameters.iter().filter_map(move |it| Some((owner, it.name(style)?)))
        };
        Some(named(name, method.parameters).chain(named("TextEdit", method.entry_parameters)))
    };
    METHODS.iter().filter_map(of_method).flatten().collect()
}

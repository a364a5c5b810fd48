//! Advice of errors in the words of the command line: its commands and their options.

use crate::args::Command;
use crate::global::GlobalArgs;
use clap::Args as _;
use data_encoding::BASE64;
use emendate::RAW_PATH;
use emendate::core::Vocabulary;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Tools whose command has another name.
const COMMANDS: [(&str, &str); 1] = [("replace_in_files", "replace")];

/// Fields that have another name at the command line: tool, field, and the option or the argument as help names it.
const NAMES: [(&str, &str, &str); 28] = [
    ("edit", "old_string", "--old"),
    ("edit", "new_string", "--new"),
    ("edit", "replace_all", "--all"),
    ("edit", "expected_replacements", "--expect"),
    ("notebook_edit", "cell_id", "--cell"),
    ("notebook_edit", "cell_number", "--number"),
    ("notebook_edit", "edit_mode", "--mode"),
    ("notebook_edit", "cell_type", "--type"),
    ("notebook_edit", "new_source", "--source"),
    ("write", "content", "--from"),
    ("search", "pattern", "PATTERN"),
    ("replace_in_files", "old_string", "OLD"),
    ("replace_in_files", "new_string", "NEW"),
    ("replace_in_files", "expected", "--expect"),
    ("replace_in_files", "expected_files", "--expect-files"),
    ("apply", "input", "FILE"),
    ("apply", "three_way", "--3way"),
    ("apply", "only", "--include"),
    ("apply", "context", "-C"),
    ("convert", "input", "FILE"),
    ("check", "paths", "PATHS"),
    ("check", "timeout_ms", "--timeout"),
    ("undo", "id", "ID"),
    ("undo", "hunks", "HUNKS"),
    ("restore", "id", "ID"),
    ("mark", "name", "NAME"),
    ("rewind", "to", "MARK"),
    ("history", "session", "--by"),
];

/// Fields of one edit of a list, which the command line takes as JSON.
const OF_ENTRIES: [&str; 11] = [
    "old_string", "new_string", "replace_all", "expected_replacements", "at", "line", "cell_id", "cell_number",
    "edit_mode", "cell_type", "new_source",
];

/// Fields that hold the path, which a command takes without an option.
const PATHS: [&str; 3] = ["file_path", "path", "notebook_path"];

/// The options of every command.
static GLOBAL: LazyLock<clap::Command> = LazyLock::new(|| GlobalArgs::augment_args(clap::Command::new("emend")));

/// The commands and options of the command line, for calls of one tool.
pub(crate) struct Flags {
    tool: &'static str,
    /// The edit itself came as JSON.
    as_json: bool,
}

impl Flags {
    /// The options of the command that corresponds to a tool. `as_json` is true for an edit that came as JSON.
    pub(crate) fn of(tool: &'static str, as_json: bool) -> Flags {
        Flags { tool, as_json }
    }
}

/// Returns the command that corresponds to a tool.
fn command(tool: &str) -> Option<&'static clap::Command> {
    match COMMANDS.iter().find(|(name, _)| *name == tool) {
        Some((_, command)) => Command::definition(command),
        None => Command::definition(&tool.replace('_', "-")),
    }
}

/// Returns the option, or the argument without one, that corresponds to a field of a tool.
fn option(tool: &str, field: &str) -> Option<String> {
    if let Some((_, _, name)) = NAMES.iter().find(|(name, own, _)| (*name, *own) == (tool, field)) {
        return Some((*name).to_owned());
    }
    let long = if PATHS.contains(&field) { "file".to_owned() } else { field.replace('_', "-") };
    if command(tool)?.get_arguments().chain(GLOBAL.get_arguments()).any(|arg| arg.get_long() == Some(&long)) {
        return Some(format!("--{long}"));
    }
    PATHS.contains(&field).then(|| "PATH".to_owned())
}

/// An option with its value; the value alone for an argument without an option.
fn with_value(tool: &str, field: &str, value: &Value) -> Option<String> {
    match (field, value.as_str()) {
        ("order", Some("in_turn")) => return option(tool, "in_turn"),
        ("order", Some("together")) => return option(tool, "in_turn").map(|option| format!("no {option}")),
        _ => {}
    }
    let option = option(tool, field)?;
    let before = if is_option(&option) { format!("{option} ") } else { String::new() };
    match value {
        Value::Bool(true) => Some(option),
        Value::String(text) => Some(format!("{before}{}", quoted(text))),
        Value::Number(number) => Some(format!("{before}{number}")),
        _ => None,
    }
}

/// True for the name of an option, false for that of an argument or a field.
fn is_option(name: &str) -> bool {
    name.starts_with('-')
}

/// True for the name of an argument without an option, as help writes it.
fn is_argument(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A text as a shell takes it.
pub(crate) fn quoted(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|ch| ch.is_ascii_alphanumeric() || "_-./@:,+=".contains(ch)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The bytes of a path that is not UTF-8, as bash and zsh take them: `$'caf\xe9'`.
fn quoted_bytes(path: &[u8]) -> String {
    format!(
        "$'{}'",
        path.iter()
            .map(|byte| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                byte => format!("\\x{byte:02x}"),
            })
            .collect::<String>()
    )
}

/// The path of a call's fields, followed by `suffix`, as a word of the shell.
fn path_word(fields: &Map<String, Value>, suffix: &str) -> Option<String> {
    if let Some(raw) = fields.get(RAW_PATH).and_then(Value::as_str) {
        return BASE64.decode(raw.as_bytes()).ok().map(|path| quoted_bytes(&[&path, suffix.as_bytes()].concat()));
    }
    let (_, path) = fields.iter().find(|(name, _)| PATHS.contains(&name.as_str()))?;
    path.as_str().map(|path| quoted(&format!("{path}{suffix}")))
}

impl Vocabulary for Flags {
    fn tool(&self, name: &str) -> Option<String> {
        command(name).map(|command| format!("emend {}", command.get_name()))
    }

    fn field(&self, name: &str) -> Option<String> {
        if self.as_json && OF_ENTRIES.contains(&name) {
            return Some(name.to_owned());
        }
        option(self.tool, name)
    }

    fn field_of(&self, tool: &str, name: &str) -> Option<String> {
        option(tool, name)
    }

    fn quoted(&self, name: &str) -> Option<String> {
        let field = self.field(name)?;
        Some(if is_option(&field) || is_argument(&field) { field } else { format!("\"{field}\"") })
    }

    fn set(&self, name: &str, value: &Value) -> Option<String> {
        if self.as_json && OF_ENTRIES.contains(&name) {
            return Some(format!("\"{name}\": {value}"));
        }
        with_value(self.tool, name, value)
    }

    fn switch_on(&self, name: &str) -> Option<String> {
        let field = self.field(name)?;
        Some(if is_option(&field) { format!("give {field}") } else { format!("set {field} to true") })
    }

    fn call(&self, tool: &str, fields: &Map<String, Value>) -> Option<String> {
        let mut words = vec![self.tool(tool)?];
        match (tool, fields.get("id").and_then(Value::as_str)) {
            ("history", Some(id)) => {
                words = vec!["emend show".to_owned(), quoted(id)];
                words.extend(path_word(fields, ""));
            }
            ("undo", Some(id)) if path_word(fields, "").is_none() => words.push(quoted(id)),
            ("restore", Some(id)) => words.push(path_word(fields, &format!("@{id}"))?),
            (_, None) => words.extend(path_word(fields, "")),
            _ => return None,
        }
        let rest = fields
            .iter()
            .filter(|(name, _)| !PATHS.contains(&name.as_str()) && !matches!(name.as_str(), RAW_PATH | "id"));
        for (name, value) in rest {
            option(tool, name).filter(|name| is_option(name))?;
            words.push(with_value(tool, name, value)?);
        }
        Some(words.join(" "))
    }

    fn not_all(&self) -> String {
        match self.field("replace_all") {
            Some(name) if is_option(&name) => format!("{name} is not given"),
            Some(name) => format!("{name} is false"),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flags, NAMES, command, is_option};
    use emendate::core::Vocabulary as _;
    use serde_json::{Map, Value, json};

    #[test]
    fn every_name_exists() {
        for (tool, field, name) in NAMES {
            let is_there = command(tool).unwrap().get_arguments().any(|arg| match name.trim_start_matches('-') {
                _ if !is_option(name) => {
                    let shown = arg.get_value_names().unwrap_or_default().iter();
                    arg.is_positional() && shown.map(clap::builder::Str::as_str).any(|it| it.contains(name))
                }
                short if short.len() == 1 => arg.get_short() == short.chars().next(),
                long => arg.get_long() == Some(long),
            });
            assert!(is_there, "{tool} {name}");
            assert!(format!("{:?}", emendate::tool(tool).unwrap().schema()).contains(field), "{tool} {field}");
        }
    }

    /// Fields that no option or argument corresponds to: paths that are not UTF-8, which commands take as they are;
    /// fields that a command sets itself, such as the pattern for OLD; and what only calls have. Advice has another form
    /// for clients without them.
    const WITHOUT_NAMES: [&str; 39] = [
        "read.path_b64", "search.path_b64", "edit.line", "edit.edits", "edit.order", "edit.start_line_text",
        "edit.end_line_text", "edit.new_text", "edit.path_b64", "edit.partial", "edit.marks", "multi_edit.order",
        "multi_edit.path_b64", "multi_edit.partial", "multi_edit.marks", "write.overwrite", "write.path_b64",
        "write.match", "write.partial", "write.marks", "notebook_edit.clear_outputs", "notebook_edit.path_b64",
        "notebook_edit.match", "notebook_edit.partial", "notebook_edit.marks", "apply.tag", "apply.encoding",
        "apply.marks", "apply.input_b64", "replace_in_files.pattern", "convert.overwrite", "outline.path_b64",
        "undo.redo", "undo.path_b64", "restore.path_b64", "history.id", "history.to", "history.hunks",
        "history.path_b64",
    ];

    #[test]
    fn every_field_has_a_name() {
        let mut without = Vec::new();
        for tool in emendate::TOOLS.iter().filter(|tool| command(tool.name).is_some()) {
            let schema = tool.schema();
            let fields = schema["properties"].as_object().unwrap();
            without.extend(
                fields
                    .keys()
                    .filter(|it| super::option(tool.name, it).is_none())
                    .map(|it| format!("{}.{it}", tool.name)),
            );
        }
        assert_eq!(without, WITHOUT_NAMES);
    }

    #[test]
    fn every_confirmation_has_an_option() {
        for tool in ["edit", "multi_edit", "write", "notebook_edit", "apply", "replace_in_files"] {
            for field in ["repeat", "irreversible", "allow_invalid"] {
                let set = Flags::of(tool, false).set(field, &json!(true));
                assert_eq!(set, Some(format!("--{}", field.replace('_', "-"))), "{tool}");
            }
        }
        for tool in ["undo", "restore"] {
            assert_eq!(Flags::of(tool, false).set("irreversible", &json!(true)).as_deref(), Some("--irreversible"));
        }
    }

    #[test]
    fn fields_and_calls_are_options_and_commands() {
        let edit = Flags::of("edit", false);
        assert_eq!(edit.set("old_string", &json!("it's")).unwrap(), r"--old 'it'\''s'");
        assert_eq!(edit.set("replace_all", &json!(true)).unwrap(), "--all");
        assert_eq!(edit.field("allow_invalid").unwrap(), "--allow-invalid");
        assert_eq!(edit.field("overwrite"), None);
        assert_eq!(edit.field("file_path").as_deref(), Some("PATH"));
        assert_eq!(Flags::of("undo", false).field("file_path").as_deref(), Some("--file"));
        assert_eq!(Flags::of("undo", false).set("id", &json!("3-ab")).as_deref(), Some("3-ab"));
        assert_eq!(Flags::of("replace_in_files", false).quoted("old_string").as_deref(), Some("OLD"));
        let call = json!({"file_path": "/a b.txt", "offset": 3, "limit": 1});
        let none = Map::new();
        let fields = call.as_object().unwrap_or(&none);
        assert_eq!(edit.call("read", fields).unwrap(), "emend read '/a b.txt' --offset 3 --limit 1");
        assert_eq!(edit.call("edit_symbol", fields), None);
        let restore = json!({"file_path": "/a.txt", "id": "3-ab^"});
        assert_eq!(edit.call("restore", restore.as_object().unwrap()).unwrap(), "emend restore '/a.txt@3-ab^'");
        let shown = json!({"file_path": "/a.txt", "id": "3-ab"});
        assert_eq!(edit.call("history", shown.as_object().unwrap()).unwrap(), "emend show 3-ab /a.txt");
        let json = Flags::of("edit", true);
        assert_eq!(json.set("at", &Value::from("3@ab")).unwrap(), r#""at": "3@ab""#);
        let several = Flags::of("multi_edit", true);
        assert_eq!(several.set("order", &"in_turn".into()).unwrap(), "--in-turn");
    }
}

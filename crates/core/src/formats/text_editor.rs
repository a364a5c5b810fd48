//! `text_editor`: the edits of Anthropic's text editor tool (`str_replace_based_edit_tool`): create, `str_replace`,
//! insert.

use super::replace::Replacement;
use super::{Format, FormatInput, FormatSpec};
use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::line_edits::{AnchorRange, LineEdit, LineTarget};
use crate::locate::op::{FileAction, FileRequest, Locator, Op, OpOrder, Request, TextNames, normalize_text};
use crate::note::Notes;
use schemars::JsonSchema;
use serde::Deserialize;

/// The names of the text to insert. The first version of the tool had `new_str` for it.
const INSERTED_TEXT: &[&str] = &["insert_text", "new_str"];

/// The format.
pub struct TextEditor;

/// The action of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Command")]
pub enum EditorCommand {
    /// Shows a file with line numbers, or lists a directory.
    View,
    /// Makes a file, or replaces its whole text.
    Create,
    /// Replaces a text that occurs once.
    StrReplace,
    /// Inserts lines after a line.
    Insert,
    /// Undoes the last edit of the file.
    UndoEdit,
}

/// The input of the tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub struct TextEditorInput {
    /// The action.
    pub command: EditorCommand,
    /// The absolute path of the file; for view also of a directory.
    pub path: String,
    /// For create: the whole text of the file.
    #[serde(default)]
    pub file_text: Option<String>,
    /// For create: false refuses the call if the file exists (default: true).
    #[serde(default)]
    pub overwrite: Option<bool>,
    /// For `str_replace`: the text to replace, exactly as in the file; it must occur once.
    #[serde(default)]
    pub old_str: Option<String>,
    /// For `str_replace`: the text to put in its place; left out, the old text is deleted.
    #[serde(default)]
    pub new_str: Option<String>,
    /// For `str_replace`: replace all occurrences of `old_str` (default false: it must occur exactly once).
    #[serde(default)]
    pub replace_all: Option<bool>,
    /// For insert: the line after which the text is inserted, 0 for the beginning of the file.
    #[serde(default)]
    pub insert_line: Option<usize>,
    /// For insert: the lines to insert.
    #[serde(default)]
    pub insert_text: Option<String>,
    /// For view: first and last line to show, -1 for the end of the file.
    #[serde(default)]
    pub view_range: Option<[i64; 2]>,
}

/// Parses a call of the tool with any command.
///
/// Errors: [`Code::CallInvalid`] for another shape.
pub fn read(input: FormatInput) -> Result<TextEditorInput> {
    super::from_json(input)
}

impl Format for TextEditor {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "text_editor",
            summary: "create, str_replace and insert, as Anthropic's text editor tool has them",
            prompt: PROMPT,
            schema: Some(|| schemars::schema_for!(TextEditorInput)),
            key: "command",
            example: r#"{"command": "str_replace", "path": "/src/main.rs", "old_str": "let x = 1;", "new_str": "let x = 2;"}"#,
            grammar: None,
        }
    }

    fn parse(&self, input: FormatInput) -> Result<Request> {
        let TextEditorInput {
            command,
            path,
            file_text,
            overwrite,
            old_str,
            new_str,
            replace_all,
            insert_line,
            insert_text,
            ..
        } = read(input)?;
        let action_of = match command {
            EditorCommand::Create => {
                let text = normalize_text(&given("create", "file_text", file_text)?);
                FileAction::whole_text(text, overwrite)
            }
            EditorCommand::StrReplace => {
                let old_string = given("str_replace", "old_str", old_str)?;
                let new_string = new_str.unwrap_or_default();
                single_edit(
                    Replacement { old_string, new_string, replace_all, ..Replacement::default() }
                        .to_op_of(&TextNames::EDITOR)?,
                )
            }
            EditorCommand::Insert => {
                let line = given("insert", "insert_line", insert_line)?;
                let text = insert_text.or(new_str).ok_or_else(|| missing("insert", INSERTED_TEXT))?;
                single_edit(insertion(line, &text)?)
            }
            EditorCommand::View | EditorCommand::UndoEdit => {
                return Err(Error::new(Code::CallInvalid, "This command is not an edit.")
                    .next("Use create, str_replace or insert."));
            }
        };
        Ok(Request { files: vec![FileRequest::new(path, action_of)], notes: Notes::new() })
    }
}

/// Returns the action for one edit.
fn single_edit(op: Op) -> FileAction {
    FileAction::Edit { ops: vec![op], order: OpOrder::Together }
}

fn given<T>(command: &str, field: &'static str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| missing(command, &[field]))
}

/// Creates the error for a command without a field that clients have under one of these names.
fn missing(command: &str, names: &[&'static str]) -> Error {
    let message = under_one_of(names, &format!("The command {command} needs "), ".");
    Error::about_fields(Code::CallInvalid, message)
        .next(under_one_of(names, "Send the call again with ", "; nothing was changed."))
}

/// Returns a text about a field that clients have under one of these names.
fn under_one_of(names: &[&'static str], before: &str, after: &str) -> Advice {
    names.iter().map(|name| advice![before, Phrase::Field(name), after]).reduce(Advice::or).unwrap_or_default()
}

fn insertion(line: usize, text: &str) -> Result<Op> {
    let mut text = normalize_text(text);
    if text.is_empty() {
        let message = under_one_of(INSERTED_TEXT, "No changes to make: ", " is empty.");
        return Err(Error::about_fields(Code::EditNoChange, message)
            .next("Send the lines to insert; no call is needed if the file is already as intended."));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let place = if line == 0 { LineTarget::Head } else { LineTarget::After(line) };
    let source_text = format!("insert_line {line}");
    let rows = LineEdit {
        target: place,
        anchors: AnchorRange::default(),
        check: None,
        old: Vec::new(),
        context: Vec::new(),
        cut_to: None,
        paste: None,
        source_text,
        source_line: 0,
    };
    Ok(Op { at: Locator::Lines(Box::new(rows)), text })
}

/// The instructions for a model.
pub const PROMPT: &str = "\
Shows, creates and edits text files. view shows a file with line numbers (view_range for a part) or lists a directory; a file must have been viewed before it is changed. str_replace: old_str must match the file exactly, without line numbers, and occur once; give more lines to \
make it unique. insert puts insert_text after line insert_line as view numbered it. create makes a file or replaces all of it.";

#[cfg(test)]
mod tests {
    use super::TextEditor;
    use crate::code::Code;
    use crate::formats::{Format, FormatInput};
    use crate::locate::line_edits::{self, LineTarget};
    use crate::locate::op::{FileAction, Locator, NewFile};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn action_of(input: Value) -> Result<FileAction, Code> {
        let request = TextEditor.parse(FormatInput::Json(input)).map_err(|error| error.code())?;
        Ok(request.files[0].action.clone())
    }

    #[test]
    fn every_command_is_a_file_action() {
        let write = action_of(json!({ "command": "create", "path": "/a", "file_text": "x\r\n" })).unwrap();
        assert_eq!(write, FileAction::Write("x\n".to_owned()));
        let FileAction::Edit { ops, .. } =
            action_of(json!({ "command": "str_replace", "path": "/a", "old_str": "x" })).unwrap()
        else {
            panic!()
        };
        assert!(matches!(&ops[0].at, Locator::Find(find) if find.old == "x") && ops[0].text.is_empty());
        for (line, place) in [(0, LineTarget::Head), (3, LineTarget::After(3))] {
            for field in ["insert_text", "new_str"] {
                let FileAction::Edit { ops, .. } =
                    action_of(json!({ "command": "insert", "path": "/a", "insert_line": line, field: "x" })).unwrap()
                else {
                    panic!()
                };
                assert_eq!((line_edits::of(&ops[0]).unwrap().target, &*ops[0].text), (place, "x\n"));
            }
        }
    }

    #[test]
    fn create_keeps_an_existing_file_where_the_call_says_so() {
        for (overwrite, action) in [
            (json!(false), FileAction::Create(NewFile::Text("x".to_owned()))),
            (json!(true), FileAction::Write("x".to_owned())),
            (json!(null), FileAction::Write("x".to_owned())),
        ] {
            let call = json!({ "command": "create", "path": "/a", "file_text": "x", "overwrite": overwrite });
            assert_eq!(action_of(call), Ok(action), "{overwrite}");
        }
    }

    #[test]
    fn incomplete_commands_are_refused() {
        for (input, code) in [
            (json!({ "command": "create", "path": "/a" }), Code::CallInvalid),
            (json!({ "command": "insert", "path": "/a", "insert_text": "x" }), Code::CallInvalid),
            (json!({ "command": "insert", "path": "/a", "insert_line": -1, "insert_text": "x" }), Code::CallInvalid),
            (json!({ "command": "insert", "path": "/a", "insert_line": 1, "insert_text": "" }), Code::EditNoChange),
            (json!({ "command": "str_replace", "path": "/a", "old_str": "x", "new_str": "x" }), Code::EditNoChange),
            (json!({ "command": "view", "path": "/a" }), Code::CallInvalid),
            (json!({ "command": "delete", "path": "/a" }), Code::CallInvalid),
        ] {
            assert_eq!(action_of(input.clone()), Err(code), "{input}");
        }
    }

    proptest! {
        #[test]
        fn no_input_panics(command in "view|create|str_replace|insert|undo_edit|x", line in any::<i64>(), text in any::<String>()) {
            for field in ["file_text", "old_str", "new_str", "insert_text"] {
                let _ = action_of(json!({ "command": command, "path": "/a", "insert_line": line, field: text }));
            }
        }
    }
}

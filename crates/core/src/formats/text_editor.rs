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

impl EditorCommand {
    /// The word in calls.
    fn word(self) -> &'static str {
        match self {
            EditorCommand::View => "view",
            EditorCommand::Create => "create",
            EditorCommand::StrReplace => "str_replace",
            EditorCommand::Insert => "insert",
            EditorCommand::UndoEdit => "undo_edit",
        }
    }
}

impl TextEditorInput {
    /// Returns the fields that request something, but of another command.
    pub fn fields_of_other_commands(&self) -> Vec<&'static str> {
        use EditorCommand::{Create, Insert, StrReplace, View};
        let is_text = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let takes = |commands: &[EditorCommand]| commands.contains(&self.command);
        // The first version of the tool had `new_str` for the inserted text.
        let takes_new_str = takes(&[StrReplace]) || takes(&[Insert]) && !is_text(&self.insert_text);
        let fields = [
            ("file_text", !takes(&[Create]) && is_text(&self.file_text)),
            ("overwrite", !takes(&[Create]) && self.overwrite == Some(true)),
            ("old_str", !takes(&[StrReplace]) && is_text(&self.old_str)),
            ("new_str", !takes_new_str && is_text(&self.new_str) && self.new_str != self.insert_text),
            ("replace_all", !takes(&[StrReplace]) && self.replace_all == Some(true)),
            ("insert_line", !takes(&[Insert]) && self.insert_line.is_some()),
            ("insert_text", !takes(&[Insert]) && is_text(&self.insert_text)),
            ("view_range", !takes(&[View]) && self.view_range.is_some()),
        ];
        fields.into_iter().filter(|(_, is_other)| *is_other).map(|(field, _)| field).collect()
    }

    /// Errors: [`Code::CallInvalid`] for a command that changes a file and has fields of another one. They could mean
    /// another change, or hold the text that this command lacks.
    fn check_fields(self) -> Result<TextEditorInput> {
        let others = self.fields_of_other_commands();
        if others.is_empty() || self.command == EditorCommand::View {
            return Ok(self);
        }
        let (command, list) = (self.command.word(), others.join(", "));
        let own = match self.command {
            EditorCommand::Create if self.file_text.is_none() => Some("file_text"),
            EditorCommand::StrReplace if self.new_str.is_none() => Some("new_str"),
            EditorCommand::Insert if self.insert_text.is_none() && self.new_str.is_none() => Some("insert_text"),
            _ => None,
        };
        let is_text = |field: &&str| ["file_text", "new_str", "insert_text"].contains(field);
        let next = match own.filter(|_| others.iter().any(is_text)) {
            Some(own) => {
                let without = format!(", without {list}; nothing was changed.");
                let send = |own| advice!["Send the text as ", Phrase::Field(own), &*without];
                send(own).or(send("new_str"))
            }
            None => format!("Omit {list}, or set command to the one that is meant; nothing was changed.").into(),
        };
        Err(Error::new(Code::CallInvalid, format!("The command {command} does not take {list}.")).next(next))
    }
}

/// Parses a call of the tool with any command.
///
/// Errors: [`Code::CallInvalid`] for another shape, and for a change with fields of another command.
pub fn read(input: FormatInput) -> Result<TextEditorInput> {
    super::from_json::<TextEditorInput>(input)?.check_fields()
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
            // The text is written as given, if the file does not exist.
            EditorCommand::Create => FileAction::whole_text(given("create", "file_text", file_text)?, overwrite),
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
                let is_text = |text: &String| !text.is_empty();
                let text = insert_text.clone().filter(is_text).or(new_str).or(insert_text);
                single_edit(insertion(line, &text.ok_or_else(|| missing("insert", INSERTED_TEXT))?)?)
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
        assert_eq!(write, FileAction::Write("x\r\n".to_owned()));
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
        let both = json!({ "command": "insert", "path": "/a", "insert_line": 1, "insert_text": "", "new_str": "x" });
        let FileAction::Edit { ops, .. } = action_of(both).unwrap() else { panic!() };
        assert_eq!(ops[0].text, "x\n");
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
    fn fields_of_other_commands_are_refused() {
        for (input, part) in [
            (json!({ "command": "str_replace", "old_str": "x", "file_text": "y" }), "Send the text as new_str"),
            (json!({ "command": "str_replace", "old_str": "x", "insert_text": "y" }), "Send the text as new_str"),
            (json!({ "command": "str_replace", "old_str": "x", "new_str": "y", "insert_line": 2 }), "Omit insert_line"),
            (
                json!({ "command": "create", "file_text": "y", "old_str": "x", "insert_line": 0 }),
                "Omit old_str, insert_line",
            ),
            (json!({ "command": "create", "new_str": "y" }), "Send the text as file_text"),
            (json!({ "command": "create", "file_text": "y", "view_range": [1, 2] }), "Omit view_range"),
            (json!({ "command": "insert", "insert_line": 1, "file_text": "y" }), "Send the text as insert_text"),
            (json!({ "command": "insert", "insert_line": 1, "insert_text": "y", "new_str": "z" }), "Omit new_str"),
            (json!({ "command": "insert", "insert_line": 1, "insert_text": "y", "overwrite": true }), "Omit overwrite"),
            (json!({ "command": "undo_edit", "old_str": "x" }), "Omit old_str"),
        ] {
            let mut call = input.clone();
            call["path"] = "/a".into();
            let error = super::read(FormatInput::Json(call)).unwrap_err();
            assert!(error.to_string().contains(part), "{input}: {error}");
        }
        let nothing = json!({ "command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y", "file_text": "",
            "insert_line": null, "insert_text": "", "overwrite": false, "view_range": null });
        assert!(super::read(FormatInput::Json(nothing)).is_ok());
        let view = json!({ "command": "view", "path": "/a", "old_str": "x" });
        assert_eq!(super::read(FormatInput::Json(view)).unwrap().fields_of_other_commands(), ["old_str"]);
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

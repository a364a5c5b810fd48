//! The tool `outline`.

use crate::context::call::Call;
use crate::context::policy::Access;
use crate::context::syntax::{language, symbol_json, unfit};
use crate::context::{LoadedFile, walk};
use crate::model::call_handle::CallPhase;
use crate::model::raw_path::{self, RawPath};
use crate::model::reply::{Answer, counted};
use crate::session::suggest::file_not_found;
use crate::tools::aliases::{FILE_NAMES, alias};
use crate::tools::outputs::SYMBOLS_AND_PROBLEMS;
use crate::tools::search::WalkFilter;
use crate::tools::tool::{Annotations, Tool};
use crate::tools::tool_input::ToolInput;
use emendate_core::formats::{self, FormatInput};
use emendate_core::{Code, Result};
use emendate_fs::SafePath;
use emendate_syntax::{QuerySubject, SyntaxAnswer as Parsed};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

/// Symbols that a reply lists.
const LISTED_SYMBOLS_MAX: usize = 2000;
/// Levels of indentation in its text; deeper symbols have the indentation of the last level.
const INDENT_LEVELS_MAX: usize = 32;
/// Characters of a name in its text.
const NAME_CHARS_MAX: usize = 200;

/// Files of a directory that one call parses.
pub(crate) const OUTLINED_FILES_MAX: usize = 1000;

/// The input of `outline`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct OutlineInput {
    /// The absolute path of the file, or of a directory with files of known languages.
    #[serde(alias = "path")]
    file_path: String,
    /// Only these files of a directory: `*.rs`, `src/**`; a pattern that starts with `!` excludes.
    #[serde(default)]
    glob: Vec<String>,
    /// Also files and directories whose names begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Also what .gitignore and .ignore files exclude.
    #[serde(default)]
    no_ignore: bool,
}

/// The outline of one file.
struct FileOutline {
    /// A line for each symbol and each note.
    text: String,
    symbols: Vec<Value>,
    notes: Vec<String>,
    language: &'static str,
}

impl FileOutline {
    fn to_json(&self, path: &SafePath) -> Value {
        let FileOutline { symbols, notes, language, .. } = self;
        // No tag: a call that names the tag of a version counts as one that has seen its text.
        json!({ "filePath": path.shown(), "language": language, "symbols": symbols, "notes": notes })
    }
}

/// The row of the tool `outline` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "outline",
    title: "Outline of a file",
    summary: "list the definitions in a source file or a directory: functions, types, keys, with their lines",
    prompt: "\
Lists the definitions in a file of a known language, with first and last line: functions, classes, methods, keys, sections. read and edit_symbol \
take these names, joined by dots (Parser.next). For a directory, it lists those of all its files. It shows no text, so it does not count as a read.",
    annotations: Annotations::READS,
    rest: "Read parts of the file with offset and limit.",
    example: r#"{"file_path": "/work/src/main.rs"}"#,
    aliases: &[alias("file_path", FILE_NAMES)],
    outputs: &[&SYMBOLS_AND_PROBLEMS],
    input: ToolInput::new(
        |call, _, input| outline(call, input),
        || vec![schema_for!(OutlineInput), schema_for!(RawPath)],
    ),
    ..Tool::ROW
};

/// Runs the tool `outline`. Symbols shown by it do not count as read.
pub(crate) fn outline(call: Call<'_>, mut input: Value) -> Result<Answer> {
    let raw = raw_path::take(&mut input)?;
    let args: OutlineInput = formats::from_json(FormatInput::Json(input))?;
    let path = raw.as_deref().unwrap_or(Path::new(&args.file_path));
    let folder = call.store().resolve_path(path)?;
    let scope = WalkFilter::new(call.caller, &folder, &args.glob, args.hidden, args.no_ignore)?;
    if call.store().list(&folder)?.is_some() {
        return outline_directory(call, &folder, &scope);
    }
    let safe_path = call.resolve_path(path, Access::Read)?;
    let Some(opened) = call.snapshot(&safe_path, None, "")? else {
        return Err(file_not_found(call, &safe_path));
    };
    let file = outline_file(call, &safe_path, &opened, LISTED_SYMBOLS_MAX)?;
    let data = file.to_json(&safe_path);
    Ok(Answer::with_data(file.text, data))
}

/// Outlines the files below a directory whose language is known.
fn outline_directory(call: Call<'_>, folder: &SafePath, scope: &WalkFilter) -> Result<Answer> {
    let (mut text, mut files) = (String::new(), Vec::new());
    let (mut left, mut tried, mut unread, mut is_cut) = (LISTED_SYMBOLS_MAX, 0, 0, false);
    call.caller.begin(CallPhase::Reading, 0);
    let walked = walk::walk(&call, folder, scope, &mut |path| {
        call.caller.advance()?;
        // The first line, which may name an interpreter, is not read for this.
        if language(path, "").is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        if left == 0 || tried == OUTLINED_FILES_MAX {
            is_cut = true;
            return Ok(ControlFlow::Break(()));
        }
        tried += 1;
        let found = call
            .context
            .check_access(path, Access::Read)
            .and_then(|()| call.snapshot(path, None, ""))
            .and_then(|opened| opened.map(|it| outline_file(call, path, &it, left)).transpose());
        match found {
            Ok(None) => {}
            Ok(Some(file)) if file.symbols.is_empty() && file.notes.len() == 1 => {}
            Ok(Some(file)) => {
                left -= file.symbols.len();
                let gap = if text.is_empty() { "" } else { "\n" };
                let _ = write!(text, "{gap}{}\n{}", path.shown(), file.text);
                files.push(file.to_json(path));
            }
            Err(error) if matches!(error.code(), Code::CallCancelled | Code::CallTooMuchWork | Code::InternalBug) => {
                return Err(error);
            }
            Err(_) => unread += 1,
        }
        Ok(ControlFlow::Continue(()))
    })?;
    call.caller.check_cancelled()?;
    let mut notes = notes_of_directory(is_cut || walked.cut, unread, files.is_empty());
    notes.extend(walked.omissions().into_iter().map(|what| format!("Not listed: {what}.")));
    for note in &notes {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}Note: {note}");
    }
    let data = Map::from_iter([
        ("path".to_owned(), folder.shown().into()),
        ("files".to_owned(), files.into()),
        ("notes".to_owned(), notes.into()),
    ]);
    Ok(Answer { text, data, ..Answer::default() })
}

/// Returns the notes on the outline of a directory.
fn notes_of_directory(is_cut: bool, unread: usize, is_empty: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if is_cut {
        notes.push(format!(
            "The outline ended early: at most {LISTED_SYMBOLS_MAX} symbols of {OUTLINED_FILES_MAX} files are listed. Narrow the path or the glob."
        ));
    }
    if unread > 0 {
        notes.push(format!("Not listed: {} that could not be read or parsed.", counted(unread, "file")));
    }
    if is_empty {
        notes.push("There are no symbols in files of a known language here.".to_owned());
    }
    notes
}

/// Outlines a file, with at most `most` symbols.
///
/// Errors: those of a language that is not known.
fn outline_file(call: Call<'_>, path: &SafePath, opened: &LoadedFile, most: usize) -> Result<FileOutline> {
    let (answer, language) = call.grammars().ask(path, opened.snapshot.text(), QuerySubject::Outline)?;
    let Parsed::Outline(outline, error) = answer else { return Err(unfit()) };
    let mut text = String::new();
    for symbol in outline.symbols.iter().take(most) {
        // A symbol outside of its parent is listed with its full path.
        let whole = symbol.depth == 0 && symbol.path.ends_with(&format!(".{}", symbol.name));
        let title = if whole { format!("{} {}", symbol.kind, symbol.path) } else { symbol.title() };
        let title = shortened(title);
        let indent = "  ".repeat(symbol.depth.min(INDENT_LEVELS_MAX));
        let _ = writeln!(text, "{}-{}\t{indent}{title}", symbol.first, symbol.last);
    }
    let mut notes = Vec::new();
    if outline.symbols.is_empty() {
        notes.push("There are no symbols in this file.".to_owned());
    }
    let left = outline.symbols.len().saturating_sub(most);
    if left > 0 || outline.cut {
        let least = if outline.cut { "at least " } else { "" };
        notes.push(format!("The file is large: {least}{left} more symbols were found and are not shown."));
    }
    if outline.symbols.iter().take(most).any(|it| it.depth > INDENT_LEVELS_MAX) {
        notes.push(format!(
            "Symbols more than {INDENT_LEVELS_MAX} levels deep are indented like those at {INDENT_LEVELS_MAX} levels."
        ));
    }
    if let Some(error) = error {
        notes.push(format!("The file does not parse, first at line {}; symbols there may be missing.", error.line));
    }
    for note in &notes {
        let _ = writeln!(text, "Note: {note}");
    }
    Ok(FileOutline {
        text,
        symbols: outline.symbols.iter().take(most).map(symbol_json).collect(),
        notes,
        language: language.name(),
    })
}

/// Shortens a title with a very long name.
fn shortened(title: String) -> String {
    match title.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &title[..end]),
        None => title,
    }
}

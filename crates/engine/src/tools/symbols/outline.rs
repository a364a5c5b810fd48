//! The tool `outline`.

use crate::context::Context;
use crate::context::policy::Access;
use crate::context::syntax::{grammars, symbol_json, unfit};
use crate::model::call_context::CallContext;
use crate::model::raw_path;
use crate::model::reply::Answer;
use crate::session::suggest::file_not_found;
use emendate_core::Result;
use emendate_core::formats::{self, FormatInput};
use emendate_syntax::{QuerySubject, SyntaxAnswer as Parsed};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Symbols that a reply lists.
const LISTED_SYMBOLS_MAX: usize = 2000;
/// Levels of indentation in its text; deeper symbols have the indentation of the last level.
const INDENT_LEVELS_MAX: usize = 32;
/// Characters of a name in its text.
const NAME_CHARS_MAX: usize = 200;

/// The input of `outline`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct OutlineInput {
    /// The absolute path of the file.
    file_path: String,
}

/// Runs the tool `outline`. Symbols shown by it do not count as read.
pub(crate) fn outline(context: &Context, caller: &CallContext, mut input: Value) -> Result<Answer> {
    let raw = raw_path::take(&mut input)?;
    let args: OutlineInput = formats::from_json(FormatInput::Json(input))?;
    let place = context.resolve_path(raw.as_deref().unwrap_or(Path::new(&args.file_path)), Access::Read)?;
    let Some(opened) = context.snapshot(&place, None, "")? else {
        return Err(file_not_found(context, &place, caller));
    };
    let (answer, language) = grammars(context, caller).ask(&place, opened.snapshot.text(), QuerySubject::Outline)?;
    let Parsed::Outline(outline, error) = answer else { return Err(unfit()) };
    let mut text = String::new();
    for symbol in outline.symbols.iter().take(LISTED_SYMBOLS_MAX) {
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
    let left = outline.symbols.len().saturating_sub(LISTED_SYMBOLS_MAX);
    if left > 0 || outline.cut {
        let least = if outline.cut { "at least " } else { "" };
        notes.push(format!("The file is large: {least}{left} more symbols were found and are not shown."));
    }
    if outline.symbols.iter().take(LISTED_SYMBOLS_MAX).any(|it| it.depth > INDENT_LEVELS_MAX) {
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
    let data = json!({
        "filePath": place.shown(),
        "language": language.name(),
        "tag": opened.snapshot.id().tag().to_string(),
        "symbols": outline.symbols.iter().take(LISTED_SYMBOLS_MAX).map(symbol_json).collect::<Vec<Value>>(),
        "notes": notes,
    });
    let Value::Object(data) = data else { return Ok(Answer { text, ..Answer::default() }) };
    Ok(Answer { text, data, ..Answer::default() })
}

/// Shortens a title with a very long name.
fn shortened(title: String) -> String {
    match title.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &title[..end]),
        None => title,
    }
}

//! The tool `outline`.

use super::{told, unfit};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::policy::Access;
use crate::raw_path;
use crate::reply::Answer;
use emendate_core::Result;
use emendate_core::formats::{self, Input};
use emendate_syntax::{About, Answer as Parsed};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Symbols that a reply lists.
const SHOWN: usize = 2000;
/// Levels of indentation in its text; deeper symbols have the indentation of the last level.
const INDENTS: usize = 32;
/// Characters of a name in its text.
const NAME: usize = 200;

/// The input of `outline`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The absolute path of the file.
    file_path: String,
}

impl Engine {
    /// Runs the tool `outline`. Symbols shown by it do not count as read.
    pub(crate) fn outline(&self, caller: &Caller, mut input: Value) -> Result<Answer> {
        let raw = raw_path::take(&mut input)?;
        let args: Args = formats::from_json(Input::Json(input))?;
        let place = self.admit(raw.as_deref().unwrap_or(Path::new(&args.file_path)), Access::Read)?;
        let Some(opened) = self.snapshot(&place, None, "")? else {
            return Err(self.missing(&place, caller));
        };
        let (answer, language) = self.grammars(caller).ask(&place, opened.snapshot.text(), About::Outline)?;
        let Parsed::Outline(outline, error) = answer else { return Err(unfit()) };
        let mut text = String::new();
        for symbol in outline.symbols.iter().take(SHOWN) {
            // A symbol outside of its parent is listed with its full path.
            let whole = symbol.depth == 0 && symbol.path.ends_with(&format!(".{}", symbol.name));
            let title = if whole { format!("{} {}", symbol.kind, symbol.path) } else { symbol.title() };
            let title = shortened(title);
            let indent = "  ".repeat(symbol.depth.min(INDENTS));
            let _ = writeln!(text, "{}-{}\t{indent}{title}", symbol.first, symbol.last);
        }
        let mut notes = Vec::new();
        if outline.symbols.is_empty() {
            notes.push("There are no symbols in this file.".to_owned());
        }
        let left = outline.symbols.len().saturating_sub(SHOWN);
        if left > 0 || outline.cut {
            let least = if outline.cut { "at least " } else { "" };
            notes.push(format!("The file is large: {least}{left} more symbols were found and are not shown."));
        }
        if outline.symbols.iter().take(SHOWN).any(|it| it.depth > INDENTS) {
            notes.push(format!("Symbols more than {INDENTS} levels deep are indented like those at {INDENTS} levels."));
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
            "symbols": outline.symbols.iter().take(SHOWN).map(told).collect::<Vec<Value>>(),
            "notes": notes,
        });
        let Value::Object(data) = data else { return Ok(Answer { text, ..Answer::default() }) };
        Ok(Answer { text, data })
    }
}

/// Shortens a title with a very long name.
fn shortened(title: String) -> String {
    match title.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &title[..end]),
        None => title,
    }
}

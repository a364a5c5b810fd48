//! Arguments of a tool call, from JSON or XML.

use super::{UnwrappedText, json};
use crate::formats::text_formats;
use crate::formats::tool_calls::{FieldRole, role};
use serde_json::Value;

/// Fields that contain the text of the edit.
const TEXT_FIELDS: [&str; 11] = [
    "input", "patch", "diff", "cmd", "command", "patchText", "patch_text", "patch_content", "script",
    "search_replace_blocks", "searchReplaceBlocks",
];
/// Fields that contain the directory.
const DIRECTORY_FIELDS: [&str; 4] = ["directory", "workdir", "cwd", "working_directory"];
/// Fields that are irrelevant to the edit.
const IGNORED_FIELDS: [&str; 17] = [
    "explanation", "description", "instruction", "instructions", "justification", "reason", "id", "type", "call_id",
    "status", "timeout", "timeout_ms", "yield_time_ms", "max_output_tokens", "task_progress", "line_count", "login",
];

/// True for a field of a call that [`layer`] uses or may ignore.
pub(super) fn is_known(key: &str) -> bool {
    key == "format"
        || is_file(key)
        || [&TEXT_FIELDS[..], &DIRECTORY_FIELDS, &IGNORED_FIELDS].iter().any(|keys| keys.contains(&key))
}

/// True for a field with the name of the file.
fn is_file(key: &str) -> bool {
    role(key) == Some(FieldRole::Path)
}

/// True for a field of a call that is irrelevant to the edit.
pub(super) fn is_idle(key: &str) -> bool {
    IGNORED_FIELDS.contains(&key)
}

/// Unwraps the arguments of a call: exactly one text, and no unknown fields. `of` describes their origin for the note.
pub(super) fn layer(fields: impl Iterator<Item = (String, Value)>, of: &str) -> Option<UnwrappedText<'static>> {
    let mut out: Option<UnwrappedText<'static>> = None;
    let (mut file, mut directory, mut format) = (None, None, None);
    for (key, value) in fields {
        let slot = match &*key {
            key if TEXT_FIELDS.contains(&key) => {
                let found = match value {
                    Value::String(text) => UnwrappedText::new(text, format!("The field `{key}` of {of} was read.")),
                    Value::Array(words) => json::command(words)?,
                    _ => return None,
                };
                if out.replace(found).is_some() {
                    return None;
                }
                continue;
            }
            key if is_file(key) => &mut file,
            key if DIRECTORY_FIELDS.contains(&key) => &mut directory,
            "format" => &mut format,
            key if is_idle(key) => continue,
            _ => return None,
        };
        let Value::String(text) = value else { return None };
        if slot.replace(text.trim().to_owned()).is_some() {
            return None;
        }
    }
    let mut out = out?;
    out.options.file = file.filter(|file| !file.is_empty());
    out.directory = directory.filter(|directory| !directory.is_empty());
    if let Some(name) = format.filter(|name| name != "auto") {
        out.format = Some(text_formats().map(|format| format.spec().name).find(|known| *known == name)?);
    }
    Some(out)
}

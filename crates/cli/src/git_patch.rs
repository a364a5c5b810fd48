//! Diffs that `git apply` accepts as they are: names below the top of the repository, line ends as the files have them,
//! and contents that are not text.

use crate::relative_names;
use data_encoding::BASE64;
use emendate::core::print::binary_patch;
use emendate::{CallContext, ChangeScope, Engine, OperationSide, Reply};
use emendate_os::ffi::{OsStrExt as _, OsStringExt as _};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The field of a file's data with its binary patch.
pub(crate) const BYTES_FIELD: &str = "bytesPatch";
/// Maximum bytes of both versions of a file that is printed as a binary patch.
const BYTES_MAX: usize = 8 << 20;

/// The field of a file whose former content was moved to another path by the same operation.
pub(crate) const REPLACED_FIELD: &str = "replaced";

/// Returns the changed files, those marked in whose place another file was moved away.
pub(crate) fn marked_replacements(files: &[Value]) -> impl Iterator<Item = Cow<'_, Map<String, Value>>> {
    let moved = files.iter().filter(|file| file["type"] == "move").filter_map(|file| file["from"].as_str());
    let moved: HashSet<&str> = moved.collect();
    files.iter().filter_map(Value::as_object).map(move |file| {
        let path = file.get("filePath").and_then(Value::as_str);
        if path.is_none_or(|path| !moved.contains(path)) {
            return Cow::Borrowed(file);
        }
        let mut marked = file.clone();
        marked.insert(REPLACED_FIELD.to_owned(), true.into());
        Cow::Owned(marked)
    })
}

/// Returns the name of a file below the top of the repository, as bytes; `None` for a file outside of it.
pub(crate) fn name(data: &Map<String, Value>, shown: &str, raw: &str) -> Option<Vec<u8>> {
    let path = path(data, shown, raw)?;
    let below = relative_names::in_diff(&path)?;
    let bytes = below.as_os_str().as_bytes();
    let slashes = std::str::from_utf8(bytes).map(emendate_os::paths::with_slashes);
    Some(slashes.map_or_else(|_| bytes.to_vec(), |name| name.into_owned().into_bytes()))
}

/// Returns the path that fields name: by its bytes, if they cannot be shown.
fn path(data: &Map<String, Value>, shown: &str, raw: &str) -> Option<PathBuf> {
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    match text(raw) {
        Some(raw) => Some(OsString::from_vec(BASE64.decode(raw.as_bytes()).ok()?).into()),
        None => text(shown).map(PathBuf::from),
    }
}

/// Completes the diffs of a reply about operations for a program that reads them: line ends other than plain line
/// feeds, and contents that are not text.
pub(crate) fn complete(engine: &Engine, caller: &CallContext, input: &Value, reply: &mut Reply) {
    let Ok(answer) = &mut reply.result else { return };
    let id = |key: &str| input.get(key).and_then(Value::as_str);
    // The call may name the last operation by that word.
    let shown = answer.data.get("shown").and_then(|shown| shown["id"].as_str());
    let scope = match (id("id"), id("to")) {
        (Some(from), Some(to)) => ChangeScope::Between(from.to_owned(), to.to_owned()),
        (named, None) => match shown.or(named) {
            Some(id) => ChangeScope::Operation(id.to_owned()),
            None => return,
        },
        (None, Some(_)) => return,
    };
    let changes = ScopeReader { engine, caller, scope: &scope };
    let Some(files) = answer.data.get_mut("files").and_then(Value::as_array_mut) else { return };
    let kept_paths = updated_paths(files);
    for data in files.iter_mut().filter_map(Value::as_object_mut) {
        let Some(path) = path(data, "filePath", emendate::RAW_PATH) else { continue };
        let from = self::path(data, "from", "from_b64");
        if data.get("type").is_some_and(|kind| kind == "move") && from.is_some_and(|from| kept_paths.contains(&from)) {
            print_as_created(&changes, &path, data);
        } else {
            complete_file(&changes, &path, data);
        }
    }
}

/// Returns the paths of the files that were changed where they are.
fn updated_paths(files: &[Value]) -> HashSet<PathBuf> {
    let updated = files.iter().filter(|file| file["type"] == "update").filter_map(Value::as_object);
    updated.filter_map(|file| path(file, "filePath", emendate::RAW_PATH)).collect()
}

/// Prints a file that was moved from a path where another file is now as a new one: `git apply -R` cannot move it back
/// to a path that exists.
fn print_as_created(changes: &ScopeReader<'_>, path: &Path, data: &mut Map<String, Value>) {
    let Some(content) = changes.content(path, OperationSide::After).filter(|it| it.len() <= BYTES_MAX) else { return };
    data.insert("type".to_owned(), "create".into());
    data.insert("known".to_owned(), true.into());
    for key in ["from", "from_b64", "oldMode"] {
        data.shift_remove(key);
    }
    match std::str::from_utf8(&content) {
        Ok(text) => drop(data.insert("structuredPatch".to_owned(), hunks_of_new(text))),
        Err(_) => drop(data.insert(BYTES_FIELD.to_owned(), binary_patch(None, Some(&content)).into())),
    }
}

/// Returns the hunks that create a text.
fn hunks_of_new(text: &str) -> Value {
    let lines = text.split_inclusive('\n').map(|line| format!("+{}", line.strip_suffix('\n').unwrap_or(line)));
    let mut lines: Vec<String> = lines.collect();
    let count = lines.len();
    if count == 0 {
        return json!([]);
    }
    if !text.ends_with('\n') {
        lines.push("\\ No newline at end of file".to_owned());
    }
    json!([{ "oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": count, "lines": lines }])
}

/// Reads the contents of files before and after some changes.
struct ScopeReader<'a> {
    engine: &'a Engine,
    caller: &'a CallContext,
    scope: &'a ChangeScope,
}

impl ScopeReader<'_> {
    /// Returns a content; `None` for one that was not kept, which cannot be printed.
    fn content(&self, path: &Path, moment: OperationSide) -> Option<Vec<u8>> {
        self.engine.review().scope_content(self.caller, self.scope, path, moment).ok()
    }
}

/// Completes the diff of one file.
fn complete_file(changes: &ScopeReader<'_>, path: &Path, data: &mut Map<String, Value>) {
    let kind = data.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let before = if kind == "create" { Some(None) } else { changes.content(path, OperationSide::Before).map(Some) };
    let after = if kind == "delete" { Some(None) } else { changes.content(path, OperationSide::After).map(Some) };
    let (Some(before), Some(after)) = (before, after) else { return };
    let sides = [before.as_deref(), after.as_deref()];
    let is_known = data.get("known").and_then(Value::as_bool).unwrap_or(true);
    let is_text = is_known && sides.iter().flatten().all(|side| std::str::from_utf8(side).is_ok());
    if !is_text {
        let size: usize = sides.iter().flatten().map(|side| side.len()).sum();
        if before != after && size <= BYTES_MAX {
            data.insert(BYTES_FIELD.to_owned(), binary_patch(sides[0], sides[1]).into());
        }
    } else if sides.iter().flatten().any(|side| side.windows(2).any(|two| two == b"\r\n")) {
        let hunks = data.get_mut("structuredPatch").and_then(Value::as_array_mut).into_iter().flatten();
        hunks.for_each(|hunk| restore_line_ends(hunk, sides.map(Option::unwrap_or_default)));
    }
}

/// Gives the lines of a hunk the carriage returns that their files have.
fn restore_line_ends(hunk: &mut Value, sides: [&[u8]; 2]) {
    let number = |key: &str| hunk.get(key).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
    // The start of a range without lines is the line before it.
    let first = |start: &str, count: &str| number(start).saturating_sub(usize::from(number(count) > 0));
    let skipped = [first("oldStart", "oldLines"), first("newStart", "newLines")];
    let mut old = sides[0].split(|&byte| byte == b'\n').skip(skipped[0]);
    let mut new = sides[1].split(|&byte| byte == b'\n').skip(skipped[1]);
    for line in hunk.get_mut("lines").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(text) = line.as_str() else { continue };
        let raw = match text.as_bytes().first() {
            Some(b'-') => old.next(),
            Some(b'+') => new.next(),
            Some(b' ') => {
                old.next();
                new.next()
            }
            _ => continue,
        };
        if raw.is_some_and(|raw| raw.ends_with(b"\r")) && !text.ends_with('\r') {
            *line = format!("{text}\r").into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{REPLACED_FIELD, hunks_of_new, marked_replacements, restore_line_ends};
    use serde_json::json;

    #[test]
    fn file_in_the_place_of_a_moved_one_is_marked() {
        let files = [
            json!({ "filePath": "/z", "type": "update" }),
            json!({ "filePath": "/y", "type": "move", "from": "/z" }),
            json!({ "filePath": "/x", "type": "update" }),
        ];
        let marked: Vec<bool> = marked_replacements(&files).map(|file| file.contains_key(REPLACED_FIELD)).collect();
        assert_eq!(marked, [true, false, false]);
    }

    #[test]
    fn hunks_of_a_new_text_have_all_of_its_lines() {
        assert_eq!(hunks_of_new(""), json!([]));
        let hunks = hunks_of_new("a\r\n\nb");
        assert_eq!(hunks[0]["lines"], json!(["+a\r", "+", "+b", "\\ No newline at end of file"]));
        assert_eq!(hunks[0]["newLines"], 3);
    }

    #[test]
    fn lines_get_the_ends_of_their_files() {
        let mut hunk = json!({ "oldStart": 2, "oldLines": 2, "newStart": 2, "newLines": 3,
            "lines": [" b", "-c", "+x", "+y", "\\ No newline at end of file"] });
        restore_line_ends(&mut hunk, [b"a\nb\r\nc\n", b"a\nb\r\nx\r\ny"]);
        assert_eq!(hunk["lines"], json!([" b\r", "-c", "+x\r", "+y", "\\ No newline at end of file"]));
        let mut created = json!({ "oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+a"] });
        restore_line_ends(&mut created, [b"", b"a\r\n"]);
        assert_eq!(created["lines"], json!(["+a\r"]));
    }
}

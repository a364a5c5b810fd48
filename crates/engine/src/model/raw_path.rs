//! Names that JSON, or a reader's eye, cannot represent: they are passed as bytes in base64 next to `file_path`.

use data_encoding::BASE64;
use emendate_core::{Code, Error, Phrase, Result};
use emendate_fs::{SafePath, shown};
use emendate_os::ffi::{OsStrExt as _, OsStringExt as _};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The field, in calls and in replies, with a path's bytes in base64.
pub const RAW_PATH_FIELD: &str = "path_b64";

/// Fields that name files and directories.
pub(crate) const PATH_FIELDS: &[&str] = &["file_path", "notebook_path", "path", "paths", "directory"];

/// The field for schemas.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used; `take` reads it")]
pub(crate) struct RawPath {
    /// The path's bytes in base64, instead of `file_path`, for a name that is not UTF-8 or cannot be shown: copy it from a reply.
    path_b64: Option<String>,
}

/// Removes the field from an input; if there is no path next to it, adds one that displays the name.
///
/// Errors: `call.invalid` if it is not base64, or contradicts `file_path`.
pub(crate) fn take(input: &mut Value) -> Result<Option<PathBuf>> {
    take_beside(input, "file_path")
}

/// Does the same for a tool whose path field has another name.
pub(crate) fn take_beside(input: &mut Value, name: &str) -> Result<Option<PathBuf>> {
    let Some(fields) = input.as_object_mut() else { return Ok(None) };
    let field = match fields.shift_remove(RAW_PATH_FIELD) {
        None | Some(Value::Null) => return Ok(None),
        Some(field) => field,
    };
    let bytes = field.as_str().and_then(|text| BASE64.decode(text.as_bytes()).ok()).ok_or_else(|| {
        Error::new(Code::CallInvalid, "path_b64 is not base64 (with `=` at the end where it needs them).")
            .next(format!("Copy it from a reply, or omit it and give {name}."))
    })?;
    let path = PathBuf::from(OsString::from_vec(bytes));
    let words = [shown(&path), path.to_string_lossy().into_owned()];
    match fields.get(name) {
        None => {
            fields.insert(name.to_owned(), words[0].clone().into());
        }
        Some(Value::String(given)) if !words.contains(given) => {
            return Err(Error::new(Code::CallInvalid, format!("{name} and path_b64 name two files."))
                .evidence(format!("{name}: {}", shown(given)))
                .evidence(format!("path_b64: {}", words[0]))
                .next("Omit the one that is not meant."));
        }
        Some(_) => {}
    }
    Ok(Some(path))
}

/// Returns the bytes, in base64, of a path that is not UTF-8.
pub fn base64_path(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| BASE64.encode(path.as_os_str().as_bytes()))
}

/// Returns the bytes, in base64, of a path that its displayed form does not identify, e.g. with invisible characters.
pub(crate) fn base64_if_needed(path: &Path) -> Option<String> {
    let bytes = path.as_os_str().as_bytes();
    (shown(path).as_bytes() != bytes).then(|| BASE64.encode(bytes))
}

/// Adds a path's bytes to the JSON about a file, if its name alone does not identify it.
pub(crate) fn file_json(path: &Path, mut data: Value) -> Value {
    if let Some(bytes) = base64_if_needed(path) {
        data[RAW_PATH_FIELD] = bytes.into();
    }
    data
}

/// Returns the fields that identify a file in JSON.
pub(crate) fn file_fields(path: &Path) -> Map<String, Value> {
    let bytes = base64_if_needed(path).map(|bytes| (RAW_PATH_FIELD.to_owned(), bytes.into()));
    [("filePath".to_owned(), shown(path).into())].into_iter().chain(bytes).collect()
}

/// Returns the path in the JSON about a file, whatever its name.
pub fn path_of_json(file: &Map<String, Value>) -> PathBuf {
    let text = |key: &str| file.get(key).and_then(Value::as_str);
    match text(RAW_PATH_FIELD).and_then(|bytes| BASE64.decode(bytes.as_bytes()).ok()) {
        Some(bytes) => OsString::from_vec(bytes).into(),
        None => text("filePath").unwrap_or_default().into(),
    }
}

/// Creates the arguments of a call about a file with any name: the field that names it, and the given ones.
pub(crate) fn call(path: &Path, rest: Value) -> Value {
    let mut fields = Map::new();
    match base64_if_needed(path) {
        Some(bytes) => fields.insert(RAW_PATH_FIELD.to_owned(), bytes.into()),
        None => fields.insert("file_path".to_owned(), shown(path).into()),
    };
    if let Value::Object(rest) = rest {
        fields.extend(rest);
    }
    Value::Object(fields)
}

/// Creates the advice to read a file.
pub(crate) fn read(path: &SafePath, rest: Value) -> Phrase {
    Phrase::Call("read", call(path.absolute(), rest))
}

/// Returns the hint for a model on how to name the file.
pub(crate) fn hint(bytes: &str) -> String {
    format!("The name is not UTF-8; name the file by path_b64 \"{bytes}\".")
}

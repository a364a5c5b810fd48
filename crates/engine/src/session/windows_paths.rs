//! Windows paths, as models write them that saw such a machine: `src\\main.rs`. On Linux a backslash is an ordinary
//! character, so a path is converted only if nothing exists under the name as written. On Windows, it separates names,
//! and nothing is converted.

use crate::context::Context;
use crate::model::raw_path::{self, PATH_FIELDS};
use crate::session::names::exists;
use emendate_core::{FileRequest, Notes};
use emendate_fs::shown;
use emendate_os::paths::is_separator;
use serde_json::Value;
use std::path::Path;

/// Converts the names of one file of a text. The name of a new file has to begin with an existing directory, or to
/// have the usual form of a path.
pub(crate) fn read_windows_names(context: &Context, directory: &Path, file: &mut FileRequest, notes: &mut Notes) {
    let new = file.action.creates();
    // Another header of the same file has slashes, so its backslashes are ordinary characters.
    if !(new && file.alternatives.iter().any(|name| name.contains('/'))) {
        read_windows_name(context, directory, &mut file.path, new, notes);
    }
    if let Some(to) = file.action.destination_mut() {
        read_windows_name(context, directory, to, true, notes);
    }
}

/// Converts the path fields of a call. Their paths are absolute, so only the part after the last slash is examined.
pub(crate) fn read_windows_fields(context: &Context, input: &mut Value, notes: &mut Notes) {
    let Value::Object(fields) = input else { return };
    // The bytes of the name are next to it: its backslashes are those of a name that cannot be displayed.
    if fields.get(raw_path::RAW_PATH_FIELD).is_some_and(|bytes| !bytes.is_null()) {
        return;
    }
    for field in PATH_FIELDS {
        match fields.get_mut(*field) {
            Some(Value::String(path)) => read_windows_path(context, path, notes),
            Some(Value::Array(paths)) => {
                for path in paths {
                    if let Value::String(path) = path {
                        read_windows_path(context, path, notes);
                    }
                }
            }
            _ => {}
        }
    }
}

fn read_windows_path(context: &Context, path: &mut String, notes: &mut Notes) {
    // After this check for a backslash, a call with usual paths costs nothing.
    if !path.contains('\\') {
        return;
    }
    let Some((directory, name)) = path.rsplit_once('/') else { return };
    let (directory, mut name) = (format!("{directory}/"), name.to_owned());
    if read_windows_name(context, Path::new(&directory), &mut name, true, notes) {
        *path = directory + &name;
    }
}

/// Replaces backslashes in `name`, which is relative to `directory`, if that is intended; notes it and returns
/// true.
fn read_windows_name(context: &Context, directory: &Path, name: &mut String, new: bool, notes: &mut Notes) -> bool {
    if !name.contains('\\') || name.starts_with('\\') || is_separator(b'\\') {
        return false;
    }
    let slashed = name.replace('\\', "/");
    // With both kinds of slashes, only an existing file shows that they mean the same.
    if name.contains('/') && !exists(context, directory, &slashed) {
        return false;
    }
    let first = slashed.split('/').next().unwrap_or_default();
    if exists(context, directory, name)
        || (new && !exists(context, directory, &slashed) && !exists(context, directory, first) && !is_usual(&slashed))
    {
        return false;
    }
    notes.push(format!("{} was read as {}: backslashes were read as slashes.", shown(&*name), shown(&slashed)));
    *name = slashed;
    true
}

/// True for a path of ordinary names whose last component has an extension.
fn is_usual(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    path.split('/').all(|part| {
        !part.is_empty()
            && !part.contains(':')
            && part.chars().all(|ch| ch.is_alphanumeric() || "._- +()[]@".contains(ch))
    }) && last.rsplit_once('.').is_some_and(|(_, end)| (1..=12).contains(&end.len()))
}

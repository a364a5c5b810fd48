//! Edits of text in memory: functions from texts to texts, without a file system, a session or a clock.
//!
//! They use the parsers, the matching cascade and the resolver of the engine, so that a patch has the same effect on a
//! text as it has on a file with that text. Engine features that need a disk or an earlier read are absent: encodings,
//! merges with a changed file, formatters, grammars. A notebook is edited as the JSON text that it is, unless the patch
//! names cells.

mod delta;
mod file_work;
mod files;
mod options;
mod outcome;
mod place;
mod planner;
mod similarity;
#[cfg(test)]
mod tests;
mod text;

pub use delta::{PatchText, TextDiff, convert, diff};
pub use files::{apply_files, named_files};
pub use options::{ApplyLimits, ApplyOptions, ArgumentStyle};
pub use outcome::{AppliedFiles, AppliedText, ChangedFile, ChangedSpan, FileChangeKind, NewText};
pub use similarity::{line_similarity, similarity};
pub use text::{apply, apply_in_parts, edit};

use crate::advice::Vocabulary;
use crate::error::Result;
use crate::work::{self, Meter};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Runs a call within its limit of work. The work of a nested call counts for the outer one.
fn limited<T>(options: &ApplyOptions, call: impl FnOnce() -> Result<T>) -> Result<T> {
    let is_outermost = work::current().is_none();
    let _entered = is_outermost.then(|| Meter::new(options.limits.work_steps, Arc::default()).enter());
    let done = call().and_then(|done| work::check().map(|()| done));
    done.map_err(|error| error.rendered_for(&ApiNames(options.argument_style)))
}

/// The names of a call's fields as arguments and options of these functions, for advice in errors.
struct ApiNames(ArgumentStyle);

impl ApiNames {
    /// Returns the name of an argument or option.
    fn argument(&self, field: &str) -> Option<&'static str> {
        let [builder, python, javascript] = match field {
            "old_string" => ["old"; 3],
            "new_string" => ["new"; 3],
            "replace_all" => ["replace_all", "replace_all", "replaceAll"],
            "overwrite" => ["overwrite"; 3],
            "format" => ["format"; 3],
            "to" => ["to"; 3],
            "reverse" => ["reverse"; 3],
            "allow_invalid" => ["placeholders_meant", "placeholders_meant", "placeholdersMeant"],
            MAX_BYTES => ["limits.input_bytes", "max_bytes", "maxBytes"],
            _ => return None,
        };
        Some(match self.0 {
            ArgumentStyle::Builder => builder,
            ArgumentStyle::Python => python,
            ArgumentStyle::JavaScript => javascript,
        })
    }
}

/// The limit of bytes, which is a field of no tool.
pub(super) const MAX_BYTES: &str = "max_bytes";

impl Vocabulary for ApiNames {
    fn tool(&self, _: &str) -> Option<String> {
        None
    }

    fn field(&self, name: &str) -> Option<String> {
        self.argument(name).map(str::to_owned)
    }

    fn field_of(&self, _: &str, _: &str) -> Option<String> {
        None
    }

    fn quoted(&self, name: &str) -> Option<String> {
        self.argument(name).map(|name| format!("`{name}`"))
    }

    fn set(&self, name: &str, value: &Value) -> Option<String> {
        let name = self.argument(name)?;
        Some(match (self.0, value) {
            (ArgumentStyle::Builder, value) => format!("`{name}({value})`"),
            (ArgumentStyle::Python, Value::Bool(true)) => format!("`{name}=True`"),
            (ArgumentStyle::Python, Value::Bool(false)) => format!("`{name}=False`"),
            (ArgumentStyle::Python, value) => format!("`{name}={value}`"),
            (ArgumentStyle::JavaScript, value) => format!("`{name}: {value}`"),
        })
    }

    fn call(&self, _: &str, _: &Map<String, Value>) -> Option<String> {
        None
    }

    fn counts_as_read(&self) -> bool {
        false
    }
}

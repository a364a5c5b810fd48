//! Validation settings, and the schemas of files.

use crate::context::config::file::SchemaEntry as Row;
use crate::context::config::rule::{PathRule, RuleSource, invalid};
use crate::model::call_context::OptionValue;
use emendate_core::Result;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The reaction to an edit after which a file no longer parses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strictness {
    /// No validation.
    Off,
    /// The file is written, with a warning.
    Warn,
    /// The edit is refused.
    #[default]
    Refuse,
}

impl OptionValue for Strictness {
    const NAMED_VALUES: &'static [(&'static str, Strictness)] =
        &[("refuse", Strictness::Refuse), ("warn", Strictness::Warn), ("off", Strictness::Off)];
}

/// A schema for some files.
#[derive(Clone, Debug)]
pub(crate) struct FileSchema {
    pub(crate) files: PathRule,
    /// The schema file.
    pub(crate) path: PathBuf,
    /// The user's own configuration names it: it may lie outside the roots.
    pub(crate) own: bool,
}

impl FileSchema {
    /// Errors: `call.invalid` for an invalid pattern or path.
    pub(super) fn new(row: &Row, source: RuleSource<'_>) -> Result<FileSchema> {
        if row.schema.is_empty() {
            return Err(invalid(source.origin, "schemas.schema is empty"));
        }
        if row.schema.contains("://") {
            let what = format!("schemas.schema: `{}` is not a file; nothing is fetched", row.schema);
            return Err(invalid(source.origin, &what));
        }
        let own = source.base.is_none();
        let folder = source.base.or_else(|| Path::new(source.origin).parent()).unwrap_or(Path::new(""));
        Ok(FileSchema { files: PathRule::new(&row.files, source)?, path: folder.join(&row.schema), own })
    }
}

/// Loads a file of the user's own, which may lie outside the roots.
///
/// Errors: the reason, as part of a sentence.
pub type UserFileLoader = dyn Fn(&Path) -> Result<String, String> + Send + Sync;

/// The loader, if there is one.
#[derive(Clone, Default)]
pub(super) struct UserFiles(pub(super) Option<Arc<UserFileLoader>>);

impl fmt::Debug for UserFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Own" } else { "none" })
    }
}

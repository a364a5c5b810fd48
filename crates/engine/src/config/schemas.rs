//! Validation settings, and the schemas of files.

use super::file::Schema as Row;
use super::rule::{Rule, Source, invalid};
use crate::caller::Word;
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

impl Word for Strictness {
    const WORDS: &'static [(&'static str, Strictness)] =
        &[("refuse", Strictness::Refuse), ("warn", Strictness::Warn), ("off", Strictness::Off)];
}

/// A schema for some files.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) files: Rule,
    /// The schema file.
    pub(crate) path: PathBuf,
    /// The user's own configuration names it: it may lie outside the roots.
    pub(crate) own: bool,
}

impl Schema {
    /// Errors: `call.invalid` for an invalid pattern or path.
    pub(super) fn new(row: &Row, source: Source<'_>) -> Result<Schema> {
        if row.schema.is_empty() {
            return Err(invalid(source.origin, "schemas.schema is empty"));
        }
        if row.schema.contains("://") {
            let what = format!("schemas.schema: `{}` is no file; nothing is fetched", row.schema);
            return Err(invalid(source.origin, &what));
        }
        let own = source.base.is_none();
        let folder = source.base.or_else(|| Path::new(source.origin).parent()).unwrap_or(Path::new(""));
        Ok(Schema { files: Rule::new(&row.files, source)?, path: folder.join(&row.schema), own })
    }
}

/// Loads a file of the user's own, which may lie outside the roots.
///
/// Errors: the reason, as part of a sentence.
pub type OwnFiles = dyn Fn(&Path) -> Result<String, String> + Send + Sync;

/// The loader, if there is one.
#[derive(Clone, Default)]
pub(super) struct Own(pub(super) Option<Arc<OwnFiles>>);

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Own" } else { "none" })
    }
}

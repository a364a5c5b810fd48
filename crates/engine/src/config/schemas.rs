//! What results must be, and which schemas they have to fit.

use super::file::Schema as Row;
use super::rule::{Rule, Source, invalid};
use crate::caller::Word;
use emendate_core::Result;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What becomes of an edit after which a file does not read any more as what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strictness {
    /// Nothing is looked at.
    Off,
    /// It is written, and told.
    Warn,
    /// It is refused.
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
    /// The file that it is in.
    pub(crate) path: PathBuf,
    /// A user's own configuration names it: it may lie outside the roots.
    pub(crate) own: bool,
}

impl Schema {
    /// Errors: `call.invalid` for what is no pattern and no path.
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

/// Gives the text of a file of the user's own, which may lie outside the roots.
///
/// Errors: why not, as part of a sentence.
pub type OwnFiles = dyn Fn(&Path) -> Result<String, String> + Send + Sync;

/// The same where there is one.
#[derive(Clone, Default)]
pub(super) struct Own(pub(super) Option<Arc<OwnFiles>>);

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Own" } else { "none" })
    }
}

//! Paths of which a directory is a file or a link by now: nothing is there, and a plan may make the directory again.

use crate::context::Context;
use crate::context::history_stores::log_path;
use emendate_core::{Code, Result};
use emendate_fs::SafePath;
use std::path::Path;

impl Context {
    /// Resolves a path of the log within the sandbox, without following a link in its last component. The policy is not
    /// checked.
    pub(crate) fn resolve_logged(&self, path: &[u8]) -> Result<SafePath> {
        let path = log_path(path);
        match self.store().resolve_no_follow(path) {
            Err(error) if error.code() == Code::PathInvalid => self.resolve_below_file(path).ok_or(error),
            other => other,
        }
    }

    /// Resolves a path below a file where a directory was, or is to be. The policy is not checked.
    pub(crate) fn resolve_below_file(&self, path: &Path) -> Option<SafePath> {
        let resolved = |above| Some((above, self.store().resolve_no_follow(above).ok()?));
        let (above, file) = path.ancestors().skip(1).find_map(resolved)?;
        self.store().resolve_below(&file, path.strip_prefix(above).ok()?).ok()
    }

    /// Resolves a path below a link where a directory was, without following the link; `None` if there is no such link.
    /// The policy is not checked.
    pub(crate) fn resolve_below_link(&self, path: &Path) -> Option<SafePath> {
        let named = |above: &Path| self.link_at(above).filter(|link| link.absolute() == above);
        // The highest one: the path has no entry behind it.
        let link = path.ancestors().skip(1).filter_map(named).last()?;
        self.store().resolve_below(&link, path.strip_prefix(link.absolute()).ok()?).ok()
    }

    /// Returns the link at a path.
    pub(crate) fn link_at(&self, path: &Path) -> Option<SafePath> {
        let place = self.store().resolve_no_follow(path).ok()?;
        matches!(self.store().read_link(&place), Ok(Some(_))).then_some(place)
    }
}

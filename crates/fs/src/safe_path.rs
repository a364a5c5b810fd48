//! Paths that were resolved beneath a root.

use std::path::{Path, PathBuf};

/// A path that was resolved beneath a root and contains no symbolic links. Only a [`Store`](crate::Store) creates one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SafePath {
    root: usize,
    relative: PathBuf,
    absolute: PathBuf,
    asked: PathBuf,
    via_link: Option<PathBuf>,
}

impl SafePath {
    pub(crate) fn new(
        root: usize,
        canonical: &Path,
        relative: PathBuf,
        asked: &Path,
        via_link: Option<PathBuf>,
    ) -> SafePath {
        // Joining an empty path would append a slash to the root.
        let absolute = if relative.as_os_str().is_empty() { canonical.to_owned() } else { canonical.join(&relative) };
        SafePath { root, relative, absolute, asked: asked.to_owned(), via_link }
    }

    /// Index into [`Store::roots`](crate::Store::roots).
    pub fn root(&self) -> usize {
        self.root
    }

    /// Resolved path relative to the root: no `.`, no `..`, no links. Empty for the root itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// The canonical root joined with [`SafePath::relative`].
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// [`SafePath::absolute`] for messages: on one line, with bytes that are not UTF-8 as `\xNN`.
    pub fn shown(&self) -> String {
        crate::error::show(&self.absolute)
    }

    /// The path that the caller named.
    pub fn requested(&self) -> &Path {
        &self.asked
    }

    /// Absolute path of the first symbolic link met during resolution, if any.
    pub fn via_link(&self) -> Option<&Path> {
        self.via_link.as_deref()
    }
}

/// A directory that the store may access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootInfo {
    /// The directory as the caller gave it.
    pub given: PathBuf,
    /// The same directory with every link resolved.
    pub canonical: PathBuf,
}

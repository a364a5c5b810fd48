//! Paths that passed the sandbox.

use std::path::{Path, PathBuf};

/// A path that passed the sandbox: beneath a root, no link on the way any more. Only a [`Store`](crate::Store) makes one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    root: usize,
    relative: PathBuf,
    absolute: PathBuf,
    asked: PathBuf,
    via_link: Option<PathBuf>,
}

impl Place {
    pub(crate) fn new(
        (root, canonical): (usize, &Path),
        relative: PathBuf,
        asked: &Path,
        via_link: Option<PathBuf>,
    ) -> Place {
        // Joining an empty path would leave a slash at the end of the root.
        let absolute = if relative.as_os_str().is_empty() { canonical.to_owned() } else { canonical.join(&relative) };
        Place { root, relative, absolute, asked: asked.to_owned(), via_link }
    }

    /// Index into [`Store::roots`](crate::Store::roots).
    pub fn root(&self) -> usize {
        self.root
    }

    /// Resolved path relative to the root: no `.`, no `..`, no links. Empty for the root itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// The canonical root joined with [`Place::relative`].
    pub fn absolute(&self) -> &Path {
        &self.absolute
    }

    /// [`Place::absolute`] for messages: one line whatever the name holds, bytes that are no UTF-8 as `\xNN`.
    pub fn shown(&self) -> String {
        crate::fault::show(&self.absolute)
    }

    /// What the caller named.
    pub fn asked(&self) -> &Path {
        &self.asked
    }

    /// Absolute path of the first symbolic link met on the way, if there was one.
    pub fn via_link(&self) -> Option<&Path> {
        self.via_link.as_deref()
    }
}

/// One folder that the store may reach into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootInfo {
    /// The folder as the store was given it.
    pub given: PathBuf,
    /// The same folder with every link resolved.
    pub canonical: PathBuf,
}

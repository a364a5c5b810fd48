//! A tree while the operations of a patch are applied one after another.

use super::CodexPathState;
use std::collections::{HashMap, HashSet};

/// The tree that `look` returns, with the changes so far.
pub(super) struct CodexTree<L> {
    look: L,
    /// Files written (with their bytes) and removed.
    files: HashMap<String, Option<Vec<u8>>>,
    /// Folders that exist because something was written below them.
    folders: HashSet<String>,
}

impl<L: Fn(&str) -> CodexPathState> CodexTree<L> {
    pub(super) fn new(look: L) -> CodexTree<L> {
        CodexTree { look, files: HashMap::new(), folders: HashSet::new() }
    }

    pub(super) fn look(&self, path: &str) -> CodexPathState {
        match self.files.get(path) {
            Some(Some(bytes)) => return CodexPathState::File(bytes.clone()),
            Some(None) if !self.folders.contains(path) => return CodexPathState::Missing,
            _ if self.folders.contains(path) => return CodexPathState::Directory,
            _ => {}
        }
        for above in above(path) {
            match self.files.get(above) {
                Some(Some(_)) => return CodexPathState::Blocked,
                Some(None) if !self.folders.contains(above) => return CodexPathState::Missing,
                _ => {}
            }
        }
        (self.look)(path)
    }

    pub(super) fn write(&mut self, path: &str, bytes: Vec<u8>) {
        self.folders.extend(above(path).map(str::to_owned));
        self.files.insert(path.to_owned(), Some(bytes));
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.files.insert(path.to_owned(), None);
    }
}

/// The folders above a path, the nearest first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rfind('/').map(|at| &path[..at])).skip(1).filter(|it| !it.is_empty())
}

/// Returns the absolute path of a name, without `.`, `..` and doubled slashes; links are not resolved.
pub(super) fn absolute(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let start = if name.starts_with('/') { "" } else { folder };
    for part in start.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

//! Runs the engine, whose output must be the result that the patch means.

use crate::tree::{self, Tree};
use emendate::fs::Durability;
use emendate::{CallContext, Config, Engine, Reply, StateLocation};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// A folder for the engine to work in.
pub struct Ours {
    root: PathBuf,
    _dir: Option<tempfile::TempDir>,
}

impl Ours {
    /// Creates a temporary folder.
    ///
    /// Errors: from the disk.
    pub fn new() -> io::Result<Ours> {
        let dir = tempfile::tempdir()?;
        Ok(Ours { root: dir.path().canonicalize()?.join("tree"), _dir: Some(dir) })
    }

    /// Uses a folder that another tool uses, too.
    pub fn within(folder: &Path) -> Ours {
        Ours { root: folder.to_owned(), _dir: None }
    }

    /// Calls `apply` with these fields after reading every file; returns the reply and the resulting tree.
    ///
    /// Errors: from the disk, or if a refused call changes files.
    pub fn apply(&self, before: &Tree, text: &str, fields: Value) -> io::Result<(Reply, Tree)> {
        let mut input = fields;
        input["input"] = text.into();
        input["directory"] = self.root.to_string_lossy().into();
        self.call(before, "apply", &input)
    }

    /// Writes a file with `write` after reading it; returns the reply and the resulting tree.
    ///
    /// Errors: as of [`Ours::apply`].
    pub fn write(&self, before: &Tree, path: &str, text: &str) -> io::Result<(Reply, Tree)> {
        self.call(before, "write", &json!({ "file_path": self.root.join(path), "content": text }))
    }

    fn call(&self, before: &Tree, tool: &str, input: &Value) -> io::Result<(Reply, Tree)> {
        tree::put(&self.root, before)?;
        let config = Config::default().with_durability(Durability::None);
        let engine = Engine::open(std::slice::from_ref(&self.root), StateLocation::Memory, config);
        let engine = engine.map_err(|error| io::Error::other(error.to_string()))?;
        let caller = CallContext { cwd: Some(self.root.clone()), ..CallContext::default() };
        for path in before.keys() {
            engine.call(&caller, "read", json!({ "file_path": self.root.join(path) }));
        }
        let reply = engine.call(&caller, tool, input.clone());
        let after = tree::take(&self.root)?;
        if reply.result.is_err() && after != *before {
            return Err(io::Error::other(format!("a refused call left something behind\n{input}\n{}", reply.text())));
        }
        Ok((reply, after))
    }
}

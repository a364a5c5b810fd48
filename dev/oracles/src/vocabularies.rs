//! Counts tokens with the vocabularies of common models, which npm packages ship.

use crate::{feed, install};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The vocabularies. The others are compared with the first one.
pub const NAMES: &[&str] = &["gpt4o", "gpt4", "claude", "llama3", "qwen3", "deepseek_v3", "gemma3"];
const VERSION: &str = "3.7.2";

/// Reads packages and texts as JSON and prints the number of tokens of each text in each vocabulary.
const SCRIPT: &str = "
const { createRequire } = require('node:module');
const { packages, texts } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const counts = packages.map(([folder, name]) => {
  const tokenizer = createRequire(folder)(name).fromPreTrained();
  return texts.map((text) => tokenizer.encode(text, { add_special_tokens: false }).length);
});
process.stdout.write(JSON.stringify(counts));
";

/// The installed vocabularies.
pub struct Vocabularies {
    folder: PathBuf,
}

impl Vocabularies {
    /// Installs missing vocabularies below `peers`.
    ///
    /// Errors: from npm, the network or the disk.
    pub fn install(peers: &Path) -> io::Result<Vocabularies> {
        let installed = Vocabularies { folder: std::path::absolute(peers.join("vocabularies"))? };
        for name in NAMES {
            let (folder, file) = (installed.folder.join(name), installed.file(name));
            install::npm(&folder, &[&format!("{}@{VERSION}", package(name))], || file.is_file())?;
        }
        Ok(installed)
    }

    /// Returns the tokenizer file of a vocabulary.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("node_modules").join(package(name)).join("models/tokenizer.json")
    }

    /// Counts the tokens of every text in every vocabulary, in the order of [`NAMES`].
    ///
    /// Errors: if node is missing or cannot load the packages.
    pub fn count(&self, texts: &[String]) -> io::Result<Vec<Vec<usize>>> {
        // Node resolves modules relative to a file, which need not exist.
        let packages = NAMES.iter().map(|name| (self.folder.join(name).join("from.js"), package(name)));
        let input = serde_json::json!({ "packages": packages.collect::<Vec<_>>(), "texts": texts });
        let done = feed(Command::new("node").args(["-e", SCRIPT]), &input.to_string())?;
        if !done.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&done.stderr)));
        }
        let counts: Vec<Vec<usize>> = serde_json::from_value(serde_json::from_slice::<Value>(&done.stdout)?)?;
        Ok(counts)
    }
}

fn package(name: &str) -> String {
    format!("@lenml/tokenizer-{name}")
}

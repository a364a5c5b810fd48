//! Runs @oh-my-pi/hashline from npm in a warm bun process that makes edits in memory.

use crate::exact::scratch;
use crate::peers;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The measured package, and the runtime for it.
pub(super) const PACKAGES: &[&str] = &["@oh-my-pi/hashline@18.1.5", "bun@1.4.5"];

/// A running peer process.
pub(super) struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Installs the packages on first use and starts the process.
    ///
    /// Errors: from npm, the network or the disk.
    pub(super) fn start() -> Result<Peer, String> {
        let folder = installed()?;
        let script = folder.join("hashline.ts");
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/hashline.ts");
        // Modules are resolved relative to the directory of the script.
        fs::copy(here, &script).map_err(|error| error.to_string())?;
        let mut bun = Command::new(folder.join("node_modules/.bin/bun"));
        let bun = bun.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = bun.spawn().map_err(|error| format!("bun: {error}"))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("no pipes".to_owned());
        };
        Ok(Peer { process, input, output: BufReader::new(output) })
    }

    fn ask(&mut self, what: &Value) -> Value {
        let mut line = String::new();
        let done = writeln!(self.input, "{what}").and_then(|()| self.output.read_line(&mut line));
        assert!(done.is_ok_and(|read| read > 0), "the peer has exited");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Loads a file into the peer.
    pub(super) fn load(&mut self, name: &str, text: &str) {
        let file = scratch().join("hashline.txt");
        fs::write(&file, text).unwrap_or_else(|error| panic!("{error}"));
        self.ask(&json!({ "do": "load", "name": name, "file": file }));
    }

    /// Makes edits in order; returns their time, and the reason if the last one was refused.
    pub(super) fn edit(&mut self, name: &str, patches: &[String]) -> (Duration, Option<String>) {
        let answer = self.ask(&json!({ "do": "edit", "name": name, "patches": patches }));
        let time = Duration::from_secs_f64(answer["ns"].as_f64().unwrap_or_default() / 1e9);
        (time, answer["error"].as_str().map(str::to_owned))
    }

    /// Returns the tag of the current file.
    pub(super) fn tag(&mut self, name: &str) -> String {
        self.ask(&json!({ "do": "tag", "name": name }))["tag"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn installed() -> Result<PathBuf, String> {
    let folder = peers::folder().join("hashline");
    // This file is written last, so a directory without it is incomplete.
    let made = folder.join("made");
    let holds = PACKAGES.join("\n");
    if fs::read_to_string(&made).is_ok_and(|text| text == holds) {
        return Ok(folder);
    }
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&folder).args(PACKAGES);
    let done = npm.stdin(Stdio::null()).output().map_err(|error| format!("npm: {error}"))?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    fs::write(&made, holds).map_err(|error| error.to_string())?;
    Ok(folder)
}

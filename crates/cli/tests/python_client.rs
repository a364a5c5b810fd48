//! The MCP server, driven by the real Python client in modern, legacy and auto mode (`tests/mcp/run.py`). Sets up what it
//! needs in a virtual environment under `target/`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    reason = "this test starts another program's interpreter"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// The interpreter of an environment that has the packages of `requirements`; made when there is none for this list.
fn python(target: &Path, requirements: &Path) -> PathBuf {
    let environment = target.join("python");
    let (python, mark) = (environment.join("bin/python"), environment.join("installed.txt"));
    let wanted = std::fs::read_to_string(requirements).unwrap_or_else(|error| panic!("{error}"));
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return python;
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment));
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements));
    std::fs::write(&mark, wanted).unwrap_or_else(|error| panic!("{error}"));
    python
}

#[test]
fn the_real_client_is_content() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let emend = Path::new(env!("CARGO_BIN_EXE_emend"));
    let target = emend.ancestors().nth(2).unwrap_or(&root).to_owned();
    let python = python(&target, &root.join("tests/mcp/requirements.txt"));
    run(Command::new(python).arg(root.join("tests/mcp/run.py")).arg(emend).env("PYTHONDONTWRITEBYTECODE", "1"));
}

//! The MCP server, driven by the real Python client in modern, legacy and auto mode (`tests/mcp/run.py`), and the
//! grammars, read by Lark (`tests/mcp/grammars.py`). Sets up what it needs in a virtual environment under `target/`.

use crate::bed::programs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Runs a script of `tests/mcp` against the built program; the tests of this file share one environment.
fn script(name: &str) {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp");
    let emend = Path::new(env!("CARGO_BIN_EXE_emend"));
    let install = || programs::python("python", &tests.join("requirements.txt")).join("bin/python");
    let python = PYTHON.get_or_init(install);
    programs::run(Command::new(python).arg(tests.join(name)).arg(emend).env("PYTHONDONTWRITEBYTECODE", "1"));
}

#[test]
fn the_real_client_is_content() {
    script("run.py");
}

#[test]
fn the_grammars_take_what_the_prompts_teach() {
    script("grammars.py");
}

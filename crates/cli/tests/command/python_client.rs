//! The MCP server, driven by the real Python client in modern, legacy and auto mode (`tests/mcp/run.py`), and the
//! grammars, read by Lark (`tests/mcp/grammars.py`). Sets up what it needs in a virtual environment under `target/`.

use crate::workspace::programs;
use std::path::Path;
use std::process::Command;

/// Runs a script of `tests/mcp` against the built program.
fn script(name: &str) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp");
    let emend = Path::new(env!("CARGO_BIN_EXE_emend"));
    let Some(python) = programs::python("python", &tests.join("requirements.txt")) else { return };
    programs::run(
        Command::new(python.join("bin/python")).arg(tests.join(name)).arg(emend).env("PYTHONDONTWRITEBYTECODE", "1"),
    );
}

#[test]
fn the_real_client_is_content() {
    script("run.py");
}

#[test]
fn the_grammars_take_what_the_prompts_teach() {
    script("grammars.py");
}

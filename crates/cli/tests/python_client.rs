//! The MCP server, driven by the real Python client in modern, legacy and auto mode (`tests/mcp/run.py`), and the
//! grammars, read by Lark (`tests/mcp/grammars.py`). Sets up what it needs in a virtual environment under `target/`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    reason = "this test starts another program's interpreter"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// The interpreter of an environment that has the packages of `requirements`; made when there is none for this list.
fn install(target: &Path, requirements: &Path) -> PathBuf {
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

/// Runs a script of `tests/mcp` against the built program; the tests of this file share one environment.
fn script(name: &str) {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp");
    let emend = Path::new(env!("CARGO_BIN_EXE_emend"));
    let target = emend.ancestors().nth(2).unwrap_or(&tests);
    let python = PYTHON.get_or_init(|| install(target, &tests.join("requirements.txt")));
    run(Command::new(python).arg(tests.join(name)).arg(emend).env("PYTHONDONTWRITEBYTECODE", "1"));
}

#[test]
fn the_real_client_is_content() {
    script("run.py");
}

#[test]
fn the_grammars_take_what_the_prompts_teach() {
    script("grammars.py");
}

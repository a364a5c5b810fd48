//! Programs of others that tests need, installed below `target/`.
#![allow(clippy::panic, reason = "what cannot be installed fails the test, in words")]

use oracles::install;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Runs a command that must work.
pub(crate) fn run(command: &mut Command) {
    let status = command.status();
    assert!(status.as_ref().is_ok_and(ExitStatus::success), "{command:?}: {status:?}");
}

/// The folder that this program was built into: `target`.
pub(crate) fn target() -> PathBuf {
    let emend = Path::new(env!("CARGO_BIN_EXE_emend"));
    emend.ancestors().nth(2).unwrap_or(emend).to_owned()
}

/// A virtual environment with the packages of a list of requirements.
pub(crate) fn python(name: &str, requirements: &Path) -> PathBuf {
    let folder = target().join(name);
    install::python(&folder, requirements).unwrap_or_else(|error| panic!("{error}"));
    folder
}

/// A folder with these packages of npm; `program` is one that must come with them.
pub(crate) fn npm(name: &str, packages: &[&str], program: &str) -> PathBuf {
    let folder = target().join(name);
    let programs = folder.join("node_modules/.bin");
    install::npm(&folder, packages, || programs.join(program).exists()).unwrap_or_else(|error| panic!("{error}"));
    programs
}

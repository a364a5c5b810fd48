//! External programs that tests need, installed below `target/`.

use external::{install, or_skip};
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

/// A virtual environment with the packages of a list of requirements; `None` if the test is skipped.
pub(crate) fn python(name: &str, requirements: &Path) -> Option<PathBuf> {
    let folder = target().join(name);
    or_skip(install::python(&folder, requirements))?;
    Some(folder)
}

/// A folder with these packages of npm, of which `program` is one; `None` if the test is skipped.
pub(crate) fn npm(name: &str, packages: &[&str], program: &str) -> Option<PathBuf> {
    let folder = target().join(name);
    let programs = folder.join("node_modules/.bin");
    or_skip(install::npm(&folder, packages, || programs.join(program).exists()))?;
    Some(programs)
}

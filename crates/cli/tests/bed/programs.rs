//! Programs of others that tests need, installed below `target/`.

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

/// A folder below `target/` that has what a list names; `install` is called where there is none for this list.
fn kept(name: &str, list: &Path, install: impl FnOnce(&Path)) -> PathBuf {
    let folder = target().join(name);
    let mark = folder.join("installed.txt");
    let wanted = std::fs::read_to_string(list).unwrap();
    if !std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        install(&folder);
        std::fs::write(&mark, wanted).unwrap();
    }
    folder
}

/// A virtual environment with the packages of a list of requirements.
pub(crate) fn python(name: &str, requirements: &Path) -> PathBuf {
    kept(name, requirements, |environment| {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment));
        let python = environment.join("bin/python");
        run(Command::new(python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements));
    })
}

/// A folder with the packages of a `package.json`.
pub(crate) fn npm(name: &str, package: &Path) -> PathBuf {
    kept(name, package, |folder| {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::copy(package, folder.join("package.json")).unwrap();
        run(Command::new("npm").args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(folder));
    })
}

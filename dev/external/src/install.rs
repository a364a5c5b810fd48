//! External programs, installed below `target/` from the registries where their packages are published: once for a list
//! of packages, by one process at a time, and again after a failure of the network.

use crate::never_skips;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Pauses before further attempts where a test must not be skipped.
const PAUSES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(30)];
/// Time for which a failed installation is not repeated where tests may be skipped.
const FAILURE_KEPT: Duration = Duration::from_secs(600);

/// Installs the packages of a list in a folder, unless that list has been installed there: `install` begins with an
/// empty folder.
///
/// Errors: no network, no disk, no program that installs; as a text for the person who set up the machine.
pub fn once(folder: &Path, list: &str, install: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    let lock = File::create(folder.with_extension("lock"))?;
    lock.lock()?;
    let mark = folder.join("installed.txt");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == list) {
        return Ok(());
    }
    let failed = folder.with_extension("failed");
    if !never_skips()
        && let Some(reason) = recent(&failed)
    {
        return Err(io::Error::other(reason));
    }
    let afresh = || {
        // The incomplete result of an earlier attempt would be in the way.
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir(folder)?,
        }
        install(folder)
    };
    let mut done = afresh();
    let pauses = if never_skips() { &PAUSES[..] } else { &[] };
    for pause in pauses {
        if done.is_ok() {
            break;
        }
        thread::sleep(*pause);
        done = afresh();
    }
    if let Err(error) = done {
        let names = list.split_whitespace().collect::<Vec<_>>().join(", ");
        let reason = format!("{names} cannot be installed (is there a network?)\n{error}");
        fs::write(failed, &reason)?;
        return Err(io::Error::other(reason));
    }
    fs::write(mark, list)
}

/// Returns the reason of a failure that is not older than [`FAILURE_KEPT`].
fn recent(failed: &Path) -> Option<String> {
    let age = fs::metadata(failed).ok()?.modified().ok()?.elapsed().ok()?;
    (age < FAILURE_KEPT).then(|| fs::read_to_string(failed).ok()).flatten()
}

/// The number of further attempts that a package manager makes.
fn retries() -> &'static str {
    if never_skips() { "5" } else { "0" }
}

/// Installs packages of npm, each with its version, and checks with `look` that they are complete: npm may omit
/// optional packages.
///
/// Errors: those of [`once`].
pub fn npm(folder: &Path, packages: &[&str], look: impl Fn() -> bool) -> io::Result<()> {
    once(folder, &packages.join("\n"), |folder| {
        let options = ["--no-audit", "--no-fund", "--no-save", "--fetch-timeout=60000", "--prefix"];
        let retries = format!("--fetch-retries={}", retries());
        run(Command::new("npm").args(["install", &retries]).args(options).arg(folder).args(packages))?;
        if look() { Ok(()) } else { Err(io::Error::other("npm was content, but has not installed what was asked for")) }
    })
}

/// Makes a virtual environment with the packages of a list of requirements.
///
/// Errors: those of [`once`].
pub fn python(folder: &Path, requirements: &Path) -> io::Result<()> {
    once(folder, &fs::read_to_string(requirements)?, |folder| {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let options =
            ["--quiet", "--disable-pip-version-check", "--timeout=60", "--retries", retries(), "--requirement"];
        run(Command::new(folder.join("bin/python")).args(["-m", "pip", "install"]).args(options).arg(requirements))
    })
}

/// Makes a virtual environment with these packages, but without their dependencies.
///
/// Errors: those of [`once`].
pub fn python_alone(folder: &Path, packages: &[&str]) -> io::Result<()> {
    once(folder, &packages.join("\n"), |folder| {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let options = ["--quiet", "--disable-pip-version-check", "--timeout=60", "--retries", retries(), "--no-deps"];
        run(Command::new(folder.join("bin/python")).args(["-m", "pip", "install"]).args(options).args(packages))
    })
}

/// Runs a command that must work.
fn run(command: &mut Command) -> io::Result<()> {
    let done = command.stdin(Stdio::null()).output();
    let done = done.map_err(|error| io::Error::new(error.kind(), format!("{command:?}: {error}")))?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].map(|said| String::from_utf8_lossy(&said).trim().to_owned()).join("\n");
    Err(io::Error::other(format!("{command:?} ended with {}: {said}", done.status)))
}

#[cfg(test)]
mod tests {
    use super::{never_skips, once};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::{fs, io};

    #[test]
    fn it_is_installed_once_by_whoever_is_first_and_again_for_another_list() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, count) = (folder.path().join("below/tools"), AtomicUsize::new(0));
        let all = |list: &str| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        once(&folder, list, |folder| {
                            assert!(fs::read_dir(folder).unwrap().next().is_none(), "it begins with nothing");
                            fs::write(folder.join("tool"), "")?;
                            count.fetch_add(1, Ordering::Relaxed);
                            Ok(())
                        })
                        .unwrap();
                        assert!(folder.join("tool").exists());
                    });
                }
            });
            count.load(Ordering::Relaxed)
        };
        assert_eq!([all("one"), all("one"), all("two")], [1, 1, 2]);
    }

    #[test]
    fn a_failure_is_tried_again_or_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, count) = (folder.path().join("tools"), AtomicUsize::new(0));
        let attempt = || {
            once(&folder, "one", |folder| {
                fs::write(folder.join("tool"), "")?;
                if count.fetch_add(1, Ordering::Relaxed) == 0 { Err(io::Error::other("hiccup")) } else { Ok(()) }
            })
        };
        let outcomes = [attempt().is_ok(), attempt().is_ok()];
        let expected = if never_skips() { ([true, true], 2) } else { ([false, false], 1) };
        assert_eq!((outcomes, count.load(Ordering::Relaxed)), expected);
    }
}

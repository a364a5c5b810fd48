//! Programs of others, installed below `target/` from where their packages are published: once for a list of packages, by one
//! process at a time, and tried again where the network has a hiccup.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// What is waited before it is tried again.
const PAUSES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(10), Duration::from_secs(30)];

/// Fills a folder with what a list names, unless that list has been installed there: `install` begins with an empty folder.
///
/// Errors: no network, no disk, no program that installs; in words for who set up the machine.
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
    let afresh = || {
        // What an attempt left half done would be in the way.
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir(folder)?,
        }
        install(folder)
    };
    let mut done = afresh();
    for pause in PAUSES {
        if done.is_ok() {
            break;
        }
        thread::sleep(pause);
        done = afresh();
    }
    done.map_err(|error| {
        let tries = PAUSES.len() + 1;
        let list = list.trim();
        io::Error::other(format!(
            "{} cannot be set up. In {tries} attempts these packages were not to be had: is there a network?\n{list}\n{error}",
            folder.display()
        ))
    })?;
    fs::write(mark, list)
}

/// Installs packages of npm, each with its version, and looks at what came: npm may leave out what it calls optional.
///
/// Errors: those of [`once`].
pub fn npm(folder: &Path, packages: &[&str], look: impl Fn() -> bool) -> io::Result<()> {
    once(folder, &packages.join("\n"), |folder| {
        let options =
            ["--no-audit", "--no-fund", "--no-save", "--fetch-retries=5", "--fetch-timeout=60000", "--prefix"];
        run(Command::new("npm").arg("install").args(options).arg(folder).args(packages))?;
        if look() { Ok(()) } else { Err(io::Error::other("npm was content, but has not installed what was asked for")) }
    })
}

/// Makes a virtual environment with the packages of a list of requirements.
///
/// Errors: those of [`once`].
pub fn python(folder: &Path, requirements: &Path) -> io::Result<()> {
    once(folder, &fs::read_to_string(requirements)?, |folder| {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let options = ["--quiet", "--disable-pip-version-check", "--retries=5", "--timeout=60", "--requirement"];
        run(Command::new(folder.join("bin/python")).args(["-m", "pip", "install"]).args(options).arg(requirements))
    })
}

/// Makes a virtual environment with these packages, and with nothing that they ask for beside.
///
/// Errors: those of [`once`].
pub fn python_alone(folder: &Path, packages: &[&str]) -> io::Result<()> {
    once(folder, &packages.join("\n"), |folder| {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let options = ["--quiet", "--disable-pip-version-check", "--retries=5", "--timeout=60", "--no-deps"];
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
    use super::once;
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
    fn a_hiccup_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, count) = (folder.path().join("tools"), AtomicUsize::new(0));
        once(&folder, "one", |folder| {
            fs::write(folder.join("tool"), "")?;
            if count.fetch_add(1, Ordering::Relaxed) == 0 { Err(io::Error::other("hiccup")) } else { Ok(()) }
        })
        .unwrap();
        assert_eq!(count.into_inner(), 2);
    }
}

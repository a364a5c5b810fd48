//! External programs that tests use. A test whose program is missing is skipped, reported and counted: it needs no
//! network and no Node to pass. With `EMEND_TESTS_NEVER_SKIP` set, as in `.ci/run`, it fails instead.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    reason = "a library of tests: it touches files, starts programs, and fails the test that calls it"
)]

pub mod install;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, thread};

/// The variable that turns every skip into a failure.
pub const NEVER_SKIP: &str = "EMEND_TESTS_NEVER_SKIP";

/// True if a test must fail where it would be skipped.
pub fn never_skips() -> bool {
    env::var_os(NEVER_SKIP).is_some_and(|value| !value.is_empty())
}

/// The list of skipped tests, a line each. `cargo xtask test` begins a new one.
pub fn skip_list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/skipped-tests.txt")
}

/// True if all of these programs are on PATH; otherwise the calling test is reported as skipped.
///
/// # Panics
/// If tests must not be skipped.
pub fn has(programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().filter(|program| !is_on_path(program)).copied().collect();
    missing.is_empty() || skip::<()>(&format!("needs {} on PATH", missing.join(" and "))).is_some()
}

/// Returns what was installed. If it could not be, the calling test is reported as skipped.
///
/// # Panics
/// If tests must not be skipped.
pub fn or_skip<T>(installed: io::Result<T>) -> Option<T> {
    match installed {
        Ok(program) => Some(program),
        Err(error) => skip(&error.to_string()),
    }
}

/// Reports the calling test, which the thread is named after, as skipped.
fn skip<T>(why: &str) -> Option<T> {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    assert!(!never_skips(), "{name} must not be skipped ({NEVER_SKIP}): {why}");
    let why = why.lines().next().unwrap_or(why);
    let known = fs::read_to_string(skip_list()).unwrap_or_default();
    let line = format!("{name}: {why}\n");
    if !known.contains(&line) {
        let file = OpenOptions::new().create(true).append(true).open(skip_list());
        // The report below does not depend on the list.
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
    // Written past the capture of the test harness, which hides what `eprintln!` says in a test that passes.
    let _ = io::stderr().write_all(format!("skipped, as listed in target/skipped-tests.txt: {line}").as_bytes());
    None
}

/// Variables with which a git that runs a hook, or a command of a rebase, names its own repository to other gits.
const REPOSITORY_VARIABLES: [&str; 8] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Returns git in a directory, in whose repository it works even if the test was started by another git: `git add` and
/// `git commit` of a test must never be about the repository of the sources.
pub fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory);
    for name in REPOSITORY_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// True if a program is on PATH.
pub fn is_on_path(program: &str) -> bool {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::{REPOSITORY_VARIABLES, git, has, never_skips, or_skip, skip_list};
    use std::path::Path;
    use std::{fs, io, panic};

    #[test]
    fn git_of_a_test_does_not_know_the_repository_of_a_hook() {
        let command = git(Path::new("/p"));
        let removed = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name.to_owned());
        let removed: Vec<_> = removed.collect();
        assert!(REPOSITORY_VARIABLES.iter().all(|name| removed.iter().any(|it| it == name)), "{removed:?}");
    }

    #[test]
    fn a_missing_program_skips_or_fails_the_test() {
        assert!(has(&["sh"]));
        assert_eq!(or_skip(Ok(1)), Some(1));
        let missing = panic::catch_unwind(|| has(&["sh", "no-such-program"]));
        let failed = panic::catch_unwind(|| or_skip::<()>(Err(io::Error::other("no network\nat all"))));
        if never_skips() {
            assert!(missing.is_err() && failed.is_err());
            return;
        }
        assert_eq!((missing.unwrap(), failed.unwrap()), (false, None));
        let list = fs::read_to_string(skip_list()).unwrap();
        for why in ["needs no-such-program on PATH", "no network"] {
            let line = format!("tests::a_missing_program_skips_or_fails_the_test: {why}\n");
            assert_eq!(list.matches(&line).count(), 1, "{list}");
        }
    }
}

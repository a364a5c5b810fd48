//! The barrier of Linux: Landlock.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use emendate_core::{Code, Error, Result};
use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, make_bitflags,
};

use crate::error;

/// Requested rights; an older kernel enforces those that it knows.
const LANDLOCK_ABI: ABI = ABI::V5;

/// Paths that must stay readable: descriptors of this process, and the time zone.
const READABLE_PATHS: &[(&str, BitFlags<AccessFs>)] = &[
    ("/proc", READ_RIGHTS),
    ("/usr/share/zoneinfo", READ_RIGHTS),
    // A file, so rights on directories would be rejected.
    ("/etc/localtime", make_bitflags!(AccessFs::{ReadFile})),
];
/// The program itself and its libraries: it starts itself again to parse.
const RUN_RIGHTS: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | Execute});
const READ_RIGHTS: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

/// Returns the files whose code this process runs: the program, the loader and the libraries.
fn executable_files() -> BTreeSet<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(mapped_code).chain([PathBuf::from("/proc/self/exe")]).collect()
}

/// Returns the file of an executable mapping: `7f…-7f… r-xp 00026000 fd:00 1234    /usr/lib/libc.so.6`.
fn mapped_code(line: &str) -> Option<PathBuf> {
    let runs = line.split(' ').nth(1).is_some_and(|rights| rights.contains('x'));
    line.find('/').filter(|_| runs).map(|at| PathBuf::from(&line[at..]))
}

/// The error for a refusal of the kernel.
fn refused(error: &RulesetError) -> Error {
    Error::new(Code::IoFailed, format!("The kernel does not restrict this process: {error}."))
        .next("Start without --restrict, or ask a person.")
}

/// Restricts this thread, and every one it starts, for good: it can open, create, rename and remove files beneath these
/// directories only, read little else, and run only its own program. Open files stay usable. Returns what the kernel
/// could not enforce, as a note for the user.
///
/// Fails with `file.not_found` or `io.*` if a directory cannot be opened, `io.failed` if the kernel refuses.
pub fn restrict<'p>(folders: impl IntoIterator<Item = &'p Path>) -> Result<Option<String>> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK_ABI))
        .and_then(Ruleset::create)
        .map_err(|error| refused(&error))?;
    for folder in folders {
        let fd = PathFd::new(folder).map_err(|error| {
            let what = format!("Cannot restrict this process to {}: {error}.", error::show(folder));
            Error::new(Code::IoFailed, what).next("Name directories that exist and can be opened.")
        })?;
        rules =
            rules.add_rule(PathBeneath::new(fd, AccessFs::from_all(LANDLOCK_ABI))).map_err(|error| refused(&error))?;
    }
    // A missing one will not be read.
    for (path, rights) in READABLE_PATHS {
        if let Ok(fd) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(fd, *rights)).map_err(|error| refused(&error))?;
        }
    }
    for path in executable_files() {
        if let Ok(fd) = PathFd::new(&path) {
            rules = rules.add_rule(PathBeneath::new(fd, RUN_RIGHTS)).map_err(|error| refused(&error))?;
        }
    }
    let RestrictionStatus { ruleset, .. } = rules.restrict_self().map_err(|error| refused(&error))?;
    Ok(match ruleset {
        RulesetStatus::FullyEnforced => None,
        RulesetStatus::PartiallyEnforced => {
            Some("this kernel restricts the process in part only: some rights are newer than it".to_owned())
        }
        RulesetStatus::NotEnforced => {
            Some("this kernel cannot restrict the process (Landlock is missing or off); it runs without".to_owned())
        }
    })
}

//! Paths as the system writes them.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::fd::BorrowedFd;

/// The byte between the parts of a path.
pub const SEPARATOR: u8 = b'/';
/// True if a file that begins with `#!` is a program.
pub const RUNS_SCRIPTS: bool = true;

/// The command that makes a file writable.
pub const MAKE_WRITABLE: &str = "chmod u+w";

/// True for the bytes that separate the parts of a path.
pub const fn is_separator(byte: u8) -> bool {
    byte == b'/'
}

/// Returns why the system cannot have a file of this path; it completes a sentence that begins with the path.
pub const fn why_impossible(_path: &Path) -> Option<String> {
    None
}

/// Returns an absolute path in the spelling that [`canonical`] uses.
pub fn normal(path: &Path) -> Cow<'_, Path> {
    Cow::Borrowed(path)
}

/// Returns the real path of an existing file, without links.
///
/// Errors: those of the system.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Returns a name as the directory stores it. Here, a file has the name by which it was found.
pub const fn stored_name(_folder: BorrowedFd<'_>, name: OsString) -> OsString {
    name
}

/// Returns an absolute path as rules and globs see it: relative to the directory that is above all.
pub fn below_top(path: &Path) -> Cow<'_, Path> {
    Cow::Borrowed(path.strip_prefix("/").unwrap_or(path))
}

/// Returns a relative path as diffs and patches write it, with slashes.
pub fn with_slashes(path: &str) -> Cow<'_, str> {
    Cow::Borrowed(path)
}

/// Returns a path in the form that a `file:` URL contains: it begins with a slash, and has no other separators.
pub fn in_address(path: &Path) -> Cow<'_, OsStr> {
    Cow::Borrowed(path.as_os_str())
}

/// Returns the path that a `file:` URL contains.
pub fn of_address(path: OsString) -> PathBuf {
    path.into()
}

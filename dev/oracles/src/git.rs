//! `git apply`.

use crate::feed;
use crate::tree::{self, Tree};
use std::io;
use std::path::Path;
use std::process::Command;

/// The tree after `git apply` of a unified diff in a folder that is made for it; `None` where it refuses.
///
/// Errors: those of the disk and of starting it.
pub fn apply(folder: &Path, before: &Tree, patch: &str) -> io::Result<Option<Tree>> {
    tree::put(folder, before)?;
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn", "--unidiff-zero"]).current_dir(folder);
    // No repository above the folder, and nobody's settings.
    git.env("GIT_CEILING_DIRECTORIES", folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let done = feed(&mut git, patch)?;
    if done.status.success() { tree::take(folder).map(Some) } else { Ok(None) }
}

//! Runs `git apply`.

use crate::feed;
use crate::tree::{self, Tree};
use std::io;
use std::path::Path;

/// Applies a unified diff with `git apply` in a new folder and returns the resulting tree; `None` if git refuses.
///
/// Errors: from the disk, or if git cannot be started.
pub fn apply(folder: &Path, before: &Tree, patch: &str) -> io::Result<Option<Tree>> {
    tree::put(folder, before)?;
    let mut git = external::git(folder);
    git.args(["apply", "--whitespace=nowarn", "--unidiff-zero"]);
    // Ignore repositories above the folder and the user's settings.
    git.env("GIT_CEILING_DIRECTORIES", folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let done = feed(&mut git, patch)?;
    if done.status.success() { tree::take(folder).map(Some) } else { Ok(None) }
}

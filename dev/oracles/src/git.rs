//! `git apply`.

use crate::tree::{self, Tree};
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// The tree after `git apply` of a unified diff; `None` where it refuses.
///
/// Errors: those of the disk and of starting it.
pub fn apply(before: &Tree, patch: &str) -> io::Result<Option<Tree>> {
    let folder = tempfile::tempdir()?;
    tree::put(folder.path(), before)?;
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn", "--unidiff-zero"]).current_dir(folder.path());
    // No repository above the folder, and nobody's settings.
    git.env("GIT_CEILING_DIRECTORIES", folder.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(patch.as_bytes())?;
    }
    let applied = child.wait()?.success();
    Ok(if applied { Some(tree::take(folder.path())?) } else { None })
}

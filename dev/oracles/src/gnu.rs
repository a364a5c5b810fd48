//! Runs GNU `patch`.

use crate::feed;
use crate::tree::{self, Tree};
use std::io;
use std::path::Path;
use std::process::Command;

/// Applies a unified diff with `patch` in a new folder and returns the resulting tree; `None` if it rejects a part.
/// With `fuzz` it may ignore context, which is its default.
///
/// Errors: from the disk, or if `patch` cannot be started.
pub fn apply(folder: &Path, before: &Tree, patch: &str, fuzz: bool) -> io::Result<Option<Tree>> {
    tree::put(folder, before)?;
    let mut gnu = Command::new("patch");
    // Ask no questions and write no other files.
    gnu.args(["-p1", "--silent", "--batch", "--no-backup-if-mismatch", "--reject-file=-"]).current_dir(folder);
    if !fuzz {
        gnu.arg("--fuzz=0");
    }
    let done = feed(&mut gnu, patch)?;
    if done.status.success() { tree::take(folder).map(Some) } else { Ok(None) }
}

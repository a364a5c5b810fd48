//! GNU `patch`.

use crate::feed;
use crate::tree::{self, Tree};
use std::io;
use std::path::Path;
use std::process::Command;

/// The tree after `patch` of a unified diff in a folder that is made for it; `None` where it refuses a part. With `fuzz` it
/// may leave context out, as it does unless told.
///
/// Errors: those of the disk and of starting it.
pub fn apply(folder: &Path, before: &Tree, patch: &str, fuzz: bool) -> io::Result<Option<Tree>> {
    tree::put(folder, before)?;
    let mut gnu = Command::new("patch");
    // No questions, and nothing beside the files.
    gnu.args(["-p1", "--silent", "--batch", "--no-backup-if-mismatch", "--reject-file=-"]).current_dir(folder);
    if !fuzz {
        gnu.arg("--fuzz=0");
    }
    let done = feed(&mut gnu, patch)?;
    if done.status.success() { tree::take(folder).map(Some) } else { Ok(None) }
}

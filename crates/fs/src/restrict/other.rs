//! Systems without Landlock.

use std::path::Path;

use emendate_core::Result;

/// Does nothing: this system has no Landlock. Returns a note that says so.
pub fn restrict<'p>(_folders: impl IntoIterator<Item = &'p Path>) -> Result<Option<String>> {
    Ok(Some("this system cannot restrict the process (Landlock is part of Linux); it runs without".to_owned()))
}

//! Files that did not exist when a client's tool was about to write them: what is there afterwards was created.
//!
//! Most clients do not report that a file is new, and the hooks before and after a call are two processes. The first one
//! leaves a note in the state directory.

use emendate::StateLocation;
use emendate::core::ContentId;
use emendate_os::files::DirBuilderExt as _;
use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Directory of the notes, below the state directory.
const DIRECTORY: &str = "missing";
/// Age of a note whose call was refused or failed.
const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The notes about missing files.
pub(super) struct MissingFiles(Option<PathBuf>);

impl MissingFiles {
    /// The notes in a state directory; none are kept without one.
    pub(super) fn of(state: StateLocation) -> MissingFiles {
        let StateLocation::Directory(state) = state else { return MissingFiles(None) };
        MissingFiles(Some(state.join(DIRECTORY)))
    }

    fn note(&self, file: &str) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join(ContentId::of(file.as_bytes()).to_string()))
    }

    /// Notes that a file is missing, if it is. A failure only means that its creation is not in the history.
    pub(super) fn remember(&self, file: &str) {
        let (Some(directory), Some(note)) = (&self.0, self.note(file)) else { return };
        if Path::new(file).symlink_metadata().is_ok() {
            let _ = fs::remove_file(note);
            return;
        }
        self.remove_old();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        let _ = made.and_then(|()| fs::write(note, ""));
    }

    /// Returns true if the file was missing before the call, and forgets it.
    pub(super) fn take(&self, file: &str) -> bool {
        self.note(file).is_some_and(|note| fs::remove_file(note).is_ok())
    }

    fn remove_old(&self) {
        let entries = self.0.as_ref().and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten();
        for entry in entries.flatten() {
            let age = entry.metadata().and_then(|it| it.modified()).ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > AGE_MAX) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

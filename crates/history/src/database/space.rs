//! A disk that is full: whether it is, and operations that could not be logged because of it.

use std::io::Write as _;

use emendate_core::Result;

use super::{Database, DatabaseState, failure, gaps};

/// Bytes that [`Database::check_space`] writes: the database needs about this much for one operation.
const CHECKED_BYTES: usize = 64 << 10;

impl Database {
    /// Checks that the disk of the database takes new entries: writes and removes a file there.
    ///
    /// Errors: those of the disk.
    pub fn check_space(&self) -> Result<()> {
        let directory = self.path.parent().unwrap_or(&self.path);
        let written = tempfile::tempfile_in(directory).and_then(|mut file| {
            file.write_all(&vec![1; CHECKED_BYTES])?;
            file.sync_all()
        });
        written.map_err(|error| failure::of_io(&error, "write beside", &self.path))
    }

    /// Skips the number of the next operation, in the head of the append log, which is there already.
    ///
    /// Errors: those of the store.
    pub(super) fn skip_next_number(&self, state: &mut DatabaseState) -> Result<()> {
        let mut log_guard = self.lock(state)?;
        let next = match log_guard.head().next {
            0 => self.with(state, |connection| gaps::highest(connection))? + 1,
            next => next,
        };
        log_guard.raise_next_number(next + 1).map_err(|error| failure::of_io(&error, "write beside", &self.path))
    }
}

//! Counts of what a call changed, for its event.

use std::path::PathBuf;

/// Counts of what a call changed, or would change in a dry run.
#[derive(Debug, Default)]
pub(crate) struct ChangeCounts {
    /// Files that were written or removed. A moved file is one.
    pub(crate) files: usize,
    /// Added lines.
    pub(crate) added: u64,
    /// Removed lines.
    pub(crate) removed: u64,
    /// The number of the highest matching tier that an edit needed.
    pub(crate) tier: Option<u64>,
    /// A file that agents read as instructions was written.
    pub(crate) instructions: bool,
    /// Nothing was to be written.
    pub(crate) dry_run: bool,
    /// The files that were written.
    pub(crate) paths: Vec<PathBuf>,
}

impl ChangeCounts {
    /// Adds the counts of a later change by the same call.
    pub(crate) fn add(&mut self, other: ChangeCounts) {
        self.files += other.files;
        self.added += other.added;
        self.removed += other.removed;
        self.tier = self.tier.max(other.tier);
        self.instructions |= other.instructions;
        self.dry_run |= other.dry_run;
        self.paths.extend(other.paths);
    }
}

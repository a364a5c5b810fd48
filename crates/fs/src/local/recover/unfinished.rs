//! Records that recovery could not work through: their files are not changed until it can.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use emendate_core::{Error, Result};

use super::super::LocalStore;
use super::{RecoveryReport, SkipReason};
use crate::{FileWrite, Store, error};

/// A record that stays in the journal.
#[derive(Debug)]
pub(in super::super) struct UnfinishedRecord {
    pub(super) record: PathBuf,
    pub(super) reason: SkipReason,
    /// The files that it covers.
    pub(super) paths: HashSet<PathBuf>,
}

impl UnfinishedRecord {
    /// Describes the record for a person; `None` if it is for stores of other roots.
    pub(super) fn note(&self) -> Option<String> {
        match &self.reason {
            SkipReason::Elsewhere(_) => None,
            SkipReason::Failed(why) => {
                Some(format!("The record {} could not be worked through and stays: {why}", error::show(&self.record)))
            }
        }
    }

    /// True if the record covers the file, or a directory above it that is exchanged as a whole.
    fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.paths.contains(path))
    }
}

impl LocalStore {
    /// The notes of the records that stay.
    pub(in super::super) fn unfinished_notes(&self) -> Vec<String> {
        let unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.iter().filter_map(UnfinishedRecord::note).collect()
    }

    /// Refuses to change a file that a record still covers. Recovery would complete or undo its call later, on top of
    /// the change, and leave a mix of both. First tries recovery again, because its obstacle may be gone.
    ///
    /// Errors: `io.failed`.
    pub(in super::super) fn check_unfinished(&self, writes: &[FileWrite<'_>]) -> Result<()> {
        if self.covering_record(writes).is_none() {
            return Ok(());
        }
        self.recover_again()?;
        self.covering_record(writes).map_or(Ok(()), Err)
    }

    /// Returns the error for the first file that a record covers.
    fn covering_record(&self, writes: &[FileWrite<'_>]) -> Option<Error> {
        let unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        unfinished.iter().find_map(|record| {
            let write = writes.iter().find(|write| record.covers(write.path.absolute()))?;
            Some(error::unfinished(write.path.absolute(), &record.record, &record.reason.describe()))
        })
    }
}

impl RecoveryReport {
    /// Adds a later report. A note that is repeated is dropped.
    pub(in super::super) fn add(&mut self, other: RecoveryReport) {
        self.rolled_forward.extend(other.rolled_forward);
        self.rolled_back.extend(other.rolled_back);
        self.cleaned += other.cleaned;
        self.conflicts.extend(other.conflicts);
        self.undone.extend(other.undone);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

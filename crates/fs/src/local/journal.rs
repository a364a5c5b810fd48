//! The journal: one record per transaction that a crash could leave half done, in a directory of its own outside the
//! roots.
//!
//! The owner of a record holds a lock on it as long as the process lives. Before anything is staged, the record names
//! the directories of the temporary files; before anything becomes visible, it holds the intended state of every file.
//! It is removed when the transaction is complete or undone.

use emendate_os::fd::{AsFd, OwnedFd};
use emendate_os::ffi::OsStrExt;
use emendate_os::files::DirBuilderExt;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use emendate_core::Result;
use emendate_os::fs::{AtFlags, FlockOperation, Mode, OFlags};
use emendate_os::io::Errno;

use super::journal_frame::{JournalFrame, RECORD_HEADER};
use super::{sys, temp};
use crate::error;

/// File name suffix of a record. The eight digits before it are also in the names of its temporary files.
const RECORD_SUFFIX: &str = ".record";

/// An open journal directory.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    folder: Mutex<Arc<OwnedFd>>,
}

impl Journal {
    /// Opens the journal directory, creating it with access for the owner only.
    pub(super) fn open(path: &Path) -> Result<Journal> {
        let folder = open_or_create_dir(path).map_err(|errno| error::os_error("open the journal", path, errno))?;
        Ok(Journal { path: path.to_owned(), folder: Mutex::new(Arc::new(folder)) })
    }

    /// Returns the directory as currently open.
    fn folder(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.folder.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Creates the directory again after the state directory was removed.
    fn recreate(&self) -> emendate_os::io::Result<()> {
        let folder = Arc::new(open_or_create_dir(&self.path)?);
        *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = folder;
        Ok(())
    }

    /// Path of the journal directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of all records.
    pub(super) fn records(&self) -> emendate_os::io::Result<Vec<OsString>> {
        let folder =
            sys::openat(self.folder(), ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut names = Vec::new();
        for entry in sys::list(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if batch_of(name).is_some() {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// True if there is a record for the temporary files of this batch, or if that cannot be determined.
    pub(super) fn has_record(&self, batch: u32) -> bool {
        !matches!(sys::statat(self.folder(), name(batch)), Err(Errno::NOENT))
    }

    /// Opens and locks a record whose owner is dead; `None` if the owner lives or the record is gone.
    pub(super) fn lock_orphan(&self, name: &OsStr) -> emendate_os::io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match sys::openat(self.folder(), name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            other => other?,
        };
        match sys::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            other => other?,
        }
        // The process that wrote the record, or another one that recovers, may have removed it before we got the lock.
        Ok((sys::fstat(&file)?.st_nlink > 0).then_some(file))
    }

    /// Removes a record durably.
    pub(super) fn remove(&self, name: &OsStr) -> emendate_os::io::Result<()> {
        let folder = self.folder();
        sys::unlinkat(&folder, name, AtFlags::empty())?;
        sys::fsync(&folder)
    }
}

/// Opens the directory at `path`, creating it if needed.
fn open_or_create_dir(path: &Path) -> emendate_os::io::Result<OwnedFd> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    emendate_os::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn name(batch: u32) -> String {
    format!("{batch:08x}{RECORD_SUFFIX}")
}

/// Parses the batch number out of a record's name.
pub(super) fn batch_of(record: &OsStr) -> Option<u32> {
    let digits = record.to_str()?.strip_suffix(RECORD_SUFFIX)?;
    temp::hexadecimal::<8>(digits.as_bytes()).and_then(|number| u32::try_from(number).ok())
}

/// A locked record of a dead process.
pub(super) struct OpenRecord<'a> {
    pub(super) batch: u32,
    pub(super) file: &'a OwnedFd,
    /// Offset after its last complete frame.
    pub(super) end: usize,
}

impl OpenRecord<'_> {
    /// Appends a frame durably, over an incomplete one if there is one.
    pub(super) fn append(&mut self, frame: &JournalFrame) -> emendate_os::io::Result<()> {
        let bytes = frame.encode();
        temp::write_at(self.file, &[&bytes], self.end as u64)?;
        sys::fdatasync(self.file)?;
        self.end += bytes.len();
        Ok(())
    }
}

/// The record of one transaction, created on first use; empty without a journal.
pub(super) struct TxnRecord<'a> {
    journal: Option<&'a Journal>,
    record: Option<RecordFile>,
    /// Sync the record before relying on it.
    sync: bool,
    aborted: bool,
}

struct RecordFile {
    /// The journal directory that contains it.
    folder: Arc<OwnedFd>,
    file: OwnedFd,
    batch: u32,
    length: u64,
    /// The record's name is synced.
    name_synced: bool,
    /// The removal must be synced: a record that reappears after a power cut would be applied to files changed since.
    sync_removal: bool,
    /// The record contains the intended state of the files.
    has_commit: bool,
    /// A sync failed, so its content on disk is unknown.
    sync_failed: bool,
}

impl<'a> TxnRecord<'a> {
    pub(super) fn new(journal: Option<&'a Journal>, sync: bool) -> TxnRecord<'a> {
        TxnRecord { journal, record: None, sync, aborted: false }
    }

    /// Batch number in the names of this transaction's temporary files; `None` while there is no record.
    pub(super) fn batch(&self) -> Option<u32> {
        self.record.as_ref().map(|record| record.batch)
    }

    /// True if there is a journal.
    pub(super) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// True if the record contains the intended state of the files.
    pub(super) fn is_committed(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.has_commit)
    }

    /// Appends a frame, which survives a crash of this process. No-op without a journal.
    pub(super) fn append(&mut self, frame: &JournalFrame) -> Result<()> {
        let Some(journal) = self.journal else {
            return Ok(());
        };
        let failed = |errno| error::os_error("write a record into the journal", &journal.path, errno);
        let record = match &mut self.record {
            Some(record) => record,
            none => none.insert(RecordFile::create(journal).map_err(failed)?),
        };
        record.append(&frame.encode()).map_err(failed)?;
        match frame {
            JournalFrame::Commit(steps) => {
                record.has_commit = true;
                record.sync_removal |= steps.iter().any(|step| step.new == super::journal_frame::PathState::Missing);
            }
            JournalFrame::Bytes { .. } => record.sync_removal = true,
            _ => {}
        }
        Ok(())
    }

    /// Syncs what was appended, if durability against power cuts was requested.
    pub(super) fn sync(&mut self) -> Result<()> {
        let (Some(journal), Some(record), true) = (self.journal, &mut self.record, self.sync) else {
            return Ok(());
        };
        let failed = |errno| error::os_error("sync a record of the journal", &journal.path, errno);
        if record.sync_failed {
            // A second sync would succeed without having written the lost pages. Only the rollback still uses this
            // record.
            return Ok(());
        }
        sys::fdatasync(&record.file).inspect_err(|_| record.sync_failed = true).map_err(failed)?;
        if !record.name_synced {
            sys::fsync(&record.folder).map_err(failed)?;
            record.name_synced = true;
        }
        Ok(())
    }

    /// Makes recovery undo the transaction from here on. If this cannot be written, recovery completes it.
    pub(super) fn abort(&mut self) -> Result<()> {
        if self.is_committed() && !self.aborted {
            self.append(&JournalFrame::Abort).and_then(|()| self.sync())?;
            self.aborted = true;
        }
        Ok(())
    }

    /// Removes the record: the transaction is complete or undone.
    pub(super) fn close(&mut self) -> emendate_os::io::Result<()> {
        let Some(record) = self.record.take() else {
            return Ok(());
        };
        sys::unlinkat(&record.folder, name(record.batch), AtFlags::empty())?;
        if record.sync_removal && record.has_commit && self.sync { sys::fsync(&record.folder) } else { Ok(()) }
    }

    /// Keeps the record for recovery, because something is half done.
    pub(super) fn keep_for_recovery(&mut self) {
        self.record = None;
    }
}

impl RecordFile {
    fn create(journal: &Journal) -> emendate_os::io::Result<RecordFile> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut gone = false;
        loop {
            let (batch, folder) = (temp::random_batch()?, journal.folder());
            let file = match sys::openat(&folder, name(batch), flags, Mode::from_raw_mode(0o600)) {
                Err(Errno::EXIST) => continue,
                Err(Errno::NOENT) if !gone => {
                    gone = true;
                    journal.recreate()?;
                    continue;
                }
                other => other?,
            };
            let locked = sys::flock(&file, FlockOperation::NonBlockingLockExclusive);
            match locked.and_then(|()| sys::fstat(&file)) {
                // A recovering process locked the still empty record before us.
                Err(Errno::WOULDBLOCK) => continue,
                Ok(stat) if stat.st_nlink == 0 => continue,
                Ok(_) => {}
                Err(errno) => {
                    let _ = sys::unlinkat(&folder, name(batch), AtFlags::empty());
                    return Err(errno);
                }
            }
            let mut record = RecordFile {
                folder,
                file,
                batch,
                length: 0,
                name_synced: false,
                sync_removal: false,
                has_commit: false,
                sync_failed: false,
            };
            if let Err(errno) = record.append(RECORD_HEADER) {
                let _ = sys::unlinkat(&record.folder, name(batch), AtFlags::empty());
                return Err(errno);
            }
            return Ok(record);
        }
    }

    fn append(&mut self, bytes: &[u8]) -> emendate_os::io::Result<()> {
        temp::write_at(self.file.as_fd(), &[bytes], self.length)?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

//! Comparison of the file that a write replaces with the write's precondition.

use emendate_core::Result;
use emendate_os::fs::OFlags;
use emendate_os::io::Errno;

use super::LocalStore;
use super::lease::{LeaseState, LeasedFile, OpenMode, still_has_content, take_lease};
use super::parent_dir::ParentDir;
use super::read::{self, READ_FLAGS, same_bytes};
use super::sys;
use super::transaction::{LocalTransaction, OVERWRITE, StagedFile};
use crate::{Precondition, error};

impl LocalTransaction<'_> {
    /// See the free function [`still_expected`].
    pub(super) fn still_expected(&self, index: usize, look: OpenMode) -> Result<Option<LeasedFile>> {
        let entry = &self.entries[index];
        if entry.tree.is_some() {
            return self.tree_expected(index, look);
        }
        still_expected(self.local, &self.folders[entry.folder], entry, look)
    }
}

/// Compares the file at the path with the write's precondition and returns it, open; `None` if nothing is there, as
/// expected.
pub(super) fn still_expected(
    local: &LocalStore,
    folder: &ParentDir<'_>,
    entry: &StagedFile<'_>,
    look: OpenMode,
) -> Result<Option<LeasedFile>> {
    let (safe_path, path) = (entry.write.path, entry.path());
    let meta = match entry.write.precondition {
        Precondition::Version { meta, .. } => meta,
        Precondition::Content { source, .. } => source.meta(),
        _ if !folder.in_place(local) => {
            return Err(error::raced(path, "is no longer there: its directory was moved or removed"));
        }
        Precondition::Missing => {
            return match sys::statat(&folder.fd, entry.name) {
                Err(Errno::NOENT) => Ok(None),
                Ok(_) => Err(error::raced(path, "was created meanwhile")),
                Err(errno) => Err(error::os_error("look at", path, errno)),
            };
        }
        Precondition::Link { target } => {
            return match read::link_meta(&folder.fd, entry.name, target) {
                Ok(Some(meta)) => Ok(Some(LeasedFile::new(None, meta, LeaseState::Unknown))),
                Ok(None) => Err(error::raced(path, "is no longer the same link")),
                Err(errno) => Err(error::os_error("look at", path, errno)),
            };
        }
    };
    let flags: OFlags = if look == OpenMode::Overwrite { OVERWRITE } else { READ_FLAGS };
    // The whole path again: the directory may have been moved since it was opened.
    let file = match local.open_beneath(safe_path.root(), safe_path.relative(), flags) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Err(error::raced(path, "was removed")),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::NXIO | Errno::ISDIR) => {
            return Err(error::raced(path, "was replaced by something else"));
        }
        // The kernel gave up because of a concurrent rename.
        Err(Errno::AGAIN) => return Err(error::raced(path, "is being replaced")),
        Err(errno) if look == OpenMode::Overwrite => return Err(error::os_error("open for writing", path, errno)),
        Err(errno) => return Err(error::os_error("open", path, errno)),
    };
    // Network file systems refuse leases for other reasons than a writer.
    let leases = look == OpenMode::Lease && local.is_trusted(safe_path.root(), meta);
    let lease = if leases { take_lease(&file, entry.writer_seen) } else { LeaseState::Unknown };
    let now = read::file_meta(&sys::fstat(&file).map_err(|errno| error::os_error("look at", path, errno))?);
    let held = LeasedFile::new(Some(file), now, lease);
    if !now.same_file(meta) {
        return Err(error::raced(path, "was replaced by another file"));
    }
    let same = match (&held.file, entry.write.precondition) {
        (Some(file), Precondition::Version { bytes, .. }) if now.size == bytes.len() as u64 => same_bytes(file, bytes),
        (Some(_), Precondition::Content { source, content }) => still_has_content(&now, source, content),
        _ => Ok(false),
    };
    let same = same.map_err(|errno| error::os_error("compare", path, errno))?;
    if same { Ok(Some(held)) } else { Err(error::raced(path, "was changed")) }
}

//! The file beside the database with the files of the last snapshot. Losing it costs one snapshot that reads all files.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use emendate_core::Result;

use super::failure::of_io;
use crate::StatCache;

/// Bytes of the largest file that is read.
const FILE_BYTES_MAX: u64 = 256 << 20;

fn path_of(database: &Path) -> PathBuf {
    database.with_extension("stat")
}

/// Reads the file of a database; `None` if it is missing, damaged, or of another program.
pub(super) fn read(database: &Path) -> Option<StatCache> {
    let file = File::open(path_of(database)).ok()?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    StatCache::unpack(&bytes)
}

/// Replaces the file of a database in one step, accessible to its owner only.
pub(super) fn write(database: &Path, cache: &StatCache) -> Result<()> {
    let path = path_of(database);
    let folder = path.parent().unwrap_or(&path);
    let failed = |error: &std::io::Error| of_io(error, "write", &path);
    // A temporary file is made with mode 0600.
    let mut file = tempfile::Builder::new().prefix(".stat-").tempfile_in(folder).map_err(|error| failed(&error))?;
    file.write_all(&cache.pack()).map_err(|error| failed(&error))?;
    file.persist(&path).map_err(|error| failed(&error.error)).map(drop)
}

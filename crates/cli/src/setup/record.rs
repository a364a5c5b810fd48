//! Records of what installations did to clients' files, in the state directory, readable for their owner only.

use crate::context::CliContext;
use crate::io_error;
use emendate::StateLocation;
use emendate::core::{Code, ContentId, Error, Result};
use emendate::fs::shown;
use emendate_clients::InstallRecord;
use emendate_os::ffi::OsStrExt as _;
use emendate_os::files::DirBuilderExt as _;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Directory of the records, below the state directory.
const RECORDS: &str = "setup";
/// Version of the records' format.
const RECORD_VERSION: u64 = 1;

/// The record of one file.
pub(crate) struct StoredRecord {
    pub(crate) record: InstallRecord,
    /// Directories that were created for the file.
    pub(crate) directories: usize,
    /// An installation made the backup beside the file.
    pub(crate) has_backup: bool,
}

/// The place of the record of one file; none without a state directory.
pub(crate) struct RecordLocation {
    path: Option<PathBuf>,
    file: PathBuf,
}

impl RecordLocation {
    /// Finds the place of the record of a file.
    pub(crate) fn of(context: &CliContext<'_>, file: &Path) -> RecordLocation {
        let directory = match context.state() {
            StateLocation::Directory(directory) | StateLocation::Throwaway(directory) => Some(directory),
            _ => None,
        };
        let name = ContentId::of(file.as_os_str().as_bytes()).to_string();
        RecordLocation {
            path: directory.map(|it| it.join(RECORDS).join(format!("{name}.json"))),
            file: file.to_owned(),
        }
    }

    /// Reads the record; `None` if there is none.
    ///
    /// Errors: a record of a newer version of this program, or one that cannot be read.
    pub(crate) fn read(&self) -> Result<Option<StoredRecord>> {
        let Some(path) = &self.path else { return Ok(None) };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(io_error(&shown(path), &error)),
        };
        let stored: Value = serde_json::from_str(&text).unwrap_or_default();
        if stored["version"].as_u64().is_some_and(|version| version > RECORD_VERSION) {
            let by = stored["by"].as_str().unwrap_or("a newer version");
            let what = format!("{} was set up by emend {by}, which is newer than this one.", shown(&self.file));
            return Err(Error::new(Code::CallInvalid, what)
                .next("Nothing was changed. Use that version of emend for this file, or update this one."));
        }
        // Without a usable record, entries are found by their names.
        let Some(written) = stored["written"].as_str() else { return Ok(None) };
        let record =
            InstallRecord { original: stored["original"].as_str().map(str::to_owned), written: written.to_owned() };
        let directories = stored["directories"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        // Earlier versions backed every file up that existed.
        let has_backup = stored["backup"].as_bool().unwrap_or(true);
        Ok(Some(StoredRecord { record, directories, has_backup }))
    }

    /// Stores the record.
    ///
    /// Errors: those of the file system.
    pub(crate) fn write(&self, stored: &StoredRecord) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let value = json!({
            "version": RECORD_VERSION,
            "by": env!("CARGO_PKG_VERSION"),
            "file": shown(&self.file),
            "original": stored.record.original,
            "written": stored.record.written,
            "directories": stored.directories,
            "backup": stored.has_backup,
        });
        write_private(path, &value.to_string()).map_err(|error| io_error(&shown(path), &error))
    }

    /// Removes the record.
    pub(crate) fn remove(&self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
            // An empty directory of records is of no use.
            let _ = path.parent().map(fs::remove_dir);
        }
    }
}

/// Writes a file that only its owner can read, and its directories.
///
/// Errors: those of the file system.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

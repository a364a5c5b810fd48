//! The file that `emend apply --reject-file` names for the edits that could not be applied.

use crate::files::usage;
use crate::{io_error, output};
use emendate::Reply;
use emendate::core::{Code, Error, Result};
use emendate::fs::shown;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// A new file. It is made before the edits are applied, so that these are not lost if it cannot be written.
pub(crate) struct RejectFile {
    path: PathBuf,
    file: File,
}

impl RejectFile {
    /// Errors: `file.exists`, `call.invalid` for `-`, and those of a new file.
    pub(crate) fn create(path: &Path) -> Result<RejectFile> {
        if path.as_os_str() == "-" {
            return Err(usage("`-` names no file.", "Name a new file for what cannot be applied."));
        }
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(file) => Ok(RejectFile { path: path.to_owned(), file }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Error::new(Code::FileExists, format!("{} exists already; nothing was changed.", shown(path)))
                    .next("Name a new file for what cannot be applied."))
            }
            Err(error) => Err(io_error(&shown(path), &error)),
        }
    }

    /// Writes the rejected edits of a reply; removes the file if there are none.
    pub(crate) fn keep(mut self, reply: &Reply) -> Result<()> {
        let rejected = reply.result.as_ref().ok().and_then(|answer| answer.data.get("rejected")?.as_str());
        let Some(text) = rejected else {
            // An empty file that remains is no failure of the edits.
            let _ = std::fs::remove_file(&self.path);
            return Ok(());
        };
        let name = shown(&self.path);
        self.file.write_all(text.as_bytes()).map_err(|error| {
            let what = format!("The edits were applied, but the others could not be written to {name}: {error}.");
            Error::new(Code::IoFailed, what).next("Repeat the command with --check to see which are left.")
        })?;
        output::note(&format!("what could not be applied is in {name}"));
        Ok(())
    }
}

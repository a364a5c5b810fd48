//! The size of a call.

use emendate_core::{Code, Error, Result};

/// The limit on the bytes of all files that a call changes.
///
/// Errors: `call.too_large`.
pub(crate) fn check_call_size(files: usize, bytes: usize) -> Result<()> {
    if bytes <= CALL_FILE_BYTES_MAX {
        return Ok(());
    }
    let what = format!(
        "{files} files that the call changes have {bytes} bytes together, more than the {CALL_FILE_BYTES_MAX} of one call."
    );
    Err(Error::new(Code::CallTooLarge, what).next("Change fewer files in one call. Nothing was written."))
}

/// Bytes of the files that one call changes, before or after: they are in memory together.
pub(crate) const CALL_FILE_BYTES_MAX: usize = 512 << 20;

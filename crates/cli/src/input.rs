//! Texts from arguments, files and standard input.

use crate::io_error;
use emendate::INPUT_BYTES_MAX;
use emendate::core::{Code, Error, Result};
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

/// Reads the text of a file named on the command line; `-` is standard input. `what` is shown to a person who has to
/// type it.
///
/// Errors: a file that cannot be read, exceeds the size of a call, or is not UTF-8.
pub(crate) fn text(path: &Path, what: &str) -> Result<String> {
    let bytes = bytes(path, what)?;
    String::from_utf8(bytes).map_err(|error| not_text(&name(path), &error))
}

/// The bytes of a file named on the command line; `-` is standard input.
///
/// Errors: what cannot be read, or is larger than a call may be.
pub(crate) fn bytes(path: &Path, what: &str) -> Result<Vec<u8>> {
    let name = name(path);
    if path == Path::new("-") {
        return stdin_bytes(what, &name);
    }
    let file = std::fs::File::open(path).map_err(|error| io_error(&name, &error))?;
    all(file, &name)
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads all of standard input.
///
/// Errors: as [`text`].
pub(crate) fn stdin(what: &str) -> Result<String> {
    text(Path::new("-"), what)
}

fn stdin_bytes(what: &str, name: &str) -> Result<Vec<u8>> {
    let stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        // Otherwise the command would seem to hang.
        crate::output::note(&format!("reading {what} from the terminal; end with Ctrl-D"));
    }
    let bytes = all(stdin, name)?;
    if bytes.is_empty() && emendate_os::descriptors::is_stdin_absent() {
        return Err(Error::new(
            Code::CallInvalid,
            format!("Standard input is closed, but {what} should come from it."),
        )
        .next("Send it through a pipe or from a file; `< /dev/null` is an empty text."));
    }
    Ok(bytes)
}

fn all(reader: impl std::io::Read, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed distinguishes a text that is too large from one that just fits.
    reader.take(INPUT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(|error| io_error(name, &error))?;
    if bytes.len() > INPUT_BYTES_MAX {
        return Err(Error::new(
            Code::CallTooLarge,
            format!("{name} has more than {INPUT_BYTES_MAX} bytes, the limit of one call."),
        )
        .next("Send smaller edits in several calls."));
    }
    Ok(bytes)
}

fn not_text(name: &str, error: &std::string::FromUtf8Error) -> Error {
    let at = error.utf8_error().valid_up_to();
    Error::new(Code::CallInvalid, format!("{name} is not UTF-8 text: byte {at} does not begin a character."))
        .next("Convert it to UTF-8; emend writes it in the encoding of the file that is edited.")
}

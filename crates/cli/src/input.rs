//! Texts from arguments, files and standard input.

use crate::io_error;
use emendate::MAX_INPUT;
use emendate::core::{Code, Error, Result};
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

/// Reads the text of a file named on the command line; `-` is standard input. `what` is shown to a person who has to
/// type it.
///
/// Errors: a file that cannot be read, exceeds the size of a call, or is not UTF-8.
pub(crate) fn text(path: &Path, what: &str) -> Result<String> {
    if path == Path::new("-") {
        return stdin(what);
    }
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|error| io_error(&name, &error))?;
    all(file, &name)
}

/// Reads all of standard input.
///
/// Errors: as [`text`].
pub(crate) fn stdin(what: &str) -> Result<String> {
    let stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        // Otherwise the command would seem to hang.
        crate::show::note(&format!("reading {what} from the terminal; end with Ctrl-D"));
    }
    all(stdin, "standard input")
}

fn all(reader: impl std::io::Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    // One byte more than allowed distinguishes a text that is too large from one that just fits.
    reader.take(MAX_INPUT as u64 + 1).read_to_end(&mut bytes).map_err(|error| io_error(name, &error))?;
    if bytes.len() > MAX_INPUT {
        return Err(Error::new(
            Code::CallTooLarge,
            format!("{name} has more than {MAX_INPUT} bytes, the limit of one call."),
        )
        .next("Send smaller edits in several calls."));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::new(Code::CallInvalid, format!("{name} is not UTF-8 text: byte {at} begins no character."))
            .next("Convert it to UTF-8; emend writes it in the encoding of the file that is edited.")
    })
}

//! Runs commands that change files in place on a temporary copy.

use crate::{CommandJob, CommandOutput, run_until};
use emendate_core::{Code, Error, Result};
use emendate_os::files::OpenOptionsExt as _;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Placeholder for the copy in the words of a command.
pub const FILE_PLACEHOLDER: &str = "{file}";

/// Runs a command on a file that contains the input. Its words refer to the file by [`FILE_PLACEHOLDER`], and
/// [`CommandOutput::output`] is the file's content after the command. The file has the given name, in a temporary
/// directory of its own that is removed afterwards.
///
/// Errors: as [`run_until`], and also for a file that became too large or is missing.
pub fn run_on_copy(job: CommandJob<'_>, name: &OsStr, stop: &AtomicBool) -> Result<CommandOutput> {
    let folder = tempfile::Builder::new().prefix("emend-").tempdir().map_err(|error| copy_failure(&error))?;
    // Only the last component, so that nothing leads out of the directory.
    let path = folder.path().join(Path::new(name).file_name().unwrap_or(OsStr::new("copy")));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(job.input)).map_err(|error| copy_failure(&error))?;
    let words: Vec<String> =
        job.argv.iter().map(|word| word.replace(FILE_PLACEHOLDER, &path.to_string_lossy())).collect();
    let mut said = run_until(CommandJob { argv: &words, input: b"", ..job }, stop)?;
    said.output.clear();
    if fs::symlink_metadata(&path).is_ok_and(|it| it.is_file()) {
        let most = u64::try_from(job.output_bytes_max).unwrap_or(u64::MAX);
        let file = fs::File::open(&path).map_err(|error| copy_failure(&error))?;
        file.take(most.saturating_add(1)).read_to_end(&mut said.output).map_err(|error| copy_failure(&error))?;
    } else if said.status == Some(0) {
        return Err(Error::new(Code::IoFailed, "The command removed the file that it should change."));
    }
    if said.output.len() > job.output_bytes_max {
        let what = format!("The command made a file of more than {} bytes.", job.output_bytes_max);
        return Err(Error::new(Code::CallTooLarge, what));
    }
    Ok(said)
}

/// Returns the error of a copy that cannot be made.
fn copy_failure(error: &std::io::Error) -> Error {
    Error::new(Code::IoFailed, format!("The working copy cannot be created: {error}."))
}

#[cfg(test)]
mod tests {
    use super::run_on_copy;
    use crate::CommandJob;
    use emendate_core::Code;
    use std::ffi::OsStr;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn on_copy(script: &str) -> Result<(Option<i32>, String), Code> {
        let words = ["sh", "-c", script, "sh", "--file={file}"].map(str::to_owned);
        let time = Duration::from_secs(600);
        let job = CommandJob { argv: &words, directory: Path::new("/"), input: b"one\n", time, output_bytes_max: 100 };
        let said = run_on_copy(job, OsStr::new("a b.txt"), &AtomicBool::new(false)).map_err(|it| it.code())?;
        Ok((said.status, String::from_utf8(said.output).unwrap()))
    }

    #[test]
    fn content_of_the_copy_is_the_output() {
        let file = "f=${1#--file=};";
        let run = |script: &str| on_copy(&format!("{file} {script}"));
        assert_eq!(run("echo nothing of this; printf two >> \"$f\""), Ok((Some(0), "one\ntwo".to_owned())));
        assert_eq!(run("basename \"$f\" > \"$f\""), Ok((Some(0), "a b.txt\n".to_owned())));
        // Through another file that is renamed to its name, as many programs do.
        assert_eq!(run("echo 1 > \"$f.new\"; mv \"$f.new\" \"$f\""), Ok((Some(0), "1\n".to_owned())));
        assert_eq!(run("exit 3"), Ok((Some(3), "one\n".to_owned())));
        assert_eq!(run("rm \"$f\""), Err(Code::IoFailed));
        assert_eq!(run("ln -sf /etc/passwd \"$f\""), Err(Code::IoFailed), "nobody else's file");
        assert_eq!(run("head -c 101 /dev/zero > \"$f\""), Err(Code::CallTooLarge));
    }
}

//! A command that changes files where they lie gets a copy to change.

use crate::{Job, Said, run_until};
use emendate_core::{Code, Error, Result};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What stands for the copy in the words of a command.
pub const COPY: &str = "{file}";

/// Runs a command on a file that holds the input: its words name that by [`COPY`], and [`Said::output`] is what it holds when
/// the command has ended. The file has this name, and a folder of its own among the temporary ones, which goes afterwards.
///
/// Errors: as [`run_until`], also for a file that has become too large or is none any more.
pub fn run_on_copy(job: Job<'_>, name: &OsStr, stop: &AtomicBool) -> Result<Said> {
    let failed = |error: std::io::Error| Error::new(Code::IoFailed, format!("There is no copy to work on: {error}."));
    let folder = tempfile::Builder::new().prefix("emend-").tempdir().map_err(failed)?;
    // The name alone: nothing leads out of the folder.
    let path = folder.path().join(Path::new(name).file_name().unwrap_or(OsStr::new("copy")));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(job.input)).map_err(failed)?;
    let words: Vec<String> = job.words.iter().map(|word| word.replace(COPY, &path.to_string_lossy())).collect();
    let mut said = run_until(Job { words: &words, input: b"", ..job }, stop)?;
    said.output.clear();
    if fs::symlink_metadata(&path).is_ok_and(|it| it.is_file()) {
        let most = u64::try_from(job.most).unwrap_or(u64::MAX);
        let file = fs::File::open(&path).map_err(failed)?;
        file.take(most.saturating_add(1)).read_to_end(&mut said.output).map_err(failed)?;
    } else if said.status == Some(0) {
        return Err(Error::new(Code::IoFailed, "The command took the file away that it was to change."));
    }
    if said.output.len() > job.most {
        let what = format!("The command made a file of more than {} bytes.", job.most);
        return Err(Error::new(Code::CallTooLarge, what));
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::run_on_copy;
    use crate::Job;
    use emendate_core::Code;
    use std::ffi::OsStr;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn on_copy(script: &str) -> Result<(Option<i32>, String), Code> {
        let words = ["sh", "-c", script, "sh", "--file={file}"].map(str::to_owned);
        let time = Duration::from_secs(600);
        let job = Job { words: &words, folder: Path::new("/"), input: b"one\n", time, most: 100 };
        let said = run_on_copy(job, OsStr::new("a b.txt"), &AtomicBool::new(false)).map_err(|it| it.code())?;
        Ok((said.status, String::from_utf8(said.output).unwrap()))
    }

    #[test]
    fn what_the_file_holds_is_the_answer() {
        let file = "f=${1#--file=};";
        let run = |script: &str| on_copy(&format!("{file} {script}"));
        assert_eq!(run("echo nothing of this; printf two >> \"$f\""), Ok((Some(0), "one\ntwo".to_owned())));
        assert_eq!(run("basename \"$f\" > \"$f\""), Ok((Some(0), "a b.txt\n".to_owned())));
        // By another file that takes its name, as many do it.
        assert_eq!(run("echo 1 > \"$f.new\"; mv \"$f.new\" \"$f\""), Ok((Some(0), "1\n".to_owned())));
        assert_eq!(run("exit 3"), Ok((Some(3), "one\n".to_owned())));
        assert_eq!(run("rm \"$f\""), Err(Code::IoFailed));
        assert_eq!(run("ln -sf /etc/passwd \"$f\""), Err(Code::IoFailed), "nobody else's file");
        assert_eq!(run("head -c 101 /dev/zero > \"$f\""), Err(Code::CallTooLarge));
    }
}

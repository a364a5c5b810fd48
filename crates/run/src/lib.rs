//! Runs a command that a configuration names: text in, text out, nothing else. It has a deadline and a limit on what it may
//! say, no shell takes its words apart, and when its time is over it ends with everything it started. [`Process`] is a
//! program that stays.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the one crate below the command line that starts processes"
)]

mod process;

pub use process::{Process, end_all};

use emendate_core::{Code, Error, Result};
use process::LOOK;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of what a command says against itself that are kept.
const COMPLAINT: usize = 4 << 10;

/// How often it is asked whether a command shall be ended.
const GLANCE: Duration = Duration::from_millis(50);

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The program and its arguments.
    pub words: &'a [String],
    /// The folder it works in.
    pub folder: &'a Path,
    /// What it reads on its standard input.
    pub input: &'a [u8],
    /// How long it may take.
    pub time: Duration,
    /// Bytes that it may write to its standard output.
    pub most: usize,
}

/// What a command said, once it ended in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    /// Its standard output.
    pub output: Vec<u8>,
    /// The beginning of its standard error, as text.
    pub complaint: String,
}

/// Runs a command to its end.
///
/// Errors: `io.failed` where it cannot be started or takes too long,
/// `call.too_large` where it says too much. In each case it and what it started are ended.
pub fn run(job: Job<'_>) -> Result<Said> {
    run_until(job, &AtomicBool::new(false))
}

/// The same, but ended as soon as `stop` is set.
///
/// Errors: those of [`run`]; `call.cancelled` where it was stopped.
pub fn run_until(job: Job<'_>, stop: &AtomicBool) -> Result<Said> {
    let process = Process::start(job.words, job.folder)?;
    Running { process, begun: Instant::now(), job, stop }.listen()
}

struct Running<'a> {
    /// Ends when this goes, however that comes about.
    process: Process,
    begun: Instant,
    job: Job<'a>,
    stop: &'a AtomicBool,
}

impl Running<'_> {
    fn listen(mut self) -> Result<Said> {
        let (stdin, stdout, stderr) = self.process.streams();
        let most = self.job.most;
        let output = collected(stdout, most + 1);
        let complaint = collected(stderr, COMPLAINT);
        let input = self.job.input.to_vec();
        // A command that does not read is no fault; what it says counts. The thread ends with the pipe.
        drop(thread::Builder::new().spawn(move || stdin.map(|mut stdin| stdin.write_all(&input))));
        let output = self.wait(&output)?;
        if output.len() > most {
            return Err(Error::new(
                Code::CallTooLarge,
                format!("The command `{}` wrote more than {most} bytes.", self.program()),
            ));
        }
        let status = self.status()?;
        // Something it started may hold this pipe open; it had its time.
        let complaint =
            complaint.recv_timeout(LOOK.max(self.left().min(Duration::from_millis(100)))).unwrap_or_default();
        Ok(Said { status: status.code(), output, complaint: String::from_utf8_lossy(&complaint).trim().to_owned() })
    }

    fn program(&self) -> &str {
        self.job.words.first().map_or("", |word| word)
    }

    fn left(&self) -> Duration {
        self.job.time.saturating_sub(self.begun.elapsed())
    }

    fn late(&self) -> Error {
        let seconds = self.job.time.as_secs_f32();
        Error::new(Code::IoFailed, format!("The command `{}` did not end within {seconds} seconds.", self.program()))
    }

    fn wait(&self, pipe: &Receiver<Vec<u8>>) -> Result<Vec<u8>> {
        loop {
            let left = self.left();
            match pipe.recv_timeout(left.min(GLANCE)) {
                Ok(output) => return Ok(output),
                Err(_) if self.stop.load(Ordering::Relaxed) => {
                    let what = format!("The command `{}` was ended, because the call was cancelled.", self.program());
                    return Err(Error::new(Code::CallCancelled, what));
                }
                Err(RecvTimeoutError::Timeout) if left > GLANCE => {}
                Err(_) => return Err(self.late()),
            }
        }
    }

    fn status(&mut self) -> Result<ExitStatus> {
        let left = self.left();
        self.process.wait(left)?.ok_or_else(|| self.late())
    }
}

/// Everything that comes out of a pipe, up to `most` bytes, when it is closed.
fn collected(pipe: Option<impl Read + Send + 'static>, most: usize) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    let work = move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What came before a failure of the pipe is all there is.
            let _ = pipe.take(most as u64).read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    };
    drop(thread::Builder::new().spawn(work));
    receiver
}

#[cfg(test)]
mod tests {
    use super::{Job, Said, run, run_until};
    use emendate_core::{Code, Result};
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn shell(script: &str, input: &str, seconds: u64) -> Result<Said> {
        let words = ["sh", "-c", script].map(str::to_owned);
        let time = Duration::from_secs(seconds);
        run(Job { words: &words, folder: Path::new("/"), input: input.as_bytes(), time, most: 1000 })
    }

    #[test]
    fn text_goes_in_and_out() {
        let said = shell("tr a-z A-Z; echo careful >&2; exit 3", "one\n", 20).unwrap();
        assert_eq!(said, Said { status: Some(3), output: b"ONE\n".to_vec(), complaint: "careful".to_owned() });
        // A command that does not read, and more than a pipe holds.
        assert_eq!(shell("echo x", &"y".repeat(1 << 20), 20).unwrap().output, b"x\n");
    }

    #[test]
    fn limits_end_it_and_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("late");
        let script = format!("(sleep 2; touch {}) & sleep 60", mark.display());
        assert_eq!(shell(&script, "", 1).unwrap_err().code(), Code::IoFailed);
        assert_eq!(shell("yes", "", 20).unwrap_err().code(), Code::CallTooLarge);
        // Closes its output and stays.
        assert_eq!(shell("exec >&- 2>&-; sleep 60", "", 1).unwrap_err().code(), Code::IoFailed);
        std::thread::sleep(Duration::from_secs(2));
        assert!(!mark.exists(), "what it started has ended with it");
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let words = ["sh", "-c", "echo begun; exec sleep 600"].map(str::to_owned);
        let job = Job { words: &words, folder: Path::new("/"), input: b"", time: Duration::from_secs(600), most: 10 };
        assert_eq!(run_until(job, &AtomicBool::new(true)).unwrap_err().code(), Code::CallCancelled);
    }

    #[test]
    fn what_cannot_be_started_is_told() {
        let words = ["no-such-program-here".to_owned()];
        let job = Job { words: &words, folder: Path::new("/"), input: b"", time: Duration::from_secs(5), most: 10 };
        assert!(run(job).unwrap_err().message().contains("no-such-program-here"));
    }
}

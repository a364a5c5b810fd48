//! Runs a configured command on a text: text in, text out. It has a time limit and an output limit, no shell interprets
//! its words, and at the end of its time it is killed with everything it started. [`Process`] is a long-lived program.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the one crate below the command line that starts processes, and gives them copies of texts"
)]

mod companion;
mod copy;
mod process;

pub use companion::{Companion, NoAnswer};
pub use copy::{FILE_PLACEHOLDER, run_on_copy};
pub use emendate_os::processes::{limit_self, mapped_bytes};
pub use process::{Process, end_all};

use emendate_core::work::{self, Halt, Meter};
use emendate_core::{Code, Error, Result};
use emendate_os::fd::OwnedFd;
use emendate_os::pipes::{self, ReadPipe};
use process::EXIT_POLL;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes kept of a command's standard error.
const STDERR_BYTES_MAX: usize = 4 << 10;

/// Longest silence after the exit of a command while a process that it started keeps its output open. Such a process
/// may have more to write, as the last part of a pipeline does.
const OPEN_OUTPUT_WAIT: Duration = Duration::from_secs(2);

/// Interval between two checks whether a command should be ended.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// A command to run.
#[derive(Clone, Copy, Debug)]
pub struct CommandJob<'a> {
    /// Program and arguments.
    pub argv: &'a [String],
    /// Working directory.
    pub directory: &'a Path,
    /// Standard input.
    pub input: &'a [u8],
    /// Time limit.
    pub time: Duration,
    /// Maximum bytes of standard output.
    pub output_bytes_max: usize,
}

/// Result of a command that ended in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// Exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub output: Vec<u8>,
    /// The beginning of standard error, as text.
    pub stderr: String,
}

/// Runs a command to its end.
///
/// Errors: `io.failed` if it cannot be started or takes too long, `call.too_large` if it writes too much. In each case
/// it is killed with everything it started.
pub fn run(job: CommandJob<'_>) -> Result<CommandOutput> {
    run_until(job, &AtomicBool::new(false))
}

/// Runs a command, ended as soon as `stop` is set or the call of this thread is cancelled.
///
/// Errors: those of [`run`]; `call.cancelled` if it was stopped.
pub fn run_until(job: CommandJob<'_>, stop: &AtomicBool) -> Result<CommandOutput> {
    let process = Process::start(job.argv, job.directory)?;
    RunningCommand { process, begun: Instant::now(), job, stop }.wait_for_end()
}

struct RunningCommand<'a> {
    /// Dropping it ends the command, however the call ends.
    process: Process,
    begun: Instant,
    job: CommandJob<'a>,
    stop: &'a AtomicBool,
}

impl RunningCommand<'_> {
    /// Waits for the command and for the end of its output. One thread reads both pipes and checks for the exit, so
    /// output written before the exit is always complete, however late this thread is scheduled. Everything that the
    /// command started is killed in the end.
    fn wait_for_end(mut self) -> Result<CommandOutput> {
        let (stdin, stdout, stderr) = self.process.streams();
        let input = self.job.input.to_vec();
        // A command that does not read its input is not at fault; its output counts. The thread ends with the pipe.
        drop(thread::Builder::new().spawn(move || stdin.map(|mut stdin| stdin.write_all(&input))));
        let most = self.job.output_bytes_max;
        let mut output = PipeReader::on(stdout, most + 1);
        let mut stderr = PipeReader::on(stderr, STDERR_BYTES_MAX);
        // The meter of the call also reports that the client is gone.
        let meter = work::current();
        let mut silent_since = None;
        loop {
            let (left, bytes_before) = (self.job.time.saturating_sub(self.begun.elapsed()), output.bytes.len());
            let step = if output.pipe.is_some() { CANCEL_POLL } else { EXIT_POLL };
            read_ready([&mut output, &mut stderr], left.min(step));
            if output.bytes.len() > most {
                return Err(self.fault(Code::CallTooLarge, &format!("wrote more than {most} bytes")));
            }
            let has_exited = self.process.has_exited();
            if output.pipe.is_none() && has_exited {
                break;
            }
            if !has_exited || output.bytes.len() > bytes_before {
                silent_since = None;
            } else if silent_since.get_or_insert_with(Instant::now).elapsed() >= OPEN_OUTPUT_WAIT || left.is_zero() {
                let what = "ended, but a process that it started keeps its output open, so that may be incomplete";
                return Err(self.fault(Code::IoFailed, what));
            }
            if self.stop.load(Ordering::Relaxed) || (meter.as_ref().and_then(Meter::halted) == Some(Halt::Cancelled)) {
                return Err(self.fault(Code::CallCancelled, "was ended, because the call was cancelled"));
            }
            // Output written in time counts, even if it was read late.
            if left.is_zero() && output.bytes.len() == bytes_before {
                let seconds = self.job.time.as_secs_f32();
                return Err(self.fault(Code::IoFailed, &format!("did not end within {seconds} seconds")));
            }
        }
        let status = self.process.end();
        // A child process that left the group may keep this pipe open, so its end is not waited for.
        while stderr.bytes.len() < STDERR_BYTES_MAX && read_ready([&mut stderr], Duration::ZERO) {}
        let stderr = String::from_utf8_lossy(&stderr.bytes).trim().to_owned();
        Ok(CommandOutput { status: status.and_then(|status| status.code()), output: output.bytes, stderr })
    }

    fn fault(&self, code: Code, what: &str) -> Error {
        Error::new(code, format!("The command `{}` {what}.", self.job.argv.first().map_or("", |word| word)))
    }
}

/// A pipe and the bytes read from it.
struct PipeReader {
    /// `None` once it is closed.
    pipe: Option<ReadPipe>,
    bytes: Vec<u8>,
    /// Bytes to keep; the rest is read and discarded, so that the writer does not block.
    bytes_max: usize,
}

impl PipeReader {
    fn on(pipe: Option<impl Into<OwnedFd>>, bytes_max: usize) -> PipeReader {
        PipeReader { pipe: pipe.map(ReadPipe::new), bytes: Vec::new(), bytes_max }
    }

    /// Reads what is available; blocks if nothing is.
    fn take(&mut self) {
        let mut bytes = [0; 8 << 10];
        match self.pipe.as_mut().map(|pipe| pipe.read(&mut bytes)) {
            Some(Ok(read @ 1..)) => {
                let kept = read.min(self.bytes_max.saturating_sub(self.bytes.len()));
                self.bytes.extend_from_slice(bytes.get(..kept).unwrap_or_default());
            }
            Some(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            // Bytes read before a failure of the pipe count.
            _ => self.pipe = None,
        }
    }
}

/// Reads from some pipes as soon as one has data or is closed; false if that did not happen in time.
fn read_ready<const N: usize>(readers: [&mut PipeReader; N], time: Duration) -> bool {
    let open: Vec<&mut PipeReader> = readers.into_iter().filter(|reader| reader.pipe.is_some()).collect();
    let ready = pipes::readable(&open.iter().filter_map(|reader| reader.pipe.as_ref()).collect::<Vec<_>>(), time);
    // A signal ends the wait early; the caller loops.
    let any = ready.contains(&true);
    open.into_iter().zip(ready).filter(|(_, ready)| *ready).for_each(|(reader, _)| reader.take());
    any
}

#[cfg(test)]
mod tests {
    use super::{CommandJob, CommandOutput, Meter, STDERR_BYTES_MAX, run, run_until};
    use emendate_core::{Code, Result};
    use emendate_os::fd::AsRawFd as _;
    use std::io::Read as _;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    fn shell(script: &str, input: &str, seconds: u64) -> Result<CommandOutput> {
        let words = ["sh", "-c", script].map(str::to_owned);
        let time = Duration::from_secs(seconds);
        run(CommandJob {
            argv: &words,
            directory: Path::new("/"),
            input: input.as_bytes(),
            time,
            output_bytes_max: 1000,
        })
    }

    #[test]
    fn input_and_output_are_passed_through() {
        let said = shell("tr a-z A-Z; echo careful >&2; exit 3", "one\n", 20).unwrap();
        assert_eq!(said, CommandOutput { status: Some(3), output: b"ONE\n".to_vec(), stderr: "careful".to_owned() });
        // A command that does not read, and more input than a pipe buffer.
        assert_eq!(shell("echo x", &"y".repeat(1 << 20), 20).unwrap().output, b"x\n");
    }

    #[test]
    fn limits_kill_the_command_and_its_children() {
        let (mut held, holds) = std::io::pipe().unwrap();
        let writer = format!("/proc/{}/fd/{}", std::process::id(), holds.as_raw_fd());
        let script = format!("sleep 600 3>{writer} & wait");
        assert_eq!(shell(&script, "", 1).unwrap_err().code(), Code::IoFailed);
        assert_eq!(shell("yes", "", 20).unwrap_err().code(), Code::CallTooLarge);
        // Closes its output and stays; writes to standard error forever.
        assert_eq!(shell("exec >&- 2>&-; sleep 60", "", 1).unwrap_err().code(), Code::IoFailed);
        assert_eq!(shell("yes >&2", "", 1).unwrap_err().code(), Code::IoFailed);
        drop(holds);
        // Every process that has this pipe open must have ended.
        assert_eq!(held.read_to_end(&mut Vec::new()).unwrap(), 0);
    }

    #[test]
    fn what_a_command_leaves_running_is_killed() {
        // With its own output, the child is no reason to wait; with the output of the command it is, for a short time.
        for (redirect, ends) in [(">&- 2>&-", true), ("", false)] {
            let (mut held, holds) = std::io::pipe().unwrap();
            let writer = format!("/proc/{}/fd/{}", std::process::id(), holds.as_raw_fd());
            let begun = std::time::Instant::now();
            let ran = shell(&format!("cat; sleep 600 3>{writer} {redirect} & exit 0"), "text", 60);
            assert!(begun.elapsed() < Duration::from_secs(30));
            match ran {
                Ok(ran) => assert!(ends && ran.status == Some(0) && ran.output == b"text", "{ran:?}"),
                Err(error) => assert!(!ends && error.message().contains("keeps its output open"), "{error}"),
            }
            drop(holds);
            assert_eq!(held.read_to_end(&mut Vec::new()).unwrap(), 0);
        }
    }

    #[test]
    fn output_before_the_exit_is_complete() {
        // More standard error than fits into a pipe buffer does not block, and a child process keeps the pipe open.
        let said = shell("yes | head -c 200000 >&2; echo done; (yes >&2 & sleep 1) & exit 4", "", 20).unwrap();
        assert_eq!((said.status, &*said.output, said.stderr.len()), (Some(4), &b"done\n"[..], STDERR_BYTES_MAX - 1));
        for round in 0..100 {
            let said = shell(&format!("echo {round} >&2; exit 1"), "", 60).unwrap();
            assert_eq!((said.status, said.stderr), (Some(1), round.to_string()));
        }
    }

    #[test]
    fn command_is_killed_on_request() {
        let words = ["sh", "-c", "echo begun; exec sleep 600"].map(str::to_owned);
        let job = CommandJob {
            argv: &words,
            directory: Path::new("/"),
            input: b"",
            time: Duration::from_secs(600),
            output_bytes_max: 10,
        };
        assert_eq!(run_until(job, &AtomicBool::new(true)).unwrap_err().code(), Code::CallCancelled);
        let _entered = Meter::with_flag(1_000, Arc::default(), Arc::new(AtomicBool::new(true))).enter();
        assert_eq!(run_until(job, &AtomicBool::new(false)).unwrap_err().code(), Code::CallCancelled);
    }

    #[test]
    fn program_that_cannot_be_started_is_reported() {
        let words = ["no-such-program-here".to_owned()];
        let job = CommandJob {
            argv: &words,
            directory: Path::new("/"),
            input: b"",
            time: Duration::from_secs(5),
            output_bytes_max: 10,
        };
        assert!(run(job).unwrap_err().message().contains("no-such-program-here"));
    }
}

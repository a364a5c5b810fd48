//! A long-lived program that answers one message after another: each is a length in four bytes, and that many bytes.

use crate::{CANCEL_POLL, Process};
use emendate_core::{Code, Error, Result};
use emendate_os::pipes::{self, ReadPipe, WritePipe};
use emendate_os::processes::was_ended_from_outside;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for a program to exit after it closed its pipes.
const EXIT_WAIT: Duration = Duration::from_millis(200);
/// Maximum bytes per read.
const READ_CHUNK_BYTES: usize = 64 << 10;

/// A running program that answers messages. Dropping it ends the program.
#[derive(Debug)]
pub struct Companion {
    process: Process,
    input: WritePipe,
    output: ReadPipe,
}

/// The reason why a message has no answer. The program is unusable then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The caller asked to stop.
    Stopped,
    /// The program exited or was ended from outside, without a fault of its own.
    Ended,
    /// The program failed: a crash, one of its limits, no answer in time, or one that is too long.
    Failed,
}

impl Companion {
    /// Starts a program. Its standard error is discarded.
    ///
    /// Errors: as [`Process::start`].
    pub fn start(words: &[String], folder: &Path) -> Result<Companion> {
        let mut process = Process::start(words, folder)?;
        let (input, output, _) = process.streams();
        let (Some(input), Some(output)) = (input, output) else {
            return Err(Error::new(Code::IoFailed, "The program has no pipes."));
        };
        let (mut input, mut output) = (WritePipe::new(input), ReadPipe::new(output));
        input
            .set_nonblocking()
            .and_then(|()| output.set_nonblocking())
            .map_err(|error| Error::new(Code::IoFailed, format!("A pipe cannot be set up: {error}.")))?;
        Ok(Companion { process, input, output })
    }

    /// Sends a message and waits for an answer of at most `most` bytes, or until `stop` returns true.
    ///
    /// Errors: the reason why there is none.
    pub fn ask(
        &mut self,
        message: &[u8],
        most: usize,
        time: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, NoAnswer> {
        let end = Instant::now() + time;
        let len = u32::try_from(message.len()).map_err(|_| NoAnswer::Failed)?.to_le_bytes();
        let sent = self.send(&len, end, stop).and_then(|()| self.send(message, end, stop));
        // If it no longer reads, its exit gives the reason.
        if let Err(no_answer) = sent {
            return Err(self.reason(no_answer));
        }
        let mut answer = Vec::new();
        loop {
            if let Some(len) = answer.first_chunk::<4>() {
                let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
                if len > most {
                    return Err(NoAnswer::Failed);
                }
                if answer.len() >= len + 4 {
                    answer.drain(..4);
                    return Ok(answer);
                }
            }
            if let Err(no_answer) = self.receive(&mut answer, end, stop) {
                return Err(self.reason(no_answer));
            }
        }
    }

    fn send(&mut self, mut bytes: &[u8], end: Instant, stop: &dyn Fn() -> bool) -> Result<(), NoAnswer> {
        while !bytes.is_empty() {
            match self.input.write(bytes) {
                Ok(written @ 1..) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    wait(|time| pipes::writable(&mut self.input, time), end, stop)?;
                }
                _ => return Err(NoAnswer::Ended),
            }
        }
        Ok(())
    }

    fn receive(&mut self, answer: &mut Vec<u8>, end: Instant, stop: &dyn Fn() -> bool) -> Result<(), NoAnswer> {
        let start = answer.len();
        answer.resize(start + READ_CHUNK_BYTES, 0);
        let read = self.output.read(answer.get_mut(start..).unwrap_or_default());
        answer.truncate(start + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(1..) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait(|time| pipes::readable(&[&self.output], time).contains(&true), end, stop)
            }
            _ => Err(NoAnswer::Ended),
        }
    }

    /// Returns the reason behind a closed pipe: a fault of the program, or an end from outside.
    fn reason(&mut self, no_answer: NoAnswer) -> NoAnswer {
        if no_answer != NoAnswer::Ended {
            return no_answer;
        }
        let has_exited = self.process.wait(EXIT_WAIT);
        match has_exited.then(|| self.process.end()).flatten() {
            Some(status) if status.success() || was_ended_from_outside(status) => NoAnswer::Ended,
            _ => NoAnswer::Failed,
        }
    }
}

/// Waits until a pipe is ready.
fn wait(mut is_ready: impl FnMut(Duration) -> bool, end: Instant, stop: &dyn Fn() -> bool) -> Result<(), NoAnswer> {
    loop {
        if stop() {
            return Err(NoAnswer::Stopped);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(NoAnswer::Failed);
        }
        if is_ready(left.min(CANCEL_POLL)) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Companion, NoAnswer};
    use std::path::Path;
    use std::time::Duration;

    fn companion(script: &str) -> Companion {
        Companion::start(&["sh", "-c", script].map(str::to_owned), Path::new("/")).unwrap()
    }

    fn ask(companion: &mut Companion, message: &[u8], seconds: u64) -> Result<Vec<u8>, NoAnswer> {
        companion.ask(message, 1 << 20, Duration::from_secs(seconds), &|| false)
    }

    #[test]
    fn messages_and_answers_are_exchanged() {
        let mut echo = companion("exec cat");
        // `cat` answers while it reads, so a message larger than two pipe buffers would block it.
        for message in [b"one".to_vec(), Vec::new(), vec![b'x'; 50_000]] {
            assert_eq!(ask(&mut echo, &message, 60), Ok(message));
        }
    }

    #[test]
    fn failure_differs_from_being_killed() {
        assert_eq!(ask(&mut companion("kill -SEGV $$"), b"", 60), Err(NoAnswer::Failed));
        assert_eq!(ask(&mut companion("kill -ABRT $$"), b"", 60), Err(NoAnswer::Failed));
        assert_eq!(ask(&mut companion("exit 1"), b"", 60), Err(NoAnswer::Failed));
        assert_eq!(ask(&mut companion("kill -KILL $$"), b"", 60), Err(NoAnswer::Ended));
        assert_eq!(ask(&mut companion("exit 0"), b"", 60), Err(NoAnswer::Ended));
        assert_eq!(ask(&mut companion("exec sleep 600"), b"", 1), Err(NoAnswer::Failed));
        assert_eq!(ask(&mut companion("exec yes"), b"", 60), Err(NoAnswer::Failed), "an answer that is too long");
    }

    #[test]
    fn waiting_ends_when_the_caller_stops() {
        let mut silent = companion("exec sleep 600");
        let asked = silent.ask(&vec![0; 1 << 20], 10, Duration::from_secs(600), &|| true);
        assert_eq!(asked, Err(NoAnswer::Stopped));
    }
}

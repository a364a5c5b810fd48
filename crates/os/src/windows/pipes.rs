//! Pipes to child processes, and detection of a reader that is gone.
//!
//! Windows has no call that waits for a pipe, so pipes are polled with growing pauses.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use windows_sys::Wdk::Storage::FileSystem as wdk;

use super::errno::Errno;
use super::fd::{AsFd, OwnedFd};
use super::nt::{self, Pipe};
use super::win32;

/// Pauses between two checks of a pipe: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);
/// Pause between two checks whether anybody reads the output.
const UNREAD_PAUSE: Duration = Duration::from_millis(250);
/// State of a pipe whose other end is closed.
const CLOSING: u32 = 4;

/// The end of a pipe from which this process reads.
#[derive(Debug)]
pub struct ReadPipe {
    file: File,
    nonblocking: bool,
}

impl ReadPipe {
    /// Wraps the reading end of a pipe.
    pub fn new(pipe: impl Into<OwnedFd>) -> ReadPipe {
        ReadPipe { file: File::from(pipe.into()), nonblocking: false }
    }

    /// Makes reads from an empty pipe fail with `WouldBlock`.
    ///
    /// Errors: none.
    pub fn set_nonblocking(&mut self) -> io::Result<()> {
        self.nonblocking = true;
        Ok(())
    }

    /// Reads what is available; blocks if nothing is.
    ///
    /// Errors: those of the system.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.nonblocking && win32::peek(self.file.as_fd().handle()) == Ok(0) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        match self.file.read(buffer) {
            // The other end is closed.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            other => other,
        }
    }

    fn is_ready(&self) -> bool {
        win32::peek(self.file.as_fd().handle()) != Ok(0)
    }
}

/// The end of a pipe to which this process writes. The writes happen on a thread, because a write to a full pipe
/// blocks.
#[derive(Debug)]
pub struct WritePipe {
    sender: SyncSender<Vec<u8>>,
    done: Receiver<io::Result<()>>,
    pending: bool,
    failed: bool,
}

impl WritePipe {
    /// Wraps the writing end of a pipe.
    pub fn new(pipe: impl Into<OwnedFd>) -> WritePipe {
        let mut file = File::from(pipe.into());
        let (sender, bytes) = sync_channel::<Vec<u8>>(1);
        let (report, done) = sync_channel(1);
        let thread = thread::Builder::new().name("emend-pipe".to_owned());
        // Without the thread, every write fails.
        drop(thread.spawn(move || {
            while let Ok(bytes) = bytes.recv() {
                if report.send(file.write_all(&bytes)).is_err() {
                    return;
                }
            }
        }));
        WritePipe { sender, done, pending: false, failed: false }
    }

    /// Makes writes to a full pipe fail with `WouldBlock`, as they do in any case.
    ///
    /// Errors: none.
    pub fn set_nonblocking(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Writes the bytes, unless earlier ones are still being written.
    ///
    /// Errors: `WouldBlock` then; `BrokenPipe` if an earlier write failed.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.look() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if self.failed || self.sender.send(bytes.to_vec()).is_err() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.pending = true;
        Ok(bytes.len())
    }

    /// True if nothing is being written.
    fn look(&mut self) -> bool {
        if self.pending {
            match self.done.try_recv() {
                Ok(result) => self.failed |= result.is_err(),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => self.failed = true,
            }
            self.pending = false;
        }
        true
    }
}

/// Calls `is_ready` until it returns true or the time is over; returns its last result.
fn wait_for(time: Duration, mut is_ready: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + time;
    let mut pause = FIRST_PAUSE;
    loop {
        if is_ready() {
            return true;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Waits until at least one of the pipes has data or is closed; returns which.
pub fn readable(pipes: &[&ReadPipe], time: Duration) -> Vec<bool> {
    let mut ready = Vec::new();
    wait_for(time, || {
        ready = pipes.iter().map(|pipe| pipe.is_ready()).collect();
        ready.contains(&true)
    });
    ready
}

/// Waits until the pipe has room or is closed; true if so.
pub fn writable(pipe: &mut WritePipe, time: Duration) -> bool {
    wait_for(time, || pipe.look())
}

/// True if this is a pipe that nothing will read any more.
pub fn is_unread(output: &impl AsFd) -> bool {
    let mut buffer = [0; 5];
    let found = nt::query(output.as_fd().handle(), wdk::FilePipeLocalInformation, &mut buffer);
    match found {
        Ok(filled) => nt::part::<Pipe>(&buffer, filled).is_some_and(|pipe| pipe.state == CLOSING),
        Err(status) => Errno::of_status(status) == Errno::PIPE,
    }
}

/// Waits until nothing will read this pipe any more, and returns true. For any other file it waits forever.
pub fn wait_until_unread(output: &impl AsFd) -> bool {
    while !is_unread(output) {
        thread::sleep(UNREAD_PAUSE);
    }
    true
}

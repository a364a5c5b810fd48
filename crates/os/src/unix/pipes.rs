//! Pipes to child processes, and detection of a reader that is gone.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::fd::{AsFd, OwnedFd};

/// The end of a pipe from which this process reads.
#[derive(Debug)]
pub struct ReadPipe(File);

/// The end of a pipe to which this process writes.
#[derive(Debug)]
pub struct WritePipe(File);

impl ReadPipe {
    /// Wraps the reading end of a pipe.
    pub fn new(pipe: impl Into<OwnedFd>) -> ReadPipe {
        ReadPipe(File::from(pipe.into()))
    }

    /// Makes reads from an empty pipe fail with `WouldBlock`.
    ///
    /// Errors: those of the system.
    pub fn set_nonblocking(&mut self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.0, true)?)
    }

    /// Reads what is available; blocks if nothing is.
    ///
    /// Errors: those of the system.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl WritePipe {
    /// Wraps the writing end of a pipe.
    pub fn new(pipe: impl Into<OwnedFd>) -> WritePipe {
        WritePipe(File::from(pipe.into()))
    }

    /// Makes writes to a full pipe fail with `WouldBlock`.
    ///
    /// Errors: those of the system.
    pub fn set_nonblocking(&mut self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.0, true)?)
    }

    /// Writes some of the bytes.
    ///
    /// Errors: those of the system.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
}

/// Waits until at least one of the pipes has data or is closed; returns which. A signal may end the wait early.
pub fn readable(pipes: &[&ReadPipe], time: Duration) -> Vec<bool> {
    let mut polled: Vec<PollFd<'_>> = pipes.iter().map(|pipe| PollFd::new(&pipe.0, PollFlags::IN)).collect();
    let time = Timespec::try_from(time).ok();
    let any = poll(&mut polled, time.as_ref()).is_ok_and(|count| count > 0);
    polled.iter().map(|pipe| any && !pipe.revents().is_empty()).collect()
}

/// Waits until the pipe has room or is closed; true if so.
pub fn writable(pipe: &mut WritePipe, time: Duration) -> bool {
    let time = Timespec::try_from(time).ok();
    poll(&mut [PollFd::new(&pipe.0, PollFlags::OUT)], time.as_ref()).is_ok_and(|ready| ready > 0)
}

/// True if this is a pipe or socket that nothing will read any more.
pub fn is_unread(output: &impl AsFd) -> bool {
    let mut pipe = [PollFd::new(output, PollFlags::empty())];
    poll(&mut pipe, Some(&Timespec::default())).is_ok() && pipe[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Waits until nothing will read this pipe or socket any more, and returns true. For any other file it waits forever.
pub fn wait_until_unread(output: &impl AsFd) -> bool {
    // Without requested events, only an error or a hang-up ends the wait.
    let mut pipe = [PollFd::new(output, PollFlags::empty())];
    while poll(&mut pipe, None) == Err(Errno::INTR) {}
    pipe[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

//! A program that is started in a group of its own, and that ends with everything it started: when it is told to, when it
//! is dropped, or when the whole process is told to end.

use emendate_core::{Code, Error, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often a program is asked whether it has ended.
pub(crate) const LOOK: Duration = Duration::from_millis(2);

/// The groups that are running.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Ends every program that is running, with everything it started: for a process that has been told to end itself.
pub fn end_all() {
    let groups = std::mem::take(&mut *GROUPS.lock().unwrap_or_else(PoisonError::into_inner));
    for group in groups {
        kill(group);
    }
}

fn kill(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Option<i32>,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts a program, looked for where the search path leads, with a pipe for each standard stream.
    ///
    /// Errors: `call.invalid` for no words, `io.failed` where it cannot be started.
    pub fn start(words: &[String], folder: &Path) -> Result<Process> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(Error::new(Code::CallInvalid, "A command needs at least the name of a program."));
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: what it starts can be ended with it, and Ctrl-C at our terminal is not meant for it.
        command.process_group(0);
        // Under the lock, so that nothing is started that `end_all` does not know.
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn().map_err(|error| {
            Error::new(Code::IoFailed, format!("The command `{program}` cannot be started: {error}."))
                .next("Install it, or correct the configuration.")
        })?;
        let group = i32::try_from(child.id()).ok();
        groups.extend(group);
        Ok(Process { child, group, ended: None })
    }

    /// Its standard streams; each is handed out once.
    pub fn streams(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// How it ended, if it did. What it left running then stays.
    ///
    /// Errors: `io.failed`.
    pub fn status(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended =
                self.child.try_wait().map_err(|error| Error::new(Code::IoFailed, format!("It is lost: {error}.")))?;
            if self.ended.is_some() {
                self.forget();
            }
        }
        Ok(self.ended)
    }

    /// How it ended, once it did; `None` when it takes longer than this.
    ///
    /// Errors: `io.failed`.
    pub fn wait(&mut self, time: Duration) -> Result<Option<ExitStatus>> {
        let begun = Instant::now();
        loop {
            match self.status()? {
                None if begun.elapsed() < time => thread::sleep(LOOK),
                answer => return Ok(answer),
            }
        }
    }

    /// Ends it and what it started, unless [`Process::status`] has seen it end; how it ended.
    pub fn end(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // It has not been waited for, so the number is still its own, even if it ended by itself.
            if let Some(group) = self.forget() {
                kill(group);
            }
            let _ = self.child.kill();
            self.ended = self.child.wait().ok();
        }
        self.ended
    }

    /// Lets it end by itself for so long; then ends it. What it started is ended in either case. How it ended.
    pub fn end_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        while self.ended.is_none() && !self.has_left() && begun.elapsed() < time {
            thread::sleep(LOOK);
        }
        self.end()
    }

    /// True once it ended, without taking notice: its number stays its own.
    fn has_left(&self) -> bool {
        let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else { return true };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), look).map_or(true, |status| status.is_some())
    }

    /// Takes the group off the list, if it is there.
    fn forget(&mut self) -> Option<i32> {
        let group = self.group.take()?;
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).remove(&group).then_some(group)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

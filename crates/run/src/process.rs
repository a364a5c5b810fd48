//! A program in a process group of its own, killed with everything it started: on request, when dropped, or when the
//! whole process is asked to end.

use emendate_core::{Code, Error, Result};
use emendate_os::processes::{self, Group};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Interval between two checks whether a program has ended.
pub(crate) const EXIT_POLL: Duration = Duration::from_millis(2);

/// The running process groups.
static GROUPS: Mutex<BTreeSet<Group>> = Mutex::new(BTreeSet::new());

/// Kills every running program with everything it started, for a process that was asked to end.
pub fn end_all() {
    let groups = std::mem::take(&mut *GROUPS.lock().unwrap_or_else(PoisonError::into_inner));
    for group in groups {
        processes::kill_group(group);
    }
}

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Option<Group>,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts a program, found through the search path, with a pipe for each standard stream.
    ///
    /// Errors: `call.invalid` for no words, `io.failed` if it cannot be started.
    pub fn start(words: &[String], folder: &Path) -> Result<Process> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(Error::new(Code::CallInvalid, "A command needs at least the name of a program."));
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Under the lock, so that `end_all` misses no program.
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let (child, group) = processes::spawn_in_group(&mut command).map_err(|error| {
            Error::new(Code::IoFailed, format!("The command `{program}` cannot be started: {error}."))
                .next("Install it, or correct the configuration.")
        })?;
        groups.extend(group);
        Ok(Process { child, group, ended: None })
    }

    /// Returns its standard streams; each is handed out once.
    pub fn streams(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// True if it has exited. What it started may still be running.
    pub fn has_exited(&self) -> bool {
        self.ended.is_some() || processes::has_exited(&self.child)
    }

    /// Waits for it to exit; false if it takes longer than `time`.
    pub fn wait(&self, time: Duration) -> bool {
        let begun = Instant::now();
        while !self.has_exited() {
            if begun.elapsed() >= time {
                return false;
            }
            thread::sleep(EXIT_POLL);
        }
        true
    }

    /// Kills it, if it has not exited, and everything it started in its process group; returns the exit status.
    pub fn end(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // The program has not been reaped, so its process id is not reused, even if it has exited.
            if let Some(group) = self.unregister() {
                processes::kill_group(group);
                processes::forget_group(group);
            }
            let _ = self.child.kill();
            self.ended = self.child.wait().ok();
        }
        self.ended
    }

    /// Waits for it to exit; kills it after `time`. Kills everything it started in either case. Returns the exit
    /// status.
    pub fn end_within(&mut self, time: Duration) -> Option<ExitStatus> {
        self.wait(time);
        self.end()
    }

    /// Removes the group from the list, if it is there.
    fn unregister(&mut self) -> Option<Group> {
        let group = self.group.take()?;
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).remove(&group).then_some(group)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

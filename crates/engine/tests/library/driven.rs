//! A process that runs a test of this program, which does what the lines on its input say: for tests that stop or kill it in
//! the middle of a call.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prefix of the lines that a process reports; the test runner prints others.
const MARK: &str = "@@";

/// Reports a point of a call, or `done` and its result.
pub(crate) fn report(text: &str) {
    println!("\n{MARK}{text}");
}

/// Reads the next line of the test; ends the process if there is none.
pub(crate) fn next_line() -> String {
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).unwrap_or(0) == 0 {
        std::process::exit(0);
    }
    line
}

/// Reports a point of a call and waits for the next line, if this call stops.
pub(crate) fn stop_at(point: &str, stops: &AtomicBool) {
    if stops.load(Ordering::Relaxed) {
        report(&format!("at {point}"));
        next_line();
    }
}

pub(crate) struct DrivenProcess {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The process is stopped in the middle of a call.
    pub(crate) busy: bool,
}

impl DrivenProcess {
    /// Starts a test with the directory in an environment variable.
    pub(crate) fn start(test: &str, variable: &str, directory: &Path) -> DrivenProcess {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", test, "--nocapture"]).env(variable, directory);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        DrivenProcess { child, to, from, busy: false }
    }

    /// Sends a line and waits for the next point or the end of the call, whose result is the answer.
    pub(crate) fn send(&mut self, line: &str) -> Option<String> {
        writeln!(self.to, "{line}").unwrap();
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "a process ended by itself");
            let Some((_, said)) = line.split_once(MARK) else { continue };
            let done = said.strip_prefix("done ").map(|result| result.trim().to_owned());
            self.busy = done.is_none();
            return done;
        }
    }
}

impl Drop for DrivenProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

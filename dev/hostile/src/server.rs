//! The server under test: one `emend serve --ndjson` process and its resource use.

use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time without any processor time, and maximum processor time of a call; beyond either the call counts as a
/// hang, and the server is killed. A machine under load may take minutes for a second of work.
const HANG: Duration = Duration::from_secs(120);
const HANG_CPU_MS: u64 = 60_000;
/// Interval between two checks of a running call.
const LOOK: Duration = Duration::from_secs(1);
/// Clock ticks per second in `/proc/PID/stat`, on every supported Linux.
const TICKS: u64 = 100;

/// The cost and reply of one call.
#[derive(Debug)]
pub(crate) struct Measured {
    /// The line of the reply; `None` if the server died or hung.
    pub(crate) line: Option<String>,
    /// Processor time of the server and its children, in milliseconds.
    pub(crate) cpu_ms: u64,
    /// The largest resident set of the server during the call, in KiB.
    pub(crate) peak_kib: u64,
    /// Time from the request to the reply.
    pub(crate) wall: Duration,
}

/// The end of a call that was cancelled while it ran.
#[derive(Debug)]
pub(crate) struct Cancellation {
    /// Processor time of the server and its children after the cancellation, in milliseconds.
    pub(crate) cpu_ms: u64,
    /// Time from the cancellation to the reply.
    pub(crate) wall: Duration,
    /// True if the reply reports the cancellation; false if the call had begun to write, or had ended.
    pub(crate) stopped: bool,
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    calls: u64,
}

impl Server {
    /// Starts a server for `root`, with its history in `state` and its messages in the file `messages`.
    ///
    /// # Errors
    /// Fails if the program cannot be started.
    pub(crate) fn start(emend: &Path, root: &Path, state: &Path, messages: &Path) -> io::Result<Server> {
        let mut command = Command::new(emend);
        command.arg("--root").arg(root).arg("--state").arg(state).args(["--unread", "allow", "serve", "--ndjson"]);
        command.env("HOME", state).env("XDG_CONFIG_HOME", state).env("XDG_STATE_HOME", state);
        let log = fs::File::options().create(true).append(true).open(messages)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Server { child, input, lines, calls: 0 })
    }

    /// Makes one call and measures it.
    pub(crate) fn call(&mut self, tool: &str, input: &Value) -> Measured {
        let pid = self.child.id();
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
        let (before, start) = (cpu_ticks(pid), Instant::now());
        let line = if self.send(tool, input) { self.reply() } else { None };
        let wall = start.elapsed();
        let cpu_ms = cpu_ticks(pid).saturating_sub(before) * 1000 / TICKS;
        let measured = Measured { cpu_ms, peak_kib: peak_kib(pid), line, wall };
        if measured.line.is_none() {
            let _ = self.child.kill();
        }
        measured
    }

    /// Makes one call and cancels it after some time. `None` if it ended before that.
    pub(crate) fn call_cancelled(&mut self, tool: &str, input: &Value, after: Duration) -> Option<Cancellation> {
        let pid = self.child.id();
        if !self.send(tool, input) || self.lines.recv_timeout(after).is_ok() {
            return None;
        }
        let (before, start) = (cpu_ticks(pid), Instant::now());
        let _ = writeln!(self.input, "{}", json!({ "cancel": self.calls }));
        let line = self.reply().unwrap_or_default();
        let wall = start.elapsed();
        let cpu_ms = cpu_ticks(pid).saturating_sub(before) * 1000 / TICKS;
        Some(Cancellation { cpu_ms, wall, stopped: line.contains("\"call.cancelled\"") })
    }

    /// Waits for the next line; `None` if the server died or hangs.
    fn reply(&self) -> Option<String> {
        let pid = self.child.id();
        let first = cpu_ticks(pid);
        let (mut last, mut since) = (first, Instant::now());
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = cpu_ticks(pid);
            if now != last {
                (last, since) = (now, Instant::now());
            }
            if since.elapsed() > HANG || now.saturating_sub(first) * 1000 / TICKS > HANG_CPU_MS {
                return None;
            }
        }
    }

    /// Sends a request; false if the server does not accept it.
    fn send(&mut self, tool: &str, input: &Value) -> bool {
        self.calls += 1;
        // The request is written at once, because reading thousands of small writes would cost the server processor
        // time.
        let request = format!("{}\n", json!({ "id": self.calls, "tool": tool, "input": input }));
        self.input.write_all(request.as_bytes()).and_then(|()| self.input.flush()).is_ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the clock ticks that a process and its living descendants have used.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let own: u64 = fields.iter().skip(11).take(4).filter_map(|it| it.parse::<u64>().ok()).sum();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    own + children.split_whitespace().filter_map(|it| it.parse().ok()).map(cpu_ticks).sum::<u64>()
}

fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

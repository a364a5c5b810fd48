//! Runs an MCP server as a process.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Returns the command line of our server for one directory.
pub(crate) fn emend(program: &Path, root: &Path, state: &str, durability: &str) -> Command {
    let mut command = Command::new(program);
    command.arg("--root").arg(root).args(["--state", state, "--durability", durability, "--unread", "allow", "mcp"]);
    command
}

/// A server process and its pipes.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts the server and initializes the connection.
    pub(crate) fn start(mut command: Command) -> Server {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { panic!("{command:?} does not start") };
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { panic!("no pipes") };
        let mut server = Server { child, input, output: BufReader::new(output), next: 1 };
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "0" } });
        server.request("initialize", &hello);
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn send(&mut self, message: &Value) {
        let sent = writeln!(self.input, "{message}").and_then(|()| self.input.flush());
        assert!(sent.is_ok(), "the server has exited");
    }

    /// Makes one request and returns its result.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap_or(0);
            assert!(read > 0, "the server has exited");
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Returns the resident memory in bytes.
    pub(crate) fn resident(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb: Option<f64> = line.and_then(|line| line.split_whitespace().next()).and_then(|kb| kb.parse().ok());
        kb.unwrap_or(f64::INFINITY) * 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

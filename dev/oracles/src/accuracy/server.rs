//! Runs the MCP filesystem server as a process.

use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server process and its pipes.
pub(super) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts the server script with access to `folder`.
    pub(super) fn start(script: &Path, folder: &Path) -> io::Result<Server> {
        let mut node = Command::new("node");
        node.arg(script).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = node.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let mut server = Server { child, input, output: BufReader::new(output), next: 1 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "oracles", "version": "0" }
        });
        server.request("initialize", &hello)?;
        writeln!(server.input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    /// Calls a tool; returns true if it reports success.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<bool> {
        let answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        Ok(answer.get("error").is_none() && answer["result"]["isError"] != true)
    }

    fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        let id = self.next;
        self.next += 1;
        writeln!(self.input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        self.input.flush()?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(io::Error::other("the server has exited"));
            }
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == id {
                return Ok(answer);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

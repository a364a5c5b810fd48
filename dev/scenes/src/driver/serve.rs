//! The driver for `emend serve --ndjson`, which reads one request per line and writes one reply per line. Also contains
//! the pipe that the MCP driver shares.

use super::{Driver, Reply, Stage};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A process that replies to each line with a line.
pub(super) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    pub(super) fn open(mut command: Command) -> Result<Pipe, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Pipe { input: child.stdin.take(), child, output })
    }

    pub(super) fn send(&mut self, line: &Value) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("closed")?;
        writeln!(input, "{line}").and_then(|()| input.flush()).map_err(|error| format!("cannot send: {error}"))
    }

    pub(super) fn receive(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err("the process ended, or was killed because it did not answer".to_owned()),
            Ok(_) => serde_json::from_str(&line).map_err(|error| format!("not JSON ({error}): {line}")),
            Err(error) => Err(format!("cannot receive: {error}")),
        }
    }

    /// Closes the input of the process, which must make it end.
    pub(super) fn close(&mut self) -> Result<(), String> {
        self.input = None;
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("at the end of its input the process ended with {status}")) }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.input = None;
        // The process ends by itself or is killed by `timeout`; this only collects its status.
        let _ = self.child.wait();
    }
}

pub(super) struct Serve {
    pipe: Pipe,
    calls: u64,
}

impl Serve {
    pub(super) fn open(stage: &Stage) -> Result<Serve, String> {
        let mut command = stage.command()?;
        command.args(["serve", "--ndjson"]);
        Ok(Serve { pipe: Pipe::open(command)?, calls: 0 })
    }
}

impl Driver for Serve {
    fn call(&mut self, tool: &str, input: &str) -> Result<Reply, String> {
        let input: Value = serde_json::from_str(input).map_err(|_| "the input is not JSON; skip this driver")?;
        self.calls += 1;
        self.pipe.send(&json!({ "id": self.calls, "tool": tool, "input": input }))?;
        let object = self.pipe.receive()?;
        if object["id"] != self.calls {
            return Err(format!("id {} was expected: {object}", self.calls));
        }
        Reply::of(&object)
    }

    fn close(&mut self) -> Result<(), String> {
        self.pipe.close()
    }
}

//! The driver that starts one process per call; sessions are kept in the database.

use super::{Driver, Reply, Stage};
use std::io::Write as _;
use std::process::Stdio;

pub(super) struct Cli {
    stage: Stage,
}

impl Cli {
    pub(super) fn new(stage: Stage) -> Cli {
        Cli { stage }
    }
}

impl Driver for Cli {
    fn call(&mut self, tool: &str, input: &str) -> Result<Reply, String> {
        let mut command = self.stage.command()?;
        command.args(["call", tool, "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let input = input.to_owned();
        let stdin = child.stdin.take();
        // The input is written while the output is read; otherwise both processes would wait for each other once the
        // pipes are full.
        let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        let done = child.wait_with_output().map_err(|error| error.to_string())?;
        // A process that rejects its input early closes the pipe; its reply gives the reason.
        let _ = writer.join();
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let object = serde_json::from_str(&out)
            .map_err(|error| format!("{}; output is not one JSON object ({error}): {out}{err}", done.status))?;
        let reply = Reply::of(&object)?;
        if done.status.code() != Some(reply.exit()) {
            return Err(format!("{}, but the reply means {}", done.status, reply.exit()));
        }
        // Standard error may contain only notes for people about the configuration.
        if err.lines().any(|line| !line.starts_with("note: ")) {
            return Err(format!("unexpected standard error: {err}"));
        }
        Ok(reply)
    }
}

//! A probe of an MCP server: starts it as a client would, and initializes it.

use emendate_clients::{PassedEnvironment, ServerEntry};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time limit for the whole probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for ending after the end of its input.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of its output.
const OUTPUT_BYTES_MAX: u64 = 8 << 20;
/// Bytes of its error output that are shown.
const SHOWN_STDERR_BYTES: u64 = 2000;

/// Variables that a server gets from clients that do not pass on their whole environment.
const PASSED_VARIABLES: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// The properties of a server.
pub(crate) struct ProbeReport {
    /// The version of the server.
    pub(crate) version: String,
    /// The number of its tools.
    pub(crate) tools: usize,
    /// The time from the start of the process to the list of tools.
    pub(crate) time: Duration,
}

/// Starts the server in a directory, with the environment that its client gives it, asks for its properties and its tools, and lets it end.
///
/// Errors: the failure, in words.
pub(crate) fn probe_server(
    entry: &ServerEntry,
    folder: &Path,
    environment: PassedEnvironment,
) -> Result<ProbeReport, String> {
    let begun = Instant::now();
    let mut command = Command::new(&entry.command);
    if environment == PassedEnvironment::Named {
        let passed = PASSED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.env_clear().envs(passed);
    }
    let mut child = command
        .args(&entry.args)
        .envs(entry.env.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", entry.command))?;
    let (Some(input), Some(output), Some(complaint)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("its streams cannot be used".to_owned());
    };
    // Separate readers: neither pipe may fill up, and every wait is bounded.
    let (lines, printed) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output.take(OUTPUT_BYTES_MAX)).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                break;
            }
        }
    });
    let (words, complained) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let mut complaint = complaint;
        let _ = complaint.by_ref().take(SHOWN_STDERR_BYTES).read_to_end(&mut text);
        let _ = words.send(String::from_utf8_lossy(&text).trim().to_owned());
        let _ = std::io::copy(&mut complaint, &mut std::io::sink());
    });
    let spoke = converse(input, &printed, begun);
    end(&mut child, &printed);
    spoke.map_err(|what| match complained.recv_timeout(EXIT_TIMEOUT) {
        Ok(text) if !text.is_empty() => format!("{what}; it says: {}", text.replace('\n', " / ")),
        _ => what,
    })
}

/// Sends both requests, and closes the input.
fn converse(mut input: ChildStdin, printed: &Receiver<String>, begun: Instant) -> Result<ProbeReport, String> {
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "emend doctor", "version": env!("CARGO_PKG_VERSION") } });
    send(&mut input, &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    let server = answer(printed, 1, begun)?;
    let version = server["serverInfo"]["version"].as_str().unwrap_or("?").to_owned();
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    send(&mut input, &ready);
    send(&mut input, &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    let list = answer(printed, 2, begun)?;
    let tools = list["tools"].as_array().map(Vec::len).filter(|count| *count > 0).ok_or("it offers no tools")?;
    Ok(ProbeReport { version, tools, time: begun.elapsed() })
}

/// Sends a message. A server that ended may have printed the reason, so a failure is not the end.
fn send(input: &mut ChildStdin, message: &Value) {
    let _ = writeln!(input, "{message}");
}

/// Returns the result of the request with that id; other messages are ignored.
fn answer(printed: &Receiver<String>, id: u64, begun: Instant) -> Result<Value, String> {
    loop {
        let line = match printed.recv_timeout(PROBE_TIMEOUT.saturating_sub(begun.elapsed())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("it did not answer within {} s", PROBE_TIMEOUT.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => return Err("it ended before it answered".to_owned()),
        };
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else {
            let line: String = line.chars().take(80).collect();
            return Err(format!("it printed a line that is not a protocol message: {line}"));
        };
        if message["id"] == id {
            let error = message["error"]["message"].as_str().map(|what| format!("it refused: {what}"));
            return error.map_or_else(|| Ok(message["result"].take()), Err);
        }
    }
}

/// Lets the process end by itself, then kills it.
fn end(child: &mut Child, printed: &Receiver<String>) {
    let begun = Instant::now();
    // The output ends when the server does.
    while printed.recv_timeout(EXIT_TIMEOUT.saturating_sub(begun.elapsed())).is_ok() {}
    if !matches!(child.try_wait(), Ok(Some(_))) {
        let _ = child.kill();
    }
    let _ = child.wait();
}

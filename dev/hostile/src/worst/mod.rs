//! The worst known inputs of every tool at full size: the processor time and memory of each call, and how soon the call
//! ends when it is cancelled at several points of its time.

mod lazy;
mod rows;

use crate::server::{Cancellation, Measured, Server};
use crate::{CPU_MS_MAX, PEAK_KIB_MAX, REPLY_BYTES_MAX, is_time_judged};
use rows::{Row, Scenario};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::TempDir;

/// Maximum processor time that a call may use after it was cancelled, in milliseconds.
const CANCEL_CPU_MS_MAX: u64 = 100;
/// Number of cancelled calls of each row.
const CANCELLED_CALLS: u32 = 7;
/// Time of a call in milliseconds from which it is also cancelled.
const CANCELLED_MS_MIN: u64 = 100;

/// A server in a directory of its own, before the call that is measured.
struct Prepared {
    server: Server,
    input: Value,
    directory: TempDir,
}

impl Prepared {
    /// Returns the files of the root, with their contents.
    fn files(&self) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
        let entries = fs::read_dir(self.directory.path().join("root"))?;
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
        let files = paths.into_iter().filter(|path| path.is_file());
        files.map(|path| fs::read(&path).map(|content| (path, content))).collect()
    }
}

/// Makes the calls of the rows whose name or tool contains `filter`. Returns the number of findings.
pub(crate) fn play(emend: &Path, filter: &str) -> io::Result<usize> {
    println!("CPU and wall time in ms, memory in MB; CPU/wall time after each cancellation\n");
    println!(
        "tool               input                               code                    CPU  wall  peak  cancelled"
    );
    let mut found = 0;
    for row in rows::ROWS.iter().chain(lazy::ROWS).filter(|row| row.name.contains(filter) || row.tool.contains(filter))
    {
        found += row.play(emend)?;
    }
    println!("{found} findings");
    Ok(found)
}

impl Row {
    fn play(&self, emend: &Path) -> io::Result<usize> {
        let mut prepared = self.prepared(emend)?;
        let measured = prepared.server.call(self.tool, &prepared.input);
        let code = code_of(&measured);
        let wall = u64::try_from(measured.wall.as_millis()).unwrap_or(u64::MAX);
        let mut problems = judge(&measured, &code);
        let mut after = String::new();
        for nth in (1..=CANCELLED_CALLS).filter(|_| wall >= CANCELLED_MS_MIN) {
            let mut prepared = self.prepared(emend)?;
            let before = prepared.files()?;
            let after_start = measured.wall * nth / (CANCELLED_CALLS + 1);
            let cancelled = prepared.server.call_cancelled(self.tool, &prepared.input, after_start);
            match cancelled {
                Some(Cancellation { cpu_ms, wall, stopped }) => {
                    let _ = write!(after, " {cpu_ms}/{}{}", wall.as_millis(), if stopped { "" } else { " done" });
                    // A call that has begun to write runs to its end; every other one has to stop.
                    let has_written = !stopped && prepared.files()? != before;
                    if !has_written && cpu_ms > CANCEL_CPU_MS_MAX {
                        problems.push(format!("{cpu_ms} ms after cancellation {nth}"));
                    }
                }
                None => after += " -",
            }
        }
        let (tool, name, peak) = (self.tool, self.name, measured.peak_kib / 1024);
        println!("{tool:<18} {name:<35} {code:<20} {:>6} {wall:>5} {peak:>5} {after}", measured.cpu_ms);
        for problem in &problems {
            println!("FINDING {tool} ({name}): {problem}");
        }
        Ok(problems.len())
    }

    /// Creates the files, starts a server and makes the calls before the last one.
    fn prepared(&self, emend: &Path) -> io::Result<Prepared> {
        let directory = tempfile::tempdir()?;
        let base = directory.path().canonicalize()?;
        let (root, state) = (base.join("root"), base.join("state"));
        fs::create_dir_all(&root)?;
        fs::create_dir_all(&state)?;
        let Scenario { files, earlier, input } = (self.scenario)(&root);
        for (name, text) in files {
            fs::write(root.join(name), text)?;
        }
        let mut server = Server::start(emend, &root, &state, &base.join("messages"))?;
        for (tool, input) in earlier {
            server.call(tool, &input);
        }
        Ok(Prepared { server, input, directory })
    }
}

fn code_of(measured: &Measured) -> String {
    let reply: Value = measured.line.as_deref().and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
    match (&reply["ok"], reply["code"].as_str()) {
        (Value::Bool(true), _) => "ok".to_owned(),
        (_, Some(code)) => code.to_owned(),
        _ => "no reply".to_owned(),
    }
}

fn judge(measured: &Measured, code: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if code == "no reply" || code.starts_with("internal") || code == "call.invalid" {
        problems.push(code.to_owned());
    }
    if measured.cpu_ms > CPU_MS_MAX && is_time_judged() {
        problems.push(format!("{} ms of processor time", measured.cpu_ms));
    }
    if measured.peak_kib > PEAK_KIB_MAX {
        problems.push(format!("{} KiB of memory", measured.peak_kib));
    }
    if measured.line.as_ref().is_some_and(|line| line.len() > REPLY_BYTES_MAX) {
        problems.push("a reply beyond its limit".to_owned());
    }
    problems
}

//! Calls all tools at random on hostile files: `cargo run --release -p hostile -- minutes 60 [SEED]`, or `rounds 20
//! [SEED]`. `worst [FILTER]` makes the worst known call of each kind at full size instead, and cancels it.
//!
//! Every call is judged: the server survives, the reply is JSON within the reply limit, and the call takes at most 500
//! MB and, in optimised builds or with `EMEND_BIN`, 2 s of processor time. These two limits grow with the largest call
//! or file of the round beyond 8 MiB, as the rows `whole file` and `new text` of the limits page say. Four of five
//! calls are made from the contents of the files and from earlier replies, so that most succeed; the others are made
//! from the tools' schemas. Some changes are undone and redone at once, and after each round everything is undone; each
//! time all files are compared byte for byte. A finding is written to `target/hostile` with its input and files. Exit
//! status 1 means findings. The `emend` program is the one in the same directory, or the one that `EMEND_BIN` names.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a test tool: it touches files, starts the server and reports on standard output"
)]

mod calls;
mod files;
mod fitting;
mod round;
mod server;
mod subject;
mod worst;

use round::Round;
use serde_json::Value;
use server::Measured;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs, io};

/// Maximum processor time of a call, in milliseconds.
const CPU_MS_MAX: u64 = 2_000;
/// Maximum memory of the server during a call, in KiB.
const PEAK_KIB_MAX: u64 = 500_000;
/// Size of a call or file, in bytes, up to which these limits apply unchanged.
const PLAIN_BYTES_MAX: u64 = 8 << 20;
/// Maximum size of a reply in bytes: 256 KB of data, 25,000 characters of text with at most six bytes each when
/// escaped, and the frame.
const REPLY_BYTES_MAX: usize = 262_144 + 150_000 + 4_096;

/// The highest figures of one tool.
#[derive(Default)]
struct Worst {
    calls: u64,
    succeeded: u64,
    cpu_ms: u64,
    peak_kib: u64,
    reply: usize,
}

/// The figures and findings of the whole run.
struct Run {
    emend: PathBuf,
    findings: PathBuf,
    found: usize,
    worst: BTreeMap<&'static str, Worst>,
    undone: u64,
    /// Number of comparisons of all files with their expected contents.
    compared: u64,
}

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let unit = arguments.next().unwrap_or_default();
    let arguments: Vec<String> = arguments.collect();
    let emend = env::var_os("EMEND_BIN").map_or_else(|| beside_this_program("emend"), |path| Ok(path.into()))?;
    if unit == "worst" {
        return ended(worst::play(&emend, arguments.first().map_or("", String::as_str))?);
    }
    let numbers: Vec<u64> = arguments.iter().filter_map(|it| it.parse().ok()).collect();
    let (count, first) = match (unit.as_str(), numbers.as_slice()) {
        ("minutes" | "rounds", [count]) => (*count, 1),
        ("minutes" | "rounds", [count, seed]) => (*count, *seed),
        _ => return Err(io::Error::other("usage: hostile minutes|rounds COUNT [SEED], or: hostile worst [FILTER]")),
    };
    let findings = beside_this_program("")?.join("../hostile");
    fs::create_dir_all(&findings)?;
    let mut run = Run { emend, findings, found: 0, worst: BTreeMap::new(), undone: 0, compared: 0 };
    let end = Instant::now() + Duration::from_secs(60 * count);
    let mut seed = first;
    while if unit == "minutes" { Instant::now() < end } else { seed < first + count } {
        Round::new(&mut run, seed)?.play()?;
        seed += 1;
    }
    run.report(first..seed);
    ended(run.found)
}

/// Returns the result of the program for this number of findings.
fn ended(found: usize) -> io::Result<()> {
    if found == 0 { Ok(()) } else { Err(io::Error::other(format!("{found} findings"))) }
}

/// True if processor time is judged. The development build is many times slower, so its time is not judged.
fn is_time_judged() -> bool {
    !cfg!(debug_assertions) || env::var_os("EMEND_BIN").is_some()
}

/// Returns the path of a file in the directory of this program.
fn beside_this_program(name: &str) -> io::Result<PathBuf> {
    let path = env::current_exe()?.with_file_name(name);
    if path.exists() { Ok(path) } else { Err(io::Error::other(format!("{} is not built", path.display()))) }
}

impl Run {
    /// Returns the fault of a call, if it has one. `largest` is the size of the largest call or file so far, at least
    /// [`PLAIN_BYTES_MAX`].
    fn judge(&mut self, tool: &'static str, measured: &Measured, largest: u64) -> Option<String> {
        let worst = self.worst.entry(tool).or_default();
        worst.calls += 1;
        worst.cpu_ms = worst.cpu_ms.max(measured.cpu_ms);
        worst.peak_kib = worst.peak_kib.max(measured.peak_kib);
        let Some(line) = &measured.line else { return Some("the server died or did not answer".to_owned()) };
        worst.reply = worst.reply.max(line.len());
        let Ok(reply) = serde_json::from_str::<Value>(line) else { return Some("the reply is not JSON".to_owned()) };
        worst.succeeded += u64::from(reply["ok"] == true);
        let code = reply["code"].as_str().unwrap_or_default();
        if code.starts_with("internal") {
            return Some(format!("an internal error: {}", reply["message"]));
        }
        let scaled = |limit: u64| limit * largest / PLAIN_BYTES_MAX;
        if measured.cpu_ms > scaled(CPU_MS_MAX) && is_time_judged() {
            return Some(format!("{} ms of processor time", measured.cpu_ms));
        }
        if measured.peak_kib > scaled(PEAK_KIB_MAX) {
            return Some(format!("{} KiB of memory", measured.peak_kib));
        }
        // An image or PDF read as base64 is additional data with its own limit.
        (line.len() > REPLY_BYTES_MAX && tool != "read").then(|| format!("a reply of {} bytes", line.len()))
    }

    fn finding(&mut self, name: &str, problem: &str, call: &Value, root: &Path) -> io::Result<()> {
        self.found += 1;
        let short: String = problem.chars().take(400).collect();
        println!("FINDING {name}: {} {short}", call["tool"]);
        let folder = self.findings.join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("problem.txt"), problem)?;
        fs::write(folder.join("call.json"), call.to_string())?;
        for (path, bytes) in round::tree(root)? {
            fs::write(folder.join(path.display().to_string().replace('/', "__")), bytes)?;
        }
        Ok(())
    }

    fn report(&self, seeds: std::ops::Range<u64>) {
        println!("tool                 calls      ok     %  worst ms  peak MB  reply bytes");
        for (tool, worst) in &self.worst {
            let mega = worst.peak_kib / 1024;
            println!(
                "{tool:<18} {:>7} {:>7} {:>5} {:>9} {mega:>8} {:>12}",
                worst.calls,
                worst.succeeded,
                100 * worst.succeeded / worst.calls.max(1),
                worst.cpu_ms,
                worst.reply
            );
        }
        let calls: u64 = self.worst.values().map(|it| it.calls).sum();
        println!(
            "seeds {} to {}: {calls} calls, {} undone at the end, {} comparisons, {} findings",
            seeds.start,
            seeds.end - 1,
            self.undone,
            self.compared,
            self.found
        );
    }
}

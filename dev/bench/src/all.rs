//! `all`: runs every bench in a process of its own, so that a failure or hang affects no other bench; then writes the
//! page.

use crate::cascade::python;
use crate::report::{Found, Setting};
use crate::{BENCHES, Bench, page, peers, startup};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// All results, by bench; the pages are written from them.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Results {
    pub(crate) runs: Vec<Run>,
}

/// One run of one bench.
#[derive(Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) bench: String,
    /// The command line arguments after the bench's name.
    pub(crate) arguments: String,
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) machine: String,
    pub(crate) seconds: u64,
    pub(crate) found: Vec<Found>,
}

impl Results {
    pub(crate) fn path() -> PathBuf {
        page::folder().join("results.json")
    }

    /// Reads the results of earlier runs; there are none if the file does not exist.
    ///
    /// Errors: if the file is malformed.
    pub(crate) fn read() -> Result<Results, String> {
        match fs::read_to_string(Results::path()) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| format!("results.json: {error}")),
            Err(_) => Ok(Results::default()),
        }
    }

    fn put(&mut self, run: Run) {
        self.runs.retain(|old| old.bench != run.bench);
        self.runs.push(run);
        let order = |run: &Run| BENCHES.iter().position(|bench| bench.name == run.bench);
        self.runs.sort_by_key(order);
    }

    fn write(&self) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        let done = fs::create_dir_all(page::folder()).and_then(|()| fs::write(Results::path(), text + "\n"));
        done.map_err(|error| error.to_string())
    }
}

/// Runs all benches, or those whose names or goals are in `only`; the results of the others are kept.
///
/// Errors: no bench has such a name, or the results cannot be written.
pub(crate) fn run(setting: Setting, only: Option<&str>) -> Result<(), String> {
    let words: Vec<&str> = only.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let is = |bench: &Bench, word: &str| bench.name == word || bench.goals.contains(&word);
    if let Some(word) = words.iter().find(|word| !BENCHES.iter().any(|bench| is(bench, word))) {
        return Err(format!("no bench measures {word}"));
    }
    let mut results = Results::read()?;
    prepare(setting);
    for bench in BENCHES.iter().filter(|bench| words.is_empty() || words.iter().any(|word| is(bench, word))) {
        println!("\n==== {}", bench.name);
        results.put(one(bench, setting));
        results.write()?;
    }
    page::write()
}

/// Builds and installs programs that several benches need, outside of their measured time. Each bench reports what it
/// lacks.
fn prepare(setting: Setting) {
    println!("building what is measured");
    // The benches that need these programs report a failure; the others run.
    let _ = std::panic::catch_unwind(startup::programs);
    if !setting.alone {
        println!("installing the other tools");
        let installed = [
            peers::codex().map(drop),
            peers::filesystem().map(drop),
            peers::hashline_crate().map(drop),
            python::environment().map(drop),
        ];
        installed.into_iter().filter_map(Result::err).for_each(|why| eprintln!("{why}"));
    }
}

fn one(bench: &Bench, setting: Setting) -> Run {
    let flags = [(setting.quick, " --quick"), (setting.big, " --big"), (setting.alone, " --alone")];
    let arguments: String = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect();
    let record = crate::exact::scratch().join(format!("{}.found", bench.name));
    let _ = fs::remove_file(&record);
    let start = Instant::now();
    let end = play(bench, &arguments, &record, Duration::from_secs(if setting.quick { 300 } else { 2400 }));
    let text = fs::read_to_string(&record).unwrap_or_default();
    let mut found: Vec<Found> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if let Err(why) = end {
        found.push(Found::Missing { what: format!("the rest of the bench {}", bench.name), why });
    }
    Run {
        bench: bench.name.to_owned(),
        arguments,
        date: said("date", &["-u", "+%Y-%m-%d"]),
        commit: said("git", &["rev-parse", "--short", "HEAD"]),
        machine: machine(),
        seconds: start.elapsed().as_secs(),
        found,
    }
}

/// Runs a bench as a process and kills it if it takes too long.
fn play(bench: &Bench, arguments: &str, record: &Path, most: Duration) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg(bench.name).args(arguments.split_whitespace()).arg("--record").arg(record).process_group(0);
    let mut child = command.stdin(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return ended(status),
            Ok(None) if start.elapsed() < most => std::thread::sleep(Duration::from_millis(200)),
            Ok(None) => {
                end(&mut child);
                return Err(format!("it took longer than {} s", most.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn ended(status: ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

/// Kills the bench and the processes it started.
fn end(child: &mut Child) {
    let group = rustix::process::Pid::from_child(child);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let _ = child.wait();
}

/// Returns the first line that a command prints.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("unknown").trim().to_owned()
}

/// Describes the machine, as far as it matters for the results.
fn machine() -> String {
    let line = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| Some(line.strip_prefix(name)?.trim_start_matches([' ', '\t', ':']).to_owned()));
        line.unwrap_or_else(|| "unknown".to_owned())
    };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory: u64 = line("/proc/meminfo", "MemTotal").split(' ').next().and_then(|kb| kb.parse().ok()).unwrap_or(0);
    let scratch = crate::exact::scratch().display().to_string();
    format!(
        "{processors} x {}, {} GB of memory, {} {}, {} for the files, {}",
        line("/proc/cpuinfo", "model name"),
        memory.div_ceil(1 << 20),
        said("uname", &["-s"]),
        said("uname", &["-r"]),
        said("stat", &["-f", "-c", "%T", &scratch]).replace("ext2/ext3", "ext4"),
        said("rustc", &["--version"]),
    )
}

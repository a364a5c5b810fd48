//! `memory`: the peak memory of a process that makes one edit, as counted by the kernel.

use crate::exact::scratch;
use crate::outcome::{Kind, Outcome, Unit, size};
use crate::peers;
use crate::report::Report;
use crate::startup::{self, Programs};
use crate::text::{NEW, OLD, codex_patch, source};
use oracles::codex::Codex;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

const MB: usize = 1 << 20;
/// Size of the largest file that the engine holds in memory as a whole.
const WHOLE: usize = 4 * MB;
const ROWS: &str = "ours, a line by its number and an append: more than for 1 KB";
const SEARCH: &str = "ours, a search: more than for 1 KB";
const ROW: &str = "    a row that is new";
const MORE: &str = "ours: more than for a file of 1 KB";

pub(crate) fn run(report: &mut Report) {
    let programs = startup::programs();
    let codex = (!report.setting.alone).then(|| report.peer("apply_patch of Codex", peers::codex())).flatten();
    let mut sizes = vec![MB, 10 * MB, 100 * MB];
    sizes.extend(report.setting.big.then_some(1 << 30));
    for bytes in sizes {
        let title = format!("peak memory of an edit of {}", size(bytes));
        report.race(&title, || one(&title, &programs, codex.as_ref(), bytes));
    }
}

fn one(title: &str, programs: &Programs, codex: Option<&Codex>, bytes: usize) -> Outcome {
    let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let root = dir.path();
    let file = |name: &str, bytes: usize| {
        let path = root.join(name);
        let _ = fs::write(&path, source(bytes));
        path
    };
    let ours = |path: &Path| {
        let mut emend = peak(&programs.floor, root);
        emend.arg(&programs.emend).args(["--root", ".", "--state", "none", "--durability", "none", "edit"]);
        emend.arg(path).args(["--old", OLD, "--new", NEW]);
        measured(&mut emend)
    };
    let (small, large) = (file("small.txt", 1 << 10), file("large.txt", bytes));
    let (least, all) = (ours(&small), ours(&large));
    let mut floor = peak(&programs.floor, root);
    floor.arg(&programs.floor).arg(file("floor.txt", bytes)).args([OLD, NEW]);
    let mut outcome = Outcome::new(title, Unit::Bytes)
        .value(Kind::Floor, "the bytes of the file", as_float(bytes))
        .value(Kind::Ours, "ours: the whole process", all)
        .value(Kind::Ours, MORE, (all - least).max(0.0))
        .value(Kind::Floor, "minimal static process, which holds the text", measured(&mut floor));
    for (row, ways) in [(ROWS, rows as fn(&mut Command, &Programs, &Path)), (SEARCH, search)] {
        let held = |path: &Path| {
            let mut emend = peak(&programs.floor, root);
            emend.arg(&programs.emend).args(["--root", ".", "--state", "none", "--durability", "none"]);
            ways(&mut emend, programs, path);
            measured(&mut emend)
        };
        outcome = outcome.value(Kind::Ours, row, (held(&large) - held(&small)).max(0.0));
    }
    if let Some(codex) = codex {
        let path = file("codex.txt", bytes);
        let patch = root.join("codex.patch");
        let _ = fs::write(&patch, codex_patch(&path, OLD, NEW));
        let Ok(patch) = File::open(&patch) else { panic!("no patch") };
        let tool = codex.command();
        let mut command = peak(&programs.floor, root);
        command.arg(tool.get_program()).stdin(patch);
        command.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
        outcome = match attempted(&mut command) {
            Ok(held) => outcome.value(Kind::Peer, "apply_patch of Codex", held),
            Err(_) => outcome.value(Kind::Wrong, "apply_patch of Codex, which failed", 0.0),
        };
    }
    let most = if bytes > WHOLE { 8 * MB + 2 * (OLD.len() + NEW.len()) } else { bytes + bytes / 10 };
    let outcome = outcome.at_most("G4", MORE, as_float(most));
    if bytes > WHOLE {
        outcome.at_most("G4", ROWS, as_float(most)).at_most("G4", SEARCH, as_float(most))
    } else {
        outcome
    }
}

/// Replaces a line by its number and appends one, under the header of a read.
fn rows(emend: &mut Command, programs: &Programs, path: &Path) {
    let mut read = Command::new(&programs.emend);
    read.args(["--root", ".", "--state", "none", "read"]).arg(path).args(["--limit", "1", "--format", "hashline"]);
    let Ok(shown) = read.current_dir(path.parent().unwrap_or(path)).stdin(Stdio::null()).output() else {
        panic!("{read:?} failed")
    };
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let patch = path.with_extension("hashline");
    let header = shown.lines().next().unwrap_or_default();
    let _ = fs::write(&patch, format!("{header}\nreplace 2..2:\n+{ROW}\ninsert tail:\n+{ROW}\n"));
    emend.arg("apply").arg(patch);
}

/// Searches the whole text for a pattern that does not occur.
fn search(emend: &mut Command, _: &Programs, path: &Path) {
    emend.args(["search", "no line has [0-9]+ of th[ei]se"]).arg(path);
}

#[allow(clippy::cast_precision_loss, reason = "sizes of files")]
fn as_float(bytes: usize) -> f64 {
    bytes as f64
}

/// Returns a command that runs another one and prints its peak memory. It uses a small program, because a child process
/// starts with its parent's memory.
fn peak(floor: &Path, root: &Path) -> Command {
    let mut command = Command::new(floor);
    command.arg("--peak").current_dir(root).stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

fn measured(command: &mut Command) -> f64 {
    attempted(command).unwrap_or_else(|why| panic!("{why}"))
}

/// Returns the peak memory of a command in bytes.
///
/// Errors: the command fails. The message is printed on the page, so it contains no path of this machine.
fn attempted(command: &mut Command) -> Result<f64, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let kb: Option<f64> = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    kb.filter(|_| output.status.success()).map(|kb| kb * 1024.0).ok_or_else(|| {
        let program = command.get_args().nth(1).and_then(|program| Path::new(program).file_name());
        format!("{} failed: {}", program.unwrap_or_default().display(), output.status)
    })
}

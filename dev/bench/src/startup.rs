//! `startup`: whole processes. Measures one edit by the command line next to a minimal static process and other
//! commands, and a process that does nothing.

use crate::exact::scratch;
use crate::outcome::{Kind, Outcome};
use crate::peers;
use crate::race::{Case, race, settle, timed};
use crate::report::Report;
use crate::text::{Edits, OLD, codex_patch, lines};
use oracles::codex::Codex;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const FLOOR: &str = "minimal static process";
const OURS: &str = "emend edit, store off";
const WITH_STORE: &str = "emend edit, with the store";
const CODEX: &str = "apply_patch of Codex";
const HASHLINE: &str = "hashline edit";

/// Lines of the file.
const SIZES: [usize; 4] = [100, 10_000, 100_000, 1_000_000];

pub(crate) fn run(report: &mut Report) {
    let setting = report.setting;
    let programs = programs();
    let dynamic = (!setting.quick).then(|| {
        cargo(&["--release", "--package", "emendate-cli"], None);
        installed(&target().join("release/emend"), "emend")
    });
    let (mut codex, mut hashline) = (None, None);
    if !setting.alone {
        codex = report.peer(CODEX, peers::codex());
        hashline = report.peer("the crate hashline", peers::hashline_crate()).map(|(command, _)| command);
    }
    report.race("start of a process", || start(&programs, if setting.quick { 31 } else { 101 }));
    for count in SIZES {
        let rounds = match count {
            1_000_000 => 7,
            100_000 => 15,
            _ if setting.quick => 21,
            _ => 101,
        };
        report.race(&format!("one edit by a process, {count} lines"), || {
            let scratch_files = ScratchFiles::new(count);
            let mut cases = vec![scratch_files.floor(&programs.floor)];
            cases.push(scratch_files.ours(OURS, &programs.emend, "none"));
            cases.push(scratch_files.ours(WITH_STORE, &programs.emend, "state"));
            cases.extend(
                dynamic.as_ref().map(|emend| scratch_files.ours("emend edit, dynamic, store off", emend, "none")),
            );
            cases.extend(codex.as_ref().map(|codex| scratch_files.codex(codex)));
            cases.extend(hashline.as_ref().map(|hashline| scratch_files.hashline(hashline)));
            let outcome = race(format!("one edit by a process, {count} lines"), rounds, cases);
            if count == SIZES[0] { outcome.goal("P6", WITH_STORE, 2.0) } else { outcome }
        });
    }
}

/// The shipped command, linked statically, and the minimal programs to compare with.
pub(crate) struct Programs {
    pub(crate) emend: PathBuf,
    pub(crate) floor: PathBuf,
}

/// Builds and installs the programs.
pub(crate) fn programs() -> Programs {
    let made = linked_statically();
    Programs { emend: installed(&made.join("emend"), "emend-static"), floor: installed(&made.join("floor"), "floor") }
}

/// Builds and installs the shipped command.
pub(crate) fn emend() -> PathBuf {
    programs().emend
}

/// Builds the command with the same profile as this program.
pub(crate) fn emend_alike() -> PathBuf {
    let (profile, folder): (&[&str], &str) =
        if cfg!(debug_assertions) { (&[], "debug") } else { (&["--release"], "release") };
    cargo(&[profile, &["--package", "emendate-cli"]].concat(), None);
    target().join(folder).join("emend")
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

/// Returns the cargo that built this program, even if the directory of a crate requires another toolchain.
pub(crate) fn this_cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.env("RUSTC", Path::new(env!("CARGO")).with_file_name("rustc"));
    cargo
}

fn cargo(arguments: &[&str], flags: Option<&str>) {
    let mut cargo = this_cargo();
    cargo.current_dir(target().join("..")).args(["build", "--quiet"]).args(arguments);
    if let Some(flags) = flags {
        cargo.env("RUSTFLAGS", flags);
    }
    let done = cargo.status().is_ok_and(|status| status.success());
    assert!(done, "cargo build {arguments:?} failed");
}

/// Builds the static programs and returns their directory.
fn linked_statically() -> PathBuf {
    let triple = host();
    // The program is not position-independent, because relocating ten thousand pointers costs more than the edit.
    let flags = Some("-C target-feature=+crt-static -C relocation-model=static");
    let packages = ["--release", "--package", "emendate-cli", "--package", "bench", "--bin", "emend", "--bin", "floor"];
    cargo(&[&packages[..], &["--target", &triple]].concat(), flags);
    target().join(&triple).join("release")
}

/// Copies a program like an installation does: the kernel maps a file that was written at once with fewer page faults.
fn installed(from: &Path, name: &str) -> PathBuf {
    let shelf = scratch().join("installed");
    let _ = fs::create_dir_all(&shelf);
    let to = shelf.join(name);
    let done = fs::remove_file(&to).or(std::io::Result::Ok(())).and_then(|()| fs::copy(from, &to));
    assert!(done.is_ok(), "{} cannot be copied", from.display());
    to
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("x86_64-unknown-linux-gnu").to_owned()
}

/// Measures processes that do nothing.
fn start(programs: &Programs, rounds: usize) -> Outcome {
    let case = |kind: Kind, name: &str, program: &Path, argument: &'static str| {
        let mut command = Command::new(program);
        command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null());
        Case::new(kind, name, move || run_once(&mut command))
    };
    let name = "emend --version";
    let cases = vec![
        case(Kind::Floor, "a static process that ends at once", &programs.floor, "--nothing"),
        case(Kind::Ours, name, &programs.emend, "--version"),
    ];
    race("start of a process", rounds, cases).goal("", name, 1.5)
}

fn run_once(command: &mut Command) -> Duration {
    let (status, time) = timed(|| command.status());
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
    time
}

/// A directory with a file for each case.
struct ScratchFiles {
    _dir: tempfile::TempDir,
    root: PathBuf,
    text: String,
}

impl ScratchFiles {
    fn new(count: usize) -> ScratchFiles {
        let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
        let root = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_owned());
        ScratchFiles { _dir: dir, root, text: lines(count, OLD) }
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.root.join(name.replace(|char: char| !char.is_ascii_alphanumeric(), "-"));
        let _ = fs::write(&path, &self.text);
        path
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn floor(&self, program: &Path) -> Case<'_> {
        let (file, program) = (self.file("floor"), program.to_owned());
        let mut edits = Edits::new();
        Case::floor(FLOOR, move || {
            let (old, new) = edits.next();
            let mut command = self.command(&program);
            command.arg(&file).args([old, new]);
            settle();
            run_once(&mut command)
        })
    }

    fn ours(&self, name: &str, program: &Path, state: &'static str) -> Case<'_> {
        let file = self.file(name);
        let program = program.to_owned();
        let mut edits = Edits::new();
        Case::ours(name, move || {
            let (old, new) = edits.next();
            let mut command = self.command(&program);
            command.args(["--root", ".", "--state", state, "--durability", "none", "edit"]).arg(&file);
            command.args(["--old", &old, "--new", &new]);
            settle();
            run_once(&mut command)
        })
    }

    fn codex(&self, codex: &Codex) -> Case<'_> {
        let file = self.file("codex");
        let input = self.root.join("codex.patch");
        let mut command = codex.command();
        command.current_dir(&self.root).stdout(Stdio::null()).stderr(Stdio::null());
        let mut edits = Edits::new();
        Case::peer(CODEX, move || {
            let (old, new) = edits.next();
            let _ = fs::write(&input, codex_patch(&file, &old, &new));
            let Ok(open) = File::open(&input) else { panic!("no patch") };
            command.stdin(open);
            settle();
            run_once(&mut command)
        })
    }

    /// Changes the second line of the block back and forth. Its anchor is read first, untimed.
    fn hashline(&self, program: &Path) -> Case<'_> {
        let file = self.file("hashline");
        // The program stores its notes in the nearest repository above the file, which is here the directory itself.
        let _ = fs::create_dir(self.root.join(".git"));
        let (program, mut round) = (program.to_owned(), 0);
        let words = ["stale", "old"];
        Case::peer(HASHLINE, move || {
            let line = |word: &str| format!("    self.note(\"{word}\");");
            let mut read = self.command(&program);
            let shown = read.arg("read").arg(&file).stdout(Stdio::piped()).output();
            let shown = shown.map(|output| output.stdout).unwrap_or_default();
            let now = line(words[round % 2]);
            let shown = String::from_utf8_lossy(&shown);
            let found = shown.lines().find_map(|shown| shown.strip_suffix(&now));
            let Some(anchor) = found.map(|anchor| anchor.trim().trim_end_matches('|')) else {
                panic!("no anchor in {:?}", shown.lines().next())
            };
            round += 1;
            let mut command = self.command(&program);
            command.arg("edit").arg(&file).arg(anchor).arg(line(words[round % 2]));
            settle();
            run_once(&mut command)
        })
    }
}

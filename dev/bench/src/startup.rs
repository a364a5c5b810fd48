//! `startup`: whole processes. One edit by the command line against the least a static process can do; the MCP server
//! until it is ready, and per call.

use crate::exact::scratch;
use crate::race::{Case, Outcome, micros, race, settle, timed};
use crate::server::{self, Server};
use crate::text::{Edits, source};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) fn run() -> Vec<Outcome> {
    let binaries = Binaries::build();
    let mut out: Vec<Outcome> =
        [(1 << 10, "1 KB"), (282 << 10, "10,000 lines")].map(|(size, name)| edits(&binaries, size, name)).into();
    out.extend([1 << 10, 282 << 10, 3 << 20].map(|size| mcp(&binaries, size)));
    out
}

struct Binaries {
    /// As `cargo build --release` makes it.
    emend: PathBuf,
    /// Linked statically, as it is shipped.
    emend_static: PathBuf,
    floor: PathBuf,
}

impl Binaries {
    fn build() -> Binaries {
        let target = target();
        cargo(&["--release", "--package", "emendate-cli"], None);
        let made = linked_statically();
        Binaries {
            emend: installed(&target.join("release/emend"), "emend"),
            emend_static: installed(&made.join("emend"), "emend-static"),
            floor: installed(&made.join("floor"), "floor"),
        }
    }
}

/// The command as it is shipped, built and installed.
pub(crate) fn emend() -> PathBuf {
    installed(&linked_statically().join("emend"), "emend-static")
}

/// The command, built as this program was.
pub(crate) fn emend_alike() -> PathBuf {
    let (profile, folder): (&[&str], &str) =
        if cfg!(debug_assertions) { (&[], "debug") } else { (&["--release"], "release") };
    cargo(&[profile, &["--package", "emendate-cli"]].concat(), None);
    target().join(folder).join("emend")
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

fn cargo(arguments: &[&str], flags: Option<&str>) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(target().join("..")).args(["build", "--quiet"]).args(arguments);
    if let Some(flags) = flags {
        cargo.env("RUSTFLAGS", flags);
    }
    let done = cargo.status().is_ok_and(|status| status.success());
    assert!(done, "cargo build {arguments:?} failed");
}

/// Builds the static programs; their folder.
fn linked_statically() -> PathBuf {
    let triple = host();
    // Not position independent: a loader that moves ten thousand pointers costs more than the edit.
    let flags = Some("-C target-feature=+crt-static -C relocation-model=static");
    let packages = ["--release", "--package", "emendate-cli", "--package", "bench", "--bin", "emend", "--bin", "floor"];
    cargo(&[&packages[..], &["--target", &triple]].concat(), flags);
    target().join(&triple).join("release")
}

/// Copied, as an installation does: the kernel maps what was written in one go with fewer page faults.
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

fn edits(binaries: &Binaries, size: usize, name: &str) -> Outcome {
    let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let root = dir.path().to_owned();
    let state = root.join("state").display().to_string();
    let file = |name: &str| {
        let path = root.join(name);
        let _ = fs::write(&path, source(size));
        path
    };
    let spawn = |program: &Path, arguments: &dyn Fn(&str, &str) -> Vec<String>, edits: &mut Edits| {
        let (old, new) = edits.next();
        let mut command = Command::new(program);
        command.args(arguments(&old, &new)).current_dir(&root).stdout(Stdio::null()).stderr(Stdio::null());
        settle();
        let (status, time) = timed(|| command.status());
        assert!(status.is_ok_and(|status| status.success()), "{} failed", program.display());
        time
    };
    let emend = |state: String, path: PathBuf| {
        let root = root.display().to_string();
        move |old: &str, new: &str| {
            let path = path.display().to_string();
            ["--root", &root, "--state", &state, "--durability", "none", "edit", &path, "--old", old, "--new", new]
                .map(str::to_owned)
                .to_vec()
        }
    };
    let floor = file("floor.txt");
    let floor_arguments = move |old: &str, new: &str| vec![floor.display().to_string(), old.to_owned(), new.to_owned()];
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut edits = Edits::new();
    let spawn = &spawn;
    cases.push(Case::new("minimal static process", move || spawn(&binaries.floor, &floor_arguments, &mut edits)));
    let variants = [
        ("emend edit, store off", &binaries.emend, "none".to_owned()),
        ("emend edit, with the store", &binaries.emend, state.clone()),
        ("emend edit, static, store off", &binaries.emend_static, "none".to_owned()),
        ("emend edit, static, with the store", &binaries.emend_static, state),
    ];
    for (nth, (name, program, state)) in variants.into_iter().enumerate() {
        let arguments = emend(state, file(&format!("ours{nth}.txt")));
        let mut edits = Edits::new();
        cases.push(Case::new(name, move || spawn(program, &arguments, &mut edits)));
    }
    race(format!("one edit by a process, {name}"), 101, cases)
        .goal("emend edit, static, store off", 1.5)
        .goal("emend edit, static, with the store", 2.5)
}

fn mcp(binaries: &Binaries, size: usize) -> Outcome {
    let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let root = dir.path().to_owned();
    let text = source(size);
    let (ours, floor) = (root.join("ours.txt"), root.join("floor.txt"));
    let _ = (fs::write(&ours, &text), fs::write(&floor, &text));
    let ready: Vec<Duration> =
        (0..11).map(|_| timed(|| Server::start(server::emend(&binaries.emend, &root, "none", "none"))).1).collect();
    let mut ready = ready;
    ready.sort_unstable();
    let mut server = Server::start(server::emend(&binaries.emend, &root, "none", "none"));
    std::thread::sleep(Duration::from_millis(100));
    println!(
        "\nMCP server: ready in {} (goal ≤ 10 ms), idle memory {} KB (goal ≤ 10,240 KB)",
        micros(ready[5]),
        server.memory_kb()
    );
    let mut edits = Edits::new();
    let aside = root.join("floor.tmp");
    let cases = vec![
        Case::new("write + rename of the same bytes", || {
            settle();
            timed(|| {
                let _ = fs::write(&aside, &text);
                let _ = fs::rename(&aside, &floor);
            })
            .1
        }),
        Case::new("MCP edit call", || {
            let (old, new) = edits.next();
            let call =
                json!({ "name": "edit", "arguments": { "file_path": ours, "old_string": old, "new_string": new } });
            settle();
            let (answer, time) = timed(|| server.request("tools/call", &call));
            assert!(answer["result"]["isError"] != true, "{answer}");
            time
        }),
    ];
    let outcome = race(format!("MCP edit, no sync, {} KB", size >> 10), 61, cases);
    if size >= 282 << 10 { outcome.goal("MCP edit call", 1.6) } else { outcome }
}

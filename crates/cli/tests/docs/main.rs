//! The commands of the documentation: every block marked `sh` or `console` in the README and below `docs/` is run.
//!
//! Each page gets a home directory and a small project of its own, and its blocks run in order. A block `sh` must
//! succeed. In a block `console`, lines that begin with `$ ` are commands and the others what they print; `…` matches
//! anything. `EMEND_BLESS=1` writes what they print into the pages. A comment `<!-- not run: REASON -->` before a block
//! leaves it out, and `<!-- run: COMMANDS -->` runs commands that readers need not see.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests read the pages, start processes and say what they left out; what fails here fails the test"
)]

mod page;
mod project;

use page::{Block, Kind};
use project::Project;
use std::fs;
use std::path::{Path, PathBuf};

/// Commands that cannot run in a test, by their beginning, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo ", "builds the sources, which this test is part of"),
    ("RUSTFLAGS=", "builds the sources, which this test is part of"),
    ("cp target/", "needs a release build"),
    (".ci/run", "runs this test"),
    ("claude ", "needs Claude Code"),
    ("curl ", "downloads a release; `cargo xtask dist` runs the script"),
    ("emend setup", "asks a person; the tests of `emend setup` answer"),
    ("emend mcp --in", "needs a container or a host; a test of its own has both"),
    ("gemini ", "needs Gemini CLI"),
];

/// Fewer commands than this mean that the test does not find them any more.
const COMMANDS_MIN: usize = 60;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// README.md and the pages of docs/, without decisions and the generated list of commands.
fn pages(root: &Path) -> Vec<PathBuf> {
    let mut out = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/clients", "docs/formats"] {
        let entries = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        out.extend(entries.filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    out.sort();
    out
}

/// True for a command that a rule excludes.
fn is_left_out(command: &str) -> bool {
    NOT_RUN.iter().any(|(start, _)| command.starts_with(start))
}

#[test]
fn every_command_of_the_pages_works() {
    // The pages show what people do in a repository.
    if !external::has(&["bash", "git"]) {
        return;
    }
    let root = root();
    let bless = std::env::var_os("EMEND_BLESS").is_some();
    let (mut count, mut faults) = (0, Vec::new());
    for path in pages(&root) {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let blocks = page::blocks(&text);
        if blocks.iter().all(|block| matches!(block.kind, Kind::NotRun(_))) {
            continue;
        }
        let project = Project::new();
        let mut blessed = text.clone();
        for block in &blocks {
            let (ran, fault) = play(&project, block, &mut blessed);
            count += ran;
            faults.extend(fault.map(|fault| format!("{name}:{}: {fault}", block.line)));
        }
        if bless && blessed != text {
            fs::write(&path, blessed).unwrap();
        }
    }
    assert!(bless || faults.is_empty(), "{}\n\nEMEND_BLESS=1 writes outputs into the pages", faults.join("\n\n"));
    assert!(count >= COMMANDS_MIN, "only {count} commands were found");
}

/// Runs a block. Returns the number of its commands, and what went wrong.
fn play(project: &Project, block: &Block<'_>, page: &mut String) -> (usize, Option<String>) {
    match block.kind {
        Kind::NotRun(reason) => {
            eprintln!("not run, line {}: {reason}", block.line);
            (0, (reason.len() < 10).then(|| "the reason is missing".to_owned()))
        }
        Kind::Setup => (0, script(project, block.text).err()),
        Kind::Script => {
            let commands = block.text.lines().filter(|line| !line.is_empty() && !line.starts_with([' ', '#']));
            (commands.filter(|line| !is_left_out(line)).count(), script(project, block.text).err())
        }
        Kind::Console => {
            let calls = page::calls(block.text);
            let faults: Vec<String> = calls.iter().filter_map(|call| compare(project, call, page)).collect();
            (calls.len(), (!faults.is_empty()).then(|| faults.join("\n")))
        }
    }
}

/// Runs the lines as one script that ends at the first failure.
fn script(project: &Project, text: &str) -> Result<(), String> {
    let line = |line: &str| if is_left_out(line) { String::from(":") } else { line.to_owned() };
    // A continued line is omitted together with its continuation.
    let joined = text.replace("\\\n", " ");
    let lines: Vec<String> = joined.lines().map(line).collect();
    let (status, output) = project.run(&format!("set -eu\n{}", lines.join("\n")));
    if status == 0 { Ok(()) } else { Err(format!("exit status {status}\n{text}\n{output}")) }
}

/// Runs a command and compares what it prints.
fn compare(project: &Project, call: &page::Call<'_>, page: &mut String) -> Option<String> {
    let (_, output) = project.run(call.command);
    if page::agrees(call.output, &output) {
        return None;
    }
    let (old, new) = (format!("$ {}\n{}", call.command, call.output), format!("$ {}\n{output}", call.command));
    *page = page.replacen(&old, &new, 1);
    Some(format!("$ {}\nthe page says:\n{}\nit prints:\n{output}", call.command, call.output))
}

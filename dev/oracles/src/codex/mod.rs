//! Compares the patch tool of Codex with our emulation of it. The emulation is an oracle that needs no process: tests
//! compare our output with it.

pub mod emulation;

use crate::luck::Luck;
use crate::make::{self, Files};
use crate::tree::{self, Tree};
use crate::{Counts, feed, in_parallel, install};
use emulation::{CodexChange, CodexChangeKind, CodexOutcome, CodexPathState, Failure};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that is emulated.
pub const VERSION: &str = "0.169.0";

/// The installed tool.
pub struct Codex {
    program: PathBuf,
    /// The folder in which it works.
    folder: PathBuf,
    /// The home directory of the tool, so that it leaves nothing behind.
    home: tempfile::TempDir,
}

/// The result of a run of the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Exit status.
    pub exit: i32,
    /// The standard output of the tool.
    pub stdout: String,
    /// The standard error of the tool.
    pub stderr: String,
    /// The tree after the run.
    pub tree: Tree,
}

impl Codex {
    /// Installs the tool below `peers` if it is not there, and makes a folder to work in.
    ///
    /// Errors: no npm, no network, no disk.
    pub fn install(peers: &Path) -> io::Result<Codex> {
        let prefix = peers.join("codex");
        install::npm(&prefix, &[&format!("@openai/codex@{VERSION}")], || find(&prefix).is_some())?;
        let binary = find(&prefix).ok_or_else(|| io::Error::other("npm installed no codex for this machine"))?;
        let home = tempfile::tempdir()?;
        // The program acts as the patch tool when it is called by that name.
        let program = home.path().join("apply_patch");
        std::os::unix::fs::symlink(binary, &program)?;
        let folder = home.path().canonicalize()?.join("tree");
        Ok(Codex { program, folder, home })
    }

    /// Returns a command of the tool, which reads its patch from standard input.
    pub fn command(&self) -> Command {
        let mut tool = Command::new(&self.program);
        tool.env("HOME", self.home.path()).env("CODEX_HOME", self.home.path());
        tool
    }

    /// Runs the tool.
    ///
    /// Errors: those of the disk and of starting it.
    pub fn run(&self, before: &Tree, patch: &str) -> io::Result<Ran> {
        tree::put(&self.folder, before)?;
        let mut tool = self.command();
        tool.current_dir(&self.folder);
        let done = feed(&mut tool, patch)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Ran {
            exit: done.status.code().unwrap_or(-1),
            stdout: text(done.stdout),
            stderr: text(done.stderr),
            tree: tree::take(&self.folder)?,
        })
    }

    /// Applies the same patch with our emulation.
    pub fn emulate(&self, before: &Tree, patch: &str) -> Result<CodexOutcome, Failure> {
        let folder = self.folder.to_string_lossy();
        emulation::apply(patch, &folder, |path| look(before, &folder, path))
    }

    /// Plays one round, and returns its kind; if the two differ in another way than the listed kinds, the inner error
    /// describes the difference.
    ///
    /// Errors: as [`Codex::run`].
    pub fn differs(&self, before: &Tree, patch: &str) -> io::Result<Result<Kind, String>> {
        let theirs = self.run(before, patch)?;
        Ok(self.compare(before, patch, &theirs))
    }

    fn compare(&self, before: &Tree, patch: &str, theirs: &Ran) -> Result<Kind, String> {
        let wrong = |what: &str, ours: &dyn std::fmt::Debug| {
            Err(format!("{what}\npatch: {patch:?}\nbefore: {before:?}\nours: {ours:?}\ntheirs: {theirs:?}"))
        };
        match self.emulate(before, patch) {
            Err(ours) if (i32::from(ours.exit), &ours.stderr) != (theirs.exit, &theirs.stderr) => {
                wrong("failure", &ours)
            }
            Err(ours) if !theirs.stdout.is_empty() => wrong("stdout", &ours),
            Err(_) if theirs.tree != *before => Ok(Kind::Partial),
            Err(_) => Ok(Kind::Refused),
            Ok(ours) if (theirs.exit, &theirs.stdout) != (0, &ours.stdout) => wrong("success", &ours),
            Ok(ours) => {
                let Some(after) = self.after(before, &ours.changes) else { return wrong("changes", &ours) };
                if after == theirs.tree {
                    return Ok(Kind::Applied);
                }
                // Their file is gone where it was moved onto itself.
                let only_lost = theirs.tree.iter().all(|(path, bytes)| after.get(path) == Some(bytes));
                let moves = |path: &str| patch.contains("*** Move to: ") && patch.contains(path);
                let lost = after.keys().filter(|path| !theirs.tree.contains_key(*path)).all(|path| moves(path));
                if only_lost && lost { Ok(Kind::SamePath) } else { wrong("tree", &ours) }
            }
        }
    }

    fn after(&self, before: &Tree, changes: &[CodexChange]) -> Option<Tree> {
        let mut tree = before.clone();
        let folder = format!("{}/", self.folder.to_string_lossy());
        let name = |path: &str| path.strip_prefix(&folder).map(str::to_owned);
        for CodexChange { path, how } in changes {
            let path = name(path)?;
            match how {
                CodexChangeKind::Created(bytes) | CodexChangeKind::Edited(bytes) => {
                    tree.insert(path, bytes.clone());
                }
                CodexChangeKind::Removed => {
                    tree.remove(&path)?;
                }
                CodexChangeKind::Moved { to, bytes } => {
                    tree.remove(&path)?;
                    tree.insert(name(to)?, bytes.clone());
                }
            }
        }
        Some(tree)
    }
}

/// The result of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Both applied it alike.
    Applied,
    /// Both refused it alike.
    Refused,
    /// Both refused it; the tool left a part of it behind.
    Partial,
    /// The tool deleted a file that was moved to its own path.
    SamePath,
}

/// Plays rounds and counts their results; half of the patches are garbled.
///
/// Errors: the first difference of no listed kind, in words.
pub fn play(peers: &Path, seed: u64, rounds: u64) -> Result<Counts<Kind>, String> {
    let start = || Codex::install(peers).map_err(|error| error.to_string());
    in_parallel(seed, rounds, start, |codex, number, out| {
        let round = make::round(number, Files::Wild);
        let mut luck = Luck::new(!number);
        let text = round.patch.to_v4a();
        let text = if number.is_multiple_of(2) { text } else { make::garble(&mut luck, &text) };
        let kind = codex.differs(&round.tree, &text).map_err(|error| format!("{error}\n{text}"))??;
        *out.entry(kind).or_insert(0) += 1;
        Ok(())
    })
}

fn look(tree: &Tree, folder: &str, path: &str) -> CodexPathState {
    let Some(name) = path.strip_prefix(folder) else { return CodexPathState::Missing };
    let name = name.trim_start_matches('/');
    if let Some(bytes) = tree.get(name) {
        return CodexPathState::File(bytes.clone());
    }
    let below = |above: &str, path: &str| path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
    if name.is_empty() || tree.keys().any(|file| below(name, file)) {
        return CodexPathState::Directory;
    }
    if tree.keys().any(|file| below(file, name)) { CodexPathState::Blocked } else { CodexPathState::Missing }
}

/// The program in an installed package.
fn find(prefix: &Path) -> Option<PathBuf> {
    let packages = std::fs::read_dir(prefix.join("node_modules/@openai")).ok()?;
    let vendors = packages.filter_map(|package| std::fs::read_dir(package.ok()?.path().join("vendor")).ok());
    vendors.flatten().filter_map(|target| Some(target.ok()?.path().join("bin/codex"))).find(|path| path.is_file())
}

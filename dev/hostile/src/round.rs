//! One round: a server, hostile files below its root, and random calls, each of which is judged.

use crate::calls::Setting;
use crate::server::Server;
use crate::subject::Subject;
use crate::{PLAIN_BYTES_MAX, Run, files, fitting};
use emendate::{TOOLS, Tool};
use oracles::luck::Luck;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::TempDir;

/// Number of random calls of a round; those that need others before them make more calls.
const CALLS: usize = 60;
/// Maximum number of undos after which a round ends.
const UNDOS_MAX: usize = 20 * CALLS;
/// Number of hostile files of a round.
const FILES: usize = 8;
/// Maximum number of files that are tried until one is suitable.
const TRIED_FILES: usize = 12;
/// Tools whose operations are undone and redone at once.
const CHANGING: &[&str] = &[
    "edit", "multi_edit", "edit_anchors", "write", "notebook_edit", "text_editor", "apply", "replace_in_files",
    "edit_symbol", "restore",
];

/// The files of a root by relative path.
pub(crate) type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// A round in progress.
pub(crate) struct Round<'r> {
    pub(crate) luck: Luck,
    run: &'r mut Run,
    server: Server,
    root: PathBuf,
    messages: PathBuf,
    seed: u64,
    /// Number of calls so far.
    calls: usize,
    /// Number of names that were generated so far.
    names: usize,
    /// Size of the largest call or file so far, at least [`PLAIN_BYTES_MAX`].
    largest: u64,
    /// False once the server died or hung.
    alive: bool,
    _directory: TempDir,
}

impl<'r> Round<'r> {
    /// Creates the files and starts the server.
    pub(crate) fn new(run: &'r mut Run, seed: u64) -> io::Result<Round<'r>> {
        let mut luck = Luck::new(seed);
        let directory = tempfile::tempdir()?;
        let base = directory.path().canonicalize()?;
        let (root, state, messages) = (base.join("root"), base.join("state"), base.join("messages"));
        fs::create_dir_all(&root)?;
        fs::create_dir_all(&state)?;
        for _ in 0..luck.between(1, FILES) {
            let (name, bytes) = Setting::new_file(&mut luck);
            fs::write(root.join(name), bytes)?;
        }
        for name in files::TIDY_NAMES {
            fs::write(root.join(name), files::tidy(&mut luck, name))?;
        }
        let server = Server::start(&run.emend, &root, &state, &messages)?;
        let largest = PLAIN_BYTES_MAX.max(largest_file(&root)?);
        let (calls, names, alive) = (0, 0, true);
        Ok(Round { luck, run, server, root, messages, seed, calls, names, largest, alive, _directory: directory })
    }

    /// Makes the calls and undoes everything; the files must be as before.
    pub(crate) fn play(&mut self) -> io::Result<()> {
        let before = tree(&self.root)?;
        for _ in 0..CALLS {
            let tool = *self.luck.pick(TOOLS);
            self.one(tool);
            if !self.alive {
                return Ok(());
            }
        }
        self.undo_everything(&before)?;
        let said = fs::read_to_string(&self.messages).unwrap_or_default();
        if said.contains("panicked") {
            self.finding("panic", &said, &Value::Null);
        }
        Ok(())
    }

    /// Makes one random call of a tool, and the calls that it needs before.
    fn one(&mut self, tool: &'static Tool) {
        let fitting = if self.luck.chance(80) { fitting::input(self, tool) } else { None };
        if !self.alive {
            return;
        }
        let compared = self.luck.chance(30) && CHANGING.contains(&tool.name);
        let Some(input) = fitting else {
            let names: Vec<String> = self.names_of_files();
            let input = Setting { root: &self.root, names: &names }.input(&mut self.luck, tool);
            self.call(tool.name, &input);
            return;
        };
        if !compared || self.largest > PLAIN_BYTES_MAX {
            self.call(tool.name, &input);
            return;
        }
        let Some(before) = self.tree() else { return };
        let Some(reply) = self.call(tool.name, &input) else { return };
        if let Some(operation) = reply["data"]["operation"].as_str() {
            self.there_and_back(&before, operation);
        }
    }

    /// Undoes an operation and redoes it; after each step the files must be as expected.
    fn there_and_back(&mut self, before: &Tree, operation: &str) -> Option<()> {
        let after = self.tree()?;
        let undone = self.call("undo", &json!({ "id": operation }))?;
        if undone["ok"] != true {
            return Some(());
        }
        self.same_as(before, "an undo");
        // `undo_edit` is an undo itself, so its reversal was a redo, and the next redo is about an earlier undo.
        let is_undo = undone["data"]["summary"].as_str().is_some_and(|summary| summary.starts_with("Undone"));
        if is_undo && self.call("undo", &json!({ "redo": true }))?["ok"] == true {
            self.same_as(&after, "a redo");
        }
        Some(())
    }

    /// Makes a call and judges it; `None` once the server is gone.
    pub(crate) fn call(&mut self, tool: &'static str, input: &Value) -> Option<Value> {
        if !self.alive {
            return None;
        }
        let measured = self.server.call(tool, input);
        self.calls += 1;
        let on_disk = largest_file(&self.root).unwrap_or(0);
        self.largest = self.largest.max(input.to_string().len() as u64).max(on_disk);
        if let Some(problem) = self.run.judge(tool, &measured, self.largest) {
            self.finding(&self.calls.to_string(), &problem, &json!({ "tool": tool, "input": input }));
        }
        self.alive = measured.line.is_some();
        serde_json::from_str(&measured.line?).ok()
    }

    /// Undoes operations until none is left. The files must be as before.
    fn undo_everything(&mut self, before: &Tree) -> io::Result<()> {
        for _ in 0..UNDOS_MAX {
            let reply = self.undo(&json!({ "any_session": true }));
            // An operation that was undone before may be in the way; the answer names it.
            let reply = match &reply["data"]["since"] {
                Value::String(since) => self.undo(&json!({ "any_session": true, "since": since })),
                _ => reply,
            };
            // An operation whose files are as before it counts as undone from then on.
            let counts = reply["code"] == "edit.no_change" && reply["data"]["operation"].is_string();
            if reply["ok"] != true && !counts {
                let after = tree(&self.root)?;
                if after != *before {
                    let differing = differing(before, &after);
                    let problem = format!("after all undos these differ: {differing:?}; the last reply: {reply}");
                    self.finding("undo", &problem, &Value::Null);
                }
                return Ok(());
            }
            self.run.undone += 1;
        }
        self.finding("undo", "undo does not come to an end", &Value::Null);
        Ok(())
    }

    /// Calls `undo` while everything is undone; its limits are not judged.
    fn undo(&mut self, input: &Value) -> Value {
        let measured = self.server.call("undo", input);
        measured.line.as_deref().and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default()
    }

    /// Reports the files that differ from their expected contents after `step`.
    pub(crate) fn same_as(&mut self, wanted: &Tree, step: &str) {
        let Ok(now) = tree(&self.root) else { return };
        self.run.compared += 1;
        if now != *wanted {
            let problem = format!("after {step} these differ: {:?}", differing(wanted, &now));
            self.finding(&format!("{}-compared", self.calls), &problem, &Value::Null);
        }
    }

    fn finding(&mut self, name: &str, problem: &str, call: &Value) {
        let name = format!("{}-{name}", self.seed);
        if let Err(error) = self.run.finding(&name, problem, call, &self.root) {
            println!("{name}: {error}");
        }
    }

    /// The path of the root.
    pub(crate) fn root(&self) -> String {
        self.root.display().to_string()
    }

    /// All files and their contents.
    pub(crate) fn tree(&self) -> Option<Tree> {
        tree(&self.root).ok()
    }

    /// Returns a name that is new in this round.
    pub(crate) fn new_name(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}{}", self.names)
    }

    /// Picks a text file of at most `most` bytes that is not a notebook.
    pub(crate) fn subject(&mut self, most: usize) -> Option<Subject> {
        self.subject_where(|subject| subject.text.len() <= most && !subject.is_notebook())
    }

    /// Picks a file in a language that has a grammar, mostly one without errors.
    pub(crate) fn source(&mut self) -> Option<Subject> {
        let tidy = self.luck.chance(70);
        let ends = ["rs", "py", "js", "go", "java", "json", "toml", "md", "c", "rb"];
        self.subject_where(|subject| ends.contains(&subject.extension()) && (!tidy || subject.name.starts_with("tidy")))
    }

    /// Picks a notebook.
    pub(crate) fn notebook(&mut self) -> Option<Subject> {
        self.subject_where(|subject| subject.is_notebook() && serde_json::from_str::<Value>(&subject.text).is_ok())
    }

    fn subject_where(&mut self, is_meant: impl Fn(&Subject) -> bool) -> Option<Subject> {
        let names = self.names_of_files();
        let first = self.luck.below(names.len());
        let mut subjects = names[first..].iter().chain(&names[..first]).take(TRIED_FILES + files::TIDY_NAMES.len());
        subjects.find_map(|name| Subject::read(&self.root, name).filter(&is_meant))
    }

    /// Returns a text as an edit would leave it.
    pub(crate) fn changed(&mut self, old: &str) -> String {
        let number = self.luck.below(100_000);
        let strange = files::visible_code_point(&mut self.luck);
        match self.luck.below(6) {
            0 => format!("{old}\nadded {number} {strange}"),
            1 => format!("added {number}\n{old}"),
            2 => {
                old.split_once('\n').map_or_else(|| format!("{old} {number}"), |(_, rest)| format!("{number}\n{rest}"))
            }
            3 => {
                let at = self.luck.below(old.len());
                let at = (0..=at).rev().find(|&at| old.is_char_boundary(at)).unwrap_or(0);
                format!("{}{strange}{number}{}", &old[..at], &old[at..])
            }
            4 => format!("{number}"),
            _ => old.replacen(|it: char| it.is_ascii_alphanumeric(), &format!("q{number}"), 1),
        }
    }

    fn names_of_files(&self) -> Vec<String> {
        let relative = |path: PathBuf| Some(path.strip_prefix(&self.root).ok()?.display().to_string());
        let mut names: Vec<String> =
            files_below(&self.root).unwrap_or_default().into_iter().filter_map(relative).collect();
        names.sort();
        names
    }
}

/// Reads every file below a directory, by relative path.
pub(crate) fn tree(root: &Path) -> io::Result<Tree> {
    let read = |path: PathBuf| Ok((path.strip_prefix(root).unwrap_or(&path).to_owned(), fs::read(&path)?));
    files_below(root)?.into_iter().map(read).collect()
}

/// Returns the size of the largest file below a directory.
fn largest_file(root: &Path) -> io::Result<u64> {
    files_below(root)?.iter().try_fold(0, |largest, path| Ok(fs::symlink_metadata(path)?.len().max(largest)))
}

/// Returns the paths of all files below a directory.
fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() { open.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    Ok(files)
}

/// Returns the names whose contents differ.
fn differing(before: &Tree, after: &Tree) -> Vec<String> {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    names.filter(|name| before.get(*name) != after.get(*name)).map(|name| name.display().to_string()).collect()
}

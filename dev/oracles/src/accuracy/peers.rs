//! The compared tools, each with an adapter from tasks to its input.

use super::patches::{NAME, Patches};
use super::server::Server;
use super::{Answer, OURS, Place, Task};
use crate::codex::Codex;
use crate::{feed, install};
use emendate::fs::Durability;
use emendate::{CallContext, Config, Engine, StateLocation};
use mpatch::{ApplyOptions, apply_patch_to_content, parse_single_patch};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Packages of the tools written in Python, without their dependencies.
const PYTHON: [&str; 9] = [
    "aider-chat==0.86.2", "diff-match-patch==20241021", "GitPython==3.2.1", "gitdb==4.0.12", "smmap==5.0.3",
    "packaging==26.3", "codex-apply-patch==0.4.0", "whatthepatch==1.0.7", "openai-agents==0.24.0",
];
/// The MCP filesystem server on npm.
const FILESYSTEM: &str = "@modelcontextprotocol/server-filesystem@2026.8.31";

/// A tool that edits files or text.
pub(super) trait Peer {
    /// Returns the answers to `tasks`, in order.
    fn answers(&mut self, tasks: &[Task]) -> io::Result<Vec<Answer>>;
}

/// A tool, or the reason why it is missing.
type Found = Result<Box<dyn Peer>, String>;

/// Returns every tool with its name on the page.
pub(super) fn all(folder: &Path, install: bool) -> Vec<(&'static str, Found)> {
    let words = |error: io::Error| error.to_string();
    let ready = |name: &str| {
        if install || folder.join(name).join("installed.txt").is_file() {
            Ok(())
        } else {
            Err("not installed".to_owned())
        }
    };
    let disk = || Disk::new().map_err(words);
    let on_path = |name: &str| match Command::new(name).arg("--version").output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(format!("`{name}` is not installed")),
    };
    let python = |tool: &'static str| -> Found {
        ready("python-accuracy")?;
        let prefix = folder.join("python-accuracy");
        install::python_alone(&prefix, &PYTHON).map_err(words)?;
        Ok(Box::new(Python { program: prefix.join("bin/python"), tool }))
    };
    let git = || -> Found {
        on_path("git")?;
        Ok(Box::new(Patcher {
            disk: disk()?,
            tool: "git",
            arguments: &["apply", "--whitespace=nowarn", "--unidiff-zero"],
        }))
    };
    let gnu = || -> Found {
        on_path("patch")?;
        let arguments = &["-p1", "--silent", "--batch", "--no-backup-if-mismatch", "--reject-file=-"];
        Ok(Box::new(Patcher { disk: disk()?, tool: "patch", arguments }))
    };
    let codex = || -> Found {
        ready("codex")?;
        Ok(Box::new(V4a { disk: disk()?, codex: Codex::install(folder).map_err(words)? }))
    };
    let server = || -> Found {
        ready("filesystem")?;
        let prefix = folder.join("filesystem");
        let script = prefix.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
        install::npm(&prefix, &[FILESYSTEM], || script.is_file()).map_err(words)?;
        let disk = disk()?;
        let server = Server::start(&script, &disk.root).map_err(words)?;
        Ok(Box::new(Mcp { disk, server }))
    };
    let ours = || -> Found { Ok(Box::new(Emendate { disk: disk()? })) };
    vec![
        (OURS, ours()),
        ("git apply", git()),
        ("GNU patch", gnu()),
        ("Codex apply_patch", codex()),
        ("aider", python("aider")),
        ("mpatch", Ok(Box::new(Text(mpatch)))),
        ("diffy", Ok(Box::new(Text(diffy)))),
        ("codex-apply-patch", python("codex-apply-patch")),
        ("whatthepatch", python("whatthepatch")),
        ("Agents SDK apply_diff", python("apply_diff")),
        ("MCP filesystem server", server()),
        ("exact replacement", Ok(Box::new(Text(exact)))),
    ]
}

/// A folder for the file of one task.
struct Disk {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Disk {
    fn new() -> io::Result<Disk> {
        let dir = tempfile::tempdir()?;
        let root = dir.path().canonicalize()?.join("tree");
        fs::create_dir_all(&root)?;
        Ok(Disk { _dir: dir, root })
    }

    fn file(&self) -> PathBuf {
        self.root.join(NAME)
    }

    /// Empties the folder and creates the file as the caller saw it.
    fn put(&self, task: &Task) -> io::Result<()> {
        for entry in fs::read_dir(&self.root)? {
            fs::remove_file(entry?.path())?;
        }
        if task.place == Place::Linked {
            std::os::unix::fs::symlink("real.rs", self.file())?;
        }
        fs::write(self.file(), &task.seen)?;
        let mode = if task.place == Place::Executable { 0o755 } else { 0o644 };
        fs::set_permissions(self.file(), fs::Permissions::from_mode(mode))
    }

    /// Changes the file to its state at the time of the edit.
    fn change(&self, task: &Task) -> io::Result<()> {
        if task.seen == task.file { Ok(()) } else { fs::write(self.file(), &task.file) }
    }

    /// Returns the answer of a tool that reported success or failure.
    fn answer(&self, task: &Task, success: bool) -> io::Result<Answer> {
        if !success {
            return Ok(Answer::Refused);
        }
        let Ok(bytes) = fs::read(self.file()) else { return Ok(Answer::Made { bytes: Vec::new(), intact: false }) };
        let kind = fs::symlink_metadata(self.file())?.file_type();
        let linked = task.place != Place::Linked || kind.is_symlink() && fs::read(self.root.join("real.rs"))? == bytes;
        let executable = fs::metadata(self.file())?.permissions().mode() & 0o111 != 0;
        Ok(Answer::Made { bytes, intact: linked && executable == (task.place == Place::Executable) })
    }
}

struct Emendate {
    disk: Disk,
}

impl Peer for Emendate {
    fn answers(&mut self, tasks: &[Task]) -> io::Result<Vec<Answer>> {
        tasks.iter().map(|task| self.answer(task)).collect()
    }
}

impl Emendate {
    fn answer(&self, task: &Task) -> io::Result<Answer> {
        self.disk.put(task)?;
        let config = Config::default().with_durability(Durability::None);
        let engine = Engine::open(std::slice::from_ref(&self.disk.root), StateLocation::Memory, config);
        let engine = engine.map_err(|error| io::Error::other(error.to_string()))?;
        let caller = CallContext::default();
        let path = self.disk.file();
        let reply = match &task.old {
            Some(old) => {
                engine.call(&caller, "read", json!({ "file_path": path, "limit": 1_000_000 }));
                self.disk.change(task)?;
                let edit = json!({ "file_path": path, "old_string": old, "new_string": task.new });
                engine.call(&caller, "edit", edit)
            }
            None => engine.call(&caller, "write", json!({ "file_path": path, "content": task.new })),
        };
        self.disk.answer(task, reply.result.is_ok())
    }
}

/// A program that reads a unified diff from standard input.
struct Patcher {
    disk: Disk,
    tool: &'static str,
    arguments: &'static [&'static str],
}

impl Peer for Patcher {
    fn answers(&mut self, tasks: &[Task]) -> io::Result<Vec<Answer>> {
        let one = |task: &Task| {
            self.disk.put(task)?;
            self.disk.change(task)?;
            let mut tool = Command::new(self.tool);
            tool.args(self.arguments).current_dir(&self.disk.root);
            // Ignore repositories above the folder and the user's settings.
            tool.env("GIT_CEILING_DIRECTORIES", &self.disk.root).env("GIT_CONFIG_GLOBAL", "/dev/null");
            let done = feed(&mut tool, &Patches::of(task).unified)?;
            self.disk.answer(task, done.status.success())
        };
        tasks.iter().map(one).collect()
    }
}

struct V4a {
    disk: Disk,
    codex: Codex,
}

impl Peer for V4a {
    fn answers(&mut self, tasks: &[Task]) -> io::Result<Vec<Answer>> {
        let one = |task: &Task| {
            self.disk.put(task)?;
            self.disk.change(task)?;
            let mut tool = self.codex.command();
            let done = feed(tool.current_dir(&self.disk.root), &Patches::of(task).v4a)?;
            self.disk.answer(task, done.status.success())
        };
        tasks.iter().map(one).collect()
    }
}

struct Mcp {
    disk: Disk,
    server: Server,
}

impl Peer for Mcp {
    fn answers(&mut self, tasks: &[Task]) -> io::Result<Vec<Answer>> {
        let mut out = Vec::with_capacity(tasks.len());
        for task in tasks {
            self.disk.put(task)?;
            self.disk.change(task)?;
            let path = self.disk.file();
            let success = match &task.old {
                Some(old) => {
                    let edits = json!([{ "oldText": old, "newText": task.new }]);
                    self.server.call("edit_file", &json!({ "path": path, "edits": edits }))?
                }
                None => self.server.call("write_file", &json!({ "path": path, "content": task.new }))?,
            };
            out.push(self.disk.answer(task, success)?);
        }
        Ok(out)
    }
}

/// A function from a text and an edit to the new text.
struct Text(fn(&Task, &str) -> Option<String>);

impl Peer for Text {
    fn answers(&mut self, tasks: &[Task]) -> io::Result<Vec<Answer>> {
        let one = |task: &Task| {
            let Ok(text) = str::from_utf8(&task.file) else { return Answer::Absent };
            // A tool that gets only the text cannot keep anything else.
            if task.place != Place::Plain || task.old.is_none() {
                return Answer::Absent;
            }
            (self.0)(task, text).map_or(Answer::Refused, |made| Answer::Made { bytes: made.into_bytes(), intact: true })
        };
        Ok(tasks.iter().map(one).collect())
    }
}

fn exact(task: &Task, text: &str) -> Option<String> {
    let old = task.old.as_deref()?;
    (text.matches(old).count() == 1).then(|| text.replacen(old, &task.new, 1))
}

fn diffy(task: &Task, text: &str) -> Option<String> {
    let unified = Patches::of(task).unified;
    diffy::apply(text, &diffy::Patch::from_str(&unified).ok()?).ok()
}

fn mpatch(task: &Task, text: &str) -> Option<String> {
    let patch = parse_single_patch(&format!("```diff\n{}```\n", Patches::of(task).unified)).ok()?;
    let made = apply_patch_to_content(&patch, Some(text), &ApplyOptions::new());
    made.report.all_applied_cleanly().then_some(made.new_content)
}

/// A tool written in Python: peers/accuracy.py.
struct Python {
    program: PathBuf,
    tool: &'static str,
}

impl Peer for Python {
    fn answers(&mut self, tasks: &[Task]) -> io::Result<Vec<Answer>> {
        let asked = tasks.iter().map(|task| {
            let Patches { unified, v4a, hunk } = Patches::of(task);
            let text = if task.needs_disk() && task.seen == task.file { None } else { str::from_utf8(&task.file).ok() };
            json!({ "text": text, "old": task.old, "new": task.new, "unified": unified, "v4a": v4a, "hunk": hunk })
        });
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/accuracy.py");
        let mut python = Command::new(&self.program);
        python.arg(script).arg(self.tool).stderr(Stdio::null());
        let done = feed(&mut python, &Value::Array(asked.collect()).to_string())?;
        let answers: Vec<Value> = serde_json::from_slice(&done.stdout)
            .map_err(|_| io::Error::other(format!("{}: {}", self.tool, String::from_utf8_lossy(&done.stderr))))?;
        let answer = |(task, answer): (&Task, Value)| match answer {
            _ if task.place != Place::Plain || task.old.is_none() || str::from_utf8(&task.file).is_err() => {
                Answer::Absent
            }
            Value::String(text) => Answer::Made { bytes: text.into_bytes(), intact: true },
            _ => Answer::Refused,
        };
        Ok(tasks.iter().zip(answers).map(answer).collect())
    }
}

//! The test environment: a scratch workspace, its state, and the real binary run in them.

pub(crate) mod programs;

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The workspace of one test, removed with it.
pub(crate) struct TestWorkspace {
    base: PathBuf,
}

impl TestWorkspace {
    /// Creates an empty workspace.
    pub(crate) fn new() -> TestWorkspace {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("emend-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let base = std::env::temp_dir().canonicalize().unwrap().join(name);
        // A killed process with the same id may have left the directory.
        let _ = fs::remove_dir_all(&base);
        fs::create_dir_all(base.join("work")).unwrap();
        TestWorkspace { base }
    }

    /// Creates a workspace with one file `a.txt`.
    pub(crate) fn with(text: &str) -> TestWorkspace {
        let workspace = TestWorkspace::new();
        workspace.put("a.txt", text);
        workspace
    }

    /// Returns the root.
    pub(crate) fn work(&self) -> PathBuf {
        self.base.join("work")
    }

    /// Returns a path next to the root.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// Returns a path in the root as text.
    pub(crate) fn path(&self, name: &str) -> String {
        self.work().join(name).display().to_string()
    }

    /// Writes a file in the root.
    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads the text of a file in the root.
    pub(crate) fn get(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap()
    }

    /// Returns the command, in the root, without the caller's environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_emend"));
        command.args(args).current_dir(self.work()).env_clear();
        command.env("HOME", self.beside("home")).env("TMPDIR", &self.base).env("PATH", "/usr/bin:/bin");
        command.env("EMEND_STATE", self.beside("state"));
        command
    }

    /// Runs the command with empty input.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.feed(args, b"")
    }

    /// Runs the command with this standard input.
    pub(crate) fn feed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        feed(self.command(args), input.as_ref())
    }

    /// Runs `emend call` with this input.
    pub(crate) fn call(&self, tool: &str, input: &Value) -> Ran {
        self.feed(&["call", tool], input.to_string())
    }
}

impl Drop for TestWorkspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// Runs a command with this standard input.
pub(crate) fn feed(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // Writing and reading at the same time keeps either pipe from filling up. A child that does not read its input
        // ends early.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    Ran::of(&output)
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit status.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Ran {
    fn of(output: &Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// Parses standard output as one JSON object.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.matches('\n').count(), 1, "{self:?}");
        serde_json::from_str(&self.out).unwrap()
    }

    /// Asserts the exit status.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

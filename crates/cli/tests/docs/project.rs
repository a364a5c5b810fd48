//! The home directory and the project in which the commands of a page run.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Files of the project that the pages mention.
const FILES: &[(&str, &str)] = &[
    (
        "src/main.rs",
        "fn main() {\n    let x = 1;\n    println!(\"{}\", old_name(x));\n}\n\nfn old_name(x: i32) -> i32 {\n    x + 1\n}\n\nfn line_at(n: usize) -> usize {\n    n\n}\n",
    ),
    ("reply.md", "I changed the sum:\n\nsrc/main.rs\n<<<<<<< SEARCH\n    x + 1\n=======\n    x + 2\n>>>>>>> REPLACE\n"),
    (
        "fix.patch",
        "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -10,3 +10,3 @@\n fn line_at(n: usize) -> usize {\n-    n\n+    n + 1\n }\n",
    ),
    ("draft.txt", "A draft.\n"),
    ("a.txt", "one\ntwo\n"),
    ("notes/todo.txt", "water the plants\n"),
    (
        "a.ipynb",
        "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"c0\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": []\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n",
    ),
];

/// Directories that show which clients are installed.
const CLIENTS: &[&str] = &[
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".config/Claude",
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev",
    ".config/zed",
    ".config/opencode",
    ".pi/agent",
    ".codeium/windsurf",
    ".junie/mcp",
];

/// A home directory that contains a project.
pub(crate) struct Project {
    home: TempDir,
}

impl Project {
    pub(crate) fn new() -> Project {
        let home = TempDir::new().unwrap();
        let project = Project { home };
        for folder in CLIENTS {
            fs::create_dir_all(project.path().join("..").join(folder)).unwrap();
        }
        for (name, text) in FILES {
            let path = project.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(project.run("git init -q").0, 0, "git");
        project
    }

    /// Returns the directory of the project, which the first call creates.
    fn path(&self) -> PathBuf {
        let path = self.home.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Runs a script in the project. Returns its exit status and its output, with `/home/you` as the home.
    pub(crate) fn run(&self, script: &str) -> (i32, String) {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_emend"));
        let home = self.home.path().canonicalize().unwrap();
        let script = script.replace("/home/you", &home.to_string_lossy());
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("timeout")
            .args(["300", "bash", "-c", &format!("exec 2>&1\n{script}")])
            .current_dir(self.path())
            .env_clear()
            .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
            .env("HOME", self.home.path())
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).replace(&*home.to_string_lossy(), "/home/you");
        (output.status.code().unwrap_or(-1), text)
    }
}

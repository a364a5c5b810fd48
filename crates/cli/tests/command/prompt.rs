//! The question before an edit, at a real terminal: tmux plays the person.

use crate::workspace::TestWorkspace;
use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Longer than anything here takes: a test that hangs fails instead of hanging the suite.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of its own, 100 columns wide.
pub(crate) struct Terminal<'b> {
    workspace: &'b TestWorkspace,
}

impl<'b> Terminal<'b> {
    /// A shell in the root.
    pub(crate) fn open(workspace: &'b TestWorkspace) -> Terminal<'b> {
        let terminal = Terminal { workspace };
        terminal.tmux(&["new-session", "-d", "-x", "100", "-y", "50", "env -i PS1='$ ' TERM=xterm /bin/sh"]);
        for (name, value) in workspace.command(&[]).get_envs() {
            let value = value.unwrap().to_str().unwrap();
            terminal.types(&format!("export {}='{value}'", name.to_str().unwrap()));
        }
        terminal.types(&format!("PATH={}:$PATH", env!("CARGO_BIN_EXE_emend").rsplit_once('/').unwrap().0));
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.workspace.beside("tmux")).args(["-f", "/dev/null"]).args(args);
        let output = command.current_dir(self.workspace.work()).env("LC_ALL", "C.UTF-8").output();
        let output = output.unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    }

    /// Types a line.
    pub(crate) fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.tmux(&["send-keys", "Enter"]);
    }

    /// Waits until the screen shows this text, and returns the screen.
    pub(crate) fn shows(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let screen = String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).unwrap();
            if screen.contains(text) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "never shown: {text}\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Edits `a.txt`, answers the question, and returns the screen after that.
    fn edits(&self, new: &str, answer: Option<&str>) -> String {
        self.tmux(&["send-keys", "-R"]);
        self.tmux(&["clear-history"]);
        // The shell inserts the number, so the line that is typed does not contain the text that is waited for.
        self.types(&format!("emend edit a.txt --old old --new {new}; echo \"ended with [$?]\""));
        if let Some(answer) = answer {
            let asked = self.shows("Write this?");
            assert!(asked.contains("-old") && asked.contains(&format!("+{new}")), "the change is shown: {asked}");
            assert_eq!(self.workspace.get("a.txt"), "old\n", "nothing is written before the answer");
            self.types(answer);
        }
        let screen = self.shows("ended with [0]");
        self.tmux(&["send-keys", "-R"]);
        screen
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command.arg("-S").arg(self.workspace.beside("tmux")).arg("kill-server").output();
    }
}

/// A workspace in which every edit is asked about; `None` if the test is skipped.
fn asking() -> Option<TestWorkspace> {
    if !external::has(&["tmux"]) {
        return None;
    }
    let workspace = TestWorkspace::with("old\n");
    let config = workspace.beside("home/.config/emendate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[policy]\ndefault = 'ask'\n").unwrap();
    Some(workspace)
}

#[test]
fn yes_writes() {
    let Some(workspace) = asking() else { return };
    let screen = Terminal::open(&workspace).edits("new", Some("y"));
    assert_eq!(workspace.get("a.txt"), "new\n");
    assert!(screen.contains("[y]es, [n]o, [e]dit first, [a]lways for this file"), "{screen}");
    assert!(screen.contains("has been updated"), "{screen}");
}

#[test]
fn no_leaves_the_file_alone() {
    let Some(workspace) = asking() else { return };
    let terminal = Terminal::open(&workspace);
    terminal.types("emend edit a.txt --old old --new new; echo \"ended with [$?]\"");
    terminal.shows("Write this?");
    // The question is repeated after a text that is not an answer.
    terminal.types("perhaps");
    terminal.types("n");
    let screen = terminal.shows("ended with [14]");
    assert_eq!(screen.matches("Write this?").count(), 2, "{screen}");
    assert_eq!(workspace.get("a.txt"), "old\n");
    // So does the end of the input.
    terminal.tmux(&["send-keys", "-R"]);
    terminal.types("emend edit a.txt --old old --new new; echo \"left with [$?]\"");
    terminal.shows("Write this?");
    terminal.tmux(&["send-keys", "C-d"]);
    terminal.shows("left with [14]");
    assert_eq!(workspace.get("a.txt"), "old\n");
}

#[test]
fn the_person_may_change_the_text_first() {
    let Some(workspace) = asking() else { return };
    workspace.put("editor.sh", "printf 'mine\\n' > \"$1\"\n");
    let terminal = Terminal::open(&workspace);
    terminal.types("export EDITOR='sh editor.sh'");
    let screen = terminal.edits("new", Some("e"));
    assert_eq!(workspace.get("a.txt"), "mine\n");
    assert!(screen.contains("+mine"), "what was written is shown: {screen}");
}

#[test]
fn always_is_asked_once() {
    let Some(workspace) = asking() else { return };
    let terminal = Terminal::open(&workspace);
    terminal.edits("new", Some("a"));
    assert_eq!(workspace.get("a.txt"), "new\n");
    workspace.put("a.txt", "old\n");
    let screen = terminal.edits("newer", None);
    assert!(!screen.contains("Write this?"), "{screen}");
    assert_eq!(workspace.get("a.txt"), "newer\n");
}

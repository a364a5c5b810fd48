//! The sessions of callers that name none: a terminal, a server process, a conversation of Claude Code.
//!
//! A server does not see which conversation its client leads; the client's hooks receive its id. Both are started by the
//! client, so a hook leaves the conversation's session in a file named after the client's process, and the server looks
//! there at each call: a conversation that is resumed or cleared changes while the server runs.

use emendate::unique_session;
use emendate_os::files::DirBuilderExt as _;
use emendate_os::processes::{self, ProcessStatus};
use serde_json::{Value, json};
use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The variable in which Claude Code passes the conversation's id to the programs that it starts.
const CONVERSATION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";
/// Directory of the files about conversations, below the state directory.
const CONVERSATIONS: &str = "conversations";
/// Characters of a conversation's id.
const ID_CHARS_MAX: usize = 64;
/// Programs that only start others: a hook's parent may be one.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];
/// Shells between a client and a program that it starts.
const SHELLS_BETWEEN_MAX: usize = 4;

/// Returns the session of a conversation that a client leads.
pub(crate) fn of_conversation(client: &str, id: &str) -> String {
    let kept = id.chars().filter(|ch| ch.is_ascii_alphanumeric() || "-_.".contains(*ch)).take(ID_CHARS_MAX);
    let name = match client {
        "claude-code" => "claude",
        "gemini-cli" => "gemini",
        name => name,
    };
    format!("{name}-{}", kept.collect::<String>())
}

/// Returns the session of commands: that of the conversation whose shell runs them, else one for each terminal.
pub(crate) fn of_command() -> String {
    of_environment().unwrap_or_else(of_terminal)
}

/// Returns the session of a server until a hook reports another one.
pub(crate) fn of_server(kind: &str) -> String {
    let conversation = if kind == "mcp" { of_environment() } else { None };
    conversation.unwrap_or_else(|| unique_session(kind))
}

/// Returns the session of the conversation that started this process.
fn of_environment() -> Option<String> {
    let id = std::env::var(CONVERSATION_VARIABLE).ok().filter(|id| !id.is_empty())?;
    Some(of_conversation("claude-code", &id))
}

/// Returns the session of this terminal: all processes that its shell starts have the same.
fn of_terminal() -> String {
    let hash = emendate::core::ContentId::of(processes::terminal().as_bytes()).tag();
    format!("cli-{hash}")
}

/// The client that started this process: a number that is used again later, and its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ClientProcess {
    id: i32,
    started: u64,
}

impl ClientProcess {
    /// Finds the next process above this one that is no shell; `None` if the client has ended.
    fn of_this() -> Option<ClientProcess> {
        let mut id = processes::parent()?;
        for _ in 0..=SHELLS_BETWEEN_MAX {
            let Some(status) = ProcessStatus::of(id) else {
                return Some(ClientProcess { id, started: 0 });
            };
            if !SHELLS.contains(&status.name.trim_start_matches('-')) {
                return (id > 1).then_some(ClientProcess { id, started: status.started });
            }
            id = status.parent;
        }
        None
    }
}

/// The file with the conversation that a client is in.
pub(crate) struct ConversationFile {
    path: PathBuf,
    client: ClientProcess,
}

impl ConversationFile {
    /// The file of the client that started this process; `None` without a client.
    pub(crate) fn of_client(state: &Path) -> Option<ConversationFile> {
        let client = ClientProcess::of_this()?;
        Some(ConversationFile { path: state.join(CONVERSATIONS).join(client.id.to_string()), client })
    }

    /// Reads the session; `None` before the first hook.
    pub(crate) fn session(&self) -> Option<String> {
        let stored: Value = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        if stored["started"].as_u64()? != self.client.started {
            return None;
        }
        stored["session"].as_str().map(str::to_owned)
    }

    /// Stores the session, readable for its owner only, and removes the files of clients that have ended.
    ///
    /// Errors: those of the file system.
    pub(crate) fn write(&self, session: &str) -> std::io::Result<()> {
        if self.session().is_some_and(|known| known == session) {
            return Ok(());
        }
        let Some(directory) = self.path.parent() else { return Ok(()) };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(json!({ "session": session, "started": self.client.started }).to_string().as_bytes())?;
        file.persist(&self.path).map_err(|error| error.error)?;
        for entry in fs::read_dir(directory)?.flatten() {
            let process = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if process.is_some_and(|process| process > 0 && !processes::is_running(process)) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_reads_the_conversation_of_its_client() {
        let state = tempfile::tempdir().unwrap();
        let file = |started| ConversationFile {
            path: state.path().join(CONVERSATIONS).join("1"),
            client: ClientProcess { id: 1, started },
        };
        assert_eq!(file(7).session(), None);
        file(7).write("claude-a").unwrap();
        file(7).write("claude-b").unwrap();
        assert_eq!(file(7).session().as_deref(), Some("claude-b"));
        // Another process with the number of one that has ended.
        assert_eq!(file(8).session(), None);
        assert_eq!(of_conversation("claude-code", "a/b c\n1-2"), "claude-abc1-2");
    }
}

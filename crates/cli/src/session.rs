//! The sessions of callers that name none: a terminal, a server process, a conversation of Claude Code.
//!
//! A server does not see which conversation its client leads; the client's hooks receive its id. Both are started by the
//! client, so a hook leaves the conversation's session in a file named after the client's process, and the server looks
//! there at each call: a conversation that is resumed or cleared changes while the server runs.

use emendate::unique_session;
use rustix::process::Pid;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
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

/// Returns the session of a server until a hook says more.
pub(crate) fn of_server(kind: &str) -> String {
    let conversation = if kind == "mcp" { of_environment() } else { None };
    conversation.unwrap_or_else(|| unique_session(kind))
}

/// Returns the session of the conversation that started this process.
fn of_environment() -> Option<String> {
    let id = std::env::var(CONVERSATION_VARIABLE).ok().filter(|id| !id.is_empty())?;
    Some(of_conversation("claude-code", &id))
}

/// Returns the session of this terminal: all processes that its shell starts have the same session in the system, and
/// so have those of a script without a terminal.
fn of_terminal() -> String {
    let leader = session_leader();
    let started = ProcessStatus::of(&leader.to_string()).map_or(0, |status| status.started);
    let user = rustix::process::getuid().as_raw();
    // Numbers of processes are used again; the boot and the start distinguish them.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let hash = emendate::core::ContentId::of(format!("{user} {leader} {started} {boot}").as_bytes()).tag();
    format!("cli-{hash}")
}

/// Returns the process that leads this terminal's session; 0 in a container if the leader is outside it.
#[cfg(target_os = "linux")]
fn session_leader() -> i32 {
    // rustix panics where the system returns 0.
    ProcessStatus::of("self").map_or(0, |status| status.leader)
}

/// Returns the process that leads this terminal's session.
#[cfg(not(target_os = "linux"))]
fn session_leader() -> i32 {
    rustix::process::getsid(None).map_or(0, Pid::as_raw_pid)
}

/// A process, as the system describes it.
struct ProcessStatus {
    parent: i32,
    /// The leader of its session; 0 for a leader outside this container.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has `/proc`"))]
    leader: i32,
    /// Its start, in ticks since the boot.
    started: u64,
    name: String,
}

impl ProcessStatus {
    /// Reads it, by its number or as `self`; `None` for a process that does not exist, and on systems without `/proc`.
    fn of(process: &str) -> Option<ProcessStatus> {
        // The name is in parentheses and may contain any character.
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (head, rest) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = rest.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let leader = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(15)?.parse().ok()?;
        Some(ProcessStatus { parent, leader, started, name: name.to_owned() })
    }
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
        let mut id = rustix::process::getppid()?.as_raw_pid();
        for _ in 0..=SHELLS_BETWEEN_MAX {
            let Some(status) = ProcessStatus::of(&id.to_string()) else {
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

/// The file that says which conversation a client leads.
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
            let process = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            let ended = |process| rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH);
            if process.is_some_and(ended) {
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

    #[cfg(target_os = "linux")]
    #[test]
    fn status_of_a_process_is_read() {
        let own = ProcessStatus::of("self").unwrap();
        assert_eq!(Some(own.parent), rustix::process::getppid().map(Pid::as_raw_pid));
        assert!(own.started > 0 && !own.name.is_empty());
        assert_eq!(ProcessStatus::of(&std::process::id().to_string()).unwrap().started, own.started);
        assert!(ProcessStatus::of(&i32::MAX.to_string()).is_none());
    }
}

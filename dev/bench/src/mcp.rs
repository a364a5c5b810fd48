//! `mcp`: start, memory and calls of the server, next to the protocol authors' filesystem server and a loop that sends
//! every line back.

use crate::exact::scratch;
use crate::outcome::{Kind, Outcome, Unit};
use crate::peers;
use crate::race::{Case, race, settle, timed};
use crate::report::Report;
use crate::server::{self, Server};
use crate::startup::{self, Programs};
use crate::text::{Edits, OLD, lines};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const OURS: &str = "emend mcp";
const WITH_STORE: &str = "emend mcp, with the store";
const PEER: &str = "MCP filesystem server";
const WRITE: &str = "write + rename of the same bytes";
const ECHO: &str = "a loop that sends lines back";

/// Lines of the file, and the limits of its edit, if there are any.
const SIZES: [(usize, Option<EditLimits>); 4] = [
    (100, Some(EditLimits { of_write: 1.6, of_peer: 1.0 / 5.0 })),
    (10_000, Some(EditLimits { of_write: 1.3, of_peer: 1.0 / 12.0 })),
    (100_000, None),
    (1_000_000, None),
];

/// Maximum ratios of an edit to a write and rename of the same bytes, and to the peer's edit.
#[derive(Clone, Copy)]
struct EditLimits {
    of_write: f64,
    of_peer: f64,
}

pub(crate) fn run(report: &mut Report) {
    let programs = startup::programs();
    let peer = (!report.setting.alone).then(|| report.peer(PEER, peers::filesystem())).flatten();
    let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let root = dir.path().canonicalize().unwrap_or_else(|_| dir.path().to_owned());
    let Ok(state) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let desk = Desk { programs, peer, root, state };
    let quick = report.setting.quick;
    report.race("a server until it answers", || desk.ready(if quick { 11 } else { 31 }));
    report.race("idle memory of a server", || desk.idle());
    report.race("a call that does nothing", || desk.ping(if quick { 101 } else { 301 }));
    for (count, limits) in SIZES {
        let rounds = match count {
            1_000_000 => 5,
            100_000 => 9,
            _ if quick => 15,
            _ => 61,
        };
        let title = format!("MCP edit, no sync, {count} lines");
        report.race(&title, || desk.edit(&title, (count, limits), rounds));
    }
}

struct Desk {
    programs: Programs,
    /// The peer's script.
    peer: Option<PathBuf>,
    root: PathBuf,
    /// The state of servers that keep one.
    state: tempfile::TempDir,
}

impl Desk {
    fn ours(&self) -> Command {
        server::emend(&self.programs.emend, &self.root, "none", "none")
    }

    fn with_store(&self) -> Command {
        server::emend(&self.programs.emend, &self.root, &self.state.path().to_string_lossy(), "none")
    }

    fn theirs(&self) -> Option<Command> {
        let script = self.peer.as_ref()?;
        let mut node = Command::new("node");
        node.arg(script).arg(&self.root);
        Some(node)
    }

    fn echo(&self) -> Command {
        let mut echo = Command::new(&self.programs.floor);
        echo.arg("--echo");
        echo
    }

    fn ready(&self, rounds: usize) -> Outcome {
        let start = |command: Command| timed(|| Server::start(command)).1;
        let mut cases = vec![Case::floor(ECHO, || start(self.echo())), Case::ours(OURS, || start(self.ours()))];
        if self.peer.is_some() {
            cases.push(Case::peer(PEER, || self.theirs().map_or(Duration::MAX, start)));
        }
        race("a server until it answers, from its start", rounds, cases).within("G15", OURS, Duration::from_millis(3))
    }

    fn idle(&self) -> Outcome {
        let resident = |command: Command| {
            let server = Server::start(command);
            std::thread::sleep(Duration::from_millis(300));
            server.resident()
        };
        let outcome =
            Outcome::new("idle memory of a server", Unit::Bytes).value(Kind::Ours, OURS, resident(self.ours()));
        let outcome = match self.theirs() {
            Some(theirs) => outcome.value(Kind::Peer, PEER, resident(theirs)),
            None => outcome,
        };
        outcome.at_most("G15", OURS, 10.0 * 1024.0 * 1024.0)
    }

    fn ping(&self, rounds: usize) -> Outcome {
        let case = |kind: Kind, name: &str, command: Command| {
            let mut server = Server::start(command);
            Case::new(kind, name, move || timed(|| server.request("ping", &json!({}))).1)
        };
        let mut cases = vec![case(Kind::Floor, ECHO, self.echo()), case(Kind::Ours, OURS, self.ours())];
        cases.extend(self.theirs().map(|theirs| case(Kind::Peer, PEER, theirs)));
        race("a call that does nothing", rounds, cases)
    }

    fn edit(&self, title: &str, (count, limits): (usize, Option<EditLimits>), rounds: usize) -> Outcome {
        let text = lines(count, OLD);
        let file = |name: &str| {
            let path = self.root.join(name);
            let _ = fs::write(&path, &text);
            path
        };
        let (floor, aside) = (file("floor.txt"), self.root.join("floor.tmp"));
        let mut cases = vec![Case::floor(WRITE, || {
            settle();
            timed(|| fs::write(&aside, &text).and_then(|()| fs::rename(&aside, &floor))).1
        })];
        cases.push(call(Kind::Ours, OURS, self.ours(), file("ours.txt"), our_edit));
        cases.push(call(Kind::Ours, WITH_STORE, self.with_store(), file("stored.txt"), our_edit));
        cases.extend(self.theirs().map(|theirs| call(Kind::Peer, PEER, theirs, file("theirs.txt"), peer_edit)));
        let outcome = race(title, rounds, cases);
        let Some(EditLimits { of_write, of_peer }) = limits else { return outcome };
        outcome.goal("P1", OURS, of_write).beside("P2", OURS, PEER, of_peer)
    }
}

/// Builds an edit call for our server.
pub(crate) fn our_edit(path: &Path, old: &str, new: &str) -> Value {
    json!({ "name": "edit", "arguments": { "file_path": path, "old_string": old, "new_string": new } })
}

/// Builds an edit call for the filesystem server.
pub(crate) fn peer_edit(path: &Path, old: &str, new: &str) -> Value {
    let edits = json!([{ "oldText": old, "newText": new }]);
    json!({ "name": "edit_file", "arguments": { "path": path, "edits": edits } })
}

/// Makes edits of a file, one after another, with a running server.
pub(crate) fn call(
    kind: Kind,
    name: &str,
    server: Command,
    file: PathBuf,
    edit: impl Fn(&Path, &str, &str) -> Value + 'static,
) -> Case<'static> {
    let mut server = Server::start(server);
    let mut edits = Edits::new();
    Case::new(kind, name, move || {
        let (old, new) = edits.next();
        let call = edit(&file, &old, &new);
        settle();
        let (answer, time) = timed(|| server.request("tools/call", &call));
        assert!(answer["result"]["isError"] != true && answer["error"].is_null(), "{answer}");
        time
    })
}

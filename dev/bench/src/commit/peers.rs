//! The tools of others on the same edit: Codex' `apply_patch`, a process per edit, and the MCP filesystem server, which
//! stays. Beside them ours in the same two ways.

use super::Bed;
use crate::race::{Case, settle, timed};
use crate::server::{self, Server};
use crate::startup;
use crate::text::Edits;
use oracles::codex::Codex;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The server's version.
const FILESYSTEM: &str = "@modelcontextprotocol/server-filesystem@2026.8.31";

/// What could be installed here.
pub(super) struct Peers {
    codex: Option<Codex>,
    /// The server's script.
    filesystem: Option<PathBuf>,
    emend: PathBuf,
}

impl Peers {
    pub(super) fn find() -> Peers {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
        let codex = Codex::install(&peers).inspect_err(|error| eprintln!("no row of Codex: {error}")).ok();
        let prefix = peers.join("filesystem");
        let script = prefix.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
        let there = if script.is_file() { Ok(()) } else { oracles::npm_install(&prefix, FILESYSTEM) };
        let filesystem = match there {
            Ok(()) => script.canonicalize().ok(),
            Err(error) => {
                eprintln!("no row of the MCP filesystem server: {error}");
                None
            }
        };
        Peers { codex, filesystem, emend: startup::emend() }
    }

    /// A case for each.
    pub(super) fn cases(&self, bed: &Bed) -> Vec<Case<'static>> {
        let ours = |durability| {
            let mut command = Command::new(&self.emend);
            command.args(["--durability", durability, "--root", ".", "--state", "none", "apply"]);
            command
        };
        let mut out = vec![
            patch(bed, "emend apply, a process, process", ours("process")),
            patch(bed, "emend apply, a process, power", ours("power")),
        ];
        out.extend(self.codex.as_ref().map(|codex| patch(bed, "apply_patch of Codex, a process", codex.command())));
        let edit = |path: &Path, old: &str, new: &str| json!({ "name": "edit", "arguments": { "file_path": path, "old_string": old, "new_string": new } });
        for durability in ["process", "power"] {
            let server = server::emend(&self.emend, &bed.root, "none", durability);
            out.push(call(bed, &format!("emend mcp, a call, {durability}"), server, edit));
        }
        out.extend(self.filesystem.as_ref().map(|script| {
            let mut server = Command::new("node");
            server.arg(script).arg(&bed.root);
            call(bed, "MCP filesystem server, a call", server, |path, old, new| {
                let edits = json!([{ "oldText": old, "newText": new }]);
                json!({ "name": "edit_file", "arguments": { "path": path, "edits": edits } })
            })
        }));
        out
    }
}

/// A process that reads a patch from its standard input.
fn patch(bed: &Bed, name: &str, mut command: Command) -> Case<'static> {
    let file = bed.file(name);
    let input = bed.root.with_file_name(format!("{}.patch", file.display().to_string().replace('/', "-")));
    command.current_dir(&bed.root).stdout(Stdio::null()).stderr(Stdio::null());
    let mut edits = Edits::new();
    Case::new(name, move || {
        let (old, new) = edits.next();
        let mut text = format!("*** Begin Patch\n*** Update File: {}\n@@\n", name_of(&file));
        for (sign, lines) in [('-', &old), ('+', &new)] {
            for line in lines.lines() {
                let _ = writeln!(text, "{sign}{line}");
            }
        }
        text.push_str("*** End Patch\n");
        let _ = fs::write(&input, text);
        let Ok(open) = fs::File::open(&input) else { panic!("no patch") };
        command.stdin(open);
        settle();
        let (status, time) = timed(|| command.status());
        assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
        assert!(fs::read_to_string(&file).is_ok_and(|text| text.contains(&new)), "{command:?} did nothing");
        time
    })
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A call to a server that stays.
fn call(bed: &Bed, name: &str, server: Command, edit: impl Fn(&Path, &str, &str) -> Value + 'static) -> Case<'static> {
    let file = bed.file(name);
    let mut server = Server::start(server);
    let mut edits = Edits::new();
    Case::new(name, move || {
        let (old, new) = edits.next();
        let call = edit(&file, &old, &new);
        settle();
        let (answer, time) = timed(|| server.request("tools/call", &call));
        assert!(answer["result"]["isError"] != true && answer["error"].is_null(), "{answer}");
        time
    })
}

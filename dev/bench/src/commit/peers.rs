//! Other tools on the same edit: Codex's `apply_patch`, one process per edit, and the MCP filesystem server, which
//! keeps running. Next to them, Emendate in the same two ways.

use super::ScratchFiles;
use crate::mcp;
use crate::outcome::Kind;
use crate::race::{Case, settle, timed};
use crate::report::Report;
use crate::server;
use crate::startup;
use crate::text::{Edits, codex_patch};
use oracles::codex::Codex;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The tools that could be installed.
pub(super) struct Peers {
    codex: Option<Codex>,
    /// The server's script.
    filesystem: Option<PathBuf>,
    emend: PathBuf,
}

impl Peers {
    pub(super) fn find(report: &mut Report) -> Peers {
        let codex = report.peer("apply_patch of Codex", crate::peers::codex());
        let filesystem = report.peer("MCP filesystem server", crate::peers::filesystem());
        Peers { codex, filesystem, emend: startup::emend() }
    }

    /// Returns a case for each tool.
    pub(super) fn cases(&self, files: &ScratchFiles) -> Vec<Case<'static>> {
        let ours = |durability| {
            let mut command = Command::new(&self.emend);
            command.args(["--durability", durability, "--root", ".", "--state", "none", "apply"]);
            command
        };
        let mut out = vec![
            patch(files, Kind::Ours, "emend apply, a process, process", ours("process")),
            patch(files, Kind::Ours, "emend apply, a process, power", ours("power")),
        ];
        out.extend(
            self.codex
                .as_ref()
                .map(|codex| patch(files, Kind::Peer, "apply_patch of Codex, a process", codex.command())),
        );
        for durability in ["process", "power"] {
            let server = server::emend(&self.emend, &files.root, "none", durability);
            let name = format!("emend mcp, a call, {durability}");
            out.push(mcp::call(Kind::Ours, &name, server, files.file(&name), mcp::our_edit));
        }
        out.extend(self.filesystem.as_ref().map(|script| {
            let name = "MCP filesystem server, a call";
            let mut server = Command::new("node");
            server.arg(script).arg(&files.root);
            mcp::call(Kind::Peer, name, server, files.file(name), mcp::peer_edit)
        }));
        out
    }
}

/// Creates a case that runs a process which reads a patch from standard input.
fn patch(files: &ScratchFiles, kind: Kind, name: &str, mut command: Command) -> Case<'static> {
    let file = files.file(name);
    let input = files.root.with_file_name(format!("{}.patch", file.display().to_string().replace('/', "-")));
    command.current_dir(&files.root).stdout(Stdio::null()).stderr(Stdio::null());
    let mut edits = Edits::new();
    Case::new(kind, name, move || {
        let (old, new) = edits.next();
        let _ = fs::write(&input, codex_patch(&file, &old, &new));
        let Ok(open) = fs::File::open(&input) else { panic!("no patch") };
        command.stdin(open);
        settle();
        let (status, time) = timed(|| command.status());
        assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
        assert!(fs::read_to_string(&file).is_ok_and(|text| text.contains(&new)), "{command:?} did nothing");
        time
    })
}

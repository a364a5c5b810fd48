//! Measures processes that apply one hunk: the shipped `emend apply`, `git apply`, GNU patch and Codex's tool.

use super::{Task, marked, numbered, task};
use crate::exact::scratch;
use crate::outcome::{Kind, Outcome};
use crate::peers;
use crate::race::{Case, race, settle, timed};
use crate::report::Report;
use crate::startup;
use oracles::codex::Codex;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Lines of the file.
const SIZES: [usize; 3] = [200, 10_000, 100_000];

const WITH_STORE: &str = "emend apply, with the store";
const GNU: &str = "GNU patch";

pub(super) fn run(report: &mut Report) {
    let emend = startup::emend();
    let codex = report.peer("apply_patch of Codex", peers::codex());
    let rounds = if report.setting.quick { 9 } else { 31 };
    for count in SIZES {
        report.race("one hunk by a process", || beside(&emend, codex.as_ref(), count, rounds));
    }
}

fn beside(emend: &Path, codex: Option<&Codex>, count: usize, rounds: usize) -> Outcome {
    let text = numbered(count, super::MANY);
    let lines = marked(&text);
    let task = task("one hunk", &text, &[lines[lines.len() * 9 / 10]], true);
    let Ok(dir) = tempfile::tempdir_in(scratch()) else { panic!("no scratch directory") };
    let state = dir.path().join("state");
    let ours = |name: &'static str, state: &Path| {
        let mut command = Command::new(emend);
        command.args(["--durability", "none", "--root", ".", "--state"]).arg(state).arg("apply");
        (Kind::Ours, name, command, &task.unified)
    };
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn"]).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let mut gnu = Command::new("patch");
    gnu.args(["-p1", "--silent", "--no-backup-if-mismatch"]);
    let mut programs = vec![
        (Kind::Peer, "git apply", git, &task.unified),
        (Kind::Peer, GNU, gnu, &task.unified),
        ours("emend apply, store off", Path::new("none")),
        ours(WITH_STORE, &state),
    ];
    programs.extend(codex.map(|codex| (Kind::Peer, "apply_patch of Codex", codex.command(), &task.codex)));
    let cases = programs.into_iter().enumerate().map(|(nth, (kind, name, command, patch))| {
        let folder = dir.path().join(format!("tree{nth}"));
        assert!(fs::create_dir_all(&folder).is_ok(), "no folder");
        case((kind, name), command, &folder, (&task, patch))
    });
    let title = format!("one hunk by a process, {count} lines, {} KB", text.len() >> 10);
    let outcome = race(title, rounds, cases.collect());
    if count == SIZES[0] { outcome.beside("P6", WITH_STORE, GNU, 1.0) } else { outcome }
}

/// Creates a case that runs the program on a new copy of the file each time.
fn case<'a>(
    (kind, name): (Kind, &str),
    mut command: Command,
    folder: &Path,
    (task, patch): (&'a Task, &str),
) -> Case<'a> {
    let (file, input) = (folder.join("f.rs"), folder.with_extension("patch"));
    let _ = fs::write(&input, patch);
    // Makes git ignore repositories above the directory.
    command.env("GIT_CEILING_DIRECTORIES", folder).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let name = name.to_owned();
    Case::new(kind, name.clone(), move || {
        let _ = fs::write(&file, &task.text);
        let Ok(input) = File::open(&input) else { panic!("no patch") };
        command.stdin(input);
        settle();
        let (status, time) = timed(|| command.status());
        assert!(status.is_ok_and(|status| status.success()), "{name} failed");
        assert_eq!(fs::read_to_string(&file).ok(), task.want, "{name}: wrong result");
        time
    })
}

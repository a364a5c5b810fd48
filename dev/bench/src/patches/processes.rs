//! Whole processes that apply one hunk: `emend apply` as it is shipped, `git apply`, GNU patch, the tool of Codex.

use super::{Task, marked, numbered, task};
use crate::exact::scratch;
use crate::race::{Case, Outcome, race, settle, timed};
use crate::startup;
use oracles::codex::Codex;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Lines of the file.
const SIZES: [usize; 3] = [200, 10_000, 100_000];

pub(super) fn run(quick: bool) -> Vec<Outcome> {
    let emend = startup::emend();
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let codex = Codex::install(&peers).inspect_err(|error| eprintln!("no row of Codex: {error}")).ok();
    SIZES.map(|count| beside(&emend, codex.as_ref(), count, if quick { 9 } else { 31 })).into()
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
        (name, command, &task.unified)
    };
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn"]).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let mut gnu = Command::new("patch");
    gnu.args(["-p1", "--silent", "--no-backup-if-mismatch"]);
    let mut programs = vec![
        ("git apply", git, &task.unified),
        ("GNU patch", gnu, &task.unified),
        ours("emend apply, store off", Path::new("none")),
        ours("emend apply, with the store", &state),
    ];
    programs.extend(codex.map(|codex| ("apply_patch of Codex", codex.command(), &task.codex)));
    let cases = programs.into_iter().enumerate().map(|(nth, (name, command, patch))| {
        let folder = dir.path().join(format!("tree{nth}"));
        assert!(fs::create_dir_all(&folder).is_ok(), "no folder");
        case(name, command, &folder, (&task, patch))
    });
    race(format!("one hunk by a process, {count} lines, {} KB", text.len() >> 10), rounds, cases.collect())
        .goal("emend apply, store off", 1.0)
}

/// The program on a fresh copy of the file each time.
fn case<'a>(name: &str, mut command: Command, folder: &Path, (task, patch): (&'a Task, &str)) -> Case<'a> {
    let (file, input) = (folder.join("f.rs"), folder.with_extension("patch"));
    let _ = fs::write(&input, patch);
    // No repository above the folder.
    command.env("GIT_CEILING_DIRECTORIES", folder).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let name = name.to_owned();
    Case::new(name.clone(), move || {
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

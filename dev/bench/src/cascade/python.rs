//! Runs the matchers written in Python, in one process with an environment that is created on first use.

use super::kinds::Kind;
use crate::exact::scratch;
use crate::outcome::Kind as Whose;
use crate::peers;
use emendate::core::Tier;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// aider and the packages its matchers import. The script replaces aider's other dependencies by stubs.
const PACKAGES: &[&str] = &[
    "aider-chat==0.86.2", "diff-match-patch==20241021", "GitPython==3.2.1", "gitdb==4.0.12", "smmap==5.0.3",
    "packaging==26.3", "codex-apply-patch==0.4.0",
];
/// Time limit of one call in seconds.
const SECONDS: u32 = 20;

/// The result of one matcher on one kind.
pub(super) struct Row {
    pub(super) kind: String,
    name: String,
    end: String,
    pub(super) median: Duration,
}

impl Row {
    /// Returns the kind of this row; `Wrong` if the result is wrong.
    pub(super) fn whose(&self) -> Whose {
        if self.end == "right" { Whose::Peer } else { Whose::Wrong }
    }

    pub(super) fn label(&self) -> String {
        match &*self.end {
            "right" => self.name.clone(),
            "wrong" => format!("{} (wrong result)", self.name),
            other => format!("{} ({other})", self.name),
        }
    }
}

/// Measures all kinds.
///
/// Errors: if Python or the network is missing.
pub(super) fn run(text: &str, want: &str, kinds: &[Kind]) -> Result<Vec<Row>, String> {
    measure(&environment()?, text, want, kinds)
}

fn measure(python: &Path, text: &str, want: &str, kinds: &[Kind]) -> Result<Vec<Row>, String> {
    let cases = kinds.iter().map(|kind| {
        // difflib is measured only on inexact matches.
        let similar = kind.tier.is_none_or(|tier| tier == Tier::Drift);
        json!({ "kind": kind.name, "old": kind.old, "new": kind.new, "want": kind.tier.map(|_| want), "similar": similar })
    });
    let asked = json!({ "text": text, "seconds": SECONDS, "rounds": 7, "cases": cases.collect::<Value>() });
    let file = scratch().join("cascade.json");
    fs::write(&file, asked.to_string()).map_err(|error| error.to_string())?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/matchers.py");
    let output = Command::new(python).arg(script).arg(&file).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("the script: {error}"))?;
    eprintln!("versions: {}", answer["versions"]);
    let rows = answer["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(rows.iter().map(row).collect())
}

fn row(row: &Value) -> Row {
    let mut times: Vec<f64> =
        row["times"].as_array().map(|all| all.iter().filter_map(Value::as_f64).collect()).unwrap_or_default();
    times.sort_by(f64::total_cmp);
    let word = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let median = times.get(times.len() / 2).copied().unwrap_or(0.0);
    Row { kind: word("kind"), name: word("name"), end: word("end"), median: Duration::from_secs_f64(median) }
}

/// Returns the Python interpreter of an environment with [`PACKAGES`].
pub(crate) fn environment() -> Result<PathBuf, String> {
    let folder = peers::folder().join("python");
    let python = folder.join("bin/python");
    // This file is written last, so an environment without it is incomplete.
    let made = folder.join("made");
    let holds = PACKAGES.join("\n");
    if fs::read_to_string(&made).is_ok_and(|text| text == holds) {
        return Ok(python);
    }
    let _ = fs::remove_dir_all(&folder);
    succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    succeed(Command::new(&python).args(pip).args(PACKAGES))?;
    fs::write(&made, holds).map_err(|error| error.to_string())?;
    Ok(python)
}

/// Runs a command with its output on stderr, so that it is separate from the table.
fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    eprint!("{}", String::from_utf8_lossy(&output.stdout));
    if output.status.success() { Ok(()) } else { Err(format!("{command:?} failed")) }
}

//! Measures codex-apply-patch from `PyPI`: an early fork of Codex's own Rust code with a thin Python wrapper.

use crate::exact::scratch;
use crate::outcome::{Kind, Outcome};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub(super) const NAME: &str = "codex-apply-patch";

/// Adds the row for a text, a patch and the expected result.
pub(super) fn row(
    outcome: Outcome,
    python: &Path,
    (text, patch, want): (&str, &str, Option<&str>),
    rounds: usize,
) -> Outcome {
    match measure(python, (text, patch, want), rounds) {
        Ok((time, true)) => outcome.row(Kind::Peer, NAME, time),
        Ok((time, false)) => outcome.row(Kind::Wrong, &format!("{NAME} (wrong result)"), time),
        Err(error) => panic!("{NAME}: {error}"),
    }
}

/// Returns the median time, and true if the result was right.
fn measure(
    python: &Path,
    (text, patch, want): (&str, &str, Option<&str>),
    rounds: usize,
) -> Result<(Duration, bool), String> {
    let file = scratch().join("patches.json");
    let asked = json!({ "text": text, "patch": patch, "rounds": rounds });
    std::fs::write(&file, asked.to_string()).map_err(|error| error.to_string())?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/patches.py");
    let output = Command::new(python).arg(script).arg(&file).stderr(Stdio::inherit()).output();
    let answer: Value = serde_json::from_slice(&output.map_err(|error| error.to_string())?.stdout)
        .map_err(|error| format!("the script: {error}"))?;
    let mut times: Vec<f64> = answer["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().ok_or("no times")?;
    Ok((Duration::from_secs_f64(median), answer["text"].as_str() == want))
}

//! codex-apply-patch from `PyPI`: an early fork of Codex' own Rust code behind a thin Python wrapper.

use crate::cascade::python::environment;
use crate::exact::scratch;
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Its row; none, and a word on stderr, where there is no Python or no network.
pub(super) fn row(
    name: &str,
    text: &str,
    patch: &str,
    want: Option<&str>,
    rounds: usize,
) -> Option<(String, Duration)> {
    measure(text, patch, want, rounds)
        .inspect_err(|error| eprintln!("no row of codex-apply-patch for {name}: {error}"))
        .ok()
}

fn measure(text: &str, patch: &str, want: Option<&str>, rounds: usize) -> Result<(String, Duration), String> {
    let python = environment()?;
    let file = scratch().join("patches.json");
    let asked = json!({ "text": text, "patch": patch, "rounds": rounds });
    std::fs::write(&file, asked.to_string()).map_err(|error| error.to_string())?;
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/patches.py");
    let output = Command::new(python).arg(script).arg(&file).stderr(Stdio::inherit()).output();
    let answer: Value = serde_json::from_slice(&output.map_err(|error| error.to_string())?.stdout)
        .map_err(|error| format!("the script: {error}"))?;
    let mut times: Vec<f64> = answer["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().ok_or("no times")?;
    let right = answer["text"].as_str() == want;
    let end = if right { "" } else { " (wrong result)" };
    Ok((format!("codex-apply-patch{end}"), Duration::from_secs_f64(median)))
}

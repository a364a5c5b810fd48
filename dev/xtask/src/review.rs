//! `cargo xtask review [--release] [NAME …]`: tests the review page in a browser, as people use it.

use crate::command::{build_emend, run_visibly};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The browser of Debian.
const CHROMIUM: &str = "/usr/bin/chromium";
/// The flag that tests an optimized program, for measurements.
const RELEASE: &str = "--release";
/// The rules of accessibility.
const AXE: &str = "axe-core@4.14.1";

/// Builds the command, installs what the tests need below `target/`, and runs them.
///
/// Errors: the first step that fails.
pub(crate) fn review(arguments: &[String]) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    if !Path::new(CHROMIUM).exists() {
        return Err(format!("{CHROMIUM} is missing: apt-get install chromium"));
    }
    let (flags, arguments): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|word| *word == RELEASE);
    let profile = if flags.is_empty() { "debug" } else { "release" };
    build_emend(&root, &flags)?;
    let tools = target.join("review");
    let venv = tools.join("venv");
    external::install::python(&venv, &root.join("crates/review/tests/browser/requirements.txt"))
        .map_err(|error| error.to_string())?;
    let axe = tools.join("axe");
    let script = axe.join("node_modules/axe-core/axe.min.js");
    external::install::npm(&axe, &[AXE], || script.exists()).map_err(|error| error.to_string())?;
    let mut tests = Command::new(venv.join("bin/python"));
    tests.arg(root.join("crates/review/tests/browser/browser.py")).args(arguments).current_dir(&root);
    tests.env("EMEND", target.join(profile).join("emend")).env("AXE", script).env("CHROMIUM", CHROMIUM);
    tests.env("PICTURES", tools.join("pictures")).env("DOCS", root.join("docs"));
    run_visibly(&mut tests)?;
    Ok(format!("pictures: {}", tools.join("pictures").display()))
}

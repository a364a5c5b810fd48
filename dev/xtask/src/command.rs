//! Runs programs that must succeed.

use std::path::Path;
use std::process::Command;

/// Runs a command, and returns what it printed on standard output.
///
/// Errors: what it printed, if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    if done.status.success() {
        return Ok(said);
    }
    Err(format!("{} failed:\n{said}{}", words(command), String::from_utf8_lossy(&done.stderr)))
}

/// Runs a command, and shows what it printed only if it fails.
///
/// Errors: what it printed.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    output(command).map(drop)
}

/// Runs a command, which prints to the standard streams of this one.
///
/// Errors: that it failed.
pub(crate) fn run_visibly(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", words(command))) }
}

/// Builds `emend` with the features that a build of the whole workspace gives its dependencies: a build of the package
/// alone would compile half of them again.
///
/// Errors: what cargo printed.
pub(crate) fn build_emend(root: &Path, flags: &[&str]) -> Result<(), String> {
    let arguments = ["build", "--quiet", "--locked", "--workspace", "--bin", "emend"];
    run(cargo().args(arguments).args(flags).current_dir(root))
}

/// Returns the cargo that started this program, else the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the words of a command, for messages.
fn words(command: &Command) -> String {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    let all: Vec<_> = all.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", all.join(" "))
}

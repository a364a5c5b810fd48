//! `cargo xtask portable`: the crates without I/O compile for a browser and for Windows. They are built, not only
//! checked, because a constant that is too large for 32 bits is found when code is generated. Nothing is linked.

use crate::command::cargo;
use std::path::Path;
use std::process::Command;

/// The crates that compile everywhere.
const CRATES: &[&str] = &["emendate-core", "emendate-clients", "emendate-media", "emendate-schema"];

/// The targets: 32 bits without an operating system, and another operating system.
const TARGETS: &[&str] = &["wasm32-unknown-unknown", "x86_64-pc-windows-msvc"];

/// Builds every crate for every target. A target that rustup cannot install here is reported and not built.
///
/// Errors: the first target for which the crates do not compile.
pub(crate) fn portable() -> Result<String, String> {
    let mut said = Vec::new();
    for target in TARGETS {
        if !has_target(target) {
            said.push(format!("portable: NOT CHECKED for {target}: `rustup target add {target}` failed"));
            continue;
        }
        if !build(target)? {
            let crates = CRATES.join(", ");
            return Err(format!(
                "portable: {crates} must compile for {target}: they have no I/O, threads or 64-bit constants of type usize."
            ));
        }
        said.push(format!("portable: {} crates compile for {target}", CRATES.len()));
    }
    Ok(said.join("\n"))
}

/// True if the standard library of a target is there, or could be installed.
pub(crate) fn has_target(target: &str) -> bool {
    is_installed(target) || install(target)
}

/// True if the standard library of a target is there.
pub(crate) fn is_installed(target: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Installs the standard library of a target; true if that worked.
pub(crate) fn install(target: &str) -> bool {
    Command::new("rustup").args(["target", "add", target]).status().is_ok_and(|status| status.success())
}

/// Compiles the libraries; true if that worked.
fn build(target: &str) -> Result<bool, String> {
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--locked", "--lib", "--target", target]);
    // Nothing is run, so optimising dependencies would only cost time.
    cargo.args(["--config", "profile.dev.package.\"*\".opt-level=0"]).env_remove("RUSTFLAGS");
    cargo.args(CRATES.iter().flat_map(|name| ["-p", name]));
    // The settings above are not those of other builds, which must not be repeated because of them.
    cargo.args(["--target-dir", "target/portable"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    cargo.current_dir(root).status().map(|status| status.success()).map_err(|error| error.to_string())
}

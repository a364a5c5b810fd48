//! Tells the linker which functions are to lie side by side: those of a start and of small calls, listed in `order.txt`.
//! A process maps pieces of 64 KB of the program as it touches them, and these functions are spread over all of it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a build script reads its environment, writes below OUT_DIR and talks to cargo on standard output"
)]

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=order.txt");
    println!("cargo::rerun-if-env-changed=EMEND_ORDER");
    // A debug build is made to be made quickly.
    let released = env::var("PROFILE")? == "release" && env::var("CARGO_CFG_TARGET_OS")? == "linux";
    if !released || env::var("EMEND_ORDER").is_ok_and(|it| it == "none") {
        return Ok(());
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let script = folder.join("order.ld");
    fs::write(&script, linker_script(&fs::read_to_string("order.txt")?))?;
    let argument = format!("-T{}", script.display());
    if accepted(&folder, &argument)? {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
    Ok(())
}

/// A script that adds to what the linker does by itself: a section before the code, of the functions in their order.
/// A name of Rust without a hash stands for all that have it; what the compiler put after a hash is left open.
fn linker_script(order: &str) -> String {
    let mut script = "SECTIONS {\n  .text.start : {\n".to_owned();
    for name in order.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let pattern = match name.strip_prefix("_ZN").map(|name| name.rsplit_once("17h")) {
            Some(Some((_, hash))) if hash.len() == 17 => format!("\".text.{name}*\""),
            Some(_) => format!("\".text.{name}17h*\""),
            // What the optimiser made visible between the parts of a program has a number more.
            None if name.starts_with("_R") => format!("\".text.{name}\" \".text.{name}.llvm.*\""),
            None => format!("\".text.{name}\""),
        };
        script.extend(["    *(", &*pattern, ")\n"]);
    }
    script.push_str("  }\n}\nINSERT BEFORE .text;\n");
    script
}

/// Whether the linker of this build takes the script: tried on a program that does nothing. One that is not LLVM's is
/// left alone; that one is known by an option that no other has.
fn accepted(folder: &Path, argument: &str) -> Result<bool, Box<dyn Error>> {
    let (source, none) = (folder.join("trial.rs"), folder.join("none.txt"));
    fs::write(&source, "fn main() {}\n")?;
    fs::write(&none, "")?;
    let mut trial = Command::new(env::var_os("RUSTC").ok_or("no RUSTC")?);
    trial.args(["--crate-type", "bin", "--target", &env::var("TARGET")?]).arg("-o").arg(folder.join("trial"));
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    trial.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        trial.arg(format!("-Clinker={linker}"));
    }
    trial.arg(format!("-Clink-arg={argument}"));
    trial.arg(format!("-Clink-arg=-Wl,--symbol-ordering-file={}", none.display()));
    let done = trial.arg(&source).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    Ok(done.is_ok_and(|status| status.success()))
}

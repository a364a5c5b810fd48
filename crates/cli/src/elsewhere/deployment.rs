//! The program in a place: copied once per version, verified, and started.

use super::place::RemotePlace;
use super::program_bytes;
use crate::flags::quoted;
use crate::output;
use emendate::core::{Code, Error, Result};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Maximum bytes of an answer that are shown.
const SHOWN_BYTES_MAX: usize = 2000;

/// The program in a place.
pub(super) struct Deployment<'p> {
    place: &'p RemotePlace,
    /// The path of the program there, which has no character that a shell would read.
    program: String,
}

impl<'p> Deployment<'p> {
    /// Copies the program unless the same one is there, and makes sure that it runs.
    ///
    /// Errors: the place cannot be reached, has another kind of processor, or does not run the program.
    pub(super) fn prepare(place: &'p RemotePlace, given: Option<&Path>) -> Result<Deployment<'p>> {
        let system = ask(place, "uname -s && uname -m")?;
        let system = system.split_whitespace().collect::<Vec<_>>().join(" ");
        if given.is_none() && system != own_system() {
            return Err(Error::new(
                Code::CallInvalid,
                format!("{place} is {system}, and this program is for {}.", own_system()),
            )
            .next(
                "Unpack the archive of the release for that system here, and name its program with --program FILE.",
            ));
        }
        let bytes = program_bytes(given)?;
        let checksum = sha256(&bytes);
        // The name contains the checksum, so versions are beside each other.
        let name = format!("emend-{}", &checksum[..16]);
        let folder = "\"${XDG_CACHE_HOME:-$HOME/.cache}\"/emend";
        let verified = format!("{} && test \"$found\" = {checksum}", checksum_line(&format!("{folder}/{name}")));
        if ask(place, &verified).is_err() {
            output::note(&format!("copying emend ({} MB) to {place}", bytes.len() / 1_000_000));
            let temporary = format!("{folder}/.{name}.$$");
            let copy = format!(
                "mkdir -p {folder} && cat > {temporary} && chmod 755 {temporary} && {} && test \"$found\" = {checksum} && \
                 mv -f {temporary} {folder}/{name} || {{ rm -f {temporary}; exit 1; }}",
                checksum_line(&temporary)
            );
            send(place, &copy, &bytes)?;
        }
        let program = format!("{folder}/{name}");
        ask(place, &format!("{program} --version")).map_err(|error| {
            error.next(
                "Give a program without shared libraries with --program FILE; the archives for Linux contain one.",
            )
        })?;
        Ok(Deployment { place, program })
    }

    /// Returns the command that runs the server with these arguments.
    pub(super) fn server(&self, arguments: &[String]) -> Command {
        let mut line = String::new();
        if let Some(directory) = &self.place.directory {
            line.extend(["cd -- ", &quoted(directory), " && "]);
        }
        line.extend(["exec ", &self.program]);
        for argument in arguments {
            line.push(' ');
            line.push_str(&quoted(argument));
        }
        self.place.shell(&line)
    }
}

/// Returns a line of shell that sets `found` to the checksum of a file.
fn checksum_line(path: &str) -> String {
    format!(
        "found=$({{ sha256sum {path} 2>/dev/null || shasum -a 256 {path} 2>/dev/null || openssl dgst -sha256 -r {path} \
         2>/dev/null; }} | cut -d ' ' -f 1)"
    )
}

/// Runs a line of shell in the place; returns what it printed.
fn ask(place: &RemotePlace, line: &str) -> Result<String> {
    let output = place.shell(line).stdin(Stdio::null()).output();
    answered(place, output)
}

/// Runs a line of shell in the place with this input.
fn send(place: &RemotePlace, line: &str, bytes: &[u8]) -> Result<String> {
    let child = place.shell(line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let output = child.and_then(|mut child| {
        let mut input = child.stdin.take();
        // If the other side does not read all of it, its output gives the reason.
        let _ = input.as_mut().map(|input| input.write_all(bytes));
        drop(input);
        child.wait_with_output()
    });
    answered(place, output)
}

fn answered(place: &RemotePlace, output: std::io::Result<Output>) -> Result<String> {
    let output = output.map_err(|error| {
        Error::new(Code::IoFailed, format!("{place} cannot be reached: {error}."))
            .next("Install the tool that reaches it.")
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr: String = stderr.trim().chars().take(SHOWN_BYTES_MAX).collect();
    Err(Error::new(Code::IoFailed, format!("A command in {place} failed ({}).", output.status))
        .evidence(stderr)
        .next("Check that the place exists and that you can enter it without a question."))
}

/// The system of this program, as `uname` names it.
fn own_system() -> String {
    let system = if cfg!(target_os = "macos") { "Darwin" } else { "Linux" };
    let machine = if cfg!(target_arch = "aarch64") && system == "Darwin" { "arm64" } else { std::env::consts::ARCH };
    format!("{system} {machine}")
}

/// The SHA-256 of bytes in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(bytes))
}

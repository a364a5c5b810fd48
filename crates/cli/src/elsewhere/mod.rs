//! `emend mcp --in PLACE`: the protocol is spoken here, and the engine runs in a container or on another machine, reached by
//! the tool that reaches it (`docker`, `ssh`, `devcontainer`). The program is copied there once, and compared by checksum.
#![allow(clippy::disallowed_methods, reason = "starts docker, ssh or devcontainer, as the user asked")]

mod deployment;
mod place;
mod relay;

pub(crate) use place::RemotePlace;

use deployment::Deployment;
use emendate::core::Result;
use std::path::Path;

/// Options of `emend mcp` that belong to this side; the rest of the command line is for the other one.
const OWN_OPTIONS: &[&str] = &["--in", "--program"];

/// Runs the server in the place until either side ends; returns the exit status.
///
/// Errors: the place cannot be reached, or no program runs there.
pub(crate) fn run(place: &RemotePlace, program: Option<&Path>) -> Result<u8> {
    let deployment = Deployment::prepare(place, program)?;
    relay::run(place, deployment.server(&other_arguments(std::env::args().skip(1))))
}

/// Returns the arguments without those of this side.
fn other_arguments(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let name = argument.split('=').next().unwrap_or_default();
        if !OWN_OPTIONS.contains(&name) {
            out.push(argument);
        } else if !argument.contains('=') {
            arguments.next();
        }
    }
    out
}

/// Reads the program to copy: the one that is given, or this one.
fn program_bytes(given: Option<&Path>) -> Result<Vec<u8>> {
    if let Some(path) = given {
        return crate::input::bytes(path, "the program to copy");
    }
    let path = std::env::current_exe().map_err(|error| crate::io_error("this program", &error))?;
    std::fs::read(&path).map_err(|error| crate::io_error("this program", &error))
}

#[cfg(test)]
mod tests {
    use super::other_arguments;

    #[test]
    fn options_of_this_side_are_not_passed_on() {
        let given = ["mcp", "--in", "ssh:host", "--profile", "claude", "--program=x", "--root", "/w"];
        let passed = other_arguments(given.iter().map(|it| (*it).to_owned()));
        assert_eq!(passed, ["mcp", "--profile", "claude", "--root", "/w"]);
    }
}

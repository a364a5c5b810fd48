//! The minimum that a process must do to make one edit: read, search, check for uniqueness, write a temporary file,
//! rename. `bench startup` compares `emend` with it. Arguments: path, old text, new text; or `--nothing` to exit at
//! once; or `--echo` to send every line back; or `--peak` and a command to print its peak memory.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "a stand-alone program that does nothing but touch a file"
)]

use std::io::{BufRead as _, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs, io};

fn edit() -> Result<(), Box<dyn std::error::Error>> {
    let [path, old, new] = env::args().skip(1).collect::<Vec<String>>().try_into().map_err(|_| "path, old, new")?;
    let text = fs::read_to_string(&path)?;
    let at = text.find(&old).ok_or("not found")?;
    if text[at + 1..].contains(&old) {
        return Err("not unique".into());
    }
    let aside = format!("{path}.tmp~");
    let mut file = fs::File::create(&aside)?;
    file.write_all(&text.as_bytes()[..at])?;
    file.write_all(new.as_bytes())?;
    file.write_all(&text.as_bytes()[at + old.len()..])?;
    drop(file);
    fs::rename(&aside, &path)?;
    Ok(())
}

/// Sends every line back, which is the minimum that a server must do.
fn echo() -> Result<(), Box<dyn std::error::Error>> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        output.write_all(&line)?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

/// Runs a command and prints its peak memory in KB.
fn peak() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args_os().skip(2);
    let program = arguments.next().ok_or("which program?")?;
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).status()?;
    if !status.success() {
        return Err(status.to_string().into());
    }
    let most = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?.max_rss();
    writeln!(io::stdout(), "{most}")?;
    Ok(())
}

fn main() -> ExitCode {
    let done = match env::args().nth(1).as_deref() {
        Some("--nothing") => Ok(()),
        Some("--echo") => echo(),
        Some("--peak") => peak(),
        _ => edit(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

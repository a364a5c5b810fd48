//! Plays scenes by hand: `cargo run -p scenes -- [--bless] [--driver NAME,NAME] [FILE or FOLDER …]`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test runner reads its arguments, rewrites files and prints"
)]

use scenes::driver::{Kind, emend};
use scenes::{bless, suite};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("scenes: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, String> {
    let (mut files, mut drivers, mut blessing) = (Vec::new(), String::new(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--bless" => blessing = true,
            "--driver" => drivers = arguments.next().unwrap_or_default(),
            path => {
                let path = PathBuf::from(path);
                if path.is_dir() { files.extend(suite::files(&path)) } else { files.push(path) }
            }
        }
    }
    if files.is_empty() {
        files = suite::files(&suite::repository());
    }
    if blessing {
        return Ok(bless_all(&files));
    }
    let kinds = suite::kinds(&drivers)?;
    let emend = if kinds == [Kind::Library] { None } else { Some(emend()?) };
    let report = suite::run(&files, &kinds, emend.as_deref());
    report.failures.iter().for_each(|failure| println!("{failure}\n"));
    println!("{} scenes, {} plays, {} failures", report.scenes, report.plays, report.failures.len());
    Ok(report.failures.is_empty())
}

fn bless_all(files: &[PathBuf]) -> bool {
    let mut good = true;
    for path in files {
        let done = std::fs::read_to_string(path).map_err(|error| error.to_string()).and_then(|source| {
            let new = bless::blessed(&source)?;
            if new == source {
                return Ok(false);
            }
            std::fs::write(path, new).map_err(|error| error.to_string()).map(|()| true)
        });
        match done {
            Ok(true) => println!("blessed {}", path.display()),
            Ok(false) => {}
            Err(error) => {
                good = false;
                eprintln!("{}: {error}", path.display());
            }
        }
    }
    good
}

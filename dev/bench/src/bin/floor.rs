//! The least a process can do to make one edit: read, find, check that it is unique, write aside, rename. What
//! `bench startup` measures `emend` against. Arguments: path, old text, new text.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "a stand-alone program that does nothing but touch a file"
)]

use std::io::Write as _;
use std::{env, fs, process::ExitCode};

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

fn main() -> ExitCode {
    match edit() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

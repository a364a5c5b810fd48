//! The server without the command line, for tests of this crate alone. Understands the part of `emend`'s arguments that
//! `tests/mcp/run.py` uses: `--root DIR`, `--state DIR`, `mcp`, `--profile NAME`, `--structured`.
#![allow(clippy::disallowed_methods, reason = "an example is its own front end and reads its arguments")]

use emendate::core::{Code, Error, Result};
use emendate::{CallContext, Config, Engine, StateLocation};
use emendate_mcp::{ServerOptions, serve};
use std::path::PathBuf;

fn main() -> Result<()> {
    let (mut root, mut name, mut state) = (PathBuf::from("."), "default".to_owned(), StateLocation::Memory);
    let mut structured = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        match &*arg {
            "--root" => root = PathBuf::from(value()),
            "--state" => state = StateLocation::Directory(PathBuf::from(value())),
            "--profile" => name = value(),
            "--structured" => structured = true,
            _ => {}
        }
    }
    let profile = emendate::profile(&name)
        .ok_or_else(|| Error::new(Code::CallInvalid, format!("There is no profile {name}.")))?;
    let engine = Engine::open(&[root], state, Config::default())?;
    serve(engine, CallContext::default(), ServerOptions { profile, structured, session: None })
}

//! Model Context Protocol server over the Emendate engine.

use emendate::core::{Code, Error, Result};
use emendate::{Caller, Engine, Profile};

/// How the server presents itself.
#[derive(Clone, Copy)]
pub struct Options {
    /// Which tools are offered, under which names.
    pub profile: &'static Profile,
    /// Adds structured content to text results.
    pub structured: bool,
}

/// Serves on standard input and output until the input ends.
///
/// Errors: when the streams cannot be used.
pub fn serve(_engine: Engine, _caller: Caller, _options: Options) -> Result<()> {
    Err(Error::new(Code::InternalBug, "being built"))
}

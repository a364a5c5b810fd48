//! Grammars in processes of their own: this program, started again by itself with one hidden word.

use emendate::{Apart, Engine};
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// The word that makes this program answer questions about texts. It is no command: only this program starts it.
pub(crate) const WORD: &str = "__parse";

/// Answers until the standard input is closed.
pub(crate) fn answer() -> ExitCode {
    match emendate::answer_questions(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The engine with its grammars in processes of their own, where this program can be found.
pub(crate) fn apart(engine: Engine, apart: Apart) -> Engine {
    // The very file that runs, also where an update has replaced it since.
    let running = Path::new("/proc/self/exe");
    let program = if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() };
    match program.map(|it| it.into_os_string().into_string()) {
        Ok(Ok(program)) => engine.parsing_apart(vec![program, WORD.to_owned()], apart),
        _ => engine,
    }
}

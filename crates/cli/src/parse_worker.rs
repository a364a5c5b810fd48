//! Parser workers: this program, started by itself with a hidden argument.

use emendate::{Engine, ParserIsolation};
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// The argument that makes this program a parser worker. It is not a command: only this program uses it.
pub(crate) const WORKER_COMMAND: &str = "__parse";

/// Answers questions until the standard input is closed.
pub(crate) fn run_worker() -> ExitCode {
    match emendate::answer_questions(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Makes the engine parse in worker processes, if the path of this program is known.
pub(crate) fn isolate_parsing(engine: Engine, isolation: ParserIsolation) -> Engine {
    // The very file that is running, even if an update has replaced it.
    let running = Path::new("/proc/self/exe");
    let program = if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() };
    match program.map(|it| it.into_os_string().into_string()) {
        Ok(Ok(program)) => engine.with_isolated_parsing(vec![program, WORKER_COMMAND.to_owned()], isolation),
        _ => engine,
    }
}

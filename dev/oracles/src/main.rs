//! More rounds by hand: `cargo run -p oracles -- codex [ROUNDS] [SEED]`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program that reads its arguments and prints"
)]

use oracles::codex::{self, Codex};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default| arguments.get(at).and_then(|it| it.parse().ok()).unwrap_or(default);
    if arguments.first().map(String::as_str) != Some("codex") {
        eprintln!("oracles codex [ROUNDS] [SEED]");
        return ExitCode::from(2);
    }
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let played = Codex::install(&peers)
        .map_err(|error| error.to_string())
        .and_then(|codex| codex::play(&codex, number(2, 1), number(1, 10_000)));
    match played {
        Ok(counts) => {
            for (kind, count) in counts {
                println!("{count:>8} {kind:?}");
            }
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}

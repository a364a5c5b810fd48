//! More rounds by hand: `cargo run -p oracles -- codex|v4a|unified [ROUNDS] [SEED]`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program that reads its arguments and prints"
)]

use oracles::codex::{self, Codex};
use oracles::ours::{self, Text};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default| arguments.get(at).and_then(|it| it.parse().ok()).unwrap_or(default);
    let (rounds, seed) = (number(1, 10_000), number(2, 1));
    let played = match arguments.first().map_or("", String::as_str) {
        "codex" => beside_codex(seed, rounds),
        "v4a" => ours::play(Text::V4a, seed, rounds),
        "unified" => ours::play(Text::Unified, seed, rounds),
        _ => {
            eprintln!("oracles codex|v4a|unified [ROUNDS] [SEED]");
            return ExitCode::from(2);
        }
    };
    match played {
        Ok(counts) => {
            for (kind, count) in counts {
                println!("{count:>8} {kind}");
            }
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}

fn beside_codex(seed: u64, rounds: u64) -> Result<BTreeMap<String, u64>, String> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let codex = Codex::install(&peers).map_err(|error| error.to_string())?;
    let counts = codex::play(&codex, seed, rounds)?;
    Ok(counts.into_iter().map(|(kind, count)| (format!("{kind:?}"), count)).collect())
}

//! Plays more rounds by hand with `cargo run -p oracles -- codex|all [ROUNDS] [SEED]`, and writes the accuracy page
//! with `cargo run -p oracles -- page [EDITS OF EACH KIND]`. `cargo run --release -p oracles -- lazy [ROUNDS] [SEED]
//! [REPOSITORY] [COMMIT]` makes lazy edits out of commits, and `schemas` shows what hostile schemas cost two validators.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program that reads its arguments and prints"
)]

use oracles::{Counts, accuracy, beside, codex, hostile_schemas, lazy};
use std::fmt::Debug;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default| arguments.get(at).and_then(|it| it.parse().ok()).unwrap_or(default);
    let (rounds, seed) = (number(1, 10_000), number(2, 1));
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let played = match arguments.first().map_or("", String::as_str) {
        "codex" => codex::play(&peers, seed, rounds).map(|counts| render_counts(&counts)),
        "all" => beside::play(&peers, seed, rounds).map(|counts| render_counts(&counts)),
        "lazy" => {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let source = lazy::Source {
                repository: arguments.get(3).map_or(&root, Path::new),
                up_to: arguments.get(4).map_or("HEAD", String::as_str),
                findings: &root.join("target/lazy"),
                keep_refused: std::env::var_os("EMEND_LAZY_REFUSED").is_some(),
            };
            lazy::play(&source, seed, number(1, 500)).map(|counts| lazy::render(&source, &counts))
        }
        "schemas" => hostile_schemas::table(),
        "page" => {
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/accuracy.md");
            let count = usize::try_from(number(1, 300)).unwrap_or(300);
            let done = accuracy::write_page(&peers, &page, count).map_err(|error| error.to_string());
            done.map(|()| format!("wrote {}\n", page.display()))
        }
        _ => {
            eprintln!(
                "oracles codex|all [ROUNDS] [SEED] | page [EDITS OF EACH KIND] | schemas | lazy [ROUNDS] [SEED] [REPOSITORY] [COMMIT]"
            );
            return ExitCode::from(2);
        }
    };
    match played {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}

fn render_counts<K: Debug>(counts: &Counts<K>) -> String {
    counts.iter().map(|(kind, count)| format!("{count:>8} {kind:?}\n")).collect()
}

//! Applies random patches to random trees, with Emendate and with external tools.
//!
//! [`make::round`] makes a tree and a patch of it from a number; the patch prints in every format that a tool reads. A
//! module per tool installs it, runs it, and compares.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test tool: it touches files and starts the programs of others"
)]

pub mod accuracy;
pub mod beside;
pub mod codex;
pub mod git;
pub mod gnu;
pub mod hostile_schemas;
pub mod lazy;
pub mod luck;
pub mod make;
pub mod ours;
pub mod patch;
pub mod slips;
pub mod tree;
pub mod vocabularies;

pub use external::install;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

/// Runs a program with this text on its standard input.
fn feed(command: &mut Command, text: &str) -> io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        match input.write_all(text.as_bytes()) {
            // The program may not need the rest of its input.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => {}
        }
    }
    child.wait_with_output()
}

/// The number of rounds by result.
pub type Counts<K> = BTreeMap<K, u64>;

/// Plays rounds on all processors: `start` creates the state of a thread, and `play` plays the round with a number.
///
/// Errors: the first of any thread.
fn in_parallel<T, K: Ord + Send>(
    seed: u64,
    rounds: u64,
    start: impl Fn() -> Result<T, String> + Sync,
    play: impl Fn(&T, u64, &mut Counts<K>) -> Result<(), String> + Sync,
) -> Result<Counts<K>, String> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let one = |nth: u64| {
        let (tools, mut out) = (start()?, Counts::new());
        let mine = (seed + nth..seed + rounds).step_by(usize::try_from(threads).unwrap_or(1));
        mine.into_iter()
            .try_for_each(|number| play(&tools, number, &mut out).map_err(|what| format!("round {number}: {what}")))?;
        Ok::<Counts<K>, String>(out)
    };
    std::thread::scope(|scope| {
        let one = &one;
        let all: Vec<_> = (0..threads).map(|nth| scope.spawn(move || one(nth))).collect();
        let mut out = Counts::new();
        for thread in all {
            for (kind, count) in thread.join().map_err(|_| "a thread died".to_owned())?? {
                *out.entry(kind).or_insert(0) += count;
            }
        }
        Ok(out)
    })
}

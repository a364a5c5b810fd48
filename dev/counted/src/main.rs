//! Hot paths, one per run: `counted NAME` prepares the path, walks it once, and once more inside of [`measured`], which is
//! what `cargo xtask instructions` has valgrind count. `counted --list` prints the names.
//!
//! The inputs are made here and never change: the counts are compared with those in budgets.toml.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::panic,
    reason = "a program for valgrind that stops where a result is not the one that is meant"
)]

mod calls;
mod edits;
mod text;

use std::hint::black_box;
use std::process::ExitCode;

/// A path: what is prepared, and is then walked as often as asked.
struct Path {
    name: &'static str,
    prepare: fn() -> Box<dyn FnMut()>,
}

static PATHS: &[Path] = &[
    Path { name: "exact", prepare: edits::exact },
    Path { name: "needles", prepare: edits::needles },
    Path { name: "cascade", prepare: edits::cascade },
    Path { name: "drift", prepare: edits::drift },
    Path { name: "failure", prepare: edits::failure },
    Path { name: "diff", prepare: edits::diff },
    Path { name: "unified_diff", prepare: edits::unified_diff },
    Path { name: "apply_patch", prepare: edits::apply_patch },
    Path { name: "hashline", prepare: edits::hashline },
    Path { name: "miss", prepare: edits::miss },
    Path { name: "anchors", prepare: edits::anchors },
    Path { name: "read", prepare: calls::read },
    Path { name: "rows", prepare: calls::rows },
    Path { name: "call", prepare: calls::edit },
    Path { name: "small", prepare: calls::small },
];

/// What is counted, and nothing else: valgrind knows it by its name.
#[inline(never)]
fn measured(path: &mut dyn FnMut()) {
    path();
    // Keeps the call from being the last thing done, which would make it a jump.
    black_box(());
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    if name == "--list" {
        for path in PATHS {
            println!("{}", path.name);
        }
        return ExitCode::SUCCESS;
    }
    let Some(path) = PATHS.iter().find(|path| path.name == name) else {
        eprintln!("counted NAME | --list");
        return ExitCode::from(2);
    };
    let mut path = (path.prepare)();
    // What is made once for a process is no part of it.
    path();
    measured(&mut *path);
    ExitCode::SUCCESS
}

//! Hot paths, one per run. `counted NAME` prepares the path, runs it once, and runs it again inside [`measured`], where
//! `cargo xtask instructions` counts instructions with valgrind. `counted --list` prints the names.
//!
//! The inputs are generated here and never change, because the counts are compared with those in budgets.toml.
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
mod texts;

use std::hint::black_box;
use std::process::ExitCode;

/// A hot path. `prepare` returns a closure that runs it once per call.
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
    Path { name: "profile", prepare: calls::profile },
    Path { name: "text_edit", prepare: texts::whole },
    Path { name: "text_match", prepare: texts::matching },
];

/// The only function that is counted; valgrind finds it by name.
#[inline(never)]
fn measured(path: &mut dyn FnMut()) {
    path();
    // Keeps the call from becoming a tail call, which would be a jump.
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
    // Run once first, so that one-time initialization of the process is not counted.
    path();
    measured(&mut *path);
    ExitCode::SUCCESS
}

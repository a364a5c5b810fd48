//! Benchmarks. Each measures Emendate and the alternatives in one run and prints medians and ratios: `cargo run
//! --release -p bench -- NAME [--quick] [--big] [--alone] [--json]`, where NAME is one of [`BENCHES`] or `economy`.
//! `all [--only G1,fuzzy]` runs them one after another, keeps the results in target/bench and writes
//! docs/benchmarks.md; `page` writes the pages again from target/bench/results.json.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::panic,
    reason = "benchmarks are programs: they touch files, read clocks and start processes"
)]

mod all;
mod anchors;
mod cascade;
mod commit;
mod diff;
mod economy;
mod exact;
mod files;
mod fuzzy;
mod goals;
mod hashline;
mod many;
mod mcp;
mod memory;
mod outcome;
mod page;
mod patches;
mod peers;
mod profile;
mod race;
mod reflink;
mod report;
mod server;
mod sessions;
mod snapshots;
mod startup;
mod summary;
mod text;

use report::{Report, Setting};
use std::path::Path;
use std::process::ExitCode;

/// A bench and the design goals that it measures.
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) goals: &'static [&'static str],
    run: fn(&mut Report),
}

/// All benches that measure time or memory.
pub(crate) static BENCHES: &[Bench] = &[
    Bench { name: "exact", goals: &["G1", "G5"], run: exact::run },
    Bench { name: "commit", goals: &["G1", "G2", "G13"], run: commit::run },
    Bench { name: "memory", goals: &["G4"], run: memory::run },
    Bench { name: "many", goals: &[], run: many::run },
    Bench { name: "diff", goals: &["G7"], run: diff::run },
    Bench { name: "fuzzy", goals: &["G8"], run: fuzzy::run },
    Bench { name: "files", goals: &["P3"], run: files::run },
    Bench { name: "mcp", goals: &["P1", "P2", "G15"], run: mcp::run },
    Bench { name: "startup", goals: &["P6"], run: startup::run },
    Bench { name: "patches", goals: &["P4", "P5", "P6", "P8a"], run: patches::run },
    Bench { name: "hashline", goals: &["P5"], run: hashline::run },
    Bench { name: "reflink", goals: &[], run: reflink::run },
    Bench { name: "cascade", goals: &[], run: cascade::run },
    Bench { name: "anchors", goals: &["P7"], run: anchors::run },
    Bench { name: "sessions", goals: &[], run: sessions::run },
    Bench { name: "snapshots", goals: &["P10"], run: snapshots::run },
];

fn usage() -> ExitCode {
    let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
    eprintln!(
        "bench {}|economy [--quick] [--big] [--alone] [--json]\nbench all [--only G1,fuzzy] [--quick] [--big] | page",
        names.join("|")
    );
    ExitCode::from(2)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|it| it == flag);
    let value = |flag: &str| {
        let at = arguments.iter().position(|it| it == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let setting = Setting { quick: has("--quick"), big: has("--big"), alone: has("--alone") };
    let name = arguments.first().map_or("", String::as_str);
    let done = match name {
        "economy" => {
            economy::run(has("--json"));
            Ok(())
        }
        "all" => all::run(setting, value("--only")),
        "page" => page::write(),
        _ => {
            let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else { return usage() };
            let report = Report::new(setting, has("--json"), value("--record").map(Path::new));
            report.map(|mut report| (bench.run)(&mut report)).map_err(|error| error.to_string())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

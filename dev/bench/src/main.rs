//! Benchmarks. Each measures ours and the alternative in one run and prints medians and ratios:
//! `cargo run --release -p bench -- anchors|economy|exact|diff|many|files|cascade|commit|hashline|patches|startup|sessions|all [--quick] [--json]`;
//! `commit --alone` without the tools of others.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::panic,
    reason = "benchmarks are programs: they touch files, read clocks and start processes"
)]

mod anchors;
mod cascade;
mod commit;
mod diff;
mod economy;
mod exact;
mod files;
mod hashline;
mod many;
mod patches;
mod race;
mod server;
mod sessions;
mod startup;
mod text;

use race::Outcome;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|it| it == flag);
    let name = arguments.iter().find(|it| !it.starts_with("--")).map_or("", String::as_str);
    let quick = has("--quick");
    if name == "economy" {
        economy::run(has("--json"));
        return ExitCode::SUCCESS;
    }
    let outcomes: Vec<Outcome> = match name {
        "anchors" => anchors::run(),
        "exact" => exact::run(quick),
        "diff" => diff::run(quick),
        "many" => many::run(quick),
        "files" => files::run(quick),
        "cascade" => cascade::run(quick),
        "commit" => commit::run(quick, has("--alone")),
        "hashline" => hashline::run(quick),
        "patches" => patches::run(quick),
        "startup" => startup::run(),
        "sessions" => sessions::run(),
        "all" => [
            anchors::run(),
            exact::run(quick),
            diff::run(quick),
            many::run(quick),
            files::run(quick),
            cascade::run(quick),
            commit::run(quick, has("--alone")),
            hashline::run(quick),
            patches::run(quick),
            startup::run(),
            sessions::run(),
        ]
        .into_iter()
        .flatten()
        .collect(),
        _ => {
            eprintln!(
                "bench anchors|economy|exact|diff|many|files|cascade|commit|hashline|patches|startup|sessions|all [--quick] [--json] [--alone]"
            );
            return ExitCode::from(2);
        }
    };
    if has("--json") {
        println!("{}", outcomes.iter().map(Outcome::json).collect::<serde_json::Value>());
    } else {
        outcomes.iter().for_each(Outcome::print);
    }
    ExitCode::SUCCESS
}

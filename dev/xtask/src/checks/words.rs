//! Checks for words that must not be in the sources: postponed work, ways around the compiler, and paths of one
//! machine.

use crate::repo::{File, Repo};

/// Words for postponed or disabled code. They are split, so that this file passes the check itself.
const WORDS: &[(&str, &str)] = &[
    (concat!("#[", "ignore"), "a test that does not run"),
    (concat!("to", "do!("), "work put off"),
    (concat!("unimple", "mented!("), "work put off"),
    (concat!("FIX", "ME"), "work put off"),
    (concat!("TO", "DO"), "work put off"),
    (concat!("unsa", "fe {"), "unsafe code"),
    (concat!("unsa", "fe fn"), "unsafe code"),
    (concat!("unsa", "fe impl"), "unsafe code"),
    (concat!("allow(unsa", "fe_code"), "unsafe code"),
    (concat!("    unsa", "fe_code,"), "unsafe code"),
];

/// Registry hosts, and folders that exist only on an author's machine.
const MACHINES: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("registry.npmjs", ".org"),
    concat!("spar", "se+"),
    concat!("/work", "/main"),
    concat!("/work", "/shared"),
    concat!("/ro", "ot/."),
    concat!("/tmp/", "target"),
];

/// The only files that may contain unsafe code; each gives the reasons.
const UNCHECKED: [&str; 4] = [
    "crates/os/src/allocator.rs",
    "crates/os/src/unix/raw.rs",
    "crates/os/src/windows/nt.rs",
    "crates/os/src/windows/win32.rs",
];

pub(super) fn words(repo: &Repo) -> Vec<String> {
    let sources = repo.below("", ".rs");
    let allowed = |file: &File, what: &str| UNCHECKED.contains(&&*file.path) && what == "unsafe code";
    let words = |file: &File| WORDS.iter().copied().filter(|(_, what)| !allowed(file, what)).collect::<Vec<_>>();
    sources.flat_map(|file| found(&file.path, &file.text, &words(file))).collect()
}

pub(super) fn machines(repo: &Repo) -> Vec<String> {
    let here = repo.root.display().to_string();
    let places = MACHINES.iter().copied().chain([&*here]);
    let places: Vec<(&str, &str)> = places.map(|word| (word, "a place of one machine or network")).collect();
    repo.files.iter().flat_map(|file| found(&file.path, &file.text, &places)).collect()
}

fn found(path: &str, text: &str, words: &[(&str, &str)]) -> Vec<String> {
    let mut out = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let hits = words.iter().filter(|(word, _)| line.contains(word));
        out.extend(hits.map(|(word, what)| format!("{path}:{number} has `{word}`: {what}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{MACHINES, WORDS, found};

    #[test]
    fn words_are_found_with_their_line() {
        let text = ["fn a() {}", &format!("    {})", WORDS[1].0)].join("\n");
        assert_eq!(found("x.rs", &text, WORDS).len(), 1);
        assert!(found("x.rs", &text, WORDS)[0].starts_with("x.rs:2 "));
        assert!(found("x.rs", "a todo list, unsafely", WORDS).is_empty());
        assert_eq!(MACHINES.len(), 10);
    }
}

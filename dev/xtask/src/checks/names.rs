//! Checks names: vague names, which attract unrelated code, and types with the same name.

use super::sizes::{is_test, without_tests};
use crate::repo::{File, Repo};
use std::collections::BTreeMap;

/// Words that no file, module or type may have in its name.
const FORBIDDEN: &[&str] = &["util", "utils", "helper", "helpers", "common", "manager"];

pub(super) fn names(repo: &Repo) -> Vec<String> {
    let mut out = Vec::new();
    for file in repo.below("", ".rs") {
        let parts = file.path.trim_end_matches(".rs").split('/');
        out.extend(parts.filter_map(vague).map(|word| format!("{} is named `{word}`", file.path)));
        for (number, line) in (1..).zip(file.text.lines()) {
            if let Some(word) = declared(line).and_then(vague) {
                out.push(format!("{}:{number} declares a `{word}`", file.path));
            }
        }
    }
    out
}

/// Types that may share their name: two versions of one type, selected by a feature.
const SHARED: &[&str] = &["Inside"];
/// Types that may have a participle as their name.
const PARTICIPLES: &[&str] = &["Staged"];

/// Modules with the names of POSIX.
const SYSTEM_NAMES: &str = "crates/os/src/windows/";

/// Checks that type names of the shipped crates are nouns and unique.
pub(super) fn unique(repo: &Repo) -> Vec<String> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let mut out = Vec::new();
    let shipped = |file: &&File| file.path.contains("/src/") && !is_test(&file.path);
    // Systems have the same names by intention.
    let shipped = repo.below("crates/", ".rs").filter(shipped).filter(|file| !file.path.starts_with(SYSTEM_NAMES));
    for file in shipped {
        for name in without_tests(&file.text).into_iter().filter_map(declared_type) {
            let owner = owners.entry(name).or_insert(&file.path);
            if *owner != file.path && !SHARED.contains(&name) {
                out.push(format!("{} declares `{name}`, and so does {owner}", file.path));
            }
            if name.ends_with("ed") && !name.ends_with("eed") && !PARTICIPLES.contains(&name) {
                out.push(format!("{} declares `{name}`, which is not a noun", file.path));
            }
        }
    }
    out
}

/// Returns the name of the type that a line declares. Associated types do not count.
pub(crate) fn declared_type(line: &str) -> Option<&str> {
    let name = declared(line)?;
    let associated = line.starts_with(' ') && line.trim_start().starts_with("type ");
    (!associated && name.starts_with(char::is_uppercase)).then_some(name)
}

/// Returns the name of the module or type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if !line.starts_with(char::is_alphabetic) {
        return None;
    }
    let mut words = line.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')).filter(|word| !word.is_empty());
    let mut word = words.next()?;
    while matches!(word, "pub" | "crate" | "super" | "in") {
        word = words.next()?;
    }
    if matches!(word, "mod" | "struct" | "enum" | "trait" | "type") { words.next() } else { None }
}

/// Returns the forbidden word in a `snake_case` or `CamelCase` name.
fn vague(name: &str) -> Option<&'static str> {
    let mut words = String::new();
    for ch in name.chars() {
        if ch.is_uppercase() {
            words.push('_');
        }
        words.extend(ch.to_lowercase());
    }
    let parts: Vec<&str> = words.split(['_', '-']).collect();
    FORBIDDEN.iter().copied().find(|word| parts.contains(word))
}

#[cfg(test)]
mod tests {
    use super::{declared, declared_type, vague};

    #[test]
    fn vague_names_are_found_as_words() {
        for (name, word) in
            [("utils", "utils"), ("path_util", "util"), ("FileManager", "manager"), ("http-helpers", "helpers")]
        {
            assert_eq!(vague(name), Some(word));
        }
        for name in ["utility_of", "commonly", "snapshot", "Managerial"] {
            assert_eq!(vague(name), None, "{name}");
        }
    }

    #[test]
    fn associated_types_do_not_count_as_declared() {
        assert_eq!(declared_type("pub struct Span {"), Some("Span"));
        assert_eq!(declared_type("    type Error = Failure;"), None);
        assert_eq!(declared_type("mod span;"), None);
    }

    #[test]
    fn declared_names_are_read_from_lines() {
        assert_eq!(declared("pub(crate) struct FileManager {"), Some("FileManager"));
        assert_eq!(declared("    mod helpers;"), Some("helpers"));
        assert_eq!(declared("let common = 1;"), None);
        assert_eq!(declared("// a struct of helpers"), None);
    }
}

//! Names that say nothing: a file or type called after nobody in particular collects everything.

use crate::repo::Repo;

/// Words no file, module or type is named after, alone or as one word of several.
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

/// The name of the module or type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words =
        line.trim_start().split(|ch: char| !(ch.is_alphanumeric() || ch == '_')).filter(|word| !word.is_empty());
    let mut word = words.next()?;
    while matches!(word, "pub" | "crate" | "super" | "in") {
        word = words.next()?;
    }
    if matches!(word, "mod" | "struct" | "enum" | "trait" | "type") { words.next() } else { None }
}

/// The forbidden word in a name, of `snake_case` or `CamelCase`.
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
    use super::{declared, vague};

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
    fn declarations() {
        assert_eq!(declared("pub(crate) struct FileManager {"), Some("FileManager"));
        assert_eq!(declared("    mod helpers;"), Some("helpers"));
        assert_eq!(declared("let common = 1;"), None);
        assert_eq!(declared("// a struct of helpers"), None);
    }
}

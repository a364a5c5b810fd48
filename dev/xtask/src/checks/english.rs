//! Checks the English of comments and messages: phrases that read like a translation, and sentences without a subject.

use super::sizes::is_test;
use crate::repo::{File, Repo};

/// Unidiomatic phrases, each with a better one.
const PHRASES: &[(&str, &str)] = &[
    ("stands", "is, occurs or contains"),
    ("is told", "is reported"),
    ("are told", "are reported"),
    ("so many", "at most N"),
    ("so few", "at most N"),
];
/// Unidiomatic phrases of messages, each with a better one.
const MESSAGE_PHRASES: &[(&str, &str)] = &[
    ("left out", "omitted, skipped or ignored"),
    ("is no JSON", "is not JSON"),
    ("is no TOML", "is not TOML"),
    ("is no UTF", "is not UTF-8"),
    ("is no valid", "is not valid"),
    ("taken off", "removed"),
    ("turned round", "reversed"),
    ("says the same as", "is identical to"),
    ("told apart", "distinguished"),
    ("so many", "at most N"),
    ("anew", "again"),
    ("blanks", "spaces, or whitespace"),
];
/// First words that make a documentation comment a clause instead of a sentence.
const OPENINGS: &[&str] = &["What ", "Where ", "Who "];

/// Returns the sources of what is published: the crates and the bindings, without their tests.
fn published(repo: &Repo) -> impl Iterator<Item = &File> {
    let sources = repo.below("crates/", ".rs").chain(repo.below("bindings/", ".rs"));
    sources.filter(|file| file.path.contains("/src/") && !is_test(&file.path))
}

pub(super) fn comments(repo: &Repo) -> Vec<String> {
    let mut out = Vec::new();
    for file in published(repo) {
        let mut documented = false;
        for (number, line) in (1..).zip(file.text.lines()) {
            let line = line.trim_start();
            let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            out.extend(fault(line, text.filter(|_| !documented)).map(|what| format!("{}:{number} {what}", file.path)));
            documented = text.is_some();
        }
    }
    out
}

pub(super) fn messages(repo: &Repo) -> Vec<String> {
    let mut out = Vec::new();
    for file in published(repo) {
        let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let mut inside = false;
        for (number, line) in (1..).zip(code.lines()) {
            out.extend(message_fault(line, inside).map(|what| format!("{}:{number} {what}", file.path)));
            inside = line.ends_with('\\');
        }
    }
    out
}

/// Returns the fault of a line with messages: literals of three words or more. `inside` is true if a literal of the line
/// above continues.
fn message_fault(line: &str, inside: bool) -> Option<String> {
    let line = line.trim();
    if line.starts_with("//") {
        return None;
    }
    let literals =
        line.split('"').enumerate().filter(|(nth, _)| (nth % 2 == 0) == inside).map(|(_, part)| words_of(part));
    let faults = literals.filter(|words| words.split(' ').count() > 4).filter_map(|words| {
        let (phrase, better) = MESSAGE_PHRASES.iter().find(|(phrase, _)| words.contains(&format!(" {phrase} ")))?;
        Some(format!("has `{phrase}` in a message: write {better}"))
    });
    faults.into_iter().next()
}

/// Returns the words of a line with one space around each.
fn words_of(line: &str) -> String {
    let words = line.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// Returns the fault of a line. `first` is the text of a documentation comment's first line.
fn fault(line: &str, first: Option<&str>) -> Option<String> {
    let comment = line.strip_prefix("//")?;
    if let Some(word) = OPENINGS.iter().find(|word| first.is_some_and(|text| text.trim_start().starts_with(**word))) {
        return Some(format!("begins with `{}`: use a noun phrase or a verb in the third person", word.trim_end()));
    }
    let words = words_of(comment);
    let (phrase, better) = PHRASES.iter().find(|(phrase, _)| words.contains(&format!(" {phrase} ")))?;
    Some(format!("has `{phrase}`: write {better}"))
}

#[cfg(test)]
mod tests {
    use super::{fault, message_fault};

    #[test]
    fn clauses_and_phrases_are_found() {
        assert!(fault("/// What a line holds.", Some(" What a line holds.")).is_some());
        assert!(fault("// The text stands there.", None).is_some());
        assert!(fault("//! At so many lines it ends.", Some(" At so many lines it ends.")).is_some());
        for fine in ["// Whatever.", "let stands = 1;", "// understands", "// What a person sees."] {
            assert_eq!(fault(fine, None), None, "{fine}");
        }
        assert_eq!(fault("/// Whether it fits.", Some(" Whether it fits.")), None);
    }
    #[test]
    fn phrases_of_messages_are_found() {
        assert!(message_fault(r#"    "the header was left out","#, false).is_some());
        assert!(message_fault(r"    The text is no UTF-8, and \", true).is_some());
        for fine in
            ["    // left out", "let blanks = 1;", r#"note("a blank line was ignored")"#, r#"left_out("a", "b c d")"#]
        {
            assert_eq!(message_fault(fine, false), None, "{fine}");
        }
    }
}

//! Checks the English of comments: phrases that read like a translation, and sentences without a subject.

use super::sizes::is_test;
use crate::repo::Repo;

/// Unidiomatic phrases, each with a better one.
const PHRASES: &[(&str, &str)] = &[
    ("stands", "is, occurs or contains"),
    ("is told", "is reported"),
    ("are told", "are reported"),
    ("so many", "at most N"),
    ("so few", "at most N"),
];
/// First words that make a documentation comment a clause instead of a sentence.
const OPENINGS: &[&str] = &["What ", "Where ", "Who "];

pub(super) fn comments(repo: &Repo) -> Vec<String> {
    let sources = repo.below("crates/", ".rs").filter(|file| file.path.contains("/src/") && !is_test(&file.path));
    let mut out = Vec::new();
    for file in sources {
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

/// Returns the fault of a line. `first` is the text of a documentation comment's first line.
fn fault(line: &str, first: Option<&str>) -> Option<String> {
    let comment = line.strip_prefix("//")?;
    if let Some(word) = OPENINGS.iter().find(|word| first.is_some_and(|text| text.trim_start().starts_with(**word))) {
        return Some(format!("begins with `{}`: use a noun phrase or a verb in the third person", word.trim_end()));
    }
    let words = comment.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = format!(" {} ", words.collect::<Vec<_>>().join(" "));
    let (phrase, better) = PHRASES.iter().find(|(phrase, _)| words.contains(&format!(" {phrase} ")))?;
    Some(format!("has `{phrase}`: write {better}"))
}

#[cfg(test)]
mod tests {
    use super::fault;

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
}

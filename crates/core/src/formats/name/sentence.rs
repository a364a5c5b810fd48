//! Sentences above a block that name files.

use super::{clean, frame, has_extension, is_frame, is_url};

/// Maximum number of words before the file that a sentence certainly speaks of: `Now, in a.rs, …`.
const WORDS_BEFORE_MAX: usize = 3;
/// Words before the file that is changed.
const OBJECT_WORDS: [&str; 10] = ["in", "to", "into", "for", "file", "update", "edit", "modify", "change", "fix"];
/// Words before a file that is only compared.
const COMPARING_WORDS: [&str; 5] = ["as", "like", "from", "same", "not"];
/// Abbreviations that look like names with an extension.
const ABBREVIATIONS: [&str; 2] = ["e.g", "i.e"];
/// Signs around a name in bold, in backticks and in quotes.
const MARKS: [char; 3] = ['*', '`', '"'];
/// Maximum bytes of a name in a sentence.
const NAME_BYTES_MAX: usize = 300;

/// The files that a line above a block names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::formats) struct SentenceFiles {
    /// Words that may be names, in order, each once.
    pub(in crate::formats) names: Vec<String>,
    /// True if the first of them is certainly the file that the block changes.
    pub(in crate::formats) is_certain: bool,
}

/// Returns the files that the nearest line above a block names; the line may be any sentence.
pub(in crate::formats) fn sentence<'a>(lines: impl Iterator<Item = &'a str>) -> SentenceFiles {
    let line = lines.filter(|line| !line.trim().is_empty()).find(|line| !is_frame(line)).unwrap_or_default();
    let punctuation = ['`', '*', '"', '\'', '(', ')', '[', ']', ',', ';', ':', '.', '!', '?', '\u{201C}', '\u{201D}'];
    let mut names: Vec<String> = Vec::new();
    for word in line.split_whitespace().filter(|word| !word.contains("()")) {
        let word = word.trim_end_matches(punctuation).trim_start_matches(&punctuation[..7]);
        let is_name = has_extension(word)
            && !is_url(word)
            && !word.contains(['(', ')', '<', '>', '|', '='])
            && !ABBREVIATIONS.contains(&&*word.to_lowercase())
            && word.len() <= NAME_BYTES_MAX;
        if is_name && names.iter().all(|name| name != word) {
            names.push(word.to_owned());
        }
    }
    let is_certain = match &*names {
        [] => false,
        [only] => is_marked(line, only, &MARKS) || is_head(line, only) || is_object(line, only),
        [first, others @ ..] => is_chief(line, first, others),
    };
    SentenceFiles { names, is_certain }
}

/// True if the first of several files is certainly meant: a remark follows it, or only this one is in bold, in backticks or
/// before a colon.
fn is_chief(line: &str, first: &str, others: &[String]) -> bool {
    let after = after_marks(line, first);
    let is_arrow = ["->", "=>", "\u{2192}"].iter().any(|arrow| after.trim_start().starts_with(arrow));
    let is_only =
        |marks: &[char]| is_marked(line, first, marks) && !others.iter().any(|other| is_marked(line, other, marks));
    let is_alone = after.starts_with(':') || is_only(&MARKS) || is_only(&['*']);
    !is_arrow && (is_head(line, first) && is_alone || clean(line).as_deref() == Some(first))
}

/// Returns the text after a name and the marks around it.
fn after_marks<'a>(line: &'a str, name: &str) -> &'a str {
    line.split_once(name).map_or("", |(_, after)| after.trim_start_matches(MARKS))
}

/// True if one of these marks is around a name.
fn is_marked(line: &str, name: &str, marks: &[char]) -> bool {
    line.split_once(name).is_some_and(|(before, after)| {
        marks.iter().any(|mark| before.ends_with(*mark) && after.trim_start_matches(':').starts_with(*mark))
    })
}

/// True if a line begins with a name, or is a heading.
fn is_head(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('#')
        || frame::unframed(line).trim_start_matches(MARKS).starts_with(name)
        || super::without_list_number(line).trim_start_matches(MARKS).starts_with(name)
}

/// True if a name is what the sentence says is changed: `Now update a.rs so that …`.
fn is_object(line: &str, name: &str) -> bool {
    let Some((before, _)) = line.split_once(name) else { return false };
    let words: Vec<String> = before
        .split_whitespace()
        .map(|word| word.trim_matches(|ch: char| !ch.is_alphanumeric()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    words.len() <= WORDS_BEFORE_MAX
        && words.last().is_some_and(|last| OBJECT_WORDS.contains(&&**last))
        && !words.iter().any(|word| COMPARING_WORDS.contains(&&**word))
}

#[cfg(test)]
mod tests {
    use super::{SentenceFiles, sentence};

    #[test]
    fn files_of_a_sentence_are_found() {
        let of = |line: &'static str| sentence(std::iter::once(line)).names;
        assert_eq!(of("I change (src/a.rs)."), ["src/a.rs"]);
        assert_eq!(of("Both `a.rs` and a.rs."), ["a.rs"]);
        assert_eq!(of("From a.rs to b.rs:"), ["a.rs", "b.rs"]);
        assert_eq!(of("It calls self.load() now, e.g. like this, in 1.5:"), [""; 0]);
    }

    #[test]
    fn file_is_certain_only_if_the_line_says_so() {
        let of = |line: &str| sentence(std::iter::once(line));
        for line in [
            "a.rs",
            "### Changes in a.rs",
            "Now update a.rs so that it works:",
            "Next, in a.rs we need:",
            "This makes `a.rs` shorter:",
            "**a.rs** (imports b.rs)",
            "a.rs: uses b.rs",
            "`a.rs` imports b.rs:",
            "Change `a.rs` (not b.rs):",
            "2. **a.rs** (uses `b.rs`)",
        ] {
            let SentenceFiles { names, is_certain } = of(line);
            assert!(is_certain && names[0] == "a.rs", "{line}");
        }
        for line in [
            "The second change, as a.rs does it:",
            "Just as in a.rs:",
            "In `a.rs`, import from `b.rs`:",
            "Update a.rs to match b.rs:",
            "a.rs -> b.rs",
            "`a.rs` -> b.rs",
            "Change a.rs (not b.rs):",
        ] {
            assert!(!of(line).is_certain, "{line}");
        }
    }
}

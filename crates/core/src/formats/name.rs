//! File names above or inside a fence, with the decorations that models put around them.

mod comment;
mod frame;
mod sentence;

pub(super) use comment::{in_comment, is_same_file};
pub(super) use sentence::{SentenceFiles, sentence};

/// True for a line that may come between a file name and its block: a fence, or a single tag, which may open a CDATA
/// section (Roo's `<content><![CDATA[`).
pub(super) fn is_frame(line: &str) -> bool {
    let line = line.trim();
    let outside = line.strip_suffix("<![CDATA[").map(str::trim_end);
    let tag = outside.unwrap_or(line).strip_prefix('<').and_then(|it| it.strip_suffix('>'));
    outside == Some("")
        || frame::is_rule(line)
        || fence(line).is_some()
        || super::fence::tag(line).is_some()
        || tag.is_some_and(|tag| tag.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_'))
}

/// Returns the character, length and info string of a fence.
pub(in crate::formats) fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let sign = line.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let info = line.trim_start_matches(sign);
    let len = line.len() - info.len();
    (len >= 3 && !info.contains('`')).then_some((sign, len, info.trim()))
}

/// Returns the file name in the lines above a block, which are given from the nearest on.
pub(super) fn above<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut blanks = 0;
    for line in lines {
        if line.trim().is_empty() {
            blanks += 1;
            if blanks > 1 {
                return None;
            }
        } else if is_frame(line) {
            if let Some(name) = fence(line).and_then(|(_, _, info)| in_info(info)) {
                return Some(name);
            }
        } else {
            return clean(line);
        }
    }
    None
}

/// Returns the name in the info string of a fence that is directly above a block.
pub(super) fn on_fence<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut frames = lines.take_while(|line| line.trim().is_empty() || is_frame(line));
    frames.find_map(|line| fence(line).and_then(|(_, _, info)| in_info(info)))
}

/// Returns the name in the nearest line above a block that is only a name, if a sentence is between it and the block. A
/// name in a list of names is none, nor is one above the name in the info string of a fence or in a tag.
pub(super) fn heading<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut lines = lines.filter(|line| !line.trim().is_empty());
    let mut has_sentence = false;
    let found = lines.by_ref().find_map(|line| {
        if is_frame(line) || frame::in_tag(line).is_some() || frame::in_link(line).is_some() {
            let names = !is_frame(line) || fence(line).is_some_and(|(_, _, info)| in_info(info).is_some());
            return (names && !has_sentence).then_some(None);
        }
        let name = alone(line).filter(|name| name.contains('/') || has_extension(name) || bare(name));
        has_sentence |= name.is_none();
        name.map(Some)
    });
    let is_listed = lines.find(|line| !is_frame(line)).is_some_and(|line| alone(line).is_some());
    found.flatten().filter(|_| has_sentence && !is_listed)
}

/// Returns the name in the info string of a fence: ```` ```src/a.rs ````, ```` ```rust:src/a.rs ````, ```` ```rust
/// title="a.rs" ````.
pub(super) fn in_info(info: &str) -> Option<String> {
    let says_file = |word: &&str| ["file=", "filename=", "path="].iter().any(|key| word.starts_with(key));
    let word = info.split_whitespace().find(says_file).or_else(|| info.split_whitespace().next_back())?;
    let word = Some(word.rsplit(['=']).next().unwrap_or(word)).filter(|word| !is_url(word))?;
    let word = match word.split_once(':') {
        // The word before the colon is neither the drive of a Windows path nor the line number of a citation,
        // `12:20:src/a.rs`.
        Some((language, name)) if language.len() > 1 && !language.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => word,
    };
    let word = word.trim_matches(['"', '\'', '{', '}']);
    (word.contains('/') && !word.ends_with('/') || extension(word)).then(|| word.to_owned())
}

/// Returns the name in a line of text, without decorations; `None` if there is none.
pub(super) fn clean(line: &str) -> Option<String> {
    undecorated(line).filter(|name| !is_url(name))
}

/// True for an address on the web, which names no file here.
fn is_url(name: &str) -> bool {
    name.contains("://")
}

fn undecorated(line: &str) -> Option<String> {
    if let Some(path) = frame::in_tag(line) {
        return Some(path.to_owned()).filter(|path| !path.is_empty());
    }
    if let Some(path) = frame::in_link(line) {
        return Some(path.to_owned());
    }
    // Quotes delimit the name, whatever words are around it.
    if let Some(quoted) = quoted(line.trim()) {
        return Some(quoted);
    }
    let mut name = frame::unframed(line).trim_start_matches('#').trim().trim_end_matches(':').trim();
    name = name.trim_matches(['*', '`']).trim().trim_end_matches(':').trim_matches('`').trim();
    let labelled = name.split_once([':', '=']).filter(|(label, rest)| is_label(label) && !rest.trim().is_empty());
    name = labelled.map_or(name, |(_, rest)| rest.trim().trim_matches(['*', '`', '"']).trim());
    let labelled = labelled.is_some();
    name = frame::without_remark(name);
    if name.is_empty()
        || name.len() > 1000
        || name.ends_with(['/', '\\'])
        || name.contains(['<', '>', '|', '\0'])
        || name == "..."
    {
        return None;
    }
    if !name.contains(char::is_whitespace) {
        return (labelled || is_pathlike(name) || bare(name)).then(|| name.to_owned());
    }
    let last = name.split_whitespace().next_back().unwrap_or("");
    let verb = name.split_whitespace().next().is_some_and(|word| LEADING_WORDS.contains(&word.to_lowercase().as_str()));
    match (is_pathlike(last), verb) {
        (true, true) => Some(last.trim_matches(['`', '*', '"', '(', ')']).to_owned()),
        (true, false) if labelled || !last.ends_with('.') => Some(name.to_owned()),
        _ => None,
    }
}

/// Returns the name after the word of a marker.
pub(super) fn on_marker(rest: &str) -> Option<&str> {
    let name = rest.trim_matches(['`', '"', '\'', '(', ')', '[', ']', ':']);
    let plain = |ch: char| ch.is_alphanumeric() || "._-/\\@+$[]()".contains(ch);
    (is_pathlike(name) && name.chars().all(plain) && !name.ends_with('/')).then_some(name)
}

/// True for a word with a slash or an extension.
fn is_pathlike(word: &str) -> bool {
    word.contains('/') || word.contains('\\') || extension(word) || extension(without_line(word))
}

/// Returns a name without a line number after it: `a.rs:12`, `a.rs:12-20`.
fn without_line(word: &str) -> &str {
    word.rsplit_once(':').filter(|(_, lines)| is_line_range(lines)).map_or(word, |(name, _)| name)
}

/// True for line numbers such as `12` and `12-20`.
fn is_line_range(text: &str) -> bool {
    text.starts_with(|ch: char| ch.is_ascii_digit()) && text.chars().all(|ch| ch.is_ascii_digit() || ch == '-')
}

/// Returns the last line above a block as the name of a file without an extension, if it is a single word.
pub(super) fn word_above<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let line = lines.filter(|line| !line.trim().is_empty()).find(|line| !is_frame(line))?;
    let word = line.trim().trim_matches(['*', '`', '#', ' ', ':']);
    let named = (1..=64).contains(&word.len())
        && word.chars().all(|ch| ch.is_alphanumeric() || "._-".contains(ch))
        && word.contains(char::is_alphanumeric);
    named.then(|| word.to_owned())
}

/// Returns the name in a line that contains nothing else, apart from a label; a name with spaces must be in backticks.
pub(super) fn alone(line: &str) -> Option<String> {
    let name = clean(line)?;
    let (before, after) = line.split_once(&*name)?;
    let before = without_list_number(before);
    let label = before.split_once([':', '=']).filter(|(label, _)| is_label(label) && !names_a_part(label));
    let after = after.trim_start();
    let after = NEW_FILE_REMARKS.iter().find_map(|remark| after.strip_prefix(remark)).unwrap_or(after);
    let marked = before.ends_with('`') && after.starts_with('`');
    let whole = marked || !name.contains(char::is_whitespace);
    (whole && !has_letter_or_digit(after) && (!has_letter_or_digit(before) || label.is_some())).then_some(name)
}

/// Returns a line that may be the name of an existing file whose whole text follows: a single word, or a path with
/// spaces. Labels and headings are not accepted.
pub(super) fn possible(line: &str) -> Option<&str> {
    let line = line.trim();
    let word = ["**`", "`", "**", "__"].iter().find_map(|mark| {
        let back: String = mark.chars().rev().collect();
        line.strip_prefix(mark)?.strip_suffix(&*back)
    });
    let word = word.unwrap_or(line);
    let is_plain = |ch: char| ch.is_alphanumeric() || "._-/\\ +@".contains(ch);
    let verb = word.split(' ').next().is_some_and(|first| LEADING_WORDS.contains(&first.to_lowercase().as_str()));
    let spaced = word.contains(' ') && word.split(' ').next_back().is_some_and(extension) && !verb;
    ((1..=NAME_CHARS_MAX).contains(&word.len())
        && (spaced || !word.contains(' '))
        && has_letter_or_digit(word)
        && word.chars().all(is_plain)
        && !word.ends_with(['/', '\\']))
    .then_some(word)
}

/// Returns the text after the number of an entry in a list: `1. `.
fn without_list_number(text: &str) -> &str {
    let rest = text.trim_start().trim_start_matches(|ch: char| ch.is_ascii_digit());
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).filter(|_| rest.len() < text.len()).unwrap_or(text)
}

/// True for a part with a letter or a digit.
fn has_letter_or_digit(part: &str) -> bool {
    part.contains(char::is_alphanumeric)
}

/// Maximum number of characters of a line that may be the name of an existing file.
const NAME_CHARS_MAX: usize = 200;
/// First words of sentences about a file.
const LEADING_WORDS: [&str; 16] = [
    "update", "edit", "modify", "change", "in", "to", "create", "add", "now", "then", "next", "and", "for", "first",
    "finally", "file",
];

/// Remarks after the name of a file whose whole text follows.
const NEW_FILE_REMARKS: [&str; 6] = ["(new)", "(new file)", "(created)", "(complete)", "(full)", "(full file)"];

/// True for words that announce a file name.
fn is_label(label: &str) -> bool {
    let label = label.trim_matches(|ch: char| !ch.is_alphanumeric()).to_lowercase();
    let words: Vec<&str> = label.split(' ').filter(|word| !word.is_empty()).collect();
    let known = ["file", "path", "filename", "filepath", "file_path", "file_name"];
    let single = ["title", "name", "source", "target", "location"];
    match words[..] {
        [word] => known.contains(&word) || single.contains(&word),
        ["file", "name" | "path"] => true,
        [.., last] => words.len() <= 3 && known.contains(&last),
        [] => false,
    }
}

/// True for the label of a file that is changed: the text below it may then be only a part of the file.
fn names_a_part(label: &str) -> bool {
    let label = label.to_lowercase();
    ["updat", "modif", "chang", "edit", "patch", "fix"].iter().any(|word| label.contains(word))
}

/// Returns the only name in backticks.
fn quoted(line: &str) -> Option<String> {
    let mut parts =
        line.split('`').skip(1).step_by(2).filter(|part| part.contains('/') && !part.ends_with('/') || extension(part));
    let part = parts.next().filter(|_| parts.next().is_none())?;
    line.matches('`').count().is_multiple_of(2).then(|| part.trim().to_owned())
}

/// True if a word ends with a file extension.
fn extension(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(_, tail)| {
        (1..=12).contains(&tail.len()) && tail.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_')
    })
}

/// True for a word that ends with a file extension of letters, which version numbers do not have.
pub(super) fn has_extension(word: &str) -> bool {
    extension(word)
        && word.rsplit_once('.').is_some_and(|(_, tail)| tail.starts_with(|ch: char| ch.is_ascii_alphabetic()))
}

/// True for well-known file names without an extension.
fn bare(word: &str) -> bool {
    [
        "Makefile", "Dockerfile", "LICENSE", "README", "Gemfile", "Rakefile", "Procfile", "Justfile", "justfile",
        "Jenkinsfile", "CODEOWNERS",
    ]
    .contains(&word)
}

#[cfg(test)]
mod tests {
    use super::{above, alone, clean, heading, possible};

    #[test]
    fn decorations_of_names_are_removed() {
        for line in [
            "src/a.rs",
            "### src/a.rs",
            "**src/a.rs**",
            "`src/a.rs`",
            "src/a.rs:",
            "**`src/a.rs`:**",
            "# `src/a.rs`",
            "File: src/a.rs",
            "Filename: `src/a.rs`",
            "// src/a.rs",
            "Update src/a.rs:",
            "In `src/a.rs`:",
            "<path>src/a.rs</path>",
            "  src/a.rs  ",
            "Here is what `src/a.rs` needs:",
            "**File:** `src/a.rs`",
        ] {
            assert_eq!(clean(line).as_deref(), Some("src/a.rs"), "{line}");
        }
        assert_eq!(clean("my docs/a b.txt").as_deref(), Some("my docs/a b.txt"));
        assert_eq!(clean("../up.txt").as_deref(), Some("../up.txt"));
        assert_eq!(clean("Makefile").as_deref(), Some("Makefile"));
        for line in
            ["data/", "`src/`:", "### data/", "src\\", "Here is the change:", "", "...", "That is all.", "```", "done"]
        {
            assert_eq!(clean(line), None, "{line}");
        }
    }

    #[test]
    fn sentence_is_not_a_name() {
        for line in [
            "src/a.rs", "### `src/a.rs`", "**File:** `src/a.rs`:", "- src/a.rs", "// src/a.rs", "1. `src/a.rs`",
            "<path>src/a.rs</path>",
        ] {
            assert_eq!(alone(line).as_deref(), (!line.starts_with('<')).then_some("src/a.rs"), "{line}");
        }
        for line in
            ["Update src/a.rs:", "In `src/a.rs`:", "`src/a.rs` becomes", "The new src/a.rs", "Update file: src/a.rs"]
        {
            assert_eq!(alone(line), None, "{line}");
        }
    }

    #[test]
    fn line_may_be_the_name_of_an_existing_file() {
        for (line, name) in [("go", "go"), ("**`go`**", "go"), ("`bin/x`", "bin/x"), ("My Code/n.cs", "My Code/n.cs")] {
            assert_eq!(possible(line), Some(name), "{line}");
        }
        for line in ["Example:", "# go", "Update src/a.rs", "run this", "src/", "a(b)", "...", ""] {
            assert_eq!(possible(line), None, "{line}");
        }
    }

    #[test]
    fn nearest_line_provides_the_name() {
        let of = |text: &str| above(text.lines().rev());
        assert_eq!(of("src/a.rs\n```rust").as_deref(), Some("src/a.rs"));
        assert_eq!(of("```rust\nsrc/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(of("```rust:src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(of("```src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(of("```12:20:src/a.rs").as_deref(), Some("12:20:src/a.rs"));
        assert_eq!(of("a.rs\n\n```rust\n<diff>").as_deref(), Some("a.rs"));
        assert_eq!(of("a.rs\n\nNow this:\n```rust"), None);
        assert_eq!(of("```rust"), None);
    }

    #[test]
    fn heading_is_a_name_above_a_sentence() {
        let of = |text: &str| heading(text.lines().rev());
        for text in ["### a.rs\n\nThe helper from b.rs:\n\n```rust", "# a.rs\n# and more", "**a.rs**\nThis changes."] {
            assert_eq!(of(text).as_deref(), Some("a.rs"), "{text}");
        }
        for text in
            ["a.rs", "a.rs\n```rust", "a.rs\n```rust:b.rs", "- a.rs\n- b.rs\n\nIn `a.rs`:", "Text.\nMore:", "1.5\nx:"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }
}

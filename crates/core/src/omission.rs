//! Placeholders that stand for text the caller did not write out ("… rest unchanged …"), in an edit or a whole file.
//!
//! A line of new that says so, and is not a line of old, would put the placeholder in the place of the text.

use crate::code::Code;
use crate::error::{Error, Result};
use crate::op::Find;
use std::collections::HashSet;

/// Refuses new text with a placeholder that old does not have.
pub(crate) fn check(find: &Find, new: &str) -> Result<()> {
    let Some(line) = fresh(&find.old, new) else { return Ok(()) };
    Err(Error::new(Code::EditOmission, "new_string has a placeholder for text that was left out.")
        .evidence(format!("The line: {}", line.trim()))
        .next("Write the text out in full, or replace only the part that changes.")
        .fact("reason", "omission"))
}

/// The first placeholder that new has and old does not.
pub(crate) fn fresh<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    let has = |mark: &str| memchr::memmem::find(new.as_bytes(), mark.as_bytes()).is_some();
    // The first byte of either: most texts have none of them, and then no searcher is made.
    if memchr::memchr2(b'.', "…".as_bytes()[0], new.as_bytes()).is_none() || !(has("...") || has("…")) {
        return None;
    }
    let old: Vec<&str> = old.lines().collect();
    let known = |line: &str| old.iter().any(|old| old.trim() == line.trim());
    let placeholders = |lines: &[&str]| lines.iter().filter(|line| is_placeholder(line)).count();
    let new: Vec<&str> = new.lines().collect();
    // One that old has as well may be reworded.
    let fresh = new.iter().find(|line| is_placeholder(line) && !known(line));
    fresh.copied().filter(|_| placeholders(&new) > placeholders(&old))
}

/// Lines below which a file may shrink without a word.
const SMALL: usize = 20;
/// Placeholders that are shown.
const SHOWN: usize = 5;

/// What is to be said of a file's whole new text.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// It may be written, and this is told.
    Warn(String),
    /// It stands for text that was left out.
    Refuse(Error),
}

/// Compares a file's whole new text with its text so far: a placeholder that the old text does not hold, in a text that is
/// shorter, is refused ([`Code::EditOmission`]); a file that loses more than half of its lines is worth a warning.
pub fn shrunk(old: &str, new: &str) -> Verdict {
    let (before, after) = (old.lines().count(), new.lines().count());
    let left_out = |line: &str| is_placeholder(line) || (is_elision(line) && !matches!(line.trim(), "..." | "…"));
    let mut fresh: Vec<(usize, &str)> = new.lines().enumerate().filter(|(_, line)| left_out(line)).collect();
    if !fresh.is_empty() {
        let known: HashSet<&str> = old.lines().filter(|line| left_out(line)).map(str::trim).collect();
        fresh.retain(|(_, line)| !known.contains(line.trim()));
    }
    match fresh.first() {
        Some((first, _)) if after < before => {
            let shown = fresh.iter().take(SHOWN).map(|(at, line)| format!("Line {}: {}", at + 1, line.trim()));
            let what = "The new text has a placeholder for text that was left out; the file would lose it.";
            Verdict::Refuse(
                Error::new(Code::EditOmission, what)
                    .evidence(shown.collect::<Vec<String>>().join("\n"))
                    .evidence(format!("The file has {before} lines, the new text {after}."))
                    .next("Write the whole text out, or change the part with edit.")
                    .fact("reason", "omission")
                    .fact("line", first + 1),
            )
        }
        Some((first, line)) => {
            Verdict::Warn(format!("Line {} looks like a placeholder for text left out: {}", first + 1, line.trim()))
        }
        None if before > SMALL && after * 2 < before => {
            Verdict::Warn(format!("The file shrinks from {before} to {after} lines."))
        }
        None => Verdict::Fine,
    }
}

/// A line of nothing but dots, as a comment or bare: it stands for lines that stay.
pub(crate) fn is_elision(line: &str) -> bool {
    let line = line.trim_matches([' ', '\t']);
    let line =
        ["//", "#", "--", ";", "%", "/*", "<!--"].iter().find_map(|lead| line.strip_prefix(lead)).unwrap_or(line);
    let line = ["*/", "-->"].iter().find_map(|tail| line.strip_suffix(tail)).unwrap_or(line);
    matches!(line.trim_matches([' ', '\t']), "..." | "…")
}

/// Words by which a placeholder begins.
const WORDS: [&str; 9] =
    ["rest of", "existing", "unchanged", "remaining", "other", "previous", "same", "keep", "omitted"];
/// Words for what was left out.
const NOUNS: [&str; 24] = [
    "code",
    "codes",
    "method",
    "methods",
    "function",
    "functions",
    "line",
    "lines",
    "implementation",
    "content",
    "contents",
    "file",
    "class",
    "body",
    "logic",
    "import",
    "imports",
    "test",
    "tests",
    "field",
    "fields",
    "unchanged",
    "omitted",
    "before",
];

/// True for a line that is nothing but such a placeholder: dots, and words that say what they stand for.
fn is_placeholder(line: &str) -> bool {
    let line = line.trim();
    let lead =
        ["//", "#", "--", ";", "%", "/*", "<!--", "{/*", "(", "*"].iter().find_map(|lead| line.strip_prefix(lead));
    let commented = lead.is_some();
    let text = lead.unwrap_or(line).trim_start_matches(['/', '#', '*', '-', ' ', '\t', '[', '(']);
    let rest = text.strip_prefix("...").or_else(|| text.strip_prefix('…'));
    let words = rest.unwrap_or(text).to_lowercase();
    let dotted = words.contains("...") || words.contains('…');
    if rest.is_none() && !dotted {
        return false;
    }
    // `...existing,` spreads a value; words of a placeholder stand apart from the dots, or have dots on both sides.
    if rest.is_some_and(|rest| !rest.starts_with([' ', '\t', '('])) && !commented && !dotted {
        return false;
    }
    let plain = words.trim_start_matches([' ', '\t', '(', '.', '[']);
    let plain = plain.strip_prefix("the ").unwrap_or(plain);
    let begins = WORDS.iter().any(|word| {
        plain.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|ch: char| ch.is_alphanumeric() || ch == '_'))
    });
    let names = words.split(|ch: char| !ch.is_alphanumeric()).any(|word| NOUNS.contains(&word));
    let telling = words
        .split(|ch: char| !ch.is_alphanumeric())
        .any(|word| ["unchanged", "omitted", "existing", "remaining"].contains(&word));
    match rest {
        // Dots first: any of the words says it.
        Some(_) => begins || (telling && names),
        // Words first, dots last: a sentence may look alike, so it has to name what was left out.
        None => begins && names,
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, is_placeholder, shrunk};

    #[test]
    fn a_text_that_shrinks() {
        let old: String = (1..=40).map(|number| format!("line {number}\n")).collect();
        for line in ["// ... rest of the code unchanged", "# ... existing code ...", "/* ... */", "<!-- … -->"] {
            let Verdict::Refuse(error) = shrunk(&old, &format!("line 1\n{line}\n")) else { panic!("{line}") };
            assert!(error.evidence_text().contains(&format!("Line 2: {line}")), "{error}");
            assert!(matches!(shrunk("a\n", &format!("a\n{line}\n")), Verdict::Warn(_)), "{line}");
            assert_eq!(shrunk(&format!("{line}\na\nb\n"), &format!("a\n  {line}\n")), Verdict::Fine, "{line}");
        }
        let warned = shrunk(&old, "line 1\n");
        assert_eq!(warned, Verdict::Warn("The file shrinks from 40 to 1 lines.".to_owned()));
        assert_eq!(shrunk("a\nb\nc\nd\n", "a\n"), Verdict::Fine);
        assert_eq!(shrunk(&old, &"def f(): ...\n    ...\n".repeat(12)), Verdict::Fine);
    }

    #[test]
    fn placeholders() {
        for line in [
            "# ... rest of the methods unchanged ...",
            "// ... existing code ...",
            "... (unchanged) ...",
            "/* ... rest of file ... */",
            "<!-- ... remaining content ... -->",
            "    // rest of code...",
            "... existing code ...",
            "// … keep the other methods …",
            "(rest of the function unchanged...)",
            "// ... the rest of the function",
            "{/* ... existing code ... */}",
            "# ... same as before ...",
            "// ... code omitted for brevity ...",
            "-- ... other fields ...",
            "/* existing code ... */",
        ] {
            assert!(is_placeholder(line), "{line}");
        }
    }

    #[test]
    fn ordinary_text() {
        for line in [
            "...",
            "    ...existing,",
            "  ...previousState,",
            "...other",
            "...rest",
            "// Other options are described in the manual...",
            "// same",
            "loading the rest of the file",
            "print(\"Loading...\")",
            "def f(): ...",
            "x = [...existing, 1]",
            "# Wait for it...",
            "// keep waiting...",
            "*args: other",
        ] {
            assert!(!is_placeholder(line), "{line}");
        }
    }
}

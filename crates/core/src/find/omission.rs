//! Placeholders that stand for code the caller did not write out ("… rest unchanged …").
//!
//! A line of new that says so, and is not a line of old, would put the placeholder in the place of the code.

use super::search::split;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::op::Find;

/// Refuses new text with a placeholder that old does not have.
pub(super) fn check(find: &Find, new: &str) -> Result<()> {
    if !(new.contains("...") || new.contains('…')) {
        return Ok(());
    }
    let old = split(&find.old);
    let known = |line: &str| old.iter().any(|old| old.trim() == line.trim());
    let placeholders = |lines: &[&str]| lines.iter().filter(|line| is_placeholder(line)).count();
    let new = split(new);
    // One that old has as well may be reworded.
    let fresh = new.iter().find(|line| is_placeholder(line) && !known(line));
    let Some(line) = fresh.filter(|_| placeholders(&new) > placeholders(&old)) else { return Ok(()) };
    Err(Error::new(Code::EditOmission, "new_string has a placeholder for text that was left out.")
        .evidence(format!("The line: {}", line.trim()))
        .next("Write the text out in full, or replace only the part that changes.")
        .fact("reason", "omission"))
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
    use super::is_placeholder;

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

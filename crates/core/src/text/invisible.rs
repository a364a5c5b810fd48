//! Invisible characters, and those that display a text in another order than a compiler reads it (Trojan Source,
//! CVE-2021-42574): a note reports the ones that an edit adds.

use crate::text::explain::{DiffHunk, DiffLine, LineKind};
use std::collections::HashMap;

/// Maximum number of places that a message lists.
const LISTED_PLACES_MAX: usize = 5;

/// Returns a sentence about invisible characters in added lines that the removed ones did not contain.
pub fn invisible_characters(hunks: &[DiffHunk]) -> Option<String> {
    let of = |kind| hunks.iter().flat_map(move |hunk| numbered(hunk).filter(move |(_, line)| line.kind == kind));
    if !of(LineKind::Added).any(|(_, line)| is_suspect(&line.text)) {
        return None;
    }
    let mut before: HashMap<char, usize> = HashMap::new();
    for (_, line) in of(LineKind::Removed) {
        found(&line.text).for_each(|char| *before.entry(char).or_default() += 1);
    }
    let mut fresh = Vec::new();
    for (number, line) in of(LineKind::Added) {
        for char in found(&line.text) {
            match before.get_mut(&char).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => fresh.push((number, char)),
            }
        }
    }
    if fresh.is_empty() {
        return None;
    }
    let is_mark = |line: usize, char: char| line == 1 && char == '\u{FEFF}';
    let name_at = |line, char| if is_mark(line, char) { "byte order mark" } else { name(char) };
    let mut listed: Vec<String> = fresh
        .iter()
        .map(|(line, char)| format!("line {line}: U+{:04X} {}", u32::from(*char), name_at(*line, *char)))
        .collect();
    listed.dedup();
    let more = listed.len().saturating_sub(LISTED_PLACES_MAX);
    listed.truncate(LISTED_PLACES_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Some(format!(
        "The new text contains characters that are invisible or change the order in which text is displayed ({}{more}); \
         remove them unless they are intended.",
        listed.join(", ")
    ))
}

/// Returns a sentence about curly quotes, or about Unicode spaces that look like a normal one, that an edit adds to a
/// pure ASCII file.
pub fn curly_quotes(before: &str, hunks: &[DiffHunk]) -> Option<String> {
    let added = hunks.iter().flat_map(numbered).filter(|(_, line)| line.kind == LineKind::Added);
    let (line, char) = added.into_iter().find_map(|(number, line)| {
        Some((number, line.text.chars().find(|char| matches!(char, '‘' | '’' | '“' | '”') || is_unusual_space(*char))?))
    })?;
    (!before.is_empty() && before.is_ascii()).then(|| {
        if is_unusual_space(char) {
            let code = u32::from(char);
            return format!(
                "The new text adds an unusual space character to a file of plain ASCII (first line {line}: \
                 U+{code:04X}); write a plain space unless this is intended."
            );
        }
        format!(
            "The new text adds curly quotes to a file of plain ASCII (first line {line}: {char}); write straight ones \
             unless they are intended."
        )
    })
}

/// True for characters that look like a space and are not U+0020.
const fn is_unusual_space(char: char) -> bool {
    matches!(char, '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// Returns the lines of a hunk with their numbers in the new version; removed lines have the number that the line after
/// them has there.
fn numbered(hunk: &DiffHunk) -> impl Iterator<Item = (usize, &DiffLine)> {
    let mut number = hunk.new_start + usize::from(hunk.new_lines == 0);
    hunk.lines.iter().map(move |line| {
        let this = number;
        number += usize::from(line.kind != LineKind::Removed);
        (this, line)
    })
}

/// A quick filter: most lines contain only plain characters.
fn is_suspect(line: &str) -> bool {
    line.bytes().any(|byte| byte >= 0x80 || (byte.is_ascii_control() && byte != b'\t'))
}

fn found(line: &str) -> impl Iterator<Item = char> {
    // The flags of England, Scotland and Wales are a black flag followed by tags.
    let flag = line.contains('\u{1F3F4}');
    let mut before = None;
    let mut rest = line.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            let char = rest.next()?;
            let (left, right) = (before.replace(char), rest.peek().copied());
            let unseen = match char {
                // Between letters of many scripts, and in emoji, the zero-width joiner and non-joiner are part of the
                // spelling.
                '\u{200C}' | '\u{200D}' => ![left, right].iter().all(|near| near.is_some_and(|it| !it.is_ascii())),
                '\u{E0020}'..='\u{E007F}' => !flag,
                // These control characters are common in texts: tabs, line ends of old Macs, and page breaks.
                '\t' | '\r' | '\u{C}' => false,
                _ => char.is_control() || is_unseen(char),
            };
            if unseen {
                return Some(char);
            }
        }
    })
}

const fn is_unseen(char: char) -> bool {
    is_order(char)
        || matches!(char,
            '\u{AD}' | '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180E}'
            | '\u{200B}'..='\u{200D}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}' | '\u{206A}'..='\u{206F}'
            | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// True for characters that change the order in which others are displayed.
const fn is_order(char: char) -> bool {
    matches!(char, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn name(char: char) -> &'static str {
    match char {
        '\u{AD}' => "soft hyphen",
        '\u{200B}' => "zero width space",
        '\u{200C}' | '\u{200D}' => "zero width joiner",
        '\u{2028}' | '\u{2029}' => "line separator",
        '\u{FEFF}' => "byte order mark inside the text",
        '\u{E0000}'..='\u{E007F}' => "tag character",
        _ if char.is_control() => "control character",
        _ if is_order(char) => "changes the direction of text",
        _ => "invisible",
    }
}

#[cfg(test)]
mod tests {
    use super::{found, invisible_characters};
    use crate::text::change::{ChangeSet, Splice};
    use crate::text::explain::hunks;
    use crate::text::snapshot::Snapshot;
    use crate::text::span::Span;

    fn warning(old: &str, new: &str) -> Option<String> {
        let base = Snapshot::from_text(old);
        let all = Span::new(0, old.len());
        invisible_characters(&hunks(&base, &ChangeSet::new(&base, [Splice::new(all, new.as_bytes(), 0)]).unwrap(), 0))
    }

    #[test]
    fn invisible_characters_added_by_an_edit_are_reported() {
        let note = warning("a\nb\n", "a\nb\u{202E} c\u{200B}\n").unwrap();
        assert!(
            note.contains("line 2: U+202E changes the direction of text, line 2: U+200B zero width space"),
            "{note}"
        );
        assert!(warning("a\u{1B}\n", "a\u{1B}[0m\u{1B}\n").unwrap().contains("U+001B control character"));
        let many = warning("x\n", &"\u{AD}\n".repeat(9)).unwrap();
        assert!(many.contains("and 4 more"), "{many}");
    }

    #[test]
    fn existing_invisible_characters_are_not_reported() {
        assert_eq!(warning("a\u{202E}\n", "b\u{202E}\n"), None);
        assert_eq!(warning("one\n", "zwei – “drei” é\tx\n"), None);
    }

    #[test]
    fn writing_systems_and_emoji_are_not_reported() {
        for line in ["می‌خواهم", "👨‍👩‍👧", "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "क्‍ष", "a\r"]
        {
            assert_eq!(found(line).next(), None, "{line}");
        }
        assert_eq!(found("ad\u{200D}min").next(), Some('\u{200D}'));
    }
}

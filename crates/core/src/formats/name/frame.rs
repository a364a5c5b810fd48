//! Decorations that models put around the name of a file: boxes, rules, comment signs, tags, and remarks after it.

/// Signs in pairs around a name.
const PAIRS: [[&str; 2]; 7] =
    [["/*", "*/"], ["{/*", "*/}"], ["<!--", "-->"], ["(*", "*)"], ["{-", "-}"], ["{", "}"], ["__", "__"]];
/// Signs of comments before a name.
const LEADS: [&str; 9] = ["//", "///", "//!", "/**", "REM", "rem", "dnl", "'", "*)"];
/// Tags around a name.
const NAME_TAGS: [&str; 8] = ["path", "file", "filename", "file_path", "filepath", "file_name", "name", "source"];
/// Attributes of a tag that contain a name.
const NAME_ATTRIBUTES: [&str; 6] = ["path", "name", "file", "filename", "file_path", "src"];
/// Maximum number of rounds of removing decorations.
const ROUNDS_MAX: usize = 4;

/// True for a line that consists of drawing characters: a border, a rule, the line between the head and the body of a
/// table.
pub(super) fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let signs = |ch: char| is_box(ch) || "-=+|_~*# :".contains(ch);
    // A line with fewer signs, or with those of a marker, has another meaning.
    line.chars().all(signs) && line.chars().filter(|ch| *ch != ' ').count() >= 3 && !line.starts_with(['+', '#'])
        || line.starts_with("+-") && line.chars().all(signs)
}

/// True for a character that draws a box.
fn is_box(ch: char) -> bool {
    ('\u{2500}'..='\u{259F}').contains(&ch)
}

/// Returns the name in a tag: `<file>a.rs</file>`, `<file path="a.rs">`.
pub(super) fn in_tag(line: &str) -> Option<&str> {
    let line = line.trim();
    let inside = line.strip_prefix('<')?;
    let len = inside.find(|ch: char| !(ch.is_ascii_alphanumeric() || ch == '_'))?;
    let (tag, rest) = inside.split_at(len);
    if let Some(inner) = rest.strip_prefix('>') {
        let inner = inner.strip_suffix(&format!("</{tag}>"))?.trim();
        return (NAME_TAGS.contains(&tag) && !inner.contains(['<', '>'])).then_some(inner);
    }
    let attributes = rest.strip_suffix('>')?.trim_end_matches('/').trim();
    NAME_ATTRIBUTES.iter().find_map(|key| {
        let at = attributes.find(&format!("{key}=")).filter(|&at| at == 0 || attributes[..at].ends_with(' '))?;
        let value = &attributes[at + key.len() + 1..];
        let quote = value.chars().next().filter(|ch| ['"', '\''].contains(ch))?;
        value[1..].split(quote).next().map(str::trim).filter(|name| !name.contains(['<', '>']))
    })
}

/// Returns the name in a link of Markdown to the file itself, `[a.rs](a.rs)`, or in angle brackets, `<a.rs>`.
pub(super) fn in_link(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(')')) {
        Some(inside) => inside.split_once("](").filter(|(text, link)| text.trim_matches('`') == *link)?.1,
        None => line.strip_prefix('<')?.strip_suffix('>')?,
    };
    let plain = name.chars().all(|ch| ch.is_alphanumeric() || "._-/\\@+".contains(ch));
    (plain && super::extension(name)).then_some(name)
}

/// Returns a line without boxes, rules, comment signs and bullets around it.
pub(super) fn unframed(line: &str) -> &str {
    let mut line = line.trim();
    for _ in 0..ROUNDS_MAX {
        let before = line;
        for [open, close] in PAIRS {
            line = line.strip_prefix(open).and_then(|it| it.strip_suffix(close)).map_or(line, str::trim);
        }
        line = cell(line.trim_matches(|ch| is_box(ch) || ch == ' '));
        line = without_git_prefix(line);
        if let Some((first, rest)) = line.split_once(char::is_whitespace)
            && is_decoration(first)
        {
            line = rest.trim_start();
        }
        if let Some((rest, last)) = line.rsplit_once(char::is_whitespace)
            && is_decoration(last)
        {
            line = rest.trim_end();
        }
        if line == before {
            break;
        }
    }
    line
}

/// Returns the name in the header of a diff, without git's prefix.
fn without_git_prefix(line: &str) -> &str {
    let name = |it: &'_ str| it.find(char::is_whitespace).is_none();
    if let Some(names) = line.strip_prefix("diff --git ") {
        let last = names.split_whitespace().next_back().unwrap_or(names);
        return last.strip_prefix("b/").unwrap_or(last);
    }
    let header = ["--- a/", "--- b/", "+++ a/", "+++ b/"].iter().find_map(|lead| line.strip_prefix(lead));
    header.filter(|it| name(it)).unwrap_or(line)
}

/// Returns the first cell of a table row; the line itself if it is not a row.
fn cell(line: &str) -> &str {
    let Some(row) = line.strip_prefix('|') else { return line };
    let mut cells = row.trim_end_matches('|').split('|').map(str::trim).filter(|cell| !cell.is_empty());
    cells.find(|cell| cell.contains(['.', '/'])).unwrap_or(line)
}

/// True for a word of signs that do not occur in names.
fn is_decoration(word: &str) -> bool {
    LEADS.contains(&word)
        || word == "*/"
        || !word.contains(|ch: char| ch.is_alphanumeric() || "./\\~\"'`()[]{}<@$&^:,".contains(ch))
}

/// Returns a name without a remark after it: `a.rs (modified)`, `a.rs L3`, `a.rs - the parser`.
pub(super) fn without_remark(name: &str) -> &str {
    let Some((first, rest)) = name.split_once(char::is_whitespace) else { return name };
    let rest = rest.trim_start();
    let is_name = super::extension(first) && !first.contains(['(', '"', '`']);
    let bracketed = rest.starts_with('(') && rest.ends_with(')') && rest.matches('(').count() == 1;
    let dashed = ["- ", "\u{2013} ", "\u{2014} "].iter().any(|dash| rest.starts_with(dash))
        && !rest.split_whitespace().next_back().is_some_and(super::is_pathlike);
    let lines = rest.trim_start_matches(['L', 'l']);
    let numbered = !lines.is_empty() && lines.chars().all(|ch| ch.is_ascii_digit() || ch == '-' || ch == 'L');
    if is_name && (bracketed || dashed || numbered) { first } else { name }
}

#[cfg(test)]
mod tests {
    use super::is_rule;
    use crate::formats::name::{above, alone, clean};

    #[test]
    fn frames_around_names_are_removed() {
        for line in [
            "\u{2502} src/a.rs \u{2502}",
            "| src/a.rs |",
            "| src/a.rs | modified |",
            "=== src/a.rs ===",
            "----- src/a.rs -----",
            "==== File: src/a.rs ====",
            "\u{2500}\u{2500} src/a.rs \u{2500}\u{2500}",
            "\u{2022} src/a.rs",
            "/* src/a.rs */",
            "<!-- File: src/a.rs -->",
            "% src/a.rs",
            "(* src/a.rs *)",
            "{- src/a.rs -}",
            "//! src/a.rs",
            "' src/a.rs",
            "REM src/a.rs",
            "\u{1F4C4} src/a.rs",
            "<file>src/a.rs</file>",
            "<file_path>src/a.rs</file_path>",
            "<file path=\"src/a.rs\">",
            "<document index=\"1\" name='src/a.rs'>",
            "__src/a.rs__",
            "src/a.rs (lines 2-4)",
            "src/a.rs (modified)",
            "src/a.rs L3",
            "src/a.rs - the parser",
            "Target file: src/a.rs",
            "path = \"src/a.rs\"",
            "*** Update File: src/a.rs",
            "+++ b/src/a.rs",
            "diff --git a/src/a.rs b/src/a.rs",
            "{\"path\": \"src/a.rs\"}",
        ] {
            assert_eq!(clean(line).as_deref(), Some("src/a.rs"), "{line}");
        }
        for line in ["__init__.py", "notes - old.txt", "my file (1).txt", "app/(group)/page.tsx", "_a.rs"] {
            assert_eq!(clean(line).as_deref(), Some(line));
        }
        for line in ["<file>", "<div class=\"a.b\">", "| a | b |", "===", "\u{2514}\u{2500}\u{2518}"] {
            assert_eq!(clean(line), None, "{line}");
        }
    }

    #[test]
    fn rules_are_frames() {
        for line in ["---", "=====", "+-----+", "|---|---|", "\u{250C}\u{2500}\u{2500}\u{2510}", "***"] {
            assert!(is_rule(line), "{line}");
        }
        for line in ["", "--", "+++", "###", "a---", "- x -"] {
            assert!(!is_rule(line), "{line}");
        }
        assert_eq!(above("src/a.rs\n--------\n".lines().rev()).as_deref(), Some("src/a.rs"));
    }

    #[test]
    fn part_of_a_file_is_not_a_whole_one() {
        for line in ["Modified file: src/a.rs", "src/a.rs (lines 2-4)", "src/a.rs L3", "src/a.rs (excerpt)"] {
            assert_eq!(alone(line), None, "{line}");
        }
        for line in ["=== src/a.rs ===", "| src/a.rs |", "<!-- File: src/a.rs -->", "src/a.rs (new file)"] {
            assert_eq!(alone(line).as_deref(), Some("src/a.rs"), "{line}");
        }
    }
}

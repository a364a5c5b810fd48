//! The first line in which two texts differ, with a description of the difference.

use super::nearest::{NearestLines, line_likeness};
use crate::locate::find::search::MatchSearch;
use crate::text::diff;
use crate::text::fold::{self, Normalization, SPACES_AND_TABS, indent_of, is_blank};
use crate::text::tokens::{token_runs, tokens};
use core::fmt::Write as _;
use std::collections::HashSet;

/// Maximum number of lines that are compared.
const COMPARED_LINES_MAX: usize = 2_000;
/// Maximum number of bytes of a line whose words and characters are compared.
const COMPARED_LINE_BYTES_MAX: usize = 64 << 10;
/// Maximum number of characters of a line that are shown.
const LINE_CHARS_MAX: usize = 300;

/// A difference between the old text and the file.
pub(in crate::locate::find) struct MatchDifference {
    /// The class of the difference: one of a few words, for programs.
    pub(in crate::locate::find) class: &'static str,
    /// The description for a model: sentences and lines.
    pub(in crate::locate::find) words: String,
}

/// Returns the first difference between the old text and the lines at a place.
pub(in crate::locate::find) fn first_difference(
    search: &MatchSearch<'_>,
    nearest: &NearestLines,
) -> Option<MatchDifference> {
    let old: Vec<&str> = search.pattern.old.iter().take(COMPARED_LINES_MAX).copied().collect();
    let file: Vec<&str> = nearest.lines.clone().take(COMPARED_LINES_MAX).map(|at| search.line(at)).collect();
    let Some((from, to)) = diff::line_hunks(&old, &file).into_iter().next() else {
        let ends = search.find.old.ends_with('\n') && search.lines().is_open(nearest.lines.end - 1);
        let words = if ends { "The file's last line has no line end." } else { return None };
        return Some(MatchDifference { class: "final line end", words: words.to_owned() });
    };
    let at = nearest.lines.start + to.start + 1;
    Some(match (old[from].first(), file[to].first()) {
        (Some(old), Some(file)) => lines(old, file, at, &search.find.names.old),
        (Some(old), None) => MatchDifference {
            class: if is_blank(old) { "blank line" } else { "extra line" },
            words: format!("First difference: the file has no such line before line {at}: {}", cut(old.trim())),
        },
        (None, Some(file)) => MatchDifference {
            class: if is_blank(file) { "blank line" } else { "missing line" },
            words: format!("First difference: {} leaves out line {at}: {}", search.find.names.old, cut(file.trim())),
        },
        (None, None) => return None,
    })
}

/// Describes the difference between two lines; `name` is the name of the old text.
fn lines(old: &str, file: &str, at: usize, name: &str) -> MatchDifference {
    let (class, what) = class(old, file, name);
    let mut words = format!("First difference, line {at}: {what}.");
    let is_whitespace = ["tabs and spaces", "indentation", "trailing blanks", "blanks"].contains(&class);
    if is_whitespace {
        let _ = write!(
            words,
            "\n  {name}: {}\n  {:width$} {}",
            visible(&cut(old)),
            "file:",
            visible(&cut(file)),
            width = name.len() + 1
        );
    } else {
        let plain = name.trim_start_matches('-');
        let _ = write!(words, "\n  [-{plain}-]{{+file+}}: {}", marked(&cut(old), &cut(file)));
        let odd = if is_long(old, file) { String::new() } else { code_points(old, file, name) };
        if !odd.is_empty() {
            let _ = write!(words, "\n  Characters: {odd}");
        }
    }
    MatchDifference { class, words }
}

/// Returns the class of a difference, and a phrase that describes it.
fn class(old: &str, file: &str, name: &str) -> (&'static str, String) {
    if fold::trim_blanks_end(old) == fold::trim_blanks_end(file) {
        return described("trailing blanks", "the whitespace at the end of the line differs");
    }
    if fold::trim_blanks(old) == fold::trim_blanks(file) {
        let is_bare = |line: &str| !line.starts_with(SPACES_AND_TABS);
        return match is_bare(old) || is_bare(file) || has_tab_indent(old) == has_tab_indent(file) {
            true => described("indentation", "the depth of indentation differs"),
            false if has_tab_indent(file) => {
                described("tabs and spaces", &format!("the file is indented with tabs, {name} with spaces"))
            }
            false => described("tabs and spaces", &format!("the file is indented with spaces, {name} with tabs")),
        };
    }
    if fold::are_equal_under(old, file, Normalization::Indentation) {
        return described("quotes", "quotes, dashes or other punctuation look alike and are different characters");
    }
    if fold::are_equal_under(old, file, Normalization::BlankRuns) {
        return described("blanks", "the amount of whitespace inside the line differs");
    }
    if !is_long(old, file)
        && let Some(class) = class_of_words(old, file, name)
    {
        return class;
    }
    if line_likeness(old, file) > 0.5 {
        described("words", "several words differ")
    } else {
        described("other text", "the lines differ")
    }
}

/// Returns the class of a difference in upper and lower case, backslashes, or one word.
fn class_of_words(old: &str, file: &str, name: &str) -> Option<(&'static str, String)> {
    if is_same_but_for_case(old, file) || is_same_but_for_case(fold::trim_blanks(old), fold::trim_blanks(file)) {
        return Some(described("case", "upper and lower case differ"));
    }
    if without_backslashes(old).eq(without_backslashes(file)) {
        return Some(described("escapes", "backslashes differ"));
    }
    let (a, b) = one_token(old, file)?;
    Some(if is_number(a) && is_number(b) {
        ("number", format!("a number differs ({a} in {name}, {b} in the file)"))
    } else {
        ("one word", format!("one word differs (`{a}` in {name}, `{b}` in the file)"))
    })
}

/// True if one of the lines is too long for a comparison of its words and characters.
fn is_long(old: &str, file: &str) -> bool {
    old.len().max(file.len()) > COMPARED_LINE_BYTES_MAX
}

/// True for a token of digits only.
fn is_number(token: &str) -> bool {
    token.chars().all(|ch| ch.is_ascii_digit())
}

/// True for lines that differ in upper and lower case only.
fn is_same_but_for_case(a: &str, b: &str) -> bool {
    a.chars().flat_map(char::to_lowercase).eq(b.chars().flat_map(char::to_lowercase))
}

/// Returns the characters of a line without its backslashes.
fn without_backslashes(line: &str) -> impl Iterator<Item = char> {
    line.chars().filter(|ch| *ch != '\\')
}

/// True for a line that is indented with tabs.
fn has_tab_indent(line: &str) -> bool {
    indent_of(line).contains('\t')
}

/// Returns a class of differences with its description.
fn described(class: &'static str, what: &str) -> (&'static str, String) {
    (class, what.to_owned())
}

/// Returns the only token in which two lines differ.
fn one_token<'a>(old: &'a str, file: &'a str) -> Option<(&'a str, &'a str)> {
    let (a, b) = (tokens(old.trim()), tokens(file.trim()));
    if a.len() != b.len() {
        return None;
    }
    let mut differing = a.iter().zip(&b).filter(|(a, b)| a != b);
    let (a, b) = differing.next()?;
    differing.next().is_none().then_some((*a, *b))
}

/// Formats the line of the file with the deviations of the old line marked.
fn marked(old: &str, file: &str) -> String {
    let (old, file) = (tokens(old), tokens(file));
    let (mut out, mut at) = (String::new(), 0);
    for run in token_runs(&old, &file) {
        match run.kept {
            Some(kept) => {
                push_missing(&mut out, &old[at..kept.start]);
                at = kept.end;
                out.extend(file[run.new].iter().copied());
            }
            None => {
                // Text inserted here ends where the next kept run begins; it is reported before that run.
                let _ = write!(out, "{{+{}+}}", file[run.new].concat());
            }
        }
    }
    push_missing(&mut out, &old[at..]);
    // A replacement is easier to read with the old text first.
    swapped(&out)
}

/// Appends the words that are missing.
fn push_missing(out: &mut String, part: &[&str]) {
    if !part.is_empty() {
        let _ = write!(out, "[-{}-]", part.concat());
    }
}

/// Turns `{+b+}[-a-]` into `[-a-]{+b+}`.
fn swapped(marked: &str) -> String {
    let mut out = String::with_capacity(marked.len());
    let mut rest = marked;
    while let Some(at) = rest.find("{+") {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let Some(end) = tail.find("+}").map(|end| end + 2) else {
            rest = tail;
            break;
        };
        let (added, after) = tail.split_at(end);
        let removed = after.strip_prefix("[-").and_then(|it| it.find("-]")).map_or(0, |len| len + 4);
        out.push_str(&after[..removed]);
        out.push_str(added);
        rest = &after[removed..];
    }
    out + rest
}

/// Describes the non-ASCII characters that only one of the lines has.
fn code_points(old: &str, file: &str, name: &str) -> String {
    [chars_only_in(old, file, name), chars_only_in(file, old, "the file")].concat().join(", ")
}

/// Lists the characters beyond ASCII that only one line has.
fn chars_only_in(line: &str, other: &str, name: &str) -> Vec<String> {
    let others: HashSet<char> = other.chars().filter(|ch| !ch.is_ascii()).collect();
    let mut seen: Vec<char> = Vec::new();
    for ch in line.chars().filter(|ch| !ch.is_ascii() && !others.contains(ch)).take(20) {
        if !seen.contains(&ch) {
            seen.push(ch);
        }
    }
    seen.iter().map(|ch| format!("{ch} U+{:04X} in {name}", u32::from(*ch))).collect::<Vec<String>>()
}

/// Shows tabs as arrows and spaces as dots.
fn visible(line: &str) -> String {
    line.replace('\t', "→").replace(' ', "·")
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

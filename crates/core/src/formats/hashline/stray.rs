//! Rows that are wrong at any place: marks of other formats, numbers without a verb, notices of `read`.

use super::dialect::HashlineDialect;
use super::token::{LineScanner, trimmed};
use super::{broken, header, older_spelling};
use crate::code::Code;
use crate::error::Error;
use crate::text::content::HeaderStyle;

/// Returns the error for a bare row that belongs to another format; `None` for any other row.
pub(super) fn foreign(dialect: &HashlineDialect, row: &str, at: usize) -> Option<Error> {
    let text = trimmed(row);
    if text.starts_with("@@") {
        return Some(bracketed(dialect, text, at));
    }
    if is_sentinel(text) {
        let what = format!(
            "apply_patch sentinel {:?} is not valid in hashline. File sections start with `{}` (no `Update File:` / `Add File:` keyword). Use {}.",
            short(text),
            dialect.form,
            dialect.ops
        );
        return Some(
            broken(at, &what, row)
                .next("Send the text as an apply_patch patch instead, or write the lines as hashline."),
        );
    }
    let mut scan = LineScanner::new(text);
    let range = scan.range(dialect).filter(|range| scan.at_end() && range.from > 0 && range.to > 0)?;
    let single = text.bytes().all(|byte| byte.is_ascii_digit());
    let what = if single {
        format!(
            "hunk headers need a verb. Use `{}` to replace, or `{}` to delete.",
            dialect.replacing(range.from, range.from),
            dialect.deleting(range.from, range.from).split(dialect.between).next().unwrap_or_default()
        )
    } else {
        format!(
            "bare range hunk header {text:?} is not valid. Hunk headers need a verb: write `{}` or `{}`.",
            dialect.replacing(range.from, range.to),
            dialect.deleting(range.from, range.to)
        )
    };
    Some(broken(at, &what, row).next(format!("If it is a line of the body, write `+{text}`.")))
}

/// True for line numbers without a verb, in the dialect whose header occurs in no other text.
pub(super) fn is_bare_range(line: &str, dialect: &HashlineDialect) -> bool {
    let text = trimmed(line);
    let mut parts = text.split(|ch: char| !ch.is_ascii_digit()).filter(|part| !part.is_empty());
    let between = text.trim_matches(|ch: char| ch.is_ascii_digit()).trim();
    dialect.header == HeaderStyle::Pilcrow
        && (is_number(text) || parts.by_ref().count() == 2 && ["", "..", "-", "…", ","].contains(&between))
}

fn bracketed(dialect: &HashlineDialect, text: &str, at: usize) -> Error {
    let what = if is_unified(text) {
        format!("unified-diff hunk header (`@@ -N,M +N,M @@`) is not valid in hashline. Use {}.", dialect.ops)
    } else {
        format!(
            "`@@`-bracketed hunk header {:?} is not valid in hashline. Drop the `@@ ... @@` brackets and write a verb header such as `{}`.",
            short(text),
            dialect.replace
        )
    };
    broken(at, &what, text).next(dialect.shape())
}

/// True for a header such as `@@ -a,b +c,d @@`.
pub(super) fn is_unified(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    words.next() == Some("@@") && is_hunk_side(words.next(), '-') && is_hunk_side(words.next(), '+')
}

/// True for a side of a hunk header.
fn is_hunk_side(word: Option<&str>, sign: char) -> bool {
    word.and_then(|word| word.strip_prefix(sign)).is_some_and(|word| word.starts_with(|ch: char| ch.is_ascii_digit()))
}

fn is_sentinel(text: &str) -> bool {
    ["*** Update File:", "*** Add File:", "*** Delete File:", "*** Move to:"].iter().any(|mark| text.starts_with(mark))
}

/// True for the line by which `read` marks omitted lines.
pub(super) fn is_elision(row: &str) -> bool {
    let text = trimmed(row);
    let text = text.trim_start_matches(|ch: char| ch.is_ascii_digit() || ch == ':');
    matches!(text, "…" | "...") || header::is_notice(trimmed(row))
}

/// Creates the error for a line that marks omitted lines inside a body.
pub(super) fn elided(row: &str, at: usize) -> Error {
    let what = format!("{:?} is a placeholder for omitted lines; a body must contain all lines.", short(trimmed(row)));
    broken(at, &what, row)
        .next("Write the lines out, or replace only those that change. If it is a line of the file, write it with `+`.")
}

/// Creates the error for the end of a fence that may be a row of the body.
pub(super) fn fence(row: &str, at: usize) -> Error {
    let what = "the line may end the fence around the edits, or be a row of the body.";
    broken(at, what, row).next("Write every row of a body with `+`, or send the edits without a fence.")
}

/// Creates the error for a text that ends in an open fence.
pub(super) fn open_fence(line: usize, fence: usize) -> Error {
    let what =
        format!("Line {line} of the input: the text may be cut off here: the fence on line {fence} is not closed.");
    Error::new(Code::EditUnparsable, what)
        .next("If nothing is missing, add the line that closes the fence; otherwise send the whole text again.")
        .fact("line", line)
}

/// Creates the error for an operation among lines that belong to no section; `mention` is a header above it.
pub(super) fn lost(row: &str, at: usize, mention: Option<&str>) -> Error {
    let what = format!("`{}` is in no section, so that it would change nothing.", short(trimmed(row)));
    let header = mention.map_or_else(|| "the header of its file".to_owned(), |header| format!("`{header}`"));
    broken(at, &what, row).next(format!(
        "Write {header} alone on the line above it; if it is only an example, omit it. Nothing was changed."
    ))
}

fn short(text: &str) -> String {
    match text.char_indices().nth(48) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Creates the error for a row without an open operation.
pub(super) fn orphan(dialect: &HashlineDialect, row: &str, at: usize) -> Error {
    let what = format!(
        "payload line has no preceding hunk header. Use {} above the body. Got {:?}.",
        dialect.above,
        short(row)
    );
    let text = trimmed(row.strip_prefix('+').unwrap_or(row));
    broken(at, &what, row).next(hint(dialect, text).unwrap_or_else(|| dialect.shape()))
}

/// True for a line whose first word is a verb, whatever its case.
pub(super) fn begins_like_an_operation(text: &str) -> bool {
    let word = trimmed(text).split([' ', '\t']).next().unwrap_or_default();
    ["replace", "delete", "insert", "put", "cut"].iter().any(|verb| word.eq_ignore_ascii_case(verb))
}

/// Words that name a place in a line that is nearly an operation.
const PLACE_WORDS: [&str; 16] = [
    "line", "lines", "block", "before", "after", "at", "to", "through", "and", "from", "head", "tail", "top", "bottom",
    "start", "end",
];

/// True for a line that is an operation but for its spelling: written in another dialect, in another case, behind a sign
/// of a list, with its first row behind it, or with a place that cannot be read.
pub(super) fn is_nearly_operation(dialect: &HashlineDialect, row: &str) -> bool {
    let text = trimmed(row).trim_matches(['*', '`', ' ']);
    let text = text.split_once(". ").filter(|(number, _)| is_number(number)).map_or(text, |(_, rest)| rest);
    let read = |text: &str| matches!((dialect.read)(text), Some(Ok(_)));
    if !begins_like_an_operation(text) {
        return older_spelling::parse(text).is_some();
    }
    let row_behind = text.split_once(':').is_some_and(|(head, row)| !row.is_empty() && read(&format!("{head}:")));
    row_behind || read(text) || (dialect.other_dialect().read)(text).is_some() || names_a_place(text)
}

/// True for a verb with only places behind it. A comment may follow.
fn names_a_place(text: &str) -> bool {
    let (text, has_colon) = match text.split(" #").next().unwrap_or(text).trim_end() {
        text if text.ends_with(':') => (text.trim_end_matches(':'), true),
        text => (text, false),
    };
    let is_sign = |ch: char| "<>$*@".contains(ch) || is_separator(ch);
    let is_place = |word: &str| word.chars().all(|ch| ch.is_ascii_digit() || is_sign(ch));
    let mut words = text.split_ascii_whitespace().skip(1).peekable();
    let has_number = text.contains(|ch: char| ch.is_ascii_digit());
    (has_number || has_colon)
        && words.peek().is_some()
        && words.all(|word| is_place(word) || PLACE_WORDS.iter().any(|place| word.eq_ignore_ascii_case(place)))
}

/// True for a character between the numbers of a range, in whatever notation.
fn is_separator(ch: char) -> bool {
    ".,:=-–—…~".contains(ch)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Creates the error for a row of a body that is nearly an operation.
pub(super) fn nearly_operation(dialect: &HashlineDialect, row: &str, at: usize) -> Error {
    let text = trimmed(row);
    let what = format!("`{}` may be an operation that cannot be read, or a line of the body.", short(text));
    let shape = || format!("Write it as one of {}", dialect.ops);
    let next = hint(dialect, text).unwrap_or_else(|| format!("{}.", shape()));
    broken(at, &what, row).next(format!("{next} If it is a line of the body, write `+{}`.", short(text)))
}

/// Suggests a correction for a line that is nearly an operation.
fn hint(dialect: &HashlineDialect, text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if lower != text && matches!((dialect.read)(&lower), Some(Ok(_))) {
        return Some(format!("Verbs are written in lower case: `{lower}`."));
    }
    let upper = text.to_ascii_uppercase();
    if upper != text && matches!((dialect.read)(&upper), Some(Ok(_))) {
        return Some(format!("Verbs are written in upper case: `{upper}`."));
    }
    let zero = text.trim_end_matches(':').split([' ', '\t', '.', '-']).any(|word| word == "0");
    if zero && begins_like_an_operation(text) {
        return Some("Lines are numbered from 1; to add rows at the beginning, insert them before line 1.".to_owned());
    }
    let comma = text.split_once(',').filter(|(head, tail)| {
        head.ends_with(|ch: char| ch.is_ascii_digit()) && tail.starts_with(|ch: char| ch.is_ascii_digit())
    });
    let (head, tail) = comma?;
    let from: usize = head.rsplit(|ch: char| !ch.is_ascii_digit()).next()?.parse().ok()?;
    let to: usize = tail.split(|ch: char| !ch.is_ascii_digit()).next()?.parse().ok()?;
    let last = from.saturating_add(to).saturating_sub(1);
    let between = dialect.between;
    if to == last {
        return Some(format!("A range is written with `{between}`: write {from}{between}{to}."));
    }
    Some(format!("A comma may mean the last line or a count: write {from}{between}{to} or {from}{between}{last}."))
}

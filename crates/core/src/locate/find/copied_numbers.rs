//! Line numbers in new text that were copied from a reply of `read`.
//!
//! Numbers in the old text are tolerated by tier 8 of the cascade. The new text alone may have them, and they would be
//! written to the file. They are removed if something proves that they were copied; a text that only looks like it is
//! refused.

use super::search::split;
use super::tier::numbers::{self, NumberedLines};
use crate::advice;
use crate::advice::Phrase;
use crate::code::Code;
use crate::error::ErrorContext;
use crate::error::{Error, Result};
use crate::locate::line_format;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind};
use crate::text::fold;
use crate::text::snapshot::Snapshot;
use crate::work;

/// The sign after a number in some replies; a tab is the other one.
const ARROW: &str = "→";
/// Maximum number of lines that are examined for numbers: of the file for its own, of a new text for copied ones.
const EXAMINED_LINES_MAX: usize = 200;
/// Minimum number of letters and digits of a line that is a copy in any form.
const COPIED_ALNUM_MIN: usize = 4;

/// Removes copied line numbers from the new text of a replacement; `None` if it has none. `old` is the replaced text,
/// which has no numbers.
///
/// Errors: `call.invalid` for numbers without proof that they were copied.
pub(super) fn uncopied_replacement(base: &Snapshot, old: &str, new: &str) -> Result<Option<String>> {
    let numbered = copied(new);
    if numbered.is_none() && !has_numbers(new)
        || old.is_empty()
        || split(old).iter().any(|line| numbers::has_number(line))
    {
        return Ok(None);
    }
    let Some(lines) = numbered else { return refuse_partly_numbered(base, new, "new_string") };
    let at = memchr::memmem::find(base.text().as_bytes(), old.as_bytes());
    let place = at.map(|at| base.lines().line_of(base.text(), at));
    let suspicious = !old.contains('\t');
    decided(base, new, &lines, place, suspicious, "new_string")
}

/// Removes copied line numbers from the whole new text of a file; `None` if it has none.
///
/// Errors: `call.invalid` for numbers without proof that they were copied.
pub(crate) fn without_copied_numbers(base: &Snapshot, new: &str) -> Result<Option<String>> {
    let numbered = copied(new);
    if numbered.is_none() && !has_numbers(new) || is_blank_or_numbered(&split(base.text())) {
        return Ok(None);
    }
    let Some(lines) = numbered else { return refuse_partly_numbered(base, new, "content") };
    decided(base, new, &lines, Some(1), true, "content")
}

/// Refuses the text of a new file if all of its lines, at least two, are numbered from 1 as a reply numbers them.
///
/// Errors: `call.invalid`.
pub(crate) fn check_new_file(new: &str) -> Result<()> {
    match copied(new) {
        Some(lines)
            if lines.first == 1
                && lines.rests.len() > 1
                && (new.lines().all(is_read_shape)
                    || new.lines().next().is_some_and(numbers::is_header)
                    || are_rows_with_colons(&lines)) =>
        {
            Err(numbers_refusal(new, "Every line of the new text begins with a line number.", "content"))
        }
        _ => Ok(()),
    }
}

/// Removes copied line numbers from the added lines of a hunk; `None` unless all of them have numbers in the form of
/// `read`, or if other lines of the hunk have numbers as well.
pub(super) fn uncopied_hunk(hunk: &Hunk) -> Option<Hunk> {
    let added: Vec<&str> = added(hunk).map(|line| &*line.text).collect();
    let others = hunk.lines.iter().filter(|line| line.kind != HunkLineKind::Added);
    // Lines that consist only of numbers are data.
    let has_text = added.iter().any(|line| line.chars().any(|ch| !ch.is_ascii_digit() && !ch.is_whitespace()));
    if !has_text
        || !added.iter().all(|line| is_read_shape(line))
        || others.into_iter().any(|line| numbers::has_number(&line.text))
    {
        return None;
    }
    let mut rests =
        numbers::numbered(&added)?.rests.into_iter().map(str::to_owned).collect::<Vec<String>>().into_iter();
    let mut bare_hunk = hunk.clone();
    for line in bare_hunk.lines.iter_mut().filter(|line| line.kind == HunkLineKind::Added) {
        line.text = rests.next()?;
    }
    Some(bare_hunk)
}

fn added(hunk: &Hunk) -> impl Iterator<Item = &HunkLine> {
    hunk.lines.iter().filter(|line| line.kind == HunkLineKind::Added)
}

/// True for a text with a line that has a number in the form of `read`.
fn has_read_shape(text: &str) -> bool {
    // Most texts have none of the signs after a number, and this search is much faster than a test of each line.
    memchr::memchr2(b'\t', ARROW.as_bytes()[0], text.as_bytes()).is_some() && work::lines(text).any(is_read_shape)
}

/// True for a line with a number in the form of `read`: padded, with a tab or an arrow after it.
fn is_read_shape(line: &str) -> bool {
    let digits = line.trim_start_matches(' ');
    let rest = digits.trim_start_matches(|ch: char| ch.is_ascii_digit());
    rest.len() < digits.len() && (rest.starts_with('\t') || rest.starts_with(ARROW)) && numbers::is_padded(line)
}

/// True for a text with lines that have a number: in the form of `read` anywhere, in any form among its first lines.
fn has_numbers(text: &str) -> bool {
    let is_numbered = |line: &str| may_have_number(line) && numbers::has_number(line);
    has_read_shape(text) || work::lines(text).take(EXAMINED_LINES_MAX).any(is_numbered)
}

/// False for most lines, which need no closer look.
fn may_have_number(line: &str) -> bool {
    let first = line.bytes().find(|byte| !matches!(byte, b' ' | b'\t' | b'>'));
    // A blank of another script may be in front of a number.
    first.is_some_and(|byte| byte.is_ascii_digit() || !byte.is_ascii())
}

/// Refuses new text in which some lines are numbered lines of the file, as replies show them.
fn refuse_partly_numbered(base: &Snapshot, new: &str, field: &'static str) -> Result<Option<String>> {
    if has_copies(base, new) {
        return Err(numbers_refusal(new, "Some lines of the new text begin with a line number.", field));
    }
    Ok(None)
}

/// True if a line is a numbered line of the file, at that number.
fn has_copies(base: &Snapshot, new: &str) -> bool {
    let own = split(base.text());
    work::lines(new).filter(|line| numbers::has_number(line)).any(|line| is_copy(&own, line))
}

/// True for a numbered line whose text is in the file at that number. A space after the number may belong to it. Unless
/// the number has the form of `read`, the line must not be so short that a table may have it.
fn is_copy(file: &[&str], line: &str) -> bool {
    let Some(lines) = numbers::numbered(&[line]) else { return false };
    let there = lines.first.checked_sub(1).and_then(|at| file.get(at));
    lines.rests.first().zip(there).is_some_and(|(rest, there)| {
        let is_telling = is_read_shape(line) || fold::count_alnum(rest, COPIED_ALNUM_MIN) >= COPIED_ALNUM_MIN;
        !rest.trim().is_empty() && is_telling && (rest == there || rest.strip_prefix(' ') == Some(*there))
    })
}

/// Removes copied line numbers from lines to be inserted after line `line`, 0 for the beginning; `None` if they have
/// none.
///
/// Errors: `call.invalid` for numbers without proof that they were copied.
pub(crate) fn uncopied_insertion(base: &Snapshot, line: usize, new: &str) -> Result<Option<String>> {
    let numbered = copied(new);
    if numbered.is_none() && !has_numbers(new) {
        return Ok(None);
    }
    let own = split(base.text());
    let beside = &own[line.saturating_sub(1).min(own.len())..(line + 1).min(own.len())];
    if is_blank_or_numbered(&own) || beside.iter().any(|line| numbers::has_number(line)) {
        return Ok(None);
    }
    let Some(lines) = numbered else { return refuse_partly_numbered(base, new, "insert_text") };
    // Lines with tabs may be a table whose first column is a number.
    let suspicious = !beside.iter().any(|line| line.contains('\t'));
    decided(base, new, &lines, Some(line + 1), suspicious, "insert_text")
}

/// Removes copied line numbers from rows that replace the lines `first` to `last`, or are inserted so that the first of
/// them becomes line `first`. `None` unless every row has the number of the line that it becomes, in the form of a
/// reply, and the lines of the file there have no numbers of their own.
pub(crate) fn uncopied_rows(base: &Snapshot, first: usize, last: usize, new: &str) -> Option<String> {
    let lines = copied(new).filter(|lines| lines.first == first && [':', '\t', '→'].contains(&lines.sign))?;
    if has_single_blanks(&lines) || lines.rests.iter().all(|rest| is_literal(rest)) {
        return None;
    }
    let (index, text) = (base.lines(), base.text());
    let last = last.min(first.saturating_add(EXAMINED_LINES_MAX)).saturating_add(1).min(index.count(text));
    let beside = (first.saturating_sub(1).max(1)..=last).map(|line| &text[index.span_of(text, line, line).range()]);
    let padded = || split(new).iter().all(|line| numbers::is_padded(line));
    let is_table = |line: &str| lines.sign != ':' && line.contains('\t') && !padded();
    if beside.into_iter().any(|line| numbers::has_number(line) || is_table(line)) {
        return None;
    }
    let mut bare = lines.rests.join("\n");
    if new.ends_with('\n') {
        bare.push('\n');
    }
    Some(bare)
}

/// True for several lines in the shape of rows of hashline, `N:TEXT`, which are not the entries of a table.
fn are_rows_with_colons(lines: &NumberedLines<'_>) -> bool {
    lines.sign == ':'
        && lines.rests.len() > 1
        && !has_single_blanks(lines)
        && !lines.rests.iter().all(|rest| is_literal(rest))
}

/// True if every row has a number in the form of `read`.
pub(crate) fn are_read_rows(text: &str) -> bool {
    work::lines(text).all(is_read_shape)
}

/// True for rows such as `2: x`: with a single space, a person or a table wrote them.
fn has_single_blanks(lines: &NumberedLines<'_>) -> bool {
    lines.rests.iter().any(|rest| rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(|ch| ch != ' ')))
}

/// Returns the number and the text of a line of a reply.
pub(crate) fn numbered(line: &str) -> Option<(usize, &str)> {
    let lines = numbers::numbered(&[line])?;
    Some((lines.first, lines.rests.first().copied()?))
}

/// True for a single literal, with or without a comma, as it follows the numeric key of a table.
pub(crate) fn is_literal(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_suffix([',', ';']).unwrap_or(text);
    let quoted = ['"', '\'', '`'].iter().any(|&quote| {
        text.len() > 1 && text.starts_with(quote) && text.ends_with(quote) && !text[1..text.len() - 1].contains(quote)
    });
    quoted
        || matches!(text, "true" | "false" | "null" | "None" | "True" | "False" | "nil")
        || text.parse::<f64>().is_ok()
}

/// True if the lines are blank, or if the file's own lines begin with numbers.
fn is_blank_or_numbered(own: &[&str]) -> bool {
    let looked_at = own.iter().take(EXAMINED_LINES_MAX).filter(|line| !line.trim().is_empty());
    let (all, with) =
        looked_at.fold((0, 0), |(all, with), line| (all + 1, with + usize::from(numbers::has_number(line))));
    all == 0 || with * 2 > all
}

/// Returns the lines of a text if all of them have consecutive numbers in the form of a reply.
fn copied(new: &str) -> Option<NumberedLines<'_>> {
    let first = new.split('\n').find(|line| !numbers::is_header(line))?;
    numbers::has_number(first).then(|| numbers::numbered(&split(new)))?
}

fn decided(
    base: &Snapshot,
    new: &str,
    lines: &NumberedLines<'_>,
    place: Option<usize>,
    suspicious: bool,
    field: &'static str,
) -> Result<Option<String>> {
    let in_table = ['\t', '→'].contains(&lines.sign);
    let padded = in_table && split(new).iter().all(|line| numbers::is_padded(line));
    let at_place = in_table && suspicious && place == Some(lines.first);
    // In `12: text`, the space may belong to the tool's separator: the lines of the file decide.
    let spaced = !in_table && lines.padded && !lines.set_off && is_there(base, lines, true);
    // Several lines with a colon are at the very place that their numbers name.
    let by_colon = place == Some(lines.first) && are_rows_with_colons(lines);
    if padded || at_place || by_colon || spaced || is_there(base, lines, lines.set_off) {
        let mut text = lines.lines(lines.set_off || spaced).join("\n");
        if new.ends_with('\n') {
            text.push('\n');
        }
        return Ok(Some(text));
    }
    if !has_copies(base, new) && (!suspicious || !in_table || lines.rests.len() < 2) {
        return Ok(None);
    }
    Err(numbers_refusal(new, "Every line of the new text begins with a line number.", field))
}

fn numbers_refusal(new: &str, what: &'static str, field: &'static str) -> Error {
    Error::new(Code::CallInvalid, what)
        .evidence(
            new.lines().take(3).map(|line| line_format::clip(line).into_owned()).collect::<Vec<String>>().join("\n"),
        )
        .next(
            advice![
                "Send ",
                Phrase::Field(field),
                " without the numbers and the signs after them; if they belong to the text, repeat the call with ",
                Phrase::Set("match", "exact".into()),
                "."
            ]
            .or("Send the text without the numbers and the signs after them."),
        )
        .about(ErrorContext::LineNumbers)
}

/// True if at least half of the lines are in the file, with the same numbers.
fn is_there(base: &Snapshot, lines: &NumberedLines<'_>, pad: bool) -> bool {
    let rests = lines.lines(pad);
    let text = split(base.text());
    let filled = || rests.iter().zip(lines.first..).filter(|(rest, _)| !rest.trim().is_empty());
    let same =
        filled().filter(|(rest, number)| number.checked_sub(1).and_then(|at| text.get(at)) == Some(*rest)).count();
    same > 0 && same * 2 >= filled().count()
}

#[cfg(test)]
mod tests {
    use crate::code::Code;
    use crate::locate::find::testing::{attempt, edit, refuse};
    use crate::text::snapshot::Snapshot;

    const FILE: &str = "fn one() {\n    first();\n    second();\n}\n";

    #[test]
    fn copied_line_numbers_are_removed() {
        let want = FILE.replace("second", "third");
        assert_eq!(edit(FILE, "    second();", "     3\t    third();"), want);
        assert_eq!(edit(FILE, "    first();\n    second();\n", "     2\t    first();\n     3\t    third();\n"), want);
        // The numbers are not padded, but they are those of the lines that the edit replaces.
        assert_eq!(edit(FILE, "    first();\n    second();", "2→    first();\n3→    third();"), want);
        assert_eq!(edit(FILE, "    first();\n    second();", "2:    first();\n3:    third();"), want);
        let (_, resolved) = attempt(FILE, "    second();", "     3\t    third();", false).unwrap();
        assert!(resolved.ops[0].notes[0].to_string().contains("removed"), "{:?}", resolved.ops[0].notes);
    }

    #[test]
    fn rows_of_hashline_are_recognized() {
        let want = FILE.replace("first", "one").replace("second", "two");
        assert_eq!(edit(FILE, "    first();\n    second();", "2:    one();\n3:    two();"), want);
        let base = Snapshot::from_text(FILE);
        let rows = "1:fn one() {\n2:    one();\n3:    two();\n4:}\n";
        for header in ["", "¶a.rs#1A2B\n", "[a b.rs#1A2B]\n"] {
            let text = format!("{header}{rows}");
            assert_eq!(super::without_copied_numbers(&base, &text).unwrap().as_deref(), Some(&*want), "{text}");
        }
        assert!(super::check_new_file(&format!("¶a.rs#1A2B\n{rows}")).is_err());
        // The numbers are those of another place, the rows are literals of a table, or each has a single space; the
        // last text has only one line.
        for new in ["7:    one();\n8:    two();", "2:\"a\",\n3:\"b\",", "2: one\n3: two"] {
            assert_eq!(
                edit(FILE, "    first();\n    second();", new),
                FILE.replace("    first();\n    second();", new)
            );
        }
        assert_eq!(edit(FILE, "    first();", "2:one"), FILE.replace("    first();", "2:one"));
    }

    #[test]
    fn other_leading_numbers_are_kept_or_refused() {
        let error = refuse(FILE, "    second();", "7\tone\n8\ttwo");
        assert_eq!((error.code(), error.data()["reason"].as_str()), (Code::CallInvalid, Some("line_numbers")));
        for (file, old, new) in [
            ("id\tname\n1\tanna\n", "1\tanna", "1\tanna\n2\tbert"),
            ("id\tname\n", "id\tname", "1\tanna\n2\tbert"),
            ("list\n", "list", "1: a\n2: b"),
            ("list\n", "list", "5\tname"),
        ] {
            assert_eq!(edit(file, old, new), file.replace(old, new));
        }
    }

    #[test]
    fn inserted_lines_lose_copied_numbers() {
        let of = |file: &str, line: usize, new: &str| {
            super::uncopied_insertion(&Snapshot::from_text(file), line, new).map_err(|error| error.code())
        };
        let stripped = Ok(Some("    third();\n".to_owned()));
        assert_eq!(of(FILE, 3, "     4\t    third();\n"), stripped);
        assert_eq!(of(FILE, 3, "4\t    third();\n"), stripped);
        assert_eq!(of(FILE, 0, "     1\t// first\n     2\t// second\n"), Ok(Some("// first\n// second\n".to_owned())));
        // The numbers are those of another place, on more than one line.
        assert_eq!(of(FILE, 1, "7\tone\n8\ttwo\n"), Err(Code::CallInvalid));
        for (file, line, new) in [
            (FILE, 3, "    third();\n"),
            (FILE, 3, "4: four\n"),
            ("1\tanna\n2\tbert\n", 2, "3\tcarl\n"),
            ("id\tname\n", 1, "2\tanna\n3\tbert\n"),
            ("", 0, "1\tanna\n2\tbert\n"),
        ] {
            assert_eq!(of(file, line, new), Ok(None), "{new}");
        }
    }

    #[test]
    fn number_with_colon_and_blank_is_removed_beside_lines_of_the_file() {
        assert_eq!(
            edit(FILE, "    first();\n    second();\n", "2:     first();\n3:     third();\n"),
            FILE.replace("second", "third")
        );
        assert_eq!(edit("a\nb\n", "b", "1: one"), "a\n1: one\n");
    }

    #[test]
    fn partly_numbered_text_is_refused_if_a_numbered_line_is_the_files() {
        let error = refuse(FILE, "    first();\n", "     2\t    first();\n    zero();\n");
        assert_eq!((error.code(), error.data()["reason"].as_str()), (Code::CallInvalid, Some("line_numbers")));
        assert_eq!(edit("a\n", "a", "x\n     7\ty"), "x\n     7\ty\n");
        // Any other form, with numbers on some lines or on all of them.
        for new in [
            "2:     first();\n3:     third();\nzero();",
            "2\t    first();\nzero();",
            "  2 |     first();\n  3 | x\n  4 | y",
        ] {
            assert_eq!(refuse(FILE, "    first();\n", new).code(), Code::CallInvalid, "{new}");
        }
        assert_eq!(edit("a\nb\n", "b", "2:b\nc"), "a\n2:b\nc\n");
    }

    #[test]
    fn text_of_a_new_file_numbered_as_read_does_is_refused() {
        for text in ["     1\tone\n     2\ttwo\n", "1:if one:\n2:    two()\n"] {
            assert!(super::check_new_file(text).is_err(), "{text}");
        }
        for text in [
            "1: one\n2: two\n", "1:\"one\",\n2:\"two\",\n", "1:one\n", "2:one\n3:two\n", "1\tone\n2\ttwo\n",
            "     1\tone\n", "     5\tone\n     6\ttwo\n", "one\n", "",
        ] {
            assert!(super::check_new_file(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn whole_texts_are_checked_too() {
        let of = |file: &str, new: &str| super::without_copied_numbers(&Snapshot::from_text(file), new);
        assert_eq!(of(FILE, "     1\tfn two() {\n     2\t}\n").unwrap().unwrap(), "fn two() {\n}\n");
        assert_eq!(of(FILE, "1\tfn two() {\n2\t}\n").unwrap().unwrap(), "fn two() {\n}\n");
        assert_eq!(of(FILE, "7\tfn two() {\n8\t}\n").unwrap_err().code(), Code::CallInvalid);
        assert_eq!(of("1\tanna\n2\tbert\n", "1\tanna\n2\tcarl\n").unwrap(), None);
        assert_eq!(of(FILE, "fn two() {\n}\n").unwrap(), None);
    }
}

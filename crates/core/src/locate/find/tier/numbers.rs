//! Tier 8: line numbers copied with the text.
//!
//! Every line of the old text has a number (`12<TAB>`, `12→`, `12:`, `12 |`, `12│`), the numbers are consecutive, and
//! one header line (`¶…`) may precede them. Rows that a reply marks as removed (`-`, spaces, a tab) are dropped,
//! because the file does not have them any more; after a dry run the file has them, and lacks the rows marked as new.
//! If all lines of the new text that are not blank have a number, the numbers are removed from it as well; if none has
//! one, the new text is used as it is; a mixture is refused, and so are numbers that may be text. Then tiers 2 to 6 are
//! tried. The number may select among equal sites.

use super::edges;
use super::{RULES, windows};
use crate::locate::find::match_site::CandidateSites;
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::{MatchSearch, PatternLines, adds_line_end};
use crate::text::fold::{self, is_blank};
use std::rc::Rc;

pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let lines = without_removed(&search.pattern.old);
    for old in [numbered(&lines), rows_before_change(&search.pattern.old)].into_iter().flatten() {
        let candidates = without_numbers(search, &old)?;
        if !candidates.places.is_empty() {
            return Ok(candidates);
        }
    }
    Ok(CandidateSites::default())
}

fn without_numbers<'a>(search: &MatchSearch<'a>, old: &NumberedLines<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let new = stripped_new(&new_rows(search, old), old);
    let number = Some(old.first).filter(|number| *number > 0);
    // Some tools print a space after the separator. Only if every line has it may it belong to the tool.
    let padded = old.padded && new.as_ref().is_none_or(|new| new.padded);
    let mut attempts = Vec::new();
    // `12 | text` has a space on either side of the separator.
    let pads: &[bool] = match (padded, old.set_off) {
        (true, true) => &[true],
        (true, false) => &[true, false],
        (false, _) => &[false],
    };
    for &pad in pads {
        let text = new.as_ref().map_or(Vec::new(), |new| new.lines(pad));
        let wanted = PatternLines { old: old.lines(pad), new: text, changes: None };
        let edges = edges::trimmed(&wanted);
        for wanted in [Some(wanted), edges].into_iter().flatten() {
            let windows = search.windows(&wanted.old);
            attempts.push((Rc::new(wanted), windows));
        }
    }
    // An exact indentation takes precedence. If it is unclear whether the space belongs to the tool or to the line, and
    // the new text has no numbers that would decide it, no shift is tried: the new text would be shifted by that space.
    let open = pads.len() > 1 && new.as_ref().is_some_and(|new| !new.bared && !new.rests.is_empty());
    let rules: &[&[&windows::WindowRule]] = if open { &[&RULES[..2]] } else { &[&RULES[..2], &RULES[2..]] };
    for rules in rules {
        for (wanted, windows) in &attempts {
            for rule in *rules {
                let candidates = windows::matching_windows(search, wanted, windows, rule)?;
                if candidates.places.is_empty() {
                    continue;
                }
                if new.is_none() {
                    return Err(MatchRefusal::new(RefusalReason::Unrepaired, PARTLY_NUMBERED));
                }
                return Ok(CandidateSites { number, ..candidates });
            }
        }
    }
    Ok(CandidateSites::default())
}

/// Returns the new text by lines. Rows are whole lines: a line end that only the new text has at its end adds nothing,
/// but after a blank last row of the old text it is the line end before that row, which is kept.
fn new_rows<'a>(search: &MatchSearch<'a>, old: &NumberedLines<'a>) -> Vec<&'a str> {
    let mut rows = without_removed(&search.pattern.new);
    if adds_line_end(search.find, search.new) {
        rows.pop();
        let is_kept = rows.last().is_some_and(|row| !is_blank(prefix(row).map_or(row, |(_, _, rest)| rest)));
        if is_kept && old.rests.last().is_some_and(|row| is_blank(row)) {
            rows.push("");
        }
    }
    rows
}

const PARTLY_NUMBERED: &str = "The old text is there without its line numbers, but the new text has numbers on some \
     lines only, or has some that may be text: they do not continue those of the old text.";

/// Returns the old text without its numbers, if every line has one, for the failure report.
pub(in crate::locate::find) fn suggestion(search: &MatchSearch<'_>) -> Option<String> {
    let old = numbered(&search.pattern.old)?;
    Some(old.lines(old.padded).join("\n"))
}

/// Returns the zero-based lines of the file that the numbers of the old text name, if the file has all of them.
pub(in crate::locate::find) fn lines_named(search: &MatchSearch<'_>) -> Option<core::ops::Range<usize>> {
    let old = numbered(&search.pattern.old)?;
    let first = old.first.checked_sub(1)?;
    let lines = first..first + old.rests.len();
    (lines.end <= search.lines().count()).then_some(lines)
}

/// Lines whose numbers were removed.
pub(in crate::locate::find) struct NumberedLines<'a> {
    pub(in crate::locate::find) rests: Vec<&'a str>,
    pub(in crate::locate::find) first: usize,
    pub(in crate::locate::find) sign: char,
    /// True if every line that is not empty has a space after the separator, which may belong to the tool.
    pub(in crate::locate::find) padded: bool,
    /// True if the separator has a space before it as well.
    pub(in crate::locate::find) set_off: bool,
    /// True if blanks are in front of a number.
    indented: bool,
    /// True if the last line is a number alone.
    ends_alone: bool,
    /// False for text that had no numbers.
    bared: bool,
}

impl<'a> NumberedLines<'a> {
    pub(in crate::locate::find) fn lines(&self, pad: bool) -> Vec<&'a str> {
        self.rests
            .iter()
            .map(|rest| if pad && self.bared { rest.strip_prefix(' ').unwrap_or(rest) } else { *rest })
            .collect()
    }
}

/// Splits a line into its number, separator and rest.
fn prefix(line: &str) -> Option<(usize, char, &str)> {
    let line = unmarked(line);
    let digits = line.len() - line.trim_start_matches(|ch: char| ch.is_ascii_digit()).len();
    if digits == 0 || digits > 9 {
        return None;
    }
    let number = line[..digits].parse().ok()?;
    let rest = &line[digits..];
    let spaced = rest.trim_start_matches(' ');
    let sign = rest.chars().next().unwrap_or('\0');
    match sign {
        '\t' | '→' | ':' => Some((number, sign, &rest[sign.len_utf8()..])),
        // The line is empty, and lost its separator with its trailing whitespace.
        _ if spaced.is_empty() => Some((number, '\0', "")),
        _ => {
            let sign = spaced.chars().next().filter(|ch| ['|', '│', '→'].contains(ch))?;
            Some((number, sign, &spaced[sign.len_utf8()..]))
        }
    }
}

/// Strips the spaces, and the mark of a changed line, before the number.
fn unmarked(line: &str) -> &str {
    let line = fold::trim_blanks_start(line);
    match line.strip_prefix('>') {
        Some(rest) if rest.starts_with([' ', '\t']) => fold::trim_blanks_start(rest),
        _ => line,
    }
}

/// Returns the text of a removed line as a reply shows it: a minus sign, the number or spaces in its place, a tab.
pub(crate) fn removed_row(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('-')?;
    let (pad, text) = rest.split_once('\t')?;
    (pad.len() >= REMOVED_PADDING_MIN && pad.trim_start_matches(' ').bytes().all(|byte| byte.is_ascii_digit()))
        .then_some(text)
}

/// Drops the rows that a reply marks as removed, unless there are no other rows.
fn without_removed<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let kept: Vec<&str> = lines.iter().copied().filter(|line| removed_row(line).is_none()).collect();
    if kept.iter().all(|line| is_blank(line)) { lines.to_vec() } else { kept }
}

/// Returns the rows of a reply to a dry run without those that the reply marks as new; `None` if none is marked as
/// removed.
fn rows_before_change<'a>(lines: &[&'a str]) -> Option<NumberedLines<'a>> {
    lines.iter().find_map(|line| removed_row(line))?;
    let (mut first, mut last, mut rests) = (0, None, Vec::with_capacity(lines.len()));
    for line in lines {
        if let Some(text) = removed_row(line) {
            last = last.map(|last| last + 1);
            rests.push(text);
        } else if !line.trim_start().starts_with('>') {
            let (number, sign, rest) = prefix(line)?;
            if sign != '\t' || last.is_some_and(|last| number != last + 1) {
                return None;
            }
            first = if rests.is_empty() { number } else { first };
            last = Some(number);
            rests.push(rest);
        }
    }
    let indented = has_indented_number(lines);
    Some(NumberedLines {
        rests,
        first,
        sign: '\t',
        padded: false,
        set_off: false,
        indented,
        ends_alone: false,
        bared: true,
    })
}

/// Minimum number of spaces or digits between the sign of a removed line and its tab.
const REMOVED_PADDING_MIN: usize = 4;

/// True when a line begins with a number and a separator.
pub(in crate::locate::find) fn has_number(line: &str) -> bool {
    prefix(line).is_some_and(|(_, sign, _)| sign != '\0')
}

/// Returns the lines without their numbers, if all have one and they are consecutive.
pub(in crate::locate::find) fn numbered<'a>(lines: &[&'a str]) -> Option<NumberedLines<'a>> {
    let (mut last, mut first, mut sign) = (None, 0, '\0');
    let mut rests = Vec::with_capacity(lines.len());
    for line in without_header(lines) {
        let (number, own, rest) = prefix(line)?;
        if last.is_some_and(|last| number != last + 1) || (own != '\0' && sign != '\0' && own != sign) {
            return None;
        }
        if last.is_none() {
            first = number;
        }
        last = Some(number);
        sign = if own == '\0' { sign } else { own };
        rests.push(rest);
    }
    let padded = are_spaced(&rests, sign);
    let set_off = without_header(lines)
        .iter()
        .all(|line| unmarked(line).trim_start_matches(|ch: char| ch.is_ascii_digit()).starts_with(' '));
    let ends_alone = lines.last().and_then(|line| prefix(line)).is_some_and(|(_, sign, _)| sign == '\0');
    let indented = has_indented_number(lines);
    (sign != '\0').then_some(NumberedLines { rests, first, sign, padded, set_off, indented, ends_alone, bared: true })
}

fn has_indented_number(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.starts_with([' ', '\t']))
}

/// True if every row that is not empty has a space after the separator.
fn are_spaced(rests: &[&str], sign: char) -> bool {
    sign != '\t' && rests.iter().all(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Skips a header line of `read` before the numbered lines.
fn without_header<'s, 'a>(lines: &'s [&'a str]) -> &'s [&'a str] {
    match lines.split_first() {
        Some((header, rest)) if is_header(header) && !rest.is_empty() => rest,
        _ => lines,
    }
}

/// True for the header that `read` prints above the lines of hashline: `¶PATH#TAG` or `[PATH#TAG]`.
pub(in crate::locate::find) fn is_header(line: &str) -> bool {
    let line = line.trim_end();
    let bracketed = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')?.rsplit_once('#'));
    line.starts_with('¶') || bracketed.is_some_and(|(path, tag)| !path.is_empty() && is_tag(tag))
}

/// True for four hexadecimal digits with capital letters.
fn is_tag(tag: &str) -> bool {
    tag.len() == 4 && tag.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'))
}

/// Returns the new text without its numbers; unchanged if no line has one; `None` for a mixture, and for numbers that
/// may be text.
fn stripped_new<'a>(lines: &[&'a str], old: &NumberedLines<'_>) -> Option<NumberedLines<'a>> {
    let (lines, sign) = (without_header(lines), old.sign);
    let own = |line: &&'a str| prefix(line).filter(|&(_, own, _)| own == sign || (own == '\0' && lines.len() > 1));
    let rows: Vec<&str> = lines.iter().copied().filter(|line| !is_blank(line)).collect();
    let found: Vec<_> = rows.iter().map(own).collect();
    let signs = found.iter().flatten().filter(|(_, own, _)| *own == sign).count();
    let rests: Vec<&str> = if signs == 0 {
        lines.to_vec()
    } else if found.iter().all(Option::is_some) && are_copied(&rows, old) {
        lines.iter().map(|line| own(line).map_or(*line, |(_, _, rest)| rest)).collect()
    } else {
        return None;
    };
    let bared = signs > 0;
    // A single number without text represents an empty text.
    let rests = if bared && rests.len() == 1 && is_blank(rests[0]) { Vec::new() } else { rests };
    // Text without numbers is no evidence about the space after the separator.
    let padded = !bared || are_spaced(&rests, sign);
    let (indented, ends_alone) = (false, false);
    Some(NumberedLines { rests, first: 0, sign, padded, set_off: false, indented, ends_alone, bared })
}

/// True if the numbers of the new rows can only be line numbers: they have the columns of those in the old text, and go
/// up from its first one by no more than there are rows. Models repeat a number on added lines, or write 0. A number
/// alone is an empty line only if the rows around it count it.
fn are_copied(rows: &[&str], old: &NumberedLines<'_>) -> bool {
    let prefixes: Vec<_> = rows.iter().filter_map(|line| prefix(line)).collect();
    let end = old.first.saturating_add(rows.len().max(old.rests.len()));
    let (mut last, mut next) = (old.first, old.first);
    rows.iter().zip(&prefixes).enumerate().all(|(at, (line, &(number, sign, _)))| {
        let is_read = ['\t', '→'].contains(&sign) && is_padded(line);
        let is_in_column = old.indented || !line.starts_with([' ', '\t']);
        let is_counted = if sign == '\0' {
            number == next && prefixes.get(at + 1).map_or(old.ends_alone, |&(below, _, _)| below > number)
        } else {
            number == 0 || (last..end).contains(&number)
        };
        next = number + 1;
        last = if is_counted { last.max(number) } else { last };
        is_read || is_in_column && is_counted
    })
}

/// The width to which `read` pads its numbers, in columns.
const NUMBER_PADDING: usize = 6;

/// True for a number in the form of a reply: padded to its width.
pub(crate) fn is_padded(line: &str) -> bool {
    let digits = line.trim_start_matches(' ');
    let end = digits.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(digits.len());
    line.len() - digits.len() + end >= NUMBER_PADDING
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn every_form_of_line_number_is_recognized() {
        for (a, b) in [
            ("2\t", "3\t"),
            ("2→", "3→"),
            ("2:", "3:"),
            ("  2 | ", "  3 | "),
            ("2|", "3|"),
            ("2│ ", "3│ "),
            ("¶a.rs#1A2B\n2:", "3:"),
        ] {
            let old = format!("{a}b = 22222\n{b}c = 3");
            for new in [format!("{a}b = 33333\n{b}c = 3"), "b = 33333\nc = 3".to_owned()] {
                assert_eq!(edit("a = 1\nb = 22222\nc = 3\n", &old, &new), "a = 1\nb = 33333\nc = 3\n", "{old}");
            }
        }
        assert_eq!(
            edit(
                "class E {\n    value = 0;\n}\n",
                "1 | class E {\n2 |     value = 0;\n3 | }",
                "1 | class E {\n2 |     value = 1;\n3 | }"
            ),
            "class E {\n    value = 1;\n}\n"
        );
    }

    #[test]
    fn mark_of_a_changed_line_is_removed_with_its_number() {
        let file = "alpha()\nsame()\nomega()\n";
        assert_eq!(edit(file, ">     2\tsame()", "other()"), file.replace("same", "other"));
        let old = "      1\talpha()\n>     2\tsame()\n      3\tomega()";
        assert_eq!(edit(file, old, &old.replace("same", "other")), file.replace("same", "other"));
    }

    #[test]
    fn rows_of_removed_lines_are_not_searched_for() {
        let file = "alpha()\nsame()\nomega()\n";
        let old = "      1\talpha()\n-      \tgone()\n>     2\tsame()\n      3\tomega()";
        let want = file.replace("same", "other");
        assert_eq!(edit(file, old, "alpha()\nother()\nomega()"), want);
        assert_eq!(edit(file, old, &old.replace("same", "other")), want);
        assert_eq!(edit(file, "-      \tsame()", "other()"), want);
        let dry = "      1\talpha()\n-      \tsame()\n>     2\tother()\n      3\tomega()";
        assert_eq!(edit(file, dry, "alpha()\nother()\nomega()"), want);
        refuse(file, "- \tsame()", "other()");
        refuse(file, "-      \tgone()\n>     2\tother()", "x()");
    }

    #[test]
    fn indentation_after_the_separator_is_kept() {
        let file = "fn f() {\n    alpha();\n    if x {\n        beta();\n    }\n}\n";
        assert_eq!(
            edit(file, "2:    alpha();\n3:    if x {", "2:    alpha();\n3:    if y {\n4:        gamma();\n5:}"),
            "fn f() {\n    alpha();\n    if y {\n        gamma();\n}\n        beta();\n    }\n}\n"
        );
        assert_eq!(
            edit("load_config()\nstart_all()\n", "2→ start_all()", "2→ stop_all()"),
            "load_config()\nstop_all()\n"
        );
    }

    #[test]
    fn number_selects_the_line_and_is_ignored_on_added_lines() {
        assert_eq!(
            edit("item = load_next()\nitem = load_next()\n", "2\titem = load_next()", "2\titem = load_last()"),
            "item = load_next()\nitem = load_last()\n"
        );
        assert_eq!(
            edit("run_it();\n}\n", "1 | run_it();\n2 | }", "1 | run_it();\n0 | stop_it();\n2 | }"),
            "run_it();\nstop_it();\n}\n"
        );
    }

    #[test]
    fn numbers_that_may_be_text_are_refused() {
        let file = "alpha one\nbeta two\n";
        for (old, new) in [
            ("1\talpha one\n2\tbeta two", "1\talpha one\n404\n500\n2\tbeta two"),
            ("1: alpha one\n2: beta two", "1: alpha one\n8080: \"x\",\n2: beta two"),
            ("2\tbeta two", "404\tbeta two"),
            ("1\talpha one\n2\tbeta two", "404\tone\n405\ttwo"),
            ("1:alpha one\n2:beta two", "1:alpha one\n2:beta two\n    3: \"x\","),
            ("1\talpha one\n2\tbeta two", "1\talpha one\n2\tbeta two\n3"),
        ] {
            refuse(file, old, new);
        }
        // A number alone is an empty line if the rows around it count it, or if the old text ends in such a row, too.
        assert_eq!(edit(file, "1\talpha one\n2\tbeta two", "1\talpha one\n2\n3\tbeta two"), "alpha one\n\nbeta two\n");
        assert_eq!(edit("alpha one\n\n", "1\talpha one\n2", "1\talpha two\n2"), "alpha two\n\n");
        // Rows from elsewhere in the form of `read`, a line that is gone, and a number that is repeated.
        assert_eq!(edit(file, "     2\tbeta two", "     2\tbeta two\n    90\tz"), "alpha one\nbeta two\nz\n");
        assert_eq!(edit(file, "1\talpha one\n2\tbeta two", "2\tbeta two"), "beta two\n");
        assert_eq!(edit(file, "1:alpha one\n2:beta two", "1:alpha one\n1:x\n2:beta two"), "alpha one\nx\nbeta two\n");
    }

    #[test]
    fn new_text_without_numbers_is_used_unchanged() {
        let file = "class A {\n    run() {\n        go(value);\n    }\n}\n";
        let old = "2 |     run() {\n3 |         go(value);";
        let want = "class A {\n    run() {\n        stop(value);\n    }\n}\n";
        assert_eq!(edit(file, old, "    run() {\n        stop(value);"), want);
        assert_eq!(edit("a = 1\nremove_me()\n", "2 | remove_me()", "2 | "), "a = 1\n");
        refuse("\tfirst_call()\n\tsecond()\n", "1: first_call()\n2: second()", "third()");
        assert_eq!(edit("\tfirst_call()\n\tsecond()\n", "1 | first_call()\n2 | second()", "third()"), "\tthird()\n");
        assert_eq!(
            edit("first_call()\n", "1\tfirst_call()\n2\t\n", "1\tfirst_call()\n2\tmore()\n"),
            "first_call()\nmore()\n"
        );
    }

    #[test]
    fn short_line_with_its_number_is_found() {
        assert_eq!(edit("f()\nx\n", "2\tx\n", "2\ty\n"), "f()\ny\n");
        assert_eq!(edit("f {\n  x\n}\n", "     2→  x", "  y"), "f {\n  y\n}\n");
        refuse("x\nx\n", "7\tx\n", "7\ty\n");
        refuse("}\n", "1\t}\n", "1\t)\n");
    }

    #[test]
    fn incomplete_evidence_is_refused() {
        refuse("b = 22222\nc = 3\n", "2\tb = 22222\n3\tc = 3", "2\tb = 22222\nd = 4\n3\tc = 3");
        refuse("b = 22222\nc = 3\n", "2\tb = 22222\n9\tc = 3", "b = 1");
        refuse("b = 22222\nc = 3\n", "2\tb = 22222\nc = 3", "b = 1");
    }
}

//! Lines of only dots, and remarks about omitted text: they are placeholders if lines of the old text would be lost in
//! their place.

use super::phrase;
use super::remark::{self, RemarkKind};
use super::{fence_sign, is_elision};
use crate::text::diff;
use crate::text::lines::{count_line_ends, line_start, line_stop};
use crate::work;
use core::ops::Range;
use foldhash::{HashMap, HashMapExt as _, HashSet};

/// Number of lines of a body from which dots may not replace it.
const LOST_BODY_LINES: usize = 2;
/// Number of lines on either side of the dots that are searched for a line of the old text.
const CONTEXT_LINES: usize = 8;
/// Number of lines on either side that are examined for that, including those without words.
const EXAMINED_LINES: usize = 100;
/// Steps of work to compare the lines around one placeholder.
const CONTEXT_STEPS: usize = 100;
/// Steps of work for a line that may be a remark, and for each byte of it.
const REMARK_STEPS: usize = 16;
const REMARK_BYTE_STEPS: usize = 4;

/// Returns the dot lines in `new`, with their zero-based numbers, that replace lines of `old`: between the nearest
/// common lines around them, more old lines disappear than new lines appear. A comment of dots says nothing else, so
/// one line that disappears is enough.
pub(super) fn dots<'a>(old: &str, new: &'a str) -> Vec<(usize, &'a str)> {
    dots_for_lines(old, new, false)
}

/// Returns such lines that are lines of `old`, too. A comment of dots is not one of them.
pub(super) fn own_dots<'a>(old: &str, new: &'a str) -> Vec<(usize, &'a str)> {
    if work::lines(old).any(is_bare) { dots_for_lines(old, new, true) } else { Vec::new() }
}

fn dots_for_lines<'a>(old: &str, new: &'a str, is_own: bool) -> Vec<(usize, &'a str)> {
    let lines: Vec<&str> = work::lines(new).collect();
    let counted = (0..lines.len()).take_while(|_| !work::spend_or_end(1));
    let is_sought = |line: &str| if is_own { is_bare(line) } else { is_elision(line) };
    let dots: Vec<usize> = counted.filter(|&at| is_sought(lines[at])).collect();
    if dots.is_empty() {
        return Vec::new();
    }
    let texts = ComparedTexts::new(old, &lines);
    let fenced = fenced(&lines);
    dots.into_iter()
        .take_while(|_| !work::spend_or_end(CONTEXT_STEPS))
        .filter(|at| !fenced[*at] && texts.positions.contains_key(lines[*at].trim()) == is_own)
        .filter(|at| !texts.is_code(*at) && texts.replaces_lines(*at))
        .map(|at| (at, lines[at]))
        .collect()
}

/// Returns the remarks in `new` that are not in `old` and replace lines of it, with their zero-based numbers. If the
/// text has placeholders (`omits`), lines that count as placeholders everywhere are not included.
pub(super) fn remarks<'a>(old: &str, new: &'a str, omits: bool) -> Vec<(usize, &'a str)> {
    let changed = changed_part(old, new);
    let start = count_line_ends(&new.as_bytes()[..changed.start]);
    let counted = work::lines(&new[changed]).take_while(|line| !work::spend_or_end(remark_steps(line)));
    let found = counted.enumerate().filter_map(|(nth, line)| {
        let kind = remark::kind(line)?;
        let is_placeholder = omits && (is_elision(line) || phrase::is_placeholder(line));
        (!is_placeholder).then_some((start + nth, kind))
    });
    let found: Vec<(usize, RemarkKind)> = found.collect();
    if found.is_empty() {
        return Vec::new();
    }
    let lines: Vec<&str> = work::lines(new).collect();
    let texts = ComparedTexts::new(old, &lines);
    let fenced = fenced(&lines);
    let counted = found.into_iter().take_while(|_| !work::spend_or_end(CONTEXT_STEPS));
    let remarks = counted.filter(|&(at, kind)| {
        // One line less, and what may be a heading is one.
        let least = if kind == RemarkKind::Omission { 1 } else { 2 };
        let is_new = !texts.positions.contains_key(lines[at].trim());
        let (gone, fresh) = texts.gone_and_fresh(at);
        !fenced[at] && is_alone(&lines, at) && is_new && gone >= least && gone > fresh
    });
    remarks.map(|(at, _)| (at, lines[at])).collect()
}

/// Returns the steps of work to examine a line; longer ones are no remarks.
fn remark_steps(line: &str) -> usize {
    REMARK_STEPS + if line.len() > remark::LINE_BYTES_MAX { 0 } else { REMARK_BYTE_STEPS * line.len() }
}

/// Returns the whole lines of the new text between those with which both texts begin and end. Only such a line can be a
/// remark: the others are lines of the old text.
fn changed_part(old: &str, new: &str) -> Range<usize> {
    let (head, _) = diff::common_text_ends(old, new);
    let start = line_start(new, head);
    let tail = diff::common_suffix(&old.as_bytes()[start..], &new.as_bytes()[start..]);
    start..line_stop(new, new.len() - tail)
}

/// True unless the line belongs to a longer comment, and is thus part of a sentence. Adjacent lines of signs do not
/// count, except for the start of a documentation comment.
fn is_alone(lines: &[&str], at: usize) -> bool {
    let mut beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| lines.get(at));
    let continues = |line: &str| remark::is_comment(line) && (has_words(line) || line.trim_start().starts_with("/**"));
    !remark::is_comment(lines[at]) || !beside.any(|line| continues(line))
}

/// True for a line with letters or digits other than the words that open and close a comment.
fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric) && !matches!(line.trim(), "=begin" | "=end")
}

/// Two texts that are compared line by line.
struct ComparedTexts<'a> {
    lines: &'a [&'a str],
    /// The lines of the new text with words, in order.
    worded: Vec<usize>,
    /// For each line of the old text, and for its end, the number of lines with words before it that the new text
    /// lacks.
    lost_before: Vec<usize>,
    /// The positions of each line of the old text.
    positions: HashMap<&'a str, Vec<usize>>,
}

impl<'a> ComparedTexts<'a> {
    fn new(old: &'a str, lines: &'a [&'a str]) -> ComparedTexts<'a> {
        let old: Vec<&str> = work::lines(old).map(str::trim).collect();
        let counted = lines.iter().take_while(|_| !work::spend_or_end(1));
        let new: HashSet<&str> = counted.map(|line| line.trim()).collect();
        // A line of signs alone, such as the separator of YAML, may be replaced by another one without loss.
        let is_lost = |line: &str| has_words(line) && !new.contains(line);
        let counts = old.iter().scan(0, |count, line| {
            // Once the work has to end, the text is not examined any further, so the numbers need not be right.
            *count += usize::from(!work::spend_or_end(1) && is_lost(line));
            Some(*count)
        });
        let lost_before = core::iter::once(0).chain(counts).collect();
        let counted = (0..lines.len()).take_while(|at| !work::spend_or_end(1 + lines[*at].len() / work::STEP_BYTES));
        let worded = counted.filter(|&at| has_words(lines[at])).collect();
        ComparedTexts { lines, worded, lost_before, positions: positions(&old) }
    }
}

fn positions<'a>(lines: &[&'a str]) -> HashMap<&'a str, Vec<usize>> {
    let mut out: HashMap<&str, Vec<usize>> = HashMap::new();
    let filled = lines.iter().enumerate().filter(|(_, line)| !line.is_empty());
    for (at, line) in filled.take_while(|_| !work::spend_or_end(1)) {
        out.entry(line).or_default().push(at);
    }
    out
}

/// Marks the lines inside fences, which are examples.
fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut open = false;
    lines
        .iter()
        .map(|line| {
            open ^= fence_sign(line).is_some();
            open
        })
        .collect()
}

impl ComparedTexts<'_> {
    /// True for dots that have a meaning in the language: the body of a stub, a prompt in an example, the end of a
    /// document. If the old text has several lines in the body of the definition, dots are not meant as a stub.
    fn is_code(&self, at: usize) -> bool {
        let line = self.lines[at];
        if !is_bare(line) {
            return false;
        }
        let opened = self.above(at).is_some_and(|(_, fresh)| fresh == 0);
        if opened && self.surplus_lost(at) >= LOST_BODY_LINES {
            return false;
        }
        let above = self.lines[..at].iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
        let below = self.lines[at + 1..].iter().map(|line| line.trim()).find(|line| !line.is_empty());
        let yaml = !line.starts_with([' ', '\t']) && below == Some("---");
        yaml || above.is_some_and(|above| {
            (above.starts_with(">>>") || above.starts_with("...")) || is_stub(above) && line.starts_with([' ', '\t'])
        })
    }

    /// True for dots in whose place lines of the old text disappear.
    fn replaces_lines(&self, at: usize) -> bool {
        let is_comment = !is_bare(self.lines[at]);
        let (gone, fresh) = self.gone_and_fresh(at);
        gone > if is_comment { 0 } else { fresh }
    }

    /// Returns how many more lines of the old text disappear around this line than new ones appear.
    fn surplus_lost(&self, at: usize) -> usize {
        let (gone, fresh) = self.gone_and_fresh(at);
        gone.saturating_sub(fresh)
    }

    /// Counts the lines of the old text that disappear at this line, and the new ones beside it.
    fn gone_and_fresh(&self, at: usize) -> (usize, usize) {
        let (first, fresh_above) = match self.above(at) {
            Some((place, fresh)) => (place + 1, fresh),
            None if at <= CONTEXT_LINES => (0, self.worded(0..at).len()),
            None => return (0, 0),
        };
        let (last, fresh_below) = match self.below(at, first) {
            Some(found) => found,
            None if self.lines.len() - at <= CONTEXT_LINES => {
                (self.lost_before.len() - 1, self.worded(at + 1..self.lines.len()).len())
            }
            None => return (0, 0),
        };
        let gone = self.lost_before[last] - self.lost_before[first];
        (gone, fresh_above + fresh_below)
    }

    /// Returns the new lines with words in a range.
    fn worded(&self, lines: Range<usize>) -> &[usize] {
        let [from, to] = [lines.start, lines.end].map(|end| self.worded.partition_point(|at| *at < end));
        &self.worded[from..to]
    }

    /// Returns the old position of the nearest common line above, and the number of new lines in between. Lines of
    /// signs alone, such as `}`, are skipped, because they occur at too many places.
    fn above(&self, at: usize) -> Option<(usize, usize)> {
        let near = self.worded(at.saturating_sub(EXAMINED_LINES)..at).iter().rev().take(CONTEXT_LINES);
        near.enumerate().find_map(|(fresh, &at)| Some((*self.positions.get(self.lines[at].trim())?.first()?, fresh)))
    }

    /// Returns the old position, at least `first`, of the nearest common line below, and the number of new lines in
    /// between.
    fn below(&self, at: usize, first: usize) -> Option<(usize, usize)> {
        let near = self.worded(at + 1..at + 1 + EXAMINED_LINES).iter().take(CONTEXT_LINES);
        near.enumerate().find_map(|(fresh, &at)| Some((self.place_from(first, self.lines[at].trim())?, fresh)))
    }

    /// Returns the first position of a line from another position on.
    fn place_from(&self, first: usize, line: &str) -> Option<usize> {
        let positions = self.positions.get(line)?;
        positions.get(positions.partition_point(|place| *place < first)).copied()
    }
}

/// True for a line of only dots that is not a comment.
pub(super) fn is_bare(line: &str) -> bool {
    matches!(line.trim(), "..." | "…")
}

/// True for a line that opens a body or ends a docstring.
fn is_stub(above: &str) -> bool {
    let bare = above.split(" #").next().unwrap_or(above).trim_end();
    bare.ends_with(':') || above.ends_with("\"\"\"") || above.ends_with("'''")
}

#[cfg(test)]
mod tests {
    use super::{dots, remarks};

    #[test]
    fn dots_that_are_code_are_not_placeholders() {
        let old = "a = 1\nb = 2\nc = 3\n";
        for new in [
            "a = 1\ndef f():\n    ...\n",
            "a = 1\nclass A:\n    \"\"\"Docs.\"\"\"\n    ...\nc = 3\n",
            "a = 1\ndef f() -> int:  # a stub\n    ...\nc = 3\n",
            "a = 1\n>>> for x in y:\n...\nc = 3\n",
            "a: 1\n...\n---\nb: 2\n",
            "a = 1\n```\n...\n```\nc = 3\n",
            "a = [...rest]\nc = 3\n",
        ] {
            assert_eq!(dots(old, new), [], "{new}");
        }
        assert_eq!(dots("a\n...\nb\n", "a\n...\n"), []);
        assert_eq!(dots("a: 1\n---\nb: 2\n", "a: 1\n...\nb: 2\n"), []);
        assert_eq!(dots(old, "a = 1\n# ...\nc = 3\n"), [(1, "# ...")]);
        assert_eq!(dots(old, "...\nc = 3\n"), [(0, "...")]);
        assert_eq!(dots(old, "a = 1\n...\n"), [(1, "...")]);
        assert_eq!(dots(old, "a = 1\nx = 2\n// ...\nc = 3\n"), [(2, "// ...")]);
        assert_eq!(dots(old, "a = 1\nx = 2\n// ...\nb = 2\nc = 3\n"), []);
    }

    #[test]
    fn remarks_count_where_lines_are_lost() {
        let old = "a = 1\nb = 2\nc = 3\nd = 4\n";
        for line in ["# etc.", "pass  # unchanged", "\"\"\"the rest of the code\"\"\"", "// other settings"] {
            assert_eq!(remarks(old, &format!("a = 1\n{line}\nd = 4\n"), true), [(1, line)]);
            assert_eq!(remarks(old, &format!("{old}{line}\n"), true), []);
            assert_eq!(remarks(&format!("{line}\nb = 2\nc = 3\n"), &format!("{line}\n"), true), []);
            assert_eq!(remarks(old, &format!("```\n{line}\n```\n"), true), []);
        }
        // The signs of a comment of several lines are not new text.
        for comment in
            ["/*\n%\n*/", "<!--\n%\n-->", "\'\'\'\n%\n\'\'\'", "=begin\n%\n=end", "#\n# %\n#", "// ----\n// %\n// ----"]
        {
            let new = format!("a = 1\n{}\nd = 4\n", comment.replace('%', "etc."));
            assert_eq!(remarks(old, &new, true).len(), 1, "{new}");
        }
        assert_eq!(remarks(old, "a = 1\n/**\n * etc.\n */\nd = 4\n", true), []);
        // Blank lines are not new text.
        assert_eq!(remarks(old, "a = 1\n# etc.\n\n\n\nz = 1\n", true), [(1, "# etc.")]);
        // With one line less that would be lost, the remark may be a heading.
        assert_eq!(remarks(old, "a = 1\nb = 2\n# other settings\nd = 4\n", true), []);
        assert_eq!(remarks(old, "a = 1\n# other settings\nd = 4\ne = 5\n", true).len(), 1);
        assert_eq!(remarks(old, "a = 1\n# other settings\nnew = 5\nd = 4\n", true).len(), 1);
    }
}

//! Lines of only dots, and remarks about omitted text: they are placeholders if lines of the old text would be lost in
//! their place.

use super::aligned::{AlignedTexts, LINE_STEPS};
use super::phrase;
use super::remark::{self, RemarkKind};
use super::{fence_sign, is_elision};
use crate::text::diff;
use crate::text::lines::{count_line_ends, line_start, line_stop};
use crate::work;
use core::ops::Range;

/// Number of lines of a body from which dots may not replace it.
const LOST_BODY_LINES: usize = 2;
/// Number of lines on either side of the dots in a text that has no line of the old one.
const CONTEXT_LINES: usize = 8;
/// Steps of work to compare the lines around one placeholder.
const CONTEXT_STEPS: usize = 100;
/// Steps of work for a line that may be a remark, and for each byte of it.
const REMARK_STEPS: usize = 16;
const REMARK_BYTE_STEPS: usize = 4;

/// Returns the dot lines in `new`, with their zero-based numbers, that replace lines of `old`: between the nearest
/// certain common lines around them, more old lines disappear than new lines appear. A comment of dots says nothing
/// else, so one line that disappears is enough.
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
    let texts = ComparedTexts::new(old, new, &lines);
    let fenced = fenced(&lines);
    dots.into_iter()
        .take_while(|_| !work::spend_or_end(CONTEXT_STEPS))
        .filter(|at| !fenced[*at] && texts.is_old(lines[*at].trim()) == is_own)
        .filter(|at| !texts.is_code(*at) && texts.replaces_lines(*at, is_own))
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
    let texts = ComparedTexts::new(old, new, &lines);
    let fenced = fenced(&lines);
    let counted = found.into_iter().take_while(|_| !work::spend_or_end(CONTEXT_STEPS));
    let remarks = counted.filter(|&(at, kind)| {
        // One line less, and what may be a heading is one.
        let least = if kind == RemarkKind::Omission { 1 } else { 2 };
        let is_new = !texts.is_old(lines[at].trim());
        !fenced[at] && is_alone(&lines, at) && is_new && texts.loses(at, least, &texts.anchors)
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

/// Two texts, with the lines that an edit would lose.
struct ComparedTexts<'a> {
    lines: &'a [&'a str],
    aligned: AlignedTexts<'a>,
    /// Pairs of equal lines with words that occur once in each text: other ones may be another line each.
    anchors: Vec<(usize, usize)>,
    /// Those of them that are hardly equal by accident, as two lines `return x` are.
    telling: Vec<(usize, usize)>,
    /// For each line of the old text, and for its end, the number of lines with words before it that the new text has
    /// less often, and at another place.
    lost_before: Vec<usize>,
    /// The same of the new text: lines that the old one has less often.
    fresh_before: Vec<usize>,
}

impl<'a> ComparedTexts<'a> {
    /// Once the work has to end, the text is not examined any further, so the numbers need not be right.
    fn new(old: &'a str, new: &'a str, lines: &'a [&'a str]) -> ComparedTexts<'a> {
        let aligned = AlignedTexts::new(old, new);
        let pairs = || aligned.pairs.iter().copied().take_while(|_| !work::spend_or_end(LINE_STEPS));
        let is_once = |line: &str| has_words(line) && aligned.counts_of(line) == [1, 1];
        let anchors: Vec<(usize, usize)> = pairs().filter(|pair| is_once(aligned.new[pair.1])).collect();
        let telling = anchors.iter().copied().filter(|pair| aligned.is_telling(pair.1)).collect();
        let lost_before = surplus_before(&aligned.old, pairs().map(|pair| pair.0), |line| {
            let [old, new] = aligned.counts_of(line);
            old > new
        });
        let fresh_before = surplus_before(&aligned.new, pairs().map(|pair| pair.1), |line| {
            let [old, new] = aligned.counts_of(line);
            new > old
        });
        ComparedTexts { lines, aligned, anchors, telling, lost_before, fresh_before }
    }
}

/// Counts, for each line and for the end, the lines with words before it that have no pair and are `surplus`. A line of
/// signs alone, such as the separator of YAML, may be replaced by another one without loss.
fn surplus_before(
    lines: &[&str],
    paired: impl Iterator<Item = usize>,
    is_surplus: impl Fn(&str) -> bool,
) -> Vec<usize> {
    let mut paired = paired.peekable();
    let counts = lines.iter().enumerate().scan(0, |count, (at, line)| {
        let is_single = paired.next_if_eq(&at).is_none();
        *count += usize::from(is_single && !work::spend_or_end(1) && has_words(line) && is_surplus(line));
        Some(*count)
    });
    core::iter::once(0).chain(counts).collect()
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
        let above = self.lines[..at].iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
        let is_opened = above.is_some_and(|line| self.is_old(line));
        let (gone, fresh) = self.gone_and_fresh(at, &self.anchors);
        if is_opened && gone >= fresh + LOST_BODY_LINES {
            return false;
        }
        let below = self.lines[at + 1..].iter().map(|line| line.trim()).find(|line| !line.is_empty());
        let yaml = !line.starts_with([' ', '\t']) && below == Some("---");
        yaml || above.is_some_and(|above| {
            (above.starts_with(">>>") || above.starts_with("...")) || is_stub(above) && line.starts_with([' ', '\t'])
        })
    }

    /// True for a line of the old text, which is given without indentation.
    fn is_old(&self, line: &str) -> bool {
        self.aligned.counts_of(line)[0] > 0
    }

    /// True for dots in whose place lines of the old text disappear. A comment of dots has no other meaning, so any
    /// line that disappears may be there. Dots that are a line of the old text are one of its lines first.
    fn replaces_lines(&self, at: usize, is_own: bool) -> bool {
        if !is_bare(self.lines[at]) {
            return self.lost_before.last() > Some(&0);
        }
        self.loses(at, 1, &self.anchors) || !is_own && self.loses(at, 1, &self.telling)
    }

    /// True if `least` lines of the old text or more disappear around this line, between the nearest anchors, and more
    /// than new ones appear.
    fn loses(&self, at: usize, least: usize, anchors: &[(usize, usize)]) -> bool {
        let (gone, fresh) = self.gone_and_fresh(at, anchors);
        gone >= least && gone > fresh
    }

    /// Counts the lines of the old text that disappear around this line, and the new ones there, between the nearest
    /// anchors.
    fn gone_and_fresh(&self, at: usize, anchors: &[(usize, usize)]) -> (usize, usize) {
        let is_short = at.max(self.lines.len() - at) <= CONTEXT_LINES;
        // A long text that has no line of the old one is another text.
        if self.anchors.is_empty() && !is_short {
            return (0, 0);
        }
        let next = anchors.partition_point(|anchor| anchor.1 < at);
        let above = next.checked_sub(1).map(|nth| anchors[nth]);
        let (old_start, new_start) = above.map_or((0, 0), |(old, new)| (old + 1, new + 1));
        let ends = (self.aligned.old.len(), self.aligned.new.len());
        let (old_end, new_end) = anchors.get(next).copied().unwrap_or(ends);
        let count = |before: &[usize], lines: Range<usize>| before[lines.end].saturating_sub(before[lines.start]);
        let gone = count(&self.lost_before, old_start..old_end);
        let fresh = count(&self.fresh_before, new_start..at) + count(&self.fresh_before, at + 1..new_end);
        (gone, fresh)
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

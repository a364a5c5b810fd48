//! Hunks as tables: unified, or both sides next to each other.

use crate::html::Html;
use crate::pages::code::{CodeLine, line, of_line};
use crate::view::PageContext;
use emendate::core::explain::{DiffHunk, DiffLine, HunkWords, LineKind, LineSegment, inline};
use emendate::{ColorSpan, TextDifference};
use std::ops::Range;

/// A line with everything that is shown of it.
struct HunkRow<'a> {
    line: &'a DiffLine,
    /// The number of the line before the change; 0 if it is not there.
    old: usize,
    /// The number of the line after the change; 0 if it is not there.
    new: usize,
    colors: &'a [ColorSpan],
    changed: Vec<Range<usize>>,
    /// The line differs from its counterpart in white space only.
    is_space: bool,
}

/// Adds the table of a hunk.
pub(crate) fn table(out: &mut Html, page: &PageContext<'_>, text: &TextDifference, hunk: &DiffHunk) {
    let lines = shown_lines(text, hunk);
    out.raw("<table class=\"diff\"><tbody>");
    if page.preferences.split {
        split(out, &lines);
    } else {
        for shown in &lines {
            unified_row(out, shown);
        }
    }
    if hunk.omitted.lines() > 0 {
        out.raw("<tr class=\"cut\"><td colspan=\"4\">")
            .number(hunk.omitted.lines() as u64)
            .raw(" more lines of this change are not shown here</td></tr>");
    }
    out.raw("</tbody></table>");
}

/// Returns the lines of a hunk with numbers, colours and marked words.
fn shown_lines<'a>(text: &'a TextDifference, hunk: &'a DiffHunk) -> Vec<HunkRow<'a>> {
    let words = match text.words.get(hunk.number.wrapping_sub(1)) {
        Some(known) => known.clone(),
        None => compared_words(hunk.lines.iter().map(|line| (line.kind, &*line.text))),
    };
    let mut old = hunk.old_start + usize::from(hunk.old_lines == 0);
    let mut new = hunk.new_start + usize::from(hunk.new_lines == 0);
    let mut out: Vec<HunkRow<'_>> = Vec::with_capacity(hunk.lines.len());
    for (line, mut changed) in hunk.lines.iter().zip(words) {
        // A line that is new as a whole needs no marks.
        if changed.len() == 1 && changed.first().is_some_and(|part| *part == (0..line.text.len())) {
            changed.clear();
        }
        let (number, colors) = match line.kind {
            LineKind::Removed => (old, &text.old_colors),
            _ => (new, &text.new_colors),
        };
        out.push(HunkRow {
            line,
            old: if line.kind == LineKind::Added { 0 } else { old },
            new: if line.kind == LineKind::Removed { 0 } else { new },
            colors: if line.is_whole() { of_line(colors, number) } else { &[] },
            changed,
            is_space: false,
        });
        old += usize::from(line.kind != LineKind::Added);
        new += usize::from(line.kind != LineKind::Removed);
    }
    mark_space(&mut out);
    out
}

/// Returns the changed words of lines whose edit is not known: of a file that changed several times, or by others.
pub(crate) fn compared_words<'l>(lines: impl Iterator<Item = (LineKind, &'l str)>) -> HunkWords {
    let marked: Vec<(LineKind, &str)> = lines.collect();
    inline(&marked).into_iter().map(changed_ranges).collect()
}

/// Returns the ranges of a line that changed; neighbours are joined.
fn changed_ranges(segments: Vec<LineSegment<'_>>) -> Vec<Range<usize>> {
    let (mut changed, mut at) = (Vec::<Range<usize>>::new(), 0);
    for segment in segments {
        let end = at + segment.text.len();
        if segment.changed {
            match changed.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => changed.push(at..end),
            }
        }
        at = end;
    }
    changed
}

/// Marks the lines that differ from their counterparts in white space only.
fn mark_space(lines: &mut [HunkRow<'_>]) {
    let mut at = 0;
    while at < lines.len() {
        let removed = count_run(&lines[at..], LineKind::Removed);
        let added = count_run(&lines[at + removed..], LineKind::Added);
        if removed == added {
            for nth in 0..removed {
                let (left, right) = (at + nth, at + removed + nth);
                let is_space = without_space(&lines[left].line.text).eq(without_space(&lines[right].line.text));
                lines[left].is_space = is_space;
                lines[right].is_space = is_space;
            }
        }
        at += (removed + added).max(1);
    }
}

/// Counts the lines of one kind at the beginning.
fn count_run(lines: &[HunkRow<'_>], kind: LineKind) -> usize {
    lines.iter().take_while(|it| it.line.kind == kind).count()
}

fn without_space(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|char| !char.is_whitespace())
}

const fn row_class(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Kept => "ctx",
        LineKind::Removed => "del",
        LineKind::Added => "add",
    }
}

const fn sign(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Kept => "",
        LineKind::Removed => "−",
        LineKind::Added => "+",
    }
}

fn unified_row(out: &mut Html, shown: &HunkRow<'_>) {
    out.raw("<tr class=\"").raw(row_class(shown.line.kind)).raw(if shown.is_space { " ws\">" } else { "\">" });
    number(out, shown.old);
    number(out, shown.new);
    out.raw("<td class=\"s\">").raw(sign(shown.line.kind)).raw("</td><td class=\"c\">");
    code(out, shown);
    out.raw("</td></tr>");
}

/// Adds a row of a line that did not change.
pub(crate) fn kept_row(out: &mut Html, is_split: bool, old: usize, new: usize, shown: CodeLine<'_>) {
    out.raw("<tr class=\"ctx more\">");
    number(out, old);
    if is_split {
        out.raw("<td class=\"c\">");
        line(out, shown);
        out.raw("</td>");
    }
    number(out, new);
    out.raw(if is_split { "<td class=\"c\">" } else { "<td class=\"s\"></td><td class=\"c\">" });
    line(out, shown);
    out.raw("</td></tr>");
}

/// Adds a cell with a line number, which is not copied with the code.
fn number(out: &mut Html, number: usize) {
    if number == 0 {
        out.raw("<td class=\"n\"></td>");
    } else {
        out.raw("<td class=\"n\" data-n=\"").number(number as u64).raw("\"></td>");
    }
}

fn code(out: &mut Html, shown: &HunkRow<'_>) {
    let window = shown.line.window;
    if window.before > 0 {
        out.raw("<span class=\"cutmark\">… ").number(window.before as u64).raw(" characters</span>");
    }
    line(out, CodeLine { text: &shown.line.text, colors: shown.colors, changed: &shown.changed });
    if window.after > 0 {
        out.raw("<span class=\"cutmark\">").number(window.after as u64).raw(" more characters …</span>");
    }
    if !shown.line.ended {
        out.raw("<span class=\"noeol\" title=\"No line end at the end of the file\">⏎̸</span>");
    }
}

/// Adds the rows of both sides: removed lines next to the added ones that replace them.
fn split(out: &mut Html, lines: &[HunkRow<'_>]) {
    let mut at = 0;
    while let Some(first) = lines.get(at) {
        if first.line.kind == LineKind::Kept {
            pair(out, Some(first), Some(first));
            at += 1;
            continue;
        }
        let removed = lines[at..].iter().take_while(|it| it.line.kind == LineKind::Removed).count();
        let added = lines[at + removed..].iter().take_while(|it| it.line.kind == LineKind::Added).count();
        for nth in 0..removed.max(added) {
            let left = (nth < removed).then(|| &lines[at + nth]);
            let right = (nth < added).then(|| &lines[at + removed + nth]);
            pair(out, left, right);
        }
        at += removed + added;
    }
}

fn pair(out: &mut Html, left: Option<&HunkRow<'_>>, right: Option<&HunkRow<'_>>) {
    let is_space = left.is_some_and(|it| it.is_space) && right.is_some_and(|it| it.is_space);
    out.raw(if is_space { "<tr class=\"pair ws\">" } else { "<tr class=\"pair\">" });
    for (shown, is_old) in [(left, true), (right, false)] {
        let Some(shown) = shown else {
            out.raw("<td class=\"n none\"></td><td class=\"c none\"></td>");
            continue;
        };
        number(out, if is_old { shown.old } else { shown.new });
        out.raw("<td class=\"c ").raw(row_class(shown.line.kind)).raw("\">");
        code(out, shown);
        out.raw("</td>");
    }
    out.raw("</tr>");
}

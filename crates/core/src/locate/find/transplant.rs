//! Transplants a change: applies the difference between the old and the new text to the file's own lines.
//!
//! Lines that are equal in the old and the new text keep the file's bytes. In a changed line, the tokens common to both
//! texts keep the file's characters. In a hunk of unequal size, lines are paired in order by likeness. The edit is
//! refused if a line to be changed or deleted has no partner in the file, or if it would write where there are unseen
//! lines.

use super::align::align;
use super::indent::IndentMap;
use super::refusal::{MatchRefusal, RefusalReason};
use super::retyped::RetypedText;
use super::search::{MatchSearch, PatternLines};
use super::{INSERTED_BYTES_MAX, TextEdit};
use crate::locate::resolve;
use crate::text::diff;
use crate::text::fold::{self, indent_of, is_blank};
use crate::text::span::Span;
use crate::text::tokens;
use core::ops::Range;
use std::cell::LazyCell;

/// Maximum number of pairs of lines (old × new) of one hunk that are compared for likeness.
const COMPARED_PAIRS_MAX: usize = 20_000;
/// Maximum number of cells (old × new lines) for which a change is computed line by line.
const ALIGNMENT_CELLS_MAX: usize = 250_000;
/// Likeness (0 to 1) from which lines of a hunk are paired.
const LIKENESS_MIN: f64 = 0.5;

/// A range of lines of the file, with their correspondence to the lines of the old text.
pub(super) struct Window<'s, 'a> {
    pub(super) search: &'s MatchSearch<'a>,
    pub(super) wanted: &'s PatternLines<'s>,
    /// Lines of the file, zero-based.
    pub(super) lines: Range<usize>,
    /// For every line of the old text, its line in the file.
    pub(super) partner: Vec<Option<usize>>,
}

impl<'s, 'a> Window<'s, 'a> {
    /// Pairs all lines of the old text one to one with the file, from line `first` on.
    pub(super) fn whole(search: &'s MatchSearch<'a>, first: usize, wanted: &'s PatternLines<'s>) -> Window<'s, 'a> {
        let lines = first..first + wanted.old.len();
        Window { search, wanted, partner: lines.clone().map(Some).collect(), lines }
    }

    /// Returns the file's line for a line of the old text.
    fn partner_text(&self, old: usize) -> Option<&'a str> {
        self.partner[old].map(|at| self.search.line(at))
    }

    /// True if the file does not have other text in place of this line of the old text.
    fn is_as_stated(&self, old: usize) -> bool {
        let stated = fold::trim_blanks(self.wanted.old[old]);
        self.partner_text(old).is_none_or(|file| fold::trim_blanks(file) == stated)
    }

    /// True if the window has a line for every line of the old text, and no others.
    fn has_old_lines(&self) -> bool {
        self.partner.len() == self.lines.len() && self.partner.iter().all(Option::is_some)
    }

    /// Returns the differences in lookalike characters between the old lines and the window.
    fn retyped(&self) -> RetypedText<'s> {
        let old = self.search.find.old.trim_end_matches('\n');
        let first = self.search.lines().start(self.lines.start);
        if self.has_old_lines() && self.search.text[first..].starts_with(old) {
            return RetypedText::default();
        }
        let pairs = self.wanted.old.iter().zip(&self.partner);
        RetypedText::new(
            self.search.index,
            pairs.filter_map(|(old, file)| file.map(|file| (*old, self.search.line(file)))),
        )
    }

    /// Returns the line after the last partner of the old lines before `at`.
    fn after(&self, at: usize) -> usize {
        self.partner[..at].iter().rev().find_map(|&line| line).map_or(self.lines.start, |line| line + 1)
    }

    /// Returns the first partner of old line `at` or a later one.
    fn before(&self, at: usize) -> usize {
        self.partner[at..].iter().find_map(|&line| line).unwrap_or(self.lines.end)
    }

    /// Returns a blank line of the file that belongs to no line of the old text, where it has none for this blank line.
    fn stray_blank(&self, old: usize) -> Option<usize> {
        if self.partner[old].is_some() {
            return None;
        }
        (self.after(old)..self.before(old)).find(|&at| is_blank(self.search.line(at)))
    }

    /// True for comment lines that belong to the line below them: new lines are inserted before such a comment.
    fn heads_next(&self, lines: &Range<usize>) -> bool {
        let below = lines.end < self.search.lines().count() && self.partner.contains(&Some(lines.end));
        !lines.is_empty()
            && below
            && !is_blank(self.search.line(lines.end))
            && lines
                .clone()
                .all(|at| is_comment(self.search.line(at)) && self.indent_at(at) == self.indent_at(lines.end))
    }

    /// True for a single unseen line that opens the block of the seen lines below it, if the added lines are statements
    /// of the depth outside. Between that line and its block they would belong to neither.
    fn opens_after(&self, unseen: &Range<usize>, added: &[String]) -> bool {
        let is_text = |at: &usize| !is_blank(self.search.line(*at));
        let mut filled = unseen.clone().filter(is_text);
        let (Some(opener), None) = (filled.next(), filled.next()) else { return false };
        let below = (unseen.end..self.lines.end).find(is_text).filter(|at| self.partner.contains(&Some(*at)));
        let line = self.search.line(opener).trim_end();
        let Some(below) = below.filter(|_| line.ends_with(['{', '(', '[', ':'])) else { return false };
        let (outside, inside) = (self.indent_at(opener), self.indent_at(below));
        inside.len() > outside.len()
            && inside.starts_with(outside)
            && added.iter().any(|line| !is_blank(line))
            && added
                .iter()
                .filter(|line| !is_blank(line))
                .all(|line| outside.starts_with(indent_of(line)) && is_statement(line))
    }

    /// Returns the indentation of a line of the file.
    fn indent_at(&self, at: usize) -> &str {
        indent_of(self.search.line(at))
    }

    fn shown(&self, lines: Range<usize>) -> Result<(), MatchRefusal> {
        match lines.clone().find(|&at| !is_blank(self.search.line(at))) {
            None => Ok(()),
            Some(at) => Err(MatchRefusal::new(
                RefusalReason::UnseenLines,
                format!(
                    "Line {} of the file, which the old text does not have, lies where the change would be written.",
                    at + 1
                ),
            )
            .at(self.lines.start, self.lines.end)),
        }
    }
}

/// The new lines of a hunk, and the old lines that they take the place of.
struct LinePartners {
    /// For each new line, the old line within the hunk. Empty if nothing depends on it: with the old lines and no others
    /// in the file, no line is carried over or kept, and none is unseen.
    partners: Vec<Option<usize>>,
    /// True if the file has exactly the old lines, so that there is nothing to carry over.
    is_as_stated: bool,
}

impl LinePartners {
    fn new(window: &Window<'_, '_>, from: Range<usize>, to: Range<usize>) -> LinePartners {
        let PatternLines { old, new, .. } = window.wanted;
        let is_as_stated = from.clone().all(|at| window.is_as_stated(at));
        let is_needed = !is_as_stated || !window.has_old_lines();
        LinePartners { partners: if is_needed { pair_up(&old[from], &new[to]) } else { Vec::new() }, is_as_stated }
    }

    /// Returns the old line of a new one.
    fn partner(&self, new: usize) -> Option<usize> {
        self.partners.get(new).copied().flatten()
    }
}

/// True for a line that is a comment in the usual notations.
fn is_comment(line: &str) -> bool {
    let text = line.trim();
    ["//", "# ", "-- "].iter().any(|begin| text.starts_with(begin))
        || is_enclosed(text, "/*", "*/")
        || is_enclosed(text, "<!--", "-->")
}

/// True for comments and attributes, which belong to the item right below them: blank lines that the old text omits are
/// above them.
fn are_above_an_item(fresh: &[String]) -> bool {
    let is_above = |line: &str| {
        is_comment(line) || ["@", "#[", "/**", "* ", "*/"].iter().any(|begin| line.trim().starts_with(begin))
    };
    !fresh.is_empty() && fresh.iter().all(|line| is_above(line))
}

/// True for a line whose depth shows where it belongs: not a comment, directive, label, bracket, or clause of the line
/// above.
fn is_statement(line: &str) -> bool {
    const CLAUSES: [&str; 9] = ["where", "then", "do", "begin", "else", "is", "as", "case", "default"];
    let text = line.trim();
    let word = text.split(|ch: char| !ch.is_alphanumeric() && ch != '_').next().unwrap_or_default();
    let begins = text.starts_with(['@', '_']) || text.starts_with("#[") || !word.is_empty();
    begins && !text.ends_with(':') && !CLAUSES.contains(&word)
}

/// True for a text that begins and ends with these marks.
fn is_enclosed(text: &str, begin: &str, end: &str) -> bool {
    text.starts_with(begin) && text.ends_with(end)
}

/// Computes the edits that apply the change from the old to the new text to the window.
pub(super) fn write(window: &Window<'_, '_>, indent: &IndentMap, runs: bool) -> Result<Vec<TextEdit>, MatchRefusal> {
    let PatternLines { old, new, changes: stated_changes } = window.wanted;
    let retyped = LazyCell::new(|| window.retyped());
    let mut out = Vec::new();
    for (from, to) in stated_changes.clone().unwrap_or_else(|| changes(old, new)) {
        let lines = changed_lines(window, from.clone())?;
        // With the old lines themselves in the file, new lines have nothing to carry over from one of them.
        let pairs = LinePartners::new(window, from.clone(), to.clone());
        let fresh = fresh_lines(window, from.clone(), to, &pairs, indent, runs, &retyped)?;
        let partners = pairs.partners;
        match lines {
            Some(lines) => {
                // The place of lines added before or after a changed one is known only if no unseen lines are adjacent.
                let none_paired = partners.iter().all(Option::is_none);
                if !none_paired && !partners.first().is_none_or(Option::is_some) {
                    window.shown(window.after(from.start)..lines.start)?;
                }
                let after = lines.end..window.before(from.end).max(lines.end);
                let added = fresh.len() - partners.iter().rev().take_while(|it| it.is_none()).count().min(fresh.len());
                if !none_paired
                    && !partners.last().is_none_or(Option::is_some)
                    && !window.heads_next(&after)
                    && !window.opens_after(&after, &fresh[added..])
                {
                    window.shown(after)?;
                }
                out.extend(replaced(window, lines, &fresh));
            }
            None if fresh.is_empty() => {}
            None => {
                let at = window.after(from.start);
                let below = window.before(from.end).max(at);
                window.shown(at..below)?;
                let at = if from.end < old.len() && are_above_an_item(&fresh) { below } else { at };
                out.push(inserted(window, at, &fresh));
            }
        }
    }
    Ok(out)
}

/// Returns the ranges of lines that differ, in order. Lines with text are kept in preference to blank ones, so that a
/// blank line never determines a position.
pub(super) fn changes(old: &[&str], new: &[&str]) -> Vec<(Range<usize>, Range<usize>)> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if a.len().saturating_mul(b.len()) > ALIGNMENT_CELLS_MAX {
        return diff::line_hunks(old, new);
    }
    let keys =
        [a, b].map(|lines| lines.iter().map(|line| xxhash_rust::xxh3::xxh3_64(line.as_bytes())).collect::<Vec<u64>>());
    let (kept, _) =
        align(&keys[0], &keys[1], |at| u32::try_from(fold::count_alnum(a[at], 1000)).map_or(1, |weight| weight + 1));
    let mut out = Vec::new();
    let mut from = (head, head);
    for (i, j) in kept.into_iter().map(|(i, j)| (i + head, j + head)).chain([(head + a.len(), head + b.len())]) {
        if from != (i, j) {
            out.push((from.0..i, from.1..j));
        }
        from = (i + 1, j + 1);
    }
    out
}

/// Returns the lines of the file for old lines that are changed or deleted.
fn changed_lines(window: &Window<'_, '_>, old: Range<usize>) -> Result<Option<Range<usize>>, MatchRefusal> {
    if let Some(at) = old.clone().find(|&at| window.partner[at].is_none() && !is_blank(window.wanted.old[at])) {
        let line = window.wanted.old[at].trim();
        return Err(MatchRefusal::new(
            RefusalReason::TargetDiffers,
            format!("A line to be changed is not there: {line}"),
        )
        .at(window.lines.start, window.lines.end));
    }
    if let Some(blank) = old.clone().find_map(|at| window.stray_blank(at)) {
        return Err(MatchRefusal::new(
            RefusalReason::TargetDiffers,
            format!(
                "A blank line to be removed may be line {} of the file, next to lines that the old text does not have.",
                blank + 1
            ),
        )
        .at(window.lines.start, window.lines.end));
    }
    let partners: Vec<usize> = old.filter_map(|at| window.partner[at]).collect();
    let (Some(&first), Some(&last)) = (partners.first(), partners.last()) else { return Ok(None) };
    for pair in partners.windows(2) {
        window.shown(pair[0] + 1..pair[1])?;
    }
    Ok(Some(first..last + 1))
}

/// Returns the new lines of a hunk as they are to be written.
fn fresh_lines<'s>(
    window: &Window<'s, '_>,
    from: Range<usize>,
    to: Range<usize>,
    pairs: &LinePartners,
    indent: &IndentMap,
    runs: bool,
    retyped: &LazyCell<RetypedText<'s>, impl FnOnce() -> RetypedText<'s>>,
) -> Result<Vec<String>, MatchRefusal> {
    let PatternLines { old, new, .. } = window.wanted;
    let mut out: Vec<String> = Vec::with_capacity(to.len());
    let mut room = INSERTED_BYTES_MAX;
    // The old line that the last paired new line takes the place of, and the number of lines written up to it.
    let mut above: Option<(usize, usize)> = None;
    for (nth, at) in to.clone().enumerate() {
        let line = new[at];
        let twin = pairs.partner(nth).map(|at| from.start + at);
        if let (Some((old_above, written)), Some(twin)) = (above, twin) {
            keep_blanks(window, old_above, twin, &mut out, written);
        }
        if window.search.is_in_string(window.wanted, at) {
            out.push(line.to_owned());
            above = twin.map(|twin| (twin, out.len())).or(above);
            continue;
        }
        if is_blank(line) && twin.is_some_and(|at| is_blank(old[at]) && window.partner[at].is_none()) {
            // A blank line of the old text that the file lacks, and that the edit keeps, is not added.
            continue;
        }
        let placed =
            indent.apply(line, at == 0, &mut room).map_err(|it| it.at(window.lines.start, window.lines.end))?;
        let carried = twin.filter(|_| !pairs.is_as_stated).and_then(|at| {
            let file = fold::trim_blanks(window.partner_text(at)?);
            tokens::with_file_tokens(file, fold::trim_blanks(old[at]), fold::trim_blanks(line), runs)
        });
        let moved = if twin.is_none() { retyped.moved(line) } else { None };
        let text = match (carried, moved) {
            (Some(text), _) if !is_blank(line) => {
                let tail = &line[fold::trim_blanks_end(line).len()..];
                [indent_of(&placed), &text, tail].concat()
            }
            (None, Some(text)) => [&placed[..placed.len() - placed.trim_start().len()], text].concat(),
            _ => placed,
        };
        out.push(if text.is_ascii() { text } else { retyped.with_plain_chars(text) });
        above = twin.map(|twin| (twin, out.len())).or(above);
    }
    Ok(out)
}

/// Adds the blank lines that the file has between the lines of two old lines, and the old text does not: they are no
/// part of the change. `written` is the number of lines of `out` up to the new line for the upper one. If the new text
/// has a blank line there itself, that one is meant.
fn keep_blanks(window: &Window<'_, '_>, above: usize, below: usize, out: &mut Vec<String>, written: usize) {
    let (Some(first), Some(last)) = (window.partner[above], window.partner[below]) else { return };
    let added = &out[written..];
    if above >= below || added.iter().any(|line| is_blank(line)) {
        return;
    }
    let seen = &window.partner[above..=below];
    let kept = (first + 1..last).filter(|at| !seen.contains(&Some(*at))).map(|at| window.search.line(at).to_owned());
    let place = if are_above_an_item(added) { written } else { out.len() };
    out.splice(place..place, kept.collect::<Vec<String>>());
}

/// Returns the old line for every new line of a hunk: one to one if their numbers are equal, else in order by likeness.
fn pair_up(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    if old.len() == new.len() {
        return (0..new.len()).map(Some).collect();
    }
    if old.len().saturating_mul(new.len()) > COMPARED_PAIRS_MAX {
        return vec![None; new.len()];
    }
    if old.is_empty() {
        return vec![None; new.len()];
    }
    let old: Vec<Vec<&str>> = old.iter().map(|line| tokens::tokens(line)).collect();
    let mut next = 0;
    let pairs = new.iter().map(|line| {
        let line = tokens::tokens(line);
        let mut best = (LIKENESS_MIN, None);
        for (at, old) in old.iter().enumerate().skip(next) {
            let like = tokens::similarity(old, &line);
            if like > best.0 {
                best = (like, Some(at));
            }
        }
        next = best.1.map_or(next, |at| at + 1);
        best.1
    });
    pairs.collect()
}

/// Replaces lines of the file by others, or removes them with one line end each.
fn replaced(window: &Window<'_, '_>, lines: Range<usize>, fresh: &[String]) -> Vec<TextEdit> {
    let index = window.search.lines();
    let span = Span::new(index.start(lines.start), index.start(lines.end));
    if !fresh.is_empty() {
        let mut text = fresh.join("\n");
        text.push_str(if index.is_open(lines.end - 1) { "" } else { "\n" });
        return resolve::difference(window.search.text, span, &text);
    }
    // Without a final line end, the kept line before must not have one either; a hunk keeps whole lines even if it
    // shows none.
    let above = if window.wanted.changes.is_some() { 0 } else { window.lines.start };
    let open = index.is_open(lines.end - 1) && lines.start > above;
    let start = if open { index.end(lines.start - 1) } else { span.start() };
    vec![TextEdit { span: Span::new(start, span.end()), text: String::new() }]
}

/// Inserts lines before line `at` of the file.
fn inserted(window: &Window<'_, '_>, at: usize, fresh: &[String]) -> TextEdit {
    let index = window.search.lines();
    if at == window.lines.start {
        return TextEdit { span: Span::at(index.start(at)), text: fresh.join("\n") + "\n" };
    }
    TextEdit { span: Span::at(index.end(at - 1)), text: format!("\n{}", fresh.join("\n")) }
}

//! Lazy edits: a text in which placeholders replace code that stays as it is.
//!
//! The lines between two placeholders are a *fragment*. Its first and last line must be unchanged lines of the file,
//! the edges of a symbol that both texts have, or the edges of the file; blank lines next to a placeholder are ignored.
//! All places are examined that keep the fragments in order with at least one line in every gap. The edit is made only
//! if all of them lead to the same text.

mod beside;
mod blocks;
mod captured;
mod closers;
mod depth;
mod fresh;
mod innermost;
mod kept_line;
mod lossless;
mod old_lines;
mod orphan;
mod other_block;
mod own_lines;
mod owners;
mod place;
mod placement;
mod reindent;
mod repeated_ends;
mod same_height;
mod shown_symbols;
mod symbol_ends;
mod tabs;
mod text_pair;
mod triple_quotes;
mod undeclared;

use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::omission;
use crate::locate::op::{Locator, Op};
use crate::note::{Note, Notes};
use crate::text::diff;
use crate::work;
use core::ops::Range;
use old_lines::OldLines;
use placement::PlacedFragment;
use symbol_ends::SymbolEnds;
use text_pair::TextPair;

/// Maximum number of placeholders of one text.
pub const GAPS_MAX: usize = 10_000;
/// Maximum number of blank lines that are written between the file's lines and new ones.
const BLANK_LINES_MAX: usize = 2;

/// A symbol that occurs in both the file and the new text, as zero-based lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The lines of the symbol in the file.
    pub old: Range<usize>,
    /// The lines of the symbol in the new text.
    pub new: Range<usize>,
}

/// A lazy edit whose placement is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The changes, at exact places in the file.
    pub ops: Vec<Op>,
    /// The number of placeholders, each of which means unchanged code.
    pub gaps: usize,
    /// True if the indentation of the new text was converted to that of the file.
    pub reindented: bool,
}

/// Lines between placeholders, without blank lines next to them.
#[derive(Clone, Debug)]
struct Fragment {
    /// Zero-based lines of the new text.
    lines: Range<usize>,
    /// Indentation of the placeholders before and after the fragment; `None` at an edge of the text.
    gaps: [Option<usize>; 2],
}

/// True for a text with a placeholder outside of fenced examples.
pub fn is_elided(text: &str) -> bool {
    !omission::gaps("", text).is_empty()
}

/// Returns the new text with every placeholder replaced by an empty line, for parsers.
pub fn without_gaps(old: &str, new: &str) -> String {
    let gaps = omission::possible_gaps(old, new);
    new.lines()
        .enumerate()
        .map(|(at, line)| if gaps.binary_search(&at).is_ok() { "\n".to_owned() } else { format!("{line}\n") })
        .collect()
}

impl Expansion {
    /// Returns the notes about the edit.
    pub fn notes(&self) -> Notes {
        let reindented = "The indentation of the new text was converted to the file's.";
        let mut notes = Notes::from(vec![Note::CodeKept { gaps: self.gaps }]);
        notes.extend(self.reindented.then_some(reindented));
        notes
    }
}

/// Calls [`expand`], and turns its reason into an error. A refusal that the caller passes is used for it; without one,
/// an error is made from the reason.
///
/// Errors: `edit.omission`; `edit.no_change` if the lines that the text shows are in the file.
pub fn expand_or_refuse(old: &str, new: &str, extents: &[Extent], refusal: &mut Option<Error>) -> Result<Expansion> {
    match expand(old, new, extents) {
        Ok(expanded) if expanded.ops.is_empty() => Err(unchanged(expanded.gaps)),
        Ok(expanded) => Ok(expanded),
        Err(why) => {
            let error = refusal.take().unwrap_or_else(|| Error::new(Code::EditOmission, why.clone()));
            Err(error.evidence(why))
        }
    }
}

fn unchanged(gaps: usize) -> Error {
    let placeholders = if gaps == 1 { "its placeholder stands" } else { "its placeholders stand" };
    Error::new(
        Code::EditNoChange,
        format!(
            "The text changes nothing: {placeholders} for code that stays, and the lines it shows are in the file."
        ),
    )
    .next("Nothing is left to do if that is the state you want; else show the lines as they should be.")
}

/// Returns the edit that a text with placeholders means. `extents` may be empty: then only lines are compared.
///
/// Errors: the reason, as sentences, why a placeholder could also mean other lines, or more than [`GAPS_MAX`] of them.
pub fn expand(old: &str, new: &str, extents: &[Extent]) -> Result<Expansion, String> {
    let gaps = omission::possible_gaps(old, new);
    if gaps.len() > GAPS_MAX {
        return Err(format!("The text has {} placeholders; at most {GAPS_MAX} can stand for code.", gaps.len()));
    }
    let file = &OldLines::of(old);
    let sent = &*tabs::in_indentation_of(file, new, &gaps);
    let is_converted = sent != new;
    match place(TextPair::new(file, sent), extents, &gaps) {
        Ok(placed) => Ok(Expansion { reindented: is_converted, ..placed }),
        Err(why) => {
            let variants = reindent::variants(file, sent, &gaps);
            let mut placed = variants.iter().filter_map(|text| {
                let mut texts = TextPair::new(file, text);
                texts.reindented = true;
                place(texts, extents, &gaps).ok()
            });
            // A text that can be indented in two ways must have the same effect in both.
            let found = placed.next().filter(|first| placed.all(|other| other.ops == first.ops));
            found.map(|placed| Expansion { reindented: true, ..placed }).ok_or(why)
        }
    }
}

/// Ends the placement when the call has to end: tables of the lines are incomplete then.
///
/// Errors: always the same reason, because the call fails for another one.
fn check_work() -> Result<(), String> {
    if work::spend_or_end(1) { Err("The work had to end.".to_owned()) } else { Ok(()) }
}

/// Returns a replacement in the indentation of the file, in every way that its lines allow; none if it already has that
/// indentation.
pub(crate) fn reindented(file: &str, old: &str, new: &str) -> Vec<(String, String)> {
    let count = old.lines().count();
    let line_end = if old.ends_with('\n') { "" } else { "\n" };
    let both = format!("{old}{line_end}{new}");
    let gaps = omission::gaps(file, &both);
    let file = &OldLines::of(file);
    let sent = &*tabs::in_indentation_of(file, &both, &gaps);
    let converted = (sent != both).then(|| sent.to_owned());
    let split = |text: String| {
        let at = text.split_inclusive('\n').take(count).map(str::len).sum();
        let [old_open, new_open] = [old, new].map(|text| !text.ends_with('\n'));
        let part = |text: &str, open: bool| text.strip_suffix('\n').filter(|_| open).unwrap_or(text).to_owned();
        (part(&text[..at], old_open), part(&text[at..], new_open))
    };
    reindent::variants(file, sent, &gaps).into_iter().chain(converted).map(split).collect()
}

/// Returns the edit for a text in the file's indentation with placeholders on the zero-based lines `gaps`.
fn place(mut texts: TextPair<'_>, extents: &[Extent], gaps: &[usize]) -> Result<Expansion, String> {
    check_work()?;
    let mut fragments = fragments(&texts, gaps);
    check_work()?;
    texts.set_extents(extents_in(&texts, extents, &fragments, gaps)?);
    let (Some(first), Some(last)) = (fragments.first(), fragments.last()) else {
        return Err("The text consists only of placeholders.".to_owned());
    };
    texts.part = is_part(&texts, first, last);
    if texts.part {
        for fragment in &mut fragments {
            fragment.lines = texts.trimmed(&fragment.lines);
        }
    }
    let placements = place::placements(&texts, &fragments)?;
    own_lines::check(&texts, gaps, &fragments, &placements)?;
    let placed = fragments.iter().zip(&placements).filter_map(|(fragment, it)| Some((fragment, it.as_ref()?)));
    let placed = placed.map(|(fragment, it)| check_work().map(|()| PlacedFragment::of(&texts, fragment, it)));
    let placed: Vec<PlacedFragment<'_>> = placed.collect::<Result<_, _>>()?;
    depth::check(&texts, gaps, &placed)?;
    orphan::check(&texts, &placed)?;
    undeclared::check(&texts, &placed)?;
    other_block::check(&texts, &placed)?;
    repeated_ends::check(&texts, &placed)?;
    shown_symbols::check(&texts, &placed)?;
    captured::check(&texts, gaps, &placed)?;
    let ops: Vec<Op> = placed.iter().map(|it| check_work().map(|()| op(&texts, it))).collect::<Result<_, _>>()?;
    Ok(Expansion { ops, gaps: gaps.len(), reindented: false })
}

/// Returns the symbols that both texts have, and those that the lines show in addition: the definition that the whole
/// text is, and, if there are no symbols, the blocks of each fragment.
///
/// Errors: a symbol has another indentation in the file; its lines would be written with the wrong one.
fn extents_in(
    texts: &TextPair<'_>,
    symbols: &[Extent],
    fragments: &[Fragment],
    gaps: &[usize],
) -> Result<Vec<Extent>, String> {
    let lines: Vec<Range<usize>> = fragments.iter().map(|it| it.lines.clone()).collect();
    let ends = SymbolEnds::new(texts, symbols, gaps);
    let mut out: Vec<Extent> = symbols.iter().filter(|it| ends.is_certain(it)).cloned().collect();
    // Where the parser does not know the end of a symbol, its indentation may show it.
    let misread: Vec<usize> = symbols.iter().filter(|it| ends.is_misread(it)).map(|it| it.new.start).collect();
    if out.is_empty() || !misread.is_empty() {
        let is_sought = |it: &Extent| out.is_empty() || misread.contains(&it.new.start);
        let found: Vec<Extent> = blocks::extents(texts, &lines).into_iter().filter(is_sought).collect();
        out.extend(found);
    }
    shown_symbols::remove_misplaced(texts, &mut out);
    let first = |lines: &[&str], at: usize| lines.get(at).map_or(0, |line| indent(line));
    let differs = |it: &Extent| first(texts.old, it.old.start) != first(&texts.new, it.new.start);
    let is_open = fragments.first().is_some_and(|it| it.gaps[0].is_none())
        && fragments.last().is_some_and(|it| it.gaps[1].is_none());
    if let Some(whole) = blocks::whole(texts).filter(|_| is_open && fragments.len() > 1) {
        out.retain(|it| it.new.start != whole.new.start && !differs(it));
        out.push(whole);
    }
    match out.iter().find(|it| differs(it)) {
        None => Ok(out),
        Some(it) => Err(format!(
            "Line {} of the text is line {} of the file with another indentation, and it is not clear how the other lines \
             are to be indented. Write all lines with the file's indentation.",
            it.new.start + 1,
            it.old.start + 1
        )),
    }
}

/// True if a text is one or more definitions from the middle of the file: no placeholder precedes them, and none that is
/// not inside of the last one follows.
fn is_part(texts: &TextPair<'_>, first: &Fragment, last: &Fragment) -> bool {
    let [begin, end] = [texts.trimmed(&first.lines).start, texts.trimmed(&last.lines).end - 1];
    let begins_file = texts.old.filled().next().is_some_and(|line| same(line, texts.new[begin]));
    let starts = texts.beginning_at(begin).next().is_some();
    let ends = match last.gaps[1] {
        None => texts.ending_before(end + 1).next().is_some(),
        Some(depth) => depth > indent(texts.new[begin]),
    };
    first.gaps[0].is_none() && starts && ends && !begins_file
}

fn same(a: &str, b: &str) -> bool {
    a.trim_end() == b.trim_end()
}

fn indent(line: &str) -> usize {
    const BLANKS: [u8; 16] = [b' '; 16];
    // Lines may be indented by thousands of blanks, so sixteen are passed at once.
    let blanks = line.as_bytes().chunks_exact(BLANKS.len()).take_while(|chunk| **chunk == BLANKS).count();
    line.len() - line[blanks * BLANKS.len()..].trim_start().len()
}

/// True for a line that is not blank.
fn is_filled(line: &str) -> bool {
    indent(line) < line.len()
}

fn fragments(texts: &TextPair<'_>, gaps: &[usize]) -> Vec<Fragment> {
    let mut out = Vec::new();
    let edges = gaps.iter().map(|&at| (at, Some(indent(texts.new[at])))).chain([(texts.new.len(), None)]);
    let (mut from, mut before) = (0, None);
    for (at, after) in edges {
        let mut lines = from..at;
        if work::spend_or_end(1 + lines.len()) {
            break;
        }
        let filled = texts.trimmed(&lines);
        if before.is_some() || filled.is_empty() {
            lines.start = filled.start;
        }
        if after.is_some() || filled.is_empty() {
            lines.end = filled.end;
        }
        if lines.is_empty() {
            // Two consecutive placeholders are one gap.
            before = if before.is_none() { after } else { before };
        } else {
            out.push(Fragment { lines, gaps: [before, after] });
            before = after;
        }
        from = at + 1;
    }
    out
}

/// Returns the operation that writes a fragment to its place. Lines that differ only in trailing whitespace keep that
/// of the file.
fn op(texts: &TextPair<'_>, placed: &PlacedFragment<'_>) -> Op {
    let PlacedFragment { fragment, old, matched } = placed;
    let is_blank = |lines: &[&str], at: usize| lines.get(at).is_none_or(|line| line.trim().is_empty());
    // The text shows blank lines between a placeholder and a new line.
    let blank_lines = |shown: &mut dyn Iterator<Item = usize>, beside: usize| {
        let shown = shown.take(BLANK_LINES_MAX).take_while(|&at| is_blank(&texts.new, at)).count();
        if is_blank(texts.old, beside) { 0 } else { shown }
    };
    let is_fresh = |at: Option<&Option<usize>>| matches!(at, Some(None));
    let above = old.start.wrapping_sub(1);
    let mut text = String::new();
    if fragment.gaps[0].is_some() && is_fresh(matched.first()) {
        text.push_str(&"\n".repeat(blank_lines(&mut (0..fragment.lines.start).rev(), above)));
    }
    for (line, kept) in fragment.lines.clone().zip(matched) {
        text.push_str(kept.map_or(texts.new[line], |at| texts.old[at]));
        text.push('\n');
    }
    if fragment.gaps[1].is_some() && is_fresh(matched.last()) {
        text.push_str(&"\n".repeat(blank_lines(&mut (fragment.lines.end..texts.new.len()), old.end)));
    }
    if texts.old.is_open() && old.end == texts.old.len() {
        text.pop();
        if old.is_empty() {
            text.insert(0, '\n');
        }
    }
    Op { at: Locator::Exactly(texts.old.span_of(old)), text }
}

/// Returns the pairs of equal lines of two lists, in order.
fn pairs(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    diff::equal_lines(old, new)
}

#[cfg(test)]
mod tests;

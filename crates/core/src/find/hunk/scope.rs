//! Anchors of a hunk: lines above its place, and the section that a unified diff names.

use crate::find::fold::{self, Normalization, indent_of, is_blank};
use crate::find::search::SearchIndex;
use crate::lines::{line_start, line_stop};
use core::ops::Range;

/// Lines that an anchor may match.
const ANCHOR_LINES_MAX: usize = 1000;

/// A line that matches an anchor, and the block below it.
#[derive(Clone, Debug)]
pub(super) struct ScopeAnchor {
    /// Zero-based.
    pub(super) line: usize,
    /// The block: the deeper lines below it, up to the next one that is not deeper.
    pub(super) block: Range<usize>,
}

/// The distance class of a place to its anchor; only the nearest class counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nearness {
    /// The place begins with the anchor or right after it.
    Adjoining,
    /// The place is in the anchor's block.
    Inside,
    /// The place is further down.
    Below,
}

/// Returns the lines that match the innermost of these anchors.
///
/// Errors: the index of the anchor that is not in the file.
pub(super) fn anchors(index: &SearchIndex<'_>, scopes: &[String]) -> Result<Vec<ScopeAnchor>, usize> {
    let mut within: Option<Vec<ScopeAnchor>> = None;
    for (nth, scope) in scopes.iter().enumerate() {
        let mut lines = lines_named(index, scope);
        if let Some(outer) = &within {
            let inside = |at: &usize| outer.iter().any(|anchor| anchor.block.contains(at));
            if lines.iter().any(inside) {
                lines.retain(inside);
            } else {
                lines.retain(|at| outer.iter().any(|anchor| anchor.line < *at));
            }
        }
        if lines.is_empty() {
            return Err(nth);
        }
        within = Some(lines.into_iter().map(|line| ScopeAnchor { line, block: block(index, line) }).collect());
    }
    Ok(within.unwrap_or_default())
}

/// Returns the distance of lines from `first` on to the nearest anchor; `None` if no anchor is above.
pub(super) fn nearness(anchors: &[ScopeAnchor], first: usize) -> Option<Nearness> {
    anchors.iter().filter_map(|anchor| anchor_nearness(first, anchor)).min()
}

/// Returns how near a line is to an anchor.
fn anchor_nearness(first: usize, anchor: &ScopeAnchor) -> Option<Nearness> {
    if first == anchor.line || first == anchor.line + 1 {
        Some(Nearness::Adjoining)
    } else if anchor.block.contains(&first) {
        Some(Nearness::Inside)
    } else {
        (first > anchor.line).then_some(Nearness::Below)
    }
}

/// Returns the lines that a section name may refer to, with their blocks. A name may be cut short.
pub(super) fn sections(index: &SearchIndex<'_>, name: &str) -> Vec<ScopeAnchor> {
    let lines = lines_named(index, name);
    lines.into_iter().map(|line| ScopeAnchor { line, block: block(index, line) }).collect()
}

/// Returns the lines equal to this text, blanks at either end aside; else those that begin with it; else those that
/// contain it; else those that resemble it.
fn lines_named(index: &SearchIndex<'_>, name: &str) -> Vec<usize> {
    let name = name.trim();
    if name.is_empty() {
        return Vec::new();
    }
    let text = index.base.text();
    let (mut equal, mut begin, mut hold) = (Vec::new(), Vec::new(), Vec::new());
    let mut from = 0;
    let finder = memchr::memmem::Finder::new(name);
    while let Some(at) = finder.find(&text.as_bytes()[from..]).map(|at| from + at) {
        let (start, stop) = (line_start(text, at), line_stop(text, at));
        let line = text[start..stop].trim();
        let list = if line == name {
            &mut equal
        } else if line.starts_with(name) {
            &mut begin
        } else {
            &mut hold
        };
        list.push(index.lines().at(start));
        if list.len() > ANCHOR_LINES_MAX {
            break;
        }
        from = stop;
    }
    let found = [equal, begin, hold].into_iter().find(|lines| !lines.is_empty());
    found.unwrap_or_else(|| alike(index, name))
}

fn alike(index: &SearchIndex<'_>, name: &str) -> Vec<usize> {
    if let Some(stands) = index.similar_lines(name)
        && let Some(all) = stands.all()
    {
        return all.to_vec();
    }
    let key = fold::normalized_hash(name, Normalization::BlankRuns);
    let keys = index.loose_keys().iter().enumerate();
    keys.filter(|&(_, other)| *other == key).map(|(at, _)| at).take(ANCHOR_LINES_MAX).collect()
}

/// Returns the lines below `line` that are deeper than it, including the brackets that open and close them.
fn block(index: &SearchIndex<'_>, line: usize) -> Range<usize> {
    let depth = width(indent_of(index.line(line)));
    let count = index.lines().count();
    line + 1
        ..(line + 1..count)
            .find(|at| {
                let line = index.line(*at);
                let word = line.trim_start().chars().next().is_some_and(|ch| !"{}()[];,.".contains(ch));
                !is_blank(line) && word && width(indent_of(line)) <= depth
            })
            .unwrap_or(count)
}

/// Returns the nearest shallower line above `first`, if it is unique: an anchor that would select this place.
pub(super) fn around<'t>(index: &SearchIndex<'t>, first: usize) -> Option<&'t str> {
    /// Lines that are examined.
    const ENCLOSING_LINES_MAX: usize = 400;
    let mut depth =
        width(indent_of((first..index.lines().count()).map(|at| index.line(at)).find(|line| !is_blank(line))?));
    let above = (first.saturating_sub(ENCLOSING_LINES_MAX)..first)
        .rev()
        .map(|at| index.line(at))
        .filter(|line| !is_blank(line));
    for line in above {
        let word = line.trim_start().starts_with(|ch: char| !"{}()[];,.#/*".contains(ch));
        if word && width(indent_of(line)) < depth {
            depth = width(indent_of(line));
            if lines_named(index, line).len() == 1 {
                return Some(line.trim());
            }
        }
    }
    None
}

/// The width of an indentation; a TAB extends to the next multiple of eight.
fn width(indent: &str) -> usize {
    indent.chars().fold(0, |width, ch| if ch == '\t' { (width / 8 + 1) * 8 } else { width + 1 })
}

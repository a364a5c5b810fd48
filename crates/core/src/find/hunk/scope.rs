//! The anchors of a hunk: lines below which its place lies, and the section that a unified diff names.

use crate::find::fold::{self, Look, indent_of, is_blank};
use crate::find::search::Index;
use crate::lines::{line_start, line_stop};
use core::ops::Range;

/// Lines that an anchor may be.
const MOST: usize = 1000;

/// A line that is an anchor, and the block below it.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    /// Zero-based.
    pub(super) line: usize,
    /// The lines that belong to it: those below that are deeper, up to the next one that is not.
    pub(super) block: Range<usize>,
}

/// How near a place is to its anchor; the nearest ones count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nearness {
    /// The place begins with the anchor or right behind it.
    Adjoining,
    /// It is in the anchor's block.
    Inside,
    /// It is further down.
    Below,
}

/// Where the innermost of these anchors may be.
///
/// Errors: the number of the anchor that is not there.
pub(super) fn anchors(index: &Index<'_>, scopes: &[String]) -> Result<Vec<Anchor>, usize> {
    let mut within: Option<Vec<Anchor>> = None;
    for (nth, scope) in scopes.iter().enumerate() {
        let mut lines = lines_named(index, scope);
        if let Some(outer) = &within {
            let inside = |at: &usize| outer.iter().any(|anchor| anchor.block.contains(at));
            let below = |at: &usize| outer.iter().any(|anchor| anchor.line < *at);
            if lines.iter().any(inside) {
                lines.retain(inside);
            } else {
                lines.retain(below);
            }
        }
        if lines.is_empty() {
            return Err(nth);
        }
        within = Some(lines.into_iter().map(|line| Anchor { line, block: block(index, line) }).collect());
    }
    Ok(within.unwrap_or_default())
}

/// How near lines from `first` on are to the nearest of the anchors; `None`: none of them stands above.
pub(super) fn nearness(anchors: &[Anchor], first: usize) -> Option<Nearness> {
    let one = |anchor: &Anchor| {
        if first == anchor.line || first == anchor.line + 1 {
            Some(Nearness::Adjoining)
        } else if anchor.block.contains(&first) {
            Some(Nearness::Inside)
        } else {
            (first > anchor.line).then_some(Nearness::Below)
        }
    };
    anchors.iter().filter_map(one).min()
}

/// The lines that a section name may stand for, with their blocks. A name may be cut short.
pub(super) fn sections(index: &Index<'_>, name: &str) -> Vec<Anchor> {
    let lines = lines_named(index, name);
    lines.into_iter().map(|line| Anchor { line, block: block(index, line) }).collect()
}

/// The lines that are this text, blanks around it aside; else those that begin with it; else those that hold it; else
/// those that only look like it.
fn lines_named(index: &Index<'_>, name: &str) -> Vec<usize> {
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
        if list.len() > MOST {
            break;
        }
        from = stop;
    }
    let found = [equal, begin, hold].into_iter().find(|lines| !lines.is_empty());
    found.unwrap_or_else(|| alike(index, name))
}

fn alike(index: &Index<'_>, name: &str) -> Vec<usize> {
    if let Some(stands) = index.stands(name)
        && let Some(all) = stands.all()
    {
        return all.to_vec();
    }
    let key = fold::key(name, Look::Runs);
    let keys = index.loose_keys().iter().enumerate();
    keys.filter(|&(_, other)| *other == key).map(|(at, _)| at).take(MOST).collect()
}

/// The lines below `line` that are deeper than it, with the brackets that open and close them.
fn block(index: &Index<'_>, line: usize) -> Range<usize> {
    let depth = width(indent_of(index.line(line)));
    let count = index.lines().count();
    let ends = |at: &usize| {
        let line = index.line(*at);
        let word = line.trim_start().chars().next().is_some_and(|ch| !"{}()[];,.".contains(ch));
        !is_blank(line) && word && width(indent_of(line)) <= depth
    };
    line + 1..(line + 1..count).find(ends).unwrap_or(count)
}

/// The nearest line above `first` that is less deep than it, if it is the only one of its text: an anchor that would choose
/// this place.
pub(super) fn around<'t>(index: &Index<'t>, first: usize) -> Option<&'t str> {
    /// Lines looked at.
    const REACH: usize = 400;
    let mut depth =
        width(indent_of((first..index.lines().count()).map(|at| index.line(at)).find(|line| !is_blank(line))?));
    let above = (first.saturating_sub(REACH)..first).rev().map(|at| index.line(at)).filter(|line| !is_blank(line));
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

/// The depth of an indentation; a TAB reaches the next multiple of eight.
fn width(indent: &str) -> usize {
    indent.chars().fold(0, |width, ch| if ch == '\t' { (width / 8 + 1) * 8 } else { width + 1 })
}

//! Anchors of a hunk: lines above its place, and the section that a unified diff names.

use crate::locate::find::search::SearchIndex;
use crate::text::fold::{self, Normalization, indent_of, is_blank};
use crate::text::lines::{line_start, line_stop};
use crate::work::{self, STEP_BYTES};
use core::ops::Range;
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of lines that an anchor may match.
const ANCHOR_LINES_MAX: usize = 1000;
/// Maximum number of lines above a hunk that are searched for the name of its section.
const TITLE_LINES_MAX: usize = 300;
/// Bytes that count as one step in a search for a text that rarely occurs.
const QUICK_STEP_BYTES: usize = 4 * STEP_BYTES;

/// The lines that match an anchor, and the blocks below them: the deeper lines up to the next line that is not deeper.
#[derive(Debug, Default)]
pub(in crate::locate::find) struct ScopeAnchors {
    /// The matching lines, zero-based and sorted.
    lines: Vec<usize>,
    /// The union of all blocks, sorted.
    blocks: Vec<Range<usize>>,
}

/// The anchors of a file by their texts. An error is the index of the anchor that is not in the file.
pub(in crate::locate::find) type ScopeCache = HashMap<Vec<String>, Result<Rc<ScopeAnchors>, usize>>;

impl ScopeAnchors {
    fn new(index: &SearchIndex<'_>, mut lines: Vec<usize>) -> ScopeAnchors {
        lines.sort_unstable();
        let mut blocks: Vec<Range<usize>> = Vec::new();
        // The depth of the line whose block ends last.
        let mut depth = 0;
        for &line in &lines {
            let own = width(indent_of(index.line(line)));
            match blocks.last_mut() {
                // A deeper line within a block has a block that ends no later.
                Some(last) if last.contains(&line) && own > depth => continue,
                Some(last) if line < last.end => last.end = last.end.max(block(index, line).end),
                _ => blocks.push(block(index, line)),
            }
            depth = own;
        }
        ScopeAnchors { lines, blocks }
    }

    /// The matching lines, zero-based.
    pub(super) fn lines(&self) -> &[usize] {
        &self.lines
    }

    /// True for a matching line.
    fn is_anchor(&self, line: usize) -> bool {
        self.lines.binary_search(&line).is_ok()
    }

    /// Returns the nearest matching line that is not below a line.
    pub(super) fn anchor_of(&self, line: usize) -> Option<usize> {
        let after = self.lines.partition_point(|&anchor| anchor <= line);
        after.checked_sub(1).map(|at| self.lines[at])
    }

    /// True for a line within a block.
    fn is_inside(&self, line: usize) -> bool {
        let after = self.blocks.partition_point(|block| block.start <= line);
        after.checked_sub(1).is_some_and(|at| self.blocks[at].contains(&line))
    }

    /// True for a matching line, and for a line within a block.
    pub(super) fn covers(&self, line: usize) -> bool {
        self.is_anchor(line) || self.is_inside(line)
    }

    /// Returns the distance class of lines from `first` on to the nearest anchor; `None` if no anchor is above them.
    pub(super) fn nearness(&self, first: usize) -> Option<Nearness> {
        if self.is_anchor(first) || first.checked_sub(1).is_some_and(|above| self.is_anchor(above)) {
            Some(Nearness::Adjoining)
        } else if self.is_inside(first) {
            Some(Nearness::Inside)
        } else {
            self.lines.first().is_some_and(|&line| first > line).then_some(Nearness::Below)
        }
    }
}

/// The distance class of a place to its anchor; only the nearest class counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nearness {
    /// The place begins with the anchor or directly after it.
    Adjoining,
    /// The place is in the anchor's block.
    Inside,
    /// The place is further down.
    Below,
}

/// Returns the lines that match the innermost of these anchors.
///
/// Errors: the index of the anchor that is not in the file.
pub(super) fn anchors(index: &SearchIndex<'_>, scopes: &[String]) -> Result<Rc<ScopeAnchors>, usize> {
    if let Some(known) = index.scopes.borrow().get(scopes) {
        return known.clone();
    }
    let found = nested(index, scopes).map(Rc::new);
    index.scopes.borrow_mut().insert(scopes.to_vec(), found.clone());
    found
}

/// Returns a note about a place below the block of its anchor; `None` if the anchor begins no block, so that all lines
/// below it are meant.
pub(super) fn note_below_block(index: &SearchIndex<'_>, scopes: &[String], first: usize) -> Option<String> {
    let found = anchors(index, scopes).ok()?;
    let (name, anchor) = (scopes.last()?, found.anchor_of(first)?);
    if found.nearness(first) != Some(Nearness::Below) {
        return None;
    }
    let last = block(index, anchor).rev().find(|at| !is_blank(index.line(*at)))?;
    Some(format!("The place is below the block of `@@ {}`, which is lines {}-{}.", name.trim(), anchor + 1, last + 1))
}

fn nested(index: &SearchIndex<'_>, scopes: &[String]) -> Result<ScopeAnchors, usize> {
    let mut within: Option<ScopeAnchors> = None;
    for (nth, scope) in scopes.iter().enumerate() {
        let mut lines = lines_named(index, scope);
        if let Some(outer) = &within {
            if lines.iter().any(|at| outer.is_inside(*at)) {
                lines.retain(|at| outer.is_inside(*at));
            } else {
                lines.retain(|at| outer.lines.first().is_some_and(|first| first < at));
            }
        }
        if lines.is_empty() {
            return Err(nth);
        }
        within = Some(ScopeAnchors::new(index, lines));
    }
    Ok(within.unwrap_or_default())
}

/// Returns the lines that a section name may refer to, with their blocks. The name may be truncated.
pub(super) fn sections(index: &SearchIndex<'_>, name: &str) -> Rc<ScopeAnchors> {
    anchors(index, &[name.to_owned()]).unwrap_or_default()
}

/// True if the nearest line above `first` that begins with a letter in the first column has this name, as in a
/// patch by git.
pub(super) fn is_nearest_title(index: &SearchIndex<'_>, name: &str, first: usize) -> bool {
    let name = name.trim();
    let is_title = |line: &&str| line.starts_with(|ch: char| ch.is_ascii_alphabetic() || ch == '_' || ch == '$');
    let above = (0..first).rev().map(|at| index.line(at)).take_while(|_| !work::spend_or_end(1));
    above.take(TITLE_LINES_MAX).find(is_title).is_some_and(|line| line.trim_end().starts_with(name))
}

/// Returns the lines equal to this text, ignoring whitespace at either end; else those that begin with it as whole
/// words; else those that begin with it within a word, or contain it as whole words; else those that contain it; else
/// those that resemble it.
pub(super) fn lines_named(index: &SearchIndex<'_>, name: &str) -> Vec<usize> {
    let name = name.trim();
    let text = index.base.text();
    if name.is_empty() || work::spend_or_end(text.len() / QUICK_STEP_BYTES) {
        return Vec::new();
    }
    let mut ranks: [Vec<usize>; 4] = Default::default();
    let mut from = 0;
    let finder = memchr::memmem::Finder::new(name);
    while let Some(at) = finder.find(&text.as_bytes()[from..]).map(|at| from + at) {
        let (start, stop) = (line_start(text, at), line_stop(text, at));
        let list = &mut ranks[rank_of_match(text[start..stop].trim(), name)];
        list.push(index.lines().at(start));
        if list.len() > ANCHOR_LINES_MAX || work::spend_or_end(1 + (stop - from) / STEP_BYTES) {
            break;
        }
        from = stop;
    }
    let found = ranks.into_iter().find(|lines| !lines.is_empty());
    found.unwrap_or_else(|| alike(index, name))
}

/// Returns the rank of a line that contains a name, from 0 (equal) to 3.
fn rank_of_match(line: &str, name: &str) -> usize {
    let is_word = |ch: char| ch.is_alphanumeric() || ch == '_';
    let has_whole_words = line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        !(name.starts_with(is_word) && before.ends_with(is_word)
            || name.ends_with(is_word) && after.starts_with(is_word))
    });
    match (line.starts_with(name), has_whole_words) {
        _ if line == name => 0,
        (true, true) => 1,
        (true, false) | (false, true) => 2,
        (false, false) => 3,
    }
}

fn alike(index: &SearchIndex<'_>, name: &str) -> Vec<usize> {
    if let Some(similar) = index.similar_lines(name)
        && let Some(all) = similar.all()
    {
        return all.to_vec();
    }
    let key = fold::normalized_hash(name, Normalization::BlankRuns);
    let keys = index.loose_keys().iter().enumerate();
    keys.filter(|&(_, other)| *other == key).map(|(at, _)| at).take(ANCHOR_LINES_MAX).collect()
}

/// Returns the lines below `line` that are deeper than it, including the brackets that open and close them, and labels,
/// comments and preprocessor lines, which may be in the first column of a deeper block.
pub(super) fn block(index: &SearchIndex<'_>, line: usize) -> Range<usize> {
    let head = index.line(line);
    let depth = width(indent_of(head));
    let has_remarks = !is_remark(head.trim_start());
    // Elsewhere, as in YAML and Python, a word with a colon begins the next block.
    let has_labels = head.trim_end().ends_with([')', '{', ',']);
    let count = index.lines().count();
    line + 1
        ..(line + 1..count)
            .find(|at| {
                if work::spend_or_end(1) {
                    return true;
                }
                let line = index.line(*at);
                let is_word = line.trim_start().starts_with(|ch: char| !"{}()[];,.".contains(ch));
                let is_aside = has_remarks && is_remark(line.trim_start()) || has_labels && is_label(line.trim());
                width(indent_of(line)) <= depth && (is_word && !is_aside || begins_with_sign(line.trim()))
            })
            .unwrap_or(count)
}

/// True for a line that begins a section or a block although it begins with a sign.
fn begins_with_sign(text: &str) -> bool {
    text.starts_with('[') && text.ends_with(']') || is_selector(text)
}

/// True for a line such as `.name {` or `#name {`.
pub(super) fn is_selector(text: &str) -> bool {
    let is_id =
        || text.strip_prefix('#').is_some_and(|rest| !rest.starts_with([' ', '[', '!']) && !rest.starts_with("define"));
    text.ends_with('{') && (text.starts_with('.') && !text.contains('(') || is_id())
}

/// True for a comment, and for a line of a preprocessor.
pub(super) fn is_remark(text: &str) -> bool {
    text.starts_with('#') && !text.starts_with("#[") || ["//", "/*", "*"].iter().any(|start| text.starts_with(start))
}

/// True for a label, as `out:` in C.
pub(super) fn is_label(text: &str) -> bool {
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    text.strip_suffix(':').is_some_and(|name| !name.is_empty() && is_name(name))
}

/// Returns the nearest line above `first` that is indented less, if it is unique: an anchor that would select this
/// place.
pub(super) fn around<'t>(index: &SearchIndex<'t>, first: usize) -> Option<&'t str> {
    /// Maximum number of lines that are examined.
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

/// Returns the width of an indentation in columns; a TAB extends to the next multiple of eight.
pub(super) fn width(indent: &str) -> usize {
    indent.chars().fold(0, |width, ch| if ch == '\t' { (width / 8 + 1) * 8 } else { width + 1 })
}

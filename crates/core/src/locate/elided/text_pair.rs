//! The file and a lazy edit by lines, with tables for the look-ups that are made for every line: an edit may have as
//! many fragments as lines.

use super::old_lines::OldLines;
use super::{Extent, blocks, fresh, indent, same};
use crate::text::fold::count_alnum;
use crate::work;
use core::cell::OnceCell;
use core::ops::Range;
use foldhash::{HashMap, HashMapExt as _, HashSet};

/// The file (`old`) and the lazy edit (`new`) by lines.
pub(super) struct TextPair<'a> {
    pub(super) old: &'a OldLines<'a>,
    pub(super) new: Vec<&'a str>,
    /// True if the text is one or more definitions, and not the whole file.
    pub(super) part: bool,
    /// The indentation of the text was converted: fewer lines are surely those of the file.
    pub(super) reindented: bool,
    /// The lines of the text, without trailing whitespace.
    shown: HashSet<&'a str>,
    extents: Vec<Extent>,
    /// The names of the lines of the file, by their depth.
    names: OnceCell<HashMap<usize, HashSet<&'a str>>>,
    /// For each line of the new text, the innermost symbol around it.
    innermost: Vec<Option<usize>>,
    /// The symbols that begin on each line of the new text, and those that end before it.
    begins: HashMap<usize, Vec<usize>>,
    ends: HashMap<usize, Vec<usize>>,
}

impl<'a> TextPair<'a> {
    pub(super) fn new(old: &'a OldLines<'a>, new: &'a str) -> TextPair<'a> {
        let new: Vec<&str> = work::lines(new).collect();
        TextPair {
            old,
            names: OnceCell::new(),
            shown: work::batched(new.iter()).map(|line| line.trim_end()).collect(),
            new,
            part: false,
            reindented: false,
            extents: Vec::new(),
            innermost: Vec::new(),
            begins: HashMap::new(),
            ends: HashMap::new(),
        }
    }

    /// Sets the symbols that both texts have.
    pub(super) fn set_extents(&mut self, extents: Vec<Extent>) {
        self.innermost = vec![None; self.new.len()];
        let mut longest_first: Vec<usize> = (0..extents.len()).collect();
        longest_first.sort_by_key(|&at| core::cmp::Reverse(extents[at].new.len()));
        for (nth, extent) in extents.iter().enumerate() {
            self.begins.entry(extent.new.start).or_default().push(nth);
            self.ends.entry(extent.new.end).or_default().push(nth);
        }
        for nth in longest_first {
            let lines = extents[nth].new.clone();
            if work::spend_or_end(lines.len()) {
                break;
            }
            if let Some(inner) = self.innermost.get_mut(lines) {
                inner.fill(Some(nth));
            }
        }
        self.extents = extents;
    }

    /// Returns the symbols that begin on a line of the new text.
    pub(super) fn beginning_at(&self, line: usize) -> impl Iterator<Item = &Extent> {
        self.begins.get(&line).into_iter().flatten().map(|&nth| &self.extents[nth])
    }

    /// Returns the symbols that end before a line of the new text.
    pub(super) fn ending_before(&self, line: usize) -> impl Iterator<Item = &Extent> {
        self.ends.get(&line).into_iter().flatten().map(|&nth| &self.extents[nth])
    }

    /// Returns the lines in the file of the innermost symbol around a line of the new text.
    pub(super) fn scope(&self, line: usize) -> Option<&Range<usize>> {
        let nth = (*self.innermost.get(line)?)?;
        self.extents.get(nth).map(|it| &it.old)
    }

    /// Returns the lines of the file that are equal to a line of the new text, within the symbol that contains both.
    pub(super) fn matching(&self, line: usize) -> &[usize] {
        let text = self.new[line];
        self.scope(line).map_or_else(|| self.old.places_of(text), |range| self.old.places_within(text, range))
    }

    /// Returns the line of the file that a line of a fragment matches. If several lines are equal, the one with the
    /// same neighbours: those after it if `behind` is true, else those before it.
    pub(super) fn only_place(&self, line: usize, fragment: &Range<usize>, behind: bool) -> Option<usize> {
        const NEIGHBOURS: usize = 5;
        const PLACES_MAX: usize = 1000;
        const TELLING_ALNUM_MIN: usize = 4;
        let mut left = match self.matching(line) {
            &[only] => return Some(only),
            all if all.len() > PLACES_MAX || work::spend_or_end(all.len()) => return None,
            all => all.to_vec(),
        };
        for distance in 1..=NEIGHBOURS {
            let near = |at: usize| if behind { at.checked_add(distance) } else { at.checked_sub(distance) };
            let shown = near(line).filter(|at| fragment.contains(at)).map(|at| self.new[at])?;
            left.retain(|&at| near(at).and_then(|at| self.old.get(at)).is_some_and(|old| same(old, shown)));
            match &*left {
                [] => return None,
                &[only] if count_alnum(shown, TELLING_ALNUM_MIN) >= TELLING_ALNUM_MIN => return Some(only),
                _ => {}
            }
        }
        None
    }

    /// True if the file has a line with this name at this depth.
    pub(super) fn has_name(&self, name: &str, depth: usize) -> bool {
        let names = self.names.get_or_init(|| {
            let mut names: HashMap<usize, HashSet<&str>> = HashMap::new();
            for line in self.old.filled().take_while(|line| !work::spend_or_end(blocks::line_steps(line))) {
                names.entry(indent(line)).or_default().extend(fresh::name(line));
            }
            names
        });
        names.get(&depth).is_some_and(|names| names.contains(name))
    }

    /// True for a line that the text shows somewhere, so that nothing in the text replaces it.
    pub(super) fn shows(&self, line: &str) -> bool {
        self.shown.contains(line.trim_end())
    }

    /// Returns a range of lines of the new text without blank lines at either end.
    pub(super) fn trimmed(&self, lines: &Range<usize>) -> Range<usize> {
        let filled = |at: &usize| !self.new[*at].trim().is_empty();
        let start = lines.clone().find(filled).unwrap_or(lines.end);
        start..lines.clone().rev().find(filled).map_or(start, |at| at + 1)
    }
}

//! What one search shares between its tiers: the lines of the file and their keys, made when first asked for.

use super::fold::{self, Look, is_blank};
use super::place::Place;
use crate::op::Find;
use crate::snapshot::Snapshot;
use crate::span::Span;
use std::cell::OnceCell;
use std::rc::Rc;

/// One search: a text, what is looked for, what shall stand there.
pub(super) struct Search<'a> {
    pub(super) base: &'a Snapshot,
    pub(super) text: &'a str,
    pub(super) find: &'a Find,
    pub(super) new: &'a str,
    /// Old and new as lines.
    pub(super) wanted: Rc<Wanted<'a>>,
    lines: OnceCell<FileLines>,
    loose: OnceCell<Vec<u64>>,
    close: OnceCell<Vec<u64>>,
    windows: OnceCell<Vec<usize>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(base: &'a Snapshot, find: &'a Find, new: &'a str) -> Search<'a> {
        Search {
            base,
            text: base.text(),
            find,
            new,
            wanted: Rc::new(Wanted { old: split(&find.old), new: split(new) }),
            lines: OnceCell::new(),
            loose: OnceCell::new(),
            close: OnceCell::new(),
            windows: OnceCell::new(),
        }
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> &FileLines {
        self.lines.get_or_init(|| FileLines::new(self.text))
    }

    /// One line of the file, zero-based, without its line end.
    pub(super) fn line(&self, at: usize) -> &'a str {
        self.lines().line(self.text, at)
    }

    /// Keys of all lines under the look that forgives most: a window without equal keys fits at no tier.
    pub(super) fn loose_keys(&self) -> &[u64] {
        self.loose.get_or_init(|| self.keys(Look::Runs))
    }

    /// Keys of all lines, blank runs counted.
    pub(super) fn close_keys(&self) -> &[u64] {
        self.close.get_or_init(|| self.keys(Look::Trimmed))
    }

    fn keys(&self, look: Look) -> Vec<u64> {
        (0..self.lines().count()).map(|at| fold::key(self.line(at), look)).collect()
    }

    /// [`Search::windows`] of old as it is.
    pub(super) fn wanted_windows(&self) -> &[usize] {
        self.windows.get_or_init(|| self.windows(&self.wanted.old))
    }

    /// Where whole lines begin that may be `old`: zero-based, overlapping ones too.
    pub(super) fn windows(&self, old: &[&str]) -> Vec<usize> {
        let keys: Vec<u64> = old.iter().map(|line| fold::key(line, Look::Runs)).collect();
        occurrences(self.loose_keys(), &keys)
    }
}

/// Old and new as lines, without line ends; an empty text has no lines.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
}

impl Wanted<'_> {
    /// Letters and digits in old, counted up to `enough`.
    pub(super) fn substance(&self, enough: usize) -> usize {
        let mut count = 0;
        for line in &self.old {
            if count >= enough {
                break;
            }
            count += fold::substance(line, enough - count);
        }
        count
    }

    /// True when some line of old is not blank.
    pub(super) fn has_text(&self) -> bool {
        self.old.iter().any(|line| !is_blank(line))
    }
}

/// The lines of a text; an empty rest after the last line end is none.
pub(super) fn split(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    text.strip_suffix('\n').unwrap_or(text).split('\n').collect()
}

/// Where the lines of a text begin.
pub(super) struct FileLines {
    /// Start of every line, and one past the last line end (be it there or not).
    starts: Vec<usize>,
    /// True when the last line has no line end.
    open: bool,
}

impl FileLines {
    fn new(text: &str) -> FileLines {
        let open = !text.is_empty() && !text.ends_with('\n');
        let mut starts = Vec::with_capacity(text.len() / 32 + 2);
        starts.push(0);
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if open {
            starts.push(text.len() + 1);
        }
        FileLines { starts, open }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn line<'t>(&self, text: &'t str, at: usize) -> &'t str {
        &text[self.starts[at]..self.end(at)]
    }

    /// Offset at which line `at` begins; for the line after the last, the end of the text.
    pub(super) fn start(&self, at: usize) -> usize {
        self.starts[at] - usize::from(self.is_open(at.wrapping_sub(1)))
    }

    /// Offset of the line end of line `at`.
    pub(super) fn end(&self, at: usize) -> usize {
        self.starts[at + 1] - 1
    }

    /// True when line `at` has no line end.
    pub(super) fn is_open(&self, at: usize) -> bool {
        self.open && at.wrapping_add(1) == self.count()
    }
}

/// What a tier found.
#[derive(Default)]
pub(super) struct Trial<'a> {
    /// The places, in order, overlapping ones too.
    pub(super) places: Vec<Place<'a>>,
    /// A 1-based line that may choose among them: the number copied with the text.
    pub(super) number: Option<usize>,
}

/// All positions of `wanted` in `keys`, overlapping ones too, in linear time (Knuth, Morris, Pratt).
pub(super) fn occurrences(keys: &[u64], wanted: &[u64]) -> Vec<usize> {
    if wanted.is_empty() || wanted.len() > keys.len() {
        return Vec::new();
    }
    let mut fall = vec![0usize; wanted.len()];
    let mut len = 0;
    for at in 1..wanted.len() {
        while len > 0 && wanted[at] != wanted[len] {
            len = fall[len - 1];
        }
        len += usize::from(wanted[at] == wanted[len]);
        fall[at] = len;
    }
    let mut out = Vec::new();
    let mut have = 0;
    for (at, key) in keys.iter().enumerate() {
        while have > 0 && (have == wanted.len() || *key != wanted[have]) {
            have = fall[have - 1];
        }
        have += usize::from(*key == wanted[have]);
        if have == wanted.len() {
            out.push(at + 1 - have);
        }
    }
    out
}

/// The span of whole lines `from..to`, without the last line end.
pub(super) fn span_of(lines: &FileLines, from: usize, to: usize) -> Span {
    Span::new(lines.start(from), lines.end(to.max(from + 1) - 1))
}

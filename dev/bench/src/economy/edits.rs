//! Ten edits of one file, covering most kinds of code changes. Each consists of hunks, from which every format makes
//! its text, and of the resulting file.

use std::ops::Range;

/// The file: an earlier version of a source of this repository.
pub(super) const SAMPLE: &str = include_str!("../../samples/search.rs.txt");

/// One edit.
pub(super) struct Edit {
    pub(super) name: &'static str,
    pub(super) hunks: Vec<Hunk>,
}

/// Zero-based lines and their replacement.
pub(super) struct Hunk {
    pub(super) old: Range<usize>,
    pub(super) new: Vec<&'static str>,
}

impl Edit {
    /// Returns the file after the edit.
    pub(super) fn after(&self) -> String {
        let mut lines: Vec<&str> = SAMPLE.lines().collect();
        for hunk in self.hunks.iter().rev() {
            lines.splice(hunk.old.clone(), hunk.new.iter().copied());
        }
        lines.into_iter().map(|line| format!("{line}\n")).collect()
    }

    /// Returns the new lines alone, which every format needs.
    pub(super) fn new_text(&self) -> String {
        self.hunks.iter().flat_map(|hunk| &hunk.new).map(|line| format!("{line}\n")).collect()
    }
}

/// Replaces the lines from `first` to `last`, 1-based.
fn lines(first: usize, last: usize, new: &'static str) -> Hunk {
    Hunk { old: first - 1..last, new: new.lines().collect() }
}

/// Inserts lines after a line, 1-based.
fn behind(line: usize, new: &'static str) -> Hunk {
    Hunk { old: line..line, new: new.lines().collect() }
}

/// Returns the ten edits.
pub(super) fn all() -> Vec<Edit> {
    let edit = |name, hunks| Edit { name, hunks };
    vec![
        edit("one line", vec![lines(178, 178, "        let mut starts = Vec::with_capacity(text.len() / 40 + 2);\n")]),
        edit("insert a line among repeated ones", vec![behind(300, "        looked += 1;\n")]),
        edit("delete 8 lines", vec![lines(159, 166, "")]),
        edit("replace a function of 10 lines", vec![lines(142, 151, FUNCTION)]),
        edit("insert a function of 9 lines", vec![behind(213, INSERTED)]),
        edit(
            "rename at 3 lines, 2 hunks",
            vec![
                lines(
                    249,
                    250,
                    "        let hash = exact_key(line);\n        let mut at = self.heads[self.bucket(hash)];\n",
                ),
                lines(255, 255, "                if self.keys[line] == hash {\n"),
            ],
        ),
        edit("wrap 11 lines in a condition", vec![lines(291, 301, WRAPPED)]),
        edit("add an import", vec![behind(8, "use std::borrow::Cow;\n")]),
        edit(
            "change 2 of 6 lines",
            vec![
                lines(28, 28, "            lines: OnceCell::from(lines),\n"),
                lines(30, 30, "            close: OnceCell::from(keys),\n"),
            ],
        ),
        edit("delete 16 lines", vec![lines(246, 261, "")]),
    ]
}

const FUNCTION: &str = "    pub(super) fn substance(&self, enough: usize) -> usize {
        let mut left = enough;
        for line in &self.old {
            left -= fold::substance(line, left);
            if left == 0 {
                break;
            }
        }
        enough - left
    }
";

const INSERTED: &str = "
    /// Returns the lines that a span of the text touches: the first one, and the one after the last.
    pub(super) fn touched(&self, span: Span) -> (usize, usize) {
        let first = self.at(span.start());
        if span.is_empty() {
            return (first, first);
        }
        (first, self.at(span.end() - 1) + 1)
    }
";

const WRAPPED: &str = "    if fall.len() > 1 {
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
    }
";

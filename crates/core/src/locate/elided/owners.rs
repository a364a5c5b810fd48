//! The line with which the block around a line begins, by indentation, and in files such as TOML by the headers of
//! sections.

use super::{beside, fresh, indent, is_filled};
use crate::locate::word_overlap;
use crate::work;
use core::ops::Range;

/// Words with which a line continues the statement above, rather than to begin a block of its own.
const CONTINUING_WORDS: [&str; 15] = [
    "else", "elif", "elsif", "elseif", "except", "catch", "finally", "rescue", "ensure", "end", "fi", "done", "esac",
    "endif", "endfunction",
];

/// For each of some lines, the line with which the innermost block around it begins.
pub(super) struct Owners {
    start: usize,
    headers: Vec<Option<usize>>,
    /// For each line, the line behind the block that it begins.
    ends: Vec<usize>,
}

/// A block that is open at some line.
struct OpenBlock {
    header: usize,
    depth: usize,
    is_section: bool,
}

impl Owners {
    /// Reads the lines of a range; nothing is known about those above it. Incomplete once the work has to end.
    pub(super) fn of(lines: &[&str], range: &Range<usize>) -> Owners {
        let mut open: Vec<OpenBlock> = Vec::new();
        let mut out = Owners {
            start: range.start,
            headers: vec![None; range.len()],
            ends: range.clone().map(|at| at + 1).collect(),
        };
        let mut end = range.start;
        for at in range.clone() {
            let line = lines[at];
            if work::spend_or_end(1 + line.len()) {
                break;
            }
            // Comments and directives have any indentation.
            if !is_filled(line) || is_remark(line) {
                continue;
            }
            let (depth, is_section, continues) = (indent(line), is_section(lines, at, range.end), continues(line));
            while let Some(block) = open.pop_if(|block| {
                let is_level = block.depth == depth && !continues && (is_section || !block.is_section);
                block.depth > depth || is_level
            }) {
                out.ends[block.header - range.start] = end;
            }
            out.headers[at - range.start] = open.last().map(|block| block.header);
            if !continues {
                open.push(OpenBlock { header: at, depth, is_section });
            }
            end = at + 1;
        }
        for block in open {
            out.ends[block.header - range.start] = end;
        }
        out
    }

    /// Returns the line with which the block around a line begins; `None` if that is above all of the lines.
    pub(super) fn of_line(&self, at: usize) -> Option<usize> {
        self.headers.get(at.checked_sub(self.start)?).copied().flatten()
    }

    /// True for a line with which a block of other lines begins.
    pub(super) fn begins_block(&self, at: usize) -> bool {
        self.end_of(at) > at + 1
    }

    /// True for a line in the block that another line begins.
    pub(super) fn encloses(&self, header: usize, at: usize) -> bool {
        (header + 1..self.end_of(header)).contains(&at)
    }

    /// Returns the line behind the last one in the block that a line begins.
    pub(super) fn end_of(&self, header: usize) -> usize {
        header.checked_sub(self.start).and_then(|at| self.ends.get(at)).copied().unwrap_or(header + 1)
    }
}

/// True for a comment, an attribute or a directive of a preprocessor.
pub(super) fn is_remark(line: &str) -> bool {
    fresh::is_attached(line) || line.starts_with('#') || line.trim_start().starts_with("--")
}

/// True for a line in the middle of a statement or at its end, such as `} else {`.
pub(super) fn continues(line: &str) -> bool {
    line.trim_start().starts_with([')', ']', '}'])
        || beside::is_signs(line)
        || word_overlap::words(line).next().is_some_and(|word| CONTINUING_WORDS.contains(&word))
}

/// True for the header of a section, such as `[name]`, above a line that sets a value.
pub(super) fn is_section(lines: &[&str], at: usize, end: usize) -> bool {
    let is_plain = |ch: char| ch.is_alphanumeric() || "._-\"' []".contains(ch);
    let line = lines[at].trim();
    let is_header = |line: &str| line.starts_with('[') && line.ends_with(']') && line.chars().all(is_plain);
    let mut below = lines[at + 1..end].iter().filter(|line| is_filled(line) && !is_remark(line));
    is_header(line)
        && below.next().is_some_and(|line| {
            let line = line.trim();
            is_header(line) || beside::name_set(line).is_some() && !line.ends_with([';', '{'])
        })
}

//! A text file of the root as a model would see it, and the selection of parts of it for calls.

use oracles::luck::Luck;
use std::fs;
use std::path::Path;

/// Maximum bytes of a text that occurs once, and maximum number of lines with which the search for it begins.
const UNIQUE_BYTES_MAX: usize = 20_000;
const UNIQUE_LINES: usize = 6;
/// Minimum number of letters and digits of a text that occurs once.
const ALNUM_MIN: usize = 6;
/// Number of bytes of a word.
const WORD_BYTES: std::ops::RangeInclusive<usize> = 3..=40;

/// A range of lines of a file: zero-based, the last one excluded.
#[derive(Clone, Debug)]
pub(crate) struct LineRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl LineRange {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }
}

/// A text file in UTF-8 without NUL.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) path: String,
    /// The text, with `\n` line ends.
    pub(crate) text: String,
    /// The start of each line, and the end of the text.
    starts: Vec<usize>,
}

impl Subject {
    /// Reads a file below the root; `None` if it is not text, or has too few letters and digits.
    pub(crate) fn read(root: &Path, name: &str) -> Option<Subject> {
        let path = root.join(name);
        let text = String::from_utf8(fs::read(&path).ok()?).ok()?.replace("\r\n", "\n");
        if text.contains('\0') || text.chars().filter(char::is_ascii_alphanumeric).take(ALNUM_MIN).count() < ALNUM_MIN {
            return None;
        }
        let mut starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|it| it.0 + 1)).collect();
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Some(Subject { name: name.to_owned(), path: path.display().to_string(), text, starts })
    }

    /// The number of lines.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The extension of the name.
    pub(crate) fn extension(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// True for the kinds of files that an edit must leave valid.
    pub(crate) fn is_validated(&self) -> bool {
        ["json", "jsonc", "toml", "yaml", "ipynb"].contains(&self.extension())
    }

    /// True for a notebook.
    pub(crate) fn is_notebook(&self) -> bool {
        self.extension() == "ipynb"
    }

    /// The text of some lines, without the last line end.
    pub(crate) fn text_of(&self, lines: &LineRange) -> String {
        let (from, to) = (self.starts[lines.start], self.starts[lines.end]);
        let text = &self.text[from..to];
        text.strip_suffix('\n').unwrap_or(text).to_owned()
    }

    /// Picks lines whose text occurs once; `None` if the file is too repetitive.
    pub(crate) fn unique_lines(&self, luck: &mut Luck) -> Option<LineRange> {
        let mut start = luck.below(self.count());
        let mut end = (start + luck.between(1, UNIQUE_LINES)).min(self.count());
        loop {
            let lines = LineRange { start, end };
            let text = self.text_of(&lines);
            if text.len() > UNIQUE_BYTES_MAX {
                return None;
            }
            let telling = text.chars().filter(char::is_ascii_alphanumeric).take(ALNUM_MIN).count() == ALNUM_MIN;
            if telling && self.is_unique(&text) {
                return Some(lines);
            }
            if lines.len() == self.count() {
                return None;
            }
            let more = lines.len();
            (start, end) = (start.saturating_sub(more), (end + more).min(self.count()));
        }
    }

    /// True for a text that occurs once; overlapping occurrences count as several.
    fn is_unique(&self, text: &str) -> bool {
        let first = self.text.find(text);
        let behind = first.map(|at| at + text.chars().next().map_or(1, char::len_utf8));
        behind.is_some_and(|at| !self.text[at..].contains(text))
    }

    /// Picks a word of ASCII letters, digits and underscores.
    pub(crate) fn word(&self, luck: &mut Luck) -> Option<String> {
        let first = luck.below(self.count());
        let mut lines = (first..self.count()).chain(0..first).take(200);
        let of_line = |line: usize| {
            let text = &self.text[self.starts[line]..self.starts[line + 1]];
            let text = text.get(..200).unwrap_or(text);
            let mut words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
            words.find(|word| WORD_BYTES.contains(&word.len())).map(str::to_owned)
        };
        lines.find_map(of_line)
    }
}

//! Lines and columns for people.

/// A line and a column, both from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineCol {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl LineCol {
    /// Returns the position of an offset, at most the end of the text.
    pub fn of(text: &str, at: usize) -> LineCol {
        let bytes = text.as_bytes();
        let at = at.min(bytes.len());
        let before = &bytes[..at];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        // Counts characters before the offset: all bytes but UTF-8 continuation bytes.
        let column = before[start..].iter().filter(|byte| **byte & 0xC0 != 0x80).count() + 1;
        LineCol { line, column }
    }
}

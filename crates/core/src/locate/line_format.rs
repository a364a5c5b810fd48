//! Line formats: how `read` and evidence print lines for a model.

use crate::locate::anchor_map::AnchorWord;
use crate::text::content::HeaderStyle;
use crate::text::snapshot::Snapshot;
use std::borrow::Cow;

/// A way to print lines.
#[derive(Debug)]
pub struct LineFormat {
    /// The name, as in `read { format }`.
    pub name: &'static str,
    /// The description, for help and schemas.
    pub summary: &'static str,
    /// The header above the lines, if there is one.
    pub header: Option<HeaderStyle>,
    /// True if lines are printed with their anchors.
    pub anchors: bool,
    /// Appends one line (its mark and its text without line end) and a line end.
    pub push_line: fn(out: &mut String, mark: LineMark, text: &str),
}

/// The identification of a printed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineMark {
    /// The 1-based number of the line.
    pub number: usize,
    /// The anchor of the line, if anchors are shown.
    pub anchor: Option<AnchorWord>,
}

impl LineMark {
    /// Returns the mark of a line; `words` are the anchors of the file, or empty.
    pub fn for_line(number: usize, words: &[AnchorWord]) -> LineMark {
        LineMark { number, anchor: number.checked_sub(1).and_then(|at| words.get(at)).copied() }
    }
}

/// Every line format, the default first.
pub static LINE_FORMATS: &[LineFormat] = &[
    LineFormat {
        name: "numbered",
        summary: "line number, TAB, text (the look of cat -n)",
        header: None,
        anchors: false,
        push_line: |out, mark, text| numbered(out, mark.number, text),
    },
    LineFormat {
        name: "plain",
        summary: "the text alone",
        header: None,
        anchors: false,
        push_line: |out, _, text| plain(out, text),
    },
    LineFormat {
        name: "hashline",
        summary: "¶PATH#TAG, then N:TEXT",
        header: Some(HeaderStyle::Pilcrow),
        anchors: false,
        push_line: |out, mark, text| push_numbered(out, mark.number, text),
    },
    LineFormat {
        name: "hashline_put",
        summary: "[PATH#TAG], then N:TEXT",
        header: Some(HeaderStyle::Brackets),
        anchors: false,
        push_line: |out, mark, text| push_numbered(out, mark.number, text),
    },
    LineFormat {
        name: "anchors",
        summary: "WORD:TEXT; the word stays with its line",
        header: None,
        anchors: true,
        push_line: |out, mark, text| worded(out, mark, ':', text),
    },
    LineFormat {
        name: "anchors_tab",
        summary: "WORD, TAB, TEXT; the word stays with its line",
        header: None,
        anchors: true,
        push_line: |out, mark, text| worded(out, mark, '\t', text),
    },
];

impl PartialEq for LineFormat {
    /// Two line formats are equal if they have the same name, because names are unique.
    fn eq(&self, other: &LineFormat) -> bool {
        self.name == other.name
    }
}

impl Eq for LineFormat {}

impl LineFormat {
    /// Returns the line format with this name.
    pub fn by_name(name: &str) -> Option<&'static LineFormat> {
        LINE_FORMATS.iter().find(|marks| marks.name == name)
    }
}

fn numbered(out: &mut String, number: usize, text: &str) {
    let (digits, at) = decimal(number);
    let from = at.min(digits.len() - 6);
    out.extend(digits[from..].iter().map(|&byte| char::from(byte)));
    out.push('\t');
    out.push_str(text);
    out.push('\n');
}

/// Returns the digits of a number, right-aligned in spaces, and the index of the first byte to print. `{:>6}` with the
/// standard formatter costs eight times as much on long reads.
fn decimal(number: usize) -> ([u8; 20], usize) {
    let mut digits = [b' '; 20];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            return (digits, at);
        }
    }
}

/// Appends `N:TEXT`, the row format of hashline.
pub(crate) fn push_numbered(out: &mut String, number: usize, text: &str) {
    let (digits, at) = decimal(number);
    out.extend(digits[at..].iter().map(|&byte| char::from(byte)));
    out.push(':');
    out.push_str(text);
    out.push('\n');
}

/// Returns a line as evidence, cut if it is long.
pub fn clip(line: &str) -> Cow<'_, str> {
    const LINE_CHARS_MAX: usize = 300;
    // A line never has more characters than bytes.
    if line.len() <= LINE_CHARS_MAX {
        return Cow::Borrowed(line);
    }
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => Cow::Owned(format!("{}…", &line[..at])),
        None => Cow::Borrowed(line),
    }
}

fn worded(out: &mut String, mark: LineMark, delimiter: char, text: &str) {
    if let Some(word) = mark.anchor {
        let (first, second) = word.parts();
        out.push_str(first);
        out.push_str(second);
        out.push(delimiter);
    }
    plain(out, text);
}

fn plain(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Maximum number of rows of an excerpt.
const EXCERPT_ROWS_MAX: usize = 60;

/// Returns lines `from..=to` (1-based, clamped to the file) as numbered evidence; long lines are cut.
pub fn excerpt(of: &Snapshot, from: usize, to: usize) -> String {
    let text = of.text();
    let span = of.lines().span_of(text, from, to);
    let mut out = String::new();
    for (nth, (number, line)) in (from.max(1)..).zip(text[span.range()].split_inclusive('\n')).enumerate() {
        if nth == EXCERPT_ROWS_MAX {
            out.push_str("… (more lines are not shown)\n");
            break;
        }
        let line = line.strip_suffix('\n').unwrap_or(line);
        numbered(&mut out, number, &clip(line));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn numbers_are_printed_like_cat_n() {
        for number in [1, 9, 10, 999_999, 1_000_000, usize::MAX] {
            let mut out = String::new();
            numbered(&mut out, number, "x");
            assert_eq!(out, format!("{number:>6}\tx\n"));
        }
    }
}

//! Blocks: lines of a scene that represent the bytes of a file or the text of a reply.

use std::fmt::Write as _;

/// Maximum characters of a reply line that is written in full. Longer ones become [`Row::Cut`].
const WIDTH: usize = 400;
/// Maximum number of reply lines that are written in full. In longer replies the middle becomes [`Row::Gap`].
const HEIGHT: usize = 40;
/// Number of characters or lines that are kept at either end of something long.
const END: usize = 8;

/// One line of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// `| text`: this line.
    Line(String),
    /// `*1..9 text {n}`: one line per number, both ends included.
    Range(usize, usize, String),
    /// `~2000 start⋯end`: a line with this number of characters, this start and this end. Only in replies.
    Cut(usize, String, String),
    /// `...`: any number of lines. Only in replies.
    Gap,
}

/// Lines of a scene.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The rows in order.
    pub rows: Vec<Row>,
    /// True if the last line has no line end: `\ no final newline`.
    pub open: bool,
}

impl Row {
    /// Parses a source line; `None` if it is not part of a block.
    ///
    /// # Errors
    /// Fails if a line begins like a row but is malformed.
    pub fn parse(line: &str) -> Option<Result<Row, String>> {
        if line == "..." {
            return Some(Ok(Row::Gap));
        }
        if let Some(text) = line.strip_prefix('|') {
            return Some(Ok(Row::Line(text.strip_prefix(' ').unwrap_or(text).to_owned())));
        }
        if let Some(rest) = line.strip_prefix('*') {
            return Some(range(rest).ok_or_else(|| format!("`{line}` should look like `*1..9 line {{n}}`")));
        }
        let rest = line.strip_prefix('~')?;
        Some(cut(rest).ok_or_else(|| format!("`{line}` should look like `~2000 start⋯end`")))
    }

    fn write(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Row::Line(text) if text.is_empty() => writeln!(out, "|"),
            Row::Line(text) => writeln!(out, "| {text}"),
            Row::Range(from, to, text) => writeln!(out, "*{from}..{to} {text}"),
            Row::Cut(length, start, end) => writeln!(out, "~{length} {start}⋯{end}"),
            Row::Gap => writeln!(out, "..."),
        };
    }
}

fn range(rest: &str) -> Option<Row> {
    let (numbers, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let (from, to) = numbers.split_once("..")?;
    Some(Row::Range(from.parse().ok()?, to.parse().ok()?, text.to_owned()))
}

fn cut(rest: &str) -> Option<Row> {
    let (length, text) = rest.split_once(' ')?;
    let (start, end) = text.split_once('⋯')?;
    Some(Row::Cut(length.parse().ok()?, start.to_owned(), end.to_owned()))
}

impl Block {
    /// Returns the lines joined by LF, with one after the last.
    ///
    /// # Errors
    /// Fails if a row matches unknown text.
    pub fn text(&self) -> Result<String, String> {
        let mut out = String::new();
        for row in &self.rows {
            match row {
                Row::Line(text) => {
                    out.push_str(text);
                    out.push('\n');
                }
                Row::Range(from, to, text) => {
                    for number in *from..=*to {
                        out.push_str(&text.replace("{n}", &number.to_string()));
                        out.push('\n');
                    }
                }
                Row::Cut(..) | Row::Gap => return Err("`~` and `...` are for replies only".to_owned()),
            }
        }
        if self.open {
            out.pop();
        }
        Ok(out)
    }

    /// Returns true if the text of a reply matches the block. One line end at the end of the text is ignored.
    pub fn matches(&self, text: &str) -> bool {
        let lines: Vec<&str> = lines(text);
        matches(&self.rows, &lines)
    }

    /// Creates the block that describes the text of a reply.
    pub fn of(text: &str) -> Block {
        let row = |line: &&str| {
            let chars: Vec<char> = line.chars().collect();
            if chars.len() <= WIDTH {
                return Row::Line((*line).to_owned());
            }
            let part = |chars: &[char]| chars.iter().collect::<String>();
            Row::Cut(chars.len(), part(&chars[..END * 10]), part(&chars[chars.len() - END * 10..]))
        };
        let mut rows: Vec<Row> = lines(text).iter().map(row).collect();
        if rows.len() > HEIGHT {
            let tail = rows.len() - END;
            rows.splice(END..tail, [Row::Gap]);
        }
        Block { rows, open: false }
    }

    /// Returns the source lines of the block.
    pub fn source(&self) -> String {
        let mut out = String::new();
        self.rows.iter().for_each(|row| row.write(&mut out));
        if self.open {
            out.push_str("\\ no final newline\n");
        }
        out
    }
}

/// Splits a reply into lines; an empty text has none.
fn lines(text: &str) -> Vec<&str> {
    match text.strip_suffix('\n').unwrap_or(text) {
        "" if text.is_empty() => Vec::new(),
        text => text.split('\n').collect(),
    }
}

fn matches(rows: &[Row], lines: &[&str]) -> bool {
    let Some((row, rest)) = rows.split_first() else { return lines.is_empty() };
    let first = lines.split_first();
    match (row, first) {
        (Row::Gap, _) => (0..=lines.len()).any(|skip| matches(rest, &lines[skip..])),
        (Row::Line(text), Some((line, after))) => text == line && matches(rest, after),
        (Row::Cut(length, start, end), Some((line, after))) => {
            let fits = line.chars().count() == *length && line.starts_with(&**start) && line.ends_with(&**end);
            fits && matches(rest, after)
        }
        (Row::Range(from, to, text), _) => {
            let count = (to + 1).saturating_sub(*from);
            let same = |(number, line): (usize, &&str)| text.replace("{n}", &number.to_string()) == **line;
            lines.len() >= count && (*from..).zip(&lines[..count]).all(same) && matches(rest, &lines[count..])
        }
        (Row::Line(_) | Row::Cut(..), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Row};

    fn block(source: &str) -> Block {
        Block { rows: source.split('\n').map(|line| Row::parse(line).unwrap().unwrap()).collect(), open: false }
    }

    #[test]
    fn rows_expand_to_lines() {
        let made = block("| a\n|\n*9..11 line {n}\n|  b").text().unwrap();
        assert_eq!(made, "a\n\nline 9\nline 10\nline 11\n b\n");
        assert!(block("| a\n...").text().is_err());
        assert!(Row::parse("ok").is_none() && Row::parse("*x").unwrap().is_err());
    }

    #[test]
    fn replies_match_whole_or_around_a_gap() {
        assert!(block("| a\n| b").matches("a\nb\n") && block("| a\n| b").matches("a\nb"));
        assert!(!block("| a").matches("a\nb") && !block("| a").matches("a\n\n"));
        assert!(block("| a\n...\n| z").matches("a\nb\nc\nz") && !block("| a\n...\n| z").matches("a\nb"));
        assert!(block("~5 a⋯c").matches("abbbc") && !block("~5 a⋯c").matches("abbbbc"));
        assert!(block("*1..2 {n}\n| x").matches("1\n2\nx") && Block::default().matches(""));
    }

    #[test]
    fn block_written_for_a_text_matches_it() {
        let long = (0..100).map(|n| "x".repeat(n * 10)).collect::<Vec<String>>().join("\n");
        for text in ["", "a", "a\n\nb\n", "\n", &long] {
            let made = Block::of(text);
            assert!(made.matches(text), "{text:?}");
            let source = made.source();
            let again: Vec<Row> = source.lines().map(|line| Row::parse(line).unwrap().unwrap()).collect();
            assert_eq!(again, made.rows);
        }
    }
}

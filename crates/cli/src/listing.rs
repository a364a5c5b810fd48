//! Colours of what `read`, `search`, `outline` and `history` print. The text stays the same, byte for byte.

use crate::styled::{ADDED, BOLD, PLAIN, RANGE, REMOVED, StyledWriter};
use anstyle::{AnsiColor, Style};
use emendate::{ColorClass, ColorSpan, LineMatcher};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::io::{self, Write};

const DIM: Style = Style::new().dimmed();
const FILE: Style = AnsiColor::Magenta.on_default();
const OTHERS: Style = AnsiColor::Magenta.on_default().bold();
const LINE_NUMBER: Style = AnsiColor::Green.on_default();
const FOUND: Style = AnsiColor::Red.on_default().bold();
const OPERATION: Style = AnsiColor::Yellow.on_default();

/// The facts that the presentation of a listing depends on.
#[derive(Default)]
pub(crate) struct ListingColors {
    /// The tool that the text is from.
    pub(crate) tool: &'static str,
    /// The text is that of a file, without anything else.
    pub(crate) is_file: bool,
    /// Lines begin with a number and a tab.
    pub(crate) numbered: bool,
    /// Finds what was searched for in a line.
    pub(crate) matcher: Option<LineMatcher>,
    /// The classes of the tokens in the lines of a file.
    pub(crate) tokens: Vec<ColorSpan>,
}

impl ListingColors {
    /// Writes the text of an answer.
    pub(crate) fn write<W: Write>(
        &self,
        out: &mut StyledWriter<W>,
        text: &str,
        data: &Map<String, Value>,
    ) -> io::Result<()> {
        if !out.has_color() {
            return out.put(PLAIN, text);
        }
        match self.tool {
            "read" => self.read(out, text),
            "search" => self.search(out, text, data),
            "outline" => outline(out, text),
            "history" if data.contains_key("operations") => history(out, text),
            _ => out.put(PLAIN, text),
        }
    }

    fn read<W: Write>(&self, out: &mut StyledWriter<W>, text: &str) -> io::Result<()> {
        for line in text.split_inclusive('\n') {
            match self.number(line) {
                Some((number, prefix, rest)) => {
                    out.put(DIM, prefix)?;
                    self.tokens(out, number, rest)?;
                }
                None => out.put(PLAIN, line)?,
            }
        }
        Ok(())
    }

    fn tokens<W: Write>(&self, out: &mut StyledWriter<W>, number: usize, line: &str) -> io::Result<()> {
        let start = self.tokens.partition_point(|token| token.line < number);
        let mut at = 0;
        for token in self.tokens[start..].iter().take_while(|token| token.line == number) {
            let (from, to) = (token.start.max(at), token.end.min(line.trim_end_matches('\n').len()));
            // A cut line has less text than its tokens.
            let (Some(before), Some(text)) = (line.get(at..from), line.get(from..to)) else { continue };
            out.put(PLAIN, before)?;
            out.put(style_of(token.class), text)?;
            at = to;
        }
        out.put(PLAIN, line.get(at..).unwrap_or_default())
    }

    fn search<W: Write>(&self, out: &mut StyledWriter<W>, text: &str, data: &Map<String, Value>) -> io::Result<()> {
        let mut hits = hits_of_files(data).into_iter();
        let mut file = HashSet::new();
        let mut is_header = true;
        for line in text.split_inclusive('\n') {
            let number = self.number(line);
            if is_header && number.is_none() && !hits.as_slice().is_empty() {
                file = hits.next().unwrap_or_default();
                colored(out, FILE, line)?;
                is_header = false;
                continue;
            }
            is_header = line == "\n";
            match number {
                Some((number, prefix, rest)) if file.contains(&number) => {
                    out.put(LINE_NUMBER, prefix)?;
                    self.found(out, rest)?;
                }
                Some((_, prefix, rest)) => {
                    out.put(DIM, prefix)?;
                    out.put(PLAIN, rest)?;
                }
                None if line == "--\n" => colored(out, DIM, line)?,
                None => out.put(PLAIN, line)?,
            }
        }
        Ok(())
    }

    /// Writes a line with what was found in it.
    fn found<W: Write>(&self, out: &mut StyledWriter<W>, line: &str) -> io::Result<()> {
        let mut at = 0;
        for part in self.matcher.iter().flat_map(|matcher| matcher.matches(line)) {
            let (Some(before), Some(text)) = (line.get(at..part.start), line.get(part.clone())) else { continue };
            out.put(PLAIN, before)?;
            out.put(FOUND, text)?;
            at = part.end;
        }
        out.put(PLAIN, line.get(at..).unwrap_or_default())
    }

    /// Splits a line after its number and the tab.
    fn number<'l>(&self, line: &'l str) -> Option<(usize, &'l str, &'l str)> {
        let (number, _) = line.split_once('\t').filter(|_| self.numbered)?;
        let (prefix, rest) = line.split_at(number.len() + 1);
        Some((number.trim_start().parse().ok()?, prefix, rest))
    }
}

/// Writes a text in a style, but its line end without one.
fn colored<W: Write>(out: &mut StyledWriter<W>, style: Style, text: &str) -> io::Result<()> {
    let line = text.trim_end_matches('\n');
    if !line.is_empty() {
        out.put(style, line)?;
    }
    out.put(PLAIN, &text[line.len()..])
}

/// The lines with hits, of each file that the text shows.
fn hits_of_files(data: &Map<String, Value>) -> Vec<HashSet<usize>> {
    let files = data.get("files").and_then(Value::as_array).into_iter().flatten();
    let hits = files.map(|file| {
        let lines = file["hits"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        lines.filter_map(|line| usize::try_from(line).ok()).collect()
    });
    hits.collect()
}

/// The style of a class of tokens.
const fn style_of(class: ColorClass) -> Style {
    match class {
        ColorClass::Keyword => AnsiColor::Blue.on_default().bold(),
        ColorClass::String => AnsiColor::Green.on_default(),
        ColorClass::Escape | ColorClass::Attribute => AnsiColor::Yellow.on_default(),
        ColorClass::Number | ColorClass::Constant => AnsiColor::Magenta.on_default(),
        ColorClass::Comment => DIM,
        ColorClass::Type | ColorClass::Tag => AnsiColor::Cyan.on_default(),
        ColorClass::Function => BOLD,
        ColorClass::Property => PLAIN,
    }
}

/// Writes an outline: `3-9`, a tab, and `fn name`.
fn outline<W: Write>(out: &mut StyledWriter<W>, text: &str) -> io::Result<()> {
    for line in text.split_inclusive('\n') {
        let Some((lines, title)) = line.split_once('\t') else {
            // The name of a file, or a note.
            let style = if line.starts_with("Note: ") { DIM } else { FILE };
            colored(out, style, line)?;
            continue;
        };
        out.put(RANGE, lines)?;
        out.put(PLAIN, "\t")?;
        let indent = title.len() - title.trim_start().len();
        let name = title[indent..].find(' ').map_or(title.len(), |blank| indent + blank + 1);
        out.put(PLAIN, &title[..indent])?;
        out.put(DIM, &title[indent..name])?;
        out.put(PLAIN, &title[name..])?;
    }
    Ok(())
}

/// Writes a list of operations: fields with two spaces between them, and files below that are indented.
fn history<W: Write>(out: &mut StyledWriter<W>, text: &str) -> io::Result<()> {
    for line in text.split_inclusive('\n') {
        let is_operation = line.starts_with(|char: char| char.is_ascii_digit());
        for (nth, field) in line.split_inclusive("  ").enumerate() {
            let style = match (nth, field.trim_end()) {
                (0, _) if is_operation => OPERATION,
                (1, _) if is_operation => DIM,
                (2, "changed by others") => OTHERS,
                (_, field) if field.starts_with('(') => DIM,
                (_, counts) if is_counts(counts) => {
                    let (added, removed) = field.split_at(field.find(" -").unwrap_or(field.len()));
                    out.put(ADDED, added)?;
                    colored(out, REMOVED, removed)?;
                    continue;
                }
                _ => PLAIN,
            };
            colored(out, style, field)?;
        }
    }
    Ok(())
}

/// True for `+3 -1`.
fn is_counts(field: &str) -> bool {
    let counts = field.strip_prefix('+').and_then(|field| field.split_once(" -"));
    counts.is_some_and(|(added, removed)| is_number(added) && is_number(removed))
}

/// True for one or more digits.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::ListingColors;
    use crate::diff::DiffLayout;
    use crate::styled::StyledWriter;
    use emendate::{ColorClass, ColorSpan, LineMatcher};
    use serde_json::json;

    /// Returns the text with `[` and `]` around each coloured part.
    fn shown(colors: &ListingColors, text: &str, data: &serde_json::Value) -> String {
        let write = |color| {
            let mut bytes = Vec::new();
            let mut out = StyledWriter::on(&mut bytes, color, DiffLayout::default());
            colors.write(&mut out, text, data.as_object().unwrap()).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(write(false), text);
        let colored = regex::Regex::new("\u{1b}\\[0m").unwrap().replace_all(&write(true), "]").into_owned();
        let marked = regex::Regex::new("(?:\u{1b}\\[[0-9]+m)+").unwrap().replace_all(&colored, "[").into_owned();
        assert_eq!(marked.replace(['[', ']'], ""), text.replace(['[', ']'], ""));
        marked
    }

    #[test]
    fn numbers_and_tokens_of_a_file_are_coloured() {
        let token = |line, start, end| ColorSpan { line, start, end, class: ColorClass::Keyword };
        let tokens = vec![token(7, 0, 3), token(8, 1, usize::MAX)];
        let colors = ListingColors { tool: "read", numbered: true, tokens, ..ListingColors::default() };
        assert_eq!(
            shown(&colors, "     7\tlet é\n     8\tab\nx\n", &json!({})),
            "[     7\t][let] é\n[     8\t]a[b]\nx\n"
        );
        let plain = ListingColors { tool: "read", ..ListingColors::default() };
        assert_eq!(shown(&plain, "1\ta\n", &json!({})), "1\ta\n");
    }

    #[test]
    fn hits_are_coloured_and_context_is_not() {
        let matcher = LineMatcher::new("b+", false, false);
        let colors = ListingColors { tool: "search", numbered: true, matcher, ..ListingColors::default() };
        let text = "a.txt (tag 1)\n     1\tb\n     2\tabbb b\n--\n     9\tb\n\nsub/c.txt (tag 2)\n     1\tbb\n";
        let data = json!({ "files": [{ "hits": [2] }, { "hits": [1] }] });
        assert_eq!(
            shown(&colors, text, &data),
            "[a.txt (tag 1)]\n[     1\t]b\n[     2\t]a[bbb] [b]\n[--]\n[     9\t]b\n\n[sub/c.txt (tag 2)]\n[     1\t][bb]\n"
        );
    }

    #[test]
    fn outlines_and_histories_are_coloured() {
        let outline = ListingColors { tool: "outline", ..ListingColors::default() };
        assert_eq!(
            shown(&outline, "a.rs\n1-3\t  fn a\n\nNote: b\n", &json!({})),
            "[a.rs]\n[1-3]\t  [fn ]a\n\n[Note: b]\n"
        );
        let history = ListingColors { tool: "history", ..ListingColors::default() };
        let text = "3-ab  12:00:00  s  edit  a.txt  +1 -2  (undone by 4-cd)\n    b.txt  +1 -0\n2-ef  11:00:00  changed by others  c  +0 -1\n";
        let want = "[3-ab  ][12:00:00  ]s  edit  a.txt  [+1][ -2  ][(undone by 4-cd)]\n    b.txt  [+1][ -0]\n[2-ef  ][11:00:00  ][changed by others  ]c  [+0][ -1]\n";
        assert_eq!(shown(&history, text, &json!({ "operations": [] })), want);
    }
}

//! The diff of a reply for people: unified with the changed words highlighted, or side by side.

use crate::git_patch;
use crate::styled::{ADDED, BOLD, PLAIN, RANGE, REMOVED, StyledWriter};
use anstyle::Style;
use emendate::RAW_PATH;
use emendate::core::explain::{LineKind, LineSegment, inline};
use emendate::core::print::{ended_name, quoted_name};
use serde_json::{Map, Value};
use std::io::{self, Write};
use unicode_width::UnicodeWidthChar as _;

/// Columns of a side-by-side diff if there is no terminal to determine them.
const COLUMNS_DEFAULT: usize = 160;
/// Minimum columns for a side-by-side diff.
const COLUMNS_MIN: usize = 40;
/// Columns of a line number and the space after it.
const GUTTER_COLUMNS: usize = 6;
/// Columns from one tab stop to the next.
const TAB_COLUMNS: usize = 4;

/// The layout of a diff.
#[derive(Clone, Copy, Default)]
pub(crate) enum DiffLayout {
    /// One side below the other.
    #[default]
    Unified,
    /// Old on the left, new on the right, with this many columns.
    Beside(usize),
}

impl DiffLayout {
    /// Returns the layout for the width of the terminal, or the one in `COLUMNS`.
    pub(crate) fn layout_for_terminal(side_by_side: bool) -> DiffLayout {
        if !side_by_side {
            return DiffLayout::Unified;
        }
        let width = terminal_size::terminal_size()
            .map(|(width, _)| usize::from(width.0))
            .or_else(|| std::env::var("COLUMNS").ok()?.parse().ok());
        DiffLayout::Beside(width.unwrap_or(COLUMNS_DEFAULT).max(COLUMNS_MIN))
    }
}

/// A hunk of `structuredPatch`.
struct StructuredHunk<'a> {
    /// Numbers as in a unified diff: first line and count, old and new.
    at: [u64; 4],
    /// The number of the hunk in the file, if a command can name it.
    number: Option<u64>,
    /// The lines as they are in the patch, with their signs.
    lines: Vec<&'a str>,
}

impl<'a> StructuredHunk<'a> {
    fn read(hunk: &'a Value) -> StructuredHunk<'a> {
        let lines = hunk.get("lines").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        StructuredHunk {
            at: ["oldStart", "oldLines", "newStart", "newLines"]
                .map(|key| hunk.get(key).and_then(Value::as_u64).unwrap_or(0)),
            number: hunk.get("hunk").and_then(Value::as_u64),
            lines: lines.collect(),
        }
    }

    fn header(&self) -> String {
        let [old, old_lines, new, new_lines] = self.at;
        let number = self.number.map_or_else(String::new, |number| format!(" hunk {number}"));
        format!("@@ -{} +{} @@{number}", line_range(old, old_lines), line_range(new, new_lines))
    }

    /// The lines with their kind and segments; `None` for a remark on a line (that it has no line end).
    fn pieces(&self) -> Vec<Option<(LineKind, Vec<LineSegment<'a>>)>> {
        let real: Vec<(LineKind, &str)> =
            self.lines.iter().filter_map(|line| Some((line_kind(line)?, line.get(1..).unwrap_or_default()))).collect();
        let mut pieces = inline(&real).into_iter();
        self.lines.iter().map(|line| Some((line_kind(line)?, pieces.next()?))).collect()
    }
}

/// Returns the kind of a hunk's line; none for a note about the end of the file.
fn line_kind(line: &str) -> Option<LineKind> {
    match line.as_bytes().first() {
        Some(b'-') => Some(LineKind::Removed),
        Some(b'+') => Some(LineKind::Added),
        Some(b'\\') => None,
        _ => Some(LineKind::Kept),
    }
}

/// Formats the lines of a hunk header.
fn line_range(start: u64, lines: u64) -> String {
    if lines == 1 { start.to_string() } else { format!("{start},{lines}") }
}

/// Returns the style of a side, and that of changed parts inside a line.
const fn styles(kind: LineKind) -> (Style, Style) {
    match kind {
        LineKind::Kept => (PLAIN, PLAIN),
        LineKind::Removed => (REMOVED, REMOVED.invert()),
        LineKind::Added => (ADDED, ADDED.invert()),
    }
}

impl<W: Write> StyledWriter<W> {
    /// Prints the diff of a reply, if it has one; `margin` precedes each line.
    pub(crate) fn diff(&mut self, margin: &str, data: &Map<String, Value>) -> io::Result<()> {
        let Some(hunks) = data.get("structuredPatch").and_then(Value::as_array) else { return Ok(()) };
        // An empty file that is created or deleted, and a file of which only the name or mode changes, have only a
        // header.
        let is_known = data.get("known").and_then(Value::as_bool).unwrap_or(false);
        let kind = data.get("type").and_then(Value::as_str).unwrap_or_default();
        let has_header_alone = matches!(kind, "create" | "delete" | "move") || data.contains_key("oldMode");
        let bytes = data.get(git_patch::BYTES_FIELD).and_then(Value::as_str);
        if hunks.is_empty() && bytes.is_none() && !(is_known && has_header_alone) {
            return Ok(());
        }
        let path = data.get("filePath").and_then(Value::as_str).unwrap_or_default();
        self.file_header(margin, path, data, !hunks.is_empty() && bytes.is_none())?;
        if let Some(bytes) = bytes {
            return bytes.lines().try_for_each(|line| self.plain(&format!("{margin}{line}")));
        }
        for hunk in hunks.iter().map(StructuredHunk::read) {
            self.line(RANGE, &format!("{margin}{}", hunk.header()))?;
            match self.layout() {
                DiffLayout::Unified => self.unified(margin, &hunk)?,
                DiffLayout::Beside(width) => self.beside(width, &hunk)?,
            }
        }
        Ok(())
    }

    /// Prints the lines before the hunks as git does, so that `git apply` accepts the diff as it is.
    fn file_header(&mut self, margin: &str, path: &str, data: &Map<String, Value>, changes: bool) -> io::Result<()> {
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let name = git_patch::name(data, "filePath", RAW_PATH);
        let Some(name) = name else {
            // Git has no names for files outside of the repository.
            let created = text("type") == Some("create");
            self.line(BOLD, &format!("{margin}--- {}", if created { "/dev/null" } else { path }))?;
            let deleted = text("type") == Some("delete");
            return self.line(BOLD, &format!("{margin}+++ {}", if deleted { "/dev/null" } else { path }));
        };
        let has_source = matches!(text("type"), Some("move" | "copy"));
        let old = if has_source { git_patch::name(data, "from", "from_b64") } else { None };
        let old = old.as_ref().unwrap_or(&name);
        let mode = text("mode").unwrap_or("100644");
        let (mut before, mut after) = (quoted_name("a/", old), quoted_name("b/", &name));
        let mut lines = vec![format!("diff --git {before} {after}")];
        if let Some(old_mode) = text("oldMode") {
            lines.extend([format!("old mode {old_mode}"), format!("new mode {mode}")]);
        }
        let (plain_old, plain_name) = (quoted_name("", old), quoted_name("", &name));
        match text("type") {
            Some("create") => {
                lines.push(format!("new file mode {mode}"));
                "/dev/null".clone_into(&mut before);
            }
            Some("delete") => {
                lines.push(format!("deleted file mode {mode}"));
                "/dev/null".clone_into(&mut after);
            }
            Some("move") => lines.extend([format!("rename from {plain_old}"), format!("rename to {plain_name}")]),
            Some("copy") => lines.extend([format!("copy from {plain_old}"), format!("copy to {plain_name}")]),
            // Readers then know that the moved file is the one from before the patch.
            _ if data.contains_key(git_patch::REPLACED_FIELD) => lines.push("dissimilarity index 100%".to_owned()),
            _ => {}
        }
        if changes {
            lines.extend([format!("--- {}", ended_name(&before)), format!("+++ {}", ended_name(&after))]);
        }
        lines.iter().try_for_each(|line| self.line(BOLD, &format!("{margin}{line}")))
    }

    fn unified(&mut self, margin: &str, hunk: &StructuredHunk<'_>) -> io::Result<()> {
        for (line, pieces) in hunk.lines.iter().zip(hunk.pieces()) {
            self.put(PLAIN, margin)?;
            let Some((kind, pieces)) = pieces else {
                self.plain(line)?;
                continue;
            };
            let (style, changed) = styles(kind);
            self.put(style, kind.sign().encode_utf8(&mut [0; 4]))?;
            self.runs(&pieces, style, changed)?;
            self.put(PLAIN, "\n")?;
        }
        Ok(())
    }

    /// Prints segments in their styles, adjacent ones of one style together.
    fn runs(&mut self, pieces: &[LineSegment<'_>], style: Style, changed: Style) -> io::Result<()> {
        pieces.chunk_by(|a, b| a.changed == b.changed).try_for_each(|run| {
            let text: String = run.iter().map(|piece| piece.text).collect();
            self.put(if run[0].changed { changed } else { style }, &text)
        })
    }

    fn beside(&mut self, width: usize, hunk: &StructuredHunk<'_>) -> io::Result<()> {
        let column = (width - " │ ".chars().count()) / 2;
        let [old, old_lines, new, new_lines] = hunk.at;
        let (mut left, mut right) = (old + u64::from(old_lines == 0), new + u64::from(new_lines == 0));
        for (removed, added) in pairs(hunk.pieces().into_iter().flatten().collect()) {
            self.cell(left, removed.as_ref(), column, true)?;
            self.put(PLAIN, if added.is_some() { " │ " } else { " │" })?;
            self.cell(right, added.as_ref(), column, false)?;
            self.put(PLAIN, "\n")?;
            left += u64::from(removed.is_some());
            right += u64::from(added.is_some());
        }
        Ok(())
    }

    /// Prints one line of one side in exactly `column` columns; the last cell of a row is not padded.
    fn cell(&mut self, number: u64, line: Option<&SideLine<'_>>, column: usize, fill: bool) -> io::Result<()> {
        let mut used = 0;
        if let Some((kind, pieces)) = line {
            let (style, changed) = styles(*kind);
            self.put(RANGE, &format!("{number:>width$} ", width = GUTTER_COLUMNS - 1))?;
            let fitted = fitted(pieces, column.saturating_sub(GUTTER_COLUMNS));
            used = GUTTER_COLUMNS + fitted.1;
            let pieces: Vec<LineSegment<'_>> =
                fitted.0.iter().map(|(changed, text)| LineSegment { changed: *changed, text }).collect();
            self.runs(&pieces, style, changed)?;
        }
        let rest = if fill { column.saturating_sub(used) } else { 0 };
        self.put(PLAIN, &" ".repeat(rest))
    }
}

/// A line of one side.
type SideLine<'a> = (LineKind, Vec<LineSegment<'a>>);

/// Arranges lines in rows of two cells: removed lines next to the added ones that replaced them.
fn pairs(lines: Vec<SideLine<'_>>) -> Vec<(Option<SideLine<'_>>, Option<SideLine<'_>>)> {
    let mut out: Vec<(Option<SideLine<'_>>, Option<SideLine<'_>>)> = Vec::with_capacity(lines.len());
    // The first row since the last unchanged line whose right cell is empty.
    let mut open = 0;
    for line in lines {
        match line.0 {
            LineKind::Kept => {
                out.push((Some(line.clone()), Some(line)));
                open = out.len();
            }
            LineKind::Removed => {
                if out.get(open).is_some_and(|row| row.0.is_none()) || out.last().is_some_and(|row| row.1.is_some()) {
                    open = out.len();
                }
                out.push((Some(line), None));
            }
            LineKind::Added => {
                if open < out.len() {
                    out[open].1 = Some(line);
                } else {
                    out.push((None, Some(line)));
                }
                open += 1;
            }
        }
    }
    out
}

/// Cuts segments to `most` columns, with tabs as spaces; also returns the columns they take.
fn fitted(pieces: &[LineSegment<'_>], most: usize) -> (Vec<(bool, String)>, usize) {
    let mut out: Vec<(bool, String)> = Vec::new();
    let mut used = 0;
    let chars = pieces.iter().flat_map(|piece| piece.text.chars().map(|char| (piece.changed, char)));
    for (changed, char) in chars {
        let width = if char == '\t' { TAB_COLUMNS - used % TAB_COLUMNS } else { char.width().unwrap_or(1) };
        if out.last().is_none_or(|last| last.0 != changed) {
            out.push((changed, String::new()));
        }
        let Some((_, text)) = out.last_mut() else { break };
        if used + width > most {
            // The mark of omitted text takes the last column.
            while used >= most
                && let Some(last) = text.pop()
            {
                used -= last.width().unwrap_or(1);
            }
            if used < most {
                text.push('…');
                used += 1;
            }
            break;
        }
        if char == '\t' {
            text.push_str(&" ".repeat(width));
        } else {
            text.push(char);
        }
        used += width;
    }
    (out, used)
}

#[cfg(test)]
mod tests {
    use super::{DiffLayout, StructuredHunk, fitted, pairs};
    use crate::styled::StyledWriter;
    use emendate::core::explain::LineSegment;
    use serde_json::{Value, json};

    fn patch() -> Value {
        json!({ "filePath": "/f", "type": "update", "structuredPatch": [{
            "oldStart": 7, "oldLines": 3, "newStart": 7, "newLines": 3,
            "lines": [" same", "-let x = 1;", "-gone", "+let x = 2;", "\\ No newline at end of file"]
        }]})
    }

    fn shown(layout: DiffLayout, color: bool) -> String {
        let mut out = Vec::new();
        let mut paper = StyledWriter::on(&mut out, color, layout);
        paper.diff("", patch().as_object().unwrap()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn unified_layout_can_be_applied_by_patch() {
        let want =
            "--- /f\n+++ /f\n@@ -7,3 +7,3 @@\n same\n-let x = 1;\n-gone\n+let x = 2;\n\\ No newline at end of file\n";
        assert_eq!(shown(DiffLayout::Unified, false), want);
        let colored = shown(DiffLayout::Unified, true);
        assert!(colored.contains("let x = \u{1b}[0m\u{1b}[7m\u{1b}[31m1\u{1b}[0m"), "{colored:?}");
    }

    #[test]
    fn sides_are_shown_side_by_side() {
        let want = "--- /f\n+++ /f\n@@ -7,3 +7,3 @@\n    7 same           │     7 same\n    8 let x = 1;     │     8 let x = 2;\n    9 gone           │\n";
        assert_eq!(shown(DiffLayout::Beside(43), false), want);
    }

    #[test]
    fn rows_pair_corresponding_lines() {
        let hunk = json!({ "lines": ["-a", "+A", "+B", " k", "+c", "-d", "-e", "+D"] });
        let rows = pairs(StructuredHunk::read(&hunk).pieces().into_iter().flatten().collect());
        let text = |side: &Option<super::SideLine<'_>>| {
            side.as_ref().map_or(String::new(), |side| side.1.iter().map(|piece| piece.text).collect())
        };
        let rows: Vec<String> = rows.iter().map(|row| format!("{}|{}", text(&row.0), text(&row.1))).collect();
        assert_eq!(rows, ["a|A", "|B", "k|k", "|c", "d|D", "e|"]);
    }

    #[test]
    fn lines_are_truncated_to_the_column_width() {
        let text = |text: &str, most| {
            let (pieces, used) = fitted(&[LineSegment { changed: false, text }], most);
            (pieces.into_iter().map(|piece| piece.1).collect::<String>(), used)
        };
        assert_eq!(text("abc", 3), ("abc".to_owned(), 3));
        assert_eq!(text("abcd", 3), ("ab…".to_owned(), 3));
        assert_eq!(text("a\tb", 8), ("a   b".to_owned(), 5));
        assert_eq!(text("日本語", 5), ("日本…".to_owned(), 5));
        assert_eq!(text("日本語", 4), ("日…".to_owned(), 3));
    }
}

//! Printer of blocks in this format.

use super::marker;
use crate::formats::name;
use std::fmt::Write as _;

/// The usual length of a marker.
const USUAL_MARKER_LENGTH: usize = 7;

/// Writes the line with the file name; `None` if every spelling of it would be parsed as another name.
pub fn print_name(path: &str, out: &mut String) -> Option<()> {
    let tagged = format!("<path>{path}</path>");
    let line = [path, &*tagged].into_iter().find(|line| name::clean(line).as_deref() == Some(path))?;
    if path.contains(['\n', '\r']) {
        return None;
    }
    out.push_str(line);
    out.push('\n');
    Some(())
}

/// Writes a block; both texts become whole lines. Its markers are longer than any in the texts, and lines that look
/// escaped are escaped once more.
pub fn print_block(search: &str, replace: &str, out: &mut String) {
    let run = search.lines().chain(replace.lines()).map(marker_run).max().unwrap_or(0).max(USUAL_MARKER_LENGTH);
    let _ = writeln!(out, "{} SEARCH", "<".repeat(run));
    push_escaped(search, out);
    let _ = writeln!(out, "{}", "=".repeat(run));
    push_escaped(replace, out);
    let _ = writeln!(out, "{} REPLACE", ">".repeat(run));
}

/// Appends lines; those that look like markers are escaped.
fn push_escaped(text: &str, out: &mut String) {
    for line in text.split_terminator('\n') {
        if marker::unescape(line).is_some() || marker::option(line).is_some() {
            out.push('\\');
        }
        out.push_str(line);
        out.push('\n');
    }
}

/// Returns the length from which a marker differs from the line.
fn marker_run(line: &str) -> usize {
    let alike = marker::classify(line).map(|found| found.run().max(USUAL_MARKER_LENGTH));
    marker::divider(line).or(alike).map_or(0, |run| run + 1)
}

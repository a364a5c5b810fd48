//! Detection of hashline in a text before it is parsed.

use super::dialect::Dialect;
use super::token::trimmed;
use super::{current, foreign, header, stray};
use std::ops::Range;

/// State of the detection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside, at the very beginning of the text or later.
    Before { first: bool },
    /// After a header, or an operation without one, that still needs confirmation.
    Waiting { from: usize, tagged: bool, header: bool },
    /// In a section.
    Inside,
}

/// Returns the lines of a text that are certainly in this dialect: from a header, or from operations without one, to
/// the last line that belongs to them. Errors in them are left to the parser.
pub(super) fn claims(text: &str, dialect: &Dialect) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut place = Place::Before { first: true };
    // Below the header of a unified diff hunk, the parser refuses its rows.
    let mut diff = false;
    for (at, line) in text.lines().enumerate() {
        let line = if at == 0 { line.strip_prefix('\u{FEFF}').unwrap_or(line) } else { line };
        if trimmed(line).is_empty() {
            continue;
        }
        let op = (dialect.read)(line).is_some() && !current::is_verbless(line);
        diff = diff && place == Place::Inside || stray::is_unified(line);
        let row = line.starts_with('+') || diff && (line.starts_with(['-', ' ']) || stray::is_unified(line));
        let named = header::look(line).filter(|(header, inner)| *header == dialect.header && !inner.is_empty());
        place = match (place, named) {
            (Place::Before { .. } | Place::Waiting { .. }, Some((_, inner))) => {
                Place::Waiting { from: at, tagged: header::is_tagged(inner), header: true }
            }
            (Place::Inside, Some((_, inner))) if header::is_tagged(inner) => {
                Place::Waiting { from: at, tagged: true, header: true }
            }
            (Place::Before { first: true }, None) if op => Place::Waiting { from: at, tagged: false, header: false },
            (Place::Waiting { from, tagged, header }, None) if proven(line, (op, row), (tagged, header)) => {
                out.push(from..at + 1);
                Place::Inside
            }
            (Place::Waiting { .. } | Place::Before { .. }, None) => Place::Before { first: false },
            (Place::Inside, _) => {
                if op || row {
                    out.last_mut().into_iter().for_each(|last| last.end = at + 1);
                }
                let ends = !row && (line.starts_with("```") || line.starts_with("*** "));
                if ends { Place::Before { first: false } } else { Place::Inside }
            }
        };
    }
    out
}

/// True when a line confirms that the one before it was a header, or an operation without one.
fn proven(line: &str, (op, row): (bool, bool), (tagged, header): (bool, bool)) -> bool {
    match (tagged, header) {
        (true, _) => {
            op || row || stray::begins_like_an_operation(line) || foreign::is_older(line) || stray::is_unified(line)
        }
        (false, true) => op,
        (false, false) => row,
    }
}

//! Detection of hashline in a text before it is parsed.

use super::dialect::HashlineDialect;
use super::token::trimmed;
use super::{current, header, older_spelling, stray};
use crate::work;
use std::ops::Range;

/// State of the detection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DetectState {
    /// Outside of a section: at the very beginning of the text, or later.
    Before { first: bool },
    /// After a header, or an operation without one, that the next lines have to confirm.
    Waiting { from: usize, tagged: bool, header: bool },
    /// Inside a section.
    Inside,
}

/// Returns the lines of a text that are certainly in this dialect: from a header, or from operations without one, to
/// the last line that belongs to them. Errors in them are left to the parser.
pub(super) fn detect_ranges(text: &str, dialect: &HashlineDialect) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut place = DetectState::Before { first: true };
    // True below the header of a unified diff hunk, whose rows the parser refuses.
    let mut diff = false;
    let may_have_headers = header::may_occur(text);
    for (at, line) in work::lines(text).enumerate() {
        let line = if at == 0 { line.strip_prefix('\u{FEFF}').unwrap_or(line) } else { line };
        if trimmed(line).is_empty() {
            continue;
        }
        // Only a header begins a section here.
        if place == (DetectState::Before { first: false }) && !may_have_headers {
            break;
        }
        let named = header::classify(line).filter(|(header, inner)| *header == dialect.header && !inner.is_empty());
        if place == (DetectState::Before { first: false }) && named.is_none() {
            continue;
        }
        let op = (dialect.read)(line).is_some() && !current::is_verbless(line);
        diff = diff && place == DetectState::Inside || stray::is_unified(line);
        let row = line.starts_with('+') || diff && (line.starts_with(['-', ' ']) || stray::is_unified(line));
        place = match (place, named) {
            (DetectState::Before { .. } | DetectState::Waiting { .. }, Some((_, inner))) => {
                DetectState::Waiting { from: at, tagged: header::is_tagged(inner), header: true }
            }
            (DetectState::Inside, Some((_, inner))) if header::is_tagged(inner) => {
                DetectState::Waiting { from: at, tagged: true, header: true }
            }
            (DetectState::Before { first: true }, None) if op => {
                DetectState::Waiting { from: at, tagged: false, header: false }
            }
            // The parser skips comments above the first operation.
            (DetectState::Waiting { tagged: true, .. }, None) if !op && line.starts_with('#') => place,
            // The line confirms that the line before it was a header, or an operation without one.
            (DetectState::Waiting { from, tagged, header }, None)
                if (if tagged {
                    op || row || is_like_operation(line) || stray::is_bare_range(line, dialect)
                } else {
                    op && header || row && !header
                }) =>
            {
                out.push(from..at + 1);
                DetectState::Inside
            }
            (DetectState::Waiting { .. } | DetectState::Before { .. }, None) => DetectState::Before { first: false },
            (DetectState::Inside, _) => {
                if op || row {
                    out.last_mut().into_iter().for_each(|last| last.end = at + 1);
                }
                let ends = !row && (line.starts_with("```") || line.starts_with("*** "));
                if ends { DetectState::Before { first: false } } else { DetectState::Inside }
            }
        };
    }
    out
}

/// Verbs of operations without lines, and words that are written in place of `insert`.
const OTHER_VERBS: [&str; 5] = ["rem", "mv", "append", "prepend", "paste"];

/// True for a line that may be an operation in another spelling.
fn is_like_operation(line: &str) -> bool {
    let word = trimmed(line).split([' ', '\t', ':']).next().unwrap_or_default();
    stray::begins_like_an_operation(line)
        || OTHER_VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb))
        || older_spelling::parse(line).is_some()
        || stray::is_unified(line)
}

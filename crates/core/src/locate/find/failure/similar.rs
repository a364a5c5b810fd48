//! The most similar lines of the file as evidence of a failure.

use super::difference;
use super::nearest::{self, NearestLines, NearestResult};
use super::{EVIDENCE_LINES_MAX, SHOWN_LIKENESS_MIN, bounded, named, quoted};
use crate::error::Error;
use crate::locate::find::search::{MatchSearch, PatternLines};
use crate::locate::find::tier::elision;
use crate::locate::line_format;

/// Adds lines of the file, and how the old text differs from them first.
pub(super) fn with_similar(search: &MatchSearch<'_>, mut error: Error, nearest: &NearestLines) -> Error {
    let (from, to) = (nearest.lines.start + 1, nearest.lines.end);
    error = error
        .evidence(format!("Most similar ({}, {:.0} % alike):", named(from, to), nearest.likeness * 100.0))
        .evidence(line_format::excerpt(search.base, from, to.min(from + EVIDENCE_LINES_MAX - 1)));
    if to >= from + EVIDENCE_LINES_MAX {
        error = error.evidence(format!("… and {} more lines", to + 1 - from - EVIDENCE_LINES_MAX));
    }
    match difference::first_difference(search, nearest) {
        Some(difference) => error.evidence(&difference.words).fact("difference", difference.class),
        None => error,
    }
}

/// Explains a failure of a text with elision lines by the part of it that is not in the file: the lines between two
/// parts are unknown, so the text as a whole resembles nothing.
pub(super) fn explain_missing_piece(search: &MatchSearch<'_>, error: Error) -> Error {
    let error = error.next("Copy each part between the lines of dots from the file, or the whole text without dots.");
    let Some(piece) = elision::missing_piece(search) else { return error };
    let error = error.evidence(format!("This part is not in the file:\n{}", quoted(&piece.join("\n"))));
    let lines = PatternLines { old: piece, new: Vec::new(), changes: None };
    let part = MatchSearch::for_lines(search.index, search.find, search.new, lines);
    match bounded(|| nearest::find_nearest(&part)) {
        NearestResult::Place(nearest) if nearest.likeness >= SHOWN_LIKENESS_MIN => with_similar(&part, error, &nearest),
        _ => error,
    }
}

//! Lists of several occurrences: each with an id for the next call and a line that distinguishes it from the others.

use crate::error::Error;
use crate::error::ErrorContext;
use crate::locate::find::HEADING_LINES_MAX;
use crate::locate::find::match_site::MatchSite;
use crate::locate::find::search::MatchSearch;
use crate::locate::find::select;
use crate::locate::line_format;
use crate::text::fold::{indent_of, is_blank};
use crate::text::lines::{line_start, line_stop};
use core::iter::successors;

/// Maximum number of occurrences that are shown.
const SHOWN_PLACES_MAX: usize = 5;
/// Maximum number of lines that are shown of each occurrence.
const LINES_PER_PLACE_MAX: usize = 3;

/// Adds the occurrences to an error.
pub(super) fn list_places(search: &MatchSearch<'_>, mut error: Error, places: &[MatchSite<'_>]) -> Error {
    let mut list = Vec::new();
    for place in places.iter().take(SHOWN_PLACES_MAX) {
        let id = select::site_id(search, place.span);
        let line = select::line_of(search, place.span);
        let last = search.base.lines().line_of(search.text, place.span.end().max(place.span.start() + 1) - 1);
        let header = header(search.text, place.span.start()).map_or_else(String::new, |at| {
            let line = search.base.lines().line_of(search.text, at);
            line_format::excerpt(search.base, line, line)
        });
        let shown = line_format::excerpt(
            search.base,
            line.saturating_sub(1).max(1),
            last.min(line + LINES_PER_PLACE_MAX - 1) + 1,
        );
        let header = if shown.contains(&header) { String::new() } else { header };
        let name = if search.find.names.have_ids { id.clone() } else { format!("line {line}") };
        let column = column_among(search, place.span.start(), places);
        error = error.evidence(format!("{name}{column}:\n{header}{shown}"));
        list.push((id, line));
    }
    if places.len() > SHOWN_PLACES_MAX {
        error = error.evidence(format!("… and {} more", places.len() - SHOWN_PLACES_MAX));
    }
    error.about(ErrorContext::Candidates(list))
}

/// Returns the column of a place that begins on the line of another one, which would look the same.
fn column_among(search: &MatchSearch<'_>, start: usize, places: &[MatchSite<'_>]) -> String {
    let first = line_start(search.text, start);
    let is_beside = |other: usize| other != start && line_start(search.text, other) == first;
    if !places.iter().take(SHOWN_PLACES_MAX + 1).any(|other| is_beside(other.span.start())) {
        return String::new();
    }
    format!(" (column {})", search.text[first..start].chars().count() + 1)
}

/// Returns the heading of a place: the nearest line above with less indentation, else the nearest one that is not
/// blank.
fn header(text: &str, place: usize) -> Option<usize> {
    let first = line_start(text, place);
    let depth = indent_of(line_at(text, first)).len();
    let mut nearest = None;
    for at in successors(line_above(text, first), |&at| line_above(text, at)).take(HEADING_LINES_MAX) {
        if is_blank(line_at(text, at)) {
            continue;
        }
        if indent_of(line_at(text, at)).len() < depth {
            return Some(at);
        }
        nearest = nearest.or(Some(at));
    }
    nearest
}

/// Returns the offset at which the line above begins.
fn line_above(text: &str, at: usize) -> Option<usize> {
    at.checked_sub(1).map(|before| line_start(text, before))
}

/// Returns the rest of the line from an offset on.
fn line_at(text: &str, at: usize) -> &str {
    &text[at..line_stop(text, at)]
}

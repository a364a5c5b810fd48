//! Selection among occurrences by id, number or hint, and the ids by which the next call can select one.

use super::Tier;
use super::failure;
use super::match_site::{CandidateSites, MatchSite};
use super::refusal::{MatchRefusal, RefusalReason};
use super::search::MatchSearch;
use super::tier::exact;
use crate::error::Result;
use crate::locate::op::ExpectedMatches;
use crate::text::lines::{line_start, line_stop};
use crate::text::span::Span;

/// Maximum error of a hint, in lines, if no other occurrence is as near.
const HINT_NEAR_LINES: usize = 3;
/// Maximum error of a hint, in lines, if every other occurrence is clearly farther.
const HINT_FAR_LINES: usize = 200;

/// The selected occurrences.
pub(super) struct SelectedSites<'a> {
    pub(super) places: Vec<MatchSite<'a>>,
    /// The reason for selecting one of several occurrences.
    pub(super) note: Option<String>,
}

/// Selects the occurrences that the call asked for.
pub(super) fn select<'a>(
    search: &MatchSearch<'a>,
    tier: Tier,
    candidates: CandidateSites<'a>,
) -> Result<SelectedSites<'a>> {
    let CandidateSites { mut places, number, .. } = candidates;
    if let Some(name) = &search.find.at {
        if let Some(at) = places.iter().position(|place| site_id(search, place.span) == *name) {
            return Ok(plain(vec![places.swap_remove(at)]));
        }
        let why = format!("There is no place {name}; the file may have changed.");
        return Err(failure::no_such_place(search, tier, &MatchRefusal::new(RefusalReason::NoSuchPlace, why), &places));
    }
    match search.find.expected {
        ExpectedMatches::Unique if places.len() > 1 => {
            let lines: Vec<usize> = places.iter().map(|place| line_of(search, place.span)).collect();
            let by_number = number.and_then(|number| Some((number, only(&lines, |line| line == number)?)));
            let Some((stated, at)) =
                by_number.or_else(|| search.find.line.and_then(|hint| Some((hint, hinted(&lines, hint)?))))
            else {
                return Err(failure::count(search, tier, &places));
            };
            let (of, line) = (lines.len(), lines[at]);
            Ok(SelectedSites {
                note: (line != stated).then(|| {
                    format!("Of {of} places the one at line {line} was taken: it is nearest to line {stated}.")
                }),
                places: vec![places.swap_remove(at)],
            })
        }
        ExpectedMatches::Unique => Ok(plain(places)),
        ExpectedMatches::All => {
            drop_overlapping(&mut places);
            Ok(plain(places))
        }
        ExpectedMatches::Exactly(wanted) => {
            // A count that reached its limit does not show how many occurrences are disjoint.
            let counted = exact::search_limit(search.find.expected).is_none_or(|most| places.len() < most);
            if !counted || count_disjoint(&places) != wanted {
                return Err(failure::count(search, tier, &places));
            }
            drop_overlapping(&mut places);
            Ok(plain(places))
        }
    }
}

/// Counts the occurrences that `replace_all` would replace: of overlapping ones, only the leftmost.
pub(super) fn count_disjoint(places: &[MatchSite<'_>]) -> usize {
    let mut end = 0;
    let mut count = 0;
    for place in places.iter().map(|place| place.span) {
        if place.start() >= end {
            end = place.end();
            count += 1;
        }
    }
    count
}

/// Wraps occurrences that need no reason for their selection.
fn plain(places: Vec<MatchSite<'_>>) -> SelectedSites<'_> {
    SelectedSites { places, note: None }
}

/// Keeps the leftmost of overlapping occurrences.
fn drop_overlapping(places: &mut Vec<MatchSite<'_>>) {
    let mut end = 0;
    places.retain(|place| {
        let clear = place.span.start() >= end;
        if clear {
            end = place.span.end();
        }
        clear
    });
}

/// Returns the only index for which `is` holds.
fn only(lines: &[usize], is: impl Fn(usize) -> bool) -> Option<usize> {
    let mut at = lines.iter().enumerate().filter(|&(_, &line)| is(line)).map(|(at, _)| at);
    at.next().filter(|_| at.next().is_none())
}

/// True if a place is at least twice as far away as the nearest one, or half as far again and a few lines more.
pub(super) fn is_clearly_farther(other: usize, nearest: usize) -> bool {
    other >= 2 * nearest || 2 * other >= 3 * nearest && other > nearest + HINT_NEAR_LINES
}

/// Returns the occurrence at the hinted line, the only one near it, or the nearest if every other is clearly farther.
fn hinted(lines: &[usize], hint: usize) -> Option<usize> {
    let close = || only(lines, |line| line.abs_diff(hint) <= HINT_NEAR_LINES);
    only(lines, |line| line == hint).or_else(close).or_else(|| {
        let least =
            lines.iter().map(|line| line.abs_diff(hint)).min().filter(|least| (1..=HINT_FAR_LINES).contains(least))?;
        only(lines, |line| !is_clearly_farther(line.abs_diff(hint), least))
    })
}

/// The 1-based line on which a span begins.
pub(super) fn line_of(search: &MatchSearch<'_>, span: Span) -> usize {
    search.base.lines().line_of(search.text, span.start())
}

/// Returns the id of an occurrence: its line, and a hash of its position and of the lines it touches. The id becomes
/// invalid as soon as one of these changes.
pub(super) fn site_id(search: &MatchSearch<'_>, span: Span) -> String {
    let line = line_of(search, span);
    let start = line_start(search.text, span.start());
    let stop = line_stop(search.text, span.end().saturating_sub(1).max(span.start()));
    let seed = (line as u64) << 20 | (span.start() - start) as u64;
    let hash = xxhash_rust::xxh3::xxh3_64_with_seed(&search.text.as_bytes()[start..stop.max(start)], seed);
    format!("{line}@{:06x}", hash & 0x00FF_FFFF)
}

#[cfg(test)]
mod tests {
    use crate::formats::replace::Replacement;
    use crate::locate::find::testing::{attempt, refuse};
    use crate::locate::op::{Locator, Op, OpOrder, ResolveSettings};
    use crate::locate::resolve::resolve;
    use crate::text::snapshot::Snapshot;

    const FILE: &str = "fn first() {\n    return 42;\n}\n\nfn second() {\n    return 42;\n}\n";

    fn op(line: Option<usize>, at: Option<&str>) -> Op {
        let edit =
            Replacement { old_string: "return 42".into(), new_string: "return 43".into(), ..Replacement::default() };
        let mut op = edit.to_op().unwrap();
        if let Locator::Find(find) = &mut op.at {
            find.line = line;
            find.at = at.map(str::to_owned);
        }
        op
    }

    fn run(file: &str, op: Op) -> Result<String, String> {
        let base = Snapshot::from_text(file);
        let resolved =
            resolve(&base, &[op], OpOrder::Together, ResolveSettings::default()).map_err(|it| it.to_string())?;
        Ok(String::from_utf8(resolved.changes.apply(&base)).unwrap())
    }

    #[test]
    fn occurrence_selects_a_match() {
        let error = refuse(FILE, "return 42", "return 43");
        let ids: Vec<&str> =
            error.data()["candidates"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), 2);
        assert!(error.to_string().contains(ids[1]) && error.to_string().contains("fn second"), "{error}");
        assert_eq!(
            run(FILE, op(None, Some(ids[1]))).unwrap(),
            FILE.replacen("42;\n}\n\nfn second() {\n    return 42", "42;\n}\n\nfn second() {\n    return 43", 1)
        );
        assert!(run(&format!("\n{FILE}"), op(None, Some(ids[1]))).unwrap_err().contains("no place"));
    }

    #[test]
    fn line_hint_only_breaks_ties() {
        assert!(run(FILE, op(Some(2), None)).unwrap().starts_with("fn first() {\n    return 43"));
        assert!(run(FILE, op(Some(7), None)).unwrap().ends_with("return 43;\n}\n"));
        assert!(run(FILE, op(Some(4), None)).is_err(), "both are near");
        let far = [FILE, &"// filler\n".repeat(150), FILE].concat();
        assert!(run(&far, op(Some(60), None)).is_err(), "two of four are about as near");
        let two = ["return 42;\n", &"// filler\n".repeat(150), "return 42;\n"].concat();
        assert!(run(&two, op(Some(40), None)).unwrap().starts_with("return 43"));
        assert!(run(&two, op(Some(110), None)).unwrap().ends_with("return 43;\n"));
        assert!(run(&two, op(Some(70), None)).is_err(), "about halfway");
        let apart = [&"// filler\n".repeat(119), "return 42;\n", &"// filler\n".repeat(479), "return 42;\n"].concat();
        assert_eq!(run(&apart, op(Some(300), None)).unwrap(), apart.replacen("42", "43", 1), "180 and 300 off");
        let long = ["return 42;\n", &"// filler\n".repeat(900), "return 42;\n"].concat();
        assert!(run(&long, op(Some(202), None)).is_err(), "too far");
        assert!(run(FILE, op(Some(50), None)).is_err(), "none is near");
    }

    #[test]
    fn matches_on_one_line_are_distinguished() {
        let error = refuse("foo bar foo\n", "foo", "x");
        let ids = &error.data()["candidates"];
        assert_ne!(ids[0]["id"], ids[1]["id"]);
        assert!(attempt("aaa\n", "aa", "b", false).is_err(), "overlapping matches count twice");
    }
}

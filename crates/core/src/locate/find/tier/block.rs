//! Tier 12: a block replaced as a whole, found by its first and last line.
//!
//! Models remember the first and the last line of a block, and misremember lines in between. If the edit keeps none of
//! these, they only identify the block: both edge lines exist, the block has about as many lines, the lines in between
//! are at least half alike, and no other place comes near. The whole block is replaced, so each statement of the file
//! between the edges must be in the old text as well, possibly misremembered; otherwise it would be lost unseen.

mod remembered;

use crate::locate::find::failure::nearest;
use crate::locate::find::indent::{self, IndentMap};
use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::{MatchSearch, span_of};
use crate::locate::find::target_indent::{self, Depth, MatchedLine};
use crate::locate::find::tier::widths;
use crate::locate::find::transplant;
use crate::locate::resolve;
use crate::text::fold::{self, Normalization, is_blank};
use crate::work;
use core::ops::Range;

/// Minimum likeness of the lines in between, and the margin to any other place.
const LIKENESS_MIN: f64 = 0.5;
const LIKENESS_MARGIN: f64 = 0.15;
/// Minimum number of lines with text of a block: its edges and two in between.
const BLOCK_LINES_MIN: usize = 4;
/// Maximum number of lines of a block.
const BLOCK_LINES_MAX: usize = 400;
/// Maximum number of first lines, and of pairs of first and last lines, that are examined.
const EXAMINED_PLACES_MAX: usize = 200;

#[expect(clippy::unnecessary_wraps, reason = "the shape of every tier")]
pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let Some(edges) = edges(search) else { return Ok(CandidateSites::default()) };
    let mut blocks: Vec<(Range<usize>, f64)> = Vec::new();
    for lines in candidates(search, &edges) {
        if work::spend_or_end(lines.len() * edges.len()) {
            break;
        }
        let like = likeness(search, &edges, &lines);
        if like >= LIKENESS_MIN - LIKENESS_MARGIN {
            blocks.push((lines, like));
        }
    }
    if !blocks.iter().any(|(_, like)| *like >= LIKENESS_MIN) {
        return Ok(CandidateSites::default());
    }
    // If some blocks may be replaced, the error offers the choice among these only.
    let mut blocks: Vec<_> =
        blocks.into_iter().map(|(lines, like)| (unknown_line(search, &edges, &lines), lines, like)).collect();
    if blocks.iter().all(|(unknown, ..)| unknown.is_some()) {
        blocks.sort_by(|a, b| b.2.total_cmp(&a.2));
        blocks.truncate(1);
    }
    let mut candidates = CandidateSites::default();
    for (unknown, lines, _) in blocks {
        let (plan, fitted) = match unknown {
            Some(at) => (SitePlan::Refused(unknown_refusal(search, at).at(lines.start, lines.end)), false),
            None => plan(search, &edges, &lines),
        };
        candidates.fitted |= fitted;
        candidates.places.push(MatchSite { span: span_of(search.lines(), lines.start, lines.end), plan });
    }
    Ok(candidates)
}

/// Returns the range from the first to the last line with text in the old text, if the edit replaces all lines between
/// them.
fn edges(search: &MatchSearch<'_>) -> Option<Range<usize>> {
    let wanted = &*search.pattern;
    let at: Vec<usize> = (0..wanted.old.len()).filter(|&at| !is_blank(wanted.old[at])).collect();
    if at.len() < BLOCK_LINES_MIN
        || wanted.old.len() > BLOCK_LINES_MAX
        || wanted.new.is_empty()
        || wanted.changes.is_some()
    {
        return None;
    }
    let changes = transplant::changes(&wanted.old, &wanted.new);
    let between = &at[1..at.len() - 1];
    (!between.iter().any(|line| !changes.iter().any(|(from, _)| from.contains(line))))
        .then(|| at[0]..at[at.len() - 1] + 1)
}

/// Returns the ranges of the file that begin and end like the old text and have about as many lines.
fn candidates(search: &MatchSearch<'_>, edges: &Range<usize>) -> Vec<Range<usize>> {
    let (first, last) = (search.pattern.old[edges.start], search.pattern.old[edges.end - 1]);
    let count = search.lines().count();
    let height = edges.len();
    let slack = (height / 4).max(1);
    let mut out = Vec::new();
    for start in search.lines_but_for_indent(first, EXAMINED_PLACES_MAX) {
        for end in start + height - slack..=start + height + slack {
            if end <= count && end > start + 1 && out.len() < EXAMINED_PLACES_MAX && ends_like(search, end, last) {
                out.push(start..end);
            }
        }
    }
    out
}

/// True if the line before the end is equal to the last line, ignoring indentation.
fn ends_like(search: &MatchSearch<'_>, end: usize, last: &str) -> bool {
    !work::spend_or_end(1) && fold::are_equal_under(search.line(end - 1), last, Normalization::Indentation)
}

/// The likeness of the lines between the edges, from 0 to 1.
fn likeness(search: &MatchSearch<'_>, edges: &Range<usize>, lines: &Range<usize>) -> f64 {
    let old = without_empty(
        search.pattern.old[edges.start + 1..edges.end - 1].iter().map(|line| fold_blanks(line)).collect(),
    );
    let file = without_empty((lines.start + 1..lines.end - 1).map(|at| fold_blanks(search.line(at))).collect());
    nearest::likeness(&old, &file).min(nearest::likeness(&file, &old))
}

/// Returns the lines that are not empty.
fn without_empty(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<String>>()
}

/// Returns a line with each run of blanks replaced by one space.
fn fold_blanks(line: &str) -> String {
    fold::normalize(line, Normalization::BlankRuns).into_owned()
}

/// Returns the zero-based number of the first line between the edges with a statement that the old text does not have.
fn unknown_line(search: &MatchSearch<'_>, edges: &Range<usize>, lines: &Range<usize>) -> Option<usize> {
    let old = &search.pattern.old[edges.start + 1..edges.end - 1];
    let file: Vec<&str> = (lines.start + 1..lines.end - 1).map(|at| search.line(at)).collect();
    remembered::first_unknown(old, &file).map(|at| lines.start + 1 + at)
}

fn unknown_refusal(search: &MatchSearch<'_>, at: usize) -> MatchRefusal {
    let line = search.line(at).trim();
    let why = format!("Line {} of the file would be lost, and the old text does not have it: `{line}`.", at + 1);
    MatchRefusal::new(RefusalReason::Unlike, why)
}

/// Replaces the whole block by the new text. Also returns whether the new text already has the file's indentation.
fn plan<'a>(search: &MatchSearch<'a>, edges: &Range<usize>, lines: &Range<usize>) -> (SitePlan<'a>, bool) {
    let wanted = &*search.pattern;
    let ends = [(edges.start, lines.start), (edges.end - 1, lines.end - 1)];
    let matched = ends.map(|(old, file)| MatchedLine { old: wanted.old[old], file: search.line(file) });
    let pairs = indent::pairs(matched.iter().map(|it| (it.old, it.file)));
    let depth = target_indent::target_depth(&matched, &wanted.new);
    let fitted = matches!(depth, Depth::File | Depth::LikelyFile);
    let indent = match depth {
        _ if fitted => Some(IndentMap::Verbatim),
        Depth::OldText => IndentMap::shift(&pairs).or_else(|| widths::map(search, wanted, &pairs, 0)),
        _ => None,
    };
    let Some(indent) = indent else {
        return (
            refused_at(lines, MatchRefusal::new(RefusalReason::Misindent, target_indent::UNCLEAR_DEPTH_REASON)),
            fitted,
        );
    };
    // Blank lines before and after the edges of the old text are not part of the block.
    let trailing = wanted.old.len() - edges.end;
    let new = &wanted.new[..];
    let front = new.iter().take(edges.start).take_while(|line| is_blank(line)).count();
    let back = new[front..].iter().rev().take(trailing).take_while(|line| is_blank(line)).count();
    match indent.apply_all(&new[front..new.len() - back]) {
        Err(refusal) => (refused_at(lines, refusal), fitted),
        Ok(placed) => {
            let span = span_of(search.lines(), lines.start, lines.end);
            (SitePlan::Ready(resolve::difference(search.text, span, &placed.join("\n"))), fitted)
        }
    }
}

/// Returns the plan of a place that is refused.
fn refused_at<'s>(lines: &Range<usize>, refusal: MatchRefusal) -> SitePlan<'s> {
    SitePlan::Refused(refusal.at(lines.start, lines.end))
}

#[cfg(test)]
mod tests {
    use crate::locate::find::Tier;
    use crate::locate::find::testing::{attempt, edit, refuse};

    const FILE: &str = "fn other() {\n}\n\nfn load_config(path: &Path) -> Config {\n    // Reads the file.\n    let text = read(path);\n    let parsed = parse(&text);\n    parsed\n}\n";
    const NEW: &str = "fn load_config(path: &Path) -> Config {\n    Config::default()\n}\n";

    #[test]
    fn block_is_found_by_its_edges() {
        let old = "fn load_config(path: &Path) -> Config {\n    // Read the file\n    let text = read(path);\n    let parsed = parse(text);\n    parsed\n}\n";
        let (text, resolved) = attempt(FILE, old, NEW, false).unwrap();
        assert_eq!(text, format!("fn other() {{\n}}\n\n{NEW}"));
        assert_eq!(resolved.ops[0].tier, Tier::Block);
        let deeper: String = FILE.lines().map(|line| format!("    {line}\n")).collect();
        assert!(
            edit(&deeper, old, NEW)
                .ends_with("    fn load_config(path: &Path) -> Config {\n        Config::default()\n    }\n")
        );
    }

    #[test]
    fn dissimilar_or_ambiguous_block_is_refused() {
        let unlike = "fn load_config(path: &Path) -> Config {\n    start();\n    for x in y {\n        go(x);\n    }\n    stop()\n}\n";
        refuse(FILE, unlike, NEW);
        let old = "fn load_config(path: &Path) -> Config {\n    // Read the file\n    let text = read(path);\n    let parsed = parse(text);\n    parsed\n}\n";
        let error = refuse(&[FILE, FILE].concat(), old, NEW);
        assert_eq!(error.data()["candidates"].as_array().unwrap().len(), 2, "{error}");
        // A line in between that the edit keeps must exist.
        refuse(FILE, old, "fn load_config(path: &Path) -> Config {\n    // Read the file\n    Config::default()\n}\n");
        // A statement that the old text does not have would be lost.
        let other = old.replace("    let parsed = parse(text);\n", "    log(&text);\n");
        let error = refuse(FILE, &other, NEW);
        assert!(error.to_string().contains("Line 7 of the file would be lost"), "{error}");
        // A different number is a different statement.
        let file = "fn wait() {\n    start(10);\n    sleep(20);\n    stop();\n}\n";
        refuse(file, &file.replace("20", "30"), "fn wait() {\n    halt();\n}\n");
    }
}

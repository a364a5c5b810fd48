//! Tier 10: elision lines.
//!
//! A line of only `...` (also `// ...`, `# ... existing code ...`, `<!-- ... -->` and the like) represents lines that
//! are kept. The elision lines of the old and the new text correspond one to one, and the pieces between them are in
//! order, and as deep: hidden lines keep their indentation. The lines that an indented elision line represents are
//! indented at least as deep, so the next piece is in the same block; every piece that changes must be unique there, or
//! in the whole file if there is no such limit. Anything else is refused, because unseen lines would be deleted.

use super::windows;
use crate::locate::find::indent::IndentMap;
use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::{MatchSearch, PatternLines, span_of};
use crate::locate::find::transplant::{self, Window};
use crate::locate::omission;
use crate::text::fold::is_blank;
use crate::work;
use std::rc::Rc;

/// Maximum number of occurrences of the first piece that are tried.
const FIRST_PLACES_MAX: usize = 64;

pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let PatternLines { old, new, .. } = &*search.pattern;
    if !old.iter().any(|line| is_gap(line)) {
        return Ok(CandidateSites::default());
    }
    let (mut old, mut new) = (pieces(old), pieces(new));
    if !old.iter().map(TextPiece::sign).eq(new.iter().map(TextPiece::sign)) {
        return Err(refused(
            "the elision lines of the old text have no partners in the new text, so unseen lines would be deleted",
        ));
    }
    // Elision lines at the same edge of both texts show only that the file has more lines.
    if old[0].lines.is_empty() && new[0].lines.is_empty() && old.len() > 1 {
        old.remove(0);
        new.remove(0);
        (old[0].gap, new[0].gap) = (None, None);
    }
    if old.len() > 1 && old[old.len() - 1].lines.is_empty() && new[new.len() - 1].lines.is_empty() {
        old.pop();
        new.pop();
    }
    if old.iter().map(TextPiece::depth).ne(new.iter().map(TextPiece::depth)) {
        return Err(refused(
            "an elision line has another indentation in the new text, and the lines that it hides would keep theirs",
        ));
    }
    if old[0].lines.is_empty() || old[old.len() - 1].lines.is_empty() {
        return Err(refused("the old text begins or ends with an elision line"));
    }
    let pairs: Vec<PiecePair<'_>> =
        old.into_iter().zip(new).map(|(old, new)| PiecePair::new(search, old, new)).collect();
    let places = only_places(search, &pairs)?;
    let mut edits = Vec::new();
    for (pair, &at) in pairs.iter().zip(&places) {
        edits.extend(transplant::write(&Window::whole(search, at, &pair.wanted), &IndentMap::Verbatim, false)?);
    }
    let end = places.last().zip(pairs.last()).map_or(0, |(at, pair)| at + pair.wanted.old.len());
    let span = span_of(search.lines(), places.first().copied().unwrap_or(0), end);
    Ok(CandidateSites { places: vec![MatchSite { span, plan: SitePlan::Ready(edits) }], ..CandidateSites::default() })
}

/// Returns the first part of the old text, between its elision lines, that is not in the file.
pub(in crate::locate::find) fn missing_piece<'a>(search: &MatchSearch<'a>) -> Option<Vec<&'a str>> {
    let pieces = pieces(&search.pattern.old).into_iter().map(|piece| piece.lines);
    let mut pieces = pieces.filter(|lines| !lines.is_empty() && !work::spend_or_end(1));
    pieces.find(|lines| {
        let wanted = PatternLines { old: lines.clone(), new: Vec::new(), changes: None };
        !search.windows(lines).into_iter().any(|at| windows::ends_equal(search, &wanted, at))
    })
}

fn refused(why: &str) -> MatchRefusal {
    MatchRefusal::new(RefusalReason::Elision, format!("Lines of the old text were omitted with `...`, but {why}."))
}

/// True for a line of dots, or of dots and a phrase.
pub(in crate::locate) fn is_gap(line: &str) -> bool {
    omission::is_elision(line) || (line.contains("...") || line.contains('…')) && omission::is_placeholder(line)
}

/// Lines between two elision lines.
struct TextPiece<'a> {
    /// The elision line above; `None` for the first piece.
    gap: Option<&'a str>,
    lines: Vec<&'a str>,
}

impl<'a> TextPiece<'a> {
    fn sign(&self) -> Option<&'a str> {
        self.gap.map(str::trim)
    }

    /// Returns the indentation of the elision line above.
    fn depth(&self) -> Option<&'a str> {
        self.gap.map(|gap| &gap[..indent(gap)])
    }
}

/// Splits lines at elision lines; several in succession count as one.
fn pieces<'a>(lines: &[&'a str]) -> Vec<TextPiece<'a>> {
    let mut out = vec![TextPiece { gap: None, lines: Vec::new() }];
    for line in lines {
        match out.last_mut() {
            Some(last) if is_gap(line) && last.gap.is_some() && last.lines.is_empty() => {}
            Some(last) if !is_gap(line) => last.lines.push(line),
            _ => out.push(TextPiece { gap: Some(line), lines: Vec::new() }),
        }
    }
    out
}

/// A piece of the old text and the corresponding piece of the new one.
struct PiecePair<'a> {
    gap: Option<&'a str>,
    wanted: Rc<PatternLines<'a>>,
    stays: bool,
    /// The lines of the file at which the old piece occurs.
    places: Vec<usize>,
}

impl<'a> PiecePair<'a> {
    fn new(search: &MatchSearch<'a>, old: TextPiece<'a>, new: TextPiece<'a>) -> PiecePair<'a> {
        let stays = old.lines == new.lines;
        let wanted = Rc::new(PatternLines { old: old.lines, new: new.lines, changes: None });
        let windows = search.windows(&wanted.old).into_iter();
        let places = windows.filter(|&at| windows::ends_equal(search, &wanted, at)).collect();
        PiecePair { gap: old.gap, wanted, stays, places }
    }

    /// Returns the minimum indentation of the lines that the elision line above represents; 0 if there is no limit.
    fn depth(&self, above: &PiecePair<'_>) -> usize {
        let text = |line: &&&str| !is_blank(line);
        let next = self.wanted.old.iter().find(text).map_or(0, |line| indent(line));
        let last = above.wanted.old.iter().rfind(text).map_or(0, |line| indent(line));
        match self.gap.map_or(0, indent) {
            0 => last.min(next),
            own => own.min(next),
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the lines at which the pieces occur, if there is only one way to place those that change.
fn only_places(search: &MatchSearch<'_>, pairs: &[PiecePair<'_>]) -> Result<Vec<usize>, MatchRefusal> {
    let first = &pairs[0];
    if first.places.len() > FIRST_PLACES_MAX {
        return Err(refused("a piece between the elision lines occurs several times"));
    }
    let (mut found, mut failed): (Option<Vec<usize>>, _) = (None, None);
    for &at in &first.places {
        if work::spend_or_end(1) {
            break;
        }
        let places = match places_from(search, pairs, at) {
            Ok(places) => places,
            Err(refusal) => {
                failed.get_or_insert(refusal);
                continue;
            }
        };
        if found.as_ref().is_some_and(|found| !changed_places(found, pairs).eq(changed_places(&places, pairs))) {
            return Err(refused("a piece between the elision lines occurs several times"));
        }
        found = Some(places);
    }
    found.ok_or_else(|| failed.unwrap_or_else(|| refused("a piece between the elision lines is not in the file")))
}

/// Returns the lines of the pieces that change.
fn changed_places<'p>(places: &'p [usize], pairs: &'p [PiecePair<'_>]) -> impl Iterator<Item = usize> + 'p {
    places.iter().zip(pairs).filter(|(_, pair)| !pair.stays).map(|(at, _)| *at)
}

/// Places the pieces below an occurrence of the first one.
fn places_from(search: &MatchSearch<'_>, pairs: &[PiecePair<'_>], first: usize) -> Result<Vec<usize>, MatchRefusal> {
    let mut out = vec![first];
    let mut from = first + pairs[0].wanted.old.len();
    for neighbors in pairs.windows(2) {
        let (above, pair) = (&neighbors[0], &neighbors[1]);
        let depth = pair.depth(above);
        let end = if depth == 0 { search.lines().count() } else { block_end(search, from, depth, &pair.places) };
        let len = pair.wanted.old.len();
        let mut within = pair.places.iter().filter(|&&at| at >= from && at <= end);
        let Some(&at) = within.next() else {
            return Err(refused(
                "a part between the elision lines does not follow the part before it in the same block of the file",
            ));
        };
        let is_unique = if depth == 0 { pair.places.len() == 1 } else { within.next().is_none() };
        if !pair.stays && !is_unique {
            return Err(refused("a piece between the elision lines occurs several times"));
        }
        out.push(at);
        from = at + len;
    }
    Ok(out)
}

/// Returns the first line from `from` on that is indented less than a block, ignoring preprocessor directives. The
/// search ends after the last place that matters.
fn block_end(search: &MatchSearch<'_>, from: usize, depth: usize, places: &[usize]) -> usize {
    let last = places.last().copied().unwrap_or(0);
    let mut lines = (from..last).take_while(|_| !work::spend_or_end(1));
    let outside = lines.find(|&at| {
        let line = search.line(at);
        !is_blank(line) && indent(line) < depth && !line.starts_with('#')
    });
    outside.unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::is_gap;
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn elision_lines_are_recognized() {
        for line in ["...", "  // ...", "# …", "<!-- ... -->", "/* ... */", "-- ...", "# ... existing code ..."] {
            assert!(is_gap(line), "{line}");
        }
        for line in ["...rest", "a ...", "....", "", "x = ...", "# unchanged"] {
            assert!(!is_gap(line), "{line}");
        }
    }

    const FILE: &str = "fn process() {\n    let parsed = parse();\n    let checked = check();\n    finish()\n}\n";

    #[test]
    fn parts_around_an_elision_are_edited() {
        for dots in ["...", "// ... existing code ...", "...\n    ..."] {
            let (old, new) = (
                format!("fn process() {{\n    {dots}\n    finish()\n}}"),
                format!("fn process(x: u8) {{\n    {dots}\n    finish(x)\n}}"),
            );
            assert_eq!(
                edit(FILE, &old, &new),
                "fn process(x: u8) {\n    let parsed = parse();\n    let checked = check();\n    finish(x)\n}\n"
            );
        }
    }

    #[test]
    fn unchanged_part_may_occur_again() {
        assert_eq!(
            edit(
                "fn a() {\n}\nfn begin() {\n    one();\n    two();\n}\n",
                "fn begin() {\n...\n}",
                "fn end() {\n...\n}"
            ),
            "fn a() {\n}\nfn end() {\n    one();\n    two();\n}\n"
        );
    }

    #[test]
    fn part_is_searched_in_the_block_of_its_elision() {
        let file = "def a():\n    x = load()\n    return x\n\n\ndef b():\n    y = load()\n    return x\n";
        let (old, new) = ("def b():\n    ...\n    return x", "def b():\n    ...\n    return y");
        assert_eq!(
            edit(file, old, new),
            file.replace("load()\n    return x\n", "load()\n    return y\n").replacen("return y", "return x", 1)
        );
        // The block of the definition lacks the piece; another block further below has it.
        let file = "def a():\n    return False\n\n\ndef b():\n    return True\n";
        refuse(file, "def a():\n    ...\n    return True", "def a():\n    ...\n    return False");
        let twice = "def a():\n    x()\n    y()\n    x()\n";
        refuse(twice, "def a():\n    ...\n    x()", "def a():\n    ...\n    z()");
    }

    #[test]
    fn elision_at_the_edges_of_both_texts_is_ignored() {
        let edited = FILE.replace("finish()", "finish(1)");
        assert_eq!(edit(FILE, "    ...\n    finish()\n}", "    ...\n    finish(1)\n}"), edited);
        assert_eq!(edit(FILE, "// ...\n    finish()\n}\n// ...", "// ...\n    finish(1)\n}\n// ..."), edited);
    }

    #[test]
    fn hidden_lines_are_not_moved_to_another_depth() {
        let file = "def f(a):\n    start()\n    one()\n    return a\n";
        let old = "def f(a):\n    ...\n    return a\n";
        refuse(file, old, "def f(a):\n    with lock:\n        ...\n    return a\n");
        let nested = "if a:\n        start()\n        one()\n        two()\n";
        refuse(nested, "if a:\n        ...\n        two()\n", "if a:\n    ...\n        two(1)\n");
        assert_eq!(
            edit(file, old, "def f(b):\n    ...\n    return b\n"),
            "def f(b):\n    start()\n    one()\n    return b\n"
        );
    }

    #[test]
    fn unpaired_or_ambiguous_elision_is_refused() {
        refuse(FILE, "fn process() {\n    ...\n}", "fn process() {\n    todo()\n}");
        refuse(FILE, "    finish()\n    ...\nfn process() {", "    finish(1)\n    ...\nfn process() {");
        refuse(
            &[FILE, FILE].concat(),
            "fn process() {\n    ...\n    finish()\n}",
            "fn process() {\n    ...\n    finish(1)\n}",
        );
        refuse(FILE, "    ...\n    finish()\n}", "    finish(1)\n}");
    }
}

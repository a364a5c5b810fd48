//! Tier 10: elision lines.
//!
//! A line of only `...` (also `// ...`, `# ...`, `<!-- ... -->` and the like) represents lines that are kept. The
//! elision lines of old and new correspond one to one; every piece between them that changes is unique in the file,
//! trailing blanks aside, and the pieces are in order. Anything else is refused, because unseen lines would be deleted.

use super::windows;
use crate::locate::find::indent::IndentMap;
use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::{MatchSearch, PatternLines, span_of};
use crate::locate::find::transplant::{self, Window};
use crate::locate::omission::is_elision;
use std::rc::Rc;

pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    let PatternLines { old, new, .. } = &*search.pattern;
    let marks: Vec<&str> = old.iter().filter(|line| is_elision(line)).map(|line| line.trim()).collect();
    if marks.is_empty() {
        return Ok(CandidateSites::default());
    }
    if !new.iter().filter(|line| is_elision(line)).map(|line| line.trim()).eq(marks) {
        return Err(refused(
            "the elision lines of the old text have no partners in the new text, so unseen lines would be deleted",
        ));
    }
    let (old, new) = (pieces(old), pieces(new));
    if old.first().is_none_or(Vec::is_empty) || old.last().is_none_or(Vec::is_empty) {
        return Err(refused("the old text begins or ends with an elision line"));
    }
    let mut edits = Vec::new();
    let (mut from, mut first) = (0, None);
    for (old, new) in old.into_iter().zip(new) {
        let stays = old == new;
        let wanted = Rc::new(PatternLines { old, new, changes: None });
        let at = if stays { next(search, &wanted, from)? } else { unique(search, &wanted)? };
        if at < from {
            return Err(refused("the pieces between the elision lines are in another order in the file"));
        }
        first = first.or(Some(at));
        from = at + wanted.old.len();
        edits.extend(transplant::write(&Window::whole(search, at, &wanted), &IndentMap::Verbatim, false)?);
    }
    let span = span_of(search.lines(), first.unwrap_or(0), from);
    Ok(CandidateSites { places: vec![MatchSite { span, plan: SitePlan::Ready(edits) }], ..CandidateSites::default() })
}

fn refused(why: &str) -> MatchRefusal {
    MatchRefusal::new(RefusalReason::Elision, format!("Lines of the old text were omitted with `...`, but {why}."))
}

fn unique(search: &MatchSearch<'_>, wanted: &Rc<PatternLines<'_>>) -> Result<usize, MatchRefusal> {
    let windows = search.windows(&wanted.old);
    let mut places = windows.into_iter().filter(|&at| windows::ends_equal(search, wanted, at));
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => Err(refused("a piece between the elision lines is not in the file")),
        (Some(_), Some(_)) => Err(refused("a piece between the elision lines occurs several times")),
    }
}

/// Returns the first occurrence from a line on; a piece that is kept need not be unique.
fn next(search: &MatchSearch<'_>, wanted: &Rc<PatternLines<'_>>, from: usize) -> Result<usize, MatchRefusal> {
    let mut windows = search.windows(&wanted.old).into_iter();
    let at = windows.find(|&at| at >= from && windows::ends_equal(search, wanted, at));
    at.ok_or_else(|| refused("a part between the elision lines does not follow the part before it in the file"))
}

/// Splits lines at elision lines.
fn pieces<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    lines.split(|line| is_elision(line)).map(<[&str]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::is_elision;
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn elision_lines_are_recognized() {
        for line in ["...", "  // ...", "# …", "<!-- ... -->", "/* ... */", "-- ..."] {
            assert!(is_elision(line), "{line}");
        }
        for line in ["...rest", "// ... more", "a ...", "....", "", "x = ..."] {
            assert!(!is_elision(line), "{line}");
        }
    }

    const FILE: &str = "fn process() {\n    let parsed = parse();\n    let checked = check();\n    finish()\n}\n";

    #[test]
    fn parts_around_an_elision_are_edited() {
        assert_eq!(
            edit(FILE, "fn process() {\n    ...\n    finish()\n}", "fn process(x: u8) {\n    ...\n    finish(x)\n}"),
            "fn process(x: u8) {\n    let parsed = parse();\n    let checked = check();\n    finish(x)\n}\n"
        );
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
    fn unpaired_or_ambiguous_elision_is_refused() {
        refuse(FILE, "fn process() {\n    ...\n}", "fn process() {\n    todo()\n}");
        refuse(FILE, "    finish()\n    ...\nfn process() {", "    finish(1)\n    ...\nfn process() {");
        refuse(
            &[FILE, FILE].concat(),
            "fn process() {\n    ...\n    finish()\n}",
            "fn process() {\n    ...\n    finish(1)\n}",
        );
        refuse(FILE, "    ...\n    finish()\n}", "    ...\n    finish(1)\n}");
    }
}

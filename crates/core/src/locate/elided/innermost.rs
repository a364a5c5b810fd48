//! The place of a fragment that is within all of its other places, if the others would delete lines about which the text
//! says nothing.
//!
//! Such places have an end in common, and differ by a line such as `}` that occurs often. Each of them deletes what the
//! innermost one deletes, and more. Code that a text does not show is kept, unless new lines may replace it.

use super::kept_line::KeptLine;
use super::lossless::is_significant;
use super::placement::{Placement, matched_lines, new_lines};
use super::{Fragment, TextPair, beside, blocks, fresh, indent, is_filled};
use crate::locate::word_overlap;
use crate::work;
use core::ops::Range;
use foldhash::HashSet;

/// Maximum number of lines of a fragment that are examined.
const FRAGMENT_LINES_MAX: usize = 500;
/// Number of lines, beside twice the new ones, that a text does not replace without showing one of them.
const UNSEEN_LINES_MIN: usize = 4;

/// Returns the innermost place if all others are excluded.
pub(super) fn only(texts: &TextPair<'_>, fragment: &Fragment, places: &[Placement]) -> Option<Placement> {
    let inner = places.iter().min_by_key(|it| it.old.len())?;
    let is_around = |it: &Placement| it.old.start <= inner.old.start && it.old.end >= inner.old.end;
    let is_long = fragment.lines.len() > FRAGMENT_LINES_MAX || inner.old.len() > FRAGMENT_LINES_MAX;
    if is_long || work::spend_or_end(places.len() + fragment.lines.len()) || !places.iter().all(is_around) {
        return None;
    }
    let matched = matched_lines(texts, &fragment.lines, &inner.old);
    if !matched.iter().flatten().any(|&at| is_significant(texts.old[at])) {
        return None;
    }
    let new: Vec<&str> = new_lines(texts, &fragment.lines, &matched).collect();
    // Equal lines, such as two `}`, may be what is left when the lines between them are deleted.
    if !new.is_empty() && !new.iter().any(|line| is_significant(line) && !texts.old.has_bare(line)) {
        return None;
    }
    // Without a new line behind the first one, the lines between it and the next one may have been deleted.
    let mut shown = fragment.lines.clone().zip(&matched).skip(1).filter(|(line, _)| is_filled(texts.new[*line]));
    if places.iter().any(|it| it.old.start < inner.old.start) && shown.next().is_some_and(|(_, at)| at.is_some()) {
        return None;
    }
    let unexplained = unexplained_lines(texts, &fragment.lines, &inner.old, &matched);
    let sides = Sides::of(texts, unexplained, &inner.old, places);
    let inner_lines = texts.old.filled_in(&inner.old).len();
    let is_excluded = |it: &Placement| {
        let is_large = texts.old.filled_in(&it.old).len() - inner_lines >= 2 * sides.new + UNSEEN_LINES_MIN;
        is_large && sides.has_significant(it) && !sides.has_named(it)
    };
    places.iter().filter(|it| *it != inner).all(is_excluded).then(|| inner.clone())
}

/// True if half of the words of the new lines are in lines that the next larger place would delete: they may be what is
/// left of those, or if that is too much work.
pub(super) fn may_be_replaced(
    texts: &TextPair<'_>,
    fragment: &Fragment,
    inner: &Placement,
    places: &[Placement],
) -> bool {
    let matched = matched_lines(texts, &fragment.lines, &inner.old);
    let new = unexplained_lines(texts, &fragment.lines, &inner.old, &matched);
    let new: HashSet<&str> = new.into_iter().flat_map(word_overlap::words).collect();
    let above = places.iter().map(|it| it.old.start).filter(|at| *at < inner.old.start).max();
    let below = places.iter().map(|it| it.old.end).filter(|at| *at > inner.old.end).min();
    let above = above.map_or(0..0, |at| at..inner.old.start);
    let below = below.map_or(0..0, |at| inner.old.end..at);
    [above, below].into_iter().any(|lines| {
        let gone = texts.old[lines].iter().take_while(|line| !work::spend_or_end(blocks::line_steps(line)));
        let gone: HashSet<&str> = gone.flat_map(|line| word_overlap::words(line)).collect();
        let common = new.iter().filter(|word| gone.contains(*word)).count();
        common > 0 && 2 * common >= new.len()
    })
}

/// True if each line that a place loses is replaced by a similar one.
pub(super) fn explains_lost_lines(texts: &TextPair<'_>, fragment: &Fragment, place: &Placement) -> bool {
    let matched = matched_lines(texts, &fragment.lines, &place.old);
    let kept = matched.iter().flatten().filter(|&&at| is_filled(texts.old[at])).count();
    let gone = texts.old.filled_in(&place.old).len() - kept;
    let new = new_lines(texts, &fragment.lines, &matched).count();
    gone == 0 || gone + unexplained_lines(texts, &fragment.lines, &place.old, &matched).len() == new
}

/// Returns the new lines of a fragment that replace no similar line of a place, and so may replace lines beside it.
fn unexplained_lines<'a>(
    texts: &TextPair<'a>,
    lines: &Range<usize>,
    place: &Range<usize>,
    matched: &[Option<usize>],
) -> Vec<&'a str> {
    let mut out = Vec::new();
    let (mut old, mut new) = (place.start, lines.start);
    let pairs = lines.clone().zip(matched).filter_map(|(line, at)| Some((line, (*at)?)));
    for (line, at) in pairs.chain([(lines.end, place.end)]) {
        let gone = texts.old[old..at].iter().filter(|line| is_filled(line));
        let mut fresh = texts.new[new..line].iter().copied().filter(|line| is_filled(line));
        for gone in gone {
            let mut ahead = fresh.clone().peekable();
            if ahead.peek().is_none() {
                break;
            }
            let gone = KeptLine::of(gone);
            if let Some(passed) = ahead.position(|new| gone.may_become(new)) {
                out.extend(fresh.by_ref().take(passed));
                fresh.next();
            }
        }
        out.extend(fresh);
        (old, new) = (at + 1, line + 1);
    }
    out
}

/// The lines of a fragment that the file does not have at its innermost place.
struct NewLines<'a> {
    lines: Vec<&'a str>,
    names: HashSet<&'a str>,
    set: HashSet<&'a str>,
    /// The least indentation of the lines.
    depth: usize,
}

impl<'a> NewLines<'a> {
    fn of(lines: Vec<&'a str>) -> NewLines<'a> {
        // Lines within a new definition replace nothing outside of it.
        let depth = lines.iter().map(|line| indent(line)).min().unwrap_or_default();
        let outer = || lines.iter().filter(|line| indent(line) == depth);
        let names = outer().filter_map(|line| fresh::name(line)).collect();
        let set = outer().filter_map(|line| beside::name_set(line)).collect();
        NewLines { lines, names, set, depth }
    }

    /// True for a line of the file that defines or sets a name that one of these lines has, too.
    fn names(&self, old: &str) -> bool {
        let opens = old.trim_end().ends_with(['{', '(', '[', ':', '>', '=']);
        indent(old) == self.depth
            && (opens && fresh::name(old).is_some_and(|name| self.names.contains(name))
                || beside::name_set(old).is_some_and(|name| self.set.contains(name)))
    }
}

/// The lines of the file beside the innermost place, the nearest of each kind.
#[derive(Default)]
struct Side {
    significant: Option<usize>,
    /// A line whose name one of the new lines has.
    named: Option<usize>,
}

impl Side {
    /// Examines lines from the nearest on.
    fn of(texts: &TextPair<'_>, news: &NewLines<'_>, lines: impl Iterator<Item = usize>) -> Side {
        let mut side = Side::default();
        for at in lines {
            let line = texts.old[at];
            if work::spend_or_end(blocks::line_steps(line)) {
                // Nothing is known about the other lines.
                side.named = Some(at);
                break;
            }
            if !is_significant(line) {
                continue;
            }
            // One of several equal lines may be what was deleted.
            side.significant = side.significant.or_else(|| (!texts.shows(line)).then_some(at));
            if news.names(line) {
                side.named = Some(at);
                break;
            }
        }
        side
    }
}

/// The lines of the file on both sides of a place, as far as its rivals reach.
pub(super) struct Sides {
    above: Side,
    below: Side,
    /// The number of new lines.
    new: usize,
}

impl Sides {
    pub(super) fn of(texts: &TextPair<'_>, new: Vec<&str>, inner: &Range<usize>, places: &[Placement]) -> Sides {
        let all = places.iter().fold(inner.clone(), |all, it| all.start.min(it.old.start)..all.end.max(it.old.end));
        let news = NewLines::of(new);
        let above = Side::of(texts, &news, (all.start..inner.start).rev());
        let below = Side::of(texts, &news, inner.end..all.end);
        Sides { above, below, new: news.lines.len() }
    }

    fn has_significant(&self, it: &Placement) -> bool {
        reaches(it, [self.above.significant, self.below.significant])
    }

    /// True if a place contains a line that defines or sets what a new line does.
    pub(super) fn has_named(&self, it: &Placement) -> bool {
        reaches(it, [self.above.named, self.below.named])
    }
}

/// True if a place extends to one of the nearest lines above and below the innermost place.
fn reaches(it: &Placement, [above, below]: [Option<usize>; 2]) -> bool {
    above.is_some_and(|at| at >= it.old.start) || below.is_some_and(|at| at < it.old.end)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edit, refuse};

    const FILE: &str = "fn one() {\n    first();\n}\n\nfn two() {\n    second();\n}\n\nfn three(a: A) {\n    third(a);\n    \
                        fourth(a);\n}\n\nfn last() {\n    done();\n}\n";

    #[test]
    fn place_that_deletes_the_least_is_meant() {
        let block = "    if first {\n        begin_now();\n        go_on();\n        wait_for_it();\n        leave_it();\n    }\n";
        let file = format!(
            "fn go() {{\n    if open {{\n        close_it();\n    }}\n{block}    old_way(now);\n    end_it();\n}}\n"
        );
        let new = "// ...\n    }\n    another();\n    end_it();\n// ...\n";
        assert_eq!(edit(&file, new, &[]), file.replace("old_way(now)", "another()"));
        // A new line may be what is left of the block, or the block is short.
        refuse(&file, &new.replace("another();", "leave_it(begin_now());"), &[]);
        refuse(&file.replace(block, "    if first {\n        begin_now();\n    }\n"), new, &[]);
    }

    #[test]
    fn definition_of_the_same_name_may_be_replaced() {
        let body = "third(a);\n    fourth(b);\n    fifth(c);\n    sixth(d);\n    seventh(e);\n    eighth(f);\n";
        let file = FILE.replace("third(a);\n", body);
        refuse(&file, "// ...\n}\n\nfn three(a: A) -> B { short(a) }\n\nfn last() {\n// ...\n", &[]);
        let new = "// ...\n}\n\nfn other(a: A) {\n    third(a);\n    fourth(a);\n}\n\nfn last() {\n// ...\n";
        refuse(FILE, new, &[]);
    }

    #[test]
    fn line_that_replaces_a_similar_one_replaces_no_other() {
        let far: String = (1..20).map(|nth| format!("    name_of(the_line_{nth});\n")).collect();
        let file = format!(
            "fn name_of(line: &str) -> Name {{\n    let text = line.trim();\n{far}    let text = line.trim();\n}}\n"
        );
        let new = "pub(super) fn name_of(line: &str) -> Name {\n    let text = line.trim();\n    // ...\n}\n";
        assert_eq!(edit(&file, new, &[]), file.replacen("fn", "pub(super) fn", 1));
    }
}

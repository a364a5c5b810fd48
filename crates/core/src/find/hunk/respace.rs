//! Context lines whose blanks are not the file's: the mark before them was left out, or only their indentation slipped.

use super::seek::{Seeker, candidate, literal as places};
use super::{Candidate, wanted};
use crate::find::fold::{self, BLANKS, Look, is_blank};
use crate::find::indent::IndentMap;
use crate::find::place::Place;
use crate::find::search::Search;
use crate::op::{Find, Hunk, HunkLine, LineKind};

/// Lines compared for one hunk.
const LINES: usize = 2_000_000;

pub(super) const NOTE: &str =
    "Context lines of the hunk lack the blank that marks them; they were read as the file has them.";
pub(super) const MIXED: &str = "The indentation of context lines differs from the file's, that of the changed lines does not; only the changed lines were written.";

/// Exact places when every context line gets back the blank that marks it.
pub(super) fn literal(seeker: &Seeker<'_>, many: bool) -> Option<Vec<Candidate>> {
    let respaced = respaced(seeker.hunk)?;
    let find = Find { old: respaced.old_text(), ..seeker.search.find.clone() };
    let search = Search::wanting(seeker.index, &find, seeker.search.new, wanted(&respaced));
    Some(places(&search, many).iter().map(|place| candidate(&search, place)).collect())
}

/// The hunk with the blank put back, if it has a context line with text.
fn respaced(hunk: &Hunk) -> Option<Hunk> {
    let lost = |line: &HunkLine| line.kind == LineKind::Context && !is_blank(&line.text);
    hunk.lines.iter().any(lost).then(|| {
        let mut hunk = hunk.clone();
        hunk.lines.iter_mut().filter(|line| lost(line)).for_each(|line| line.text.insert(0, ' '));
        hunk
    })
}

/// Places where the changed lines are the file's to the letter and context is, but for its indentation. Without a removed
/// line only a lost blank is forgiven: nothing else would tell how deep the new lines belong.
pub(super) fn mixed<'s>(seeker: &'s Seeker<'s>) -> Vec<Candidate> {
    let (search, hunk) = (&seeker.search, seeker.hunk);
    let old: Vec<&HunkLine> = hunk.lines.iter().filter(|line| line.kind != LineKind::Added).collect();
    let removes = old.iter().any(|line| line.kind == LineKind::Removed && !is_blank(&line.text));
    let fits = |first: usize| {
        (first..).zip(&old).all(|(at, line)| {
            let file = search.line(at);
            file == line.text
                || (line.kind != LineKind::Removed && file.strip_prefix(' ') == Some(&*line.text))
                || (line.kind != LineKind::Removed
                    && removes
                    && file.trim_matches(BLANKS) == line.text.trim_matches(BLANKS))
        })
    };
    let mut budget = LINES / old.len().max(1);
    let windows = search.wanted_windows().iter().copied().take_while(|_| {
        budget = budget.saturating_sub(1);
        budget > 0
    });
    let enough =
        search.wanted.substance(4) >= 4 && old.iter().any(|line| fold::form(&line.text, Look::Trimmed).len() > 1);
    let firsts = windows.filter(|&first| enough && fits(first));
    let place = |first| Place::lines(search, first, &search.wanted, IndentMap::Verbatim, false);
    firsts.map(|first| candidate(search, &place(first))).collect()
}

//! Hunks that omit blank lines of the file. They are completed only if they fit nowhere as they are.

use crate::locate::find::search::SearchIndex;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind};
use crate::text::fold;
use crate::work;

/// The note for a completed hunk.
pub(super) const BLANKS_FILLED_NOTE: &str = "Blank lines of the file that the hunk omits were kept.";
/// Maximum number of places that are compared.
const COMPARED_PLACES_MAX: usize = 1_000;

/// Returns the hunk with the file's blank lines inserted as context, if there is only one way to do that.
///
/// Every other old line must be equal to the file's, ignoring trailing whitespace. A blank line between two removed
/// lines, or in a gap that gets new lines, has no definite position; the result is `None` then.
pub(super) fn fill_blank_lines(index: &SearchIndex<'_>, hunk: &Hunk) -> Option<Hunk> {
    let old: Vec<usize> = (0..hunk.lines.len()).filter(|&at| hunk.lines[at].kind != HunkLineKind::Added).collect();
    let first = &hunk.lines[*old.first()?].text;
    if fold::is_blank(first) {
        return None;
    }
    let same = |at: &usize| index.line(*at).trim_end() == first.trim_end();
    let similar = index.similar_lines(first);
    let starts: Vec<usize> = if let Some(all) = similar.as_ref().and_then(|similar| similar.all()) {
        all.iter().copied().filter(same).collect()
    } else {
        let lines = (0..index.lines().count()).take_while(|_| !work::spend_or_end(2));
        lines.filter(same).take(COMPARED_PLACES_MAX + 1).collect()
    };
    if starts.len() > COMPARED_PLACES_MAX {
        return None;
    }
    let mut out: Option<Hunk> = None;
    for start in starts {
        let Some(gaps) = gaps(index, hunk, &old, start) else { continue };
        let whole = with(hunk, &gaps)?;
        if out.as_ref().is_some_and(|other| *other != whole) {
            return None;
        }
        out = Some(whole);
    }
    out
}

/// Blank lines that a hunk omits.
struct BlankGap {
    /// Indices of the hunk's old lines before and after them.
    around: [usize; 2],
    blanks: Vec<String>,
}

/// Returns the gaps of a hunk at one place; `None` if another line differs, or no line is omitted.
fn gaps(index: &SearchIndex<'_>, hunk: &Hunk, old: &[usize], start: usize) -> Option<Vec<BlankGap>> {
    let (mut out, mut at) = (Vec::new(), start);
    for (nth, &line) in old.iter().enumerate() {
        let text = hunk.lines[line].text.trim_end();
        let mut blanks = Vec::new();
        while at < index.lines().count() && index.line(at).trim_end() != text {
            if nth == 0 || !fold::is_blank(index.line(at)) || work::spend_or_end(1) {
                return None;
            }
            blanks.push(index.line(at).to_owned());
            at += 1;
        }
        if at == index.lines().count() {
            return None;
        }
        at += 1;
        if !blanks.is_empty() {
            out.push(BlankGap { around: [old[nth - 1], line], blanks });
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Returns the hunk with its gaps filled; `None` if the position of a blank line among new lines is ambiguous.
fn with(hunk: &Hunk, gaps: &[BlankGap]) -> Option<Hunk> {
    let mut out = hunk.clone();
    for BlankGap { around: [before, after], blanks } in gaps.iter().rev() {
        let at = match (is_removed(hunk, *before), is_removed(hunk, *after)) {
            (false, true) => before + 1,
            (true, false) => *after,
            (false, false) if after - before == 1 => *after,
            (true, true) | (false, false) => return None,
        };
        out.lines
            .splice(at..at, blanks.iter().map(|text| HunkLine { kind: HunkLineKind::Context, text: text.clone() }));
    }
    Some(out)
}

/// True for a line that the hunk removes.
fn is_removed(hunk: &Hunk, at: usize) -> bool {
    hunk.lines[at].kind == HunkLineKind::Removed
}

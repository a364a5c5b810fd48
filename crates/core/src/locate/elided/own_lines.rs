//! Lines of the file that are equal to a placeholder of the text: the placeholder may be that line, or stand for code.

use super::old_lines::LOOKUP_STEPS;
use super::placement::{Placement, matched_lines};
use super::{Fragment, TextPair};
use crate::work;
use core::ops::Range;
use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

/// Refuses an edit if such a line is in the code that the placeholder leaves out, or among replaced lines: if the
/// placeholder is that line, the code beside it goes, and nothing tells which is meant. A line elsewhere cannot be the
/// placeholder, because a text has its lines in the order of the file; nor can one that the text shows in addition.
///
/// Errors: the reason, as sentences.
pub(super) fn check(
    texts: &TextPair<'_>,
    gaps: &[usize],
    fragments: &[Fragment],
    placements: &[Option<Placement>],
) -> Result<(), String> {
    let unshown = unshown_lines(texts, gaps);
    if unshown.is_empty() {
        return Ok(());
    }
    let kept = kept_parts(texts, gaps, fragments, placements);
    let replaced = replaced_lines(texts, fragments, placements);
    for at in unshown {
        let line = texts.old[at].trim();
        let part = kept.partition_point(|it| it.old.end <= at);
        let hides = kept.get(part).filter(|it| it.old.start <= at).and_then(|it| it.gaps.get(line));
        let equal = || replaced.contains(&at).then(|| gaps.iter().find(|&&gap| texts.new[gap].trim() == line))?;
        if work::spend_or_end(LOOKUP_STEPS) {
            break;
        }
        if let Some(gap) = hides.or_else(equal) {
            return Err(format!(
                "Line {} of the text may stand for code, or be line {} of the file. For code that stays, write other \
                 words, such as `... code that stays as it is ...`; to keep that line, show those above and below it.",
                gap + 1,
                at + 1
            ));
        }
    }
    Ok(())
}

/// Returns the lines of the file that are equal to a placeholder, unless the text has enough lines that are certainly
/// they.
fn unshown_lines(texts: &TextPair<'_>, gaps: &[usize]) -> Vec<usize> {
    let own: HashSet<&str> =
        gaps.iter().map(|&gap| texts.new[gap]).filter(|line| texts.old.has_bare(line)).map(str::trim).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let mut shown: HashMap<&str, usize> = HashMap::new();
    for (at, line) in work::batched(texts.new.iter().enumerate()) {
        let line = line.trim();
        if own.contains(line) && gaps.binary_search(&at).is_err() {
            *shown.entry(line).or_default() += 1;
        }
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in work::batched(texts.old.iter().enumerate()) {
        if own.contains(line.trim()) {
            places.entry(line.trim()).or_default().push(at);
        }
    }
    places.retain(|line, places| shown.get(line).is_none_or(|count| *count < places.len()));
    let mut out: Vec<usize> = places.into_values().flatten().collect();
    out.sort_unstable();
    out
}

/// Lines of the file between two placed fragments.
struct KeptPart<'a> {
    old: Range<usize>,
    /// The placeholders there by their words.
    gaps: HashMap<&'a str, usize>,
}

/// Returns the parts of the file that placeholders stand for. A fragment that changes nothing may be anywhere between
/// its neighbours, unless one of its lines occurs once.
fn kept_parts<'a>(
    texts: &TextPair<'a>,
    gaps: &[usize],
    fragments: &[Fragment],
    placements: &[Option<Placement>],
) -> Vec<KeptPart<'a>> {
    let mut gaps = gaps.iter().copied().peekable();
    let mut part_until = |old: Range<usize>, new: usize| {
        let here = core::iter::from_fn(|| gaps.next_if(|gap| *gap < new));
        KeptPart { old, gaps: here.map(|gap| (texts.new[gap].trim(), gap)).collect() }
    };
    let (mut out, mut from) = (Vec::new(), 0);
    for (fragment, placement) in fragments.iter().zip(placements) {
        let place = placement.as_ref().map(|it| it.old.clone()).or_else(|| place_of_unchanged(texts, fragment));
        if let Some(place) = place {
            out.push(part_until(from..place.start, fragment.lines.start));
            from = place.end;
        }
    }
    out.push(part_until(from..texts.old.len(), texts.new.len()));
    out
}

/// Returns the lines of the file that a fragment shows as they are, if one of them occurs once.
fn place_of_unchanged(texts: &TextPair<'_>, fragment: &Fragment) -> Option<Range<usize>> {
    let Range { start, end } = fragment.lines;
    let mut lines = (start..end).take_while(|_| !work::spend_or_end(LOOKUP_STEPS));
    let first = lines.find_map(|line| match texts.old.places_of(texts.new[line]) {
        &[only] => only.checked_sub(line - start),
        _ => None,
    })?;
    (first + (end - start) <= texts.old.len()).then(|| first..first + (end - start))
}

/// Returns the lines of the file that are not kept.
fn replaced_lines(texts: &TextPair<'_>, fragments: &[Fragment], placements: &[Option<Placement>]) -> HashSet<usize> {
    let mut out = HashSet::new();
    for (fragment, placement) in fragments.iter().zip(placements) {
        let Some(placement) = placement else { continue };
        if work::spend_or_end(LOOKUP_STEPS * placement.old.len()) {
            break;
        }
        let kept: HashSet<usize> =
            matched_lines(texts, &fragment.lines, &placement.old).into_iter().flatten().collect();
        out.extend(placement.old.clone().filter(|at| !kept.contains(at)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edit, refuse};

    const FILE: &str = "fn one() {\n    first_call();\n    // ... existing code ...\n    second_call();\n}\n\nfn two() {\n    \
                        third_call();\n    fourth_call();\n    fifth_call();\n}\n\nfn three() {\n    last_call();\n}\n";

    #[test]
    fn placeholder_that_may_be_a_line_of_the_file_is_refused() {
        let new = "fn one() {\n    first_call();\n    // ... existing code ...\nfn three() {\n    other_call();\n}\n";
        assert!(refuse(FILE, new, &[]).contains("Line 3 of the text may stand for code, or be line 3 of the file"));
        let both = "fn one() {\n    // ... existing code ...\n}\n\n// ...\nfn three() {\n    other_call();\n}\n";
        assert!(refuse(FILE, both, &[]).contains("Line 2 of the text may stand for code, or be line 3 of the file"));
        let after = FILE.replace("last_call", "other_call");
        assert_eq!(edit(FILE, &new.replace("existing code", "other code is unchanged"), &[]), after);
    }

    #[test]
    fn placeholder_elsewhere_stands_for_code() {
        let new = "fn one() {\n    first_call(1);\n    // ... existing code ...\n    second_call();\n}\n\nfn two() {\n    \
                   third_call();\n    // ... existing code ...\n}\n\nfn three() {\n    other_call();\n}\n";
        let after = FILE.replace("last_call", "other_call").replace("first_call()", "first_call(1)");
        assert_eq!(edit(FILE, new, &[]), after);
        let below = "// ...\nfn two() {\n    third_call();\n    // ... existing code ...\n}\n\nfn three() {\n    \
                     other_call();\n}\n";
        assert_eq!(edit(FILE, below, &[]), FILE.replace("last_call", "other_call"));
    }
}

//! Lines beside a placeholder that occur again among the lines that would go next to them: the placeholder may stand for
//! those, too, and the second copy may be the one that is shown.

use super::placement::PlacedFragment;
use super::{TextPair, is_filled, same};
use crate::work;
use core::ops::Range;

/// A deletion that a placeholder may prevent.
struct Deletion {
    /// The lines that would go.
    lines: Range<usize>,
    /// The line of the text beside the placeholder.
    shown: usize,
}

/// Refuses an edit that deletes lines for which a placeholder may stand.
///
/// Errors: the reason, as sentences.
pub(super) fn check(texts: &TextPair<'_>, placed: &[PlacedFragment<'_>]) -> Result<(), String> {
    for place in placed {
        if work::spend_or_end(2 * place.steps()) {
            return Ok(());
        }
        let lines = place.fragment.lines.clone();
        let old: Vec<usize> = texts.old.filled_in(&place.old).to_vec();
        let new: Vec<usize> = lines.filter(|&line| is_filled(texts.new[line])).collect();
        let below = place.fragment.gaps[0].and_then(|_| uncertain(texts, place, &old, &new));
        let above = place.fragment.gaps[1].and_then(|_| {
            let [old, new]: [Vec<usize>; 2] = [&old, &new].map(|lines| lines.iter().rev().copied().collect());
            uncertain(texts, place, &old, &new)
        });
        if let Some(Deletion { lines, shown }) = below.or(above) {
            return Err(format!(
                "Lines {}-{} of the file would be gone, or the placeholder beside line {} of the text stands for them: the \
                 lines that the text shows there occur in them again. Show a line there that occurs only once, or \
                 delete them with an edit that shows them.",
                lines.start + 1,
                lines.end,
                shown + 1
            ));
        }
    }
    Ok(())
}

/// Returns the deletion below the first lines of a place, if those lines occur in it again. The lines with text of both
/// sides are given from the placeholder on.
fn uncertain(texts: &TextPair<'_>, place: &PlacedFragment<'_>, old: &[usize], new: &[usize]) -> Option<Deletion> {
    let are_same = |old: &[usize], new: &[usize]| old.iter().zip(new).all(|(a, b)| same(texts.old[*a], texts.new[*b]));
    let is_copy = |copy: &[usize], shown: &[usize]| work::spend_or_end(shown.len()) || are_same(copy, shown);
    let kept = old.iter().zip(new).take_while(|(old, new)| are_same(&[**old], &[**new])).count();
    // Brackets alone occur often. With the line behind them, they are where that line is.
    let count = kept.max(1 + new.iter().position(|&line| texts.new[line].contains(char::is_alphanumeric))?);
    let shown = &new[..count];
    let gone = if count > kept {
        let copy = old.get(1..)?.windows(count).position(|copy| is_copy(copy, shown)).filter(|_| kept > 0)?;
        kept..copy + count
    } else {
        let next = new[kept..].iter().find_map(|line| place.matched[line - place.fragment.lines.start])?;
        let gone = kept..old.iter().position(|&old| old == next)?;
        let mut copies = old.get(1..gone.end)?.windows(kept);
        (gone.len() >= kept && copies.any(|copy| is_copy(copy, shown))).then_some(gone)?
    };
    let [a, b] = [*old.get(gone.start)?, *old.get(gone.end.checked_sub(1)?)?];
    let lines = a.min(b)..a.max(b) + 1;
    place.removed().any(|at| lines.contains(&at)).then_some(Deletion { lines, shown: shown[0] })
}

#[cfg(test)]
mod tests {
    use super::super::Extent;
    use super::super::tests::{edit, refuse};

    const FILE: &str = "fn one() {\n    first();\n    middle();\n    Ok(())\n}\n\nfn two() {\n    second();\n    Ok(())\n}\n\n\
                        fn three() {\n    third();\n}\n";

    #[test]
    fn placeholder_may_stand_for_a_definition_with_the_same_end() {
        let extents = [Extent { old: 0..5, new: 0..6 }, Extent { old: 11..14, new: 7..10 }];
        let new =
            "fn one() {\n    begin();\n    first();\n    // ...\n    Ok(())\n}\n\nfn three() {\n    third();\n}\n";
        let why = refuse(FILE, new, &extents);
        assert!(why.contains("Lines 7-10 of the file would be gone") && why.contains("line 5 of the text"), "{why}");
        // The last lines occur only once.
        let file = FILE.replacen("Ok(())", "Ok(one)", 1);
        let want = file.replace("    first", "    begin();\n    first");
        let want = want.replace("fn two() {\n    second();\n    Ok(())\n}\n\n", "");
        assert_eq!(edit(&file, &new.replace("Ok(())", "Ok(one)"), &extents), want);
    }

    #[test]
    fn placeholder_may_stand_for_the_block_whose_end_is_shown() {
        let body = "    if open {\n        if a {\n            first();\n        }\n    }\n    Ok(a)\n}\n\n";
        let other = body.replace("a {", "b {").replace("Ok(a)", "Ok(b)");
        let tail = "fn three() {\n    third();\n}\n\nfn four() {\n    fourth();\n}\n";
        let file = format!("fn one() {{\n{body}fn two() {{\n{other}{tail}");
        let extents = [Extent { old: 0..8, new: 0..7 }, Extent { old: 18..21, new: 8..11 }];
        let new = "fn one() {\n    if open {\n        // ...\n        }\n    }\n    Ok(b)\n}\n\nfn three() {\n    third();\n}\n// ...\n";
        let why = refuse(&file, new, &extents);
        assert!(why.contains("Lines 7-15 of the file would be gone") && why.contains("line 4 of the text"), "{why}");
    }
}

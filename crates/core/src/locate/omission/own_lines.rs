//! Placeholders of a new text that are lines of the old text, too: each may be that line, or stand for code.

use super::aligned::{AlignedTexts, LINE_STEPS};
use crate::locate::word_overlap::LineWords;
use crate::work;

/// Maximum number of such placeholders that are examined; of more, none is certain.
const OWN_LINES_MAX: usize = 1_000;
/// Equal lines on one side of a placeholder that are examined.
const EXAMINED_PAIRS: usize = 50;
/// Lines that are examined between two equal ones.
const EXAMINED_LINES: usize = 50;

/// Returns those of the new text's `own` placeholders, all of which the old text has, that may stand for code.
///
/// A line is certainly that of the old text if the old text continues as shown on both sides of it, up to a line that
/// occurs once or to the end: each old line there is shown, or a similar one in its place, or another one in place of
/// one. If the line stood for code, that would be lines of the old text that are not shown.
pub(super) fn that_may_be_gaps<'a>(old: &str, new: &str, own: Vec<(usize, &'a str)>) -> Vec<(usize, &'a str)> {
    if own.is_empty() || own.len() > OWN_LINES_MAX {
        return own;
    }
    let texts = AlignedTexts::new(old, new);
    own.into_iter().filter(|(line, _)| !texts.is_certainly_old(*line)).collect()
}

impl AlignedTexts<'_> {
    /// True if a line of the new text cannot be anything but a line of the old text.
    fn is_certainly_old(&self, line: usize) -> bool {
        let Ok(nth) = self.pairs.binary_search_by_key(&line, |pair| pair.1) else { return false };
        self.continues_above(nth) && self.continues_below(nth)
    }

    fn continues_above(&self, nth: usize) -> bool {
        for nth in (0..=nth).rev().take(EXAMINED_PAIRS) {
            let from = nth.checked_sub(1).map(|above| self.pairs[above]);
            if !self.is_shown(from, Some(self.pairs[nth])) {
                return false;
            }
            if from.is_none_or(|pair| self.is_telling(pair.1)) {
                return true;
            }
        }
        false
    }

    fn continues_below(&self, nth: usize) -> bool {
        for nth in (nth..self.pairs.len()).take(EXAMINED_PAIRS) {
            let to = self.pairs.get(nth + 1).copied();
            if !self.is_shown(Some(self.pairs[nth]), to) {
                return false;
            }
            if to.is_none_or(|pair| self.is_telling(pair.1)) {
                return true;
            }
        }
        false
    }

    /// True if a similar new line takes the place of each old line between two pairs of equal lines.
    fn is_shown(&self, from: Option<(usize, usize)>, to: Option<(usize, usize)>) -> bool {
        let (old_start, new_start) = from.map_or((0, 0), |(old, new)| (old + 1, new + 1));
        let (old_end, new_end) = to.unwrap_or((self.old.len(), self.new.len()));
        let (old, new) = (&self.old[old_start..old_end], &self.new[new_start..new_end]);
        let is_filled = |line: &&&str| !line.is_empty();
        let (mut gone, mut fresh) = (old.iter().filter(is_filled), new.iter().filter(is_filled));
        if gone.clone().next().is_none() {
            return true;
        }
        if old.len().max(new.len()) > EXAMINED_LINES || work::spend_or_end(LINE_STEPS) {
            return false;
        }
        // Nobody writes a placeholder for one line.
        let is_one_for_one = gone.clone().count() == 1 && fresh.clone().count() == 1;
        let mut is_replaced =
            |gone: &str| LineWords::of(gone).is_some_and(|gone| fresh.any(|new| gone.may_become(new)));
        is_one_for_one || gone.all(|gone| is_replaced(gone))
    }
}

#[cfg(test)]
mod tests {
    use super::{OWN_LINES_MAX, that_may_be_gaps};

    const OLD: &str =
        "fn first() {\n    one_thing();\n    // ...\n    other_thing();\n}\n\nfn second() {\n    last();\n}\n";

    fn ambiguous(new: &str) -> Vec<usize> {
        let own = new.lines().enumerate().filter(|(_, line)| line.trim() == "// ...").collect();
        that_may_be_gaps(OLD, new, own).into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn line_between_its_neighbours_is_that_of_the_file() {
        for (from, to) in [
            ("", ""),
            ("last", "finally"),
            ("other_thing()", "something(else)"),
            ("one_thing()", "one_thing(1)"),
            ("    // ...", "    new();\n    // ...\n    newer();"),
            ("    // ...", "// ..."),
            ("fn second() {\n    last();\n}\n", ""),
        ] {
            assert!(ambiguous(&OLD.replace(from, to)).is_empty(), "{from}");
        }
    }

    #[test]
    fn too_many_lines_are_not_examined() {
        let file: String = (0..=OWN_LINES_MAX).map(|nth| format!("function_{nth}();\n// ...\n")).collect();
        let own: Vec<_> = file.lines().enumerate().filter(|(_, line)| line.trim() == "// ...").collect();
        assert!(that_may_be_gaps(&file, &file, own[1..].to_vec()).is_empty());
        assert_eq!(that_may_be_gaps(&file, &file, own.clone()).len(), own.len());
    }

    #[test]
    fn line_in_place_of_other_lines_may_stand_for_them() {
        assert_eq!(ambiguous("fn first() {\n    one_thing();\n    // ...\n}\n\nfn second() {\n    last();\n}\n"), [2]);
        assert_eq!(ambiguous("// ...\n\nfn second() {\n    finally();\n}\n"), [0]);
        assert_eq!(ambiguous(&format!("// ...\n{OLD}")), [0]);
        let moved = OLD.replace("    // ...\n", "").replace("    last", "    // ...\n    last");
        assert_eq!(ambiguous(&moved), [6]);
        // What is gone may be any of two equal lines.
        let twice = OLD.replace("    other_thing();\n}\n", "}\n");
        assert_eq!(ambiguous(&twice), [2]);
    }
}

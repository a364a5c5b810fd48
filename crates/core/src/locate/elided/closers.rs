//! Lines that close a block whose first line both texts have: of several equal lines such as `}`, the file has one that
//! closes that block.

use super::placement::{Placement, matched_lines};
use super::{Fragment, TextPair, beside, blocks, indent, innermost, is_filled, lossless, same};
use crate::work;
use core::ops::Range;

/// Maximum number of lines of a block.
const BLOCK_LINES_MAX: usize = 2_000;

/// A closing line of the file.
pub(super) struct ClosingLine {
    /// The zero-based line.
    pub(super) line: usize,
    /// True if the first line of the block is in the same fragment.
    pub(super) is_whole: bool,
}

/// Returns the line of the file that closes the block which a line of a fragment closes. All lines of the block are
/// deeper, and either its first line or the line above the closing one is in one place of the file.
pub(super) fn closing_line(texts: &TextPair<'_>, line: usize, fragment: &Range<usize>) -> Option<ClosingLine> {
    let closing = texts.new[line];
    let depth = indent(closing);
    if !closing.trim_start().starts_with([')', ']', '}']) || !beside::is_signs(closing) {
        return None;
    }
    let is_outer = |line: &str| !line.trim().is_empty() && indent(line) <= depth;
    let mut above = (line.saturating_sub(BLOCK_LINES_MAX)..line).rev().filter(|&at| is_filled(texts.new[at]));
    let last = above.clone().next().filter(|at| fragment.contains(at) && !is_outer(texts.new[*at]));
    let opener = above.find(|&at| work::spend_or_end(blocks::line_steps(texts.new[at])) || is_outer(texts.new[at]))?;
    let opens = indent(texts.new[opener]) == depth && texts.new[opener].trim_end().ends_with(['(', '[', '{']);
    // Different definitions may have the same end of a list of parameters.
    let opens = opens && !texts.new[opener].trim_start().starts_with([')', ']', '}']);
    if !opens || !lossless::has_many_alnum(texts.new[opener]) {
        return None;
    }
    let is_whole = fragment.contains(&opener);
    let only = match texts.matching(opener) {
        &[only] => Some(only),
        _ if is_whole => texts.only_place(opener, fragment, true),
        _ => None,
    };
    let start =
        only.or_else(|| texts.only_place(last.filter(|&at| lossless::is_proving(texts, at))?, fragment, false))?;
    let mut below = texts.old.iter().enumerate().skip(start + 1).take(BLOCK_LINES_MAX);
    let (at, old) = below
        .find(|(_, old)| work::spend_or_end(blocks::line_steps(old)) || blocks::begins_text(old) || is_outer(old))?;
    (same(old, closing) && at > start).then_some(ClosingLine { line: at, is_whole: is_whole && only.is_some() })
}

/// True if the first line of a place, which closes a block above a placeholder, may be another one of its lines: then the
/// placeholder hides the end of that block, and the lines in front of the other one stay.
pub(super) fn may_be_another(texts: &TextPair<'_>, fragment: &Fragment, place: &Placement) -> bool {
    if !place.may_hide_end {
        return false;
    }
    let matched = matched_lines(texts, &fragment.lines, &place.old);
    let mut shown = matched.iter().skip(1).flatten().copied();
    let next = shown.find(|&at| lossless::is_significant(texts.old[at])).unwrap_or(place.old.end);
    let between = place.old.start + 1..next;
    let is_equal = |at| same(texts.old[at], texts.old[place.old.start]);
    let is_only = !work::spend_or_end(between.len()) && !between.into_iter().any(is_equal);
    !is_only && !innermost::explains_lost_lines(texts, fragment, place)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edit, refuse};

    const FILE: &str = "fn go() {\n    begin();\n    if first {\n        close_it(a);\n        leave_it(b);\n    }\n    if second {\n        \
                        go_on();\n        wait_for(it);\n    }\n    end_now();\n}\n";

    #[test]
    fn closing_line_is_that_of_the_block_which_the_text_shows() {
        let new = "// ...\n    if first {\n        close_it(a, b);\n        leave_it(b);\n    }\n    // ...\n";
        assert_eq!(edit(FILE, new, &[]), FILE.replace("(a)", "(a, b)"));
        // All lines of the block but the last one are new.
        let new = "// ...\n    if third {\n        close_it(a, b);\n        leave_it(b);\n    }\n    // ...\n";
        let new = new.replace("// ...\n    if third", "// ...\n    begin();\n    if third");
        assert_eq!(edit(FILE, &new, &[]), FILE.replace("(a)", "(a, b)").replace("first", "third"));
        // Lines of the block go.
        let new = "// ...\n    if first {\n        leave_it(b);\n    }\n    // ...\n";
        assert_eq!(edit(FILE, new, &[]), FILE.replace("        close_it(a);\n", ""));
    }

    #[test]
    fn placeholder_may_hide_the_end_of_a_block() {
        let new = "// ...\n    if first {\n        // ...\n    }\n    stop();\n    end_now();\n}\n";
        refuse(FILE, new, &[]);
        let new = new.replace("end_now();\n}", "if second {\n    // ...\n    }\n    end_now();\n}");
        assert_eq!(edit(FILE, &new, &[]), FILE.replace("    if second", "    stop();\n    if second"));
    }
}

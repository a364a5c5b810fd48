//! Cuts the lazy edit out of a change: the changed lines and some beside them, and placeholders for the others.

use super::Cut;
use super::commits::Hunk;
use crate::luck::Luck;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The words of placeholders.
const PLACEHOLDERS: [&str; 3] =
    ["... existing code ...", "... existing code ...", "... rest of the code unchanged ..."];
/// Lines with text that a placeholder stands for, at least.
const GAP_LINES_MIN: usize = 2;

/// Returns the text after a change with placeholders for the lines that are further than `cut.beside` lines from a
/// changed one, and that are not the first or last line of a block around it. `None` if that leaves no placeholder.
pub(super) fn lazy_text(new: &[&str], hunks: &[Hunk], cut: Cut, comment: &str, luck: &mut Luck) -> Option<String> {
    let mut shown = BTreeSet::new();
    for hunk in hunks {
        shown.extend(hunk.new.clone());
        let above = (0..hunk.new.start).rev();
        let below = hunk.new.end..new.len();
        show_nearest(new, above, cut.beside, &mut shown);
        show_nearest(new, below, cut.beside, &mut shown);
        show_blocks_around(new, hunk, &mut shown);
    }
    if cut.is_balanced {
        show_other_ends(new, &mut shown);
    }
    let (mut out, mut gaps, mut at) = (String::new(), 0, 0);
    while at < new.len() {
        let end = shown.range(at..).next().copied().unwrap_or(new.len());
        let hidden = &new[at..end];
        let filled: Vec<&str> = hidden.iter().copied().filter(|line| is_filled(line)).collect();
        if filled.len() < GAP_LINES_MIN {
            out.extend(hidden.iter().map(|line| format!("{line}\n")));
        } else {
            let is_apart = |line: Option<&&str>| line.is_some_and(|line| !is_filled(line));
            let blank = |apart: bool| if apart { "\n" } else { "" };
            let words = luck.pick(&PLACEHOLDERS);
            let indent = " ".repeat(indent(filled[0]));
            out += blank(at > 0 && is_apart(hidden.first()));
            let _ = writeln!(out, "{indent}{comment} {words}");
            out += blank(end < new.len() && is_apart(hidden.last()));
            gaps += 1;
        }
        if let Some(line) = new.get(end) {
            let _ = writeln!(out, "{line}");
        }
        at = end + 1;
    }
    (gaps > 0).then_some(out)
}

/// True for a placeholder of [`lazy_text`].
pub(super) fn is_placeholder(line: &str) -> bool {
    PLACEHOLDERS.iter().any(|words| line.trim_end().ends_with(words))
}

/// Shows the nearest lines, and the blank ones between them.
fn show_nearest(new: &[&str], lines: impl Iterator<Item = usize>, count: usize, shown: &mut BTreeSet<usize>) {
    let mut left = count;
    for at in lines {
        if left == 0 {
            break;
        }
        shown.insert(at);
        left -= usize::from(is_filled(new[at]));
    }
}

/// Shows the first line of each block around a hunk, and the line that closes it.
fn show_blocks_around(new: &[&str], hunk: &Hunk, shown: &mut BTreeSet<usize>) {
    let changed = new[hunk.new.clone()].iter().filter(|line| is_filled(line)).map(|line| indent(line)).min();
    let Some(mut depth) = changed.or_else(|| new.get(hunk.new.start).map(|line| indent(line))) else { return };
    for at in (0..hunk.new.start).rev() {
        let line = new[at];
        let is_outer = is_filled(line) && indent(line) < depth;
        if !is_outer || line.trim_start().starts_with(['}', ')', ']', '#', '/']) {
            continue;
        }
        depth = indent(line);
        shown.insert(at);
        let end = (at + 1..new.len()).find(|&end| is_filled(new[end]) && indent(new[end]) <= depth);
        shown.extend(end.filter(|&end| new[end].trim_start().starts_with(['}', ')', ']'])));
    }
}

/// Shows the first line of each block of which the last line is shown, and the other way round.
fn show_other_ends(new: &[&str], shown: &mut BTreeSet<usize>) {
    let is_outer = |at: usize, depth| is_filled(new[at]) && indent(new[at]) <= depth;
    let is_closing = |at: usize| new[at].trim_start().starts_with(['}', ')', ']']);
    let mut open: Vec<usize> = shown.iter().copied().collect();
    while let Some(at) = open.pop() {
        let depth = indent(new[at]);
        let opener = (0..at).rev().find(|&above| is_outer(above, depth)).filter(|_| is_closing(at));
        let opens = new[at].trim_end().ends_with(['{', '(', '[']);
        let closing =
            (at + 1..new.len()).find(|&below| is_outer(below, depth)).filter(|&below| opens && is_closing(below));
        open.extend(opener.into_iter().chain(closing).filter(|&other| shown.insert(other)));
    }
}

fn is_filled(line: &str) -> bool {
    !line.trim().is_empty()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::super::Comparison;
    use super::{Cut, Hunk, Luck, lazy_text};

    const CUT: Cut = Cut { by: Comparison::Git, beside: 1, is_balanced: false };

    #[test]
    fn lines_beside_a_change_and_blocks_around_it_are_shown() {
        let new = "use a;\nuse b;\n\nfn one() {\n    first();\n    second();\n    third();\n    fourth();\n    if fifth {\n        \
                   sixth();\n        seventh();\n        eighth();\n        ninth();\n    }\n}\n";
        let lines: Vec<&str> = new.lines().collect();
        let text = lazy_text(&lines, &[Hunk { old: 11..12, new: 11..12 }], CUT, "//", &mut Luck::new(4)).unwrap();
        let words = text.replace("rest of the code unchanged", "existing code");
        assert_eq!(
            words,
            "// ... existing code ...\n\nfn one() {\n    // ... existing code ...\n    if fifth {\n        sixth();\n        \
             seventh();\n        eighth();\n        ninth();\n    }\n}\n"
        );
        let after = "}\n\nfn two() {\n    go();\n}\n";
        let lines: Vec<&str> = new.lines().chain(after.lines().skip(1)).collect();
        let cut = |is_balanced| {
            let cut = Cut { is_balanced, ..CUT };
            lazy_text(&lines, &[Hunk { old: 16..17, new: 16..17 }], cut, "//", &mut Luck::new(4)).unwrap()
        };
        assert!(cut(false).contains("code ...\n}\n\nfn two"), "{}", cut(false));
        assert!(cut(true).contains("fn one() {\n    // ..."), "{}", cut(true));
        assert_eq!(lazy_text(&lines[..2], &[Hunk { old: 0..0, new: 0..1 }], CUT, "//", &mut Luck::new(1)), None);
    }
}

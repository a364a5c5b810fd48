//! Patches without any flaw, as `diff -u` writes them: only file headers, numbered hunks and their lines, with the right
//! counts. All of their lines are the format's, so detection need not parse them.

use super::range;
use crate::locate::op::EDITS_PER_CALL_MAX;
use crate::work;

/// The current line of a text, and those after it.
struct PlainLines<'t, I: Iterator<Item = &'t str>> {
    rest: I,
    line: &'t str,
    /// The number of the current line, one-based.
    number: usize,
}

/// Returns the number of lines of a text, if it is such a patch. Other patches may be valid as well; the parser decides.
pub(super) fn plain_lines(text: &str) -> Option<usize> {
    if !text.starts_with(['-', 'd']) || text.contains('\r') {
        return None;
    }
    let mut lines = PlainLines { rest: work::lines(text), line: "", number: 0 };
    let mut hunks = 0;
    while lines.advance().is_some() {
        let has_file = lines.pass_names()? || hunks > 0;
        hunks += 1;
        let mut left = LinesLeft::of(lines.line).filter(|_| has_file && hunks <= EDITS_PER_CALL_MAX)?;
        while left.old + left.new > 0 {
            lines.advance()?;
            left = left.after(lines.line)?;
        }
    }
    (hunks > 0).then_some(lines.number)
}

impl<'t, I: Iterator<Item = &'t str>> PlainLines<'t, I> {
    /// Goes to the next line; `None` at the end of the text.
    fn advance(&mut self) -> Option<()> {
        self.line = self.rest.next()?;
        self.number += 1;
        Some(())
    }

    /// Goes to the line below the headers of a file. Returns false if there are none, and `None` if they are not plain.
    fn pass_names(&mut self) -> Option<bool> {
        let are_plain = |words: &str| words.split(' ').all(is_plain_name);
        let is_git = self.line.strip_prefix("diff --git ").is_some_and(are_plain);
        if is_git {
            self.advance()?;
            if self.line.strip_prefix("index ").is_some_and(are_plain) {
                self.advance()?;
            }
        }
        let Some(old) = self.line.strip_prefix("--- ") else { return (!is_git).then_some(false) };
        self.advance()?;
        let is_named = is_plain_name(old) && self.line.strip_prefix("+++ ").is_some_and(is_plain_name);
        self.advance().filter(|()| is_named).map(|()| true)
    }
}

/// True for a name that the parser takes as it is.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    name.bytes().all(is_plain) && name.bytes().any(|byte| byte.is_ascii_alphanumeric()) && name != "/dev/null"
}

/// The numbers of lines that a hunk still has on both sides.
struct LinesLeft {
    old: usize,
    new: usize,
}

impl LinesLeft {
    /// Returns what the header of a hunk announces, if both sides have lines.
    fn of(header: &str) -> Option<LinesLeft> {
        let header = header.strip_prefix("@@ -").and_then(|_| range::read(header))?;
        let (old, new) = header.counts?;
        (old > 0 && new > 0).then_some(LinesLeft { old, new })
    }

    /// Returns what is left after a line of the hunk. A line that could be a header is none here.
    fn after(&self, line: &str) -> Option<LinesLeft> {
        let (old, new) = match line.as_bytes() {
            [b'-', b'-', ..] | [b'+', b'+', b'+', ..] => return None,
            [b' ', ..] => (1, 1),
            [b'-', ..] => (1, 0),
            [b'+', ..] => (0, 1),
            _ => return None,
        };
        Some(LinesLeft { old: self.old.checked_sub(old)?, new: self.new.checked_sub(new)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser::UnifiedDiffParser;
    use super::plain_lines;
    use proptest::prelude::*;

    const PLAIN: &str = "--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@ fn main()\n a\n-b\n+c\n@@ -9 +9,2 @@\n-d\n+e\n+\n--- y\n+++ y\n@@ -1 +1 @@\n-f\n+g";

    #[test]
    fn only_patches_without_flaws_are_plain() {
        assert_eq!(plain_lines(PLAIN), Some(15));
        let flaws =
            [("+c\n", ""), ("@@ -9", "@@ -8,9"), ("a/x.rs", "\"a\""), ("-f", "--f"), (" a", "a"), (" a\n", " a\r\n")];
        for (from, to) in flaws {
            assert_eq!(plain_lines(&PLAIN.replacen(from, to, 1)), None, "{to}");
        }
        assert_eq!(plain_lines(&format!("{PLAIN}\nDone.\n")), None);
    }

    proptest! {
        #[test]
        fn plain_patches_are_detected_as_a_whole(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "@@ -1 +1 @@\n-b\n+c", "@@ -1,2 +1,2 @@\n a\n-b\n+c", "@@ -3,2 +3 @@ @@\n-\n ", "@@ -3,1 +4,2 @@\n+@@\n ```",
                    "--- y\n+++ y\n@@ -1 +1 @@\n-f\n+g", "--- a/x\n+++ b/x\n@@ -1,1 +2,1 @@ x\n+g\n-f", "--- /x\n+++ z", " ",
                    "diff --git a/x b/x\nindex 12ab..34cd 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-f\n+g",
                    "diff --git a/x b/y\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-f\n+g", "diff --git a/x b/x", "index 12ab..34cd", "-- ",
                    "@@ -2 +2,2 @@\n+-- a\n ++ a",
                ]),
                0..6,
            ),
            is_named: bool,
            is_cut: bool,
        ) {
            let text = format!("{}{}{}", ["", "--- a/x\n+++ b/x\n"][usize::from(is_named)], parts.join("\n"), if is_cut { "" } else { "\n" });
            if let Some(count) = plain_lines(&text) {
                let whole = 0..count;
                prop_assert_eq!(UnifiedDiffParser::detect_ranges(&text), [whole]);
            }
        }
    }
}

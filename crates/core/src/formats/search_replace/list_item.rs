//! Blocks inside a fence that is indented as a whole, as below an item of a list.

use super::marker;
use crate::formats::fence::Fence;
use crate::text::fold::{self, indent_of, is_blank};
use crate::work;

/// An open fence, with the indentation of its line.
struct IndentedFence<'t> {
    fence: Fence,
    indent: &'t str,
    /// The number of bytes of the output before its lines.
    start: usize,
    /// Its lines without the indentation; `None` once one of them has less.
    inside: Option<String>,
    has_block: bool,
}

/// Removes the indentation of each fence that contains a block, and whose lines all have it. `None` if there is none.
/// The number of lines stays.
pub(in crate::formats) fn without_indentation(text: &str) -> Option<String> {
    let (mut out, mut open, mut found) = (String::with_capacity(text.len()), None::<IndentedFence<'_>>, false);
    for line in work::lines_with_ends(text) {
        match &mut open {
            Some(fence) if fence.fence.is_closed_by(line) => {
                found |= fence.replace(&mut out);
                open = None;
            }
            Some(fence) => fence.take(line),
            None if marker::open(line).is_some() => return None,
            None => {
                open = Fence::opened_by(line).map(|fence| IndentedFence {
                    fence,
                    indent: indent_of(line),
                    start: out.len() + line.len(),
                    inside: Some(String::new()),
                    has_block: false,
                });
            }
        }
        out.push_str(line);
    }
    found |= open.is_some_and(|fence| fence.replace(&mut out));
    found.then_some(out)
}

impl IndentedFence<'_> {
    fn take(&mut self, line: &str) {
        let rest = line.strip_prefix(self.indent);
        let rest = rest.or_else(|| is_blank(line).then(|| fold::trim_blanks_start(line)));
        self.has_block |= rest.is_some_and(|rest| marker::open(rest).is_some());
        match (&mut self.inside, rest) {
            (Some(inside), Some(rest)) => inside.push_str(rest),
            (inside, _) => *inside = None,
        }
    }

    /// Replaces the lines of the fence at the end of a text; false if they stay.
    fn replace(&self, out: &mut String) -> bool {
        let Some(inside) = self.inside.as_ref().filter(|_| self.has_block && !self.indent.is_empty()) else {
            return false;
        };
        out.truncate(self.start);
        out.push_str(inside);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::without_indentation;

    #[test]
    fn fence_below_an_item_loses_its_indentation() {
        let block = "<<<<<<< SEARCH\n  a\n\n=======\n  b\n>>>>>>> REPLACE\n";
        let indented = |by: &str| block.lines().map(|line| format!("{by}{line}\n")).collect::<String>();
        let item = |inside: &str| format!("1. Do:\n\n   ```py\n{inside}   ```\nDone.\n");
        assert_eq!(without_indentation(&item(&indented("   "))), Some(item(block)));
        assert_eq!(without_indentation(&item(&indented("   ").replace("\n   \n", "\n\n"))), Some(item(block)));
        // A line with less indentation, blocks in the first column, and other texts.
        for text in [item(&indented("  ")), item(block), block.to_owned(), item("   x\n")] {
            assert_eq!(without_indentation(&text), None, "{text}");
        }
        // A fence inside of a block, or inside of another fence, is text.
        for text in [format!("<<<<<<< SEARCH\n{}", item(&indented("   "))), format!("```\n{}", item(&indented("   ")))]
        {
            assert_eq!(without_indentation(&text), None, "{text}");
        }
    }
}

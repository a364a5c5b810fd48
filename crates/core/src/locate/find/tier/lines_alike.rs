//! Tier 3: Unicode punctuation in several lines.
//!
//! Whole lines that are equal when folded as in tier 1, ignoring trailing whitespace.

use super::windows::{self, WindowFit, WindowRule};
use crate::locate::find::indent::IndentMap;
use crate::locate::find::search::{MatchSearch, PatternLines};
use crate::text::fold::Normalization;

pub(in crate::locate::find) static RULE: WindowRule = WindowRule { fits, min_alnum: 4, runs: false };

fn fits(search: &MatchSearch<'_>, wanted: &PatternLines<'_>, first: usize) -> Option<WindowFit> {
    windows::alike(search, wanted, first, Normalization::TrailingBlanks)
        .then_some(WindowFit::Aligned(IndentMap::Verbatim))
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, edit_all, refuse};

    #[test]
    fn only_the_change_is_written() {
        let file = "title = \"L’image\"\nsize = 10\n";
        assert_eq!(
            edit(file, "title = \"L'image\"\nsize = 10", "title = \"L'image\"\nsize = 20"),
            "title = \"L’image\"\nsize = 20\n"
        );
        let file = "“Hello.” she said\nend\n";
        assert_eq!(
            edit(file, "\"Hello.\" she said\nend", "\"Hello.\" he said\nthen he left\nend"),
            "“Hello.” he said\nthen he left\nend\n"
        );
    }

    #[test]
    fn short_lines_with_other_quotes_are_found() {
        assert_eq!(edit("x\n“a”\ny\n", "\"a\"\n", "\"b\"\n"), "x\n“b”\ny\n");
        assert_eq!(edit_all("“a”\nx\n“a”\n", "\"a\"\n", "\"b\"\n"), "“b”\nx\n“b”\n");
        refuse("“a”\n“a”\n", "\"a\"\n", "\"b\"\n");
        // A dash is no quote.
        refuse("“a” —\n", "\"a\" -\n", "\"b\" -\n");
    }
}

//! Tier 2: trailing whitespace.
//!
//! Whole lines that are equal except for the whitespace at their ends. Lines that are kept retain that of the file.

use super::windows::{self, WindowFit, WindowRule};
use crate::locate::find::indent::IndentMap;
use crate::locate::find::search::{MatchSearch, PatternLines};

pub(in crate::locate::find) static RULE: WindowRule = WindowRule { fits, min_alnum: 4, runs: false };

fn fits(search: &MatchSearch<'_>, wanted: &PatternLines<'_>, first: usize) -> Option<WindowFit> {
    windows::ends_equal(search, wanted, first).then_some(WindowFit::Aligned(IndentMap::Verbatim))
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn kept_lines_keep_their_blanks() {
        assert_eq!(
            edit("let a = 1;   \nlet b = 2;\n", "let a = 1;\nlet b = 2;", "let a = 1;\nlet b = 3;"),
            "let a = 1;   \nlet b = 3;\n"
        );
        assert_eq!(edit("first_line\nlast_line", "last_line\n", "LAST_LINE\n"), "first_line\nLAST_LINE");
        assert_eq!(edit("aaaa\t\nbbbb\ncccc", "bbbb \ncccc", "bbbb"), "aaaa\t\nbbbb");
        assert_eq!(edit("aaaa\nbbbb \ncccc", "bbbb\ncccc\n", "bbbb\ncccc\ndddd\n"), "aaaa\nbbbb \ncccc\ndddd");
    }

    #[test]
    fn unique_short_lines_are_found() {
        assert_eq!(edit("x y\nabc\nend\n", "abc  \n", "abd\n"), "x y\nabd\nend\n");
        assert_eq!(edit("(1) \n", "(1)\n", "(2)\n"), "(2)\n");
        refuse("go\nend\ngo\n", "go \n", "stop\n");
        refuse("{\n}\n", "} \n", "};\n");
    }

    #[test]
    fn only_whole_lines_match() {
        refuse("return foobar", "return foo\n", "return baz\n");
        refuse("call_one() \ncall_two() \nmid\ncall_one()  \ncall_two()  \n", "call_one()\ncall_two()", "x");
        refuse("(1) \n(1)  \n", "(1)\n", "(2)\n");
    }
}

//! Tier 6: blank runs inside a line.
//!
//! Whole lines in which a run of blanks matches one of any other length except zero (see [`super::spacing`]). The
//! indentation is treated as in tiers 4 and 5. Runs that are kept have the file's length.

use super::widths;
use super::windows::{self, WindowFit, WindowRule};
use crate::locate::find::indent::IndentMap;
use crate::locate::find::search::{MatchSearch, PatternLines};
use crate::text::fold::Normalization;

pub(in crate::locate::find) static RULE: WindowRule = WindowRule { fits, min_alnum: 6, runs: true };

fn fits(search: &MatchSearch<'_>, wanted: &PatternLines<'_>, first: usize) -> Option<WindowFit> {
    if !windows::alike(search, wanted, first, Normalization::BlankRuns) {
        return None;
    }
    let pairs = windows::pairs(search, wanted, first);
    let indent = IndentMap::shift(&pairs)
        .or_else(|| widths::map(search, wanted, &pairs, 0))
        .or_else(|| widths::first_line_exempt(search, wanted, &pairs));
    Some(indent.map_or(WindowFit::Misaligned, WindowFit::Aligned))
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn blank_runs_of_the_file_stay() {
        assert_eq!(
            edit("print(\"a  b\", end)\nx\n", "print(\"a b\", end)", "print(\"a b\", end, flush)"),
            "print(\"a  b\", end, flush)\nx\n"
        );
        assert_eq!(
            edit("int   alpha = 1;\nint   b     = 2;\n", "int alpha = 1;\nint b = 2;", "int alpha = 1;\nint b = 3;"),
            "int   alpha = 1;\nint   b     = 3;\n"
        );
    }

    #[test]
    fn short_line_with_another_run_is_found() {
        assert_eq!(edit("f()\nx  = 1\n", "x = 1\n", "x = 2\n"), "f()\nx  = 2\n");
        assert_eq!(edit("f()\nx = 1\n", "x  = 1", "x  = 2"), "f()\nx = 2\n");
        refuse("x  = 1\nx   = 1\n", "x = 1\n", "x = 2\n");
        refuse("x = \"  \"\n", "x = \" \"\n", "x = \"\"\n");
        refuse("}  ;\n", "} ;\n", "}\n");
    }

    #[test]
    fn blank_run_never_matches_nothing() {
        refuse("returnValue = 1\nreturnx\n", "return x", "return y");
    }
}

//! Tier 4: one uniform indentation shift.
//!
//! Whole lines match if the same prefix is added to, or removed from, every line that is not blank. The new text is
//! shifted in the same way; a line that would need a negative depth is refused.

use super::windows::{self, WindowFit, WindowRule};
use crate::locate::find::indent::IndentMap;
use crate::locate::find::search::{MatchSearch, PatternLines};
use crate::text::fold::Normalization;

pub(in crate::locate::find) static RULE: WindowRule = WindowRule { fits, min_alnum: 6, runs: false };

fn fits(search: &MatchSearch<'_>, wanted: &PatternLines<'_>, first: usize) -> Option<WindowFit> {
    if !windows::alike(search, wanted, first, Normalization::Indentation) {
        return None;
    }
    IndentMap::shift(&windows::pairs(search, wanted, first)).map(WindowFit::Aligned)
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{attempt, edit, edit_all, refuse};

    #[test]
    fn new_text_is_shifted_equally() {
        let file = "mod a {\n    fn func() {\n        go();\n    }\n}\n";
        assert_eq!(
            edit(file, "fn func() {\n    go();\n}", "fn func() {\n    go();\n    stop();\n}"),
            "mod a {\n    fn func() {\n        go();\n        stop();\n    }\n}\n"
        );
        assert_eq!(
            edit("a_call()\nb_call()\n", "    a_call()\n    b_call()", "    a_call()\n\n    c_call()"),
            "a_call()\n\nc_call()\n"
        );
    }

    #[test]
    fn unique_short_lines_are_found() {
        assert_eq!(edit("f:\n  x = 1\ny = 2\n", "    x = 1\n", "    x = 2\n"), "f:\n  x = 2\ny = 2\n");
        assert_eq!(edit("f:\n  x = 1\n  go\n", "x = 1\ngo\n", "x = 3\ngo\n"), "f:\n  x = 3\n  go\n");
        refuse("f:\n  x = 1\ng:\n   x = 1\n", "    x = 1\n", "    x = 2\n");
        refuse("f:\n  }\n", "    }\n", "    )\n");
        assert_eq!(edit("f\n  x\n  y\n  z\ng\n", "x\ny\nz\n", "x\nY\nz\n"), "f\n  x\n  Y\n  z\ng\n");
        assert_eq!(edit("f\n  {\n  x\n  y\n  }\n", "{\nx\ny\n}\n", "{\nx\nY\n}\n"), "f\n  {\n  x\n  Y\n  }\n");
        refuse("f\n  x\n  y\n  z\ng\nx\ny\n z\n", "x\ny\nz\n", "x\nY\nz\n");
        refuse("f\n  x\n  }\n  }\n", "x\n}\n}\n", "X\n}\n}\n");
    }

    #[test]
    fn short_lines_are_replaced_everywhere() {
        let file = "f:\n  x = 1\ng:\n    x = 1\n";
        assert_eq!(edit_all(file, "      x = 1\n", "      x = 2\n"), file.replace('1', "2"));
        // A brace alone says too little.
        assert!(attempt("f {\n  }\n", "    }\n", "    )\n", true).is_err());
    }

    #[test]
    fn negative_depth_is_refused() {
        refuse("a_call()\nb_call()\n", "    a_call()\n    b_call()", "    a_call()\nc_call()");
    }

    #[test]
    fn every_match_has_its_own_shift() {
        let file = "  begin_step()\n  end_step()\nx\n      begin_step()\n      end_step()\n";
        let want = "  begin_step()\n  finish()\nx\n      begin_step()\n      finish()\n";
        assert_eq!(edit_all(file, "begin_step()\nend_step()", "begin_step()\nfinish()"), want);
    }
}

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
    use crate::locate::find::testing::{attempt, edit, refuse};
    use proptest::prelude::*;

    #[test]
    fn typographic_characters_stay_beside_other_runs() {
        let file = "result_x   = []\nprint(“record: count”, user)\n";
        let old = "result_x = []\nprint(\"record: count\", user)\n";
        assert_eq!(edit(file, old, &old.replace("user)", "user) + extra")), file.replace("user)", "user) + extra"));
        let file = "result_x   = []\n# a —  note of this\n";
        let old = "result_x = []\n# a - note of this";
        assert_eq!(edit(file, old, &old.replace("this", "that")), file.replace("this", "that"));
    }

    /// A text as the file has it, and as it is retyped.
    type RetypedPair = (&'static str, &'static str);

    fn part() -> impl Strategy<Value = RetypedPair> {
        prop::sample::select(vec![
            ("“alpha”", "\"alpha\""),
            ("beta—gamma", "beta-gamma"),
            ("it’s", "it's"),
            ("f(‘k’,", "f('k',"),
            ("more…", "more..."),
            ("a\u{A0}b", "a b"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("plain)", "plain)"),
        ])
    }

    proptest! {
        /// A changed line keeps the file's characters, whatever else differs as well.
        #[test]
        fn two_tolerances_keep_the_characters_of_the_file(
            lines in prop::collection::vec(prop::collection::vec((part(), 1usize..4), 1..5), 2..5), changed in 0usize..5,
            indents in prop::sample::select(vec![("", ""), ("\t", "    "), ("    ", ""), ("  ", "    ")]),
            ends in prop::sample::select(vec![("", ""), (" ", ""), ("", "  ")]), edges in prop::sample::select(vec!["", "\n"]),
        ) {
            let changed = changed % lines.len();
            let text = |is_file: bool, word: &str, end: &str| {
                let pick = |pair: RetypedPair| if is_file { pair.0 } else { pair.1 };
                let line = |(at, parts): (usize, &Vec<(RetypedPair, usize)>)| {
                    let (word, end) = if at == changed { (word, end) } else { ("value", pick(ends)) };
                    let blanks = |count: usize| " ".repeat(if is_file { count } else { 1 });
                    let parts: String = parts.iter().map(|(part, run)| blanks(*run) + pick(*part)).collect();
                    format!("{}name_{at} {word}{parts}{end}\n", pick(indents))
                };
                lines.iter().enumerate().map(line).collect::<String>()
            };
            let file = format!("begin\n{}end\n", text(true, "value", ends.0));
            // Blanks at the end of a changed line are those of the new text.
            let want = format!("begin\n{}end\n", text(true, "other", ends.1));
            let [old, new] = ["value", "other"].map(|word| [edges, &text(false, word, ends.1)].concat());
            if let Ok((text, _)) = attempt(&file, &old, &new, false) {
                prop_assert_eq!(text, want);
            }
        }
    }

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

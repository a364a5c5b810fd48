//! Tier 5: tabs instead of spaces, or other widths.
//!
//! Whole lines whose depths map one to one onto the file's: the order is preserved, the steps of both sides agree, and
//! further depths of the new text follow from the step. The first line alone may have lost its indentation. Anything
//! else is refused.

use super::windows::{self, WindowFit, WindowRule};
use crate::locate::find::indent::{self, IndentMap, IndentPair, IndentSteps};
use crate::locate::find::search::{MatchSearch, PatternLines};
use crate::text::fold::{Normalization, indent_of};

pub(in crate::locate::find) static RULE: WindowRule = WindowRule { fits, min_alnum: 6, runs: false };

fn fits(search: &MatchSearch<'_>, wanted: &PatternLines<'_>, first: usize) -> Option<WindowFit> {
    if !windows::alike(search, wanted, first, Normalization::Indentation) {
        return None;
    }
    let pairs = windows::pairs(search, wanted, first);
    let indent = map(search, wanted, &pairs, 0).or_else(|| first_line_exempt(search, wanted, &pairs));
    Some(indent.map_or(WindowFit::Misaligned, WindowFit::Aligned))
}

/// Returns the map of widths for these pairs; the first `but` lines of the old and the new text are ignored when
/// detecting the steps.
pub(in crate::locate::find) fn map(
    search: &MatchSearch<'_>,
    wanted: &PatternLines<'_>,
    pairs: &[IndentPair<'_>],
    but: usize,
) -> Option<IndentMap> {
    let all = |_: &&str| true;
    let is_code = |line: &&str| !line.trim_start().starts_with('*');
    IndentMap::widths(pairs, || steps(search, wanted, pairs, but, all))
        .or_else(|| IndentMap::widths_beside_odd(pairs, || steps(search, wanted, pairs, but, is_code)))
}

/// Returns the map for a text whose first line lost its indentation, in both the old and the new text.
pub(super) fn first_line_exempt(
    search: &MatchSearch<'_>,
    wanted: &PatternLines<'_>,
    pairs: &[IndentPair<'_>],
) -> Option<IndentMap> {
    let (&(old, file), rest) = pairs.split_first()?;
    let lost = old.is_empty() && !file.is_empty() && !rest.is_empty();
    if !lost || wanted.new.first().is_none_or(|line| !indent_of(line).is_empty()) {
        return None;
    }
    let rest = IndentMap::shift(rest).or_else(|| map(search, wanted, rest, 1))?;
    Some(IndentMap::FirstLine { first: file.to_owned(), rest: Box::new(rest) })
}

/// Detects the steps of both sides. The step of the file is that of its lines with the same kind of indentation as the
/// place, tabs or spaces.
fn steps(
    search: &MatchSearch<'_>,
    wanted: &PatternLines<'_>,
    pairs: &[IndentPair<'_>],
    but: usize,
    counts: impl Fn(&&str) -> bool + Copy,
) -> Option<IndentSteps> {
    let lines = wanted.old.iter().skip(but).chain(wanted.new.iter().skip(but)).copied();
    let old = indent::step(lines.filter(counts))?;
    let tabs = pairs.iter().any(|(_, file)| file.contains('\t'));
    let file = if tabs { "\t".to_owned() } else { search.index.step()?.to_owned() };
    Some(IndentSteps { old, file })
}

#[cfg(test)]
mod tests {
    use crate::code::Code;
    use crate::locate::find::testing::{attempt, edit, refuse};
    use proptest::prelude::*;

    #[test]
    fn column_of_a_new_line_follows_the_proportion_of_the_only_depth() {
        let file = "def f():\n\tif a:\n\t\tif b:\n\t\t\tvalue_x = one_y\n\nx = 1\n";
        for width in [2, 4, 8] {
            let old = format!("{}value_x = one_y\n", " ".repeat(3 * width));
            for (depth, tabs) in [(0, ""), (width, "\t"), (2 * width, "\t\t")] {
                let new = format!("{old}{}top_level = 3\n", " ".repeat(depth));
                let added = format!("one_y\n{tabs}top_level = 3\n");
                assert_eq!(edit(file, &old, &new), file.replace("one_y\n", &added), "{width} {depth}");
            }
        }
        // A level is two spaces by the depths, and four by the new text.
        let file = "f() {\n\t\tvalue_x = one_y\n}\n";
        refuse(file, "    value_x = one_y\n", "    if (a) {\n        value_x = one_y\n    }\n");
        // The text is moved by a level.
        let file = "f() {\n\tg() {\n\t\t\tvalue_x = one_y\n\t}\n}\n";
        let new = "    if (a) {\n        value_x = one_y\n    }\n";
        let added = "\t\t\tif (a) {\n\t\t\t\tvalue_x = one_y\n\t\t\t}\n";
        assert_eq!(edit(file, "    value_x = one_y\n", new), file.replace("\t\t\tvalue_x = one_y\n", added));
    }

    proptest! {
        /// Text of a file in tabs that was retyped with spaces, and the reverse. The file has the new line at the depth
        /// that it has in the call, or nothing is written.
        #[test]
        fn retyped_indentation_is_converted_or_refused(
            depths in prop::collection::vec(0usize..5, 3..14), from in 0usize..14, height in 1usize..5,
            new in (0usize..5, 0usize..6), width in prop::sample::select(vec![2usize, 4, 8]), has_tabs: bool,
        ) {
            let (tab, spaces) = ("\t".to_owned(), " ".repeat(width));
            let (unit, own) = if has_tabs { (tab, spaces) } else { (spaces, tab) };
            let line = |at: usize, depth: usize, unit: &str| format!("{}value_{at} = source_{at}\n", unit.repeat(depth));
            let text = |range: core::ops::Range<usize>, unit: &str| range.map(|at| line(at, depths[at], unit)).collect::<String>();
            let from = from % depths.len();
            let to = (from + height).min(depths.len());
            let (after, depth) = (from + new.0 % (to - from) + 1, new.1);
            let added = |unit: &str| [text(from..after, unit), line(99, depth, unit), text(after..to, unit)].concat();
            // Text without indentation occurs literally, and so does its new text.
            prop_assume!(depths[from..to].iter().any(|depth| *depth > 0));
            let file = text(0..depths.len(), &unit);
            let want = [text(0..from, &unit), added(&unit), text(to..depths.len(), &unit)].concat();
            match attempt(&file, &text(from..to, &own), &added(&own), false) {
                Ok((text, _)) => prop_assert_eq!(text, want),
                Err(error) => prop_assert_eq!(error.code(), Code::EditMisindent, "{}", error),
            }
        }
    }

    #[test]
    fn tabs_and_indent_widths_are_converted() {
        let file = "class A {\n\trun() {\n\t\treturn value;\n\t}\n}\n";
        assert_eq!(
            edit(
                file,
                "  run() {\n    return value;\n  }",
                "  run() {\n    if (x) {\n      log();\n    }\n    return value;\n  }"
            ),
            "class A {\n\trun() {\n\t\tif (x) {\n\t\t\tlog();\n\t\t}\n\t\treturn value;\n\t}\n}\n"
        );
        let file = "f() {\n  const a = load();\n  if (a) {\n    use(a);\n  }\n}\n";
        assert_eq!(
            edit(
                file,
                "    const a = load();\n    if (a) {\n        use(a);\n    }",
                "    const a = load();\n    if (a) {\n        use(a);\n        done();\n    }"
            ),
            "f() {\n  const a = load();\n  if (a) {\n    use(a);\n    done();\n  }\n}\n"
        );
    }

    #[test]
    fn comments_and_aligned_lines_do_not_prevent_a_conversion() {
        let doc = "/**\n * Adds.\n */\n";
        let file = format!("{doc}function add(a, b) {{\n\tif (a) {{\n\t\treturn a + b;\n\t}}\n}}\n");
        let old = format!("{doc}function add(a, b) {{\n    if (a) {{\n        return a + b;\n    }}");
        assert_eq!(
            edit(&file, &old, &old.replace("Adds.", "Adds.\n * Logs.").replace("return", "log(a);\n        return")),
            file.replace("Adds.", "Adds.\n * Logs.").replace("return", "log(a);\n\t\treturn")
        );
        let file = "def f(a):\n\tx = call(a,\n\t         b)\n\tif x:\n\t\treturn 1\n";
        let old = "def f(a):\n    x = call(a,\n             b)\n    if x:\n        return 1\n";
        assert_eq!(
            edit(file, old, &old.replace("return 1", "log()\n        return 3")),
            file.replace("return 1", "log()\n\t\treturn 3")
        );
        // A new line may be aligned or of a deeper level.
        refuse(file, old, &old.replace("b)", "b,\n             c)"));
    }

    #[test]
    fn first_line_alone_may_be_unindented() {
        let file = "class O:\n    def m(self):\n        self.a = \"before\"  \n        self.b = \"before\"\n";
        assert_eq!(
            edit(
                file,
                "self.a = \"before\"\n        self.b = \"before\"",
                "self.a = \"after\"\n        self.b = \"after\""
            ),
            "class O:\n    def m(self):\n        self.a = \"after\"\n        self.b = \"after\"\n"
        );
    }

    #[test]
    fn unmappable_indentation_is_refused() {
        refuse(
            "if ready:\n    start_engine()\n    open_valve()\n",
            "if ready:\n    start_engine()\nopen_valve()",
            "if ready:\n    start_engine()\nclose()",
        );
        refuse(
            "\tfirst_call()\n        second_call()\n",
            "    first_call()\n    second_call()",
            "    first_call()\n    third()",
        );
    }
}

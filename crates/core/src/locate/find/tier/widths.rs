//! Tier 5: tabs instead of spaces, or other widths.
//!
//! Whole lines whose depths map one to one onto the file's: the order is preserved, the steps of both sides agree, and
//! further depths of the new text follow from the step. The first line alone may have lost its indentation. Anything
//! else is refused.

use super::windows::{self, WindowFit, WindowRule};
use crate::locate::find::indent::{self, IndentMap, IndentPair};
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
) -> Option<(String, String)> {
    let lines = wanted.old.iter().skip(but).chain(wanted.new.iter().skip(but)).copied();
    let old = indent::step(lines.filter(counts))?;
    let tabs = pairs.iter().any(|(_, file)| file.contains('\t'));
    let file = if tabs { "\t".to_owned() } else { search.index.step()?.to_owned() };
    Some((old, file))
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

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

//! Symbols that a text and the file have: those about which a parser is wrong, and those that the file would have twice.

use super::old_lines::LOOKUP_STEPS;
use super::placement::PlacedFragment;
use super::{Extent, TextPair, indent, lossless};
use crate::work;
use core::cmp::Reverse;
use core::ops::Range;

/// Maximum number of lines of a symbol that are looked up.
const SYMBOL_LINES_MAX: usize = 200;
/// Number of lines that show that a symbol is elsewhere.
const PROOF_LINES: usize = 2;

/// Removes the symbols whose lines in the text are other lines of the file. A parser takes the middle of a function
/// for a definition if the text does not show its head, or if the file has two heads for one body.
pub(super) fn remove_misplaced(texts: &TextPair<'_>, extents: &mut Vec<Extent>) {
    extents.sort_by_key(|it| (it.new.start, Reverse(it.new.end)));
    let mut around: Vec<Extent> = Vec::new();
    extents.retain(|it| {
        while around.pop_if(|outer| outer.new.end < it.new.end).is_some() {}
        let scope = around.last().map_or(0..texts.old.len(), |outer| outer.old.clone());
        let is_misplaced = !work::spend_or_end(LOOKUP_STEPS) && is_elsewhere(texts, it, &scope);
        if !is_misplaced {
            around.push(it.clone());
        }
        !is_misplaced
    });
}

/// True if several lines of a symbol in the text occur once within a range of the file, outside of the symbol there, and no
/// line with a letter or digit occurs in it.
fn is_elsewhere(texts: &TextPair<'_>, symbol: &Extent, scope: &Range<usize>) -> bool {
    let mut outside = 0;
    // A symbol of one line is compared with the line below.
    for line in (symbol.new.start..symbol.new.end.max(symbol.new.start + 2)).take(SYMBOL_LINES_MAX) {
        let Some(text) = texts.new.get(line).filter(|_| !work::spend_or_end(LOOKUP_STEPS)) else { return false };
        let count = |range: &Range<usize>| texts.old.places_within(text, range).len();
        if count(&symbol.old) > 0 && text.contains(char::is_alphanumeric) {
            return false;
        }
        outside += usize::from(count(scope) == 1 && lossless::has_many_alnum(text));
    }
    outside >= PROOF_LINES
}

/// Refuses an edit that adds the head of an outermost definition that the file has and keeps.
///
/// Errors: the reason, as sentences.
pub(super) fn check(texts: &TextPair<'_>, placed: &[PlacedFragment<'_>]) -> Result<(), String> {
    let is_kept = |at: usize| !placed.iter().any(|it| it.old.contains(&at));
    for place in placed {
        let shown = place.fragment.lines.clone().zip(&place.matched);
        for (line, _) in shown.filter(|(_, at)| at.is_none()) {
            if work::spend_or_end(LOOKUP_STEPS) {
                return Ok(());
            }
            let head = texts.new[line];
            let is_head = indent(head) == 0 && head.trim_end().ends_with(['{', ':']) && lossless::has_many_alnum(head);
            let &[at] = texts.old.places_of(head) else { continue };
            if is_head && !work::spend_or_end(placed.len()) && is_kept(at) {
                return Err(format!(
                    "Line {} of the text is line {} of the file, which a placeholder keeps, so the file would have it \
                     twice. Show more unchanged lines beside the placeholders around it.",
                    line + 1,
                    at + 1
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Extent;
    use super::super::tests::{edit, refuse};

    const FILE: &str = "#if A\nint first(int a) {\n  int total;\n  return total_of(a);\n}\n#else\nint other(int a) {\n  int total = \
                        count_all(a);\n  total += offset_of(a);\n  return total;\n}\n#endif\n\nbool is_ready(int a) {\n  return true;\n}\n";

    #[test]
    fn first_lines_tell_where_a_symbol_is() {
        let new =
            "// ...\n  int total = count_all(a);\n  total += offset_of(a);\n  return 2 * total;\n}\n#endif\n// ...\n";
        let want = FILE.replace("return total;", "return 2 * total;");
        // A parser may take the line for the definition of `total` above.
        assert_eq!(edit(FILE, new, &[Extent { old: 2..3, new: 1..2 }]), want);
    }

    #[test]
    fn definition_is_not_there_twice() {
        let head = "int first(int a) {\n  if (a) {\n    go(a);\n  }\n  else {\n    int total = 1;\n    go(total);\n  }\n  return p;\n}\n";
        let far = "\nint far(int b) {\n  one(b);\n  two(b);\n  three(b);\n  four(b);\n  return b;\n}\n";
        let file = format!("{head}{far}{}", &FILE[FILE.find("\nbool").unwrap()..]);
        let new = "// ...\nint first(int a) {\n  // ...\n  else {\n    int total = 2;\n    // ...\n  return true;\n}\n\nbool is_ready(int a) {\n  return true;\n}\n// ...\n";
        let why = refuse(&file, new, &[Extent { old: 0..10, new: 1..12 }]);
        assert!(why.contains("Line 10 of the text is line 20 of the file"), "{why}");
    }
}

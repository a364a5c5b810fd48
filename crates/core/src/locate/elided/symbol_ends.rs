//! Symbols whose last line the new text may not show, because a placeholder is in them or directly below.

use super::text_pair::TextPair;
use super::{Extent, beside, indent, owners, same};
use crate::work;
use core::ops::Range;
use foldhash::{HashMap, HashMapExt as _};

/// The ends of the symbols that both texts have.
pub(super) struct SymbolEnds<'s, 'a> {
    texts: &'s TextPair<'a>,
    /// The lines of the placeholders, in their order.
    gaps: &'s [usize],
    /// For each line of the new text at which symbols end, the innermost of them.
    innermost: HashMap<usize, &'s Extent>,
}

impl<'s, 'a> SymbolEnds<'s, 'a> {
    pub(super) fn new(texts: &'s TextPair<'a>, symbols: &'s [Extent], gaps: &'s [usize]) -> SymbolEnds<'s, 'a> {
        let mut innermost: HashMap<usize, &Extent> = HashMap::new();
        for symbol in work::batched(symbols.iter()) {
            let found = innermost.entry(symbol.new.end).or_insert(symbol);
            if found.new.start < symbol.new.start {
                *found = symbol;
            }
        }
        SymbolEnds { texts, gaps, innermost }
    }

    /// True if the last line of the symbol in the new text is the last one of it in the file.
    pub(super) fn is_certain(&self, symbol: &Extent) -> bool {
        !self.is_hidden_inside(symbol) && !self.is_hidden_below(symbol) && !self.is_misread(symbol)
    }

    /// True if the indentation shows that the symbol ends elsewhere in the file: its last line closes something deeper,
    /// but that of the text does not, or a line like its last one is in it. A parser guesses such an end where the
    /// symbol has a syntax error.
    pub(super) fn is_misread(&self, symbol: &Extent) -> bool {
        let (old, lines) = (self.texts.old, &symbol.old);
        let Some((last, inside)) = old.get(lines.clone()).and_then(|lines| lines.split_last()) else { return true };
        if !is_flat(old, lines) {
            return beside::is_signs(last) && lines.len() > 1 && is_flat(&self.texts.new, &symbol.new);
        }
        owners::continues(last) && inside.iter().skip(1).any(|line| work::spend_or_end(1) || same(line, last))
    }

    /// True if a placeholder in the symbol may hide its end, so that the closing line in the text closes something else,
    /// because it has other signs than that of the file, or the placeholder is no deeper than the first line; or if the
    /// last line has another depth than in the file.
    fn is_hidden_inside(&self, symbol: &Extent) -> bool {
        let texts = self.texts;
        let Some(depth) = texts.new.get(symbol.new.start).map(|line| indent(line)) else { return true };
        let [from, to] = [symbol.new.start + 1, symbol.new.end].map(|end| self.gaps.partition_point(|gap| *gap < end));
        let inside = self.gaps.get(from..to).unwrap_or_default();
        if is_flat(texts.old, &symbol.old) && symbol.new.len() > 1 && !is_flat(&texts.new, &symbol.new) {
            return true;
        }
        let last = |lines: &[&'a str], range: &Range<usize>| lines.get(range.end.saturating_sub(1)).copied();
        let closing = last(texts.old, &symbol.old).zip(last(&texts.new, &symbol.new));
        let closes_other = closing.is_some_and(|(old, new)| beside::is_signs(new) && !same(old, new));
        work::spend_or_end(inside.len()) || inside.iter().any(|&gap| closes_other || indent(texts.new[gap]) <= depth)
    }

    /// True if a placeholder directly below the symbol may also mean the rest of it: no line closes the symbol, and it
    /// ends in the text with an inner symbol that is not the last one in the file.
    fn is_hidden_below(&self, symbol: &Extent) -> bool {
        let end = symbol.new.end;
        let Some(inner) = self.innermost.get(&end).filter(|inner| inner.new.start > symbol.new.start) else {
            return false;
        };
        let below = self.gaps.get(self.gaps.partition_point(|gap| *gap < end));
        let is_followed = below.is_some_and(|&gap| self.texts.trimmed(&(end..gap)).is_empty());
        is_followed && !is_flat(&self.texts.new, &symbol.new) && inner.old.end < symbol.old.end
    }
}

/// True if the last line of a symbol of several lines is as deep as its first line.
fn is_flat(lines: &[&str], range: &Range<usize>) -> bool {
    let depth = |at: usize| lines.get(at).map_or(0, |line| indent(line));
    range.len() > 1 && depth(range.start) == depth(range.end - 1)
}

#[cfg(test)]
mod tests {
    use super::super::Extent;
    use super::super::tests::edit;

    const FILE: &str = "import os\n\nclass Main(Base):\n    def first(self):\n        return 1\n\n    def save(self, x):\n        check(x)\n        return x\n\n    def send(self, x):\n        return 1\n";

    #[test]
    fn symbol_with_a_syntax_error_ends_by_its_indentation() {
        let file = "impl K {\n    fn a() {\n        y();\n    }\n\n    fn b() {\n        for (;;) {\n            q();\n        }\n        if x {\n            x = 3;\n        }\n    }\n\n    fn c() {\n        z();\n    }\n}\n";
        let new = "impl K {\n    // ...\n\n    fn b() {\n        call(a, b);\n    }\n\n    // ...\n}\n";
        let want = file.replace(
            "        for (;;) {\n            q();\n        }\n        if x {\n            x = 3;\n        }\n",
            "        call(a, b);\n",
        );
        for end in [12, 17] {
            assert_eq!(edit(file, new, &[Extent { old: 5..end, new: 3..6 }]), want);
        }
    }

    /// A placeholder in the first column may mean the rest of the file, with that of the class.
    #[test]
    fn placeholder_below_a_method_keeps_the_other_methods() {
        let class = |new| Extent { old: 2..12, new };
        let new = "# ... existing code ...\nclass Main(Base):\n    # ... existing code ...\n    def save(self, x):\n        trace(x)\n        check(x)\n        return x\n# ... existing code ...\n";
        let save = Extent { old: 6..9, new: 3..7 };
        let wanted = FILE.replace("        check(x)\n", "        trace(x)\n        check(x)\n");
        assert_eq!(edit(FILE, new, &[class(1..7), save]), wanted);
        let new = "# ... existing code ...\nclass Main(Base):\n    def first(self):\n        return 2\n\n# ... existing code ...\n";
        let first = Extent { old: 3..5, new: 2..4 };
        assert_eq!(edit(FILE, new, &[class(1..4), first]), FILE.replacen("return 1", "return 2", 1));
    }
}

//! For any text: no panic, nested blocks, and edits that change nothing else.

use emendate_syntax::{Language, ParseLimits, SymbolAction, parse};
use proptest::prelude::*;

/// Pieces of texts: fragments of many languages, out of place.
const PIECES: &[&str] = &[
    "fn f() {\n", "}\n", "class A:\n", "    def f(self):\n", "        pass\n", "\n", "# A\n", "- a: 1\n", "  b: 2\n",
    "/* c", "*/\n", "\"", "'", "`", "é", "\u{1F600}", "\t", "<div>", "</div>\n", "{\"a\": [", "]}\n", "@x\n", "///\n",
    "#[a]\n", "end\n", "do\n", "if x; then\n", "(", ")", ";", "= 1\n", "x", "<<EOF\n", "EOF\n", "\0", "[t]\n",
    "k = 1\n", "\r", "func (t *T) M() {\n", "impl A {\n", "${", "<?php\n", "where\n", "  ",
];

fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn any_text_gets_an_answer(text in texts(), after in texts(), new in texts()) {
        for language in Language::all() {
            let Some(parsed) = parse(&text, language, ParseLimits::CHECK) else { continue };
            let total = text.lines().count();
            for line in 0..total + 2 {
                let Ok(block) = parsed.block_at(line) else { continue };
                prop_assert!(block.above <= line && block.first == line && line <= block.last && block.last <= total.max(1));
            }
            for symbol in parsed.outline().symbols.iter().take(5) {
                prop_assert!(symbol.above <= symbol.first && symbol.first <= symbol.last && symbol.last <= total.max(1));
                for (_, action) in SymbolAction::ALL {
                    if let Ok(splices) = parsed.edit(symbol, action, &new) {
                        prop_assert!(splices.edits.is_sorted_by(|a, b| a.0.end() <= b.0.start()));
                        splices.apply(&text);
                    }
                }
            }
            let again = parsed.reparse(&after, ParseLimits::CHECK).map(|it| it.is_clean());
            let fresh = parse(&after, language, ParseLimits::CHECK).map(|it| it.is_clean());
            // Incremental parsing may recover from an error elsewhere, but a correct tree stays correct.
            if fresh == Some(true) && parsed.is_clean() {
                prop_assert_eq!(again, fresh, "{:?}", language);
            }
        }
    }
}

#[test]
fn depth_and_length_are_bounded_by_work() {
    for language in Language::all() {
        for text in [
            "(".repeat(100_000),
            "[{".repeat(50_000),
            "a\n".repeat(200_000),
            "if x {\n".repeat(30_000),
            "- ".repeat(50_000),
        ] {
            if let Some(parsed) = parse(&text, language, ParseLimits::CHECK) {
                let _ = parsed.block_at(1);
                let _ = parsed.outline();
                let _ = parsed.first_error();
            }
        }
    }
}

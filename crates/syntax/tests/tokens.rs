//! Tokens of every grammar in random order: no crash, no hang. `examples/tokens.rs` does the same for any length of
//! time.

#[path = "tokens/mod.rs"]
mod tokens;

use emendate_syntax::Language;

/// Number of texts per language. The example parses millions, under a sanitizer.
const TEXTS: u64 = 12;

#[test]
fn random_tokens_do_not_crash_a_grammar() {
    for language in Language::all() {
        for seed in 0..TEXTS {
            tokens::ask(language, &tokens::text(language, seed, 200));
        }
    }
}

//! Tokens of every grammar in random order: no crash, no hang. `examples/tokens.rs` does the same for as long as is wanted.

#[path = "tokens/mod.rs"]
mod tokens;

use emendate_syntax::Language;

/// Texts of each language. The program of the example tries millions, under a sanitizer.
const TEXTS: u64 = 12;

#[test]
fn no_sequence_of_tokens_harms_a_grammar() {
    for language in Language::all() {
        for seed in 0..TEXTS {
            tokens::ask(language, &tokens::text(language, seed, 200));
        }
    }
}

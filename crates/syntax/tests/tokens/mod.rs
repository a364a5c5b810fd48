//! Random texts of the tokens of a grammar, mixed with characters of every plane, long runs and deep indentation.

#![allow(dead_code, reason = "a test and a program use different parts")]

use emendate_syntax::{Language, ParseLimits, parse};

/// Limits of a parse, sufficient for a random text.
pub(crate) const LIMITS: ParseLimits = ParseLimits { bytes: 1 << 20, steps: 4_000, millis: 100, stack: usize::MAX };

/// Starts and ends of constructs for which scanners keep state.
const SHAPES: &[&str] = &[
    "\"", "'", "`", "\"\"\"", "'''", "```", "~~~", "<<A\n", "<<-'A'\n", "<<~A\n", "<<<A\n", "<<\"A\"\n", "\nA\n",
    "\nA;\n", "$", "$$", "$a$", "${", "#{", "$(", "$((", "`$", "$\"", "$\"\"\"{", "@\"", "@$\"{", "R\"a(", ")a\"",
    "R\"(", "r#\"", "\"#", "#\"", "\"##", "##\"", "[[", "]]", "[=[", "]=]", "--[[", "{", "}", "(", ")", "[", "]", "<",
    ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "<?php ", "?>", "{{", "}}", "{-", "-}", "/*", "*/", "//", "#",
    "%", "%w(", "%q{", "?", ":", "::", "- ", "* ", "> ", "1. ", "# ", "| ", "|-", ">+\n", "---\n", "...\n", "&a ",
    "*a ", "!!a ", "!<a> ", "%YAML 1.2\n", "\\", "\\\n", "\r\n", "\r", "\t", "\n", "\n\n", "  ", "f\"", "f'{", "b\"",
    "i\"", "''", "''${", "\\(", "=begin\n", "=end\n", "__END__\n", "@{", "{0", "{1..", "{1..2}", "<<", "<<<", "\"${",
    "'${", "s\"$", "s\"\"\"${", "if x; then\n", "do\n", "end\n", "where\n", "of\n", "let\n",
];

/// Pseudorandom numbers (splitmix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap_or(0)
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        if all.is_empty() { "" } else { all[self.below(all.len())] }
    }
}

/// Returns a character of a random plane, or of the first 256.
fn character(numbers: &mut Numbers) -> char {
    let code = match numbers.below(4) {
        0 => numbers.below(0x100),
        1 => numbers.below(0x1_0000),
        _ => numbers.below(0x11) * 0x1_0000 + numbers.below(0x1_0000),
    };
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or('\u{e0001}')
}

/// Returns one piece.
fn piece(numbers: &mut Numbers, tokens: &[&str]) -> String {
    match numbers.below(100) {
        0..45 => {
            let token = numbers.of(tokens);
            format!("{token}{}", numbers.of(&["", "", " ", "\n", "\n    "]))
        }
        45..60 => character(numbers).to_string(),
        60..80 => numbers.of(SHAPES).to_owned(),
        80..88 => numbers
            .of(&["x", "Abc", "f ", "1", "0x1f", "1.5e3", "_", "x.y", "x = 1\n", "x: 1\n", "é", "A\n"])
            .to_owned(),
        88..95 => format!("\n{}", numbers.of(&[" ", "\t", "  "]).repeat(numbers.below(40))),
        95..97 => format!("{}{}", numbers.of(&["", "<<", "@", "$", "\"", "<"]), "x".repeat(numbers.below(1200))),
        _ => {
            let many = numbers.below(300);
            let one = if numbers.below(2) == 0 { numbers.of(tokens) } else { numbers.of(SHAPES) };
            format!("{one}{}", numbers.of(&["", " ", "\n", "x"])).repeat(many)
        }
    }
}

/// Returns a text of at most `most` pieces, sometimes deeper with every line.
pub(crate) fn text(language: Language, seed: u64, most: usize) -> String {
    let tokens = language.tokens();
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let mut numbers = Numbers(seed);
    let deepens = numbers.below(8) == 0;
    // Most texts are short: an error early in a long one hides the rest.
    let most = if numbers.below(8) == 0 { most } else { most / 8 };
    let mut text = String::new();
    for nth in 0..=numbers.below(most) {
        if deepens {
            text.push('\n');
            text.push_str(&" ".repeat(nth));
        }
        text.push_str(&piece(&mut numbers, &tokens));
        if text.len() > 1 << 18 {
            break;
        }
    }
    text
}

/// Calls every function of the crate on a text.
pub(crate) fn ask(language: Language, text: &str) {
    let Some(parsed) = parse(text, language, LIMITS) else { return };
    let _ = parsed.first_error();
    let _ = parsed.outline();
    for line in [1, 2, text.lines().count()] {
        let _ = parsed.block_at(line);
    }
    // As if after an edit in the middle.
    let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let _ = parsed.reparse(&format!("{}{{\u{e0001}{}", &text[..middle], &text[middle..]), LIMITS);
}

//! Generates the text of the hot paths: lines like source code, the same in every run and on every machine.

use std::fmt::Write as _;

/// Words of source code. A generator with a fixed seed selects those of a line.
const WORDS: &[&str] = &[
    "value", "index", "self.count", "result", "let", "return", "if", "match", "buffer", "length", "&mut", "offset",
    "self.lines", "Some(entry)", "None", "report", "settings", "usize", "= 0;", "-> Result<()>", "path", "pub", "fn",
];

/// Generates `count` lines. Every tenth is unique: `mark(line)`, counted from 0.
pub(crate) fn lines(count: usize) -> String {
    let mut out = String::with_capacity(count * 36);
    let mut state = 7u64;
    let mut draw = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 40).unwrap_or(0) % most
    };
    for line in 0..count {
        if line % 10 == 5 {
            let _ = writeln!(out, "{}", mark(line));
            continue;
        }
        out.push_str(&"    ".repeat(draw(4)));
        for _ in 0..=draw(6) {
            let _ = match draw(3) {
                // Names that occur in several places, as those of variables and functions do.
                0 => write!(out, "{}_{:x} ", WORDS[draw(WORDS.len())], draw(4096) * 7919),
                _ => write!(out, "{} ", WORDS[draw(WORDS.len())]),
            };
        }
        out.push_str("{}\n");
    }
    out
}

/// Returns the unique line with this number.
pub(crate) fn mark(line: usize) -> String {
    format!("    let value_{line} = self.measure({line}, \"as it was\");")
}

/// Returns the changed form of a unique line.
pub(crate) fn changed(line: usize) -> String {
    mark(line).replace("as it was", "as it is")
}

/// Returns the numbers of `edits` unique lines, spread over the text.
pub(crate) fn marked(count: usize, edits: usize) -> impl Iterator<Item = usize> {
    let step = count / edits / 10 * 10;
    (0..edits).map(move |nth| nth * step + 5)
}

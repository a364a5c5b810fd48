//! Remarks in place of lines: comments, quoted lines and stubs with the information that code was omitted.
//!
//! Many of them may be ordinary comments as well (`# existing tests`), so a remark counts only if lines of the old text
//! would be lost, and one without a word that means omission only at the end of a block.

use super::affixes;
use super::phrase;
use super::remark_text::kind_of_text;
use super::remark_words::{LEADS, STUBS, TAILS, WORD_LEADS};
use super::signs::{self, BetweenSigns};

/// The kinds of remarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemarkKind {
    /// The remark states that text stays, was omitted or continues.
    Omission,
    /// The remark names text that the reader is supposed to know. It may also be the heading of what follows.
    Heading,
    /// The remark follows a statement on the same line.
    Trailing,
}

/// Signs that begin a comment after a statement; [`trailing_comment`] lists their first bytes.
const TRAILING_LEADS: [&str; 8] = ["#", "//", "/*", "<!--", "--", ";", "%", "{/*"];
/// Maximum bytes of a line that is examined.
pub(super) const LINE_BYTES_MAX: usize = 200;

/// True for a line that is only a comment.
pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim();
    ["//", "#", "--", ";", "*", "/*", "<!--", "%"].iter().any(|lead| line.starts_with(lead))
}

/// Returns the kind of remark that a line is, if it is one. Documentation comments are not remarks.
pub(super) fn kind(line: &str) -> Option<RemarkKind> {
    let line = line.trim();
    if line.len() < 3 || line.len() > LINE_BYTES_MAX || is_plain_code(line) {
        return None;
    }
    examined(line)
}

/// True for most lines of code, which are no remarks: they begin with a word, have a sign other than a dot, and nothing
/// that may begin a comment or an omission.
fn is_plain_code(line: &str) -> bool {
    let bytes = line.as_bytes();
    let (mut seen, mut last) = (0, ByteClasses::BLANK);
    for &byte in bytes {
        let classes = ByteClasses::OF_BYTE[usize::from(byte)];
        let begins_comment = last & ByteClasses::BLANK != 0 && classes & ByteClasses::COMMENT != 0;
        if begins_comment || (last & ByteClasses::DOT | ByteClasses::NOT_ASCII) & classes != 0 {
            return false;
        }
        seen |= classes;
        last = classes;
    }
    let begins_with_word = bytes[0].is_ascii_alphabetic() && bytes[1] != b' ';
    begins_with_word && seen & ByteClasses::SIGN != 0 && !WORD_LEADS.iter().any(|lead| line.starts_with(lead))
}

/// Bits for what a byte of a line may mean. A table of them is several times as fast as comparisons.
struct ByteClasses;

impl ByteClasses {
    const BLANK: u8 = 1;
    /// It may begin a comment after a blank.
    const COMMENT: u8 = 1 << 1;
    const DOT: u8 = 1 << 2;
    const NOT_ASCII: u8 = 1 << 3;
    /// Neither a letter nor a space nor a dot.
    const SIGN: u8 = 1 << 4;

    const OF_BYTE: [u8; 256] = {
        let mut all = [0; 256];
        let mut byte = 0u8;
        loop {
            all[byte as usize] = match byte {
                b' ' => ByteClasses::BLANK,
                b'\t' => ByteClasses::BLANK | ByteClasses::SIGN,
                b'#' | b'/' | b'<' | b'-' | b';' | b'%' | b'{' => ByteClasses::COMMENT | ByteClasses::SIGN,
                b'.' => ByteClasses::DOT,
                _ if byte.is_ascii_alphabetic() => 0,
                _ if !byte.is_ascii() => ByteClasses::NOT_ASCII,
                _ => ByteClasses::SIGN,
            };
            if byte == u8::MAX {
                break all;
            }
            byte += 1;
        }
    };
}

/// Returns the kind of remark that a trimmed line is, if it is one.
fn examined(line: &str) -> Option<RemarkKind> {
    if line.starts_with("///") || line.starts_with("//!") {
        // A documentation comment is a remark only if it consists of dots.
        return is_bare_dots(&line[3..]).then_some(RemarkKind::Omission);
    }
    if let Some(kind) = member(line) {
        return Some(kind);
    }
    if let Some(quoted) = quoted(line) {
        let documents = line.starts_with(['"', '\'']) && line.ends_with(&line[..1].repeat(3));
        return kind_of_text(quoted).filter(|kind| documents || *kind == RemarkKind::Omission);
    }
    if let Some(kind) = of_signs(line) {
        return Some(kind);
    }
    let directive = comment(line);
    if let Some(kind) = directive.and_then(|text| kind_of_text(text).or_else(|| kind_after_dots(text))) {
        return Some(kind);
    }
    if directive.is_none() && is_bare_phrase(line) {
        return is_remark(line).then_some(RemarkKind::Heading);
    }
    let is_between_signs = || signs::between(line).is_some_and(|words| are_remark(&words, directive));
    kind_after_code(line, directive.is_some()).or_else(|| is_between_signs().then_some(RemarkKind::Heading))
}

/// Returns the kind of remark of a JSON member whose name is dots or a comment: `"...": "..."`, `"// rest":
/// "unchanged"`.
fn member(line: &str) -> Option<RemarkKind> {
    let (key, value) = line.strip_prefix('"')?.split_once("\":")?;
    let value = value.trim().trim_end_matches(',').trim_matches('"').trim();
    if is_bare_dots(key) {
        return kind_of_text(value).or_else(|| (value.len() <= 4).then_some(RemarkKind::Heading));
    }
    let text = ["//", "#", "_comment", "--"].iter().find_map(|sign| key.strip_prefix(sign))?.trim();
    (is_remark(text) || is_remark(value)).then_some(RemarkKind::Heading)
}

/// True for a definition with only dots in its body: `fn two() { ... }`. In Python, that is a stub.
fn has_body_of_dots(line: &str) -> bool {
    let body = line.trim_end_matches([';', ',']).strip_suffix('}').and_then(|line| line.rsplit_once('{'));
    body.is_some_and(|(head, body)| {
        let inner = body.trim().trim_matches(|ch: char| "/*# ".contains(ch));
        head.ends_with(' ') && head.contains(char::is_alphanumeric) && matches!(inner, "..." | "…")
    })
}

/// Returns the kind of a remark after a statement on the same line.
fn kind_after_code(line: &str, is_comment: bool) -> Option<RemarkKind> {
    if !is_comment && has_body_of_dots(line) {
        return Some(RemarkKind::Trailing);
    }
    let at = trailing_comment(line)?;
    let (code, rest) = (line[..at].trim_end(), &line[at..]);
    if is_comment && !rest.starts_with(['/']) {
        return None;
    }
    if STUBS.contains(&code) {
        let text = comment(rest);
        let is_between_signs = || signs::between(rest).is_some_and(|words| are_remark(&words, text));
        return (text.is_some_and(is_remark) || is_between_signs()).then_some(RemarkKind::Omission);
    }
    (phrase::is_placeholder(rest) || phrase::is_placeholder(rest.trim_end_matches(['}', ' '])))
        .then_some(RemarkKind::Trailing)
}

/// Maximum number of words between dots; any words are accepted.
const DOTTED_WORDS_MAX: usize = 8;

/// True if the words between signs are a remark: dots alone, words with dots at both ends, or a phrase. The text in
/// `examined` is known not to be one.
fn are_remark(words: &BetweenSigns<'_>, examined: Option<&str>) -> bool {
    let text = &*words.text;
    if text.is_empty() {
        return words.dots;
    }
    let count = text.split_whitespace().count();
    if words.dotted && count <= DOTTED_WORDS_MAX {
        return true;
    }
    let may_be = || count > 1 || ALONE_WORDS.contains(&&*text.to_lowercase());
    examined != Some(text) && may_be() && is_remark(text)
}

/// True for the text of any remark.
fn is_remark(text: &str) -> bool {
    kind_of_text(text).is_some()
}

/// Returns the offset of a comment after a statement.
fn trailing_comment(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    (1..bytes.len()).find(|&at| {
        matches!(bytes[at], b'#' | b'/' | b'<' | b'-' | b';' | b'%' | b'{')
            && matches!(bytes[at - 1], b' ' | b'\t')
            && TRAILING_LEADS.iter().any(|lead| line[at..].starts_with(lead))
    })
}

/// Characters of which vertical or raised dots consist.
const DOT_SIGNS: [char; 5] = ['.', '…', '⋮', '⋯', '·'];

/// Returns the kind of a line of only signs: scissors, dots of other shapes, or a rule in a comment, which may also
/// separate the lines above from those below.
fn of_signs(line: &str) -> Option<RemarkKind> {
    if line.chars().any(|ch| ch.is_alphanumeric() && ch != '8') {
        return None;
    }
    let text = comment(line).unwrap_or(line).trim();
    // Scissors may be followed by the variation selector of their coloured form.
    let bare: String = text.chars().filter(|ch| !ch.is_whitespace() && *ch != '\u{FE0F}').collect();
    let core = line.trim_matches(|ch: char| {
        matches!(
            ch,
            ' ' | '\t' | '/' | '*' | '{' | '}' | '<' | '>' | '!' | '#' | ';' | '%' | '(' | ')' | '[' | ']' | '-'
        )
    });
    let bare = if bare.is_empty() && core != line { core.to_owned() } else { bare };
    let cut = bare.trim_matches(['-', '=', '~']);
    let scissors = matches!(cut, "8<" | ">8" | "8<8<" | ">8>8" | "8<>8" | "✂" | "✁");
    let is_dots = bare.chars().all(|ch| DOT_SIGNS.contains(&ch)) && !bare.is_empty();
    let dots = is_dots && (bare.chars().count() >= 3 || !bare.contains('.')) && !matches!(line, "..." | "…");
    let rule = is_commented_rule(line, &bare);
    match (scissors || dots, rule) {
        (true, _) => Some(RemarkKind::Omission),
        (false, true) => Some(RemarkKind::Heading),
        (false, false) => None,
    }
}

/// True for a comment that consists of a colon, or of a few dashes or tildes.
fn is_commented_rule(line: &str, bare: &str) -> bool {
    let led = ["#", "//", ";"].iter().any(|lead| line.strip_prefix(lead).is_some_and(|rest| rest.starts_with(' ')));
    led && bare.len() <= 5
        && (bare == ":" || ["-", "~"].iter().any(|sign| bare.len() >= 3 && bare.replace(sign, "").is_empty()))
}

/// True for dots in brackets of any kind.
fn is_bare_dots(text: &str) -> bool {
    let core = text.trim_matches(|ch: char| ch.is_whitespace() || "[](){}<>".contains(ch));
    core.chars().count() <= 5
        && (core.contains("...") || core.contains('…'))
        && core.chars().all(|ch| ".…".contains(ch))
}

/// Maximum number of words of a directive before the dots of a remark, as in `@ts-nocheck ... existing code`.
const DIRECTIVE_WORDS_MAX: usize = 4;

/// Returns the kind of remark that a comment is from its dots on.
fn kind_after_dots(text: &str) -> Option<RemarkKind> {
    let at = text.find("...").or_else(|| text.find('…')).filter(|at| *at > 0)?;
    let (directive, rest) = text.split_at(at);
    let is_short = directive.split_whitespace().count() <= DIRECTIVE_WORDS_MAX && directive.ends_with([' ', '\t']);
    (is_short && phrase::is_placeholder(&format!("# {rest}"))).then_some(RemarkKind::Omission)
}

/// Words of which a phrase without any punctuation must contain one.
const BARE_WORDS: [&str; 7] = ["existing", "remaining", "rest", "previous", "unchanged", "omitted", "unmodified"];
/// Words that are a remark by themselves.
const ALONE_WORDS: [&str; 9] =
    ["unchanged", "omitted", "unmodified", "untouched", "elided", "etc", "ditto", "snip", "snipped"];
/// Maximum number of words of such a phrase.
const BARE_WORDS_MAX: usize = 6;

/// True for a line of a few words without punctuation that can be a placeholder. Lines of code do have punctuation.
fn is_bare_phrase(line: &str) -> bool {
    if line.len() > 60 || !line.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'.')) {
        return false;
    }
    let line = line.trim_end_matches('.').to_ascii_lowercase();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let whole = match *words {
        [word] => ALONE_WORDS.contains(&word),
        ["no", "change" | "changes"] | ["as", "before" | "above"] | ["and", "so", "on" | "forth"] => true,
        _ => false,
    };
    let named = words.iter().any(|word| BARE_WORDS.contains(word));
    whole || named && words.len() <= BARE_WORDS_MAX && words.iter().any(|word| phrase::is_omitted_noun(word))
}

/// Returns the text of a line that consists of a string or a JSON value.
fn quoted(line: &str) -> Option<&str> {
    if !line.starts_with(['"', '\'', '`']) {
        return None;
    }
    let line = line.trim_end_matches([',', ';']).trim_end();
    let value = line.split_once("\": ").filter(|(key, _)| key.starts_with('"')).map_or(line, |(_, value)| value.trim());
    ["\"\"\"", "'''", "\"", "'", "`"].iter().find_map(|sign| {
        let inner = value.strip_prefix(sign)?.strip_suffix(sign)?;
        let is_text = inner.trim().contains(' ') || sign.len() == 3;
        (is_text && !inner.contains(sign)).then_some(inner.trim())
    })
}

/// Returns the text of a line that consists of a comment, or of a remark in brackets.
fn comment(line: &str) -> Option<&str> {
    // Most lines of code begin with a word, and only a few words begin a comment.
    let begins_with_word = line.starts_with(|ch: char| ch.is_ascii_alphanumeric());
    if begins_with_word && !WORD_LEADS.iter().any(|lead| line.starts_with(lead)) {
        return None;
    }
    let mut text = line;
    let mut commented = false;
    while let Some(rest) = affixes::without_prefix(text, &LEADS) {
        (text, commented) = (rest.trim_start(), true);
    }
    if commented {
        text = affixes::without_suffixes(text, &TAILS);
    } else if text.starts_with(|ch: char| ch.is_ascii_alphanumeric()) {
        return None;
    }
    if let Some(inside) = ["@@", "===", "==", "~~~", "***", "---"]
        .iter()
        .find_map(|sign| text.strip_prefix(sign)?.strip_suffix(sign))
        .filter(|inside| inside.starts_with(' ') && inside.ends_with(' '))
    {
        (text, commented) = (inside.trim(), true);
    }
    // The line is a selector or a directive, such as `#rest {`.
    if line.starts_with('#') && line[1..].starts_with(char::is_alphanumeric) && !text.contains(' ') {
        return None;
    }
    let brackets = [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("\u{3010}", "\u{3011}"), ("\u{27E8}", "\u{27E9}")];
    let inside = brackets.iter().find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    (commented || inside.is_some()).then_some(inside.unwrap_or(text).trim())
}

#[cfg(test)]
mod tests {
    use super::{LEADS, RemarkKind, WORD_LEADS, examined, is_plain_code, kind};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_code_is_no_remark(parts in prop::collection::vec(0..19usize, 3..9)) {
            const PARTS: [&str; 19] = [
                "rest", "of code", "unchanged", "total", "x", "C", "rem", " ", " ", "...", ".", "_", "(", "=", "#", "//",
                "{", "; ", "\t",
            ];
            let line: String = parts.into_iter().map(|at| PARTS[at]).collect();
            let line = line.trim();
            prop_assert!(line.len() < 3 || !is_plain_code(line) || examined(line).is_none(), "{}", line);
        }
    }

    #[test]
    fn word_leads_are_the_leads_that_are_words() {
        let words = LEADS.iter().filter(|lead| lead.starts_with(|ch: char| ch.is_ascii_alphanumeric()));
        assert_eq!(words.collect::<Vec<_>>(), WORD_LEADS.iter().collect::<Vec<_>>());
    }

    #[test]
    fn remarks_in_any_syntax() {
        for line in [
            "// etc.",
            "# and so on",
            "pass  # rest unchanged",
            "\"\"\"rest of the code unchanged\"\"\"",
            "''' same as before '''",
            "{ /* unchanged */ }",
            "-- rest as before",
            "rem leave as is",
            "' remaining code unchanged",
            "{{!-- same --}}",
            "<%# etc %>",
            "(* no changes *)",
            "--[[ ditto ]]",
            "\"...\": \"rest unchanged\",",
            "\"...\": \"...\",",
            "[...]",
            "(...)",
            "# two(), three() and four() unchanged",
            "// 其余代码不变",
            "# Rest des Codes unverändert",
            "\"\"\"...\"\"\"",
            "# your code here",
            "// nothing changed below",
            "{# unchanged #}",
            "! remains as is",
            "# --- 8< ---",
            "--- 8< ---",
            "# >8",
            "⋮",
            "# ⋯",
            "# . . .",
            "@@ unchanged @@",
            "=== unchanged ===",
            "# (cont.)",
            "{/* ... */}",
            "// don't change",
            "# The remaining functions stay as they are",
            concat!("// TO", "DO: rest of the code unchanged"),
        ] {
            assert_eq!(kind(line), Some(RemarkKind::Omission), "{line}");
        }
        for line in [
            "# other methods",
            "// existing tests",
            "/* more functions below */",
            "# remaining imports",
            "# ---",
            "# :",
            "unchanged",
            "existing code",
            "// lines 9-11",
            "// +3 lines",
            "[3 lines]",
            "// L9-L11",
            "// old code",
            "// followed by the rest",
            "// noop",
            "# Prior content",
            "# copy the rest",
            "# two: same",
            "# functions two and three go here",
            "#region existing code",
            "# blah blah",
        ] {
            assert_eq!(kind(line), Some(RemarkKind::Heading), "{line}");
        }
    }

    #[test]
    fn remarks_between_any_signs() {
        for line in [
            "etc.",
            "no changes",
            "_rest of the code_",
            "- rest of the file",
            "1. unchanged",
            "> ...",
            "+ unchanged",
            "`unchanged`",
            "// — [...] —",
            "# ... [...] ...",
            "{* ... *}",
            "%{ ... b and c ... %}",
            "// <[...]>",
            "#;((...))",
            "//region ...",
            "# TO\u{44}O: [...]",
            "<comment>unchanged</comment>",
            "(comment rest of the file)",
            "@comment two() and three() unchanged",
            "\\begin{comment} rest of code unchanged \\end{comment}",
            "=begin rest of the file =end",
            "[//]: # (etc.)",
            "[comment]: <> (unchanged)",
            "{%- comment -%} existing code {%- endcomment -%}",
            "C etc.",
            "...,",
            "\"...\": null",
            "\"// rest\": \"unchanged\"",
            "\"_comment\": \"rest unchanged\",",
            "// (unchanged) two, three",
            "// + 2 methods",
        ] {
            assert_eq!(kind(line), Some(RemarkKind::Heading), "{line}");
        }
    }

    #[test]
    fn remarks_behind_code() {
        for line in [
            "fn two() { ... }",
            ".b { /* ... */ }",
            "two() { … },",
            "return 1  # ... rest of the code unchanged",
            "fn two() { /* unchanged */ }",
            "x = 1 // rest of the code",
        ] {
            assert_eq!(kind(line), Some(RemarkKind::Trailing), "{line}");
        }
    }

    #[test]
    fn ordinary_lines_are_no_remarks() {
        for line in [
            "# Skip blank lines",
            "// Reads the file.",
            "x = 1  # the same as y",
            "\"name\": \"rest\"",
            "return 1",
            "}",
            "# ---",
            "let rest = 1; // the rest of the line",
            "\"\"\"Returns the rest of a line.\"\"\"",
            "#include <etc.h>",
            "- the rest",
            "the rest of the file",
            "'a'",
            "\"unchanged_lines\"",
            "# ----------------",
            "---",
            "...",
            "…",
            "#---",
            "8",
            "else",
            "return rest",
            "more data",
            "existing",
        ] {
            assert_ne!(kind(line), Some(RemarkKind::Omission), "{line}");
        }
        for line in [
            "continue", "skip", ".rest .other {", "@keep rest;", "$rest = $other;", "rest: unchanged",
            "- rest: unchanged", "<status>unchanged</status>", "keep(rest)", "&rest, &other)", "-- ----- --", "# 1.",
            "print('unchanged')", "- item", "1. rest", "*args", "...args", "&mut rest", "|rest| other",
            "\"# of rows\": 3", "\"//\": \"Reads the file.\"", "\"rest\": \"unchanged\"", "// 2 methods",
            "f({ ...rest })", "catch (...) {", "def two(): ...", "const { a, ...rest } = b;", "-rest of[0]",
        ] {
            assert_eq!(kind(line), None, "{line}");
        }
    }
}

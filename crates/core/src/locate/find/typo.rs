//! Similar lines with another meaning: a different number or name is not a typo.

use super::failure::nearest::line_likeness;
use crate::text::diff;
use crate::text::fold;
use crate::text::tokens::tokens;

/// Likeness (0 to 1) from which a line of the file counts as the one that a caller's line means.
const LIKENESS_MIN: f64 = 0.5;

/// Keywords before the name of a definition.
const DEFINITION_WORDS: [&str; 28] = [
    "fn", "def", "class", "struct", "enum", "trait", "impl", "interface", "function", "func", "fun", "module", "mod",
    "namespace", "package", "macro_rules", "sub", "proc", "defp", "defmodule", "defmacro", "defun", "record",
    "protocol", "extension", "union", "object", "procedure",
];
/// Keywords of statements with parentheses that are not definitions.
const CONTROL_WORDS: [&str; 16] = [
    "if", "for", "while", "switch", "return", "else", "catch", "elif", "match", "when", "with", "until", "unless",
    "foreach", "do", "try",
];

/// Keys whose values identify an entry of a data file.
const IDENTITY_KEYS: [&str; 9] = ["id", "name", "key", "title", "uses", "hostname", "slug", "uuid", "selector"];

/// Returns the reason why a similar line of the file is not a mistyped form of the caller's line.
pub(super) fn means_another(old: &str, file: &str) -> Option<String> {
    let (old, file) = (old.trim(), file.trim());
    if has_another_identity(old, file) {
        return Some(format!("another entry is meant: `{old}` in the old text, `{file}` in the file"));
    }
    if line_likeness(old, file) < LIKENESS_MIN {
        return None;
    }
    if let (Some(a), Some(b)) = (defined(old), defined(file))
        && a != b
    {
        return Some(format!("`{a}` is defined there in the old text, and `{b}` in the file"));
    }
    has_another_number(old, file).then(|| format!("a number differs: `{old}` in the old text, `{file}` in the file"))
}

/// True if a line is the file's with a typo: one letter replaced, one or two more or missing, two adjacent letters
/// swapped, or other whitespace between tokens. In the name of a definition only a swap counts, and only if the
/// misspelled name does not occur in the file.
pub(super) fn is_typo(old: &str, file: &str, text: &str) -> bool {
    const LETTERS_MIN: usize = 16;
    const SWAPPED_MIN: usize = 6;
    let (old, file) = (old.trim(), file.trim());
    if differ_in_blanks_only(old, file) {
        return true;
    }
    let (head, tail) = diff::common_text_ends(old, file);
    let (a, b) = (&old[head..old.len() - tail], &file[head..file.len() - tail]);
    let swapped = a.len() == 2 && a.bytes().rev().eq(b.bytes());
    let least = if swapped { SWAPPED_MIN } else { LETTERS_MIN };
    if fold::count_alnum(old, least) < least
        || !is_short_word(a)
        || !is_short_word(b)
        || !(swapped || a.len() + b.len() <= 2)
    {
        return false;
    }
    match (defined(old), defined(file)) {
        (Some(name), Some(other)) if name != other => {
            swapped && memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_none()
        }
        (None, None) | (Some(_), Some(_)) => true,
        _ => false,
    }
}

/// True if two lines differ only in whitespace between tokens. False for lines with quotes, where whitespace may be
/// text.
fn differ_in_blanks_only(old: &str, file: &str) -> bool {
    !old.contains(['"', '\'', '`', '#'])
        && fold::count_alnum(old, 2) >= 2
        && without_free_blanks(old).is_some_and(|packed| Some(packed) == without_free_blanks(file))
}

/// Returns a line without the whitespace that only separates a sign from a word; `None` if whitespace separates two
/// signs.
fn without_free_blanks(line: &str) -> Option<String> {
    let is_word = |ch: char| ch.is_alphanumeric() || ch == '_';
    let mut out = String::with_capacity(line.len());
    for part in line.split_whitespace() {
        if let (Some(last), Some(next)) = (out.chars().next_back(), part.chars().next()) {
            match (is_word(last), is_word(next)) {
                (true, true) => out.push(' '),
                (false, false) if !"()[]{},;".contains([last, next]) => return None,
                _ => {}
            }
        }
        out.push_str(part);
    }
    Some(out)
}

/// True for a text of at most two letters.
fn is_short_word(text: &str) -> bool {
    text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// True if two similar lines have different numbers, apart from values of one key.
pub(super) fn has_another_number(old: &str, file: &str) -> bool {
    let (old, file) = (old.trim(), file.trim());
    line_likeness(old, file) >= LIKENESS_MIN && digits(old) != digits(file) && !is_value_changed(old, file)
}

/// True if two lines set the same key to different numbers: the key identifies the line, and only its value was
/// changed.
fn is_value_changed(old: &str, file: &str) -> bool {
    let shared = diff::common_prefix(old.as_bytes(), file.as_bytes());
    let Some(head) = old.get(..shared) else { return false };
    let head = head.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    let rest =
        [&old[head.len()..], &file[head.len()..]].map(|rest| rest.trim_matches(|ch: char| !ch.is_alphanumeric()));
    let numbers = rest.iter().all(|rest| rest.chars().all(|ch| ch.is_ascii_digit() || ['.', '_'].contains(&ch)));
    numbers && head.trim_end_matches([' ', '"', '\'']).ends_with([':', '='])
}

/// True if two lines set the key that identifies an entry to different values.
pub(super) fn has_another_identity(old: &str, file: &str) -> bool {
    let values = identity(old).zip(identity(file));
    values.is_some_and(|((key, old), (other, file))| key == other && !old.eq_ignore_ascii_case(file))
}

/// Returns the key and the value of a line that only names an entry of a data file: `- name: web`, `"id": "web",`.
fn identity(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().trim_start_matches("- ").split_once([':', '='])?;
    let key = key.trim().trim_matches(['"', '\'']);
    let value = value.trim().trim_end_matches([',', ';']).trim_matches(['"', '\'']);
    let is_scalar = !value.is_empty() && !value.contains(['(', '[', '{', '"', '\'']);
    (is_scalar && IDENTITY_KEYS.contains(&key)).then_some((key, value))
}

/// Returns the runs of digits in a line.
fn digits(line: &str) -> Vec<&str> {
    line.split(|ch: char| !ch.is_ascii_digit()).filter(|run| !run.is_empty()).collect()
}

/// Returns the name that a line defines: of a function, a class, a module or the like.
pub(super) fn defined(line: &str) -> Option<&str> {
    let all = tokens(line);
    let words: Vec<&str> = all.iter().copied().filter(|token| !token.trim().is_empty()).collect();
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate() {
        match *word {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            word if depth == 0 && DEFINITION_WORDS.contains(&word) => {
                return words[at + 1..].iter().copied().find(begins_word);
            }
            _ => {}
        }
    }
    // The definition has no keyword, as in `static int name(…) {`.
    let open = words.iter().position(|word| *word == "(")?;
    let name = words[..open].last().copied().filter(begins_word)?;
    let statement = words[..open].iter().any(|word| CONTROL_WORDS.contains(word) || ["=", ".", "!"].contains(word));
    (!statement && (line.ends_with('{') || open > 1 && line.ends_with(')'))).then_some(name)
}

/// True for a statement that begins with a keyword such as `if`.
pub(super) fn begins_with_control(line: &str) -> bool {
    let word = line.split(|ch: char| !ch.is_alphanumeric() && ch != '_').next();
    word.is_some_and(|word| CONTROL_WORDS.contains(&word))
}

/// True for a token that begins with a letter.
fn begins_word(word: &&str) -> bool {
    word.chars().next().is_some_and(|ch| ch.is_alphabetic() || ch == '_')
}

#[cfg(test)]
mod tests {
    use super::{defined, means_another};

    #[test]
    fn changed_numbers_and_names_are_not_typos() {
        for (a, b) in [
            ("struct tpacket_req3 *req = alloc();", "struct tpacket_req *req = alloc();"),
            ("let timeout_ms1 = 30;", "let timeout_ms2 = 30;"),
            ("case 3:", "case 4:"),
            ("x = call(30)", "x = call(31)"),
            ("fn listMemoryFiles(config: u8) {", "fn showMemory(config: u8) {"),
            ("static int lock_file(struct ctx *ctx)", "static int try_lock_file(struct ctx *ctx)"),
            ("  render(props) {", "  renderAll(props) {"),
            ("    name: apiserver", "    name: webserver"),
            ("\"id\": \"alpha\",", "\"id\": \"alpha_2\","),
        ] {
            assert!(means_another(a, b).is_some(), "{a} | {b}");
        }
        for (a, b) in [
            ("let value = compute(first, second);", "let value = compute(first, secnd);"),
            ("# Reads teh file", "# Reads the file"),
            ("def run(self, host):", "def run(self, host, port=None):"),
            ("return total", "raise Error"),
            ("  timeout: 30", "  timeout: 60"),
            ("version = \"1.2.3\"", "version = \"1.3.0\""),
            ("name = find(first)", "name = find(first, last)"),
            ("    image: registry/app", "    image: registry/web"),
        ] {
            assert!(means_another(a, b).is_none(), "{a} | {b}");
        }
        assert_eq!(defined("pub(crate) fn name<T>(x: T) -> T {"), Some("name"));
        assert_eq!(defined("if (ready(x)) {"), None);
        assert_eq!(defined("let x = call(a) {"), None);
    }
}

//! Statements of a block in the file that the old text contains, although not word for word.
//!
//! A block that is replaced as a whole loses everything between its edges. Its overall likeness shows only that most of
//! it was known; a statement that is missing from the old text would be lost without anybody having seen it.

use crate::locate::find::failure::nearest::line_likeness;
use crate::locate::find::typo;
use crate::text::diff;
use crate::text::tokens::{share, tokens};
use crate::work::{self, STEP_BYTES};

/// Likeness (0 to 1) from which two names count as the same name, misremembered.
const NAME_LIKENESS_MIN: f64 = 0.5;
/// Share of common words from which two lines may be the same statement; two values of one name or key share half of
/// them.
const SHARED_WORDS_MIN: f64 = 0.6;
const SHARED_WORDS_OF_VALUES_MIN: f64 = 0.5;
/// Steps of work for the comparison of two lines.
const COMPARISON_STEPS: usize = 50;

/// Returns the index of the first line of `file` with a statement that `old` does not have at the corresponding
/// position. Both are lines between the edges of a block. Comments, blank lines and lines of mere punctuation are not
/// statements.
pub(super) fn first_unknown(old: &[&str], file: &[&str]) -> Option<usize> {
    let old = StatementTokens::new(&statements(old));
    let mut next = 0;
    for (at, line) in statements(file) {
        match old.end_of(line, next) {
            Some(end) => next = end,
            None => return Some(at),
        }
    }
    None
}

/// Returns the lines with statements, and their indices.
fn statements<'a>(lines: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut out = Vec::new();
    let mut at = docstring_lines(lines);
    while at < lines.len() && !work::spend_or_end(1) {
        let line = lines[at].trim();
        let comment = comment_lines(&lines[at..]);
        if comment == 0 && !words(line).is_empty() {
            out.push((at, line));
        }
        at += comment.max(1);
    }
    out
}

/// Counts the lines of the string that documents a Python definition, if the block begins with one.
fn docstring_lines(lines: &[&str]) -> usize {
    let Some(first) = lines.first().map(|line| line.trim()) else { return 0 };
    let Some(sign) = ["\"\"\"", "'''"].into_iter().find(|sign| first.starts_with(sign)) else { return 0 };
    if first.len() > sign.len() && first[sign.len()..].contains(sign) {
        return usize::from(first.ends_with(sign));
    }
    lines[1..].iter().position(|line| line.trim().ends_with(sign)).map_or(0, |end| end + 2)
}

/// Counts the lines of the comment at the beginning; a line that also has code does not count.
fn comment_lines(lines: &[&str]) -> usize {
    let line = lines[0].trim();
    let is_short = ["//", "# ", "-- ", "; ", ";;"].iter().any(|lead| line.starts_with(lead)) || line == "#";
    if is_short {
        return 1;
    }
    let Some((_, end)) = [("/*", "*/"), ("<!--", "-->")].into_iter().find(|(start, _)| line.starts_with(start)) else {
        return 0;
    };
    match lines.iter().position(|line| work::spend_or_end(1 + line.len() / STEP_BYTES) || line.contains(end)) {
        Some(last) if lines[last].trim().ends_with(end) => last + 1,
        _ => 0,
    }
}

/// The tokens of some lines as one list.
struct StatementTokens<'a> {
    tokens: Vec<&'a str>,
    /// The lines, each with the index of its first token.
    lines: Vec<(usize, &'a str)>,
}

impl<'a> StatementTokens<'a> {
    fn new(statements: &[(usize, &'a str)]) -> StatementTokens<'a> {
        let mut out = StatementTokens { tokens: Vec::new(), lines: Vec::new() };
        for (_, line) in statements {
            out.lines.push((out.tokens.len(), line));
            out.tokens.extend(dense(line));
        }
        out
    }

    /// Returns the end of the tokens from `next` on that correspond to a line: either its own tokens, however they are
    /// wrapped, or a line that is the same statement.
    fn end_of(&self, line: &str, next: usize) -> Option<usize> {
        let needle = dense(line);
        let _ = work::spend_or_end(self.tokens.len().saturating_sub(next));
        let own = self.tokens[next..].windows(needle.len().max(1)).position(|run| *run == needle);
        let alike = self.lines.iter().position(|&(start, other)| {
            start >= next && !work::spend_or_end(COMPARISON_STEPS) && is_same_statement(other, line)
        });
        let end_of_line = |at: usize| self.lines.get(at + 1).map_or(self.tokens.len(), |line| line.0);
        let ends = [own.map(|at| next + at + needle.len()), alike.map(end_of_line)];
        ends.into_iter().flatten().min()
    }
}

/// The tokens of a line without blanks, and without the signs that appear or disappear when a statement is wrapped.
fn dense(line: &str) -> Vec<&str> {
    let tokens = tokens(line).into_iter();
    tokens.filter(|token| !token.trim().is_empty() && ![",", ";", ")", "]", "}"].contains(token)).collect()
}

/// The words of a line.
fn words(line: &str) -> Vec<&str> {
    tokens(line).into_iter().filter(|token| is_word(token)).collect()
}

fn is_word(token: &str) -> bool {
    token.starts_with(|ch: char| ch.is_alphanumeric() || ch == '_')
}

/// True if two lines may be the same statement, misremembered: they share most of their words, none is another word of
/// the same place, and the name that they assign to, call or begin with is the same apart from its spelling.
fn is_same_statement(old: &str, file: &str) -> bool {
    if typo::has_another_number(old, file) || typo::has_another_identity(old, file) {
        return false;
    }
    let (a, mut b) = (words(old), words(file));
    if has_another_word(&a, &b) || negations(old) != negations(file) {
        return false;
    }
    let all = a.len() + b.len();
    let shared = a.iter().filter(|word| take(&mut b, word)).count();
    let like = share(2 * shared, all);
    match (Subject::of(old), Subject::of(file)) {
        (Some(old), Some(file)) if old.name == file.name => {
            let values = old.has_value && file.has_value;
            like >= if values { SHARED_WORDS_OF_VALUES_MIN } else { SHARED_WORDS_MIN }
        }
        (Some(old), Some(file)) => like >= SHARED_WORDS_MIN && line_likeness(old.name, file.name) >= NAME_LIKENESS_MIN,
        _ => like >= SHARED_WORDS_MIN,
    }
}

/// True if words of one line are replaced by others in the other line. Words that are added or omitted, other spellings
/// of a word, and other numbers do not count.
fn has_another_word(old: &[&str], file: &[&str]) -> bool {
    let mut next = (0, 0);
    diff::equal_lines(old, file).into_iter().chain([(old.len(), file.len())]).any(|pair| {
        let (a, b) = (&old[next.0..pair.0], &file[next.1..pair.1]);
        next = (pair.0 + 1, pair.1 + 1);
        let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
        !few.iter().all(|word| many.iter().any(|other| is_spelling_of(word, other)))
    })
}

/// True if one name has all parts of the other one, whose parts may be abbreviated: `get_user` and `getUsers`, `read`
/// and `read_all`.
fn is_spelling_of(a: &str, b: &str) -> bool {
    const SHORTENED_MIN: usize = 3;
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let (few, many) = (parts(a), parts(b));
    let (few, many) = if few.len() < many.len() { (few, many) } else { (many, few) };
    is_number(a) && is_number(b)
        || few.iter().all(|part| {
            many.iter().any(|other| {
                let (short, long) = if part.len() < other.len() { (part, other) } else { (other, part) };
                short == long || short.len() >= SHORTENED_MIN && long.starts_with(&**short)
            })
        })
}

/// Returns the words that a name consists of, in small letters.
fn parts(name: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut was_small = false;
    for ch in name.chars() {
        if ch == '_' || ch.is_uppercase() && was_small {
            out.push(String::new());
        }
        was_small = ch.is_lowercase();
        out.last_mut().into_iter().for_each(|part| part.extend(ch.to_lowercase().filter(|ch| *ch != '_')));
    }
    out.retain(|part| !part.is_empty());
    out
}

/// Counts the words and signs that negate.
fn negations(line: &str) -> usize {
    tokens(line).into_iter().filter(|token| matches!(*token, "not" | "!" | "unless")).count()
}

/// Removes a word from a list; false if it is not there.
fn take(words: &mut Vec<&str>, word: &str) -> bool {
    words.iter().position(|other| *other == word).map(|at| words.swap_remove(at)).is_some()
}

/// The name that a statement assigns to, calls or begins with.
struct Subject<'a> {
    /// The last word before its first bracket, colon or equals sign.
    name: &'a str,
    /// True if a value follows: the sign is a colon or an equals sign.
    has_value: bool,
}

impl<'a> Subject<'a> {
    fn of(line: &'a str) -> Option<Subject<'a>> {
        let all = dense(line);
        let end = all.iter().position(|token| matches!(*token, "(" | "[" | "{" | "=" | ":"))?;
        let name = all[..end].iter().copied().rev().find(|token| is_word(token))?;
        Some(Subject { name, has_value: matches!(all[end], "=" | ":") })
    }
}

#[cfg(test)]
mod tests {
    use super::first_unknown;

    #[test]
    fn each_statement_of_the_file_is_one_of_old() {
        let known = |old: &[&str], file: &[&str]| first_unknown(old, file).is_none();
        let file = ["    // Reads it.", "    let text = read(path);", "", "    check(&text);", "    });"];
        assert!(known(&["let text = read(path)?;", "check(text)"], &file));
        assert!(known(&["let text = read_all(path);", "log(1);", "check(&text);"], &file));
        assert_eq!(first_unknown(&["let text = read(path);"], &file), Some(3));
        assert_eq!(first_unknown(&["let text = read(path);", "print(&text);"], &file), Some(3));
        assert_eq!(first_unknown(&["check(&text);", "let text = read(path);"], &file), Some(3));
        for (old, file) in [
            ("log(input);", "validate(input);"),
            ("self.log(input, ctx)", "self.validate(input, ctx)"),
            ("user.age = age", "user.name = name"),
            ("sleep(10)", "sleep(20)"),
            ("return first", "raise second"),
            ("rows = read_json(path)", "rows = read_csv(path)"),
            ("rows = not clean(rows)", "rows = clean(rows)"),
            ("log.info(\"json loaded\")", "log.info(\"csv loaded\")"),
            ("\"id\": \"beta\",", "\"id\": \"alpha\","),
            ("  id: 1", "  id: 2"),
            ("<input id=\"email\">", "<input id=\"name\">"),
            ("color: red;", "color: blue;"),
        ] {
            assert!(!known(&[old], &[file]), "{old} | {file}");
        }
        for (old, file) in [
            ("users = get_user(db)", "users = get_users(db)"),
            ("  timeout: 30", "  timeout: 60"),
            ("if not items: # none", "if not items:"),
            ("log.info(\"Starting server\")", "log.info(\"Starting the server\")"),
            ("users = getUser(db)", "users = get_users(db)"),
        ] {
            assert!(known(&[old], &[file]), "{old} | {file}");
        }
    }

    #[test]
    fn wrapping_and_comments_do_not_matter() {
        let known = |old: &[&str], file: &[&str]| first_unknown(old, file).is_none();
        let (one, many) = (["send(first, second)"], ["send(", "    first,", "    second,", ")"]);
        assert!(known(&one, &many) && known(&many, &one));
        assert!(known(&["go()"], &["/* first", "   then */", "go()", "# end"]));
        assert!(known(&["go()"], &["\"\"\"Goes.", "", "And stops.", "\"\"\"", "go()"]));
        assert!(!known(&["go()"], &["text = \"\"\"", "halt()", "\"\"\"", "go()"]));
        assert!(!known(&["go()"], &["/* first */ halt()", "go()"]));
        assert!(!known(&["go()"], &["*p = 1;", "go()"]));
        assert!(!known(&["go()"], &["#include <a.h>", "go()"]));
    }
}

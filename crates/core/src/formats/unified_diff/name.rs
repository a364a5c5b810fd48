//! File names in headers: quotes, time stamps after them, prefixes before them, and the choice between two names.

use crate::formats::line_parser::TextEncoding;

/// One side of a file header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeaderSide {
    /// The name as written; `None` for `/dev/null`.
    pub(super) name: Option<String>,
    /// True if the text after the name indicates that there is no file on this side: the epoch as its time, or svn's
    /// notice.
    pub(super) absent: bool,
}

/// Prefixes that git puts before names: `a/ b/`, and its mnemonics for index, work tree, commit and object.
const GIT_PREFIXES: [u8; 6] = *b"abiwco";

/// Parses the text after `--- ` or `+++ `. The error describes the mistake.
pub(super) fn side(text: &str, encoding: TextEncoding) -> Result<HeaderSide, &'static str> {
    let (name, rest) = if text.starts_with('"') {
        unquote(text, encoding)?
    } else {
        let (name, rest) = unstamped(text);
        (name.to_owned(), rest)
    };
    check(&name)?;
    let absent = is_epoch(rest.trim()) || rest.trim() == "(nonexistent)";
    let name = (name.trim_end() != "/dev/null").then_some(name);
    Ok(HeaderSide { name, absent })
}

/// Refuses names that no file can have.
pub(super) fn check(name: &str) -> Result<(), &'static str> {
    match name {
        _ if name.trim_end().is_empty() => Err("the file name is empty"),
        _ if name.contains('\0') => Err("the file name contains a NUL"),
        _ => Ok(()),
    }
}

/// Splits a name from the text after it: the name ends at a TAB, or before a time stamp or revision. A name with TABs
/// ends at the last one, if a time stamp follows it. git writes a TAB below every name with spaces, so those before it
/// belong to the name; other spaces at the end do not.
fn unstamped(text: &str) -> (&str, &str) {
    if let Some(parts) = text.split_once('\t') {
        return text.rsplit_once('\t').filter(|(_, stamp)| is_stamp(stamp.trim())).unwrap_or(parts);
    }
    let text = text.trim_end();
    let mut end = text.len();
    if text.ends_with(')') {
        let words = [" (revision ", " (working copy)", " (nonexistent)"];
        end = words.iter().find_map(|word| text.rfind(word).filter(|&at| at > 0)).unwrap_or(end);
    }
    if end == text.len() {
        // A time stamp has at least a date and a time; zone and fraction are optional.
        let mut starts = text.match_indices(' ').map(|(at, _)| at).rev().take(8);
        end = starts.find(|at| *at > 0 && is_stamp(text[at + 1..].trim())).unwrap_or(end);
    }
    let (name, rest) = text.split_at(end);
    (name.trim_end(), rest)
}

fn is_stamp(text: &str) -> bool {
    is_date(text) || is_iso_date(text) || is_long_date(text)
}

/// True for a date such as `2024-01-31 12:00:00.000 +0100`.
fn is_date(text: &str) -> bool {
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let date = words.next().is_some_and(|word| shaped(word, "0000-00-00"));
    let time = words.next().is_some_and(is_time);
    let zone = words.next().is_none_or(|word| is_offset(word) || word == "UTC");
    date && time && zone && words.next().is_none()
}

/// True for a date such as `2024-01-31T12:00:00.000Z`.
fn is_iso_date(text: &str) -> bool {
    let Some((date, rest)) = text.split_once('T') else { return false };
    let at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(at);
    shaped(date, "0000-00-00") && is_time(time) && (matches!(zone, "" | "Z") || is_offset(zone))
}

/// True for a time such as `12:00:00`, with or without a fraction.
fn is_time(text: &str) -> bool {
    shaped(text.split('.').next().unwrap_or(text), "00:00:00")
}

/// True for an offset such as `+0100` or `+01:00`.
fn is_offset(text: &str) -> bool {
    text.strip_prefix(['+', '-']).is_some_and(|zone| shaped(zone, "0000") || shaped(zone, "00:00"))
}

/// True for a date such as `Wed Jan 31 12:00:00 2024`.
fn is_long_date(text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).take(7).collect();
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let [day, _, _, time, rest @ ..] = &*words else { return false };
    let year = rest.iter().any(|year| shaped(year, "0000"));
    days.contains(day) && shaped(time, "00:00:00") && year && rest.len() <= 2
}

/// True if the text has digits where the pattern has `0`, and the same characters elsewhere.
fn shaped(text: &str, pattern: &str) -> bool {
    text.len() == pattern.len()
        && text
            .bytes()
            .zip(pattern.bytes())
            .all(|(ch, like)| if like == b'0' { ch.is_ascii_digit() } else { ch == like })
}

/// True for the start of 1970 in any time zone, which diff writes as the time of a missing file.
fn is_epoch(stamp: &str) -> bool {
    let mut words = stamp.split(' ').filter(|word| !word.is_empty());
    let (Some(date), Some(time)) = (words.next(), words.next()) else { return false };
    let zone = words.next().unwrap_or("+0000");
    let Some((hours, rest)) = time.split_once(':') else { return false };
    let Ok(hours) = hours.parse::<i32>() else { return false };
    let rest: String = rest.chars().filter(|ch| !"0:.".contains(*ch)).collect();
    let days = match date {
        "1970-01-01" => 0,
        "1969-12-31" => -24,
        _ => return false,
    };
    let offset = zone.get(..3).and_then(|hours| hours.parse::<i32>().ok()).unwrap_or(0);
    // Zones with half hours affect the minutes; diff writes them, and no real file was changed then.
    rest.chars().all(|ch| ch == '3') && days + hours == offset
}

/// True for a name whose backslash belongs to it: one in quotes, or with the time stamp of a tool, which uses the real
/// name. Any other name may be a Windows path.
pub(super) fn has_own_backslash(text: &str) -> bool {
    let is_stamped = || text.split_once('\t').is_some_and(|(_, stamp)| is_stamp(stamp.trim()));
    text.contains('\\') && (text.contains('"') && text.contains(r"\\") || is_stamped())
}

/// Parses a name in C quotes. Returns the name, and the text after the closing quote. An escaped byte is read in the
/// encoding of the text.
pub(super) fn unquote(text: &str, encoding: TextEncoding) -> Result<(String, &str), &'static str> {
    let open = "the quoted file name has no closing quote";
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix('"').ok_or(open)?.as_bytes();
    loop {
        let (&byte, tail) = rest.split_first().ok_or(open)?;
        rest = tail;
        match byte {
            b'"' => break,
            b'\\' => {
                let (&sign, tail) = rest.split_first().ok_or(open)?;
                let (value, used) = escape(sign, rest).ok_or("the quoted file name has an unknown escape")?;
                match encoding {
                    TextEncoding::Utf8 => bytes.push(value),
                    TextEncoding::Bytes => bytes.extend(char::from(value).to_string().into_bytes()),
                }
                rest = if used == 1 { tail } else { &rest[used..] };
            }
            _ => bytes.push(byte),
        }
    }
    let name = String::from_utf8(bytes).map_err(|_| "the file name is not UTF-8")?;
    Ok((name, &text[text.len() - rest.len()..]))
}

/// Returns the byte that an escape encodes, and the length of the escape without its backslash.
fn escape(sign: u8, text: &[u8]) -> Option<(u8, usize)> {
    match sign {
        b'a' => Some((7, 1)),
        b'b' => Some((8, 1)),
        b't' => Some((b'\t', 1)),
        b'n' => Some((b'\n', 1)),
        b'v' => Some((11, 1)),
        b'f' => Some((12, 1)),
        b'r' => Some((b'\r', 1)),
        b'"' | b'\\' => Some((sign, 1)),
        b'0'..=b'3' => {
            let digits = text.get(..3)?;
            digits
                .iter()
                .try_fold(0_u8, |value, &digit| (b'0'..=b'7').contains(&digit).then(|| value * 8 + (digit - b'0')))
                .map(|value| (value, 3))
        }
        _ => None,
    }
}

/// Returns the two names after `diff --git `; `None` if spaces make them ambiguous.
pub(super) fn git_pair(line: &str, encoding: TextEncoding) -> Option<(String, String)> {
    let text = line.trim_end();
    // Spaces at the end of the line belong to the name if the first name has them, too.
    let pair = equal_names(line).or_else(|| equal_names(text));
    if let Some((old, new)) = pair {
        return Some((old.to_owned(), new.to_owned()));
    }
    let is_bare = || text.len() == line.len();
    if text.starts_with('"') {
        let (old, rest) = unquote(text, encoding).ok()?;
        let rest = rest.strip_prefix(' ')?;
        if rest.starts_with('"') {
            return Some((old, unquote(rest, encoding).ok()?.0));
        }
        return is_bare().then(|| (old, rest.to_owned()));
    }
    if let Some((old, new)) = text.split_once(" \"") {
        let new = &text[text.len() - new.len() - 1..];
        return Some((old.to_owned(), unquote(new, encoding).ok()?.0));
    }
    let (old, new) = text.split_once(' ')?;
    (is_bare() && !new.contains(' ')).then(|| (old.to_owned(), new.to_owned()))
}

/// Splits `a/NAME b/NAME`, whose halves have the same length, whatever spaces the name contains.
fn equal_names(text: &str) -> Option<(&str, &str)> {
    let (old, new) = (text.get(..text.len() / 2)?, text.get(text.len() / 2 + 1..)?);
    let is_pair = text.len() % 2 == 1 && text.as_bytes().get(text.len() / 2) == Some(&b' ');
    let is_same = || without_prefix(old).is_some() && without_prefix(old) == without_prefix(new);
    let is_quoted = text.starts_with('"');
    (is_pair && !is_quoted && (old == new || is_same() || below_trees(old, new).is_some())).then_some((old, new))
}

/// Returns the name without git's prefix, if it has one. A Windows path has a backslash after the prefix.
pub(super) fn without_prefix(name: &str) -> Option<&str> {
    let (prefix, rest) = match name.as_bytes() {
        [prefix, b'/' | b'\\', _, ..] => (*prefix, &name[2..]),
        _ => return None,
    };
    GIT_PREFIXES.contains(&prefix).then_some(rest)
}

/// Strips the first `count` directories; a run of slashes counts as one.
pub(super) fn without_directories(name: &str, count: usize) -> Option<&str> {
    let mut rest = name;
    for _ in 0..count {
        rest = rest.split_once('/')?.1.trim_start_matches('/');
    }
    (!rest.is_empty()).then_some(rest)
}

/// True for two names with different prefixes, as git writes them.
pub(super) fn are_prefixed(old: &str, new: &str) -> bool {
    without_prefix(old).is_some() && without_prefix(new).is_some() && old.as_bytes().first() != new.as_bytes().first()
}

/// Endings of the names of copies.
const COPY_ENDINGS: [&str; 6] = [".orig", ".old", ".bak", ".new", ".mod", "~"];

/// True for the name of a copy of the file `of`: `x.c.new`, `x.c~`.
pub(super) fn is_copy(name: &str, of: &str) -> bool {
    let (name, of) = (without_prefix(name).unwrap_or(name), without_prefix(of).unwrap_or(of));
    name.strip_prefix(of).is_some_and(|ending| COPY_ENDINGS.contains(&ending))
}

/// True if one of the names after `diff --git` differs from the three other names.
pub(super) fn is_outvoted(old: &str, new: &str, git: [&str; 2]) -> bool {
    let [other, first, second] = [new, git[0], git[1]].map(|name| same(Some(old), Some(name)));
    other && first != second
}

/// Returns the name of a file relative to the two directories that were compared (`old-1.0/x`, `new-1.1/x`).
pub(super) fn below_trees(old: &str, new: &str) -> Option<String> {
    if are_prefixed(old, new) {
        return None;
    }
    let ((old_top, old), (new_top, new)) = (old.split_once('/')?, new.split_once('/')?);
    // The prefix may be `dst://`.
    let (old, new) = (old.trim_start_matches('/'), new.trim_start_matches('/'));
    (old == new && old_top != new_top && !new.is_empty()).then(|| new.to_owned())
}

/// Returns the files that two names may refer to, best first: the new name without its prefix, the old one, then both
/// as written. Of a file and its copy, the file comes first.
pub(super) fn candidates(old: Option<&str>, new: Option<&str>) -> Vec<String> {
    // In a single name, only `a/` and `b/` are prefixes; `c/x` is in a directory.
    let mut out: Vec<String> = Vec::new();
    match (old, new) {
        (Some(old), Some(new)) => {
            let (old, new) = if is_copy(new, old) { (new, old) } else { (old, new) };
            let both = without_prefix(old).is_some() && without_prefix(new).is_some();
            let mut rests = [new, old].map(|name| without_prefix(name).unwrap_or(name).to_owned());
            if !both && rests[0] != rests[1] {
                rests = [new, old].map(|name| lone_name(name).unwrap_or_else(|| name.to_owned()));
            }
            let full = [new.to_owned(), old.to_owned()];
            // `a/x` on both sides means a directory `a`, unless that does not exist.
            let directory = both && !are_prefixed(old, new);
            out.extend(if directory { [full, rests] } else { [rests, full] }.into_iter().flatten());
            out.extend(below_trees(old, new));
        }
        (Some(one), None) | (None, Some(one)) => {
            out.extend([lone_name(one).unwrap_or_else(|| one.to_owned()), one.to_owned()]);
        }
        (None, None) => {}
    }
    let mut seen: Vec<String> = Vec::with_capacity(out.len());
    for name in out {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// Returns a single name without `a/` or `b/`.
fn lone_name(name: &str) -> Option<String> {
    name.starts_with(['a', 'b']).then(|| without_prefix(name)).flatten().map(str::to_owned)
}

/// True if a name after `---` or `+++` is the one after `diff --git`.
pub(super) fn same(side: Option<&str>, git: Option<&str>) -> bool {
    side.is_some() && side.map(rest_of_name) == git.map(rest_of_name)
}

/// True if a name in another header is this one, with any prefix.
pub(super) fn is_below(other: &str, name: &str) -> bool {
    let other = other.replace('\\', "/");
    let name = name.replace('\\', "/");
    same(Some(&other), Some(&name)) || other.strip_suffix(&*name).is_some_and(|prefix| prefix.ends_with('/'))
}

/// Returns a name without its prefix.
fn rest_of_name(name: &str) -> &str {
    without_prefix(name).unwrap_or(name)
}

/// True if two lines that look like a file header name one file: `--- a/x`, `+++ b/x`, or `/dev/null` on one side.
pub(super) fn agree(old: &str, new: &str) -> bool {
    let read = |text| side(text, TextEncoding::Utf8);
    let (Ok(old), Ok(new)) = (read(old), read(new)) else { return false };
    match (old.name, new.name) {
        (Some(old), Some(new)) if old == new => !old.contains(' ') && old.contains(['/', '.']),
        (Some(old), Some(new)) => without_prefix(&old).is_some() && without_prefix(&old) == without_prefix(&new),
        (None, None) => false,
        (Some(one), None) | (None, Some(one)) => !one.contains(' '),
    }
}

#[cfg(test)]
mod tests {
    use super::{HeaderSide, TextEncoding, agree, candidates, without_directories};

    fn side(text: &str) -> Result<HeaderSide, &'static str> {
        super::side(text, TextEncoding::Utf8)
    }

    fn name(text: &str) -> String {
        side(text).unwrap().name.unwrap()
    }

    #[test]
    fn names_end_before_timestamps() {
        for (text, expected) in [
            ("a/x.py", "a/x.py"),
            ("a/x.py\t2024-01-31 12:00:00.000000000 +0100", "a/x.py"),
            ("a/x.py 2024-01-31 12:00:00.000000000 +0100", "a/x.py"),
            ("a/x.py   2024-01-31 12:00:00", "a/x.py"),
            ("a/x.py Wed Jan 31 12:00:00 2024", "a/x.py"),
            ("a/x.py Thu Jan  1 12:00:00 UTC 2024", "a/x.py"),
            ("my file.py 2024-01-31 12:00:00 +01:00", "my file.py"),
            ("my file.py 2024-01-31T12:00:00.5Z", "my file.py"),
            ("one\ttab.py\t2024-01-31 12:00:00.000000000 +0100", "one\ttab.py"),
            ("one.py\tbefore\tnow", "one.py"),
            ("x.py\t(revision 12)", "x.py"),
            ("x.py (working copy)", "x.py"),
            ("a/my file.txt", "a/my file.txt"),
            ("a/my file.txt\t", "a/my file.txt"),
            ("b/trail \t", "b/trail "),
            ("b/trail \t2024-01-31 12:00:00", "b/trail "),
            ("b/x ", "b/x"),
            ("a/report 2024-01-31", "a/report 2024-01-31"),
            ("\"a/caf\\303\\251 \\\"q\\\".txt\"", "a/café \"q\".txt"),
            ("\"a/tab\\there\"\t2024-01-31", "a/tab\there"),
        ] {
            assert_eq!(name(text), expected, "{text}");
        }
        assert_eq!(side("/dev/null\t1970-01-01"), Ok(HeaderSide { name: None, absent: false }));
        assert_eq!(side("/dev/null \t").unwrap().name, None);
        for bad in ["", " \t", "\"open", "\"\\9\"", "\"\\377\"", "a\0b", "\"a\\000b\""] {
            assert!(side(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn epoch_timestamp_means_an_absent_file() {
        for stamp in ["1970-01-01 00:00:00.000000000 +0000", "1970-01-01 01:00:00 +0100", "1969-12-31 19:00:00 -0500"] {
            assert!(side(&format!("x\t{stamp}")).unwrap().absent, "{stamp}");
        }
        for stamp in
            ["1970-01-01 00:00:01 +0000", "1970-01-01 05:00:00 +0100", "2024-01-01 00:00:00 +0000", "(revision 1)"]
        {
            assert!(!side(&format!("x\t{stamp}")).unwrap().absent, "{stamp}");
        }
        assert!(side("x\t(nonexistent)").unwrap().absent);
    }

    #[test]
    fn file_precedes_its_copy() {
        for (old, new) in [("x.c", "x.c.new"), ("x.c.orig", "x.c"), ("a/x.c", "b/x.c~"), ("a/x.c.bak", "b/x.c")] {
            assert_eq!(candidates(Some(old), Some(new))[0], "x.c", "{old} {new}");
        }
        assert_eq!(candidates(Some("x.c"), Some("x.cpp"))[0], "x.cpp");
    }

    #[test]
    fn git_name_pairs_are_split() {
        let pair = |text| super::git_pair(text, TextEncoding::Utf8).map(|(old, new)| format!("{old}|{new}"));
        assert_eq!(pair("a/x y b/x y").as_deref(), Some("a/x y|b/x y"));
        assert_eq!(pair("x x").as_deref(), Some("x|x"));
        assert_eq!(pair("a/x b/yy").as_deref(), Some("a/x|b/yy"));
        assert_eq!(pair("\"a/\\303\\251\" b/e").as_deref(), Some("a/é|b/e"));
        assert_eq!(pair("a/e \"b/\\303\\251\"").as_deref(), Some("a/e|b/é"));
        assert_eq!(pair("src://x y dst://x y").as_deref(), Some("src://x y|dst://x y"));
        assert_eq!(pair("a/x y b/z"), None);
        assert_eq!(pair("a/x  b/x ").as_deref(), Some("a/x |b/x "));
        assert_eq!(pair("a/x b/x ").as_deref(), Some("a/x|b/x"));
        assert_eq!(pair("\"a/\\303\\251\" \"b/e\" ").as_deref(), Some("a/é|b/e"));
        // The space may belong to the name.
        assert_eq!((pair("a/x b/y "), pair("\"a/\\303\\251\" b/y ")), (None, None));
    }

    #[test]
    fn escaped_bytes_are_read_in_the_encoding_of_the_text() {
        let quoted = r#""a/\303\274" b"#;
        assert_eq!(super::unquote(quoted, TextEncoding::Utf8), Ok(("a/ü".to_owned(), " b")));
        assert_eq!(super::unquote(quoted, TextEncoding::Bytes), Ok(("a/\u{c3}\u{bc}".to_owned(), " b")));
        assert_eq!(super::unquote("\"\u{c3}\u{bc}\\t\"", TextEncoding::Bytes).unwrap().0, "\u{c3}\u{bc}\t");
        assert_eq!(super::unquote(r#""\377""#, TextEncoding::Bytes).unwrap().0, "\u{ff}");
    }

    #[test]
    fn candidate_names_are_ranked() {
        let of = |old, new| candidates(old, new).join(" ");
        assert_eq!(of(Some("a/x"), Some("b/x")), "x b/x a/x");
        assert_eq!(of(Some("i/x"), Some("w/x")), "x w/x i/x");
        assert_eq!(of(Some("x"), Some("b/x")), "x b/x");
        assert_eq!(of(Some("a/x"), Some("x")), "x a/x");
        assert_eq!(of(Some("a/x"), Some("b/y")), "y x b/y a/x");
        assert_eq!(of(None, Some("b\\x\\y")), "x\\y b\\x\\y");
        assert_eq!(of(Some("a\\x"), Some("b\\x")), "x b\\x a\\x");
        assert_eq!(of(Some("a/x"), Some("a/x")), "a/x x");
        assert_eq!(of(Some("old/x"), Some("new/x")), "new/x old/x x");
        assert_eq!(of(Some("src://x/y"), Some("dst://x/y")), "dst://x/y src://x/y x/y");
        assert_eq!(of(None, Some("b/x")), "x b/x");
        assert_eq!(of(Some("src/x"), None), "src/x");
        assert_eq!(of(None, Some("c/x")), "c/x");
        assert_eq!(of(Some("y"), Some("c/x")), "c/x y");
        assert_eq!(without_directories("a//b/c", 1), Some("b/c"));
        assert_eq!(without_directories("a/b", 2), None);
        assert!(agree("a/x", "b/x") && agree("/dev/null", "b/x") && agree("x.py", "x.py"));
        assert!(!agree("old", "new") && !agree("the end", "the end") && !agree("a/x", "b/y"));
    }
}

//! JSON as tokens with their spans: checked once, then walked without building a tree. There is no recursion, memory is
//! used only for the nesting, and every walk is linear in the part that it visits.

use crate::text::span::Span;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Maximum number of nesting levels of lists and objects.
pub(super) const NESTING_MAX: usize = 512;

/// The reason why a text is not JSON, and the byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonFault {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

/// The tokens that may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedJson {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
    Nothing,
}

/// Checks that a text is one JSON value. `NaN` and `Infinity` are accepted, because Python writes them into outputs.
pub(super) fn check(text: &str) -> Result<(), JsonFault> {
    let bytes = text.as_bytes();
    let (mut open, mut next, mut at) = (Vec::new(), ExpectedJson::Value, 0);
    loop {
        at = skip_whitespace(bytes, at);
        let Some(&byte) = bytes.get(at) else {
            return if next == ExpectedJson::Nothing {
                Ok(())
            } else {
                json_fault(at, "the text ends in the middle of a value")
            };
        };
        let inside = open.last().copied();
        at = match (next, byte) {
            (ExpectedJson::Nothing, _) => return json_fault(at, "something follows the end of the value"),
            (ExpectedJson::ValueOrEnd | ExpectedJson::CommaOrEnd, b']') if inside == Some(b'[') => {
                open.pop();
                at + 1
            }
            (ExpectedJson::KeyOrEnd | ExpectedJson::CommaOrEnd, b'}') if inside == Some(b'{') => {
                open.pop();
                at + 1
            }
            (ExpectedJson::CommaOrEnd, b',') => {
                next = if inside == Some(b'{') { ExpectedJson::Key } else { ExpectedJson::Value };
                at += 1;
                continue;
            }
            (ExpectedJson::CommaOrEnd, _) => {
                return json_fault(at, "a comma or the end of the list or object is missing");
            }
            (ExpectedJson::Key | ExpectedJson::KeyOrEnd, b'"') => {
                let colon = skip_whitespace(bytes, string(bytes, at)?);
                if bytes.get(colon) != Some(&b':') {
                    return json_fault(colon, "a colon is missing");
                }
                next = ExpectedJson::Value;
                at = colon + 1;
                continue;
            }
            (ExpectedJson::Key | ExpectedJson::KeyOrEnd, _) => {
                return json_fault(at, "the name of a member is missing");
            }
            (ExpectedJson::Value | ExpectedJson::ValueOrEnd, b'{' | b'[') => {
                if open.len() == NESTING_MAX {
                    return json_fault(at, "lists and objects are nested too deep");
                }
                open.push(byte);
                next = if byte == b'{' { ExpectedJson::KeyOrEnd } else { ExpectedJson::ValueOrEnd };
                at += 1;
                continue;
            }
            (ExpectedJson::Value | ExpectedJson::ValueOrEnd, b'"') => string(bytes, at)?,
            (ExpectedJson::Value | ExpectedJson::ValueOrEnd, _) => plain(bytes, at)?,
        };
        next = if open.is_empty() { ExpectedJson::Nothing } else { ExpectedJson::CommaOrEnd };
    }
}

/// Returns a fault at an offset.
fn json_fault<T>(at: usize, what: &'static str) -> Result<T, JsonFault> {
    Err(JsonFault { at, what })
}

pub(super) fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Returns the end of the string that begins at `at`.
fn string(bytes: &[u8], at: usize) -> Result<usize, JsonFault> {
    let mut end = at + 1;
    loop {
        match bytes.get(end) {
            Some(b'"') => return Ok(end + 1),
            Some(b'\\') => {
                let digits = bytes.get(end + 2..end + 6);
                end += match bytes.get(end + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                    Some(b'u') if digits.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => 6,
                    _ => return Err(JsonFault { at: end, what: "this is not an escape of JSON" }),
                };
            }
            Some(0..0x20) => {
                return Err(JsonFault { at: end, what: "a string contains a control character or never ends" });
            }
            Some(_) => end += 1,
            None => return Err(JsonFault { at, what: "a string never ends" }),
        }
    }
}

/// Returns the end of the number or word that begins at `at`.
fn plain(bytes: &[u8], at: usize) -> Result<usize, JsonFault> {
    for word in ["true", "false", "null", "NaN", "Infinity", "-Infinity"] {
        if bytes[at..].starts_with(word.as_bytes()) {
            return Ok(at + word.len());
        }
    }
    let fault = Err(JsonFault { at, what: "this is not a value of JSON" });
    let mut end = at + usize::from(bytes.get(at) == Some(&b'-'));
    match count_digits(bytes, end) {
        0 => return fault,
        several if several > 1 && bytes.get(end) == Some(&b'0') => return fault,
        several => end += several,
    }
    if bytes.get(end) == Some(&b'.') {
        match count_digits(bytes, end + 1) {
            0 => return fault,
            several => end += 1 + several,
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        match count_digits(bytes, end + 1 + sign) {
            0 => return fault,
            several => end += 1 + sign + several,
        }
    }
    Ok(end)
}

/// Counts the digits from an offset on.
fn count_digits(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Returns the end of the value that begins at `at` of a checked text.
fn value_end(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut end) = (0usize, at);
    loop {
        match bytes.get(end) {
            None => return bytes.len(),
            Some(b'"') => end = string(bytes, end).unwrap_or(bytes.len()),
            Some(b'{' | b'[') => {
                depth += 1;
                end += 1;
            }
            Some(b'}' | b']') => {
                depth = depth.saturating_sub(1);
                end += 1;
            }
            Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') => end += 1,
            Some(_) => {
                end += bytes[end..]
                    .iter()
                    .position(|byte| matches!(byte, b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r'))
                    .unwrap_or(bytes.len() - end);
            }
        }
        if depth == 0 {
            return end;
        }
    }
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonMember {
    pub(super) key: Span,
    pub(super) value: Span,
}

/// Returns the members of the object at `span` of a checked text; none if it is not an object.
pub(super) fn members(text: &str, span: Span) -> impl Iterator<Item = JsonMember> {
    let bytes = &text.as_bytes()[..span.end()];
    let mut at = if bytes.get(span.start()) == Some(&b'{') { span.start() + 1 } else { span.end() };
    core::iter::from_fn(move || {
        let start = skip_whitespace(bytes, at);
        (bytes.get(start) == Some(&b'"')).then_some(())?;
        let key = Span::new(start, value_end(bytes, start));
        let start = skip_whitespace(bytes, skip_whitespace(bytes, key.end()) + 1);
        let value = Span::new(start.min(bytes.len()), value_end(bytes, start));
        at = skip_whitespace(bytes, value.end()) + 1;
        Some(JsonMember { key, value })
    })
}

/// Returns the items of the list at `span` of a checked text; none if it is not a list.
pub(super) fn items(text: &str, span: Span) -> impl Iterator<Item = Span> {
    let bytes = &text.as_bytes()[..span.end()];
    let mut at = if bytes.get(span.start()) == Some(&b'[') { span.start() + 1 } else { span.end() };
    core::iter::from_fn(move || {
        let start = skip_whitespace(bytes, at);
        bytes.get(start).filter(|&&byte| byte != b']')?;
        let item = Span::new(start, value_end(bytes, start));
        at = skip_whitespace(bytes, item.end()) + 1;
        Some(item)
    })
}

/// Decodes the string at `span`; unpaired surrogates become U+FFFD. `None` if it is not a string.
pub(super) fn string_value(text: &str, span: Span) -> Option<Cow<'_, str>> {
    let inner = text[span.range()].strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.push_str(plain);
        let Some(sign) = escaped.chars().next() else { break };
        rest = &escaped[sign.len_utf8()..];
        match sign {
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => {
                let (char, length) = escaped_char(rest);
                out.push(char);
                rest = rest.get(length..).unwrap_or_default();
            }
            other => out.push(other),
        }
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

/// Decodes the `\u` escapes of one character. Returns the character and the number of bytes read.
fn escaped_char(text: &str) -> (char, usize) {
    let high = unit_at(text, 0).unwrap_or(0xFFFD);
    if let Some(char) = char::from_u32(u32::from(high)) {
        return (char, 4);
    }
    let low = text.get(4..6).filter(|sign| *sign == "\\u").and_then(|_| unit_at(text, 6));
    let pair = low.and_then(|low| char::decode_utf16([high, low]).next()?.ok());
    pair.map_or((char::REPLACEMENT_CHARACTER, 4), |char| (char, 10))
}

/// Reads the UTF-16 unit of an escape.
fn unit_at(text: &str, at: usize) -> Option<u16> {
    text.get(at..at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok())
}

/// Decodes a string, or a list of strings to be concatenated; reads at most `most` bytes of it. `None` for anything
/// else.
pub(super) fn joined_strings(text: &str, span: Span, most: usize) -> Option<String> {
    if let Some(one) = string_value(text, span) {
        return Some(one.into_owned());
    }
    (text.as_bytes().get(span.start()) == Some(&b'[')).then_some(())?;
    let mut out = String::new();
    for item in items(text, span) {
        out.push_str(&string_value(text, item)?);
        if out.len() > most {
            break;
        }
    }
    Some(out)
}

/// Appends a string as JSON, escaped as the writers of Python and JavaScript do it; with `ascii`, all other non-ASCII
/// characters are escaped as well.
pub(super) fn quote(out: &mut String, text: &str, ascii: bool) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            char if u32::from(char) < 0x20 || (ascii && !char.is_ascii()) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            char => out.push(char),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::{NESTING_MAX, check, items, joined_strings, members, quote, string_value};
    use crate::text::span::Span;
    use proptest::prelude::*;

    fn all(text: &str) -> Span {
        let start = text.len() - text.trim_start().len();
        Span::new(start, text.trim_end().len())
    }

    #[test]
    fn valid_json_passes_and_errors_have_a_position() {
        for good in
            ["{}", " [1, -0.5e+3, {\"a\": [null, true]}, \"\\u00e9\\n\"]\n", "\"x\"", "NaN", "[Infinity,-Infinity]"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, at) in [
            ("", 0),
            ("{", 1),
            ("[1,]", 3),
            ("{\"a\" 1}", 5),
            ("[01]", 1),
            ("\"a\nb\"", 2),
            ("[1] x", 4),
            ("{\"a\":1,}", 7),
            ("[1}", 2),
            ("\"\\x\"", 1),
            ("\"\\u12g4\"", 1),
            ("[1.]", 1),
            ("[nul]", 1),
            ("{1:2}", 1),
            ("[1 2]", 3),
            ("[}", 1),
        ] {
            assert_eq!(check(bad).unwrap_err().at, at, "{bad}");
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(check(&deep(NESTING_MAX)).is_ok() && check(&deep(NESTING_MAX + 1)).is_err());
    }

    #[test]
    fn members_are_located() {
        let text = " {\"a\" : [1 , {\"b\":2}, \"],\"] ,\n\"\\u0062\":-1e5}\n";
        let found: Vec<_> = members(text, all(text)).collect();
        let pairs: Vec<_> =
            found.iter().map(|it| (string_value(text, it.key).unwrap(), &text[it.value.range()])).collect();
        assert_eq!(pairs, [("a".into(), "[1 , {\"b\":2}, \"],\"]"), ("b".into(), "-1e5")]);
        let list: Vec<_> = items(text, found[0].value).map(|it| &text[it.range()]).collect();
        assert_eq!(list, ["1", "{\"b\":2}", "\"],\""]);
        assert_eq!(members("[]", Span::new(0, 2)).count() + items("[ ]", Span::new(0, 3)).count(), 0);
        assert_eq!(joined_strings("[\"a\\n\", \"b\"]", Span::new(0, 12), 99).unwrap(), "a\nb");
        assert_eq!(joined_strings("[\"a\", 1]", Span::new(0, 8), 99), None);
    }

    #[test]
    fn surrogates_are_decoded() {
        let of = |text: &str| string_value(text, Span::new(0, text.len())).unwrap().into_owned();
        assert_eq!(of(r#""\ud83d\ude00 \ud83d \ude00""#), "😀 \u{FFFD} \u{FFFD}");
        let mut out = String::new();
        quote(&mut out, "é😀\u{1b}\u{7f}", true);
        assert_eq!(out, "\"\\u00e9\\ud83d\\ude00\\u001b\u{7f}\"");
    }

    proptest! {
        #[test]
        fn strings_round_trip(text in any::<String>(), ascii: bool) {
            let mut out = String::new();
            quote(&mut out, &text, ascii);
            prop_assert_eq!(check(&out), Ok(()));
            prop_assert_eq!(string_value(&out, Span::new(0, out.len())).unwrap(), text);
            prop_assert!(!ascii || out.is_ascii());
        }

        /// The parser accepts everything that serde_json accepts, and beyond that only Python's notation.
        #[test]
        fn agrees_with_serde(text in r#"([\[\]{},:"0-9a-z .\\-]|"a"|null|true|\n|"b":|\[1\]){0,12}"#) {
            let ours = check(&text).is_ok();
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(ours, theirs, "{}", text);
            let _ = members(&text, Span::new(0, text.len())).count() + items(&text, Span::new(0, text.len())).count();
        }
    }
}

//! Tier 9: one level of escaping too many, then HTML entities.
//!
//! The raw text was not found; the decoded text must occur literally and only once. The new text is decoded for the
//! classes of escapes that occur in the old text; a class that occurs only in the new text is refused.

use super::exact;
use crate::locate::find::match_site::CandidateSites;
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::MatchSearch;
use crate::text::span::Span;
use crate::work;
use memchr::{memchr, memchr2};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

/// An escaping scheme.
struct EscapeScheme {
    name: &'static str,
    /// The character that begins an escape.
    lead: u8,
    /// The text after the lead, and the character that it encodes.
    rows: &'static [(&'static str, &'static str)],
}

static ESCAPE_SCHEMES: [EscapeScheme; 2] = [
    EscapeScheme {
        name: "backslash escapes",
        lead: b'\\',
        rows: &[
            ("n", "\n"),
            ("t", "\t"),
            ("r", "\r"),
            ("\"", "\""),
            ("'", "'"),
            ("`", "`"),
            ("\\", "\\"),
            ("$", "$"),
            ("/", "/"),
        ],
    },
    EscapeScheme {
        name: "HTML entities",
        lead: b'&',
        rows: &[
            ("lt;", "<"),
            ("gt;", ">"),
            ("amp;", "&"),
            ("quot;", "\""),
            ("apos;", "'"),
            ("#39;", "'"),
            ("#x27;", "'"),
            ("#34;", "\""),
            ("#x22;", "\""),
            ("#38;", "&"),
            ("#x26;", "&"),
            ("#60;", "<"),
            ("#x3C;", "<"),
            ("#x3c;", "<"),
            ("#62;", ">"),
            ("#x3E;", ">"),
            ("#x3e;", ">"),
            ("#x2F;", "/"),
            ("#x2f;", "/"),
            ("#96;", "`"),
            ("#x60;", "`"),
        ],
    },
];

pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
    for code in &ESCAPE_SCHEMES {
        let seen = code.classes(&search.find.old);
        // If line ends and tabs are part of string literals, only the quotes may be over-escaped.
        let quotes: BTreeSet<&str> =
            seen.iter().copied().filter(|class| !["n", "t", "r", "\\"].contains(class)).collect();
        let mut sets = vec![seen.clone()];
        if !quotes.is_empty() && quotes != seen {
            sets.push(quotes);
        }
        for set in sets.iter().filter(|set| !set.is_empty()) {
            let spans = exact::occurrences(
                search.text,
                &code.decoded(&search.find.old, set),
                exact::search_limit(search.find.expected),
            );
            if spans.is_empty() {
                continue;
            }
            if let Some(other) = code.classes(search.new).difference(&seen).next() {
                let why = format!(
                    "The old text is there with its {} decoded, but the new text also has `{}{other}`, for which the old text gives no evidence.",
                    code.name,
                    char::from(code.lead),
                );
                return Err(MatchRefusal::new(RefusalReason::Unrepaired, why));
            }
            return Ok(exact::literal(spans, &Cow::Owned(code.decoded(search.new, set))));
        }
    }
    Ok(CandidateSites::default())
}

/// Returns the text between the escapes: it is found literally wherever the decoded text is found. `None` for a text
/// without escapes, and once the work has to end.
pub(in crate::locate::find) fn plain_parts(text: &str) -> Option<Vec<&str>> {
    let (mut out, mut from) = (Vec::new(), 0);
    let [backslash, entity] = &ESCAPE_SCHEMES;
    let find = |rest: &str| memchr2(backslash.lead, entity.lead, rest.as_bytes());
    let scheme = |lead: u8| if lead == backslash.lead { backslash } else { entity };
    for escape in escapes(text, find, scheme) {
        if let Some((name, _)) = escape.row {
            out.push(&text[from..escape.at]);
            from = escape.at + 1 + name.len();
        }
    }
    out.push(&text[from..]);
    (out.len() > 1).then_some(out)
}

/// A text whose HTML entities were decoded.
pub(crate) struct EncodedText<'a> {
    /// The text without entities.
    pub(crate) decoded: String,
    /// A line that is one of the file only without entities.
    pub(crate) example: &'a str,
}

/// Decodes the entities of a new text of a file that has none itself; `None` unless a line of the file has a character
/// that all lines of the new text have only as an entity.
pub(crate) fn without_entities<'a>(now: &str, new: &'a str) -> Option<EncodedText<'a>> {
    let [_, entities] = &ESCAPE_SCHEMES;
    memchr(entities.lead, new.as_bytes())?;
    let classes = entities.classes(new);
    if classes.is_empty() || !entities.classes(now).is_empty() || new.contains('<') {
        return None;
    }
    let old: HashSet<&str> = work::lines(now).map(str::trim_end).collect();
    let is_encoded = |line: &&str| {
        let plain = entities.decoded(line, &classes);
        plain != **line && old.contains(plain.trim_end())
    };
    let example = work::lines(new).find(is_encoded)?;
    Some(EncodedText { decoded: entities.decoded(new, &classes), example })
}

/// Escapes that a call has by mistake, by scheme: old texts have them where the file has the characters themselves.
#[derive(Default)]
pub(crate) struct ProvenEscapes([BTreeSet<&'static str>; 2]);

/// An escape that a call has by mistake.
pub(crate) struct ProvenEscape {
    /// The escape as it was sent.
    pub(crate) sent: String,
    /// The character that it encodes.
    pub(crate) plain: &'static str,
}

impl ProvenEscapes {
    /// Adds the escapes of an old text that the text found for it does not have.
    pub(crate) fn add(&mut self, old: &str, found: &str) {
        for (proven, scheme) in self.0.iter_mut().zip(&ESCAPE_SCHEMES) {
            proven.extend(&scheme.classes(old) - &scheme.classes(found));
        }
    }

    /// Returns such an escape in a new text, unless `old`, a text of the file, has it as well, or one of the texts has
    /// the character itself.
    pub(crate) fn within(&self, old: &str, new: &str) -> Option<ProvenEscape> {
        self.0.iter().zip(&ESCAPE_SCHEMES).find_map(|(proven, scheme)| {
            let sent = &(proven & &scheme.classes(new)) - &scheme.classes(old);
            let raw = if sent.is_empty() { String::new() } else { scheme.without_escapes(&[old, new].concat()) };
            let mut rows = scheme.rows.iter().filter(|(name, plain)| sent.contains(name) && !raw.contains(plain));
            let &(name, plain) = rows.next()?;
            Some(ProvenEscape { sent: format!("{}{name}", char::from(scheme.lead)), plain })
        })
    }
}

/// Returns the refusal of a new text with an escape that the old text has by mistake: the file does not have it there.
/// Such a place is found by its likeness, so nothing is decoded.
pub(in crate::locate::find) fn kept_escape(search: &MatchSearch<'_>, place: Span) -> Option<MatchRefusal> {
    let mut proven = ProvenEscapes::default();
    proven.add(&search.find.old, &search.text[place.range()]);
    let ProvenEscape { sent, plain } = proven.within("", search.new)?;
    let why =
        format!("The old text has `{sent}` where the file has `{plain}`, and the new text would be written with it.");
    Some(MatchRefusal::new(RefusalReason::Unrepaired, why))
}

/// Returns a text with its backslash escapes decoded.
pub(in crate::locate::find) fn without_backslashes(text: &str) -> String {
    let [backslash, _] = &ESCAPE_SCHEMES;
    backslash.decoded(text, &backslash.classes(text))
}

/// A text with its Unicode escapes decoded.
pub(in crate::locate::find) struct UnicodeText<'a> {
    pub(in crate::locate::find) text: String,
    /// The first escape.
    pub(in crate::locate::find) first: &'a str,
}

/// Decodes `\u00e9`, `\u{e9}`, `\U000000e9` and `\xe9`, and pairs of surrogates; `None` for a text without any.
pub(in crate::locate::find) fn without_unicode(text: &str) -> Option<UnicodeText<'_>> {
    let (mut out, mut from, mut first) = (String::new(), 0, None);
    for at in memchr::memchr_iter(b'\\', text.as_bytes()) {
        let Some((ch, length)) = unicode_escape(&text[at..]).filter(|_| at >= from) else { continue };
        out.push_str(&text[from..at]);
        out.push(ch);
        from = at + length;
        first.get_or_insert(&text[at..from]);
    }
    out.push_str(&text[from..]);
    first.map(|first| UnicodeText { text: out, first })
}

/// Returns the character of the escape at the start of a text, and the number of bytes of the escape.
fn unicode_escape(text: &str) -> Option<(char, usize)> {
    let (code, length) = code_unit(text)?;
    let low = code_unit(&text[length..]).filter(|(low, _)| (0xDC00..0xE000).contains(low));
    match (code, low) {
        (0xD800..0xDC00, Some((low, more))) => {
            let ch = char::from_u32(0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00))?;
            Some((ch, length + more))
        }
        _ => char::from_u32(code).filter(|ch| !ch.is_control()).map(|ch| (ch, length)),
    }
}

/// Returns the number of the escape at the start of a text, and the number of bytes of the escape.
fn code_unit(text: &str) -> Option<(u32, usize)> {
    let (digits, length) = match text.as_bytes().get(1)? {
        b'u' if text[2..].starts_with('{') => {
            let digits = text[3..].split_once('}')?.0;
            (digits, digits.len() + 4)
        }
        b'u' => (text.get(2..6)?, 6),
        b'U' => (text.get(2..10)?, 10),
        b'x' => (text.get(2..4)?, 4),
        _ => return None,
    };
    let is_hex = (1..=8).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((u32::from_str_radix(digits, 16).ok().filter(|_| is_hex && text.starts_with('\\'))?, length))
}

/// A character that may begin an escape.
struct EscapeLead {
    at: usize,
    /// The escape; `None` if the character represents itself.
    row: Option<&'static (&'static str, &'static str)>,
}

/// Returns the characters of a text that `find` finds, except for those inside escapes. Counts as work, and ends early
/// if the work has to end.
fn escapes(
    text: &str,
    find: impl Fn(&str) -> Option<usize>,
    scheme: impl Fn(u8) -> &'static EscapeScheme,
) -> impl Iterator<Item = EscapeLead> {
    let mut from = 0;
    let all = std::iter::from_fn(move || {
        let at = from + find(&text[from..])?;
        let row = scheme(text.as_bytes()[at]).row(&text[at + 1..]);
        from = at + 1 + row.map_or(0, |(name, _)| name.len());
        Some(EscapeLead { at, row })
    });
    work::batched(all)
}

impl EscapeScheme {
    /// Returns the row of the escape whose lead precedes `rest`.
    fn row(&self, rest: &str) -> Option<&'static (&'static str, &'static str)> {
        self.rows.iter().find(|(name, _)| rest.starts_with(name))
    }

    /// Returns the escapes of this scheme in a text.
    fn escapes(&'static self, text: &str) -> impl Iterator<Item = EscapeLead> {
        escapes(text, |rest| memchr(self.lead, rest.as_bytes()), move |_| self)
    }

    /// Returns the classes of escapes in a text.
    fn classes(&'static self, text: &str) -> BTreeSet<&'static str> {
        let mut classes = BTreeSet::new();
        // Classes are inserted one by one, because collecting a set would sort the whole list.
        classes.extend(self.escapes(text).filter_map(|escape| Some(escape.row?.0)));
        classes
    }

    /// Returns a text without its escapes.
    fn without_escapes(&'static self, text: &str) -> String {
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for EscapeLead { at, row } in self.escapes(text) {
            if let Some((name, _)) = row {
                out.push_str(&text[from..at]);
                from = at + 1 + name.len();
            }
        }
        out.push_str(&text[from..]);
        out
    }

    /// Decodes these classes of escapes.
    fn decoded(&'static self, text: &str, classes: &BTreeSet<&str>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for EscapeLead { at, row } in self.escapes(text) {
            if let Some((name, plain)) = row.filter(|(name, _)| classes.contains(name)) {
                out.push_str(&text[from..at]);
                out.push_str(plain);
                from = at + 1 + name.len();
            }
        }
        out.push_str(&text[from..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{ESCAPE_SCHEMES, plain_parts};
    use crate::locate::find::testing::{edit, refuse};
    use crate::work::{self, Meter};
    use std::sync::Arc;

    #[test]
    fn extra_level_of_escapes_is_removed() {
        assert_eq!(
            edit(
                "console.log(\"Hello World\");\nend();\n",
                r#"console.log(\"Hello World\");"#,
                r#"console.log(\"Hello there\");"#
            ),
            "console.log(\"Hello there\");\nend();\n"
        );
        assert_eq!(
            edit("first_one();\n\tsecond();\n", r"first_one();\n\tsecond();", r"first_one();\n\tthird();"),
            "first_one();\n\tthird();\n"
        );
        assert_eq!(edit("printf(\"a\\n\");\n", r#"printf(\"a\n\");"#, r#"printf(\"b\n\");"#), "printf(\"b\\n\");\n");
    }

    #[test]
    fn html_entities_are_decoded() {
        assert_eq!(
            edit("if (a && b < c) {\n", "if (a &amp;&amp; b &lt; c) {", "if (a &amp;&amp; b &lt; d) {"),
            "if (a && b < d) {\n"
        );
        for quote in ["apos", "#39", "#x27"] {
            let old = format!("say(&#34;it&{quote};s one&quot;)");
            assert_eq!(edit("say(\"it's one\")\n", &old, &old.replace("one", "two")), "say(\"it's two\")\n");
        }
    }

    #[test]
    fn escapes_count_as_work() {
        let text = "\\\\n\\\"&lt;".repeat(20_000);
        for (limit, ends) in [(1_000_000, false), (10_000, true)] {
            let meter = Meter::new(limit, Arc::default());
            let _entered = meter.enter();
            let parts = plain_parts(&text).map_or(0, |parts| parts.len());
            assert_eq!(parts == 60_001, !ends);
            for code in &ESCAPE_SCHEMES {
                let classes = code.classes(&text);
                assert_eq!(text.len() - code.decoded(&text, &classes).len() >= 40_000, !ends);
            }
            assert_eq!(work::check().is_err(), ends);
        }
    }

    #[test]
    fn ambiguous_escapes_are_refused_or_literal() {
        refuse("p(\"abc\")\n", r#"p(\"abc\")"#, r#"p(\"abc\n\")"#);
        refuse("p(\"abcd\")\np(\"abcd\")\n", r#"p(\"abcd\")"#, r#"p(\"b\")"#);
        // If text occurs literally, a backslash is data.
        assert_eq!(edit("\\title{Old}\n", r"\title{Old}", r"\title{New}"), "\\title{New}\n");
    }
}

//! Tier 9: one level of escaping too many, then HTML entities.
//!
//! The raw text was not found; the decoded text is literal and unique. New is decoded for the classes of escapes that
//! occur in old; a class that only new has is refused.

use super::exact;
use crate::locate::find::match_site::CandidateSites;
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::search::MatchSearch;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// An escaping scheme.
struct EscapeScheme {
    name: &'static str,
    /// The character that begins an escape.
    lead: char,
    /// The text after the lead, and the character it encodes.
    rows: &'static [(&'static str, &'static str)],
}

static ESCAPE_SCHEMES: [EscapeScheme; 2] = [
    EscapeScheme {
        name: "backslash escapes",
        lead: '\\',
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
        lead: '&',
        rows: &[("lt;", "<"), ("gt;", ">"), ("amp;", "&"), ("quot;", "\""), ("apos;", "'"), ("#39;", "'")],
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
            let spans = exact::places(
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
                    code.name, code.lead
                );
                return Err(MatchRefusal::new(RefusalReason::Unrepaired, why));
            }
            return Ok(exact::literal(spans, &Cow::Owned(code.decoded(search.new, set))));
        }
    }
    Ok(CandidateSites::default())
}

/// Returns the text between the escapes: it is found literally wherever the decoded text is found. `None` for a text
/// without escapes.
pub(in crate::locate::find) fn plain_parts(text: &str) -> Option<Vec<&str>> {
    let (mut out, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some((lead, ch)) =
        text[at..].char_indices().find(|(_, ch)| ESCAPE_SCHEMES.iter().any(|code| code.lead == *ch))
    {
        let behind = at + lead + ch.len_utf8();
        at = behind;
        let row = ESCAPE_SCHEMES.iter().filter(|code| code.lead == ch).find_map(|code| code.row(&text[behind..]));
        if let Some((name, _)) = row {
            out.push(&text[from..at - ch.len_utf8()]);
            at = behind + name.len();
            from = at;
        }
    }
    out.push(&text[from..]);
    (out.len() > 1).then_some(out)
}

impl EscapeScheme {
    /// Returns the row of the escape after a lead.
    fn row(&self, rest: &str) -> Option<&'static (&'static str, &'static str)> {
        self.rows.iter().find(|(name, _)| rest.starts_with(name))
    }

    /// Returns the classes of escapes in a text.
    fn classes(&self, text: &str) -> BTreeSet<&'static str> {
        let mut out = BTreeSet::new();
        let mut rest = text;
        while let Some(at) = rest.find(self.lead) {
            rest = &rest[at + self.lead.len_utf8()..];
            if let Some((name, _)) = self.row(rest) {
                out.insert(*name);
                rest = &rest[name.len()..];
            }
        }
        out
    }

    /// Decodes these classes of escapes.
    fn decoded(&self, text: &str, classes: &BTreeSet<&str>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(self.lead) {
            out.push_str(&rest[..at]);
            let behind = &rest[at + self.lead.len_utf8()..];
            let Some((name, plain)) = self.row(behind) else {
                out.push(self.lead);
                rest = behind;
                continue;
            };
            let kept = &rest[at..at + self.lead.len_utf8() + name.len()];
            out.push_str(if classes.contains(name) { plain } else { kept });
            rest = &behind[name.len()..];
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

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
    }

    #[test]
    fn ambiguous_escapes_are_refused_or_literal() {
        refuse("p(\"abc\")\n", r#"p(\"abc\")"#, r#"p(\"abc\n\")"#);
        refuse("p(\"abcd\")\np(\"abcd\")\n", r#"p(\"abcd\")"#, r#"p(\"b\")"#);
        // In text that occurs literally, a backslash is data.
        assert_eq!(edit("\\title{Old}\n", r"\title{Old}", r"\title{New}"), "\\title{New}\n");
    }
}

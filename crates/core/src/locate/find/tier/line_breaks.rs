//! Third part of tier 6: line breaks between tokens, which another formatter may have placed elsewhere.
//!
//! It is tried after all other tiers. All characters except whitespace occur in order at one place only, whitespace in
//! quotes is the same, no two words or operators are joined or split, and there is no comment, which would end with its
//! line. A comma before a bracket on the next line may be missing. Only the tokens that differ between the old and the
//! new text are written, and only if no line is added and there is still no comment: the place and the indentation of
//! another line would be a guess.

use super::layout;
use crate::locate::find::TextEdit;
use crate::locate::find::match_site::{CandidateSites, MatchSite, SitePlan};
use crate::locate::find::search::MatchSearch;
use crate::locate::op::ExpectedMatches;
use crate::text::diff;
use crate::text::span::Span;
use crate::work::{self, STEP_BYTES};
use core::cmp::Reverse;
use memchr::memmem;

/// Minimum number of letters and digits of the old text.
const ALNUM_MIN: usize = 12;
/// Maximum bytes of the file, and of the old text.
const FILE_BYTES_MAX: usize = 4 << 20;
const OLD_BYTES_MAX: usize = 64 << 10;
/// Maximum number of words of the old text that are searched for, the longest first.
const EXAMINED_WORDS_MAX: usize = 40;
/// Maximum number of places that are compared.
const PLACES_MAX: usize = 100;
/// Characters of operators, which whitespace may split.
const OPERATORS: &str = "+-*/=<>&|!:.?%^~@$\\";

/// Returns the places of an edit.
pub(in crate::locate::find) fn run<'a>(search: &MatchSearch<'a>) -> CandidateSites<'a> {
    let old = search.find.old.trim();
    let [outer_old, outer_new] = [&*search.find.old, search.new].map(|text| outer_whitespace(text).map(without_breaks));
    let is_open = (outer_old == outer_new || search.new.trim().is_empty())
        && search.find.expected == ExpectedMatches::Unique
        && !search.find.lines
        && search.pattern.alnum(ALNUM_MIN) >= ALNUM_MIN
        && search.text.len() <= FILE_BYTES_MAX
        && old.len() <= OLD_BYTES_MAX;
    let places = if is_open { only_site(search, old) } else { Vec::new() };
    CandidateSites { places, number: None, fitted: false }
}

fn only_site<'a>(search: &MatchSearch<'a>, old: &str) -> Vec<MatchSite<'a>> {
    let text = search.text;
    // A search for the words costs less than a copy of the file, which takes a step of work for each byte.
    let mut words: Vec<&str> = old.split(|ch: char| !is_word(ch)).filter(|word| !word.is_empty()).collect();
    words.sort_unstable_by_key(|word| (Reverse(word.len()), *word));
    words.dedup();
    let is_there = |word: &&str| {
        !work::spend_or_end(1 + text.len() / STEP_BYTES) && memmem::find(text.as_bytes(), word.as_bytes()).is_some()
    };
    if !words.iter().take(EXAMINED_WORDS_MAX).all(is_there) || work::spend_or_end(1 + text.len()) {
        return Vec::new();
    }
    let (file, wanted) = (BareText::new(text), BareText::new(old));
    let mut found = memmem::find_iter(&file.bytes, &wanted.bytes).take(PLACES_MAX + 1);
    let (Some(at), None) = (found.next(), found.next()) else { return Vec::new() };
    let span = Span::new(file.at(at), file.at(at + wanted.bytes.len() - 1) + 1);
    let is_whole = [span.start(), span.end()].into_iter().all(|at| is_border(text, at));
    let found = &text[span.range()];
    if !is_whole || !are_same_tokens(found, old) || !layout::are_equal(found, old) {
        return Vec::new();
    }
    let Some(edit) = edit(text, &file.from[at..at + wanted.bytes.len()], &wanted, old, search.new.trim()) else {
        return Vec::new();
    };
    vec![MatchSite { span, plan: SitePlan::Ready(vec![edit]) }]
}

/// A text without whitespace, and without commas before a bracket on a line below.
struct BareText {
    bytes: Vec<u8>,
    /// The offset of each byte in the original text.
    from: Vec<u32>,
}

impl BareText {
    fn new(text: &str) -> BareText {
        let (mut bytes, mut from) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
        for (at, ch) in text.char_indices() {
            if !(ch.is_whitespace() || ch == ',' && is_trailing_comma(&text[at + 1..])) {
                bytes.extend_from_slice(&text.as_bytes()[at..at + ch.len_utf8()]);
                from.extend((at..at + ch.len_utf8()).filter_map(|at| u32::try_from(at).ok()));
            }
        }
        BareText { bytes, from }
    }

    /// Returns the offset of a byte in the original text.
    fn at(&self, byte: usize) -> usize {
        self.from[byte] as usize
    }
}

/// True if a comma is followed by a bracket that closes the list on another line.
fn is_trailing_comma(rest: &str) -> bool {
    /// Maximum number of spaces and tabs after a comma that are examined.
    const BLANKS_MAX: usize = 200;
    let mut has_line_end = false;
    for ch in rest.chars().take(BLANKS_MAX) {
        match ch {
            '\n' => has_line_end = true,
            ch if ch.is_whitespace() => {}
            ch => return has_line_end && ")]}".contains(ch),
        }
    }
    false
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

/// True if an offset in a text is not inside a word.
fn is_border(text: &str, at: usize) -> bool {
    let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
    !(before.is_some_and(is_word) && after.is_some_and(is_word))
}

/// True for two texts with the same characters except for whitespace, if the whitespace separates the same tokens in
/// both.
fn are_same_tokens(file: &str, old: &str) -> bool {
    let (mut file, mut old) = (file, old);
    let (mut last, mut quote) = (' ', None);
    loop {
        let (gap_file, gap_old) = (leading_whitespace(file), leading_whitespace(old));
        (file, old) = (&file[gap_file.len()..], &old[gap_old.len()..]);
        if file.starts_with(',') && is_trailing_comma(&file[1..]) && !old.starts_with(',') && quote.is_none() {
            file = &file[1..];
            continue;
        }
        if old.starts_with(',') && is_trailing_comma(&old[1..]) && !file.starts_with(',') && quote.is_none() {
            old = &old[1..];
            continue;
        }
        let (Some(ch), Some(same)) = (file.chars().next(), old.chars().next()) else {
            return file.is_empty() && old.is_empty();
        };
        let is_operator = OPERATORS.contains(last) && OPERATORS.contains(ch) && (last, ch) != ('>', '<');
        let joined = is_word(last) && is_word(ch) || is_operator;
        let differs =
            if quote.is_some() { gap_file != gap_old } else { joined && gap_file.is_empty() != gap_old.is_empty() };
        let is_comment = quote.is_none()
            && (["//", "/*", "--", "<!--"].iter().any(|sign| file.starts_with(sign))
                || ch == '#' && !file.starts_with("#["));
        if ch != same || differs || is_comment || work::spend_or_end(1) {
            return false;
        }
        if matches!(ch, '"' | '\'' | '`') && last != '\\' {
            quote = if quote == Some(ch) { None } else { quote.or(Some(ch)) };
        }
        last = if last == '\\' && ch == '\\' { ' ' } else { ch };
        (file, old) = (&file[ch.len_utf8()..], &old[ch.len_utf8()..]);
    }
}

/// Returns the whitespace at the beginning of a text.
fn leading_whitespace(text: &str) -> &str {
    &text[..text.len() - text.trim_start().len()]
}

/// Returns blanks without the line breaks around them.
fn without_breaks(blanks: &str) -> &str {
    blanks.trim_matches(['\n', '\r'])
}

/// Returns the whitespace at the beginning and at the end of a text.
fn outer_whitespace(text: &str) -> [&str; 2] {
    [leading_whitespace(text), &text[text.trim_end().len()..]]
}

/// Returns the edit that makes the difference between the old and the new text in the file. `from` has the offset in
/// the file of each character of the old text.
fn edit(text: &str, from: &[u32], wanted: &BareText, old: &str, new: &str) -> Option<TextEdit> {
    let (mut head, mut tail) = diff::common_text_ends(old, new);
    while head > 0 && !(is_border_at(old, head) && is_border_at(new, head)) {
        head -= 1;
    }
    while tail > 0 && !(is_border_at(old, old.len() - tail) && is_border_at(new, new.len() - tail)) {
        tail -= 1;
    }
    let (gone, added) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let core = added.trim();
    let line_ends = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let adds_line = core.contains('\n') || !core.is_empty() && line_ends(added) > line_ends(gone);
    // Other blanks around the changed tokens may be another depth, or a line break of Markdown.
    let changes_blanks = !gone.is_empty() && !core.is_empty() && outer_whitespace(gone) != outer_whitespace(added);
    // With a comment, the text is not the same as itself.
    if adds_line || changes_blanks || gone.trim().is_empty() && core.is_empty() || !are_same_tokens(new, new) {
        return None;
    }
    // The number of characters of the old text before the change, and up to its end.
    let [before, through] =
        [head, head + gone.trim_end().len()].map(|end| wanted.from.partition_point(|&at| (at as usize) < end));
    let place = |nth: usize| from[nth] as usize;
    if before < through {
        let end = place(through - 1) + 1;
        let start = match before.checked_sub(1) {
            Some(last) if core.is_empty() => place(last) + 1,
            _ => place(before),
        };
        return Some(TextEdit { span: Span::new(start, end), text: core.to_owned() });
    }
    // An addition is written after the token before it, with the whitespace that the file has there.
    let Some(last) = before.checked_sub(1) else {
        return Some(TextEdit { span: Span::at(place(0)), text: added.trim_start().to_owned() });
    };
    let at = place(last) + 1;
    let is_apart = from.get(before).is_none_or(|&next| next as usize > at);
    let added = if is_apart || text[at..].is_empty() { added.trim_end() } else { added };
    Some(TextEdit { span: Span::at(at), text: added.to_owned() })
}

/// True for a character boundary that is not inside a word.
fn is_border_at(text: &str, at: usize) -> bool {
    text.is_char_boundary(at) && is_border(text, at)
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    const CALL: &str =
        "fn go() {\n    let value = compute_all(\n        first_part,\n        second_part,\n    );\n    done();\n}\n";

    #[test]
    fn line_breaks_are_those_of_the_file() {
        let old = "let value = compute_all(first_part, second_part);";
        assert_eq!(edit(CALL, old, &old.replace("second", "third")), CALL.replace("second", "third"));
        assert_eq!(edit(CALL, old, &old.replace("value", "result")), CALL.replace("value", "result"));
        assert_eq!(edit(CALL, old, &old.replace("first_part, ", "")), CALL.replace("\n        first_part,", ""));
        assert_eq!(
            edit(CALL, old, &old.replace("_part);", "_part, 7);")),
            CALL.replace("second_part,", "second_part, 7,")
        );
        let json = "{\n  \"key\": \"a b\",\n  \"nested\": {\n    \"property\": 123\n  }\n}\n";
        let old = "{\"key\":\"a b\",\"nested\":{\"property\":123}}";
        assert_eq!(edit(json, old, &old.replace("123", "124")), json.replace("123", "124"));
        let page = "<div id=\"app\">\n  <p>Hello & goodbye</p>\n</div>\n";
        let old = "<div id=\"app\"><p>Hello & goodbye</p></div>";
        assert_eq!(edit(page, old, &old.replace("app", "top")), page.replace("app", "top"));
        let one = "if (ready && loaded_all) { start_now(); }\n";
        let old = "if (ready && loaded_all) {\n    start_now();\n}\n";
        assert_eq!(edit(one, old, &old.replace("start_now", "begin")), one.replace("start_now", "begin"));
    }

    #[test]
    fn blanks_that_may_be_text_and_comments_are_respected() {
        let old = "print_all(\"first second\", other_value);";
        let new = old.replace("other", "third");
        refuse("print_all(\n    \"first\n second\",\n    other_value);\n", old, &new);
        refuse("print_all(\n    \"firstsecond\",\n    other_value);\n", old, &new);
        refuse(
            "call_them(\n    first, // the second\n    third_value);\n",
            "call_them(first, // the second third_value);",
            "call_them(first);",
        );
        refuse("value_one = first++\n    +second;\n", "value_one = first+ + +second;", "value_one = third;");
        refuse("return value_of\nit_all;\n", "return value_ofit_all;", "return other;");
        refuse("x = prefix_compute_all(\n    first);\n", "compute_all(first);", "compute_all(second);");
    }

    #[test]
    fn only_one_place_and_changes_of_one_line_are_written() {
        let old = "let value = compute_all(first_part, second_part);";
        refuse(&CALL.repeat(2), old, &old.replace("second", "third"));
        refuse(CALL, old, &old.replace("second_part", "third_part,\n    fourth_part"));
        refuse(CALL, old, &old.replace(", second", ",  second"));
    }

    #[test]
    fn changed_line_with_another_depth_or_other_trailing_blanks_is_refused() {
        let file = "if ready:\n    first_call(alpha,\n        beta)\n    last_call(gamma)\n";
        let old = "if ready:\n    first_call(alpha, beta)\n    last_call(gamma)\n";
        let new = |line: &str| old.replace("    last_call(gamma)", line);
        refuse(file, old, &new("other_call(delta)"));
        refuse(file, old, &new("    other_call(delta)  "));
        assert_eq!(
            edit(file, old, &new("    other_call(delta)")),
            file.replace("last_call(gamma)", "other_call(delta)")
        );
        assert_eq!(edit(file, old, &new("    other_call(gamma)")), file.replace("last", "other"));
        refuse(file, old, &new("  if last_call(gamma): pass"));
    }

    #[test]
    fn added_lines_and_comments_have_no_place_in_other_line_breaks() {
        let one = "if (ready && loaded_all) { start_now(); finish_it(); }\n";
        let old = "if (ready && loaded_all) {\n    start_now();\n    finish_it();\n}\n";
        for added in
            ["    begin();\n    start", "    // begin\n    start", "    /* begin */ start", "    start_it(); // start"]
        {
            refuse(one, old, &old.replace("    start", added));
        }
        refuse(one, old, &old.replace("it();\n", "it();\n    end();\n"));
        assert_eq!(
            edit(one, old, &old.replace("start_now();", "begin(\"//\");")),
            one.replace("start_now();", "begin(\"//\");")
        );
        let arms = "        V::Float(number) => {\n            Value::Number(number.unwrap_or(NAN))\n        }\n        V::Array(items) => {\n            let items = items.iter().map(read);;\n";
        let old = "V::Float(number) => {\n    Value::Number(number.unwrap_or(NAN))\n}\nV::Array(items) => {\n    let items = items.iter().map(read);";
        refuse(arms, old, &old.replace("(NAN))\n", "(NAN))\n    log(12);\n"));
        let python = "def compute(first, second): return first + second_value\n";
        let old = "def compute(first, second):\n    return first + second_value\n";
        refuse(python, old, &old.replace("    return", "    check(first)\n    return"));
    }
}

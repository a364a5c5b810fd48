//! Placeholders for omitted text ("… rest unchanged …") in an edit or a whole file.
//!
//! A placeholder line in the new text that is not a line of the old text would replace the omitted text.

mod affixes;
mod aligned;
mod cut_line;
mod leftover;
mod lost_lines;
mod own_lines;
mod phrase;
mod remark;
mod remark_text;
mod remark_words;
mod signs;
mod word_table;

use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{ResolveSettings, TextQuery};
use crate::text::fold;
use crate::text::lines::count_lines;
use crate::work;
use aho_corasick::packed;
use foldhash::HashSet;
use std::sync::LazyLock;

pub use cut_line::cut_mark;
pub(crate) use cut_line::{check_new_text, copied_mark, explain_mark};

/// Refuses new text with a placeholder that the old text does not have, unless the call declares it literal.
pub(crate) fn check(find: &TextQuery, new: &str, settings: ResolveSettings) -> Result<()> {
    if settings.omissions {
        return Ok(());
    }
    // Formats of whole lines have a way to write such markers as text.
    if !find.lines {
        leftover::check(&find.old, new)?;
    }
    check_replacement(&find.old, new)
}

/// Refuses the new text of a replacement with a placeholder that the old text does not have.
///
/// Errors: [`Code::EditOmission`].
pub fn check_replacement(old: &str, new: &str) -> Result<()> {
    let Some(line) = omitted_at(old, new) else { return Ok(()) };
    Err(Error::new(Code::EditOmission, "The new text has a placeholder for omitted text.")
        .evidence(format!("The line: {}", line.trim()))
        .next(
            Advice::from("Write the text out in full, or replace only the part that changes.")
                .and(&advice_if_intended()),
        )
        .fact("reason", "omission"))
}

/// Returns the first line of the new text that takes the place of omitted lines.
pub(crate) fn omitted_at<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    let omits = may_omit(new);
    let placeholder = || new_placeholder(old, new).or_else(|| dots_for_lines(old, new));
    let remark = || lost_lines::remarks(old, new, omits).first().map(|(_, line)| *line);
    omits.then(placeholder).flatten().or_else(remark)
}

/// Returns advice for text that only looks like a placeholder.
pub(crate) fn advice_if_intended() -> Advice {
    advice_if_intended_or("If the line belongs in the file, phrase it differently.")
}

/// Returns that advice with other words for calls that have no field to declare it.
pub(crate) fn advice_if_intended_or(other: &'static str) -> Advice {
    Advice::named("If the line is intended as it is, add {allow_invalid=true}.").or(other)
}

/// True for a line of only dots that is not a comment.
pub(crate) fn is_bare_dots(line: &str) -> bool {
    lost_lines::is_bare(line)
}

/// Returns the first placeholder of the new text that is not in the old text.
pub(crate) fn new_placeholder<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    if !may_omit(new) {
        return None;
    }
    let mut found = placeholders(new);
    let count = found.len();
    retain_new(old, &mut found);
    // A placeholder that both texts have may be reworded.
    let first = found.first()?;
    (count > placeholders(old).len()).then_some(first.1)
}

/// Removes the placeholders that are lines of the old text, and returns them.
fn retain_new<'a>(old: &str, found: &mut Vec<(usize, &'a str)>) -> Vec<(usize, &'a str)> {
    if found.is_empty() || !may_omit(old) {
        return Vec::new();
    }
    // Only lines with a mark or word of a placeholder are compared: nearly all lines of a large text have none.
    let mut hits = PlaceholderWords::of(old);
    let known: HashSet<&str> = work::lines(old).filter(|line| hits.any_in(line)).map(str::trim).collect();
    let (own, new) = found.drain(..).partition(|(_, line)| known.contains(line.trim()));
    *found = new;
    own
}

/// Returns the first line of only dots that takes the place of lines of `old`.
fn dots_for_lines<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    if !may_omit(new) {
        return None;
    }
    lost_lines::dots(old, new).first().map(|(_, line)| *line)
}

/// Marks and words; every placeholder contains at least one of them.
const PLACEHOLDER_WORDS: [&str; 24] = [
    "...", "…", "nchanged", "NCHANGED", "rest of", "Rest of", "mitted", "revity", "same as", "Same as", "emain",
    "xisting", "lipped", "rimmed", "runcated", "Rest Of", "SAME", "REST", "nip", "the rest", "the same", "revious",
    "o changes", "ontinues",
];
/// Searches for all of them in one pass; `None` if the processor lacks the instructions.
static SEARCHER: LazyLock<Option<packed::Searcher>> = LazyLock::new(|| packed::Searcher::new(PLACEHOLDER_WORDS));

/// A quick filter: false for a text without any mark or word of a placeholder.
fn may_omit(text: &str) -> bool {
    match &*SEARCHER {
        Some(searcher) => searcher.find(text).is_some(),
        None => PLACEHOLDER_WORDS.iter().any(|word| text.contains(word)),
    }
}

/// Finds the lines of a text that have a mark or word of a placeholder, in one pass.
struct PlaceholderWords<'t> {
    text: &'t str,
    hits: Option<core::iter::Peekable<packed::FindIter<'static, 't>>>,
}

impl<'t> PlaceholderWords<'t> {
    fn of(text: &'t str) -> PlaceholderWords<'t> {
        PlaceholderWords { text, hits: SEARCHER.as_ref().map(|searcher| searcher.find_iter(text).peekable()) }
    }

    /// True if this line of the text may be a placeholder. Lines must be passed in order.
    fn any_in(&mut self, line: &'t str) -> bool {
        let Some(hits) = &mut self.hits else { return true };
        let start = line.as_ptr().addr() - self.text.as_ptr().addr();
        while hits.next_if(|hit| hit.end() <= start).is_some() {}
        hits.peek().is_some_and(|hit| hit.start() < start + line.len())
    }
}

/// Returns the zero-based lines of `new` that are placeholders and not lines of `old`, in order.
pub(crate) fn gaps(old: &str, new: &str) -> Vec<usize> {
    if !may_omit(new) {
        return Vec::new();
    }
    let mut found = all_placeholders(old, new);
    retain_new(old, &mut found);
    found.iter().map(|(at, _)| *at).collect()
}

/// Returns the zero-based lines of `new` that are placeholders, in order: those that are not lines of `old`, and those
/// that may stand for code although they are.
pub(crate) fn possible_gaps(old: &str, new: &str) -> Vec<usize> {
    if !may_omit(new) {
        return Vec::new();
    }
    let mut found = all_placeholders(old, new);
    let own = retain_new(old, &mut found);
    let mut out: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
    out.extend(own_gaps(old, new, &own).iter().map(|(at, _)| *at));
    out.sort_unstable();
    out
}

/// Returns those placeholders that may stand for code, of `own` ones and lines of dots, all of which are lines of `old`.
fn own_gaps<'a>(old: &str, new: &'a str, own: &[(usize, &'a str)]) -> Vec<(usize, &'a str)> {
    let mut own = [own, &lost_lines::own_dots(old, new)].concat();
    own.sort_unstable_by_key(|(at, _)| *at);
    own.dedup_by_key(|(at, _)| *at);
    own_lines::that_may_be_gaps(old, new, own)
}

/// Returns the placeholders of `new` with their zero-based lines, including lines of `old` that are not bare dots.
fn all_placeholders<'a>(old: &str, new: &'a str) -> Vec<(usize, &'a str)> {
    let mut found = placeholders(new);
    found.extend(commented_dots(new));
    found.extend(lost_lines::dots(old, new));
    found.sort_unstable_by_key(|(at, _)| *at);
    found.dedup_by_key(|(at, _)| *at);
    found
}

/// Returns the lines that are comments of dots, with their zero-based numbers.
fn commented_dots(text: &str) -> impl Iterator<Item = (usize, &str)> {
    work::lines(text).enumerate().filter(|(_, line)| is_elision(line) && !lost_lines::is_bare(line))
}

/// Steps of work for each byte of a line whose words are examined.
const EXAMINED_BYTE_STEPS: usize = 4;

/// Returns the placeholders of a text with their zero-based lines. Those inside a fence are examples and do not count.
/// Unclosed fences, and tildes that underline a title, are not fences.
fn placeholders(text: &str) -> Vec<(usize, &str)> {
    let mut fence: Option<&str> = None;
    let (mut out, mut fenced) = (Vec::new(), Vec::new());
    let mut hits = PlaceholderWords::of(text);
    let mut above = "";
    for (at, line) in work::lines(text).enumerate() {
        let may_be = hits.any_in(line) && !is_only_dots(line.trim());
        if may_be && work::spend_or_end(EXAMINED_BYTE_STEPS * line.len()) {
            break;
        }
        let trimmed = line.trim();
        let sign = fence_sign(trimmed).filter(|_| fence.is_some() || !underlines(trimmed, above));
        above = trimmed;
        match (fence, sign) {
            // The text after an opening fence is the name of a language; if it is a phrase instead, the line is a
            // placeholder.
            (None, Some(_)) if may_be && phrase::is_placeholder(trimmed.trim_matches(['`', '~'])) => {
                out.push((at, line));
            }
            (None, Some(sign)) => fence = Some(sign),
            (Some(open), Some(sign)) if open == sign && trimmed.trim_matches(['`', '~']).is_empty() => {
                fence = None;
                fenced.clear();
            }
            (None, None) if may_be && phrase::is_placeholder(line) => out.push((at, line)),
            (Some(_), _) if may_be && phrase::is_placeholder(line) => fenced.push((at, line)),
            _ => {}
        }
    }
    out.append(&mut fenced);
    out
}

/// True for tildes that are at least as long as the title above them, which they underline.
fn underlines(line: &str, above: &str) -> bool {
    !above.is_empty() && line.len() >= above.len() && line.len() > 3 && line.bytes().all(|sign| sign == b'~')
}

/// Returns the fence characters that a line begins with.
fn fence_sign(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|sign| line.trim_start().starts_with(sign))
}

/// Maximum number of lines of a file that may shrink without a warning.
const SMALL_FILE_LINES: usize = 20;
/// Maximum number of placeholders that a message shows.
const SHOWN_PLACEHOLDERS_MAX: usize = 5;

/// The verdict on a file's whole new text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OmissionVerdict {
    /// There is no objection.
    Fine,
    /// The text may be written, with this warning.
    Warn(String),
    /// The text has placeholders for omitted text, and is refused unless their placement is proven.
    Elided(Error),
    /// The text has remarks in place of lines that would be lost.
    Refuse(Error),
}

/// Compares a file's whole new text with the current one. Refuses a placeholder that the current text does not contain
/// ([`Code::EditOmission`]) unless it is `meant`, and a line of only dots, or a remark such as `# etc.`, in place of
/// lines that would be lost. Warns about a file that loses more than half of its lines.
pub(crate) fn check_whole_text(old: &str, new: &str, meant: bool) -> OmissionVerdict {
    if !meant
        && !old.trim().is_empty()
        && let Err(error) = leftover::check_whole(old, new)
    {
        return OmissionVerdict::Refuse(error);
    }
    let [before, after] = [old, new].map(count_lines);
    let omits = may_omit(new);
    let mut fresh = if omits { placeholders(new) } else { Vec::new() };
    let mut own = retain_new(old, &mut fresh);
    if omits && before > 0 {
        fresh.extend(lost_lines::dots(old, new));
        fresh.sort_unstable_by_key(|(at, _)| *at);
    }
    let remarks = if before > 0 { lost_lines::remarks(old, new, omits) } else { Vec::new() };
    if !meant && !remarks.is_empty() {
        let next = Advice::named(
            "Write the whole text out, change the part with {edit()}, or put `... existing code ...` in a comment \
             on a line of its own where code stays, which {apply()} and {write()} understand.",
        )
        .or(advice![
            Phrase::Ours,
            "Write the whole text out, or put `... existing code ...` in a comment on a line of its own where code stays, between unchanged lines of the file."
        ])
        .or("Write the whole text out, or change only the part that differs.");
        let error = refusal(&remarks, before, after).next(next.and(&advice_if_intended()));
        return OmissionVerdict::Refuse(error);
    }
    if !meant && omits && before > 0 && fresh.is_empty() && may_omit(old) {
        own.extend(retain_new(old, &mut commented_dots(new).collect()));
        if let Some(&(at, line)) = own_gaps(old, new, &own).first() {
            return OmissionVerdict::Elided(own_line_refusal(at, line));
        }
    }
    match fresh.first() {
        Some(_) if !meant && before > 0 => OmissionVerdict::Elided(
            refusal(&fresh, before, after).next(
                Advice::named("Write the whole text out, or change the part with {edit()}.")
                    .or("Write the whole text out, or change only the part that differs.")
                    .and(&advice_if_intended()),
            ),
        ),
        Some((first, line)) => OmissionVerdict::Warn(format!(
            "Line {} looks like a placeholder for omitted text: {}",
            first + 1,
            line.trim()
        )),
        None if before > SMALL_FILE_LINES && after * 2 < before => {
            OmissionVerdict::Warn(format!("The file shrinks from {before} to {after} lines."))
        }
        None => OmissionVerdict::Fine,
    }
}

/// Creates the error for a whole text with placeholders, given with their zero-based lines.
fn refusal(found: &[(usize, &str)], before: usize, after: usize) -> Error {
    let shown = found.iter().take(SHOWN_PLACEHOLDERS_MAX);
    let shown: Vec<String> = shown.map(|(at, line)| format!("Line {}: {}", at + 1, line.trim())).collect();
    let what = "The new text has a placeholder for omitted text; the file would lose it.";
    Error::new(Code::EditOmission, what)
        .evidence(shown.join("\n"))
        .evidence(format!("The file has {before} lines, the new text {after}."))
        .fact("reason", "omission")
        .fact("line", found.first().map_or(0, |(at, _)| at + 1))
}

/// Creates the error for a placeholder that may be a line of the file, or stand for code of it.
fn own_line_refusal(at: usize, line: &str) -> Error {
    let what = "The new text has a placeholder for omitted text that is also a line of the file.";
    let next = "Word the placeholder differently, or show the lines of the file above and below its own line.";
    Error::new(Code::EditOmission, what)
        .evidence(format!("Line {}: {}", at + 1, line.trim()))
        .next(Advice::from(next).and(&advice_if_intended()))
        .fact("reason", "omission")
        .fact("line", at + 1)
}

/// True for a line that consists only of the statement, in dots or in words, that lines are omitted.
pub(crate) fn is_placeholder(line: &str) -> bool {
    is_elision(line) || phrase::is_placeholder(line)
}

/// Signs that may begin and end a comment of only dots, longer ones first.
const ELISION_LEADS: [&str; 23] = [
    "{{!--", "<%--", "{/*", "<!--", "--[[", "//-", "###", "#[ ", "{#", "{-", "/*", "(*", "#|", "<#", "*>", "//", "--",
    ";;", "%%", "#", ";", "%", "REM ",
];
const ELISION_TAILS: [&str; 13] = ["--}}", "--%>", "*/}", "-->", "###", "]]", " ]#", "#}", "-}", "*/", "*)", "#>", "#"];

/// True for a line of only dots, possibly in a comment: it represents lines that are kept.
pub(crate) fn is_elision(line: &str) -> bool {
    if !line.bytes().any(|byte| matches!(byte, b'.' | 0xE2)) {
        return false;
    }
    let line = fold::trim_blanks(line);
    if is_only_dots(line) {
        return true;
    }
    let line = without_comment_signs(line);
    let emphasized = ["**", "__"].iter().find_map(|sign| line.strip_prefix(sign)?.strip_suffix(sign));
    is_only_dots(emphasized.unwrap_or(line))
}

/// Returns the text of a line that is a comment, without its signs; any other line as it is.
pub(crate) fn without_comment_signs(line: &str) -> &str {
    let line = affixes::without_prefix(line, &ELISION_LEADS).unwrap_or(line);
    let line = affixes::without_suffix(line, &ELISION_TAILS).unwrap_or(line);
    fold::trim_blanks(line)
}

fn is_only_dots(text: &str) -> bool {
    matches!(text, "..." | "…")
}

#[cfg(test)]
mod tests {
    use super::{OmissionVerdict, PLACEHOLDER_WORDS, check_whole_text, dots_for_lines, may_omit, new_placeholder};
    use proptest::prelude::*;

    #[test]
    fn placeholder_in_a_shorter_text_is_recognized() {
        let old: String = (1..=40).map(|number| format!("line {number}\n")).collect();
        for line in [
            "// ... rest of the code unchanged",
            "# ... existing code ...",
            "(unchanged)",
            "same as before",
            "-- snip --",
            "# existing code here",
            "// [previous code]",
            "# code continues here",
            "# No changes below this line",
            "#### REST OF FILE ####",
            "... (same as original)",
        ] {
            for new in [format!("line 1\n{line}\n"), format!("{old}{line}\n")] {
                let OmissionVerdict::Elided(error) = check_whole_text(&old, &new, false) else { panic!("{line}") };
                assert!(error.evidence_text().contains(line), "{error}");
                assert!(matches!(check_whole_text(&old, &new, true), OmissionVerdict::Warn(_)), "{line}");
            }
            assert!(matches!(check_whole_text("", &format!("a\n{line}\n"), false), OmissionVerdict::Warn(_)), "{line}");
            let own = format!("{line}\na\nb\n");
            for new in [format!("{line}\na\nb\nc\n"), format!("  {line}\na\nb c\n")] {
                assert_eq!(check_whole_text(&own, &new, false), OmissionVerdict::Fine, "{line}");
            }
            for new in [format!("a\n  {line}\n"), format!("{line}\nb\n")] {
                assert!(matches!(check_whole_text(&own, &new, false), OmissionVerdict::Elided(_)), "{line}");
                assert_eq!(check_whole_text(&own, &new, true), OmissionVerdict::Fine, "{line}");
            }
            assert_eq!(
                check_whole_text("a\n", &format!("b\n```\n{line}\n```\n"), false),
                OmissionVerdict::Fine,
                "{line}"
            );
        }
        for line in ["/* ... */", "<!-- … -->", "// ...", "...", "# …", "  …"] {
            for new in
                [format!("line 1\n{line}\n"), format!("line 1\nline 2\n{line}\nline 40\n{}", "more\n".repeat(50))]
            {
                let OmissionVerdict::Elided(error) = check_whole_text(&old, &new, false) else { panic!("{line}") };
                assert!(error.evidence_text().contains(line.trim()), "{error}");
            }
            assert_eq!(check_whole_text(&old, &format!("{old}{line}\n"), false), OmissionVerdict::Fine, "{line}");
        }
        let warned = check_whole_text(&old, "line 1\n", false);
        assert_eq!(warned, OmissionVerdict::Warn("The file shrinks from 40 to 1 lines.".to_owned()));
        assert_eq!(check_whole_text("a\nb\nc\nd\n", "a\n", false), OmissionVerdict::Fine);
        assert_eq!(check_whole_text(&old, &"def f(): ...\n    ...\n".repeat(12), false), OmissionVerdict::Fine);
    }

    proptest! {
        #[test]
        fn placeholder_words_are_found_in_one_pass(parts in prop::collection::vec("[a-zR.… ]{0,40}", 1..4), word in 0..PLACEHOLDER_WORDS.len()) {
            let text = parts.concat();
            prop_assert_eq!(may_omit(&text), PLACEHOLDER_WORDS.iter().any(|word| text.contains(word)), "{}", text);
            prop_assert!(may_omit(&parts.join(PLACEHOLDER_WORDS[word])) || parts.len() == 1);
        }
    }

    #[test]
    fn only_new_placeholders_count() {
        assert_eq!(new_placeholder("a\n", "b\n// ... existing code ...\n"), Some("// ... existing code ..."));
        assert_eq!(new_placeholder("// ... existing code ...\n", "b\n// ... other code unchanged\n"), None);
        assert_eq!(new_placeholder("a\n", "b\n"), None);
    }

    #[test]
    fn comment_of_dots_is_a_placeholder_in_an_edit() {
        let old = "def one():\n    return 1\n\ndef two():\n    return 2\n";
        for dots in ["# ...", "/* ... */", "…"] {
            let new = format!("def one():\n    return 11\n{dots}\n");
            assert_eq!(dots_for_lines(old, &new), Some(dots));
            assert_eq!(dots_for_lines(old, &format!("{old}{dots}\n")), None);
        }
        let several = "def one():\n    a = 1\n    return a\n";
        assert_eq!(dots_for_lines(several, "def one():\n    ...\n"), Some("    ..."));
        // The dots are the body of a stub.
        assert_eq!(dots_for_lines("def one():\n    return 1\n", "def one():\n    ...\n"), None);
    }
}

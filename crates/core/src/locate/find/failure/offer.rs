//! The text that is offered in place of an old text which is not in the file. It covers what the old text covers, so
//! that the new text of the same call fits in its place.

use super::nearest::NearestLines;
use super::part::{SimilarPart, find_part};
use super::{EXPLANATION_STEPS_MAX, OFFERED_BYTES_MAX, in_fields, offered, old_string};
use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::locate::find::search::{MatchSearch, PatternLines};
use crate::locate::find::transplant;
use crate::text::fold::{indent_of, is_blank};
use crate::text::tokens::tokens;
use crate::work;
use memchr::memmem;
use std::borrow::Cow;

/// Maximum number of cells (lines × lines) that are compared to find kept lines.
const KEPT_CELLS_MAX: usize = 1_000_000;
/// Maximum bytes of a line that is named in the advice.
const NAMED_LINE_BYTES_MAX: usize = 100;

/// Facts about a failure that decide how lines of the file are offered.
#[derive(Clone, Copy)]
pub(super) struct OfferRules {
    /// Lines are found with another indentation, too.
    pub(super) shifts: bool,
    /// The texts of the call have slips that were not repaired.
    pub(super) repairs: bool,
}

/// A text of the file that may be meant.
pub(super) struct OfferedText {
    pub(super) text: String,
    /// The end of a sentence that begins with "write the new text"; empty if the new text of the call fits.
    new_text: Cow<'static, str>,
}

impl OfferedText {
    /// Returns the advice to repeat the call with the text; `lines` names its lines.
    pub(super) fn advice(&self, search: &MatchSearch<'_>, lines: &str) -> Advice {
        let (text, new_text) = (&*self.text, &*self.new_text);
        if text.len() > OFFERED_BYTES_MAX || search.find.old == text {
            let read = format!("If these lines are meant, read {lines} again and copy them");
            return in_fields(
                search,
                advice![format!("{read} as "), Phrase::Field("old_string"), "."],
                format!("{read}."),
            );
        }
        let mut parts = vec!["If these lines are meant, repeat the call with ".into(), old_string(text)];
        let mut plain = format!("If these lines are meant, send them as they are in the file: {}", offered(text));
        if !new_text.is_empty() {
            parts.extend(["; write ".into(), Phrase::Field("new_string"), new_text.to_owned().into(), ", too.".into()]);
            plain = format!("{plain}; write the new text{new_text}, too.");
        }
        in_fields(search, Advice::new(parts), plain)
    }
}

/// Returns the text of the nearest lines that may be meant by the old text.
pub(super) fn offered_text(search: &MatchSearch<'_>, nearest: &NearestLines, rules: OfferRules) -> OfferedText {
    let (text, has_same_ends) = text_in_place_of(search, nearest, rules.shifts);
    let new_text = match (rules.repairs, has_same_ends, kept_lines(search, &text)) {
        (true, ..) => " without line numbers, escapes and entities that the file does not have".into(),
        (false, true, KeptLines::AsInFile) => "".into(),
        (false, true, KeptLines::OneDiffers { old, file }) => format!(" with `{file}` in place of `{old}`").into(),
        (false, true, KeptLines::Differ) => " with the file's text in the lines that it does not change".into(),
        (false, false, KeptLines::AsInFile) => " for all of that text".into(),
        (false, false, _) => " for all of that text, with the file's lines where it changes nothing".into(),
    };
    OfferedText { text, new_text }
}

/// The lines that the old and the new text share, compared with the offered text. If the call is repeated with that text
/// and the same new text, each difference is written into the file.
enum KeptLines<'s> {
    AsInFile,
    /// Only this line differs.
    OneDiffers {
        old: &'s str,
        file: &'s str,
    },
    Differ,
}

fn kept_lines<'s>(search: &MatchSearch<'s>, text: &'s str) -> KeptLines<'s> {
    let PatternLines { old, new, .. } = &*search.pattern;
    if (old.len() + new.len()).saturating_mul(old.len()) > KEPT_CELLS_MAX {
        return KeptLines::Differ;
    }
    let changes = transplant::changes(old, new);
    let files: Vec<&str> = text.lines().map(str::trim).collect();
    let is_kept = |at: &usize| !is_blank(old[*at]) && !changes.iter().any(|(from, _)| from.contains(at));
    // The first and the last line may be parts of lines.
    let is_there = |at: usize| {
        let line = old[at].trim();
        let is_last = at + 1 == old.len() && !search.find.old.ends_with('\n');
        files.iter().any(|file| {
            *file == line
                || at == 0 && is_last && file.contains(line)
                || at == 0 && file.ends_with(line)
                || is_last && file.starts_with(line)
        })
    };
    let mut missing = (0..old.len()).filter(is_kept).filter(|at| !is_there(*at));
    match (missing.next(), missing.next()) {
        (None, _) => KeptLines::AsInFile,
        (Some(at), None) if files.len() == old.len() && files[at].len().max(old[at].len()) <= NAMED_LINE_BYTES_MAX => {
            KeptLines::OneDiffers { old: old[at].trim(), file: files[at] }
        }
        _ => KeptLines::Differ,
    }
}

/// Returns the text that the old text is replaced by, and whether it begins and ends like it. With `shifts`, lines are
/// found with another indentation as well.
fn text_in_place_of(search: &MatchSearch<'_>, nearest: &NearestLines, shifts: bool) -> (String, bool) {
    let index = search.lines();
    let (from, to) = (index.start(nearest.lines.start), index.end(nearest.lines.end - 1));
    let mut whole = search.text[from..to].to_owned();
    if search.find.old.ends_with('\n') && !index.is_open(nearest.lines.end - 1) {
        whole.push('\n');
    }
    let old = &*search.find.old;
    let indented = with_indentation_of(search, &whole, shifts).filter(|text| text != old);
    let text = indented.as_deref().unwrap_or(&whole);
    if has_same_ends(old, text) {
        return (text.to_owned(), true);
    }
    // A part of a line is a better offer than the line if nothing else is similar.
    let (part, ended) = work::with_budget(EXPLANATION_STEPS_MAX, || find_part(search));
    let part = part.filter(|_| !ended && !old.ends_with('\n')).map(|SimilarPart { span, .. }| span);
    let part = part.filter(|span| from <= span.start && span.end <= to).map(|span| &search.text[span]);
    let part = part.filter(|part| is_unique(search, part)).map(|part| (part.to_owned(), true));
    part.unwrap_or((whole, false))
}

/// Returns lines of the file without the indentation that the old text lacks: on every line, or on the first one.
/// `None` if it lacks none, or the text would not be the only one of its kind.
fn with_indentation_of(search: &MatchSearch<'_>, whole: &str, shifts: bool) -> Option<String> {
    let old = &*search.find.old;
    let lacking = indent_of(whole).strip_suffix(indent_of(old)).filter(|lacking| !lacking.is_empty())?;
    let least =
        |text: &str| text.split('\n').skip(1).filter(|line| !is_blank(line)).map(|it| indent_of(it).len()).min();
    let without = |line| str::strip_prefix(line, lacking).or_else(|| is_blank(line).then_some(line));
    let is_shifted = least(whole).is_some_and(|file| least(old).is_some_and(|old| old + lacking.len() == file));
    let shifted = is_shifted.then(|| whole.split('\n').map(without).collect::<Option<Vec<&str>>>()).flatten();
    if let Some(lines) = shifted {
        return shifts.then(|| lines.join("\n"));
    }
    let text = &whole[lacking.len()..];
    is_unique(search, text).then(|| text.to_owned())
}

/// True if both texts begin with the same indentation, and their first and last lines begin and end with the same word.
/// In lines with the same number of words, another word is what the caller was wrong about.
fn has_same_ends(old: &str, text: &str) -> bool {
    let lines = |text| Some([str::lines(str::trim_start(text)).next()?, str::lines(str::trim_end(text)).next_back()?]);
    let (Some(old_ends), Some(ends)) = (lines(old), lines(text)) else { return false };
    let [[old_first, old_last], [first, last]] = [old_ends, ends].map(|ends| ends.map(|line| tokens(line.trim())));
    indent_of(old) == indent_of(text)
        && (old_first.first() == first.first() || old_first.len() == first.len())
        && (old_last.last() == last.last() || old_last.len() == last.len())
}

fn is_unique(search: &MatchSearch<'_>, text: &str) -> bool {
    memmem::find_iter(search.text.as_bytes(), text.as_bytes()).nth(1).is_none()
}

#[cfg(test)]
mod tests {
    use crate::locate::find::testing::{edit, refuse};

    #[test]
    fn advice_names_kept_lines_that_differ() {
        let file = "host = a\nport = 8080\nretries = 3\ndebug = no\n";
        let old = "host = a\nport = 80\nretries = 3\ndebug = no\n";
        let new = old.replace("no", "yes");
        let error = refuse(file, old, &new).to_string();
        assert!(error.contains("; write new_string with `port = 8080` in place of `port = 80`, too."), "{error}");
        let new = new.replace("port = 80", "port = 8080");
        assert_eq!(edit(file, file, &new), file.replace("no", "yes"));
        let old_twice = old.replace("= 3", "= 2");
        let error = refuse(file, &old_twice, &old_twice.replace("no", "yes")).to_string();
        assert!(error.contains("; write new_string with") && !error.contains("in place of"), "{error}");
        // The differing line is the changed one.
        let error = refuse(file, old, &old.replace("port = 80", "port = 81")).to_string();
        assert!(error.contains("repeat the call with") && !error.contains("; write"), "{error}");
    }
}

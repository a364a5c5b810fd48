//! Lines as tokens (words, blank runs and single characters): common tokens of two lines, and the transfer of a change
//! to a line that only resembles the one it was made for.

use crate::text::fold::{MappedText, fold};
use crate::work::{self, STEP_BYTES};
use core::ops::Range;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Cells (tokens × tokens) of one comparison.
const COMPARISON_CELLS_MAX: usize = 1_000_000;

/// Steps of work that comparing the tokens of two lines costs, for each of their bytes.
const COMPARISON_STEPS: usize = 6;

/// Tokens between two checks whether the call was cancelled; a long line has millions of tokens.
const TOKENS_PER_CHECK: usize = 8192;

/// Splits a text into words, blank runs and single characters, in order. Ends early when the call was cancelled.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, ch)) = rest.next() {
        if out.len() % TOKENS_PER_CHECK == TOKENS_PER_CHECK - 1 && work::is_cancelled() {
            break;
        }
        let mut end = start + ch.len_utf8();
        while char_class(ch) != 3
            && let Some((at, next)) = rest.next_if(|&(_, next)| char_class(next) == char_class(ch))
        {
            end = at + next.len_utf8();
        }
        out.push(&text[start..end]);
    }
    out
}

/// True for a character of words.
pub(crate) fn is_word(ch: char) -> bool {
    char_class(ch) == 1
}

/// Returns the class of a character: word, blank or other.
fn char_class(ch: char) -> i32 {
    match ch {
        _ if ch.is_alphanumeric() || ch == '_' => 1,
        _ if ch.is_whitespace() => 2,
        _ => 3,
    }
}

/// True when two lines have the same tokens, whitespace aside. Blanks between two signs count: `+ +` is not `++`. False
/// as well when the work has to end.
pub(crate) fn are_same(a: &str, b: &str) -> bool {
    let is_counted = |steps: usize| !work::spend_or_end(1 + steps);
    is_counted(a.len() / STEP_BYTES)
        && (a == b
            || is_counted(COMPARISON_STEPS * (a.len() + b.len())) && significant_tokens(a) == significant_tokens(b))
}

/// Returns the tokens that are not blank, with an empty token for blanks between two signs that are not brackets or
/// commas.
fn significant_tokens(line: &str) -> Vec<&str> {
    let all = tokens(line.trim());
    let mut out = Vec::with_capacity(all.len());
    for (at, token) in all.iter().enumerate() {
        match token.trim().is_empty() {
            true if is_between_signs(&all, at) => out.push(""),
            true => {}
            false => out.push(*token),
        }
    }
    out
}

/// True if the token at `at` is between two signs that are not brackets or commas.
#[inline]
fn is_between_signs(tokens: &[&str], at: usize) -> bool {
    tokens.get(at.wrapping_sub(1)).is_some_and(|it| is_sign(it)) && tokens.get(at + 1).is_some_and(|it| is_sign(it))
}

/// True for a token of signs that are not brackets or commas.
#[inline]
fn is_sign(token: &str) -> bool {
    let sign = token.chars().next().filter(|&ch| char_class(ch) == 3);
    sign.is_some_and(|ch| !"()[]{},;".contains(ch))
}

/// A run of new tokens, and the old tokens it is equal to, if any.
pub(crate) struct TokenRun {
    pub(crate) new: Range<usize>,
    pub(crate) kept: Option<Range<usize>>,
}

/// Splits the new tokens into runs that are kept and runs that are new.
pub(crate) fn token_runs(old: &[&str], new: &[&str]) -> Vec<TokenRun> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut out = vec![TokenRun { new: 0..head, kept: Some(0..head) }];
    if (old_end - head).saturating_mul(new_end - head) > COMPARISON_CELLS_MAX {
        out.push(TokenRun { new: head..new_end, kept: None });
    } else {
        for op in capture_diff_slices(Algorithm::Myers, &old[head..old_end], &new[head..new_end]) {
            let kept = matches!(op, DiffOp::Equal { .. }).then(|| shifted(head, op.old_range()));
            out.push(TokenRun { new: shifted(head, op.new_range()), kept });
        }
    }
    out.push(TokenRun { new: new_end..new.len(), kept: Some(old_end..old.len()) });
    out.retain(|it| !it.new.is_empty());
    out
}

/// Returns a range moved by the length of the common head.
fn shifted(head: usize, range: Range<usize>) -> Range<usize> {
    range.start + head..range.end + head
}

/// Returns `new` with every token that it shares with `old` written in the file's own characters. `None` if `file` does
/// not resemble `old`. With `runs`, the length of blank runs is ignored, and blanks between tokens are those of the
/// file; `None` if that would join or split tokens of `new`.
pub(crate) fn with_file_tokens(file: &str, old: &str, new: &str, runs: bool) -> Option<String> {
    let old_tokens = tokens(old);
    let ends = ends_in_file(file, &old_tokens, runs).or_else(|| ends_by_tokens(file, &old_tokens).filter(|_| runs))?;
    let new_tokens = tokens(new);
    let mut out = String::with_capacity(new.len());
    let runs_of_tokens = token_runs(&old_tokens, &new_tokens);
    let mut done = 0;
    for (nth, run) in runs_of_tokens.iter().enumerate() {
        if let Some(kept) = &run.kept {
            out.push_str(&file[ends[kept.start]..ends[kept.end]]);
            done = kept.end;
            continue;
        }
        let next =
            runs_of_tokens[nth + 1..].iter().find_map(|it| it.kept.as_ref()).map_or(old_tokens.len(), |it| it.start);
        let (front, back) = whitespace_around(&old_tokens[done..next], &file[ends[done]..ends[next]]);
        out.push_str(front);
        let fresh = &new_tokens[run.new.clone()];
        // A blank that `new` adds to those of `old` may be in the file already.
        let is_there =
            |blank: Option<&&str>, there: bool| runs && there && blank.is_some_and(|it| it.trim().is_empty());
        let head = usize::from(is_there(fresh.first(), out.ends_with(char::is_whitespace)));
        let follows = back.chars().chain(file[ends[next]..].chars()).next().is_some_and(char::is_whitespace);
        let tail = usize::from(fresh.len() > head && is_there(fresh.last(), follows));
        out.extend(fresh[head..fresh.len() - tail].iter().copied());
        out.push_str(back);
    }
    // Blanks of `old` that the file lacks may separate two words of `new`. The file's punctuation may look different.
    (!runs || are_same(&fold(&out), &fold(new))).then_some(out)
}

/// Returns the blanks at both ends of some tokens as the file writes them that the tokens themselves do not have: they
/// remain around the text that replaces the tokens.
fn whitespace_around<'f>(old: &[&str], file: &'f str) -> (&'f str, &'f str) {
    let text = file.trim();
    let (Some(first), Some(last), false) = (old.first(), old.last(), text.is_empty()) else { return ("", "") };
    let front = &file[..file.len() - file.trim_start().len()];
    let back = &file[file.trim_end().len()..];
    let bare = |token: &str| !token.trim().is_empty();
    (if bare(first) { front } else { "" }, if bare(last) { back } else { "" })
}

/// Returns the offsets in the file's line at which the tokens of `old` begin, and the end of the last token.
fn ends_in_file(file: &str, old: &[&str], runs: bool) -> Option<Vec<usize>> {
    let map = MappedText::new(file, runs);
    let mut ends = Vec::with_capacity(old.len() + 1);
    let mut at = 0;
    ends.push(map.from[0]);
    for token in old {
        let form = MappedText::new(token, runs).text;
        if !map.text.get(at..)?.starts_with(&form) {
            return None;
        }
        at += form.len();
        ends.push(map.from[at]);
    }
    (at == map.text.len()).then_some(ends)
}

/// Returns the offsets as [`ends_in_file`] does for a line with equal tokens and other blanks between them. Blanks that
/// only the file has belong to the sign next to them.
fn ends_by_tokens(file: &str, old: &[&str]) -> Option<Vec<usize>> {
    let is_word = |token: &str| token.chars().next().is_some_and(|ch| char_class(ch) == 1);
    let (mut ends, mut at, mut before) = (vec![0], 0, "");
    for (nth, token) in old.iter().enumerate() {
        let rest = &file[at..];
        let gap = rest.len() - rest.trim_start().len();
        if token.trim().is_empty() {
            at += gap;
        } else {
            at += gap;
            at += file[at..].starts_with(token).then_some(token.len())?;
            // The blanks before this token are not in `old`: they stay with a sign before them.
            if gap > 0 && nth > 0 && !is_word(before) && !before.trim().is_empty() {
                ends[nth] += gap;
            }
        }
        before = token;
        ends.push(at);
    }
    (at == file.len()).then_some(ends)
}

/// Returns the similarity of two lines from 0 to 1: their share of common tokens, regardless of order.
pub(crate) fn similarity(a: &[&str], b: &[&str]) -> f64 {
    let (mut a, mut b): (Vec<&str>, Vec<&str>) = (worded(a), worded(b));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    a.sort_unstable();
    b.sort_unstable();
    let (mut left, mut right, mut shared) = (0, 0, 0usize);
    while left < a.len() && right < b.len() {
        match a[left].cmp(b[right]) {
            core::cmp::Ordering::Less => left += 1,
            core::cmp::Ordering::Greater => right += 1,
            core::cmp::Ordering::Equal => {
                (left, right, shared) = (left + 1, right + 1, shared + 1);
            }
        }
    }
    share(2 * shared, a.len() + b.len())
}

/// Drops blank runs, which do not indicate similarity.
fn worded<'t>(tokens: &[&'t str]) -> Vec<&'t str> {
    tokens.iter().copied().filter(|token| !token.trim().is_empty()).collect()
}

/// Returns a part as a share of a whole, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "counts of lines and letters, far below 2^52")]
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::{are_same, similarity, tokens, with_file_tokens};
    use proptest::prelude::*;

    #[test]
    fn text_splits_into_words_blank_runs_and_punctuation() {
        assert_eq!(tokens("if  (a_1 ≠ é2)"), ["if", "  ", "(", "a_1", " ", "≠", " ", "é2", ")"]);
        assert!(tokens("").is_empty());
    }

    #[test]
    fn file_keeps_its_own_characters() {
        let cases = [
            ("She said, “Hello.”", "She said, \"Hello.\"", "She said, \"Hi there.\"", "She said, “Hi there.”"),
            ("t = “Hello”", "t = \"Hello\"", "t = 'Hello'", "t = 'Hello'"),
            ("price: 100\u{A0}EUR", "price: 100 EUR", "price: 120 EUR", "price: 120\u{A0}EUR"),
            ("a\u{200B}b — c", "ab - c", "ab - d", "a\u{200B}b — d"),
        ];
        for (file, old, new, want) in cases {
            let got = with_file_tokens(file, old, new, false);
            if file.contains('\u{200B}') {
                // A word with a zero-width character in it is one token, and keeps the file's characters.
                assert_eq!(got.as_deref(), Some(want));
            } else {
                assert_eq!(got.as_deref(), Some(want), "{file}");
            }
        }
        assert_eq!(
            with_file_tokens("f(\"a  b\", end)", "f(\"a b\", end)", "f(\"a b\", end, x)", true).unwrap(),
            "f(\"a  b\", end, x)"
        );
        assert_eq!(with_file_tokens("other", "old", "new", false), None);
    }

    #[test]
    fn file_keeps_its_own_characters_and_runs() {
        let (file, old) = ("f(“a”,   b) — c", "f(\"a\", b) - c");
        for runs in [true, false] {
            let file = if runs { file.to_owned() } else { file.replace("   ", " ") };
            let want = file.replace(" c", " d");
            assert_eq!(with_file_tokens(&file, old, "f(\"a\", b) - d", runs), Some(want));
        }
    }

    #[test]
    fn blanks_that_the_file_lacks_do_not_join_words() {
        let (file, old) = ("return len(items)", "return len( items )");
        assert_eq!(with_file_tokens(file, old, "return sum( i for i in items )", true), None);
        assert_eq!(with_file_tokens(file, old, "return max( items )", true).as_deref(), Some("return max(items)"));
    }

    proptest! {
        #[test]
        fn tokens_of_the_new_text_are_neither_joined_nor_split(
            file in "[ab1(+=, ]{0,12}", old in "[ab1(+=, ]{0,12}", new in "[ab1(+=, ]{0,16}", blank in 0..12usize,
        ) {
            // Half of the lines are the file's with one more space or one less.
            let at = blank.min(file.len());
            for old in [old, [&file[..at], " ", &file[at..]].concat(), file.replacen(' ', "", 1), file.clone()] {
                for new in [new.clone(), [&old, &new[..]].concat()] {
                    let text = with_file_tokens(&file, &old, &new, true);
                    prop_assert!(text.as_ref().is_none_or(|text| are_same(text, &new)), "{old:?} {new:?} {text:?}");
                }
            }
        }
    }

    #[test]
    fn similarity_counts_tokens() {
        let of = |a: &str, b: &str| similarity(&tokens(a), &tokens(b));
        assert!(of("let a = 1;", "let a = 2;") > 0.7);
        assert!(of("let a = 1;", "return x") < 0.1);
        assert!(of("", "").abs() < f64::EPSILON);
    }
}

//! Look-up of lines equal under normalization by searching for one of the line's words, instead of hashing every line.
//!
//! An ASCII line with the same normalized form contains every word of that form literally, so the lines with one of the
//! words are the only ASCII candidates. Non-ASCII lines are compared one by one if there are few; otherwise all lines
//! are hashed.

use super::search::{MatchSearch, SearchIndex};
use crate::text::fold::{self, Normalization, is_blank};
use crate::text::lines::{line_start, line_stop};
use crate::work::{self, STEP_BYTES};
use core::cmp::Reverse;
use memchr::memmem;

/// Maximum number of lines that a look-up reports; if it reports this many, there may be more.
pub(super) const REPORTED_LINES_MAX: usize = 65;
/// Maximum number of words of a line that are tried, the longest first, and of their bytes that are searched for.
const TRIED_WORDS_MAX: usize = 8;
const WORD_BYTES_MAX: usize = 64;
/// Number of bytes at the end of a line that are searched for: few enough for the fastest search.
const TAIL_BYTES: usize = 31;
/// Number of passes over the text that all look-ups together may take, plus some bytes; after that all lines are
/// hashed.
const TEXT_PASSES_MAX: usize = 12;
const LOOKUP_BYTES_EXTRA: usize = 1 << 20;
/// Number of lines that contain a word but do not match after which another word is tried: a few at first, because a
/// rarer word is often near; and number of such lines after which the word is given up if no other word is better.
const FEW_STRAY_LINES: usize = 8;
const STRAY_LINES_MAX: (usize, usize) = (64, 1024);
/// Number of non-ASCII lines, absolute and as a share of all lines, beyond which all lines are hashed.
const NON_ASCII_LINES_MAX: (usize, usize) = (256, 8);
/// Number of bytes that are checked together for non-ASCII characters.
const CHUNK_BYTES: usize = 4096;
/// Maximum number of pivot lines tried when enumerating candidate windows.
const PIVOT_LINES_MAX: usize = 4;
/// Maximum number of lines compared for that.
const COMPARED_LINES_MAX: usize = 16_384;

/// The lines of the file that match one line, in order: at most the first [`REPORTED_LINES_MAX`] of them.
pub(super) struct SimilarLines {
    pub(super) lines: Vec<usize>,
}

impl SimilarLines {
    /// All matching lines; `None` if there may be more than were collected.
    pub(super) fn all(&self) -> Option<&[usize]> {
        (self.lines.len() < REPORTED_LINES_MAX).then_some(&*self.lines)
    }
}

/// Finds the lines that match this one; `None` if its words are too common.
pub(super) fn find_similar(index: &SearchIndex<'_>, line: &str) -> Option<SimilarLines> {
    let form = fold::normalize(line, Normalization::BlankRuns);
    let key = fold::normalized_hash(line, Normalization::BlankRuns);
    let mut lines: Vec<usize> = index.non_ascii_lines()?.iter().filter(|it| it.1 == key).map(|it| it.0).collect();
    if form.is_ascii() {
        lines.extend(with_words(index, &form)?);
        lines.sort_unstable();
    }
    lines.truncate(REPORTED_LINES_MAX);
    Some(SimilarLines { lines })
}

/// Finds the ASCII lines that have this normalized form.
fn with_words(index: &SearchIndex<'_>, form: &str) -> Option<Vec<usize>> {
    let words = form.split(' ').filter(|word| !word.is_empty());
    let words =
        words.map(|text| LineWord { bytes: text.as_bytes(), next: Following::Known(next_byte(form, text)) }).collect();
    by_words(index, words, REPORTED_LINES_MAX, &|line| fold::has_ascii_form(line, form))
}

/// Returns the first byte of the word after this one, which is a part of the form.
fn next_byte(form: &str, word: &str) -> Option<u8> {
    let end = word.as_ptr().addr() - form.as_ptr().addr() + word.len();
    form.as_bytes().get(end + 1).copied()
}

/// A part of a line that is searched for.
#[derive(Clone, Copy)]
pub(super) struct LineWord<'w> {
    pub(super) bytes: &'w [u8],
    pub(super) next: Following,
}

/// The continuation of a line after a part of it, without blanks.
#[derive(Clone, Copy)]
pub(super) enum Following {
    Anything,
    /// This byte, or nothing at the end of the line.
    Known(Option<u8>),
}

impl LineWord<'_> {
    /// A quick filter: false if what follows the end of an occurrence is not what follows the word in its line.
    fn may_end_at(&self, text: &[u8], end: usize) -> bool {
        let Following::Known(next) = self.next else { return true };
        let blanks = text[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match (text.get(end + blanks), next) {
            (Some(b'\n') | None, next) => next.is_none(),
            (found, next) => found == next.as_ref() && blanks > 0,
        }
    }
}

/// Returns the first `many` accepted lines that contain all of these words; `None` if the words are too common.
pub(super) fn by_words(
    index: &SearchIndex<'_>,
    mut words: Vec<LineWord<'_>>,
    many: usize,
    is_meant: &dyn Fn(&str) -> bool,
) -> Option<Vec<usize>> {
    words.sort_by_key(|word| Reverse(word.bytes.len()));
    let longest = *words.first()?;
    let with = |word: LineWord<'_>, strays| with_word(index, word, ScanLimit { lines: many, strays }, is_meant);
    // Once the work budget is used up, no further word is tried.
    let among_few = |strays: usize| {
        let mut tried = words.iter().take(TRIED_WORDS_MAX).take_while(|_| !work::spend_or_end(1));
        tried.find_map(|word| with(*word, strays))
    };
    let found = among_few(FEW_STRAY_LINES).or_else(|| among_few(STRAY_LINES_MAX.0));
    found.or_else(|| if work::spend_or_end(1) { None } else { with(longest, STRAY_LINES_MAX.1) })
}

/// Limits of the lines that a search examines.
#[derive(Clone, Copy)]
struct ScanLimit {
    /// Maximum number of accepted lines.
    lines: usize,
    /// Maximum number of lines with the word that are not accepted.
    strays: usize,
}

/// Finds the lines with this word.
fn with_word(
    index: &SearchIndex<'_>,
    word: LineWord<'_>,
    most: ScanLimit,
    is_meant: &dyn Fn(&str) -> bool,
) -> Option<Vec<usize>> {
    let text = index.text;
    let budget = text.len().saturating_mul(TEXT_PASSES_MAX).saturating_add(LOOKUP_BYTES_EXTRA);
    let sought = &word.bytes[..word.bytes.len().min(WORD_BYTES_MAX)];
    let finder = memmem::Finder::new(sought);
    let (mut lines, mut strays, mut from) = (Vec::new(), 0, 0);
    if index.cost.get() > budget || work::spend_or_end(text.len() / STEP_BYTES) {
        return None;
    }
    while let Some(at) = finder.find(&text.as_bytes()[from..]).map(|at| from + at) {
        let end = at + sought.len();
        if sought.len() == word.bytes.len() && !word.may_end_at(text.as_bytes(), end) {
            strays += 1;
            if strays > most.strays || work::spend_or_end(1) {
                add_cost(index, end);
                return None;
            }
            from = at + 1;
            continue;
        }
        let (start, stop) = (line_start(text, at), line_stop(text, at));
        let line = text[start..stop].trim_end_matches('\n');
        if work::spend_or_end(1 + line.len() / STEP_BYTES) {
            return None;
        }
        if is_meant(line) {
            lines.push(index.lines().at(start));
            if lines.len() == most.lines {
                add_cost(index, stop);
                return Some(lines);
            }
        } else {
            strays += 1;
            if strays > most.strays {
                add_cost(index, stop);
                return None;
            }
        }
        from = stop;
    }
    add_cost(index, text.len());
    Some(lines)
}

/// Adds to the cost of the search.
fn add_cost(index: &SearchIndex<'_>, upto: usize) {
    index.cost.set(index.cost.get().saturating_add(upto));
}

/// True if no line of the file can be equal to this one; both are compared as `trim` leaves them, without whitespace at
/// the end.
pub(super) fn is_surely_absent(index: &SearchIndex<'_>, line: &str, trim: fn(&str) -> &str) -> bool {
    let wanted = trim(line);
    let same = |file: &str| trim(file) == wanted;
    if let Some(similar) = index.cached_similar_lines(line)
        && let Some(all) = similar.all()
    {
        return !all.iter().any(|&at| same(index.line(at)));
    }
    let bytes = &wanted.as_bytes()[wanted.len().saturating_sub(TAIL_BYTES)..];
    let tail = LineWord { bytes, next: Following::Known(None) };
    with_word(index, tail, ScanLimit { lines: 1, strays: STRAY_LINES_MAX.0 }, &same)
        .is_some_and(|lines| lines.is_empty())
}

/// Returns the non-ASCII lines with their hashes; `None` if there are many.
pub(super) fn non_ascii_lines(index: &SearchIndex<'_>) -> Option<Vec<(usize, u64)>> {
    let text = index.text;
    let most = NON_ASCII_LINES_MAX.0.max(index.lines().count() / NON_ASCII_LINES_MAX.1);
    let (mut out, mut from) = (Vec::new(), 0);
    while from < text.len() {
        let chunk = &text.as_bytes()[from..text.len().min(from + CHUNK_BYTES)];
        if work::spend_or_end(CHUNK_BYTES / (4 * STEP_BYTES)) {
            return None;
        }
        if chunk.is_ascii() {
            from += chunk.len();
            continue;
        }
        let at = from + chunk.iter().take_while(|byte| byte.is_ascii()).count();
        let (start, stop) = (line_start(text, at), line_stop(text, at));
        if out.len() == most {
            return None;
        }
        out.push((
            index.lines().at(start),
            fold::normalized_hash(text[start..stop].trim_end_matches('\n'), Normalization::BlankRuns),
        ));
        from = stop;
    }
    Some(out)
}

/// Returns the [`MatchSearch::windows`] by means of the old line with the longest word; `None` if no pivot line
/// decides.
pub(super) fn windows(search: &MatchSearch<'_>, old: &[&str]) -> Option<Vec<usize>> {
    let (count, height) = (search.lines().count(), old.len());
    for pivot in pivot_lines(old) {
        let Some(similar) = search.index.similar_lines(old[pivot]) else { continue };
        let Some(all) = similar.all().filter(|all| all.len().saturating_mul(height) <= COMPARED_LINES_MAX) else {
            continue;
        };
        let starts = all.iter().filter_map(|line| line.checked_sub(pivot));
        return Some(starts.filter(|first| fits_at(height, count, old, search, *first)).collect());
    }
    None
}

/// Returns the lines with the longest words, at most [`PIVOT_LINES_MAX`] of them, the longest first.
fn pivot_lines(old: &[&str]) -> Vec<usize> {
    let mut pivots: Vec<(usize, usize)> = Vec::with_capacity(PIVOT_LINES_MAX + 1);
    for (at, line) in work::batched(old.iter().enumerate()) {
        if pivots.len() == PIVOT_LINES_MAX && pivots.last().is_some_and(|&(least, _)| line.len() <= least) {
            continue;
        }
        let longest = line.split(fold::SPACES_AND_TABS).map(str::len).max().unwrap_or(0);
        if longest > 0 && !is_blank(line) {
            pivots.insert(pivots.partition_point(|&(other, _)| other >= longest), (longest, at));
            pivots.truncate(PIVOT_LINES_MAX);
        }
    }
    pivots.into_iter().map(|(_, at)| at).collect()
}

/// True if the old lines match from a line of the file on, under the loosest normalization.
fn fits_at(height: usize, count: usize, old: &[&str], search: &MatchSearch<'_>, first: usize) -> bool {
    first + height <= count
        && (first..).zip(old).all(|(at, old)| {
            !work::spend_or_end(1) && fold::are_equal_under(search.line(at), old, Normalization::BlankRuns)
        })
}

#[cfg(test)]
mod tests {
    use crate::locate::find::hunk::place_all;
    use crate::locate::find::search::{MatchSearch, SearchIndex};
    use crate::locate::find::{TextMatches, Tier, find_in, rivals};
    use crate::locate::op::{ExpectedMatches, Hunk, HunkLine, HunkLineKind, ResolveSettings, TextQuery};
    use crate::text::snapshot::Snapshot;
    use crate::text::tokens;
    use proptest::prelude::*;

    const LINES: &[&str] = &[
        "fn first() {", "    alpha_and_omega(1);", "\talpha_and_omega(1);", "    alpha_and_omega(1);  ",
        "  alpha_and_omega(2);", "}", "    }", "", "   ", "let  quoted = “here”;", "let quoted = \"here\";",
        "    return None;", "return None;", "caf\u{e9} au lait, please", "cafe\u{301} au lait, please",
        "mea\u{200B}sure(all)", "measure(all)", "unlike_any_other_line();", "unlike any  other line();",
        "a &lt; b && c == \\\"d\\\"", "a < b && c == \"d\"", "12: measure(all)", "...",
    ];

    /// Generates lists of lines, some of them repeated many times.
    fn texts() -> impl Strategy<Value = Vec<&'static str>> {
        let times = prop_oneof![8 => Just(1usize), 1 => 60usize..75];
        prop::collection::vec((prop::sample::select(LINES), times), 0..24)
            .prop_map(|all| all.into_iter().flat_map(|(line, times)| vec![line; times]).collect())
    }

    /// Returns some lines of a text, with a few of them replaced.
    fn cut(text: &[&'static str], from: usize, len: usize, other: &[(usize, usize)]) -> Vec<&'static str> {
        let from = from % (text.len() + 1);
        let mut old = text[from..text.len().min(from + len)].to_vec();
        for &(at, line) in other {
            let count = old.len().max(1);
            if let Some(slot) = old.get_mut(at % count) {
                *slot = LINES[line % LINES.len()];
            }
        }
        old
    }

    fn outcome(found: crate::error::Result<TextMatches>) -> String {
        found.map_or_else(|error| format!("{error} {:?}", error.data()), |found| format!("{found:?}"))
    }

    proptest! {
        #[test]
        fn lookups_agree_with_the_full_key_table(
            text in texts(),
            end in "\n?",
            (from, len) in (0usize..400, 1usize..9),
            other in prop::collection::vec((0usize..9, 0usize..99), 0..3),
            new in prop::collection::vec((0usize..9, 0usize..99), 1..3),
            all in any::<bool>(),
        ) {
            let old = cut(&text, from, len, &other).join("\n");
            let new = cut(&old.split('\n').map(|line| LINES.iter().find(|it| **it == line).unwrap_or(&"")).copied().collect::<Vec<_>>(), 0, 9, &new).join("\n");
            let base = Snapshot::from_text(&(text.join("\n") + &end));
            let find = TextQuery::new(&old, if all { ExpectedMatches::All } else { ExpectedMatches::Unique });
            let (quick, plain) = (SearchIndex::new(&base), SearchIndex::plain(&base));
            let windows = |index| MatchSearch::new(index, &find, &new).wanted_windows().to_vec();
            prop_assert_eq!(windows(&quick), windows(&plain));
            let one = |index| outcome(find_in(index, &find, &new, ResolveSettings::default(), None));
            // The search runs twice, because look-ups are cached.
            prop_assert_eq!(one(&quick), one(&plain));
            prop_assert_eq!(one(&quick), one(&plain));
        }

        #[test]
        fn absent_block_has_no_rival_and_all_lookups_agree(
            text in texts(),
            (from, len) in (0usize..400, 1usize..9),
            other in prop::collection::vec((0usize..9, 0usize..99), 0..4),
            changed in 0usize..9,
            taken in 0usize..90,
        ) {
            let old = cut(&text, from, len, &other);
            let mut new = old.clone();
            new.get_mut(changed).map(|line| *line = "another_line();").unwrap_or_default();
            let base = Snapshot::from_text(&(text.join("\n") + "\n"));
            let find = TextQuery::new(&old.join("\n"), ExpectedMatches::Unique);
            let (quick, plain) = (SearchIndex::new(&base), SearchIndex::plain(&base));
            let new = new.join("\n");
            let (quick, plain) = (MatchSearch::new(&quick, &find, &new), MatchSearch::new(&plain, &find, &new));
            let first = taken % text.len().max(1);
            let place = first..(first + old.len()).min(text.len());
            let matched = || rivals::MatchedLines { lines: place.clone(), front: 0, back: 0 };
            let rival = |search: &MatchSearch<'_>| {
                rivals::rival_of_lines(search, &search.pattern, Tier::IndentShift, &[matched()])
            };
            prop_assert_eq!(rival(&quick), rival(&plain));
            for line in LINES.iter().chain(["alpha_and_omega ( 1 ) ;", "fn first ( ) {", "unlikeanyotherline();"].iter()) {
                let like = |search: &MatchSearch<'_>| {
                    let mut lines = search.lines_but_for_indent(line, 200);
                    lines.truncate(200);
                    lines
                };
                prop_assert_eq!(like(&quick), like(&plain), "{}", line);
                let spaced = quick.index.differing_in_blanks(line, 3);
                prop_assert_eq!(&spaced, &plain.index.differing_in_blanks(line, 3), "{}", line);
                let dense = |line: &str| line.replace([' ', '\t'], "");
                let own = |at: usize| text.get(at).copied().unwrap_or_default();
                let same = |at: &usize| dense(own(*at)) == dense(line) && tokens::are_same(own(*at), line);
                prop_assert_eq!(spaced, (0..text.len().max(1)).filter(same).take(3).collect::<Vec<_>>(), "{}", line);
            }
        }

        #[test]
        fn hunks_are_placed_equally_by_both_lookups(
            text in texts(),
            from in 0usize..400,
            kinds in prop::collection::vec(0u8..5, 1..9),
            other in prop::collection::vec((0usize..9, 0usize..99), 0..3),
            added in prop::collection::vec(0usize..99, 1..4),
        ) {
            let old = cut(&text, from, kinds.len(), &other);
            let line = |(nth, text): (usize, &&str)| {
                let kind = if kinds[nth] == 0 { HunkLineKind::Removed } else { HunkLineKind::Context };
                let fresh = added.get(nth).filter(|_| kinds[nth] == 0);
                let fresh = fresh.map(|line| HunkLine { kind: HunkLineKind::Added, text: LINES[line % LINES.len()].to_owned() });
                [Some(HunkLine { kind, text: (*text).to_owned() }), fresh]
            };
            let lines = old.iter().enumerate().flat_map(line).flatten().collect();
            let hunk = Hunk { lines, source_line: 1, ..Hunk::default() };
            let base = Snapshot::from_text(&(text.join("\n") + "\n"));
            let place = |index: &SearchIndex<'_>| place_all(index, &[&hunk], ResolveSettings::default()).pop().unwrap();
            match (place(&SearchIndex::new(&base)), place(&SearchIndex::plain(&base))) {
                (Ok(quick), Ok(plain)) => prop_assert_eq!(quick, plain),
                // A hunk with a removed line that occurs nowhere is refused before the tiers are tried, with a message
                // of its own.
                (quick, plain) => prop_assert!(quick.is_err() && plain.is_err(), "{:?}\n{:?}", quick, plain),
            }
        }
    }
}

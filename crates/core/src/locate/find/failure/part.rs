//! Search for the part of a line that is most similar to a text of less than a line, by the bit-parallel algorithm of
//! Myers.

use crate::locate::find::search::MatchSearch;
use crate::text::fold;
use crate::work;
use core::ops::Range;

/// Maximum number of bytes of the searched text: each one is a bit of a word.
const PATTERN_BYTES_MAX: usize = 64;
/// Minimum number of letters and digits for which a similar part of a line is not a coincidence.
const PATTERN_ALNUM_MIN: usize = 3;
/// Bytes of the file between two checks of the meter.
const BYTES_PER_LOOK: usize = 4096;
/// Bytes that are compared in one step of work.
const BYTES_PER_STEP: usize = 4;

/// A part of a line that resembles the old text.
pub(super) struct SimilarPart {
    pub span: Range<usize>,
    /// Number of bytes that differ, ignoring the case of letters.
    pub errors: usize,
    pub likeness: f64,
}

/// Returns the part of a line that is most similar, the first one of equally similar parts; `None` if none may be
/// meant. Linear in the size of the file.
pub(super) fn find_part(search: &MatchSearch<'_>) -> Option<SimilarPart> {
    let old = search.find.old.trim();
    let fits = old.len() <= PATTERN_BYTES_MAX && !old.contains(['\n', '\r']);
    if !fits || fold::count_alnum(old, PATTERN_ALNUM_MIN) < PATTERN_ALNUM_MIN {
        return None;
    }
    let most = errors_max(old.len());
    let LineMatch { end, errors } = nearest_end(old.as_bytes(), search.text.as_bytes(), most)?;
    let starts = end.saturating_sub(old.len() + errors)..=end.saturating_sub(old.len() - errors.min(old.len() - 1));
    let start = starts
        .filter(|&start| search.text.get(start..end).is_some_and(|part| distance(old, part) == errors))
        .min_by_key(|&start| (end - start).abs_diff(old.len()))?;
    let [wrong, all] = [errors, old.len()].map(|bytes| f64::from(u8::try_from(bytes).unwrap_or(u8::MAX)));
    let likeness = 1.0 - wrong / all;
    (search.text[start..end] != *old).then_some(SimilarPart { span: start..end, errors, likeness })
}

/// Returns the maximum number of bytes that may differ.
fn errors_max(len: usize) -> usize {
    match len {
        0..=4 => 0,
        5..=8 => 1,
        9..=16 => 2,
        _ => 3,
    }
}

/// The end of a place in a line, with the number of bytes that differ.
struct LineMatch {
    end: usize,
    errors: usize,
}

/// Returns the first place with the fewest differences, by the last of its possible ends.
fn nearest_end(pattern: &[u8], text: &[u8], most: usize) -> Option<LineMatch> {
    let mut masks = [0_u64; 256];
    for (at, byte) in pattern.iter().enumerate() {
        masks[usize::from(byte.to_ascii_lowercase())] |= 1 << at;
        masks[usize::from(byte.to_ascii_uppercase())] |= 1 << at;
    }
    let last = 1_u64 << (pattern.len() - 1);
    let (mut above, mut below, mut errors) = (u64::MAX, 0_u64, pattern.len());
    let mut best: Option<LineMatch> = None;
    for (at, &byte) in text.iter().enumerate() {
        if at % BYTES_PER_LOOK == 0 && work::spend_or_end(BYTES_PER_LOOK / BYTES_PER_STEP) {
            return None;
        }
        if byte == b'\n' {
            (above, below, errors) = (u64::MAX, 0, pattern.len());
            continue;
        }
        let equal = masks[usize::from(byte)];
        let diagonal = ((equal & above).wrapping_add(above) ^ above) | equal | below;
        let (more, fewer) = (below | !(diagonal | above), above & diagonal);
        if more & last != 0 {
            errors += 1;
        } else if fewer & last != 0 {
            errors -= 1;
        }
        let (more, fewer) = (more << 1, fewer << 1);
        (above, below) = (fewer | !(diagonal | more), more & diagonal);
        // Of adjacent ends, the last one is chosen: `getUser` rather than `getUs` for `getUsr`.
        let is_better = |best: &LineMatch| errors < best.errors || errors == best.errors && best.end == at;
        if errors <= most && best.as_ref().is_none_or(is_better) {
            best = Some(LineMatch { end: at + 1, errors });
        }
    }
    best
}

/// Returns the edit distance of two short texts in bytes, ignoring the case of letters.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, a) in left.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (to, b) in right.bytes().enumerate() {
            let changed = diagonal + usize::from(!a.eq_ignore_ascii_case(&b));
            diagonal = row[to + 1];
            row[to + 1] = changed.min(diagonal + 1).min(row[to] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, errors_max, nearest_end};

    #[test]
    fn first_place_with_the_fewest_differences_is_found() {
        let found = |pattern: &str, text: &str| {
            let found = nearest_end(pattern.as_bytes(), text.as_bytes(), errors_max(pattern.len()));
            found.map(|found| (found.end, found.errors))
        };
        assert_eq!(found("getuser", "def getUser(id):"), Some((11, 0)));
        assert_eq!(found("getUsr", "def getUser(id):"), Some((11, 1)));
        assert_eq!(found("db.got", "x\n  return db.get(id)"), Some((17, 1)));
        // A part does not extend over a line end, and has few differences.
        assert_eq!(found("alpha beta", "alph\na beta"), None);
        assert_eq!(found("fetchUser", "getUser"), None);
        let long = "a".repeat(64);
        assert_eq!(found(&long, &format!("b{}b", "A".repeat(64))), Some((65, 0)));
    }

    #[test]
    fn search_agrees_with_the_distance_of_every_part() {
        let text = "abacabadabacaba bcd abd";
        for pattern in ["abadaba", "bacab", "cabad", "abcdabd"] {
            let parts = (0..text.len()).flat_map(|from| (from..text.len()).map(move |to| &text[from..=to]));
            let least = parts.map(|part| distance(pattern, part)).min();
            let found = nearest_end(pattern.as_bytes(), text.as_bytes(), pattern.len()).map(|found| found.errors);
            assert_eq!(found, least, "{pattern}");
        }
    }
}

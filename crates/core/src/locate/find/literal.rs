//! Tier 0 for all edits of a call at once: one pass over the text instead of one per edit.

use super::CHANGED_PLACES_MAX;
use super::tier::exact;
use crate::locate::op::{ExpectedMatches, Locator, Op, TextQuery};
use crate::text::multi_search::AUTOMATON_NEEDLE_BYTES_MAX;
use crate::text::multi_search::{NeedleMatch, Needles, SHORT_NEEDLE_BYTES};
use crate::text::span::Span;
use crate::work::{self, STEP_BYTES};
use memchr::memmem;
use std::collections::{HashMap, HashSet};

/// Up to this number of short texts are searched for one by one; more are searched for by an automaton.
const SHORT_NEEDLES_MAX: usize = 8;
/// Number of texts from which an automaton is faster than one search per text, if grams do not help.
const AUTOMATON_NEEDLES_MIN: usize = 24;

/// The shared results of several searches.
pub(crate) struct Literal<'o> {
    /// The literal occurrences of each search, as [`exact::run`] would find them; `None` for a search that has to be
    /// run by itself.
    pub(crate) places: Vec<Option<Vec<Span>>>,
    /// The needles of all searches, by index, if all of them were searched together.
    pub(crate) needles: Option<Needles<'o>>,
}

/// Searches the literal occurrences of all operations that search for text.
pub(crate) fn of_ops<'o>(text: &str, ops: &'o [Op]) -> Literal<'o> {
    of_searches(text, &ops.iter().map(find).collect::<Vec<Option<&TextQuery>>>())
}

/// True if a text occurs literally; an empty one does not.
pub(crate) fn occurs(text: &str, old: &str) -> bool {
    !old.is_empty()
        && !work::spend_or_end(1 + text.len() / STEP_BYTES)
        && memmem::find(text.as_bytes(), old.as_bytes()).is_some()
}

/// Searches for several texts; entries without a text are skipped.
pub(super) fn of_searches<'o>(text: &str, finds: &[Option<&'o TextQuery>]) -> Literal<'o> {
    let mut out = Literal { places: vec![None; finds.len()], needles: None };
    let present = finds.iter().enumerate().filter_map(|(nth, find)| Some((nth, (*find)?)));
    let mut wanted: Vec<(usize, &TextQuery)> = present.filter(|(_, find)| !find.old.is_empty()).collect();
    if wanted.len() < 2 {
        return out;
    }
    let short: HashSet<&str> =
        wanted.iter().map(|(_, find)| &*find.old).filter(|old| old.len() < SHORT_NEEDLE_BYTES).collect();
    if short.len() <= SHORT_NEEDLES_MAX {
        wanted.retain(|(_, find)| find.old.len() >= SHORT_NEEDLE_BYTES);
    }
    // Equal texts are searched for once.
    let (mut all, mut known): (Vec<&str>, HashMap<&str, usize>) = (Vec::new(), HashMap::new());
    let needle_of: Vec<usize> = wanted
        .iter()
        .map(|(_, find)| {
            *known.entry(&find.old).or_insert_with(|| {
                all.push(&find.old);
                all.len() - 1
            })
        })
        .collect();
    if all.len() < 2 {
        return out;
    }
    let bytes: usize = all.iter().map(|old| old.len()).sum();
    if work::spend_or_end((text.len() + 2 * bytes) / STEP_BYTES) {
        return out;
    }
    let Some((needles, mut seen)) = seen(text, &all) else { return out };
    out.needles = Some(needles).filter(|_| all.len() == finds.len());
    seen.sort_unstable();
    let mut places: Vec<&[NeedleMatch]> = vec![&[]; all.len()];
    for of_one in seen.chunk_by(|a, b| a.needle == b.needle) {
        places[of_one[0].needle] = of_one;
    }
    for ((nth, find), needle) in wanted.into_iter().zip(needle_of) {
        out.places[nth] = Some(chosen(text, find, places[needle]));
    }
    out
}

fn find(op: &Op) -> Option<&TextQuery> {
    match &op.at {
        Locator::Find(find) => Some(find),
        _ => None,
    }
}

/// Finds all occurrences of all texts; `None` if one search per text is as fast.
fn seen<'o>(text: &str, all: &[&'o str]) -> Option<(Needles<'o>, Vec<NeedleMatch>)> {
    let bytes: usize = all.iter().map(|old| old.len()).sum();
    // The cost if every text occurs twice, and a fraction of the cost of one pass.
    let mut budget = 2 * bytes + text.len() / 4;
    let needles = Needles::new(all, text, text.len())?;
    if let Some(seen) = needles.find_all(text, &mut budget) {
        return Some((needles, seen));
    }
    if all.len() < AUTOMATON_NEEDLES_MIN || bytes > AUTOMATON_NEEDLE_BYTES_MAX {
        return None;
    }
    let needles = Needles::without_grams(all)?;
    let seen = needles.find_all(text, &mut (2 * bytes + text.len() / 4))?;
    Some((needles, seen))
}

/// Selects the occurrences that tier 0 counts.
fn chosen(text: &str, find: &TextQuery, places: &[NeedleMatch]) -> Vec<Span> {
    let most = exact::search_limit(find.expected).unwrap_or(usize::MAX).min(CHANGED_PLACES_MAX + 1);
    let spans = places.iter().map(|seen| Span::new(seen.at, seen.at + find.old.len()));
    let mut from = 0;
    let spans = spans.filter(|span| !find.lines || exact::is_whole_lines(text, *span)).filter(|span| {
        // If all occurrences are wanted, overlapping ones are skipped.
        let clear = find.lines || find.expected != ExpectedMatches::All || span.start() >= from;
        from = if clear { span.end() } else { from };
        clear
    });
    spans.take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::of_ops;
    use crate::locate::find::search::{MatchSearch, SearchIndex};
    use crate::locate::find::tier::exact;
    use crate::locate::op::{ExpectedMatches, Locator, Op, ResolveSettings, TextQuery};
    use crate::text::snapshot::Snapshot;
    use proptest::prelude::*;

    fn ops(olds: &[(&str, ExpectedMatches, bool)]) -> Vec<Op> {
        let op = |(old, pick, lines): &(&str, ExpectedMatches, bool)| {
            let find = TextQuery { lines: *lines, ..TextQuery::new(old, *pick) };
            Op { at: Locator::Find(find), text: "new".to_owned() }
        };
        olds.iter().map(op).collect()
    }

    /// Returns the result of each operation on its own, and with the shared search.
    fn both(text: &str, ops: &[Op]) -> Vec<[String; 2]> {
        let base = Snapshot::from_text(text);
        let index = SearchIndex::new(&base);
        let known = of_ops(text, ops).places;
        let one = |(op, known): (&Op, &Option<Vec<_>>)| {
            let find = super::find(op)?;
            let found = |places| {
                format!(
                    "{:?}",
                    crate::locate::find::find_in(&index, find, &op.text, ResolveSettings::default(), places)
                )
            };
            let mut search = MatchSearch::new(&index, find, &op.text);
            let tier = |search: &MatchSearch<'_>| {
                let candidates = exact::run(search).ok().map(|it| it.places);
                format!("{:?}", candidates.unwrap_or_default().iter().map(|it| it.span).collect::<Vec<_>>())
            };
            let alone = tier(&search) + &found(None);
            search.literal = known.as_deref();
            Some([alone, tier(&search) + &found(known.as_deref())])
        };
        ops.iter().zip(&known).filter_map(one).collect()
    }

    fn picks() -> impl Strategy<Value = ExpectedMatches> {
        prop_oneof![
            Just(ExpectedMatches::Unique),
            Just(ExpectedMatches::All),
            (1usize..4).prop_map(ExpectedMatches::Exactly)
        ]
    }

    proptest! {
        #[test]
        fn shared_search_agrees_with_single_searches(
            text in prop_oneof![
                "[ab]{0,300}",
                "(    |\\}\n|x = \"é\";\n|fn f\\(\\) \\{\n|// a line of its own\n){0,60}",
                "([a-d]{1,9}\n|call\\(me\\);\n){0,60}",
            ],
            cuts in prop::collection::vec((0usize..500, 0usize..90, picks(), any::<bool>()), 2..20),
        ) {
            let whole = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let line = |at: usize| text[..whole(at)].rfind('\n').map_or(0, |at| at + 1);
            let cut = |&(from, len, pick, lines): &(usize, usize, ExpectedMatches, bool)| {
                // Every second text consists of whole lines.
                let part = if len % 2 == 0 { whole(from)..whole(from + len) } else { line(from)..line(from + len) };
                (&text[part], pick, lines)
            };
            let cuts: Vec<_> = cuts.iter().map(cut).collect();
            for [alone, together] in both(&text, &ops(&cuts)) {
                prop_assert_eq!(alone, together);
            }
        }
    }

    #[test]
    fn equal_texts_are_searched_once() {
        let text =
            "fn first_part() {\n}\nfn other_part() {\n}\nfn first_part() {\n}\n".to_owned() + &"// more\n".repeat(90);
        let (first, other) = ("fn first_part() {\n", "fn other_part() {\n");
        let olds = [first, other, first, first].map(|old| (old, ExpectedMatches::All, false));
        let ops = ops(&olds);
        let found = of_ops(&text, &ops);
        let counts: Vec<usize> = found.places.iter().flatten().map(Vec::len).collect();
        assert_eq!((counts, found.needles.is_none()), (vec![2, 1, 2, 2], true));
        for [alone, together] in both(&text, &ops) {
            assert_eq!(alone, together);
        }
    }

    #[test]
    fn repetitive_text_is_searched_without_the_shared_search() {
        let text = "ab".repeat(20_000) + "c";
        let olds: Vec<&str> = (0..40).map(|nth| &text[text.len() - 2000 - nth..]).collect();
        for count in [2, 40] {
            let olds: Vec<_> = olds[..count].iter().map(|old| (*old, ExpectedMatches::Unique, false)).collect();
            let ops = ops(&olds);
            assert_eq!(of_ops(&text, &ops).places.iter().flatten().count(), if count == 40 { 40 } else { 0 });
            for [alone, together] in both(&text, &ops) {
                assert_eq!(alone, together);
            }
        }
        let many = "abababababababababababab";
        let ops = ops(&[
            (many, ExpectedMatches::All, false),
            (many, ExpectedMatches::Unique, false),
            (&many[1..], ExpectedMatches::Exactly(3), true),
        ]);
        for [alone, together] in both(&text[..1000], &ops) {
            assert_eq!(alone, together);
        }
    }
}

use crate::tools::search::PatternOptions;
use crate::tools::search::regex::{BoundedRegex, CountedRegex, GroupSlots, LIBRARY_WORK_MAX, library};
use emendate_core::Advice;
use emendate_core::work::{self, Meter};
use grep_matcher::{Captures as _, Match, Matcher as _};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Parts of expressions that differ in how the library searches for them.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a", "b", "é", ".", "[^a]", r"\w", r"\W", r"\s", r"\b", r"\B", "^", "$", r"\A", r"\z", "(?i:A)", "ab", "",
        "(?-u:\\b)", r"[a-é]", "x", "(?s:.)",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner.clone(), prop::sample::select(vec!["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}"]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
            inner.prop_map(|part| format!("({part})")),
        ]
    })
}

fn ranges(found: Option<Match>) -> Option<(usize, usize)> {
    found.map(|found| (found.start(), found.end()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn counted_searches_find_what_the_library_finds(
        pattern in pattern(),
        text in "[abxé \n_]{0,24}",
        multiline: bool,
        ignore_case: bool,
    ) {
        let look = PatternOptions { literal: false, ignore_case, multiline };
        let Ok(regex) = BoundedRegex::new(&pattern, look, &Advice::default()) else { return Ok(()) };
        let (library, text) = (library(&pattern, look).unwrap(), text.as_bytes());
        let counted = CountedRegex::new(&regex.hir, &regex.nfa);
        let simulated = CountedRegex { automaton: None, ..CountedRegex::new(&regex.hir, &regex.nfa) };
        for at in 0..=text.len() {
            let theirs = ranges(library.find_at(text, at).unwrap());
            prop_assert_eq!(ranges(counted.find_at(text, at)), theirs, "automaton from {}", at);
            prop_assert_eq!(ranges(simulated.find_at(text, at)), theirs, "simulation from {}", at);
        }
    }

    #[test]
    fn groups_are_those_of_the_library(pattern in pattern(), text in "[abxé \n_]{0,24}", multiline: bool) {
        let look = PatternOptions { multiline, ..PatternOptions::default() };
        let Ok(regex) = BoundedRegex::new(&pattern, look, &Advice::default()) else { return Ok(()) };
        let (library, text) = (library(&pattern, look).unwrap(), text.as_bytes());
        let mut captures = library.new_captures().unwrap();
        let mut slots = GroupSlots::new(0..regex.group_count());
        let mut at = 0;
        while at <= text.len() && library.captures_at(text, at, &mut captures).unwrap() {
            let whole = captures.get(0).unwrap();
            prop_assert!(regex.groups(text, whole, &mut slots).unwrap());
            for nth in 0..regex.group_count() {
                let theirs = captures.get(nth).map(|found| found.start()..found.end());
                prop_assert_eq!(slots.group(nth), theirs, "group {} of {:?}", nth, whole);
            }
            at = whole.end() + usize::from(whole.is_empty());
        }
    }
}

/// Searches for all matches with a limit of steps; returns their number, unless the steps did not suffice.
fn all(pattern: &str, text: &str, steps: u64) -> Option<usize> {
    let look = PatternOptions { multiline: true, ..PatternOptions::default() };
    let regex = BoundedRegex::new(pattern, look, &Advice::default()).unwrap();
    regex.library_work.store(LIBRARY_WORK_MAX, Ordering::Relaxed);
    let meter = Meter::new(steps, Arc::default());
    let _entered = meter.enter();
    let (mut at, mut count) = (0, 0);
    while let Some(found) = regex.find_at(text.as_bytes(), at) {
        at = found.end() + usize::from(found.is_empty());
        count += 1;
    }
    work::check().is_ok().then_some(count)
}

#[test]
fn harmless_searches_take_few_steps() {
    let text = "some words in a line\n".repeat(10_000);
    assert_eq!(all("words", &text, 100_000), Some(10_000));
    assert_eq!(all(r"\w+", &text, 400_000), Some(50_000));
    assert_eq!(all(r"\bin\b.a", &text, 1_000_000), Some(10_000));
}

#[test]
fn searches_that_look_at_the_whole_text_for_each_match_end() {
    let text = "a".repeat(100_000);
    assert_eq!(all("a[^b]*b|a", &text, 10_000_000), None);
}

#[test]
fn large_expressions_end() {
    let text = "a".repeat(100_000);
    assert_eq!(all("(?:a{1,100}){1,100}b", &text, 60_000_000), None);
    assert_eq!(all(r"(\b\w+\b\W*){50}#####", &"añb ".repeat(20_000), 30_000_000), None);
}

#[test]
fn the_library_is_not_used_beyond_its_allowance() {
    let regex = BoundedRegex::new("a+b", PatternOptions::default(), &Advice::default()).unwrap();
    let text = "a".repeat(1_000_000);
    while regex.counted.get().is_none() {
        assert_eq!(regex.find_at(text.as_bytes(), 0), None);
        assert!(regex.library_work.load(Ordering::Relaxed) <= LIBRARY_WORK_MAX);
    }
}

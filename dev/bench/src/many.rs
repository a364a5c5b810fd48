//! `many`: many edits of one file in one call, next to one pass of aho-corasick, one memmem per edit, and one edit
//! after another; also patches with very many hunks.
//!
//! Emendate's time covers everything from the operations to the splices: finding, proving uniqueness, checking for
//! conflicts. The others find, count and build the new text.

use crate::outcome::{Outcome, size};
use crate::patches::{self, Task};
use crate::race::{Case, race, timed};
use crate::report::Report;
use crate::text::lines;
use aho_corasick::AhoCorasick;
use emendate::core::formats::replace::Replacement;
use emendate::core::formats::{FormatInput, format_by_name};
use emendate::core::{FileAction, Op, OpOrder, ResolveSettings, Snapshot, resolve};
use memchr::memmem;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

/// Maximum time for each additional edit.
const EACH: Duration = Duration::from_micros(3);

pub(crate) fn run(report: &mut Report) {
    let quick = report.setting.quick;
    let sizes: &[usize] = if quick { &[1 << 20] } else { &[100 << 10, 1 << 20, 10 << 20] };
    for &bytes in sizes {
        let counts: &[usize] = if bytes < 1 << 20 { &[1, 10, 100] } else { &[1, 10, 100, 1000] };
        let mut first = None;
        for &count in counts {
            report.race(&format!("{count} edits in one call, {}", size(bytes)), || {
                let outcome = edits(bytes, count, if quick { 7 } else { 21 });
                let first = *first.get_or_insert(outcome.time("ours"));
                let limit = first + EACH * u32::try_from(count).unwrap_or(u32::MAX);
                let outcome = outcome.within("", "ours", limit);
                if bytes == 1 << 20 && count == 100 {
                    outcome.goal("", "ours", 0.1).beside("", "ours", "one after another", 0.01)
                } else {
                    outcome
                }
            });
        }
    }
    report.races("texts that repeat themselves", || hostile(quick));
    report.race("patches of many hunks", || hunks(quick));
}

/// Old texts with their replacements.
type Pairs = Vec<(String, String)>;

fn ops(pairs: &Pairs) -> Vec<Op> {
    let op = |(old, new): &(String, String)| {
        let edit = Replacement { old_string: old.clone(), new_string: new.clone(), ..Replacement::default() };
        edit.to_op().unwrap_or_else(|error| panic!("{error}"))
    };
    pairs.iter().map(op).collect()
}

/// Generates text with one unique line per edit, and edits of five lines around each.
fn spread(size: usize, count: usize) -> (String, Pairs) {
    let text = lines(size / 35, "");
    let all: Vec<&str> = text.lines().collect();
    let step = all.len() / count;
    let mut text = String::with_capacity(size + size / 8);
    let mut pairs = Vec::with_capacity(count);
    for (nth, piece) in all.chunks(step).enumerate() {
        let middle = piece.len() / 2;
        let (head, tail) = (&piece[..middle], &piece[middle..]);
        let own = format!("    let value_{nth} = self.measure({nth});\n");
        let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let before = joined(&head[head.len().saturating_sub(2)..]);
        let after = joined(&tail[..tail.len().min(2)]);
        if pairs.len() < count {
            let new = own.replace("measure", "weigh");
            pairs.push((format!("{before}{own}{after}"), format!("{before}{new}{after}")));
        }
        text += &joined(head);
        text += &own;
        text += &joined(tail);
    }
    (text, pairs)
}

fn edits(size: usize, count: usize, rounds: usize) -> Outcome {
    let (text, pairs) = spread(size, count);
    let name = format!("{count} edits in one call, {}", self::size(size));
    beside(name, &text, &pairs, rounds)
}

/// Measures the same edits with all tools.
fn beside(name: String, text: &str, pairs: &Pairs, rounds: usize) -> Outcome {
    let base = Snapshot::from_text(text);
    base.id();
    let ops = ops(pairs);
    let ours = || resolve(&base, &ops, OpOrder::Together, ResolveSettings::default()).ok();
    let want = in_turn(text, pairs);
    assert_eq!(ours().map(|it| it.changes.apply(&base)).as_deref(), want.as_deref().map(str::as_bytes), "{name}");
    let cases = vec![
        Case::peer("aho-corasick, one pass", || timed(|| black_box(automaton(text, pairs))).1),
        Case::ours("ours", || timed(|| black_box(ours())).1),
        Case::peer("memmem for each", || timed(|| black_box(each(text, pairs))).1),
        Case::peer("one after another", || timed(|| black_box(in_turn(text, pairs))).1),
    ];
    race(name, rounds, cases)
}

fn automaton(text: &str, pairs: &Pairs) -> Option<String> {
    let search = AhoCorasick::new(pairs.iter().map(|(old, _)| old)).ok()?;
    let mut places = vec![None; pairs.len()];
    for hit in search.find_overlapping_iter(text) {
        if places[hit.pattern()].replace(hit.start()).is_some() {
            return None;
        }
    }
    Some(merged(text, pairs, &places))
}

fn each(text: &str, pairs: &Pairs) -> Option<String> {
    let mut places = Vec::with_capacity(pairs.len());
    for (old, _) in pairs {
        let finder = memmem::Finder::new(old);
        let at = finder.find(text.as_bytes());
        if at.is_some_and(|at| finder.find(&text.as_bytes()[at + 1..]).is_some()) {
            return None;
        }
        places.push(at);
    }
    Some(merged(text, pairs, &places))
}

fn merged(text: &str, pairs: &Pairs, places: &[Option<usize>]) -> String {
    let mut order: Vec<(usize, usize)> =
        places.iter().enumerate().filter_map(|(nth, at)| Some(((*at)?, nth))).collect();
    order.sort_unstable();
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut from = 0;
    for (at, nth) in order {
        out.push_str(&text[from..at]);
        out.push_str(&pairs[nth].1);
        from = at + pairs[nth].0.len();
    }
    out.push_str(&text[from..]);
    out
}

fn in_turn(text: &str, pairs: &Pairs) -> Option<String> {
    let mut text = text.to_owned();
    for (old, new) in pairs {
        if text.matches(old.as_str()).count() != 1 {
            return None;
        }
        text = text.replacen(old.as_str(), new, 1);
    }
    Some(text)
}

/// Measures texts that are so repetitive that no part of an edit identifies its place.
fn hostile(quick: bool) -> Vec<Outcome> {
    let rounds = if quick { 5 } else { 11 };
    let size = 1 << 20;
    let one = |name: &str, text: &str, pairs: &Pairs| {
        let outcome = beside(format!("{name}, {} edits, {}", pairs.len(), self::size(text.len())), text, pairs, rounds);
        let (one, each) = ("aho-corasick, one pass", "memmem for each");
        let least = if outcome.time(one) < outcome.time(each) { one } else { each };
        outcome.beside("", "ours", least, 2.0)
    };
    let mut out = Vec::new();
    for count in [10, 100] {
        let step = size / count;
        let letters = |nth: usize, len: usize| -> String {
            let mut state = nth as u64 + 1;
            let mut letter = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if state >> 63 == 0 { 'a' } else { 'b' }
            };
            (0..len).map(|_| letter()).collect()
        };
        let two: Vec<String> = (0..count).map(|nth| letters(nth, step)).collect();
        let pairs = two.iter().map(|piece| (piece[..2000].to_owned(), format!("c{}", &piece[1..2000]))).collect();
        out.push(one("two letters", &two.concat(), &pairs));
        let piece = |nth: usize| format!("{}{nth:04}", "a".repeat(step - 4));
        let pair = |nth: usize| (format!("{}{nth:04}", "a".repeat(2000)), format!("{}{nth:04}b", "a".repeat(2000)));
        out.push(one("one letter", &(0..count).map(piece).collect::<String>(), &(0..count).map(pair).collect()));
        let line = "        }\n    }\n";
        let piece = |nth: usize| format!("{}    // {nth:04}\n", line.repeat(step / line.len()));
        let pair = |nth: usize| {
            let old = format!("{}    // {nth:04}\n", line.repeat(100));
            (old.clone(), format!("{old}    // more\n"))
        };
        out.push(one("two lines", &(0..count).map(piece).collect::<String>(), &(0..count).map(pair).collect()));
    }
    out
}

/// Measures patches of 1,000 and 10,000 hunks in a file of 100,000 lines: ten times the hunks may take at most twelve
/// times as long.
fn hunks(quick: bool) -> Outcome {
    const LINES: usize = 100_000;
    let tasks: Vec<Task> = [1000, 10_000].map(|count| patches::every("f", &patches::numbered(LINES, count))).into();
    let mut rounds = Vec::new();
    for task in &tasks {
        let made = patches::apply(task);
        assert_eq!(made.as_deref(), task.want.as_deref().map(str::as_bytes), "wrong result");
        let numbered = by_number(task);
        rounds.push((task, numbered, task.text.clone()));
    }
    let mut cases = Vec::new();
    for (task, by_number, text) in &rounds {
        let count = task.unified.matches("\n@@ ").count();
        cases.push(Case::ours(format!("unified diff, {count} hunks"), move || {
            timed(|| black_box(patches::apply(task))).1
        }));
        cases
            .push(Case::ours(format!("hashline, {count} hunks"), move || timed(|| black_box(rows(text, by_number))).1));
    }
    let names: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    let outcome = race("patches of many hunks, 100000 lines", if quick { 3 } else { 11 }, cases);
    let (unified, rows) = (outcome.time(&names[0]), outcome.time(&names[1]));
    outcome.within("", &names[2], unified * 12).within("", &names[3], rows * 12)
}

/// Returns the patch in the hashline format.
fn by_number(task: &Task) -> String {
    let mut out = "¶f.rs#0000\n".to_owned();
    for (nth, line) in task.text.lines().enumerate().filter(|(_, line)| line.starts_with("    let value_")) {
        let _ = writeln!(out, "replace {0}..{0}:\n+{1}", nth + 1, line.replace("measure", "weigh"));
    }
    out
}

fn rows(text: &str, patch: &str) -> Option<Vec<u8>> {
    let request = format_by_name("hashline")?.parse(FormatInput::Text(patch.to_owned())).ok()?;
    let FileAction::Edit { ops, .. } = &request.files[0].action else { return None };
    let base = Snapshot::from_text(text);
    let resolved = resolve(&base, ops, OpOrder::Together, ResolveSettings::default()).ok()?;
    Some(resolved.changes.apply(&base))
}

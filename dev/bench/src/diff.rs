//! `diff`: explains a known edit, finds the changes of a whole-file write, and compares hostile texts, next to similar,
//! imara-diff and diffy.

use crate::exact::change;
use crate::outcome::{Kind, Outcome};
use crate::race::{Case, each, race, timed};
use crate::report::Report;
use crate::text::{NEW, OLD, lines};
use emendate::core::formats::replace::Replacement;
use emendate::core::{ChangeSet, OpOrder, ResolveSettings, Snapshot, explain, resolve};
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use std::hint::black_box;
use std::time::Duration;

/// Time limit for the diff and snippet of a one-line edit in 100,000 lines.
const FEEDBACK: Duration = Duration::from_micros(300);
/// Time limit for every comparison.
const MOST: Duration = Duration::from_millis(100);

pub(crate) fn run(report: &mut Report) {
    let quick = report.setting.quick;
    let sizes: &[usize] = if quick { &[10_000, 100_000] } else { &[1_000, 10_000, 100_000, 1_000_000] };
    for &count in sizes {
        let text = lines(count, OLD);
        let rounds = if count > 100_000 || quick { 5 } else { 21 };
        report.race("unified diff of a known edit", || known(&text, rounds));
        report.race("whole-file write with a small change", || rewrite(&text, rounds));
        report.race("feedback of a one-line edit", || feedback(&text, rounds));
    }
    let rounds = if quick { 3 } else { 7 };
    for (name, old, new) in hostile() {
        report.race(name, || made_to_be_slow(name, &old, &new, rounds));
    }
}

fn similar(old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new).unified_diff().to_string()
}

fn imara(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.unified_diff(&BasicLineDiffPrinter(&input.interner), UnifiedDiffConfig::default(), &input).to_string()
}

fn diffy(old: &str, new: &str) -> String {
    diffy::create_patch(old, new).to_string()
}

fn unified(before: &Snapshot, changes: &ChangeSet) -> String {
    explain::unified("f", &explain::hunks(before, changes, 3), usize::MAX).text
}

/// Returns the cases of the other libraries.
fn peers<'a>(old: &'a str, new: &'a str) -> Vec<Case<'a>> {
    vec![
        Case::peer("similar", || timed(|| black_box(similar(old, new))).1),
        Case::peer("imara-diff, histogram", || timed(|| black_box(imara(old, new))).1),
        Case::peer("diffy", || timed(|| black_box(diffy(old, new))).1),
    ]
}

fn count(text: &str) -> usize {
    text.lines().count()
}

/// Measures the unified diff of an edit with known spans.
fn known(text: &str, rounds: usize) -> Outcome {
    let base = Snapshot::from_text(text);
    let changes = change(&base);
    let after = text.replace(OLD, NEW);
    let prefix = text.find(OLD).map_or("", |at| &text[..at]);
    let mut cases = peers(text, &after);
    cases.push(Case::floor("counting the lines above", || {
        each(20, || {
            black_box(memchr::memchr_iter(b'\n', black_box(prefix.as_bytes())).count());
        })
    }));
    cases.push(Case::ours("ours: from the spans", || {
        let fresh: Vec<Snapshot> = (0..20).map(|_| Snapshot::from_text(text)).collect();
        timed(|| fresh.iter().for_each(|fresh| drop(black_box(unified(fresh, &changes))))).1 / 20
    }));
    let outcome = race(format!("unified diff of a known edit, {} lines", count(text)), rounds, cases);
    let pass = outcome.time("counting the lines above") * 2 + Duration::from_micros(1);
    let outcome = outcome.within("G7", "ours: from the spans", pass);
    let peers = ["similar", "imara-diff, histogram"].into_iter().filter(|_| count(text) >= 10_000);
    peers.fold(outcome, |outcome, peer| outcome.beside("G7", "ours: from the spans", peer, 0.05))
}

/// Measures the feedback on a one-line edit: diff, structured diff and snippet.
fn feedback(text: &str, rounds: usize) -> Outcome {
    let base = Snapshot::from_text(text);
    let line = OLD.lines().next().unwrap_or_default();
    let edit =
        Replacement { old_string: line.to_owned(), new_string: format!("{line} // new"), ..Replacement::default() };
    let resolved = edit.to_op().and_then(|op| resolve(&base, &[op], OpOrder::Together, ResolveSettings::default()));
    let changes = resolved.map_or_else(|error| panic!("{error}"), |resolved| resolved.changes);
    let after = String::from_utf8_lossy(&changes.apply(&base)).into_owned();
    let shown = |fresh: &Snapshot| {
        let hunks = explain::hunks(fresh, &changes, 3);
        (explain::unified("f", &hunks, usize::MAX), explain::structured(&hunks), explain::snippet(&hunks, 1000))
    };
    let mut cases = peers(text, &after);
    cases.push(Case::new(Kind::Ours, "ours: diff and snippet, from the spans", || {
        let fresh: Vec<Snapshot> = (0..20).map(|_| Snapshot::from_text(text)).collect();
        timed(|| fresh.iter().for_each(|fresh| drop(black_box(shown(fresh))))).1 / 20
    }));
    let outcome = race(format!("feedback of a one-line edit, {} lines", count(text)), rounds, cases);
    // The design sets this goal for 100,000 lines.
    if count(text) > 150_000 {
        outcome
    } else {
        outcome.within("G7", "ours: diff and snippet, from the spans", FEEDBACK)
    }
}

/// Measures the unified diff of a whole-file write with a small change.
fn rewrite(text: &str, rounds: usize) -> Outcome {
    let after = text.replace(OLD, NEW);
    let base = Snapshot::from_text(text);
    base.id();
    let fresh = Snapshot::from_text(&after);
    let mut cases = peers(text, &after);
    cases.push(Case::ours("ours: from the two texts", || {
        timed(|| black_box(unified(&base, &ChangeSet::diff(&base, black_box(&fresh))))).1
    }));
    race(format!("whole-file write with a small change, {} lines", count(text)), rounds, cases)
        .goal("G7", "ours: from the two texts", 0.2)
}

/// Measures the comparison of texts that are expensive to compare.
fn made_to_be_slow(name: &str, old: &str, new: &str, rounds: usize) -> Outcome {
    let (base, fresh) = (Snapshot::from_text(old), Snapshot::from_text(new));
    base.id();
    let made = ChangeSet::diff(&base, &fresh);
    assert_eq!(made.apply(&base), new.as_bytes(), "{name}: wrong result");
    let mut cases = vec![
        Case::peer("similar", || timed(|| black_box(similar(old, new))).1),
        Case::ours("ours: what changed", || timed(|| black_box(ChangeSet::diff(&base, &fresh))).1),
        Case::ours("ours: as a unified diff", || timed(|| black_box(unified(&base, &made))).1),
    ];
    // One run is enough for a comparison that takes seconds.
    let (_, once) = timed(|| black_box(imara(old, new)));
    if once < Duration::from_secs(1) {
        cases.push(Case::peer("imara-diff, histogram", || timed(|| black_box(imara(old, new))).1));
    }
    let splices = made.splices().len();
    let mut outcome = race(format!("{name}, {} lines ({splices} splices)", count(old)), rounds, cases);
    if once >= Duration::from_secs(1) {
        outcome = outcome.row(Kind::Peer, "imara-diff, histogram (once)", once);
    }
    outcome.within("G7", "ours: what changed", MOST).within("G7", "ours: as a unified diff", MOST)
}

/// Returns the inputs of section 4 of the design, and one without repeated lines.
fn hostile() -> Vec<(&'static str, String, String)> {
    const COUNT: usize = 100_000;
    let text = lines(COUNT, "");
    let touched = |tenths: usize| -> String {
        let line = |(nth, line): (usize, &str)| {
            if (nth.wrapping_mul(2_654_435_761) >> 7) % 10 < tenths {
                format!("{line} // {nth}\n")
            } else {
                format!("{line}\n")
            }
        };
        text.lines().enumerate().map(line).collect()
    };
    let own = |nth: usize, what: &str| format!("{what} {nth}\n");
    let mut order: Vec<usize> = (0..COUNT).collect();
    let mut state = 7u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for at in (1..COUNT).rev() {
        order.swap(at, usize::try_from(random()).unwrap_or(0) % (at + 1));
    }
    let mut two = || -> String { (0..COUNT).map(|_| if random() % 2 == 0 { "}\n" } else { "{\n" }).collect() };
    let (left, right) = (two(), two());
    let all = |what: &str| (0..COUNT).map(|nth| own(nth, what)).collect::<String>();
    vec![
        ("30 % rewritten", text.clone(), touched(3)),
        ("90 % rewritten", text.clone(), touched(9)),
        ("nothing in common", all("old"), all("new")),
        ("every line elsewhere", all("line"), order.iter().map(|&nth| own(nth, "line")).collect()),
        ("two lines at random", left, right),
        (
            "functions all alike, exchanged",
            "fn a() {\n    b();\n}\n\n".repeat(COUNT / 4),
            "fn a() {\n    c();\n}\n\n".repeat(COUNT / 4),
        ),
    ]
}

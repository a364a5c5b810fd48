//! `cascade`: lenient matching on a text of 100,000 lines, next to aider's matchers, difflib and mpatch.
//!
//! Emendate's time covers the whole search, including the text to write or the report of a failure. The others build
//! the new text, which costs one more copy; compared with a search of the text this is negligible.

mod hostile;
pub(crate) mod kinds;
pub(crate) mod python;

use crate::outcome::{Kind as Whose, Outcome};
use crate::race::{Case, race, timed};
use crate::report::Report;
use crate::text::{lines, source};
use emendate::core::{ExpectedMatches, ResolveSettings, Result, Snapshot, TextMatches, TextQuery, find};
use kinds::{BLOCK, Kind};
use memchr::memmem;
use mpatch::{ApplyOptions, Patch, apply_patch_to_content, parse_single_patch};
use python::Row;
use std::hint::black_box;
use std::time::Duration;

const LINES: usize = 100_000;

pub(crate) fn run(report: &mut Report) {
    let quick = report.setting.quick;
    let rounds = if quick { 7 } else { 31 };
    let text = lines(LINES, BLOCK);
    let want = text.replacen(BLOCK, &kinds::edited(), 1);
    let main = kinds::main();
    // The Python matchers take minutes.
    let rows = if quick {
        Err("minutes of Python are left out of a quick run".to_owned())
    } else {
        python::run(&text, &want, &main)
    };
    let rows = report.peer("aider's matchers and difflib", rows).unwrap_or_default();
    for (needle, name) in [(BLOCK, "20 lines"), (kinds::LINE, "one line")] {
        report.race("exact hit", || pass(rounds, needle, name));
    }
    for kind in &main {
        report.race(kind.name, || beside(&text, &want, kind, &rows, rounds));
    }
    let title = format!("each tier, {LINES} lines, {} KB", text.len() >> 10);
    report.race(&title, || ours(title.clone(), &text, Some(&want), &kinds::more(), rounds));
    let (alike, missing) = hostile::alike(LINES);
    let title = format!("failing, {LINES} lines of functions all alike");
    report.race(&title, || ours(title.clone(), &alike, None, &missing, rounds));
    report.race("hostile input", hostile::run);
}

/// Compares an exact match and the proof that it is unique with a single pass over the text.
fn pass(rounds: usize, needle: &str, name: &str) -> Outcome {
    let text = source(10 << 20);
    let middle = text[..text.len() / 2].rfind('\n').map_or(0, |at| at + 1);
    let text = format!("{}{BLOCK}{}", &text[..middle], &text[middle..]);
    let base = Snapshot::from_text(&text);
    let what = TextQuery::new(needle, ExpectedMatches::Unique);
    assert_eq!(memmem::find_iter(text.as_bytes(), needle).count(), 1, "{name}");
    assert!(find(&base, &what, "new", ResolveSettings::default()).is_ok(), "{name}");
    let cases = vec![
        Case::floor("memmem over the text", || {
            timed(|| black_box(memmem::find_iter(black_box(text.as_bytes()), needle).count())).1
        }),
        Case::ours("ours: exact hit", || {
            timed(|| black_box(find(&base, &what, "new", ResolveSettings::default()).is_ok())).1
        }),
    ];
    race(format!("exact hit on 10 MB, {name}"), rounds, cases).goal("", "ours: exact hit", 1.2)
}

/// Runs one search of Emendate on a new snapshot, so that nothing is cached between searches.
fn search(text: &str, kind: &Kind) -> (Result<TextMatches>, Duration) {
    let base = Snapshot::from_text(text);
    let what = TextQuery::new(&kind.old, ExpectedMatches::Unique);
    timed(|| find(&base, &what, &kind.new, ResolveSettings::default()))
}

/// Panics if our own result is wrong, because its time would then mean nothing.
fn check(text: &str, want: Option<&str>, kind: &Kind) {
    let found = search(text, kind).0;
    assert_eq!(found.as_ref().ok().map(|found| found.tier), kind.tier, "{}: {found:?}", kind.name);
    if let (Ok(found), Some(want)) = (found, want) {
        let mut made = String::with_capacity(want.len());
        let mut at = 0;
        for edit in found.matches.iter().flat_map(|hit| &hit.edits) {
            made.push_str(&text[at..edit.span.start()]);
            made.push_str(&edit.text);
            at = edit.span.end();
        }
        made.push_str(&text[at..]);
        assert!(made == want, "{}: wrong result", kind.name);
    }
}

/// Measures one kind of edit with all matchers.
fn beside(text: &str, want: &str, kind: &Kind, rows: &[Row], rounds: usize) -> Outcome {
    check(text, Some(want), kind);
    let name = match &kind.tier {
        Some(tier) => format!("ours: tier {}", tier.number()),
        None => "ours: failure with its report".to_owned(),
    };
    let cases = vec![Case::ours(&*name, || search(text, kind).1), peer(text, want, kind)];
    let mut outcome = race(format!("{}, {LINES} lines, {} KB", kind.name, text.len() >> 10), rounds, cases);
    for row in rows.iter().filter(|row| row.kind == kind.name) {
        outcome = outcome.row(row.whose(), &row.label(), row.median);
    }
    match kind.limit {
        Some(limit) => outcome.within("", &name, limit),
        None => outcome,
    }
}

/// Makes the same edit with mpatch, as a unified diff with wrong line numbers.
fn peer<'a>(text: &'a str, want: &str, kind: &Kind) -> Case<'a> {
    let patch = unified(kind);
    let options = ApplyOptions::new();
    let apply = move || timed(|| apply_patch_to_content(&patch, Some(text), &options));
    let (made, mut last) = apply();
    let applied = made.report.all_applied_cleanly();
    let end = match (applied, kind.tier) {
        (false, None) => "",
        (true, Some(_)) if made.new_content == want => "",
        (false, Some(_)) => " (not found)",
        (true, _) => " (wrong result)",
    };
    // The result of a slow search is reused for several rounds, so that the race ends.
    let every = last.as_millis() / 200 + 1;
    let mut round = 0;
    Case::new(if end.is_empty() { Whose::Peer } else { Whose::Wrong }, format!("mpatch{end}"), move || {
        if round % every == 0 {
            last = apply().1;
        }
        round += 1;
        last
    })
}

fn unified(kind: &Kind) -> Patch {
    let diff = similar::TextDiff::from_lines(&kind.old, &kind.new);
    let diff = diff.unified_diff().context_radius(50).header("a/file", "b/file").to_string();
    parse_single_patch(&format!("```diff\n{diff}```\n")).unwrap_or_else(|error| panic!("{error}"))
}

/// Measures several kinds of edits with our matcher alone.
fn ours(title: String, text: &str, want: Option<&str>, kinds: &[Kind], rounds: usize) -> Outcome {
    for kind in kinds {
        check(text, want, kind);
    }
    let cases = kinds.iter().map(|kind| Case::ours(kind.name, || search(text, kind).1));
    let outcome = race(title, rounds, cases.collect());
    kinds
        .iter()
        .filter_map(|kind| Some((kind.name, kind.limit?)))
        .fold(outcome, |outcome, (name, limit)| outcome.within("", name, limit))
}

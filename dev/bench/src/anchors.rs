//! `anchors`: words for the lines of a file seen for the first time, and of one that has changed.

use crate::outcome::Outcome;
use crate::race::{Case, race, timed};
use crate::report::Report;
use crate::text::source;
use emendate::core::anchor_map::AnchorMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

const TENTH: &str = "a tenth of the lines changed";
const MYERS: &str = "a tenth of the lines changed, by Myers alone";

pub(crate) fn run(report: &mut Report) {
    for (name, text) in [("50,000 lines", page(50_000, 0)), ("50,000 equal lines", "    }\n".repeat(50_000))] {
        report.race(name, || one(name, &text));
    }
}

/// Generates `lines` lines of source text. About one in ten contains `round`, so it differs in every round.
fn page(lines: usize, round: usize) -> String {
    let text = source(4 << 20);
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.lines().cycle().take(lines).enumerate() {
        let _ = match (at.wrapping_mul(2_654_435_761) >> 7) % 10 {
            0 => writeln!(out, "{line} // {round}"),
            _ => writeln!(out, "{line}"),
        };
    }
    out
}

fn words(text: &str) -> AnchorMap {
    AnchorMap::new(text).unwrap_or_else(|| panic!("too many lines"))
}

fn one(name: &str, text: &str) -> Outcome {
    let known = words(text);
    let count = text.lines().count();
    let scattered: String = if name.contains("equal") {
        let line = |at: usize| if (at.wrapping_mul(2_654_435_761) >> 7).is_multiple_of(10) { "    }\n" } else { "x\n" };
        (0..count).map(line).collect()
    } else {
        page(count, 1)
    };
    let follow = |text: String| {
        let known = &known;
        move || {
            let mut words = known.clone();
            let (done, time) = timed(|| words.follow(black_box(&text)));
            assert_eq!(done, Some(true));
            time
        }
    };
    // Other tools match lines with Myers' algorithm, here in a fast implementation and without a limit on its work.
    let myers = |after: String| {
        let text = &text;
        move || {
            let (old, new): (Vec<&str>, Vec<&str>) = (text.lines().collect(), after.lines().collect());
            timed(|| black_box(similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new))).1
        }
    };
    let one_line = text.replacen('\n', " // changed\n", 1);
    let moved = text.split_at(text.len() / 2 + text[text.len() / 2..].find('\n').map_or(0, |at| at + 1));
    let cases = vec![
        Case::ours("first read", || timed(|| black_box(words(black_box(text)))).1),
        Case::ours("one line changed", follow(one_line)),
        Case::ours(TENTH, follow(scattered.clone())),
        Case::peer(MYERS, myers(scattered)),
        Case::ours("the halves exchanged", follow(format!("{}{}", moved.1, &moved.0))),
        Case::ours("to bytes and back", || timed(|| AnchorMap::from_bytes(&black_box(&known).to_bytes())).1),
    ];
    let cases = if name.contains("equal") {
        cases.into_iter().filter(|it| !it.name.starts_with("the halves")).collect()
    } else {
        cases
    };
    race(format!("words of {name}"), 11, cases)
        .within("", "first read", Duration::from_millis(30))
        .within("", TENTH, Duration::from_millis(50))
        .beside("P7", TENTH, MYERS, 1.5)
}

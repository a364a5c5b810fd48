//! Writes the full report of all benches to `target/bench`, from the results of `all`.

use crate::all::{Results, Run};
use crate::goals::{GOALS, Goal};
use crate::outcome::{Claim, Kind, Outcome, Row};
use crate::profile::Profiles;
use crate::report::Found;
use crate::{BENCHES, summary};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# Benchmarks: all results

The cases of a race run in turn, round by round, so that noise affects all alike. A figure is the median of its rounds. Rounds in which
the machine was busy (`/proc/pressure/cpu`) are dropped if five calm ones remain; a row with fewer is marked *noisy*. Goals are ratios and
come from the design. 🟢 is met; 🔴 is a missed goal, or a faster tool of others.

`cargo run --release -p bench -- NAME` repeats a row; NAME is in its last column.
";

/// Returns the directory of the results and of this report.
pub(crate) fn folder() -> PathBuf {
    crate::exact::scratch()
}

/// Writes this report and the short page docs/benchmarks.md.
///
/// Errors: there are no results, or the disk fails.
pub(crate) fn write() -> Result<(), String> {
    let results = Results::read()?;
    if results.runs.is_empty() {
        return Err("nothing was measured yet: `bench all`".to_owned());
    }
    let report = folder().join("report.md");
    let short = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
    let profiles = Profiles::read()?;
    let done = fs::create_dir_all(folder()).and_then(|()| fs::write(&report, text(&results, &profiles)));
    done.and_then(|()| fs::write(short, summary::text(&results))).map_err(|error| error.to_string())?;
    println!("\nwrote docs/benchmarks.md and target/bench/report.md");
    Ok(())
}

/// Renders the whole report.
fn text(results: &Results, profiles: &Profiles) -> String {
    let mut out = HEAD.to_owned();
    out.push_str(&machines(results));
    out.push_str("\n| goal | | verdict |\n|---|---|---|\n");
    for goal in GOALS {
        let (name, title) = (goal.name, goal.title);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "| [{name}](#{}) | {title} | {} |", name.to_lowercase(), verdict(results, goal));
    }
    for goal in GOALS {
        out.push_str(&section(results, profiles, goal));
    }
    out.push_str(&other_claims(results));
    out.push_str(&slower(results));
    out.push_str(&races(results));
    out
}

/// Lists the machines and dates of the measurements, on one line if they are the same for all benches.
fn machines(results: &Results) -> String {
    let of = |run: &Run| {
        let quick = if run.arguments.contains("--quick") { ", quick: fewer sizes and rounds" } else { "" };
        format!("{}, commit {}{quick}; {}", run.date, run.commit, run.machine)
    };
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for run in &results.runs {
        match all.iter_mut().find(|(said, _)| *said == of(run)) {
            Some((_, benches)) => benches.push(&run.bench),
            None => all.push((of(run), vec![&run.bench])),
        }
    }
    let one = all.len() == 1;
    let line = |(said, benches): &(String, Vec<&str>)| {
        if one { format!("\nMeasured {said}.\n") } else { format!("\nMeasured {said}: {}.\n", benches.join(", ")) }
    };
    all.iter().map(line).collect()
}

pub(crate) fn outcomes(run: &Run) -> impl Iterator<Item = &Outcome> {
    run.found.iter().filter_map(|found| match found {
        Found::Outcome(outcome) => Some(outcome),
        Found::Missing { .. } => None,
    })
}

fn missing(run: &Run) -> impl Iterator<Item = (&str, &str)> {
    run.found.iter().filter_map(|found| match found {
        Found::Outcome(_) => None,
        Found::Missing { what, why } => Some((&**what, &**why)),
    })
}

/// Returns every claim for a goal.
pub(crate) fn claims<'r>(results: &'r Results, goal: &str) -> Vec<(&'r Run, &'r Outcome, &'r Claim)> {
    let all = results.runs.iter().flat_map(|run| outcomes(run).map(move |outcome| (run, outcome)));
    let all = all.flat_map(|(run, outcome)| outcome.claims.iter().map(move |claim| (run, outcome, claim)));
    all.filter(|(_, _, claim)| claim.goal == goal).collect()
}

fn verdict(results: &Results, goal: &Goal) -> String {
    let claims = claims(results, goal.name);
    let met = claims.iter().filter(|(_, outcome, claim)| outcome.met(claim)).count();
    match claims.len() {
        0 => "⚪ not measured".to_owned(),
        all if met == all => format!("🟢 met, {all} of {all} rows"),
        all => format!("🔴 **missed in {} of {all} rows**", all - met),
    }
}

fn section(results: &Results, profiles: &Profiles, goal: &Goal) -> String {
    let mut out = format!("\n## {}\n\n**{}.** {}\n\n", goal.name, capital(goal.title), goal.text);
    let claims = claims(results, goal.name);
    if !claims.is_empty() {
        out.push_str(CLAIMS);
        for (run, outcome, claim) in &claims {
            out.push_str(&claimed(run, outcome, claim));
        }
    }
    let benches = BENCHES.iter().filter(|bench| bench.goals.contains(&goal.name));
    for bench in benches {
        let Some(run) = results.runs.iter().find(|run| run.bench == bench.name) else {
            let _ = writeln!(out, "\n- ⚪ `{}` was not run.", bench.name);
            continue;
        };
        for (what, why) in missing(run) {
            let _ = writeln!(out, "\n- ⚪ {}: not measured: {}", cell(what), cell(why));
        }
    }
    if !goal.apart.is_empty() {
        let _ = writeln!(out, "\n- ⚪ Not measured: {}", goal.apart);
    }
    if claims.iter().any(|(_, outcome, claim)| !outcome.met(claim)) {
        let _ = writeln!(out, "\nWhy it is missed, and what next: {}", goal.missed);
        let lines: Vec<String> = goal.profile.iter().filter_map(|path| profiles.line(path)).collect();
        if !lines.is_empty() {
            let _ = writeln!(out, "\nProfile, in instructions (`cargo xtask instructions`): {}.", lines.join("; "));
        }
    }
    out
}

const CLAIMS: &str = "| case | ours | | beside | | ratio | goal | verdict | calm rounds | repeat |\n|---|---|---:|---|---:|---:|---:|---|---:|---|\n";

/// Renders one row of a goal.
fn claimed(run: &Run, outcome: &Outcome, claim: &Claim) -> String {
    let value = |name: &str| outcome.find(name).map_or(f64::NAN, |row| row.value);
    let ours = outcome.unit.show(value(&claim.row));
    let (beside, theirs, ratio, goal) = match &claim.of {
        Some(of) => {
            let (measured, goal) = ratios(outcome.measured(claim), claim.most);
            (&**of, outcome.unit.show(value(of)), measured, goal)
        }
        None => ("", String::new(), String::new(), format!("≤ {}", outcome.unit.show(claim.most))),
    };
    let verdict = if outcome.met(claim) { "🟢 met" } else { "🔴 **missed**" };
    format!(
        "| {} | {} | {ours} | {} | {theirs} | {ratio} | {goal} | {verdict} | {} | `{}{}` |\n",
        cell(&outcome.title),
        cell(&claim.row),
        cell(beside),
        calm(outcome),
        run.bench,
        run.arguments
    )
}

/// Formats a ratio and its limit: how much longer, or how much faster if the goal is a speed-up.
fn ratios(measured: f64, most: f64) -> (String, String) {
    let digits = |value: f64| match value {
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => grouped(value),
    };
    if most < 0.5 {
        (format!("{}× faster", digits(1.0 / measured)), format!("≥ {}× faster", trimmed(1.0 / most)))
    } else {
        (format!("{}×", digits(measured)), format!("≤ {}×", trimmed(most)))
    }
}

/// Formats a value with at most two decimals.
pub(crate) fn trimmed(value: f64) -> String {
    let text = if value >= 100.0 { grouped(value) } else { format!("{value:.2}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn calm(outcome: &Outcome) -> String {
    let noisy = if outcome.is_noisy() { " *noisy*" } else { "" };
    outcome.clean.map_or_else(|| "once".to_owned(), |(calm, all)| format!("{calm}/{all}{noisy}"))
}

/// Renders the limits that the project sets itself, beyond the goals of the design.
fn other_claims(results: &Results) -> String {
    let claims = claims(results, "");
    if claims.is_empty() {
        return String::new();
    }
    let mut out = format!("\n## Other limits\n\nNot asked for by a goal of the design.\n\n{CLAIMS}");
    for (run, outcome, claim) in claims {
        out.push_str(&claimed(run, outcome, claim));
    }
    out
}

/// Returns the other tool that is faster than one of our rows.
pub(crate) fn faster<'o>(outcome: &'o Outcome, row: &Row) -> Option<&'o Row> {
    outcome.best_peer().filter(|peer| row.kind == Kind::Ours && peer.value < row.value)
}

fn slower(results: &Results) -> String {
    let mut out = "\n## Where another tool is faster\n\nIn every race, with or without a goal: the fastest of the others that did the same work.\n\n".to_owned();
    let rows = results.runs.iter().flat_map(|run| outcomes(run).map(move |outcome| (run, outcome)));
    let mut found = false;
    for (run, outcome) in rows {
        for (row, peer) in outcome.rows.iter().filter_map(|row| Some((row, faster(outcome, row)?))) {
            if !found {
                out.push_str("| race | ours | | theirs | | | repeat |\n|---|---|---:|---|---:|---|---|\n");
            }
            found = true;
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | 🔴 **{}× slower** | `{}{}` |",
                cell(&outcome.title),
                cell(&row.name),
                outcome.unit.show(row.value),
                cell(&peer.name),
                outcome.unit.show(peer.value),
                trimmed(row.value / peer.value),
                run.bench,
                run.arguments
            );
        }
    }
    if !found {
        out.push_str("Nowhere.\n");
    }
    out
}

/// Renders every race with all of its rows.
fn races(results: &Results) -> String {
    let mut out = "\n## All races\n".to_owned();
    for run in &results.runs {
        let _ = write!(
            out,
            "\n### {}\n\n`cargo run --release -p bench -- {}{}`, {} s\n",
            run.bench, run.bench, run.arguments, run.seconds
        );
        for outcome in outcomes(run) {
            let _ = write!(
                out,
                "\n<details><summary>{} ({})</summary>\n\n| | | of the first |\n|---|---:|---:|\n",
                cell(&outcome.title),
                calm(outcome)
            );
            let first = outcome.rows.first().map_or("", |row| &row.name);
            for row in &outcome.rows {
                let red = faster(outcome, row).is_some();
                let (left, right) = if red { ("🔴 **", "**") } else { ("", "") };
                let (value, ratio) = (outcome.unit.show(row.value), outcome.ratio(&row.name, first));
                let _ = writeln!(out, "| {left}{}{right} | {value} | {}× |", cell(&row.name), trimmed(ratio));
            }
            out.push_str("\n</details>\n");
        }
        for (what, why) in missing(run) {
            let _ = write!(out, "\n- ⚪ {}: not measured: {}\n", cell(what), cell(why));
        }
    }
    out
}

/// Formats a whole number with thousands separators.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Escapes text for a table cell.
pub(crate) fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|").replace('<', "&lt;")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::{ratios, text};
    use crate::all::{Results, Run};
    use crate::outcome::{Kind, Outcome, Unit};
    use crate::profile::Profiles;
    use crate::report::Found;

    fn results(ours: f64) -> Results {
        let at = |x: usize| {
            let outcome = Outcome::new(format!("an edit of {x}"), Unit::Seconds).rounds(7, 9);
            let outcome = outcome.value(Kind::Floor, "floor", 1e-3).value(Kind::Ours, "ours", ours);
            outcome.value(Kind::Peer, "peer", 2e-3).goal("G1", "ours", 1.25)
        };
        let missing = Found::Missing { what: "another peer".to_owned(), why: "no network".to_owned() };
        let word = |text: &str| text.to_owned();
        let run = Run {
            bench: word("exact"),
            arguments: word(" --quick"),
            date: word("2026-01-01"),
            commit: word("abc"),
            machine: word("1 x Abacus"),
            seconds: 1,
            found: vec![Found::Outcome(at(1000)), Found::Outcome(at(100)), missing],
        };
        Results { runs: vec![run] }
    }

    #[test]
    fn missed_goals_slower_rows_and_absent_tools_are_shown() {
        let page = text(&results(3e-3), &Profiles::read().unwrap());
        for line in [
            "| [G1](#g1) | an exact edit on disk, without a sync | 🔴 **missed in 2 of 2 rows** |",
            "| an edit of 100 | ours | 3.000 ms | floor | 1.000 ms | 3.00× | ≤ 1.25× | 🔴 **missed** | 7/9 | `exact --quick` |",
            "| an edit of 100 | ours | 3.000 ms | peer | 2.000 ms | 🔴 **1.5× slower** | `exact --quick` |",
            "- ⚪ another peer: not measured: no network",
            "| [G2](#g2) | a durable edit beside cp, fsync, rename and fsync of the folder | ⚪ not measured |",
            "Why it is missed, and what next:",
            "Profile, in instructions (`cargo xtask instructions`): `small`,",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }

    #[test]
    fn met_goals_are_not_red() {
        let page = text(&results(1.2e-3), &Profiles::read().unwrap());
        assert!(page.contains("| 🟢 met, 2 of 2 rows |") && page.contains("Nowhere."), "{page}");
        assert!(!page.contains("🔴 **"), "{page}");
    }

    #[test]
    fn results_survive_a_round_trip_to_disk() {
        let text = serde_json::to_string(&results(1.2e-3)).unwrap();
        let back: Results = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }

    #[test]
    fn speed_up_goals_are_shown_as_speed_ups() {
        assert_eq!(ratios(0.02, 0.05), ("50.0× faster".to_owned(), "≥ 20× faster".to_owned()));
        assert_eq!(ratios(1.2, 1.25), ("1.20×".to_owned(), "≤ 1.25×".to_owned()));
    }
}

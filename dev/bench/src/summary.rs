//! Writes the short page docs/benchmarks.md: Emendate next to tools that users would pick instead, and every missed
//! goal.

use crate::all::Results;
use crate::goals::{GOALS, Goal};
use crate::outcome::{Outcome, Row};
use crate::page::{cell, claims, faster, outcomes, trimmed};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const HEAD: &str = "\
# Benchmarks

How Emendate compares with the tools that you would pick instead, on one machine. All tools of a row ran in turn on the
same files, and a figure is the median of its rounds. Compare ratios, not times: your machine differs. The ratio is the
other tool's figure divided by that of Emendate, so 🔴 marks a faster tool.

`cargo run --release -p bench -- all` measures everything and writes this page; the complete results are then in
`target/bench/report.md`. It installs the other tools from their registries. The [accuracy page](accuracy.md) compares
how often each tool makes the edit that was meant, and [bulk processing](bulk.md) has rates through Python and Arrow.
";

/// A task, the race that measures it, and the rows to show.
struct Comparison {
    task: &'static str,
    race: &'static str,
    ours: &'static str,
    others: &'static [&'static str],
}

const CODEX: &str = "apply_patch of Codex";
const FILESYSTEM: &str = "MCP filesystem server";

// tidy: table
const COMPARISONS: &[Comparison] = &[
    Comparison {
        task: "MCP: one edit of a file with 100 lines",
        race: "MCP edit, no sync, 100 lines",
        ours: "emend mcp",
        others: &[FILESYSTEM],
    },
    Comparison {
        task: "MCP: one edit of a file with 100,000 lines",
        race: "MCP edit, no sync, 100000 lines",
        ours: "emend mcp",
        others: &[FILESYSTEM],
    },
    Comparison {
        task: "MCP: start of the server until its first reply",
        race: "a server until it answers, from its start",
        ours: "emend mcp",
        others: &[FILESYSTEM],
    },
    Comparison {
        task: "MCP: memory of the idle server",
        race: "idle memory of a server",
        ours: "emend mcp",
        others: &[FILESYSTEM],
    },
    Comparison {
        task: "Command line: one edit of a file with 100 lines",
        race: "one edit by a process, 100 lines",
        ours: "emend edit, with the store",
        others: &[CODEX, "hashline edit"],
    },
    Comparison {
        task: "Command line: one edit of a file with 100,000 lines",
        race: "one edit by a process, 100000 lines",
        ours: "emend edit, with the store",
        others: &[CODEX, "hashline edit"],
    },
    Comparison {
        task: "Command line: a patch of one hunk, 200 lines",
        race: "one hunk by a process, 200 lines, 15 KB",
        ours: "emend apply, with the store",
        others: &["git apply", "GNU patch", CODEX],
    },
    Comparison {
        task: "Command line: a patch of one hunk, 100,000 lines",
        race: "one hunk by a process, 100000 lines, 4117 KB",
        ours: "emend apply, with the store",
        others: &["git apply", "GNU patch", CODEX],
    },
    Comparison {
        task: "Peak memory of an edit in a file of 100 MB",
        race: "peak memory of an edit of 100 MB",
        ours: "ours: the whole process",
        others: &[CODEX],
    },
    Comparison {
        task: "In memory: a block with the wrong indentation, 100,000 lines",
        race: "indentation shifted, 100000 lines, 4109 KB",
        ours: "ours: tier 4",
        others: &["aider replace_most_similar_chunk", "mpatch"],
    },
    Comparison {
        task: "In memory: a typo in a context line, 100,000 lines",
        race: "a context line has a typo, 100000 lines, 4109 KB",
        ours: "ours: tier 11",
        others: &["aider search_replace", "mpatch"],
    },
    Comparison {
        task: "In memory: a patch of 200 hunks, 10,000 lines",
        race: "200 hunks, 10000 lines, 426 KB",
        ours: "ours",
        others: &["diffy", "mpatch", "codex-apply-patch"],
    },
    Comparison {
        task: "In memory: one line by number, 10,000 lines of TypeScript",
        race: "one line of 10000, .ts",
        ours: "ours: whole engine",
        others: &["@oh-my-pi/hashline@18.1.5"],
    },
    Comparison {
        task: "In memory: 1,000 hunks by number in one patch, 10,000 lines",
        race: "1,000 hunks in one patch, 10,000 lines",
        ours: "ours: whole engine",
        others: &["@oh-my-pi/hashline@18.1.5"],
    },
    Comparison {
        task: "Disk: a durable edit of 1 KB",
        race: "one edit of 1 KB",
        ours: "ours, power",
        others: &["cp + fsync + rename + fsync of the folder"],
    },
    Comparison {
        task: "Disk: an edit in a file of 1 GB, without a sync",
        race: "exact edit on disk, no sync, 1 GB",
        ours: "ours: edit through the engine",
        others: &["naive: read, matches, replacen, write + rename", "cp + rename"],
    },
    Comparison {
        task: "Disk: one replacement in 10,000 files, durable",
        race: "one replacement in 10000 files of 6144 bytes",
        ours: "ours: safe against power cuts",
        others: &["temp + fdatasync + rename, 1 thread"],
    },
    Comparison {
        task: "Disk: one replacement in 10,000 files, without a sync",
        race: "one replacement in 10000 files of 6144 bytes",
        ours: "ours: no sync",
        others: &["temp + exchange, 2 threads, no sync"],
    },
];

/// Renders the page.
pub(crate) fn text(results: &Results) -> String {
    let mut out = HEAD.to_owned();
    out.push_str("\n| task | Emendate | another tool | | ratio |\n|---|---:|---|---:|---:|\n");
    for comparison in COMPARISONS {
        out.push_str(&rows(results, comparison));
    }
    out.push_str(&misses(results));
    out.push_str(&slower(results));
    out.push_str(&measured(results));
    out
}

/// Renders the rows of a comparison, one for each other tool; there are none if it was not measured.
fn rows(results: &Results, comparison: &Comparison) -> String {
    let mut out = String::new();
    let Some(outcome) = results.runs.iter().flat_map(outcomes).find(|outcome| outcome.title == comparison.race) else {
        return out;
    };
    let Some(ours) = outcome.find(comparison.ours) else { return out };
    for other in comparison.others.iter().filter_map(|name| outcome.find(name)) {
        let ratio = other.value / ours.value;
        let ratio = if ratio < 1.0 { format!("🔴 {}×", digits(ratio)) } else { format!("{}×", digits(ratio)) };
        let (own, theirs) = (outcome.unit.show(ours.value), outcome.unit.show(other.value));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "| {} | {own} | {} | {theirs} | {ratio} |", comparison.task, cell(&other.name));
    }
    out
}

/// Formats a ratio with about two digits.
fn digits(ratio: f64) -> String {
    if ratio < 10.0 { trimmed((ratio * 100.0).round() / 100.0) } else { format!("{ratio:.0}") }
}

/// Lists the missed goals with their reasons.
fn misses(results: &Results) -> String {
    let missed = |goal: &&Goal| claims(results, goal.name).iter().any(|(_, outcome, claim)| !outcome.met(claim));
    let all: Vec<&Goal> = GOALS.iter().filter(|goal| !claims(results, goal.name).is_empty()).collect();
    let goals: Vec<&&Goal> = all.iter().filter(|goal| missed(goal)).collect();
    let mut out = format!(
        "\n## Missed goals\n\nThere are {} goals of speed and memory for these benchmarks; {} were measured, and {} are missed in at least one case:\n\n\
         | goal | cases missed | reason and plan |\n|---|---|---|\n",
        GOALS.len(),
        all.len(),
        goals.len()
    );
    for goal in goals {
        let claims = claims(results, goal.name);
        let count = claims.iter().filter(|(_, outcome, claim)| !outcome.met(claim)).count();
        let _ = writeln!(
            out,
            "| {} {}: {} | {count} of {} | {} |",
            goal.name,
            goal.title,
            goal.text,
            claims.len(),
            goal.missed
        );
    }
    out
}

/// Lists the races in which another tool is faster than all rows of ours.
fn slower(results: &Results) -> String {
    let mut lines = Vec::new();
    let mut count = 0;
    for outcome in results.runs.iter().flat_map(outcomes).filter(|outcome| outcome.best_peer().is_some()) {
        count += 1;
        if let Some((row, peer)) = lost(outcome) {
            let (name, times) = (cell(&peer.name), digits(row.value / peer.value));
            lines.push(format!("| {} | {name} | {times}× |\n", cell(&outcome.title)));
        }
    }
    format!(
        "\n## Where another tool is faster\n\nOf {count} races with other tools, these {} are won by another one:\n\n\
         | race | faster tool | Emendate takes |\n|---|---|---:|\n{}",
        lines.len(),
        lines.concat()
    )
}

/// Returns our fastest row and the peer that is faster.
fn lost(outcome: &Outcome) -> Option<(&Row, &Row)> {
    let ours = outcome.rows.iter().filter(|row| row.kind == crate::outcome::Kind::Ours);
    let best = ours.min_by(|a, b| a.value.total_cmp(&b.value))?;
    Some((best, faster(outcome, best)?))
}

/// Lists the machines, the dates and the commits.
fn measured(results: &Results) -> String {
    let machines: BTreeSet<&str> = results.runs.iter().map(|run| &*run.machine).collect();
    let mut out = "\n## Setting\n".to_owned();
    for machine in machines {
        let runs: Vec<_> = results.runs.iter().filter(|run| run.machine == machine).collect();
        let dates: BTreeSet<&str> = runs.iter().map(|run| &*run.date).collect();
        let commits: BTreeSet<&str> = runs.iter().map(|run| &*run.commit).collect();
        let list = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<&str>>().join(", ");
        let _ = write!(out, "\n- Machine: {machine}\n- Measured: {}\n- Commits: {}\n", list(dates), list(commits));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{digits, text};
    use crate::all::{Results, Run};
    use crate::outcome::{Kind, Outcome, Unit};
    use crate::report::Found;

    fn results(ours: f64) -> Results {
        let outcome = Outcome::new("MCP edit, no sync, 100 lines", Unit::Seconds).rounds(7, 9);
        let outcome = outcome.value(Kind::Floor, "floor", 1e-3).value(Kind::Ours, "emend mcp", ours);
        let outcome = outcome.value(Kind::Peer, "MCP filesystem server", 2e-3).goal("P1", "emend mcp", 1.6);
        let word = |text: &str| text.to_owned();
        let run = Run {
            bench: word("mcp"),
            arguments: String::new(),
            date: word("2026-01-01"),
            commit: word("abc"),
            machine: word("1 x Abacus"),
            seconds: 1,
            found: vec![Found::Outcome(outcome)],
        };
        Results { runs: vec![run] }
    }

    #[test]
    fn slower_row_and_its_missed_goal_are_shown() {
        let page = text(&results(4e-3));
        for part in [
            "| MCP: one edit of a file with 100 lines | 4.000 ms | MCP filesystem server | 2.000 ms | 🔴 0.5× |",
            "1 were measured, and 1 are missed",
            "| 1 of 1 |",
            "| MCP edit, no sync, 100 lines | MCP filesystem server | 2× |",
            "- Machine: 1 x Abacus\n- Measured: 2026-01-01\n- Commits: abc\n",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn faster_row_is_not_a_miss() {
        let page = text(&results(1e-3));
        assert!(page.contains("| 1.000 ms | MCP filesystem server | 2.000 ms | 2× |"), "{page}");
        let mut rows = page.lines().filter(|line| line.starts_with('|'));
        assert!(page.contains("these 0 are won") && rows.all(|row| !row.contains('🔴')), "{page}");
        assert_eq!((digits(0.531), digits(4.5), digits(33.4)), ("0.53".into(), "4.5".into(), "33".into()));
    }
}

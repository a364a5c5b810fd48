//! Renders docs/accuracy.md.

use super::{OURS, Results, Row, Verdict};
use std::fmt::Write as _;

/// Renders the page.
pub(super) fn render(results: &Results) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Accuracy\n");
    let _ = writeln!(
        out,
        "The same edits by Emendate and by other tools. Written by `cargo run -p oracles -- page {}`; the sources of the\n\
         tables are in `dev/oracles/src/accuracy` and `dev/oracles/src/slips.rs`. The edits are random changes of {} source\n\
         files of libraries in the versions of `Cargo.lock`; the seed of each kind is made of its name, so a run can be\n\
         repeated. Every tool gets an edit in the form that it reads: old and new text, a unified diff with the line numbers\n\
         that the caller saw, or a V4A patch (`git apply` with `--unidiff-zero`). Tools that work on texts alone get the text;\n\
         a dash marks what they do not have.\n",
        results.count, results.sources
    );
    let _ = writeln!(
        out,
        "- **right**: the bytes that were meant; where the edit must be refused, a refusal.\n\
         - **refused**: an error for an edit that could have been made.\n\
         - **wrong**: success is reported, and the file has other bytes than meant, or lost its mode or its link.\n\
         - **silent**: success is reported, and nothing was changed.\n"
    );
    let _ = writeln!(out, "{}", totals(results));
    for (name, why) in &results.missing {
        let _ = writeln!(out, "Missing in this run: {name} ({why}).\n");
    }
    let _ = writeln!(
        out,
        "## Mistakes after which the edit is still clear\n\n{} edits of each kind. Left out are edits for which another place of the file has three quarters of the lines\nexactly as they are sent, perhaps with one or two others between them, and as many as the place that is meant or\nmore, unless that place has all of them in a row: those are not clear. Nor is a forgotten line directly below a line\nbehind which the edit adds one, since that may belong on either side.\n",
        results.count
    );
    let _ = writeln!(out, "{}", table(results, &results.wanted));
    let _ = writeln!(
        out,
        "## Edits that must be refused\n\n{} edits of each kind. In the first four the file was changed after it was read. Emendate\nknows what was read; tools without a memory have only the text.\n",
        results.count
    );
    let _ = writeln!(out, "{}", table(results, &results.refused));
    let _ = writeln!(
        out,
        "## Bytes beside the edit\n\nOne edit of one line each; ambiguity, staleness and blind overwrite must be refused. A file with a NUL may be\n\
         taken for a binary one, so a refusal counts as right there.\n"
    );
    let _ = writeln!(out, "{}", table(results, &results.battery));
    let _ = writeln!(out, "## Handwritten cases\n\n{}", table(results, &results.cases));
    let _ = write!(out, "{}", better(results));
    out
}

/// Renders the totals of each tool.
fn totals(results: &Results) -> String {
    let mut out =
        "| tool | recoverable mistakes right | must be refused: refused | wrong | silent |\n|---|---|---|---|---|\n"
            .to_owned();
    for tool in &results.tools {
        let sum = |rows: &[Row], verdict| rows.iter().map(|row| row.count(tool, verdict)).sum::<usize>();
        let of = |rows: &[Row]| rows.iter().map(|row| row.all(tool)).sum::<usize>();
        let share = |rows: &[Row]| percent(sum(rows, Verdict::Right), of(rows));
        let all = |verdict| rows(results).map(|row| row.count(tool, verdict)).sum::<usize>();
        let _ = writeln!(
            out,
            "| {tool} | {} | {} | {} | {} |",
            share(&results.wanted),
            share(&results.refused),
            all(Verdict::Wrong),
            all(Verdict::Silent)
        );
    }
    out
}

fn rows(results: &Results) -> impl Iterator<Item = &Row> {
    [&results.wanted, &results.refused, &results.battery, &results.cases].into_iter().flatten()
}

fn percent(part: usize, of: usize) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    // Show one decimal, rounded down, so that 100 % means all.
    let tenths = part * 1000 / of;
    if part == of { "100 %".to_owned() } else { format!("{}.{} %", tenths / 10, tenths % 10) }
}

/// Renders a table with one row per element of `rows` and one column per tool.
fn table(results: &Results, rows: &[Row]) -> String {
    let mut out = format!("| | {} |\n|---|{}\n", results.tools.join(" | "), "---|".repeat(results.tools.len()));
    for row in rows {
        let cells: Vec<String> = results.tools.iter().map(|tool| cell(row, tool)).collect();
        let _ = writeln!(out, "| {} | {} |", row.name, cells.join(" | "));
    }
    out
}

fn cell(row: &Row, tool: &str) -> String {
    let all = row.all(tool);
    let [right, refused, wrong, silent] =
        [Verdict::Right, Verdict::Refused, Verdict::Wrong, Verdict::Silent].map(|verdict| row.count(tool, verdict));
    if all == 0 {
        return "–".to_owned();
    }
    if all == 1 {
        let word = [(right, "right"), (refused, "refused"), (wrong, "**wrong**"), (silent, "**silent**")];
        return word.iter().find(|(count, _)| *count == 1).map_or("", |(_, word)| word).to_owned();
    }
    let mut out = percent(right, all);
    for (count, word) in [(wrong, "wrong"), (silent, "silent")] {
        if count > 0 {
            let _ = write!(out, ", **{count} {word}**");
        }
    }
    out
}

/// Lists the rows in which another tool is right more often than Emendate.
fn better(results: &Results) -> String {
    let ours = |row: &Row| (row.count(OURS, Verdict::Right), row.all(OURS));
    let mut out = "## Rows in which another tool is right more often\n\n".to_owned();
    let mut found = false;
    for row in rows(results) {
        for tool in results.tools.iter().filter(|tool| *tool != OURS) {
            let (right, all) = (row.count(tool, Verdict::Right), row.all(tool));
            let (our_right, our_all) = ours(row);
            if right * our_all > our_right * all {
                found = true;
                let wrong = row.count(tool, Verdict::Wrong) + row.count(tool, Verdict::Silent);
                let _ = writeln!(
                    out,
                    "- {}: {tool} is right in {} (and wrong or silent in {wrong} of {all}), Emendate in {}.",
                    row.name,
                    percent(right, all),
                    percent(our_right, our_all)
                );
            }
        }
    }
    if !found {
        out.push_str("None.\n");
    }
    out
}

//! `emend stats`: tables of the counters.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use crate::context::CliContext;
use crate::{io_error, output};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, value_parser};
use emendate::COUNTERS_FILE;
use emendate::core::{Code, Error, Result};
use emendate::fs::shown;
use emendate::tallies::{CallTally, TOKEN_BYTES, TallyKey, TallyRow};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `emend stats`.
#[derive(Args)]
pub(crate) struct StatsArgs {
    /// Number of days
    #[arg(long, value_name = "N", default_value = "7", conflicts_with = "hours", value_parser = value_parser!(u64).range(1..))]
    pub(crate) days: u64,
    /// Number of hours instead of days
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) hours: Option<u64>,
    /// Only this table (repeatable)
    #[arg(long, value_name = "WHAT", value_parser = by_parser())]
    pub(crate) by: Vec<TallyKey>,
}

/// The name of the table of transports up to version 0.1, still accepted and written.
const TRANSPORT_BEFORE: &str = "door";

fn by_parser() -> impl TypedValueParser<Value = TallyKey> {
    PossibleValuesParser::new(TallyKey::ALL.map(|by| {
        let value = PossibleValue::new(by.name());
        if by == TallyKey::Transport { value.alias(TRANSPORT_BEFORE) } else { value }
    }))
    .try_map(|word| by_named(&word))
}

fn by_named(word: &str) -> std::result::Result<TallyKey, &'static str> {
    let word = if word == TRANSPORT_BEFORE { TallyKey::Transport.name() } else { word };
    TallyKey::ALL.into_iter().find(|by| by.name() == word).ok_or("there is no such table")
}

/// Prints the tables; returns the exit status.
///
/// Errors: no state directory; counters that cannot be read.
pub(crate) fn run(context: &CliContext<'_>, args: &StatsArgs) -> Result<u8> {
    let state = context.state();
    let Some(directory) = state.directory() else {
        return Err(Error::new(Code::CallInvalid, "There is no state directory, so nothing is counted.")
            .next("Name one with --state."));
    };
    let path = directory.join(COUNTERS_FILE);
    let hours = args.hours.unwrap_or_else(|| args.days.saturating_mul(24));
    let since = SystemTime::now().checked_sub(Duration::from_secs(hours.saturating_mul(3600))).unwrap_or(UNIX_EPOCH);
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = u64::try_from(since.as_micros()).unwrap_or(0);
    let tally = CallTally::since(&path, since).map_err(|error| io_error(&shown(&path), &error))?;
    let tables = if args.by.is_empty() { &TallyKey::ALL[..] } else { &args.by };
    if context.global.json {
        let mut data =
            Map::from_iter([("hours".to_owned(), Value::from(hours)), ("total".to_owned(), row_json(&tally.total()))]);
        data.extend(
            tables.iter().map(|table| (table.name().to_owned(), tally.by(*table).iter().map(row_json).collect())),
        );
        if let Some(rows) = data.get(TallyKey::Transport.name()).cloned() {
            data.insert(TRANSPORT_BEFORE.to_owned(), rows);
        }
        output::value(&json!({ "ok": true, "data": data }))?;
        return Ok(0);
    }
    output::page(&page(&tally, tables, hours))?;
    Ok(0)
}

fn row_json(row: &TallyRow) -> Value {
    json!({
        "name": row.name,
        "calls": row.calls,
        "ok": row.ok,
        "asked": row.asked,
        "failed": row.calls - row.ok - row.asked,
        "mean_micros": row.mean(),
        "mean_tokens_in": row.mean_tokens()[0],
        "mean_tokens_out": row.mean_tokens()[1],
    })
}

fn page(tally: &CallTally, tables: &[TallyKey], hours: u64) -> String {
    let total = tally.total();
    let time =
        if hours > 24 && hours.is_multiple_of(24) { format!("{} days", hours / 24) } else { format!("{hours} hours") };
    if total.calls == 0 {
        return format!("No calls in {time}.");
    }
    let calls = if total.calls == 1 { "1 call".to_owned() } else { format!("{} calls", total.calls) };
    let mut out = format!("{time}: {calls}, {} succeeded, {} each\n", share(&total), mean(&total));
    for table in tables {
        let rows = tally.by(*table);
        // A single row of calls without a model is meaningless.
        if rows.is_empty() || (*table == TallyKey::Model && rows.len() == 1 && rows[0].name.is_empty()) {
            continue;
        }
        let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(16);
        // All calls with one code have the same outcome.
        let share_head = if *table == TallyKey::Code { "" } else { "succeeded" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "\n{:<width$}  {:>8}  {share_head:>9}  {:>9}  {:>9}  {:>9}",
            table.name(),
            "calls",
            "each",
            "tokens in",
            "out"
        );
        for row in &rows {
            let name = if row.name.is_empty() { "(not told)" } else { &row.name };
            let share = if *table == TallyKey::Code { String::new() } else { share(row) };
            let [input, output] = row.mean_tokens();
            let _ = writeln!(
                out,
                "{name:<width$}  {:>8}  {share:>9}  {:>9}  {input:>9}  {output:>9}",
                row.calls,
                mean(row)
            );
        }
    }
    let _ = writeln!(out, "\nTokens are those of one call, estimated as one for each {TOKEN_BYTES} bytes of text.");
    out
}

/// Formats the share of calls that succeeded.
fn share(row: &TallyRow) -> String {
    row.per_mille().map_or("-".to_owned(), |share| format!("{}.{} %", share / 10, share % 10))
}

/// Formats the mean time of a call.
fn mean(row: &TallyRow) -> String {
    let micros = row.mean();
    if micros < 1000 { format!("{micros} µs") } else { format!("{}.{} ms", micros / 1000, micros % 1000 / 100) }
}

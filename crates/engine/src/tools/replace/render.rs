//! Replies about a replacement in many files.

use crate::model::raw_path;
use crate::model::reply::{Answer, counted};
use crate::pipeline::plan::file_plan::FilePlan;
use crate::pipeline::report::receipt::{Receipt, render_notes};
use crate::tools::replace::{ReplaceInput, ReplaceMatches, SkippedFiles};
use crate::tools::search::pattern::{LINE_ENDS_ADVICE, names_carriage_return};
use emendate_core::explain::{self, DiffHunk};
use emendate_core::{Advice, Code, Error, Notes};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Files that the text of a reply lists.
const LISTED_FILES_MAX: usize = 50;
/// Lines listed of one file.
const LISTED_LINES_MAX: usize = 8;
/// Characters of diffs that a dry run shows.
const DRY_RUN_DIFF_CHARS_MAX: usize = 6_000;
/// Names of skipped files that are listed.
const SKIPPED_NAMES_MAX: usize = 5;

fn were(files: usize) -> String {
    format!("{} {}", counted(files, "file"), if files == 1 { "was" } else { "were" })
}

/// Lists files, one per line, limited to the first ones.
fn listed<'p>(plans: impl ExactSizeIterator<Item = &'p FilePlan>, places: &[usize]) -> String {
    let all = plans.len();
    let mut out = String::new();
    for (plan, places) in plans.zip(places).take(LISTED_FILES_MAX) {
        let hunks = explain::hunk_headers(&plan.before, &plan.changes);
        let mut lines: Vec<String> = hunks.iter().take(LISTED_LINES_MAX).map(hunk_lines).collect();
        if hunks.len() > LISTED_LINES_MAX {
            lines.push("…".to_owned());
        }
        let line = if hunks.iter().map(|hunk| hunk.old_lines).sum::<usize>() < 2 { "line" } else { "lines" };
        let _ = writeln!(out, "{}: {} ({line} {})", plan.path.shown(), counted(*places, "place"), lines.join(", "));
    }
    if all > LISTED_FILES_MAX {
        let _ = writeln!(out, "… and {} more", counted(all - LISTED_FILES_MAX, "file"));
    }
    out
}

/// Returns the old lines of a hunk as text.
fn hunk_lines(hunk: &DiffHunk) -> String {
    match hunk.old_lines {
        0 | 1 => hunk.old_start.max(1).to_string(),
        lines => format!("{}-{}", hunk.old_start, hunk.old_start + lines - 1),
    }
}

/// Formats notes about skipped files.
fn skipped_notes(skipped: &SkippedFiles) -> Vec<String> {
    let counted: Vec<String> = [
        (skipped.denied, "file", "that may not be read"),
        (skipped.binary, "file", if skipped.binary == 1 { "that is not text" } else { "that are not text" }),
        (skipped.large, "file", "too large to be changed as a whole"),
        (skipped.unread, "file", "that could not be read"),
        (skipped.closed, "directory", "that could not be listed"),
    ]
    .into_iter()
    .filter(|(files, ..)| *files > 0)
    .map(|(files, what, why)| format!("{} {why}", counted(files, what)))
    .collect();
    let counted = (!counted.is_empty()).then(|| format!("Not searched: {}.", counted.join(", ")));
    [
        skipped_note(&skipped.guarded, "because they may not be edited"),
        skipped_note(&skipped.notebooks, "because notebooks are edited by cells"),
        counted,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Names the files that are skipped for a reason.
fn skipped_note(names: &[String], why: &str) -> Option<String> {
    let more = if names.len() > SKIPPED_NAMES_MAX {
        format!(", and {} more", names.len() - SKIPPED_NAMES_MAX)
    } else {
        String::new()
    };
    let shown = names.iter().take(SKIPPED_NAMES_MAX).map(String::as_str).collect::<Vec<&str>>().join(", ");
    (!names.is_empty()).then(|| format!("Not changed although they contain the text, {why}: {shown}{more}."))
}

pub(super) fn answer(
    receipts: &[Receipt],
    places: &[usize],
    searched: usize,
    skipped: &SkippedFiles,
    remark: Option<&'static str>,
    dry_run: bool,
) -> Answer {
    let total: usize = places.iter().sum();
    let verb = if dry_run { "Would replace" } else { "Replaced" };
    let headline = format!("{verb} {} in {}.", counted(total, "place"), counted(receipts.len(), "file"));
    let mut notes: Notes = skipped_notes(skipped).into();
    notes.extend(remark);
    for receipt in receipts {
        let of_file = receipt.plan.outcome.notes.iter();
        notes.extend(of_file.map(|note| format!("{}: {note}", receipt.plan.path.shown())).take(SKIPPED_NAMES_MAX));
    }
    notes.truncate(LISTED_FILES_MAX);
    let mut text = format!("{headline}\n{}", render_notes(&notes));
    text += &listed(receipts.iter().map(|receipt| &receipt.plan), places);
    if dry_run {
        text += &diffs(receipts);
    }
    text += &render_diagnoses(receipts);
    let mut data = Map::new();
    data.insert("headline".to_owned(), headline.into());
    data.insert("replacements".to_owned(), total.into());
    data.insert(
        "files".to_owned(),
        receipts.iter().zip(places).map(|(receipt, places)| file_data(receipt, *places)).collect(),
    );
    data.insert("filesSearched".to_owned(), searched.into());
    data.insert("guarded".to_owned(), skipped.guarded.clone().into());
    data.insert("dryRun".to_owned(), dry_run.into());
    data.insert("notes".to_owned(), (&notes).into());
    let operation = receipts.iter().find_map(|receipt| receipt.operation);
    if let Some(operation) = operation {
        data.insert("operation".to_owned(), Value::from(operation.to_string()));
    }
    Answer { text, data, operation, ..Answer::default() }
}

/// Returns a changed file as JSON.
fn file_data(receipt: &Receipt, places: usize) -> Value {
    let path = &receipt.plan.path;
    let data = json!({ "filePath": path.shown(), "replacements": places });
    let mut file = raw_path::file_json(path.absolute(), data);
    // A call that names the tag of a version counts as one that has seen its text.
    if let Some((content, _)) = receipt.written.as_ref().filter(|_| !receipt.plan.seen.unseen) {
        file["tag"] = content.tag().to_string().into();
    }
    if let Some(diagnosis) = &receipt.diagnosis {
        file["diagnostics"] = diagnosis.to_json();
    }
    file
}

/// Formats the diagnoses of language servers, if something is new or unknown.
fn render_diagnoses(receipts: &[Receipt]) -> String {
    let known = receipts.iter().filter_map(|receipt| Some((&receipt.plan, receipt.diagnosis.as_ref()?)));
    let (mut out, mut quiet) = (String::new(), 0);
    for (plan, diagnosis) in known {
        if diagnosis.new_problems().is_empty() && diagnosis.unanswered().next().is_none() {
            quiet += 1;
        } else {
            let _ = write!(out, "{}:\n{}", plan.path.shown(), diagnosis.text());
        }
    }
    if quiet > 0 {
        let _ = writeln!(out, "Diagnostics: no new problems in {}.", counted(quiet, "file"));
    }
    out
}

/// Formats the changes of the first files as diffs.
fn diffs(receipts: &[Receipt]) -> String {
    let mut out = String::new();
    for (nth, plan) in receipts.iter().map(|receipt| &receipt.plan).enumerate() {
        let hunks = explain::reply_hunks(&plan.before, &plan.changes, 1, 2 * DRY_RUN_DIFF_CHARS_MAX);
        let one = explain::unified(&plan.path.shown(), &hunks, DRY_RUN_DIFF_CHARS_MAX).text;
        if out.len() + one.len() > DRY_RUN_DIFF_CHARS_MAX && nth > 0 {
            let _ = writeln!(out, "… {} not shown", counted(receipts.len() - nth, "more diff"));
            break;
        }
        out += &one;
    }
    out
}

/// Creates the error for a text that no file has, or that is in place of the matches already.
pub(super) fn not_found(args: &ReplaceInput, found: &ReplaceMatches) -> Error {
    let mut error = if found.unchanged == 0 {
        let what =
            format!("The text is in no file of {} that may be edited; {} looked at.", args.path, were(found.searched));
        Error::new(Code::MatchNotFound, what).fact("reason", "not_found")
    } else {
        let places = counted(found.unchanged, "place");
        let what = format!("No changes to make: the pattern matches in {places}, and each has the new text already.");
        Error::new(Code::EditNoChange, what)
    };
    error = error.fact("filesSearched", found.searched);
    for note in skipped_notes(&found.left) {
        error = error.evidence(note);
    }
    if found.unchanged > 0 {
        return error.next(
            Advice::named("Nothing is left to do if that is the text you want; else correct {new_string}.")
                .or("Nothing is left to do if that is the text you want."),
        );
    }
    if args.pattern.as_deref().is_some_and(names_carriage_return) {
        error = error.evidence(LINE_ENDS_ADVICE);
    }
    error.next(Advice::named(
        "Check {path}, {glob} and the text with {search()}; hidden and ignored files need {hidden} and {no_ignore}.",
    ).or("Check where it is to be replaced, and the text."))
}

fn with_counts(error: Error, found: &ReplaceMatches) -> Error {
    let (places, files) = (found.total(), found.plans.len());
    error
        .evidence(format!("It is in {} of {}:", counted(places, "place"), counted(files, "file")))
        .evidence(listed(found.plans.iter(), &found.places).trim_end())
        .fact("replacements", places)
        .fact("filesChanged", files)
}

/// Creates the error for another number than the call expects.
pub(super) fn wrong_count(args: &ReplaceInput, found: &ReplaceMatches) -> Error {
    let mut wanted = Vec::new();
    wanted.extend(args.expected.map(|expected| counted(expected, "replacement")));
    wanted.extend(args.expected_files.map(|expected| counted(expected, "file")));
    let what = format!("The call expects {}; nothing was written.", wanted.join(" in "));
    with_counts(Error::new(Code::MatchCount, what), found)
        .next(Advice::named("Narrow {path}, {glob} or the text, or correct the expected counts.").or("Correct it."))
}

/// Creates the error for a model's call without an expected number.
pub(super) fn count_required(found: &ReplaceMatches) -> Error {
    let what = "The call does not say how many replacements it expects; nothing was written.";
    with_counts(Error::new(Code::MatchCount, what), found).next(
        Advice::named(
            "If all of these are meant, send this call again with {expected=}; {dry_run=true} shows the diffs.",
        )
        .set("expected", found.total()),
    )
}

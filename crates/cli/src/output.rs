//! Output for people and for programs: results on standard output, everything else on standard error.

use crate::context::CliContext;
use crate::diff::DiffLayout;
use crate::io_error;
use crate::listing::ListingColors;
use crate::styled::{ADDED, BAD, BOLD, NOTE, PLAIN, REMOVED, StyledWriter, ignore_broken_pipe, stderr, stdout};
use crate::{git_patch, relative_names};
use chrono::{DateTime, Local};
use emendate::core::{Code, Error, Result};
use emendate::{Answer, Engine, FeedOperation, Reply, exit_status};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The form in which the changes of a reply are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeView {
    /// A summary and a diff of each file.
    Diff,
    /// The summaries alone.
    Summary,
    /// The number of lines added to and removed from each file.
    Stat,
}

/// Set once at the start.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Decides whether notes and reports about successful changes are printed.
pub(crate) fn choose_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// True if they are not.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

impl<W: Write> StyledWriter<W> {
    /// Writes how many lines each file gained and lost.
    fn stat(&mut self, answer: &Answer) -> io::Result<()> {
        let files: Vec<&Value> = answer.data.get("files").and_then(Value::as_array).into_iter().flatten().collect();
        let lines = |file: &Value, key: &str| file[key].as_u64().unwrap_or(0);
        let names = files.iter().map(|file| relative_names::in_text(file["filePath"].as_str().unwrap_or_default()));
        let names: Vec<Cow<'_, str>> = names.collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut sum = (0, 0);
        for (file, name) in files.iter().zip(&names) {
            let (added, removed) = (lines(file, "linesAdded"), lines(file, "linesRemoved"));
            sum = (sum.0 + added, sum.1 + removed);
            self.put(PLAIN, &format!(" {name:width$} | "))?;
            self.put(ADDED, &format!("+{added}"))?;
            self.line(REMOVED, &format!(" -{removed}"))?;
        }
        let count = if files.len() == 1 { "1 file".to_owned() } else { format!("{} files", files.len()) };
        self.plain(&format!(" {count}, +{} -{}", sum.0, sum.1))?;
        self.omitted_files(&answer.data, files.len())
    }

    /// Writes a summary of each file, one per line.
    fn summaries(&mut self, answer: &Answer) -> io::Result<()> {
        self.notes(&answer.data)?;
        for file in answer.data.get("files").and_then(Value::as_array).into_iter().flatten() {
            self.sentence(file["summary"].as_str().unwrap_or_default())?;
            file.as_object().map_or(Ok(()), |file| self.notes(file))?;
            self.diagnostics(&file["diagnostics"])?;
        }
        Ok(())
    }

    /// Writes a reply's answer: a diff of the changes if there is one, else the text.
    pub(crate) fn answer(&mut self, answer: &Answer, colors: &ListingColors) -> io::Result<()> {
        let files = answer.data.get("files").and_then(Value::as_array);
        // Changed files have a summary each; searched ones are in the text.
        if let Some(files) = files.filter(|files| files.iter().any(|file| file.get("summary").is_some())) {
            for line in answer.data.get("summary").and_then(Value::as_str).unwrap_or_default().lines() {
                self.sentence(line)?;
            }
            self.notes(&answer.data)?;
            for file in git_patch::marked_replacements(files) {
                self.changed(&file)?;
            }
            self.omitted_files(&answer.data, files.len())?;
            return answer.reminders.iter().try_for_each(|note| self.note(note));
        }
        if answer.data.contains_key("structuredPatch") {
            self.changed(&answer.data)?;
            return answer.reminders.iter().try_for_each(|note| self.note(note));
        }
        colors.write(self, &answer.text, &answer.data)?;
        if !answer.text.is_empty() && !answer.text.ends_with('\n') {
            self.plain("")?;
        }
        answer.reminders.iter().try_for_each(|note| self.note(note))
    }

    /// Writes how many files are not listed, and the command that lists them.
    fn omitted_files(&mut self, data: &Map<String, Value>, shown: usize) -> io::Result<()> {
        let all = data.get("filesTotal").and_then(Value::as_u64).and_then(|all| usize::try_from(all).ok());
        let next = data.get("next").and_then(Value::as_str);
        // The last part of a list has no next one; a reply about a change has the operation that lists its files.
        let is_list = data.contains_key("shown") || !data.contains_key("operation");
        if next.is_none() && is_list {
            return Ok(());
        }
        let from = next.map_or(shown, |next| next.parse().unwrap_or(shown));
        let Some(left) = all.and_then(|all| all.checked_sub(from)).filter(|left| *left > 0) else { return Ok(()) };
        let id = data.get("shown").map_or_else(|| data.get("operation"), |shown| shown.get("id"));
        let how = match (id.and_then(Value::as_str), next) {
            (Some(id), _) => format!(": emend show {id} --from {from}, or --all"),
            (None, Some(_)) => format!(": repeat the command with --from {from}, or --all"),
            (None, None) => String::new(),
        };
        self.put(NOTE, "note")?;
        self.plain(&format!(": {left} more files are not listed{how}"))
    }

    /// Writes the notes of a reply.
    pub(crate) fn notes(&mut self, data: &Map<String, Value>) -> io::Result<()> {
        let notes = data.get("notes").and_then(Value::as_array).into_iter().flatten();
        notes.filter_map(Value::as_str).try_for_each(|note| self.note(note))
    }

    fn note(&mut self, note: &str) -> io::Result<()> {
        self.put(NOTE, "note")?;
        self.sentence(&format!(": {note}"))
    }

    /// Writes a line with names relative to the current directory.
    fn sentence(&mut self, text: &str) -> io::Result<()> {
        self.plain(&relative_names::in_text(text))
    }

    /// Writes the change of one file.
    fn changed(&mut self, data: &Map<String, Value>) -> io::Result<()> {
        self.sentence(data.get("summary").and_then(Value::as_str).unwrap_or_default())?;
        self.notes(data)?;
        for failed in data.get("failed").and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| failed[key].as_str().unwrap_or_default();
            self.put(BAD, "not applied")?;
            self.sentence(&format!(": {}", text("message")))?;
            self.explanation(text("evidence"), &[text("next")])?;
        }
        self.diff("", data)?;
        data.get("diagnostics").map_or(Ok(()), |diagnostics| self.diagnostics(diagnostics))
    }

    /// Writes the diagnosis of a file by language servers.
    fn diagnostics(&mut self, diagnostics: &Value) -> io::Result<()> {
        let text = diagnostics["text"].as_str().unwrap_or_default();
        text.lines().try_for_each(|line| self.sentence(line))
    }

    /// Writes an error for a person; `advice` is an additional line of advice.
    pub(crate) fn error(&mut self, error: &Error, advice: Option<&str>) -> io::Result<()> {
        self.put(BAD, "error")?;
        self.sentence(&format!(": {} [{}]", error.message(), error.code().as_str()))?;
        self.explanation(error.evidence_text(), &[error.next_step(), advice.unwrap_or_default()])
    }

    /// Writes what is known about an error, and the next steps.
    fn explanation(&mut self, evidence: &str, next_steps: &[&str]) -> io::Result<()> {
        for line in evidence.lines() {
            self.sentence(&format!("  {line}"))?;
        }
        for next in next_steps.iter().filter(|next| !next.is_empty()) {
            self.put(BOLD, "next")?;
            self.sentence(&format!(": {next}"))?;
        }
        Ok(())
    }
}

/// Returns an answer for people: with local times, and names relative to the current directory except in the lines of
/// files.
fn for_people(answer: &Answer, tool: &str, utc: bool) -> Answer {
    let mut out = answer.clone();
    match answer.body() {
        Some(text) => text.clone_into(&mut out.text),
        None => out.reminders.clear(),
    }
    if !utc {
        out.text = with_local_times(&out.text, &answer.data);
        if let Some(summary) = answer.data.get("summary").and_then(Value::as_str) {
            out.data.insert("summary".to_owned(), with_local_times(summary, &answer.data).into());
        }
    }
    out.text = with_relative_names(out.text, tool);
    out
}

/// Replaces the time of each operation of the data in a text.
fn with_local_times(text: &str, data: &Map<String, Value>) -> String {
    let mut text = text.to_owned();
    let rows = data.get("operations").and_then(Value::as_array).into_iter().flatten();
    for row in rows.chain(data.get("shown")) {
        let time = row["time"].as_str().unwrap_or_default();
        if let Ok(at) = DateTime::parse_from_rfc3339(time) {
            text = text.replacen(time, &at.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string(), 1);
        }
    }
    text
}

/// Makes the names in the text of an answer relative to the current directory.
fn with_relative_names(text: String, tool: &str) -> String {
    match tool {
        // The text of these tools consists of lines of files, which must not change.
        "read" | "convert" => text,
        "search" => text.split_inclusive('\n').map(relative_start).collect(),
        _ => relative_names::in_text(&text).into_owned(),
    }
}

/// Makes a name at the start of a line relative.
fn relative_start(line: &str) -> Cow<'_, str> {
    if line.starts_with('/') { relative_names::in_text(line) } else { Cow::Borrowed(line) }
}

/// Shows a reply according to the flags; returns the exit status.
pub(crate) fn reply(context: &CliContext<'_>, reply: &Reply, view: ChangeView, colors: &ListingColors) -> u8 {
    let tool = colors.tool;
    if context.global.json {
        return json(reply, tool);
    }
    match &reply.result {
        Ok(_) if is_quiet() && emendate::tool(tool).is_some() && !only_reads(tool) => 0,
        Ok(answer) => {
            let mut out = stdout().laid_out(DiffLayout::layout_for_terminal(context.global.side_by_side));
            let shown = match view {
                ChangeView::Stat => out.stat(answer),
                ChangeView::Summary => out.summaries(answer),
                ChangeView::Diff => {
                    let mut answer = for_people(answer, tool, context.global.utc);
                    if colors.is_file || tool == "read" && answer.text.is_empty() {
                        // Standard output is the file.
                        for text in std::mem::take(&mut answer.reminders) {
                            note(&text);
                        }
                    }
                    out.answer(&answer, colors)
                }
            };
            status(reply, tool, shown.and_then(|()| out.flush()), 0)
        }
        Err(error) => {
            let mut out = stderr();
            // There is nowhere left to report this failure.
            let _ = out.error(error, context.advice(error)).and_then(|()| out.flush());
            reply.exit()
        }
    }
}

/// Shows an operation that `emend history --follow` found.
///
/// Errors: those of the output.
pub(crate) fn operation(context: &CliContext<'_>, operation: &FeedOperation) -> Result<()> {
    let data = Map::from_iter([("shown".to_owned(), operation.row.clone())]);
    let text = if context.global.utc { operation.text.clone() } else { with_local_times(&operation.text, &data) };
    let mut out = stdout();
    ignore_broken_pipe(out.put(PLAIN, &with_relative_names(text, "history")).and_then(|()| out.flush()))
}

/// Shows a reply of a tool, or of a command without one, as one JSON object; returns the exit status.
pub(crate) fn json(reply: &Reply, tool: &str) -> u8 {
    status(reply, tool, line(&reply.to_json()), reply.exit())
}

/// Returns the exit status, unless the reply is a success that could not be shown.
fn status(reply: &Reply, tool: &str, shown: io::Result<()>, exit: u8) -> u8 {
    match shown {
        Err(failure) if reply.result.is_ok() && failure.kind() != io::ErrorKind::BrokenPipe => {
            let failure = if only_reads(tool) { io_error("standard output", &failure) } else { output_error(&failure) };
            error(&failure);
            exit_status(failure.code())
        }
        _ => exit,
    }
}

/// True for a tool that changes nothing.
fn only_reads(tool: &str) -> bool {
    emendate::tool(tool).is_some_and(|tool| tool.annotations.read_only)
}

/// Creates the error for an answer that could not be printed: the reported change is done all the same.
pub(crate) fn output_error(failure: &io::Error) -> Error {
    Error::new(Code::IoPartial, format!("The call was carried out, but its answer could not be written: {failure}."))
        .next("Read the file to see its state.")
}

/// Prints a text on standard output.
pub(crate) fn page(text: &str) -> Result<()> {
    let mut out = stdout();
    ignore_broken_pipe(out.plain(text.trim_end()).and_then(|()| out.flush()))
}

/// Prints JSON on one line.
pub(crate) fn value(value: &Value) -> Result<()> {
    ignore_broken_pipe(line(value))
}

fn line(value: &Value) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Shows an error on standard error.
pub(crate) fn error(error: &Error) {
    let mut out = stderr();
    // There is nowhere left to report this failure.
    let _ = out.error(error, None).and_then(|()| out.flush());
}

/// Shows the reason of a refusal on standard error, also with `--quiet`: a client reads it.
pub(crate) fn reason(text: &str) {
    let mut out = stderr();
    let _ = out.plain(text).and_then(|()| out.flush());
}

/// Shows a remark on standard error.
pub(crate) fn note(text: &str) {
    if is_quiet() {
        return;
    }
    let mut out = stderr();
    let _ = out.put(NOTE, "note").and_then(|()| out.sentence(&format!(": {text}"))).and_then(|()| out.flush());
}

/// Prints the notes of a reply whose text is for a program.
pub(crate) fn notes_beside(reply: &Reply) {
    let notes = reply.result.as_ref().ok().and_then(|answer| answer.data.get("notes")?.as_array());
    notes.into_iter().flatten().filter_map(Value::as_str).for_each(note);
}

/// Prints a heading on standard output.
pub(crate) fn heading(text: &str) -> Result<()> {
    let mut out = stdout();
    ignore_broken_pipe(out.heading(text).and_then(|()| out.flush()))
}

/// Shows the notices of the engine.
pub(crate) fn notices(engine: &Engine) {
    for notice in engine.notices() {
        note(&notice);
    }
}

//! Files that changed since they were read: errors, and the requested alternatives to an error.

use crate::context::history_stores::key;
use crate::model::call_context::StalePolicy;
use crate::model::raw_path;
use crate::model::reply_limits::{LINE_CHARS_MAX, STALE_DIFF_BYTES_MAX, note_part};
use crate::pipeline::plan::placement::EditedFile;
use crate::session::base;
use chrono::{DateTime, SecondsFormat};
use emendate_core::advice::fill_empty_file;
use emendate_core::carried_text::UnprovenEdit;
use emendate_core::{
    Advice, ChangeSet, Code, Conflict, Error, ErrorContext, Handle, Locator, MergeBase, Note, Op, Phrase, RebaseResult,
    Result, Snapshot, Span, Splice, advice, explain, line_format,
};
use emendate_fs::{FileMeta, SafePath};
use emendate_history::{LineSet, Record, RecordOrigin};
use serde_json::{Value, json};

/// Maximum number of characters that a read puts around a line: its number or its word, and its end.
const MARK_CHARS_MAX: usize = 32;

const MODIFIED_MESSAGE: &str = "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.";

impl EditedFile<'_> {
    /// Creates the error for a version of the caller that is not available for a merge, or for disabled merging.
    pub(crate) fn version_unavailable(&self) -> Error {
        // A sparse snapshot does not show how the text changed.
        if self.now.snapshot.is_sparse() {
            return changed_again(&self.path);
        }
        let record = self.base_record();
        let bytes =
            record.as_ref().and_then(|record| self.call.sessions(&self.path).bytes(record.content).ok().flatten());
        let seen = bytes.and_then(|bytes| self.call.decode(&self.path, bytes, None, "").ok());
        match seen {
            Some(seen) => {
                let theirs = ChangeSet::diff(&seen, &self.now.snapshot);
                self.with_diff(ForeignChange { seen: &seen, theirs: &theirs }, record, changed_error(&self.path))
            }
            None => changed_error(&self.path).next(self.read_again()),
        }
    }

    /// Returns what the session knows of the version that the call is based on; nothing if the store cannot tell.
    fn base_record(&self) -> Option<Record> {
        match self.options.tag {
            Some(Handle::Tag(tag) | Handle::Headed(_, tag)) => {
                self.call.sessions(&self.path).by_tag(key(&self.path), tag).ok().flatten()
            }
            Some(Handle::Lines(..)) | None => self.call.latest_record(&self.path).ok().flatten(),
        }
    }

    /// Returns the advice to send the edit again after what the error shows. The tag of the call names the old version.
    fn shown_above(&self) -> Advice {
        let plain = shown_above(&self.path, "the text");
        match self.options.tag {
            Some(Handle::Tag(_)) => {
                let tag = self.now.snapshot.id().tag().to_string();
                let again = "Send the edit again, based on the text as it is now (shown above), with ";
                advice![again, Phrase::Set("tag", tag.into()), Phrase::CountsAsRead, "."].or(plain)
            }
            _ => plain,
        }
    }

    /// Returns the advice to read the file and to send the edit again.
    fn read_again(&self) -> Advice {
        let plain = read_again(&self.path);
        match self.options.tag {
            Some(Handle::Tag(_)) => {
                let read = raw_path::read(&self.path, Value::Null);
                advice!["Call ", read, ", then send the edit again without ", Phrase::Field("tag"), "."].or(plain)
            }
            _ => plain,
        }
    }

    /// Marks lines that an error has just shown as known; returns a note if that failed.
    pub(crate) fn mark_shown(&self, lines: LineSet) -> Option<String> {
        base::mark_known(self.call, &self.path, &self.now, lines, RecordOrigin::Shown)
    }

    /// Adds the changes since the read, and marks the lines it shows as known.
    fn with_diff(&self, base: ForeignChange<'_>, record: Option<Record>, error: Error) -> Error {
        let ForeignChange { seen, theirs } = base;
        let error = with_times(error, record.as_ref().map(|record| record.meta), self.now.meta);
        if self.now.snapshot.text().is_empty() {
            let unkept = self.mark_shown(LineSet::all());
            let next = fill_empty_file("Send its new text as a new file.");
            return error.evidence("The file is empty now.").next(unkept.map_or(next, Advice::from));
        }
        let hunks = explain::reply_hunks(seen, theirs, 3, 2 * STALE_DIFF_BYTES_MAX);
        let room = (self.call.reply_limits().text / 4).min(STALE_DIFF_BYTES_MAX);
        let diff = explain::unified(&self.path.shown(), &hunks, room);
        let mut error = error
            .evidence(format!("What changed since you read it:\n{}", diff.text))
            .fact("diff", explain::structured(&hunks));
        let (held, all) = explain::held_lines(&hunks);
        note_part(error.parts().data, "diff", "lines", held, all);
        if diff.cut {
            return error.next(self.read_again());
        }
        // Known lines remain known if they did not change, and the hunks show the rest.
        let known = record.filter(|record| record.content == seen.id()).map_or_else(LineSet::none, |it| it.lines);
        let mut lines = base::carry_lines(&known, seen, theirs);
        lines.union(&base::of_ranges(&diff.lines));
        let unkept = self.mark_shown(lines);
        error
            .next(unkept.map_or_else(|| self.shown_above(), Advice::from))
            .fact("tag", self.now.snapshot.id().tag().to_string())
    }

    /// Creates the error for an edit that does not even fit the version that the caller saw.
    pub(crate) fn unresolved(&self, base: ForeignChange<'_>, error: &Error) -> Error {
        if !matches!(error.code(), Code::MatchNotFound | Code::MatchAmbiguous | Code::MatchCount) {
            return error.clone();
        }
        self.not_carried(base, format!("And in the version you read: {}", error.message()))
    }

    /// Creates the error for an edit that was placed in the version that the caller saw, but has no certain place now.
    pub(crate) fn not_carried(&self, base: ForeignChange<'_>, why: String) -> Error {
        self.with_diff(base, self.base_record(), changed_error(&self.path).evidence(why))
    }

    /// Creates the error for changes of the same lines on both sides.
    pub(crate) fn conflict(&self, base: ForeignChange<'_>, conflicts: &[Conflict]) -> Error {
        let ForeignChange { seen, theirs } = base;
        let mut error = changed_error(&self.path);
        for conflict in conflicts.iter().take(5) {
            let (from, to) = (theirs.map(conflict.theirs.start(), false), theirs.map(conflict.theirs.end(), true));
            if self.now.snapshot.text().is_empty() {
                break;
            }
            let excerpt = line_format::excerpt(
                &self.now.snapshot,
                line_now(&self.now.snapshot, from).saturating_sub(2),
                line_now(&self.now.snapshot, to) + 2,
            );
            error =
                error.evidence(format!("Your edit and the other change overlap here; the lines are now:\n{excerpt}"));
        }
        let list: Vec<Value> = conflicts
            .iter()
            .map(
                |it| json!({ "op": it.op, "line": seen.lines().line_of(seen.text(), seen.to_text(it.theirs.start())) }),
            )
            .collect();
        self.with_choices(self.with_diff(base, self.base_record(), error.fact("conflicts", list)))
    }

    /// Adds the choices of the caller, if the call asks for them.
    pub(crate) fn with_choices(&self, error: Error) -> Error {
        if self.options.on_stale != StalePolicy::Ask {
            return error;
        }
        let overwrite =
            format!("Overwrite external changes: write the whole file with tag {}", self.now.snapshot.id().tag());
        let choices = [&*overwrite, "Abort edit", "Read file again"];
        error.evidence(format!("Choices: {}.", choices.join("; "))).fact("options", choices.map(Value::from).to_vec())
    }

    /// Creates the error for an edit whose changes were all made by others already.
    pub(crate) fn already_applied(&self, rebased: &RebaseResult) -> Error {
        Error::new(
            Code::EditNoChange,
            "No changes to make: the file changed since it was read, and already has this edit.",
        )
        .evidence(self.path.shown())
        .next("Nothing is left to do; read the file if you want to see it.")
        .about(ErrorContext::AlreadyApplied)
        .fact("edits", rebased.already_made.clone())
        .fact("tag", self.now.snapshot.id().tag().to_string())
    }

    /// Creates the error for a whole-file write over lines that were never shown.
    pub(crate) fn partly_read(&self, now: &Snapshot, shown: &LineSet) -> Error {
        let missing = shown.missing(now.lines().count(now.text()) as u64);
        let ranges: Vec<String> = missing.iter().take(10).map(|(from, to)| format!("{from}-{to}")).collect();
        let (from, to) = missing.first().copied().unwrap_or((1, 1));
        if let Some((line, _)) = missing.iter().find(|(from, to)| from == to && too_long(now, *from)) {
            return Error::new(Code::ReadPartial, "File has not been read yet as a whole, and cannot be.")
                .evidence(format!("Line {line} is too long to be shown whole."))
                .next(Advice::named("Change the part you know with {edit()}.").or("Change only the part you know."));
        }
        let limit = lines_in_one_read(now, from, to, self.call.reply_limits().read);
        let rest = || raw_path::read(&self.path, json!({ "offset": from, "limit": limit }));
        Error::new(
            Code::ReadPartial,
            "File has not been read yet as a whole. Read the rest first before replacing all of it.",
        )
        .evidence(format!("Not shown in this version: lines {}.", ranges.join(", ")))
        .next(advice!["Call ", rest(), ", or change the part you know with ", Phrase::Tool("edit"), "."].or(advice![
            "Call ",
            rest(),
            ", or change only the part you know."
        ]))
        .fact("missing", missing.iter().map(|(from, to)| json!([from, to])).collect::<Vec<Value>>())
    }
}

/// Creates the error for a changed file without details of the change.
pub(crate) fn changed_again(path: &SafePath) -> Error {
    changed_error(path).next(read_again(path))
}

fn changed_error(path: &SafePath) -> Error {
    Error::new(Code::StaleChanged, MODIFIED_MESSAGE).evidence(path.shown())
}

fn read_again(path: &SafePath) -> Advice {
    advice!["Call ", raw_path::read(path, Value::Null), ", then send the edit again."]
}

/// Returns the advice if the error shows everything that the edit needs.
pub(crate) fn shown_above(path: &SafePath, what: &str) -> Advice {
    advice![format!("Send the edit again, based on {what} as it is now (shown above)"), Phrase::CountsAsRead, "."]
        .or(read_again(path))
}

/// Adds the times of the version that the caller saw and of the current file, and their difference (seeds 000 and 003).
fn with_times(error: Error, seen: Option<FileMeta>, now: FileMeta) -> Error {
    let error = error.fact("currentTime", time_data(now));
    match seen {
        Some(seen) => {
            let millis = |meta: FileMeta| meta.mtime_ns.div_euclid(1_000_000);
            let between = millis(now).abs_diff(millis(seen));
            error.fact("cachedTime", time_data(seen)).fact("difference", format!("{between}ms"))
        }
        None => error,
    }
}

/// Returns the time of the last change as text.
fn time_data(meta: FileMeta) -> Value {
    let time = DateTime::from_timestamp_micros(meta.mtime_ns / 1000).unwrap_or_default();
    Value::from(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Returns why the place of an edit by text is a guess.
pub(crate) fn why_unproven(edit: &UnprovenEdit) -> String {
    let lines: Vec<String> = edit.lines_now.iter().map(usize::to_string).collect();
    match &*lines {
        [] => "The lines that your edit matched changed, too, so its place is not certain any more.".to_owned(),
        [line] => format!("The lines that your edit matched changed; their text is at line {line} now."),
        lines => format!(
            "The text that your edit matched is in several places now (lines {}), and lines next to it changed.",
            lines.join(", ")
        ),
    }
}

/// Returns conflicts of edits that matched at most three lines by their text, between changes that moved those lines:
/// the comparison of versions may then pair them with equal lines of another section.
pub(crate) fn isolated(seen: &Snapshot, ops: &[Op], mine: &ChangeSet, theirs: &ChangeSet) -> Vec<Conflict> {
    const ISOLATED_LINES_MAX: usize = 3;
    let text = seen.text();
    let count = seen.lines().count(text);
    let mut out = Vec::new();
    for splice in mine.splices().iter().filter(|it| is_by_text(ops, it.op)) {
        let claim = seen.text_span(splice.read_span);
        let line = |at: usize| seen.lines().line_of(text, at);
        let (first, last) = (line(claim.start()), line(claim.end().max(claim.start() + 1) - 1));
        if last - first >= ISOLATED_LINES_MAX {
            continue;
        }
        let (above, begin, end, below) = (
            line_start(count, seen, text, first - 1),
            line_start(count, seen, text, first),
            line_start(count, seen, text, last + 1),
            line_start(count, seen, text, last + 2),
        );
        let theirs = || theirs.splices().iter();
        if let (Some(front), Some(back)) = (
            theirs().find(|it| it.span.start() <= begin && (it.span.end() > above || it.span == Span::at(begin))),
            theirs().find(|it| it.span.end() >= end && (it.span.start() < below || it.span == Span::at(end))),
        ) && (moves_lines(seen, front) || moves_lines(seen, back))
        {
            out.push(Conflict { op: splice.op, mine: splice.span, theirs: front.span });
        }
    }
    out
}

/// True for a splice that changes the number of lines.
fn moves_lines(seen: &Snapshot, it: &Splice) -> bool {
    newlines(seen.raw().get(it.span.start()..it.span.end()).unwrap_or_default()) != newlines(&it.text)
}

/// Returns where a line begins in the file.
fn line_start(count: usize, seen: &Snapshot, text: &str, line: usize) -> usize {
    match line {
        0 => 0,
        line if line > count => seen.raw().len(),
        line => seen.to_raw(seen.lines().span_of(text, line, line).start()),
    }
}

/// True for an operation that seeks a text.
fn is_by_text(ops: &[Op], op: u32) -> bool {
    usize::try_from(op).ok().and_then(|op| ops.get(op)).is_some_and(|op| matches!(op.at, Locator::Find(_)))
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// The version that the caller saw, and the change that others made to it since.
#[derive(Clone, Copy)]
pub(crate) struct ForeignChange<'a> {
    pub(crate) seen: &'a Snapshot,
    pub(crate) theirs: &'a ChangeSet,
}

/// Returns the line of an offset in the current version.
pub(crate) fn line_now(now: &Snapshot, raw: usize) -> usize {
    now.lines().line_of(now.text(), now.to_text(raw))
}

/// Returns the note about a merge.
pub(crate) fn merged(base: MergeBase, rebased: &RebaseResult, ops: &[Op]) -> Note {
    let already_made = rebased.already_made.iter().filter_map(|&at| Some((at as usize, ops.get(at as usize)?)));
    let already_made = if ops.len() > 1 { already_made.map(|(at, op)| op.name(at)).collect() } else { Vec::new() };
    Note::Merged { base, context_changed: !rebased.touched.is_empty(), already_made }
}

/// Merges the three texts, with markers around conflicts.
pub(crate) fn with_markers(seen: &Snapshot, mine: &ChangeSet, now: &Snapshot) -> Result<String> {
    let ours = seen.reopen(mine.apply(seen))?;
    Ok(emendate_core::merge_with_markers(seen.text(), ours.text(), now.text()))
}

/// Counts the lines from `from` to `to` that a read certainly shows in one reply of `room` characters; at least one.
fn lines_in_one_read(now: &Snapshot, from: u64, to: u64, room: usize) -> usize {
    let number = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let span = now.lines().span_of(now.text(), number(from), number(to));
    let mut left = room;
    let fits = now.text()[span.range()].split_inclusive('\n').take_while(|line| {
        let rest = left.checked_sub(line.chars().count() + MARK_CHARS_MAX);
        left = rest.unwrap_or(0);
        rest.is_some()
    });
    fits.count().max(1)
}

pub(crate) fn too_long(now: &Snapshot, line: u64) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let span = now.lines().span_of(now.text(), line, line);
    now.text()[span.range()].chars().count() > LINE_CHARS_MAX
}

//! Receipts: the result of a request, as text for a model and fields for a program.

pub(crate) mod edits;

use crate::context::policy;
use crate::model::call_context::ChangeDisplay;
use crate::model::change_kind::ChangeKind;
use crate::model::raw_path;
use crate::model::reply::{Answer, clip};
use crate::model::reply_limits::{FileBudget, note_part};
use crate::pipeline::plan::anchor_edits;
use crate::pipeline::plan::file_plan::{CurrentState, FilePlan, TargetState};
use crate::pipeline::report::diagnose::Diagnosis;
use crate::pipeline::report::receipt::edits::{put, texts_of_ops};
use crate::pipeline::report::rows::render_warnings;
use crate::session::base;
use emendate_core::anchor_map::AnchorMap;
use emendate_core::explain::{self, DiffHunk, DiffStat, DiffText};
use emendate_core::{
    Charset, ContentId, Error, HeaderStyle, Note, Notes, OpOutcome, curly_quotes, generated, invisible_characters,
    line_edits,
};
use emendate_fs::{WriteReport, shown};
use emendate_history::{LineSet, OperationId};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT_LINES: usize = 4;
/// Notes and failures that the text lists; the data has the others.
const LISTED_NOTES_MAX: usize = 20;
/// Characters of a note in the text.
const NOTE_CHARS_MAX: usize = 500;
const FAILURE_CHARS_MAX: usize = 2_000;
/// Characters of failures, beyond which the others are only counted.
const FAILURES_CHARS_MAX: usize = 4_000;
/// Initial capacity for the fields of a reply's data.
const REPLY_FIELDS_CAPACITY: usize = 28;
/// Characters of a file's notice that it is generated.
const GENERATED_MARK_CHARS_MAX: usize = 80;

/// The result of a request, or of a dry run.
pub(crate) struct Receipt {
    pub(crate) plan: FilePlan,
    /// The current content of the file and how it was written, if it was.
    pub(crate) written: Option<(ContentId, WriteReport)>,
    pub(crate) dry_run: bool,
    /// The operation of the log that it belongs to.
    pub(crate) operation: Option<OperationId>,
    /// The anchors of the file's lines, if the reply shows them.
    pub(crate) anchor_map: Option<AnchorMap>,
    /// The preview of the change, if it was prepared.
    pub(crate) preview: Option<Preview>,
    /// The share of the reply for the change.
    pub(crate) budget: FileBudget,
    /// The diagnosis of the current file by language servers.
    pub(crate) diagnosis: Option<Diagnosis>,
}

/// The part of a reply that shows the change of one file. It is known before the file is written, and prepared while
/// the disk writes.
pub(crate) struct Preview {
    hunks: Vec<DiffHunk>,
    /// Empty if the reply has a diff instead.
    snippet: DiffText,
    patch: Value,
}

/// The reply for one file.
#[derive(Default)]
pub(crate) struct FileReply {
    pub(crate) text: ReplyText,
    pub(crate) data: Map<String, Value>,
    /// The notes, as text and data have them.
    pub(crate) notes: Notes,
    /// Warnings below the replies for all files.
    pub(crate) warnings: Notes,
}

/// The text of a reply in its parts, each of whole lines.
#[derive(Default)]
pub(crate) struct ReplyText {
    pub(crate) headline: String,
    pub(crate) notes: String,
    /// Edits that were skipped, the change, the diagnosis.
    pub(crate) body: String,
}

impl ReplyText {
    /// Joins the parts.
    pub(crate) fn render(&self) -> String {
        [&*self.headline, &self.notes, &self.body].concat()
    }
}

impl Preview {
    pub(crate) fn of(plan: &FilePlan, shows: ChangeDisplay, room: FileBudget) -> Preview {
        let bare = Preview::without_patch(plan, shows, room);
        Preview { patch: explain::structured(&bare.hunks), ..bare }
    }

    /// Creates a preview without the structured patch, for callers that need only the lines.
    pub(crate) fn without_patch(plan: &FilePlan, shows: ChangeDisplay, room: FileBudget) -> Preview {
        let hunks = reply_hunks(plan, room.patch);
        let snippet = match shows {
            ChangeDisplay::Snippet if room.snippet > 0 => explain::snippet(&hunks, room.snippet),
            _ => DiffText::default(),
        };
        Preview { hunks, snippet, patch: Value::Null }
    }

    /// The lines of the new version that the snippet shows completely.
    pub(crate) fn lines(&self) -> LineSet {
        base::of_ranges(&self.snippet.lines)
    }
}

impl Receipt {
    /// Creates the receipt of a file that was not written.
    pub(crate) fn new(plan: FilePlan, dry_run: bool, budget: FileBudget) -> Receipt {
        Receipt {
            plan,
            written: None,
            dry_run,
            operation: None,
            anchor_map: None,
            preview: None,
            budget,
            diagnosis: None,
        }
    }

    /// Adds a note.
    pub(crate) fn note(&mut self, note: impl Into<Note>) {
        self.plan.outcome.notes.push(note);
    }

    /// Renders the answer for this file; `replace_all` is the value in the call.
    pub(crate) fn answer(&mut self, replace_all: bool, shows: ChangeDisplay) -> Answer {
        let mut reply = self.reply(replace_all, shows);
        reply.text.body.push_str(&render_warnings(&reply.warnings));
        let FileReply { text, data, notes, .. } = reply;
        Answer { text: text.render(), data, notes, operation: self.operation, ..Answer::default() }
    }

    /// The header above the rows of the reply.
    pub(crate) fn header(&self) -> Option<HeaderStyle> {
        self.plan.display.header.filter(|_| self.plan.target == TargetState::File && !self.plan.before.is_binary())
    }

    /// Creates the reply for this file; `replace_all` is the value in the call.
    pub(crate) fn reply(&mut self, replace_all: bool, shows: ChangeDisplay) -> FileReply {
        let preview = self.preview.take().unwrap_or_else(|| Preview::of(&self.plan, shows, self.budget));
        let Receipt { plan, written, dry_run, operation, budget: room, .. } = &*self;
        let Preview { hunks, snippet, patch } = preview;
        let stat = explain::stat(&hunks);
        let path = plan.path.shown();
        let replacements: usize = plan.outcome.ops.iter().map(|op| op.places).sum();
        let headline = headline(plan, &path, stat, replacements, *dry_run);
        let notes = self.notes(&hunks);
        let warnings = if self.header().is_some() { notes.clone() } else { Notes::new() };
        let (mut text, mut data) = self.words(&headline, &hunks, &snippet.text, &notes, shows);
        self.add_diagnosis(&mut text.body, &mut data);
        put(&mut data, "summary", headline.into());
        put(&mut data, "filePath", path.into());
        if let Some(bytes) = raw_path::base64_if_needed(plan.path.absolute()) {
            put(&mut data, raw_path::RAW_PATH_FIELD, bytes.into());
        }
        put(&mut data, "type", plan.kind().name().into());
        if let Some(origin) = &plan.source_file {
            put(&mut data, "from", origin.path.shown().into());
            if let Some(bytes) = raw_path::base64_if_needed(origin.path.absolute()) {
                put(&mut data, "from_b64", bytes.into());
            }
        }
        let own_patches = texts_of_ops(plan, replace_all, room.edits, &mut data);
        if !plan.outcome.ops.is_empty() {
            put(&mut data, "replacements", replacements.into());
        }
        if !plan.outcome.failed.is_empty() {
            put(&mut data, "failed", plan.outcome.failed.iter().map(emendate_core::Error::to_json).collect());
        }
        if let Some((key, value)) = original(plan, room.original) {
            put(&mut data, key, value);
        }
        put(&mut data, "structuredPatch", patch);
        put(&mut data, "userModified", plan.outcome.user_modified.into());
        put(&mut data, "linesAdded", stat.added.into());
        put(&mut data, "linesRemoved", stat.removed.into());
        put(&mut data, "merged", plan.outcome.merged.into());
        put(&mut data, "notes", (&notes).into());
        put(&mut data, "dryRun", (*dry_run).into());
        if let Some(hit) = plan.outcome.asking_rule.as_ref().filter(|_| *dry_run) {
            put(&mut data, "asks", hit.describe(&plan.path).into());
        }
        if let Some(operation) = operation {
            put(&mut data, "operation", operation.to_string().into());
        }
        match written {
            Some((content, written)) => {
                if plan.target == TargetState::File {
                    put(&mut data, "tag", content.tag().to_string().into());
                }
                put(&mut data, "writtenBy", written.method.as_str().into());
            }
            None if !*dry_run => put(&mut data, "tag", plan.before.id().tag().to_string().into()),
            None => {}
        }
        let (held, all) = explain::held_lines(&hunks);
        note_part(&mut data, "structuredPatch", "lines", held, all);
        note_part(&mut data, "edits.structuredPatch", "edits", own_patches.0, own_patches.1);
        FileReply { text, data, notes, warnings }
    }

    /// Appends the diagnosis of language servers at the end.
    pub(crate) fn add_diagnosis(&self, text: &mut String, data: &mut Map<String, Value>) {
        let Some(diagnosis) = &self.diagnosis else { return };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&diagnosis.text());
        data.insert("diagnostics".to_owned(), diagnosis.to_json());
    }

    /// Renders the text and the data that only go with it: a headline and a snippet, or rows below a header.
    fn words(
        &self,
        headline: &str,
        hunks: &[DiffHunk],
        snippet: &str,
        notes: &[Note],
        shows: ChangeDisplay,
    ) -> (ReplyText, Map<String, Value>) {
        let plan = &self.plan;
        let failed = not_applied(&plan.outcome.failed);
        if let Some(header) = self.header() {
            let Answer { text, data, .. } = self.in_rows(header);
            return (ReplyText { body: text + &failed, ..ReplyText::default() }, data);
        }
        let mut text = ReplyText { headline: format!("{headline}\n"), notes: render_notes(notes), body: failed };
        let mut data = Map::with_capacity(REPLY_FIELDS_CAPACITY);
        if let (Some(format), Some(words)) = (plan.display.anchor_format, &self.anchor_map) {
            let around = explain::hunks(&plan.before, &plan.changes, line_edits::AROUND);
            text.body += &anchor_edits::preview(format, words.words(), &around, self.budget.diff);
            return (text, data);
        }
        if shows == ChangeDisplay::Diff && !hunks.is_empty() {
            let (form, diff) =
                explain::render_by_size(&plan.path.shown(), &plan.before, &plan.changes, hunks, self.budget.diff);
            data.insert("diff".to_owned(), json!({ "form": form.name(), "text": diff.text }));
            text.body += &diff.text;
            return (text, data);
        }
        text.body += snippet;
        (text, data)
    }

    /// Every note and warning about the file, of its edits as well.
    pub(crate) fn all_notes(&self) -> Notes {
        self.notes(&reply_hunks(&self.plan, self.budget.patch))
    }

    /// The content of the file after the call; `None` if there is no file, and in a dry run.
    pub(crate) fn content_after(&self) -> Option<ContentId> {
        if self.dry_run || self.plan.target != TargetState::File {
            return None;
        }
        Some(self.written.as_ref().map_or_else(|| self.plan.before.id(), |(content, _)| *content))
    }

    /// True when the file was written.
    pub(crate) fn is_written(&self) -> bool {
        self.written.is_some()
    }

    /// Returns the warning about a generated file that is edited by hand.
    fn generated(&self) -> Option<String> {
        let plan = &self.plan;
        let edits = matches!(plan.current, CurrentState::File(_))
            && plan.target == TargetState::File
            && !plan.before.is_binary();
        let (line, words) = if edits { generated(plan.before.text()) } else { None }?;
        let words: String = words.chars().take(GENERATED_MARK_CHARS_MAX).collect();
        Some(format!(
            "The file is marked as generated (line {line}: {words}); generating it again may undo this change."
        ))
    }

    fn notes(&self, hunks: &[DiffHunk]) -> Notes {
        let plan = &self.plan;
        let link = plan
            .path
            .via_link()
            .map(|link| format!("{} is a symbolic link; its target {} was edited.", shown(link), plan.path.shown()));
        let of_edits = plan.outcome.ops.iter().flat_map(|op| op_notes(op, plan.outcome.ops.len()));
        let raw = raw_path::base64_path(plan.path.absolute()).map(|bytes| raw_path::hint(&bytes));
        let flag = if plan.writes() { policy::warning(&plan.path).or_else(|| self.generated()) } else { None };
        let asked = plan.outcome.asking_rule.as_ref().filter(|_| self.dry_run);
        let asked = asked.map(|hit| format!("A person is asked before this is written: {}", hit.describe(&plan.path)));
        let mut notes: Notes = link.into_iter().chain(raw).chain(flag).chain(asked).collect();
        notes.extend(plan.outcome.notes.iter().cloned());
        notes.extend(of_edits);
        // Characters of bytes are not those that are displayed.
        if plan.before.codec().charset != Charset::Bytes {
            notes.extend(invisible_characters(hunks));
        }
        // Of a large file, the text has only some lines.
        if plan.before.file_summary().is_none_or(|whole| whole.ascii) {
            notes.extend(curly_quotes(plan.before.text(), hunks));
        }
        notes
    }
}

/// Returns the changed lines of a text with context, in at most about `bytes`.
fn reply_hunks(plan: &FilePlan, bytes: usize) -> Vec<DiffHunk> {
    if plan.before.is_binary() {
        return Vec::new();
    }
    explain::reply_hunks(&plan.before, &plan.changes, CONTEXT_LINES, bytes)
}

/// Returns the former text of the file if it was requested: up to `most` bytes, else a flag. That of a new file is
/// empty, so every reply has it.
fn original(plan: &FilePlan, most: usize) -> Option<(&'static str, Value)> {
    let made =
        matches!(plan.current, CurrentState::Nothing) && plan.source_file.is_none() && plan.target == TargetState::File;
    if made {
        return Some(("originalFile", "".into()));
    }
    if most == 0 {
        return None;
    }
    if plan.source.is_some() {
        return Some(("originalFileOmitted", true.into()));
    }
    if plan.before.is_binary() || !matches!(plan.current, CurrentState::File(_)) {
        return None;
    }
    let fits = plan.before.size() <= most;
    Some(if fits { ("originalFile", plan.before.text().into()) } else { ("originalFileOmitted", true.into()) })
}

/// Formats notes for a model, one per line, limited to the first ones.
pub(crate) fn render_notes(notes: &[Note]) -> String {
    let mut out: String = notes
        .iter()
        .take(LISTED_NOTES_MAX)
        .map(|note| format!("Note: {}\n", clip(&note.to_string(), NOTE_CHARS_MAX)))
        .collect();
    if notes.len() > LISTED_NOTES_MAX {
        let _ = writeln!(out, "Note: {} more notes are listed in the data.", notes.len() - LISTED_NOTES_MAX);
    }
    out
}

/// Formats the edits that were skipped with the reasons, limited to the first ones.
fn not_applied(failed: &[Error]) -> String {
    let mut out = String::new();
    for (nth, error) in failed.iter().enumerate() {
        if nth == LISTED_NOTES_MAX || out.len() > FAILURES_CHARS_MAX {
            let _ = writeln!(out, "Not applied: {} more, listed in the data.", failed.len() - nth);
            break;
        }
        let _ = writeln!(out, "Not applied: {}", clip(&error.to_string(), FAILURE_CHARS_MAX));
    }
    out
}

fn headline(plan: &FilePlan, path: &str, stat: DiffStat, replacements: usize, dry_run: bool) -> String {
    if !plan.writes() {
        return format!("The file {path} already has exactly this text; nothing was written.");
    }
    let to = plan.source_file.as_ref().map_or(String::new(), |_| format!(" to {path}"));
    let path = plan.source_file.as_ref().map_or(path.to_owned(), |origin| origin.path.shown());
    let link = match &plan.target {
        TargetState::Link(target) if plan.source_file.is_none() => format!(" as a symbolic link to {}", shown(target)),
        _ => String::new(),
    };
    let verb = match plan.kind() {
        ChangeKind::Link => ChangeKind::Create.participle(),
        kind => kind.participle(),
    };
    let be = if dry_run { "would be " } else { "has been " };
    // An undo restores the whole mode.
    let bits = plan.mode.filter(|to| plan.source_file.is_none() && plan.current.mode().is_some_and(|now| now != *to));
    let mode = match (plan.executable, bits) {
        (Some(true), _) => " It is executable now.".to_owned(),
        (Some(false), _) if plan.is_new_after_move => String::new(),
        (Some(false), _) => " It is no longer executable.".to_owned(),
        (None, Some(bits)) => format!(" Its mode is {bits:o} now."),
        (None, None) => String::new(),
    };
    let mode = if dry_run { String::new() } else { mode };
    let same = plan.changes.is_empty() && (plan.source_file.is_some() || plan.executable.is_some() || bits.is_some());
    if plan.target != TargetState::File || same {
        return format!("The file {path} {be}{verb}{to}{link}.{mode}");
    }
    if plan.before.is_binary() {
        let bytes: usize = plan.changes.chunks(plan.before.raw()).map(<[u8]>::len).sum();
        return format!("The file {path} {be}{verb}{to}: {bytes} bytes.{mode}");
    }
    let count = match replacements {
        0 => String::new(),
        1 => "1 replacement, ".to_owned(),
        n => format!("{n} replacements, "),
    };
    let (added, removed) = (stat.added, stat.removed);
    format!("The file {path} {be}{verb}{to}: {count}+{added} -{removed} lines.{mode}")
}

/// Returns the notes of an operation.
fn op_notes(op: &OpOutcome, of: usize) -> impl Iterator<Item = Note> {
    let (edit, line) = (op.op, op.source_line);
    op.notes
        .iter()
        .cloned()
        .map(move |note| if of > 1 { Note::OfEdit { edit, line, note: Box::new(note) } } else { note })
}

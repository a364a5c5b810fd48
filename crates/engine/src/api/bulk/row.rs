//! The result of one row.

use crate::api::bulk::reward::RewardRule;
use emendate_core::formats::print::PrintFormat;
use emendate_core::formats::requested_text_format;
use emendate_core::work::{self, Meter};
use emendate_core::{AppliedText, ApplyOptions, ChangedSpan, Code, Error, FileChangeKind, NewText, Notes, Result};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The next step for a comparison beyond a limit.
const SHORTER_TEXTS_ADVICE: &str = "Give shorter texts.";
/// The path of a text without one.
const TEXT_PATH: &str = "text";

/// Work that one row may take unless the caller says otherwise: about a tenth of a second.
pub const ROW_STEPS: u64 = 40_000_000;

/// The reason why a cell has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellError {
    /// The cell is null.
    Null,
    /// The bytes of the cell are not UTF-8.
    NotUtf8,
    /// The cell is a number, a list or something else.
    NotText,
}

/// A cell of a row; `None` if there is no such column.
pub type BulkCell<'a> = Option<std::result::Result<&'a str, CellError>>;

/// Files of a row, by path.
pub type BulkFiles<'a> = Vec<(std::result::Result<&'a str, CellError>, std::result::Result<&'a str, CellError>)>;

/// The task for each row.
#[derive(Clone, Debug)]
pub enum BulkTask {
    /// Applies the edit to the text.
    Apply {
        /// The format of rows without one.
        format: Option<Arc<str>>,
    },
    /// Applies the edit to the files.
    ApplyFiles {
        /// The format of rows without one.
        format: Option<Arc<str>>,
    },
    /// Compares the two texts.
    Diff {
        /// The format of the difference; `None`: a unified diff for people.
        to: Option<Arc<str>>,
    },
    /// Prints the change of the edit in another format.
    Convert {
        /// The format to convert to.
        to: Arc<str>,
        /// The format of rows without one.
        format: Option<Arc<str>>,
    },
    /// Rewards the edit.
    Reward {
        /// The rule.
        rule: RewardRule,
        /// The format of rows without one.
        format: Option<Arc<str>>,
    },
}

impl BulkTask {
    /// Returns the names of the columns of results that callers want unless they say otherwise.
    pub fn usual_columns(&self) -> &'static [&'static str] {
        match self {
            BulkTask::Apply { .. } => &["ok", "code", "after", "format", "tier", "added", "removed"],
            BulkTask::ApplyFiles { .. } => &["ok", "code", "files", "format", "tier", "added", "removed"],
            BulkTask::Diff { .. } => &["ok", "code", "diff", "added", "removed"],
            BulkTask::Convert { .. } => &["ok", "code", "diff", "format"],
            BulkTask::Reward { .. } => &["reward", "ok", "code", "tier"],
        }
    }

    /// Returns the names of all columns that results of the task can have. The others would only have zeros or nulls.
    pub fn columns(&self) -> &'static [&'static str] {
        match self {
            BulkTask::Apply { .. } => &[
                "ok", "code", "after", "format", "tier", "edits", "added", "removed", "spans", "notes", "message",
                "next", "diff",
            ],
            BulkTask::ApplyFiles { .. } => {
                &["ok", "code", "files", "format", "tier", "edits", "added", "removed", "notes", "message", "next"]
            }
            BulkTask::Diff { .. } => &["ok", "code", "diff", "added", "removed", "spans", "message", "next"],
            BulkTask::Convert { .. } => &["ok", "code", "diff", "format", "notes", "message", "next"],
            BulkTask::Reward { .. } => &[
                "reward", "ok", "code", "after", "format", "tier", "edits", "added", "removed", "spans", "notes",
                "message", "next",
            ],
        }
    }

    /// Checks the names of columns of results.
    ///
    /// Errors: `call.invalid` for one that results of the task do not have.
    pub fn check_columns<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Result<()> {
        match names.find(|name| !self.columns().contains(name)) {
            Some(name) => Err(Error::new(Code::CallInvalid, format!("The results have no column `{name}`."))
                .next(format!("Use some of: {}.", self.columns().join(", ")))),
            None => Ok(()),
        }
    }

    /// Checks the names of formats that the task has for all rows: a mistake in one of them is the caller's, and not one
    /// of every row.
    ///
    /// Errors: `call.invalid`, with the names.
    pub fn check(&self) -> Result<()> {
        let (format, to) = match self {
            BulkTask::Apply { format } | BulkTask::ApplyFiles { format } | BulkTask::Reward { format, .. } => {
                (format.as_deref(), None)
            }
            BulkTask::Convert { to, format } => (format.as_deref(), Some(&**to)),
            BulkTask::Diff { to } => (None, to.as_deref()),
        };
        format.map(requested_text_format).transpose()?;
        to.map(PrintFormat::requested).transpose()?;
        Ok(())
    }

    /// Returns the names of the inputs in the order of [`BulkInputs`], the files in place of the text before; `true` for
    /// those that the task cannot do without.
    pub fn inputs(&self) -> [(&'static str, bool); 5] {
        let first = if matches!(self, BulkTask::ApplyFiles { .. }) { "files" } else { "before" };
        let second = if matches!(self, BulkTask::Diff { .. }) { "after" } else { "edit" };
        let compares = matches!(self, BulkTask::Reward { rule, .. } if rule.measure.compares());
        [(first, true), (second, true), ("path", false), ("format_column", false), ("expected", compares)]
    }
}

/// The cells of a row.
#[derive(Clone, Debug, Default)]
pub struct BulkInputs<'a> {
    /// The text before.
    pub before: BulkCell<'a>,
    /// The edit; for a comparison, the text after.
    pub change: BulkCell<'a>,
    /// The path of the text.
    pub path: BulkCell<'a>,
    /// The format of the edit.
    pub format: BulkCell<'a>,
    /// The expected text.
    pub expected: BulkCell<'a>,
    /// The files, in place of a text before.
    pub files: Option<std::result::Result<BulkFiles<'a>, CellError>>,
}

/// A changed file of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkFile {
    /// The path after the change; the former one of a deleted file.
    pub path: String,
    /// `created`, `updated`, `deleted`, `renamed` or `copied`.
    pub kind: &'static str,
    /// The path that a renamed or copied file comes from.
    pub from_path: Option<String>,
    /// The new text; `None` for a deleted file.
    pub text: Option<String>,
}

/// The result of a row.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BulkRow {
    /// The error, if the task could not be done.
    pub error: Option<Error>,
    /// The new text, if it is another one.
    pub after: Option<NewText>,
    /// The format of the edit.
    pub format: Option<&'static str>,
    /// The largest tolerance that was needed.
    pub tier: Option<&'static str>,
    /// The edits that were applied.
    pub edits: usize,
    /// The changed bytes.
    pub spans: Vec<ChangedSpan>,
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
    /// Every tolerance, as sentences.
    pub notes: Notes,
    /// The difference, or the converted edit.
    pub diff: Option<String>,
    /// The reward.
    pub reward: Option<f64>,
    /// The changed files.
    pub files: Vec<BulkFile>,
}

impl BulkRow {
    /// Performs the task on one row. With `wants_diff`, the result of an edit contains its diff. An internal fault
    /// becomes the error of this row alone.
    pub fn of(task: &BulkTask, inputs: &BulkInputs<'_>, options: &ApplyOptions, wants_diff: bool) -> BulkRow {
        let made = catch_unwind(AssertUnwindSafe(|| match task {
            BulkTask::Apply { format } => BulkRow::apply_edit(inputs, format.as_deref(), options, wants_diff),
            BulkTask::ApplyFiles { format } => BulkRow::of_files(inputs, format.as_deref(), options),
            BulkTask::Diff { to } => BulkRow::compare_texts(inputs, to.as_deref(), options),
            BulkTask::Convert { to, format } => BulkRow::convert_edit(inputs, to, format.as_deref(), options),
            BulkTask::Reward { rule, format } => BulkRow::reward_edit(inputs, rule, format.as_deref(), options),
        }));
        let bug = || Err(Error::new(Code::InternalBug, "The engine failed at this row; please report it."));
        made.unwrap_or_else(|_| bug()).unwrap_or_else(|error| BulkRow::failed(task, error))
    }

    /// The result of a row without data to work on. It has no reward, because no edit is at fault.
    pub fn without_data(error: Error) -> BulkRow {
        BulkRow { error: Some(error), ..BulkRow::default() }
    }

    /// The result of a row whose task cannot be done.
    fn failed(task: &BulkTask, error: Error) -> BulkRow {
        let reward = matches!(task, BulkTask::Reward { .. }).then_some(0.0);
        BulkRow { reward, ..BulkRow::without_data(error) }
    }

    fn apply_edit(
        inputs: &BulkInputs<'_>,
        format: Option<&str>,
        options: &ApplyOptions,
        wants_diff: bool,
    ) -> Result<BulkRow> {
        let (before, applied) = apply(inputs, format, options)?;
        let mut row = BulkRow::of_text(before, applied);
        if let (true, Some(after)) = (wants_diff, &row.after) {
            let path = path_of(inputs)?.unwrap_or(TEXT_PATH);
            row.diff = Some(emendate_core::diff(before, &after.joined())?.unified(path));
        }
        Ok(row)
    }

    fn of_text(before: &str, applied: AppliedText<NewText>) -> BulkRow {
        BulkRow {
            after: is_changed(before, &applied).then_some(applied.text),
            format: Some(applied.format),
            tier: Some(applied.tier.name()),
            edits: applied.edits,
            spans: applied.spans,
            added: applied.added,
            removed: applied.removed,
            notes: applied.notes,
            ..BulkRow::default()
        }
    }

    fn of_files(inputs: &BulkInputs<'_>, format: Option<&str>, options: &ApplyOptions) -> Result<BulkRow> {
        let edit = required_text(inputs.change, "edit")?;
        let Some(Ok(rows)) = &inputs.files else { return Err(null("files")) };
        let mut files = BTreeMap::new();
        for (path, text) in rows {
            let path = required_text(Some(*path), "path")?;
            if files.insert(path.to_owned(), required_text(Some(*text), "text")?.to_owned()).is_some() {
                return Err(Error::new(Code::CallInvalid, format!("`{path}` is twice in the files of this row.")));
            }
        }
        let options = for_row(inputs, format, options)?;
        let applied = emendate_core::apply_files(&files, edit, &options)?;
        let mut row = BulkRow { format: Some(applied.format), notes: applied.notes, ..BulkRow::default() };
        row.tier = applied.files.values().map(|file| file.tier).max().map(emendate_core::Tier::name);
        for (path, file) in applied.files {
            row.edits += file.edits;
            row.added += file.added;
            row.removed += file.removed;
            row.notes.extend(file.notes);
            let (kind, from_path) = match file.kind {
                FileChangeKind::Created => ("created", None),
                FileChangeKind::Deleted => ("deleted", None),
                FileChangeKind::Renamed { from } => ("renamed", Some(from)),
                FileChangeKind::Copied { from } => ("copied", Some(from)),
                _ => ("updated", None),
            };
            row.files.push(BulkFile { path, kind, from_path, text: file.text });
        }
        Ok(row)
    }

    fn compare_texts(inputs: &BulkInputs<'_>, to: Option<&str>, options: &ApplyOptions) -> Result<BulkRow> {
        let (before, after) = (required_text(inputs.before, "before")?, required_text(inputs.change, "after")?);
        let path = path_of(inputs)?.unwrap_or(TEXT_PATH);
        let (largest, limits) = (before.len().max(after.len()), options.limits);
        if largest > limits.input_bytes {
            let what = format!("A text has {largest} bytes, more than the {} that a row may have.", limits.input_bytes);
            return Err(Error::new(Code::CallTooLarge, what).next(SHORTER_TEXTS_ADVICE));
        }
        let _entered = Meter::new(limits.work_steps, Arc::default()).enter();
        let diff = work::spend_bytes(before.len() + after.len()).and_then(|()| emendate_core::diff(before, after));
        let printed = diff.and_then(|diff| {
            let printed = match to {
                Some(to) if !diff.is_empty() => diff.to_patch(path, to)?,
                _ => diff.unified(path),
            };
            Ok((diff, printed))
        });
        let (diff, printed) = work::check().map_err(|_| too_much_work()).and(printed)?;
        let diff_text = (!diff.is_empty()).then_some(printed);
        Ok(BulkRow {
            spans: diff.spans,
            added: diff.added,
            removed: diff.removed,
            diff: diff_text,
            ..BulkRow::default()
        })
    }

    fn convert_edit(
        inputs: &BulkInputs<'_>,
        to: &str,
        format: Option<&str>,
        options: &ApplyOptions,
    ) -> Result<BulkRow> {
        let (before, edit) = (required_text(inputs.before, "before")?, required_text(inputs.change, "edit")?);
        let path = path_of(inputs)?.unwrap_or(TEXT_PATH);
        let mut options = options.clone().path(path);
        options.format = optional_text(inputs.format)?.or(format).map(str::to_owned);
        let files = BTreeMap::from([(path.to_owned(), before.to_owned())]);
        let patch = emendate_core::convert(&files, edit, to, &options)?;
        Ok(BulkRow { format: Some(patch.from), notes: patch.notes, diff: Some(patch.text), ..BulkRow::default() })
    }

    fn reward_edit(
        inputs: &BulkInputs<'_>,
        rule: &RewardRule,
        format: Option<&str>,
        options: &ApplyOptions,
    ) -> Result<BulkRow> {
        let (expected, path) = match reward_data(inputs, rule) {
            Ok(data) => data,
            Err(error) => return Ok(BulkRow::without_data(error)),
        };
        let (before, applied) = apply(inputs, format, options)?;
        let reward = rule.of(&applied, expected, path)?;
        Ok(BulkRow { reward, ..BulkRow::of_text(before, applied) })
    }
}

/// Returns the expected text, which is empty if the measure does not compare with one, and the path.
///
/// Errors: those of cells that belong to the data and not to the edit: also those of the text before, and of a format
/// that does not exist.
fn reward_data<'a>(inputs: &BulkInputs<'a>, rule: &RewardRule) -> Result<(&'a str, Option<&'a str>)> {
    required_text(inputs.before, "before")?;
    optional_text(inputs.format)?.map(requested_text_format).transpose()?;
    let expected = if rule.measure.compares() { required_text(inputs.expected, "expected")? } else { "" };
    Ok((expected, path_of(inputs)?))
}

/// True if the text changed. A single span always changes it; several may cancel each other out.
fn is_changed(before: &str, applied: &AppliedText<NewText>) -> bool {
    applied.spans.len() == 1 || applied.text.joined() != before
}

fn apply<'a>(
    inputs: &BulkInputs<'a>,
    format: Option<&str>,
    options: &ApplyOptions,
) -> Result<(&'a str, AppliedText<NewText>)> {
    let (before, edit) = (required_text(inputs.before, "before")?, required_text(inputs.change, "edit")?);
    Ok((before, emendate_core::apply_in_parts(before, edit, &for_row(inputs, format, options)?)?))
}

/// Returns the options with the path and the format of a row.
fn for_row(inputs: &BulkInputs<'_>, format: Option<&str>, options: &ApplyOptions) -> Result<ApplyOptions> {
    let mut options = options.clone();
    options.path = path_of(inputs)?.map(str::to_owned);
    options.format = optional_text(inputs.format)?.or(format).map(str::to_owned);
    Ok(options)
}

/// Returns the path of a row; an empty cell has none, like a null one.
fn path_of<'a>(inputs: &BulkInputs<'a>) -> Result<Option<&'a str>> {
    Ok(optional_text(inputs.path)?.filter(|path| !path.is_empty()))
}

/// Creates the error for a comparison beyond the limit of its steps.
fn too_much_work() -> Error {
    Error::new(Code::CallTooMuchWork, "The comparison needs more steps of work than a row may take.")
        .next(SHORTER_TEXTS_ADVICE)
}

/// Returns a cell that the task cannot do without.
fn required_text<'a>(cell: BulkCell<'a>, name: &str) -> Result<&'a str> {
    match cell {
        Some(Err(CellError::NotText)) => {
            Err(Error::new(Code::CallInvalid, format!("`{name}` is not a string in this row.")))
        }
        cell => optional_text(cell)?.ok_or_else(|| null(name)),
    }
}

fn null(name: &str) -> Error {
    Error::new(Code::CallInvalid, format!("`{name}` is null in this row."))
}

/// Returns a cell, if the row has one.
fn optional_text(cell: BulkCell<'_>) -> Result<Option<&str>> {
    match cell {
        Some(Err(CellError::NotUtf8)) => {
            Err(Error::new(Code::ContentUndecodable, "The bytes of a cell of this row are not UTF-8."))
        }
        Some(Err(CellError::NotText)) => {
            Err(Error::new(Code::CallInvalid, "A cell of this row is neither a string nor null."))
        }
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(CellError::Null)) | None => Ok(None),
    }
}

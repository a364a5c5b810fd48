//! The result of one row.

use super::cells::Unusable;
use super::columns::Columns;
use emendate_core::{AppliedText, ApplyOptions, ChangedSpan, Code, Error, Tier};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The path of a text without one.
const TEXT_PATH: &str = "text";

/// The task for each row.
#[derive(Clone)]
pub(super) enum Task {
    /// Inputs: before, edit, path, format.
    Apply { format: Option<Arc<str>> },
    /// Inputs: before, after, path.
    Diff { to: Option<Arc<str>> },
    /// Inputs: before, edit, path, format.
    Convert { to: Arc<str>, format: Option<Arc<str>> },
    /// Inputs: before, edit, path, format, expected.
    Reward { measure: Measure, tier_penalty: f64, format: Option<Arc<str>> },
}

/// The measure by which the text after an edit is rewarded.
#[derive(Clone, Copy)]
pub(super) enum Measure {
    /// 1 for the expected text.
    Exact,
    /// 1 for an edit that can be applied.
    Applied,
    /// The ratio of the characters, as `difflib` computes it.
    Similarity,
    /// The ratio of the lines.
    LineSimilarity,
}

impl Measure {
    /// Errors: `call.invalid`.
    pub(super) fn named(name: &str) -> Result<Measure, Error> {
        match name {
            "exact" => Ok(Measure::Exact),
            "applied" => Ok(Measure::Applied),
            "similarity" => Ok(Measure::Similarity),
            "line_similarity" => Ok(Measure::LineSimilarity),
            _ => Err(Error::new(Code::CallInvalid, format!("`{name}` is not a reward."))
                .next("Use one of: exact, applied, similarity, line_similarity.")),
        }
    }
}

/// The values of a row's columns.
#[derive(Default)]
pub(super) struct Row {
    pub(super) error: Option<Error>,
    pub(super) after: Option<String>,
    pub(super) format: Option<&'static str>,
    pub(super) tier: Option<&'static str>,
    pub(super) edits: usize,
    pub(super) spans: Vec<ChangedSpan>,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) notes: Vec<String>,
    pub(super) diff: Option<String>,
    pub(super) reward: Option<f64>,
}

/// The inputs of a row; `None` where the caller names no column.
type Inputs<'a> = [Option<Result<&'a str, Unusable>>];

impl Row {
    /// Does the work of a row. A fault of the engine is the row's own.
    pub(super) fn of(task: &Task, inputs: &Inputs<'_>, options: &ApplyOptions, columns: &Columns) -> Row {
        let made = catch_unwind(AssertUnwindSafe(|| match task {
            Task::Apply { format } => Row::applied(inputs, format.as_deref(), options, columns),
            Task::Diff { to } => Row::compared(inputs, to.as_deref(), options),
            Task::Convert { to, format } => Row::converted(inputs, to, format.as_deref(), options),
            Task::Reward { measure, tier_penalty, format } => {
                Row::rewarded(inputs, *measure, *tier_penalty, format.as_deref(), options)
            }
        }));
        let bug = || Err(Error::new(Code::InternalBug, "The engine failed at this row; please report it."));
        let mut row =
            made.unwrap_or_else(|_| bug()).unwrap_or_else(|error| Row { error: Some(error), ..Row::default() });
        if row.error.is_some() && matches!(task, Task::Reward { .. }) {
            row.reward = Some(0.0);
        }
        row
    }

    fn applied(
        inputs: &Inputs<'_>,
        format: Option<&str>,
        options: &ApplyOptions,
        columns: &Columns,
    ) -> Result<Row, Error> {
        let (before, applied) = apply(inputs, format, options)?;
        let mut row = Row::of_text(before, applied);
        if let (true, Some(after)) = (columns.have("diff"), &row.after) {
            let path = given(inputs, 2)?.unwrap_or(TEXT_PATH);
            row.diff = Some(emendate_core::diff(before, after)?.unified(path));
        }
        Ok(row)
    }

    fn of_text(before: &str, applied: AppliedText) -> Row {
        Row {
            after: (applied.text != before).then_some(applied.text),
            format: Some(applied.format),
            tier: Some(applied.tier.name()),
            edits: applied.edits,
            spans: applied.spans,
            added: applied.added,
            removed: applied.removed,
            notes: applied.notes,
            ..Row::default()
        }
    }

    fn compared(inputs: &Inputs<'_>, to: Option<&str>, options: &ApplyOptions) -> Result<Row, Error> {
        let (before, after) = (needed(inputs, 0, "before")?, needed(inputs, 1, "after")?);
        let path = given(inputs, 2)?.unwrap_or(TEXT_PATH);
        let largest = before.len().max(after.len());
        if largest > options.limits.input_bytes {
            return Err(Error::new(Code::CallTooLarge, format!("A text of {largest} bytes is too large.")));
        }
        let diff = emendate_core::diff(before, after)?;
        let printed = match to {
            Some(to) if !diff.is_empty() => diff.to_patch(path, to)?,
            _ => diff.unified(path),
        };
        let diff_text = (!diff.is_empty()).then_some(printed);
        Ok(Row { spans: diff.spans, added: diff.added, removed: diff.removed, diff: diff_text, ..Row::default() })
    }

    fn converted(inputs: &Inputs<'_>, to: &str, format: Option<&str>, options: &ApplyOptions) -> Result<Row, Error> {
        let (before, edit) = (needed(inputs, 0, "before")?, needed(inputs, 1, "edit")?);
        let path = given(inputs, 2)?.unwrap_or(TEXT_PATH);
        let mut options = options.clone().path(path);
        options.format = given(inputs, 3)?.or(format).map(str::to_owned);
        let files = BTreeMap::from([(path.to_owned(), before.to_owned())]);
        let patch = emendate_core::convert(&files, edit, to, &options)?;
        Ok(Row { format: Some(patch.from), notes: patch.notes, diff: Some(patch.text), ..Row::default() })
    }

    fn rewarded(
        inputs: &Inputs<'_>,
        measure: Measure,
        tier_penalty: f64,
        format: Option<&str>,
        options: &ApplyOptions,
    ) -> Result<Row, Error> {
        let expected = match measure {
            Measure::Applied => "",
            _ => needed(inputs, 4, "expected")?,
        };
        let (before, applied) = apply(inputs, format, options)?;
        let reward = match measure {
            Measure::Applied => 1.0,
            Measure::Exact => f64::from(applied.text == expected),
            Measure::Similarity => emendate_core::similarity(&applied.text, expected)?,
            Measure::LineSimilarity => emendate_core::line_similarity(&applied.text, expected)?,
        };
        let penalty = if applied.tier == Tier::Exact { 0.0 } else { tier_penalty };
        Ok(Row { reward: Some((reward - penalty).max(0.0)), ..Row::of_text(before, applied) })
    }
}

fn apply<'a>(
    inputs: &Inputs<'a>,
    format: Option<&str>,
    options: &ApplyOptions,
) -> Result<(&'a str, AppliedText), Error> {
    let (before, edit) = (needed(inputs, 0, "before")?, needed(inputs, 1, "edit")?);
    let mut options = options.clone();
    options.path = given(inputs, 2)?.map(str::to_owned);
    options.format = given(inputs, 3)?.or(format).map(str::to_owned);
    Ok((before, emendate_core::apply(before, edit, &options)?))
}

/// Returns an input that the task cannot do without.
fn needed<'a>(inputs: &Inputs<'a>, nth: usize, name: &str) -> Result<&'a str, Error> {
    let null = || Error::new(Code::CallInvalid, format!("`{name}` is null in this row."));
    given(inputs, nth)?.ok_or_else(null)
}

/// Returns an input, if the row has one.
fn given<'a>(inputs: &Inputs<'a>, nth: usize) -> Result<Option<&'a str>, Error> {
    match inputs.get(nth).copied().flatten() {
        Some(Err(Unusable::NotUtf8)) => {
            Err(Error::new(Code::ContentUndecodable, "The bytes of a cell of this row are not UTF-8."))
        }
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(Unusable::Null)) | None => Ok(None),
    }
}

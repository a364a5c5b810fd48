//! Rewards of edits: of many rows, and of one.

use super::{BulkSettings, done};
use crate::exception::raised;
use crate::options::{Count, shared};
use emendate::{BulkInputs, BulkRow, BulkTask, ROW_STEPS, RewardMeasure, RewardRule};
use emendate_core::Error;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A measure by its name, the usual penalty of tolerances, and those of tiers by their names.
type RuleParts = (String, f64, BTreeMap<String, f64>);

fn task((measure, penalty, penalties): RuleParts, format: Option<String>) -> Result<BulkTask, Error> {
    let rule = RewardRule::new(RewardMeasure::from_name(&measure)?, penalty, penalties)?;
    Ok(BulkTask::Reward { rule, format: format.map(Arc::from) })
}

/// Rewards the edit of each row. `emendate.bulk.reward_many` documents it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn reward_many<'py>(
    batch: &Bound<'py, PyAny>,
    inputs: Vec<Option<String>>,
    rule: RuleParts,
    format: Option<String>,
    r#match: String,
    columns: Option<Vec<String>>,
    threads: Count,
    max_steps: Option<Count>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = BulkSettings { r#match, columns, threads, max_bytes: None, max_steps };
    let job = task(rule, format).and_then(|task| settings.job(task, inputs));
    done(job, batch)
}

/// The texts of one row: before, edit, path and expected.
type RowTexts = (String, String, Option<String>, Option<String>);

/// The reward of one row, its code, and its tier.
type RowReward = (Option<f64>, Option<&'static str>, Option<&'static str>);

/// Rewards one edit. `emendate.rewards.reward` documents it.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python passes a tuple")]
pub(crate) fn reward_row(
    py: Python<'_>,
    texts: RowTexts,
    rule: RuleParts,
    format: Option<String>,
    r#match: &str,
    max_steps: Option<Count>,
) -> PyResult<RowReward> {
    let row = py.detach(|| {
        let options = shared(None, r#match, None, Some(max_steps.unwrap_or(Count::from(ROW_STEPS))))?;
        let task = task(rule, format)?;
        task.check()?;
        let (before, edit, path, expected) = &texts;
        let inputs = BulkInputs {
            before: Some(Ok(before)),
            change: Some(Ok(edit)),
            path: path.as_deref().map(Ok),
            expected: expected.as_deref().map(Ok),
            ..BulkInputs::default()
        };
        Ok(BulkRow::of(&task, &inputs, &options, false))
    });
    let row = row.map_err(|error| raised(py, &error))?;
    Ok((row.reward, row.error.map(|error| error.code().as_str()), row.tier))
}

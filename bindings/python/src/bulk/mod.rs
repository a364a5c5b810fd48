//! Functions on many rows: Arrow in, Arrow out. A row never raises; what is wrong with it is in its columns.

mod cells;
mod columns;
mod row;
mod rows;

use crate::exception::raised;
use crate::options::shared;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use cells::Cells;
use columns::Columns;
use emendate_core::{ApplyOptions, Code, Error};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
use row::{Row, Task};
use std::sync::Arc;

/// Work that one row may take unless the caller says otherwise: about a tenth of a second.
const ROW_STEPS: u64 = 40_000_000;

/// The task for each row of a batch, with the columns of its inputs.
#[derive(Clone)]
pub(crate) struct BulkJob {
    task: Task,
    /// The names of the columns of the inputs; those without a name are not given.
    inputs: Vec<Option<String>>,
    columns: Columns,
    options: ApplyOptions,
    threads: usize,
}

impl BulkJob {
    /// Checks that the columns are there and have texts.
    ///
    /// Errors: `call.invalid`.
    fn check(&self, schema: &Schema) -> Result<(), Error> {
        for name in self.inputs.iter().flatten() {
            let Ok(field) = schema.field_with_name(name) else {
                let names: Vec<&str> = schema.fields().iter().map(|field| &**field.name()).collect();
                return Err(Error::new(Code::CallInvalid, format!("The batch has no column `{name}`."))
                    .next(format!("Name one of its columns: {}.", names.join(", "))));
            };
            Cells::check(name, field.data_type())?;
        }
        Ok(())
    }

    /// Does the work of one batch.
    fn run(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let of = |name: &Option<String>| {
            let name = name.as_ref()?;
            Some(batch.column_by_name(name).map_or_else(
                || Err(ArrowError::SchemaError(format!("a later batch has no column `{name}`"))),
                Cells::of,
            ))
        };
        let inputs = self.inputs.iter().map(|name| of(name).transpose()).collect::<Result<Vec<_>, _>>()?;
        let one = |at: usize| {
            let cells: Vec<_> = inputs.iter().map(|cells| cells.as_ref().map(|cells| cells.text(at))).collect();
            Row::of(&self.task, &cells, &self.options, &self.columns)
        };
        self.columns.build(&rows::all(batch.num_rows(), self.threads, one))
    }
}

/// A stream of results, made batch by batch as they are asked for.
struct BulkReader {
    job: BulkJob,
    batches: Box<dyn RecordBatchReader + Send>,
}

impl Iterator for BulkReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.batches.next()?.and_then(|batch| self.job.run(&batch)))
    }
}

impl RecordBatchReader for BulkReader {
    fn schema(&self) -> SchemaRef {
        self.job.columns.schema()
    }
}

/// Does a job on a batch, which gives a batch, or on a stream, which gives a stream.
fn done(py: Python<'_>, job: BulkJob, input: AnyRecordBatch) -> PyResult<Bound<'_, PyAny>> {
    let schema = input.schema()?;
    job.check(&schema).map_err(|error| raised(py, &error))?;
    match input {
        AnyRecordBatch::RecordBatch(batch) => {
            let batch = batch.into_inner();
            let made = py.detach(|| job.run(&batch));
            let made = made.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
            Ok(Bound::new(py, PyRecordBatch::new(made))?.into_any())
        }
        AnyRecordBatch::Stream(stream) => {
            let reader = BulkReader { job, batches: stream.into_reader()? };
            Ok(Bound::new(py, PyRecordBatchReader::new(Box::new(reader)))?.into_any())
        }
    }
}

/// Settings that every function has.
struct BulkSettings {
    r#match: String,
    columns: Option<Vec<String>>,
    threads: usize,
    max_bytes: Option<usize>,
    max_steps: Option<u64>,
}

impl BulkSettings {
    fn job(self, task: Task, inputs: Vec<Option<String>>, usual: &[&str]) -> Result<BulkJob, Error> {
        let options = shared(None, &self.r#match, self.max_bytes, Some(self.max_steps.unwrap_or(ROW_STEPS)))?;
        let columns = match &self.columns {
            Some(names) => Columns::named(names.iter().map(String::as_str))?,
            None => Columns::named(usual.iter().copied())?,
        };
        Ok(BulkJob { task, inputs, columns, options, threads: self.threads })
    }
}

/// Applies the edit of each row to its text. `emendate.bulk.apply_many` documents it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn apply_many(
    py: Python<'_>,
    batch: AnyRecordBatch,
    inputs: Vec<Option<String>>,
    format: Option<String>,
    r#match: String,
    columns: Option<Vec<String>>,
    threads: usize,
    max_bytes: Option<usize>,
    max_steps: Option<u64>,
) -> PyResult<Bound<'_, PyAny>> {
    let settings = BulkSettings { r#match, columns, threads, max_bytes, max_steps };
    let job = settings.job(Task::Apply { format: format.map(Arc::from) }, inputs, columns::APPLY);
    done(py, job.map_err(|error| raised(py, &error))?, batch)
}

/// Compares the two texts of each row. `emendate.bulk.diff_many` documents it.
#[pyfunction]
pub(crate) fn diff_many(
    py: Python<'_>,
    batch: AnyRecordBatch,
    inputs: Vec<Option<String>>,
    to: Option<String>,
    columns: Option<Vec<String>>,
    threads: usize,
    max_steps: Option<u64>,
) -> PyResult<Bound<'_, PyAny>> {
    let settings = BulkSettings { r#match: "standard".to_owned(), columns, threads, max_bytes: None, max_steps };
    let job = settings.job(Task::Diff { to: to.map(Arc::from) }, inputs, columns::DIFF);
    done(py, job.map_err(|error| raised(py, &error))?, batch)
}

/// Prints the change of each row in another format. `emendate.bulk.convert_many` documents it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn convert_many<'py>(
    py: Python<'py>,
    batch: AnyRecordBatch,
    inputs: Vec<Option<String>>,
    to: &str,
    format: Option<String>,
    r#match: String,
    columns: Option<Vec<String>>,
    threads: usize,
    max_steps: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = BulkSettings { r#match, columns, threads, max_bytes: None, max_steps };
    let task = Task::Convert { to: Arc::from(to), format: format.map(Arc::from) };
    done(py, settings.job(task, inputs, columns::CONVERT).map_err(|error| raised(py, &error))?, batch)
}

/// Rewards the edit of each row. `emendate.bulk.reward_many` documents it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn reward_many<'py>(
    py: Python<'py>,
    batch: AnyRecordBatch,
    inputs: Vec<Option<String>>,
    reward: &str,
    tier_penalty: f64,
    format: Option<String>,
    r#match: String,
    columns: Option<Vec<String>>,
    threads: usize,
    max_steps: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = BulkSettings { r#match, columns, threads, max_bytes: None, max_steps };
    let task = row::Measure::named(reward).map(|measure| Task::Reward {
        measure,
        tier_penalty,
        format: format.map(Arc::from),
    });
    let job = task.and_then(|task| settings.job(task, inputs, columns::REWARD));
    done(py, job.map_err(|error| raised(py, &error))?, batch)
}

//! Functions on many rows: batches and streams of Arrow in, the same out. A row never raises an exception: its error is
//! in its columns.

mod cells;
mod columns;
mod file_lists;
mod reward;

use crate::exception::raised;
use crate::options::shared;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use cells::Cells;
use columns::{BulkResults, Columns};
use emendate::{BulkInputs, BulkRow, BulkTask, ROW_STEPS, in_order};
use emendate_core::{ApplyOptions, Code, Error};
use file_lists::FileLists;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
pub(crate) use reward::{reward_many, reward_row};
use std::sync::Arc;

/// The task for each row of a batch, with the columns of its inputs.
#[derive(Clone)]
pub(crate) struct BulkJob {
    task: BulkTask,
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
        for (nth, name) in self.inputs.iter().enumerate() {
            let Some(name) = name else { continue };
            let Ok(field) = schema.field_with_name(name) else {
                let names: Vec<&str> = schema.fields().iter().map(|field| &**field.name()).collect();
                return Err(Error::new(Code::CallInvalid, format!("The batch has no column `{name}`."))
                    .next(format!("Name one of its columns: {}.", names.join(", "))));
            };
            match self.task {
                BulkTask::ApplyFiles { .. } if nth == 0 => FileLists::check(name, field.data_type())?,
                _ => Cells::check(name, field.data_type())?,
            }
        }
        Ok(())
    }

    /// Processes one batch.
    fn run(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let column = |nth: usize| {
            let Some(name) = self.inputs.get(nth).and_then(Option::as_ref) else { return Ok(None) };
            let missing = || ArrowError::SchemaError(format!("a later batch has no column `{name}`"));
            batch.column_by_name(name).map(Some).ok_or_else(missing)
        };
        let cells = |nth: usize| column(nth)?.map(Cells::of).transpose();
        let has_files = matches!(self.task, BulkTask::ApplyFiles { .. });
        let files = if has_files { column(0)?.map(FileLists::of).transpose()? } else { None };
        let before = if has_files { None } else { cells(0)? };
        let rest = [cells(1)?, cells(2)?, cells(3)?, cells(4)?];
        let wants_diff = self.columns.have("diff");
        let one = |at: usize| {
            let [change, path, format, expected] = rest.each_ref().map(|cells| Some(cells.as_ref()?.text(at)));
            let before = before.as_ref().map(|cells| cells.text(at));
            let files = files.as_ref().map(|files| files.files(at));
            let inputs = BulkInputs { before, change, path, format, expected, files };
            BulkRow::of(&self.task, &inputs, &self.options, wants_diff)
        };
        let before_bytes = before.as_ref().map_or(0, Cells::bytes);
        let mut results = BulkResults::new(&self.columns, batch.num_rows(), before_bytes);
        in_order(batch.num_rows(), self.threads, one, |row| results.add(row));
        self.columns.build(results)
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

/// Runs a job: on a batch it returns a batch, on a stream a stream.
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
    fn job(self, task: BulkTask, inputs: Vec<Option<String>>, usual: &[&str]) -> Result<BulkJob, Error> {
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
    let job = settings.job(BulkTask::Apply { format: format.map(Arc::from) }, inputs, columns::APPLY);
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
    let job = settings.job(BulkTask::Diff { to: to.map(Arc::from) }, inputs, columns::DIFF);
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
    let task = BulkTask::Convert { to: Arc::from(to), format: format.map(Arc::from) };
    done(py, settings.job(task, inputs, columns::CONVERT).map_err(|error| raised(py, &error))?, batch)
}

/// Applies the edit of each row to its files. `emendate.bulk.apply_files_many` documents it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn apply_files_many(
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
    let job = settings.job(BulkTask::ApplyFiles { format: format.map(Arc::from) }, inputs, columns::FILES);
    done(py, job.map_err(|error| raised(py, &error))?, batch)
}

//! Functions on many rows: batches and streams of Arrow in, the same out. A row never raises an exception: its error is
//! in its columns.

mod reward;

use crate::exception::raised;
use crate::options::shared;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use emendate::{BulkTask, ROW_STEPS};
use emendate_arrow::BulkJob;
use emendate_core::Error;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
pub(crate) use reward::{reward_many, reward_row};
use std::sync::Arc;

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
        self.job.schema()
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
    fn job(self, task: BulkTask, inputs: Vec<Option<String>>) -> Result<BulkJob, Error> {
        let options = shared(None, &self.r#match, self.max_bytes, Some(self.max_steps.unwrap_or(ROW_STEPS)))?;
        BulkJob::new(task, inputs, self.columns.as_deref(), options, self.threads)
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
    let job = settings.job(BulkTask::Apply { format: format.map(Arc::from) }, inputs);
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
    let job = settings.job(BulkTask::Diff { to: to.map(Arc::from) }, inputs);
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
    done(py, settings.job(task, inputs).map_err(|error| raised(py, &error))?, batch)
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
    let job = settings.job(BulkTask::ApplyFiles { format: format.map(Arc::from) }, inputs);
    done(py, job.map_err(|error| raised(py, &error))?, batch)
}

//! Functions on many rows: batches and streams of Arrow in, the same out. A row never raises an exception: its error is
//! in its columns.

mod reward;

use crate::exception::raised;
use crate::options::{Count, shared};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use emendate::{BulkTask, ROW_STEPS};
use emendate_arrow::BulkJob;
use emendate_core::{ArgumentStyle, Code, Error};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
pub(crate) use reward::{reward_many, reward_row};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A stream of results, made batch by batch as they are asked for.
struct BulkReader {
    job: BulkJob,
    batches: Box<dyn RecordBatchReader + Send>,
    /// Nothing can be read after an error.
    has_failed: bool,
}

/// The message for a batch that the Arrow library could not read.
const OTHER_SCHEMA: &str = "a batch of the stream does not have the schema that the stream announced";
/// The message for an array that the Arrow library could not read.
const TAKEN_ARRAY: &str = "the array was already taken by another reader, or is not one of its schema";
/// The message for a batch at which the engine failed.
const BUG: &str = "the engine failed at a batch; please report it";

impl Iterator for BulkReader {
    type Item = Result<RecordBatch, ArrowError>;

    /// A panic must not leave this function: its caller is C, and the process would end.
    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let read = catch_unwind(AssertUnwindSafe(|| self.batches.next()));
        let result = match read {
            Ok(batch) => batch?.and_then(|batch| {
                let made = catch_unwind(AssertUnwindSafe(|| self.job.run(&batch)));
                made.unwrap_or_else(|_| Err(ArrowError::ComputeError(BUG.to_owned())))
            }),
            // The library of Arrow trusts the schema of the stream.
            Err(_) => Err(ArrowError::SchemaError(OTHER_SCHEMA.to_owned())),
        };
        self.has_failed = result.is_err();
        Some(result)
    }
}

impl RecordBatchReader for BulkReader {
    fn schema(&self) -> SchemaRef {
        self.job.schema()
    }
}

/// Opens an object with an Arrow interface.
///
/// Raises `call.invalid` for another object, and for one whose data are no batch; what the interface raised is its cause.
fn opened(given: &Bound<'_, PyAny>) -> PyResult<AnyRecordBatch> {
    let py = given.py();
    let mistake = |what: &str| {
        let kind = given.get_type().fully_qualified_name().map(|name| name.to_string());
        let kind = kind.unwrap_or_else(|_| "object".to_owned());
        let error = Error::new(Code::CallInvalid, format!("`batch` is a `{kind}`, {what}"));
        let next = "Give a batch, table or stream with columns, such as one of pyarrow, Polars, DuckDB or pandas.";
        raised(py, &error.next(next))
    };
    if !["__arrow_c_array__", "__arrow_c_stream__"].iter().any(|name| given.hasattr(name).unwrap_or(false)) {
        return Err(mistake("which has no Arrow interface."));
    }
    let refused = |error: PyErr| {
        // The classes that the Arrow library raises, and not those of an interrupt or of too little memory.
        if error.get_type(py).is(py.get_type::<PyException>()) || error.is_instance_of::<PyValueError>(py) {
            let refusal = mistake(&format!("whose Arrow data are not a batch: {}", error.value(py)));
            refusal.set_cause(py, Some(error));
            return refusal;
        }
        error
    };
    // The library of Arrow trusts that an array was not taken yet, and that it has the children of its schema.
    let read = catch_unwind(AssertUnwindSafe(|| {
        let batch = given.extract::<AnyRecordBatch>()?;
        batch.schema().map(|_| batch)
    }));
    read.unwrap_or_else(|_| Err(PyValueError::new_err(TAKEN_ARRAY))).map_err(refused)
}

/// Runs a job: on a batch it returns a batch, on a stream a stream.
fn done<'py>(job: Result<BulkJob, Error>, input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    let job = job.map_err(|error| raised(py, &error))?;
    let input = opened(input)?;
    let schema = input.schema()?;
    job.check(&schema).map_err(|error| raised(py, &error))?;
    match input {
        AnyRecordBatch::RecordBatch(batch) => {
            let batch = batch.into_inner();
            let made = py.detach(|| job.run(&batch));
            let made = made.map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(Bound::new(py, PyRecordBatch::new(made))?.into_any())
        }
        AnyRecordBatch::Stream(stream) => {
            let reader = BulkReader { job, batches: stream.into_reader()?, has_failed: false };
            Ok(Bound::new(py, PyRecordBatchReader::new(Box::new(reader)))?.into_any())
        }
    }
}

/// Settings that every function has.
struct BulkSettings {
    r#match: String,
    columns: Option<Vec<String>>,
    threads: Count,
    max_bytes: Option<Count>,
    max_steps: Option<Count>,
}

impl BulkSettings {
    fn job(self, task: BulkTask, inputs: Vec<Option<String>>) -> Result<BulkJob, Error> {
        let max_steps = self.max_steps.unwrap_or(Count::from(ROW_STEPS));
        // Most functions have no limit of bytes.
        let style = if self.max_bytes.is_some() { ArgumentStyle::PythonRows } else { ArgumentStyle::Unnamed };
        let options = shared(None, &self.r#match, self.max_bytes, Some(max_steps))?.argument_style(style);
        BulkJob::new(task, inputs, self.columns.as_deref(), options, self.threads.of("threads")?)
    }
}

/// Applies the edit of each row to its text. `emendate.bulk.apply_many` documents it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn apply_many<'py>(
    batch: &Bound<'py, PyAny>,
    inputs: Vec<Option<String>>,
    format: Option<String>,
    r#match: String,
    columns: Option<Vec<String>>,
    threads: Count,
    max_bytes: Option<Count>,
    max_steps: Option<Count>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = BulkSettings { r#match, columns, threads, max_bytes, max_steps };
    let job = settings.job(BulkTask::Apply { format: format.map(Arc::from) }, inputs);
    done(job, batch)
}

/// Compares the two texts of each row. `emendate.bulk.diff_many` documents it.
#[pyfunction]
pub(crate) fn diff_many<'py>(
    batch: &Bound<'py, PyAny>,
    inputs: Vec<Option<String>>,
    to: Option<String>,
    columns: Option<Vec<String>>,
    threads: Count,
    max_steps: Option<Count>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = BulkSettings { r#match: "standard".to_owned(), columns, threads, max_bytes: None, max_steps };
    let job = settings.job(BulkTask::Diff { to: to.map(Arc::from) }, inputs);
    done(job, batch)
}

/// Prints the change of each row in another format. `emendate.bulk.convert_many` documents it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn convert_many<'py>(
    batch: &Bound<'py, PyAny>,
    inputs: Vec<Option<String>>,
    to: &str,
    format: Option<String>,
    r#match: String,
    columns: Option<Vec<String>>,
    threads: Count,
    max_steps: Option<Count>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = BulkSettings { r#match, columns, threads, max_bytes: None, max_steps };
    let task = BulkTask::Convert { to: Arc::from(to), format: format.map(Arc::from) };
    done(settings.job(task, inputs), batch)
}

/// Applies the edit of each row to its files. `emendate.bulk.apply_files_many` documents it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn apply_files_many<'py>(
    batch: &Bound<'py, PyAny>,
    inputs: Vec<Option<String>>,
    format: Option<String>,
    r#match: String,
    columns: Option<Vec<String>>,
    threads: Count,
    max_bytes: Option<Count>,
    max_steps: Option<Count>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = BulkSettings { r#match, columns, threads, max_bytes, max_steps };
    let job = settings.job(BulkTask::ApplyFiles { format: format.map(Arc::from) }, inputs);
    done(job, batch)
}

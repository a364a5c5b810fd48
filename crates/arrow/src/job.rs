//! A task on batches.

use crate::cells::Cells;
use crate::columns::{BulkResults, Columns};
use crate::file_lists::FileLists;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, FieldRef, Schema, SchemaRef};
use emendate::{BulkInputs, BulkRow, BulkTask, in_order};
use emendate_core::{ApplyOptions, Code, Error};

/// A task for each row of a batch, with the columns of its inputs.
#[derive(Clone)]
pub struct BulkJob {
    task: BulkTask,
    inputs: Vec<Option<String>>,
    columns: Columns,
    options: ApplyOptions,
    threads: usize,
}

impl BulkJob {
    /// Creates a job. `inputs` are the names of the columns of up to five inputs, `None` for those that are not given: the
    /// text before (or the files), the edit (or the text after), the path, the format, and the expected text. `columns`
    /// are the columns of results in their order; without them, those that the task usually makes. `threads` of 0 means
    /// one per processor.
    ///
    /// Errors: `call.invalid` for a column that no result has, a format that does not exist, and an input that the task
    /// cannot do without; a column that this task does not make.
    pub fn new(
        task: BulkTask,
        inputs: Vec<Option<String>>,
        columns: Option<&[String]>,
        options: ApplyOptions,
        threads: usize,
    ) -> Result<BulkJob, Error> {
        task.check()?;
        for (nth, (argument, is_needed)) in task.inputs().into_iter().enumerate() {
            if is_needed && inputs.get(nth).is_none_or(Option::is_none) {
                return Err(Error::new(
                    Code::CallInvalid,
                    format!("`{argument}` is missing; rows have no value for it."),
                )
                .next(format!("Name the column in `{argument}`.")));
            }
        }
        let columns = match columns {
            Some(names) => {
                task.check_columns(names.iter().map(String::as_str))?;
                Columns::from_names(names.iter().map(String::as_str))?
            }
            None => Columns::from_names(task.usual_columns().iter().copied())?,
        };
        Ok(BulkJob { task, inputs, columns, options, threads })
    }

    /// The names of the columns that the job reads.
    #[cfg(feature = "parquet")]
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().flatten().map(String::as_str)
    }

    /// The schema of results.
    pub fn schema(&self) -> SchemaRef {
        self.columns.schema()
    }

    /// Checks that the columns of the inputs are there, each once, and have texts.
    ///
    /// Errors: `call.invalid`.
    pub fn check(&self, schema: &Schema) -> Result<(), Error> {
        for (nth, ((argument, is_needed), name)) in self.task.inputs().into_iter().zip(&self.inputs).enumerate() {
            let Some(name) = name else { continue };
            let field = column_named(schema, name).map_err(|error| {
                let next = format!("{} Or name none for `{argument}`, which is not needed here.", error.next_step());
                if is_needed { error } else { error.next(next) }
            })?;
            match self.task {
                BulkTask::ApplyFiles { .. } if nth == 0 => FileLists::check(name, field.data_type())?,
                _ => Cells::check(name, field.data_type())?,
            }
        }
        Ok(())
    }

    /// Processes one batch: the result has its rows in their order.
    ///
    /// Errors: a batch without the columns that [`BulkJob::check`] asks for.
    pub fn run(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        self.run_with(batch, |_| ())
    }

    /// Does the same, and passes each result to `each` in the order of the rows.
    ///
    /// Errors: those of [`BulkJob::run`].
    pub fn run_with(&self, batch: &RecordBatch, mut each: impl FnMut(&BulkRow)) -> Result<RecordBatch, ArrowError> {
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
        in_order(batch.num_rows(), self.threads, one, |row| {
            each(&row);
            results.add(row);
        });
        self.columns.build(results)
    }
}

/// Returns the column of a name.
///
/// Errors: `call.invalid` if there is none, or more than one: it is not known which is meant.
pub(crate) fn column_named<'s>(schema: &'s Schema, name: &str) -> Result<&'s FieldRef, Error> {
    let mut named = schema.fields().iter().filter(|field| field.name() == name);
    match (named.next(), named.next()) {
        (None, _) => Err(missing_column(schema, name)),
        (Some(field), None) => Ok(field),
        (Some(_), Some(_)) => Err(Error::new(Code::CallInvalid, format!("There are two columns `{name}` or more."))
            .next("Rename or drop all but one of them.")),
    }
}

/// Returns the error for a column that the input does not have.
pub(crate) fn missing_column(schema: &Schema, name: &str) -> Error {
    let names: Vec<&str> = schema.fields().iter().map(|field| &**field.name()).collect();
    Error::new(Code::CallInvalid, format!("There is no column `{name}`."))
        .next(format!("Name one of the columns: {}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::BulkJob;
    use arrow_schema::{DataType, Field, Schema};
    use emendate::BulkTask;
    use emendate_core::{ApplyOptions, Code};

    #[test]
    fn a_name_that_two_columns_have_names_none() {
        let inputs = ["before", "edit", "path"].map(|name| Some(name.to_owned())).to_vec();
        let job = BulkJob::new(BulkTask::Apply { format: None }, inputs, None, ApplyOptions::new(), 1).unwrap();
        let checked = |names: &[&str]| {
            let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
            job.check(&Schema::new(fields))
        };
        for (names, double) in
            [(["before", "edit", "before", "path"], "before"), (["path", "before", "edit", "path"], "path")]
        {
            let refused = checked(&names).unwrap_err();
            assert_eq!(refused.code(), Code::CallInvalid);
            assert!(refused.message().contains(&format!("two columns `{double}`")), "{refused}");
        }
        assert!(checked(&["before", "edit", "path", "other", "other"]).is_ok(), "columns that are not read");
    }
}

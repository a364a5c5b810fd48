//! Jobs on Parquet files that pyarrow wrote (`fixtures/write.py`): every layout of strings, bad cells, and parts.
#![cfg(feature = "parquet")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests read and write files"
)]

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{DataType, Schema};
use emendate::BulkTask;
use emendate_arrow::{BulkJob, ParquetJob, join_parts, part_rows};
use emendate_core::{ApplyOptions, Error};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> File {
    File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.parquet"))).unwrap()
}

fn apply(columns: &[&str]) -> impl FnOnce(&Schema) -> Result<BulkJob, Error> {
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    move |_| {
        let inputs = vec![Some("before".to_owned()), Some("edit".to_owned())];
        BulkJob::new(BulkTask::Apply { format: None }, inputs, Some(&columns), ApplyOptions::new(), 2)
    }
}

fn opened(name: &str, keep: &[&str], columns: &[&str]) -> Result<ParquetJob<File>, Error> {
    let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
    ParquetJob::open(fixture(name), &keep, apply(columns))
}

/// Writes the parts after `done` rows; returns their files.
fn parts(job: &ParquetJob<File>, done: u64, directory: &Path) -> Vec<PathBuf> {
    let (mut rows, mut out) = (job.after(done), Vec::new());
    loop {
        let path = directory.join(format!("{done}-{}", out.len()));
        if rows.write_part(File::create(&path).unwrap(), &mut |_| ()).unwrap().is_none() {
            return out;
        }
        out.push(path);
    }
}

/// Reads a file at once.
fn read(path: &Path) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = builder.schema().clone();
    let mut batches = builder.with_batch_size(1 << 20).build().unwrap();
    let batch = batches.next().unwrap_or_else(|| Ok(RecordBatch::new_empty(schema))).unwrap();
    assert!(batches.next().is_none());
    batch
}

/// Joins parts, and reads the result.
fn joined(job: &ParquetJob<File>, parts: &[PathBuf], directory: &Path) -> RecordBatch {
    let path = directory.join("joined");
    join_parts(job, parts.iter().map(File::open), File::create(&path).unwrap()).unwrap();
    read(&path)
}

fn texts(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = batch.column_by_name(name).unwrap();
    let column = arrow_cast::cast(column, &DataType::LargeUtf8).unwrap();
    column.as_string::<i64>().iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn every_layout_of_strings_has_the_same_results() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["string", "large_string", "string_view", "binary", "large_binary", "dictionary"] {
        let job = opened(name, &["id", "before", "other"], &["ok", "code", "after"]).unwrap();
        assert_eq!(job.rows(), 5);
        let made = joined(&job, &parts(&job, 0, directory.path()), directory.path());
        let names: Vec<&str> = made.schema_ref().fields().iter().map(|field| &**field.name()).collect();
        assert_eq!(names, ["id", "before", "other", "ok", "code", "after"], "{name}");
        let some = |text: &str| Some(text.to_owned());
        let after = [some("one\n2\n"), None, None, None, some("2\n")];
        assert_eq!(texts(&made, "after"), after, "{name}");
        let codes = [None, some("match.not_found"), some("call.invalid"), some("call.invalid"), None];
        assert_eq!(texts(&made, "code"), codes, "{name}");
        let before = [some("one\ntwo\n"), some("one\n"), None, some("one\ntwo\nthree\n"), some("two\n")];
        assert_eq!(texts(&made, "before"), before, "{name}");
        let kept = match name {
            "large_string" => DataType::LargeUtf8,
            "string_view" => DataType::Utf8View,
            "binary" => DataType::Binary,
            "large_binary" => DataType::LargeBinary,
            _ => DataType::Utf8,
        };
        assert_eq!(made.column(1).data_type(), &kept, "{name}");
        assert!(matches!(made.column(2).data_type(), DataType::Struct(_)), "{name}");
    }
}

#[test]
fn bytes_that_are_not_utf8_fail_their_row_alone() {
    let directory = tempfile::tempdir().unwrap();
    let job = opened("not_utf8", &["before"], &["ok", "code", "after"]).unwrap();
    let made = joined(&job, &parts(&job, 0, directory.path()), directory.path());
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(texts(&made, "code"), [None, some("content.undecodable"), None]);
    assert_eq!(texts(&made, "after"), [some("one\n2\n"), None, some("2\n")]);
    // A column of strings cannot have such bytes.
    assert_eq!(texts(&made, "before"), [some("one\ntwo\n"), None, some("two\n")]);
}

#[test]
fn parts_are_the_same_wherever_a_run_continues() {
    let directory = tempfile::tempdir().unwrap();
    let job = opened("many", &["n"], &["ok", "after"]).unwrap();
    let all = parts(&job, 0, directory.path());
    let rows: Vec<u64> = all.iter().map(|part| part_rows(&File::open(part).unwrap()).unwrap()).collect();
    assert_eq!((rows.iter().sum::<u64>(), rows.len()), (150_000, 3), "{rows:?}");
    let made = joined(&job, &all, directory.path());
    let numbers: Vec<i64> = made.column(0).as_primitive::<arrow_array::types::Int64Type>().values().to_vec();
    assert_eq!(numbers, (0..150_000).collect::<Vec<i64>>());
    let is_ok = made.column(1).as_boolean();
    assert!((0..150_000).all(|nth| is_ok.value(nth) == (nth % 97 == 0)));
    let later = parts(&job, rows[0], directory.path());
    for (continued, part) in later.iter().zip(&all[1..]) {
        assert!(std::fs::read(continued).unwrap() == std::fs::read(part).unwrap(), "{continued:?}");
    }
    assert_eq!(later.len(), 2);
    assert_eq!(parts(&job, 150_000, directory.path()).len(), 0);
}

#[test]
fn a_file_without_rows_makes_a_file_without_rows() {
    let directory = tempfile::tempdir().unwrap();
    let job = opened("empty", &["n"], &["ok", "after"]).unwrap();
    assert!(parts(&job, 0, directory.path()).is_empty());
    let made = joined(&job, &[], directory.path());
    assert_eq!((made.num_rows(), made.num_columns()), (0, 3));
}

#[test]
fn mistakes_are_refused_when_the_file_is_opened() {
    let refused = |job: Result<ParquetJob<File>, Error>, said: &str| {
        let error = job.err().unwrap();
        assert!(error.code().as_str() == "call.invalid" && error.message().contains(said), "{error:?}");
    };
    refused(opened("string", &["nothing"], &["ok"]), "no column `nothing`");
    refused(opened("string", &["id", "id"], &["ok"]), "two columns `id`");
    let other = |name: &str| {
        let inputs = vec![Some(name.to_owned()), Some("edit".to_owned())];
        let job = BulkJob::new(BulkTask::Apply { format: None }, inputs, None, ApplyOptions::new(), 1);
        ParquetJob::open(fixture("string"), &[], |_| job)
    };
    refused(other("nothing"), "no column `nothing`");
    refused(other("id"), "`id` is Int64, and not text");
    let source = File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    refused(ParquetJob::open(source, &[], apply(&["ok"])), "cannot be read");
}

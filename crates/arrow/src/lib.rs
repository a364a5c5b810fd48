//! Bulk edits on Apache Arrow: columns of texts and edits in, columns of results out.
//!
//! A [`BulkJob`] is a task of the engine with the names of the columns that it reads. A row never fails its batch: its
//! error is in its columns. With the feature `parquet`, `ParquetJob` does the same for a file, part by part.

mod cells;
mod columns;
mod file_lists;
mod job;
#[cfg(feature = "parquet")]
mod parquet_file;

pub use job::BulkJob;
#[cfg(feature = "parquet")]
pub use parquet_file::{ParquetJob, ParquetPart, ParquetRows, join_parts, part_rows};

//! A job on the rows of a Parquet file, part by part.
//!
//! Texts are read as views, so cells with the same value of a dictionary share its bytes, and a batch needs about the
//! memory that it has in the file. They are read as bytes, because a cell that is not UTF-8 must not fail the others.

use crate::cells::Cells;
use crate::job::{BulkJob, column_named, missing_column};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use emendate::BulkRow;
use emendate_core::{Code, Error};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, Type as PhysicalType, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, Type};
use std::io::Write;
use std::sync::Arc;

/// Rows of a batch that is read.
const READ_ROWS: i64 = 4096;
/// Bytes of the input, without compression, of a batch that is read.
const READ_BYTES: i64 = 32 << 20;
/// Bytes of texts that are processed together, whose results are in memory at the same time.
const STEP_BYTES: usize = 32 << 20;
/// Rows after which a part is full. The last batch of a part may exceed them.
const PART_ROWS: u64 = 65_536;
/// Bytes of texts after which a part is full. A part is encoded in memory.
const PART_BYTES: usize = 64 << 20;

/// A job on the rows of a Parquet file. Results are one or more parts, each a Parquet file with one row group, which
/// [`join_parts`] makes into one file.
pub struct ParquetJob<R> {
    input: SharedReader<R>,
    metadata: ArrowReaderMetadata,
    job: BulkJob,
    /// The columns of the input that are repeated in the results, in their order.
    kept: Vec<FieldRef>,
    /// The columns of the input that are read.
    mask: ProjectionMask,
    schema: SchemaRef,
}

/// The input, for one reader after another.
struct SharedReader<R>(Arc<R>);

impl<R> Clone for SharedReader<R> {
    fn clone(&self) -> Self {
        SharedReader(Arc::clone(&self.0))
    }
}

impl<R: Length> Length for SharedReader<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for SharedReader<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> Result<R::T, ParquetError> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.0.get_bytes(start, length)
    }
}

/// A part that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParquetPart {
    /// Its rows.
    pub rows: u64,
}

impl<R: ChunkReader + 'static> ParquetJob<R> {
    /// Opens a file. `job` makes the job when it knows the schema of the file, and `keep` names the columns of the file
    /// that come before those of the job.
    ///
    /// Errors: `call.invalid` for a file that is not Parquet, for columns that it does not have or that are not text, and
    /// for two columns of the same name; errors of `job`; `io.failed`.
    pub fn open(
        input: R,
        keep: &[String],
        job: impl FnOnce(&Schema) -> Result<BulkJob, Error>,
    ) -> Result<ParquetJob<R>, Error> {
        let found = ArrowReaderMetadata::load(&input, ArrowReaderOptions::new()).map_err(failed)?;
        let schema = Arc::clone(found.schema());
        let job = job(&schema)?;
        job.check(&schema)?;
        let kept = keep.iter().map(|name| kept_field(&schema, name)).collect::<Result<Vec<_>, _>>()?;
        let fields: Vec<FieldRef> = kept.iter().cloned().chain(job.schema().fields().iter().cloned()).collect();
        if let Some(double) =
            fields.iter().find(|field| fields.iter().filter(|it| it.name() == field.name()).count() > 1)
        {
            return Err(Error::new(Code::CallInvalid, format!("The results have two columns `{}`.", double.name()))
                .next("Keep fewer columns, or choose others of the results."));
        }
        let is_input = |name: &str| job.inputs().any(|input| input == name);
        let is_read = |field: &Field| is_input(field.name()) || keep.contains(field.name());
        let metadata = with_views(&found, is_read)?;
        let roots = schema.fields().iter().enumerate().filter(|(_, field)| is_read(field));
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots.map(|(at, _)| at));
        Ok(ParquetJob {
            input: SharedReader(Arc::new(input)),
            metadata,
            job,
            kept,
            mask,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    /// The rows of the input.
    pub fn rows(&self) -> u64 {
        count(self.metadata.metadata().file_metadata().num_rows())
    }

    /// Returns the rows after the first `done`.
    pub fn after(&self, done: u64) -> ParquetRows<'_, R> {
        let (mut group, mut skip) = (0, done);
        for rows in self.metadata.metadata().row_groups().iter().map(|group| count(group.num_rows())) {
            if skip < rows {
                break;
            }
            skip -= rows;
            group += 1;
        }
        ParquetRows { job: self, group, skip, reader: None, rest: None }
    }

    /// Opens a row group after its first rows.
    fn group(&self, group: usize, skip: u64) -> Result<ParquetRecordBatchReader, Error> {
        let found = self.metadata.metadata().row_group(group);
        let leaves = found.columns().iter().enumerate().filter(|(at, _)| self.mask.leaf_included(*at));
        let bytes: i64 = leaves.map(|(_, column)| column.uncompressed_size().max(0)).sum();
        let per_row = bytes / found.num_rows().max(1);
        let rows = (READ_BYTES / per_row.max(1)).clamp(1, READ_ROWS);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.input.clone(), self.metadata.clone())
            .with_row_groups(vec![group])
            .with_projection(self.mask.clone())
            .with_batch_size(usize::try_from(rows).unwrap_or(1));
        builder.with_offset(usize::try_from(skip).unwrap_or(usize::MAX)).build().map_err(failed)
    }

    /// Processes some rows: the kept columns, and those of the job.
    fn results(&self, rows: &RecordBatch, each: &mut dyn FnMut(&BulkRow)) -> Result<RecordBatch, Error> {
        let made = self.job.run_with(rows, each).map_err(|error| failed(error.into()))?;
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for field in &self.kept {
            let column =
                rows.column_by_name(field.name()).ok_or_else(|| missing_column(rows.schema_ref(), field.name()))?;
            columns.push(as_type(column, field.data_type()).map_err(|error| failed(error.into()))?);
        }
        columns.extend_from_slice(made.columns());
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|error| failed(error.into()))
    }
}

/// The rows of a file from some row on.
pub struct ParquetRows<'j, R> {
    job: &'j ParquetJob<R>,
    group: usize,
    /// Rows of the group that come before.
    skip: u64,
    reader: Option<ParquetRecordBatchReader>,
    /// Rows that were read and not yet processed.
    rest: Option<RecordBatch>,
}

impl<R: ChunkReader + 'static> ParquetRows<'_, R> {
    /// Processes the rows of the next part, and writes it; `None` after the last row. The result of each row is passed to
    /// `each`. The same rows make the same parts.
    ///
    /// Errors: `call.invalid` for rows that cannot be read; `io.*`.
    pub fn write_part(
        &mut self,
        out: impl Write + Send,
        each: &mut dyn FnMut(&BulkRow),
    ) -> Result<Option<ParquetPart>, Error> {
        let Some(mut rows) = self.next_rows()? else { return Ok(None) };
        let mut writer =
            ArrowWriter::try_new(out, Arc::clone(&self.job.schema), Some(written_as(None))).map_err(failed)?;
        let (mut part, mut bytes) = (ParquetPart { rows: 0 }, 0);
        loop {
            bytes += text_bytes(&rows)?.iter().sum::<usize>();
            part.rows += rows.num_rows() as u64;
            writer.write(&self.job.results(&rows, each)?).map_err(failed)?;
            if part.rows >= PART_ROWS || bytes >= PART_BYTES {
                break;
            }
            let Some(more) = self.next_rows()? else { break };
            rows = more;
        }
        writer.close().map_err(failed)?;
        Ok(Some(part))
    }

    /// Returns the next rows, with texts of at most [`STEP_BYTES`] if there is more than one.
    fn next_rows(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            if let Some(rest) = self.rest.take().filter(|rest| rest.num_rows() > 0) {
                let mut left = STEP_BYTES;
                let fits = |bytes: &&usize| {
                    let is_in = **bytes <= left;
                    left = left.saturating_sub(**bytes);
                    is_in
                };
                let rows = text_bytes(&rest)?.iter().take_while(fits).count().max(1);
                self.rest = Some(rest.slice(rows, rest.num_rows() - rows));
                return Ok(Some(rest.slice(0, rows)));
            }
            match &mut self.reader {
                Some(reader) => {
                    self.rest = reader.next().transpose().map_err(|error| failed(error.into()))?;
                    if self.rest.is_none() {
                        (self.reader, self.group) = (None, self.group + 1);
                    }
                }
                None if self.group < self.job.metadata.metadata().num_row_groups() => {
                    self.reader = Some(self.job.group(self.group, std::mem::take(&mut self.skip))?);
                }
                None => return Ok(None),
            }
        }
    }
}

/// Joins the parts of a job into one file, without decoding them. A job without rows has no parts.
///
/// Errors: `call.invalid` for a part that is not one; `io.*`.
pub fn join_parts<R, P: ChunkReader>(
    job: &ParquetJob<R>,
    parts: impl IntoIterator<Item = std::io::Result<P>>,
    out: impl Write + Send,
) -> Result<(), Error> {
    let (mut out, mut writer) = (Some(out), None);
    for part in parts {
        let part = part.map_err(|error| failed(error.into()))?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&part).map_err(failed)?;
        if let Some(out) = out.take() {
            let file = metadata.file_metadata();
            let settings = Arc::new(written_as(file.key_value_metadata().cloned()));
            let root = file.schema_descr().root_schema_ptr();
            writer = Some(SerializedFileWriter::new(out, root, settings).map_err(failed)?);
        }
        let Some(writer) = &mut writer else { continue };
        append(writer, &part, &metadata).map_err(failed)?;
    }
    if let Some(out) = out {
        let empty = ArrowWriter::try_new(out, Arc::clone(&job.schema), Some(written_as(None))).map_err(failed)?;
        empty.close().map_err(failed)?;
    }
    writer.map_or(Ok(()), |writer| writer.close().map(|_| ()).map_err(failed))
}

/// Returns the rows of a part.
///
/// Errors: `call.invalid` for a file that is not a part.
pub fn part_rows(part: &impl ChunkReader) -> Result<u64, Error> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(part).map_err(failed)?;
    Ok(count(metadata.file_metadata().num_rows()))
}

/// Copies the row groups of a part.
fn append<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    part: &impl ChunkReader,
    metadata: &ParquetMetaData,
) -> Result<(), ParquetError> {
    for group in metadata.row_groups() {
        let mut copy = writer.next_row_group()?;
        for column in group.columns() {
            let chunk = ColumnCloseResult {
                bytes_written: count(column.compressed_size()),
                rows_written: count(group.num_rows()),
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            copy.append_column(part, chunk)?;
        }
        copy.close()?;
    }
    Ok(())
}

/// Settings of written files. The key-value metadata of a file has its Arrow schema.
fn written_as(metadata: Option<Vec<KeyValue>>) -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(metadata)
        .build()
}

/// Returns the metadata of a file whose texts are read as views of bytes in the columns of which `is_read` is true.
fn with_views(found: &ArrowReaderMetadata, is_read: impl Fn(&Field) -> bool) -> Result<ArrowReaderMetadata, Error> {
    let is_view = |field: &Field| {
        let kind = match field.data_type() {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        is_read(field) && is_text(kind)
    };
    let fields = found.schema().fields().iter().map(|field| {
        let view = || Arc::new(field.as_ref().clone().with_data_type(DataType::BinaryView));
        if is_view(field) { view() } else { Arc::clone(field) }
    });
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), found.schema().metadata().clone());
    let file = found.metadata().file_metadata();
    let root = file.schema_descr().root_schema();
    let columns =
        root.get_fields().iter().zip(found.schema().fields()).map(|(column, field)| {
            if is_view(field) { as_bytes(column).map(Arc::new) } else { Ok(Arc::clone(column)) }
        });
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let root = Type::group_type_builder(root.name()).with_fields(columns).build().map_err(failed)?;
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    let metadata = ParquetMetaData::new(file, found.metadata().row_groups().to_vec());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::new(metadata), options).map_err(failed)
}

/// Returns a column of strings as one of bytes.
fn as_bytes(column: &Type) -> Result<Type, ParquetError> {
    let info = column.get_basic_info();
    let builder = Type::primitive_type_builder(info.name(), PhysicalType::BYTE_ARRAY);
    builder.with_repetition(info.repetition()).with_id(info.has_id().then(|| info.id())).build()
}

fn is_text(kind: &DataType) -> bool {
    use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(kind, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView)
}

/// Returns a column that is kept: its values, if it is a dictionary.
fn kept_field(schema: &Schema, name: &str) -> Result<FieldRef, Error> {
    let field = column_named(schema, name)?;
    Ok(match field.data_type() {
        DataType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())),
        _ => Arc::clone(field),
    })
}

/// Converts a column to the type that it has in the results. A cell that is not UTF-8 is null among strings.
fn as_type(column: &ArrayRef, kind: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == kind { Ok(Arc::clone(column)) } else { arrow_cast::cast(column, kind) }
}

/// Returns the bytes of the texts of each row.
fn text_bytes(rows: &RecordBatch) -> Result<Vec<usize>, Error> {
    let mut bytes = vec![0; rows.num_rows()];
    for column in rows.columns().iter().filter(|column| is_text(column.data_type())) {
        let cells = Cells::of(column).map_err(|error| failed(error.into()))?;
        for (at, bytes) in bytes.iter_mut().enumerate() {
            *bytes += cells.size(at);
        }
    }
    Ok(bytes)
}

/// A number that is negative only in a broken file.
fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Converts an error of a file.
#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn failed(error: ParquetError) -> Error {
    if let ParquetError::External(cause) = &error
        && let Some(cause) = cause.downcast_ref::<std::io::Error>()
    {
        let code = if cause.kind() == std::io::ErrorKind::StorageFull { Code::IoNoSpace } else { Code::IoFailed };
        return Error::new(code, format!("{cause}.")).next("Correct this, and repeat the command to continue.");
    }
    Error::new(Code::CallInvalid, format!("The Parquet file cannot be read: {error}."))
        .next("Check that the file is complete, and uses no compression but gzip, LZ4, Snappy or Zstandard.")
}

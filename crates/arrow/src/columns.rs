//! The columns of results.

use arrow_array::builder::{LargeStringBuilder, ListBuilder, StringBuilder, StructBuilder, UInt64Builder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use emendate::BulkRow;
use emendate_core::{Code, Error, NewText};
use std::fmt::Write as _;
use std::sync::Arc;

use ColumnBuild::FromRows;

/// A column: its name, its type, and how it is built.
struct ColumnRow {
    name: &'static str,
    kind: fn() -> DataType,
    build: ColumnBuild,
}

/// The way in which a column is built.
enum ColumnBuild {
    /// The column is built from all rows, at the end.
    FromRows(fn(&[BulkRow]) -> ArrayRef),
    /// The new texts: row by row, because most of the memory of a batch is theirs.
    NewTexts,
}

impl ColumnBuild {
    fn array(&self, rows: &[BulkRow], after: &ArrayRef) -> ArrayRef {
        match self {
            FromRows(build) => build(rows),
            ColumnBuild::NewTexts => Arc::clone(after),
        }
    }
}

/// The results of the rows so far.
pub(super) struct BulkResults {
    /// The results of the rows, without their new texts.
    rows: Vec<BulkRow>,
    /// The new texts, if the caller wants them.
    after: Option<LargeStringBuilder>,
}

impl BulkResults {
    /// Creates results without rows, with room for `rows` rows, whose new texts have about `bytes` bytes.
    pub(super) fn new(columns: &Columns, rows: usize, bytes: usize) -> BulkResults {
        let after = columns
            .have("after")
            .then(|| LargeStringBuilder::with_capacity(rows, bytes + bytes / NEW_TEXT_SPARE_SHARE));
        BulkResults { rows: Vec::with_capacity(rows), after }
    }

    /// Adds the result of the next row.
    pub(super) fn add(&mut self, mut row: BulkRow) {
        let text = row.after.take();
        match (&mut self.after, text) {
            (Some(after), Some(text)) => append(after, &text),
            (Some(after), None) => after.append_null(),
            (None, _) => {}
        }
        self.rows.push(row);
    }
}

/// Adds a text to a column. Its parts are copied straight from the text before, of which they are most.
fn append(texts: &mut LargeStringBuilder, text: &NewText) {
    for part in text.parts() {
        // Writing to memory does not fail.
        let _ = texts.write_str(part);
    }
    texts.append_value("");
}

static COLUMNS: &[ColumnRow] = &[
    ColumnRow { name: "ok", kind: || DataType::Boolean, build: FromRows(oks) },
    ColumnRow { name: "code", kind: || DataType::Utf8, build: FromRows(codes) },
    ColumnRow { name: "after", kind: || DataType::LargeUtf8, build: ColumnBuild::NewTexts },
    ColumnRow { name: "format", kind: || DataType::Utf8, build: FromRows(|rows| names(rows, |row| row.format)) },
    ColumnRow { name: "tier", kind: || DataType::Utf8, build: FromRows(|rows| names(rows, |row| row.tier)) },
    ColumnRow { name: "edits", kind: || DataType::UInt32, build: FromRows(|rows| counts(rows, |row| row.edits)) },
    ColumnRow {
        name: "spans",
        kind: || DataType::new_list(DataType::Struct(span_fields()), true),
        build: FromRows(spans),
    },
    ColumnRow { name: "added", kind: || DataType::UInt32, build: FromRows(|rows| counts(rows, |row| row.added)) },
    ColumnRow { name: "removed", kind: || DataType::UInt32, build: FromRows(|rows| counts(rows, |row| row.removed)) },
    ColumnRow { name: "notes", kind: || DataType::new_list(DataType::Utf8, true), build: FromRows(notes) },
    ColumnRow {
        name: "message",
        kind: || DataType::LargeUtf8,
        build: FromRows(|rows| texts(rows, |row| row.error.as_ref().map(Error::message))),
    },
    ColumnRow {
        name: "next",
        kind: || DataType::LargeUtf8,
        build: FromRows(|rows| texts(rows, |row| row.error.as_ref().map(Error::next_step))),
    },
    ColumnRow {
        name: "diff",
        kind: || DataType::LargeUtf8,
        build: FromRows(|rows| texts(rows, |row| row.diff.as_deref())),
    },
    ColumnRow {
        name: "files",
        kind: || DataType::new_list(DataType::Struct(file_fields()), true),
        build: FromRows(files),
    },
    ColumnRow {
        name: "reward",
        kind: || DataType::Float64,
        build: FromRows(|rows| Arc::new(rows.iter().map(|row| row.reward).collect::<Float64Array>())),
    },
];

/// The spare room for new texts, as a share of the texts before.
const NEW_TEXT_SPARE_SHARE: usize = 16;

/// The columns that the caller wants, in its order.
#[derive(Clone)]
pub(super) struct Columns {
    rows: Vec<&'static ColumnRow>,
    schema: SchemaRef,
}

impl Columns {
    /// Errors: `call.invalid` for a name that no column has.
    pub(super) fn from_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<Columns, Error> {
        let mut rows: Vec<&'static ColumnRow> = Vec::new();
        for name in names {
            let Some(row) = COLUMNS.iter().find(|row| row.name == name) else {
                let all: Vec<&str> = COLUMNS.iter().map(|row| row.name).collect();
                return Err(Error::new(Code::CallInvalid, format!("Results have no column `{name}`."))
                    .next(format!("Use some of: {}.", all.join(", "))));
            };
            if rows.iter().all(|known| known.name != row.name) {
                rows.push(row);
            }
        }
        let fields: Vec<Field> = rows.iter().map(|row| Field::new(row.name, (row.kind)(), true)).collect();
        Ok(Columns { rows, schema: Arc::new(Schema::new(fields)) })
    }

    /// True if the caller wants a column.
    pub(super) fn have(&self, name: &str) -> bool {
        self.rows.iter().any(|row| row.name == name)
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Builds the batch of results.
    pub(super) fn build(&self, results: BulkResults) -> Result<RecordBatch, ArrowError> {
        let BulkResults { rows, after } = results;
        let after: ArrayRef = Arc::new(after.unwrap_or_default().finish());
        let arrays = self.rows.iter().map(|column| column.build.array(&rows, &after)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema(), arrays, &options)
    }
}

fn oks(rows: &[BulkRow]) -> ArrayRef {
    Arc::new(rows.iter().map(|row| Some(row.error.is_none())).collect::<BooleanArray>())
}

fn codes(rows: &[BulkRow]) -> ArrayRef {
    names(rows, |row| row.error.as_ref().map(|error| error.code().as_str()))
}

fn texts(rows: &[BulkRow], text: for<'a> fn(&'a BulkRow) -> Option<&'a str>) -> ArrayRef {
    let bytes = rows.iter().filter_map(text).map(str::len).sum();
    let mut out = LargeStringBuilder::with_capacity(rows.len(), bytes);
    for row in rows {
        out.append_option(text(row));
    }
    Arc::new(out.finish())
}

fn names(rows: &[BulkRow], name: fn(&BulkRow) -> Option<&'static str>) -> ArrayRef {
    let mut out = StringBuilder::with_capacity(rows.len(), rows.len() * 8);
    for row in rows {
        out.append_option(name(row));
    }
    Arc::new(out.finish())
}

/// Numbers of a row that has a result.
fn counts(rows: &[BulkRow], count: fn(&BulkRow) -> usize) -> ArrayRef {
    let number = |row: &BulkRow| row.error.is_none().then(|| u32::try_from(count(row)).unwrap_or(u32::MAX));
    Arc::new(rows.iter().map(number).collect::<UInt32Array>())
}

fn span_fields() -> Fields {
    let names = ["start", "end", "new_start", "new_end"];
    names.iter().map(|name| Field::new(*name, DataType::UInt64, true)).collect()
}

fn spans(rows: &[BulkRow]) -> ArrayRef {
    let numbers = || Box::new(UInt64Builder::new()) as Box<dyn arrow_array::builder::ArrayBuilder>;
    let fields = StructBuilder::new(span_fields(), vec![numbers(), numbers(), numbers(), numbers()]);
    let mut out = ListBuilder::new(fields);
    for row in rows {
        for span in &row.spans {
            let ends = [span.before.start, span.before.end, span.after.start, span.after.end];
            for (nth, end) in ends.into_iter().enumerate() {
                if let Some(numbers) = out.values().field_builder::<UInt64Builder>(nth) {
                    numbers.append_value(end as u64);
                }
            }
            out.values().append(true);
        }
        out.append(row.error.is_none());
    }
    Arc::new(out.finish())
}

fn notes(rows: &[BulkRow]) -> ArrayRef {
    let mut out = ListBuilder::new(StringBuilder::new());
    for row in rows {
        row.notes.iter().for_each(|note| out.values().append_value(note.to_string()));
        out.append(row.error.is_none());
    }
    Arc::new(out.finish())
}

fn file_fields() -> Fields {
    let names = ["path", "kind", "from_path", "text"];
    names.iter().map(|name| Field::new(*name, DataType::LargeUtf8, true)).collect()
}

fn files(rows: &[BulkRow]) -> ArrayRef {
    let texts = || Box::new(LargeStringBuilder::new()) as Box<dyn arrow_array::builder::ArrayBuilder>;
    let fields = StructBuilder::new(file_fields(), vec![texts(), texts(), texts(), texts()]);
    let mut out = ListBuilder::new(fields);
    for row in rows {
        for file in &row.files {
            let values = [Some(&*file.path), Some(file.kind), file.from_path.as_deref(), file.text.as_deref()];
            for (nth, value) in values.into_iter().enumerate() {
                if let Some(texts) = out.values().field_builder::<LargeStringBuilder>(nth) {
                    texts.append_option(value);
                }
            }
            out.values().append(true);
        }
        out.append(row.error.is_none());
    }
    Arc::new(out.finish())
}

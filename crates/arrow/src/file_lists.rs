//! Columns of files: a list of structs of a path and a text, or a map from paths to texts.

use super::cells::Cells;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, StructArray};
use arrow_schema::{ArrowError, DataType, Fields};
use emendate::{BulkFiles, CellError};
use emendate_core::{Code, Error};
use std::ops::Range;

/// A column of files.
pub(super) struct FileLists {
    column: ArrayRef,
    ranges: Vec<Range<usize>>,
    paths: Cells,
    texts: Cells,
}

impl FileLists {
    /// Checks that a column has files.
    ///
    /// Errors: `call.invalid`.
    pub(super) fn check(name: &str, found: &DataType) -> Result<(), Error> {
        let entry = match found {
            DataType::List(entry) | DataType::LargeList(entry) | DataType::Map(entry, _) => Some(entry.data_type()),
            _ => None,
        };
        match entry {
            Some(DataType::Struct(fields)) if fields.len() >= 2 => {
                let (path, text) = places(fields);
                [path, text].iter().try_for_each(|at| Cells::check(fields[*at].name(), fields[*at].data_type()))
            }
            _ => Err(Error::new(Code::CallInvalid, format!("The column `{name}` is {found}, and not files."))
                .next("Name a column of lists of structs with a path and a text, or of maps from paths to texts.")),
        }
    }

    /// Opens a column.
    ///
    /// Errors: a type that [`FileLists::check`] refuses.
    pub(super) fn of(column: &ArrayRef) -> Result<FileLists, ArrowError> {
        let (ranges, entries) = match column.data_type() {
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                (ranges(list.value_offsets()), list.values().as_struct_opt())
            }
            DataType::LargeList(_) => {
                let list = column.as_list::<i64>();
                (ranges(list.value_offsets()), list.values().as_struct_opt())
            }
            DataType::Map(..) => {
                let map = column.as_map();
                (ranges(map.value_offsets()), Some(map.entries()))
            }
            _ => (Vec::new(), None),
        };
        let entries = entries.filter(|entries| entries.num_columns() >= 2);
        let Some(entries) = entries else {
            return Err(ArrowError::SchemaError(format!("a column of {} has no files", column.data_type())));
        };
        let (path, text) = places(entries.fields());
        let (paths, texts) = (field(entries, path)?, field(entries, text)?);
        Ok(FileLists { column: column.clone(), ranges, paths, texts })
    }

    /// Returns the files of a row.
    pub(super) fn files(&self, at: usize) -> Result<BulkFiles<'_>, CellError> {
        let range = self.ranges.get(at).filter(|_| self.column.is_valid(at)).ok_or(CellError::Null)?;
        Ok(range.clone().map(|nth| (self.paths.text(nth), self.texts.text(nth))).collect())
    }
}

/// Returns the indices of the path and of the text: those of the fields with these names, or the first two.
fn places(fields: &Fields) -> (usize, usize) {
    let named = |name: &str| fields.iter().position(|field| field.name() == name);
    match (named("path"), named("text").or_else(|| named("content"))) {
        (Some(path), Some(text)) => (path, text),
        _ => (0, 1),
    }
}

fn field(entries: &StructArray, place: usize) -> Result<Cells, ArrowError> {
    Cells::of(entries.column(place))
}

fn ranges<O: OffsetSizeTrait>(offsets: &[O]) -> Vec<Range<usize>> {
    offsets.windows(2).map(|ends| ends[0].as_usize()..ends[1].as_usize()).collect()
}

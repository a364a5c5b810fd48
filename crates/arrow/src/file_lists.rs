//! Columns of files: a list (or list view) of structs of a path and a text, or a map from paths to texts.

use super::cells::Cells;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Fields};
use emendate::{BulkFiles, CellError};
use emendate_core::{Code, Error};
use std::ops::Range;

/// A column of files.
pub(super) struct FileLists {
    column: ArrayRef,
    ranges: Vec<Range<usize>>,
    /// The structs that are there: what a null one has in its fields means nothing.
    present: Option<NullBuffer>,
    paths: Cells,
    texts: Cells,
}

impl FileLists {
    /// Checks that a column has files.
    ///
    /// Errors: `call.invalid`.
    pub(super) fn check(name: &str, found: &DataType) -> Result<(), Error> {
        let Some((fields, places)) = entry_places(found) else {
            return Err(Error::new(Code::CallInvalid, format!("The column `{name}` is {found}, and not files.")).next(
                "Name a column of lists of structs with the fields `path` and `text`, or of maps from paths to texts.",
            ));
        };
        let FilePlaces { path, text } = places;
        [path, text].iter().try_for_each(|at| Cells::check(fields[*at].name(), fields[*at].data_type()))
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
            DataType::ListView(_) => {
                let list = column.as_list_view::<i32>();
                (view_ranges(list.value_offsets(), list.value_sizes()), list.values().as_struct_opt())
            }
            DataType::LargeListView(_) => {
                let list = column.as_list_view::<i64>();
                (view_ranges(list.value_offsets(), list.value_sizes()), list.values().as_struct_opt())
            }
            DataType::Map(..) => {
                let map = column.as_map();
                (ranges(map.value_offsets()), Some(map.entries()))
            }
            _ => (Vec::new(), None),
        };
        let (Some(entries), Some((_, places))) = (entries, entry_places(column.data_type())) else {
            return Err(ArrowError::SchemaError(format!("a column of {} has no files", column.data_type())));
        };
        let (paths, texts) = (field(entries, places.path)?, field(entries, places.text)?);
        Ok(FileLists { column: column.clone(), ranges, present: entries.nulls().cloned(), paths, texts })
    }

    /// Returns the files of a row.
    pub(super) fn files(&self, at: usize) -> Result<BulkFiles<'_>, CellError> {
        let range = self.ranges.get(at).filter(|_| self.column.is_valid(at)).ok_or(CellError::Null)?;
        let file = |nth: usize| match &self.present {
            Some(present) if present.is_null(nth) => (Err(CellError::Null), Err(CellError::Null)),
            _ => (self.paths.text(nth), self.texts.text(nth)),
        };
        Ok(range.clone().map(file).collect())
    }
}

/// The indices of the fields of a file.
struct FilePlaces {
    path: usize,
    text: usize,
}

/// Returns the fields of the entries of a column, and which of them are the path and the text. Those of a map are its
/// key and its value; those of a struct have these names, because any other two texts may be something else.
fn entry_places(column: &DataType) -> Option<(&Fields, FilePlaces)> {
    let (entry, is_map) = match column {
        DataType::Map(entry, _) => (entry, true),
        DataType::List(entry)
        | DataType::LargeList(entry)
        | DataType::ListView(entry)
        | DataType::LargeListView(entry) => (entry, false),
        _ => return None,
    };
    let DataType::Struct(fields) = entry.data_type() else { return None };
    let named = |name: &str| fields.iter().position(|field| field.name() == name);
    let places = if is_map {
        (fields.len() == 2).then_some(FilePlaces { path: 0, text: 1 })
    } else {
        named("path").zip(named("text").or_else(|| named("content"))).map(|(path, text)| FilePlaces { path, text })
    };
    Some((fields, places?))
}

fn field(entries: &StructArray, place: usize) -> Result<Cells, ArrowError> {
    Cells::of(entries.column(place))
}

fn ranges<O: OffsetSizeTrait>(offsets: &[O]) -> Vec<Range<usize>> {
    offsets.windows(2).map(|ends| ends[0].as_usize()..ends[1].as_usize()).collect()
}

fn view_ranges<O: OffsetSizeTrait>(offsets: &[O], sizes: &[O]) -> Vec<Range<usize>> {
    let range = |(start, size): (&O, &O)| start.as_usize()..start.as_usize().saturating_add(size.as_usize());
    offsets.iter().zip(sizes).map(range).collect()
}

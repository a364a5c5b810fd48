//! The result of a search as types.

use crate::model::raw_path;
use crate::tools::search::shown_lines::ShownLine;
use emendate_core::{ContentId, Notes};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// The outcome of a search.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SearchOutcome {
    /// The files with hits.
    pub files: Vec<SearchedFile>,
    /// The number of hits in them.
    pub hits: usize,
    /// The number of files that were searched.
    pub files_searched: usize,
    /// The search ended before everything was searched.
    pub is_truncated: bool,
    /// The reason for the end of the search, and the files that were not searched.
    pub notes: Notes,
}

/// A file with hits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchedFile {
    /// The absolute path.
    pub path: PathBuf,
    /// The version of the file; `None` if it changed while it was searched. The lines count as read in this version.
    pub content: Option<ContentId>,
    /// The lines on which a hit begins; the first line is 1.
    pub hits: Vec<usize>,
    /// The lines of the hits and around them.
    pub lines: Vec<SearchedLine>,
    /// The header above the lines, if the line format has one.
    pub(super) header: Option<String>,
    /// The path as replies show it.
    pub(super) shown: String,
}

/// A line that a search returns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchedLine {
    /// The number of the line.
    pub number: usize,
    /// The text without its line end; of a long line, its beginning or the part around the hit.
    pub text: String,
    /// Characters of a long line that are omitted.
    pub omitted: usize,
    /// Those of them that are before the text.
    pub omitted_before: usize,
}

impl SearchedFile {
    /// Converts to the entry in the data of a reply.
    pub(super) fn to_json(&self) -> Value {
        let mut file = Map::new();
        file.insert("filePath".to_owned(), self.shown.as_str().into());
        let raw = raw_path::base64_if_needed(&self.path);
        file.extend(raw.map(|bytes| (raw_path::RAW_PATH_FIELD.to_owned(), bytes.into())));
        file.extend(self.content.map(|content| ("tag".to_owned(), content.tag().to_string().into())));
        file.extend(self.header.as_deref().map(|header| ("header".to_owned(), header.into())));
        file.insert("hits".to_owned(), self.hits.clone().into());
        let ranges = self.ranges();
        file.insert("lines".to_owned(), ranges.into_iter().map(|(from, to)| json!([from, to])).collect());
        Value::Object(file)
    }

    /// Returns the ranges of its lines.
    fn ranges(&self) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for line in &self.lines {
            match ranges.last_mut() {
                Some((_, to)) if *to + 1 == line.number => *to = line.number,
                _ => ranges.push((line.number, line.number)),
            }
        }
        ranges
    }
}

impl From<ShownLine> for SearchedLine {
    fn from(row: ShownLine) -> SearchedLine {
        let (omitted, omitted_before) = (row.before + row.after, row.before);
        SearchedLine { number: row.line, text: row.text, omitted, omitted_before }
    }
}

//! Lines of a file as text, for programs. What is returned counts as read by the session.

use crate::context::call::Call;
use crate::context::policy::Access;
use crate::context::{LoadedFile, encoding};
use crate::pipeline::plan::large::read::open_lines;
use crate::pipeline::plan::large::{LoadedSource, SHOWN_AS_WHOLE, check_whole_allowed, load_sized};
use crate::session::base;
use crate::session::suggest::file_not_found;
use crate::tools::read::link_note;
use emendate_core::{Code, ContentId, Error, Result, Tag};
use emendate_fs::SafePath;
use emendate_history::{LineSet, Record, RecordOrigin};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A query for lines of a file.
pub(crate) struct LinesQuery<'a> {
    pub(crate) path: &'a Path,
    /// 1-based lines; `None` for the whole file.
    pub(crate) lines: Option<Range<usize>>,
    pub(crate) encoding: Option<&'a str>,
}

/// Lines of a file in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOutcome {
    /// The absolute path, after links were resolved.
    pub path: PathBuf,
    /// The text of the lines, decoded and with `\n` line ends.
    pub text: String,
    /// The numbers of the lines, from 1; empty for an empty file.
    pub lines: Range<usize>,
    /// The number of lines of the file.
    pub total_lines: usize,
    /// The id of the version.
    pub content: ContentId,
    /// Notes, such as the target of a link.
    pub notes: Vec<String>,
}

impl ReadOutcome {
    /// The tag of the version, which names it in later calls.
    pub fn tag(&self) -> Tag {
        self.content.tag()
    }

    /// True if the text is that of the whole file.
    pub fn is_complete(&self) -> bool {
        self.lines.len() == self.total_lines
    }
}

/// Reads lines of a file.
///
/// Errors: `path.*`, `access.denied`, `content.binary`, `read.range`, `file.too_large`.
pub(crate) fn read_lines(call: Call<'_>, query: &LinesQuery<'_>) -> Result<ReadOutcome> {
    let path = call.resolve_path(query.path, Access::Read)?;
    let opened = open(call, &path, query)?;
    let (text, index) = (opened.snapshot.text(), opened.snapshot.lines());
    let total = index.count(text);
    let lines = match &query.lines {
        Some(lines) => lines.start.max(1)..lines.end.min(total + 1),
        None => 1..total + 1,
    };
    if query.lines.is_some() && lines.is_empty() {
        return Err(Error::new(Code::ReadRange, format!("The file has {total} lines; none of them was requested."))
            .next(format!("Ask for lines from 1 to {total}."))
            .fact("total_lines", total));
    }
    let part = if lines.is_empty() { "" } else { &text[index.span_of(text, lines.start, lines.end - 1).range()] };
    let seen = if lines.len() == total {
        LineSet::all()
    } else {
        let mut seen = LineSet::none();
        seen.add(lines.start as u64, lines.end as u64 - 1);
        seen
    };
    let record = Record {
        content: opened.snapshot.id(),
        meta: opened.meta,
        racy: opened.racy,
        lines: seen,
        origin: RecordOrigin::Read,
        offset: query.lines.as_ref().map(|_| lines.start as u64),
        limit: query.lines.as_ref().map(|_| lines.len() as u64),
    };
    let unkept = base::remember(call, &path, record, Some(&opened.snapshot));
    Ok(ReadOutcome {
        path: path.absolute().to_owned(),
        text: part.to_owned(),
        total_lines: total,
        lines,
        content: opened.snapshot.id(),
        notes: link_note(&path).into_iter().chain(unkept).collect(),
    })
}

/// Loads the file, of a large one only the lines.
fn open(call: Call<'_>, path: &SafePath, query: &LinesQuery<'_>) -> Result<LoadedFile> {
    let declared = query.encoding.map(encoding::encoding_from_call).transpose()?;
    let version = match load_sized(&call, path)? {
        LoadedSource::Whole(version) => version,
        LoadedSource::Big(source) => {
            let size = source.meta().size;
            if let Some(lines) = query.lines.as_ref().filter(|_| declared.is_none())
                && let Some(opened) = open_lines(&call, path, source, lines, false)?
            {
                return Ok(opened);
            }
            check_whole_allowed(&call, path, size, SHOWN_AS_WHOLE)?;
            call.version(path)?
        }
    };
    let Some(version) = version else { return Err(file_not_found(call, path)) };
    call.load_decoded(path, version, declared, "")
}

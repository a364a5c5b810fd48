//! Reading through a session.

use crate::api::workspace::session::Session;
use crate::context::policy::Access;
use crate::tools::read::lines::{LinesQuery, ReadOutcome, read_lines};
use emendate_core::Result;
use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};

impl Session {
    /// Reads a file, or some of its lines.
    pub fn read(&self, path: impl AsRef<Path>) -> ReadCall<'_> {
        ReadCall { session: self, path: path.as_ref().to_owned(), lines: None, encoding: None }
    }

    /// Returns the decoded text of a file, with `\n` line ends, without recording it as read; `None` if there is none.
    ///
    /// Errors: `path.*`, `access.denied`, `content.binary`, `content.undecodable`, `file.too_large`, `io.*`.
    pub fn text(&self, path: impl AsRef<Path>) -> Result<Option<String>> {
        self.run("read", |call| {
            let safe_path = call.resolve_path(self.absolute(path.as_ref()), Access::Read)?;
            Ok(call.snapshot(&safe_path, None, "")?.map(|file| file.snapshot.text().to_owned()))
        })
    }
}

/// A read of a file; see [`Session::read`].
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct ReadCall<'a> {
    session: &'a Session,
    path: PathBuf,
    lines: Option<(usize, usize)>,
    encoding: Option<String>,
}

impl<'a> ReadCall<'a> {
    /// Reads only these lines; the first one is 1.
    pub fn lines(self, lines: impl RangeBounds<usize>) -> ReadCall<'a> {
        let start = match lines.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(start) => start.saturating_add(1),
            Bound::Unbounded => 1,
        };
        let end = match lines.end_bound() {
            Bound::Included(end) => end.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => usize::MAX,
        };
        ReadCall { lines: Some((start, end)), ..self }
    }

    /// Sets the encoding of the file, if it is neither UTF-8 nor marked.
    pub fn encoding(self, label: impl Into<String>) -> ReadCall<'a> {
        ReadCall { encoding: Some(label.into()), ..self }
    }

    /// Reads the lines; they count as read by the session.
    ///
    /// Errors: `path.*`, `access.denied`, `content.binary`, `read.range`, `file.too_large`.
    pub fn run(self) -> Result<ReadOutcome> {
        let path = self.session.absolute(&self.path);
        let lines = self.lines.map(|(start, end)| start..end);
        let query = LinesQuery { path: &path, lines, encoding: self.encoding.as_deref() };
        self.session.run("read", |call| read_lines(call, &query))
    }
}

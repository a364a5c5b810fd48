//! Search in a large file, line by line while it is read.

use crate::pipeline::plan::large::pass::{FilePass, SEARCH_NEEDS_WHOLE};
use crate::pipeline::plan::large::{RACE_RETRIES_MAX, StreamObstacle, check_whole_allowed, retry_streamed};
use crate::tools::search::shown_lines::HitSink;
use crate::tools::search::{SearchRun, search_failure};
use emendate_core::{Code, Result, work};
use emendate_fs::{FileSource, SafePath};

impl SearchRun<'_> {
    /// Searches a large file; `None` if it has to be loaded whole.
    ///
    /// Errors: `file.too_large` if it has to be, and cannot be.
    pub(super) fn search_large(&mut self, path: &SafePath, source: FileSource) -> Result<Option<()>> {
        if self.multiline || self.line_format.anchors {
            return check_whole_allowed(&self.call, path, source.meta().size, SEARCH_NEEDS_WHOLE).map(|()| None);
        }
        let (call, mut attempt) = (self.call, 0);
        retry_streamed(&call, path, source, |source| {
            attempt += 1;
            let mut rows = self.rows_of(path);
            let go_on = || call.caller.check_cancelled();
            let mut passing = FilePass::new(&source, self.line_format.header.is_some(), &go_on);
            let mut sink = HitSink { pattern: &self.pattern, rows: &mut rows };
            let found = self.searcher.search_reader(&self.pattern, &mut passing, &mut sink);
            work::check()?;
            let opened = passing.finish(found.map_err(|error| search_failure(&error)));
            let may = rows.hits.is_empty() || self.may_show(path);
            // The final check: nothing is read afterwards.
            let opened = match opened.and_then(|opened| source.check_unchanged().map(|()| opened).map_err(From::from)) {
                Err(StreamObstacle::Failed(error))
                    if error.code() == Code::ConflictRaced && attempt == RACE_RETRIES_MAX =>
                {
                    None
                }
                opened => Some(opened?),
            };
            self.count_searched(usize::try_from(source.meta().size).unwrap_or(usize::MAX), &rows);
            match (rows.hits.is_empty(), may) {
                (true, _) => {}
                (false, true) => self.show(path, opened.as_ref(), rows)?,
                (false, false) => self.deny(),
            }
            Ok(())
        })
    }
}

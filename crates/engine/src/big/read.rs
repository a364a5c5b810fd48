//! Reading of some lines of a large file.

use super::extract::{Spot, with_lines};
use super::{ATTEMPTS, Sought, Why, opened, why};
use crate::engine::{Engine, Opened};
use emendate_core::{Code, Result};
use emendate_fs::{Place, Source};

/// Bytes of lines that one read loads; far more than a reply can show.
pub(crate) const MOST_READ: usize = 4 << 20;

const LONG: Why =
    Why::new("has lines there that are too long to be read in parts", "Read fewer of them, with a smaller limit.");

impl Engine {
    /// Loads the requested lines of a file, given the first one and their number, with its short tag if requested;
    /// `None` if the file has to be loaded whole.
    ///
    /// Errors: `file.too_large` if it has to be, and cannot be.
    pub(crate) fn open_lines(
        &self,
        place: &Place,
        source: Source,
        lines: (usize, usize),
        tag: bool,
    ) -> Result<Option<Opened>> {
        let mut source = source;
        for attempt in 1.. {
            match self.lines_of(place, &source, lines, tag) {
                Err(error) if error.code() == Code::ConflictRaced && attempt < ATTEMPTS => {
                    let Some(again) = self.store().source(place)? else { return Ok(None) };
                    source = again;
                }
                other => return other,
            }
        }
        Ok(None)
    }

    fn lines_of(
        &self,
        place: &Place,
        source: &Source,
        (from, limit): (usize, usize),
        tag: bool,
    ) -> Result<Option<Opened>> {
        let size = source.stamp().size;
        let from = from.max(1);
        let sought = Sought { lines: &[from, from.saturating_add(limit)], tag, ..Sought::default() };
        let scanned = match Engine::scan(source, sought)? {
            Ok(scanned) => scanned,
            Err(unfit) => return self.not_whole(place, size, why(unfit)).map(|()| None),
        };
        let whole = scanned.whole;
        let starts = &scanned.starts;
        let lines = starts[0].filter(|_| from <= whole.lines).map(|at| Spot {
            at,
            end: starts[1].unwrap_or(whole.size),
            line: from,
            above: 0,
        });
        if lines.is_some_and(|lines| lines.end - lines.at > MOST_READ) {
            return self.not_whole(place, size, LONG).map(|()| None);
        }
        let snapshot = with_lines(source, whole, lines)?;
        // Verifies that the lines are those of the scanned version.
        source.still()?;
        Ok(snapshot.map(|snapshot| opened(source, snapshot)))
    }
}

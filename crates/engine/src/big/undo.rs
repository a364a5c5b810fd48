//! Undo of an edit of a large file, from the deltas in the log.

use super::extract::{Least, Spot, around};
use super::{CHUNK, Sought, Why, opened, why};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::plan::{Plan, written_over};
use emendate_core::{ChangeSet, Code, ContentHash, ContentId, Error, Result, Scanned, Splice, Unfit};
use emendate_fs::{Place, Source, Stamp};
use emendate_history::{Kind, LARGEST, Logged, OwnedSwap, Side};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

const BY_EDIT: &str = "Make the change with an edit.";
const MODE: Why = Why::new("also changed its mode, which is undone together with all of its text", BY_EDIT);
const UNKNOWN: Why = Why::new("has no record of this change alone", BY_EDIT);
const CHANGED: Why = Why::new("changed since that operation, so it would have to be taken whole", BY_EDIT);
const LONG: Why =
    Why::new("has lines around the change that are too long, or too many changes, to be undone in parts", BY_EDIT);

impl Engine {
    /// Returns the state of an entry without keeping its content.
    pub(crate) fn side(&self, place: &Place) -> Result<Option<Side>> {
        if let Some(target) = self.store().link(place)? {
            let content = ContentId::of(target.as_bytes());
            return Ok(Some(Side { content, mode: 0o777, kind: Kind::Link }));
        }
        let Some(source) = self.store().source(place)? else { return Ok(None) };
        let mut hash = ContentHash::default();
        source.each(CHUNK, |chunk| {
            hash.update(chunk);
            Ok(())
        })?;
        Ok(Some(Side { content: hash.id(), mode: source.stamp().mode & 0o7777, kind: Kind::Regular }))
    }

    /// Plans the undo of an edit of one large file; `None` if it is to be done in the usual way.
    ///
    /// Errors: `file.too_large` if the file would have to be loaded whole and cannot be.
    pub(crate) fn plan_big_undo(&self, caller: &Caller, root: usize, logged: &Logged) -> Result<Option<Plan>> {
        let [file] = &*logged.operation.files else { return Ok(None) };
        let (Some(before), Some(after), None) = (file.before, file.after, &file.moved_from) else { return Ok(None) };
        let regular = before.kind == Kind::Regular && after.kind == Kind::Regular;
        let place = self.logged_place(&file.path)?;
        let large = |stamp: &Stamp| stamp.size > self.config().stream_from.min(self.config().whole());
        let link = place.absolute() != Path::new(OsStr::from_bytes(&file.path));
        if !regular
            || link
            || self.store().link(&place)?.is_some()
            || !self.store().stamp(&place)?.is_some_and(|it| large(&it))
        {
            return Ok(None);
        }
        let Some(source) = self.store().source(&place)? else { return Ok(None) };
        let size = source.stamp().size;
        // Content stored in the log is restored as a whole, however large the file is now.
        let whole = |why| if size <= LARGEST { Ok(None) } else { self.not_whole(&place, size, why).map(|()| None) };
        if before.mode != after.mode {
            return whole(MODE);
        }
        let Some(swaps) = self.history(root).swaps(after.content, before.content)? else {
            return whole(UNKNOWN);
        };
        let (scanned, lines) = match with_lines(&source, &swaps)? {
            Ok(found) => found,
            Err(unfit) => return whole(why(unfit)),
        };
        if scanned.whole.id != after.content {
            return whole(CHANGED);
        }
        let spot = |(swap, line): (&OwnedSwap, &usize)| Spot {
            at: swap.at,
            end: swap.at + swap.old.len(),
            line: *line,
            above: 0,
        };
        let spots: Vec<Spot> = swaps.iter().zip(&lines).map(spot).collect();
        let Some(extract) = around(&source, scanned.whole, &spots, Least::TELLING)? else { return whole(LONG) };
        source.still()?;
        let mut splices = Vec::with_capacity(swaps.len());
        for (swap, nth) in swaps.iter().zip(0..) {
            let Some(span) = extract.of_file(swap.at, swap.old.len()) else { return whole(LONG) };
            if extract.raw()[span.range()] != *swap.old {
                return Err(Error::new(Code::OperationLost, "The record of this operation does not fit the file."));
            }
            // Each with a number of its own: two insertions of the same text at one offset are not a repetition.
            splices.push(Splice::new(span, &*swap.new, nth));
        }
        let Ok(changes) = ChangeSet::new(&extract, splices) else { return whole(LONG) };
        let lines = self.lines_then(caller, &place, &extract, &changes);
        let plan = Plan::edit(place, opened(&source, extract), written_over(changes), lines);
        Ok(Some(Plan { promised: Some(before.content), ..plan.of_parts(source, None) }))
    }
}

/// Scans the file for its properties and the line of each change.
fn with_lines(source: &Source, swaps: &[OwnedSwap]) -> Result<Result<(Scanned, Vec<usize>), Unfit>> {
    let (mut lines, mut line, mut at) = (Vec::with_capacity(swaps.len()), 1, 0);
    let mut rest = swaps.iter().map(|swap| swap.at).peekable();
    let count = |chunk: &[u8]| {
        let mut from = 0;
        while let Some(here) = rest.next_if(|here| *here <= at + chunk.len()) {
            line += memchr::memchr_iter(b'\n', &chunk[from..here - at]).count();
            from = here - at;
            lines.push(line);
        }
        line += memchr::memchr_iter(b'\n', &chunk[from..]).count();
        at += chunk.len();
    };
    let scanned = Engine::scan_beside(source, Sought::default(), count)?;
    Ok(scanned.map(|scanned| (scanned, lines)))
}

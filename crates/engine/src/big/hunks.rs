//! Hunks of a patch for a large file, if the old side of each occurs literally at a single place. Everything else that
//! may place a hunk (anchors, numbers, likeness) needs the whole text.

use super::edit::{CONTEXT, LONG, exactly};
use super::extract::{LINES, Least, Spot, around};
use super::{Tried, Why};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::options::Options;
use emendate_core::{Hunk, LineKind, Locator, Op, Order, Result, Scanned, Stand, resolve};
use emendate_fs::{Place, Source};

/// Occurrences of an old side, whole lines or not, that are examined.
const MOST: usize = 1000;

const ELSEWHERE: Why = Why::new(
    "does not have the old side of each hunk in just one place to the letter, or they do not fit together there",
    "Copy the context lines exactly and give more of them, or send edits of lines by their numbers.",
);

/// Returns the old sides of hunks that are placed by their lines alone.
pub(super) fn old_sides(ops: &[Op]) -> Option<Vec<String>> {
    let old = |op: &Op| match &op.at {
        Locator::Hunk(hunk) if is_plain(hunk) => Some(hunk.old_text()),
        _ => None,
    };
    ops.iter()
        .map(old)
        .collect::<Option<Vec<_>>>()
        .filter(|old| old.iter().all(|it| !it.is_empty() && !it.contains('\0')))
}

fn is_plain(hunk: &Hunk) -> bool {
    let certain = hunk
        .lines
        .iter()
        .all(|line| line.kind != LineKind::Bare && !line.text.contains("...") && !line.text.contains('…'));
    certain && hunk.scopes.is_empty() && !hunk.at_end && hunk.open == (false, false)
}

impl Engine {
    pub(super) fn try_hunks(
        &self,
        caller: &Caller,
        place: &Place,
        source: Source,
        (ops, order, old): (&[Op], Order, &[String]),
        options: &Options,
    ) -> Result<Tried> {
        let needles: Vec<&str> = old.iter().map(|old| &**old).collect();
        let looked = match self.look(caller, place, &source, (ops, &needles), options)? {
            Ok(looked) => looked,
            Err(why) => return Ok(Tried::Whole(why)),
        };
        let Some(spots) = spots(&source, &looked.scanned, old.len())? else { return Ok(Tried::Whole(ELSEWHERE)) };
        let longest = old.iter().zip(ops).map(|(old, op)| old.lines().count() + op.text.lines().count()).max();
        let least = Least { bytes: if ops.len() > 1 { CONTEXT } else { 0 }, lines: LINES + longest.unwrap_or(0) };
        let Some(extract) = around(&source, looked.scanned.whole, &spots, least)? else {
            return Ok(Tried::Whole(LONG));
        };
        source.still()?;
        // Errors of a patch need the whole text.
        Ok(match resolve(&extract, ops, order, exactly(options)) {
            Ok(resolved) => looked.planned(place, source, extract, resolved),
            Err(_) => Tried::Whole(ELSEWHERE),
        })
    }
}

/// Returns the place of each old side, in the order of the file, if it occurs as whole lines exactly once.
fn spots(source: &Source, scanned: &Scanned, of: usize) -> Result<Option<Vec<Spot>>> {
    if scanned.places.len() > MOST {
        return Ok(None);
    }
    let mut counts = vec![0_usize; of];
    let mut spots = Vec::with_capacity(of);
    for &Stand { at, end, needle, line } in &scanned.places {
        let mut before = [0];
        let begins =
            at == scanned.whole.codec.mark || source.read(at as u64 - 1, &mut before)? == 1 && before == *b"\n";
        if begins {
            counts[needle] += 1;
            spots.push(Spot { at, end, line, above: 0 });
        }
    }
    Ok(counts.iter().all(|&count| count == 1).then_some(spots))
}

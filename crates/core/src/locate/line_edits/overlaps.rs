//! Line edits of one call that concern the same lines.

use super::place::{EditSite, InsertClass, mixed, nothing};
use super::{VersionLines, of, rows_shown};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::Op;
use crate::locate::resolve::PlacedOp;

/// Removes ranges that overlap an earlier one, and insertions inside of a range. Sites are sorted.
pub(super) fn without_overlaps(
    table: &VersionLines<'_>,
    ops: &[Op],
    sites: &mut Vec<EditSite>,
    answers: &mut [Option<Result<PlacedOp>>],
) {
    let mut open: Option<(usize, usize, usize)> = None;
    let mut dropped = Vec::new();
    for (at, site) in sites.iter().enumerate().filter(|(_, site)| site.class == InsertClass::Instead) {
        let Some((other, from, to)) = open.filter(|(_, _, to)| site.line <= *to) else {
            open = Some((at, site.line, site.to));
            continue;
        };
        let (first, second) = (sites[other].op, site.op);
        let same = (site.line, site.to) == (from, to) && first < second;
        let (old, new) = (&ops[first].text, &ops[second].text);
        if same && !new.is_empty() && (old == new || **old == *table.slice(from, to)) {
            // The two hunks are an old/new pair, or the same edit twice: the second one contains the whole change.
            answers[first] = Some(Ok(nothing("A later hunk replaces the same lines; this one changes nothing.")));
            dropped.push(other);
            open = Some((at, from, to));
            continue;
        }
        let (early, late) = (first.min(second), first.max(second));
        answers[late] = Some(Err(taken(table, &ops[early], &ops[late], site.line)));
        dropped.push(if late == second { at } else { other });
        let kept = if late == second { other } else { at };
        open = Some((kept, sites[kept].line, sites[kept].to.max(to)));
    }
    dropped.sort_unstable();
    let mut index = 0;
    sites.retain(|_| {
        index += 1;
        dropped.binary_search(&(index - 1)).is_err()
    });
    without_inner_insertions(ops, sites, answers);
}

/// Refuses insertions between the lines that another edit of the call replaces: nothing says where among the new lines
/// they belong. A patch of hashline defines that they follow them.
fn without_inner_insertions(ops: &[Op], sites: &mut Vec<EditSite>, answers: &mut [Option<Result<PlacedOp>>]) {
    let mut range = None;
    sites.retain(|site| {
        if site.class == InsertClass::Instead {
            range = Some((site.op, site.line, site.to)).filter(|_| !ops[site.op].text.is_empty());
            return true;
        }
        let inner = range.filter(|(_, from, to)| match site.class {
            InsertClass::Before => (from + 1..=*to).contains(&site.line),
            InsertClass::After => (*from..*to).contains(&site.line),
            _ => false,
        });
        let edits = inner.and_then(|(other, ..)| Some((of(&ops[other])?, of(&ops[site.op])?)));
        let Some((other, edit)) = edits.filter(|(_, edit)| edit.source_line == 0) else { return true };
        let what = format!("{}it inserts between the lines that {} replaces.", edit.describe(), other.source_text);
        answers[site.op] = Some(Err(Error::new(Code::EditOverlap, what).next(format!(
            "Write the rows where they belong in the text of {0}, or insert them before the first or after the last \
             line of {0}.",
            other.source_text
        ))));
        false
    });
}

fn taken(table: &VersionLines<'_>, early: &Op, late: &Op, line: usize) -> Error {
    let (Some(early), Some(late)) = (of(early), of(late)) else { return mixed() };
    let (other, at) = (early.source_line, late.source_line);
    let other = if other == 0 { early.source_text.clone() } else { format!("another hunk on line {other}") };
    let what = format!(
        "{}anchor line {line} is already targeted by {other}. Issue ONE hunk per range; payload is only the final desired content, never a before/after pair.",
        late.describe()
    );
    Error::new(Code::EditOverlap, what)
        .evidence(rows_shown(table, line, line))
        .next("Merge the two hunks into one whose range covers the lines of both.")
        .fact("line", at)
}

//! Operations in the spelling of older versions of the format.

use super::dialect::{CURRENT, SEED};
use super::token::{LineScanner, OpKind, OpLine, trimmed};
use crate::locate::line_edits::LineTarget;

/// Parses `SWAP`, `DEL`, `INS.…` and the ranges of even older transcripts.
pub(super) fn parse(line: &str) -> Option<OpLine> {
    let mut scan = LineScanner::new(line);
    let place = if scan.eat("SWAP.BLK") {
        Some(body_at(LineTarget::Block(number(&mut scan)?)))
    } else if scan.eat("DEL.BLK") {
        Some(OpLine::new(OpKind::Take, LineTarget::Block(number(&mut scan)?)))
    } else if scan.eat("INS.BLK.POST") {
        Some(body_at(LineTarget::AfterBlock(number(&mut scan)?)))
    } else if scan.eat("INS.PRE") {
        Some(body_at(LineTarget::Before(number(&mut scan)?)))
    } else if scan.eat("INS.POST") {
        Some(body_at(LineTarget::After(number(&mut scan)?)))
    } else if scan.eat("INS.HEAD") {
        Some(body_at(LineTarget::Head))
    } else if scan.eat("INS.TAIL") {
        Some(body_at(LineTarget::Tail))
    } else if scan.word("SWAP") {
        Some(body_at(lines(&mut scan)?))
    } else if scan.word("DEL") {
        Some(OpLine::new(OpKind::Take, lines(&mut scan)?))
    } else if scan.eat("@@") {
        scan.skip_whitespace();
        let place = lines(&mut scan)?;
        scan.skip_whitespace();
        scan.eat("@@").then_some(())?;
        Some(body_at(place))
    } else {
        None
    };
    scan.skip_whitespace();
    scan.eat(":");
    place.filter(|_| trimmed(scan.rest).is_empty())
}

/// Returns an operation that writes its rows at a target.
fn body_at(place: LineTarget) -> OpLine {
    OpLine::new(OpKind::Body, place)
}

fn number(scan: &mut LineScanner<'_>) -> Option<usize> {
    scan.skip_whitespace();
    scan.number()
}

fn lines(scan: &mut LineScanner<'_>) -> Option<LineTarget> {
    let dialect = if scan.rest.contains(SEED.between) { &SEED } else { &CURRENT };
    let range = scan.range(dialect).filter(|range| range.from > 0 && range.from <= range.to && !range.open)?;
    Some(LineTarget::Lines { from: range.from, to: range.to })
}

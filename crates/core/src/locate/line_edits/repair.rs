//! Repair of miscounted ranges: if the brackets of a body do not balance like those of its range, this module finds the
//! single mistake that explains it. The result is a guess, which a parse must confirm before it is applied.

use super::echo::{self, ECHO_LINES_MAX};
use super::{LineTarget, VersionLines, expected, of};
use crate::locate::op::{Locator, Op};
use crate::text::snapshot::Snapshot;

/// A guess how to repair a hunk.
#[derive(Clone, Debug)]
pub struct RepairedHunk {
    /// Index of the operation in the request.
    pub index: usize,
    /// The operation without the mistake.
    pub op: Op,
    /// Description of the repair, for the note.
    pub what: String,
}

/// Returns a guess for each hunk with unbalanced brackets, if there is one.
pub fn repair_guesses(base: &Snapshot, ops: &[Op]) -> Vec<RepairedHunk> {
    let table = VersionLines::new(base);
    ops.iter().enumerate().filter_map(|(index, op)| repair_guess(&table, index, op)).collect()
}

/// Returns a guess for a hunk with unbalanced brackets.
fn repair_guess(table: &VersionLines<'_>, index: usize, op: &Op) -> Option<RepairedHunk> {
    let rows = of(op)?;
    let LineTarget::Lines { from, to } = rows.target else { return None };
    let to = to.min(table.count);
    if from > to || op.text.is_empty() {
        return None;
    }
    let off = BracketBalance::of(&op.text).less(BracketBalance::of(table.slice(from, to)));
    if off == BracketBalance::default() {
        return None;
    }
    let slip = restated(table, from, to, &op.text, off).or_else(|| swallowed(table, from, to, off))?;
    Some(slip.applied(index, op, from, to))
}

/// A mistake in the number of lines.
enum LineCountMistake {
    /// The body begins with lines that are above the range (first number) and ends with lines that are below it
    /// (second).
    Restated(usize, usize),
    /// The range ends with this many closing lines, which the body does not repeat.
    Swallowed(usize),
}

/// Finds the lines around the range that the body repeats and whose brackets are the surplus.
fn restated(
    table: &VersionLines<'_>,
    from: usize,
    to: usize,
    text: &str,
    off: BracketBalance,
) -> Option<LineCountMistake> {
    let (leading, trailing) = echo::restated_lengths(table, from, to, text);
    let rows: Vec<&str> = text.lines().take(ECHO_LINES_MAX).collect();
    let ends: Vec<&str> = text.lines().rev().take(ECHO_LINES_MAX).collect();
    let count = text.lines().count();
    let below = (1..=trailing)
        .rev()
        .map(|n| LineCountMistake::Restated(0, n))
        .find(|it| net_balance(&ends[..it.dropped()]) == off);
    below
        .or_else(|| {
            (1..=leading)
                .rev()
                .map(|n| LineCountMistake::Restated(n, 0))
                .find(|it| net_balance(&rows[..it.dropped()]) == off)
        })
        .or_else(|| {
            let fits = leading > 0
                && trailing > 0
                && net_balance(&rows[..leading]).plus(net_balance(&ends[..trailing])) == off;
            fits.then_some(LineCountMistake::Restated(leading, trailing))
        })
        .filter(|slip| slip.dropped() < count)
}

/// Returns the surplus of the opening brackets of some rows.
fn net_balance(rows: &[&str]) -> BracketBalance {
    rows.iter().fold(BracketBalance::default(), |net, row| net.plus(BracketBalance::of(row)))
}

/// Finds the closing lines at the end of the range that would balance the brackets if they were kept.
fn swallowed(table: &VersionLines<'_>, from: usize, to: usize, off: BracketBalance) -> Option<LineCountMistake> {
    let mut kept = BracketBalance::default();
    for (line, n) in (from..=to).rev().zip(1..=ECHO_LINES_MAX) {
        if !expected::is_closer(table.line(line)) {
            return None;
        }
        kept = kept.plus(BracketBalance::of(table.line(line)));
        if off == BracketBalance::default().less(kept) {
            return Some(LineCountMistake::Swallowed(n));
        }
    }
    None
}

impl LineCountMistake {
    /// The number of rows of the body that are removed.
    fn dropped(&self) -> usize {
        match self {
            LineCountMistake::Restated(above, below) => above + below,
            LineCountMistake::Swallowed(_) => 0,
        }
    }

    fn applied(&self, index: usize, op: &Op, from: usize, to: usize) -> RepairedHunk {
        let mut op = op.clone();
        let what = match *self {
            LineCountMistake::Restated(above, below) => {
                let count = op.text.lines().count();
                op.text = op.text.split_inclusive('\n').skip(above).take(count - above - below).collect();
                match (above, below) {
                    (0, 1) => "without the last row of the body, which repeats the line below the range".to_owned(),
                    (1, 0) => "without the first row of the body, which repeats the line above the range".to_owned(),
                    (0, n) => format!("without the last {n} rows of the body, which repeat the lines below the range"),
                    (n, 0) => format!("without the first {n} rows of the body, which repeat the lines above the range"),
                    _ => "without the first and last rows of the body, which repeat the lines around the range"
                        .to_owned(),
                }
            }
            LineCountMistake::Swallowed(n) => {
                if let Locator::Lines(rows) = &mut op.at {
                    let all = to - n < from;
                    rows.target = if all { LineTarget::Before(from) } else { LineTarget::Lines { from, to: to - n } };
                }
                match n {
                    1 => format!("with line {to} kept, which closes what the body opens"),
                    _ => format!("with lines {}..{to} kept, which close what the body opens", to - n + 1),
                }
            }
        };
        RepairedHunk { index, op, what }
    }
}

/// Surplus of opening brackets of each kind. Brackets in strings and comments count as well: they are mostly the same
/// on both sides, and the guess is verified afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BracketBalance([isize; 3]);

impl BracketBalance {
    fn of(text: &str) -> BracketBalance {
        let mut net = BracketBalance::default();
        for byte in text.bytes() {
            match byte {
                b'(' => net.0[0] += 1,
                b')' => net.0[0] -= 1,
                b'[' => net.0[1] += 1,
                b']' => net.0[1] -= 1,
                b'{' => net.0[2] += 1,
                b'}' => net.0[2] -= 1,
                _ => {}
            }
        }
        net
    }

    fn plus(self, other: BracketBalance) -> BracketBalance {
        BracketBalance(std::array::from_fn(|at| self.0[at] + other.0[at]))
    }

    fn less(self, other: BracketBalance) -> BracketBalance {
        BracketBalance(std::array::from_fn(|at| self.0[at] - other.0[at]))
    }
}

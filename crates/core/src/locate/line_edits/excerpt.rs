//! Excerpts for a model: evidence in errors, and the lines that an edit changed.

use super::VersionLines;
use crate::locate::line_format;
use crate::text::content::HeaderStyle;
use crate::text::explain::{DiffHunk, DiffLine, DiffText, LineKind};
use crate::text::snapshot::Snapshot;

/// Maximum number of rows of an excerpt.
const EXCERPT_ROWS_MAX: usize = 40;
/// Characters of a row that are always shown. Requested lines may be as long as all rows of this length together,
/// because a line that no reply shows could never be replaced.
const ROW_CHARS_MAX: usize = 512;
/// Length from which only the ends of a run of added or removed lines are shown.
const RUN: usize = 6;
/// Number of lines shown at either end of such a run.
const ENDS: usize = 2;
/// Number of context lines around a change.
pub const AROUND: usize = 2;

/// An excerpt of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The rows: `*N:TEXT` for the requested lines and ` N:TEXT` for their context.
    pub text: String,
    /// The lines that are shown completely.
    pub whole: Vec<usize>,
    /// True if some requested lines are missing or shortened.
    pub cut: bool,
    /// Characters of requested lines that are longer than a row.
    long: usize,
}

/// Prints lines with their context, at most forty rows; `...` separates parts that are not adjacent.
pub fn excerpt(of: &Snapshot, spans: &[(usize, usize)]) -> Excerpt {
    excerpt_with(of, spans, &|out, line, text, wanted| {
        out.push(if wanted { '*' } else { ' ' });
        line_format::push_numbered(out, line, text);
    })
}

/// Prints lines in another format. `push_row` appends a line; it receives the line's number, its text and whether it
/// was requested.
pub fn excerpt_with(
    of: &Snapshot,
    spans: &[(usize, usize)],
    push_row: &dyn Fn(&mut String, usize, &str, bool),
) -> Excerpt {
    let table = VersionLines::new(of);
    let mut spans: Vec<(usize, usize)> =
        spans.iter().map(|&(from, to)| (from, to.min(table.count))).filter(|(from, to)| from <= to).collect();
    spans.sort_unstable();
    let mut out = Excerpt::default();
    let mut next = 1;
    for (at, &(from, to)) in spans.iter().enumerate() {
        let start = from.saturating_sub(AROUND).max(next);
        if next > 1 && start > next {
            out.text.push_str("...\n");
        }
        // The context of this span ends at the start of the next one.
        let limit = spans.get(at + 1).map_or(usize::MAX, |(from, _)| *from - 1).max(to);
        let stop = to.saturating_add(AROUND).min(limit).min(table.count);
        for line in start..=stop {
            if out.whole.len() >= EXCERPT_ROWS_MAX {
                out.cut = true;
                out.text.push_str("...\n");
                return out;
            }
            out.push(&table, line, (from..=to).contains(&line), push_row);
        }
        next = next.max(stop.saturating_add(1));
    }
    out
}

impl Excerpt {
    fn push(
        &mut self,
        table: &VersionLines<'_>,
        line: usize,
        wanted: bool,
        push_row: &dyn Fn(&mut String, usize, &str, bool),
    ) {
        let text = table.line(line);
        let long = if wanted && text.len() > ROW_CHARS_MAX { text.chars().count() } else { 0 };
        if long > ROW_CHARS_MAX && self.long + long <= EXCERPT_ROWS_MAX * ROW_CHARS_MAX {
            self.long += long;
        } else if let Some((at, _)) = text.char_indices().nth(ROW_CHARS_MAX) {
            self.cut |= wanted;
            push_row(&mut self.text, line, &format!("{}…", &text[..at]), wanted);
            return;
        }
        self.whole.push(line);
        push_row(&mut self.text, line, text, wanted);
    }
}

/// Prints the lines that an edit changed, as hashline rows. `hunks` have [`AROUND`] lines of context. With the `¶`
/// header: `+N:TEXT` and ` N:TEXT` with new numbers, `-N:TEXT` with old ones; with brackets: only new rows, without a
/// sign. The result has about `most` bytes at most; a longer one is cut between runs, with a remark.
pub fn preview(header: HeaderStyle, hunks: &[DiffHunk], most: usize) -> DiffText {
    let mut out = DiffText::default();
    let mut last = None;
    for hunk in hunks {
        let mut old = hunk.old_start + usize::from(hunk.old_lines == 0);
        let mut new = hunk.new_start + usize::from(hunk.new_lines == 0);
        if let Some(last) = last {
            gap(&mut out.text, header, last);
        }
        if out.text.len() > most {
            out.cut = true;
            out.text.push_str("… (more changes are not shown)\n");
            return out;
        }
        for run in hunk.lines.chunk_by(|a, b| a.kind == b.kind) {
            let kind = run.first().map_or(LineKind::Kept, |line| line.kind);
            if header == HeaderStyle::Pilcrow || kind != LineKind::Removed {
                push_run(&mut out, header, run, if kind == LineKind::Removed { old } else { new });
            }
            old += if kind == LineKind::Added { 0 } else { run.len() };
            new += if kind == LineKind::Removed { 0 } else { run.len() };
        }
        last = Some(new);
    }
    out
}

fn gap(out: &mut String, header: HeaderStyle, number: usize) {
    if header == HeaderStyle::Pilcrow {
        out.push(' ');
    }
    line_format::push_numbered(out, number, "...");
}

fn push_run(out: &mut DiffText, header: HeaderStyle, run: &[DiffLine], first: usize) {
    let long = run.len() > RUN;
    for (at, line) in run.iter().enumerate() {
        if long && (ENDS..run.len() - ENDS).contains(&at) {
            if at == ENDS {
                gap(&mut out.text, header, first + at);
            }
            continue;
        }
        if header == HeaderStyle::Pilcrow {
            out.text.push(line.kind.sign());
        }
        let text = line_format::clip(&line.text);
        line_format::push_numbered(&mut out.text, first + at, &text);
        if line.kind != LineKind::Removed && text.len() == line.text.len() {
            out.mark_shown(first + at);
        }
    }
}

/// A position from which line numbers changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineShift {
    /// The first line with another number, by its old number.
    pub from: usize,
    /// The difference between its new and its old number.
    pub delta: isize,
}

/// Returns the positions from which the numbers of unchanged lines change.
pub fn line_shifts(hunks: &[DiffHunk]) -> Vec<LineShift> {
    let mut delta = 0isize;
    let mut out = Vec::new();
    for hunk in hunks {
        let mut line = hunk.old_start + usize::from(hunk.old_lines == 0);
        for run in hunk.lines.chunk_by(|a, b| (a.kind == LineKind::Kept) == (b.kind == LineKind::Kept)) {
            let added = run.iter().filter(|line| line.kind == LineKind::Added).count();
            let grown = (2 * added).cast_signed() - run.len().cast_signed();
            line += run.len() - added;
            if grown != 0 && run.iter().any(|line| line.kind != LineKind::Kept) {
                delta += grown;
                out.push(LineShift { from: line, delta });
            }
        }
    }
    out
}

/// Returns the number of the first changed line in the new version; for a removed line, that of its former position.
pub fn first_changed(hunks: &[DiffHunk]) -> Option<usize> {
    let hunk = hunks.first()?;
    let kept = hunk.lines.iter().take_while(|line| line.kind == LineKind::Kept).count();
    Some(hunk.new_start + usize::from(hunk.new_lines == 0) + kept)
}

//! The rows below an operation, and which of them are its new lines.

use super::dialect::HashlineDialect;
use super::token::{OpKind, OpLine, trimmed};
use super::{broken, fenced_body, header, prose, stray};
use crate::error::{Error, Result};
use crate::locate::find::{is_literal, is_padded, removed_row};
use crate::locate::line_edits::LineTarget;
use crate::text::content::HeaderStyle;

/// The form of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// The row has a `+`, which is stripped.
    Plus,
    /// The row has no `+`.
    Bare,
    /// The row consists of whitespace.
    Blank,
}

/// A row of a body.
#[derive(Clone, Debug)]
pub(super) struct BodyRow {
    pub(super) sort: RowKind,
    pub(super) text: String,
    /// 1-based line of the input on which the row is.
    pub(super) at: usize,
}

impl BodyRow {
    /// Returns the row as it was sent.
    fn sent(&self) -> String {
        if self.sort == RowKind::Plus { format!("+{}", self.text) } else { self.text.clone() }
    }
}

/// An operation with its rows.
pub(super) struct OpenOp {
    pub(super) op: OpLine,
    pub(super) source: String,
    pub(super) at: usize,
    pub(super) rows: Vec<BodyRow>,
}

/// The line that ends a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// The next operation of the section.
    Operation,
    /// The end of the section.
    Section,
    /// `*** Abort`: the rest of the body may be missing.
    Abort,
}

/// The meaning of the rows.
#[derive(Default)]
pub(super) struct BodyMeaning {
    /// The new lines, each with a line end.
    pub(super) text: String,
    /// The lines that are marked as removed.
    pub(super) old: Vec<String>,
    /// The unchanged lines of a diff, without their first space.
    pub(super) context: Vec<String>,
    pub(super) notes: Vec<&'static str>,
}

const PROSE_NOTE: &str = "Text below the edits was ignored.";
const PREFIXED_NOTE: &str = "Auto-prefixed bare body row(s) with `+`. Body rows must be `+TEXT` literal lines; pasting raw code as payload is not a portable shape.";
const EMPTIED_NOTE: &str = "Interpreted an empty body as deletion. Use the form without a colon to delete lines.";
const OLD_ROWS_NOTE: &str = "Rows with `-` were read as removed lines and checked against the file; the range alone determines which lines are replaced.";
const CONTEXT_NOTE: &str = "Rows that begin with a space, next to rows with `-`, were read as unchanged lines of a diff, without that space, and checked against the file.";
const BULLETS_NOTE: &str = "Auto-prefixed bare `- ` bullet row(s) as literal content. `-` rows never remove lines — the range does that; write `+- item`.";
const FENCE_NOTE: &str = "The fence around the rows of a body was ignored; its lines have no `+`.";
const NUMBERS_NOTE: &str = "Line numbers copied in front of the body rows were removed.";
const LOOKS_LIKE_OP_NOTE: &str =
    "A body row `+…` reads like an operation; it was written as text. Omit the `+` to make it one.";
const BLANK_ROWS_NOTE: &str = "Blank rows before or after the body were dropped; write `+` alone for an empty line.";

/// Resolves the rows of an operation on the file at `path`.
///
/// Errors: rows below an operation that has no body, no rows below one that needs them, rows with `-`, rows that may be
/// headers or prose.
pub(super) fn resolve_rows(
    dialect: &HashlineDialect,
    path: &str,
    open: &mut OpenOp,
    end: BodyEnd,
) -> Result<BodyMeaning> {
    let mut out = BodyMeaning { notes: open.op.lenient.into_iter().collect(), ..BodyMeaning::default() };
    let mut rows = std::mem::take(&mut open.rows);
    let is_apart = rows.first().is_some_and(|row| row.sort == RowKind::Blank);
    drop_edges(&mut rows, &mut out.notes);
    if end == BodyEnd::Operation {
        check_mentions(&rows)?;
    }
    if open.op.kind != OpKind::Body {
        return match rows.first() {
            Some(_) if is_apart && prose::is_prose(&rows) => {
                out.notes.retain(|note| *note != BLANK_ROWS_NOTE);
                out.notes.push(PROSE_NOTE);
                Ok(out)
            }
            Some(row) => Err(no_body(dialect, open, row)),
            None => Ok(out),
        };
    }
    if end != BodyEnd::Abort {
        suspicious(dialect, &rows)?;
    }
    // Rows with `-` are removed lines, which the file must have.
    let is_bare = |row: &BodyRow| row.sort == RowKind::Bare && !is_minus(row);
    let is_unread = |row: &&BodyRow| is_bare(row) && stray::is_nearly_operation(dialect, &row.text);
    if let Some(row) = rows.iter().find(is_unread) {
        return Err(stray::nearly_operation(dialect, &row.text, row.at));
    }
    if fenced_body::drop_fence(path, &mut rows)? {
        out.notes.push(FENCE_NOTE);
    }
    let is_diff = rows.iter().any(is_minus) && rows.iter().any(is_context);
    if !is_diff && prose::drop_below(path, &mut rows, is_apart)? {
        out.notes.push(PROSE_NOTE);
    }
    minus_rows(dialect, &open.op, &mut rows, &mut out)?;
    numbered_rows(open.op.place, &mut rows, &mut out.notes);
    if rows.iter().any(|row| row.sort == RowKind::Bare) && !out.notes.contains(&BULLETS_NOTE) {
        out.notes.push(PREFIXED_NOTE);
    }
    if rows.iter().any(|row| row.sort == RowKind::Plus && matches!((dialect.read)(&row.text), Some(Ok(_)))) {
        out.notes.push(LOOKS_LIKE_OP_NOTE);
    }
    if rows.is_empty() {
        empty(dialect, open, end, &mut out)?;
        return Ok(out);
    }
    out.text = String::with_capacity(rows.iter().map(|row| row.text.len() + 1).sum());
    for row in &rows {
        out.text.push_str(&row.text);
        out.text.push('\n');
    }
    Ok(out)
}

/// Drops blank rows at the edges, which are layout; between rows they are lines.
fn drop_edges(rows: &mut Vec<BodyRow>, notes: &mut Vec<&'static str>) {
    let first = rows.iter().position(|row| row.sort != RowKind::Blank).unwrap_or(rows.len());
    let last = rows.iter().rposition(|row| row.sort != RowKind::Blank).map_or(first, |at| at + 1);
    if first > 0 && last > first {
        notes.push(BLANK_ROWS_NOTE);
    }
    rows.truncate(last);
    rows.drain(..first);
}

fn no_body(dialect: &HashlineDialect, open: &OpenOp, row: &BodyRow) -> Error {
    let (from, to) = open.op.ends();
    let (what, next) = match (&open.op.kind, open.op.place) {
        (OpKind::Take, LineTarget::Lines { .. }) => (
            format!("`{}` does not take body rows. Remove the body, or use `{}`.", dialect.delete, dialect.replace),
            format!("To replace the lines: `{}` above these rows.", dialect.replacing(from, to)),
        ),
        (OpKind::Take, _) if dialect.header == HeaderStyle::Pilcrow => (
            "`delete block N` does not take body rows. Remove the body, or use `replace block N:` to replace the block."
                .to_owned(),
            "Remove the body rows, or write the operation that replaces.".to_owned(),
        ),
        (OpKind::Take, _) => (
            format!("`{}` does not take body rows. Remove the body, or replace the block.", open.source),
            "Remove the body rows, or write the operation that replaces.".to_owned(),
        ),
        (OpKind::Paste, _) => (
            format!("`{}` pastes a register and does not take body rows.", open.source),
            format!("Write `{}:` if these rows are its body.", without_register(open)),
        ),
        _ => (format!("`{}` does not take body rows.", open.source), dialect.shape()),
    };
    broken(row.at, &what, &row.sent()).next(next)
}

/// Returns a paste as it was sent, without its register.
fn without_register(open: &OpenOp) -> String {
    let name = open.op.paste.as_ref().and_then(|register| register.0.as_deref());
    let bare = name.map(|name| open.source.replacen(&format!("@{name}"), "", 1));
    trimmed(&bare.unwrap_or_else(|| open.source.clone())).to_owned()
}

/// Handles an empty body: it deletes lines, but insertions and blocks require rows.
fn empty(dialect: &HashlineDialect, open: &OpenOp, end: BodyEnd, out: &mut BodyMeaning) -> Result<()> {
    let newer = dialect.header == HeaderStyle::Brackets;
    let what = match open.op.place {
        LineTarget::Lines { .. } | LineTarget::Block(_) if newer && end != BodyEnd::Abort => {
            out.notes.push(EMPTIED_NOTE);
            return Ok(());
        }
        LineTarget::Lines { .. } => format!(
            "`{}` needs at least one `+TEXT` body row. To delete lines, use `{}`.",
            dialect.replace, dialect.delete
        ),
        LineTarget::Block(_) => format!(
            "`{}` needs at least one `+TEXT` body row. To delete a block, use `{}` with the block's line range.",
            open.source, dialect.delete
        ),
        _ if newer => format!("`{}` needs at least one `+TEXT` body row: `insert` promises them.", open.source),
        _ => "`insert` needs at least one `+TEXT` body row.".to_owned(),
    };
    Err(broken(open.at, &what, &open.source).next(dialect.shape()))
}

/// Refuses a row such as `[src/b.ts]` directly before an operation, because it may be a header without its tag. A row
/// with a pilcrow is refused at any position if it names a file, or if no row of the body has a `+`.
fn suspicious(dialect: &HashlineDialect, rows: &[BodyRow]) -> Result<()> {
    let plus = rows.iter().any(|row| row.sort == RowKind::Plus);
    let found = rows.iter().enumerate().find(|(at, row)| {
        let looks = header::classify(&row.text).filter(|_| row.sort == RowKind::Bare);
        looks.is_some_and(|(header, inner)| match header {
            HeaderStyle::Pilcrow => header::names_file(inner) || !plus,
            HeaderStyle::Brackets => header::names_file(inner) && at + 1 == rows.len(),
        })
    });
    let Some((_, row)) = found else { return Ok(()) };
    let what = format!("`{}` may be a header without its tag, or a line of the file.", row.text);
    Err(broken(row.at, &what, &row.text)
        .next(format!("Write `{}` for a header, or `+{}` for a line.", dialect.form, row.text)))
}

/// Refuses bare rows that contain a complete header before the next operation, which may belong to that file: a pilcrow
/// in any row, brackets in the last one, as other texts have them, too. Comments may follow.
fn check_mentions(rows: &[BodyRow]) -> Result<()> {
    let last = rows.iter().rposition(|row| !(row.sort == RowKind::Bare && row.text.starts_with('#')));
    let found = rows.iter().enumerate().find_map(|(at, row)| {
        let (header, mention) = header::mentioned(&row.text).filter(|_| row.sort == RowKind::Bare)?;
        (header == HeaderStyle::Pilcrow || last.is_none_or(|last| at >= last)).then_some((row, mention))
    });
    let Some((row, mention)) = found else { return Ok(()) };
    let what = format!("`{}` may be the header of the operations below it, or a line of the file.", row.text);
    let next = format!("Write `{mention}` alone on a line for a header, or `+{}` for a line.", row.text);
    Err(broken(row.at, &what, &row.text).next(next))
}

/// Handles rows with `-`: they are removed lines if others have a `+`; in the newer dialect they are items of a list if
/// all have one.
fn minus_rows(dialect: &HashlineDialect, open: &OpLine, rows: &mut Vec<BodyRow>, out: &mut BodyMeaning) -> Result<()> {
    let Some(first) = rows.iter().find(|row| is_minus(row)) else { return Ok(()) };
    let minus = || rows.iter().filter(|row| is_minus(row));
    let bullets = minus().all(|row| is_bullet(&row.text));
    // A bullet has one space after its sign; more spaces are the indentation of a removed line.
    let may_be_items = bullets && minus().all(|row| !trimmed(&row.text).starts_with("-  "));
    if !matches!(open.place, LineTarget::Lines { .. } | LineTarget::Block(_)) && plus_rows(rows).next().is_some() {
        let what = "`-` rows are not valid; an insertion removes no lines. To insert a literal line starting with `-`, write `+-…`.";
        return Err(broken(first.at, what, &first.text).next("Omit the `-` rows, or replace the lines with a range."));
    }
    let newer = dialect.header == HeaderStyle::Brackets;
    let literal = newer && bullets && rows.iter().all(|row| row.sort == RowKind::Blank || is_bullet(&row.text));
    if literal {
        out.notes.push(BULLETS_NOTE);
        return Ok(());
    }
    if may_be_items || plus_rows(rows).next().is_none() {
        let what = "`-` rows are not valid; hashline ranges already name the lines being changed. To insert a literal line starting with `-`, write `+-…`.";
        return Err(
            broken(first.at, what, &first.text).next("Omit the `-` rows and send the new lines as `+TEXT` rows.")
        );
    }
    take_context(rows, out);
    out.notes.push(OLD_ROWS_NOTE);
    drop_edges(rows, &mut out.notes);
    Ok(())
}

/// Removes the rows with `-`, and the first space of rows that are context in a diff. The file must have both.
fn take_context(rows: &mut Vec<BodyRow>, out: &mut BodyMeaning) {
    let is_diff = rows.iter().any(is_context);
    for mut row in std::mem::take(rows) {
        if is_minus(&row) {
            out.old.push(removed_row(&row.text).or(row.text.strip_prefix('-')).unwrap_or(&row.text).to_owned());
            continue;
        }
        let is_context = is_context(&row);
        if is_context || (is_diff && row.sort == RowKind::Blank && row.text.starts_with(' ')) {
            row.text.remove(0);
        }
        if is_context {
            out.context.push(row.text.clone());
        }
        rows.push(row);
    }
    if is_diff {
        out.notes.push(CONTEXT_NOTE);
    }
}

/// True for a row that a diff would have for an unchanged line. A row with a copied line number is none.
fn is_context(row: &BodyRow) -> bool {
    row.sort == RowKind::Bare && row.text.starts_with(' ') && !is_minus(row) && numbered(&row.text).is_none()
}

/// Returns the rows with a plus sign.
fn plus_rows(rows: &[BodyRow]) -> impl Iterator<Item = &BodyRow> {
    rows.iter().filter(|row| row.sort == RowKind::Plus)
}

/// True for an item of a Markdown list. A removed line as a reply shows it is not an item.
fn is_bullet(text: &str) -> bool {
    trimmed(text).starts_with("- ") && removed_row(text).is_none()
}

/// True for a bare row with a minus sign.
fn is_minus(row: &BodyRow) -> bool {
    row.sort == RowKind::Bare && trimmed(&row.text).starts_with('-')
}

/// Strips `N:` once from bare rows if every one has the form that `read` prints, and the rest is not a table of literals.
/// The numbers are those of the lines that the rows become, or, for rows pasted from another place, consecutive.
fn numbered_rows(place: LineTarget, rows: &mut [BodyRow], notes: &mut Vec<&'static str>) {
    let first = match place {
        LineTarget::Lines { from, .. } | LineTarget::Block(from) | LineTarget::Before(from) => from,
        LineTarget::After(line) => line.saturating_add(1),
        LineTarget::Head => 1,
        LineTarget::Tail | LineTarget::AfterBlock(_) => return,
    };
    if first.checked_add(rows.len()).is_none() {
        return;
    }
    // Rows in between that are blank or have a `+` may or may not be counted.
    let by_place = rows.iter().zip(first..).all(|(row, number)| row.sort != RowKind::Bare || shows_number(row, number));
    if bare_rows(rows).next().is_none()
        || !(by_place
            || bare_rows(rows).zip(first..).all(|(row, number)| shows_number(row, number))
            || are_pasted(rows))
    {
        return;
    }
    if bare_rows(rows).all(|row| numbered(&row.text).is_some_and(|(_, rest)| is_literal(rest))) {
        return;
    }
    notes.push(NUMBERS_NOTE);
    for row in rows.iter_mut().filter(|row| row.sort == RowKind::Bare) {
        if let Some(rest) = numbered(&row.text).map(|(_, rest)| rest.to_owned()) {
            row.text = rest;
        }
    }
}

/// True if the bare rows, at least two, have consecutive numbers. Times of the day are no numbers of lines.
fn are_pasted(rows: &[BodyRow]) -> bool {
    let is_time = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_digit());
    let numbers: Option<Vec<usize>> = bare_rows(rows)
        .map(|row| shown(&row.text).filter(|(_, rest)| !is_time(rest)).map(|(number, _)| number))
        .collect();
    numbers
        .is_some_and(|numbers| numbers.len() > 1 && numbers.windows(2).all(|pair| pair[1] == pair[0].saturating_add(1)))
}

/// True for a row that begins with this line number.
fn shows_number(row: &BodyRow, number: usize) -> bool {
    shown(&row.text).is_some_and(|(found, _)| found == number)
}

/// Returns the rows without a sign.
fn bare_rows(rows: &[BodyRow]) -> impl Iterator<Item = &BodyRow> {
    rows.iter().filter(|row| row.sort == RowKind::Bare)
}

/// Parses a row that can only be a line of a reply. `N: TEXT` with a single space is not, because a person or a table
/// would write it so, nor is a tab after a number that is not padded.
fn shown(text: &str) -> Option<(usize, &str)> {
    let is_column =
        |rest: &str| text[..text.len() - rest.len()].ends_with('\t') && !is_padded(text.trim_start_matches('>'));
    numbered(text).filter(|(_, rest)| {
        !is_column(rest) && !rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(|ch| ch != ' '))
    })
}

/// Parses the number and the text of a row as `read` prints it: `N:TEXT`, `N|TEXT`, `N` TAB `TEXT`.
pub(super) fn numbered(text: &str) -> Option<(usize, &str)> {
    // Replies mark changed lines, and then have a tab after the number.
    let marked = text.strip_prefix('>').filter(|rest| rest.starts_with(' '));
    let text = marked.unwrap_or(text).trim_start_matches(' ');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let rest = if marked.is_some() { rest.strip_prefix('\t')? } else { rest.strip_prefix([':', '|', '\t'])? };
    Some((number.parse().ok()?, rest))
}

//! Conversion of all line edits of a file to text edits.

use super::overlaps::without_overlaps;
use super::{LineEdit, LineTarget, VersionLines, echo, expected, of, rows_shown};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::find::{TextMatch, TextMatches, Tier};
use crate::locate::op::{Op, ResolveSettings};
use crate::locate::resolve::{self, PlacedOp};
use crate::note::Notes;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;

/// Order of new rows at the same line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InsertClass {
    Head,
    Before,
    Instead,
    After,
    Tail,
}

/// The position of one operation.
pub(super) struct EditSite {
    pub(super) op: usize,
    /// The line at which the operation writes; the first line of a range.
    pub(super) line: usize,
    pub(super) class: InsertClass,
    /// The last line that the operation removes.
    pub(super) to: usize,
    notes: Notes,
}

/// The text that one or more operations write at one position.
pub(super) struct RowGroup {
    /// Offset in the decoded text; an unterminated last line is treated as if it had a line end.
    start: usize,
    end: usize,
    pub(super) text: String,
    owner: usize,
    /// Number of removed lines.
    pub(super) lines: usize,
}

/// Places all edits by line number together. One result per operation, in their order.
pub(crate) fn place_all(base: &Snapshot, ops: &[Op], settings: ResolveSettings) -> Vec<Result<PlacedOp>> {
    let table = VersionLines::new(base);
    let mut answers: Vec<Option<Result<PlacedOp>>> = Vec::with_capacity(ops.len());
    let mut sites = Vec::with_capacity(ops.len());
    for (index, op) in ops.iter().enumerate() {
        let site = of(op).map_or_else(|| Err(mixed()), |rows| site(&table, index, rows, &op.text));
        answers.push(match site {
            Ok(Some(site)) => {
                sites.push(site);
                None
            }
            Ok(None) => Some(Ok(nothing("There is no text on that line; nothing was removed."))),
            Err(error) => Some(Err(error)),
        });
    }
    sites.sort_by_key(|site| (site.line, site.class, site.op));
    without_overlaps(&table, ops, &mut sites, &mut answers);
    let groups = grouped(&table, ops, &sites);
    // In an empty file, the rows of a patch lose the assumed final line end; the rows of a call keep theirs.
    let is_call = ops.iter().all(|op| of(op).is_some_and(|rows| rows.source_line == 0));
    let groups = if table.text.is_empty() && is_call { groups } else { closed(&table, groups) };
    let moved = echo::shifts(&groups);
    let covered = covered_lines(&sites);
    let mut owned: Vec<Option<(RowGroup, isize)>> = ops.iter().map(|_| None).collect();
    for (group, moved) in groups.into_iter().zip(moved) {
        let owner = group.owner;
        owned[owner] = Some((group, moved));
    }
    for site in sites {
        let Some(rows) = of(&ops[site.op]) else { continue };
        let owned = owned[site.op].take();
        let moved = owned.as_ref().map_or(0, |(_, moved)| *moved);
        let text = &*ops[site.op].text;
        let neighbors = echo::Neighbors { moved, covered: &covered };
        let checked = echo::check_restated(&table, rows, text, neighbors, settings).map(|mut notes| {
            notes.extend(expected::indentation_remarks(&table, rows, text));
            notes
        });
        let op = site.op;
        answers[op] = Some(checked.and_then(|notes| written(base, &table, site, owned.map(|it| it.0), notes)));
    }
    answers.into_iter().map(|answer| answer.unwrap_or_else(|| Ok(nothing("")))).collect()
}

/// Places a single edit by line number.
pub(crate) fn place_one(base: &Snapshot, op: &Op, settings: ResolveSettings) -> Result<PlacedOp> {
    place_all(base, std::slice::from_ref(op), settings).pop().unwrap_or_else(|| Err(mixed()))
}

pub(super) fn mixed() -> Error {
    Error::new(Code::InternalBug, "Edits by line number cannot be placed together with others.")
}

pub(super) fn nothing(note: &'static str) -> PlacedOp {
    let notes = Some(note).filter(|note| !note.is_empty()).into_iter().collect();
    PlacedOp { found: TextMatches { tier: Tier::Exact, matches: Vec::new(), notes }, splices: Vec::new() }
}

/// Returns the position of an operation; `None` if it removes lines that do not exist.
fn site(table: &VersionLines<'_>, op: usize, rows: &LineEdit, text: &str) -> Result<Option<EditSite>> {
    if rows.paste.is_some() {
        return Err(Error::new(
            Code::CallInvalid,
            format!("{}nothing was cut that could be put here.", rows.describe()),
        ));
    }
    if !rows.anchors.is_empty() {
        return Err(unknown_words(rows));
    }
    let mut notes = Notes::new();
    let last = table.count;
    let (line, class, to) = match rows.target {
        LineTarget::Head => (1, InsertClass::Head, 0),
        LineTarget::Tail => (last, InsertClass::Tail, 0),
        LineTarget::Before(line) if line <= last => (line, InsertClass::Before, 0),
        LineTarget::After(line) if line <= last => (line, InsertClass::After, 0),
        LineTarget::Before(line) | LineTarget::After(line) => {
            accept_end_of_file(table, rows, line, &mut notes)?;
            (last, InsertClass::Tail, 0)
        }
        LineTarget::Lines { from, to } if from > last => {
            accept_end_of_file(table, rows, to, &mut notes)?;
            if text.is_empty() {
                return Ok(None);
            }
            (last, InsertClass::Tail, 0)
        }
        LineTarget::Lines { from, to } => {
            if to > last {
                if !table.is_after_end(to) {
                    return Err(table.missing(rows, to));
                }
                notes.push(clamped(last));
            }
            (from, InsertClass::Instead, to.min(last))
        }
        LineTarget::AfterBlock(line) if line <= last && expected::is_closer(table.line(line)) => {
            notes.push(format!(
                "Line {line} closes a block, so the rows were put after it. Name the line that opens the block."
            ));
            (line, InsertClass::After, 0)
        }
        LineTarget::Block(line) | LineTarget::AfterBlock(line) => return Err(no_blocks(table, rows, line, None)),
    };
    expected::check_expected(table, rows)?;
    Ok(Some(EditSite { op, line: line.max(1), class, to, notes }))
}

/// Returns the note about a range that ends after the last line.
pub(super) fn clamped(count: usize) -> String {
    format!("The file has {count} lines; the range was taken to end there.")
}

/// Returns the note about the number after the last line.
pub(super) fn taken_as_end(count: usize, line: usize) -> String {
    format!("The file has {count} lines; line {line} was taken as its end.")
}

/// Creates the error for anchors in a call without a session: only a session knows the anchors of a file.
pub(super) fn unknown_words(rows: &LineEdit) -> Error {
    Error::new(
        Code::CallInvalid,
        format!("{}`{}` names a line by a word, and the words are not known.", rows.describe(), rows.source_text),
    )
    .next("Name the lines by their numbers.")
}

/// Accepts the number after the last line as the end of the file; any larger number is an error.
fn accept_end_of_file(table: &VersionLines<'_>, rows: &LineEdit, line: usize, notes: &mut Notes) -> Result<()> {
    if !table.is_after_end(line) {
        return Err(table.missing(rows, line));
    }
    notes.push(taken_as_end(table.count, line));
    Ok(())
}

/// Creates the error for an operation on a block of a file in a language that only the `full` build parses.
pub fn not_built(base: &Snapshot, rows: &LineEdit, line: usize, language: &str) -> Error {
    no_blocks(&VersionLines::new(base), rows, line, Some(language))
}

/// Returns the message about an operation on a block that cannot be found. The verb dialect of hashline uses the
/// wording of its document.
pub fn unresolved_block(rows: &LineEdit, line: usize) -> String {
    let op = &*rows.source_text;
    let what = format!("{}`{op}` could not resolve a syntactic block beginning on line {line}.", rows.describe());
    let is_verb = ["replace", "delete", "insert"].iter().any(|verb| op.trim_start().starts_with(verb));
    if is_verb {
        let range = format!("replace {line}..M:");
        format!(
            "{what} The language may be unsupported, the line may be blank or a closing delimiter, or the block may not \
             parse. Use `{range}` with the block's explicit end line instead."
        )
    } else {
        what
    }
}

fn no_blocks(table: &VersionLines<'_>, rows: &LineEdit, line: usize, not_built: Option<&str>) -> Error {
    if line > table.count {
        return table.missing(rows, line);
    }
    let to = expected::indented_to(table, line);
    let (code, why) = match not_built {
        Some(language) => {
            (Code::SyntaxNotBuilt, format!("this build has no grammar of {language}; the build `full` has it"))
        }
        None => (Code::SyntaxUnknown, "this engine does not read the syntax of this file".to_owned()),
    };
    let what = unresolved_block(rows, line);
    Error::new(code, what)
        .evidence(format!("In this case: {why}."))
        .evidence(format!("By its indentation it is lines {line}..{to}:\n{}", rows_shown(table, line, to)))
        .next(match rows.target {
            LineTarget::AfterBlock(_) => {
                format!("Name the line itself: insert after line {to} if the block ends there.")
            }
            _ => format!("Name the lines themselves: {line}..{to} if the block ends there."),
        })
        .fact("line", rows.source_line)
}

/// Returns the ranges that sorted sites remove.
fn covered_lines(sites: &[EditSite]) -> Vec<(usize, usize)> {
    sites.iter().filter(|site| site.class == InsertClass::Instead).map(|site| (site.line, site.to)).collect()
}

/// Groups the text to write: sites at one position, and insertions next to removed lines, become one group.
fn grouped(table: &VersionLines<'_>, ops: &[Op], sites: &[EditSite]) -> Vec<RowGroup> {
    let mut groups: Vec<RowGroup> = Vec::with_capacity(sites.len());
    // The last line removed by the latest range.
    let mut taken = 0;
    for site in sites {
        let text = &*ops[site.op].text;
        if site.class == InsertClass::Instead {
            taken = site.to;
            let span = Span::new(table.start(site.line), end_of(table, site.to));
            let lines = site.to - site.line + 1;
            let (start, end) = (span.start(), span.end());
            groups.push(RowGroup { start, end, text: text.to_owned(), owner: site.op, lines });
            continue;
        }
        if text.is_empty() {
            continue;
        }
        let point = match site.class {
            InsertClass::Head | InsertClass::Before => table.start(site.line),
            _ => end_of(table, site.line),
        };
        match groups.last_mut() {
            Some(group) if site.line <= taken || (group.start, group.end) == (point, point) => {
                group.text.push_str(text);
            }
            _ => {
                groups.push(RowGroup { start: point, end: point, text: text.to_owned(), owner: site.op, lines: 0 });
            }
        }
    }
    groups
}

/// Returns the end of a line; for an unterminated last line, one past the text, as if it had a line end.
fn end_of(table: &VersionLines<'_>, line: usize) -> usize {
    let end = table.span(line, line).end();
    end + usize::from(table.open && line == table.count)
}

/// Removes the assumed line end after an unterminated last line: a file without a final line end remains without one.
fn closed(table: &VersionLines<'_>, mut groups: Vec<RowGroup>) -> Vec<RowGroup> {
    let len = table.text.len();
    let at_end = groups.last().is_some_and(|group| group.end > len || len == 0);
    let Some(mut last) = groups.pop_if(|_| at_end) else { return groups };
    if last.start > len {
        (last.start, last.end) = (len, len);
        last.text.pop();
        last.text.insert(0, '\n');
        groups.push(last);
        return groups;
    }
    last.end = len;
    // If the last lines are removed, the line end before them is removed as well, or the group before them loses its
    // own.
    while last.text.is_empty() {
        let Some(before) = groups.pop_if(|group| group.end == last.start) else {
            last.start -= usize::from(last.start > 0);
            break;
        };
        last.start = before.start;
        last.text = before.text;
        last.lines += before.lines;
    }
    last.text.pop();
    groups.push(last);
    groups
}

/// Returns the result of one operation: its own text, or its part of the text of a group.
fn written(
    base: &Snapshot,
    table: &VersionLines<'_>,
    site: EditSite,
    group: Option<RowGroup>,
    mut notes: Notes,
) -> Result<PlacedOp> {
    let restated = std::mem::replace(&mut notes, site.notes);
    notes.extend(restated);
    let index = u32::try_from(site.op).unwrap_or(u32::MAX);
    let span = match site.class {
        InsertClass::Instead => table.span(site.line, site.to),
        InsertClass::Head | InsertClass::Before => Span::at(table.start(site.line)),
        InsertClass::After | InsertClass::Tail => Span::at(table.span(site.line, site.line).end()),
    };
    let (mut edits, mut splices) = (Vec::new(), Vec::new());
    if let Some(group) = group {
        let lines = Span::new(group.start, group.end);
        edits = resolve::difference(table.text, lines, &group.text);
        // The read span preserves the order of texts written at one offset when they are trimmed to what differs.
        let read_span = base.raw_span(lines);
        for edit in &edits {
            splices.push(resolve::splice(base, edit, index)?.with_read_span(read_span));
        }
    }
    let hits = vec![TextMatch { span, edits }];
    Ok(PlacedOp { found: TextMatches { tier: Tier::Exact, matches: hits, notes }, splices })
}

//! Texts that are nearly hashline: older spellings, operations of the other dialect, rows pasted from `read`. The error
//! shows the whole corrected text if the correction is certain and can be parsed.

use super::body::numbered;
use super::dialect::HashlineDialect;
use super::parser::HashlineParser;
use super::stray::is_unified;
use super::token::{LineScanner, OpKind, OpLine, trimmed};
use super::{header, older_spelling};
use crate::error::Error;
use crate::formats::line_parser;
use crate::locate::line_edits::LineTarget;
use crate::work;

/// Maximum bytes of a converted text that is shown.
pub(super) const CONVERTED_BYTES_MAX: usize = 8000;

/// Adds the converted text to the error of a text that does not parse.
pub(super) fn with_conversion(text: &str, error: Error) -> Error {
    match convert(text) {
        Some(text) => error
            .evidence(format!("Ready to send:\n{}", text.trim_end()))
            .next("If that is what was meant, send the text shown.")
            .fact("converted", text),
        None => error,
    }
}

/// Converts the text to the dialect of its headers, if every line of it is understood.
pub(in crate::formats) fn convert(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut dialect: Option<&HashlineDialect> = None;
    let mut changed = false;
    let mut pasted = Vec::new();
    let mut diff: Option<ForeignDiff> = None;
    // True after a pasted row: a row below it would insert a line, which was not requested.
    let mut lone = false;
    for line in work::lines(text) {
        if let (Some(of), Some(it)) = (&mut diff, dialect) {
            if of.takes(line, it, &mut out) {
                continue;
            }
            of.finish(it, &mut out)?;
            diff = None;
        }
        if let Some((header, inner)) = header::classify(line).filter(|(_, inner)| header::is_tagged(inner)) {
            // Older texts in brackets use verbs that match the dialect of their header best.
            let named = header::read(inner)?;
            let it = HashlineDialect::dialect_of(header);
            (dialect, lone) = (Some(it), false);
            out.push_str(&it.headed(&named.path, named.tag?.to_string()));
            out.push('\n');
            continue;
        }
        if let Some(begun) = dialect.and_then(|_| ForeignDiff::begun(line)) {
            (diff, changed) = (Some(begun), true);
            continue;
        }
        let op = dialect.is_some_and(|it| (it.read)(line).is_some());
        let it = dialect.filter(|_| !line.starts_with('+') && !op);
        let count = pasted.len();
        let converted = match it {
            Some(it) => translated(it, line, &mut pasted).ok()?,
            None => None,
        };
        if lone && !op && converted.is_none() && !trimmed(line).is_empty() {
            return None;
        }
        lone = pasted.len() > count || lone && !op && converted.is_none();
        changed |= converted.is_some();
        out.push_str(converted.as_deref().unwrap_or(line));
        out.push('\n');
    }
    if let (Some(mut diff), Some(it)) = (diff, dialect) {
        diff.finish(it, &mut out)?;
    }
    (changed && line_parser::parse_text(Box::new(HashlineParser::without_corrections()), &out).is_ok()).then_some(out)
}

/// A unified diff hunk below a hashline header: its numbers are assumed to refer to the version shown.
struct ForeignDiff {
    /// The next line of the old side.
    next: usize,
    /// The line after the old side, according to the header.
    end: usize,
    /// Number of removed lines of the old side directly before `next`.
    gone: usize,
    /// The rows that replace them.
    rows: String,
}

impl ForeignDiff {
    /// Parses the first line of the hunk, `@@ -a,b +c,d @@`.
    fn begun(line: &str) -> Option<ForeignDiff> {
        let text = trimmed(line);
        let old = text.strip_prefix("@@ -").filter(|_| is_unified(text))?;
        let mut scan = LineScanner::new(old);
        // The position is after line `a` if the old side is empty.
        let first = scan.number()?;
        let count = match scan.rest.strip_prefix(',') {
            Some(rest) => rest.split(|ch: char| !ch.is_ascii_digit()).next()?.parse().ok()?,
            None => 1,
        };
        let next = first.checked_add(usize::from(count == 0))?;
        Some(ForeignDiff { next, end: next.checked_add(count)?, gone: 0, rows: String::new() })
    }

    /// Writes the remaining changes; `None` if the header counts another number of old lines, so that the rows are
    /// incomplete.
    fn finish(&mut self, dialect: &HashlineDialect, out: &mut String) -> Option<()> {
        self.flush(dialect, out);
        (self.next == self.end).then_some(())
    }

    /// Adds a row; false if the line is not a row of a hunk.
    fn takes(&mut self, line: &str, dialect: &HashlineDialect, out: &mut String) -> bool {
        match line.as_bytes().first() {
            Some(b'+') => {
                self.rows.push_str(line);
                self.rows.push('\n');
            }
            Some(b'-') => {
                if !self.rows.is_empty() {
                    self.flush(dialect, out);
                }
                (self.next, self.gone) = (self.next + 1, self.gone + 1);
            }
            Some(b' ') | None => {
                self.flush(dialect, out);
                self.next += 1;
            }
            _ => return false,
        }
        true
    }

    /// Writes the changes so far as one operation.
    fn flush(&mut self, dialect: &HashlineDialect, out: &mut String) {
        let rows = std::mem::take(&mut self.rows);
        let gone = std::mem::take(&mut self.gone);
        let (from, to) = (self.next.saturating_sub(gone), self.next.saturating_sub(1));
        let op = match (gone > 0, rows.is_empty()) {
            (false, true) => return,
            (true, false) => Some(dialect.replacing(from, to)),
            (true, true) => Some(dialect.deleting(from, to)),
            (false, false) if to == 0 => dialect.write(&OpLine::new(OpKind::Body, LineTarget::Head)),
            (false, false) => dialect.write(&OpLine::new(OpKind::Body, LineTarget::After(to))),
        };
        out.push_str(&op.unwrap_or_default());
        out.push('\n');
        out.push_str(&rows);
    }
}

/// Translates a line in another spelling to `dialect`; `None` for any other line.
///
/// Errors: an ambiguous line.
fn translated(dialect: &HashlineDialect, line: &str, pasted: &mut Vec<usize>) -> Result<Option<String>, ()> {
    let other = (dialect.other_dialect().read)(line).and_then(Result::ok).or_else(|| older_spelling::parse(line));
    let other = other.or_else(|| {
        verb_in(dialect, line, str::to_ascii_lowercase)
            .or_else(|| verb_in(dialect, line, str::to_ascii_uppercase))
            .filter(|op| op.check.is_none() && op.inline.is_none() && op.words.is_empty() && op.paste.is_none())
    });
    if let Some(op) = other {
        return dialect.write(&op).map(Some).ok_or(());
    }
    // The first row of a body is on the operation's own line, without its `+`.
    if let Some((head, row)) = line.split_once(": ")
        && let Some(Ok(op)) = (dialect.read)(&format!("{head}:"))
    {
        let op = dialect.write(&op).ok_or(())?;
        return Ok(Some(format!("{op}\n+{row}")));
    }
    // A pasted row names its line; if two rows have the same number, they are ambiguous.
    let Some((number, text)) = numbered(line) else { return Ok(None) };
    if pasted.contains(&number) {
        return Err(());
    }
    pasted.push(number);
    Ok(Some(format!("{}\n+{text}", dialect.replacing(number, number))))
}

/// Parses a line after changing the case of its letters.
fn verb_in(dialect: &HashlineDialect, line: &str, case: fn(&str) -> String) -> Option<OpLine> {
    (dialect.read)(&case(line)).and_then(Result::ok)
}

//! Texts that are nearly hashline: older spellings, the other dialect's operations, rows pasted from `read`. The error
//! shows the whole text as it should have been, if that is certain and parses.

use super::body::numbered;
use super::dialect::{CURRENT, Dialect, SEED};
use super::header;
use super::machine::Reader;
use super::token::{Kind, OpLine, Scan, trimmed};
use crate::error::Error;
use crate::formats::stream;
use crate::rows::RowPlace;

/// Bytes of a converted text that are shown.
pub(super) const SHOWN: usize = 8000;

/// Adds the converted text to the error of a text that does not parse.
pub(super) fn taught(text: &str, error: Error) -> Error {
    match converted(text) {
        Some(text) => error
            .evidence(format!("Ready to send:\n{}", text.trim_end()))
            .next("If that is what was meant, send the text shown.")
            .fact("converted", text),
        None => error,
    }
}

/// The text in the dialect of its headers, if all of it is understood.
fn converted(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut dialect: Option<&Dialect> = None;
    let mut changed = false;
    let mut pasted = Vec::new();
    for line in text.lines() {
        if let Some((header, inner)) = header::look(line).filter(|(_, inner)| header::is_tagged(inner)) {
            // Older texts in brackets use verbs that read best in the dialect of their header.
            let named = header::read(inner)?;
            let it = Dialect::of(header);
            dialect = Some(it);
            out.push_str(&it.headed(&named.path, &named.tag?.to_string()));
            out.push('\n');
            continue;
        }
        let it = dialect.filter(|it| !line.starts_with('+') && (it.read)(line).is_none());
        let said = match it {
            Some(it) => translated(it, line, &mut pasted).ok()?,
            None => None,
        };
        changed |= said.is_some();
        out.push_str(said.as_deref().unwrap_or(line));
        out.push('\n');
    }
    let parses = || stream::read(Box::new(Reader::trial()), &out).is_ok();
    (changed && parses()).then_some(out)
}

/// One line in another spelling, in the words of `dialect`; `None` for a line that is no such.
///
/// Errors: where what is meant is not certain.
fn translated(dialect: &Dialect, line: &str, pasted: &mut Vec<usize>) -> Result<Option<String>, ()> {
    let other = (dialect.other().read)(line).and_then(Result::ok).or_else(|| older(line));
    if let Some(op) = other {
        return dialect.write(&op).map(Some).ok_or(());
    }
    // The first row of a body on the operation's own line, without its `+`.
    if let Some((head, row)) = line.split_once(": ")
        && let Some(Ok(op)) = (dialect.read)(&format!("{head}:"))
    {
        let op = dialect.write(&op).ok_or(())?;
        return Ok(Some(format!("{op}\n+{row}")));
    }
    // A pasted row names its line; the same number twice says nothing certain.
    let Some((number, text)) = numbered(line) else { return Ok(None) };
    if pasted.contains(&number) {
        return Err(());
    }
    pasted.push(number);
    Ok(Some(format!("{}\n+{text}", dialect.replacing(number, number))))
}

/// True for an operation in a spelling that is not in use any more.
pub(super) fn is_older(line: &str) -> bool {
    older(line).is_some()
}

/// `SWAP`, `DEL`, `INS.…` and the ranges of still older transcripts.
fn older(line: &str) -> Option<OpLine> {
    let mut scan = Scan::new(line);
    let body = |place| Some(OpLine::new(Kind::Body, place));
    let place = if scan.eat("SWAP.BLK") {
        body(RowPlace::Block(number(&mut scan)?))
    } else if scan.eat("DEL.BLK") {
        Some(OpLine::new(Kind::Take, RowPlace::Block(number(&mut scan)?)))
    } else if scan.eat("INS.BLK.POST") {
        body(RowPlace::AfterBlock(number(&mut scan)?))
    } else if scan.eat("INS.PRE") {
        body(RowPlace::Before(number(&mut scan)?))
    } else if scan.eat("INS.POST") {
        body(RowPlace::After(number(&mut scan)?))
    } else if scan.eat("INS.HEAD") {
        body(RowPlace::Head)
    } else if scan.eat("INS.TAIL") {
        body(RowPlace::Tail)
    } else if scan.word("SWAP") {
        body(lines(&mut scan)?)
    } else if scan.word("DEL") {
        Some(OpLine::new(Kind::Take, lines(&mut scan)?))
    } else if scan.eat("@@") {
        scan.blanks();
        let place = lines(&mut scan)?;
        scan.blanks();
        scan.eat("@@").then_some(())?;
        body(place)
    } else {
        None
    };
    scan.blanks();
    scan.eat(":");
    place.filter(|_| trimmed(scan.rest).is_empty())
}

fn number(scan: &mut Scan<'_>) -> Option<usize> {
    scan.blanks();
    scan.number()
}

fn lines(scan: &mut Scan<'_>) -> Option<RowPlace> {
    let dialect = if scan.rest.contains(SEED.between) { &SEED } else { &CURRENT };
    let range = scan.range(dialect).filter(|range| range.from > 0 && range.from <= range.to)?;
    Some(RowPlace::Lines { from: range.from, to: range.to })
}

//! Texts that are nearly hashline: older spellings, the other dialect's operations, rows pasted from `read`. The error
//! shows the whole text as it should have been, if that is certain and parses.

use super::body::numbered;
use super::dialect::{CURRENT, Dialect, SEED};
use super::header;
use super::machine::Reader;
use super::token::{Kind, OpLine, Scan, trimmed};
use crate::error::Error;
use crate::formats::stream::{self, Manner};
use crate::rows::RowPlace;

/// Bytes of a converted text that are shown.
const SHOWN: usize = 8000;

/// Adds the converted text to the error of a text that does not parse.
pub(super) fn taught(text: &str, error: Error) -> Error {
    if text.len() > SHOWN {
        return error;
    }
    match converted(text) {
        Some(text) => error.next(format!("Send this instead:\n{text}")).fact("converted", text),
        None => error,
    }
}

/// The text in the dialect of its headers, if all of it is understood.
fn converted(text: &str) -> Option<String> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
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
        match it.and_then(|it| translated(it, line, &mut pasted)) {
            Some(line) => {
                changed = true;
                out.push_str(&line);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    let parses = || stream::read(Box::new(Reader::new(&Manner::default())), &out).is_ok();
    (changed && parses()).then_some(out)
}

/// One line in another spelling, in the words of `dialect`.
fn translated(dialect: &Dialect, line: &str, pasted: &mut Vec<usize>) -> Option<String> {
    if let Some(Ok(op)) = (dialect.other().read)(line) {
        return dialect.write(&op);
    }
    if let Some(op) = older(line) {
        return dialect.write(&op);
    }
    // The first row of a body on the operation's own line, without its `+`.
    if let Some((head, row)) = line.split_once(": ")
        && let Some(Ok(op)) = (dialect.read)(&format!("{head}:"))
    {
        return Some(format!("{}\n+{row}", dialect.write(&op)?));
    }
    // A pasted row names its line; the same number twice says nothing certain.
    let (number, text) = numbered(line)?;
    if pasted.contains(&number) {
        return None;
    }
    pasted.push(number);
    Some(format!("{}\n+{text}", dialect.replacing(number, number)))
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
    let range = scan.range(dialect).filter(|range| range.from <= range.to)?;
    Some(RowPlace::Lines { from: range.from, to: range.to })
}

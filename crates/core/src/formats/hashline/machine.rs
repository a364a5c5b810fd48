//! The parser: fed line by line, it emits events and collects the sections.

use super::body::{self, Open, Row, Sort};
use super::dialect::Dialect;
use super::section::{self, Section};
use super::token::{Kind, OpLine, trimmed};
use super::{broken, current, foreign, header, stray};
use crate::content::Header;
use crate::error::{Error, Result};
use crate::formats::stream::{Action, Event, Machine, Manner};
use crate::op::{LineKind, Request};
use std::collections::HashSet;

/// Errors of one text that are reported.
const ERRORS: usize = 20;

/// The state between two lines.
#[derive(Default)]
pub(super) struct Reader {
    /// Number of lines parsed.
    at: usize,
    /// The file for a text that names none.
    file: Option<String>,
    sections: Vec<Section>,
    /// The paths of all sections.
    paths: HashSet<String>,
    open: Option<Open>,
    /// An error was reported; rows until the next operation belong to it.
    skipping: bool,
    /// `*** End Patch` or `*** Abort` was parsed.
    ended: bool,
    /// The fence around the sections.
    fence: Option<Fence>,
    /// A fence was closed: lines up to the next header are ignored.
    outside: bool,
    /// The error for the beginning of the text, dropped if a fence shows that it was only prose.
    start: Option<Error>,
    errors: Vec<Error>,
    notes: Vec<String>,
    /// Events are suppressed.
    quiet: bool,
    /// The text so far, for showing its corrected form; dropped if it is too long for that.
    said: Option<String>,
}

impl Machine for Reader {
    fn quiet(&mut self) {
        self.quiet = true;
    }

    fn line(&mut self, line: &str, out: &mut Vec<Event>) {
        self.at += 1;
        self.remember(line);
        if self.ended {
            return;
        }
        let text = trimmed(line);
        if text.is_empty() {
            self.blank(line);
            return;
        }
        if self.envelope(text, out) || self.fenced(line, out) {
            return;
        }
        if let Some((header, inner)) = header::look(line).filter(|(header, inner)| self.is_header(*header, inner)) {
            self.head(header, inner, line, out);
            return;
        }
        if self.outside || self.sections.is_empty() && !self.start(line, out) {
            return;
        }
        self.row(line, out);
    }

    fn finish(mut self: Box<Self>, _cut: bool, out: &mut Vec<Event>) -> Result<Request> {
        self.close_section(out);
        self.errors.splice(0..0, self.start.take());
        if self.sections.is_empty() && self.errors.is_empty() {
            self.errors.push(section::no_header("", 1));
        }
        let found = self.errors.len();
        if let Some(error) = Error::all(self.errors, found) {
            return Err(match self.said {
                Some(text) => foreign::taught(&text, error),
                None => error,
            });
        }
        section::request(self.sections, self.notes)
    }
}

impl Reader {
    pub(super) fn new(manner: &Manner) -> Reader {
        Reader { file: manner.file.clone(), said: Some(String::new()), ..Reader::default() }
    }

    /// Creates a parser that does not produce corrected texts, to test whether a text parses.
    pub(super) fn trial() -> Reader {
        Reader::default()
    }

    fn remember(&mut self, line: &str) {
        let fits = self.said.as_ref().is_some_and(|said| said.len() + line.len() < foreign::SHOWN);
        self.said = self.said.take().filter(|_| fits).map(|mut said| {
            said.push_str(line);
            said.push('\n');
            said
        });
    }

    fn fail(&mut self, error: Error) {
        self.skipping = true;
        if self.errors.len() < ERRORS {
            let error = match self.sections.last() {
                Some(section) => error.fact("path", section.path.clone()),
                None => error,
            };
            self.errors.push(error);
        }
    }

    fn blank(&mut self, line: &str) {
        if let Some(open) = &mut self.open {
            open.rows.push(Row { sort: Sort::Blank, text: line.to_owned(), at: self.at });
        }
    }

    /// Handles fences around sections. A line that closes one ends the open section, unless it may as well be one of
    /// its rows.
    fn fenced(&mut self, line: &str, out: &mut Vec<Event>) -> bool {
        let Some(found) = Fence::of(line) else { return false };
        if self.sections.is_empty() || self.outside {
            self.fence = Some(found);
            return true;
        }
        let mut rows = self.open.iter().flat_map(|open| &open.rows).filter(|row| row.sort != Sort::Blank);
        let plain = rows.any(|row| row.sort == Sort::Bare);
        let empty = self.open.as_ref().is_some_and(|open| open.op.kind == Kind::Body && open.rows.is_empty());
        match &self.fence {
            Some(fence) if found.closes(fence) && plain => {
                self.open = None;
                self.fail(stray::fence(line, self.at));
                return true;
            }
            Some(fence) if !found.closes(fence) => return false,
            None if !found.bare || plain || empty => return false,
            _ => {}
        }
        self.close_section(out);
        (self.fence, self.outside) = (None, true);
        self.notes.push("Text around the fenced edits was left out.".to_owned());
        true
    }

    /// True for an envelope line that may surround sections.
    fn envelope(&mut self, text: &str, out: &mut Vec<Event>) -> bool {
        match text {
            "*** Begin Patch" => return true,
            "*** End of File" if !self.sections.is_empty() => {
                self.notes.push("`*** End of File` is no part of hashline and was left out.".to_owned());
                return true;
            }
            "*** End Patch" => self.close(out, false),
            "*** Abort" => {
                self.close(out, true);
                // The operations of the last section are missing.
                if self.errors.is_empty() && self.sections.len() > 1 {
                    self.sections.pop_if(|section| section.is_untouched());
                }
            }
            _ => return false,
        }
        self.ended = true;
        true
    }

    /// Decides whether a line that looks like a header is one: inside a section it may be a line of the file.
    fn is_header(&self, header: Header, inner: &str) -> bool {
        let within = self.sections.last().is_some_and(|section| section.dialect.header == Header::Brackets);
        if self.sections.is_empty() || self.outside || header::is_tagged(inner) {
            return true;
        }
        if header == Header::Pilcrow {
            let rows = self.open.as_ref().is_some_and(|open| open.op.kind == Kind::Body);
            let untagged = self.sections.last().is_some_and(|section| section.tag.is_none());
            return !rows || untagged && header::names_file(inner) || self.paths.contains(inner);
        }
        within && (self.paths.contains(inner) || self.open.is_none())
    }

    fn head(&mut self, header: Header, inner: &str, line: &str, out: &mut Vec<Event>) {
        if !std::mem::take(&mut self.outside) {
            self.close_section(out);
        }
        let prose = self.start.take();
        if self.fence.is_none() {
            self.errors.extend(prose);
        }
        let dialect = Dialect::of(header);
        let Some(named) = header::read(inner) else {
            self.sections.push(Section::new(dialect, String::new(), None, self.at));
            let path = dialect.form.split('#').next().unwrap_or_default();
            let close = if header == Header::Brackets { "]" } else { "" };
            let what = format!(
                "Input header must be {path}{close} or {} with a 4-hex content-hash tag; got {line:?}.",
                dialect.form
            );
            let error = broken(self.at, &what, line)
                .next(format!("Copy the header that read printed, e.g. `{}`.", dialect.sample));
            self.fail(error);
            return;
        };
        self.skipping = false;
        out.push(Event::File { path: named.path.clone(), action: Action::Update });
        self.paths.insert(named.path.clone());
        self.sections.push(Section::new(dialect, named.path, named.tag, self.at));
    }

    /// Handles the first line that is neither blank nor a header: an error, unless the caller named the file.
    fn start(&mut self, line: &str, out: &mut Vec<Event>) -> bool {
        if self.start.is_some() || !self.errors.is_empty() || header::is_notice(line) {
            return false;
        }
        let dialect = [Header::Pilcrow, Header::Brackets].map(Dialect::of).into_iter();
        let meant = dialect.into_iter().find(|dialect| (dialect.read)(line).is_some());
        if let (Some(path), Some(dialect)) = (self.file.clone(), meant) {
            out.push(Event::File { path: path.clone(), action: Action::Update });
            self.sections.push(Section::new(dialect, path, None, self.at));
            return true;
        }
        self.start = Some(section::no_header(line, self.at));
        false
    }

    /// Parses a line of a section.
    fn row(&mut self, line: &str, out: &mut Vec<Event>) {
        let Some(section) = self.sections.last_mut() else { return };
        let dialect = section.dialect;
        let inside = self.open.as_ref().is_some_and(|open| open.op.kind == Kind::Body);
        let op = (dialect.read)(line).filter(|_| !(inside && current::is_verbless(line)));
        if let Some(op) = op {
            self.close(out, false);
            match op {
                Ok(op) => self.begin(op, line, out),
                Err(fault) => self.fail(fault.error(self.at, line)),
            }
            return;
        }
        if let Some(text) = line.strip_prefix('+') {
            self.push(dialect, Sort::Plus, text, out);
        } else if let Some(error) = stray::foreign(dialect, line, self.at).filter(|_| !self.skipping) {
            self.open = None;
            self.fail(error);
        } else if !stray::is_elision(line) {
            self.push(dialect, Sort::Bare, line, out);
        } else if inside {
            self.open = None;
            self.fail(stray::elided(line, self.at));
        } else {
            self.notes.push(format!(
                "Line {} of the input ({}) was left out; it is no part of a file.",
                self.at,
                trimmed(line)
            ));
        }
    }

    /// Adds a row to the open operation, or reports one that belongs to none.
    fn push(&mut self, dialect: &'static Dialect, sort: Sort, text: &str, out: &mut Vec<Event>) {
        let at = self.at;
        if let Some(open) = &mut self.open {
            let kind = if sort == Sort::Plus { LineKind::Added } else { LineKind::Bare };
            out.push(Event::Line { kind, text: text.to_owned() });
            open.rows.push(Row { sort, text: text.to_owned(), at });
            return;
        }
        if self.skipping && !(sort == Sort::Bare && stray::begins_like_an_operation(text)) {
            return;
        }
        let Some(section) = self.sections.last_mut() else { return };
        if sort == Sort::Bare && text.starts_with('#') && section.is_untouched() {
            section.comment.get_or_insert((at, text.to_owned()));
            return;
        }
        let (at, text) = section.comment.take().unwrap_or_else(|| (at, text.to_owned()));
        self.fail(stray::orphan(dialect, &text, at));
    }

    fn begin(&mut self, op: OpLine, line: &str, out: &mut Vec<Event>) {
        self.skipping = false;
        if let Some(section) = self.sections.last_mut() {
            section.comment = None;
        }
        out.push(Event::Hunk { line: self.at });
        let mut rows = Vec::new();
        if let Some(text) = &op.inline {
            out.push(Event::Line { kind: LineKind::Added, text: text.clone() });
            rows.push(Row { sort: Sort::Plus, text: text.clone(), at: self.at });
        }
        self.open = Some(Open { op, said: trimmed(line).to_owned(), at: self.at, rows });
    }

    /// Completes the open operation.
    fn close(&mut self, out: &mut Vec<Event>, cut_off: bool) {
        let Some(mut open) = self.open.take() else { return };
        let Some(section) = self.sections.last_mut() else { return };
        let taken = body::settle(section.dialect, &mut open, cut_off).and_then(|settled| section.take(open, settled));
        match taken {
            Ok(()) => {
                if !self.quiet {
                    out.extend(section.last_op().map(|(op, base)| Event::Rows { op: Box::new(op.clone()), base }));
                }
                out.push(Event::HunkDone);
            }
            Err(error) => self.fail(error),
        }
    }

    fn close_section(&mut self, out: &mut Vec<Event>) {
        if self.outside {
            return;
        }
        self.close(out, false);
        let Some(section) = self.sections.last_mut() else { return };
        if let Some((at, text)) = section.comment.take() {
            let error = stray::orphan(section.dialect, &text, at);
            self.fail(error);
            return;
        }
        out.push(Event::FileDone);
    }
}

/// The line of a Markdown fence.
struct Fence {
    sign: u8,
    run: usize,
    /// No info string follows.
    bare: bool,
}

impl Fence {
    fn of(line: &str) -> Option<Fence> {
        let sign = *line.as_bytes().first().filter(|sign| b"`~".contains(sign))?;
        let run = line.bytes().take_while(|byte| *byte == sign).count();
        (run >= 3).then(|| Fence { sign, run, bare: trimmed(&line[run..]).is_empty() })
    }

    fn closes(&self, open: &Fence) -> bool {
        self.bare && self.sign == open.sign && self.run >= open.run
    }
}

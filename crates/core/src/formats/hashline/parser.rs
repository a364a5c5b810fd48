//! The parser: it is fed line by line, emits events and collects the sections.

use super::body::{self, BodyEnd, BodyRow, OpenOp, RowKind};
use super::dialect::HashlineDialect;
use super::fence_line::FenceLine;
use super::section::{self, HashlineSection};
use super::token::{OpKind, OpLine, trimmed};
use super::{broken, current, foreign, header, stray};
use crate::error::{Error, Result};
use crate::formats::line_parser::{self, FileActionKind, LineParser, ParseOptions, StreamEvent};
use crate::locate::op::{HunkLineKind, Request};
use crate::note::Notes;
use crate::text::content::HeaderStyle;
use std::collections::HashSet;

/// Maximum number of errors of one text that are reported.
const REPORTED_ERRORS_MAX: usize = 20;

/// The state between two lines.
#[derive(Default)]
pub(super) struct HashlineParser {
    /// Number of lines parsed.
    at: usize,
    /// The file for a text that names none.
    file: Option<String>,
    /// True if the call wants every change reversed.
    reverse: bool,
    sections: Vec<HashlineSection>,
    /// The paths of all sections.
    paths: HashSet<String>,
    open: Option<OpenOp>,
    /// True after an error was reported; rows until the next operation belong to it.
    skipping: bool,
    /// True after `*** Abort`.
    ended: bool,
    /// The fence around the sections.
    fence: Option<FenceLine>,
    /// True after a fence was closed, or an envelope: lines up to the next header are ignored.
    outside: bool,
    /// The last header that an ignored line contains.
    mention: Option<String>,
    /// The error for the first operation among the ignored lines.
    lost: Option<Error>,
    /// The error for the beginning of the text; it is dropped if a fence or a complete header shows that it was only
    /// prose.
    start: Option<Error>,
    errors: Vec<Error>,
    notes: Notes,
    /// True if events are suppressed.
    quiet: bool,
    /// The text so far, for showing its corrected form; dropped if it is too long for that.
    source: Option<String>,
}

impl LineParser for HashlineParser {
    fn skip_events(&mut self) {
        self.quiet = true;
    }

    fn line(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
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
        if let Some((header, inner)) = header::classify(line).filter(|(header, inner)| self.is_header(*header, inner)) {
            self.head(header, inner, line, out);
            return;
        }
        if self.outside || self.sections.is_empty() && !self.start(line, out) {
            self.ignore(line);
            return;
        }
        self.row(line, out);
    }

    fn finish(mut self: Box<Self>, cut: bool, out: &mut Vec<StreamEvent>) -> Result<Request> {
        if self.reverse {
            return Err(line_parser::irreversible("An edit by line numbers"));
        }
        let truncation = self.truncation(cut);
        self.close_section(out);
        self.errors.splice(0..0, self.start.take());
        if self.errors.is_empty() {
            self.errors.extend(self.lost.take().or(truncation));
        }
        if self.sections.is_empty() && self.errors.is_empty() {
            self.errors.push(section::no_header("", 1));
        }
        let found = self.errors.len();
        if let Some(error) = Error::combine(self.errors, found) {
            return Err(match self.source {
                Some(text) => foreign::with_conversion(&text, error),
                None => error,
            });
        }
        section::request(self.sections, self.notes)
    }
}

impl HashlineParser {
    pub(super) fn new(options: &ParseOptions) -> HashlineParser {
        HashlineParser {
            file: options.file.clone(),
            reverse: options.reverse,
            source: Some(String::new()),
            ..HashlineParser::default()
        }
    }

    /// Creates a parser that produces no corrected texts, to test whether a text can be parsed.
    pub(super) fn without_corrections() -> HashlineParser {
        HashlineParser::default()
    }

    fn remember(&mut self, line: &str) {
        let fits = self.source.as_ref().is_some_and(|source| source.len() + line.len() < foreign::CONVERTED_BYTES_MAX);
        self.source = self.source.take().filter(|_| fits).map(|mut source| {
            source.push_str(line);
            source.push('\n');
            source
        });
    }

    fn fail(&mut self, error: Error) {
        self.skipping = true;
        if self.errors.len() < REPORTED_ERRORS_MAX {
            let error = match self.sections.last() {
                Some(section) => error.fact("path", section.path.clone()),
                None => error,
            };
            self.errors.push(error);
        }
    }

    fn blank(&mut self, line: &str) {
        if let Some(open) = &mut self.open {
            open.rows.push(BodyRow { sort: RowKind::Blank, text: line.to_owned(), at: self.at });
        }
    }

    /// Returns the error for a text that may be cut off: only the end of the fence shows that a body is complete.
    fn truncation(&self, cut: bool) -> Option<Error> {
        let fence = self.fence.as_ref().filter(|_| !self.outside && !self.ended && !self.sections.is_empty())?;
        let is_complete = !cut && self.open.as_ref().is_some_and(|open| open.op.kind != OpKind::Body);
        (!is_complete).then(|| stray::open_fence(self.at, fence.line))
    }

    /// Handles fences around sections. A line that closes a fence ends the open section, unless it may just as well be
    /// one of its rows.
    fn fenced(&mut self, line: &str, out: &mut Vec<StreamEvent>) -> bool {
        let Some(found) = FenceLine::of(line, self.at) else { return false };
        if self.sections.is_empty() || self.outside {
            let is_end = self.fence.as_ref().is_some_and(|fence| found.closes(fence));
            self.fence = (!is_end).then_some(found);
            return true;
        }
        let mut rows = self.open.iter().flat_map(|open| &open.rows).filter(|row| row.sort != RowKind::Blank);
        let plain = rows.any(|row| row.sort == RowKind::Bare);
        let empty = self.open.as_ref().is_some_and(|open| open.op.kind == OpKind::Body && open.rows.is_empty());
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
        self.notes.push("Text around the fenced edits was ignored.".to_owned());
        true
    }

    /// True for a line of an envelope, which may surround sections.
    fn envelope(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> bool {
        match text {
            "*** Begin Patch" => return true,
            "*** End of File" if !self.sections.is_empty() => {
                self.notes.push("`*** End of File` is not part of hashline and was ignored.".to_owned());
                return true;
            }
            // Another envelope may follow.
            "*** End Patch" => {
                self.close_section(out);
                self.outside = !self.sections.is_empty();
            }
            "*** Abort" => {
                self.close(BodyEnd::Abort, out);
                self.ended = true;
                // The text was aborted, so the operations of the last section are missing.
                if self.errors.is_empty() && self.sections.len() > 1 {
                    self.sections.pop_if(|section| section.is_untouched());
                }
            }
            _ => return false,
        }
        true
    }

    /// Decides if a line that looks like a header is one: inside a section it may be a line of the file.
    fn is_header(&self, header: HeaderStyle, inner: &str) -> bool {
        let within = self.sections.last().is_some_and(|section| section.dialect_row.header == HeaderStyle::Brackets);
        if self.sections.is_empty() || header::is_tagged(inner) {
            return true;
        }
        if self.outside {
            return header == HeaderStyle::Pilcrow || header::names_file(inner) || self.paths.contains(inner);
        }
        if header == HeaderStyle::Pilcrow {
            let rows = self.open.as_ref().is_some_and(|open| open.op.kind == OpKind::Body);
            let untagged = self.sections.last().is_some_and(|section| section.tag.is_none());
            return !rows || untagged && header::names_file(inner) || self.paths.contains(inner);
        }
        within && (self.paths.contains(inner) || self.open.is_none())
    }

    fn head(&mut self, header: HeaderStyle, inner: &str, line: &str, out: &mut Vec<StreamEvent>) {
        if !std::mem::take(&mut self.outside) {
            self.close_section(out);
        }
        match self.start.take() {
            Some(_) if self.fence.is_none() && header::is_tagged(inner) => {
                self.notes.push("Text above the first header was ignored.".to_owned());
            }
            Some(error) if self.fence.is_none() => self.errors.push(error),
            _ => {}
        }
        let dialect = HashlineDialect::dialect_of(header);
        let Some(named) = header::read(inner) else {
            self.sections.push(HashlineSection::new(dialect, String::new(), None, self.at));
            let path = dialect.form.split('#').next().unwrap_or_default();
            let close = if header == HeaderStyle::Brackets { "]" } else { "" };
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
        out.push(StreamEvent::File { path: named.path.clone(), action: FileActionKind::Update });
        self.paths.insert(named.path.clone());
        self.sections.push(HashlineSection::new(dialect, named.path, named.tag, self.at));
    }

    /// Handles the first line that is neither blank nor a header. It is an error, unless the caller named the file.
    fn start(&mut self, line: &str, out: &mut Vec<StreamEvent>) -> bool {
        if self.start.is_some() || !self.errors.is_empty() || header::is_notice(line) {
            return false;
        }
        let dialect = [HeaderStyle::Pilcrow, HeaderStyle::Brackets].map(HashlineDialect::dialect_of).into_iter();
        let meant = dialect.into_iter().find(|dialect| (dialect.read)(line).is_some());
        if let (Some(path), Some(dialect)) = (self.file.clone(), meant) {
            out.push(StreamEvent::File { path: path.clone(), action: FileActionKind::Update });
            self.sections.push(HashlineSection::new(dialect, path, None, self.at));
            return true;
        }
        self.start = Some(section::no_header(line, self.at));
        false
    }

    /// Handles a line that is in no section. An operation there would be lost, so the text is refused.
    fn ignore(&mut self, line: &str) {
        if let Some((_, mention)) = header::mentioned(line) {
            self.mention = Some(mention.to_owned());
        }
        // Rows above the first header are edits of another format, or have lost their header.
        if self.sections.is_empty() && self.fence.is_none() && self.lost.is_none() {
            let row = line.starts_with('+').then(|| section::no_header(line, self.at));
            self.lost =
                row.or_else(|| stray::foreign(HashlineDialect::dialect_of(HeaderStyle::Pilcrow), line, self.at));
        }
        let read = |header| (HashlineDialect::dialect_of(header).read)(line).is_some();
        if self.lost.is_none()
            && !current::is_verbless(line)
            && [HeaderStyle::Pilcrow, HeaderStyle::Brackets].into_iter().any(read)
        {
            self.lost = Some(stray::lost(line, self.at, self.mention.as_deref()));
        }
    }

    /// Parses a line of a section.
    fn row(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        let Some(section) = self.sections.last_mut() else { return };
        let dialect = section.dialect_row;
        let inside = self.open.as_ref().is_some_and(|open| open.op.kind == OpKind::Body);
        let op = (dialect.read)(line).filter(|_| !(inside && current::is_verbless(line)));
        if let Some(op) = op {
            self.close(BodyEnd::Operation, out);
            match op {
                Ok(op) => self.begin(op, line, out),
                Err(fault) => self.fail(fault.error(self.at, line)),
            }
            return;
        }
        if let Some(text) = line.strip_prefix('+') {
            self.push(dialect, RowKind::Plus, text, out);
        } else if let Some(error) = stray::foreign(dialect, line, self.at).filter(|_| !self.skipping) {
            self.open = None;
            self.fail(error);
        } else if !stray::is_elision(line) {
            self.push(dialect, RowKind::Bare, line, out);
        } else if inside {
            self.open = None;
            self.fail(stray::elided(line, self.at));
        } else {
            self.notes.push(format!(
                "Line {} of the input ({}) was ignored; it is not part of a file.",
                self.at,
                trimmed(line)
            ));
        }
    }

    /// Adds a row to the open operation, or reports one that belongs to none.
    fn push(&mut self, dialect: &'static HashlineDialect, sort: RowKind, text: &str, out: &mut Vec<StreamEvent>) {
        let at = self.at;
        if let Some(open) = &mut self.open {
            let kind = if sort == RowKind::Plus { HunkLineKind::Added } else { HunkLineKind::Bare };
            out.push(StreamEvent::Line { kind, text: text.to_owned() });
            open.rows.push(BodyRow { sort, text: text.to_owned(), at });
            return;
        }
        if self.skipping && !(sort == RowKind::Bare && stray::begins_like_an_operation(text)) {
            return;
        }
        let Some(section) = self.sections.last_mut() else { return };
        if sort == RowKind::Bare && text.starts_with('#') && section.is_untouched() {
            section.comment.get_or_insert((at, text.to_owned()));
            return;
        }
        let sent = if sort == RowKind::Plus { format!("+{text}") } else { text.to_owned() };
        let (at, text) = section.comment.take().unwrap_or((at, sent));
        self.fail(stray::orphan(dialect, &text, at));
    }

    fn begin(&mut self, op: OpLine, line: &str, out: &mut Vec<StreamEvent>) {
        self.skipping = false;
        if let Some(section) = self.sections.last_mut() {
            section.comment = None;
        }
        out.push(StreamEvent::Hunk { line: self.at });
        let mut rows = Vec::new();
        if let Some(text) = &op.inline {
            out.push(StreamEvent::Line { kind: HunkLineKind::Added, text: text.clone() });
            rows.push(BodyRow { sort: RowKind::Plus, text: text.clone(), at: self.at });
        }
        self.open = Some(OpenOp { op, source: trimmed(line).to_owned(), at: self.at, rows });
    }

    /// Completes the open operation.
    fn close(&mut self, end: BodyEnd, out: &mut Vec<StreamEvent>) {
        let Some(mut open) = self.open.take() else { return };
        let Some(section) = self.sections.last_mut() else { return };
        let taken = body::resolve_rows(section.dialect_row, &section.path, &mut open, end)
            .and_then(|settled| section.take(open, settled));
        match taken {
            Ok(()) => {
                if !self.quiet {
                    out.extend(
                        section.last_op().map(|(op, base)| StreamEvent::Rows { op: Box::new(op.clone()), base }),
                    );
                }
                out.push(StreamEvent::HunkDone);
            }
            Err(error) => self.fail(error),
        }
    }

    fn close_section(&mut self, out: &mut Vec<StreamEvent>) {
        if self.outside {
            return;
        }
        self.close(BodyEnd::Section, out);
        let Some(section) = self.sections.last_mut() else { return };
        if let Some((at, text)) = section.comment.take() {
            let error = stray::orphan(section.dialect_row, &text, at);
            self.fail(error);
            return;
        }
        out.push(StreamEvent::FileDone);
    }
}

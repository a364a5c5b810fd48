//! The parser: a state machine fed line by line, with a lookahead of at most two lines. Text outside of headers and
//! hunks is prose.

use super::body::Body;
use super::bounds::{self, Ahead};
use super::packed::Packed;
use super::patch::FilePatch;
use super::range::Header;
use super::slips::{Slip, Slips, broken};
use crate::binary::MOST_BYTES;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::multi_edit::MOST_EDITS;
use crate::formats::stream::{Event, Machine, Manner};
use crate::op::Request;
use std::collections::VecDeque;
use std::ops::Range;

/// State of the parser.
#[derive(Debug)]
pub(super) enum State {
    Outside,
    Hunk(Box<Body>),
    Binary(Packed),
}

/// The parser.
pub(super) struct Reader {
    pub(super) manner: Manner,
    pub(super) state: State,
    /// Lines that wait for the following ones.
    held: VecDeque<String>,
    /// 1-based number of the current line.
    pub(super) at: usize,
    /// The patch's indentation.
    pub(super) indent: String,
    /// The open fence: character and length.
    pub(super) fence: Option<(char, usize)>,
    /// The preceding line was `+++`: a hunk may begin without its header.
    pub(super) fresh: bool,
    /// The line that ended a hunk without being part of one.
    pub(super) left_at: usize,
    pub(super) file: Option<FilePatch>,
    done: Vec<FilePatch>,
    hunks: usize,
    /// Remaining bytes that binary patches may unpack.
    budget: usize,
    pub(super) slips: Slips,
    failed: Option<Error>,
    claimed: Option<Vec<Range<usize>>>,
    /// Events for the lines of hunks are suppressed.
    quiet: bool,
    /// Within `apply_patch` headers, whose lines are ignored whatever they look like.
    pub(super) foreign: bool,
}

impl Reader {
    pub(super) fn new(manner: &Manner) -> Reader {
        Reader {
            manner: manner.clone(),
            state: State::Outside,
            held: VecDeque::new(),
            at: 0,
            indent: String::new(),
            fence: None,
            fresh: false,
            left_at: 0,
            file: None,
            done: Vec::new(),
            hunks: 0,
            budget: MOST_BYTES,
            slips: Slips::default(),
            failed: None,
            claimed: None,
            quiet: false,
            foreign: false,
        }
    }

    /// Returns the ranges of lines that are certainly unified diff, even if they have errors.
    pub(super) fn claims(text: &str) -> Vec<Range<usize>> {
        let mut reader = Reader { claimed: Some(Vec::new()), quiet: true, ..Reader::new(&Manner::default()) };
        let mut events = Vec::new();
        for line in text.strip_prefix('\u{FEFF}').unwrap_or(text).lines() {
            reader.line(line, &mut events);
            events.clear();
        }
        reader.rest(&mut events);
        reader.leave(false, &mut events);
        reader.close(&mut events);
        reader.claimed.unwrap_or_default()
    }

    pub(super) fn claim(&mut self, lines: Range<usize>) {
        let Some(claimed) = &mut self.claimed else { return };
        match claimed.last_mut() {
            Some(last) if lines.start <= last.end => last.end = last.end.max(lines.end),
            _ => claimed.push(lines),
        }
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.state = State::Outside;
        if self.claimed.is_none() {
            self.failed.get_or_insert(error);
        }
    }

    /// Parses the lines that were held back.
    fn rest(&mut self, out: &mut Vec<Event>) {
        while !self.held.is_empty() {
            self.next_held(out);
        }
    }

    fn next_held(&mut self, out: &mut Vec<Event>) {
        let Some(line) = self.held.pop_front() else { return };
        let known: [Option<String>; 2] = [0, 1].map(|index| self.held.get(index).cloned());
        self.step(&line, [known[0].as_deref(), known[1].as_deref()], out);
    }

    fn step(&mut self, line: &str, ahead: Ahead<'_>, out: &mut Vec<Event>) {
        self.at += 1;
        if self.failed.is_some() {
            return;
        }
        match &mut self.state {
            State::Outside => self.outside(line, ahead, out),
            State::Binary(packed) => {
                let text = line.strip_prefix(&*self.indent).unwrap_or(line);
                match packed.take(self.at, text, &mut self.budget) {
                    Ok(true) => {}
                    Ok(false) => {
                        self.leave(false, out);
                        self.outside(line, ahead, out);
                    }
                    Err(error) => self.fail(error),
                }
            }
            State::Hunk(body) => {
                let indent = &*self.indent;
                let ahead_here = ahead.map(|line| line.map(|line| line.strip_prefix(indent).unwrap_or(line)));
                let text = match line.strip_prefix(indent) {
                    None if line.trim().is_empty() => Some(""),
                    text => text,
                };
                let text = text.filter(|text| !bounds::ends(body, text, ahead_here, self.fence));
                let taken = match text {
                    None => {
                        self.leave(false, out);
                        self.left_at = self.at;
                        return self.outside(line, ahead, out);
                    }
                    Some(text) if is_marker(text) => {
                        body.mark_open(self.at, &mut self.slips, out);
                        Ok(())
                    }
                    Some(text) => body.take(self.at, text, &mut self.slips, out),
                };
                if let Err(error) = taken {
                    self.fail(error);
                }
            }
        }
    }

    /// Ends the open hunk or binary patch. `cut` as in [`Machine::finish`].
    fn leave(&mut self, cut: bool, out: &mut Vec<Event>) {
        match std::mem::replace(&mut self.state, State::Outside) {
            State::Outside => {}
            State::Hunk(body) => {
                let begins = body.begins();
                let ended = body.end(cut, &mut self.slips, out);
                match ended {
                    Ok((hunk, last)) => {
                        self.claim(begins - 1..last);
                        if let Some(file) = &mut self.file {
                            file.hunks.push(hunk);
                        }
                    }
                    Err(error) => self.fail(error),
                }
            }
            State::Binary(packed) => {
                let ended = packed.end(self.at);
                match (ended, &mut self.file) {
                    (Ok(parts), Some(file)) => file.binary = Some(parts),
                    (Ok(_), None) => {}
                    (Err(error), _) => self.fail(error),
                }
            }
        }
    }

    /// Completes the file.
    pub(super) fn close(&mut self, out: &mut Vec<Event>) {
        let Some(mut file) = self.file.take().filter(|file| !file.is_void()) else { return };
        if file.git && file.hunks.is_empty() {
            self.claim(file.lines.0 - 1..file.lines.1);
        }
        if self.done.len() == MOST_EDITS {
            return self.fail(too_many("files"));
        }
        self.tell(&mut file, out);
        out.push(Event::FileDone);
        self.done.push(file);
    }

    /// Emits the event for the beginning of the file, once.
    fn tell(&mut self, file: &mut FilePatch, out: &mut Vec<Event>) {
        if std::mem::replace(&mut file.told, true) || self.claimed.is_some() {
            return;
        }
        match file.heading(&self.manner) {
            Ok((path, action)) => out.push(Event::File { path, action }),
            Err(error) => self.fail(error),
        }
    }

    /// Begins a file on this line.
    pub(super) fn begin(&mut self, out: &mut Vec<Event>) -> &mut FilePatch {
        self.close(out);
        self.file.insert(FilePatch::at(self.at))
    }

    /// Takes the indentation of a line as that of the patch.
    pub(super) fn indented(&mut self, indent: &str) {
        if self.indent != indent {
            indent.clone_into(&mut self.indent);
            if !indent.is_empty() {
                self.slips.add(Slip::Indent, self.at);
            }
        }
    }

    /// Begins a hunk: on the next line, or, without a header, on this one.
    pub(super) fn begin_hunk(&mut self, header: Header, out: &mut Vec<Event>) {
        let numbered = header.first.0.is_some();
        let mut file = match (self.file.take().filter(|file| !file.is_void()), &self.manner.file) {
            (Some(file), _) => file,
            (None, Some(path)) => FilePatch { known: Some(path.clone()), ..FilePatch::at(self.at) },
            (None, None) if self.claimed.is_some() && numbered => FilePatch::at(self.at),
            (None, None) if self.claimed.is_some() => return,
            (None, None) => {
                let what = "a hunk begins, but nothing says which file it is about.";
                return self.fail(broken(self.at, what).next("Put --- a/PATH and +++ b/PATH above the first hunk."));
            }
        };
        self.hunks += 1;
        if self.hunks > MOST_EDITS {
            return self.fail(too_many("hunks"));
        }
        if file.hunks.is_empty() {
            self.claim(file.lines.0 - 1..self.at);
        }
        if header.overflow {
            self.slips.add(Slip::Overflow, self.at);
        }
        self.tell(&mut file, out);
        self.file = Some(file);
        if self.failed.is_none() {
            out.push(Event::Hunk { line: self.at });
            self.state = State::Hunk(Box::new(Body::new(header, self.at, self.quiet)));
        }
    }
}

/// `\ No newline at end of file`
fn is_marker(text: &str) -> bool {
    text.starts_with("\\ ") || text.starts_with("\\No newline")
}

fn too_many(what: &str) -> Error {
    Error::new(Code::CallTooLarge, format!("The patch has more than the {MOST_EDITS} {what} that one call may have."))
        .next("Send it in several calls.")
}

impl Machine for Reader {
    fn quiet(&mut self) {
        self.quiet = true;
    }

    fn line(&mut self, line: &str, out: &mut Vec<Event>) {
        if self.failed.is_some() {
            return;
        }
        if self.held.is_empty() && bounds::ahead(line) == 0 {
            return self.step(line, [None, None], out);
        }
        self.held.push_back(line.to_owned());
        while self.held.front().is_some_and(|first| self.held.len() > bounds::ahead(first)) {
            self.next_held(out);
        }
    }

    fn finish(mut self: Box<Self>, cut: bool, out: &mut Vec<Event>) -> Result<Request> {
        self.rest(out);
        let truncated = matches!(&self.state, State::Hunk(body) if body.is_truncated());
        self.leave(cut || truncated, out);
        self.close(out);
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut request = Request::default();
        if self.manner.reverse {
            self.done.reverse();
        }
        for file in self.done {
            request.files.extend(file.requests(&self.manner, &mut self.slips)?);
        }
        if request.files.is_empty() {
            return Err(broken(1, "there is no unified diff in it."));
        }
        request.notes = self.slips.notes();
        Ok(request)
    }
}

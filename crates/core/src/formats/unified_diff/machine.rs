//! The state machine: line by line, with at most two lines of foresight. What is outside of headers and hunks is prose.

use super::body::Body;
use super::bounds::{self, Ahead};
use super::header;
use super::name;
use super::packed::Packed;
use super::patch::FilePatch;
use super::range::{self, Header};
use super::slips::{Slip, Slips, broken};
use crate::binary::MOST_BYTES;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::multi_edit::MOST_EDITS;
use crate::formats::name::fence;
use crate::formats::stream::{Event, Machine, Manner};
use crate::op::Request;
use std::collections::VecDeque;
use std::ops::Range;

/// Where the machine is.
#[derive(Debug)]
enum State {
    Outside,
    Hunk(Box<Body>),
    Binary(Packed),
}

/// The parser.
pub(super) struct Reader {
    manner: Manner,
    state: State,
    /// Lines that wait for the next ones.
    held: VecDeque<String>,
    /// 1-based line that is being read.
    at: usize,
    /// The patch's indentation.
    indent: String,
    /// The fence that is open: sign and length.
    fence: Option<(char, usize)>,
    /// The line before was `+++`: a hunk may begin without its header.
    fresh: bool,
    file: Option<FilePatch>,
    done: Vec<FilePatch>,
    hunks: usize,
    /// Bytes that binary patches may still unpack.
    budget: usize,
    slips: Slips,
    failed: Option<Error>,
    claimed: Option<Vec<Range<usize>>>,
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
            file: None,
            done: Vec::new(),
            hunks: 0,
            budget: MOST_BYTES,
            slips: Slips::default(),
            failed: None,
            claimed: None,
        }
    }

    /// The stretches of lines that are surely unified diff; what is wrong in them is not asked.
    pub(super) fn claims(text: &str) -> Vec<Range<usize>> {
        let mut reader = Reader { claimed: Some(Vec::new()), ..Reader::new(&Manner::default()) };
        let mut events = Vec::new();
        for line in text.lines() {
            reader.line(line, &mut events);
            events.clear();
        }
        reader.rest(&mut events);
        reader.leave(false, &mut events);
        reader.close(&mut events);
        reader.claimed.unwrap_or_default()
    }

    fn claim(&mut self, lines: Range<usize>) {
        let Some(claimed) = &mut self.claimed else { return };
        match claimed.last_mut() {
            Some(last) if lines.start <= last.end => last.end = last.end.max(lines.end),
            _ => claimed.push(lines),
        }
    }

    fn fail(&mut self, error: Error) {
        self.state = State::Outside;
        if self.claimed.is_none() {
            self.failed.get_or_insert(error);
        }
    }

    /// The lines that were held back.
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

    /// Ends what is open: a hunk or a binary patch. `cut` as in [`Machine::finish`].
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

    /// The file is complete.
    fn close(&mut self, out: &mut Vec<Event>) {
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

    /// Tells that the file begins, once.
    fn tell(&mut self, file: &mut FilePatch, out: &mut Vec<Event>) {
        if std::mem::replace(&mut file.told, true) || self.claimed.is_some() {
            return;
        }
        match file.heading(&self.manner) {
            Ok((path, action)) => out.push(Event::File { path, action }),
            Err(error) => self.fail(error),
        }
    }

    /// A file begins on this line.
    fn begin(&mut self, out: &mut Vec<Event>) -> &mut FilePatch {
        self.close(out);
        self.file.insert(FilePatch::at(self.at))
    }

    /// Takes the indentation of a line for that of the patch.
    fn indented(&mut self, indent: &str) {
        if self.indent != indent {
            indent.clone_into(&mut self.indent);
            if !indent.is_empty() {
                self.slips.add(Slip::Indent, self.at);
            }
        }
    }

    /// A hunk begins: on the next line, or, without a header, on this one.
    fn begin_hunk(&mut self, header: Header, out: &mut Vec<Event>) {
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
            self.state = State::Hunk(Box::new(Body::new(header, self.at)));
        }
    }

    /// A line outside of hunks.
    fn outside(&mut self, line: &str, ahead: Ahead<'_>, out: &mut Vec<Event>) {
        let fresh = std::mem::take(&mut self.fresh);
        if fresh && self.headless(line, out) {
            return;
        }
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        let ahead = ahead.map(|line| line.and_then(|line| line.strip_prefix(indent)));
        if let Some((sign, len, info)) = fence(text) {
            match self.fence {
                Some(open) if info.is_empty() && open.0 == sign && len >= open.1 => self.fence = None,
                None => self.fence = Some((sign, len)),
                Some(_) => {}
            }
            return;
        }
        if let Some(header) = range::read(text) {
            let known = self.file.as_ref().is_some_and(|file| !file.is_void()) || self.manner.file.is_some();
            // In prose, words behind `@@` are words.
            if known || header.section.is_none() || header.first.0.is_some() {
                self.indented(indent);
                if header.first.0.is_none() && !header.overflow {
                    self.slips.add(Slip::NoNumbers, self.at);
                }
                self.begin_hunk(header, out);
            }
            return;
        }
        if self.names(text, indent, ahead, out) {
            return;
        }
        if bounds::is_structure(text, ahead[0]) || text.starts_with("***************") {
            return self.structure(text, indent, out);
        }
        let at = self.at;
        if let Some(file) = self.file.as_mut().filter(|file| file.git && file.hunks.is_empty()) {
            match header::read(file, text) {
                Ok(true) => file.lines.1 = at,
                Ok(false) => {}
                Err(what) => self.fail(broken(at, what)),
            }
        }
    }

    /// A hunk without a header: a line with a mark directly below `+++`.
    fn headless(&mut self, line: &str, out: &mut Vec<Event>) -> bool {
        let text = line.strip_prefix(&*self.indent).unwrap_or(line);
        if !text.starts_with([' ', '-', '+']) || text.starts_with("--- ") {
            return false;
        }
        self.slips.add(Slip::NoHeader, self.at);
        self.begin_hunk(Header::default(), out);
        if let State::Hunk(body) = &mut self.state {
            if let Err(error) = body.take(self.at, text, &mut self.slips, out) {
                self.fail(error);
            }
        }
        true
    }

    /// `--- old` and `+++ new`, or one of them above a hunk.
    fn names(&mut self, text: &str, indent: &str, ahead: Ahead<'_>, out: &mut Vec<Event>) -> bool {
        let begins = |line: Option<&str>| line.is_some_and(range::is_header);
        let next_is_new = ahead[0].is_some_and(|next| next.starts_with("+++ "));
        let (old, side) = match (text.strip_prefix("--- "), text.strip_prefix("+++ ")) {
            (Some(side), _) if next_is_new || begins(ahead[0]) => (true, side),
            (_, Some(side)) if begins(ahead[0]) || self.awaits_new() => (false, side),
            _ => return false,
        };
        let side = match name::side(side) {
            Ok(side) => side,
            Err(what) => {
                self.fail(broken(self.at, &format!("{what}.")));
                return true;
            }
        };
        self.indented(indent);
        let at = self.at;
        let full = |file: &FilePatch| {
            !file.hunks.is_empty() || file.sides.1.is_some() || old && file.sides.0.is_some() || file.binary.is_some()
        };
        let file = match &mut self.file {
            Some(file) if !full(file) => file,
            _ => self.begin(out),
        };
        file.lines.1 = at;
        if old {
            file.sides.0 = Some(side);
        } else {
            file.sides.1 = Some(side);
            self.fresh = true;
        }
        true
    }

    /// The line before was `---` with this file's old name.
    fn awaits_new(&self) -> bool {
        let waits = |file: &FilePatch| file.sides.0.is_some() && file.sides.1.is_none() && file.lines.1 + 1 == self.at;
        self.file.as_ref().is_some_and(waits)
    }

    /// The other lines that say something.
    fn structure(&mut self, text: &str, indent: &str, out: &mut Vec<Event>) {
        let at = self.at;
        if let Some(pair) = text.strip_prefix("diff --git ") {
            self.indented(indent);
            let pair = name::git_pair(pair);
            let file = self.begin(out);
            file.git = true;
            file.pair = pair.map_or((None, None), |(old, new)| (Some(old), Some(new)));
        } else if range::is_combined(text) || text.starts_with("diff --c") {
            self.claim(at - 1..at);
            let what = "this is a combined diff (of a merge, with two parents or more), which says no single change.";
            self.fail(
                broken(at, what).next("Make a diff against one parent: git diff HEAD^1 HEAD, or git diff --ours."),
            );
        } else if text.starts_with("diff -") {
            self.close(out);
        } else if text == "GIT binary patch" {
            if self.file.is_none() {
                return self.fail(broken(at, "a binary patch begins, but nothing says which file it is about."));
            }
            self.indented(indent);
            self.state = State::Binary(Packed::default());
        } else if let Some(name) = text.strip_prefix("Index: ") {
            self.indented(indent);
            let file = self.begin(out);
            file.known = Some(name.trim().to_owned());
        } else if bounds::is_binary_notice(text) {
            let what = format!("`{}` does not say how.", text.trim_end());
            self.fail(broken(at, &what).next("Make the patch with git diff --binary, or leave the file out."));
        } else if bounds::is_only_in(text) {
            self.slips.add(Slip::OnlyIn, at);
        } else if text.starts_with("***************") {
            self.fail(broken(at, "this is a context diff (diff -c).").next("Send a unified diff (diff -u)."));
        } else if bounds::is_envelope(text) && text.contains(':') {
            let what = "this is an apply_patch header; a text is read in one format.";
            self.fail(broken(at, what).next("Send the unified diff and the apply_patch text in two calls."));
            self.close(out);
        } else {
            // Begin and End Patch, and the line between two mails.
            self.close(out);
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
        self.leave(cut, out);
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

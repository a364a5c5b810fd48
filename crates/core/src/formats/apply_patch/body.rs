//! The lines of an operation: those of a new file, and the chunks of an update.

use super::machine::{Chunk, HEADERS, Reader, Section, State, What};
use super::marker::{self, At, AtSlip, Marker};
use super::request;
use super::slips::Slip;
use crate::formats::stream::{Action, Event};
use crate::op::{Hunk, HunkLine, LineKind};

const AT: &str = "Write the lines below `@@`: each begins with a blank (it stays), `-` (it goes) or `+` (it is new).";

impl Reader {
    /// Parses a line of an operation.
    pub(super) fn body(&mut self, line: &str, out: &mut Vec<Event>) {
        match self.state {
            State::Update => self.update(line, out),
            _ if line.trim().is_empty() => self.blanks += 1,
            State::Add => self.add(line, out),
            State::Between if self.manner.file.is_some() && marker::at(line).is_some() => {
                let path = self.manner.file.clone().unwrap_or_default();
                self.slip(Slip::NoUpdate);
                self.state = State::Update;
                out.push(Event::File { path: path.clone(), action: Action::Update });
                let what = What::Update { to: None, hunks: Vec::new() };
                self.sections.push(Section { path, also: Vec::new(), line: self.line, what });
                self.update(line, out);
            }
            State::Between => self.wrong(line, "an operation is expected here.", HEADERS, false),
            _ => {
                let name = self.sections.last().map_or("", |section| &section.path);
                let what = "nothing may stand below `*** Delete File:`.";
                self.wrong(line, what, format!("Send `*** Delete File: {name}` alone."), true);
            }
        }
    }

    /// Parses a line of a new file.
    fn add(&mut self, line: &str, out: &mut Vec<Event>) {
        if let Some((_, _)) = self.header.take() {
            let names = self.sections.last().is_some_and(|section| request::names(line, "+++ ", &section.path));
            if names {
                return self.slip(Slip::UnifiedHeader);
            }
            self.wrong(line, "the line above has no `+`.", "Put a `+` before every line of a new file.", false);
        }
        if self.fresh && line.starts_with("@@") {
            return self.slip(Slip::ChunkInNew);
        }
        if self.fresh && line.starts_with("--- ") {
            self.header = Some((self.line, line.to_owned()));
            return;
        }
        self.fresh = false;
        let number = self.line;
        let blanks = std::mem::take(&mut self.blanks);
        let Some(Section { what: What::Add { text }, .. }) = self.sections.last_mut() else { return };
        if line.starts_with("\\ ") && text.ends_with('\n') {
            text.pop();
            return;
        }
        for at in 0..blanks {
            text.push('\n');
            self.slips.add(Slip::BlankInNew, number - blanks + at);
        }
        let (content, sure) = match line.strip_prefix('+') {
            Some(content) => (content, true),
            None => (line, !line.trim_start().starts_with('+')),
        };
        text.push_str(content);
        text.push('\n');
        out.push(Event::Line { kind: LineKind::Added, text: content.to_owned() });
        if content.len() == line.len() {
            let next = format!("Send `+{}`, and so every line of a new file.", request::shown(line));
            self.wrong(line, "a line of a new file has no `+`.", next, sure);
        }
    }

    /// Parses a line of an update.
    fn update(&mut self, line: &str, out: &mut Vec<Event>) {
        let path = self.sections.last().map_or("", |section| &section.path);
        if let Some((number, header)) = self.header.take() {
            if request::names(line, "+++ ", path) {
                self.slips.add(Slip::UnifiedHeader, number);
                return;
            }
            self.chunk_line(&header, number, out);
        }
        if self.fresh && request::is_diff_line(line, self.sections.last().map_or("", |section| &section.path)) {
            return self.slip(Slip::UnifiedHeader);
        }
        let path = self.sections.last().map_or("", |section| &section.path);
        if self.fresh && request::names(line, "--- ", path) {
            self.header = Some((self.line, line.to_owned()));
            return;
        }
        if let Some(at) = marker::at(line) {
            return self.open_chunk(&at, out);
        }
        if line.starts_with("@@@ ") {
            self.wrong(line, "a combined diff (of a merge) cannot be applied.", AT, false);
        }
        if line.is_empty() {
            self.blanks += 1;
            return;
        }
        self.chunk_line(line, self.line, out);
    }

    /// Parses an `@@` line.
    fn open_chunk(&mut self, at: &At<'_>, out: &mut Vec<Event>) {
        let nested = self.chunk.as_ref().is_some_and(|chunk| !chunk.begun);
        if !nested {
            self.close_chunk(out);
            let hunk = Hunk { said_at: self.line, ..Hunk::default() };
            self.chunk = Some(Chunk { hunk, begun: false });
        }
        if self.blanks > 0 {
            self.slips.add(Slip::BlankBetween, self.line - 1);
            self.blanks = 0;
        }
        self.fresh = false;
        if let Some(slip) = at.slip {
            self.slip(if slip == AtSlip::Numbers { Slip::Numbers } else { Slip::At });
        }
        let Some(Chunk { hunk, .. }) = &mut self.chunk else { return };
        hunk.scopes.extend(at.scope.map(str::to_owned));
        hunk.first = at.first.or(hunk.first);
        hunk.section = at.section.map(str::to_owned).or(hunk.section.take());
    }

    /// Parses a line of a chunk that is not empty.
    fn chunk_line(&mut self, line: &str, number: usize, out: &mut Vec<Event>) {
        self.fresh = false;
        let ended = self.chunk.is_none() && self.last_hunk().is_some_and(|hunk| hunk.at_end);
        if ended {
            let what = "a line stands below `*** End of File`.";
            self.wrong(line, what, "Begin a new chunk with `@@`.", true);
        }
        if line.starts_with("\\ ") {
            return self.open_end();
        }
        let chunk =
            self.chunk.get_or_insert_with(|| Chunk { hunk: Hunk { said_at: number, ..Hunk::default() }, begun: false });
        let (kind, text) = match line.as_bytes().first() {
            Some(b' ') => (LineKind::Context, &line[1..]),
            Some(b'-') => (LineKind::Removed, &line[1..]),
            Some(b'+') => (LineKind::Added, &line[1..]),
            _ => (LineKind::Bare, line),
        };
        // An empty line between others is an empty line of the file; at an edge it may be layout.
        let blank = if chunk.begun { LineKind::Context } else { LineKind::Bare };
        if !chunk.begun {
            out.push(Event::Hunk { line: chunk.hunk.said_at });
            chunk.begun = true;
        }
        for _ in 0..std::mem::take(&mut self.blanks) {
            out.push(Event::Line { kind: blank, text: String::new() });
            chunk.hunk.lines.push(HunkLine { kind: blank, text: String::new() });
        }
        // A line marked as unterminated that is not the last of its side does have a line end.
        chunk.hunk.open.0 &= kind == LineKind::Added;
        chunk.hunk.open.1 &= kind == LineKind::Removed;
        out.push(Event::Line { kind, text: text.to_owned() });
        chunk.hunk.lines.push(HunkLine { kind, text: text.to_owned() });
        if kind == LineKind::Bare {
            self.slips.add(Slip::Unmarked, number);
        }
    }

    /// Parses `\ No newline at end of file`, in any wording.
    fn open_end(&mut self) {
        let Some(Chunk { hunk, .. }) = &mut self.chunk else { return };
        match hunk.lines.last().map(|line| line.kind) {
            Some(LineKind::Removed) => hunk.open.0 = true,
            Some(LineKind::Added) => hunk.open.1 = true,
            Some(_) => hunk.open = (true, true),
            None => {}
        }
    }

    fn last_hunk(&self) -> Option<&Hunk> {
        match self.sections.last() {
            Some(Section { what: What::Update { hunks, .. }, .. }) => hunks.last(),
            _ => None,
        }
    }

    /// Ends a chunk.
    pub(super) fn close_chunk(&mut self, out: &mut Vec<Event>) {
        let Some(Chunk { mut hunk, begun }) = self.chunk.take() else { return };
        if !begun {
            if hunk.scopes.is_empty() {
                self.slips.add(Slip::EmptyChunk, hunk.said_at);
            } else {
                let shown = format!("@@ {}", hunk.scopes.join(" / "));
                self.wrong(&shown, "no line follows the `@@` lines above.", AT, false);
            }
            return;
        }
        let blanks = std::mem::take(&mut self.blanks);
        // After new lines only, an empty line is no context.
        let only_new = hunk.lines.iter().all(|line| line.kind == LineKind::Added);
        if only_new && blanks > 0 {
            self.slips.add(Slip::BlankBetween, self.line - 1);
        }
        for _ in 0..if only_new { 0 } else { blanks } {
            out.push(Event::Line { kind: LineKind::Bare, text: String::new() });
            hunk.lines.push(HunkLine { kind: LineKind::Bare, text: String::new() });
        }
        out.push(Event::HunkDone);
        if let Some(Section { what: What::Update { hunks, .. }, .. }) = self.sections.last_mut() {
            hunks.push(hunk);
        }
    }

    /// Handles the line of a unified header without its partner.
    pub(super) fn flush_header(&mut self, out: &mut Vec<Event>) {
        let Some((number, header)) = self.header.take() else { return };
        if self.state == State::Update {
            self.chunk_line(&header, number, out);
        } else {
            self.wrong(
                &header,
                "a line of a new file has no `+`.",
                "Put a `+` before every line of a new file.",
                false,
            );
        }
    }

    /// Accepts an indented `*** End Patch` as the last line of all: nothing else can be meant.
    pub(super) fn end_behind_blanks(&mut self, out: &mut Vec<Event>) {
        let Some(Chunk { hunk, .. }) = &mut self.chunk else { return };
        let ends = |line: &HunkLine| {
            line.kind == LineKind::Context && matches!(marker::read(line.text.trim()), Some((Marker::End, true)))
        };
        if hunk.lines.len() < 2 || !hunk.lines.last().is_some_and(ends) {
            return;
        }
        hunk.lines.pop();
        self.slips.add(Slip::EndIndented, self.last.0);
        self.blanks = 0;
        self.close(out);
        self.state = State::After;
    }
}

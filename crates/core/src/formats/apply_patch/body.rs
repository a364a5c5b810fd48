//! The lines of an operation: those of a new file, and the chunks of an update.

use super::marker::{self, ChunkHeader, ChunkHeaderMistake, Marker};
use super::mistakes::ApplyPatchMistake;
use super::parser::{
    ApplyPatchParser, ApplyPatchState, HEADERS_ADVICE, MOVE_ADVICE, OpenChunk, PatchSection, SectionAction,
};
use super::request;
use crate::formats::line_parser::{FileActionKind, StreamEvent, pop_line_end};
use crate::locate::op::{Hunk, HunkLine, HunkLineKind};

const CHUNK_HEADER_ADVICE: &str =
    "Write the lines below `@@`: each begins with a space (unchanged), `-` (removed) or `+` (added).";

impl ApplyPatchParser {
    /// Parses a line of an operation.
    pub(super) fn body(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        match self.state {
            ApplyPatchState::Update => self.update(line, out),
            _ if line.trim().is_empty() => self.blank_lines += 1,
            ApplyPatchState::Add => self.add(line, out),
            ApplyPatchState::Between if self.options.file.is_some() && marker::at(line).is_some() => {
                let path = self.options.file.clone().unwrap_or_default();
                self.note_mistake(ApplyPatchMistake::NoUpdate);
                self.state = ApplyPatchState::Update;
                out.push(StreamEvent::File { path: path.clone(), action: FileActionKind::Update });
                let what = SectionAction::Update { to: None, hunks: Vec::new() };
                self.sections.push(PatchSection {
                    path,
                    also: Vec::new(),
                    bare_to: None,
                    line: self.line,
                    action: what,
                });
                self.update(line, out);
            }
            ApplyPatchState::Between if self.begins_unified(line) => self.begin_unified(line, out),
            ApplyPatchState::Between => {
                self.note_problem(line, "an operation is expected here.", HEADERS_ADVICE, false);
            }
            _ => {
                let name = self.sections.last().map_or("", |section| &section.path);
                let what = "no lines may follow `*** Delete File:`.";
                self.note_problem(line, what, format!("Send `*** Delete File: {name}` alone."), true);
            }
        }
    }

    /// Parses a line of a new file.
    fn add(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        if let Some((_, _)) = self.header.take() {
            let names =
                self.sections.last().is_some_and(|section| request::is_file_header(line, "+++ ", &section.path));
            if names {
                return self.note_mistake(ApplyPatchMistake::UnifiedHeader);
            }
            self.note_problem(line, "the line above has no `+`.", "Put a `+` before every line of a new file.", false);
        }
        if self.fresh && line.starts_with("@@") {
            return self.note_mistake(ApplyPatchMistake::ChunkInNew);
        }
        if self.fresh && line.starts_with("--- ") {
            self.header = Some((self.line, line.to_owned()));
            return;
        }
        self.fresh = false;
        let number = self.line;
        let blank_lines = std::mem::take(&mut self.blank_lines);
        let Some(PatchSection { action: SectionAction::Add { text }, .. }) = self.sections.last_mut() else { return };
        if line.starts_with("\\ ") && text.ends_with('\n') {
            pop_line_end(text);
            return;
        }
        for at in 0..blank_lines {
            text.push('\n');
            self.mistakes.add(ApplyPatchMistake::BlankInNew, number - blank_lines + at);
        }
        let (content, sure) = match line.strip_prefix('+') {
            Some(content) => (content, true),
            None => (line, !line.trim_start().starts_with('+')),
        };
        text.push_str(content);
        // If the headers end in CRLF as well, the CRLF comes from how the patch was sent.
        let keeps = self.crlf && !self.header_crlf;
        text.push_str(if keeps { "\r\n" } else { "\n" });
        if keeps {
            self.mistakes.add(ApplyPatchMistake::LineEnds, number);
        }
        out.push(StreamEvent::Line { kind: HunkLineKind::Added, text: content.to_owned() });
        if content.len() == line.len() {
            let next = format!("Send `+{}`, and so every line of a new file.", request::shown(line));
            self.note_problem(line, "a line of a new file has no `+`.", next, sure);
        }
    }

    /// Parses a line of an update.
    fn update(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        let path = self.sections.last().map_or("", |section| &section.path);
        if let Some((number, header)) = self.header.take() {
            if request::is_file_header(line, "+++ ", path) {
                self.mistakes.add(ApplyPatchMistake::UnifiedHeader, number);
                return;
            }
            self.chunk_line(&header, number, out);
        }
        if self.fresh && request::is_diff_line(line, self.sections.last().map_or("", |section| &section.path)) {
            return self.note_mistake(ApplyPatchMistake::UnifiedHeader);
        }
        if self.fresh && ["rename from ", "rename to "].iter().any(|start| line.starts_with(start)) {
            return self.note_problem(line, "a rename is not written so in this format.", MOVE_ADVICE, false);
        }
        let path = self.sections.last().map_or("", |section| &section.path);
        if self.fresh && request::is_file_header(line, "--- ", path) {
            self.header = Some((self.line, line.to_owned()));
            return;
        }
        if let Some(at) = marker::at(line) {
            return self.open_chunk(&at, out);
        }
        if line.starts_with("@@@ ") {
            self.note_problem(line, "a combined diff (of a merge) cannot be applied.", CHUNK_HEADER_ADVICE, false);
        }
        if line.is_empty() {
            self.blank_lines += 1;
            return;
        }
        self.chunk_line(line, self.line, out);
    }

    /// Parses an `@@` line.
    fn open_chunk(&mut self, at: &ChunkHeader<'_>, out: &mut Vec<StreamEvent>) {
        let nested = self.chunk.as_ref().is_some_and(|chunk| !chunk.begun);
        if !nested {
            self.close_chunk(out);
            let hunk = Hunk { source_line: self.line, ..Hunk::default() };
            self.chunk = Some(OpenChunk { hunk, ..OpenChunk::default() });
        }
        if self.blank_lines > 0 {
            self.mistakes.add(ApplyPatchMistake::BlankBetween, self.line - 1);
            self.blank_lines = 0;
        }
        self.fresh = false;
        if let Some(mistake) = at.mistake {
            self.note_mistake(if mistake == ChunkHeaderMistake::Numbers {
                ApplyPatchMistake::Numbers
            } else {
                ApplyPatchMistake::At
            });
        }
        let Some(OpenChunk { hunk, old_count, .. }) = &mut self.chunk else { return };
        hunk.scopes.extend(at.scope.map(str::to_owned));
        if at.first.is_some() {
            (hunk.first, *old_count) = (at.first, at.old_count);
        }
        hunk.section = at.section.map(str::to_owned).or(hunk.section.take());
    }

    /// Parses a line of a chunk; the line is not empty.
    fn chunk_line(&mut self, line: &str, number: usize, out: &mut Vec<StreamEvent>) {
        self.fresh = false;
        let ended = self.chunk.is_none() && self.last_hunk().is_some_and(|hunk| hunk.at_end);
        if ended {
            let what = "a line follows `*** End of File`.";
            self.note_problem(line, what, "Begin a new chunk with `@@`.", true);
        }
        if line.starts_with("\\ ") {
            return self.open_end();
        }
        let chunk = self.chunk.get_or_insert_with(|| OpenChunk {
            hunk: Hunk { source_line: number, ..Hunk::default() },
            ..OpenChunk::default()
        });
        let (kind, text) = match line.as_bytes().first() {
            Some(b' ') => (HunkLineKind::Context, &line[1..]),
            Some(b'-') => (HunkLineKind::Removed, &line[1..]),
            Some(b'+') => (HunkLineKind::Added, &line[1..]),
            _ => (HunkLineKind::Bare, line),
        };
        // An empty line between others is an empty line of the file; at an edge it may be layout.
        let blank = if chunk.begun { HunkLineKind::Context } else { HunkLineKind::Bare };
        if !chunk.begun {
            out.push(StreamEvent::Hunk { line: chunk.hunk.source_line });
            chunk.begun = true;
        }
        for _ in 0..std::mem::take(&mut self.blank_lines) {
            out.push(StreamEvent::Line { kind: blank, text: String::new() });
            chunk.hunk.lines.push(HunkLine { kind: blank, text: String::new() });
        }
        // A line that is marked as unterminated but is not the last of its side does have a line end.
        chunk.hunk.open.0 &= kind == HunkLineKind::Added;
        chunk.hunk.open.1 &= kind == HunkLineKind::Removed;
        out.push(StreamEvent::Line { kind, text: text.to_owned() });
        chunk.hunk.lines.push(HunkLine { kind, text: text.to_owned() });
        if kind == HunkLineKind::Bare {
            self.mistakes.add(ApplyPatchMistake::Unmarked, number);
        }
    }

    /// Parses `\ No newline at end of file`, in any wording.
    fn open_end(&mut self) {
        let Some(OpenChunk { hunk, .. }) = &mut self.chunk else { return };
        match hunk.lines.last().map(|line| line.kind) {
            Some(HunkLineKind::Removed) => hunk.open.0 = true,
            Some(HunkLineKind::Added) => hunk.open.1 = true,
            Some(_) => hunk.open = (true, true),
            None => {}
        }
    }

    fn last_hunk(&self) -> Option<&Hunk> {
        match self.sections.last() {
            Some(PatchSection { action: SectionAction::Update { hunks, .. }, .. }) => hunks.last(),
            _ => None,
        }
    }

    /// Ends a chunk.
    pub(super) fn close_chunk(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(OpenChunk { mut hunk, old_count, begun }) = self.chunk.take() else { return };
        if !begun {
            if hunk.scopes.is_empty() {
                self.mistakes.add(ApplyPatchMistake::EmptyChunk, hunk.source_line);
            } else {
                let shown = format!("@@ {}", hunk.scopes.join(" / "));
                self.note_problem(&shown, "no line follows the `@@` lines above.", CHUNK_HEADER_ADVICE, false);
            }
            return;
        }
        let blank_lines = std::mem::take(&mut self.blank_lines);
        // After only new lines, an empty line is not context.
        let only_new = hunk.lines.iter().all(|line| line.kind == HunkLineKind::Added);
        if only_new && blank_lines > 0 {
            self.mistakes.add(ApplyPatchMistake::BlankBetween, self.line - 1);
        }
        // A position that is given only by wrong numbers is ignored.
        hunk.first = hunk.first.filter(|_| !only_new || old_count.is_none_or(|count| count == 0));
        for _ in 0..if only_new { 0 } else { blank_lines } {
            out.push(StreamEvent::Line { kind: HunkLineKind::Bare, text: String::new() });
            hunk.lines.push(HunkLine { kind: HunkLineKind::Bare, text: String::new() });
        }
        out.push(StreamEvent::HunkDone);
        if let Some(PatchSection { action: SectionAction::Update { hunks, .. }, .. }) = self.sections.last_mut() {
            hunks.push(hunk);
        }
    }

    /// Handles the line of a unified header without its partner.
    pub(super) fn flush_header(&mut self, out: &mut Vec<StreamEvent>) {
        let Some((number, header)) = self.header.take() else { return };
        if self.state == ApplyPatchState::Update {
            self.chunk_line(&header, number, out);
        } else {
            self.note_problem(
                &header,
                "a line of a new file has no `+`.",
                "Put a `+` before every line of a new file.",
                false,
            );
        }
    }

    /// Accepts an indented `*** End Patch` as the last line of the text: nothing else can be meant.
    pub(super) fn end_after_blank_lines(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(OpenChunk { hunk, .. }) = &mut self.chunk else { return };
        if hunk.lines.len() < 2
            || !hunk.lines.last().is_some_and(|line| {
                line.kind == HunkLineKind::Context
                    && matches!(marker::read(line.text.trim()), Some((Marker::End, true)))
            })
        {
            return;
        }
        hunk.lines.pop();
        self.mistakes.add(ApplyPatchMistake::EndIndented, self.last.0);
        self.blank_lines = 0;
        self.close(out);
        self.state = ApplyPatchState::After;
    }
}

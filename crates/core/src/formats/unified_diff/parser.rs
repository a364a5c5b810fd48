//! The parser: a state machine that is fed line by line, with a lookahead of at most two lines. Text outside of headers
//! and hunks is prose.

use super::binary_patch::BinaryPatch;
use super::body::{HunkBody, HunkEnd};
use super::bounds::{self, Lookahead, PatchFence};
use super::mistakes::{UnifiedDiffMistake, UnifiedDiffMistakes, broken, open_fence};
use super::move_sources::{self, RequestOrigin};
use super::patch::FilePatch;
use super::range::HunkHeader;
use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::line_parser::{LineParser, ParseOptions, StreamEvent};
use crate::locate::binary::BINARY_RESULT_BYTES_MAX;
use crate::locate::op::EDITS_PER_CALL_MAX;
use crate::locate::op::Request;
use crate::work;
use std::collections::VecDeque;
use std::ops::Range;

/// State of the parser.
#[derive(Debug)]
pub(super) enum UnifiedDiffState {
    Outside,
    Hunk(Box<HunkBody>),
    Binary(BinaryPatch),
}

/// A line whose meaning depends on the lines after it.
struct HeldLine {
    text: String,
    /// True if the line ends in `\r\n`.
    crlf: bool,
}

/// The parser.
pub(super) struct UnifiedDiffParser {
    pub(super) options: ParseOptions,
    pub(super) state: UnifiedDiffState,
    /// Lines whose meaning depends on the lines after them.
    held: VecDeque<HeldLine>,
    /// True if the current line ends in `\r\n`.
    crlf: bool,
    /// 1-based number of the current line.
    pub(super) at: usize,
    /// The indentation of the whole patch.
    pub(super) indent: String,
    /// The open fence.
    pub(super) fence: Option<PatchFence>,
    /// The last line outside of hunks and fences that is not blank, and the file that it names above the open fence.
    pub(super) prose: String,
    pub(super) fence_name: Option<String>,
    /// True if the preceding line was `+++`: a hunk may begin without its header.
    pub(super) fresh: bool,
    /// The number of the line that ended a hunk without being part of one.
    pub(super) ended_at: usize,
    pub(super) file: Option<FilePatch>,
    done: Vec<FilePatch>,
    hunks: usize,
    /// Number of commits that began so far.
    pub(super) commits: usize,
    /// git's headers that no `diff --git` precedes: they belong to the file named directly below them.
    pub(super) loose_headers: Vec<(usize, String)>,
    /// Number of bytes that binary patches may still unpack.
    budget: usize,
    pub(super) mistakes: UnifiedDiffMistakes,
    failed: Option<Error>,
    detected: Option<Vec<Range<usize>>>,
    /// True if events for the lines of hunks are suppressed.
    quiet: bool,
    /// True after an `apply_patch` header, up to `*** End Patch`: these lines are ignored whatever they look like.
    pub(super) foreign: bool,
}

impl UnifiedDiffParser {
    pub(super) fn new(options: &ParseOptions) -> UnifiedDiffParser {
        UnifiedDiffParser {
            options: options.clone(),
            state: UnifiedDiffState::Outside,
            held: VecDeque::new(),
            crlf: false,
            at: 0,
            indent: String::new(),
            fence: None,
            prose: String::new(),
            fence_name: None,
            fresh: false,
            ended_at: 0,
            file: None,
            done: Vec::new(),
            hunks: 0,
            commits: 0,
            loose_headers: Vec::new(),
            budget: BINARY_RESULT_BYTES_MAX,
            mistakes: UnifiedDiffMistakes::default(),
            failed: None,
            detected: None,
            quiet: false,
            foreign: false,
        }
    }

    /// Sets the number of the request's lines that precede the text, so that messages name lines of the request.
    pub(super) fn behind(mut self, lines: usize) -> UnifiedDiffParser {
        self.at = lines;
        self
    }

    /// Returns the ranges of lines that are certainly a unified diff, even if they have errors.
    pub(super) fn detect_ranges(text: &str) -> Vec<Range<usize>> {
        let mut reader = UnifiedDiffParser {
            detected: Some(Vec::new()),
            quiet: true,
            ..UnifiedDiffParser::new(&ParseOptions::default())
        };
        let mut events = Vec::new();
        for line in work::lines(text.strip_prefix('\u{FEFF}').unwrap_or(text)) {
            reader.line(line, &mut events);
            events.clear();
        }
        reader.rest(&mut events);
        reader.leave(HunkEnd::Line, &mut events);
        reader.close(&mut events);
        reader.detected.unwrap_or_default()
    }

    pub(super) fn note_detected(&mut self, lines: Range<usize>) {
        let Some(detected) = &mut self.detected else { return };
        match detected.last_mut() {
            Some(last) if lines.start <= last.end => last.end = last.end.max(lines.end),
            _ => detected.push(lines),
        }
    }

    pub(super) fn fail(&mut self, error: Error) {
        self.state = UnifiedDiffState::Outside;
        if self.detected.is_none() {
            self.failed.get_or_insert(error);
        }
    }

    /// Parses the lines that were held back.
    fn rest(&mut self, out: &mut Vec<StreamEvent>) {
        while !self.held.is_empty() {
            self.next_held(out);
        }
    }

    fn next_held(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(HeldLine { text: line, crlf }) = self.held.pop_front() else { return };
        let following = std::mem::take(&mut self.held);
        let next = std::mem::replace(&mut self.crlf, crlf);
        self.step(&line, [0, 1].map(|index| following.get(index).map(|held| &*held.text)), out);
        self.crlf = next;
        self.held = following;
    }

    fn step(&mut self, line: &str, ahead: Lookahead<'_>, out: &mut Vec<StreamEvent>) {
        self.at += 1;
        if self.failed.is_some() {
            return;
        }
        match &mut self.state {
            UnifiedDiffState::Outside => self.outside(line, ahead, out),
            UnifiedDiffState::Binary(packed) => {
                let text = line.strip_prefix(&*self.indent).unwrap_or(line);
                match packed.take(self.at, text, &mut self.budget) {
                    Ok(true) => {}
                    Ok(false) => {
                        self.leave(HunkEnd::Line, out);
                        self.outside(line, ahead, out);
                    }
                    Err(error) => self.fail(error),
                }
            }
            UnifiedDiffState::Hunk(body) => {
                let indent = &*self.indent;
                let ahead_here = ahead.map(|line| line.map(|line| line.strip_prefix(indent).unwrap_or(line)));
                let text = match line.strip_prefix(indent) {
                    None if line.trim().is_empty() => Some(""),
                    text => text,
                };
                let text = text.filter(|text| !bounds::ends(body, text, ahead_here, self.fence));
                let taken = match text {
                    None => {
                        self.leave(HunkEnd::Line, out);
                        self.ended_at = self.at;
                        return self.outside(line, ahead, out);
                    }
                    Some(text) if is_marker(text) => {
                        body.mark_open(self.at, &mut self.mistakes, out);
                        Ok(())
                    }
                    Some(text) => {
                        body.next_line_end(self.crlf);
                        body.take(self.at, text, &mut self.mistakes, out)
                    }
                };
                if let Err(error) = taken {
                    self.fail(error);
                }
            }
        }
    }

    /// Ends the open hunk or binary patch.
    fn leave(&mut self, end: HunkEnd, out: &mut Vec<StreamEvent>) {
        match std::mem::replace(&mut self.state, UnifiedDiffState::Outside) {
            UnifiedDiffState::Outside => {}
            UnifiedDiffState::Hunk(body) => {
                let begins = body.begins();
                let ended = body.end(end, &mut self.mistakes, out);
                match ended {
                    Ok((hunk, last)) => {
                        self.note_detected(begins - 1..last);
                        if let Some(file) = &mut self.file {
                            file.hunks.push(hunk);
                        }
                    }
                    Err(error) => self.fail(error),
                }
            }
            UnifiedDiffState::Binary(packed) => {
                let ended = packed.end(self.at);
                match (ended, &mut self.file) {
                    (Ok(parts), Some(file)) => file.binary = Some(parts),
                    (Ok(_), None) => {}
                    (Err(error), _) => self.fail(error),
                }
            }
        }
    }

    /// Refuses headers without a hunk at the end of a text whose fence is open: the hunks, or a part of the last header,
    /// may be missing.
    fn check_headers(&mut self) {
        let Some(fence) = self.fence else { return };
        let is_open = !matches!(self.state, UnifiedDiffState::Hunk(_));
        if let Some(file) = self.file.as_ref().filter(|file| is_open && file.hunks.is_empty() && !file.is_void())
            && file.lines.0 > fence.line
        {
            self.fail(open_fence(file.lines.0, "below these headers", fence.line));
        }
    }

    /// Completes the file.
    pub(super) fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(mut file) = self.file.take().filter(|file| !file.is_void()) else { return };
        file.commit = self.commits;
        if file.git && file.hunks.is_empty() {
            self.note_detected(file.lines.0 - 1..file.lines.1);
        }
        if self.done.len() == EDITS_PER_CALL_MAX {
            return self.fail(too_many("files"));
        }
        self.emit(&mut file, out);
        out.push(StreamEvent::FileDone);
        self.done.push(file);
    }

    /// Emits the event for the beginning of the file, once.
    fn emit(&mut self, file: &mut FilePatch, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut file.file_emitted, true) || self.detected.is_some() {
            return;
        }
        match file.heading(&self.options) {
            Ok((path, action)) => out.push(StreamEvent::File { path, action }),
            Err(error) => self.fail(error),
        }
    }

    /// Begins a file on this line.
    pub(super) fn begin(&mut self, out: &mut Vec<StreamEvent>) -> &mut FilePatch {
        self.close(out);
        self.file.insert(FilePatch::at(self.at))
    }

    /// Records the indentation of a line as that of the patch.
    pub(super) fn indented(&mut self, indent: &str) {
        if self.indent != indent {
            indent.clone_into(&mut self.indent);
            if !indent.is_empty() {
                self.mistakes.add(UnifiedDiffMistake::Indent, self.at);
            }
        }
    }

    /// Begins a hunk: on the next line or, if it has no header, on this one.
    pub(super) fn begin_hunk(&mut self, header: HunkHeader, out: &mut Vec<StreamEvent>) {
        let numbered = header.first.0.is_some();
        if let Some(name) = self.fence_name.take().filter(|_| self.options.file.is_none()) {
            self.mistakes.add(UnifiedDiffMistake::FenceName, self.at);
            self.begin(out).known = Some(name);
        }
        let mut file = match (self.file.take().filter(|file| !file.is_void()), &self.options.file) {
            (Some(file), _) => file,
            (None, Some(path)) => FilePatch { known: Some(path.clone()), ..FilePatch::at(self.at) },
            (None, None) if self.detected.is_some() && numbered => FilePatch::at(self.at),
            (None, None) if self.detected.is_some() => return,
            (None, None) => {
                let what = "a hunk begins, but no file is named for it.";
                return self.fail(broken(self.at, what).next(nameless_hunk_advice("--- a/PATH and +++ b/PATH")));
            }
        };
        self.hunks += 1;
        if self.hunks > EDITS_PER_CALL_MAX {
            return self.fail(too_many("hunks"));
        }
        if file.hunks.is_empty() {
            self.note_detected(file.lines.0 - 1..self.at);
        }
        file.crlf |= self.crlf;
        if header.overflow {
            self.mistakes.add(UnifiedDiffMistake::Overflow, self.at);
        }
        self.emit(&mut file, out);
        self.file = Some(file);
        if self.failed.is_none() {
            out.push(StreamEvent::Hunk { line: self.at });
            self.state = UnifiedDiffState::Hunk(Box::new(HunkBody::new(header, self.at, self.quiet)));
        }
    }
}

/// Creates the request of a patch from its files and what is wrong with it.
///
/// Errors: those of the files, and [`Code::EditUnparsable`] if there is none.
pub(super) fn request_of(
    mut files: Vec<FilePatch>,
    options: &ParseOptions,
    mut mistakes: UnifiedDiffMistakes,
) -> Result<Request> {
    let mut request = Request::default();
    if options.reverse {
        files.reverse();
    }
    let mut origins = Vec::new();
    for file in files {
        let origin = RequestOrigin::of(&file);
        request.files.extend(file.requests(options, &mut mistakes)?);
        origins.resize(request.files.len(), origin);
    }
    if !options.reverse {
        move_sources::settle(&mut request.files, &origins)?;
    }
    if request.files.is_empty() {
        return Err(broken(1, "the text contains no unified diff."));
    }
    request.notes = mistakes.notes();
    Ok(request)
}

/// Returns the advice for a hunk without a file. The call can name the file where the client's tool has that field.
pub(in crate::formats) fn nameless_hunk_advice(names: &str) -> Advice {
    let above = format!("Put {names} above the first hunk");
    advice![above.clone(), ", or give the path of the file as ", Phrase::Quoted("file"), "."].or(format!("{above}."))
}

/// True for a line such as `\ No newline at end of file`.
fn is_marker(text: &str) -> bool {
    text.starts_with("\\ ") || text.starts_with("\\No newline")
}

fn too_many(what: &str) -> Error {
    Error::new(
        Code::CallTooLarge,
        format!("The patch has more than the {EDITS_PER_CALL_MAX} {what} that one call may have."),
    )
    .next("Send it in several calls.")
}

impl LineParser for UnifiedDiffParser {
    fn skip_events(&mut self) {
        self.quiet = true;
    }

    fn next_line_end(&mut self, crlf: bool) {
        self.crlf = crlf;
    }

    fn line(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        if self.failed.is_some() {
            return;
        }
        if self.held.is_empty() && bounds::lookahead_needed(line) == 0 {
            return self.step(line, [None, None], out);
        }
        self.held.push_back(HeldLine { text: line.to_owned(), crlf: self.crlf });
        while self.held.front().is_some_and(|first| self.held.len() > bounds::lookahead_needed(&first.text)) {
            self.next_held(out);
        }
    }

    fn finish(mut self: Box<Self>, cut: bool, out: &mut Vec<StreamEvent>) -> Result<Request> {
        self.rest(out);
        let end = match self.fence {
            Some(fence) => HunkEnd::OpenFence { line: fence.line, cut },
            None if cut => HunkEnd::Cut,
            None => HunkEnd::Text,
        };
        self.check_headers();
        self.leave(end, out);
        self.close(out);
        if let Some(error) = self.failed {
            return Err(error);
        }
        request_of(self.done, &self.options, self.mistakes)
    }
}

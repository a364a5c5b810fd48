//! The parser: a state machine from lines to operations, for patches that arrive in chunks and for complete ones.
//!
//! The first error is kept, and parsing continues as if the line had been correct, so that the error can show the whole
//! corrected patch.

use super::marker::{self, Marker};
use super::mistakes::{ApplyPatchMistake, ApplyPatchMistakes};
use super::request::{self, PatchProblem};
use super::shell::{self, HeredocOpener};
use crate::advice::Advice;
use crate::error::Result;
use crate::formats::line_parser::{FileActionKind, LineParser, ParseOptions, StreamEvent, strip_fewer};
use crate::locate::op::{Hunk, Request};
use crate::note::{Note, Notes};

/// State of the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApplyPatchState {
    /// Before a patch.
    Before,
    /// After the first line of a patch, or after a line that closed an operation.
    Between,
    Add,
    Delete,
    Update,
    /// In a unified diff.
    Unified,
    /// After the last line of a patch.
    After,
}

/// One operation as written.
#[derive(Debug)]
pub(super) struct PatchSection {
    pub(super) path: String,
    /// Alternative names of the file.
    pub(super) also: Vec<String>,
    /// The destination of a move without git's prefix.
    pub(super) bare_to: Option<String>,
    /// 1-based line of the operation's header.
    pub(super) line: usize,
    pub(super) action: SectionAction,
}

/// The action of an operation.
#[derive(Debug)]
pub(super) enum SectionAction {
    Add { text: String },
    Delete,
    Update { to: Option<String>, hunks: Vec<Hunk> },
}

/// The chunk that is being parsed.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    pub(super) hunk: Hunk,
    /// The number of old lines that the header announces.
    pub(super) old_count: Option<usize>,
    /// True if the chunk has a line.
    pub(super) begun: bool,
}

/// The parser.
pub(super) struct ApplyPatchParser {
    pub(super) options: ParseOptions,
    pub(super) state: ApplyPatchState,
    /// 1-based number of the current line.
    pub(super) line: usize,
    pub(super) begin: usize,
    pub(super) sections: Vec<PatchSection>,
    pub(super) chunk: Option<OpenChunk>,
    /// Empty lines whose meaning depends on the next line.
    pub(super) blank_lines: usize,
    /// The `---` line of a unified header that waits for its `+++`.
    pub(super) header: Option<(usize, String)>,
    /// True if the operation has no lines so far.
    pub(super) fresh: bool,
    /// True if the current line, and the header of the operation, end in `\r\n`.
    pub(super) crlf: bool,
    pub(super) header_crlf: bool,
    /// Whitespace before `*** Begin Patch`; it is stripped from all lines once a line shows that the whole patch is
    /// indented.
    pub(super) indent: String,
    pub(super) indented: bool,
    pub(super) opener: Option<(usize, HeredocOpener)>,
    /// The directory of a `cd` line directly above the patch.
    pub(super) entered: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) environment: Option<String>,
    pub(super) mistakes: ApplyPatchMistakes,
    pub(super) notes: Notes,
    pub(super) problem: Option<PatchProblem>,
    /// The parser of a unified diff in the patch.
    pub(super) unified: Option<Box<dyn LineParser>>,
    /// The last line that was not blank.
    pub(super) last: (usize, String),
}

impl ApplyPatchParser {
    pub(super) fn new(options: &ParseOptions) -> ApplyPatchParser {
        ApplyPatchParser {
            options: options.clone(),
            state: ApplyPatchState::Before,
            line: 0,
            begin: 0,
            sections: Vec::new(),
            chunk: None,
            blank_lines: 0,
            header: None,
            fresh: false,
            crlf: false,
            header_crlf: false,
            indent: String::new(),
            indented: false,
            opener: None,
            entered: None,
            directory: None,
            environment: None,
            mistakes: ApplyPatchMistakes::default(),
            notes: Notes::new(),
            problem: None,
            unified: None,
            last: (0, String::new()),
        }
    }

    pub(super) fn note_mistake(&mut self, mistake: ApplyPatchMistake) {
        self.mistakes.add(mistake, self.line);
    }

    /// Records the problem with a line, if it is the first one.
    pub(super) fn note_problem(&mut self, line: &str, what: impl Into<String>, next: impl Into<Advice>, sure: bool) {
        let sure_so_far = self.problem.as_ref().is_none_or(|problem| problem.sure);
        let first = self.problem.take();
        let mut problem = first.unwrap_or_else(|| PatchProblem::new(self.line, line, what, next));
        problem.sure = sure && sure_so_far;
        self.problem = Some(problem);
    }

    /// Parses a line outside of any patch.
    fn outside(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        let trimmed = line.trim();
        let found = marker::read(trimmed);
        match found {
            Some((Marker::Begin, exact)) => self.begin(line, exact),
            Some((marker, true)) if marker.is_operation() && trimmed.len() == line.trim_end().len() => {
                self.begin = self.line;
                self.state = ApplyPatchState::Between;
                self.indent.clear();
                self.note_mistake(ApplyPatchMistake::NoBegin);
                self.operation(marker, line, out);
            }
            _ if trimmed.is_empty() => {}
            _ => self.around(trimmed),
        }
    }

    fn around(&mut self, line: &str) {
        let opener = shell::opener(line);
        let closes =
            self.state == ApplyPatchState::After && self.opener.as_ref().is_some_and(|it| line.starts_with(&it.1.tag));
        if let Some(mut opener) = opener {
            if let Some(directory) = self.entered.take() {
                let inner = opener.directory.as_deref();
                opener.directory =
                    Some(inner.map_or_else(|| directory.clone(), |it| shell::join(Some(&directory), it)));
            }
            self.opener = Some((self.line, opener));
        } else {
            self.opener = None;
            if closes {
                return;
            }
            self.entered = shell::directory(line).map(str::to_owned);
            self.note_mistake(ApplyPatchMistake::Around);
        }
    }

    /// Parses `*** Begin Patch`.
    fn begin(&mut self, line: &str, exact: bool) {
        if !exact {
            self.note_mistake(ApplyPatchMistake::Marker);
        }
        if self.state == ApplyPatchState::After {
            self.note_mistake(ApplyPatchMistake::SeveralPatches);
        }
        self.begin = self.line;
        self.state = ApplyPatchState::Between;
        line[..line.len() - line.trim_start().len()].clone_into(&mut self.indent);
        self.indented = false;
        self.environment = None;
        self.directory = None;
        self.entered = None;
        if let Some((_, opener)) = self.opener.clone() {
            self.unwrap_shell(line, opener);
        }
    }

    /// Parses the shell line above the patch.
    fn unwrap_shell(&mut self, line: &str, opener: HeredocOpener) {
        let mut note = "The shell command around the patch was removed".to_owned();
        if let Some(directory) = &opener.directory {
            note = format!("{note}; names start from `{directory}`, as its `cd` says");
        }
        if !opener.beside.is_empty() {
            note = format!("{note}; not run: `{}`", opener.beside.join("`, `"));
        }
        self.notes.push(note + ".");
        if opener.directory.as_deref().is_some_and(shell::is_unknown) {
            let what = "only a shell can resolve the directory of the `cd` before the patch.";
            self.note_problem(line, what, "Send the patch alone, with names from the root of the project.", false);
        }
        self.directory = opener.directory;
    }

    /// Parses a line inside a patch.
    fn inside(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        let line = self.without_indent(line);
        // In an update, whitespace before a marker makes it a line of the file.
        let marker = marker::read(if self.state == ApplyPatchState::Update { line } else { line.trim_start() });
        let Some((marker, exact)) = marker else { return self.body(line, out) };
        self.flush_header(out);
        if !exact && marker != Marker::Unknown {
            self.note_mistake(ApplyPatchMistake::Marker);
        }
        match marker {
            Marker::Begin if self.begin + 1 == self.line && self.sections.is_empty() => {
                self.note_mistake(ApplyPatchMistake::Marker);
            }
            Marker::Begin => {
                let what = format!("a patch begins, but the one on line {} is not ended.", self.begin);
                self.note_problem(line, what, format!("End each patch with `{}`.", marker::END_MARKER), false);
            }
            Marker::End => {
                self.close(out);
                self.state = ApplyPatchState::After;
            }
            Marker::Environment(id) => self.environment(line, id),
            Marker::MoveTo(to) => self.move_to(line, to, out),
            Marker::EndOfFile => self.end_of_file(line, out),
            Marker::Unknown => {
                self.close(out);
                let is_move = ["rename", "move"].iter().any(|word| line.to_lowercase().contains(word));
                let next = if is_move { MOVE_ADVICE } else { HEADERS_ADVICE };
                self.note_problem(line, "there is no such operation.", next, false);
            }
            _ => self.operation(marker, line, out),
        }
    }

    fn without_indent<'a>(&mut self, line: &'a str) -> &'a str {
        if self.indent.is_empty() {
            return line;
        }
        let Some(inner) = line.strip_prefix(&*self.indent) else { return line };
        let shows = match self.state {
            ApplyPatchState::Add => inner.starts_with('+'),
            ApplyPatchState::Update => {
                ["@@", "*** Move to:", "--- ", "diff --git "].iter().any(|start| inner.starts_with(start))
            }
            _ => false,
        };
        if !self.indented && self.fresh && shows {
            self.indented = true;
            self.note_mistake(ApplyPatchMistake::Indented);
        }
        if self.indented { inner } else { line }
    }

    /// Parses the first line of an operation.
    fn operation(&mut self, marker: Marker<'_>, line: &str, out: &mut Vec<StreamEvent>) {
        self.close(out);
        let (state, name_text, action, what) = match marker {
            Marker::Add(name) => {
                (ApplyPatchState::Add, name, FileActionKind::Add, SectionAction::Add { text: String::new() })
            }
            Marker::Delete(name) => (ApplyPatchState::Delete, name, FileActionKind::Delete, SectionAction::Delete),
            Marker::Update(name) => (
                ApplyPatchState::Update,
                name,
                FileActionKind::Update,
                SectionAction::Update { to: None, hunks: Vec::new() },
            ),
            _ => return,
        };
        let (path, also) = self.name(line, name_text);
        self.state = state;
        self.fresh = true;
        self.header_crlf = self.crlf;
        out.push(StreamEvent::File { path: path.clone(), action });
        self.sections.push(PatchSection { path, also, bare_to: None, line: self.line, action: what });
    }

    /// Returns the name in a marker, and the name without its prefix.
    pub(super) fn name(&mut self, line: &str, name_text: &str) -> (String, Vec<String>) {
        let (name, mistake) = marker::clean(name_text);
        if mistake && !name_text.trim().eq(name) {
            self.note_mistake(ApplyPatchMistake::Name);
        }
        if name.is_empty() {
            self.note_problem(line, "the file has no name.", "Write its path after the colon.", false);
        } else if name.contains('\0') {
            self.note_problem(line, "the file name contains a NUL.", "Write its path as it is.", false);
        }
        let Some(bare) = request::strip_directories(name, self.options.strip.unwrap_or(0)) else {
            let count = self.options.strip.unwrap_or(0);
            let what = format!("`{name}` has fewer than {count} leading directories to remove.");
            self.note_problem(line, what, strip_fewer(), false);
            return (name.to_owned(), Vec::new());
        };
        let directory = self.directory.as_deref();
        let prefixed = ["a/", "b/"].into_iter().find_map(|prefix| bare.strip_prefix(prefix));
        let also = prefixed.filter(|it| self.options.strip.is_none() && !it.is_empty());
        (shell::join(directory, bare), also.map(|it| shell::join(directory, it)).into_iter().collect())
    }

    fn environment(&mut self, line: &str, id: &str) {
        let id = id.trim();
        if self.environment.is_some() {
            self.note_problem(line, "the environment is named twice.", "Omit this line.", true);
        } else if id.is_empty() {
            self.note_problem(line, "the environment has no name.", "Omit this line.", true);
        } else if self.state != ApplyPatchState::Between || self.sections.last().is_some_and(|it| it.line > self.begin)
        {
            self.note_problem(
                line,
                "the environment must be named before the first operation.",
                "Omit this line.",
                true,
            );
        } else {
            self.notes.push(format!("The patch names the environment `{id}`; there is only this one."));
        }
        self.environment = Some(id.to_owned());
    }

    fn move_to(&mut self, line: &str, name_text: &str, out: &mut Vec<StreamEvent>) {
        let (target, bare) = self.name(line, name_text);
        let line_number = self.line;
        let Some(PatchSection { path, action: SectionAction::Update { to, hunks }, line: from, bare_to, .. }) =
            self.sections.last_mut()
        else {
            return self.note_problem(line, "nothing is moved here.", MOVE_ADVICE, false);
        };
        if self.state != ApplyPatchState::Update || to.is_some() || self.chunk.is_some() || !hunks.is_empty() {
            let next = format!("Write it directly below `*** Update File: {path}` (line {from}).");
            return self.note_problem(line, "`*** Move to:` is in the wrong place.", next, false);
        }
        *to = Some(target.clone());
        *bare_to = bare.into_iter().next();
        out.push(StreamEvent::File { path: path.clone(), action: FileActionKind::Move { to: target } });
        if self.blank_lines > 0 {
            self.blank_lines = 0;
            self.mistakes.add(ApplyPatchMistake::BlankBetween, line_number - 1);
        }
    }

    fn end_of_file(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        match self.state {
            ApplyPatchState::Add => self.note_mistake(ApplyPatchMistake::ChunkInNew),
            ApplyPatchState::Update if self.chunk.as_ref().is_some_and(|chunk| chunk.begun) => {
                if let Some(chunk) = &mut self.chunk {
                    chunk.hunk.at_end = true;
                }
                self.close_chunk(out);
            }
            _ => {
                self.note_problem(
                    line,
                    "no chunk ends here.",
                    "Write `*** End of File` below the last line of a chunk.",
                    true,
                );
            }
        }
    }

    /// Ends an operation.
    pub(super) fn close(&mut self, out: &mut Vec<StreamEvent>) {
        self.close_chunk(out);
        if std::mem::take(&mut self.blank_lines) > 0 && self.state != ApplyPatchState::Update {
            self.mistakes.add(ApplyPatchMistake::BlankBetween, self.line - 1);
        }
        if matches!(self.state, ApplyPatchState::Add | ApplyPatchState::Update | ApplyPatchState::Delete) {
            out.push(StreamEvent::FileDone);
        }
        self.state = ApplyPatchState::Between;
    }
}

pub(super) const HEADERS_ADVICE: &str =
    "Send one of `*** Add File: PATH`, `*** Update File: PATH`, `*** Delete File: PATH`.";
pub(super) const MOVE_ADVICE: &str =
    "To rename a file, send `*** Update File: OLD` and directly below it `*** Move to: NEW`.";

impl LineParser for ApplyPatchParser {
    fn next_line_end(&mut self, crlf: bool) {
        self.crlf = crlf;
    }

    fn line(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        self.line += 1;
        match self.state {
            ApplyPatchState::Before | ApplyPatchState::After => self.outside(line, out),
            ApplyPatchState::Unified => self.unified_line(line, out),
            _ => self.inside(line, out),
        }
        if !line.trim().is_empty() && self.state != ApplyPatchState::Before {
            self.last.0 = self.line;
            self.last.1.clear();
            self.last.1.push_str(request::shown(line));
        }
    }

    fn finish(mut self: Box<Self>, _cut: bool, out: &mut Vec<StreamEvent>) -> Result<Request> {
        if !matches!(self.state, ApplyPatchState::Before | ApplyPatchState::After) {
            self.flush_header(out);
            self.end_after_blank_lines(out);
        }
        match self.state {
            ApplyPatchState::Before => return Err(request::no_patch()),
            ApplyPatchState::After => {}
            _ => return Err(request::truncated(self.last.0, &self.last.1, self.problem.as_ref())),
        }
        let ApplyPatchParser { sections, mut mistakes, notes, problem, unified, options, .. } = *self;
        let unified = unified.filter(|_| problem.is_none()).map(|diff| diff.finish(false, out)).transpose()?;
        let is_all = unified.is_some() && sections.is_empty();
        let built = request::build(sections, &mut mistakes);
        let notes: Notes =
            notes.into_iter().chain(mistakes.into_notes(ApplyPatchMistake::note).map(Note::from)).collect();
        let mut request = if is_all {
            Request { notes, ..Request::default() }
        } else {
            request::into_request(built, problem, &options, notes)?
        };
        if let Some(diff) = unified {
            request.files.splice(0..0, diff.files);
            request.notes.extend(diff.notes);
        }
        Ok(request)
    }
}

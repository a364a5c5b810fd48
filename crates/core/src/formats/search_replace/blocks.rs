//! From lines to blocks: a state machine, linear in the text. Errors are reported at the end.

use super::draft::{Closed, Draft, Later};
use super::marker::{self, Open};
use super::tags::{self, Tags};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::fence::Fence;
use crate::formats::name;
use crate::formats::stream::{Action, Event, Manner};
use crate::formats::tally::Tally;
use crate::op::LineKind;
use std::collections::VecDeque;
use std::mem;

/// Lines above a block that may hold its file name.
const ABOVE: usize = 5;

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The file's name, without decorations.
    pub(super) path: String,
    /// The text to search for; whole lines with their line ends, unless it was in tags.
    pub(super) search: String,
    /// The replacement.
    pub(super) replace: String,
    /// 1-based line of the file at which the caller expects it.
    pub(super) hint: Option<usize>,
    /// 1-based line of the request on which the block begins.
    pub(super) at: usize,
    /// True for blocks of whole lines.
    pub(super) lines: bool,
}

/// A mistake that is repaired because only one thing can be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// A closing marker of another length or form.
    Close,
    /// The surrounding fence ends the block.
    Fence,
    /// A divider of another length.
    Divider,
    /// Two dividers with nothing between them.
    Doubled,
    /// Options below the divider.
    Option,
    /// Both parts are the same.
    NoChange,
    /// Shell commands.
    Shell,
}

impl Slip {
    pub(super) fn what(self) -> &'static str {
        match self {
            Slip::Close => "the closing marker is not spelled like the opening one; the block was taken to end there",
            Slip::Fence => "the block has no closing marker; it was taken to end with the fence around it",
            Slip::Divider => "the divider is not as long as the opening marker; it was taken as the divider",
            Slip::Doubled => "a second divider directly below the first one was left out",
            Slip::Option => "options below the divider were taken off the new text",
            Slip::NoChange => "a block whose two parts are the same was left out",
            Slip::Shell => "shell commands in the text were not run",
        }
    }
}

/// The blocks of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The blocks in order.
    pub(super) list: Vec<Block>,
    /// Repaired mistakes.
    pub(super) slips: Tally<Slip>,
}

/// Creates an error that names the line of the request.
pub(super) fn broken(line: usize, what: &str) -> Error {
    Error::new(Code::EditUnparsable, format!("Line {line} of the request: {what}")).next(SHAPE).fact("line", line)
}

const SHAPE: &str = "Write each block as the file's path on a line of its own, then <<<<<<< SEARCH, the lines as they are, =======, the new \
lines, >>>>>>> REPLACE. Put a backslash before a line of the text that looks like a marker, or use longer markers (all three of one \
length).";

#[derive(Default)]
enum State {
    #[default]
    Between,
    /// After an opening marker, where Roo's option lines may follow; whether one did.
    Options(Draft, bool),
    Search(Draft),
    /// Directly below the divider.
    Below(Draft),
    Replace(Draft),
    Tagged(Draft, Tags),
}

/// A parser of blocks, fed line by line.
pub(super) struct Reader {
    manner: Manner,
    state: State,
    /// Lines parsed.
    count: usize,
    above: VecDeque<String>,
    fence: Option<Fence>,
    /// The first command in the open fence, if that is a shell's without blocks.
    command: Option<usize>,
    out: Blocks,
    /// A word above a block that was taken for its file name.
    word: Option<String>,
    /// The file of the last event.
    file: Option<String>,
    failed: Option<Error>,
}

impl Reader {
    pub(super) fn new(manner: &Manner) -> Reader {
        Reader {
            manner: manner.clone(),
            state: State::Between,
            count: 0,
            above: VecDeque::new(),
            fence: None,
            command: None,
            out: Blocks::default(),
            word: None,
            file: None,
            failed: None,
        }
    }

    /// Parses the next line.
    pub(super) fn line(&mut self, line: &str, out: &mut Vec<Event>) {
        self.count += 1;
        if self.failed.is_some() {
            return;
        }
        match self.step(self.count, line, out) {
            Ok(state) => self.state = state,
            Err(error) => self.failed = Some(error),
        }
    }

    /// Ends the text.
    ///
    /// Errors: [`Code::EditUnparsable`] with the line of the request.
    pub(super) fn end(mut self, out: &mut Vec<Event>) -> Result<Blocks> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        // Each round ends a block; the lines after it may open another one.
        loop {
            match mem::take(&mut self.state) {
                State::Between => break,
                State::Options(draft, _) => return Err(draft.unclosed()),
                State::Tagged(draft, tags) => return Err(tags.unfinished(draft.at)),
                State::Search(draft) | State::Below(draft) | State::Replace(draft) => {
                    self.state = self.complete(draft.close_nearly(false)?, out)?;
                }
            }
        }
        if self.file.is_some() {
            out.push(Event::FileDone);
        }
        Ok(self.out)
    }

    fn step(&mut self, at: usize, line: &str, out: &mut Vec<Event>) -> Result<State> {
        match mem::take(&mut self.state) {
            State::Between => self.between(at, line, out),
            State::Options(mut draft, any) => match marker::option(line) {
                Some((is_start, number)) => {
                    draft.hint = if is_start { Some(number) } else { draft.hint };
                    Ok(State::Options(draft, true))
                }
                None if any && marker::ends_options(line) => Ok(State::Search(draft)),
                None => self.search(draft, at, line, out),
            },
            State::Search(draft) => self.search(draft, at, line, out),
            State::Below(draft) => self.below(draft, at, line, out),
            State::Replace(draft) => self.replace(draft, at, line, out),
            State::Tagged(draft, tags) => self.tagged(draft, tags, at, line, out),
        }
    }

    fn between(&mut self, at: usize, line: &str, out: &mut Vec<Event>) -> Result<State> {
        if let Some(Open { run, line }) = marker::open(line) {
            return Ok(State::Options(self.begin(at, run, line, out), false));
        }
        if let Some((hint, rest)) = tags::open(line) {
            let draft = self.begin(at, 0, hint, out);
            return self.tagged(draft, Tags::default(), at, rest, out);
        }
        stray(line, at)?;
        self.track(at, line);
        if self.above.len() == ABOVE {
            self.above.pop_front();
        }
        self.above.push_back(line.to_owned());
        Ok(State::Between)
    }

    /// Begins a block on this line.
    fn begin(&mut self, at: usize, run: usize, hint: Option<usize>, out: &mut Vec<Event>) -> Draft {
        let above = name::above(self.above.iter().rev().map(String::as_str)).map(|name| self.manner.name(&name));
        let before = || self.out.list.last().map(|block| block.path.clone());
        let path = above.or_else(before).or_else(|| self.manner.file.clone());
        // A single word may name an existing file; it never creates one.
        let path = path.or_else(|| {
            self.word = name::word_above(self.above.iter().rev().map(String::as_str));
            self.word.clone()
        });
        if let Some(path) = path.as_ref().filter(|path| self.file.as_ref() != Some(path)) {
            out.extend(self.file.is_some().then_some(Event::FileDone));
            out.push(Event::File { path: path.clone(), action: Action::Update });
            self.file = Some(path.clone());
        }
        out.push(Event::Hunk { line: at });
        Draft::new(path, at, run, hint)
    }

    fn search(&mut self, mut draft: Draft, at: usize, line: &str, out: &mut Vec<Event>) -> Result<State> {
        let run = draft.run;
        if marker::divider(line) == Some(run) {
            draft.divide();
            return Ok(State::Below(draft));
        }
        if marker::close(line) == Some(run) {
            return self.complete(draft.close(at)?, out);
        }
        if marker::open(line).is_some_and(|open| open.run == run) {
            let begun = draft.at;
            let Ok(closed) = draft.close_nearly(true) else {
                let what = format!(
                    "the search part of the block of line {begun} contains an opening marker of the same length."
                );
                return Err(broken(at, &what));
            };
            return self.reopen(closed, at, line, out);
        }
        let text = draft.line(at, line, None);
        self.tell(LineKind::Removed, text, out);
        Ok(State::Search(draft))
    }

    /// Parses the first lines below the divider: options that belong above the first part.
    fn below(&mut self, mut draft: Draft, at: usize, line: &str, out: &mut Vec<Event>) -> Result<State> {
        if let Some((is_start, number)) = marker::option(line) {
            draft.option(at, is_start.then_some(number));
            return Ok(State::Below(draft));
        }
        if marker::ends_options(line) && draft.has_options() {
            return Ok(State::Replace(draft));
        }
        self.replace(draft, at, line, out)
    }

    fn replace(&mut self, mut draft: Draft, at: usize, line: &str, out: &mut Vec<Event>) -> Result<State> {
        let (begun, run) = (draft.at, draft.run);
        if marker::close(line) == Some(run) {
            return self.complete(draft.close(at)?, out);
        }
        let divides = marker::divider(line) == Some(run);
        if divides && draft.doubled.is_none() && draft.is_bare() {
            draft.doubled = Some(at);
            return Ok(State::Replace(draft));
        }
        if divides || draft.doubled.is_some() && !line.trim().is_empty() && marker::look(line).is_none() {
            let signs = "=".repeat(run);
            let what = format!(
                "the block of line {begun} has a second {signs}; one of the two is text and needs a backslash, or the block longer markers."
            );
            return Err(broken(draft.doubled.unwrap_or(at), &what));
        }
        if marker::open(line).is_some_and(|open| open.run == run) {
            let Ok(closed) = draft.close_nearly(true) else {
                let what = format!("a block begins, but the one of line {begun} is not closed.");
                return Err(broken(at, &what));
            };
            return self.reopen(closed, at, line, out);
        }
        let text = draft.line(at, line, self.fence.as_ref());
        self.tell(LineKind::Added, text, out);
        Ok(State::Replace(draft))
    }

    /// Begins the next block after one without an exact end.
    fn reopen(&mut self, closed: Closed, at: usize, line: &str, out: &mut Vec<Event>) -> Result<State> {
        self.state = self.complete(closed, out)?;
        self.step(at, line, out)
    }

    fn tagged(&mut self, draft: Draft, mut tags: Tags, at: usize, text: &str, out: &mut Vec<Event>) -> Result<State> {
        let Some((search, replace)) = tags.read(text, at)? else {
            return Ok(State::Tagged(draft, tags));
        };
        self.tell(LineKind::Removed, &search, out);
        let Draft { path, hint, at, .. } = draft;
        let block = Block { path: path.unwrap_or_default(), search, replace, hint, at, lines: false };
        self.complete(Closed { block, told: 0, slips: Vec::new(), later: Vec::new() }, out)
    }

    /// Takes a complete block, and parses the lines after it once more.
    fn complete(&mut self, closed: Closed, out: &mut Vec<Event>) -> Result<State> {
        let Closed { block, told, slips, later } = closed;
        self.tell(LineKind::Added, &block.replace[told..], out);
        out.push(Event::HunkDone);
        if block.path.is_empty() || block.search.is_empty() && self.word.as_ref() == Some(&block.path) {
            return Err(broken(block.at, "the block has no file name above it, and no block before it has one."));
        }
        for (slip, at) in slips {
            self.out.slips.add(slip, at);
        }
        self.out.list.push(block);
        self.above.clear();
        self.command = None;
        if let Some(fence) = &mut self.fence {
            fence.forget_shell();
        }
        self.state = State::Between;
        for Later { at, line } in later {
            self.state = self.step(at, &line, out)?;
        }
        Ok(mem::take(&mut self.state))
    }

    /// Emits events for lines of a block.
    fn tell(&self, kind: LineKind, text: &str, out: &mut Vec<Event>) {
        let kind = match kind {
            LineKind::Removed if self.manner.reverse => LineKind::Added,
            LineKind::Added if self.manner.reverse => LineKind::Removed,
            kind => kind,
        };
        let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line));
        out.extend(lines.map(|line| Event::Line { kind, text: line.to_owned() }));
    }

    /// Tracks fences between blocks.
    fn track(&mut self, at: usize, line: &str) {
        match &self.fence {
            Some(open) if open.is_closed_by(line) => {
                if let Some(command) = self.command.take() {
                    self.out.slips.add(Slip::Shell, command);
                }
                self.fence = None;
            }
            Some(open) if open.is_shell() && !line.trim().is_empty() => self.command = self.command.or(Some(at)),
            Some(_) => {}
            None => self.fence = Fence::opened_by(line),
        }
    }
}

/// Reports a marker out of place.
fn stray(line: &str, at: usize) -> Result<()> {
    if marker::close(line).is_some() {
        return Err(broken(at, "a block is closed here, but none is open."));
    }
    if marker::nearly_open(line) {
        return Err(broken(at, &format!("`{}` is not a marker: at least five `<` and the word SEARCH.", line.trim())));
    }
    Ok(())
}

//! From lines to blocks: a state machine, in time linear in the text. What is wrong in a line is told at the end.

use super::marker::{self, Open};
use super::tags::{self, Tags};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::name;
use crate::formats::stream::{Action, Event, Manner};
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
    /// The text to look for; whole lines with their line ends, unless it stood in tags.
    pub(super) search: String,
    /// The text to put there.
    pub(super) replace: String,
    /// 1-based line of the file at which the caller expects it.
    pub(super) hint: Option<usize>,
    /// 1-based line of the request on which the block begins.
    pub(super) at: usize,
    /// True for blocks of whole lines.
    pub(super) lines: bool,
}

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    /// In order.
    pub(super) list: Vec<Block>,
    /// There are shell commands in fences of their own; nobody runs them.
    pub(super) shell: bool,
    /// The last block ended with the text, not with its marker.
    pub(super) unclosed: bool,
}

/// An error that names the line of the request.
pub(super) fn broken(line: usize, what: &str) -> Error {
    Error::new(Code::EditUnparsable, format!("Line {line} of the request: {what}")).next(SHAPE).fact("line", line)
}

const SHAPE: &str = "Write each block as the file's path on a line of its own, then <<<<<<< SEARCH, the lines as they are, =======, the new \
lines, >>>>>>> REPLACE. Put a backslash before a line of the text that looks like a marker, or use longer markers (all three of one \
length).";

/// A block that is being read.
pub(super) struct Draft {
    /// `None` when nothing names a file.
    path: Option<String>,
    at: usize,
    run: usize,
    hint: Option<usize>,
    search: String,
    replace: String,
    /// A divider of another length, for the error: its line and length.
    other: Option<(usize, usize)>,
    /// Where the last line of the second part begins: at the end of the text it may be a cut marker or the end of the fence.
    last: usize,
    /// How much of the second part has been told.
    told: usize,
}

#[derive(Default)]
enum State {
    #[default]
    Between,
    /// Behind an opening marker: Roo's lines of options may follow; whether one did.
    Options(Draft, bool),
    Search(Draft),
    Replace(Draft),
    Tagged(Draft, Tags),
}

/// A fence that is open.
struct Fence {
    sign: char,
    len: usize,
    /// Whether it holds commands, if it is a shell's.
    shell: Option<bool>,
}

impl Fence {
    fn is_closed_by(&self, line: &str) -> bool {
        name::fence(line).is_some_and(|(sign, len, info)| sign == self.sign && len >= self.len && info.is_empty())
    }
}

/// Reads blocks line by line.
pub(super) struct Reader {
    manner: Manner,
    state: State,
    /// Lines read.
    count: usize,
    above: VecDeque<String>,
    fence: Option<Fence>,
    out: Blocks,
    /// The file that was told last.
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
            out: Blocks::default(),
            file: None,
            failed: None,
        }
    }

    /// Reads the next line.
    pub(super) fn line(&mut self, line: &str, out: &mut Vec<Event>) {
        self.count += 1;
        if self.failed.is_some() {
            return;
        }
        match self.step(line, out) {
            Ok(state) => self.state = state,
            Err(error) => self.failed = Some(error),
        }
    }

    /// The end of the text.
    ///
    /// Errors: [`Code::EditUnparsable`] with the line of the request.
    pub(super) fn end(mut self, out: &mut Vec<Event>) -> Result<Blocks> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match mem::take(&mut self.state) {
            State::Between => {}
            State::Options(draft, _) | State::Search(draft) => return Err(undivided(&draft)),
            State::Tagged(draft, tags) => return Err(tags.unfinished(draft.at)),
            State::Replace(mut draft) => {
                let line = draft.replace[draft.last..].trim_end_matches('\n');
                let ends = self.fence.as_ref().is_some_and(|fence| fence.is_closed_by(line));
                if marker::is_cut_close(line, draft.run) || ends {
                    draft.replace.truncate(draft.last);
                }
                self.out.unclosed = true;
                self.complete(draft, true, out)?;
            }
        }
        if self.file.is_some() {
            out.push(Event::FileDone);
        }
        Ok(self.out)
    }

    fn step(&mut self, line: &str, out: &mut Vec<Event>) -> Result<State> {
        match mem::take(&mut self.state) {
            State::Between => self.between(line, out),
            State::Options(mut draft, any) => match marker::option(line) {
                Some((is_start, number)) => {
                    draft.hint = if is_start { Some(number) } else { draft.hint };
                    Ok(State::Options(draft, true))
                }
                None if any && marker::ends_options(line) => Ok(State::Search(draft)),
                None => self.search(draft, line, out),
            },
            State::Search(draft) => self.search(draft, line, out),
            State::Replace(draft) => self.replace(draft, line, out),
            State::Tagged(draft, tags) => self.tagged(draft, tags, line, out),
        }
    }

    fn between(&mut self, line: &str, out: &mut Vec<Event>) -> Result<State> {
        if let Some(Open { run, line }) = marker::open(line) {
            return Ok(State::Options(self.begin(run, line, out), false));
        }
        if let Some((hint, rest)) = tags::open(line) {
            let draft = self.begin(0, hint, out);
            return self.tagged(draft, Tags::default(), rest, out);
        }
        stray(line, self.count)?;
        self.track(line);
        if self.above.len() == ABOVE {
            self.above.pop_front();
        }
        self.above.push_back(line.to_owned());
        Ok(State::Between)
    }

    /// A block begins on this line.
    fn begin(&mut self, run: usize, hint: Option<usize>, out: &mut Vec<Event>) -> Draft {
        let above = name::above(self.above.iter().rev().map(String::as_str)).map(|name| self.manner.name(&name));
        let before = || self.out.list.last().map(|block| block.path.clone());
        let path = above.or_else(before).or_else(|| self.manner.file.clone());
        if let Some(path) = path.as_ref().filter(|path| self.file.as_ref() != Some(path)) {
            out.extend(self.file.is_some().then_some(Event::FileDone));
            out.push(Event::File { path: path.clone(), action: Action::Update });
            self.file = Some(path.clone());
        }
        out.push(Event::Hunk { line: self.count });
        let (search, replace) = (String::new(), String::new());
        Draft { path, at: self.count, run, hint, search, replace, other: None, last: 0, told: 0 }
    }

    fn search(&mut self, mut draft: Draft, line: &str, out: &mut Vec<Event>) -> Result<State> {
        let (at, run) = (draft.at, draft.run);
        match (marker::divider(line), marker::open(line), marker::close(line)) {
            (Some(len), ..) if len == run => return Ok(State::Replace(draft)),
            (Some(len), ..) => draft.other = draft.other.or(Some((self.count, len))),
            (_, Some(open), _) if open.run == run => {
                let what =
                    format!("the search part of the block of line {at} contains an opening marker of the same length.");
                return Err(broken(self.count, &what));
            }
            (.., Some(len)) if len == run => {
                let what = format!("the block of line {at} is closed before its {}.", "=".repeat(run));
                return Err(broken(self.count, &what));
            }
            _ => {}
        }
        let from = draft.search.len();
        push(&mut draft.search, line);
        self.tell(LineKind::Removed, &draft.search[from..], out);
        Ok(State::Search(draft))
    }

    fn replace(&mut self, mut draft: Draft, line: &str, out: &mut Vec<Event>) -> Result<State> {
        let (at, run) = (draft.at, draft.run);
        match (marker::divider(line), marker::open(line), marker::close(line)) {
            (.., Some(len)) if len == run => {
                self.out.unclosed = false;
                self.complete(draft, true, out)?;
                return Ok(State::Between);
            }
            (Some(len), ..) if len == run => {
                let what = format!(
                    "the block of line {at} has a second {line}; one of the two is text and needs a backslash, or the block longer markers."
                );
                return Err(broken(self.count, &what));
            }
            (_, Some(open), _) if open.run == run => {
                let what = format!("a block begins, but the one of line {at} is not closed.");
                return Err(broken(self.count, &what));
            }
            _ => {}
        }
        if !line.trim().is_empty() {
            draft.last = draft.replace.len();
            // What stands before it surely is text.
            self.tell(LineKind::Added, &draft.replace[draft.told..], out);
            draft.told = draft.last;
        }
        push(&mut draft.replace, line);
        Ok(State::Replace(draft))
    }

    fn tagged(&mut self, mut draft: Draft, mut tags: Tags, text: &str, out: &mut Vec<Event>) -> Result<State> {
        let Some((search, replace)) = tags.read(text, self.count)? else {
            return Ok(State::Tagged(draft, tags));
        };
        self.tell(LineKind::Removed, &search, out);
        (draft.search, draft.replace) = (search, replace);
        self.out.unclosed = false;
        self.complete(draft, false, out)?;
        Ok(State::Between)
    }

    /// The block is complete.
    fn complete(&mut self, draft: Draft, lines: bool, out: &mut Vec<Event>) -> Result<()> {
        self.tell(LineKind::Added, &draft.replace[draft.told..], out);
        out.push(Event::HunkDone);
        let Draft { path, search, replace, hint, at, .. } = draft;
        let Some(path) = path else {
            return Err(broken(at, "the block has no file name above it, and no block before it has one."));
        };
        self.out.list.push(Block { path, search, replace, hint, at, lines });
        self.above.clear();
        if let Some(fence) = &mut self.fence {
            fence.shell = None;
        }
        Ok(())
    }

    /// Tells lines of a block.
    fn tell(&self, kind: LineKind, text: &str, out: &mut Vec<Event>) {
        let kind = match kind {
            LineKind::Removed if self.manner.reverse => LineKind::Added,
            LineKind::Added if self.manner.reverse => LineKind::Removed,
            kind => kind,
        };
        let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line));
        out.extend(lines.map(|line| Event::Line { kind, text: line.to_owned() }));
    }

    /// Keeps track of fences between blocks.
    fn track(&mut self, line: &str) {
        match &mut self.fence {
            Some(open) if open.is_closed_by(line) => {
                self.out.shell |= open.shell == Some(true);
                self.fence = None;
            }
            Some(open) => {
                if let Some(shell) = &mut open.shell {
                    *shell |= !line.trim().is_empty();
                }
            }
            None => {
                let shells = ["bash", "sh", "shell", "zsh", "fish", "console", "powershell", "ps1", "cmd", "batch"];
                let fence = |(sign, len, info)| Fence { sign, len, shell: shells.contains(&info).then_some(false) };
                self.fence = name::fence(line).map(fence);
            }
        }
    }
}

/// A marker where none belongs.
fn stray(line: &str, at: usize) -> Result<()> {
    if marker::close(line).is_some() {
        return Err(broken(at, "a block is closed here, but none is open."));
    }
    if marker::nearly_open(line) {
        return Err(broken(at, &format!("`{}` is not a marker: at least five `<` and the word SEARCH.", line.trim())));
    }
    Ok(())
}

fn undivided(draft: &Draft) -> Error {
    let why = draft.other.map_or(String::new(), |(line, len)| {
        format!(" (the divider on line {line} has {len} signs, the block was opened with {})", draft.run)
    });
    broken(draft.at, &format!("the block is not closed: no {} follows{why}.", "=".repeat(draft.run)))
}

fn push(out: &mut String, line: &str) {
    out.push_str(marker::unescaped(line).unwrap_or(line));
    out.push('\n');
}

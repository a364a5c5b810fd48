//! Parsing of lines to blocks: a state machine, linear in the size of the text. Errors are reported at the end.

mod names;

use super::draft::{BlockDraft, FinishedBlock, PendingLine};
use super::marker::{self, MarkerLikeness, OpenMarker};
use super::tags::{self, TaggedBlock};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::fence::Fence;
use crate::formats::line_parser::{FileActionKind, ParseOptions, StreamEvent};
use crate::formats::mistakes::MistakeTally;
use crate::formats::name;
use crate::locate::op::HunkLineKind;
use names::BlockNames;
use std::collections::VecDeque;
use std::mem;

/// Maximum number of lines above a block that may contain its file name.
const NAME_LINES_ABOVE: usize = 12;

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SearchReplaceBlock {
    /// The file's name, without decorations.
    pub(super) path: String,
    /// Names to try if no file with that name exists.
    pub(super) others: Vec<String>,
    /// Names that may be meant as well.
    pub(super) rivals: Vec<String>,
    /// The text to search for; whole lines with their line ends, unless it was in tags.
    pub(super) search: String,
    /// The replacement.
    pub(super) replace: String,
    /// 1-based line of the file at which the caller expects it.
    pub(super) hint: Option<usize>,
    /// 1-based line of the request on which the block begins.
    pub(super) at: usize,
    /// True for a block of whole lines.
    pub(super) lines: bool,
}

/// A mistake that is repaired because only one meaning is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockMistake {
    /// The closing marker has another length or form.
    Close,
    /// The surrounding fence ends the block.
    Fence,
    /// The divider has another length.
    Divider,
    /// There are two dividers with nothing between them.
    Doubled,
    /// There are options below the divider.
    Option,
    /// Both parts are equal.
    NoChange,
    /// The text has shell commands outside of the blocks.
    Shell,
}

impl BlockMistake {
    pub(super) fn note(self) -> &'static str {
        match self {
            BlockMistake::Close => {
                "the closing marker is not spelled like the opening one; the block was taken to end there"
            }
            BlockMistake::Fence => "the block has no closing marker; it was taken to end with the fence around it",
            BlockMistake::Divider => "the divider is not as long as the opening marker; it was taken as the divider",
            BlockMistake::Doubled => "a second divider directly below the first one was ignored",
            BlockMistake::Option => "options below the divider were removed from the new text",
            BlockMistake::NoChange => "a block whose two parts are the same was skipped",
            BlockMistake::Shell => "shell commands in the text were not run",
        }
    }
}

/// The blocks of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockList {
    /// The blocks in order.
    pub(super) list: Vec<SearchReplaceBlock>,
    /// Repaired mistakes.
    pub(super) mistakes: MistakeTally<BlockMistake>,
}

/// Creates an error that names the line of the request.
pub(super) fn broken(line: usize, what: &str) -> Error {
    Error::new(Code::EditUnparsable, format!("Line {line} of the request: {what}"))
        .next(SHAPE_ADVICE)
        .fact("line", line)
}

/// Creates the error for a block without old text below a word: it would create a file, but the word may be no name.
fn word_without_text(block: &SearchReplaceBlock) -> Error {
    let SearchReplaceBlock { path, at, .. } = block;
    let what = format!("the block has no old text, and `{path}` above it may be a word instead of the name of a file.");
    broken(*at, &what).next(format!("If the file is meant, write ./{path} above the block. {SHAPE_ADVICE}"))
}

const SHAPE_ADVICE: &str = "Write each block as the file's path on a line of its own, then <<<<<<< SEARCH, the lines as they are, =======, the new \
lines, >>>>>>> REPLACE. Put a backslash before a line of the text that looks like a marker, or use longer markers (all three of one \
length).";

#[derive(Default)]
enum BlockState {
    #[default]
    Between,
    /// After an opening marker, where Roo's option lines may follow. The flag is true if one did.
    Options(BlockDraft, bool),
    Search(BlockDraft),
    /// Directly below the divider.
    Below(BlockDraft),
    Replace(BlockDraft),
    Tagged(BlockDraft, TaggedBlock),
}

/// A parser of blocks, fed line by line.
pub(super) struct BlockReader {
    options: ParseOptions,
    state: BlockState,
    /// Number of lines parsed so far.
    count: usize,
    above: VecDeque<String>,
    fence: Option<Fence>,
    /// The first command in the open fence, if that is a shell's fence without blocks.
    command: Option<usize>,
    out: BlockList,
    /// A word above a block that was used as its file name.
    word: Option<String>,
    /// The file of the last event.
    file: Option<String>,
    failed: Option<Error>,
}

impl BlockReader {
    pub(super) fn new(options: &ParseOptions) -> BlockReader {
        BlockReader {
            options: options.clone(),
            state: BlockState::Between,
            count: 0,
            above: VecDeque::new(),
            fence: None,
            command: None,
            out: BlockList::default(),
            word: None,
            file: None,
            failed: None,
        }
    }

    /// Parses the next line.
    pub(super) fn line(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
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
    pub(super) fn end(mut self, out: &mut Vec<StreamEvent>) -> Result<BlockList> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        // Each round ends a block; the lines after it may open another one.
        loop {
            match mem::take(&mut self.state) {
                BlockState::Between => break,
                BlockState::Options(draft, _) => return Err(draft.unclosed()),
                BlockState::Tagged(draft, tags) => return Err(tags.unfinished(draft.at)),
                BlockState::Search(draft) | BlockState::Below(draft) | BlockState::Replace(draft) => {
                    self.state = self.complete(draft.close_nearly(false)?, out)?;
                }
            }
        }
        if self.file.is_some() {
            out.push(StreamEvent::FileDone);
        }
        Ok(self.out)
    }

    fn step(&mut self, at: usize, line: &str, out: &mut Vec<StreamEvent>) -> Result<BlockState> {
        match mem::take(&mut self.state) {
            BlockState::Between => self.between(at, line, out),
            BlockState::Options(mut draft, any) => match marker::option(line) {
                Some((is_start, number)) => {
                    draft.hint = if is_start { Some(number) } else { draft.hint };
                    Ok(BlockState::Options(draft, true))
                }
                None if any && marker::ends_options(line) => Ok(BlockState::Search(draft)),
                None => self.search(draft, at, line, out),
            },
            BlockState::Search(draft) => self.search(draft, at, line, out),
            BlockState::Below(draft) => self.below(draft, at, line, out),
            BlockState::Replace(draft) => self.replace(draft, at, line, out),
            BlockState::Tagged(draft, tags) => self.tagged(draft, tags, at, line, out),
        }
    }

    fn between(&mut self, at: usize, line: &str, out: &mut Vec<StreamEvent>) -> Result<BlockState> {
        if let Some(open) = marker::open(line) {
            return Ok(BlockState::Options(self.begin(at, open, out), false));
        }
        if let Some((hint, rest)) = tags::open(line) {
            let draft = self.begin(at, OpenMarker { run: 0, line: hint, name: None }, out);
            return self.tagged(draft, TaggedBlock::default(), at, rest, out);
        }
        stray(line, at)?;
        self.track(at, line);
        if self.above.len() == NAME_LINES_ABOVE {
            self.above.pop_front();
        }
        self.above.push_back(line.to_owned());
        Ok(BlockState::Between)
    }

    /// Begins a block on this line.
    fn begin(&mut self, at: usize, open: OpenMarker<'_>, out: &mut Vec<StreamEvent>) -> BlockDraft {
        let BlockNames { path, others, rivals } = self.names(open.name);
        // A single word may name an existing file; it never creates one.
        let path = path.or_else(|| {
            self.word = name::word_above(self.above.iter().rev().map(String::as_str));
            self.word.clone()
        });
        if let Some(path) = path.as_ref().filter(|path| self.file.as_ref() != Some(path)) {
            out.extend(self.file.is_some().then_some(StreamEvent::FileDone));
            out.push(StreamEvent::File { path: path.clone(), action: FileActionKind::Update });
            self.file = Some(path.clone());
        }
        out.push(StreamEvent::Hunk { line: at });
        let mut draft = BlockDraft::new(path, at, open.run, open.line);
        (draft.others, draft.rivals) = (others, rivals);
        draft
    }

    fn search(
        &mut self,
        mut draft: BlockDraft,
        at: usize,
        line: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<BlockState> {
        let run = draft.run;
        if marker::divider(line) == Some(run) {
            draft.divide();
            return Ok(BlockState::Below(draft));
        }
        if marker::close(line) == Some(run) {
            return self.complete(draft.close(at)?, out);
        }
        if marker::open(line).is_some_and(|open| open.run == run) {
            let begun = draft.at;
            let Ok(closed) = draft.close_nearly(true) else {
                let what = format!(
                    "the search part of the block on line {begun} contains an opening marker of the same length."
                );
                return Err(broken(at, &what));
            };
            return self.reopen(closed, at, line, out);
        }
        let text = draft.line(at, line, None);
        self.emit(HunkLineKind::Removed, text, out);
        Ok(BlockState::Search(draft))
    }

    /// Parses the first lines below the divider, which may be options that belong above the first part.
    fn below(
        &mut self,
        mut draft: BlockDraft,
        at: usize,
        line: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<BlockState> {
        if let Some((is_start, number)) = marker::option(line) {
            draft.option(at, is_start.then_some(number));
            return Ok(BlockState::Below(draft));
        }
        if marker::ends_options(line) && draft.has_options() {
            return Ok(BlockState::Replace(draft));
        }
        self.replace(draft, at, line, out)
    }

    fn replace(
        &mut self,
        mut draft: BlockDraft,
        at: usize,
        line: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<BlockState> {
        let (begun, run) = (draft.at, draft.run);
        if marker::close(line) == Some(run) {
            return self.complete(draft.close(at)?, out);
        }
        let divides = marker::divider(line) == Some(run);
        if divides && draft.is_bare() {
            draft.doubled.get_or_insert(at);
            return Ok(BlockState::Replace(draft));
        }
        if divides || draft.doubled.is_some() && !line.trim().is_empty() && marker::classify(line).is_none() {
            let signs = "=".repeat(run);
            let what = format!(
                "the block on line {begun} has a second {signs}; one of the two is text and needs a backslash, or the block longer markers."
            );
            return Err(broken(draft.doubled.unwrap_or(at), &what));
        }
        if marker::open(line).is_some_and(|open| open.run == run) {
            let Ok(closed) = draft.close_nearly(true) else {
                let what = format!("a block begins, but the one on line {begun} is not closed.");
                return Err(broken(at, &what));
            };
            return self.reopen(closed, at, line, out);
        }
        let text = draft.line(at, line, self.fence.as_ref());
        self.emit(HunkLineKind::Added, text, out);
        Ok(BlockState::Replace(draft))
    }

    /// Begins the next block after a block without an exact end.
    fn reopen(
        &mut self,
        closed: FinishedBlock,
        at: usize,
        line: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<BlockState> {
        self.state = self.complete(closed, out)?;
        self.step(at, line, out)
    }

    fn tagged(
        &mut self,
        draft: BlockDraft,
        mut tags: TaggedBlock,
        at: usize,
        text: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<BlockState> {
        let Some((search, replace)) = tags.read(text, at)? else {
            return Ok(BlockState::Tagged(draft, tags));
        };
        self.emit(HunkLineKind::Removed, &search, out);
        let BlockDraft { path, others, rivals, hint, at, .. } = draft;
        let path = path.unwrap_or_default();
        let block = SearchReplaceBlock { path, others, rivals, search, replace, hint, at, lines: false };
        self.complete(FinishedBlock { block, emitted: 0, mistakes: Vec::new(), later: Vec::new() }, out)
    }

    /// Records a complete block, and parses the lines after it again.
    fn complete(&mut self, closed: FinishedBlock, out: &mut Vec<StreamEvent>) -> Result<BlockState> {
        let FinishedBlock { block, emitted: emitted_bytes, mistakes, later } = closed;
        self.emit(HunkLineKind::Added, &block.replace[emitted_bytes..], out);
        out.push(StreamEvent::HunkDone);
        if block.path.is_empty() {
            return Err(broken(block.at, "the block has no file name above it, and no block before it has one."));
        }
        if block.search.trim().is_empty() && self.word.as_ref() == Some(&block.path) {
            return Err(word_without_text(&block));
        }
        for (mistake, at) in mistakes {
            self.out.mistakes.add(mistake, at);
        }
        self.out.list.push(block);
        self.above.clear();
        self.command = None;
        if let Some(fence) = &mut self.fence {
            fence.forget_shell();
        }
        self.state = BlockState::Between;
        for PendingLine { at, line } in later {
            self.state = self.step(at, &line, out)?;
        }
        Ok(mem::take(&mut self.state))
    }

    /// Emits events for lines of a block.
    fn emit(&self, kind: HunkLineKind, text: &str, out: &mut Vec<StreamEvent>) {
        let kind = match kind {
            HunkLineKind::Removed if self.options.reverse => HunkLineKind::Added,
            HunkLineKind::Added if self.options.reverse => HunkLineKind::Removed,
            kind => kind,
        };
        let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line));
        out.extend(lines.map(|line| StreamEvent::Line { kind, text: line.to_owned() }));
    }

    /// Tracks fences between blocks.
    fn track(&mut self, at: usize, line: &str) {
        match &self.fence {
            Some(open) if open.is_closed_by(line) => {
                if let Some(command) = self.command.take() {
                    self.out.mistakes.add(BlockMistake::Shell, command);
                }
                self.fence = None;
            }
            Some(open) if open.is_shell() && !line.trim().is_empty() => self.command = self.command.or(Some(at)),
            Some(_) => {}
            None => self.fence = Fence::opened_by(line),
        }
    }
}

/// Reports a marker that is out of place, in any spelling: text above a second closing marker would be lost.
fn stray(line: &str, at: usize) -> Result<()> {
    if matches!(marker::classify(line), Some(MarkerLikeness::Close { before: "", .. } | MarkerLikeness::Other { .. })) {
        return Err(broken(at, "a block is closed here, but none is open."));
    }
    if marker::is_nearly_open(line) {
        return Err(broken(at, &format!("`{}` is not a marker: at least five `<` and the word SEARCH.", line.trim())));
    }
    Ok(())
}

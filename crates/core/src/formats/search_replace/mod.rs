//! `search_replace`: blocks with a search text and its replacement, as models write them into a reply, in the spellings
//! of aider, Cline, Roo and Zed, with prose around them, and several blocks and files per reply.
//!
//! Blocks between markers are whole lines, those in tags are any text. The parser does not know if a block's target is
//! created by an earlier block of the same file, so the request has [`OpOrder::AsNeeded`]. A name that is not the path
//! of a file is looked up by the engine among the files that it has read.

mod blocks;
mod draft;
mod list_item;
pub(super) mod marker;
mod plain;
mod print;
mod tags;

use super::line_parser::{LineParser, ParseOptions, StreamEvent};
use super::ranges::contains_any;
use super::{Format, FormatSpec};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::EDITS_PER_CALL_MAX;
use crate::locate::op::{
    ExpectedMatches, FileAction, FileRequest, Locator, Op, OpOrder, Request, TextNames, TextQuery, describe_sameness,
    normalize_text,
};
use crate::work;
use std::collections::HashMap;
use std::ops::Range;

use blocks::{BlockList, BlockMistake, BlockReader, SearchReplaceBlock};
pub(super) use list_item::without_indentation;
pub use print::{print_block, print_name};

/// The format.
pub struct SearchReplace;

/// True for a line that resembles the opening marker of a block or a conflict, whatever its mistakes.
pub(super) fn nearly_opens(line: &str) -> bool {
    matches!(marker::classify(line), Some(marker::MarkerLikeness::Open { .. }))
}

/// True for a line that divides a block, or has the word of a closing marker.
pub(super) fn divides(line: &str) -> bool {
    marker::divider(line.trim()).is_some() || marker::is_closing_word(line)
}

/// True for a line that opens a block.
pub(super) fn opens(line: &str) -> bool {
    DetectedBlock::opened(0, line).is_some()
}

impl SearchReplaceBlock {
    /// Returns the block that undoes this one.
    ///
    /// Errors: [`Code::EditUnparsable`] if the second part is empty, because the place of the first part is then
    /// unknown.
    fn reversed(self) -> Result<SearchReplaceBlock> {
        let SearchReplaceBlock { path, search, replace, .. } = self;
        if replace.is_empty() || search.is_empty() {
            let what = "a part of the block is empty, so the reversed block would name no place.";
            return Err(blocks::broken(self.at, what).next("Write the reversed block yourself."));
        }
        Ok(SearchReplaceBlock { path, search: replace, replace: search, ..self })
    }

    /// Converts the block to an operation.
    ///
    /// Errors: [`Code::EditNoChange`] if both parts are equal.
    fn to_op(&self) -> Result<Op> {
        let text = normalize_text(&self.replace);
        let names = if self.lines { TextNames::BLOCK } else { TextNames::TAGS };
        let find = TextQuery {
            line: self.hint,
            lines: self.lines,
            names,
            source_line: self.at,
            ..TextQuery::new(&self.search, ExpectedMatches::Unique)
        };
        if find.old == text {
            let how = describe_sameness(&self.search, &self.replace);
            let what = format!("Line {} of the request: the block's two parts {how}.", self.at);
            return Err(Error::new(Code::EditNoChange, what)
                .next("Omit the block, or write the new text into its second part.")
                .fact("line", self.at));
        }
        let at = if find.old.is_empty() { Locator::Blank } else { Locator::Find(find) };
        Ok(Op { at, text })
    }
}

/// An open block, during detection.
struct DetectedBlock {
    from: usize,
    until: BlockEnd,
    /// The index after the first line that ends the block if there is no exact marker.
    nearly: Option<usize>,
}

/// A line that ends a block.
enum BlockEnd {
    /// A closing marker of this length.
    Marker(usize),
    /// This many end tags.
    Tags(usize),
}

impl DetectedBlock {
    fn opened(from: usize, line: &str) -> Option<DetectedBlock> {
        let until = marker::open(line).map(|open| BlockEnd::Marker(open.run));
        let until = until.or_else(|| tags::open(line).map(|_| BlockEnd::Tags(2)))?;
        Some(DetectedBlock { from, until, nearly: None })
    }

    /// True for the start of another block, which means that this one has no end.
    fn is_cut_by(&self, line: &str) -> bool {
        let BlockEnd::Marker(run) = self.until else { return false };
        marker::open(line).is_some_and(|open| open.run == run)
    }

    fn is_met(&mut self, at: usize, line: &str) -> bool {
        match &mut self.until {
            BlockEnd::Marker(run) => {
                if let Some(marker::MarkerLikeness::Close { .. }) = marker::classify(line) {
                    self.nearly = self.nearly.or(Some(at + 1));
                }
                marker::close(line) == Some(*run)
            }
            BlockEnd::Tags(left) => {
                *left = left.saturating_sub(tags::ends(line));
                *left == 0
            }
        }
    }
}

impl Format for SearchReplace {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "search_replace",
            summary: "blocks of text to find and its replacement, in a reply (SEARCH/REPLACE)",
            prompt: PROMPT,
            schema: None,
            key: "",
            example: "src/main.rs\n<<<<<<< SEARCH\nlet x = 1;\n=======\nlet x = 2;\n>>>>>>> REPLACE\n",
            grammar: None,
        }
    }

    fn detected_ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        if !contains_any(text, &["<<<", "SEARCH", tags::OLD_TAG]) {
            return out;
        }
        let mut open: Option<DetectedBlock> = None;
        let mut count = 0;
        for (at, line) in work::lines(text).enumerate() {
            count = at + 1;
            if let Some(block) = open.take_if(|block| at > block.from && block.is_cut_by(line)) {
                out.push(block.from..block.nearly.unwrap_or(at));
            }
            open = open.take().or_else(|| DetectedBlock::opened(at, line));
            if let Some(block) = open.take_if(|block| block.is_met(at, line)) {
                out.push(block.from..count);
            }
        }
        out.extend(open.map(|block| block.from..block.nearly.unwrap_or(count)));
        out
    }

    fn parse_plain(&self, text: &str, options: &ParseOptions) -> Option<Request> {
        request(plain::plain_blocks(text, options)?, options.reverse).ok()
    }

    fn line_parser(&self, options: &ParseOptions) -> Option<Box<dyn LineParser>> {
        Some(Box::new(SearchReplaceParser { reader: BlockReader::new(options), reverse: options.reverse }))
    }
}

struct SearchReplaceParser {
    reader: BlockReader,
    reverse: bool,
}

impl LineParser for SearchReplaceParser {
    fn line(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        self.reader.line(line, out);
    }

    fn finish(self: Box<Self>, _cut: bool, out: &mut Vec<StreamEvent>) -> Result<Request> {
        request(self.reader.end(out)?, self.reverse)
    }
}

fn request(read: BlockList, reverse: bool) -> Result<Request> {
    let BlockList { list: mut blocks, mut mistakes } = read;
    if reverse {
        blocks = blocks.into_iter().rev().map(SearchReplaceBlock::reversed).collect::<Result<_>>()?;
    }
    if blocks.is_empty() {
        return Err(blocks::broken(1, "the text contains no SEARCH/REPLACE block."));
    }
    if blocks.len() > EDITS_PER_CALL_MAX {
        let what = format!("{} blocks are more than the {EDITS_PER_CALL_MAX} that one call may have.", blocks.len());
        return Err(Error::new(Code::CallTooLarge, what).next("Send them in several calls."));
    }
    let mut files: Vec<FileRequest> = Vec::new();
    let mut known: HashMap<(String, Vec<String>), usize> = HashMap::new();
    let mut idle = None;
    for block in blocks {
        let op = match block.to_op() {
            Ok(op) => op,
            Err(error) => {
                mistakes.add(BlockMistake::NoChange, block.at);
                idle.get_or_insert(error);
                continue;
            }
        };
        let at = *known.entry((block.path.clone(), block.rivals.clone())).or_insert(files.len());
        if at == files.len() {
            check_created_name(&block)?;
            let action = FileAction::Edit { ops: Vec::new(), order: OpOrder::AsNeeded };
            let (alternatives, rivals) = (block.others, block.rivals);
            files.push(FileRequest { alternatives, rivals, ..FileRequest::new(block.path, action) });
        }
        if let FileAction::Edit { ops, .. } = &mut files[at].action {
            ops.push(op);
        }
    }
    if let Some(error) = idle.filter(|_| files.is_empty()) {
        return Err(error);
    }
    let notes = mistakes.into_notes(BlockMistake::note).collect();
    Ok(Request { files, notes })
}

/// Refuses a new file whose name is a sentence.
///
/// Errors: [`Code::EditUnparsable`].
fn check_created_name(block: &SearchReplaceBlock) -> Result<()> {
    const WORDS_OF_NAME_MAX: usize = 3;
    let words = block.path.split_whitespace().count();
    let first = block.path.split_whitespace().next().unwrap_or_default();
    if !block.search.trim().is_empty() || words <= WORDS_OF_NAME_MAX || first.contains('/') {
        return Ok(());
    }
    let what = format!("`{}` is a sentence, and the block creates a file.", block.path);
    Err(blocks::broken(block.at, &what).next("Write only the path on the line above the block, in backticks."))
}

/// The instructions for a model.
pub const PROMPT: &str = "\
Changes files by blocks. Each block: the file's path alone on a line, then

<<<<<<< SEARCH
lines of the file as they are
=======
the new lines
>>>>>>> REPLACE

The SEARCH part must be whole lines, copied exactly and without line numbers, and occur once; give more lines to make it \
unique. An empty SEARCH part creates a file. Several blocks may follow each other; every one is matched against the file as \
it was read. To edit text that contains such markers, use longer ones (all three of one length).";

#[cfg(test)]
mod tests;

//! One block while it is parsed: its lines, and inexact markers among them.
//!
//! Exact markers take effect immediately. A marker of another length, an indented one, and one with text around it
//! count only if no exact one follows before the next block or the end of the text.

use super::blocks::{BlockMistake, SearchReplaceBlock, broken};
use super::marker::{self, MarkerLikeness};
use crate::error::{Error, Result};
use crate::formats::fence::Fence;
use std::collections::HashSet;
use std::ops::Range;

/// Length of the usual marker: text in longer ones may contain markers of other lengths.
const USUAL_MARKER_LENGTH: usize = 7;

/// A line of the request after the possible end of a block.
#[derive(Debug)]
pub(super) struct PendingLine {
    pub(super) at: usize,
    pub(super) line: String,
}

/// A block that was parsed to its end.
pub(super) struct FinishedBlock {
    pub(super) block: SearchReplaceBlock,
    /// Number of bytes of the second part already reported as events.
    pub(super) emitted: usize,
    /// Repaired mistakes, with their lines.
    pub(super) mistakes: Vec<(BlockMistake, usize)>,
    /// Lines after the block that were parsed already.
    pub(super) later: Vec<PendingLine>,
}

/// A line that divides the block if there is no exact divider.
struct FallbackDivider {
    at: usize,
    len: usize,
    lines: Range<usize>,
}

/// A line that ends the block if there is no exact marker.
struct FallbackEnd {
    at: usize,
    mistake: BlockMistake,
    /// Offset in the text at which the block's last line ends.
    end: usize,
    /// Text before the marker.
    before: String,
}

/// A block that is being parsed.
pub(super) struct BlockDraft {
    /// The name of the file; `None` if no name was found.
    pub(super) path: Option<String>,
    /// Names to try if no file with that name exists.
    pub(super) others: Vec<String>,
    pub(super) rivals: Vec<String>,
    pub(super) at: usize,
    pub(super) run: usize,
    pub(super) hint: Option<usize>,
    /// Both parts, with the lines between them.
    text: String,
    /// The lines between the parts: the divider, and options below it.
    split: Option<Range<usize>>,
    /// Dividers of other lengths in the first part, at most two.
    dividers: Vec<FallbackDivider>,
    cut: Option<FallbackEnd>,
    /// Lines after the possible end.
    later: Vec<PendingLine>,
    /// Length of an opening marker inside the part, until its counterpart ends the inner block.
    inner: Option<usize>,
    /// The open fence inside the second part.
    fence: Option<Fence>,
    /// Number of bare fences after a possible end at a fence.
    fences: usize,
    /// 1-based line of the first additional divider directly below the divider.
    pub(super) doubled: Option<usize>,
    /// 1-based line of the second part that looks like a marker.
    suspicious_line: Option<usize>,
    /// Repaired mistakes of this block.
    pub(super) mistakes: Vec<(BlockMistake, usize)>,
    /// Number of bytes of the second part already reported as events.
    emitted: usize,
}

impl BlockDraft {
    pub(super) fn new(path: Option<String>, at: usize, run: usize, hint: Option<usize>) -> BlockDraft {
        BlockDraft {
            path,
            others: Vec::new(),
            rivals: Vec::new(),
            at,
            run,
            hint,
            text: String::new(),
            split: None,
            dividers: Vec::new(),
            cut: None,
            later: Vec::new(),
            inner: None,
            fence: None,
            fences: 0,
            doubled: None,
            suspicious_line: None,
            mistakes: Vec::new(),
            emitted: 0,
        }
    }

    /// True once the exact divider was parsed.
    pub(super) fn is_divided(&self) -> bool {
        self.split.is_some()
    }

    /// Returns the second part so far.
    fn second(&self) -> &str {
        self.split.as_ref().map_or("", |split| &self.text[split.end..])
    }

    /// True while the second part has only blank lines.
    pub(super) fn is_bare(&self) -> bool {
        self.second().trim().is_empty()
    }

    /// Handles the exact divider.
    pub(super) fn divide(&mut self) {
        let end = self.text.len();
        self.split = Some(end..end);
        (self.cut, self.inner) = (None, None);
        self.later.clear();
    }

    /// Handles a line below the divider that belongs to it: an option, or the dashes after one.
    pub(super) fn option(&mut self, at: usize, number: Option<usize>) {
        self.hint = self.hint.or(number);
        self.mistakes.push((BlockMistake::Option, at));
    }

    /// True if the second part began with options.
    pub(super) fn has_options(&self) -> bool {
        self.mistakes.iter().any(|(mistake, _)| *mistake == BlockMistake::Option)
    }

    /// Adds a line to the current part. Returns the lines that are certainly text, for events.
    pub(super) fn line(&mut self, at: usize, line: &str, around: Option<&Fence>) -> &str {
        if self.cut.is_some() {
            self.later.push(PendingLine { at, line: line.to_owned() });
        }
        let from = self.text.len();
        self.text.push_str(marker::unescape(line).unwrap_or(line));
        self.text.push('\n');
        if marker::unescape(line).is_none() {
            self.weigh(at, line, from);
            self.fenced(at, line, from, around);
        }
        if self.cut.is_some() {
            return "";
        }
        self.emitted = self.text.len();
        &self.text[from..]
    }

    /// Checks if a line is an inexact marker.
    fn weigh(&mut self, at: usize, line: &str, from: usize) {
        if !self.is_divided()
            && let Some(len) = marker::divider(line.trim_start())
            && self.dividers.len() < 2
            && self.cut.is_none()
            && self.inner.is_none()
        {
            self.dividers.push(FallbackDivider { at, len, lines: from..self.text.len() });
            return;
        }
        let Some(found) = marker::classify(line) else { return };
        let free = self.run > USUAL_MARKER_LENGTH;
        match found {
            MarkerLikeness::Open { run } => {
                let inner = self.inner.replace(run);
                let text = free && run < self.run;
                self.suspicious_line = self.suspicious_line.or((inner.is_some() && !text).then_some(at));
            }
            MarkerLikeness::Close { run, .. } if self.inner == Some(run) => self.inner = None,
            MarkerLikeness::Other { .. } if self.inner.is_some() => self.inner = None,
            MarkerLikeness::Close { run, before } => {
                let text = !before.is_empty() || free && run < self.run;
                self.suspicious_line = self.suspicious_line.or((!text && self.is_divided()).then_some(at));
                if self.cut.is_none() {
                    let before = if before.is_empty() { String::new() } else { format!("{}\n", before.trim_end()) };
                    self.cut = Some(FallbackEnd { at, mistake: BlockMistake::Close, end: from, before });
                }
            }
            MarkerLikeness::Other { run } => {
                let text = free && run < self.run;
                self.suspicious_line = self.suspicious_line.or((!text && self.is_divided()).then_some(at));
            }
        }
    }

    /// Checks if a line ends the fence around the block.
    fn fenced(&mut self, at: usize, line: &str, from: usize, around: Option<&Fence>) {
        if !self.is_divided() || self.cut.as_ref().is_some_and(|cut| cut.mistake != BlockMistake::Fence) {
            return;
        }
        if let Some(inner) = &self.fence {
            if inner.is_closed_by(line) {
                self.fence = None;
            }
            return;
        }
        if around.is_some_and(|around| around.is_closed_by(line)) {
            self.fences += 1;
            if self.cut.is_none() {
                self.cut = Some(FallbackEnd { at, mistake: BlockMistake::Fence, end: from, before: String::new() });
            }
        } else if around.is_some() {
            self.fence = Fence::opened_by(line).filter(|fence| matches!(fence, Fence::Run { .. }));
        }
    }

    /// Closes the block at the exact marker.
    ///
    /// Errors: no divider; lines of the second part that look like markers.
    pub(super) fn close(mut self, at: usize) -> Result<FinishedBlock> {
        if !self.is_divided() {
            self.divide_nearly()?;
        }
        let opened = self.inner.filter(|run| !(self.run > USUAL_MARKER_LENGTH && *run < self.run));
        if let Some(line) = self.suspicious_line.or(opened.map(|_| at))
            && !self.keeps_markers()
        {
            let what = format!(
                "the second part of the block on line {} has a line that looks like a marker, so its end is not clear.",
                self.at
            );
            return Err(broken(line, &what));
        }
        Ok(self.into_closed(None))
    }

    /// True if every line of the second part that looks like a marker is also a line of the first part.
    fn keeps_markers(&self) -> bool {
        let Some(split) = &self.split else { return false };
        let kept: HashSet<&str> = self.text[..split.start].lines().collect();
        self.second().lines().filter(|line| marker::classify(line).is_some()).all(|line| kept.contains(line))
    }

    /// Closes the block at an inexact marker or at the end of the surrounding fence.
    ///
    /// `reopened` is true if the next block follows.
    ///
    /// Errors: there is no such line; a divider is missing.
    pub(super) fn close_nearly(mut self, reopened: bool) -> Result<FinishedBlock> {
        let cut = self.cut.take();
        let cut = cut.filter(|cut| {
            cut.mistake != BlockMistake::Fence
                || self.fences == 1
                || self.fences == 2 && reopened && self.ends_in_fence()
        });
        let Some(mut cut) = cut else { return Err(self.unclosed()) };
        if !self.is_divided() {
            self.divide_nearly()?;
        }
        if cut.mistake == BlockMistake::Fence {
            cut.end = self.end_before_marker(cut.end);
            // An empty second part is not a clear request to delete the text.
            if self.split.as_ref().is_some_and(|split| self.text[split.end..cut.end].trim().is_empty()) {
                return Err(self.unclosed());
            }
        }
        self.mistakes.push((cut.mistake, cut.at));
        let later = std::mem::take(&mut self.later);
        Ok(FinishedBlock { later, ..self.into_closed(Some(&cut)) })
    }

    /// Returns the end of the second part, without a last line that is the beginning of a closing marker.
    fn end_before_marker(&self, end: usize) -> usize {
        let begin = self.split.as_ref().map_or(0, |split| split.end);
        let part = self.text[begin..end].trim_end_matches('\n');
        let last = part.rfind('\n').map_or(0, |at| at + 1);
        if marker::begins_close(&part[last..]) { begin + last } else { end }
    }

    /// True if the last line that is not blank is a fence, which belongs to the next block.
    fn ends_in_fence(&self) -> bool {
        let last = self.later.iter().rev().find(|later| !later.line.trim().is_empty());
        last.is_some_and(|later| Fence::opened_by(&later.line).is_some())
    }

    /// Accepts the only divider, although it has another length.
    fn divide_nearly(&mut self) -> Result<()> {
        let [divider] = &*self.dividers else { return Err(self.undivided()) };
        self.mistakes.push((BlockMistake::Divider, divider.at));
        self.split = Some(divider.lines.clone());
        self.emitted = divider.lines.end;
        Ok(())
    }

    fn into_closed(mut self, cut: Option<&FallbackEnd>) -> FinishedBlock {
        if let Some(cut) = cut {
            self.text.truncate(cut.end);
            self.text.push_str(&cut.before);
        }
        let split = self.split.clone().unwrap_or_default();
        let mut replace = self.text.split_off(split.end);
        self.text.truncate(split.start);
        if let Some(at) = self.doubled {
            replace.clear();
            self.mistakes.push((BlockMistake::Doubled, at));
        }
        let emitted_bytes = self.emitted.saturating_sub(split.end).min(replace.len());
        let path = self.path.take().unwrap_or_default();
        let BlockDraft { others, rivals, hint, at, mistakes, text: search, .. } = self;
        let block = SearchReplaceBlock { path, others, rivals, search, replace, hint, at, lines: true };
        FinishedBlock { block, emitted: emitted_bytes, mistakes, later: Vec::new() }
    }

    /// Creates the error for a block that the next block or the end of the text cuts off.
    pub(super) fn unclosed(&self) -> Error {
        if !self.is_divided() {
            return self.undivided();
        }
        let what = format!(
            "the block is not closed: no {} REPLACE follows; the text may have been cut off.",
            ">".repeat(self.run)
        );
        broken(self.at, &what)
    }

    fn undivided(&self) -> Error {
        let why = match &*self.dividers {
            [] => String::new(),
            [FallbackDivider { at, len, .. }] => {
                format!(" (the divider on line {at} has {len} signs, the block was opened with {})", self.run)
            }
            [first, second, ..] => format!(" (lines {} and {} could both be meant)", first.at, second.at),
        };
        let signs = "=".repeat(self.run);
        broken(self.at, &format!("the block is not closed: no {signs} follows{why}."))
    }
}

//! A text that is being parsed, and the fence that closed the one before.

use super::text_end::TextEnd;
use super::text_lines::is_markdown;
use crate::formats::line_parser::{StreamEvent, without_line_end};
use crate::locate::fence_name::FenceName;
use crate::locate::op::HunkLineKind;

/// A text that is being parsed.
pub(super) struct TextDraft {
    /// The path of the file; `None` for a fence without a name.
    pub(super) path: Option<String>,
    pub(super) must_exist: bool,
    pub(super) fence: Option<FenceName>,
    /// The info string of the fence, as long as a comment at the beginning of the text may name the file.
    pub(super) info: Option<String>,
    /// True if the fence has an info string.
    pub(super) labelled: bool,
    pub(super) at: usize,
    pub(super) end: TextEnd,
    pub(super) text: String,
    /// The end of the text, if the last tag seen was the closing one.
    pub(super) ends: Option<usize>,
    /// Number of bytes of the text reported as events.
    pub(super) emitted: usize,
}

impl TextDraft {
    /// Emits events for the lines of a file up to an offset.
    pub(super) fn emit(&mut self, to: usize, out: &mut Vec<StreamEvent>) {
        if self.path.is_some() && to > self.emitted {
            let lines = self.text[self.emitted..to].split_inclusive('\n').map(without_line_end);
            out.extend(lines.map(|line| StreamEvent::Line { kind: HunkLineKind::Added, text: line.to_owned() }));
            self.emitted = to;
        }
    }
}

/// The fence that closed the previous file, as long as it may have been a fence inside of it.
pub(super) struct ClosedFence {
    pub(super) path: String,
    pub(super) end: TextEnd,
    /// The line of the request.
    pub(super) line: usize,
    /// True if the fence was opened with the name of a language.
    pub(super) labelled: bool,
    /// True if text directly follows it.
    pub(super) followed: bool,
}

impl ClosedFence {
    /// True if the fence and a bare one on a later line may both belong to the text of the file. `name_line` is that of
    /// the name above the later fence, if it has one.
    pub(super) fn may_go_on(&self, line: usize, name_line: Option<usize>) -> bool {
        match name_line {
            Some(name_line) => self.labelled && name_line == self.line + 1,
            None => self.followed || self.line + 1 == line || is_markdown(&self.path),
        }
    }
}

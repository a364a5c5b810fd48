//! Lines that begin a section or a block: definitions, keys, selectors, elements, headings.

use super::scope::{self, block, is_label, is_remark, width};
use crate::locate::find::search::SearchIndex;
use crate::locate::find::typo;
use crate::text::fold::{indent_of, is_blank};
use crate::work;
use core::ops::Range;

/// Maximum number of lines above a place that are searched for the beginning of its block.
const ENCLOSING_LINES_MAX: usize = 4_000;

/// The form of a line that begins a section or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderForm {
    /// `[name]`: its lines are not deeper.
    Bracketed,
    /// `## Name`: its lines are not deeper.
    Heading,
    /// A line that opens a block: its last character, and whether it is a definition.
    Opener { last: char, defines: bool },
}

impl HeaderForm {
    fn of(line: &str) -> Option<HeaderForm> {
        let text = line.trim();
        let (first, last) = (text.chars().next()?, text.chars().next_back()?);
        let opens = "{([:".contains(last);
        match first {
            '[' if last == ']' => Some(HeaderForm::Bracketed),
            '#' if text.starts_with("##") && text.trim_start_matches('#').starts_with(' ') => Some(HeaderForm::Heading),
            '.' | '#' if scope::is_selector(text) => Some(HeaderForm::Opener { last, defines: false }),
            '<' if last == '>' && !text.starts_with(['/', '!']) && !text.contains("</") && !text.ends_with("/>") => {
                (!text[1..].starts_with(['/', '!', '?'])).then_some(HeaderForm::Opener { last, defines: false })
            }
            _ if "{}()[];,.#</*-".contains(first) || typo::begins_with_control(text) => None,
            _ => {
                let defines = typo::defined(text).is_some();
                (opens || defines).then_some(HeaderForm::Opener { last, defines })
            }
        }
    }

    /// True for two lines of one kind. A definition is not like a value that is assigned.
    fn is_like(self, other: HeaderForm) -> bool {
        match (self, other) {
            (HeaderForm::Opener { last, defines }, HeaderForm::Opener { last: other, defines: also }) => {
                defines == also && (defines || last == other)
            }
            (a, b) => a == b,
        }
    }

    /// True if the lines of the section are not deeper than its header.
    fn is_flat(self) -> bool {
        matches!(self, HeaderForm::Bracketed | HeaderForm::Heading)
    }
}

/// True for a line that begins a section or a block.
pub(super) fn is_header(line: &str) -> bool {
    HeaderForm::of(line).is_some()
}

/// True if a line like the anchor begins another section or block below that of the anchor, in which the place is.
/// `shown` are the lines of the place down to its change; a hunk that shows such a line names its block itself.
pub(super) fn is_in_another_block(index: &SearchIndex<'_>, anchor: usize, shown: &Range<usize>) -> bool {
    let (head, first) = (index.line(anchor), shown.start);
    let (depth, count) = (width(indent_of(head)), index.lines().count());
    let Some(form) = HeaderForm::of(head) else { return false };
    let begins_block =
        |line: &str| width(indent_of(line)) <= depth && HeaderForm::of(line).is_some_and(|other| form.is_like(other));
    if shown.clone().any(|at| !work::spend_or_end(1) && begins_block(index.line(at))) {
        return false;
    }
    let after = block(index, anchor).end.max(anchor + 1).max(first.saturating_sub(ENCLOSING_LINES_MAX));
    // A bracket belongs to the block that it opens or closes.
    let text = (first..count).map(|at| index.line(at)).find(|line| !is_blank(line)).unwrap_or_default();
    let mut inner = width(indent_of(text)) + usize::from(text.trim_start().starts_with(['{', '}', '(', ')', '[', ']']));
    for line in (after..first).rev().map(|at| index.line(at)) {
        if work::spend_or_end(1) || inner == 0 && !form.is_flat() {
            return false;
        }
        let own = width(indent_of(line));
        let is_aside = is_remark(line.trim_start()) || is_label(line.trim()) && !head.trim_end().ends_with(':');
        if is_blank(line) || !form.is_flat() && (own >= inner || is_aside && !is_header(line)) {
            continue;
        }
        if begins_block(line) {
            return true;
        }
        inner = inner.min(own);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{HeaderForm, is_header};

    #[test]
    fn headers_are_lines_that_begin_a_block() {
        for line in [
            "def start(self):", "  lint:", "[staging]", "## Install", ".a-button {", "#nav .item {",
            "<form id=\"login\">", "CREATE TABLE users (", "  \"staging\": {", "int start(void)",
            "const run = () => {",
        ] {
            assert!(is_header(line), "{line}");
        }
        for line in [
            "# a comment", "#define X {", "#[test]", "if (ready) {", "else:", "} else {", "</form>", "<br/>",
            "<b>x</b>", ".then(() => {", "x = 1", "import os", "- item:", "",
        ] {
            assert!(!is_header(line), "{line}");
        }
        let like = |a, b| HeaderForm::of(a).unwrap().is_like(HeaderForm::of(b).unwrap());
        assert!(like("class A:", "def f():") && like("int a(void)", "struct b {") && like("a {", ".b {"));
        assert!(!like("class A:", "lint:") && !like("[a]", "## a") && !like("lint:", "x = ["));
    }
}

//! The block that begins on a line.

use crate::grammar::{is_annotation, is_comment, text_of};
use crate::parse::SyntaxTree;
use crate::path::is_blank;
use crate::preamble::indent_of;
use serde::{Deserialize, Serialize};
use std::fmt;
use tree_sitter::Node;

/// Closing delimiters that are nodes in some grammars.
const CLOSING_NODES: &[&str] = &["end_tag", "jsx_closing_element", "block_end", "object_end"];

/// Whole lines that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeBlock {
    /// 1-based first line: the requested one.
    pub first: usize,
    /// 1-based last line. Excludes trailing blank lines and comments of the next item.
    pub last: usize,
    /// 1-based first line of the comments and annotations directly above, which belong to the block; `first` if there
    /// are none.
    pub above: usize,
}

impl CodeBlock {
    /// True if it has more than one line.
    pub fn is_long(&self) -> bool {
        self.last > self.first
    }
}

/// Reason why no block begins on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoBlock {
    /// There is no such line.
    NoLine,
    /// The line is blank.
    Blank,
    /// The line belongs to an item that began on this 1-based line: a closing delimiter, an `else`, a continuation.
    Inside(usize),
    /// The item that begins there does not parse, first on this 1-based line.
    Broken(usize),
    /// The last line of the block (1-based) also contains something else.
    Shares(usize),
}

impl fmt::Display for NoBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoBlock::NoLine => f.write_str("there is no such line"),
            NoBlock::Blank => f.write_str("the line is blank"),
            NoBlock::Inside(line) => write!(f, "the line belongs to what began on line {line}"),
            NoBlock::Broken(line) => write!(f, "what begins there does not parse (line {line})"),
            NoBlock::Shares(line) => write!(f, "its last line, {line}, also holds something else"),
        }
    }
}

impl SyntaxTree<'_> {
    /// Returns the block that begins on the 1-based `line`: the largest single item there. A sequence of statements or
    /// pairs is not a single item, even if its list begins with the first of them.
    ///
    /// Errors: the reason why there is none.
    pub fn block_at(&self, line: usize) -> Result<CodeBlock, NoBlock> {
        let starts = self.starts();
        let row = line.checked_sub(1).filter(|row| *row < starts.len()).ok_or(NoBlock::NoLine)?;
        let text = self.row(starts, row);
        if is_blank(text) {
            return Err(NoBlock::Blank);
        }
        let at = starts[row] + indent_of(text).len();
        let chain = self.chain(at);
        let node = self.begins(&chain, row, at)?;
        let mut last = node;
        // The item after an attribute is the block.
        while is_annotation(last) || (last != node && is_comment(last)) {
            let Some(next) = last.next_named_sibling() else { break };
            last = next;
        }
        if let Some(broken) = [node, last].into_iter().find(Node::has_error) {
            return Err(NoBlock::Broken(broken.start_position().row + 1));
        }
        let end = self.trimmed(starts, last, row);
        if !self.ends_line(starts, last.end_byte(), end) {
            return Err(NoBlock::Shares(end + 1));
        }
        let above = self.above(starts, row).from;
        Ok(CodeBlock { first: line, last: end + 1, above: above + 1 })
    }

    /// Returns the outermost node of `chain` that begins on `row`, or before it with nothing but annotations.
    fn begins<'n>(&self, chain: &[Node<'n>], row: usize, at: usize) -> Result<Node<'n>, NoBlock> {
        let mut found = None;
        if let [.., outer, last] = chain
            && CLOSING_NODES.contains(&last.kind())
        {
            return Err(NoBlock::Inside(outer.start_position().row + 1));
        }
        for pair in chain.windows(2).rev() {
            let node = pair[1];
            let inside = NoBlock::Inside(node.start_position().row + 1);
            if self.is_container(node, at) {
                return found.ok_or(inside);
            }
            if node.start_position().row == row || annotated(node, at) {
                found = Some(node);
            } else {
                return found.ok_or(inside);
            }
        }
        found.ok_or(NoBlock::Inside(1))
    }

    /// True for a list that begins where its first item begins. A Markdown section without a heading is one.
    fn is_container(&self, node: Node<'_>, at: usize) -> bool {
        if node.kind() == "section" && self.language.name() == "markdown" {
            let first = node.named_child(0);
            return !first.is_some_and(|it| it.kind().ends_with("heading") && it.start_byte() <= at);
        }
        self.language.0.containers.contains(&node.kind())
    }

    /// Returns the last row of `node` without trailing blank lines, and without comments after a blank line at its end.
    pub(crate) fn trimmed(&self, starts: &[usize], node: Node<'_>, first: usize) -> usize {
        // In HTML, an element without an end tag has the line end and the indentation of the next one.
        let text = text_of(node, self.text);
        let blank_rows = text[text.trim_end().len()..].matches('\n').count();
        let mut last = node.end_position().row.saturating_sub(blank_rows).min(starts.len() - 1);
        loop {
            if let Some(index) = self.index.get() {
                last = index.solid(last).max(first.min(last));
            }
            while last > first && is_blank(self.row(starts, last)) {
                last -= 1;
            }
            let at = starts[last] + indent_of(self.row(starts, last)).len();
            let Some(row) = self.remark(node, at) else { return last };
            let above = self.above(starts, row).from;
            if above <= first || !is_blank(self.row(starts, above - 1)) {
                return last;
            }
            last = above - 1;
        }
    }

    /// Returns the row of the comment that begins at `at` directly in `node`.
    fn remark(&self, node: Node<'_>, at: usize) -> Option<usize> {
        if let Some(index) = self.index.get() {
            return index.remark(at, node.id()).map(|it| it.row);
        }
        let chain = self.chain(at);
        let comment = chain.iter().find(|it| is_comment(**it) && it.parent() == Some(node));
        comment.filter(|it| it.start_byte() == at && it.id() != node.id()).map(|it| it.start_position().row)
    }

    /// True if only separators and a comment follow `at` on the row `last`.
    pub(crate) fn ends_line(&self, starts: &[usize], at: usize, last: usize) -> bool {
        let stop = starts[last] + self.row(starts, last).len();
        if at >= stop {
            return true;
        }
        let rest = &self.text[at.max(starts[last])..stop];
        let rest_at = stop - rest.trim_start_matches([' ', '\t', ';', ',']).len();
        is_blank(&self.text[rest_at..stop])
            || self.chain(rest_at).iter().any(|it| is_comment(*it) && it.start_byte() == rest_at)
    }
}

/// True if everything in `node` before `at` is annotations and comments.
pub(crate) fn annotated(node: Node<'_>, at: usize) -> bool {
    let mut node = node;
    let mut seen = false;
    loop {
        let mut cursor = node.walk();
        let mut within = None;
        for child in node.children(&mut cursor) {
            if child.start_byte() >= at {
                break;
            }
            if child.end_byte() > at {
                within = Some(child);
                break;
            }
            if !(is_annotation(child) || is_comment(child)) {
                return false;
            }
            seen = true;
        }
        match within {
            Some(child) => node = child,
            None => return seen,
        }
    }
}

//! Comments and attributes directly above a line, which belong to the declaration there.

use crate::grammar::{is_annotation, is_annotation_in, is_comment, text_of};
use crate::index::LeadingNode;
use crate::parse::SyntaxTree;
use crate::path::is_blank;
use tree_sitter::Node;

/// The comments and annotations above a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
    /// 0-based first row; the row of the declaration if there are none.
    pub(crate) from: usize,
    /// 0-based row of the first annotation; the row of the declaration if all are comments.
    pub(crate) annotations: usize,
}

impl SyntaxTree<'_> {
    /// Returns the comments and attributes directly above `row` (0-based), without a blank line between.
    pub(crate) fn above(&self, starts: &[usize], row: usize) -> Preamble {
        let mut above = Preamble { from: row, annotations: row };
        while let Some(end) = above.from.checked_sub(1) {
            let line = self.row(starts, end);
            if is_blank(line) {
                break;
            }
            let Some((lead, is_comment)) = self.leads_until(starts, end) else { break };
            // A comment at the end of a block belongs to what is above it.
            let indent = |row: usize| indent_of(self.row(starts, row)).len();
            if is_comment && indent(lead.first) > indent(row) {
                break;
            }
            above.from = lead.first;
            if !is_comment {
                above.annotations = lead.first;
            }
        }
        above
    }

    /// Returns the first of the comments and annotations that fill the lines up to the end of row `end`, and whether all
    /// of them are comments; `None` if there is something else: a comment after code belongs to that code.
    fn leads_until(&self, starts: &[usize], end: usize) -> Option<(LeadingNode, bool)> {
        let mut lead = self.lead(starts[end] + self.row(starts, end).trim_end().len() - 1)?;
        let mut is_comment = lead.comment;
        if lead.last != end {
            return None;
        }
        loop {
            let first = starts[lead.first] + indent_of(self.row(starts, lead.first)).len();
            let before = self.text[first.min(lead.span.start())..lead.span.start()].trim_end();
            if before.is_empty() {
                return Some((lead, is_comment));
            }
            let end = first + before.len();
            lead = self.lead(end - 1).filter(|it| it.span.end() == end)?;
            is_comment &= lead.comment;
        }
    }

    /// Returns the outermost comment or annotation at the offset `at`.
    fn lead(&self, at: usize) -> Option<LeadingNode> {
        match self.index.get() {
            Some(index) => index.lead(at),
            None => self.chain(at).into_iter().skip(1).find(|node| self.is_lead(*node, None)).map(LeadingNode::of),
        }
    }

    /// True for a comment or attribute that describes the declaration below it. `parent` saves a lookup if it is known.
    pub(crate) fn is_lead(&self, node: Node<'_>, parent: Option<Node<'_>>) -> bool {
        let text = text_of(node, self.text);
        if is_comment(node) {
            // About the file or the enclosing item, not the following one.
            return !["//!", "/*!", "#!"].iter().any(|inner| text.starts_with(inner));
        }
        let said = ["@doc", "@spec", "@impl", "@deprecated", "@typedoc"];
        let annotation = if parent.is_some() { is_annotation_in(node, parent) } else { is_annotation(node) };
        annotation && !text.starts_with("#!")
            || self.language.name() == "elixir"
                && node.kind() == "unary_operator"
                && said.iter().any(|it| text.starts_with(it))
            || self.language.name() == "haskell" && node.kind() == "pragma"
    }
}

/// Returns the indentation of a line.
pub(crate) fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

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
            let last = starts[end] + line.trim_end().len() - 1;
            let Some(lead) = self.lead(last) else { break };
            let from = lead.first;
            // A comment after code belongs to that code.
            let first = starts[from] + indent_of(self.row(starts, from)).len();
            if lead.span.start() != first || lead.last != end {
                break;
            }
            above.from = from;
            if !lead.comment {
                above.annotations = from;
            }
        }
        above
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

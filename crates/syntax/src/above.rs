//! Comments and attributes directly above a line: they belong to what begins there.

use crate::grammar::{is_annotation, is_comment, text_of};
use crate::parse::Parsed;
use crate::path::is_blank;
use tree_sitter::Node;

/// What stands above a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Above {
    /// 0-based row where it begins; the row of the declaration itself when nothing is there.
    pub(crate) from: usize,
    /// 0-based row of the first annotation in it; the same as the declaration's when it is all comments.
    pub(crate) annotations: usize,
}

impl Parsed<'_> {
    /// The comments and attributes directly above `row` (0-based), without a blank line between.
    pub(crate) fn above(&self, starts: &[usize], row: usize) -> Above {
        let mut above = Above { from: row, annotations: row };
        while let Some(end) = above.from.checked_sub(1) {
            let line = self.row(starts, end);
            if is_blank(line) {
                break;
            }
            let last = starts[end] + line.trim_end().len() - 1;
            let chain = self.chain(last);
            let Some(lead) = chain.iter().skip(1).find(|node| self.is_lead(**node)) else { break };
            let from = lead.start_position().row;
            // A comment behind code belongs to that code.
            let first = starts[from] + indent_of(self.row(starts, from)).len();
            if lead.start_byte() != first || crate::path::last_row(*lead) != end {
                break;
            }
            above.from = from;
            if !is_comment(*lead) {
                above.annotations = from;
            }
        }
        above
    }

    /// True for a comment or an attribute that says something of what follows it.
    fn is_lead(&self, node: Node<'_>) -> bool {
        let text = text_of(node, self.text);
        if is_comment(node) {
            // About the file or the enclosing item, not about what follows.
            return !["//!", "/*!", "#!"].iter().any(|inner| text.starts_with(inner));
        }
        let said = ["@doc", "@spec", "@impl", "@deprecated", "@typedoc"];
        is_annotation(node) && !text.starts_with("#!")
            || self.language.name() == "elixir"
                && node.kind() == "unary_operator"
                && said.iter().any(|it| text.starts_with(it))
            || self.language.name() == "haskell" && node.kind() == "pragma"
    }
}

/// The blanks at the beginning of a line.
pub(crate) fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

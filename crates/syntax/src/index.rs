//! Index of a whole tree, built in one walk: without it, outlines of deep or wide texts take quadratic time.

use crate::grammar::is_comment;
use crate::parse::SyntaxTree;
use crate::path::{is_blank, last_row};
use emendate_core::Span;
use tree_sitter::Node;

/// An outermost comment or annotation.
#[derive(Clone, Copy)]
pub(crate) struct LeadingNode {
    pub(crate) span: Span,
    /// 0-based rows.
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) comment: bool,
}

impl LeadingNode {
    pub(crate) fn of(node: Node<'_>) -> LeadingNode {
        let (span, first) = (node.byte_range().into(), node.start_position().row);
        LeadingNode { span, first, last: last_row(node), comment: is_comment(node) }
    }
}

/// A comment directly inside a node.
pub(crate) struct Remark {
    pub(crate) start: usize,
    /// 0-based row.
    pub(crate) row: usize,
    /// Id of the enclosing node.
    pub(crate) parent: usize,
}

/// The index, in the order of the text.
pub(crate) struct TreeIndex {
    leads: Vec<LeadingNode>,
    remarks: Vec<Remark>,
    /// The last non-blank row up to each row.
    solid: Vec<usize>,
}

impl TreeIndex {
    /// Walks the whole tree.
    pub(crate) fn of(parsed: &SyntaxTree<'_>) -> TreeIndex {
        let (mut leads, mut remarks): (Vec<LeadingNode>, Vec<Remark>) = (Vec::new(), Vec::new());
        let mut around: Vec<Node<'_>> = Vec::new();
        let mut cursor = parsed.tree.walk();
        loop {
            let node = cursor.node();
            if let Some(parent) = around.last().filter(|_| node.is_named() && node.end_byte() > node.start_byte()) {
                if is_comment(node) {
                    remarks.push(Remark {
                        start: node.start_byte(),
                        row: node.start_position().row,
                        parent: parent.id(),
                    });
                }
                let outermost = leads.last().is_none_or(|it| it.span.end() <= node.start_byte());
                if outermost && parsed.is_lead(node, Some(*parent)) {
                    leads.push(LeadingNode::of(node));
                }
            }
            if cursor.goto_first_child() {
                around.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return TreeIndex { leads, remarks, solid: solid(parsed) };
                }
                around.pop();
            }
        }
    }

    /// Returns the comment or annotation at the offset `at`.
    pub(crate) fn lead(&self, at: usize) -> Option<LeadingNode> {
        let after = self.leads.partition_point(|it| it.span.start() <= at);
        self.leads[..after].last().copied().filter(|it| it.span.end() > at)
    }

    /// Returns the comment that begins at `at` directly in the node `parent`.
    pub(crate) fn remark(&self, at: usize, parent: usize) -> Option<&Remark> {
        let first = self.remarks.partition_point(|it| it.start < at);
        self.remarks[first..].iter().take_while(|it| it.start == at).find(|it| it.parent == parent)
    }

    /// Returns the last non-blank row up to this one.
    pub(crate) fn solid(&self, row: usize) -> usize {
        self.solid.get(row).copied().unwrap_or(row)
    }
}

fn solid(parsed: &SyntaxTree<'_>) -> Vec<usize> {
    let starts = parsed.starts();
    let mut last = 0;
    let rows = (0..starts.len()).map(|row| {
        if !is_blank(parsed.row(starts, row)) {
            last = row;
        }
        last
    });
    rows.collect()
}

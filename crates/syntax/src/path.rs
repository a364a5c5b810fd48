//! Node chains from the root to an offset, and rows of a text.

use crate::parse::SyntaxTree;
use tree_sitter::Node;

impl<'t> SyntaxTree<'t> {
    /// Returns the named nodes that contain the offset `at`, the root first. A node of zero width contains nothing.
    pub(crate) fn chain(&self, at: usize) -> Vec<Node<'_>> {
        let mut cursor = self.tree.walk();
        let mut chain = vec![cursor.node()];
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.start_byte() > at || node.end_byte() <= at {
                break;
            }
            if node.is_named() {
                chain.push(node);
            }
        }
        chain
    }

    /// Returns the text of a 0-based row without its line end; empty past the end.
    pub(crate) fn row(&self, starts: &[usize], row: usize) -> &'t str {
        let from = starts.get(row).copied().unwrap_or(self.text.len());
        let to = starts.get(row + 1).copied().unwrap_or(self.text.len());
        let line = &self.text[from..to];
        line.strip_suffix('\n').unwrap_or(line)
    }

    /// Returns the offset of each row.
    pub(crate) fn starts(&self) -> &[usize] {
        self.starts.get_or_init(|| self.line_starts())
    }

    fn line_starts(&self) -> Vec<usize> {
        let ends = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let mut starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        // There is no empty row after the last line end.
        if starts.last() == Some(&self.text.len()) && starts.len() > 1 {
            starts.pop();
        }
        starts
    }
}

/// Returns the last row of a node.
pub(crate) fn last_row(node: Node<'_>) -> usize {
    let (start, end) = (node.start_position(), node.end_position());
    if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row }
}

/// True if it contains only whitespace.
pub(crate) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

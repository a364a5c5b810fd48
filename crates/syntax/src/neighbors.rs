//! The parts beside a symbol in the node that both are in.

use crate::grammar::{is_comment, text_of};
use crate::outline::Symbol;
use crate::parse::SyntaxTree;
use emendate_core::Span;
use tree_sitter::Node;

impl SyntaxTree<'_> {
    /// Returns the comma behind a symbol.
    pub(crate) fn comma_after(&self, symbol: &Symbol) -> Option<Span> {
        self.node_of(symbol).and_then(|it| beside(it, |it| it.next_sibling())).and_then(comma)
    }

    /// Returns the comma before a symbol.
    pub(crate) fn comma_before(&self, symbol: &Symbol) -> Option<Span> {
        self.node_of(symbol).and_then(|it| beside(it, |it| it.prev_sibling())).and_then(comma)
    }

    /// True if a block that may not be empty would be without the symbol.
    pub(crate) fn is_only_content(&self, symbol: &Symbol) -> bool {
        if self.language.name() == "bash" {
            return self.node_of(symbol).is_some_and(is_only_command);
        }
        let chain = self.chain(symbol.span.start());
        let containers = self.language.0.containers;
        let mut lists = chain.iter().rev().filter(|it| containers.contains(&it.kind()));
        let list = lists.find(|it| it.end_byte() >= symbol.span.end());
        list.is_some_and(|it| it.named_children(&mut it.walk()).filter(|child| !is_comment(*child)).count() == 1)
    }

    /// True if blank lines below a row belong to the value on it: a YAML scalar with `|+` or `>+`.
    pub(crate) fn keeps_blank_rows(&self, row: usize) -> bool {
        let starts = self.starts();
        let end = starts[row] + self.row(starts, row).trim_end().len();
        let keeps = |it: &Node<'_>| {
            let header = text_of(*it, self.text).lines().next().unwrap_or_default();
            it.kind() == "block_scalar" && header.split('#').next().is_some_and(|it| it.contains('+'))
        };
        self.language.name() == "yaml" && self.chain(end.saturating_sub(1)).iter().any(keeps)
    }

    fn node_of(&self, symbol: &Symbol) -> Option<Node<'_>> {
        self.chain(symbol.span.start()).into_iter().find(|it| symbol.span == it.byte_range().into())
    }
}

/// True for a command without another one beside it. The parser accepts an empty list of commands, but no shell does.
fn is_only_command(node: Node<'_>) -> bool {
    let is_command = |it: Node<'_>| it.is_named() && !it.kind().ends_with("_clause");
    let is_inside = node.parent().is_some_and(|it| it.parent().is_some() && it.kind() != "case_item");
    is_inside
        && !beside(node, |it| it.prev_sibling()).is_some_and(is_command)
        && !beside(node, |it| it.next_sibling()).is_some_and(is_command)
}

/// Returns the node that a step leads to, past comments and line ends.
fn beside<'t>(node: Node<'t>, step: impl Fn(Node<'t>) -> Option<Node<'t>>) -> Option<Node<'t>> {
    let mut at = step(node)?;
    while is_comment(at) || matches!(at.kind(), "\n" | ";") {
        at = step(at)?;
    }
    Some(at)
}

fn comma(node: Node<'_>) -> Option<Span> {
    (node.kind() == ",").then(|| node.byte_range().into())
}

//! The places in a text that have a name.

use crate::grammar::text_of;
use crate::parse::SyntaxTree;
use std::collections::HashSet;
use tree_sitter::Node;

/// An identifier with the name.
pub(crate) struct NamePlace<'t> {
    pub(crate) node: Node<'t>,
    /// Kind of the node around it, and its field there.
    pub(crate) parent: &'t str,
    pub(crate) field: Option<&'t str>,
}

impl SyntaxTree<'_> {
    /// Returns the identifiers with these texts, found in one walk.
    pub(crate) fn identifiers<const NAMES: usize>(&self, names: [&str; NAMES]) -> [Vec<NamePlace<'_>>; NAMES] {
        let shortest = names.iter().map(|name| name.len()).min().unwrap_or_default();
        let mut found = [const { Vec::new() }; NAMES];
        let mut around: Vec<Node<'_>> = Vec::new();
        let mut cursor = self.tree.walk();
        loop {
            let node = cursor.node();
            let len = node.byte_range().len();
            if len >= shortest && cursor.goto_first_child() {
                around.push(node);
                continue;
            }
            let named = names.iter().zip(&mut found).filter(|(name, _)| name.len() == len);
            for (_, found) in named.filter(|(name, _)| is_identifier(node, self.text, name)) {
                let parent = around.last().map_or("", Node::kind);
                found.push(NamePlace { node, parent, field: cursor.field_name() });
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return found;
                }
                around.pop();
            }
        }
    }

    /// Returns the 1-based line of a macro with one of the names: the grammar of C does not parse what macros are
    /// replaced with.
    pub(crate) fn unparsed_use(&self, names: &[&str]) -> Option<usize> {
        let kind = (self.language.0.load)().id_for_node_kind("preproc_arg", true);
        if kind == 0 {
            return None;
        }
        let mut cursor = self.tree.walk();
        loop {
            let node = cursor.node();
            let has_name = |name: &&str| words(text_of(node, self.text), name).next().is_some();
            if node.kind_id() == kind && names.iter().any(has_name) {
                return Some(node.start_position().row + 1);
            }
            if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return None;
                }
            }
        }
    }

    /// Notes where the word occurs in comments and strings.
    pub(crate) fn tell_words(&self, old: &str, places: &[NamePlace<'_>], notes: &mut Vec<String>) {
        let names: HashSet<usize> = places.iter().map(|it| it.node.start_byte()).collect();
        let mut lines: Vec<String> = Vec::new();
        let mut row = (0, 1);
        for at in words(self.text, old).filter(|at| !names.contains(at)) {
            row = (at, row.1 + self.text[row.0..at].matches('\n').count());
            lines.push(row.1.to_string());
        }
        lines.dedup();
        if !lines.is_empty() {
            lines.truncate(20);
            notes.push(format!("Comments and strings with the word were not changed: lines {}.", lines.join(", ")));
        }
    }
}

/// True for an identifier without parts, with this text.
fn is_identifier(node: Node<'_>, text: &str, name: &str) -> bool {
    text_of(node, text) == name && node.child_count() == 0 && node.kind().contains("identifier")
}

/// Returns the offsets at which a name is a word of its own.
fn words<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word =
        move |at: &usize| !text[..*at].ends_with(is_name_part) && !text[*at + name.len()..].starts_with(is_name_part);
    text.match_indices(name).map(|(at, _)| at).filter(is_word)
}

/// True for a character that may be part of a name.
fn is_name_part(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

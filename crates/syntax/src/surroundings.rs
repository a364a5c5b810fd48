//! Proof that an edit of a symbol changes nothing but its own part of the tree.

use crate::edit::Splices;
use crate::grammar::{is_comment, text_of};
use crate::outline::Symbol;
use crate::parse::SyntaxTree;
use emendate_core::{Result, Span};
use std::collections::HashMap;
use tree_sitter::Node;

/// Maximum number of comments that are skipped beside a symbol; another one counts as code.
const COMMENTS_MAX: usize = 10_000;

/// A tree, with the part of its text that an edit replaces or has written.
struct EditedTree<'s, 't> {
    parsed: &'s SyntaxTree<'t>,
    region: Span,
    /// The last code before the region, and the first one after it.
    before: Option<usize>,
    after: Option<usize>,
}

impl SyntaxTree<'_> {
    /// Fails unless all code around the splices has the same place in the tree of the result, and the new text is in
    /// the node that the symbol is in.
    pub(crate) fn check_surroundings(&self, result: &SyntaxTree<'_>, symbol: &Symbol, splices: &Splices) -> Result<()> {
        let Some(region) = splices.edits.iter().map(|(span, _)| *span).reduce(Span::hull) else { return Ok(()) };
        let behind = self.text.len() - region.end();
        let written = Span::new(region.start(), result.text.len() - behind);
        let old = EditedTree::of(self, region);
        let new = EditedTree {
            parsed: result,
            region: written,
            before: old.before,
            after: old.after.map(|at| at - region.end() + written.end()),
        };
        let moved = if old.is_same_outside(&new) { old.moved_table(&new) } else { Some(old.moved_code(&new, symbol)) };
        if let Some(moved) = moved {
            let row = self.starts().partition_point(|start| *start <= moved);
            let what = format!("{} cannot be changed alone: other code would belong to something else.", symbol.path);
            return Err(self.entangled_on(row, what));
        }
        if let Some(parent) = old.parent_without_text(&new, symbol) {
            let what = format!("The new text would not belong to what {} is in.", symbol.path);
            return Err(self.entangled_on(parent.start_position().row + 1, what));
        }
        Ok(())
    }

    /// Returns the 1-based line of a syntax error that a symbol is in or contains, and that may be about where it ends.
    pub(crate) fn error_at(&self, symbol: &Symbol) -> Option<usize> {
        let span = symbol.span;
        let line = |node: Node<'_>| Some(node.start_position().row + 1);
        if let Some(around) = self.chain(span.start()).into_iter().find(|it| self.is_open(*it)) {
            return line(around);
        }
        let mut cursor = self.tree.walk();
        loop {
            let node = cursor.node();
            let is_near = node.start_byte() <= span.end() && span.start() <= node.end_byte();
            if is_near && (node.has_error() || node.is_missing()) {
                if self.is_open(node) && span.covers(node.byte_range().into()) {
                    return line(node);
                }
                if cursor.goto_first_child() {
                    continue;
                }
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return None;
                }
            }
        }
    }

    /// True for an error of the syntax with a bracket or keyword that something may begin or end with. One of words and
    /// operators alone, such as the name of a macro before a function of C, does not matter.
    fn is_open(&self, node: Node<'_>) -> bool {
        let is_operator = |sign: char| "|&=+-*/%^~!?.,;".contains(sign);
        let is_token = |it: Node<'_>| !it.is_named() && !it.kind().chars().all(is_operator);
        if node.is_missing() {
            return is_token(node);
        }
        let is_word = |it: char| it.is_alphanumeric() || it == '_';
        node.is_error()
            && match node.child_count() {
                0 => !text_of(node, self.text).chars().all(is_word),
                _ => node.children(&mut node.walk()).any(is_token),
            }
    }

    /// Returns the comment or other text without meaning at an offset.
    fn extra_at(&self, at: usize) -> Option<Node<'_>> {
        self.chain(at).into_iter().skip(1).find(|node| is_extra(*node))
    }

    /// Returns the offset of the last code before an offset.
    fn code_before(&self, end: usize) -> Option<usize> {
        let mut end = end;
        for _ in 0..COMMENTS_MAX {
            let at = self.text.get(..end)?.trim_end().char_indices().next_back()?.0;
            match self.extra_at(at) {
                Some(extra) => end = extra.start_byte(),
                None => return Some(at),
            }
        }
        end.checked_sub(1)
    }

    /// Returns the offset of the first code from an offset on.
    fn code_from(&self, start: usize) -> Option<usize> {
        let mut start = start;
        for _ in 0..COMMENTS_MAX {
            let rest = self.text.get(start..)?;
            let at = start + (rest.len() - rest.trim_start().len());
            if at == self.text.len() {
                return None;
            }
            match self.extra_at(at) {
                Some(extra) => start = extra.end_byte(),
                None => return Some(at),
            }
        }
        Some(start)
    }
}

impl<'s, 't> EditedTree<'s, 't> {
    fn of(parsed: &'s SyntaxTree<'t>, region: Span) -> EditedTree<'s, 't> {
        let (before, after) = (parsed.code_before(region.start()), parsed.code_from(region.end()));
        EditedTree { parsed, region, before, after }
    }

    /// True if each node outside of the region is in the same nodes of the other tree.
    fn is_same_outside(&self, other: &EditedTree<'_, '_>) -> bool {
        let mut pairs = vec![(self.parsed.tree.root_node(), other.parsed.tree.root_node())];
        while let Some((old, new)) = pairs.pop() {
            // The parser reuses what it did not have to parse again.
            if old.id() == new.id() {
                continue;
            }
            let (olds, news) = (self.outer_children(old), other.outer_children(new));
            let is_token = old.child_count() == 0 && !is_plain_text(old);
            if old.kind_id() != new.kind_id()
                || olds.len() != news.len()
                || is_token && self.shifted(old, other) != Some(new.byte_range().into())
            {
                return false;
            }
            pairs.extend(olds.into_iter().zip(news));
        }
        true
    }

    /// Returns the offset of code beside the region that is in other nodes in the other tree.
    fn moved_code(&self, other: &EditedTree<'_, '_>, symbol: &Symbol) -> usize {
        let kinds =
            |parsed: &SyntaxTree<'_>, at: usize| -> Vec<u16> { parsed.chain(at).iter().map(Node::kind_id).collect() };
        let is_moved = |at: &usize| kinds(self.parsed, *at) != kinds(other.parsed, self.moved(*at, other));
        let near = [self.kept_start(symbol), self.after, self.before];
        near.into_iter().flatten().find(is_moved).or(self.after).unwrap_or(self.region.start())
    }

    /// Returns the start of the symbol, unless it is in the region.
    fn kept_start(&self, symbol: &Symbol) -> Option<usize> {
        Some(symbol.span.start()).filter(|at| *at < self.region.start() || self.region.end() <= *at)
    }

    /// Returns the offset in the other tree of code outside of the region.
    fn moved(&self, at: usize, other: &EditedTree<'_, '_>) -> usize {
        if at < self.region.end() { at } else { at - self.region.end() + other.region.end() }
    }

    /// Returns the children with code outside of the region.
    fn outer_children<'n>(&self, node: Node<'n>) -> Vec<Node<'n>> {
        let is_blank = |it: Node<'_>| it.child_count() == 0 && text_of(it, self.parsed.text).trim().is_empty();
        let mut children = node.children(&mut node.walk()).collect::<Vec<Node<'n>>>();
        children.retain(|it| !is_extra(*it) && self.has_outside(*it) && !is_blank(*it));
        // Without an element between them, two texts of HTML are one.
        children.dedup_by(|next, first| is_plain_text(*next) && is_plain_text(*first));
        children
    }

    /// True for a node with code outside of the region.
    fn has_outside(&self, node: Node<'_>) -> bool {
        self.before.is_some_and(|at| node.start_byte() <= at) || self.after.is_some_and(|at| node.end_byte() > at)
    }

    /// Returns the span that a node has in the other tree; `None` if the edit cuts it.
    fn shifted(&self, node: Node<'_>, other: &EditedTree<'_, '_>) -> Option<Span> {
        if node.end_byte() <= self.region.start() {
            return Some(node.byte_range().into());
        }
        let is_behind = node.start_byte() >= self.region.end();
        is_behind.then(|| Span::new(self.moved(node.start_byte(), other), self.moved(node.end_byte(), other)))
    }

    /// Returns the node around the symbol if the new text is not inside of the same node in the other tree.
    fn parent_without_text(&self, new: &EditedTree<'_, '_>, symbol: &Symbol) -> Option<Node<'s>> {
        let first = new.parsed.code_from(new.region.start()).filter(|at| *at < new.region.end())?;
        let last = new.parsed.code_before(new.region.end()).filter(|at| *at >= new.region.start())?;
        let chain = self.parsed.chain(symbol.span.start());
        let is_around = |node: &Node<'_>| !symbol.span.covers(node.byte_range().into());
        // Code in that node that the edit leaves as it is leads to it in the other tree.
        let kept = [self.kept_start(symbol), self.before, self.after];
        let (depth, at) = (1..chain.len()).rev().filter(|depth| is_around(&chain[*depth])).find_map(|depth| {
            let is_inside = |at: &usize| chain[depth].byte_range().contains(at);
            Some((depth, kept.into_iter().flatten().find(is_inside)?))
        })?;
        let now = new.parsed.chain(self.moved(at, new)).get(depth).map(Node::byte_range);
        let is_beside = now.is_some_and(|range| range.contains(&first) && range.contains(&last));
        (!is_beside).then(|| chain[depth])
    }

    /// Returns the offset of a table outside of the region that would belong to another element of an array of tables:
    /// in TOML, to the last one above it.
    fn moved_table(&self, other: &EditedTree<'_, '_>) -> Option<usize> {
        if self.parsed.language.name() != "toml" {
            return None;
        }
        let (olds, news) = (self.table_owners(), other.table_owners());
        let same = olds
            .iter()
            .zip(&news)
            .take_while(|((_, old), (_, new))| old.map(|at| self.moved(at, other)) == *new)
            .count();
        olds.get(same).map(|(at, _)| *at)
    }

    /// Returns the tables outside of the region with their owners. The first owner inside of the region counts as its
    /// start.
    fn table_owners(&self) -> Vec<(usize, Option<usize>)> {
        let text = self.parsed.text;
        let mut elements: HashMap<String, usize> = HashMap::new();
        let mut owners = Vec::new();
        let root = self.parsed.tree.root_node();
        for table in root.named_children(&mut root.walk()) {
            let Some(key) = table.named_child(0).filter(|_| table.kind().starts_with("table")) else { continue };
            let key: String = text_of(key, text).chars().filter(|it| !it.is_whitespace()).collect();
            let start = table.start_byte();
            let is_outside = self.region.end() <= start || start < self.region.start();
            if is_outside {
                let mut prefixes = key.match_indices('.').rev().map(|(end, _)| &key[..end]);
                owners.push((start, prefixes.find_map(|it| elements.get(it).copied())));
            }
            if table.kind() == "table_array_element" {
                let is_first = elements.get(&key).is_none_or(|at| *at < self.region.start());
                elements.insert(key, if is_outside || !is_first { start } else { self.region.start() });
            }
        }
        owners
    }
}

/// True for text without meaning.
fn is_extra(node: Node<'_>) -> bool {
    node.is_extra() && !node.is_error() || is_comment(node)
}

/// True for text between the elements of HTML.
fn is_plain_text(node: Node<'_>) -> bool {
    node.kind() == "text"
}

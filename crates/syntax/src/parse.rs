//! Parsing, bounded in size and in steps, and parsing again after a change.

use crate::language::Language;
use std::ops::ControlFlow;
use tree_sitter::{InputEdit, ParseOptions, Parser, Point, Tree};

/// How much work a parse may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub bytes: usize,
    /// Times the parser reports progress: every hundred of its operations.
    pub steps: usize,
}

impl Limits {
    /// For a check beside an edit: about 20 ms on a machine of 2020.
    pub const CHECK: Limits = Limits { bytes: 1 << 20, steps: 3_000 };
    /// For a question about the text itself: about two seconds.
    pub const ASKED: Limits = Limits { bytes: 16 << 20, steps: 300_000 };
}

/// A text and its syntax tree.
pub struct Parsed<'t> {
    pub(crate) text: &'t str,
    pub(crate) tree: Tree,
    pub(crate) language: Language,
}

/// Parses `text`. `None` when a limit was reached.
pub fn parse(text: &str, language: Language, limits: Limits) -> Option<Parsed<'_>> {
    let tree = run(text, language, limits, None)?;
    Some(Parsed { text, tree, language })
}

fn run(text: &str, language: Language, limits: Limits, old: Option<&Tree>) -> Option<Tree> {
    if text.len() > limits.bytes {
        return None;
    }
    let mut parser = Parser::new();
    // Fails only for a grammar of another generation, which a test excludes.
    parser.set_language(&(language.0.load)()).ok()?;
    let mut left = limits.steps;
    let mut count = |_: &tree_sitter::ParseState| match left.checked_sub(1) {
        Some(rest) => {
            left = rest;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let bytes = text.as_bytes();
    let mut read = |at: usize, _: Point| bytes.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, old, Some(ParseOptions::new().progress_callback(&mut count)))
}

impl Parsed<'_> {
    /// The tree of `after`, which came out of this text by changes: what stayed is not parsed again.
    pub fn again<'a>(&self, after: &'a str, limits: Limits) -> Option<Parsed<'a>> {
        let mut tree = self.tree.clone();
        let (head, tail) = common_ends(self.text, after);
        let (old_end, new_end) = (self.text.len() - tail, after.len() - tail);
        tree.edit(&InputEdit {
            start_byte: head,
            old_end_byte: old_end,
            new_end_byte: new_end,
            start_position: point(after, head),
            old_end_position: point(self.text, old_end),
            new_end_position: point(after, new_end),
        });
        let tree = run(after, self.language, limits, Some(&tree))?;
        Some(Parsed { text: after, tree, language: self.language })
    }

    /// The language it was parsed in.
    pub fn language(&self) -> Language {
        self.language
    }

    /// True when no part of the text is outside the grammar.
    pub fn is_clean(&self) -> bool {
        !self.tree.root_node().has_error()
    }
}

/// Bytes that two texts have in common at the start and, beyond those, at the end; both whole characters.
fn common_ends(a: &str, b: &str) -> (usize, usize) {
    let mut head = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    while !(a.is_char_boundary(head) && b.is_char_boundary(head)) {
        head -= 1;
    }
    let rest = (a.len() - head).min(b.len() - head);
    let mut tail = a.bytes().rev().zip(b.bytes().rev()).take(rest).take_while(|(a, b)| a == b).count();
    while !(a.is_char_boundary(a.len() - tail) && b.is_char_boundary(b.len() - tail)) {
        tail -= 1;
    }
    (head, tail)
}

fn point(text: &str, at: usize) -> Point {
    let before = &text.as_bytes()[..at];
    let row = before.iter().filter(|byte| **byte == b'\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    Point { row, column }
}

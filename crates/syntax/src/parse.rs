//! Parsing with limits on size and steps, and incremental parsing after a change.

use crate::clock::ThreadClock;
use crate::index::TreeIndex;
use crate::language::Language;
use crate::outline::Outline;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tree_sitter::{InputEdit, ParseOptions, Parser, Point, Tree};

/// Limits of a parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParseLimits {
    /// Bytes of text.
    pub bytes: usize,
    /// Number of progress reports of the parser, one per hundred operations. This limits usual texts, the same
    /// everywhere.
    pub steps: usize,
    /// Milliseconds of processor time, checked at every step: in some texts single operations are expensive.
    pub millis: u64,
    /// Bytes of stack of the parsing thread, if less than it would otherwise get: a text that needs more ends the
    /// process.
    pub stack: usize,
}

impl ParseLimits {
    /// The limits for a check during an edit, which must stay fast: a millisecond for most files, at most 20 ms. A
    /// parse takes about 0.1 ms per KiB, and there are two.
    pub const CHECK: ParseLimits = ParseLimits { bytes: 32 << 10, steps: 2_000, millis: 20, stack: usize::MAX };
    /// The limits for a proof that an edit broke a text and another one would not have, for all parses together. Needed
    /// only if the edit itself has a problem.
    pub const PROOF: ParseLimits = ParseLimits { bytes: 256 << 10, steps: 10_000, millis: 20, stack: usize::MAX };
    /// The limits for a question about the text itself. An outline of the longest tree that this time allows takes as
    /// long again, and a call has two seconds.
    pub const ASKED: ParseLimits = ParseLimits { bytes: 4 << 20, steps: 100_000, millis: 800, stack: usize::MAX };
}

/// Bytes of stack per byte of text: the parser frees its own stack recursively, with at most one frame per token.
const STACK_BYTES_PER_BYTE: usize = 256;
/// Texts that are safe on any thread's stack.
const SMALL_TEXT_BYTES: usize = 4 << 10;

/// A text with its syntax tree.
pub struct SyntaxTree<'t> {
    pub(crate) text: &'t str,
    pub(crate) tree: Tree,
    pub(crate) language: Language,
    pub(crate) starts: OnceCell<Vec<usize>>,
    pub(crate) index: OnceCell<TreeIndex>,
    pub(crate) outline: OnceCell<Outline>,
    /// The 0-based row of the first statement without its block.
    pub(crate) missing_block: OnceCell<Option<usize>>,
}

/// Parses `text`. `None` if a limit was reached.
pub fn parse(text: &str, language: Language, limits: ParseLimits) -> Option<SyntaxTree<'_>> {
    timed(text, language, limits).0
}

/// Parses `text`; stops without a tree as soon as `stop` is set.
pub fn parse_until<'t>(
    text: &'t str,
    language: Language,
    limits: ParseLimits,
    stop: &AtomicBool,
) -> Option<SyntaxTree<'t>> {
    let (tree, spent) = run(text, language, limits, ParseGoal::Until(stop));
    of_tree(text, language, tree, spent).0
}

/// Parses `text`; also returns the time taken.
pub(crate) fn timed(text: &str, language: Language, limits: ParseLimits) -> (Option<SyntaxTree<'_>>, Duration) {
    let (tree, spent) = run(text, language, limits, ParseGoal::Any);
    of_tree(text, language, tree, spent)
}

/// Parses a text that must be free of errors: stops at the first error, since error recovery is the most expensive
/// part.
pub(crate) fn timed_clean(text: &str, language: Language, limits: ParseLimits) -> (Option<SyntaxTree<'_>>, Duration) {
    let (tree, spent) = run(text, language, limits, ParseGoal::Clean);
    of_tree(text, language, tree, spent)
}

fn of_tree(text: &str, language: Language, tree: Option<Tree>, spent: Duration) -> (Option<SyntaxTree<'_>>, Duration) {
    (tree.map(|tree| SyntaxTree::of_tree(text, tree, language)), spent)
}

/// Kind of tree that is needed.
#[derive(Clone, Copy)]
enum ParseGoal<'o> {
    Any,
    /// A tree without errors, or none.
    Clean,
    /// A tree of a text that was made from the text of this tree.
    After(&'o Tree),
    /// Any tree, unless this flag is set first.
    Until(&'o AtomicBool),
}

/// Returns the tree and the time taken.
fn run(text: &str, language: Language, limits: ParseLimits, wanted: ParseGoal<'_>) -> (Option<Tree>, Duration) {
    if text.len() > limits.bytes || language.0.exceeds_scanner.is_some_and(|beyond| beyond(text)) {
        return (None, Duration::ZERO);
    }
    if text.len() <= SMALL_TEXT_BYTES {
        return parse_timed(text, language, limits, wanted);
    }
    std::thread::scope(|scope| {
        let stack = ((1 << 20) + STACK_BYTES_PER_BYTE * text.len()).min(limits.stack);
        let thread = std::thread::Builder::new().stack_size(stack);
        let parse = thread
            .spawn_scoped(scope, || parse_timed(text, language, limits, wanted))
            .ok()
            .and_then(|parse| parse.join().ok());
        parse.unwrap_or((None, Duration::ZERO))
    })
}

/// Parses on this thread; returns the tree and the time taken.
fn parse_timed(text: &str, language: Language, limits: ParseLimits, wanted: ParseGoal<'_>) -> (Option<Tree>, Duration) {
    let clock = ThreadClock::start();
    (bounded(text, language, limits, wanted, clock), clock.spent())
}

/// The rest of the limits of a parse.
struct ParseBudget<'a> {
    clock: ThreadClock,
    end: Duration,
    /// Calls of the parser that are left.
    steps: usize,
    wanted: ParseGoal<'a>,
}

impl ParseBudget<'_> {
    /// Stops the parser if a limit is reached, or the tree is no longer wanted.
    fn check(&mut self, state: &tree_sitter::ParseState) -> ControlFlow<()> {
        match self.steps.checked_sub(1) {
            // If every parse state has an error, so has every tree.
            _ if matches!(self.wanted, ParseGoal::Clean) && state.has_error() => ControlFlow::Break(()),
            _ if matches!(self.wanted, ParseGoal::Until(stop) if stop.load(Ordering::Relaxed)) => {
                ControlFlow::Break(())
            }
            Some(rest) if self.clock.spent() < self.end => {
                self.steps = rest;
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        }
    }
}

fn bounded(
    text: &str,
    language: Language,
    limits: ParseLimits,
    wanted: ParseGoal<'_>,
    clock: ThreadClock,
) -> Option<Tree> {
    let mut parser = Parser::new();
    // Fails only for a grammar with another ABI version, which a test excludes.
    parser.set_language(&(language.0.load)()).ok()?;
    let end = Duration::from_millis(limits.millis);
    let mut budget = ParseBudget { clock, end, steps: limits.steps, wanted };
    let text = language.0.mask.map_or(Cow::Borrowed(text), |mask| mask(text));
    let bytes = text.as_bytes();
    let mut read = |at: usize, _: Point| bytes.get(at..).unwrap_or_default();
    let old = if let ParseGoal::After(old) = wanted { Some(old) } else { None };
    parser.parse_with_options(
        &mut read,
        old,
        Some(ParseOptions::new().progress_callback(&mut |state| budget.check(state))),
    )
}

/// A tree without its text.
#[derive(Clone)]
pub struct DetachedTree {
    tree: Tree,
    language: Language,
}

impl DetachedTree {
    /// Combines it with its text, which the caller guarantees to be the same.
    pub fn with_text(self, text: &str) -> SyntaxTree<'_> {
        SyntaxTree::of_tree(text, self.tree, self.language)
    }
}

impl<'t> SyntaxTree<'t> {
    fn of_tree(text: &'t str, tree: Tree, language: Language) -> SyntaxTree<'t> {
        let (starts, index, outline, missing_block) = Default::default();
        SyntaxTree { text, tree, language, starts, index, outline, missing_block }
    }

    /// Returns the tree alone.
    pub fn detach(&self) -> DetachedTree {
        DetachedTree { tree: self.tree.clone(), language: self.language }
    }

    /// Parses `after`, a changed version of this text, reusing unchanged parts.
    pub fn reparse<'a>(&self, after: &'a str, limits: ParseLimits) -> Option<SyntaxTree<'a>> {
        self.timed(after, limits).0
    }

    /// Parses `after` incrementally; also returns the time taken.
    pub(crate) fn timed<'a>(&self, after: &'a str, limits: ParseLimits) -> (Option<SyntaxTree<'a>>, Duration) {
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
        let (tree, spent) = run(after, self.language, limits, ParseGoal::After(&tree));
        of_tree(after, self.language, tree, spent)
    }

    /// Language of the text.
    pub fn language(&self) -> Language {
        self.language
    }

    /// True if the text has no syntax errors.
    pub fn is_clean(&self) -> bool {
        !self.tree.root_node().has_error() && self.missing_block().is_none()
    }
}

/// Returns the length of the common start and, beyond that, the common end of two texts; both are character boundaries.
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
    let row = memchr::memchr_iter(b'\n', before).count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    Point { row, column }
}

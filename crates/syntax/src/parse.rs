//! Parsing, bounded in size and in steps, and parsing again after a change.

use crate::clock::Clock;
use crate::index::Index;
use crate::language::Language;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tree_sitter::{InputEdit, ParseOptions, Parser, Point, Tree};

/// How much work a parse may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of text.
    pub bytes: usize,
    /// Times the parser reports progress: every hundred of its operations. What bounds a usual text, the same everywhere.
    pub steps: usize,
    /// Milliseconds that the parsing thread works, looked at with every step: some texts make single operations dear.
    pub millis: u64,
    /// Bytes of stack of the thread that parses, where it would otherwise get more: a text that needs them ends the process.
    pub stack: usize,
}

impl Limits {
    /// For a check beside an edit, which it must not make slow: a millisecond for most files, 20 ms at the very most. A
    /// parse costs about 0.1 ms per KiB, and there are two.
    pub const CHECK: Limits = Limits { bytes: 32 << 10, steps: 2_000, millis: 20, stack: usize::MAX };
    /// For a proof that an edit broke a text and that another one would not have: all its parses together. They are made
    /// only where something is wrong with the edit itself.
    pub const PROOF: Limits = Limits { bytes: 256 << 10, steps: 10_000, millis: 20, stack: usize::MAX };
    /// For a question about the text itself.
    pub const ASKED: Limits = Limits { bytes: 4 << 20, steps: 100_000, millis: 1_500, stack: usize::MAX };
}

/// Bytes of stack per byte of text: the parser gives its own stack back by recursion, at most a frame for each token.
const FRAME: usize = 256;
/// Texts that any thread's stack is enough for.
const SHALLOW: usize = 4 << 10;

/// A text and its syntax tree.
pub struct Parsed<'t> {
    pub(crate) text: &'t str,
    pub(crate) tree: Tree,
    pub(crate) language: Language,
    pub(crate) starts: OnceCell<Vec<usize>>,
    pub(crate) index: OnceCell<Index>,
}

/// Parses `text`. `None` when a limit was reached.
pub fn parse(text: &str, language: Language, limits: Limits) -> Option<Parsed<'_>> {
    timed(text, language, limits).0
}

/// The same, ended without a tree as soon as `stop` is set.
pub fn parse_until<'t>(text: &'t str, language: Language, limits: Limits, stop: &AtomicBool) -> Option<Parsed<'t>> {
    of_tree((text, language), run(text, language, limits, Wanted::Until(stop))).0
}

/// The same with the time that it took.
pub(crate) fn timed(text: &str, language: Language, limits: Limits) -> (Option<Parsed<'_>>, Duration) {
    of_tree((text, language), run(text, language, limits, Wanted::Any))
}

/// The same of a text that may have to be clean: at the first error, which costs the parser the most, it ends.
pub(crate) fn timed_clean(text: &str, language: Language, limits: Limits) -> (Option<Parsed<'_>>, Duration) {
    of_tree((text, language), run(text, language, limits, Wanted::Clean))
}

fn of_tree(
    (text, language): (&str, Language),
    (tree, spent): (Option<Tree>, Duration),
) -> (Option<Parsed<'_>>, Duration) {
    (tree.map(|tree| Parsed::of_tree(text, tree, language)), spent)
}

/// Which tree is wanted.
#[derive(Clone, Copy)]
enum Wanted<'o> {
    Any,
    /// None where a part of the text is outside the grammar.
    Clean,
    /// Of a text that came out of the one of this tree.
    After(&'o Tree),
    /// Any, before this flag is set.
    Until(&'o AtomicBool),
}

/// The tree, and the time that it took.
fn run(text: &str, language: Language, limits: Limits, wanted: Wanted<'_>) -> (Option<Tree>, Duration) {
    if text.len() > limits.bytes || language.0.beyond.is_some_and(|beyond| beyond(text)) {
        return (None, Duration::ZERO);
    }
    let timed = || {
        let clock = Clock::start();
        (bounded(text, language, limits, wanted, clock), clock.spent())
    };
    if text.len() <= SHALLOW {
        return timed();
    }
    std::thread::scope(|scope| {
        let stack = ((1 << 20) + FRAME * text.len()).min(limits.stack);
        let thread = std::thread::Builder::new().stack_size(stack);
        let parse = thread.spawn_scoped(scope, timed).ok().and_then(|parse| parse.join().ok());
        parse.unwrap_or((None, Duration::ZERO))
    })
}

fn bounded(text: &str, language: Language, limits: Limits, wanted: Wanted<'_>, clock: Clock) -> Option<Tree> {
    let mut parser = Parser::new();
    // Fails only for a grammar of another generation, which a test excludes.
    parser.set_language(&(language.0.load)()).ok()?;
    let end = Duration::from_millis(limits.millis);
    let mut left = limits.steps;
    let clean = matches!(wanted, Wanted::Clean);
    let mut count = |state: &tree_sitter::ParseState| match left.checked_sub(1) {
        // Once every way to read the text has an error, no tree is without one.
        _ if clean && state.has_error() => ControlFlow::Break(()),
        _ if matches!(wanted, Wanted::Until(stop) if stop.load(Ordering::Relaxed)) => ControlFlow::Break(()),
        Some(rest) if clock.spent() < end => {
            left = rest;
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Break(()),
    };
    let text = language.0.mask.map_or(Cow::Borrowed(text), |mask| mask(text));
    let bytes = text.as_bytes();
    let mut read = |at: usize, _: Point| bytes.get(at..).unwrap_or_default();
    let old = if let Wanted::After(old) = wanted { Some(old) } else { None };
    parser.parse_with_options(&mut read, old, Some(ParseOptions::new().progress_callback(&mut count)))
}

/// A tree without its text.
#[derive(Clone)]
pub struct Kept {
    tree: Tree,
    language: Language,
}

impl Kept {
    /// Together with its text again, which is the same: the caller knows that.
    pub fn of(self, text: &str) -> Parsed<'_> {
        Parsed::of_tree(text, self.tree, self.language)
    }
}

impl<'t> Parsed<'t> {
    fn of_tree(text: &'t str, tree: Tree, language: Language) -> Parsed<'t> {
        Parsed { text, tree, language, starts: OnceCell::new(), index: OnceCell::new() }
    }

    /// The tree alone.
    pub fn kept(&self) -> Kept {
        Kept { tree: self.tree.clone(), language: self.language }
    }

    /// The tree of `after`, which came out of this text by changes: what stayed is not parsed again.
    pub fn again<'a>(&self, after: &'a str, limits: Limits) -> Option<Parsed<'a>> {
        self.timed(after, limits).0
    }

    /// The same with the time that it took.
    pub(crate) fn timed<'a>(&self, after: &'a str, limits: Limits) -> (Option<Parsed<'a>>, Duration) {
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
        of_tree((after, self.language), run(after, self.language, limits, Wanted::After(&tree)))
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
    let row = memchr::memchr_iter(b'\n', before).count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    Point { row, column }
}

//! Queries about a text and their answers, as serializable values, so that another process can parse: a crash of a
//! grammar then affects nothing else.

use crate::block::{CodeBlock, NoBlock};
use crate::check::{FirstError, ParseBaseline};
use crate::color::{ColorSpan, LineRange};
use crate::edit::{Splices, SymbolAction};
use crate::language::Language;
use crate::outline::{Definition, Outline};
use crate::parse::{DetachedTree, ParseLimits, parse_until};
use emendate_core::{Code, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of cached trees. Their texts are small: larger ones are not parsed during an edit.
const CACHED_TREES_MAX: usize = 16;
/// Maximum bytes of a text whose tree is cached.
const CACHED_TEXT_BYTES_MAX: usize = ParseLimits::PROOF.bytes;

/// A question about a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SyntaxQuery<'t> {
    /// Language of the text.
    pub language: Language,
    /// Limits of all parses for the answer.
    pub limits: ParseLimits,
    /// The text.
    pub text: Cow<'t, str>,
    /// The subject.
    pub about: QuerySubject<'t>,
}

/// Subject of a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum QuerySubject<'t> {
    /// All symbols, and the first syntax error.
    Outline,
    /// The symbol with this path.
    Definition(SymbolTarget<'t>),
    /// The splices that change a symbol.
    Edit {
        /// The symbol.
        target: SymbolTarget<'t>,
        /// The change.
        action: SymbolAction,
        /// The new text or name.
        new: Cow<'t, str>,
    },
    /// The blocks that begin on these 1-based lines.
    Blocks(Vec<usize>),
    /// Position of the first syntax error.
    FirstError,
    /// The 0-based lines that begin inside of a string whose value contains the indentation.
    RowsInStrings,
    /// Classes of the tokens in these lines, in order.
    Colors(Vec<LineRange>),
    /// The question whether another text, made from this one by changes, parses, given that this one does.
    After(Cow<'t, str>),
}

/// A symbol by path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SymbolTarget<'t> {
    /// Names joined by dots.
    pub path: Cow<'t, str>,
    /// A 1-based line of the symbol, where several have the path.
    pub line: Option<usize>,
}

/// The answer to a question, and the remaining time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimedAnswer {
    /// `None` if a limit was reached.
    pub answer: Option<SyntaxAnswer>,
    /// Milliseconds left of the limits, for [`QuerySubject::After`].
    pub left: u64,
}

/// An answer, named like its subject.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SyntaxAnswer {
    /// The answer to [`QuerySubject::Outline`].
    Outline(Outline, Option<FirstError>),
    /// The answer to [`QuerySubject::Definition`].
    Definition(Definition),
    /// The answer to [`QuerySubject::Edit`], if the path identifies one symbol.
    Edit(Result<Splices, WireError>),
    /// The answer to [`QuerySubject::Blocks`], in order.
    Blocks(Vec<Result<CodeBlock, NoBlock>>),
    /// The answer to [`QuerySubject::FirstError`].
    FirstError(Option<FirstError>),
    /// The answer to [`QuerySubject::RowsInStrings`], in order.
    RowsInStrings(Vec<usize>),
    /// The answer to [`QuerySubject::Colors`].
    Colors(Vec<ColorSpan>),
    /// The answer to [`QuerySubject::After`]: the first syntax error of the other text.
    After(Option<FirstError>),
    /// The answer to [`QuerySubject::After`], if the first text does not parse itself.
    Unproven,
}

/// A serializable error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WireError {
    code: String,
    message: String,
    evidence: String,
    next: String,
    data: Map<String, Value>,
}

impl From<&Error> for WireError {
    fn from(error: &Error) -> WireError {
        WireError {
            code: error.code().as_str().to_owned(),
            message: error.message().to_owned(),
            evidence: error.evidence_text().to_owned(),
            next: error.next_step().to_owned(),
            data: error.data().clone(),
        }
    }
}

impl WireError {
    /// Converts it back.
    pub fn into_error(self) -> Error {
        let known = [Code::SymbolEntangled, Code::SyntaxBroken, Code::EditNoChange, Code::CallInvalid];
        let code = known.into_iter().find(|it| it.as_str() == self.code).unwrap_or(Code::InternalBug);
        let error = Error::new(code, self.message).evidence(self.evidence).next(self.next);
        self.data.into_iter().fold(error, |error, (key, value)| error.fact(&key, value))
    }
}

/// A small text that parses, with its tree.
struct CachedTree {
    language: Language,
    text: String,
    tree: DetachedTree,
}

/// Answers questions. Caches the trees of recent texts that parse, so that after a change only the changed part is
/// parsed.
#[derive(Default)]
pub struct Answerer {
    known: Mutex<VecDeque<CachedTree>>,
}

impl Answerer {
    /// Answers a question; returns early, without an answer, if `stop` is set.
    pub fn answer(&self, question: &SyntaxQuery<'_>, stop: &AtomicBool) -> TimedAnswer {
        let SyntaxQuery { language, limits, text, about } = question;
        if let QuerySubject::After(after) = about {
            return self.after(question, after);
        }
        let parsed = parse_until(text, *language, *limits, stop);
        let answer = parsed.map(|parsed| match about {
            QuerySubject::Outline => SyntaxAnswer::Outline(parsed.outline().clone(), parsed.first_error()),
            QuerySubject::Definition(target) => SyntaxAnswer::Definition(parsed.definition(&target.path, target.line)),
            QuerySubject::Edit { target, action, new } => match parsed.definition(&target.path, target.line) {
                Definition::One(symbol) => {
                    SyntaxAnswer::Edit(parsed.edit(&symbol, *action, new).map_err(|error| WireError::from(&error)))
                }
                other => SyntaxAnswer::Definition(other),
            },
            QuerySubject::Blocks(lines) => {
                SyntaxAnswer::Blocks(lines.iter().map(|line| parsed.block_at(*line)).collect())
            }
            QuerySubject::FirstError => SyntaxAnswer::FirstError(parsed.first_error()),
            QuerySubject::RowsInStrings => SyntaxAnswer::RowsInStrings(parsed.rows_in_strings()),
            QuerySubject::Colors(ranges) => SyntaxAnswer::Colors(parsed.colors(ranges)),
            QuerySubject::After(_) => SyntaxAnswer::Unproven,
        });
        TimedAnswer { answer, left: 0 }
    }

    fn after(&self, question: &SyntaxQuery<'_>, after: &str) -> TimedAnswer {
        let SyntaxQuery { language, limits, text, .. } = question;
        let proof = match self.cached_tree(*language, text) {
            Some(kept) => ParseBaseline::again(kept.with_text(text), *limits),
            None => match ParseBaseline::of(text, *language, *limits) {
                Some(proof) => {
                    self.keep(*language, text, || proof.before().detach());
                    proof
                }
                None => return TimedAnswer { answer: Some(SyntaxAnswer::Unproven), left: 0 },
            },
        };
        let parsed = proof.after(after);
        let answer = parsed.map(|parsed| {
            let error = parsed.first_error();
            if error.is_none() {
                self.keep(*language, after, || parsed.detach());
            }
            SyntaxAnswer::After(error)
        });
        TimedAnswer { answer, left: proof.left() }
    }

    fn cached_tree(&self, language: Language, text: &str) -> Option<DetachedTree> {
        let cached_trees = self.all();
        cached_trees.iter().find(|it| it.language == language && it.text == text).map(|it| it.tree.clone())
    }

    fn keep(&self, language: Language, text: &str, tree: impl FnOnce() -> DetachedTree) {
        if text.len() > CACHED_TEXT_BYTES_MAX {
            return;
        }
        let mut cached_trees = self.all();
        cached_trees.truncate(CACHED_TREES_MAX - 1);
        cached_trees.push_front(CachedTree { language, text: text.to_owned(), tree: tree() });
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<CachedTree>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Questions about a text and their answers as values: they can be sent to another process, where a fault of a grammar
//! ends nothing else.

use crate::block::{Block, NoBlock};
use crate::check::{FirstError, Proof};
use crate::edit::{Action, Splices};
use crate::language::Language;
use crate::outline::{Definition, Outline};
use crate::parse::{Kept, Limits, parse_until};
use emendate_core::{Code, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Trees that are kept. The texts are small: larger ones are not parsed beside an edit.
const TREES: usize = 16;
/// Bytes of a text whose tree is kept.
const KEPT: usize = Limits::PROOF.bytes;

/// A question about a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question<'t> {
    /// The language of the text.
    pub language: Language,
    /// Bounds of the parses that the answer takes.
    pub limits: Limits,
    /// The text.
    pub text: Cow<'t, str>,
    /// The subject.
    pub about: About<'t>,
}

/// Subjects of questions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum About<'t> {
    /// All symbols, and where the text leaves its grammar first.
    Outline,
    /// The symbol that a path leads to.
    Definition(Target<'t>),
    /// The splices that do something to a symbol.
    Edit {
        /// The symbol.
        target: Target<'t>,
        /// The change.
        action: Action,
        /// The new text, or the new name.
        new: Cow<'t, str>,
    },
    /// The blocks that begin on these 1-based lines.
    Blocks(Vec<usize>),
    /// Position of the first syntax error.
    FirstError,
    /// Whether another text, made from this one by changes, parses, if this one does.
    After(Cow<'t, str>),
}

/// A symbol by its path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Target<'t> {
    /// Names joined by dots.
    pub path: Cow<'t, str>,
    /// A 1-based line of the symbol, where several have the path.
    pub line: Option<usize>,
}

/// The answer to a question, and the time it took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// `None` where a limit was reached.
    pub answer: Option<Answer>,
    /// Milliseconds of the limits that are left, for [`About::After`].
    pub left: u64,
}

/// An answer: of the same name as the subject.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To [`About::Outline`].
    Outline(Outline, Option<FirstError>),
    /// To [`About::Definition`].
    Definition(Definition),
    /// To [`About::Edit`], where the path leads to one symbol.
    Edit(Result<Splices, Refusal>),
    /// To [`About::Blocks`], in their order.
    Blocks(Vec<Result<Block, NoBlock>>),
    /// To [`About::FirstError`].
    FirstError(Option<FirstError>),
    /// To [`About::After`]: where the other text leaves the grammar.
    After(Option<FirstError>),
    /// To [`About::After`], where the first text does not parse itself.
    Unproven,
}

/// An error that can be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refusal {
    code: String,
    message: String,
    evidence: String,
    next: String,
    data: Map<String, Value>,
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Refusal {
        Refusal {
            code: error.code().as_str().to_owned(),
            message: error.message().to_owned(),
            evidence: error.evidence_text().to_owned(),
            next: error.next_step().to_owned(),
            data: error.data().clone(),
        }
    }
}

impl Refusal {
    /// The error again.
    pub fn into_error(self) -> Error {
        let known = [Code::SymbolEntangled, Code::SyntaxBroken, Code::EditNoChange, Code::CallInvalid];
        let code = known.into_iter().find(|it| it.as_str() == self.code).unwrap_or(Code::InternalBug);
        let error = Error::new(code, self.message).evidence(self.evidence).next(self.next);
        self.data.into_iter().fold(error, |error, (key, value)| error.fact(&key, value))
    }
}

/// A small text that parses, and its tree.
struct Known {
    language: Language,
    text: String,
    tree: Kept,
}

/// Answers questions. Keeps the trees of the latest texts that parse, so that the next change of one parses only what
/// changed.
#[derive(Default)]
pub struct Answerer {
    known: Mutex<VecDeque<Known>>,
}

impl Answerer {
    /// Answers a question; sooner, without an answer, when `stop` is set.
    pub fn answer(&self, question: &Question<'_>, stop: &AtomicBool) -> Answered {
        let Question { language, limits, text, about } = question;
        if let About::After(after) = about {
            return self.after(question, after);
        }
        let parsed = parse_until(text, *language, *limits, stop);
        let answer = parsed.map(|parsed| match about {
            About::Outline => Answer::Outline(parsed.outline(), parsed.first_error()),
            About::Definition(target) => Answer::Definition(parsed.definition(&target.path, target.line)),
            About::Edit { target, action, new } => match parsed.definition(&target.path, target.line) {
                Definition::One(symbol) => {
                    Answer::Edit(parsed.edit(&symbol, *action, new).map_err(|error| Refusal::from(&error)))
                }
                other => Answer::Definition(other),
            },
            About::Blocks(lines) => Answer::Blocks(lines.iter().map(|line| parsed.block_at(*line)).collect()),
            About::FirstError => Answer::FirstError(parsed.first_error()),
            About::After(_) => Answer::Unproven,
        });
        Answered { answer, left: 0 }
    }

    fn after(&self, question: &Question<'_>, after: &str) -> Answered {
        let Question { language, limits, text, .. } = question;
        let proof = match self.known(*language, text) {
            Some(kept) => Proof::again(kept.of(text), *limits),
            None => match Proof::of(text, *language, *limits) {
                Some(proof) => {
                    self.keep(*language, text, || proof.before().kept());
                    proof
                }
                None => return Answered { answer: Some(Answer::Unproven), left: 0 },
            },
        };
        let parsed = proof.after(after);
        let answer = parsed.map(|parsed| {
            let error = parsed.first_error();
            if error.is_none() {
                self.keep(*language, after, || parsed.kept());
            }
            Answer::After(error)
        });
        Answered { answer, left: proof.left() }
    }

    fn known(&self, language: Language, text: &str) -> Option<Kept> {
        let known = self.all();
        known.iter().find(|it| it.language == language && it.text == text).map(|it| it.tree.clone())
    }

    fn keep(&self, language: Language, text: &str, tree: impl FnOnce() -> Kept) {
        if text.len() > KEPT {
            return;
        }
        let mut known = self.all();
        known.truncate(TREES - 1);
        known.push_front(Known { language, text: text.to_owned(), tree: tree() });
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

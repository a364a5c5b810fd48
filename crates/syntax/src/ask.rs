//! Questions about a text and their answers as serializable values, so that another process can parse: a crash of a
//! grammar then affects nothing else.

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

/// Maximum number of cached trees. Their texts are small: larger ones are not parsed during an edit.
const TREES: usize = 16;
/// Maximum bytes of a text whose tree is cached.
const KEPT: usize = Limits::PROOF.bytes;

/// A question about a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question<'t> {
    /// Language of the text.
    pub language: Language,
    /// Limits of all parses for the answer.
    pub limits: Limits,
    /// The text.
    pub text: Cow<'t, str>,
    /// The subject.
    pub about: About<'t>,
}

/// Subject of a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum About<'t> {
    /// All symbols, and the first syntax error.
    Outline,
    /// The symbol with this path.
    Definition(Target<'t>),
    /// The splices that change a symbol.
    Edit {
        /// The symbol.
        target: Target<'t>,
        /// The change.
        action: Action,
        /// The new text or name.
        new: Cow<'t, str>,
    },
    /// The blocks that begin on these 1-based lines.
    Blocks(Vec<usize>),
    /// Position of the first syntax error.
    FirstError,
    /// Whether another text, made from this one by changes, parses, given that this one does.
    After(Cow<'t, str>),
}

/// A symbol by path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Target<'t> {
    /// Names joined by dots.
    pub path: Cow<'t, str>,
    /// A 1-based line of the symbol, where several have the path.
    pub line: Option<usize>,
}

/// The answer to a question, and the remaining time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// `None` if a limit was reached.
    pub answer: Option<Answer>,
    /// Milliseconds left of the limits, for [`About::After`].
    pub left: u64,
}

/// An answer, named like its subject.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To [`About::Outline`].
    Outline(Outline, Option<FirstError>),
    /// To [`About::Definition`].
    Definition(Definition),
    /// To [`About::Edit`], if the path identifies one symbol.
    Edit(Result<Splices, Refusal>),
    /// To [`About::Blocks`], in order.
    Blocks(Vec<Result<Block, NoBlock>>),
    /// To [`About::FirstError`].
    FirstError(Option<FirstError>),
    /// To [`About::After`]: the first syntax error of the other text.
    After(Option<FirstError>),
    /// To [`About::After`], if the first text does not parse itself.
    Unproven,
}

/// A serializable error.
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
    /// Converts it back.
    pub fn into_error(self) -> Error {
        let known = [Code::SymbolEntangled, Code::SyntaxBroken, Code::EditNoChange, Code::CallInvalid];
        let code = known.into_iter().find(|it| it.as_str() == self.code).unwrap_or(Code::InternalBug);
        let error = Error::new(code, self.message).evidence(self.evidence).next(self.next);
        self.data.into_iter().fold(error, |error, (key, value)| error.fact(&key, value))
    }
}

/// A small text that parses, with its tree.
struct Known {
    language: Language,
    text: String,
    tree: Kept,
}

/// Answers questions. Caches the trees of recent texts that parse, so that after a change only the changed part is
/// parsed.
#[derive(Default)]
pub struct Answerer {
    known: Mutex<VecDeque<Known>>,
}

impl Answerer {
    /// Answers a question; returns early, without an answer, if `stop` is set.
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

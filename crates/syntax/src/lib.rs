//! Syntax of a text: blocks, outlines, symbols and syntax errors.
//!
//! Pure like `core`: text in, spans and edits out. Tree-sitter is an implementation detail, and its work is limited by
//! counting its steps, so the same text has the same result everywhere.

mod above;
mod ask;
mod beyond;
mod block;
mod check;
mod clock;
mod edit;
mod grammar;
mod grammars;
mod index;
mod language;
mod mask;
mod outline;
mod parse;
mod path;
mod rename;
mod scope;

pub use ask::{About, Answer, Answered, Answerer, Question, Refusal, Target};
pub use block::{Block, NoBlock};
pub use check::{FirstError, Proof};
pub use edit::{Action, Splices};
pub use language::Language;
pub use outline::{Definition, Outline, Symbol};
pub use parse::{Kept, Limits, Parsed, parse, parse_until};

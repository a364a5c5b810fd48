//! What the grammar of a language says of a text: blocks, outlines, symbols, and whether it parses.
//!
//! Pure like `core`: text in, spans and edits out. Tree-sitter stays inside, and its work is bounded by counting its steps,
//! so the same text has the same answer everywhere.

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

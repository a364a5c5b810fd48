//! Syntax of a text: blocks, outlines, symbols and syntax errors.
//!
//! Pure like `core`: text in, spans and edits out. Tree-sitter is an implementation detail, and its work is limited by
//! counting its steps, so the same text has the same result everywhere.

mod block;
mod check;
mod clock;
mod color;
mod edit;
mod edit_tail;
mod grammar;
mod grammars;
mod index;
mod language;
mod mask;
mod missing_block;
mod name_place;
mod name_use;
mod neighbors;
mod outline;
mod parse;
mod path;
mod position;
mod preamble;
mod query;
mod reindent;
mod rename;
mod scanner_limits;
mod scope;
mod similar_names;
mod surroundings;

pub use block::{CodeBlock, NoBlock};
pub use check::{FirstError, ParseBaseline};
pub use color::{ColorClass, ColorSpan, LineRange};
pub use edit::{Splices, SymbolAction};
pub use language::Language;
pub use outline::{Definition, Outline, Symbol};
pub use parse::{DetachedTree, ParseLimits, SyntaxTree, parse, parse_until};
pub use query::{Answerer, QuerySubject, SymbolTarget, SyntaxAnswer, SyntaxQuery, TimedAnswer, WireError};

//! Text in, edits out: the pure core of Emendate. No files, clocks, randomness, threads or environment; it compiles for
//! `wasm32-unknown-unknown` and for Windows.
//!
//! # Edits of text in memory
//!
//! Functions take texts and return texts:
//!
//! | function | does |
//! |---|---|
//! | [`edit`] | replaces a text that is meant, in a text |
//! | [`apply`] | applies what a model wrote, in any text format, to one text |
//! | [`apply_files`] | applies it to a map of files, or to any other [`View`]: all of it, or nothing |
//! | [`diff`] | compares two texts, and prints the difference as a patch |
//! | [`convert`] | prints the changes of a patch in another format |
//! | [`named_files`] | lists the files that a patch may change |
//! | [`similarity`], [`line_similarity`] | measure how similar two texts are, as Python's `difflib` does |
//!
//! ```
//! use emendate_core::{ApplyOptions, apply};
//!
//! let text = "fn main() {\n    let a = 1;\n    let b = 2;\n}\n";
//! // The model has lost the indentation.
//! let reply = "main.rs\n<<<<<<< SEARCH\nlet a = 1;\nlet b = 2;\n=======\nlet a = 1;\nlet b = 3;\n>>>>>>> REPLACE\n";
//! let applied = apply(text, reply, &ApplyOptions::new())?;
//! assert_eq!(applied.text, text.replace("b = 2", "b = 3"));
//! assert_eq!((applied.format, applied.tier.name()), ("search_replace", "indent_shift"));
//! assert_eq!(applied.notes.len(), 1);
//! // Only this byte changed.
//! assert_eq!((&text[applied.spans[0].before.clone()], &applied.text[applied.spans[0].after.clone()]), ("2", "3"));
//! # Ok::<(), emendate_core::Error>(())
//! ```
//!
//! A failure is an [`Error`] with a stable code, the evidence, and the next call that would work.
//!
//! # The parts
//!
//! - [`Snapshot`]: a version of a file, with its decoded text; [`ChangeSet`]: splices of a version, which can be
//!   inverted, composed, rebased and explained ([`explain`]).
//! - [`formats`]: parsers of edit formats, and their detection; [`print`](mod@print): printers of changes.
//! - [`Locator`], [`find`](fn@find), [`resolve`](fn@resolve): ways to point at text, and the matching cascade.
//! - [`work`]: the limit on the work of one call.

pub mod advice;
mod code;
mod error;
pub mod formats;
mod in_memory;
mod locate;
mod note;
pub mod parameters;
mod setters;
mod text;
pub mod work;

pub use advice::{Advice, Phrase, Vocabulary};
pub use code::{CODES, Code, CodeRow, Remedy};
pub use error::{Error, ErrorContext, ErrorParts, Result};
pub use formats::{print, whole_text};
pub use in_memory::{
    AppliedFiles, AppliedText, ApplyLimits, ApplyOptions, ChangedFile, ChangedSpan, FileChangeKind, NewText, PatchText,
    TextDiff, apply, apply_files, apply_in_parts, convert, diff, edit, function_parameters, line_similarity,
    named_files, similarity,
};
pub use locate::binary::{BINARY_RESULT_BYTES_MAX, apply_binary, is_object};
pub use locate::fence_name::FenceName;
pub use locate::find::{
    CHANGED_PLACES_MAX, HEADING_LINES_MAX, INSERTED_BYTES_MAX, TextEdit, TextMatch, TextMatches, Tier, check_amount,
    find,
};
pub use locate::op::{
    AnchorPair, BinaryChange, BinaryPayload, EDITS_PER_CALL_MAX, ExpectedMatches, FileAction, FileMode, FileRequest,
    Hunk, HunkLine, HunkLineKind, Locator, Matching, NewFile, Op, OpOrder, Request, ResolveSettings, TextNames,
    TextQuery, normalize_text,
};
pub use locate::resolve::{OpOutcome, ResolvedEdit, not_blank, resolve, resolve_texts};
pub use locate::{anchor_map, carried_text, elided, line_edits, line_format, notebook, omission, refusals};
pub use note::{Changers, MergeBase, Note, Notes};
pub use parameters::ArgumentStyle;
pub use text::change::{ChangeSet, Conflict, Overlap, Presence, RebaseResult, Splice, TieBreak};
pub use text::charset::{Charset, Codec, DeclaredEncoding, EncodingEvidence};
pub use text::content::{ContentHash, ContentId, Handle, HeaderStyle, ShortHash, ShortTag, Tag};
pub use text::explain;
pub use text::generated::generated;
pub use text::invisible::{curly_quotes, invisible_characters};
pub use text::lines::LineIndex;
pub use text::merge::{CONFLICT_BEGIN, merge_with_markers};
pub use text::overlay::{Overlay, OverlayCheckpoint, OverlayEntry};
pub use text::scan::{OCCURRENCES_MAX, Occurrence, Scan, ScanObstacle, ScanResult};
pub use text::snapshot::{FileSummary, LineEnd, LineEnds, Snapshot, SparseChunk};
pub use text::span::Span;
pub use text::view::View;
pub use text::whitespace::{WhitespaceFault, whitespace_faults};

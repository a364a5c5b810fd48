//! Text in, edits out: the pure core of Emendate. No files, clocks, randomness, threads or environment.

pub mod advice;
pub mod anchor_map;
mod binary;
mod change;
mod charset;
mod code;
mod conflict;
mod content;
mod decode;
mod diff;
pub mod elided;
mod error;
pub mod explain;
mod find;
pub mod formats;
mod generated;
mod in_memory;
mod invisible;
pub mod line_edits;
pub mod line_format;
mod lines;
mod merge;
mod multi_search;
pub mod notebook;
pub mod omission;
mod op;
mod overlay;
pub mod print;
pub mod refusals;
mod resolve;
mod reverse;
mod scan;
mod snapshot;
mod span;
mod whitespace;
pub mod whole_text;
pub mod work;

pub use advice::{Advice, Phrase, Vocabulary};
pub use binary::{BINARY_RESULT_BYTES_MAX, apply_binary, is_object};
pub use change::{ChangeSet, Conflict, Overlap, RebaseResult, Splice, TieBreak};
pub use charset::{Charset, Codec, DeclaredEncoding, EncodingEvidence};
pub use code::{CODES, Code, CodeRow, Remedy};
pub use content::{ContentHash, ContentId, Handle, HeaderStyle, ShortHash, ShortTag, Tag};
pub use error::{Error, ErrorParts, Result};
pub use find::{
    CHANGED_PLACES_MAX, COPIED_NUMBERS_NOTE, HEADING_LINES_MAX, INSERTED_BYTES_MAX, TextEdit, TextMatch, TextMatches,
    Tier, check_amount, find, without_copied_numbers,
};
pub use generated::generated;
pub use in_memory::{
    AppliedFiles, AppliedText, ApplyLimits, ApplyOptions, ChangedFile, ChangedSpan, FileChangeKind, PatchText,
    TextDiff, apply, apply_files, convert, diff, edit,
};
pub use invisible::{curly_quotes, invisible_characters};
pub use lines::LineIndex;
pub use merge::merge_with_markers;
pub use op::{
    AnchorPair, BinaryChange, BinaryPayload, ExpectedMatches, FileAction, FileMode, FileRequest, Hunk, HunkLine,
    HunkLineKind, Locator, Matching, NewFile, Op, OpOrder, Request, ResolveSettings, TextNames, TextQuery,
    normalize_text,
};
pub use overlay::{MapOverlay, PathChange, View};
pub use resolve::{OpOutcome, ResolvedEdit, not_blank, resolve, resolve_texts};
pub use scan::{OCCURRENCES_MAX, Occurrence, Scan, ScanObstacle, ScanResult};
pub use snapshot::{FileSummary, LineEnd, LineEnds, Snapshot, SparseChunk};
pub use span::Span;
pub use whitespace::{BlankFault, blank_faults};

//! History: which version of which file each session was shown, which of its lines, and the bytes of that version, so
//! that a later edit can be checked, refused or merged against what its author really saw.
//!
//! It also contains the log of operations: the changed files with their contents before and after, so that changes can
//! be listed and undone.
//!
//! Two back ends store both, with the same semantics and limits: [`Database`] (one SQLite file, shared by all processes
//! of the user) and [`MemoryHistory`] (lost with the process). The history makes edits safer but is never the truth
//! about a file: losing it costs a new read, and bytes that cannot be verified are not returned.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate owns the database file: it creates, renames and locks it, and stamps records with the clock"
)]

mod blob_store;
mod clock;
mod database;
mod delta;
mod delta_chain;
mod lines;
mod memory;
mod operation;
mod pack;
mod prepared;
mod prune;
mod questions;
mod record;
mod replacement;
mod reviews;
mod root;
mod sessions;
mod stat_cache;
mod varint;
mod watch;

pub use clock::{Deadline, now_micros, set_clock_ahead, wait_briefly};
pub use database::Database;
pub use lines::LineSet;
pub use memory::MemoryHistory;
pub use operation::{
    ChangeContent, DiskUsage, FileChange, FileKind, FileState, GcStats, History, HistoryGap, KnownContent, KnownState,
    LogEntry, LogReceipt, LogStamp, MARK, NewlyKnown, OUTSIDE, Operation, OperationFilter, OperationId, OperationLog,
    OperationName, OperationOutcome, OutsideContent, OwnedContent, Retention, Role, SessionUpdate, TURN,
};
pub use questions::{QUESTION_BYTES_MAX, QUESTIONS_MAX, QuestionLock, QuestionStore, StoredQuestion};
pub use record::{Record, RecordOrigin, VersionBody};
pub use replacement::{ByteReplacement, OwnedByteReplacement};
pub use reviews::{COMMENTS_MAX, CommentFilter, NewComment, REVIEWED_HUNKS_MAX, ReviewedHunks, Reviews, StoredComment};
pub use root::root_key;
pub use sessions::{CONTENT_BYTES_MAX, HistoryLimits, Sessions};
pub use stat_cache::{CachedFile, StatCache};
pub use watch::DirectoryWatch;

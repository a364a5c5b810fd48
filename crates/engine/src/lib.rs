//! Emendate: the file-editing engine for AI coding agents.
//!
//! A [`Workspace`] opens directories, and each [`Session`] has a builder per call, with typed outcomes:
//!
//! ```
//! use emendate::Workspace;
//!
//! let directory = tempfile::tempdir()?;
//! let workspace = Workspace::open([directory.path()]).build()?;
//! let session = workspace.session("agent-1");
//! session.write("hello.txt", "one\ntwo\n").run()?;
//! let done = session.edit("hello.txt").replace("two", "TWO").run()?;
//! assert_eq!((done.files[0].added, done.files[0].removed), (1, 1));
//! session.undo().run()?;
//! assert_eq!(session.read("hello.txt").run()?.text, "one\ntwo\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Engine::call`] takes the name of a tool and JSON instead, as models send them:
//!
//! ```
//! use emendate::{CallContext, Config, Engine, StateLocation};
//! use serde_json::json;
//!
//! let root = tempfile::tempdir()?;
//! let path = root.path().canonicalize()?.join("hello.txt");
//! let engine = Engine::open(&[root.path().to_owned()], StateLocation::Memory, Config::default())?;
//! let caller = CallContext::default();
//!
//! let made = engine.call(&caller, "write", json!({ "file_path": path, "content": "one\ntwo\n" }));
//! assert!(made.result.is_ok());
//! let edit = json!({ "file_path": path, "old_string": "two", "new_string": "TWO" });
//! assert!(engine.call(&caller, "edit", edit).text().contains("TWO"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod api;
mod context;
mod model;
mod pipeline;
mod session;
mod tools;

pub use api::bulk::reward::{RewardMeasure, RewardRule};
pub use api::bulk::row::{BulkCell, BulkFile, BulkFiles, BulkInputs, BulkRow, BulkTask, CellError, ROW_STEPS};
pub use api::describe::{describe, format_specs};
pub use api::engine::Engine;
pub use api::engine::questions::Questions;
pub use api::limit::Limit;
pub use api::limits::LIMITS;
pub use api::outputs::{ToolOutputs, output_groups};
pub use api::profile::{PROFILES, Profile, ToolView, adapter_profile, client_tool, profile};
pub use api::questions::record::{AnswerOutcome, AnswerOutcomeKind, AskingCall};
pub use api::questions::waiting::{WaitEnd, WaitingQuestion};
pub use api::questions::{PendingQuestion, PersonAnswer, QuestionFile, QuestionState};
pub use api::tool_table::{INPUT_BYTES_MAX, TOOLS, tool};
pub use api::workspace::changes::{ApplyCall, EditCall, WriteCall};
pub use api::workspace::history::{HistoryCall, RestoreCall};
pub use api::workspace::names::session_parameters;
pub use api::workspace::options::{EditOptionWords, EditOptions};
pub use api::workspace::read::ReadCall;
pub use api::workspace::search::SearchCall;
pub use api::workspace::session::Session;
pub use api::workspace::undo::{UndoCall, UndoOutcome};
pub use api::workspace::{Workspace, WorkspaceBuilder};
pub use context::config::{Config, FILE_BYTES_MAX, FORMATTERS, OutsideChanges, PolicyMode, UserFileLoader};
pub use context::event_sink::COUNTERS_FILE;
pub use context::history_stores::StateLocation;
pub use context::syntax::{ParserIsolation, answer_questions};
pub use context::threads::{in_order, in_parallel};
pub use context::{PROJECT_FILES, project_file};
pub use emendate_core as core;
pub use emendate_core::formats::replace::Replacement;
pub use emendate_events as tallies;
pub use emendate_fs as fs;
pub use emendate_history as history;
pub use emendate_lsp::BUILTIN_SERVERS as LANGUAGE_SERVERS;
pub use emendate_run::end_all as end_programs;
pub use emendate_syntax::{ColorClass, ColorSpan, LineRange};
pub use model::approval::Approval;
pub use model::attachment::ATTACHMENTS;
pub use model::call_context::{CallContext, ChangeDisplay, OptionValue, StalePolicy, UnreadPolicy, unique_session};
pub use model::call_handle::{CallHandle, CallPhase, Progress};
pub use model::client_info::ClientInfo;
pub use model::code_numbers::{CODE_NUMBERS, CodeNumbers, code_numbers, exit_status};
pub use model::file_limits::{STREAM_FROM_BYTES, WHOLE_FILE_BYTES_MAX};
pub use model::hunk_numbers::HUNKS_PER_CALL_MAX;
pub use model::question::question;
pub use model::raw_path::{RAW_PATH_FIELD as RAW_PATH, base64_path as raw_path, path_of_json};
pub use model::reply::{Answer, Reply, SeedCodes};
pub use model::reply_limits::{READ_REPLY_CHARS_MAX, REPLY_DATA_BYTES_MAX, REPLY_TEXT_CHARS_MAX, ReplyLimits};
pub use pipeline::report::outcome::{ChangeOutcome, EditPlacement, FileChangeOutcome, FileOutcomeKind};
pub use tools::aliases::Alias;
pub use tools::history::feed::{Feed, FeedItem, FeedOperation, FeedOptions};
pub use tools::history::page::{HistoryAccess, HistoryEntry, HistoryPage, OperationSide};
pub use tools::outputs::{FieldKind, OutputField, OutputGroup};
pub use tools::preview::LinePreview;
pub use tools::read::READ_LINES_DEFAULT;
pub use tools::read::lines::ReadOutcome;
pub use tools::remarks::{Comment, Remarks, ReviewedFile};
pub use tools::review::Review;
pub use tools::review::cells::CellDifference;
pub use tools::review::difference::{FileDifference, Resolution, TextDifference, VersionLines};
pub use tools::review::line_correction::HunkLines;
pub use tools::review::operations::{
    FileView, OperationCompletion, OperationPage, OperationPurpose, OperationQuery, OperationView, ReversalView,
};
pub use tools::review::reversal::ShownChange;
pub use tools::review::scope::{ChangeScope, FolderSums, ScopeChanges, ScopeFiles, ScopeFolder, ScopeRemarks};
pub use tools::search::outcome::{SearchOutcome, SearchedFile, SearchedLine};
pub use tools::search::pattern::LineMatcher;
pub use tools::tool::{Annotations, Tool};
pub use tools::undo::hunks::HunkState;

/// The examples of the page on embedding compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingExamples;

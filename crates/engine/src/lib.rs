//! Emendate: the file-editing engine for AI coding agents.
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

mod anchor_edits;
mod apply;
mod approval;
mod arguments;
mod attachment;
mod base;
mod call;
mod call_context;
mod call_handle;
mod check;
mod commit;
mod config;
mod config_error;
mod convert;
mod decorated_names;
mod describe;
mod diagnose;
mod disk_space;
mod edit;
mod edit_tool;
mod elided;
mod encoding;
mod engine;
mod events;
mod failure_advice;
mod formatter;
mod history_page;
mod history_stores;
mod history_tool;
mod hooks;
mod hunk_numbers;
mod in_doubt;
mod large;
mod limits;
mod line_edits;
mod list;
mod log;
mod media;
mod names;
mod new_file;
mod notebook;
mod operation_list;
mod options;
mod outputs;
mod patching;
mod plan;
mod policy;
mod preview;
mod profile;
mod raw_path;
mod read;
mod receipt;
mod refusals;
mod registers;
mod reject;
mod repeat;
mod replace;
mod reply;
mod reply_limits;
mod request_tree;
mod search;
mod stale;
mod suggest;
mod syntax;
mod target;
mod text_editor;
mod three_way;
mod tool_schema;
mod tools;
mod undo;
mod validate;
mod windows_paths;

pub use approval::{Approval, question};
pub use arguments::{ALIASES, Alias, Aliases, TOOL_ALIASES, ToolAlias, aliases};
pub use attachment::ATTACHMENTS;
pub use call_context::{CallContext, ChangeDisplay, OptionValue, StalePolicy, UnreadPolicy};
pub use call_handle::{CallHandle, CallPhase, Progress};
pub use config::{Config, FILE_BYTES_MAX, FORMATTERS, PolicyMode, UserFileLoader};
pub use describe::{describe, format_specs};
pub use emendate_core as core;
pub use emendate_events as tallies;
pub use emendate_fs as fs;
pub use emendate_history as history;
pub use emendate_lsp::BUILTIN_SERVERS as LANGUAGE_SERVERS;
pub use emendate_run::end_all as end_programs;
pub use engine::{Engine, PROJECT_FILES};
pub use events::{COUNTERS_FILE, ClientInfo};
pub use history_page::{HistoryEntry, HistoryPage, OperationSide};
pub use history_stores::StateLocation;
pub use hunk_numbers::HUNKS_PER_CALL_MAX;
pub use large::{STREAM_FROM_BYTES, WHOLE_FILE_BYTES_MAX};
pub use limits::{LIMITS, Limit};
pub use outputs::{FieldKind, OUTPUTS, OutputField, OutputGroup};
pub use preview::LinePreview;
pub use profile::{PROFILES, Profile, ToolView, client_tool, profile};
pub use raw_path::{RAW_PATH_FIELD as RAW_PATH, base64_path as raw_path};
pub use read::{READ_LINES_DEFAULT, READ_REPLY_CHARS_MAX};
pub use reply::{Answer, Reply, SeedCodes};
pub use reply_limits::{REPLY_DATA_BYTES_MAX, REPLY_TEXT_CHARS_MAX, ReplyLimits};
pub use syntax::{ParserIsolation, answer_questions};
pub use tools::{Annotations, INPUT_BYTES_MAX, TOOLS, Tool, tool};

/// Ends of the notes that report new text which is not written as it was sent.
pub const REWRITTEN_TEXT_NOTES: [&str; 3] =
    [emendate_core::COPIED_NUMBERS_NOTE, emendate_core::whole_text::FENCE_NOTE, emendate_core::elided::KEPT_CODE_NOTE];

/// The examples of the page on embedding compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingExamples;

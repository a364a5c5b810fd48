//! Emendate: the file-editing engine for AI coding agents.
//!
//! ```
//! use emendate::{Caller, Config, Engine, State};
//! use serde_json::json;
//!
//! let root = tempfile::tempdir()?;
//! let path = root.path().canonicalize()?.join("hello.txt");
//! let engine = Engine::open(&[root.path().to_owned()], State::Memory, Config::default())?;
//! let caller = Caller::default();
//!
//! let made = engine.call(&caller, "write", json!({ "file_path": path, "content": "one\ntwo\n" }));
//! assert!(made.result.is_ok());
//! let edit = json!({ "file_path": path, "old_string": "two", "new_string": "TWO" });
//! assert!(engine.call(&caller, "edit", edit).text().contains("TWO"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod approval;
mod attachment;
mod big;
mod caller;
mod changing;
mod check;
mod commit;
mod compat;
mod config;
mod convert;
mod described;
mod diagnose;
mod edit;
mod editor;
mod encoding;
mod engine;
mod entries;
mod events;
mod formatter;
mod hooks;
mod lesson;
mod limits;
mod log;
mod media;
mod names;
mod notebook;
mod options;
mod past;
mod pending;
mod plan;
mod policy;
mod profile;
mod raw_path;
mod read;
mod receipt;
mod registers;
mod reject;
mod replace;
mod reply;
mod rows;
mod search;
mod seen;
mod shelves;
mod stale;
mod standing;
mod suggest;
mod syntax;
mod target;
mod tools;
mod tree;
mod undo;
mod validate;
mod watch;
mod worded;

pub use approval::{Approval, question};
pub use attachment::ATTACHMENTS;
pub use big::{MAX_WHOLE, STREAM_FROM};
pub use caller::{Caller, OnStale, Shows, Unread, Word};
pub use config::{Config, FORMATTERS, MAX_FILE, Mode, OwnFiles};
pub use described::{describe, format_specs};
pub use emendate_core as core;
pub use emendate_events as tallies;
pub use emendate_fs as fs;
pub use emendate_history as history;
pub use emendate_lsp::KNOWN as LANGUAGE_SERVERS;
pub use engine::{Engine, PROJECT_FILES};
pub use entries::{Entries, Entry, Moment};
pub use events::{COUNTERS, Front};
pub use limits::{LIMITS, Limit};
pub use profile::{Offer, PROFILES, Profile, profile};
pub use raw_path::{FIELD as RAW_PATH, of as raw_path};
pub use read::{DEFAULT_LIMIT, MAX_REPLY};
pub use reply::{Answer, Reply, SeedCodes};
pub use shelves::State;
pub use tools::{Annotations, MAX_INPUT, TOOLS, Tool, tool};
pub use watch::{Progress, Step, Watch};

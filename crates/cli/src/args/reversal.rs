//! Arguments of the commands that take changes back.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use clap::Args;
use std::path::PathBuf;

/// `emend undo` and `emend redo`.
#[derive(Args)]
pub(crate) struct UndoArgs {
    /// The operation, as `emend history` names it [default: the last one]
    #[arg(value_name = "ID", conflicts_with_all = ["last", "file"])]
    pub(crate) id: Option<String>,
    /// Only these hunks of a file, as `emend show ID` numbers them: src/a.rs:2 or src/a.rs:1,3-5
    #[arg(value_name = "PATH:HUNKS")]
    pub(crate) hunks: Option<PathBuf>,
    /// Number of operations, newest first, all or none
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<u64>,
    /// The last operation that changed this file, in all of its files
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) file: Option<PathBuf>,
    /// Everything of your last turn: since the last prompt, or since a pause of five minutes
    #[arg(long, conflicts_with_all = ["id", "last", "file", "since"])]
    pub(crate) turn: bool,
    /// Everything that you did since a mark, or since an operation
    #[arg(long, value_name = "MARK", conflicts_with_all = ["id", "last", "file"])]
    pub(crate) since: Option<String>,
    /// Other sessions' operations, too; an ID needs no such flag
    #[arg(long)]
    pub(crate) any_session: bool,
    /// Write what cannot be undone afterwards
    #[arg(long)]
    pub(crate) irreversible: bool,
}

/// `emend snapshot`.
#[derive(Args)]
pub(crate) struct SnapshotArgs {
    /// A few words for the history: what happened
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

/// `emend rewind`.
#[derive(Args)]
pub(crate) struct RewindArgs {
    /// A mark, or an operation: 17, or 17^ for the moment before it
    #[arg(value_name = "MARK")]
    pub(crate) to: String,
    /// Also revert what snapshots found during shell commands of the session
    #[arg(long)]
    pub(crate) shell: bool,
    /// Write what cannot be undone afterwards
    #[arg(long)]
    pub(crate) irreversible: bool,
}

/// `emend restore`.
#[derive(Args)]
pub(crate) struct RestoreArgs {
    /// The file, and the operation whose result to restore; with `^`, the state before that operation
    #[arg(value_name = "PATH@ID")]
    pub(crate) target: PathBuf,
    /// Only these hunks of that operation, as `emend show ID` numbers them: 2 or 1,3-5
    #[arg(long, value_name = "LIST")]
    pub(crate) hunks: Option<String>,
    /// Write what cannot be undone afterwards
    #[arg(long)]
    pub(crate) irreversible: bool,
}

/// `emend mark`.
#[derive(Args)]
pub(crate) struct MarkArgs {
    /// The name: letters, digits, `-`, `_`, `.` and `/`
    pub(crate) name: String,
}

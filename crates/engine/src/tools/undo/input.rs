//! The input of `undo`.

use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `undo`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Args")]
pub(crate) struct UndoInput {
    /// The operation, as replies (data.operation) and history name it (default: the last one).
    pub(crate) id: Option<String>,
    /// Number of operations to undo, all or none, the newest first; this is one operation itself.
    pub(crate) last: Option<usize>,
    /// Undo the last operation that changed this file, in all of its files. With hunks: the file that has them.
    pub(crate) file_path: Option<String>,
    /// Only these hunks of one file, by their numbers in history with that id. The rest of the operation stays.
    pub(crate) hunks: Option<Vec<usize>>,
    /// Redo what the last undo reverted.
    pub(crate) redo: bool,
    /// Everything of your last turn: since the last prompt, or since a pause of five minutes.
    pub(crate) turn: bool,
    /// Everything that you did since a mark, or since an operation (17: after it; 17^: from it on).
    pub(crate) since: Option<String>,
    /// Other sessions' operations, too.
    pub(crate) any_session: bool,
    /// Show what would be done, write nothing.
    pub(crate) dry_run: bool,
    /// Undo even if that cannot be redone afterwards (default: refused).
    pub(crate) irreversible: bool,
    /// For `rewind`: also what snapshots found during shell commands of the session.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) shell: bool,
    /// For the review page: these operations, the newest first, of whichever session.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) ids: Vec<String>,
}

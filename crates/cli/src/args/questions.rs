//! Arguments of `emend pending`, `approve`, `deny` and `correct`.

use clap::Args;
use std::path::PathBuf;

/// `emend pending`.
#[derive(Args)]
pub(crate) struct PendingArgs {
    /// Show this question with its diff
    pub(crate) id: Option<String>,
}

/// `emend approve`.
#[derive(Args)]
pub(crate) struct ApproveArgs {
    /// The question, as `emend pending` lists it
    pub(crate) id: String,
}

/// `emend deny`.
#[derive(Args)]
pub(crate) struct DenyArgs {
    /// The question, as `emend pending` lists it
    pub(crate) id: String,
    /// The reason, for the model
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
}

/// `emend correct`.
#[derive(Args)]
pub(crate) struct CorrectArgs {
    /// The question, as `emend pending` lists it
    pub(crate) id: String,
    /// The file to correct [default: all files of the question, in $VISUAL or $EDITOR]
    pub(crate) path: Option<PathBuf>,
    /// The whole new text, from this file instead of an editor; - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
}

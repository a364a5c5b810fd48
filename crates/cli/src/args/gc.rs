//! Arguments of `emend gc`.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use clap::Args;

/// `emend gc`.
#[derive(Args)]
pub(crate) struct GcArgs {
    /// Delete history older than this many days
    #[arg(long, value_name = "N")]
    pub(crate) days: Option<u32>,
    /// Keep at most this many megabytes of contents, the newest
    #[arg(long, value_name = "MB")]
    pub(crate) size: Option<u64>,
}

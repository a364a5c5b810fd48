//! Arguments of `emend history`.

use clap::Args;
use std::path::PathBuf;

/// `emend history`.
#[derive(Args)]
pub(crate) struct HistoryArgs {
    /// Only operations that touched this file
    #[arg(value_name = "PATH", conflicts_with = "file")]
    pub(crate) path: Option<PathBuf>,
    /// Same as PATH
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) file: Option<PathBuf>,
    /// Only operations of this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) by: Option<String>,
    /// Number of operations to list, newest first; at most 1000 [default: 20]
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Only operations since then: 2h, 3d, 2026-11-23, or a moment in RFC 3339; with --follow also after an operation, a
    /// mark or a cursor
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Continue from here, as the previous list says
    #[arg(long, value_name = "NEXT")]
    pub(crate) from: Option<String>,
    /// Print each new operation of any process, until the command is stopped; -n N lists the last N first
    #[arg(short = 'f', long, conflicts_with = "from")]
    pub(crate) follow: bool,
}

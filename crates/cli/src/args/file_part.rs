//! Arguments that select the files of an operation, and how they are shown.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use clap::Args;

/// The files of an operation to show.
#[derive(Args)]
pub(crate) struct FilePartArgs {
    /// Number of files to show [default: 100]
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Continue from here, as the previous list says
    #[arg(long, value_name = "NEXT")]
    pub(crate) from: Option<String>,
    /// Show all files
    #[arg(long, conflicts_with_all = ["limit", "from"])]
    pub(crate) all: bool,
    /// Show the number of lines of each file instead of its diff
    #[arg(long)]
    pub(crate) stat: bool,
}

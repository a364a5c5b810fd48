//! Arguments of `emend comment`, `comments` and `reviewed`.

use clap::Args;
use std::path::PathBuf;

/// `emend comment`.
#[derive(Args)]
pub(crate) struct CommentArgs {
    /// The operation
    pub(crate) id: String,
    /// A file that it changed, or a line of that file as the operation left it: src/a.rs, src/a.rs:12 [default: the operation]
    #[arg(value_name = "PATH[:LINE]")]
    pub(crate) place: Option<PathBuf>,
    /// The text
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub(crate) text: String,
}

/// `emend comments`.
#[derive(Args)]
pub(crate) struct CommentsArgs {
    /// Only those on this operation
    pub(crate) id: Option<String>,
    /// Only those that no reply has delivered yet
    #[arg(long)]
    pub(crate) open: bool,
    /// Delete this comment instead
    #[arg(long, value_name = "COMMENT", conflicts_with_all = ["id", "open"])]
    pub(crate) delete: Option<String>,
}

/// `emend reviewed`.
#[derive(Args)]
pub(crate) struct ReviewedArgs {
    /// Mark all hunks of this operation [default: list what is marked]
    pub(crate) id: Option<String>,
    /// Only this file, or these hunks of it: src/a.rs, src/a.rs:2 or src/a.rs:1,3-5
    #[arg(value_name = "PATH[:HUNKS]", requires = "id")]
    pub(crate) hunks: Option<PathBuf>,
    /// Clear the marks instead
    #[arg(long, requires = "id")]
    pub(crate) clear: bool,
}

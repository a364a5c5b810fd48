//! Which files a walk over many of them looks at.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows as it stands")]

use clap::Args;

/// The files of `emend search` and `emend replace`.
#[derive(Args)]
pub(crate) struct ScopeArgs {
    /// Files to look at (repeatable), e.g. '*.rs' or '!tests/**'
    #[arg(short, long, value_name = "GLOB")]
    pub(crate) glob: Vec<String>,
    /// Also names that begin with a dot
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Also what .gitignore and .ignore leave out
    #[arg(long)]
    pub(crate) no_ignore: bool,
}

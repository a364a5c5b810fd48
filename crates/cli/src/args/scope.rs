//! Arguments that select the files of a search or a replacement.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use clap::Args;

/// The files of `emend search` and `emend replace`.
#[derive(Args)]
pub(crate) struct ScopeArgs {
    /// Files to include (repeatable), e.g. '*.rs' or '!tests/**'
    #[arg(short, long, value_name = "GLOB")]
    pub(crate) glob: Vec<String>,
    /// Include names that begin with a dot
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Include files that .gitignore and .ignore exclude
    #[arg(long)]
    pub(crate) no_ignore: bool,
}

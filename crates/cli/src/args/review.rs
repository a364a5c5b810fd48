//! Flags of `emend review`.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use clap::Args;

/// `emend review`.
#[derive(Args)]
pub(crate) struct ReviewArgs {
    /// Port on this machine [default: any free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Print the address, and do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Show only: nothing can be changed through the page
    #[arg(long)]
    pub(crate) read_only: bool,
}

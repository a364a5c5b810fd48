//! Arguments of `emend search`, `emend outline` and `emend check`.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use super::{ScopeArgs, format_names};
use clap::Args;
use emendate::core::line_format::LINE_FORMATS;
use std::path::PathBuf;

/// `emend outline`.
#[derive(Args)]
pub(crate) struct OutlineArgs {
    /// The file, or a directory with files of known languages
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
}

/// `emend check`.
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The files; of a directory, those whose language is known
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Seconds to wait for language servers
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) timeout: u32,
}

/// `emend search`.
#[derive(Args)]
pub(crate) struct SearchArgs {
    /// Regular expression, or plain text with --literal; after -- if it begins with -
    pub(crate) pattern: String,
    /// Directory or file to search
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// The pattern is plain text
    #[arg(short = 'F', long)]
    pub(crate) literal: bool,
    /// Ignore case
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    /// Let the pattern match across lines
    #[arg(short = 'U', long)]
    pub(crate) multiline: bool,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Lines to show before and after each hit
    #[arg(short = 'C', long, value_name = "N")]
    pub(crate) context: Option<u64>,
    /// Number of hits to show [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Format of the lines [default: numbered]
    #[arg(long, value_name = "F", value_parser = format_names(LINE_FORMATS.iter().map(|marks| marks.name)))]
    pub(crate) format: Option<String>,
}

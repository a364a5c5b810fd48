//! The arguments of `emend replace`.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use super::scope::ScopeArgs;
use clap::Args;
use std::path::PathBuf;

/// `emend replace`.
#[derive(Args)]
pub(crate) struct ReplaceArgs {
    /// Text to replace, or with --regex a regular expression
    #[arg(allow_hyphen_values = true)]
    pub(crate) old: String,
    /// New text; if empty, exactly the old text is deleted; with --regex, $1 or ${name} inserts what a group matched
    #[arg(allow_hyphen_values = true)]
    pub(crate) new: String,
    /// Directory or file
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// OLD is a regular expression
    #[arg(short = 'e', long)]
    pub(crate) regex: bool,
    /// With --regex: ignore case
    #[arg(short, long, requires = "regex")]
    pub(crate) ignore_case: bool,
    /// With --regex: let the pattern match across lines
    #[arg(short = 'U', long, requires = "regex")]
    pub(crate) multiline: bool,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// Write only if there are exactly N replacements in all files together
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<u64>,
    /// Write only if exactly N files change
    #[arg(long, value_name = "N")]
    pub(crate) expect_files: Option<u64>,
    /// Allow the edit to make JSON, TOML or YAML invalid, if that is intended
    #[arg(long)]
    pub(crate) allow_invalid: bool,
    #[command(flatten)]
    pub(crate) confirm: super::ConfirmArgs,
}

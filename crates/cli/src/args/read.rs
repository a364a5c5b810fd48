//! Arguments of `emend read`.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use crate::args::format_names;
use crate::args::notebook::PartArgs;
use clap::Args;
use emendate::core::line_format::LINE_FORMATS;
use std::path::PathBuf;

/// `emend read`.
#[derive(Args)]
pub(crate) struct ReadArgs {
    /// File to read; `:A-B` after it shows lines A to B, `:A-` from A on, `:A` only A
    #[arg(value_name = "PATH[:A-B]", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Line to start at, 1 for the first
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
    /// Number of lines to show
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Format of the lines [default: numbered]
    #[arg(long, value_name = "F", value_parser = format_names(LINE_FORMATS.iter().map(|marks| marks.name)))]
    pub(crate) format: Option<String>,
    /// The file's encoding, if it is neither UTF-8 nor marked, e.g. latin1
    #[arg(long, value_name = "LABEL")]
    pub(crate) encoding: Option<String>,
    /// Show only the definition with this name, as `emend outline` lists it, e.g. Parser.next
    #[arg(long, value_name = "NAME", conflicts_with_all = ["offset", "limit"])]
    pub(crate) symbol: Option<String>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
}

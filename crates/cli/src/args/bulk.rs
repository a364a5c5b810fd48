//! Arguments of `emend bulk`.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use crate::args::format_names;
use clap::Args;
use clap::builder::PossibleValuesParser;
use emendate::core::formats::text_formats;
use emendate::core::print::PRINT_FORMATS;
use std::path::PathBuf;

/// `emend bulk`.
#[derive(Args)]
pub(crate) struct BulkArgs {
    /// The rows, one JSON object per line: before, edit, perhaps path, format, after, expected
    pub(crate) input: PathBuf,
    /// The file of the results
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The work on each row
    #[arg(long = "do", value_name = "WHAT", default_value = "apply",
        value_parser = PossibleValuesParser::new(["apply", "diff", "convert", "reward"]))]
    pub(crate) work: String,
    /// The format of the results of convert and diff
    #[arg(long, value_name = "F", required_if_eq("work", "convert"), hide_possible_values = true,
        value_parser = format_names(PRINT_FORMATS.iter().map(|target| target.name)))]
    pub(crate) to: Option<String>,
    /// The measure of reward
    #[arg(long, value_name = "NAME", default_value = "exact")]
    pub(crate) measure: String,
    /// Subtracted from the reward of an edit that needed a tolerance
    #[arg(long, value_name = "X", default_value = "0")]
    pub(crate) tier_penalty: f64,
    /// The format of edits in rows without one [default: detected]
    #[arg(long, value_name = "F", hide_possible_values = true,
        value_parser = format_names(text_formats().map(|format| format.spec().name)))]
    pub(crate) format: Option<String>,
    /// Fields of the results, separated by commas [default: what the work makes]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Fields of the rows that are repeated in the results, separated by commas
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) keep: Vec<String>,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub(crate) threads: usize,
    /// Replace an existing file of results
    #[arg(long)]
    pub(crate) overwrite: bool,
}

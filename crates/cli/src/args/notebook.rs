//! Arguments about notebooks, images and PDFs.
#![allow(clippy::doc_markdown, reason = "these comments are the help text, which a terminal shows unchanged")]

use crate::args::ExtraArgs;
use clap::{ArgGroup, Args};
use emendate::core::notebook::CellType;
use std::path::PathBuf;

/// The part of a file to show that is not plain text.
#[derive(Args)]
pub(crate) struct PartArgs {
    /// Of a notebook, only these cells: 3, 3-7, 3- (0 for the first), or an id
    #[arg(long, value_name = "CELLS", conflicts_with_all = ["offset", "limit", "symbol", "format"])]
    pub(crate) cells: Option<String>,
    /// Of a PDF, only these pages: 3, 1-3, 5-
    #[arg(long, value_name = "PAGES")]
    pub(crate) pages: Option<String>,
    /// Of a PDF, the file itself in base64, for --json
    #[arg(long)]
    pub(crate) base64: bool,
    /// Scale an image down to at most N pixels on its longer side
    #[arg(long, value_name = "N")]
    pub(crate) max_side: Option<u32>,
}

/// `emend notebook-edit`.
#[derive(Args)]
#[command(group = ArgGroup::new("cell_name"), group = ArgGroup::new("cell_text"))]
pub(crate) struct NotebookEditArgs {
    /// Notebook to edit
    pub(crate) path: PathBuf,
    /// The cell by its id, as `emend read` shows it
    #[arg(long, value_name = "ID", group = "cell_name")]
    pub(crate) cell: Option<String>,
    /// The cell by its number, 0 for the first
    #[arg(long, value_name = "N", group = "cell_name")]
    pub(crate) number: Option<u64>,
    /// Action; a new cell is inserted after --cell, or becomes number --number
    #[arg(long, value_name = "MODE", value_parser = ["replace", "insert", "delete"])]
    pub(crate) mode: Option<String>,
    /// The type of a new cell, or the new type of an existing cell
    #[arg(long = "type", value_name = "TYPE", value_parser = CellType::ALL.map(|(name, _)| name))]
    pub(crate) kind: Option<String>,
    /// The new source
    #[arg(long, value_name = "TEXT", group = "cell_text", allow_hyphen_values = true)]
    pub(crate) source: Option<String>,
    /// The same from a file, or `-` for standard input
    #[arg(long, value_name = "FILE", group = "cell_text")]
    pub(crate) source_file: Option<PathBuf>,
    /// JSON array of {"cell_id", "new_source", …}, all or nothing; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cell_name", "cell_text", "mode", "kind"])]
    pub(crate) edits: Option<PathBuf>,
    /// Leave the outputs of a code cell as they are
    #[arg(long)]
    pub(crate) keep_outputs: bool,
    #[command(flatten)]
    pub(crate) extras: ExtraArgs,
}

//! The tools: each parses its own input, runs the stages that it needs, and renders its answer.

pub(crate) mod aliases;
pub(crate) mod apply;
pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod edit_files;
pub(crate) mod format_tools;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod moments;
pub(crate) mod outputs;
pub(crate) mod preview;
pub(crate) mod read;
pub(crate) mod remarks;
pub(crate) mod replace;
pub(crate) mod review;
pub(crate) mod search;
pub(crate) mod shown_count;
pub(crate) mod snapshot;
pub(crate) mod symbols;
pub(crate) mod text_editor;
pub(crate) mod tool;
pub(crate) mod tool_input;
pub(crate) mod undo;
pub(crate) mod words;

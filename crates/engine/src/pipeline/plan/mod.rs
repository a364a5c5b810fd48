//! From a request to what would be written, one plan for each file. Nothing is written.

pub(crate) mod anchor_edits;
pub(crate) mod blocks;
pub(crate) mod edit;
pub(crate) mod elided;
pub(crate) mod file_plan;
pub(crate) mod large;
pub(crate) mod later_edits;
pub(crate) mod line_edits;
pub(crate) mod line_ends;
pub(crate) mod new_file;
pub(crate) mod notebook;
pub(crate) mod patching;
pub(crate) mod placement;
pub(crate) mod refusals;
pub(crate) mod reject;
pub(crate) mod repair;
pub(crate) mod request_tree;
pub(crate) mod stale;
pub(crate) mod strings;
pub(crate) mod target;
pub(crate) mod three_way;
pub(crate) mod unseen_lines;
pub(crate) mod whole_text;

//! Operations, and the ways to place them in a text: the matching cascade, lines, anchor words, cells of notebooks.
//! These modules know no syntax of edits.

pub mod anchor_map;
pub(crate) mod binary;
pub mod carried_text;
pub(crate) mod conflict;
pub(crate) mod doubled_plus;
pub mod elided;
pub(crate) mod fence_name;
pub(crate) mod find;
pub mod line_edits;
pub mod line_format;
pub mod notebook;
pub mod omission;
pub(crate) mod op;
pub mod refusals;
pub(crate) mod resolve;
pub(crate) mod reverse;
mod rival_names;
mod word_overlap;

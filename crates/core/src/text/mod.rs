//! Texts and their versions: bytes and characters, spans and lines, snapshots, change sets, and comparisons. These
//! modules do not depend on how a caller points at a place, or on how an edit is written.

pub(crate) mod change;
pub(crate) mod charset;
pub(crate) mod content;
pub(crate) mod decode;
pub(crate) mod diff;
pub mod explain;
pub(crate) mod fold;
pub(crate) mod generated;
pub(crate) mod invisible;
pub(crate) mod lines;
pub(crate) mod merge;
pub(crate) mod multi_search;
pub(crate) mod occurrences;
pub(crate) mod overlay;
pub(crate) mod sampled_search;
pub(crate) mod scan;
pub(crate) mod snapshot;
pub(crate) mod span;
pub(crate) mod tokens;
pub(crate) mod view;
pub(crate) mod whitespace;

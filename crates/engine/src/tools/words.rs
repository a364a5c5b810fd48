//! Words that are values of fields of several tools.

use crate::tools::tool::{FieldWords, Word};

pub(crate) const LINE_FORMAT_WORDS: &[Word] = &[
    ("numbered", &[]),
    ("plain", &[]),
    ("hashline", &[]),
    ("hashline_put", &[]),
    ("anchors", &[]),
    ("anchors_tab", &[]),
];
pub(crate) const EDIT_FORMAT_WORDS: &[Word] = &[
    ("search_replace", &["search/replace", "search_replace_blocks", "blocks"]),
    ("whole_file", &["whole"]),
    ("elided", &["lazy"]),
    ("apply_patch", &["v4a", "codex"]),
    ("unified_diff", &["unified", "diff", "udiff", "git_diff"]),
    ("hashline", &[]),
    ("hashline_put", &[]),
];
pub(crate) const TARGET_FORMAT_WORDS: &[Word] = &[
    ("unified_diff", &["diff", "udiff", "git_diff"]),
    // The name of earlier versions, which convert still knows.
    ("unified", &[]),
    ("apply_patch", &["v4a", "codex"]),
    ("search_replace", &["search/replace", "search_replace_blocks", "blocks"]),
    ("whole_file", &["whole"]),
    ("hashline", &[]),
    ("anchors", &[]),
];

/// The fields that every edit may have.
pub(crate) const OPTION_WORDS: &[FieldWords] = &[
    FieldWords { field: "match", words: &[("standard", &["default"]), ("strict", &[]), ("exact", &[])] },
    FieldWords { field: "on_stale", words: &[("merge", &[]), ("reject", &["refuse"]), ("markers", &[]), ("ask", &[])] },
    FieldWords { field: "order", words: &[("together", &[]), ("in_turn", &["sequential", "in_order"])] },
    FieldWords { field: "marks", words: LINE_FORMAT_WORDS },
];

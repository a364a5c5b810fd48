//! Names of fields in other clients.

/// Fields that no tool of the table has, and that restrict or change an edit in some client: a tool never ignores one.
/// A field of another tool needs no row.
pub(super) static MEANINGFUL_FIELDS: &[&str] = &[
    "all", "append", "at_line", "case_sensitive", "column", "count", "create_only", "end_column", "end_line",
    "exclude", "exclude_glob", "exclude_pattern", "excludes", "exclusive", "files_to_exclude", "files_to_include",
    "first_only", "global", "if_exists", "if_missing", "if_not_exists", "ignore_whitespace", "include_glob",
    "includes", "insert_after", "insert_before", "instance", "is_regex", "line_range", "lines", "match_case",
    "match_index", "max_count", "max_replacements", "move_to", "new_name", "new_path", "no_clobber", "nth",
    "occurrence", "occurrences", "position", "prepend", "r", "rename_to", "skip", "start_column", "to_line",
    "use_regex", "whole_word", "whole_words", "word_boundary",
];

/// Names of other clients for a call that writes nothing.
pub(super) static DRY_RUN_NAMES: &[&str] = &["check", "check_only", "dry", "preview", "simulate", "validate_only"];

/// Fields of other clients whose `false` changes a call, too.
pub(super) static MEANINGFUL_IF_FALSE: &[&str] = &["case_sensitive", "match_case"];

/// Fields of some tool that say nothing about what another tool does: remarks, and what a client adds to every call.
pub(super) static HARMLESS_FIELDS: &[&str] = &["description", "id", "line_count", "message", "note", "timeout_ms"];

/// Normalizes a name to compare spellings.
pub(crate) fn normalize_name(name: &str) -> String {
    name.chars().filter(|ch| !matches!(ch, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

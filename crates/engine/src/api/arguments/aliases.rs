//! Names of fields and tools in other clients.

/// Fields that restrict or change an edit in some client. A tool that lacks one never ignores it.
pub(super) static MEANINGFUL_FIELDS: &[&str] = &[
    "after", "all", "append", "at_line", "before", "case_insensitive", "case_sensitive", "cell_id", "cell_number",
    "check_only", "column", "count", "cwd", "directory", "dry_run", "encoding", "end_column", "end_line", "exclude",
    "exclude_glob", "exclude_pattern", "excludes", "expected", "expected_replacements", "files_to_exclude",
    "files_to_include", "first_only", "from_line", "global", "ignore_case", "ignore_whitespace", "include",
    "include_glob", "include_pattern", "includes", "insert_after", "insert_before", "insert_line", "instance",
    "is_regex", "limit", "line", "line_range", "lines", "literal", "match_case", "match_index", "max_count",
    "max_replacements", "mode", "move_to", "multiline", "new_path", "nth", "occurrence", "occurrences", "offset",
    "on_stale", "only", "order", "partial", "position", "prepend", "preview", "range", "regex", "rename_to",
    "replace_all", "reverse", "simulate", "skip", "start_column", "start_line", "strip", "symbol", "tag", "to_line",
    "use_regex", "whole_word", "whole_words", "word_boundary",
];

/// Fields of other clients whose `false` changes a call, too.
pub(super) static MEANINGFUL_IF_FALSE: &[&str] = &["case_sensitive", "match_case"];

/// Normalizes a name to compare spellings.
pub(crate) fn normalize_name(name: &str) -> String {
    name.chars().filter(|ch| !matches!(ch, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

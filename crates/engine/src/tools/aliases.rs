//! Other spellings of fields that several tools have. Capitals, `_` and `-` never matter, so `oldString` and `old-string`
//! need no row.

/// Other spellings of one field.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The field of the tool.
    pub field: &'static str,
    /// Names that models use for it.
    pub others: &'static [&'static str],
    /// A field next to which these names mean something else.
    pub unless: Option<&'static str>,
}

pub(crate) const fn alias(field: &'static str, others: &'static [&'static str]) -> Alias {
    Alias { field, others, unless: None }
}

pub(crate) const FILE_NAMES: &[&str] = &[
    "path", "file", "filename", "absolute_path", "abs_path", "relative_path", "relative_workspace_path", "target_file",
    "target_path", "paths", "files", "file_paths", "uri",
];
pub(crate) const PATH_NAMES: &[&str] = &[
    "file_path", "file", "filename", "absolute_path", "abs_path", "relative_path", "relative_workspace_path",
    "target_file", "target_path",
];
pub(crate) const DIRECTORY_NAMES: &[&str] =
    &["file_path", "file", "directory", "dir", "folder", "root", "search_path", "target_directory"];
pub(crate) const OLD_NAMES: &[&str] = &[
    "old_text", "old_str", "old", "search", "search_text", "find", "original", "original_text", "old_content",
    "old_code", "target_content", "find_text", "from", "from_text", "target", "target_text", "search_string",
    "old_lines",
];
pub(crate) const NEW_NAMES: &[&str] = &[
    "new_str", "new", "replace", "replacement", "replace_with", "replacement_text", "updated", "updated_text",
    "new_content", "new_code", "replacement_content", "replace_text", "to", "to_text", "replace_string", "new_lines",
];
pub(crate) const REPLACE_ALL_NAMES: &[&str] = &["allow_multiple", "replace_all_occurrences", "all_occurrences"];
pub(crate) const EXPECTED_NAMES: &[&str] = &["expected_count", "expected_occurrences"];
pub(crate) const LINE_NAMES: &[&str] = &["line_number", "near_line", "line_hint"];
pub(crate) const EDITS_NAMES: &[&str] = &["changes", "replacements", "replacement_chunks", "edit"];

// Next to `new_string` or `old_string` itself, `before` and `after` are the position of an insertion.
pub(crate) const BEFORE_ALIAS: Alias = Alias { field: "old_string", others: &["before"], unless: Some("new_string") };
pub(crate) const AFTER_ALIAS: Alias = Alias { field: "new_string", others: &["after"], unless: Some("old_string") };
pub(crate) const PATTERN_ALIAS: Alias = Alias { field: "old_string", others: &["pattern"], unless: Some("regex") };
pub(crate) const REPLACEMENT_ALIASES: &[Alias] = &[
    alias("old_string", OLD_NAMES),
    alias("new_string", NEW_NAMES),
    alias("new_string", &["new_text"]),
    BEFORE_ALIAS,
    AFTER_ALIAS,
    PATTERN_ALIAS,
    alias("replace_all", REPLACE_ALL_NAMES),
    alias("expected_replacements", EXPECTED_NAMES),
    alias("line", LINE_NAMES),
];
pub(crate) const CELL_ALIASES: &[Alias] = &[
    alias("cell_id", &["cell"]),
    alias("cell_number", &["cell_index"]),
    alias("new_source", &["source", "content", "new_content", "new_string"]),
    alias("edit_mode", &["mode", "action"]),
];
pub(crate) const EDIT_TEXT_ALIASES: &[Alias] = &[
    alias("input", &["patch", "patch_text", "diff", "text", "input_text", "content", "edits", "changes", "blocks"]),
    alias("directory", &["cwd", "workdir", "working_directory", "root", "base_dir"]),
    alias("file", &["file_path", "path", "filename"]),
];
pub(crate) const SCOPE_ALIASES: &[Alias] = &[
    alias("path", DIRECTORY_NAMES),
    alias("glob", &["globs", "include", "include_pattern", "file_pattern", "file_glob"]),
    alias("ignore_case", &["case_insensitive", "-i"]),
];

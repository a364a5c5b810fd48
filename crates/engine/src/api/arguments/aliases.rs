//! Other spellings of fields and tools: one table per tool, from which docs/tools.md is generated. Capitals, `_` and
//! `-` never matter, so `oldString` and `old-string` need no row.

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

/// The table of one tool.
#[derive(Debug)]
pub struct Aliases {
    /// The tool.
    pub tool: &'static str,
    /// Fields of the call.
    pub fields: &'static [Alias],
    /// Fields of one entry of `edits`.
    pub items: &'static [Alias],
}

/// A tool with other names in other clients.
#[derive(Debug)]
pub struct ToolAlias {
    /// The tool.
    pub tool: &'static str,
    /// The names of the tool in other clients.
    pub others: &'static [&'static str],
}

const fn row(field: &'static str, others: &'static [&'static str]) -> Alias {
    Alias { field, others, unless: None }
}

const FILE_NAMES: &[&str] = names![
    path file filename absolute_path abs_path relative_path relative_workspace_path target_file target_path paths
    files file_paths uri
];
const PATH_NAMES: &[&str] = names![
    file_path file filename absolute_path abs_path relative_path relative_workspace_path target_file target_path
];
const DIRECTORY_NAMES: &[&str] =
    &["file_path", "file", "directory", "dir", "folder", "root", "search_path", "target_directory"];
const OLD_NAMES: &[&str] = names![
    old_text old_str old search search_text find original original_text old_content old_code target_content
    find_text from from_text target target_text search_string old_lines
];
const NEW_NAMES: &[&str] = names![
    new_str new replace replacement replace_with replacement_text updated updated_text new_content new_code
    replacement_content replace_text to to_text replace_string new_lines
];
const REPLACE_ALL_NAMES: &[&str] = &["allow_multiple", "replace_all_occurrences", "all_occurrences"];
const EXPECTED_NAMES: &[&str] = &["expected_count", "expected_occurrences"];
const LINE_NAMES: &[&str] = &["line_number", "near_line", "line_hint"];
const EDITS_NAMES: &[&str] = &["changes", "replacements", "replacement_chunks", "edit"];

// Next to `new_string` or `old_string` itself, `before` and `after` are the position of an insertion.
const BEFORE_ALIAS: Alias = Alias { field: "old_string", others: &["before"], unless: Some("new_string") };
const AFTER_ALIAS: Alias = Alias { field: "new_string", others: &["after"], unless: Some("old_string") };
const PATTERN_ALIAS: Alias = Alias { field: "old_string", others: &["pattern"], unless: Some("regex") };
const REPLACEMENT_ALIASES: &[Alias] = &[
    row("old_string", OLD_NAMES),
    row("new_string", NEW_NAMES),
    row("new_string", &["new_text"]),
    BEFORE_ALIAS,
    AFTER_ALIAS,
    PATTERN_ALIAS,
    row("replace_all", REPLACE_ALL_NAMES),
    row("expected_replacements", EXPECTED_NAMES),
    row("line", LINE_NAMES),
];
const CELL_ALIASES: &[Alias] = &[
    row("cell_id", &["cell"]),
    row("cell_number", &["cell_index"]),
    row("new_source", &["source", "content", "new_content", "new_string"]),
    row("edit_mode", &["mode", "action"]),
];
const EDIT_TEXT_ALIASES: &[Alias] = &[
    row("input", &["patch", "patch_text", "diff", "text", "input_text", "content", "edits", "changes", "blocks"]),
    row("directory", &["cwd", "workdir", "working_directory", "root", "base_dir"]),
    row("file", &["file_path", "path", "filename"]),
];
const SCOPE_ALIASES: &[Alias] = &[
    row("path", DIRECTORY_NAMES),
    row("glob", &["globs", "include", "include_pattern", "file_pattern", "file_glob"]),
    row("ignore_case", &["case_insensitive", "-i"]),
];

/// All tables.
pub static ALIASES: &[Aliases] = &[
    Aliases {
        tool: "read",
        fields: &[
            row("file_path", FILE_NAMES),
            row("offset", &["start_line", "line_start", "from_line"]),
            row("limit", &["line_count", "num_lines", "max_lines"]),
            row("symbol", &["symbol_name"]),
        ],
        items: &[],
    },
    Aliases {
        tool: "list",
        fields: &[row("path", DIRECTORY_NAMES), row("depth", &["max_depth", "levels"])],
        items: &[],
    },
    Aliases {
        tool: "search",
        fields: &[
            row("pattern", &["query", "regex", "search"]),
            SCOPE_ALIASES[0],
            SCOPE_ALIASES[1],
            SCOPE_ALIASES[2],
            row("literal", &["fixed_strings"]),
            row("context", &["context_lines", "-C"]),
            row("limit", &["max_results", "head_limit"]),
        ],
        items: &[],
    },
    Aliases {
        tool: "edit",
        fields: &[
            row("file_path", FILE_NAMES),
            row("old_string", OLD_NAMES),
            row("new_string", NEW_NAMES),
            // `new_text` is the field of edits by first and last line.
            Alias { field: "new_string", others: &["new_text"], unless: Some("start_line_text") },
            BEFORE_ALIAS,
            AFTER_ALIAS,
            PATTERN_ALIAS,
            row("replace_all", REPLACE_ALL_NAMES),
            row("expected_replacements", EXPECTED_NAMES),
            row("line", LINE_NAMES),
            row("edits", EDITS_NAMES),
        ],
        items: REPLACEMENT_ALIASES,
    },
    Aliases {
        tool: "multi_edit",
        fields: &[row("file_path", FILE_NAMES), row("edits", EDITS_NAMES)],
        items: REPLACEMENT_ALIASES,
    },
    Aliases {
        tool: "edit_anchors",
        fields: &[row("path", PATH_NAMES), row("edits", EDITS_NAMES)],
        items: &[
            row("anchor", &["start_anchor", "from"]),
            row("end_anchor", &["to"]),
            row("edit_type", &["type", "action"]),
            row("text", &["new_text", "new_string", "content"]),
        ],
    },
    Aliases {
        tool: "write",
        fields: &[
            row("file_path", FILE_NAMES),
            row("content", names![contents text file_text file_content new_content code code_content data body]),
        ],
        items: &[],
    },
    Aliases {
        tool: "notebook_edit",
        fields: &[
            row("notebook_path", &["file_path", "path", "file", "filename", "notebook"]),
            CELL_ALIASES[0],
            CELL_ALIASES[1],
            CELL_ALIASES[2],
            CELL_ALIASES[3],
            row("edits", EDITS_NAMES),
        ],
        items: CELL_ALIASES,
    },
    Aliases {
        tool: "text_editor",
        fields: &[
            row("path", PATH_NAMES),
            row("file_text", &["content", "contents", "file_content"]),
            row("old_str", &["old_string", "old_text", "old", "search"]),
            row("new_str", &["new_string", "new_text", "new", "replace", "replacement"]),
            row("insert_line", &["line", "line_number"]),
            row("view_range", &["range"]),
        ],
        items: &[],
    },
    Aliases { tool: "apply", fields: EDIT_TEXT_ALIASES, items: &[] },
    Aliases { tool: "convert", fields: EDIT_TEXT_ALIASES, items: &[] },
    Aliases {
        tool: "replace_in_files",
        fields: &[
            SCOPE_ALIASES[0],
            row("old_string", OLD_NAMES),
            row("new_string", NEW_NAMES),
            row("new_string", &["new_text"]),
            SCOPE_ALIASES[1],
            SCOPE_ALIASES[2],
            row("expected", &["expected_replacements", "expected_count"]),
        ],
        items: &[],
    },
    Aliases {
        tool: "undo",
        fields: &[row("id", &["operation", "operation_id"]), row("file_path", FILE_NAMES)],
        items: &[],
    },
    Aliases { tool: "restore", fields: &[row("file_path", FILE_NAMES)], items: &[] },
    Aliases {
        tool: "history",
        fields: &[row("id", &["operation", "operation_id"]), row("file_path", FILE_NAMES)],
        items: &[],
    },
    Aliases { tool: "mark", fields: &[row("name", &["mark", "label"])], items: &[] },
    Aliases { tool: "rewind", fields: &[row("to", &["mark", "name", "since"])], items: &[] },
    Aliases { tool: "snapshot", fields: &[row("note", &["message", "description"])], items: &[] },
    Aliases { tool: "outline", fields: &[row("file_path", FILE_NAMES)], items: &[] },
    Aliases {
        tool: "check",
        fields: &[row("paths", &["path", "file_path", "file", "files", "file_paths"])],
        items: &[],
    },
    Aliases {
        tool: "edit_symbol",
        fields: &[
            row("file_path", FILE_NAMES),
            row("symbol", &["symbol_name", "name"]),
            row("text", &["new_text", "new_string", "content", "code", "new_code", "new_name"]),
            row("line", LINE_NAMES),
        ],
        items: &[],
    },
];

/// Tool names in other clients: those of the seed documents, and of the clients whose names models carry over.
pub static TOOL_ALIASES: &[ToolAlias] = &[
    ToolAlias { tool: "read", others: &["read_file", "read_tool", "file_read", "view_file"] },
    ToolAlias { tool: "search", others: &["grep", "grep_tool", "grep_files", "search_files"] },
    ToolAlias { tool: "list", others: &["ls", "list_files", "list_dir", "list_directory"] },
    ToolAlias {
        tool: "edit",
        others: names![
            edit_tool edit_file str_replace file_edit file_edit_tool replace search_replace search_and_replace
            find_and_replace
        ],
    },
    ToolAlias { tool: "multi_edit", others: &["multi_edit_tool"] },
    ToolAlias {
        tool: "write",
        others: &["write_file", "write_tool", "write_to_file", "create_file", "file_write", "file_write_tool"],
    },
    ToolAlias { tool: "notebook_edit", others: &["notebook_edit_tool", "edit_notebook"] },
    ToolAlias { tool: "text_editor", others: &["str_replace_editor", "str_replace_based_edit_tool"] },
    ToolAlias { tool: "apply", others: &["apply_patch", "apply_diff", "replace_in_file", "patch"] },
];

/// Fields that restrict or change an edit in some client. A tool that lacks one never ignores it.
pub(super) static MEANINGFUL_FIELDS: &[&str] = names![
    after all append at_line before case_insensitive case_sensitive cell_id cell_number check_only column count cwd
    directory dry_run encoding end_column end_line exclude exclude_glob exclude_pattern excludes expected
    expected_replacements files_to_exclude files_to_include first_only from_line global ignore_case
    ignore_whitespace include include_glob include_pattern includes insert_after insert_before insert_line instance
    is_regex limit line line_range lines literal match_case match_index max_count max_replacements mode move_to
    multiline new_path nth occurrence occurrences offset on_stale only order partial position prepend preview range
    regex rename_to replace_all reverse simulate skip start_column start_line strip symbol tag to_line use_regex
    whole_word whole_words word_boundary
];

/// Fields of other clients whose `false` changes a call, too.
pub(super) static MEANINGFUL_IF_FALSE: &[&str] = &["case_sensitive", "match_case"];

/// Normalizes a name to compare spellings.
pub(super) fn normalize_name(name: &str) -> String {
    name.chars().filter(|ch| !matches!(ch, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Returns the table of a tool; an empty one if it has none.
pub fn of(tool: &str) -> &'static Aliases {
    static NO_ALIASES: Aliases = Aliases { tool: "", fields: &[], items: &[] };
    ALIASES.iter().find(|table| table.tool == tool).unwrap_or(&NO_ALIASES)
}

/// Returns the tool that another client's name refers to.
pub(crate) fn tool_named(name: &str) -> Option<&'static str> {
    let name = normalize_name(name);
    TOOL_ALIASES
        .iter()
        .find(|row| normalize_name(row.tool) == name || row.others.iter().any(|other| normalize_name(other) == name))
        .map(|row| row.tool)
}

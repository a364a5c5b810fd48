//! Descriptions of tools and fields that profiles give in place of the usual ones.

pub(super) const CELL_MODE_DESCRIPTION: &str = "\
Notebook: replace (default); insert: a new cell after that of cell_id, or as number cell_number, without either the first; delete.";

pub(super) const ORDER_DESCRIPTION: &str = "\
together (default): all are matched against the file as it was read, and refused if they depend on each other. in_turn: each against the result of the one before.";

/// The description of `edit` with notebook cells.
pub(super) const EDIT_WITH_CELLS_PROMPT: &str = "\
Replaces text in a file that was read before. old_string is copied from the file exactly, with its indentation, without line numbers, and must \
occur once: add surrounding lines, or set replace_all. Several replacements go into edits[], all or nothing. Empty new_string deletes. In a \
Jupyter notebook a whole cell is edited: give cell_id or cell_number, and new_source.";

pub(super) const CLAUDE_EDIT_PROMPT: &str = "\
Replaces text in a file. Read the file with Read first. Copy old_string from what follows the line number and TAB in Read's output, with \
its exact indentation. It must be unique in the file, or set replace_all.";

pub(super) const CLAUDE_MULTIEDIT_PROMPT: &str = "\
Makes several replacements in one file that was read before, all or none. Each old_string is looked for in the file as it was read, and must \
be unique there, or set replace_all.";

pub(super) const GREP_PROMPT: &str = "\
Searches a directory or file for a regular expression. Hits are shown as read_file shows lines and count as read, so they can be patched right away. Ignored and hidden files are skipped; include picks files (\"*.rs\", \"!tests/**\").";

pub(super) const SHORT_SEARCH_PROMPT: &str = "\
Searches a directory or file for a regular expression (or plain text with literal). Hits are shown as read shows lines and count as read, so they can be edited right away. Ignored and hidden files are skipped.";

pub(super) const ANCHORED_READ_PROMPT: &str = "\
Reads a text file. Each line is shown as Word:text; edits name lines by these words, which stay with their lines. By default the first \
2000 lines; give offset and limit for others.";

pub(super) const ANCHORED_SEARCH_PROMPT: &str = "\
Searches a directory or file for a regular expression (or plain text with literal). Hits are shown as Word:text and can be edited right away. \
Ignored and hidden files are skipped; glob picks files (\"*.rs\", \"!tests/**\").";

pub(super) const TAGGED_READ_PROMPT: &str = "\
Reads a text file. Shows a header ¶PATH#TAG and lines as N:TEXT; edit needs both. By default the first 2000 lines; give offset and limit \
for others.";

pub(super) const TAGGED_SEARCH_PROMPT: &str = "\
Searches a directory or file for a regular expression (or plain text with literal). Hits are shown as N:TEXT under their file's header and can be edited right away. Ignored and hidden files are skipped; glob picks files (\"*.rs\", \"!tests/**\").";

pub(super) const SHORT_UNDO_PROMPT: &str = "\
Undoes one of your calls in all of its files: the last one, or id (data.operation of its reply). Later changes by others on other lines are kept. redo reverses the undo.";

/// The fields that most searches need; the others are in the full profile.
pub(super) const SEARCH_FIELDS: &[&str] = &["pattern", "path", "literal", "ignore_case", "glob", "context"];

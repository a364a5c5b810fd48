//! Limits of one call: every limit that a caller can reach, in one table. `docs/limits.md` is generated from it, and
//! `tests/limits.rs` has a test at each number and one above it.

use crate::api::limit::{JSON_NESTING_MAX, Limit};
use crate::api::tool_table::INPUT_BYTES_MAX;
use crate::context::config::FILE_BYTES_MAX;
use crate::context::syntax::PARSE_MEMORY_BYTES_MAX;
use crate::model::attachment::IMAGE_BYTES_MAX;
use crate::model::call_size::CALL_FILE_BYTES_MAX;
use crate::model::file_limits::WHOLE_FILE_BYTES_MAX;
use crate::model::hunk_numbers::HUNKS_PER_CALL_MAX;
use crate::model::reply_limits::{LINE_CHARS_MAX, READ_REPLY_CHARS_MAX, REPLY_DATA_BYTES_MAX, REPLY_TEXT_CHARS_MAX};
use crate::pipeline::plan::large::sparse::{CONTEXT_BYTES_MAX, SPARSE_BYTES_MAX};
use crate::pipeline::plan::large::{pass::LINE_BYTES_MAX, read::READ_BYTES_MAX};
use crate::pipeline::report::diagnose::ASKED_FILES_MAX;
use crate::tools::check::{CHECKED_FILES_MAX, DIRECTORY_FILES_MAX};
use crate::tools::read::READ_LINES_DEFAULT;
use crate::tools::read::cells::OUTPUT_CHARS_MAX;
use crate::tools::read::media::PDF_PAGES_MAX;
use crate::tools::remarks::COMMENT_CHARS_MAX;
use crate::tools::replace::REPLACED_FILES_MAX;
use crate::tools::search::{GLOB_BYTES_MAX, PATTERN_BYTES_MAX, WALKED_ENTRIES_MAX};
use crate::tools::snapshot::SNAPSHOT_BYTES_MAX;
use crate::tools::snapshot::scan::{SNAPSHOT_FILE_BYTES_MAX, SNAPSHOT_FILES_MAX};
use crate::tools::symbols::outline::OUTLINED_FILES_MAX;
use crate::tools::undo::since::SINCE_OPERATIONS_MAX;
use emendate_core::elided::GAPS_MAX;
use emendate_core::notebook::CELLS_MAX;
use emendate_core::refusals::FILES_PER_CALL_MAX;
use emendate_core::work::WORK_STEPS_MAX;
use emendate_core::{CHANGED_PLACES_MAX, Code, EDITS_PER_CALL_MAX, INSERTED_BYTES_MAX, OCCURRENCES_MAX};
use emendate_fs::{LINKS_MAX, NAME_MAX_BYTES, PATH_MAX_BYTES};
use emendate_history::{COMMENTS_MAX, CONTENT_BYTES_MAX, QUESTIONS_MAX, REVIEWED_HUNKS_MAX};
use emendate_media::PDF_BYTES_MAX;
use emendate_schema::TEXT_BYTES_MAX;
use emendate_syntax::ParseLimits;

/// Bytes of all contents that a history keeps by default.
const HISTORY_BYTES_DEFAULT: u64 = 256 << 20;

/// Every limit.
pub static LIMITS: &[Limit] = &[
    Limit {
        name: "input",
        most: INPUT_BYTES_MAX as u64,
        unit: "bytes of a call's JSON",
        code: Some(Code::CallTooLarge),
        next: "Send several calls.",
    },
    Limit {
        name: "work",
        most: WORK_STEPS_MAX,
        unit: "steps of work of one call; a step is about one comparison of two lines, or a scan of 16 bytes",
        code: Some(Code::CallTooMuchWork),
        next: "Send fewer edits or files, or a shorter `old_string` or `pattern`, in one call. The user's configuration can change `max_work`; that of a project can only lower it.",
    },
    Limit {
        name: "nesting",
        most: JSON_NESTING_MAX,
        unit: "nested lists and objects in a call's JSON",
        code: Some(Code::CallInvalid),
        next: "No tool needs more than three levels.",
    },
    Limit {
        name: "path",
        most: PATH_MAX_BYTES as u64,
        unit: "bytes of an absolute path",
        code: Some(Code::PathInvalid),
        next: "Rename a directory on the way to the file. A root nearer to the file does not help, because paths are absolute.",
    },
    Limit {
        name: "name",
        most: NAME_MAX_BYTES as u64,
        unit: "bytes of one name in a path",
        code: Some(Code::PathInvalid),
        next: "Use a shorter name.",
    },
    Limit {
        name: "links",
        most: LINKS_MAX as u64,
        unit: "symbolic links that a path leads through",
        code: Some(Code::PathSymlink),
        next: "Use the real path.",
    },
    Limit {
        name: "file",
        most: FILE_BYTES_MAX,
        unit: "bytes of a file that is read or edited by line number, edited by exact text, or searched",
        code: Some(Code::FileTooLarge),
        next: "The user's configuration can change `max_file`; that of a project can only lower it. The size is checked before anything is read.",
    },
    Limit {
        name: "whole file",
        most: WHOLE_FILE_BYTES_MAX,
        unit: "bytes of a file that is loaded as a whole: for every other call, and for a file that is not UTF-8, has a formatter, has several names, or does not contain the given text exactly",
        code: Some(Code::FileTooLarge),
        next: "Read lines with `offset` and `limit`. Edit by line number, or with an `old_string` or context lines copied exactly. The configuration can change `max_whole`, as `max_file`. Beyond 8 MiB, memory and time grow with the size: up to 64 times its memory, and 0.25 s for each MiB.",
    },
    Limit {
        name: "parts: places",
        most: OCCURRENCES_MAX as u64,
        unit: "occurrences of all texts of a call in a file that is too large to load as a whole",
        code: Some(Code::FileTooLarge),
        next: "Send a longer `old_string`.",
    },
    Limit {
        name: "parts: around",
        most: CONTEXT_BYTES_MAX as u64,
        unit: "bytes of the 16 lines before a place in such a file, and of the 16 lines behind it; of 24 lines for an edit by line number",
        code: Some(Code::FileTooLarge),
        next: "Use another program for a file with such long lines.",
    },
    Limit {
        name: "parts: line",
        most: LINE_BYTES_MAX as u64,
        unit: "bytes of one line of such a file that is searched",
        code: Some(Code::FileTooLarge),
        next: "Use another program for a file with such long lines.",
    },
    Limit {
        name: "parts: together",
        most: SPARSE_BYTES_MAX as u64,
        unit: "bytes of the lines around all places in such a file",
        code: Some(Code::FileTooLarge),
        next: "Send several calls, with fewer edits or a longer `old_string`.",
    },
    Limit {
        name: "parts: lines",
        most: READ_BYTES_MAX as u64,
        unit: "bytes of the lines that one read of such a file returns",
        code: Some(Code::FileTooLarge),
        next: "Send a smaller `limit`.",
    },
    Limit {
        name: "files",
        most: FILES_PER_CALL_MAX as u64,
        unit: "files of a call; for a patch, sections about a file",
        code: Some(Code::CallTooLarge),
        next: "Send several calls.",
    },
    Limit {
        name: "entries",
        most: WALKED_ENTRIES_MAX as u64,
        unit: "entries of one directory, and of all directories of one search or replacement together",
        code: Some(Code::CallTooLarge),
        next: "Give a `path` further down, or a `glob` that excludes directories. A search of several directories reports that it ended early.",
    },
    Limit {
        name: "replaced files",
        most: REPLACED_FILES_MAX as u64,
        unit: "files that one `replace_in_files` changes",
        code: Some(Code::CallTooLarge),
        next: "Give a narrower `path` or `glob`.",
    },
    Limit {
        name: "together",
        most: CALL_FILE_BYTES_MAX as u64,
        unit: "bytes of all files that one call changes or takes back, if they are several; of each the larger of its sizes before and after",
        code: Some(Code::CallTooLarge),
        next: "Send several calls; undo fewer operations in one call, or restore each file by itself.",
    },
    Limit {
        name: "pattern",
        most: PATTERN_BYTES_MAX as u64,
        unit: "bytes of a regular expression, or of plain text with `ignore_case`",
        code: Some(Code::CallTooLarge),
        next: "Send a shorter expression, or plain text.",
    },
    Limit {
        name: "globs",
        most: GLOB_BYTES_MAX as u64,
        unit: "bytes of all globs of a call",
        code: Some(Code::CallTooLarge),
        next: "Send fewer or shorter globs, or a narrower `path`.",
    },
    Limit {
        name: "edits",
        most: EDITS_PER_CALL_MAX as u64,
        unit: "edits, blocks or hunks of a call, in all its files",
        code: Some(Code::CallTooLarge),
        next: "Send several calls.",
    },
    Limit {
        name: "placeholders",
        most: GAPS_MAX as u64,
        unit: "placeholders for unchanged code in the new text of a file",
        code: Some(Code::EditOmission),
        next: "Show only the parts of the file that change, each with a few lines around it, or send several calls.",
    },
    Limit {
        name: "places",
        most: CHANGED_PLACES_MAX as u64,
        unit: "places that all edits of one call change, in all its files",
        code: Some(Code::EditTooMuchWork),
        next: "Send a longer `old_string`, or fewer edits or files in one call.",
    },
    Limit {
        name: "new text",
        most: INSERTED_BYTES_MAX as u64,
        unit: "bytes of all new texts in a file, each counted once for every place it is written to, for edits of several places",
        code: Some(Code::EditTooMuchWork),
        next: "Send a longer `old_string`, or a narrower `pattern`. A result of more than 8 MiB takes memory and time as a `whole file` of its size does.",
    },
    Limit {
        name: "hunks",
        most: HUNKS_PER_CALL_MAX as u64,
        unit: "hunks that one call of `undo`, `restore` or `history` names",
        code: Some(Code::CallTooLarge),
        next: "Send several calls.",
    },
    Limit {
        name: "snapshot files",
        most: SNAPSHOT_FILES_MAX as u64,
        unit: "files of a snapshot, without ignored ones",
        code: Some(Code::CallTooLarge),
        next: "Name directories of generated files in .gitignore or .ignore.",
    },
    Limit {
        name: "snapshot file",
        most: SNAPSHOT_FILE_BYTES_MAX,
        unit: "bytes of a file that belongs to a snapshot",
        code: None,
        next: "Larger files are counted in the reply, and are not recorded.",
    },
    Limit {
        name: "snapshot contents",
        most: SNAPSHOT_BYTES_MAX,
        unit: "bytes of new contents that one snapshot stores; the first one stores at most a quarter of `megabytes` in [history]",
        code: None,
        next: "The reply counts the files that are recorded without their contents: their later changes are found, and cannot be undone.",
    },
    Limit {
        name: "kept",
        most: HISTORY_BYTES_DEFAULT / 2,
        unit: "bytes, compressed, of a file's earlier content that the history stores for `undo`, unless it can be derived from other versions",
        code: Some(Code::OperationIrreversible),
        next: "A program repeats the call with `irreversible: true`; a person is asked or warned before the change. The limit is half of `[history] megabytes` in the configuration.",
    },
    Limit {
        name: "taken back",
        most: CONTENT_BYTES_MAX,
        unit: "bytes of a file that `undo` or `restore` loads: one that the history has as a whole, or that others changed since. For 300 MB that takes several seconds and four times their memory",
        code: Some(Code::FileTooLarge),
        next: "Copy the file from elsewhere. An edit of a large file is taken back in parts and has no such limit.",
    },
    Limit {
        name: "reply",
        most: READ_REPLY_CHARS_MAX as u64,
        unit: "characters of the lines of a read",
        code: Some(Code::ReadTooLarge),
        next: "The reply lists the parts that fit. The limit is `[reply] read` in the configuration.",
    },
    Limit {
        name: "reply text",
        most: REPLY_TEXT_CHARS_MAX as u64,
        unit: "characters of the text of any other reply",
        code: None,
        next: "The reply reports how much is omitted and which call shows it. The limit is `[reply] text` in the configuration. A converted change is refused instead.",
    },
    Limit {
        name: "reply data",
        most: REPLY_DATA_BYTES_MAX as u64,
        unit: "bytes of a reply's data as JSON; requested images and documents have rows of their own",
        code: None,
        next: "`omitted` in the data lists what is omitted and the call that shows it. The limit is `[reply] data` in the configuration.",
    },
    Limit {
        name: "cells",
        most: CELLS_MAX as u64,
        unit: "cells of a notebook",
        code: Some(Code::NotebookInvalid),
        next: "Split the notebook.",
    },
    Limit {
        name: "image",
        most: IMAGE_BYTES_MAX as u64,
        unit: "bytes of an image that is read, and of all images in a notebook's outputs together; further ones are omitted",
        code: Some(Code::ReadTooLarge),
        next: "Set `max_side`, in a build with the feature `downscale`.",
    },
    Limit {
        name: "PDF",
        most: PDF_BYTES_MAX as u64,
        unit: "bytes of a PDF whose text or base64 is read",
        code: Some(Code::ReadTooLarge),
        next: "Use another program. Its decompressed size is limited as well.",
    },
    Limit {
        name: "pages",
        most: PDF_PAGES_MAX as u64,
        unit: "pages of a PDF in one read",
        code: Some(Code::ReadTooLarge),
        next: "Name them with `pages`.",
    },
    Limit {
        name: "checked files",
        most: CHECKED_FILES_MAX as u64,
        unit: "files in one check",
        code: Some(Code::CallTooLarge),
        next: "Send several calls.",
    },
    Limit {
        name: "rewound",
        most: SINCE_OPERATIONS_MAX as u64,
        unit: "operations that one rewind, or one undo since a moment or of a turn, takes back",
        code: Some(Code::CallInvalid),
        next: "Name a later moment first.",
    },
    Limit {
        name: "checked directories",
        most: DIRECTORY_FILES_MAX as u64,
        unit: "files below the directories of one check",
        code: None,
        next: "Check a directory below, or one that is smaller.",
    },
    Limit {
        name: "outlined files",
        most: OUTLINED_FILES_MAX as u64,
        unit: "files of a directory in one outline",
        code: None,
        next: "Narrow the path or the glob.",
    },
    Limit {
        name: "waiting questions",
        most: QUESTIONS_MAX as u64,
        unit: "questions of a root that wait for a person, or whose process ended, each of at most 4 MiB with its call",
        code: Some(Code::AccessAsk),
        next: "Answer the questions that `emend pending` lists. A further call ends with its question at once.",
    },
    Limit {
        name: "comments",
        most: COMMENTS_MAX as u64,
        unit: "comments that a root keeps; a reply delivers at most 20 of them",
        code: Some(Code::CallTooLarge),
        next: "Delete old ones: `emend comments --delete ID`.",
    },
    Limit {
        name: "comment",
        most: COMMENT_CHARS_MAX as u64,
        unit: "characters of a comment",
        code: Some(Code::CallTooLarge),
        next: "Write several comments.",
    },
    Limit {
        name: "reviewed hunks",
        most: REVIEWED_HUNKS_MAX as u64,
        unit: "hunks of a root that are marked as reviewed",
        code: Some(Code::CallTooLarge),
        next: "Clear the marks of older operations: `emend reviewed ID --clear`.",
    },
    Limit {
        name: "asked files",
        most: ASKED_FILES_MAX as u64,
        unit: "files of a call, each of at most 2 MiB, that language servers are asked about",
        code: None,
        next: "Send several calls of `check`.",
    },
    Limit {
        name: "output",
        most: OUTPUT_CHARS_MAX as u64,
        unit: "characters shown of the output of a notebook cell",
        code: None,
        next: "Read the JSON itself with `offset` and `limit`.",
    },
    Limit {
        name: "checked",
        most: TEXT_BYTES_MAX as u64,
        unit: "bytes of a JSON, TOML or YAML file that is validated before it is written",
        code: None,
        next: "A larger file is written, and the reply reports that it was not validated. The same holds for the files of a call beyond 64 MiB together.",
    },
    Limit {
        name: "lines",
        most: READ_LINES_DEFAULT as u64,
        unit: "lines of a read without a `limit`",
        code: None,
        next: "Send `offset` and `limit`.",
    },
    Limit {
        name: "parsed",
        most: ParseLimits::ASKED.bytes as u64,
        unit: "bytes of a file that is parsed for `outline`, `edit_symbol`, `read` of a symbol, or an edit of a block",
        code: Some(Code::SyntaxUnknown),
        next: "`read` with `offset` and `limit`, and `edit` with `old_string`, need no parser.",
    },
    Limit {
        name: "parse time",
        most: ParseLimits::ASKED.millis,
        unit: "milliseconds of one parse",
        code: Some(Code::SyntaxUnknown),
        next: "As for `parsed`. The process of a grammar that does not stop within another second is ended.",
    },
    Limit {
        name: "parse memory",
        most: PARSE_MEMORY_BYTES_MAX,
        unit: "bytes of memory of the process of a grammar, which servers always use, and commands for unusual texts",
        code: Some(Code::SyntaxUnknown),
        next: "As for `parsed`. The process of the grammar is ended, and nothing else.",
    },
    Limit {
        name: "line",
        most: LINE_CHARS_MAX as u64,
        unit: "characters shown of a line",
        code: None,
        next: "The rest can be edited, but does not count as read.",
    },
];

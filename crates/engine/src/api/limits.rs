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
use crate::tools::list::ENTRIES;
use crate::tools::read::READ_LINES_DEFAULT;
use crate::tools::read::cells::OUTPUT_CHARS_MAX;
use crate::tools::read::media::PDF_PAGES_MAX;
use crate::tools::remarks::COMMENT_CHARS_MAX;
use crate::tools::replace::REPLACED_FILES_MAX;
use crate::tools::search::{
    CONTEXT_LINES_MAX, GLOB_BYTES_MAX, HITS, IGNORE_FILE_BYTES_MAX, PATTERN_BYTES_MAX, WALKED_ENTRIES_MAX,
};
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
    Limit::of("input", INPUT_BYTES_MAX as u64, "bytes of a call's JSON")
        .refused(Code::CallTooLarge, "Send several calls."),
    Limit::of("work", WORK_STEPS_MAX, "steps of work of one call; a step is about one comparison of two lines, or a scan of 16 bytes")
        .refused(Code::CallTooMuchWork, "Send fewer edits or files, or a shorter `old_string` or `pattern`, in one call. The user's configuration can change `max_work`; that of a project can only lower it."),
    Limit::of("nesting", JSON_NESTING_MAX, "nested lists and objects in a call's JSON")
        .refused(Code::CallInvalid, "No tool needs more than three levels."),
    Limit::of("path", PATH_MAX_BYTES as u64, "bytes of an absolute path")
        .refused(Code::PathInvalid, "Rename a directory on the way to the file. A root nearer to the file does not help, because paths are absolute."),
    Limit::of("name", NAME_MAX_BYTES as u64, "bytes of one name in a path")
        .refused(Code::PathInvalid, "Use a shorter name."),
    Limit::of("links", LINKS_MAX as u64, "symbolic links that a path leads through")
        .refused(Code::PathSymlink, "Use the real path."),
    Limit::of("file", FILE_BYTES_MAX, "bytes of a file that is read or edited by line number, edited by exact text, or searched")
        .refused(Code::FileTooLarge, "The user's configuration can change `max_file`; that of a project can only lower it. The size is checked before anything is read."),
    Limit::of("whole file", WHOLE_FILE_BYTES_MAX, "bytes of a file that is loaded as a whole: for every other call, and for a file that is not UTF-8, has a formatter, has several names, or does not contain the given text exactly")
        .refused(Code::FileTooLarge, "Read lines with `offset` and `limit`. Edit by line number, or with an `old_string` or context lines copied exactly. The configuration can change `max_whole`, as `max_file`. Beyond 8 MiB, memory and time grow with the size: up to 64 times its memory, and 0.25 s for each MiB."),
    Limit::of("parts: places", OCCURRENCES_MAX as u64, "occurrences of all texts of a call in a file that is too large to load as a whole")
        .refused(Code::FileTooLarge, "Send a longer `old_string`."),
    Limit::of("parts: around", CONTEXT_BYTES_MAX as u64, "bytes of the 16 lines before a place in such a file, and of the 16 lines behind it; of 24 lines for an edit by line number")
        .refused(Code::FileTooLarge, "Use another program for a file with such long lines."),
    Limit::of("parts: line", LINE_BYTES_MAX as u64, "bytes of one line of such a file that is searched")
        .refused(Code::FileTooLarge, "Use another program for a file with such long lines."),
    Limit::of("parts: together", SPARSE_BYTES_MAX as u64, "bytes of the lines around all places in such a file")
        .refused(Code::FileTooLarge, "Send several calls, with fewer edits or a longer `old_string`."),
    Limit::of("parts: lines", READ_BYTES_MAX as u64, "bytes of the lines that one read of such a file returns")
        .refused(Code::FileTooLarge, "Send a smaller `limit`."),
    Limit::of("files", FILES_PER_CALL_MAX as u64, "files of a call; for a patch, sections about a file")
        .refused(Code::CallTooLarge, "Send several calls."),
    Limit::of("entries", WALKED_ENTRIES_MAX as u64, "entries of one directory, and of all directories of one search or replacement together")
        .refused(Code::CallTooLarge, "Give a `path` further down, or a `glob` that excludes directories. A search of several directories reports that it ended early."),
    Limit::of("replaced files", REPLACED_FILES_MAX as u64, "files that one `replace_in_files` changes")
        .refused(Code::CallTooLarge, "Give a narrower `path` or `glob`."),
    Limit::of("together", CALL_FILE_BYTES_MAX as u64, "bytes of all files that one call changes or takes back, if they are several; of each the larger of its sizes before and after")
        .refused(Code::CallTooLarge, "Send several calls; undo fewer operations in one call, or restore each file by itself."),
    Limit::of("pattern", PATTERN_BYTES_MAX as u64, "bytes of a regular expression, or of plain text with `ignore_case`")
        .refused(Code::CallTooLarge, "Send a shorter expression, or plain text."),
    Limit::of("context", CONTEXT_LINES_MAX as u64, "lines that a search shows before and after a hit")
        .noted("A note reports the number. Read the lines around the hit."),
    Limit::of("hits", HITS.most as u64, "hits that a search shows")
        .noted("A note reports the number. Narrow the `pattern`, `path` or `glob`."),
    Limit::of("listed", ENTRIES.most as u64, "entries that `list` returns; the text of the reply may have room for fewer")
        .noted("A note reports it. Name a directory below it, or give `depth` or `glob`."),
    Limit::of("globs", GLOB_BYTES_MAX as u64, "bytes of all globs of a call")
        .refused(Code::CallTooLarge, "Send fewer or shorter globs, or a narrower `path`."),
    Limit::of("ignore file", IGNORE_FILE_BYTES_MAX, "bytes of a .gitignore or .ignore file that applies to a search")
        .refused(Code::CallTooLarge, "Shorten it, or set `no_ignore`."),
    Limit::of("edits", EDITS_PER_CALL_MAX as u64, "edits, blocks or hunks of a call, in all its files")
        .refused(Code::CallTooLarge, "Send several calls."),
    Limit::of("placeholders", GAPS_MAX as u64, "placeholders for unchanged code in the new text of a file")
        .refused(Code::EditOmission, "Show only the parts of the file that change, each with a few lines around it, or send several calls."),
    Limit::of("places", CHANGED_PLACES_MAX as u64, "places that all edits of one call change, in all its files")
        .refused(Code::EditTooMuchWork, "Send a longer `old_string`, or fewer edits or files in one call."),
    Limit::of("new text", INSERTED_BYTES_MAX as u64, "bytes of all new texts in a file, each counted once for every place it is written to, for edits of several places")
        .refused(Code::EditTooMuchWork, "Send a longer `old_string`, or a narrower `pattern`. A result of more than 8 MiB takes memory and time as a `whole file` of its size does."),
    Limit::of("hunks", HUNKS_PER_CALL_MAX as u64, "hunks that one call of `undo`, `restore` or `history` names")
        .refused(Code::CallTooLarge, "Send several calls."),
    Limit::of("snapshot files", SNAPSHOT_FILES_MAX as u64, "files of a snapshot, without ignored ones")
        .refused(Code::CallTooLarge, "Name directories of generated files in .gitignore or .ignore."),
    Limit::of("snapshot file", SNAPSHOT_FILE_BYTES_MAX, "bytes of a file that belongs to a snapshot")
        .noted("Larger files are counted in the reply, and are not recorded."),
    Limit::of("snapshot contents", SNAPSHOT_BYTES_MAX, "bytes of new contents that one snapshot stores; the first one stores at most a quarter of `megabytes` in [history]")
        .noted("The reply counts the files that are recorded without their contents: their later changes are found, and cannot be undone."),
    Limit::of("kept", HISTORY_BYTES_DEFAULT / 2, "bytes, compressed, of a file's earlier content that the history stores for `undo`, unless it can be derived from other versions")
        .refused(Code::OperationIrreversible, "A program repeats the call with `irreversible: true`; a person is asked or warned before the change. The limit is half of `[history] megabytes` in the configuration."),
    Limit::of("taken back", CONTENT_BYTES_MAX, "bytes of a file that `undo` or `restore` loads: one that the history has as a whole, or that others changed since. For 300 MB that takes several seconds and four times their memory")
        .refused(Code::FileTooLarge, "Copy the file from elsewhere. An edit of a large file is taken back in parts and has no such limit."),
    Limit::of("reply", READ_REPLY_CHARS_MAX as u64, "characters of the lines of a read")
        .refused(Code::ReadTooLarge, "The reply lists the parts that fit. The limit is `[reply] read` in the configuration."),
    Limit::of("reply text", REPLY_TEXT_CHARS_MAX as u64, "characters of the text of any other reply")
        .noted("The reply reports how much is omitted and which call shows it. The limit is `[reply] text` in the configuration. A converted change is refused instead."),
    Limit::of("reply data", REPLY_DATA_BYTES_MAX as u64, "bytes of a reply's data as JSON; requested images and documents have rows of their own")
        .noted("`omitted` in the data lists what is omitted and the call that shows it. The limit is `[reply] data` in the configuration."),
    Limit::of("cells", CELLS_MAX as u64, "cells of a notebook").refused(Code::NotebookInvalid, "Split the notebook."),
    Limit::of("image", IMAGE_BYTES_MAX as u64, "bytes of an image that is read, and of all images in a notebook's outputs together; further ones are omitted")
        .refused(Code::ReadTooLarge, "Set `max_side`, in a build with the feature `downscale`."),
    Limit::of("PDF", PDF_BYTES_MAX as u64, "bytes of a PDF whose text or base64 is read")
        .refused(Code::ReadTooLarge, "Use another program. Its decompressed size is limited as well."),
    Limit::of("pages", PDF_PAGES_MAX as u64, "pages of a PDF in one read")
        .refused(Code::ReadTooLarge, "Name them with `pages`."),
    Limit::of("checked files", CHECKED_FILES_MAX as u64, "files in one check")
        .refused(Code::CallTooLarge, "Send several calls."),
    Limit::of("rewound", SINCE_OPERATIONS_MAX as u64, "operations that one rewind, or one undo since a moment or of a turn, takes back")
        .refused(Code::CallInvalid, "Name a later moment first."),
    Limit::of("checked directories", DIRECTORY_FILES_MAX as u64, "files below the directories of one check")
        .noted("Check a directory below, or one that is smaller."),
    Limit::of("outlined files", OUTLINED_FILES_MAX as u64, "files of a directory in one outline")
        .noted("Narrow the path or the glob."),
    Limit::of("waiting questions", QUESTIONS_MAX as u64, "questions of a root that wait for a person, or whose process ended, each of at most 4 MiB with its call")
        .refused(Code::AccessAsk, "Answer the questions that `emend pending` lists. A further call ends with its question at once."),
    Limit::of("comments", COMMENTS_MAX as u64, "comments that a root keeps; a reply delivers at most 20 of them")
        .refused(Code::CallTooLarge, "Delete old ones: `emend comments --delete ID`."),
    Limit::of("comment", COMMENT_CHARS_MAX as u64, "characters of a comment")
        .refused(Code::CallTooLarge, "Write several comments."),
    Limit::of("reviewed hunks", REVIEWED_HUNKS_MAX as u64, "hunks of a root that are marked as reviewed")
        .refused(Code::CallTooLarge, "Clear the marks of older operations: `emend reviewed ID --clear`."),
    Limit::of("asked files", ASKED_FILES_MAX as u64, "files of a call, each of at most 2 MiB, that language servers are asked about")
        .noted("Send several calls of `check`."),
    Limit::of("output", OUTPUT_CHARS_MAX as u64, "characters shown of the output of a notebook cell")
        .noted("Read the JSON itself with `offset` and `limit`."),
    Limit::of("checked", TEXT_BYTES_MAX as u64, "bytes of a JSON, TOML or YAML file that is validated before it is written")
        .noted("A larger file is written, and the reply reports that it was not validated. The same holds for the files of a call beyond 64 MiB together."),
    Limit::of("lines", READ_LINES_DEFAULT as u64, "lines of a read without a `limit`")
        .noted("Send `offset` and `limit`."),
    Limit::of("parsed", ParseLimits::ASKED.bytes as u64, "bytes of a file that is parsed for `outline`, `edit_symbol`, `read` of a symbol, or an edit of a block")
        .refused(Code::SyntaxUnknown, "`read` with `offset` and `limit`, and `edit` with `old_string`, need no parser."),
    Limit::of("parse time", ParseLimits::ASKED.millis, "milliseconds of one parse")
        .refused(Code::SyntaxUnknown, "As for `parsed`. The process of a grammar that does not stop within another second is ended."),
    Limit::of("parse memory", PARSE_MEMORY_BYTES_MAX, "bytes of memory of the process of a grammar, which servers always use, and commands for unusual texts")
        .refused(Code::SyntaxUnknown, "As for `parsed`. The process of the grammar is ended, and nothing else."),
    Limit::of("line", LINE_CHARS_MAX as u64, "characters shown of a line")
        .noted("The rest can be edited, but does not count as read. A search shows the part around a hit."),
];

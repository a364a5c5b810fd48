//! Limits of one call: every limit that a caller can reach, in one table. `docs/limits.md` is generated from it, and
//! `tests/limits.rs` has a test at each number and one above it.

use crate::attachment::MOST_IMAGE;
use crate::big::{MAX_WHOLE, MOST_LINE, MOST_PARTS, MOST_READ, NEAR};
use crate::check::MOST_CHECKED;
use crate::config::MAX_FILE;
use crate::diagnose::MOST_ASKED;
use crate::media::MOST_PAGES;
use crate::notebook::OUTPUT;
use crate::read::{DEFAULT_LIMIT, LINE_WIDTH, MAX_REPLY};
use crate::replace::MOST_REPLACED;
use crate::reply_limits::{REPLY_DATA, REPLY_TEXT};
use crate::search::{GLOB_MAX, MOST_WALKED, PATTERN_MAX};
use crate::syntax::PARSE_MEMORY;
use crate::tools::MAX_INPUT;
use emendate_core::formats::multi_edit::MOST_EDITS;
use emendate_core::notebook::MOST_CELLS;
use emendate_core::work::WORK_MAX;
use emendate_core::{Ask, Code, Error, MOST_FRESH, MOST_PLACES, MOST_STANDS, Request, Result};
use emendate_fs::{MAX_LINKS, MAX_NAME, MAX_PATH};
use emendate_media::MOST_PDF;
use emendate_schema::MOST_BYTES;
use emendate_syntax::Limits;

/// Files that one call may name.
const MOST_FILES: usize = 1_000;

/// Bytes of all contents that a history keeps by default.
const HISTORY_DEFAULT: u64 = 256 << 20;

/// Nesting levels of lists and objects in a call's input, as limited by the JSON parser.
const NESTING: u64 = 127;

/// A limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The limited quantity, in a word or two.
    pub name: &'static str,
    /// The largest allowed number.
    pub most: u64,
    /// The unit of the number.
    pub unit: &'static str,
    /// The error code; `None` if nothing is refused but the reply is shortened, with a remark.
    pub code: Option<Code>,
    /// Advice to the caller, or a remark.
    pub next: &'static str,
}

/// Every limit.
pub static LIMITS: &[Limit] = &[
    Limit {
        name: "input",
        most: MAX_INPUT as u64,
        unit: "bytes of a call's JSON",
        code: Some(Code::CallTooLarge),
        next: "Several calls.",
    },
    Limit {
        name: "work",
        most: WORK_MAX,
        unit: "steps of work of one call; a step is about one comparison of two lines, or 16 bytes gone through",
        code: Some(Code::CallTooMuchWork),
        next: "Fewer edits or files, or a shorter `old_string` or `pattern`, in one call. `max_work` in the user's \
               configuration; a project's can only lower it.",
    },
    Limit {
        name: "nesting",
        most: NESTING,
        unit: "levels of a call's JSON",
        code: Some(Code::CallInvalid),
        next: "No tool needs more than three.",
    },
    Limit {
        name: "path",
        most: MAX_PATH as u64,
        unit: "bytes",
        code: Some(Code::PathInvalid),
        next: "A root nearer to the file does not help: paths are absolute.",
    },
    Limit {
        name: "name",
        most: MAX_NAME as u64,
        unit: "bytes of one name in a path",
        code: Some(Code::PathInvalid),
        next: "A shorter name.",
    },
    Limit {
        name: "links",
        most: MAX_LINKS as u64,
        unit: "symbolic links on the way of a path",
        code: Some(Code::PathSymlink),
        next: "The real path.",
    },
    Limit {
        name: "file",
        most: MAX_FILE,
        unit: "bytes of a file that is read or edited by lines, edited exactly, or searched",
        code: Some(Code::FileTooLarge),
        next: "`max_file` in the user's configuration; a project's can only lower it. What it is now counts, before anything is read.",
    },
    Limit {
        name: "whole file",
        most: MAX_WHOLE,
        unit: "bytes of a file that is taken whole: for any other call, and where it is not UTF-8, has a formatter or more than one name, or the text is not there as it was given",
        code: Some(Code::FileTooLarge),
        next: "Lines with `offset` and `limit`, edits by line number, or with `old_string` or context lines copied exactly. Or `max_whole`, as `max_file`.",
    },
    Limit {
        name: "parts: places",
        most: MOST_STANDS as u64,
        unit: "places of all texts of a call in a file that is too large to be taken whole",
        code: Some(Code::FileTooLarge),
        next: "A longer `old_string`.",
    },
    Limit {
        name: "parts: around",
        most: NEAR as u64,
        unit: "bytes of the sixteen lines before a place there, and of those behind it; of 24 where lines are edited by number",
        code: Some(Code::FileTooLarge),
        next: "Another program, for a file of such lines.",
    },
    Limit {
        name: "parts: line",
        most: MOST_LINE as u64,
        unit: "bytes of a line there that is searched",
        code: Some(Code::FileTooLarge),
        next: "Another program, for a file of such lines.",
    },
    Limit {
        name: "parts: together",
        most: MOST_PARTS as u64,
        unit: "bytes of the lines around all places there",
        code: Some(Code::FileTooLarge),
        next: "Several calls, of fewer edits or with a longer `old_string`.",
    },
    Limit {
        name: "parts: lines",
        most: MOST_READ as u64,
        unit: "bytes of the lines of one read there",
        code: Some(Code::FileTooLarge),
        next: "A smaller `limit`.",
    },
    Limit {
        name: "files",
        most: MOST_FILES as u64,
        unit: "files, or parts of a patch about one, in a call",
        code: Some(Code::CallTooLarge),
        next: "Several calls.",
    },
    Limit {
        name: "entries",
        most: MOST_WALKED as u64,
        unit: "entries of one directory; and of all directories that one search or replacement looks at",
        code: Some(Code::CallTooLarge),
        next: "A `path` further down, or a `glob` that leaves directories out. A search of more in several directories reports that it ended early.",
    },
    Limit {
        name: "replaced files",
        most: MOST_REPLACED as u64,
        unit: "files that one `replace_in_files` changes, with at most 512 MiB together, before or after",
        code: Some(Code::CallTooLarge),
        next: "A narrower `path` or `glob`.",
    },
    Limit {
        name: "pattern",
        most: PATTERN_MAX as u64,
        unit: "bytes of a regular expression, and of plain text with `ignore_case`",
        code: Some(Code::CallTooLarge),
        next: "A shorter expression, or plain text.",
    },
    Limit {
        name: "globs",
        most: GLOB_MAX as u64,
        unit: "bytes of all globs of a call",
        code: Some(Code::CallTooLarge),
        next: "Fewer or shorter globs, or a narrower `path`.",
    },
    Limit {
        name: "edits",
        most: MOST_EDITS as u64,
        unit: "edits, blocks or hunks in a call, of all its files together",
        code: Some(Code::CallTooLarge),
        next: "Several calls.",
    },
    Limit {
        name: "places",
        most: MOST_PLACES as u64,
        unit: "places that one edit changes",
        code: Some(Code::EditTooMuchWork),
        next: "A longer `old_string`.",
    },
    Limit {
        name: "new text",
        most: MOST_FRESH as u64,
        unit: "bytes that all edits of a file put into several places together, counted before they are built",
        code: Some(Code::EditTooMuchWork),
        next: "A longer `old_string`, or a narrower `pattern`.",
    },
    Limit {
        name: "kept",
        most: HISTORY_DEFAULT / 2,
        unit: "bytes, packed, of the earlier content of a file that the history keeps for `undo` where nothing else leads back to it",
        code: Some(Code::OperationIrreversible),
        next: "A person is asked or told before the change, a program sends `irreversible: true`. Half of `[history] megabytes` in the configuration.",
    },
    Limit {
        name: "reply",
        most: MAX_REPLY as u64,
        unit: "characters of the lines of a read",
        code: Some(Code::ReadTooLarge),
        next: "The reply lists the parts that fit. `[reply] read` in the configuration.",
    },
    Limit {
        name: "reply text",
        most: REPLY_TEXT as u64,
        unit: "characters of the text of any other reply",
        code: None,
        next: "The reply says what is left out and which call shows it. `[reply] text` in the configuration. A converted change is refused.",
    },
    Limit {
        name: "reply data",
        most: REPLY_DATA as u64,
        unit: "bytes of a reply's data as JSON; images and documents that were asked for count by their own rows",
        code: None,
        next: "`omitted` in the data lists what is left out and the call that shows it. `[reply] data` in the configuration.",
    },
    Limit {
        name: "cells",
        most: MOST_CELLS as u64,
        unit: "cells of a notebook",
        code: Some(Code::NotebookInvalid),
        next: "Split it.",
    },
    Limit {
        name: "image",
        most: MOST_IMAGE as u64,
        unit: "bytes of an image that is read",
        code: Some(Code::ReadTooLarge),
        next: "`max_side`, in a build that can make images smaller. It also holds for all images in a notebook's outputs together; those beyond it are left out.",
    },
    Limit {
        name: "PDF",
        most: MOST_PDF as u64,
        unit: "bytes of a PDF whose text or base64 is read",
        code: Some(Code::ReadTooLarge),
        next: "Another program. What it unpacks is bounded, too.",
    },
    Limit {
        name: "pages",
        most: MOST_PAGES as u64,
        unit: "pages of a PDF in one read",
        code: Some(Code::ReadTooLarge),
        next: "`pages`.",
    },
    Limit {
        name: "checked files",
        most: MOST_CHECKED as u64,
        unit: "files in one check",
        code: Some(Code::CallTooLarge),
        next: "Several calls.",
    },
    Limit {
        name: "asked files",
        most: MOST_ASKED as u64,
        unit: "files of a call that a language server is asked about, of 2 MiB at most",
        code: None,
        next: "`check`, in several calls.",
    },
    Limit {
        name: "output",
        most: OUTPUT as u64,
        unit: "characters of a cell's output that are shown",
        code: None,
        next: "The JSON itself: `offset` and `limit`.",
    },
    Limit {
        name: "checked",
        most: MOST_BYTES as u64,
        unit: "bytes of a file of JSON, TOML or YAML that is looked at before it is written",
        code: None,
        next: "A larger one is written, and the reply says that it was not looked at; so are those of a call beyond 64 MiB together.",
    },
    Limit {
        name: "lines",
        most: DEFAULT_LIMIT as u64,
        unit: "lines of a read that gives no `limit`",
        code: None,
        next: "`offset` and `limit`.",
    },
    Limit {
        name: "parsed",
        most: Limits::ASKED.bytes as u64,
        unit: "bytes of a file that is parsed for `outline`, `edit_symbol`, `read` of a symbol, or a block",
        code: Some(Code::SyntaxUnknown),
        next: "`read` with `offset` and `limit`, `edit` with `old_string`.",
    },
    Limit {
        name: "parse time",
        most: Limits::ASKED.millis,
        unit: "milliseconds of work for one parse",
        code: Some(Code::SyntaxUnknown),
        next: "The same. A grammar that works on for a second more is ended.",
    },
    Limit {
        name: "parse memory",
        most: PARSE_MEMORY,
        unit: "bytes of memory for one answer of a grammar, in servers and for unusual texts",
        code: Some(Code::SyntaxUnknown),
        next: "The same. The process of the grammar is ended, nothing else.",
    },
    Limit {
        name: "line",
        most: LINE_WIDTH as u64,
        unit: "characters of a line that are shown",
        code: None,
        next: "The rest can be edited, but counts as not read.",
    },
];

/// Checks the limits on a request in any format.
///
/// Errors: `call.too_large`.
pub(crate) fn check_request(request: &Request) -> Result<()> {
    let ops = |ask: &Ask| match ask {
        Ask::Edit { ops, .. } | Ask::Move { ops, .. } | Ask::Copy { ops, .. } => ops.len(),
        _ => 0,
    };
    let edits: usize = request.files.iter().map(|file| ops(&file.ask)).sum();
    check(request.files.len(), MOST_FILES, "files")?;
    check(edits, MOST_EDITS, "edits")
}

/// Checks the number of files of a call in compatibility mode.
///
/// Errors: `call.too_large`.
pub(crate) fn check_files(files: usize) -> Result<()> {
    check(files, MOST_FILES, "files")
}

/// Checks the number of files of a `check`.
///
/// Errors: `call.too_large`.
pub(crate) fn check_checked(files: usize) -> Result<()> {
    check(files, MOST_CHECKED, "files to check")
}

fn check(has: usize, most: usize, what: &str) -> Result<()> {
    if has <= most {
        return Ok(());
    }
    Err(Error::new(Code::CallTooLarge, format!("{has} {what} are more than the {most} that one call may have."))
        .next("Send them in several calls."))
}

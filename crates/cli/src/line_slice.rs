//! `PATH:A-B`: lines after a path.

use crate::files::usage;
use emendate::core::{Error, Result};
use std::path::{Path, PathBuf};

/// Lines after a path: the first one, and their number.
pub(crate) type LineSlice = (u64, Option<u64>);

/// Splits `PATH:A-B` into the path, the first line and the number of lines. An existing file with exactly that name
/// takes precedence.
///
/// Errors: `call.invalid` for lines that are not a range.
pub(crate) fn range(path: &Path) -> Result<(PathBuf, Option<LineSlice>)> {
    let Some((name, lines)) = path.to_str().and_then(|path| path.rsplit_once(':')) else {
        return Ok((path.to_owned(), None));
    };
    let (from, to) = lines.split_once('-').map_or((lines, None), |(from, to)| (from, Some(to)));
    if name.is_empty() || from.is_empty() || !is_number(from) || !to.is_none_or(is_number) || path.exists() {
        return Ok((path.to_owned(), None));
    }
    let from = line_number(from).ok_or_else(|| range_refusal(lines))?;
    let lines = match to {
        None => Some(1),
        Some("") => None,
        Some(to) => Some(
            line_number(to)
                .and_then(|to| (to + 1).checked_sub(from))
                .filter(|&lines| lines > 0)
                .ok_or_else(|| range_refusal(lines))?,
        ),
    };
    Ok((name.into(), Some((from, lines))))
}

/// Refuses a range of lines.
fn range_refusal(lines: &str) -> Error {
    usage(&format!("`{lines}` is not a range of lines."), "Write PATH:A-B with 1 ≤ A ≤ B.")
}

/// Reads a line number, which is counted from 1.
fn line_number(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|&line| line > 0)
}

/// True for a text of digits only.
fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

//! The end of a hunk: lines that look like its own but are a header, a trailer or a fence, and vice versa.

use super::body::HunkBody;
use super::header;
use super::name;
use super::range;
use crate::formats::name::fence;

/// The next two lines, without the patch's indentation.
pub(super) type Lookahead<'a> = [Option<&'a str>; 2];

/// The fence around a patch.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatchFence {
    sign: char,
    len: usize,
    /// The 1-based line of the request that opens it.
    pub(super) line: usize,
}

impl PatchFence {
    /// Creates the fence that a run of signs on this line opens.
    pub(super) fn new(sign: char, len: usize, line: usize) -> PatchFence {
        PatchFence { sign, len, line }
    }

    /// True if a run of signs without an info string closes the fence.
    pub(super) fn is_closed_by(self, sign: char, len: usize) -> bool {
        sign == self.sign && len >= self.len
    }
}

/// Returns the number of following lines that are needed to classify this one.
pub(super) fn lookahead_needed(line: &str) -> usize {
    let text = line.trim_start();
    match text.as_bytes().first() {
        Some(b'-' | b'+') if text.starts_with("--") || text.starts_with("+++") => 2,
        Some(b'`' | b'~' | b'I') => 1,
        _ => 0,
    }
}

/// True if the hunk ends before this line.
pub(super) fn ends(body: &HunkBody, text: &str, ahead: Lookahead<'_>, open: Option<PatchFence>) -> bool {
    let next_begins = ahead[0].is_some_and(range::is_header);
    match text.as_bytes().first() {
        Some(b'-') => match text {
            "-- " | "--" => is_trailer(body, text, ahead[0]),
            "---" => body.is_full() && !ahead[0].is_some_and(changes),
            _ => text.strip_prefix("--- ").is_some_and(|old| is_file_header(body, old, ahead)),
        },
        Some(b'+') => {
            let new = text.strip_prefix("+++ ").filter(|_| body.is_full() && next_begins);
            new.is_some_and(|new| name::without_prefix(new).is_some())
        }
        Some(b'`' | b'~') => ends_with_fence(body, text, ahead[0], open),
        Some(b' ') | None => false,
        Some(_) => is_structure(text, ahead[0]) || body.may_end() && header::is_loose(text),
    }
}

/// Decides if `--- x` in a hunk is the removal of `-- x` or the header of the next file, by the counts if they are
/// consistent.
fn is_file_header(body: &HunkBody, old: &str, ahead: Lookahead<'_>) -> bool {
    let Some(new) = ahead[0].and_then(|next| next.strip_prefix("+++ ")) else {
        return body.is_full() && begins_hunk(ahead[0]) && name::without_prefix(old).is_some();
    };
    let agree = name::agree(old, new);
    if body.is_full() {
        return true;
    }
    if body.may_end() {
        return agree || begins_hunk(ahead[1]);
    }
    if begins_hunk(ahead[1]) {
        // Counts that are both too large by one look the same; so the two lines are a removal and an addition only if
        // their names are not those of one file.
        !body.would_complete(1, 1) || agree
    } else {
        agree && body.is_half_full()
    }
}

/// True for the header of a hunk.
fn begins_hunk(line: Option<&str>) -> bool {
    line.is_some_and(range::is_header)
}

/// True for a mail signature, `-- ` and git's version, which may also be the removal of `- `.
fn is_trailer(body: &HunkBody, text: &str, next: Option<&str>) -> bool {
    // An unmarked version is not a line of a hunk, whatever the counts say.
    if next.is_some_and(is_version) {
        return true;
    }
    if body.is_full() {
        return !next.is_some_and(changes);
    }
    !body.would_complete(1, 0) && text == "-- " && next.is_none() && body.may_end()
}

/// True for a version of git, such as `2.43.0` or `2.39.2 (Apple Git-143)`.
fn is_version(line: &str) -> bool {
    let word = line.split(' ').next().unwrap_or(line);
    let numbers = word.chars().all(|ch| ch.is_ascii_alphanumeric() || ['.', '-', '+'].contains(&ch));
    word.contains('.') && word.starts_with(|ch: char| ch.is_ascii_digit()) && numbers
}

fn ends_with_fence(body: &HunkBody, text: &str, next: Option<&str>, open: Option<PatchFence>) -> bool {
    let Some((sign, len, info)) = fence(text) else { return false };
    let closes = info.is_empty() && open.is_none_or(|open| open.is_closed_by(sign, len));
    let goes_on = next.is_some_and(changes);
    match (body.is_full(), closes) {
        (true, _) => true,
        (false, true) if open.is_some() => !goes_on,
        // Without an opening fence it may be context that lost its space.
        (false, true) => !goes_on && !body.would_complete(1, 1),
        (false, false) => false,
    }
}

/// True for a removed or added line that is neither an item of a list nor a header.
pub(super) fn changes(line: &str) -> bool {
    let not = ["- ", "+ ", "--- ", "+++ "];
    line.starts_with(['-', '+'])
        && !["-", "+", "--", "---"].contains(&line)
        && !not.iter().any(|start| line.starts_with(start))
}

/// True for an unmarked line that is part of a patch, but never of a hunk.
pub(super) fn is_structure(text: &str, next: Option<&str>) -> bool {
    range::is_header(text)
        || range::is_combined(text)
        || text.starts_with("diff -")
        || text == "GIT binary patch"
        || is_svn_index(text, next)
        || is_binary_notice(text)
        || is_only_in(text)
        || is_envelope(text)
        || is_commit(text)
}

/// True for `Index: name` above a line of `=`.
pub(super) fn is_svn_index(text: &str, next: Option<&str>) -> bool {
    text.starts_with("Index: ") && next.is_some_and(|next| next.starts_with("====="))
}

/// True for a line such as `Binary files a/x and b/x differ`.
pub(super) fn is_binary_notice(text: &str) -> bool {
    (text.starts_with("Binary files ") || text.starts_with("Files ")) && text.trim_end().ends_with(" differ")
        || text.starts_with("Cannot display: file marked as a binary type")
}

/// True for a line such as `Only in folder: name`.
pub(super) fn is_only_in(text: &str) -> bool {
    text.starts_with("Only in ") && text.contains(": ")
}

/// True for a marker line of an `apply_patch` text.
pub(super) fn is_envelope(text: &str) -> bool {
    text.strip_prefix("*** ").is_some_and(|rest| {
        ["Begin Patch", "End Patch", "Update File:", "Add File:", "Delete File:"].iter().any(|it| rest.starts_with(it))
    })
}

/// True for the line that begins a mail of `git format-patch`, or a commit of `git log -p`.
pub(super) fn is_commit(text: &str) -> bool {
    let id = text.strip_prefix("From ").or_else(|| text.strip_prefix("commit ")).and_then(|rest| rest.get(..40));
    id.is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

//! Lines and names with a meaning for the text of a whole file.

use crate::formats::{name, search_replace};
use crate::text::fold;
use crate::work;

/// Returns the name that the info string of a fence gives, or the line above it.
pub(super) fn named(info: &str, above: &str) -> Option<String> {
    // A single word with a dot may be the name of a language.
    let says = info.contains(['/', ':', '=']) || info.split_whitespace().nth(1).is_some();
    name::in_info(info).filter(|_| says).or_else(|| name::alone(above))
}

/// Returns the line above a fence, or its info string, if it may be the name of an existing file.
pub(super) fn perhaps_named<'a>(info: &'a str, above: &'a str) -> Option<&'a str> {
    let file = name::possible(info).filter(|word| word.contains('.') && !word.contains(' '));
    file.or_else(|| name::possible(above)).filter(|_| named(info, above).is_none() && is_text(info))
}

/// False for the info string of a fence that contains a diff.
pub(super) fn is_text(info: &str) -> bool {
    !["diff", "patch", "udiff"].contains(&info.split([' ', ':']).next().unwrap_or_default())
}

/// True for a text of nothing but lines of a hunk, with new and removed ones: a file has no such lines.
pub(super) fn is_hunk(text: &str) -> bool {
    let has = |sign: char| work::lines(text).any(|line| line.starts_with(sign));
    let is_marked = |line: &str| line.is_empty() || line.starts_with([' ', '-', '+']);
    has('-') && has('+') && work::lines(text).all(is_marked)
}

/// True for a first line that begins an edit instead of a file.
pub(super) fn is_edit(line: &str) -> bool {
    let starts = ["*** Begin Patch", "*** Update File:", "diff --git ", "--- a/", "--- /dev/null", "@@ ", "¶"];
    search_replace::opens(line) || starts.iter().any(|start| line.starts_with(start))
}

/// True for a first line that comes before a comment with the name of the file.
pub(super) fn precedes_name(line: &str) -> bool {
    line.starts_with("#!") || line.starts_with("<?")
}

/// True for lines that may follow the text of `<write_to_file>`.
pub(super) fn follows_content(line: &str) -> bool {
    let ends = ["</write_to_file>", "<line_count>", "<task_progress>"];
    ends.iter().any(|end| line.trim_start().starts_with(end))
}

/// Returns the number of lines that a call announces for its text.
pub(super) fn announced_lines(line: &str) -> Option<usize> {
    line.split_once("<line_count>")?.1.split_once("</line_count>")?.0.trim().parse().ok()
}

/// True if a text has less than four fifths of the announced lines: models do not count exactly.
pub(super) fn are_missing(count: usize, announced: usize) -> bool {
    const UNCOUNTED_LINES_MAX: usize = 3;
    announced > count + UNCOUNTED_LINES_MAX && count < announced - announced / 5
}

pub(super) fn is_markdown(path: &str) -> bool {
    let end = path.rsplit('.').next().unwrap_or_default().to_lowercase();
    ["md", "mdx", "markdown", "mdown", "qmd", "rmd", "mdc"].contains(&&*end)
}

/// Returns a text without the indentation of the fence around it, as Markdown means it; `None` if a line is not as deep.
pub(super) fn without_margin(text: &str, margin: &str) -> Option<String> {
    let is_inside = |line: &str| line.trim().is_empty() || line.starts_with(margin);
    if margin.is_empty() || text.trim().is_empty() || !text.lines().all(is_inside) {
        return None;
    }
    let lines = text.split_inclusive('\n');
    Some(lines.map(|line| line.strip_prefix(margin).unwrap_or_else(|| fold::trim_blanks_start(line))).collect())
}

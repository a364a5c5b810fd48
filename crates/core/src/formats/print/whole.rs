//! Printer of whole files, each in a fence longer than any in its text, or in a tag.

use super::{FileDelta, unsaid};
use crate::error::Result;
use crate::formats::name;
use std::fmt::Write as _;

/// Minimum length of a fence.
const FENCE_LENGTH_MIN: usize = 3;

pub(super) fn print(deltas: &[FileDelta<'_>], _: usize) -> Result<String> {
    let mut out = String::new();
    for delta in deltas {
        if delta.from.is_some() || delta.after.is_none() || delta.new_mode().is_some() {
            return Err(unsaid(
                delta.path,
                "whole files contain text, they do not move or remove files or set permissions",
            ));
        }
        let text = delta.text_after();
        if !text.ends_with('\n') {
            return Err(unsaid(delta.path, "its last line has no line end"));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        // A line that is also a word of a text is the name of a file only if that file exists.
        if name::alone(delta.path).as_deref() != Some(delta.path) {
            let _ = write!(out, "<file path=\"{}\">\n{text}</file>\n", delta.path);
            continue;
        }
        let fence = "`".repeat(FENCE_LENGTH_MIN.max(longest_run(text) + 1));
        out.extend([delta.path, "\n", &fence, "\n", text, &fence, "\n"]);
    }
    Ok(out)
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or(0)
}

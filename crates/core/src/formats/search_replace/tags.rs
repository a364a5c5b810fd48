//! Blocks in tags: `<old_text line=N>…</old_text><new_text>…</new_text>` (Zed). End tags may be mixed up.

use super::blocks::{Cursor, Parts, broken};
use crate::error::Result;

/// End tags of either part.
const ENDS: [&str; 2] = ["</old_text>", "</new_text>"];

/// An opening tag.
pub(super) struct Tag {
    line: Option<usize>,
}

/// Reads `<old_text>`, with its line number if it has one.
pub(super) fn open(line: &str) -> Option<Tag> {
    let attributes = line.trim_start().strip_prefix("<old_text")?;
    let (attributes, _) = attributes.split_once('>')?;
    let number = attributes.trim().strip_prefix("line=").map(|it| it.trim_matches(['"', '\'']).parse());
    match (attributes.trim(), number) {
        ("", _) => Some(Tag { line: None }),
        (_, Some(Ok(line))) => Some(Tag { line: Some(line) }),
        _ => None,
    }
}

/// How many end tags are on a line.
pub(super) fn ends(line: &str) -> usize {
    ENDS.iter().map(|tag| line.matches(tag).count()).sum()
}

/// Reads the rest of a block; `line` is the one with the opening tag.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>, tag: &Tag, line: &'a str, at: usize) -> Result<Parts> {
    let first = line.split_once('>').map_or("", |(_, rest)| rest);
    let (search, mut rest) = part(cursor, first, at, "old_text")?;
    while rest.trim().is_empty() {
        rest = cursor.next().ok_or_else(|| broken(at, "the block has no <new_text>."))?;
    }
    let Some(first) = rest.trim_start().strip_prefix("<new_text>") else {
        return Err(broken(cursor.line - 1, "<new_text> is expected here."));
    };
    let (replace, _) = part(cursor, first, at, "new_text")?;
    Ok(Parts { search, replace, hint: tag.line, lines: false, unclosed: false })
}

/// The text up to an end tag, without the line ends next to the tags; and what follows on that line.
fn part<'a>(cursor: &mut Cursor<'a>, first: &'a str, at: usize, name: &str) -> Result<(String, &'a str)> {
    let mut out = String::new();
    let mut line = first;
    loop {
        let end = ENDS.iter().filter_map(|tag| Some((line.find(tag)?, tag.len()))).min();
        if let Some((place, len)) = end {
            out.push_str(&line[..place]);
            let text = out.strip_prefix('\n').unwrap_or(&out);
            let text = text.strip_suffix('\n').unwrap_or(text);
            return Ok((text.to_owned(), &line[place + len..]));
        }
        out.push_str(line);
        out.push('\n');
        line = cursor.next().ok_or_else(|| broken(at, &format!("<{name}> is not closed.")))?;
    }
}

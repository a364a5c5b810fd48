//! Blocks in tags: `<old_text line=N>…</old_text><new_text>…</new_text>` (Zed). End tags may be mixed up.

use super::blocks::broken;
use crate::error::{Error, Result};

/// End tags of either part.
const END_TAGS: [&str; 2] = ["</old_text>", "</new_text>"];

/// The beginning of the tag that opens a block.
pub(super) const OLD_TAG: &str = "<old_text";

/// Parses `<old_text>`: its line number, if it has one, and the rest of the line.
pub(super) fn open(line: &str) -> Option<(Option<usize>, &str)> {
    let attributes = line.trim_start().strip_prefix(OLD_TAG)?;
    let (attributes, rest) = attributes.split_once('>')?;
    let number = attributes.trim().strip_prefix("line=").map(|it| it.trim_matches(['"', '\'']).parse());
    match (attributes.trim(), number) {
        ("", _) => Some((None, rest)),
        (_, Some(Ok(line))) => Some((Some(line), rest)),
        _ => None,
    }
}

/// Counts the end tags on a line.
pub(super) fn ends(line: &str) -> usize {
    END_TAGS.iter().map(|tag| line.matches(tag).count()).sum()
}

/// A block in tags that is being parsed.
#[derive(Default)]
pub(super) struct TaggedBlock {
    /// The first part, once it is complete.
    search: Option<String>,
    /// True if `<new_text>` was parsed.
    opened: bool,
    /// The text of the open part.
    part: String,
}

impl TaggedBlock {
    /// Parses the rest of the line with the opening tag, then whole lines. Returns the two parts once the block is
    /// complete.
    pub(super) fn read(&mut self, text: &str, here: usize) -> Result<Option<(String, String)>> {
        let mut rest = text;
        if self.search.is_none() {
            let Some((search, after)) = self.part(rest) else { return Ok(None) };
            self.search = Some(search);
            rest = after;
        }
        if !self.opened {
            if rest.trim().is_empty() {
                return Ok(None);
            }
            let Some(after) = rest.trim_start().strip_prefix("<new_text>") else {
                return Err(broken(here, "<new_text> is expected here."));
            };
            self.opened = true;
            rest = after;
        }
        let replace = self.part(rest);
        Ok(replace.map(|(replace, _)| (self.search.take().unwrap_or_default(), replace)))
    }

    /// Returns the part up to an end tag on this line, without the line ends next to the tags, and the text after the
    /// tag.
    fn part<'a>(&mut self, line: &'a str) -> Option<(String, &'a str)> {
        let end = END_TAGS.iter().filter_map(|tag| Some((line.find(tag)?, tag.len()))).min();
        let Some((place, len)) = end else {
            self.part.push_str(line);
            self.part.push('\n');
            return None;
        };
        self.part.push_str(&line[..place]);
        let text = self.part.strip_prefix('\n').unwrap_or(&self.part);
        let text = text.strip_suffix('\n').unwrap_or(text).to_owned();
        self.part.clear();
        Some((text, &line[place + len..]))
    }

    /// Creates the error for a text that ends inside the block.
    pub(super) fn unfinished(&self, at: usize) -> Error {
        match (&self.search, self.opened) {
            (None, _) => broken(at, "<old_text> is not closed."),
            (_, false) => broken(at, "the block has no <new_text>."),
            (_, true) => broken(at, "<new_text> is not closed."),
        }
    }
}

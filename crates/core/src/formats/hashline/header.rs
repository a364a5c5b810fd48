//! Headers: `¶PATH#TAG` and `[PATH#TAG]`, with the decorations that models put around the path.

use super::token::trimmed;
use crate::text::content::{Handle, HeaderStyle, ShortTag, Tag};
use core::fmt;

/// A parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SectionHeader {
    pub(super) path: String,
    pub(super) tag: Option<HeaderTag>,
}

/// The tag of a header: the four digits that hashline prints, or the eight of other replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderTag {
    Short(ShortTag),
    Full(Tag),
}

impl HeaderTag {
    fn parse(digits: &str) -> Option<HeaderTag> {
        ShortTag::parse(digits)
            .map(HeaderTag::Short)
            .or_else(|| digits.parse().ok().filter(|_| digits.len() == 8).map(HeaderTag::Full))
    }

    /// Returns the version handle of a section with this header.
    pub(super) fn handle(self, header: HeaderStyle) -> Handle {
        match self {
            HeaderTag::Short(tag) => Handle::Lines(header, tag),
            HeaderTag::Full(tag) => Handle::Headed(header, tag),
        }
    }
}

impl fmt::Display for HeaderTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeaderTag::Short(tag) => tag.fmt(f),
            HeaderTag::Full(tag) => tag.fmt(f),
        }
    }
}

/// False for a text without the first byte of the pilcrow and without a bracket, which has no header.
pub(super) fn may_occur(text: &str) -> bool {
    memchr::memchr2(b'[', 0xC2, text.as_bytes()).is_some()
}

/// Returns the style and the content of a line that looks like a header. Words of a patch and Markdown signs may
/// precede the sign of a complete header.
pub(super) fn classify(line: &str) -> Option<(HeaderStyle, &str)> {
    // Most lines have neither sign.
    if !may_occur(line) {
        return None;
    }
    if let Some(found) = undecorated(line).filter(|(_, inner)| is_tagged(inner)) {
        return Some(found);
    }
    let noisy = line.starts_with(|first: char| matches!(first.to_ascii_lowercase(), '*' | 'u' | 'a' | 'd' | 'm'));
    if !noisy {
        return plain(line);
    }
    let (header, inner) = plain(trimmed(without_noise(trimmed(line))))?;
    let sure = is_tagged(inner) && (header == HeaderStyle::Pilcrow || line.starts_with('*'));
    sure.then_some((header, inner))
}

/// Parses the header of a line that begins with its sign.
fn plain(line: &str) -> Option<(HeaderStyle, &str)> {
    if let Some(inner) = line.strip_prefix('¶') {
        return Some((HeaderStyle::Pilcrow, trimmed(inner)));
    }
    let inner = trimmed(line.strip_prefix('[')?).strip_suffix(']')?;
    (!is_notice(line)).then(|| (HeaderStyle::Brackets, trimmed(inner)))
}

/// Returns the style and the content of a header without the Markdown signs around it: a heading, a quote, emphasis,
/// code, a label before the path, a colon after it; before a pilcrow, also the sign or number of a list.
fn undecorated(line: &str) -> Option<(HeaderStyle, &str)> {
    const SIGNS: [char; 7] = [' ', '\t', '#', '>', '`', '*', ':'];
    let (before, rest) = line.split_at(line.find(['¶', '['])?);
    let words = before.trim_matches(SIGNS);
    let is_label = || words.is_empty() || ["file", "path"].iter().any(|word| words.eq_ignore_ascii_case(word));
    if let Some(inner) = rest.strip_prefix('¶') {
        let is_numbered =
            || words.strip_suffix(['.', ')']).is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        let is_named = is_label() || is_numbered() || matches!(words, "-" | "---");
        return is_named.then(|| (HeaderStyle::Pilcrow, trimmed(inner.trim_end_matches(SIGNS))));
    }
    // An item of a list in brackets may be a reference, as to an issue.
    let inner = rest.strip_prefix('[')?.trim_end_matches(SIGNS).strip_suffix(']').filter(|_| is_label())?;
    Some((HeaderStyle::Brackets, trimmed(inner)))
}

/// Returns the first complete header in a line, with its sign and its tag, whatever is around it.
pub(super) fn mentioned(line: &str) -> Option<(HeaderStyle, &str)> {
    let (mut pilcrow, mut bracket) = (None, None);
    for (at, sign) in line.match_indices(['¶', '[', '#']) {
        match sign {
            "¶" => pilcrow = pilcrow.or(Some(at)),
            "[" => bracket = Some(at),
            _ => {
                let end = at + 1 + line[at + 1..].bytes().take_while(u8::is_ascii_alphanumeric).count();
                let is_tag = HeaderTag::parse(&line[at + 1..end]).is_some();
                let has_path = |sign: &usize| is_tag && trimmed(&line[*sign..at]).chars().nth(1).is_some();
                if let Some(from) = pilcrow.filter(has_path) {
                    return Some((HeaderStyle::Pilcrow, &line[from..end]));
                }
                if let Some(from) = bracket.filter(has_path).filter(|_| line[end..].starts_with(']')) {
                    return Some((HeaderStyle::Brackets, &line[from..=end]));
                }
            }
        }
    }
    None
}

/// True for notices that `read` prints below lines and that are not part of a file.
pub(super) fn is_notice(line: &str) -> bool {
    line.starts_with("[Showing lines ") || line.starts_with("[Showing line ")
}

/// Parses the content of a header; `None` if it cannot be one.
pub(super) fn read(inner: &str) -> Option<SectionHeader> {
    let inner = trimmed(without_noise(inner));
    let (path, tag) = match inner.rsplit_once('#') {
        Some((path, digits)) => (path, Some(HeaderTag::parse(digits.trim_end_matches(['"', '\'']))?)),
        None => (inner, None),
    };
    let path = trimmed(path.trim_matches(['"', '\'']));
    (!path.is_empty()).then(|| SectionHeader { path: path.to_owned(), tag })
}

/// True for header content with a tag.
pub(super) fn is_tagged(inner: &str) -> bool {
    inner.rsplit_once('#').is_some_and(|(path, digits)| !trimmed(path).is_empty() && HeaderTag::parse(digits).is_some())
}

/// True for header content that looks like the path of a file.
pub(super) fn names_file(inner: &str) -> bool {
    inner.contains(['/', '.', '#'])
}

/// Strips up to three stars and the words of a patch: `*** Update File:`, `Move to:`.
fn without_noise(inner: &str) -> &str {
    let mut rest = inner;
    for _ in 0..3 {
        rest = rest.strip_prefix('*').unwrap_or(rest);
    }
    let rest = trimmed(rest);
    let word = ["update", "add", "delete", "move"].iter().find_map(|word| after_word(rest, word));
    let Some(after) = word else { return rest };
    let after = after.trim_start_matches(|ch: char| !ch.is_alphanumeric() && ch != ':');
    let after = ["file", "to"].iter().find_map(|word| after_word(after, word)).unwrap_or(after);
    let colon = after.find(|ch: char| ch.is_alphanumeric() || ch == ':');
    match colon {
        // The word before the colon may be the name of a file.
        Some(at) if after[at..].starts_with(':') && !trimmed(&after[at + 1..]).starts_with('#') => &after[at + 1..],
        _ => rest,
    }
}

/// Returns the text after a word, whatever its case.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

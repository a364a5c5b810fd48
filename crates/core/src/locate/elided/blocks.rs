//! Definitions by their indentation, for languages without a grammar: a first line, deeper lines, and a closing line at
//! the depth of the first one.

use super::{Extent, TextPair, indent, is_filled, same};
use crate::work;
use core::ops::Range;

/// Returns the blocks at the beginning of fragments that both texts have: the first line occurs once in each text, the
/// closing lines are equal, and there are only deeper lines between them.
pub(super) fn extents(texts: &TextPair<'_>, fragments: &[Range<usize>]) -> Vec<Extent> {
    let mut out = Vec::new();
    for fragment in fragments {
        let mut at = fragment.start;
        while at < fragment.end && !work::spend_or_end(1) {
            let Some(new) = block(&texts.new[..fragment.end], at) else {
                at += 1;
                continue;
            };
            if let &[start] = texts.old.places_of(texts.new[at])
                && let Some(old) = block(texts.old, start)
                && same(texts.old[old.end - 1], texts.new[new.end - 1])
            {
                out.push(Extent { old, new: new.clone() });
            }
            at = new.end;
        }
    }
    out
}

/// Returns the definition that a text shows from its first to its last line: the first line occurs once in the file,
/// and below it are deeper lines up to the last line.
pub(super) fn whole(texts: &TextPair<'_>) -> Option<Extent> {
    let filled = |line: &&str| !line.trim().is_empty();
    let new = texts.new.iter().position(filled)?..texts.new.iter().rposition(filled)? + 1;
    let (first, last) = (texts.new[new.start], texts.new[new.end - 1]);
    let depth = indent(first);
    let inner = || texts.new[new.start + 1..new.end - 1].iter().filter(|line| filled(line));
    if new.len() < 2 || closes(first) || begins_text(first) || inner().any(|line| indent(line) <= depth) {
        return None;
    }
    // Lines of a string in triple quotes may be indented less.
    let mut in_text = false;
    let &[start] = texts.old.places_of(first) else { return None };
    let mut end = start + 1;
    for (at, line) in texts.old.iter().enumerate().skip(start + 1).filter(|(_, line)| filled(line)) {
        let plain = line.replace("\"\"\"", "").replace("'''", "");
        if work::spend_or_end(line_steps(line))
            || plain.matches('`').count() % 2 == 1
            || !in_text && begins_text(&plain.replace('`', ""))
        {
            return None;
        }
        let is_inside = in_text || indent(line) > depth;
        in_text ^= (line.matches("\"\"\"").count() + line.matches("'''").count()) % 2 == 1;
        if is_inside || indent(line) == depth && closes(line) {
            end = at + 1;
        }
        if !is_inside {
            break;
        }
    }
    let is_last = !in_text && end > start + 1 && same(texts.old[end - 1], last);
    let is_closed = indent(last) > depth || closes(last);
    (is_last && is_closed).then_some(Extent { old: start..end, new })
}

/// Returns the lines of the block that begins at a line; `None` if its end is uncertain.
pub(super) fn block(lines: &[&str], start: usize) -> Option<Range<usize>> {
    let first = lines.get(start)?;
    if !is_filled(first) || continues(first) || closes(first) || opens(first) || begins_text(first) {
        return None;
    }
    let depth = indent(first);
    let mut rest = lines.iter().enumerate().skip(start + 1).filter(|(_, line)| is_filled(line));
    let mut has_body = false;
    let end = loop {
        let (at, line) = rest.next()?;
        if work::spend_or_end(line_steps(line)) || begins_text(line) {
            return None;
        }
        match indent(line) {
            deeper if deeper > depth => has_body = true,
            // The opening brace is on a line of its own.
            same if same == depth && !has_body && opens(line) => {}
            same if same == depth && has_body && closes(line) => break at + 1,
            _ => return None,
        }
    };
    // Deeper lines after the closing line would belong to the body: the closing line may then be part of a string.
    rest.next().is_none_or(|(_, line)| indent(line) <= depth).then_some(start..end)
}

/// Returns the steps of work to examine the indentation and the signs of a line.
pub(super) fn line_steps(line: &str) -> usize {
    1 + line.len()
}

/// True for a line that may begin a string or a comment of several lines, which may have any indentation. Reads the line
/// once, because it is asked of every line of a block.
pub(super) fn begins_text(line: &str) -> bool {
    let mut rest = &line.as_bytes()[indent(line)..];
    let (mut quotes, mut has_comment, mut ends_comment) = (0, false, false);
    while let [first, after @ ..] = rest {
        let begins = match (first, after) {
            (b'`', _)
            | (b'[', [b'[', ..])
            | (b'{', [b'-', ..])
            | (b'(', [b'*', ..])
            | (b'%', [b'q' | b'Q', ..])
            | (b'@', [b'"', ..])
            | (b'"', [b'"', b'"', ..])
            | (b'\'', [b'\'', b'\'', ..]) => true,
            (b'=', after) => after.starts_with(b"begin"),
            (b'<', [b'<', after @ ..]) => {
                rest = after;
                if begins_here_document(after) {
                    return true;
                }
                continue;
            }
            _ => false,
        };
        if begins {
            return true;
        }
        quotes += usize::from(*first == b'"');
        has_comment |= *first == b'/' && after.first() == Some(&b'*');
        ends_comment |= *first == b'*' && after.first() == Some(&b'/');
        rest = after;
    }
    has_comment && !ends_comment || quotes % 2 == 1
}

/// True if this follows two less-than signs that begin a here-document, rather than shift bits.
fn begins_here_document(after: &[u8]) -> bool {
    after.first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"~-'\"_".contains(byte))
}

/// True for a line in the middle of what begins above it, such as the end of a list of parameters. Two definitions may
/// have the same one.
fn continues(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with([')', ']', '}']) || text.starts_with("->") || text.starts_with("where ")
}

/// True for a line that only opens a block.
fn opens(line: &str) -> bool {
    matches!(line.trim(), "{" | "(" | "[" | "do" | "begin")
}

/// True for a line that only closes a block.
fn closes(line: &str) -> bool {
    let text = line.trim();
    matches!(text, "end" | "end;" | "end." | "fi" | "done" | "esac" | "endif" | "endfunction")
        || text.chars().all(|ch| ")]};,".contains(ch))
}

#[cfg(test)]
mod tests {
    use super::begins_text;
    use proptest::prelude::{prop_assert_eq, proptest};

    /// The definition, with a search for each sign.
    fn has_sign(line: &str) -> bool {
        const SIGNS: [&str; 10] = ["\"\"\"", "'''", "`", "[[", "=begin", "{-", "(*", "%q", "%Q", "@\""];
        let here_document = line
            .match_indices("<<")
            .any(|(at, _)| line[at + 2..].starts_with(|ch: char| ch.is_ascii_alphabetic() || "~-'\"_".contains(ch)));
        here_document
            || SIGNS.iter().any(|sign| line.contains(sign))
            || line.contains("/*") && !line.contains("*/")
            || line.matches('"').count() % 2 == 1
    }

    proptest! {
        #[test]
        fn signs_are_found_in_one_pass(line in "([ aé<*/=~(\\[{-]|'|\"|/\\*|\\*/|<<|%[qr]|@|=begin|`){0,8}") {
            prop_assert_eq!(begins_text(&line), has_sign(&line), "{}", line);
        }
    }
}

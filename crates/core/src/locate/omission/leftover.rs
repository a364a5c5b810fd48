//! Markers of an edit format or of a merge conflict in new text, where they would become lines of the file.

use super::fence_sign;
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use std::collections::HashSet;

/// Minimum number of repeated signs in a marker with a word.
const WORDED_RUN_MIN: usize = 5;
/// Number of repeated signs in the markers of a merge conflict.
const CONFLICT_RUN: usize = 7;

/// Refuses new text with such markers that the old text does not have.
///
/// Errors: [`Code::EditUnparsable`].
pub(super) fn check(old: &str, new: &str) -> Result<()> {
    marker(old, new).map_or(Ok(()), |(at, line)| Err(refusal(at, line)))
}

/// Refuses the whole text of a file that is a patch or contains a hunk, unless the current file does so as well.
///
/// Errors: as [`check`].
pub(super) fn check_whole(old: &str, new: &str) -> Result<()> {
    check(old, new)?;
    hunk(old, new).map_or(Ok(()), |(at, line)| Err(refusal(at, line)))
}

fn refusal(at: usize, line: &str) -> Error {
    let what = "The new text has a marker of an edit or of a conflict, which would become a line of the file.";
    let plain = "Write the text as it should be, without markers.";
    let next =
        Advice::named("Send edit blocks with {apply()}; or write the text as it should be, without markers.").or(plain);
    Error::new(Code::EditUnparsable, what)
        .evidence(format!("Line {}: {line}", at + 1))
        .next(next.and(&super::advice_if_intended()))
        .fact("line", at + 1)
}

/// Returns the first line of a patch, or the header of a hunk with its lines below it.
fn hunk<'a>(old: &str, new: &'a str) -> Option<(usize, &'a str)> {
    if !(new.contains("@@ -") || new.contains("*** Begin Patch"))
        || old.contains("@@")
        || old.contains("*** Begin Patch")
    {
        return None;
    }
    let first = new.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    if let Some((at, line)) = first.filter(|(_, line)| line.starts_with("*** Begin Patch")) {
        return Some((at, line));
    }
    let fenced = new.contains("```") || new.contains("~~~");
    let lines = || new.lines().enumerate().filter(|_| !fenced);
    let is_header = |line: &str| line.starts_with("@@ -") && line[3..].contains("@@");
    let below = |line: &str| line.starts_with([' ', '+', '-']);
    let mut pairs = lines().zip(lines().skip(1));
    pairs.find(|((_, line), (_, next))| is_header(line) && below(next)).map(|(found, _)| found)
}

/// Returns the first marker that only the new text has, outside of fences.
fn marker<'a>(old: &str, new: &'a str) -> Option<(usize, &'a str)> {
    let worded = new.contains("SEARCH") || new.contains("REPLACE");
    if !(worded && (new.contains("<<<<<") || new.contains(">>>>>"))
        || new.contains("<<<<<<< ") && new.contains(">>>>>>> "))
    {
        return None;
    }
    let known: HashSet<&str> = old.lines().map(str::trim_end).collect();
    let mut fence: Option<&str> = None;
    // The opening marker of a conflict, and whether its divider was found.
    let (mut open, mut divided) = (None, false);
    for (at, line) in new.lines().map(str::trim_end).enumerate() {
        match (fence, fence_sign(line)) {
            (None, Some(sign)) => fence = Some(sign),
            (Some(open), Some(sign)) if open == sign => fence = None,
            _ => {}
        }
        if fence.is_some() || known.contains(line) {
            continue;
        }
        if is_worded(line, '<', "SEARCH") || is_worded(line, '>', "REPLACE") {
            return Some((at, line));
        }
        if is_conflict(line, '<') {
            (open, divided) = (Some((at, line)), false);
        } else if line == "=======" {
            divided = open.is_some();
        } else if is_conflict(line, '>') && divided {
            return open;
        }
    }
    None
}

/// True for a marker with this sign and word that begins in the first column.
fn is_worded(line: &str, sign: char, word: &str) -> bool {
    let rest = line.trim_start_matches(sign);
    line.len() - rest.len() >= WORDED_RUN_MIN && rest.trim() == word
}

/// True for a conflict marker of this sign that is followed by a label.
fn is_conflict(line: &str, sign: char) -> bool {
    let rest = line.trim_start_matches(sign);
    line.len() - rest.len() == CONFLICT_RUN && rest.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::{hunk, marker};

    #[test]
    fn markers_in_new_text_are_found() {
        for (text, line) in [
            ("a\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE\n", 1),
            ("a\n>>>>>>> REPLACE\n", 1),
            ("<<<<< SEARCH\nb\n", 0),
            ("a\nb\n<<<<<<< HEAD\nc\n=======\nd\n>>>>>>> main\n", 2),
        ] {
            assert_eq!(marker("a\nb\n", text).map(|it| it.0), Some(line), "{text}");
            assert_eq!(marker(text, &format!("{text}more\n")), None, "{text}");
            assert_eq!(marker("", &format!("```\n{text}```\n")), None, "{text}");
        }
        for (text, line) in [
            ("*** Begin Patch\n*** Update File: a\n@@\n-a\n+b\n*** End Patch\n", 0),
            ("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", 2),
        ] {
            assert_eq!(hunk("a\nb\n", text).map(|it| it.0), Some(line), "{text}");
            assert_eq!(hunk(text, &format!("{text}more\n")), None, "{text}");
            assert_eq!(hunk("a\n", &format!("How:\n```\n{text}```\n")), None, "{text}");
        }
        for text in [
            "Title\n=======\n",
            "    <<<<<<< SEARCH\n",
            "cat <<<<<<< HEAD\n",
            "<<<<<<< HEAD\nx\n",
            "a << SEARCH >> REPLACE\n",
            "let x = \"<<<<<<< SEARCH\";\n",
            ">>>>>>> main\n=======\n<<<<<<< HEAD\n",
        ] {
            assert_eq!(marker("", text), None, "{text}");
        }
    }
}

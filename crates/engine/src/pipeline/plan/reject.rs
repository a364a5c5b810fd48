//! Rejected edits as text, to be examined and sent again.

use emendate_core::{Hunk, HunkLineKind, Locator, Op};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Formats the operations on one file: hunks as a unified diff, the rest as SEARCH/REPLACE blocks.
pub(crate) fn text<'a>(path: &str, ops: impl Iterator<Item = &'a Op>) -> String {
    let (mut diff, mut blocks) = (String::new(), String::new());
    for op in ops {
        match &op.at {
            Locator::Hunk(hunk) => push_hunk(&mut diff, hunk),
            Locator::Find(find) => push_block(&mut blocks, path, &find.old, &op.text),
            _ => push_block(&mut blocks, path, "", &op.text),
        }
    }
    if !diff.is_empty() {
        diff.insert_str(0, &format!("--- a/{path}\n+++ b/{path}\n"));
    }
    diff + &blocks
}

fn push_hunk(out: &mut String, hunk: &Hunk) {
    let name = hunk.section.as_deref().or(hunk.scopes.last().map(String::as_str)).unwrap_or_default();
    let head = hunk.first.map_or("@@".to_owned(), |first| {
        format!(
            "@@ -{first},{} +{first},{} @@",
            count_but(hunk, HunkLineKind::Added),
            count_but(hunk, HunkLineKind::Removed)
        )
    });
    let _ = writeln!(out, "{}", format!("{head} {name}").trim_end());
    let ends = [
        last_but(hunk, HunkLineKind::Added).filter(|_| hunk.open.0),
        last_but(hunk, HunkLineKind::Removed).filter(|_| hunk.open.1),
    ];
    for (at, line) in hunk.lines.iter().enumerate() {
        let mark = match line.kind {
            HunkLineKind::Context | HunkLineKind::Bare => ' ',
            HunkLineKind::Removed => '-',
            HunkLineKind::Added => '+',
        };
        let _ = writeln!(out, "{mark}{}", line.text);
        if ends.contains(&Some(at)) {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}

/// Returns the last line of the hunk that is of another kind.
fn last_but(hunk: &Hunk, without: HunkLineKind) -> Option<usize> {
    hunk.lines.iter().rposition(|line| line.kind != without)
}

/// Counts the lines of the hunk that are of another kind.
fn count_but(hunk: &Hunk, without: HunkLineKind) -> usize {
    hunk.lines.iter().filter(|line| line.kind != without).count()
}

fn push_block(out: &mut String, path: &str, old: &str, new: &str) {
    // Markers longer than any in the text.
    let run = ['<', '=', '>']
        .into_iter()
        .map(|sign| {
            let runs = old.lines().chain(new.lines()).map(|line| line.chars().take_while(|&ch| ch == sign).count());
            runs.max().unwrap_or(0)
        })
        .max()
        .unwrap_or(0)
        .max(6)
        + 1;
    let (old, new) = (with_line_end(old), with_line_end(new));
    let [open, middle, close] = ["<", "=", ">"].map(|sign| sign.repeat(run));
    let _ = write!(out, "{path}\n{open} SEARCH\n{old}{middle}\n{new}{close} REPLACE\n");
}

/// Returns a text with an end of its last line.
fn with_line_end(text: &str) -> Cow<'_, str> {
    if text.is_empty() || text.ends_with('\n') { text.into() } else { format!("{text}\n").into() }
}

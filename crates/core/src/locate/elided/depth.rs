//! Placeholders that are deeper than the code they replace: new lines above them would enclose that code, which keeps
//! its indentation.

use super::placement::PlacedFragment;
use super::{TextPair, indent, is_filled, same};
use crate::work;

/// Refuses an edit if a new line above a placeholder opens a block for it, and the code there is not as deep.
///
/// Errors: the reason, as sentences.
pub(super) fn check(texts: &TextPair<'_>, gaps: &[usize], placed: &[PlacedFragment<'_>]) -> Result<(), String> {
    for (nth, it) in placed.iter().enumerate() {
        let end = it.fragment.lines.end;
        let Some(&gap) = gaps.get(gaps.partition_point(|gap| *gap < end)) else { break };
        let mut lines = it.fragment.lines.clone().zip(&it.matched).rev().take_while(|_| !work::spend_or_end(1));
        let opener = lines.find(|(line, _)| is_filled(texts.new[*line]) && is_deeper(texts.new[gap], texts.new[*line]));
        if it.fragment.gaps[1].is_none() || !opener.is_some_and(|(_, at)| at.is_none()) {
            continue;
        }
        let next = placed.get(nth + 1).map_or(texts.old.len(), |next| next.old.start);
        // Preprocessor directives are in the first column, whatever is around them.
        let mut hidden = (it.old.end..next).take_while(|_| !work::spend_or_end(1));
        let Some(at) = hidden.find(|&at| is_filled(texts.old[at]) && !texts.old[at].starts_with('#')) else { continue };
        let below = texts.new[gap + 1..].iter().find(|line| is_filled(line));
        let is_shown = below.is_some_and(|line| same(line, texts.old[at]));
        if !is_shown && is_deeper(texts.new[gap], texts.old[at]) {
            return Err(format!(
                "The placeholder on line {} of the text is deeper than line {} of the file, which it replaces, and the \
                 lines that stay keep their indentation. Show them with the new one.",
                gap + 1,
                at + 1
            ));
        }
    }
    Ok(())
}

/// True if the indentation of a line is that of another one and more.
fn is_deeper(line: &str, other: &str) -> bool {
    let [blanks, others] = [line, other].map(|line| &line[..indent(line)]);
    blanks.len() > others.len() && blanks.starts_with(others)
}

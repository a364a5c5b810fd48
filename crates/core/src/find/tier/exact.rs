//! Tier 0: literal text. Nothing is forgiven, `$` and `\` mean themselves.

use super::{Hit, TextEdit};
use crate::lines::{line_start, line_stop};
use crate::op::Pick;
use crate::resolve;
use crate::span::Span;
use memchr::memmem;

/// Counting stops here; a message says "more than".
pub(super) const MANY: usize = 1000;

/// Where a text occurs.
pub(super) struct Places {
    /// Places that do not overlap each other, leftmost first.
    pub(super) apart: Vec<Span>,
    /// All places, overlapping ones too (`aa` in `aaa` is two); stops at [`MANY`] unless all were asked for.
    pub(super) count: usize,
}

impl Places {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// All places of `old`, in one pass.
pub(super) fn places(text: &str, old: &str, pick: Pick) -> Places {
    let mut out = Places { apart: Vec::new(), count: 0 };
    if old.is_empty() {
        return out;
    }
    let (bytes, len) = (text.as_bytes(), old.len());
    let finder = memmem::Finder::new(old);
    let mut from = 0;
    while let Some(at) = finder.find(&bytes[from..]).map(|at| from + at) {
        let clear = out.apart.last().is_none_or(|last| last.end() <= at);
        if clear {
            out.apart.push(Span::new(at, at + len));
        }
        out.count += 1;
        let all = pick == Pick::All;
        if !all && out.count >= MANY {
            break;
        }
        // For all places only those that stand apart matter, and stepping over them keeps hostile text linear.
        from = if all { at + len } else { at + 1 };
    }
    out
}

/// Replaces the place by `new`: only the lines that differ are written.
pub(super) fn hit(text: &str, span: Span, new: &str) -> Hit {
    if new.is_empty() {
        let span = deletion(text, span);
        return Hit { span, edits: vec![TextEdit { span, text: String::new() }] };
    }
    Hit { span, edits: resolve::difference(text, span, new) }
}

/// Deleting a text that leaves nothing but blanks on its lines takes these lines whole, with one line end; any other
/// deletion is literal. So a deleted line leaves no empty one, and the end of a line never joins the next one on.
fn deletion(text: &str, span: Span) -> Span {
    let blank = |part: &str| part.bytes().all(|byte| byte == b' ' || byte == b'\t');
    let start = line_start(text, span.start());
    if !blank(&text[start..span.start()]) {
        return span;
    }
    if text[span.range()].ends_with('\n') {
        return Span::new(start, span.end());
    }
    let stop = line_stop(text, span.end());
    let rest = text[span.end()..stop].trim_end_matches('\n');
    if blank(rest) { Span::new(start, stop) } else { span }
}

/// Warnings about places that begin or end inside a word.
pub(super) fn notes(text: &str, hits: &[Hit]) -> Vec<String> {
    let word = |ch: char| ch.is_alphanumeric() || ch == '_';
    let cuts = |at: usize| {
        let (left, right) = (text[..at].chars().next_back(), text[at..].chars().next());
        left.is_some_and(word) && right.is_some_and(word)
    };
    let cut = hits.iter().filter(|hit| cuts(hit.span.start()) || cuts(hit.span.end())).count();
    match cut {
        0 => Vec::new(),
        _ => vec!["The replaced text begins or ends inside a word; check that this was meant.".to_owned()],
    }
}

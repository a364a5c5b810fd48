//! A site found by a tier, and the edits that write the new text there.

use super::indent::IndentMap;
use super::refusal::Refusal;
use super::search::{Search, Wanted, span_of};
use super::tier::{exact, punctuation};
use super::transplant::{self, Window};
use super::{Hit, TextEdit};
use crate::span::Span;
use std::borrow::Cow;
use std::rc::Rc;

/// A site that matches the old text.
pub(super) struct Place<'a> {
    /// The span of the decoded text that matches the caller's text.
    pub(super) span: Span,
    pub(super) plan: Plan<'a>,
}

/// The way in which the new text is written.
pub(super) enum Plan<'a> {
    /// Unchanged.
    Literal(Cow<'a, str>),
    /// Token by token into a part of a line.
    Inline(&'a str),
    /// Line by line into whole lines.
    Lines(Block<'a>),
    /// Already computed.
    Ready(Vec<TextEdit>),
    /// Not written.
    Refused(Refusal),
}

/// Whole lines that match `wanted.old` one to one.
pub(super) struct Block<'a> {
    /// The first of them, zero-based.
    pub(super) first: usize,
    pub(super) wanted: Rc<Wanted<'a>>,
    pub(super) indent: IndentMap,
    /// Blank runs may differ.
    pub(super) runs: bool,
}

impl<'a> Place<'a> {
    /// Creates a site of whole lines from `first` on.
    pub(super) fn lines(
        search: &Search<'_>,
        first: usize,
        wanted: &Rc<Wanted<'a>>,
        indent: IndentMap,
        runs: bool,
    ) -> Place<'a> {
        let span = span_of(search.lines(), first, first + wanted.old.len());
        Place { span, plan: Plan::Lines(Block { first, wanted: Rc::clone(wanted), indent, runs }) }
    }

    /// Computes the edits.
    pub(super) fn hit(&self, search: &Search<'_>) -> Result<Hit, Refusal> {
        let edits = match &self.plan {
            Plan::Literal(new) => return Ok(exact::hit(search, self.span, new)),
            Plan::Inline(new) => return Ok(punctuation::hit(search, self.span, new)),
            Plan::Ready(edits) => edits.clone(),
            Plan::Refused(refusal) => return Err(refusal.clone()),
            Plan::Lines(_) if search.literal_deletion && search.new.is_empty() && !search.find.old.ends_with('\n') => {
                vec![TextEdit { span: self.span, text: String::new() }]
            }
            Plan::Lines(block) => {
                let window = Window::whole(search, block.first, &block.wanted);
                transplant::write(&window, &block.indent, block.runs)?
            }
        };
        // An edit may extend beyond the site: a deletion includes the line end.
        let span = edits.iter().fold(self.span, |span, edit| span.hull(edit.span));
        Ok(Hit { span, edits })
    }
}

//! A site found by a tier, and the edits that write the new text there.

use super::indent::IndentMap;
use super::refusal::MatchRefusal;
use super::search::{MatchSearch, PatternLines, span_of};
use super::tier::{exact, punctuation};
use super::transplant::{self, Window};
use super::{TextEdit, TextMatch};
use crate::text::span::Span;
use std::borrow::Cow;
use std::rc::Rc;

/// The result of a tier.
#[derive(Default)]
pub(super) struct CandidateSites<'a> {
    /// The sites in order, including overlapping ones.
    pub(super) places: Vec<MatchSite<'a>>,
    /// A 1-based line that may select one of them: the number copied with the text.
    pub(super) number: Option<usize>,
    /// True if at some site the new text, unlike the old one, already has the file's indentation.
    pub(super) fitted: bool,
}

/// A site that matches the old text.
pub(super) struct MatchSite<'a> {
    /// The span of the decoded text that matches the caller's text.
    pub(super) span: Span,
    pub(super) plan: SitePlan<'a>,
}

/// The way in which the new text is written.
pub(super) enum SitePlan<'a> {
    /// The new text is written unchanged.
    Literal(Cow<'a, str>),
    /// The new text is written token by token into a part of a line.
    Inline(&'a str),
    /// The new text is written line by line into whole lines.
    Lines(LineBlock<'a>),
    /// The edits are already computed.
    Ready(Vec<TextEdit>),
    /// The site is not edited, for this reason.
    Refused(MatchRefusal),
}

/// Whole lines that match `wanted.old` one to one.
pub(super) struct LineBlock<'a> {
    /// The first of the lines of the file, zero-based.
    pub(super) first: usize,
    pub(super) wanted: Rc<PatternLines<'a>>,
    pub(super) indent: IndentMap,
    /// True if the length of blank runs may differ.
    pub(super) runs: bool,
}

impl<'a> MatchSite<'a> {
    /// Creates a site of whole lines from `first` on.
    pub(super) fn lines(
        search: &MatchSearch<'_>,
        first: usize,
        wanted: &Rc<PatternLines<'a>>,
        indent: IndentMap,
        runs: bool,
    ) -> MatchSite<'a> {
        let span = span_of(search.lines(), first, first + wanted.old.len());
        MatchSite { span, plan: SitePlan::Lines(LineBlock { first, wanted: Rc::clone(wanted), indent, runs }) }
    }

    /// Computes the edits.
    pub(super) fn to_match(&self, search: &MatchSearch<'_>) -> Result<TextMatch, MatchRefusal> {
        let edits = match &self.plan {
            SitePlan::Literal(new) => return Ok(exact::whole_line_match(search, self.span, new)),
            SitePlan::Inline(new) => return Ok(punctuation::carried_match(search, self.span, new)),
            SitePlan::Ready(edits) => edits.clone(),
            SitePlan::Refused(refusal) => return Err(refusal.clone()),
            SitePlan::Lines(_)
                if search.literal_deletion && search.new.is_empty() && !search.find.old.ends_with('\n') =>
            {
                vec![TextEdit { span: self.span, text: String::new() }]
            }
            SitePlan::Lines(block) => {
                let window = Window::whole(search, block.first, &block.wanted);
                transplant::write(&window, &block.indent, block.runs)?
            }
        };
        // An edit may extend beyond the site: a deletion includes the line end.
        let span = edits.iter().fold(self.span, |span, edit| span.hull(edit.span));
        Ok(TextMatch { span, edits })
    }
}

//! The JSON members of a cell.

use super::Cell;
use super::json::{self, JsonMember};
use crate::locate::find::TextEdit;
use crate::text::span::Span;

/// The members of one cell, and the text between them.
pub(super) struct CellMembers {
    pub(super) members: Vec<JsonMember>,
    pub(super) spacing: String,
}

impl CellMembers {
    /// Returns the members of a cell; `between` is the usual text between two of them.
    pub(super) fn of(text: &str, cell: &Cell, between: &str) -> CellMembers {
        let members: Vec<JsonMember> = json::members(text, cell.span).collect();
        let spacing = match &*members {
            [first, second, ..] => text[first.value.end()..second.key.start()].to_owned(),
            _ => between.to_owned(),
        };
        CellMembers { members, spacing }
    }

    /// Removes members by the spans of their values, each with one separator. At least one member remains.
    pub(super) fn without(&self, values: &[Span]) -> Vec<TextEdit> {
        let first = self.members.iter().position(|member| !is_removed(values, member)).unwrap_or(0);
        let gone = (0..self.members.len()).filter(|&at| is_removed(values, &self.members[at]));
        gone.map(|at| TextEdit { span: self.member_span(first, at), text: String::new() }).collect()
    }

    /// Returns the span of a member with the comma before or after it.
    fn member_span(&self, first: usize, at: usize) -> Span {
        match at {
            at if at < first => Span::new(self.members[at].key.start(), self.members[at + 1].key.start()),
            at => Span::new(self.members[at.saturating_sub(1)].value.end(), self.members[at].value.end()),
        }
    }
}

/// True for a member whose value is removed.
fn is_removed(values: &[Span], member: &JsonMember) -> bool {
    values.contains(&member.value)
}

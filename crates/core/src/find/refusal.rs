//! Reasons for not editing a site that was found.

use crate::code::Code;

/// The kinds of refusal, as reported to programs in `data.reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The indentation cannot be carried over.
    Misindent,
    /// A line to be changed is not in the file.
    TargetDiffers,
    /// Lines that the caller has not shown are where it would write.
    UnseenLines,
    /// The evidence for repairing the text (line numbers, escapes) is incomplete.
    Unrepaired,
    /// Elision lines are unpaired or ambiguous.
    Elision,
    /// Similar, but not similar enough.
    Unlike,
    /// Two places are about equally similar.
    Rivals,
    /// The work limit was reached.
    TooLarge,
    /// The place named by the call does not exist.
    NoSuchPlace,
}

impl Reason {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Reason::Misindent => "would_misindent",
            Reason::TargetDiffers => "target_line_differs",
            Reason::UnseenLines => "unseen_lines",
            Reason::Unrepaired => "not_repaired",
            Reason::Elision => "elision",
            Reason::Unlike => "not_found",
            Reason::Rivals => "ambiguous",
            Reason::TooLarge => "too_large",
            Reason::NoSuchPlace => "no_such_place",
        }
    }

    pub(super) const fn code(self) -> Code {
        match self {
            Reason::Misindent => Code::EditMisindent,
            Reason::Rivals => Code::MatchAmbiguous,
            _ => Code::MatchNotFound,
        }
    }
}

/// A refusal to edit a site that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    /// One or more sentences.
    pub(super) why: String,
    /// The zero-based lines of the file that it is about.
    pub(super) lines: Option<(usize, usize)>,
}

impl Refusal {
    pub(super) fn new(reason: Reason, why: impl Into<String>) -> Refusal {
        Refusal { reason, why: why.into(), lines: None }
    }

    /// Sets the lines `from..to` that it is about, unless they are set already.
    pub(super) fn at(mut self, from: usize, to: usize) -> Refusal {
        self.lines.get_or_insert((from, to));
        self
    }
}

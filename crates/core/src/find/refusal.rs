//! Why a place that was found is not edited.

use crate::code::Code;

/// The kinds of refusal, as programs see them in `data.reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Indentation cannot be carried over.
    Misindent,
    /// A line to be changed is not in the file.
    TargetDiffers,
    /// Lines that the caller has not shown lie where it wants to write.
    UnseenLines,
    /// The evidence for repairing the text (line numbers, escapes) is incomplete.
    Unrepaired,
    /// Elision lines are not paired or not unique.
    Elision,
    /// Similar, not similar enough.
    Unlike,
    /// Two places are about equally similar.
    Rivals,
    /// The bound on work was hit.
    TooLarge,
    /// The place named by the call is not there.
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

/// A place was found and is not edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    /// One or more sentences.
    pub(super) why: String,
    /// Zero-based lines of the file it is about.
    pub(super) lines: Option<(usize, usize)>,
}

impl Refusal {
    pub(super) fn new(reason: Reason, why: impl Into<String>) -> Refusal {
        Refusal { reason, why: why.into(), lines: None }
    }

    /// Names the lines `from..to` it is about, unless some are named already.
    pub(super) fn at(mut self, from: usize, to: usize) -> Refusal {
        self.lines.get_or_insert((from, to));
        self
    }
}

//! Reasons for refusing to edit a site that was found.

use crate::code::Code;

/// The kinds of refusal, as reported to programs in `data.reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalReason {
    /// The indentation cannot be carried over.
    Misindent,
    /// A line to be changed is not in the file.
    TargetDiffers,
    /// The edit would write where there are lines that the caller has not shown.
    UnseenLines,
    /// The evidence for a repair of the text (line numbers, escapes) is incomplete.
    Unrepaired,
    /// Elision lines are unpaired or ambiguous.
    Elision,
    /// The place is similar, but not similar enough.
    Unlike,
    /// Two places are about equally similar.
    Rivals,
    /// The work limit was reached.
    TooLarge,
    /// The place named by the call does not exist.
    NoSuchPlace,
}

impl RefusalReason {
    pub(super) const fn name(self) -> &'static str {
        match self {
            RefusalReason::Misindent => "would_misindent",
            RefusalReason::TargetDiffers => "target_line_differs",
            RefusalReason::UnseenLines => "unseen_lines",
            RefusalReason::Unrepaired => "not_repaired",
            RefusalReason::Elision => "elision",
            RefusalReason::Unlike => "not_found",
            RefusalReason::Rivals => "ambiguous",
            RefusalReason::TooLarge => "too_large",
            RefusalReason::NoSuchPlace => "no_such_place",
        }
    }

    pub(super) const fn code(self) -> Code {
        match self {
            RefusalReason::Misindent => Code::EditMisindent,
            RefusalReason::Rivals => Code::MatchAmbiguous,
            _ => Code::MatchNotFound,
        }
    }
}

/// A refusal to edit a site that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatchRefusal {
    pub(super) reason: RefusalReason,
    /// One or more sentences.
    pub(super) why: String,
    /// The zero-based lines of the file that the refusal is about.
    pub(super) lines: Option<(usize, usize)>,
}

impl MatchRefusal {
    pub(super) fn new(reason: RefusalReason, why: impl Into<String>) -> MatchRefusal {
        MatchRefusal { reason, why: why.into(), lines: None }
    }

    /// Sets the lines `from..to` that the refusal is about, unless they are set already.
    pub(super) fn at(mut self, from: usize, to: usize) -> MatchRefusal {
        self.lines.get_or_insert((from, to));
        self
    }
}

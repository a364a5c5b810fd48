//! Repaired mistakes of a patch with their lines, for the notes of the request.

use crate::formats::tally::Tally;

/// A mistake that is repaired because only one thing can be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    NoBegin,
    Marker,
    Around,
    Indented,
    BlankBetween,
    BlankInNew,
    ChunkInNew,
    Name,
    UnifiedHeader,
    Numbers,
    At,
    Unmarked,
    EmptyChunk,
    SamePart,
    EndIndented,
    SeveralPatches,
    NoUpdate,
}

impl Slip {
    pub(super) fn what(self) -> &'static str {
        match self {
            Slip::NoBegin => "`*** Begin Patch` was missing before this line",
            Slip::Marker => "the marker was not spelled as the format has it",
            Slip::Around => "text around the patch was left out",
            Slip::Indented => "the patch was indented as a whole; that was taken off",
            Slip::BlankBetween => "a blank line between operations was left out",
            Slip::BlankInNew => "an empty line of a new file had no `+`",
            Slip::ChunkInNew => "a marker without meaning in a new file was left out",
            Slip::Name => "quotes, blanks or stars around a file name were taken off",
            Slip::UnifiedHeader => "the header of a unified diff was left out",
            Slip::Numbers => "line numbers after `@@` were taken as a hint",
            Slip::At => "the `@@` line was not spelled as the format has it",
            Slip::Unmarked => "a line without ` `, `-` or `+` was taken as one that stays",
            Slip::EmptyChunk => "`@@` without any line below was left out",
            Slip::SamePart => "a chunk that changes nothing was left out",
            Slip::EndIndented => "the indented `*** End Patch` at the end was taken as the end of the patch",
            Slip::SeveralPatches => "a further patch begins; all of them are taken together",
            Slip::NoUpdate => "`*** Update File:` was missing; the file of the call is meant",
        }
    }
}

/// The mistakes of a text.
pub(super) type Slips = Tally<Slip>;

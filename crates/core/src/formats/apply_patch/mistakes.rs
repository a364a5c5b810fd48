//! Repaired mistakes of a patch and their lines, for the notes of the request.

use crate::formats::mistakes::MistakeTally;

/// A mistake that is repaired because only one meaning is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApplyPatchMistake {
    NoBegin,
    Marker,
    Around,
    Indented,
    BlankBetween,
    BlankInNew,
    ChunkInNew,
    Name,
    UnifiedHeader,
    UnifiedDiff,
    Numbers,
    At,
    Unmarked,
    EmptyChunk,
    SamePart,
    EndIndented,
    SeveralPatches,
    NoUpdate,
    LineEnds,
}

impl ApplyPatchMistake {
    pub(super) fn note(self) -> &'static str {
        match self {
            ApplyPatchMistake::NoBegin => "`*** Begin Patch` was missing before this line",
            ApplyPatchMistake::Marker => "the marker was not spelled as the format requires",
            ApplyPatchMistake::Around => "text around the patch was ignored",
            ApplyPatchMistake::Indented => "the patch was indented as a whole; the indentation was removed",
            ApplyPatchMistake::BlankBetween => "a blank line between operations was ignored",
            ApplyPatchMistake::BlankInNew => "an empty line of a new file had no `+`",
            ApplyPatchMistake::ChunkInNew => "a marker without meaning in a new file was ignored",
            ApplyPatchMistake::Name => "quotes, spaces or asterisks around a file name were removed",
            ApplyPatchMistake::UnifiedHeader => "the header of a unified diff was ignored",
            ApplyPatchMistake::UnifiedDiff => "a unified diff was read in place of operations",
            ApplyPatchMistake::Numbers => "line numbers after `@@` were taken as a hint",
            ApplyPatchMistake::At => "the `@@` line was not spelled as the format requires",
            ApplyPatchMistake::Unmarked => "a line without ` `, `-` or `+` was taken as one that stays",
            ApplyPatchMistake::EmptyChunk => "`@@` without any line below was ignored",
            ApplyPatchMistake::SamePart => "a chunk that changes nothing was skipped",
            ApplyPatchMistake::EndIndented => {
                "the indented `*** End Patch` at the end was taken as the end of the patch"
            }
            ApplyPatchMistake::SeveralPatches => "another patch begins; all patches are applied together",
            ApplyPatchMistake::LineEnds => {
                "the line of the new file ends in CRLF, other than the headers of the patch; it was kept so"
            }
            ApplyPatchMistake::NoUpdate => "`*** Update File:` was missing; the file of the call is meant",
        }
    }
}

/// The mistakes of a text.
pub(super) type ApplyPatchMistakes = MistakeTally<ApplyPatchMistake>;

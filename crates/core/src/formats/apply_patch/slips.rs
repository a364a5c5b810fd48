//! What was forgiven in a text, and on which lines. Told in the notes of the request.

/// What may be forgiven, because only one thing can be meant.
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
    fn what(self) -> &'static str {
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

/// Lines of one kind that a note names.
const SHOWN: usize = 5;

/// What was forgiven so far: for each kind its first lines, and how many there are.
#[derive(Debug, Default)]
pub(super) struct Slips(Vec<(Slip, Vec<usize>, usize)>);

impl Slips {
    /// A slip on this line.
    pub(super) fn add(&mut self, slip: Slip, line: usize) {
        let at = self.0.iter().position(|row| row.0 == slip).unwrap_or_else(|| {
            self.0.push((slip, Vec::new(), 0));
            self.0.len() - 1
        });
        let (_, lines, count) = &mut self.0[at];
        *count += 1;
        if lines.len() < SHOWN {
            lines.push(line);
        }
    }

    /// One note per kind.
    pub(super) fn into_notes(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(slip, lines, count)| {
            let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let more = if count > shown.len() { format!(" and {} more", count - shown.len()) } else { String::new() };
            let word = if count == 1 { "Line" } else { "Lines" };
            format!("{word} {}{more} of the request: {}.", shown.join(", "), slip.what())
        })
    }
}

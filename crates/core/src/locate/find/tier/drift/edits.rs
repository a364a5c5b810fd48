//! The edits that the alignments of a place lead to.

use super::{DriftAlignment, DriftQuery};
use crate::locate::find::TextEdit;
use crate::locate::find::align::LinePairs;
use crate::locate::find::indent::{self, IndentMap};
use crate::locate::find::refusal::{MatchRefusal, RefusalReason};
use crate::locate::find::target_indent::{self, Depth, MatchedLine};
use crate::locate::find::tier::widths;
use crate::locate::find::transplant::{self, Window};
use crate::text::fold::is_blank;
use core::ops::Range;

impl DriftQuery<'_, '_> {
    /// Returns the edits, if all alignments lead to the same ones.
    pub(super) fn edits_of_all(&self, alignments: &[DriftAlignment]) -> Result<Vec<TextEdit>, MatchRefusal> {
        let best = &alignments[0];
        let edits = self.edits(&best.lines, &best.early)?;
        for (nth, alignment) in alignments.iter().enumerate() {
            // A wider alignment of the same place that is not good enough by itself is not another place.
            let overlaps = alignment.lines.start < best.lines.end && best.lines.start < alignment.lines.end;
            let looser = alignment.extra + alignment.missing.len() > best.extra + best.missing.len();
            if nth > 0
                && overlaps
                && looser
                && (self.is_too_loose(alignment) || self.edits(&alignment.lines, &alignment.early).is_err())
            {
                continue;
            }
            // A place that has every line of the old text, with at most one more between them, is accepted even if
            // there is a place that lacks some.
            if nth > 0
                && !overlaps
                && self.has_all(best)
                && alignment.missing.iter().any(|&old| self.is_distinctive(old))
            {
                continue;
            }
            let unique = alignment.early == alignment.late;
            let others = [(nth > 0).then_some(&alignment.early), (!unique).then_some(&alignment.late)];
            for other in others.into_iter().flatten() {
                if self.edits(&alignment.lines, other).as_ref() != Ok(&edits) {
                    let (a, b) = (best.lines.start + 1, alignment.lines.start + 1);
                    let why = format!("Two places are about equally similar: lines {a} and {b}.");
                    let why = if nth > 0 {
                        why
                    } else {
                        "Lines repeat at the place, so it is not clear which of them is meant.".to_owned()
                    };
                    return Err(MatchRefusal::new(RefusalReason::Rivals, why));
                }
            }
        }
        Ok(edits)
    }

    fn edits(&self, lines: &Range<usize>, pairs: &LinePairs) -> Result<Vec<TextEdit>, MatchRefusal> {
        let search = self.search;
        let wanted = &*search.pattern;
        let mut partner = vec![None; wanted.old.len()];
        for &(old, line) in pairs {
            partner[self.at[old]] = Some(line);
        }
        self.pair_blanks(&mut partner, pairs);
        if self.has_orphan(&partner) {
            return Err(MatchRefusal::new(
                RefusalReason::Unlike,
                "A similar place was found but not edited: of the lines right above and below an added line, the file has neither.",
            ));
        }
        match self.depth(pairs) {
            Depth::OldText => {}
            Depth::Unclear => {
                return Err(MatchRefusal::new(RefusalReason::Misindent, target_indent::UNCLEAR_DEPTH_REASON));
            }
            Depth::File | Depth::LikelyFile => {
                let files: Vec<Option<&str>> = partner.iter().map(|at| at.map(|at| search.line(at))).collect();
                let wanted = &target_indent::at_file_depth(wanted, &files);
                let window = Window { search, wanted, lines: lines.clone(), partner };
                return transplant::write(&window, &IndentMap::Verbatim, false);
            }
        }
        let depths = indent::pairs(pairs.iter().map(|&(old, line)| (wanted.old[self.at[old]], search.line(line))));
        let indent =
            IndentMap::shift(&depths).or_else(|| widths::map(search, wanted, &depths, 0)).ok_or_else(|| {
                MatchRefusal::new(
                    RefusalReason::Misindent,
                    "A similar place has indentation that the old text does not map onto.",
                )
            })?;
        let window = Window { search, wanted, lines: lines.clone(), partner };
        transplant::write(&window, &indent, false)
    }

    /// True if lines are added between two lines of the old text, and the file has neither of the two.
    fn has_orphan(&self, partner: &[Option<usize>]) -> bool {
        let wanted = &*self.search.pattern;
        let computed = || transplant::changes(&wanted.old, &wanted.new);
        let is_text = |at: &usize| !is_blank(wanted.old[*at]);
        wanted.changes.clone().unwrap_or_else(computed).iter().filter(|(from, _)| from.is_empty()).any(|(from, _)| {
            let (above, below) = ((0..from.start).rev().find(is_text), (from.start..wanted.old.len()).find(is_text));
            matches!((above, below), (Some(above), Some(below)) if partner[above].is_none() && partner[below].is_none())
        })
    }

    /// Determines the depth for which the new text was written. This is not needed for a hunk, which states the lines
    /// that it keeps.
    pub(super) fn depth(&self, pairs: &LinePairs) -> Depth {
        let wanted = &*self.search.pattern;
        if wanted.changes.is_some() || wanted.new.is_empty() {
            return Depth::OldText;
        }
        let matched = pairs
            .iter()
            .map(|&(old, line)| MatchedLine { old: wanted.old[self.at[old]], file: self.search.line(line) });
        target_indent::target_depth(&matched.collect::<Vec<_>>(), &wanted.new)
    }

    /// Pairs blank lines between the same neighbours on both sides.
    fn pair_blanks(&self, partner: &mut [Option<usize>], pairs: &LinePairs) {
        for pair in pairs.windows(2) {
            let (old, file) = (self.at[pair[0].0] + 1..self.at[pair[1].0], pair[0].1 + 1..pair[1].1);
            if old.clone().all(|at| is_blank(self.search.pattern.old[at]))
                && file.clone().all(|at| is_blank(self.search.line(at)))
            {
                old.zip(file).for_each(|(old, file)| partner[old] = Some(file));
            }
        }
    }
}

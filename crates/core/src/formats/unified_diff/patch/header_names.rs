//! Comparison of the names in the headers of one file.

use super::FilePatch;
use crate::error::Result;
use crate::formats::unified_diff::both_sides::BothSides;
use crate::formats::unified_diff::mistakes::{UnifiedDiffMistake, UnifiedDiffMistakes};
use crate::formats::unified_diff::name::{self, HeaderSide};

impl FilePatch {
    /// Compares the names in the headers. If `---` and `+++` have the same name, and it is also one of the two after
    /// `diff --git`, that name is the file.
    ///
    /// Errors: [`Code::EditUnparsable`] if the names after `---` and `+++` differ from those after `diff --git`.
    pub(super) fn agree(&self, mistakes: &mut UnifiedDiffMistakes) -> Result<()> {
        for BothSides { old, new } in [&self.rename, &self.copy] {
            match (old, new) {
                (None, None) => {}
                (Some(from), Some(to)) => return self.agree_with_new_name(from, to),
                _ => {
                    return Err(self
                        .broken("one of the two lines about a new name is missing.")
                        .next("Write both of them, as `rename from OLD` and `rename to NEW`."));
                }
            }
        }
        let pair = self.pair.names();
        if self.side_names().zip(pair).is_some_and(|((old, new), pair)| name::is_outvoted(old, new, pair.into())) {
            mistakes.add(UnifiedDiffMistake::GitName, self.lines.0);
            return Ok(());
        }
        let sides = [(&self.sides.old, &self.pair.old), (&self.sides.new, &self.pair.new)];
        for (side, pair) in sides {
            if let (Some(HeaderSide { name: Some(side), .. }), Some(pair)) = (side, pair)
                && !name::same(Some(side), Some(pair))
            {
                let what = format!("`diff --git` names {pair}, but the lines below it name {side}.");
                return Err(self
                    .broken(&what)
                    .next("Write one name in all headers of a file; for a rename add `rename from` and `rename to`."));
            }
        }
        Ok(())
    }

    /// Compares the names of a rename or copy, which have no prefix, with the other names in the headers.
    ///
    /// Errors: [`Code::EditUnparsable`] if they differ.
    fn agree_with_new_name(&self, from: &str, to: &str) -> Result<()> {
        let side = |side: &Option<HeaderSide>| side.as_ref().and_then(|side| side.name.clone());
        let old = [self.pair.old.clone(), side(&self.sides.old)].map(|name| (name, from));
        let new = [self.pair.new.clone(), side(&self.sides.new)].map(|name| (name, to));
        for (other, name) in old.into_iter().chain(new) {
            let Some(other) = other.filter(|other| !name::is_below(other, name)) else { continue };
            let what = format!("the header gives the file the name {name}, but another line names {other}.");
            return Err(self.broken(&what).next("Write the same two names in all headers of a file."));
        }
        Ok(())
    }

    /// Reports two names without a rename: the file keeps its name.
    pub(super) fn note_other_name(&self, mistakes: &mut UnifiedDiffMistakes) {
        let names = self.side_names().or_else(|| self.pair.names());
        let is_other = |(old, new): (&str, &str)| {
            !name::same(Some(old), Some(new))
                && !name::is_copy(old, new)
                && !name::is_copy(new, old)
                && name::below_trees(old, new).is_none()
        };
        if names.is_some_and(is_other) {
            mistakes.add(UnifiedDiffMistake::NotRenamed, self.lines.0);
        }
    }
}

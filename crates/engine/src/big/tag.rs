//! The short tag of a large file after an edit, for the header of the reply. It is a hash of the whole text, so the
//! file is scanned once more, from the first change on.

use super::CHUNK;
use crate::plan::Plan;
use emendate_core::{Result, ShortHash, ShortTag};
use emendate_fs::{Piece, Source};

/// Computes the short tags that replies will show.
///
/// Errors: `conflict.raced` for a file that is written meanwhile; `io.*`.
pub(crate) fn tag_parts(plans: &mut [Plan]) -> Result<()> {
    for plan in plans.iter_mut().filter(|plan| plan.header.is_some() && plan.short.is_none()) {
        let Some(source) = plan.source.clone() else { continue };
        plan.short = Some(short_tag(&source, plan)?);
    }
    Ok(())
}

fn short_tag(source: &Source, plan: &Plan) -> Result<ShortTag> {
    let first = plan.changes.splices().first().and_then(|splice| plan.before.in_file(splice.span));
    let known = plan.hashed.clone().filter(|(at, _)| first.is_none_or(|first| *at <= first));
    let (from, mut hash) = known.unwrap_or((plan.before.codec().mark, ShortHash::default()));
    for part in plan.parts() {
        match part {
            Piece::New(bytes) => hash.update(bytes),
            Piece::Kept { at, len } => {
                let (start, end) = (at.max(from as u64), at + len);
                source.each_of(start..end.max(start), CHUNK, |chunk| {
                    hash.update(chunk);
                    Ok(())
                })?;
            }
        }
    }
    source.still()?;
    Ok(hash.tag())
}
